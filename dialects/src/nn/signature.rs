//! The shapes of an operation as data.
//!
//! A form such as `* K` names the dimensions of one operand or result. The first value that mentions a letter fixes its
//! size; a later one that disagrees is an error naming both. `*`, only in front, stands for any number of leading
//! dimensions, the same ones wherever it occurs. The splitting rules read the same data: see [`super::factors`].

use std::borrow::Cow;

use piper_ir::interfaces::shardable::leading_name;
use piper_ir::{Module, Op, Reporter, Value};

/// In which operands an operation is linear: what it does with a partial sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linearity {
    /// In each of these taken alone, the others fixed (a product).
    Each(&'static [&'static str]),
    /// In all operands together (a sum).
    Jointly,
}

/// Shapes of the operands and results of an operation, and what may be done with their dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// A form a declared operand.
    pub operands: &'static [&'static str],
    /// A form a declared result.
    pub results: &'static [&'static str],
    /// Letters whose size is an integer attribute.
    pub attributes: &'static [(&'static str, &'static str)],
    /// What the operation does with a partial sum.
    pub linearity: Linearity,
    /// Dimensions that cannot be divided, each with the reason.
    pub whole: &'static [(&'static str, &'static str)],
    /// Operands that are added to the result as they are: not once a part, if the result becomes a partial sum.
    pub added: &'static [&'static str],
}

impl Signature {
    /// Forms alone: linear in nothing, every dimension divisible.
    pub const fn new(operands: &'static [&'static str], results: &'static [&'static str]) -> Self {
        Self {
            operands,
            results,
            attributes: &[],
            linearity: Linearity::Each(&[]),
            whole: &[],
            added: &[],
        }
    }

    /// Sizes that attributes fix: `(letter, attribute)`.
    pub const fn sized(mut self, attributes: &'static [(&'static str, &'static str)]) -> Self {
        self.attributes = attributes;
        self
    }

    /// Linear in each of these operands.
    pub const fn linear_in(mut self, operands: &'static [&'static str]) -> Self {
        self.linearity = Linearity::Each(operands);
        self
    }

    /// Linear in all operands together.
    pub const fn jointly_linear(mut self) -> Self {
        self.linearity = Linearity::Jointly;
        self
    }

    /// Dimensions that cannot be divided: `(letter, reason)`.
    pub const fn whole(mut self, whole: &'static [(&'static str, &'static str)]) -> Self {
        self.whole = whole;
        self
    }

    /// Operands that are added as they are.
    pub const fn added(mut self, added: &'static [&'static str]) -> Self {
        self.added = added;
        self
    }
}

/// An operand or result with its name in the definition and the letters of its dimensions.
pub(super) struct Labelled {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) form: Vec<&'static str>,
}

impl Labelled {
    /// The letter of dimension `dim` of a tensor of this form; leading ones are `*0`, `*1`, ...
    pub(super) fn letter(&self, rank: usize, dim: usize) -> Cow<'static, str> {
        let named = self.form.iter().filter(|l| **l != "*").count();
        match (dim + named).checked_sub(rank) {
            Some(i) => Cow::Borrowed(self.form[self.form.len() - named + i]),
            None => leading_name(dim),
        }
    }
}

/// The operands (or results) of an operation with their forms. Weights are stored `N K` under `transpose_w`.
pub(super) fn labelled(module: &Module, op: Op, results: bool) -> Vec<Labelled> {
    let Some(def) = module.def(op) else { return Vec::new() };
    let Some(signature) = def.interface::<Signature>() else { return Vec::new() };
    let transposed = module.attr_by(op, "transpose_w").is_some();
    let (defs, forms) = if results {
        (&def.results, signature.results)
    } else {
        (&def.operands, signature.operands)
    };
    let mut all = Vec::new();
    for (i, (def, form)) in defs.iter().zip(forms).enumerate() {
        let mut form: Vec<&'static str> = form.split_whitespace().collect();
        if transposed && matches!(&*def.name, "w" | "dw") {
            form.reverse();
        }
        let values: Vec<Value> = if results {
            module.result_group(op, i).collect()
        } else {
            module.operand_group(op, i).collect()
        };
        all.extend(values.into_iter().map(|value| Labelled {
            name: def.name.to_string(),
            value,
            form: form.clone(),
        }));
    }
    all
}

/// The sizes of an operation's letters, as far as its values agree on them.
pub(super) struct Sizes<'r, 'c> {
    module: &'r Module,
    op: Op,
    reporter: &'r mut Reporter<'c>,
    /// Letter, size, who fixed it, and the value that did.
    known: Vec<(String, i64, String, Option<Value>)>,
    leading: Option<(Vec<i64>, String, Value)>,
}

impl Sizes<'_, '_> {
    /// What a letter stands for, if something has fixed it.
    pub(super) fn get(&self, letter: &str) -> Option<i64> {
        self.known.iter().find(|(known, ..)| known == letter).map(|(_, size, ..)| *size)
    }

    /// Reports a fault of the operation.
    pub(super) fn error(&mut self, reason: impl AsRef<str>) -> &mut piper_ir::Diagnostic {
        let name = self.module.name_text(self.op);
        self.reporter.error(self.module.op_loc(self.op), format!("'{name}': {}", reason.as_ref()))
    }

