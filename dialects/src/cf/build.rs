//! Making branches.

use piper_ir::{Block, Context, Loc, OPERAND_SEGMENTS, OpState, Value};

use super::{Br, CondBr};

/// `cf.br dest(values)`
pub fn branch_to(ctx: &Context, dest: Block, values: &[Value], loc: Loc) -> OpState {
    let mut state = OpState::new(ctx.op_name(Br::NAME), loc).operands(values.iter().copied());
    state.successors.push(dest);
    state
}

/// `cf.cond_br condition, then(values), else(values)`
pub fn cond_branch(
    ctx: &Context,
    condition: Value,
    then: (Block, &[Value]),
    otherwise: (Block, &[Value]),
    loc: Loc,
) -> OpState {
    let sizes = [1, then.1.len() as i64, otherwise.1.len() as i64];
    let values = then.1.iter().chain(otherwise.1).copied();
    let mut state = OpState::new(ctx.op_name(CondBr::NAME), loc)
        .operands([condition])
        .operands(values)
        .attr(ctx, OPERAND_SEGMENTS, ctx.i32_array_attr(&sizes));
    state.successors.extend([then.0, otherwise.0]);
    state
}
