//! How the values of a function vary when the batch is divided, and dividing it.
//!
//! Which dimension is the batch is said on the arguments (`batch_dim`); how it goes through an operation, by its factor
//! rule (interface `Shardable`). Dividing changes types and nothing else: a mean keeps the count it had (see `nn.cross_entropy`), so that
//! what the parts give adds up.

use piper_dialects::func;
use piper_ir::interfaces::Along;
use piper_ir::interfaces::shardable::{factor_rule, propagate};
use piper_ir::pass::PassFailed;
use piper_ir::{Module, Op, Reporter, Value};
use rustc_hash::FxHashMap;

/// What is divided where nothing else is said.
const BATCH: &str = "the batch";

/// How every value of the function varies over the parts of a divided batch.
///
/// # Errors
/// An operation through which the batch cannot be divided.
pub fn along(
    module: &Module,
    func: Op,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Value, Along>, PassFailed> {
    along_from(module, func, &arguments_along(module, func), BATCH, reporter)
}

/// How a function's arguments vary with the batch, as they say.
pub fn arguments_along(module: &Module, func: Op) -> Vec<Along> {
    let args = module.only_block(func).map_or(0, |body| module.args(body).len());
    let dim = |i| func::arg_attr(module, func, i, "batch_dim")?.as_int(module.ctx());
    (0..args).map(|i| dim(i).map_or(Along::Whole, |d| Along::Dim(d as usize))).collect()
}

/// How every value of a function varies over the parts of a division of `what`, given how its arguments do.
///
/// # Errors
/// An operation that cannot be divided so.
pub fn along_from(
    module: &Module,
    func: Op,
    arguments: &[Along],
    what: &str,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Value, Along>, PassFailed> {
    let body = module.only_block(func).ok_or(PassFailed)?;
    let mut along: FxHashMap<Value, Along> =
        module.args(body).iter().copied().zip(arguments.iter().copied()).collect();
    for op in module.ops(body) {
        let Some(rule) = factor_rule(module, op) else {
            let varies = |v| along.get(&v).is_some_and(|along| *along != Along::Whole);
            if module.operands(op).any(varies) && module.num_results(op) > 0 {
                reporter
                    .error(
                        module.op_loc(op),
                        format!(
                            "{what} cannot be divided here: '{}' does not say how its dimensions correspond",
                            module.name_text(op)
                        ),
                    )
                    .hint("operations that can be divided have a factor rule; see the reference of their dialect");
                return Err(PassFailed);
            }
            along.extend(module.results(op).map(|v| (v, Along::Whole)));
            continue;
        };
        let operands: Vec<Along> =
            module.operands(op).map(|v| along.get(&v).copied().unwrap_or(Along::Whole)).collect();
        match propagate(module, op, &rule, &operands) {
            Ok(results) => along.extend(module.results(op).zip(results)),
            Err(why) => {
                // What comes after would only repeat it.
                let error = reporter
                    .error(module.op_loc(op), format!("{what} cannot be divided here: {why}"));
                if operands.contains(&Along::Sum) {
                    error.hint("each part of the batch gives a part of the sum; only nn.add, nn.scale and what else is linear keep it one");
                } else if what == BATCH {
                    error
                        .note(module.op_loc(func), "which dimension is the batch is said here")
                        .hint("every input that has the batch says so, as in {role = \"data\", batch_dim = 0}");
                }
                return Err(PassFailed);
            }
        }
    }
    Ok(along)
}

/// How the results of a function vary over the parts of a divided batch.
///
/// # Errors
/// As [`along`].
pub fn results_along(
    module: &Module,
    func: Op,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Along>, PassFailed> {
    let along = along(module, func, reporter)?;
    let end = func::Func(func).terminator(module).ok_or(PassFailed)?;
    Ok(module.operands(end.0).map(|v| along.get(&v).copied().unwrap_or(Along::Whole)).collect())
}

/// Divides the batch dimension of every value in a function by `parts`; the function's type follows.
///
/// # Errors
/// A batch that `parts` does not divide; as [`along`].
pub fn divide_batch(
    module: &mut Module,
    func: Op,
    parts: i64,
    what: &str,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    let along = along(module, func, reporter)?;
    divide(module, func, &along, parts).map_err(|size| {
        reporter
            .error(
                module.op_loc(func),
                format!("{what} cannot divide a batch of {size} into {parts} equal parts"),
            )
            .hint(format!("make the batch a multiple of {parts}, or take a divisor of {size}"));
        PassFailed
    })
}

/// Divides the values of a function by `parts` along the dimensions given; the function's type follows.
///
/// # Errors
/// The size of a dimension that `parts` does not divide, the largest if there are several.
pub fn divide(
    module: &mut Module,
    func: Op,
    along: &FxHashMap<Value, Along>,
    parts: i64,
) -> Result<(), i64> {
    let ctx = module.ctx_arc();
    let mut indivisible = None;
    for (&value, along) in along {
        let Along::Dim(dim) = *along else { continue };
        let Some((shape, element)) = module.ty(value).as_tensor(&ctx) else { continue };
        if shape[dim] % parts != 0 {
            indivisible = indivisible.max(Some(shape[dim]));
            continue;
        }
        let mut shape = shape.to_vec();
        shape[dim] /= parts;
        let ty = ctx.tensor(&shape, element);
        module.set_ty(value, ty);
    }
    func::Func(func).refresh_type(module);
    indivisible.map_or(Ok(()), Err)
}
