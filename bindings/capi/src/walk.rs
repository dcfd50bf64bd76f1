//! Walking: with a function that is called, or step by step.

use piper_ir::Op;

use crate::fault::{Fault, PIPER_OK, PIPER_OUT_OF_RANGE, PiperStatus};
use crate::handle::{PiperModule, PiperOp, inspect, read};

/// Go on.
pub const PIPER_WALK_ON: u32 = 0;
/// Go on, but not into this operation (in the order `PIPER_OUTER_FIRST`).
pub const PIPER_WALK_SKIP: u32 = 1;
/// Stop.
pub const PIPER_WALK_STOP: u32 = 2;

/// An operation comes before what is in it: as in the text.
pub const PIPER_OUTER_FIRST: u32 = 0;
/// An operation comes after what is in it.
pub const PIPER_INNER_FIRST: u32 = 1;

/// Called with an operation; answers with one of `PIPER_WALK_*`. It may change the module.
pub type PiperVisit = Option<
    unsafe extern "C" fn(user: *mut std::ffi::c_void, module: *mut PiperModule, op: PiperOp) -> u32,
>;

/// Calls `visit` with `root` and every operation in it. `visit` may change the module: what it erases before its turn is not
/// visited, nor is what it adds. Threads: writer if `visit` changes the module, else reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_walk(
    module: *mut PiperModule,
    root: PiperOp,
    order: u32,
    visit: PiperVisit,
    user: *mut std::ffi::c_void,
) -> PiperStatus {
    let mut ops = Vec::new();
    let status = inspect(module, "piper_walk", |h| {
        if visit.is_none() {
            return Err(Fault::null("the function to call"));
        }
        ops = listed(h, root, order)?;
        Ok(())
    });
    let (PIPER_OK, Some(visit)) = (status, visit) else { return status };
    let mut skipped = 0;
    for (op, inside) in ops {
        if skipped > 0 {
            skipped -= 1;
            continue;
        }
        let op = read(module, "piper_walk", |h, m| {
            let op = h.give_op(op);
            Ok(if h.op(m, op).is_ok() { op } else { PiperOp::default() })
        });
        if op.bits == 0 {
            continue;
        }
        // No borrow of the module is held here.
        // SAFETY: the header's contract: it is a function of this type, and `user` is what it wants.
        match unsafe { visit(user, module, op) } {
            PIPER_WALK_STOP => break,
            PIPER_WALK_SKIP if order == PIPER_OUTER_FIRST => skipped = inside,
            _ => {}
        }
    }
    PIPER_OK
}

/// The operations to visit, each with how many of those that follow are in it.
fn listed(h: &PiperModule, root: PiperOp, order: u32) -> Result<Vec<(Op, u32)>, Fault> {
    let m = h.module()?;
    let mut ops: Vec<(Op, u32)> = m.walk(h.op(m, root)?).map(|op| (op, 0)).collect();
    // Operations whose insides are not at their end yet, by position.
    let mut open: Vec<usize> = Vec::new();
    let mut inner_first = Vec::new();
    for at in 0..ops.len() {
        let parent = if at == 0 { None } else { m.parent_op(ops[at].0) };
        while let Some(&last) = open.last() {
            if parent == Some(ops[last].0) {
                break;
            }
            open.pop();
            ops[last].1 = (at - last - 1) as u32;
            inner_first.push((ops[last].0, 0));
        }
        open.push(at);
    }
    while let Some(last) = open.pop() {
        ops[last].1 = (ops.len() - last - 1) as u32;
        inner_first.push((ops[last].0, 0));
    }
    match order {
        PIPER_OUTER_FIRST => Ok(ops),
        PIPER_INNER_FIRST => Ok(inner_first),
        other => Err(Fault::new(PIPER_OUT_OF_RANGE, format!("{other} is no order of a walk"))),
    }
}

/// The operation after `op` in a walk of `root`, outer first: the first one in it, else the next one; none at the end. Begin
/// with `root`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_walk_next(
    module: *const PiperModule,
    root: PiperOp,
    op: PiperOp,
) -> PiperOp {
    read(module, "piper_walk_next", |h, m| {
        let (root, op) = (h.op(m, root)?, h.op(m, op)?);
        Ok(m.walk_next(root, op).map(|op| h.give_op(op)).unwrap_or_default())
    })
}
