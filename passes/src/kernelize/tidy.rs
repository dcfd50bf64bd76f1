//! Removes what nobody reads, so that no kernel computes it: a buffer that is written and never read is an error in a plan.

use piper_dialects::nn;
use piper_ir::{Module, Op, OpState, Trait, Value};

/// Erases unused operations and identities, and results that operations give only on demand.
pub(super) fn tidy(module: &mut Module, function: Op) {
    let Some(block) = module.only_block(function) else { return };
    let ops: Vec<Op> = module.ops_reversed(block).collect();
    for op in ops {
        if let Some(identity) = nn::StopGradient::cast(module, op) {
            let (from, to) = (identity.y(module), identity.x(module));
            module.replace_uses(from, to);
        }
        if module.has_trait(op, Trait::Pure)
            && !module.has_trait(op, Trait::Terminator)
            && !module.has_used_result(op)
        {
            module.erase(op);
        } else if gives_lse(module, op) {
            let (first, lse) = (module.result(op, 0), module.result(op, 1));
            if !module.is_used(lse) {
                without_lse(module, op);
            } else if !module.is_used(first) && nn::CrossEntropy::cast(module, op).is_some() {
                find_again(module, op, lse);
            }
        }
    }
}

/// Whether the second result of an operation is the log-sum-exp that its gradient asks for.
fn gives_lse(module: &Module, op: Op) -> bool {
    nn::Attention::cast(module, op).is_some_and(|op| op.lse(module).is_some())
        || nn::CrossEntropy::cast(module, op).is_some_and(|op| op.lse(module).is_some())
}

/// An operation that gives its first result alone.
fn without_lse(module: &mut Module, op: Op) {
    let old = module.result(op, 0);
    let mut state = OpState::new(module.name(op), module.op_loc(op))
        .operands(module.operands(op))
        .results([module.ty(old)]);
    state.attrs = module.all_attrs(op);
    let new = module.create(state);
    module.insert_before(op, new);
    let output = module.result(new, 0);
    module.replace_uses(old, output);
    if let Some(name) = module.value_name(old) {
        module.set_value_name(output, name);
    }
    module.erase(op);
}

/// Where a loss is computed again for its log-sum-exp alone, the gradients find that themselves; the loss goes if all do.
fn find_again(module: &mut Module, loss: Op, lse: Value) {
    let users: Vec<Op> = module.uses(lse).map(|used| used.op).collect();
    for user in users {
        if nn::CrossEntropyDx::cast(module, user).is_some() {
            let operands: Vec<Value> = module.operands(user).filter(|v| *v != lse).collect();
            module.set_operands(user, &operands);
        }
    }
    if !module.is_used(lse) {
        module.erase(loss);
    }
}
