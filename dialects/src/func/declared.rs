//! Functions that are only declared, with what planning has to know of them.
//!
//! ```mlir
//! func.func private @mlp(tensor<16x128x512xbf16> {batch_dim = 0}, tensor<512x2048xbf16> {shard_dim = 1})
//!     -> (tensor<16x128x512xbf16> {batch_dim = 0, shard_sum}) attributes {
//!   cost = {flops = 4.3e9, bytes = 1.0e7},
//!   vjp = {input = {flops = 4.3e9}, weight = {flops = 4.3e9}, saved = {operands = [0, 1]}}
//! }
//! ```
//!
//! `cost` is that of one call with the shapes as declared, in `flops` (a multiply-add is two), `bytes` moved between memory
//! and core, or measured `seconds`; any of them may be left out, and `cost = {}` says that it is not known. A part of the
//! batch or of what is sharded costs its share. `vjp` has the cost of the two halves of the gradient: `input` gives the
//! cotangents of activations, `weight` those of parameters. Both read what is `saved` (operands and results by number; the
//! default is all operands and no result) and the cotangent of result 0; the weight half reads no parameter,
//! unless what is sharded comes in by nothing else. Results after the first are
//! residuals: saved, not differentiated.
//!
//! `batch_dim` is the dimension along which the batch lies. `shard_dim` is one along which all that have it are divided together (experts,
//! heads); a result without it is marked `shard_sum` if each part then holds a summand.

use piper_ir::{Attr, Context, Module, Op, Reporter, Type};

use super::{Func, arg_attr, res_attr};

/// The attribute that makes a declaration one that can be planned.
pub const COST: &str = "cost";
/// The attribute with the costs of the gradient and what is saved for it.
pub const VJP: &str = "vjp";
/// The dimension along which operands and results are divided together, beside the batch.
pub const SHARD_DIM: &str = "shard_dim";
/// Marks a result of which each part of what is sharded has a summand.
pub const SHARD_SUM: &str = "shard_sum";

/// What a call costs, as far as it was said.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct GivenCost {
    /// Floating-point operations; a multiply-add is two.
    pub flops: Option<f64>,
    /// Bytes moved between memory and core.
    pub bytes: Option<f64>,
    /// Seconds, as measured.
    pub seconds: Option<f64>,
}

impl GivenCost {
    /// The numbers of a dictionary.
    pub fn read(ctx: &Context, dict: Attr) -> Self {
        let number = |key: &str| dict.get(ctx, key)?.as_number(ctx);
        Self { flops: number("flops"), bytes: number("bytes"), seconds: number("seconds") }
    }

    /// The cost of this share of the work.
    pub fn share(self, share: f64) -> Self {
        let part = |number: Option<f64>| number.map(|n| n * share);
        Self { flops: part(self.flops), bytes: part(self.bytes), seconds: part(self.seconds) }
    }

    /// Whether nothing was said.
    pub fn is_unknown(self) -> bool {
        self == Self::default()
    }
}

/// Where the batch and what is sharded lie in an argument or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dims {
    /// Dimension of the batch.
    pub batch: Option<usize>,
    /// Dimension that is sharded.
    pub shard: Option<usize>,
    /// A result that is a sum over the parts of what is sharded.
    pub shard_sum: bool,
}

/// A function without a body that has a cost.
#[derive(Clone, Debug)]
pub struct Declared<'m> {
    /// Its name.
    pub name: &'m str,
    /// Argument and result types: what the costs are for.
    pub inputs: &'m [Type],
    /// Result types.
    pub outputs: &'m [Type],
    /// Of each argument.
    pub input_dims: Vec<Dims>,
    /// Of each result.
    pub output_dims: Vec<Dims>,
    /// Of a call.
    pub cost: GivenCost,
    /// Of the gradient of the activations.
    pub input: GivenCost,
    /// Of the gradient of the parameters.
    pub weight: GivenCost,
    /// What the gradient reads: operand numbers, and result numbers counted on from the number of operands.
    pub saved: Vec<usize>,
}

impl<'m> Declared<'m> {
    /// Reads a function, if it is a declaration with a cost.
    pub fn of(module: &'m Module, func: Op) -> Option<Self> {
        let ctx = module.ctx();
        let view = Func::cast(module, func).filter(|f| f.entry(module).is_none())?;
        let cost = module.attr_by(func, COST)?;
        let (inputs, outputs) = view.signature(module);
        let vjp = module.attr_by(func, VJP);
        let half = |key: &str| {
            vjp.and_then(|vjp| vjp.get(ctx, key))
                .map_or_else(GivenCost::default, |half| GivenCost::read(ctx, half))
        };
        let saved = vjp.and_then(|vjp| vjp.get(ctx, "saved"));
        let numbers = |key: &str, default: Vec<usize>| match saved {
            None => default,
            Some(saved) => {
                let list = saved.get(ctx, key).and_then(|list| list.as_array(ctx)).unwrap_or(&[]);
                list.iter().filter_map(|n| usize::try_from(n.as_int(ctx)?).ok()).collect()
            }
        };
        let mut all = numbers("operands", (0..inputs.len()).collect());
        all.extend(numbers("results", Vec::new()).into_iter().map(|n| inputs.len() + n));
        Some(Self {
            name: module.symbol_name(func).unwrap_or_default(),
            inputs,
            outputs,
            input_dims: (0..inputs.len())
                .map(|i| dims(ctx, |n| arg_attr(module, func, i, n)))
                .collect(),
            output_dims: (0..outputs.len())
                .map(|i| dims(ctx, |n| res_attr(module, func, i, n)))
                .collect(),
            cost: GivenCost::read(ctx, cost),
            input: half("input"),
            weight: half("weight"),
            saved: all,
        })
    }

