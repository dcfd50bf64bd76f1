//! Operations that give on demand what their gradient needs: the log-sum-exp of a softmax, as a second result.

use piper_ir::interfaces::Backward;
use piper_ir::{Op, OpState};

/// The operation with both results, the second of this shape and the element type of the first; one without is replaced.
pub(super) fn with_lse(cx: &mut dyn Backward, op: Op, shape: &[i64]) -> Op {
    let module = cx.module_mut();
    if module.num_results(op) == 2 {
        return op;
    }
    let ctx = module.ctx_arc();
    let first = module.result(op, 0);
    let Some((_, element)) = module.ty(first).as_tensor(&ctx) else {
        unreachable!("verified: the result is a tensor")
    };
    let mut state = OpState::new(module.name(op), module.op_loc(op))
        .operands(module.operands(op))
        .results([module.ty(first), ctx.tensor(shape, element)]);
    state.attrs = module.all_attrs(op);
    let new = module.create(state);
    module.insert_before(op, new);
    let replacement = module.result(new, 0);
    if let Some(name) = module.value_name(first) {
        let text = format!("{}_lse", name.text(&ctx));
        let (lse, lse_name) = (module.result(new, 1), ctx.name(&text));
        module.set_value_name(replacement, name);
        module.set_value_name(lse, lse_name);
    }
    module.replace_uses(first, replacement);
    module.erase(op);
    new
}
