//! Changing and erasing operations.

use piper_ir::{Module, Op, Value};

use crate::fault::{Fault, PIPER_IN_USE, PIPER_OUT_OF_RANGE, PiperStatus};
use crate::handle::{PiperAttr, PiperLoc, PiperModule, PiperOp, PiperValue, edit};
use crate::text::{PiperStr, list};

/// Sets an operand. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_set_operand(
    module: *mut PiperModule,
    op: PiperOp,
    index: usize,
    value: PiperValue,
) -> PiperStatus {
    edit(module, "piper_op_set_operand", |h| {
        let m = h.module()?;
        let (op, value) = (h.op(m, op)?, h.value(m, value)?);
        let count = m.num_operands(op);
        if index >= count {
            return Err(Fault::range("operand", index, count));
        }
        h.module_mut()?.set_operand(op, index, value);
        Ok(())
    })
}

/// Sets the whole list of operands. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_set_operands(
    module: *mut PiperModule,
    op: PiperOp,
    values: *const PiperValue,
    num_values: usize,
) -> PiperStatus {
    edit(module, "piper_op_set_operands", |h| {
        let m = h.module()?;
        let (op, values) = (h.op(m, op)?, values_of(h, m, list(values, num_values))?);
        if values.len() > usize::from(u16::MAX) {
            return Err(Fault::new(PIPER_OUT_OF_RANGE, "at most 65535 operands"));
        }
        h.module_mut()?.set_operands(op, &values);
        Ok(())
    })
}

/// Sets or adds an attribute; none removes it. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_set_attr(
    module: *mut PiperModule,
    op: PiperOp,
    name: PiperStr,
    attr: PiperAttr,
) -> PiperStatus {
    edit(module, "piper_op_set_attr", |h| {
        let m = h.module()?;
        let (op, name) = (h.op(m, op)?, m.ctx().name(name.get("the name")?));
        if attr.bits == 0 {
            h.module_mut()?.remove_attr(op, name);
            return Ok(());
        }
        let attr = h.attr(attr)?;
        h.module_mut()?.set_attr(op, name, attr);
        Ok(())
    })
}

/// Sets the operation's location; none is the unknown one. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_set_loc(
    module: *mut PiperModule,
    op: PiperOp,
    loc: PiperLoc,
) -> PiperStatus {
    edit(module, "piper_op_set_loc", |h| {
        let (op, loc) = (h.op(h.module()?, op)?, h.loc(loc)?);
        h.module_mut()?.set_loc(op, loc);
        Ok(())
    })
}

/// Erases an operation with everything in it. Nothing outside may use its results. Its handles, and those of what was in it, are
/// stale from now on. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_erase(module: *mut PiperModule, op: PiperOp) -> PiperStatus {
    edit(module, "piper_op_erase", |h| {
        let m = h.module()?;
        let op = h.op(m, op)?;
        erase(h, op)
    })
}

/// Makes the users of an operation's results use these values, as many and of the same types, and erases it. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_replace(
    module: *mut PiperModule,
    op: PiperOp,
    values: *const PiperValue,
    num_values: usize,
) -> PiperStatus {
    edit(module, "piper_op_replace", |h| {
        let m = h.module()?;
        let (op, by) = (h.op(m, op)?, values_of(h, m, list(values, num_values))?);
        let results: Vec<Value> = m.results(op).collect();
        if results.len() != by.len() {
            let (results, by) = (results.len(), by.len());
            let text = format!("{by} values for {results} results");
            return Err(Fault::new(PIPER_OUT_OF_RANGE, text));
        }
        if by.iter().any(|value| results.contains(value)) {
            return Err(Fault::new(
                PIPER_IN_USE,
                "an operation cannot be replaced by its own results",
            ));
        }
        let m = h.module_mut()?;
        for (old, new) in results.into_iter().zip(by) {
            m.replace_uses(old, new);
        }
        erase(h, op)
    })
}

fn erase(h: &mut PiperModule, op: Op) -> Result<(), Fault> {
    let m = h.module()?;
    if op == m.root() {
        return Err(Fault::new(PIPER_IN_USE, "the outermost operation cannot be erased"));
    }
    let user = m.walk(op).flat_map(|inner| m.results(inner).collect::<Vec<_>>());
    let user = user.flat_map(|value| m.uses(value)).find(|found| !is_in(m, found.op, op));
    if let Some(user) = user {
        let text = format!("'{}' uses a result of '{}'", m.name_text(user.op), m.name_text(op));
        return Err(Fault::new(PIPER_IN_USE, text));
    }
    h.module_mut()?;
    h.forget_op(op)?;
    h.module_mut()?.erase(op);
    Ok(())
}

/// Whether an operation is another one, or in it.
fn is_in(m: &Module, op: Op, outer: Op) -> bool {
    std::iter::successors(Some(op), |op| m.parent_op(*op)).any(|op| op == outer)
}

fn values_of(h: &PiperModule, m: &Module, given: &[PiperValue]) -> Result<Vec<Value>, Fault> {
    given.iter().map(|value| h.value(m, *value)).collect()
}