    /// The declaration that an operation names by `callee`.
    pub fn called(module: &'m Module, op: Op) -> Option<Self> {
        let callee = module.attr_by(op, "callee")?.as_symbol(module.ctx())?;
        Self::of(module, module.lookup_nearest(op, callee.text(module.ctx()))?)
    }

    /// Declared type and dimensions of an operand, or of a result counted on from the number of operands.
    pub fn value(&self, number: usize) -> Option<(Type, Dims)> {
        match number.checked_sub(self.inputs.len()) {
            None => Some((self.inputs[number], self.input_dims[number])),
            Some(result) => Some((*self.outputs.get(result)?, self.output_dims[result])),
        }
    }
}

fn dims(ctx: &Context, attr: impl Fn(&str) -> Option<Attr>) -> Dims {
    let dim = |name: &str| usize::try_from(attr(name)?.as_int(ctx)?).ok();
    Dims { batch: dim("batch_dim"), shard: dim(SHARD_DIM), shard_sum: attr(SHARD_SUM).is_some() }
}

/// Checks what a declaration says of its costs and dimensions.
pub(super) fn verify(module: &Module, func: Op, reporter: &mut Reporter<'_>) {
    // Kernels are read as functions and have costs of their own.
    if Func::cast(module, func).is_none() {
        return;
    }
    let name = module.symbol_name(func).unwrap_or_default();
    for (what, attr) in [(COST, module.attr_by(func, COST)), (VJP, module.attr_by(func, VJP))] {
        let Some(attr) = attr else { continue };
        if Func(func).entry(module).is_some() {
            reporter
                .error(
                    module.op_loc(func),
                    format!("'@{name}' has a body, so what it costs follows from it"),
                )
                .hint(format!("take '{what}' away, or the body"));
            return;
        }
        let is_known = if what == COST { cost } else { vjp }(module, func, attr, reporter);
        if !is_known {
            return;
        }
    }
    match (module.attr_by(func, COST), module.attr_by(func, VJP)) {
        (Some(_), _) => divided(module, func, reporter),
        (None, Some(_)) => {
            reporter
                .error(module.op_loc(func), format!("'@{name}' has a 'vjp' but no 'cost'"))
                .hint("write cost = {flops = ...}, or cost = {} if it is not known");
        }
        (None, None) => {}
    }
}

fn cost(module: &Module, func: Op, attr: Attr, reporter: &mut Reporter<'_>) -> bool {
    costs(module, func, COST, attr, reporter)
}

/// A dictionary of `flops`, `bytes` and `seconds`, each a finite number of at least 0.
fn costs(module: &Module, func: Op, what: &str, attr: Attr, reporter: &mut Reporter<'_>) -> bool {
    let (ctx, loc) = (module.ctx(), module.op_loc(func));
    let name = module.symbol_name(func).unwrap_or_default();
    let Some(entries) = attr.as_dict(ctx) else {
        let given = attr.display(ctx);
        reporter
            .error(loc, format!("'{what}' of '@{name}' must be a dictionary, but is {given}"))
            .hint("as in {flops = 1.0e12, bytes = 1.0e9}");
        return false;
    };
    for (key, value) in entries {
        let key = key.text(ctx);
        let number = value.as_number(ctx);
        if !["flops", "bytes", "seconds"].contains(&key) {
            reporter
                .error(loc, format!("'{what}' of '@{name}' has an unknown entry '{key}'"))
                .hint("a cost is made of flops, bytes and seconds");
        } else if number.is_none_or(|n| !n.is_finite() || n < 0.0) {
            let given = value.display(ctx);
            reporter.error(
                loc,
                format!("'{what}' of '@{name}': {key} must be a finite number of at least 0, but is {given}"),
            );
        } else {
            continue;
        }
        return false;
    }
    true
}

