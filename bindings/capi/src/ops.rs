//! Reading operations.

use piper_ir::{Attr, Module, Name, Op};

use crate::attrs::PiperNamedAttr;
use crate::fault::Fault;
use crate::handle::{
    PiperAttr, PiperBlock, PiperLoc, PiperModule, PiperOp, PiperRegion, PiperValue, read,
};
use crate::text::{PiperStr, store};

/// Whether the handle is of an operation of this module that lives. Never counts as misuse. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_is_alive(module: *const PiperModule, op: PiperOp) -> bool {
    read(module, "piper_op_is_alive", |h, m| Ok(h.op(m, op).is_ok()))
}

/// The operation's name, as `nn.linear`. Lives as long as the module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_name(module: *const PiperModule, op: PiperOp) -> PiperStr {
    read(module, "piper_op_name", |h, m| Ok(PiperStr::of(m.name_text(h.op(m, op)?))))
}

/// The operation's location. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_loc(module: *const PiperModule, op: PiperOp) -> PiperLoc {
    read(module, "piper_op_loc", |h, m| Ok(h.give_loc(m.op_loc(h.op(m, op)?))))
}

/// The block the operation stands in; none for the root and for what stands nowhere. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_block(module: *const PiperModule, op: PiperOp) -> PiperBlock {
    read(module, "piper_op_block", |h, m| {
        Ok(m.parent_block(h.op(m, op)?).map(|block| h.give_block(block)).unwrap_or_default())
    })
}

/// The operation whose region holds this one; none for the root. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_parent(module: *const PiperModule, op: PiperOp) -> PiperOp {
    read(module, "piper_op_parent", |h, m| {
        Ok(m.parent_op(h.op(m, op)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// The operation after this one in its block; none after the last. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_next(module: *const PiperModule, op: PiperOp) -> PiperOp {
    read(module, "piper_op_next", |h, m| {
        Ok(m.next_op(h.op(m, op)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// The operation before this one in its block; none before the first. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_prev(module: *const PiperModule, op: PiperOp) -> PiperOp {
    read(module, "piper_op_prev", |h, m| {
        Ok(m.prev_op(h.op(m, op)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// How many operands the operation has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_num_operands(module: *const PiperModule, op: PiperOp) -> usize {
    read(module, "piper_op_num_operands", |h, m| Ok(m.num_operands(h.op(m, op)?)))
}

/// An operand. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_operand(
    module: *const PiperModule,
    op: PiperOp,
    index: usize,
) -> PiperValue {
    read(module, "piper_op_operand", |h, m| {
        let mut operands = m.operands(h.op(m, op)?);
        let count = operands.len();
        let found = operands.nth(index).map(|value| h.give_value(value));
        found.ok_or_else(|| Fault::range("operand", index, count))
    })
}

/// How many operands the operand that is declared by this name stands for, and the first of them: 0 if the operation is not
/// registered, declares no such operand, or leaves it out. `first` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_operands_named(
    module: *const PiperModule,
    op: PiperOp,
    name: PiperStr,
    first: *mut usize,
) -> usize {
    read(module, "piper_op_operands_named", |h, m| {
        let (op, name) = (h.op(m, op)?, name.get("the name")?);
        let groups = m.def(op).map_or(&[][..], |def| &def.operands);
        let Some(group) = groups.iter().position(|operand| operand.name == name) else {
            return Ok(0);
        };
        store(first, (0..group).map(|before| m.operand_group(op, before).len()).sum());
        Ok(m.operand_group(op, group).len())
    })
}

/// How many results the operation has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_num_results(module: *const PiperModule, op: PiperOp) -> usize {
    read(module, "piper_op_num_results", |h, m| Ok(m.num_results(h.op(m, op)?)))
}

/// A result. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_result(
    module: *const PiperModule,
    op: PiperOp,
    index: usize,
) -> PiperValue {
    read(module, "piper_op_result", |h, m| {
        let mut results = m.results(h.op(m, op)?);
        let count = results.len();
        let found = results.nth(index).map(|value| h.give_value(value));
        found.ok_or_else(|| Fault::range("result", index, count))
    })
}

/// How many regions the operation has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_num_regions(module: *const PiperModule, op: PiperOp) -> usize {
    read(module, "piper_op_num_regions", |h, m| Ok(m.regions(h.op(m, op)?).len()))
}

/// A region. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_region(
    module: *const PiperModule,
    op: PiperOp,
    index: usize,
) -> PiperRegion {
    read(module, "piper_op_region", |h, m| {
        let regions = m.regions(h.op(m, op)?);
        let found = regions.get(index).map(|region| h.give_region(*region));
        found.ok_or_else(|| Fault::range("region", index, regions.len()))
    })
}

/// How many blocks a terminator may go on to. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_num_successors(module: *const PiperModule, op: PiperOp) -> usize {
    read(module, "piper_op_num_successors", |h, m| Ok(m.successors(h.op(m, op)?).len()))
}

/// A block that a terminator may go on to. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_successor(
    module: *const PiperModule,
    op: PiperOp,
    index: usize,
) -> PiperBlock {
    read(module, "piper_op_successor", |h, m| {
        let blocks = m.successors(h.op(m, op)?);
        let found = blocks.get(index).map(|block| h.give_block(*block));
        found.ok_or_else(|| Fault::range("successor", index, blocks.len()))
    })
}

/// The attribute of this name; none if the operation has none. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_attr(
    module: *const PiperModule,
    op: PiperOp,
    name: PiperStr,
) -> PiperAttr {
    read(module, "piper_op_attr", |h, m| {
        let found = m.attr_by(h.op(m, op)?, name.get("the name")?);
        Ok(found.map(|attr| h.give_attr(attr)).unwrap_or_default())
    })
}

/// How many attributes the operation has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_num_attrs(module: *const PiperModule, op: PiperOp) -> usize {
    read(module, "piper_op_num_attrs", |h, m| {
        let op = h.op(m, op)?;
        Ok(m.declared(op).count() + m.discardable(op).count())
    })
}

/// An attribute by number: declared ones first. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_attr_at(
    module: *const PiperModule,
    op: PiperOp,
    index: usize,
) -> PiperNamedAttr {
    read(module, "piper_op_attr_at", |h, m| {
        let op = h.op(m, op)?;
        let found = attrs(m, op).nth(index);
        let (name, attr) =
            found.ok_or_else(|| Fault::range("attribute", index, attrs(m, op).count()))?;
        Ok(PiperNamedAttr { name: PiperStr::of(name.text(m.ctx())), attr: h.give_attr(attr) })
    })
}

/// The operation's attributes, declared ones first.
fn attrs(m: &Module, op: Op) -> impl Iterator<Item = (Name, Attr)> + '_ {
    m.declared(op).map(|(name, attr)| (m.ctx().name(name), attr)).chain(m.discardable(op))
}

/// The operation with this `sym_name` in the nearest symbol table around `from`, itself included; none if there is none.
/// Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_lookup(
    module: *const PiperModule,
    from: PiperOp,
    name: PiperStr,
) -> PiperOp {
    read(module, "piper_op_lookup", |h, m| {
        let found = m.lookup_nearest(h.op(m, from)?, name.get("the name")?);
        Ok(found.map(|op| h.give_op(op)).unwrap_or_default())
    })
}
