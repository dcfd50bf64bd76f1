//! What there is to differentiate: the loss, and the values that depend on a parameter.

use piper_dialects::func::{Call, Func};
use piper_ir::interfaces::Differentiable;
use piper_ir::interfaces::differentiable::{differentiable, trained_name};
use piper_ir::{Module, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The value a function returns, if it is one scalar and nobody counts on the function's type.
pub(super) fn loss(module: &Module, func: Op, reporter: &mut Reporter<'_>) -> Option<Value> {
    let (ctx, loc) = (module.ctx(), module.op_loc(func));
    let name = module.symbol_name(func).unwrap_or_default();
    for (call, callee) in super::calls(module) {
        if callee.text(ctx) == name {
            reporter
                .error(
                    module.op_loc(call),
                    format!("'@{name}' is to be differentiated and cannot be called as well"),
                )
                .note(loc, format!("'@{name}' is defined here"));
            return None;
        }
    }
    let end = Func(func).terminator(module)?;
    let results: Vec<Value> = module.operands(end.0).collect();
    let is_scalar = |value: Value| {
        module
            .ty(value)
            .as_tensor(ctx)
            .is_some_and(|(shape, element)| shape.is_empty() && element.as_float(ctx).is_some())
    };
    match results[..] {
        [loss] if is_scalar(loss) => Some(loss),
        [loss] => {
            let ty = module.ty(loss).display(ctx);
            reporter.error(
                module.op_loc(end.0),
                format!("'@{name}' returns {ty}; only a scalar can be differentiated"),
            );
            None
        }
        _ => {
            let count = results.len();
            reporter
                .error(
                    module.op_loc(end.0),
                    format!("'@{name}' returns {count} values; a loss is one scalar"),
                )
                .hint("add the terms up with nn.add");
            None
        }
    }
}

/// The values that depend on a parameter by a path without `nn.stop_gradient`.
pub(super) fn active_values(
    module: &Module,
    func: Op,
    reporter: &mut Reporter<'_>,
) -> FxHashSet<Value> {
    let mut active = FxHashSet::default();
    let mut parameters: FxHashMap<&str, Op> = FxHashMap::default();
    for op in Func(func).block(module).into_iter().flat_map(|block| module.ops(block)) {
        let name = module.name_text(op);
        if Call::cast(module, op).is_some() || !module.regions(op).is_empty() {
            // What is inside may have parameters of its own.
            let pass = if module.regions(op).is_empty() { "inline-calls" } else { "import-tags" };
            reporter
                .error(module.op_loc(op), format!("'{name}' cannot be differentiated as a whole"))
                .hint(format!("run '{pass}' first"));
            continue;
        }
        if let Some(tensor) = trained_name(module, op) {
            let first = *parameters.entry(tensor).or_insert(op);
            check_same(module, tensor, op, first, reporter);
            active.insert(module.result(op, 0));
        } else if !matches!(differentiable(module, op), Some(Differentiable::Stops))
            && module.operands(op).any(|v| active.contains(&v))
        {
            active.extend(module.results(op));
        }
    }
    active
}

/// One name is one tensor.
fn check_same(module: &Module, name: &str, parameter: Op, first: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let (ty, known) = (module.ty(module.result(parameter, 0)), module.ty(module.result(first, 0)));
    let message = if ty != known {
        let (ty, known) = (ty.display(ctx), known.display(ctx));
        format!("parameter '{name}' has type {ty} here, but {known} where it was declared first")
    } else if !module.declared(parameter).eq(module.declared(first)) {
        format!("parameter '{name}' has another initialiser here than where it was declared first")
    } else {
        return;
    };
    reporter
        .error(module.op_loc(parameter), message)
        .note(module.op_loc(first), format!("'{name}' is declared here"))
        .hint("parameters of one name are one tensor; rename one of them");
}