    /// Reports a misfit of shapes, with the shapes that the operation takes.
    fn note(&mut self, reason: String, values: &[(&str, Option<Value>)]) {
        let (module, op) = (self.module, self.op);
        let forms = |results| {
            let items = labelled(module, op, results);
            let texts = items.iter().map(|item| format!("{}{}", item.name, form_of(item)));
            texts.collect::<Vec<_>>().join(", ")
        };
        let hint = format!("the shapes are {} -> {}", forms(false), forms(true));
        let report = self.error(reason);
        report.hint(hint);
        for (name, value) in values {
            if let Some(def) = value.and_then(|v| module.defining_op(v)) {
                report.note(module.op_loc(def), format!("'{name}' is defined here"));
            }
        }
    }

    fn bind(&mut self, item: &Labelled, is_result: bool) {
        let (module, ctx) = (self.module, self.module.ctx());
        let Some((shape, _)) = module.ty(item.value).as_tensor(ctx) else { return };
        let named: Vec<&str> = item.form.iter().copied().filter(|l| *l != "*").collect();
        let with_leading = named.len() < item.form.len();
        let value = (!is_result).then_some(item.value);
        let fits = match (&self.leading, with_leading) {
            (_, false) => shape.len() == named.len(),
            (None, true) => shape.len() >= named.len(),
            (Some((leading, ..)), true) => shape.len() == leading.len() + named.len(),
        };
        if !fits {
            let ty = module.ty(item.value).display(ctx);
            let name = &item.name;
            let reason = match &self.leading {
                Some((leading, who, _)) if with_leading => format!(
                    "'{name}' has type {ty} of {} dimension(s), but '{who}' makes that {}",
                    shape.len(),
                    leading.len() + named.len()
                ),
                _ => format!("'{name}' has type {ty}, expected the form {}", form_of(item)),
            };
            self.note(reason, &[(name, value)]);
            return;
        }
        let (leading, trailing) = shape.split_at(shape.len() - named.len());
        if with_leading {
            match self.leading.clone() {
                None => self.leading = Some((leading.to_vec(), item.name.clone(), item.value)),
                Some((known, who, by)) => {
                    for (dim, (found, expected)) in leading.iter().zip(&known).enumerate() {
                        if found != expected {
                            let name = &item.name;
                            self.note(
                                format!("dimension {dim} of '{name}' is {found}, but '{who}' makes it {expected}"),
                                &[(name, value), (&who, Some(by))],
                            );
                        }
                    }
                }
            }
        }
        for (&letter, &found) in named.iter().zip(trailing) {
            match self.known.iter().find(|(known, ..)| known == letter).cloned() {
                None => {
                    self.known.push((letter.to_owned(), found, format!("'{}'", item.name), value))
                }
                Some((_, expected, who, by)) if expected != found => {
                    let name = &item.name;
                    self.note(
                        format!("dimension {letter} of '{name}' is {found}, but {who} makes it {expected}"),
                        &[(name, value), (who.trim_matches('\''), by)],
                    );
                }
                Some(_) => {}
            }
        }
    }
}

/// `[..., K]`
fn form_of(item: &Labelled) -> String {
    let letters = item.form.iter().map(|letter| if *letter == "*" { "..." } else { *letter });
    format!("[{}]", letters.collect::<Vec<_>>().join(", "))
}

/// Checks shapes and element types, and returns the sizes for further checks.
pub(super) fn checked<'r, 'c>(
    module: &'r Module,
    op: Op,
    reporter: &'r mut Reporter<'c>,
) -> Sizes<'r, 'c> {
    let ctx = module.ctx();
    let mut sizes = Sizes { module, op, reporter, known: Vec::new(), leading: None };
    let signature = module.def(op).and_then(|def| def.interface::<Signature>());
    for &(letter, attribute) in signature.map_or(&[][..], |s| s.attributes) {
        if let Some(size) = module.attr_by(op, attribute).and_then(|a| a.as_int(ctx)) {
            let who = format!("attribute '{attribute}'");
            sizes.known.push((letter.to_owned(), size, who, None));
        }
    }
    let mut element: Option<(String, piper_ir::Type)> = None;
    for is_result in [false, true] {
        for item in labelled(module, op, is_result) {
            sizes.bind(&item, is_result);
            let Some((_, found)) = module.ty(item.value).as_tensor(ctx) else { continue };
            if found.as_float(ctx).is_none() {
                continue;
            }
            match &element {
                None => element = Some((item.name, found)),
                Some((who, expected)) if *expected != found => {
                    let (found, expected) = (found.display(ctx), expected.display(ctx));
                    let reason =
                        format!("'{}' holds {found}, but '{who}' holds {expected}", item.name);
                    sizes.error(reason).hint("an operation computes in one element type");
                }
                Some(_) => {}
            }
        }
    }
    sizes
}

/// The verifier of operations whose signature says everything.
pub(super) fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    checked(module, op, reporter);
}

/// The verifier of an operation that changes the element type and nothing else.
pub(super) fn verify_cast(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let types = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
    let shape = |ty: piper_ir::Type| ty.as_tensor(ctx).map(|(shape, _)| shape);
    if shape(types.0) != shape(types.1) {
        let (from, to) = (types.0.display(ctx), types.1.display(ctx));
        let message = format!("'nn.cast' keeps the shape, but goes from {from} to {to}");
        reporter.error(module.op_loc(op), message);
    }
}
