//! The attributes of a definition that say what `irdl` has no word for.

use piper_ir::diag::did_you_mean;
use piper_ir::interfaces::{FactorRule, Shardable};
use piper_ir::{Attr, AttrDefault, Loc, Module, Op, OpDef, Reporter, SourceFile, Trait};

use super::cost::{Costs, Expr, Group, MODEL};
use super::define::{Constraints, Inferred};
use super::fixed::Fixed;
use super::place;
use super::template::{EXPAND, Template};

/// What an operation may have.
const KEYS: [&str; 10] = [
    "piper.summary",
    "piper.description",
    "piper.format",
    "piper.traits",
    "piper.optional",
    "piper.defaults",
    "piper.infer",
    "piper.cost",
    "piper.shard",
    "piper.expand",
];

/// Traits that need nothing which `irdl` cannot declare.
const TRAITS: [(&str, Trait); 8] = [
    ("Pure", Trait::Pure),
    ("Commutative", Trait::Commutative),
    ("SameOperandsAndResultType", Trait::SameOperandsAndResultType),
    ("Terminator", Trait::Terminator),
    ("NoTerminator", Trait::NoTerminator),
    ("SingleBlock", Trait::SingleBlock),
    ("IsolatedFromAbove", Trait::IsolatedFromAbove),
    ("GraphRegion", Trait::GraphRegion),
];

/// Reports `piper.` attributes that mean nothing here.
pub(super) fn check_keys(module: &Module, op: Op, known: &[&str], reporter: &mut Reporter<'_>) {
    for (key, _) in module.discardable(op) {
        let key = key.text(module.ctx());
        if key.starts_with("piper.") && !known.contains(&key) {
            let what = module.name_text(op);
            let close = did_you_mean(key, known.iter().copied());
            let hint = close.map_or_else(
                || format!("it may have {}", known.join(", ")),
                |close| format!("did you mean '{close}'?"),
            );
            reporter
                .error(module.op_loc(op), format!("'{what}' has no attribute '{key}'"))
                .hint(hint);
        }
    }
}

/// A text that may be absent.
pub(super) fn text(module: &Module, op: Op, key: &str, reporter: &mut Reporter<'_>) -> String {
    let Some(value) = module.attr_by(op, key) else { return String::new() };
    let text = value.as_str(module.ctx());
    if text.is_none() {
        reporter.error(module.op_loc(op), format!("'{key}' must be a string"));
    }
    text.unwrap_or_default().to_owned()
}

/// Reads the attributes of one operation.
pub(super) struct Hooks<'a, 'r> {
    pub(super) module: &'a Module,
    pub(super) op: Op,
    pub(super) source: &'a SourceFile,
    pub(super) reporter: &'a mut Reporter<'r>,
}

impl Hooks<'_, '_> {
    fn attr(&self, key: &str) -> Option<Attr> {
        self.module.attr_by(self.op, key)
    }

    fn error(&mut self, message: impl Into<String>) -> &mut piper_ir::Diagnostic {
        self.reporter.error(self.module.op_loc(self.op), message)
    }

    /// Where byte `at` of the string `value` under `key` stands.
    fn place(&self, key: &str, value: Attr, at: usize) -> Loc {
        place::in_string(self.module, self.op, key, value, at, self.source)
    }

    /// Everything but the format, which needs all that is declared.
    pub(super) fn read(&mut self, def: &mut OpDef, constraints: &mut Constraints) {
        check_keys(self.module, self.op, &KEYS, self.reporter);
        def.summary = text(self.module, self.op, "piper.summary", self.reporter).into();
        def.description = text(self.module, self.op, "piper.description", self.reporter).into();
        self.traits(def);
        self.optional(def);
        self.infer(def, constraints);
        let mut with = OpDef::new("");
        std::mem::swap(&mut with, def);
        *def = self.interfaces(with);
    }

    /// The items of an array of strings.
    fn strings(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.attr(key) else { return Vec::new() };
        let ctx = self.module.ctx();
        let items = value.as_array(ctx).unwrap_or_default();
        let texts: Vec<String> =
            items.iter().filter_map(|item| item.as_str(ctx)).map(str::to_owned).collect();
        if value.as_array(ctx).is_none() || texts.len() != items.len() {
            self.error(format!("'{key}' must be an array of strings"));
        }
        texts
    }