/// A dictionary of `input`, `weight` and `saved`.
fn vjp(module: &Module, func: Op, attr: Attr, reporter: &mut Reporter<'_>) -> bool {
    let (ctx, loc) = (module.ctx(), module.op_loc(func));
    let name = module.symbol_name(func).unwrap_or_default();
    let Some(entries) = attr.as_dict(ctx) else {
        let given = attr.display(ctx);
        reporter
            .error(loc, format!("'vjp' of '@{name}' must be a dictionary, but is {given}"))
            .hint("as in {input = {flops = 1.0e12}, weight = {flops = 1.0e12}}");
        return false;
    };
    for &(key, value) in entries {
        let is_known = match key.text(ctx) {
            "input" => costs(module, func, "vjp.input", value, reporter),
            "weight" => costs(module, func, "vjp.weight", value, reporter),
            "saved" => saved(module, func, value, reporter),
            key => {
                reporter
                    .error(loc, format!("'vjp' of '@{name}' has an unknown entry '{key}'"))
                    .hint("it is made of input, weight and saved");
                false
            }
        };
        if !is_known {
            return false;
        }
    }
    true
}

/// `{operands = [...], results = [...]}`: numbers that are there, each once.
fn saved(module: &Module, func: Op, attr: Attr, reporter: &mut Reporter<'_>) -> bool {
    let (ctx, loc) = (module.ctx(), module.op_loc(func));
    let name = module.symbol_name(func).unwrap_or_default();
    let (inputs, outputs) = Func(func).signature(module);
    let entries = attr.as_dict(ctx);
    let Some(entries) = entries else {
        let given = attr.display(ctx);
        reporter
            .error(loc, format!("'saved' of '@{name}' must be a dictionary, but is {given}"))
            .hint("as in {operands = [0, 1], results = [1]}");
        return false;
    };
    for &(key, list) in entries {
        let (what, count) = match key.text(ctx) {
            "operands" => ("operand", inputs.len()),
            "results" => ("result", outputs.len()),
            key => {
                reporter
                    .error(loc, format!("'saved' of '@{name}' has an unknown entry '{key}'"))
                    .hint("it is made of operands and results");
                return false;
            }
        };
        let mut seen = vec![false; count];
        let numbers = list.as_array(ctx).unwrap_or_else(|| std::slice::from_ref(&list));
        for number in numbers {
            let at =
                number.as_int(ctx).and_then(|n| usize::try_from(n).ok()).filter(|n| *n < count);
            match at {
                Some(at) if !seen[at] => seen[at] = true,
                _ => {
                    let given = number.display(ctx);
                    reporter.error(
                        loc,
                        format!("'saved' of '@{name}' must list numbers of its {count} {what}(s), each once, but has {given}"),
                    );
                    return false;
                }
            }
        }
    }
    true
}

/// Dimensions of the batch, and those that are sharded: there, of one size, and in a result only if an operand has them.
fn divided(module: &Module, func: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(func));
    let Some(declared) = Declared::of(module, func) else { return };
    let name = declared.name;
    for key in ["batch_dim", SHARD_DIM] {
        let mut size: Option<(i64, String)> = None;
        let count = declared.inputs.len();
        for number in 0..count + declared.outputs.len() {
            let (what, at) =
                if number < count { ("argument", number) } else { ("result", number - count) };
            let attr = if number < count {
                arg_attr(module, func, at, key)
            } else {
                res_attr(module, func, at, key)
            };
            let (Some(attr), Some((ty, _))) = (attr, declared.value(number)) else { continue };
            let shape = ty.as_tensor(ctx).map_or(&[][..], |(shape, _)| shape);
            let dim = attr.as_int(ctx).and_then(|dim| usize::try_from(dim).ok());
            let Some(&found) = dim.and_then(|dim| shape.get(dim)) else {
                // Of a batch on an argument every function's verifier speaks.
                if key == SHARD_DIM || what == "result" {
                    let (dim, ty) = (attr.display(ctx), ty.display(ctx));
                    reporter.error(
                        loc,
                        format!("{key} of {what} {at} of '@{name}' must be a dimension of {ty}, but is {dim}"),
                    );
                }
                return;
            };
            match &size {
                Some((known, first)) if *known != found => {
                    reporter.error(
                        loc,
                        format!("{key} of {what} {at} of '@{name}' has size {found}, but that of {first} has {known}"),
                    );
                    return;
                }
                None if what == "result" => {
                    reporter
                        .error(
                            loc,
                            format!("result {at} of '@{name}' has a {key}, but no argument has"),
                        )
                        .hint("what is divided comes in by an argument");
                    return;
                }
                Some(_) => {}
                None => size = Some((found, format!("{what} {at}"))),
            }
        }
    }
    for number in 0..declared.inputs.len() + declared.outputs.len() {
        let Some((_, dims)) = declared.value(number) else { continue };
        if dims.batch.is_some() && dims.batch == dims.shard {
            let what = match number.checked_sub(declared.inputs.len()) {
                None => format!("argument {number}"),
                Some(result) => format!("result {result}"),
            };
            reporter.error(
                loc,
                format!("{what} of '@{name}' has its batch and what is sharded in one dimension"),
            );
        }
    }
}
