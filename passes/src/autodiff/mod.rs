//! `autodiff`: a function that computes a loss also computes its gradient.
//!
//! Input: the function of each plan (without a plan: every function that nobody calls), without calls and annotations, its one result a
//! scalar. Output: the same function with results `(loss, contribution, ...)` and the attribute `gradients`, which names the
//! parameter that each contribution belongs to. Contributions are added up only within a segment (operations of equal `tags`):
//! a parameter that two segments use has two, and the DAG level decides where they meet.
//!
//! Every operation but parameters gets `pass`: `"F"`, `"BI"` (cotangents of activations) or `"BW"` (cotangents of parameters, and
//! what only they need). Backward operations have the tags and the location of the forward operation they belong to and use
//! forward values directly; what crosses from forward to backward is thereby explicit. Cotangents that nobody needs are not
//! computed: those of data, of constants, of whatever does not depend on a parameter.
//!
//! Fails at an operation without a rule (the interface `Differentiable`), on a function that is still called, has several
//! blocks, or has calls or regions inside, on results that are not one scalar, and on parameters of one name that differ.
//!
//! ```mlir
//! // before
//! func.func @loss(%x: tensor<4x2xf32> {role = "data"}, %t: tensor<4xi32> {role = "data"}) -> tensor<f32> {
//!   %w = nn.parameter "w" init = normal<0.0, 0.02> : tensor<2x8xf32>
//!   %z = nn.linear %x, %w : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
//!   %l = nn.cross_entropy %z, %t {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
//!   func.return %l : tensor<f32>
//! }
//! // after
//! func.func @loss(...) -> (tensor<f32>, tensor<2x8xf32>) attributes {gradients = ["w"]} {
//!   ...
//!   %d_l = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
//!   %d_z = nn.cross_entropy_dx %z, %t, %d_l {denominator = 4, pass = "BI"} : ...
//!   %d_w = nn.linear_dw %x, %d_z {pass = "BW"} : ...
//!   func.return %l, %d_w : tensor<f32>, tensor<2x8xf32>
//! }
//! ```

mod activity;
mod backward;

use piper_dialects::func::{Call, Func};
use piper_dialects::strategy::{PlanSpec, plans};
use piper_ir::pass::{PassFailed, PassInfo};
use piper_ir::{Module, Name, Op, Reporter};
use rustc_hash::FxHashSet;

/// Names the parameter of each result after the first, on a differentiated function.
pub const GRADIENTS: &str = "gradients";
/// The part of a training step an operation belongs to: `"F"`, `"BI"` or `"BW"`.
pub const PASS: &str = "pass";

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "autodiff",
        "Make the functions that plans train compute their gradients",
        |cx| {
            let before = cx.reporter.error_count();
            for func in targets(cx.module) {
                if let Ok(emitted) = differentiate(cx.module, func, cx.reporter) {
                    cx.count("backward operations", emitted as u64);
                }
            }
            cx.fail_if_errors_since(before)
        },
    );
    vec![
        info.describe(
            "Results become (loss, contributions...), named by the attribute 'gradients'; every operation gets 'pass' = F, BI or BW.",
        )
        .after(&["import-tags", "inline-calls", "expand-ops"])
        .done_when(|module| {
            targets(module).is_empty() && module.top_level().iter().any(|f| is_done(module, *f))
        }),
    ]
}

fn is_done(module: &Module, func: Op) -> bool {
    module.attr_by(func, GRADIENTS).is_some()
}

/// The functions to differentiate: those that plans name; without a plan, those that nobody calls. Not those that are done.
fn targets(module: &Module) -> Vec<Op> {
    let open = |op: &Op| {
        Func::cast(module, *op).is_some_and(|f| f.entry(module).is_some()) && !is_done(module, *op)
    };
    let plans = plans(module);
    if !plans.is_empty() {
        let mut functions: Vec<Op> = plans
            .into_iter()
            .filter_map(|plan| PlanSpec::read(module, plan))
            .map(|plan| plan.function)
            .filter(open)
            .collect();
        functions.dedup();
        return functions;
    }
    let called: FxHashSet<Name> = calls(module).map(|(_, callee)| callee).collect();
    module
        .ops(module.body())
        .filter(open)
        .filter(|f| module.symbol_name(*f).is_none_or(|n| !called.contains(&module.ctx().name(n))))
        .collect()
}

/// All calls with the names of their callees.
fn calls(module: &Module) -> impl Iterator<Item = (Op, Name)> + '_ {
    module.walk(module.root()).filter_map(|op| {
        Some((op, Call::cast(module, op)?.callee(module).as_symbol(module.ctx())?))
    })
}

/// Differentiates one function in place. Returns the number of backward operations.
///
/// # Errors
/// As listed at the head of this module; each is reported at the operation it concerns.
pub fn differentiate(
    module: &mut Module,
    func: Op,
    reporter: &mut Reporter<'_>,
) -> Result<usize, PassFailed> {
    let before = reporter.error_count();
    if Func(func).block(module).is_none() {
        let name = module.symbol_name(func).unwrap_or_default();
        reporter
            .error(
                module.op_loc(func),
                format!("'@{name}' has branches, which have no gradient here"),
            )
            .hint("write it as one block; a choice between values is an operation, not a branch");
        return Err(PassFailed);
    }
    let Some(loss) = activity::loss(module, func, reporter) else { return Err(PassFailed) };
    let active = activity::active_values(module, func, reporter);
    if reporter.error_count() > before {
        return Err(PassFailed);
    }
    let Some(at) = module.defining_op(loss).filter(|_| active.contains(&loss)) else {
        reporter.error(module.op_loc(func), "the loss does not depend on any parameter").hint(
            "a gradient flows from nn.parameter to the returned value; nn.stop_gradient ends it",
        );
        return Err(PassFailed);
    };
    let forward: Vec<Op> =
        Func(func).block(module).map_or_else(Vec::new, |block| module.ops(block).collect());
    let Some(end) = Func(func).terminator(module) else { return Err(PassFailed) };
    let mut vjp = backward::Vjp::new(module, end.0, active);
    vjp.seed(at, loss);
    for (position, &op) in forward.iter().enumerate().rev() {
        vjp.step(op, position, reporter);
    }
    if reporter.error_count() > before {
        return Err(PassFailed);
    }
    let emitted = vjp.finish(func, &forward, reporter);
    Ok(emitted)
}