    fn entries(&mut self, key: &str) -> Vec<(String, Attr)> {
        let Some(value) = self.attr(key) else { return Vec::new() };
        let ctx = self.module.ctx();
        match value.as_dict(ctx) {
            Some(entries) => {
                entries.iter().map(|(key, value)| (key.text(ctx).to_owned(), *value)).collect()
            }
            None => {
                self.error(format!("'{key}' must be a dictionary"));
                Vec::new()
            }
        }
    }

    fn traits(&mut self, def: &mut OpDef) {
        for name in self.strings("piper.traits") {
            match TRAITS.iter().find(|(known, _)| *known == name) {
                Some((_, found)) => def.traits.push(*found),
                None => {
                    let known = TRAITS.map(|(known, _)| known);
                    let hint = did_you_mean(&name, known).map_or_else(
                        || format!("the traits are {}", known.join(", ")),
                        |close| format!("did you mean '{close}'?"),
                    );
                    self.error(format!("there is no trait '{name}'")).hint(hint);
                }
            }
        }
    }

    /// Attributes that may be absent, with or without a default.
    fn optional(&mut self, def: &mut OpDef) {
        let missing = |name: &str, def: &OpDef| {
            let close = did_you_mean(name, def.attrs.iter().map(|attr| &*attr.name));
            close.map(|close| format!("did you mean '{close}'?"))
        };
        for name in self.strings("piper.optional") {
            match def.attrs.iter_mut().find(|attr| attr.name == name) {
                Some(attr) => attr.required = false,
                None => {
                    let hint = missing(&name, def);
                    self.error(format!("'piper.optional' names no attribute: '{name}'")).hint =
                        hint;
                }
            }
        }
        for (name, value) in self.entries("piper.defaults") {
            let ctx = self.module.ctx();
            let Some(attr) = def.attrs.iter_mut().find(|attr| attr.name == name) else {
                let hint = missing(&name, def);
                self.error(format!("'piper.defaults' names no attribute: '{name}'")).hint = hint;
                continue;
            };
            let default = [
                value.as_str(ctx).map(|text| AttrDefault::Str(text.to_owned().into())),
                value.as_int(ctx).map(AttrDefault::Int),
                value.as_float(ctx).map(AttrDefault::Float),
                value.as_int(ctx).map(|value| AttrDefault::Bool(value != 0)),
            ];
            // That which is the same in text is meant: `true` is not 1.
            let default = default.into_iter().flatten().find(|found| found.attr(ctx) == value);
            let is_met = attr.constraint.accepts(ctx, value);
            let wanted = attr.constraint.describe().into_owned();
            attr.required = false;
            match default {
                Some(default) if is_met => attr.default = Some(default),
                Some(_) => {
                    let text = value.display(ctx);
                    self.error(format!("the default of '{name}' must be {wanted}, but is {text}"));
                }
                None => {
                    self.error(format!(
                        "the default of '{name}' must be an i64, an f64, true, false or a string"
                    ));
                }
            }
        }
    }

    /// `{y = "$x"}` or `{y = f32}`
    fn infer(&mut self, def: &OpDef, constraints: &mut Constraints) {
        for (name, value) in self.entries("piper.infer") {
            let ctx = self.module.ctx();
            let Some(result) = def.results.iter().position(|result| result.name == name) else {
                let close = did_you_mean(&name, def.results.iter().map(|result| &*result.name));
                self.error(format!("'piper.infer' names no result: '{name}'")).hint =
                    close.map(|close| format!("did you mean '{close}'?"));
                continue;
            };
            let operand = value.as_str(ctx).and_then(|text| text.strip_prefix('$'));
            let operand = operand
                .and_then(|text| def.operands.iter().position(|operand| operand.name == text));
            let inferred = match (operand, value.as_type(ctx)) {
                (Some(operand), _) => Some(Inferred::Operand(operand)),
                (None, Some(_)) => Fixed::of(ctx, value).map(Inferred::Type),
                _ => None,
            };
            if inferred.is_none() {
                let text = value.display(ctx);
                self.error(format!(
                    "'piper.infer' of '{name}' must be an operand (\"$x\") or a type, but is {text}"
                ));
            }
            constraints.inferred[result] = inferred;
        }
    }

