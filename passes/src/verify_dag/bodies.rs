//! A body has the local types of the values its node is given and gives.

use piper_dialects::func::Func;
use piper_ir::{Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let (module, ctx) = (graph.module, graph.ctx());
    let mut locals: FxHashMap<Type, Option<Type>> = FxHashMap::default();
    let mut missing = FxHashSet::default();
    let functions = graph.functions();
    for node in graph.nodes() {
        let op = node.0;
        let callee = node.callee(module).as_symbol(ctx).expect("declared as a symbol").text(ctx);
        let Some(&body) = functions.get(callee) else {
            if missing.insert(callee) {
                let near = piper_ir::diag::did_you_mean(callee, functions.keys().copied());
                reporter
                    .error(module.op_loc(op), format!("there is no function '@{callee}'"))
                    .hint = near.map(|near| format!("did you mean '@{near}'?"));
            }
            continue;
        };
        let (inputs, outputs) = Func(body).signature(module);
        let operands: Vec<Value> = module.operands(op).collect();
        let results: Vec<Value> = module.results(op).collect();
        for (what, verb, values, declared) in
            [("operand", "takes", &operands, inputs), ("result", "returns", &results, outputs)]
        {
            if values.len() != declared.len() {
                let message = format!(
                    "node '{}' has {} {what}(s), but '@{callee}' {verb} {}",
                    node.node(module).as_str(ctx).unwrap_or(""),
                    values.len(),
                    declared.len()
                );
                reporter
                    .error(module.op_loc(op), message)
                    .note(module.op_loc(body), "the body is here");
                continue;
            }
            for (i, (&value, &declared)) in values.iter().zip(declared).enumerate() {
                let ty = module.ty(value);
                let local =
                    *locals.entry(ty).or_insert_with(|| graph.dist(value).local(ctx, &graph.sizes));
                if local == Some(declared) {
                    continue;
                }
                let has = match local {
                    Some(local) => format!("is {} on each device", local.display(ctx)),
                    None => format!("cannot be divided as {} says", ty.display(ctx)),
                };
                let message = format!(
                    "{what} {i} of node '{}' {has}, but '@{callee}' {verb} {}",
                    node.node(module).as_str(ctx).unwrap_or(""),
                    declared.display(ctx)
                );
                reporter
                    .error(module.op_loc(op), message)
                    .note(module.op_loc(body), "the body is here");
            }
        }
    }
}
