//! Dividing the batch inside a chunk's body: every value that varies with the batch gets a shorter dimension.
//!
//! Nothing else in a body changes: a mean keeps the count it had before the division (it is an attribute), so what was a
//! total becomes a partial sum. How values vary follows from each operation's [`Batching`]; an operation that is not linear
//! in a partial sum is an error at that operation.

use piper_dialects::func::{Func, arg_attr};
use piper_dialects::nn::{Along, Batching};
use piper_ir::{Module, Op, Reporter, Value};
use rustc_hash::FxHashMap;

/// How the arguments of a body vary with the batch, as its attributes say: along `batch_dim`, or not at all.
pub fn declared_along(module: &Module, func: Op) -> Vec<Along> {
    let ctx = module.ctx();
    (0..Func(func).signature(module).0.len())
        .map(|i| {
            let dim = arg_attr(module, func, i, "batch_dim").and_then(|a| a.as_int(ctx));
            dim.and_then(|d| usize::try_from(d).ok()).map_or(Along::Whole, Along::Dim)
        })
        .collect()
}

/// How every value of a body varies if its arguments vary so. `None` if that was reported to be impossible.
pub fn body_along(
    module: &Module,
    func: Op,
    args: &[Along],
    reporter: &mut Reporter<'_>,
) -> Option<FxHashMap<Value, Along>> {
    let block = Func(func).block(module)?;
    let mut along: FxHashMap<Value, Along> =
        module.args(block).iter().copied().zip(args.iter().copied()).collect();
    let errors = reporter.error_count();
    for op in module.ops(block) {
        if module.num_results(op) == 0 {
            continue;
        }
        let operands: Vec<Along> =
            module.operands(op).map(|v| along.get(&v).copied().unwrap_or(Along::Whole)).collect();
        let results = if operands.iter().all(|a| *a == Along::Whole) {
            Ok(vec![Along::Whole; module.num_results(op)])
        } else {
            match module.def(op).and_then(|def| def.interface::<Batching>()) {
                Some(Batching(rule)) => rule(module, op, &operands),
                None => Err(format!(
                    "'{}' does not say how it varies with the batch",
                    module.name_text(op)
                )),
            }
        };
        match results {
            Ok(results) => along.extend(module.results(op).zip(results)),
            Err(why) => {
                reporter
                    .error(module.op_loc(op), format!("the batch cannot be divided here: {why}"));
                along.extend(module.results(op).map(|v| (v, Along::Whole)));
            }
        }
    }
    (reporter.error_count() == errors).then_some(along)
}

/// How the results of a body vary if its arguments vary so. `None` if that was reported to be impossible.
pub fn results_along(
    module: &Module,
    func: Op,
    args: &[Along],
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Along>> {
    let along = body_along(module, func, args, reporter)?;
    let end = Func(func).terminator(module)?;
    Some(module.operands(end.0).map(|v| along.get(&v).copied().unwrap_or(Along::Whole)).collect())
}

/// Divides the batch of a body by `factor`, its arguments varying as their attribute `batch_dim` says. Returns how the
/// results vary; `None` if the batch cannot be divided, which has been reported. See [`retype_batch_along`].
pub fn retype_batch(
    module: &mut Module,
    func: Op,
    factor: i64,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Along>> {
    let args = declared_along(module, func);
    retype_batch_along(module, func, &args, factor, reporter)
}

/// Divides the batch of a body by `factor`: dimension `d` of every value that is `Along::Dim(d)` becomes `1/factor` of what it
/// was, and the function's type follows. Returns how the results vary.
///
/// # Errors
/// `None`, and nothing is changed, when a dimension is not divisible or an operation does not allow the division; both are
/// reported, the former with the dimension and both sizes.
pub fn retype_batch_along(
    module: &mut Module,
    func: Op,
    args: &[Along],
    factor: i64,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Along>> {
    let ctx = module.ctx_arc();
    let along = body_along(module, func, args, reporter)?;
    let errors = reporter.error_count();
    let mut types = Vec::new();
    for (&value, &along) in &along {
        let (Along::Dim(dim), Some((shape, element))) = (along, module.ty(value).as_tensor(&ctx))
        else {
            continue;
        };
        let mut shape = shape.to_vec();
        if shape[dim] % factor != 0 {
            // One report is enough: the values of a body share their batch.
            if reporter.error_count() == errors {
                let loc =
                    module.defining_op(value).map_or(module.op_loc(func), |op| module.op_loc(op));
                reporter
                    .error(
                        loc,
                        format!(
                            "dimension {dim} of size {} is not divisible by {factor}",
                            shape[dim]
                        ),
                    )
                    .hint("the number of microbatches times the replicas must divide the batch");
            }
            continue;
        }
        shape[dim] /= factor;
        types.push((value, ctx.tensor(&shape, element)));
    }
    if reporter.error_count() > errors {
        return None;
    }
    for (value, ty) in types {
        module.set_ty(value, ty);
    }
    Func(func).refresh_type(module);
    let end = Func(func).terminator(module)?;
    Some(module.operands(end.0).map(|v| along.get(&v).copied().unwrap_or(Along::Whole)).collect())
}