    fn interfaces(&mut self, mut def: OpDef) -> OpDef {
        let costs = self.costs(&def);
        if let Some(costs) = costs {
            def = def.with_interface(costs).with_interface(MODEL);
        }
        if let Some(value) = self.attr("piper.shard") {
            match value.as_str(self.module.ctx()) {
                Some("elementwise") => def = def.with_interface(Shardable(elementwise)),
                _ => {
                    let text = value.display(self.module.ctx());
                    self.error(format!("'piper.shard' must be \"elementwise\", but is {text}"));
                }
            }
        }
        match self.attr("piper.expand") {
            None => def,
            Some(_) => match self.template(&def) {
                Some(template) => def.with_interface(template).with_interface(EXPAND),
                None => def,
            },
        }
    }

    fn costs(&mut self, def: &OpDef) -> Option<Costs> {
        self.attr("piper.cost")?;
        let group = |name: &str| {
            let operand = def.operands.iter().position(|operand| operand.name == name);
            let result = || def.results.iter().position(|result| result.name == name);
            operand.map(Group::Operand).or_else(|| result().map(Group::Result))
        };
        let mut costs = Costs::default();
        for (key, value) in self.entries("piper.cost") {
            let slot = match key.as_str() {
                "flops" => &mut costs.flops,
                "read" => &mut costs.read,
                "written" => &mut costs.written,
                _ => {
                    let close = did_you_mean(&key, ["flops", "read", "written"]);
                    self.error(format!("'piper.cost' has no '{key}'")).hint(close.map_or_else(
                        || "it has flops, read and written".to_owned(),
                        |close| format!("did you mean '{close}'?"),
                    ));
                    continue;
                }
            };
            let ctx = self.module.ctx();
            let number = value.as_int(ctx).and_then(|number| u64::try_from(number).ok());
            match (value.as_str(ctx), number) {
                (Some(text), _) => match Expr::read(text, &group) {
                    Ok(expr) => *slot = Some(expr),
                    Err((at, message)) => {
                        let loc = self.place(&key, value, at);
                        self.reporter.error(loc, format!("cost of '{}': {message}", def.name));
                    }
                },
                (None, Some(number)) => *slot = Some(Expr::Number(number)),
                _ => {
                    self.error(format!("'{key}' of 'piper.cost' must be a string or a number"));
                }
            }
        }
        Some(costs)
    }

    fn template(&mut self, def: &OpDef) -> Option<Template> {
        let ctx = self.module.ctx();
        let value = self.attr("piper.expand")?;
        let lines = match value.as_str(ctx) {
            Some(line) => vec![line.to_owned()],
            None => self.strings("piper.expand"),
        };
        let template = Template(lines.join("\n"));
        if let Err((at, message)) = template.check(def) {
            let loc = match value.as_str(ctx) {
                Some(_) => self.place("piper.expand", value, at),
                None => self.module.op_loc(self.op),
            };
            self.reporter.error(loc, format!("expansion of '{}': {message}", def.name));
            return None;
        }
        Some(template)
    }

    /// The definition with its textual form, if it has one; nothing after an error.
    pub(super) fn format(&mut self, def: OpDef) -> Option<OpDef> {
        let Some(value) = self.attr("piper.format") else { return Some(def) };
        let Some(format) = value.as_str(self.module.ctx()) else {
            self.error("'piper.format' must be a string");
            return None;
        };
        let name = def.name.clone();
        match def.try_with_format(format) {
            Ok(def) => Some(def),
            Err(error) => {
                let loc = self.place("piper.format", value, error.at);
                self.reporter.error(loc, format!("format of '{name}': {error}"));
                None
            }
        }
    }
}

/// Every value has the dimensions of the first result, if it has its shape.
fn elementwise(module: &Module, op: Op) -> FactorRule {
    let (operands, results) = (module.num_operands(op), module.num_results(op));
    let shape = |value| module.ty(value).as_tensor(module.ctx()).map(|(shape, _)| shape);
    let mut shapes = module.results(op).chain(module.operands(op)).map(shape);
    match shapes.next().flatten() {
        Some(first) if shapes.all(|shape| shape == Some(first)) => {
            FactorRule::elementwise(first, operands, results)
        }
        _ => FactorRule::empty(operands, results),
    }
}
