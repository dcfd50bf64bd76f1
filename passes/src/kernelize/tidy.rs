//! Removes what nobody reads, so that no kernel computes it: a buffer that is written and never read is an error in a plan.

use piper_dialects::nn;
use piper_ir::{Module, Op, OpState, Trait};

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
        } else if let Some(attention) = nn::Attention::cast(module, op)
            && attention.lse(module).is_some_and(|lse| !module.is_used(lse))
        {
            without_statistics(module, attention);
        }
    }
}

/// Attention that gives the output alone.
fn without_statistics(module: &mut Module, attention: nn::Attention) {
    let (op, old) = (attention.0, attention.o(module));
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
