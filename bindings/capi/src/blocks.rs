//! Blocks and regions.

use crate::fault::{Fault, PIPER_IN_USE, PiperStatus};
use crate::handle::{
    PiperBlock, PiperModule, PiperOp, PiperRegion, PiperType, PiperValue, edit, make, read,
};
use piper_ir::Region;

/// The first operation of a block; none if it is empty. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_first_op(
    module: *const PiperModule,
    block: PiperBlock,
) -> PiperOp {
    read(module, "piper_block_first_op", |h, m| {
        Ok(m.first_op(h.block(block)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// The last operation of a block: its terminator, if it needs one; none if it is empty. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_last_op(
    module: *const PiperModule,
    block: PiperBlock,
) -> PiperOp {
    read(module, "piper_block_last_op", |h, m| {
        Ok(m.last_op(h.block(block)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// The block after this one in its region; none after the last. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_next(
    module: *const PiperModule,
    block: PiperBlock,
) -> PiperBlock {
    read(module, "piper_block_next", |h, m| {
        Ok(m.next_block(h.block(block)?).map(|block| h.give_block(block)).unwrap_or_default())
    })
}

/// The operation whose region holds the block; none if nothing does. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_parent(
    module: *const PiperModule,
    block: PiperBlock,
) -> PiperOp {
    read(module, "piper_block_parent", |h, m| {
        Ok(m.block_op(h.block(block)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// How many arguments a block has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_num_args(
    module: *const PiperModule,
    block: PiperBlock,
) -> usize {
    read(module, "piper_block_num_args", |h, m| Ok(m.args(h.block(block)?).len()))
}

/// An argument of a block. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_arg(
    module: *const PiperModule,
    block: PiperBlock,
    index: usize,
) -> PiperValue {
    read(module, "piper_block_arg", |h, m| {
        let args = m.args(h.block(block)?);
        let found = args.get(index).map(|arg| h.give_value(*arg));
        found.ok_or_else(|| Fault::range("argument", index, args.len()))
    })
}

/// Adds an argument to a block. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_add_arg(
    module: *mut PiperModule,
    block: PiperBlock,
    ty: PiperType,
) -> PiperValue {
    make(module, "piper_block_add_arg", |h| {
        let (block, ty) = (h.block(block)?, h.ty(ty)?);
        let arg = h.module_mut()?.add_arg(block, ty);
        Ok(h.give_value(arg))
    })
}

/// The first block of a region; none if it is empty. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_region_first_block(
    module: *const PiperModule,
    region: PiperRegion,
) -> PiperBlock {
    read(module, "piper_region_first_block", |h, m| {
        Ok(m.first_block(h.region(region)?).map(|b| h.give_block(b)).unwrap_or_default())
    })
}

/// The operation that owns a region; none if nothing does yet. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_region_parent(
    module: *const PiperModule,
    region: PiperRegion,
) -> PiperOp {
    read(module, "piper_region_parent", |h, m| {
        Ok(m.region_op(h.region(region)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// A new region that belongs to no operation yet, to be filled and given to `piper_op_create`. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_region_create(module: *mut PiperModule) -> PiperRegion {
    make(module, "piper_region_create", |h| {
        let region = h.module_mut()?.create_region();
        Ok(h.give_region(region))
    })
}

/// A new block at the end of a region. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_region_add_block(
    module: *mut PiperModule,
    region: PiperRegion,
) -> PiperBlock {
    make(module, "piper_region_add_block", |h| {
        let region = h.region(region)?;
        let block = h.module_mut()?.add_block(region);
        Ok(h.give_block(block))
    })
}

/// Erases a block with everything in it. Nothing outside may use its values or branch to it. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_block_erase(
    module: *mut PiperModule,
    block: PiperBlock,
) -> PiperStatus {
    edit(module, "piper_block_erase", |h| {
        let (block, m) = (h.block(block)?, h.module()?);
        let outside = |value| m.uses(value).any(|u| !within(m, u.op, block));
        let values = m.args(block).iter().copied().chain(m.ops(block).flat_map(|op| m.results(op)));
        if values.into_iter().any(outside) {
            return Err(Fault::new(PIPER_IN_USE, "a value of the block is used outside it"));
        }
        if branches_to(m, block) {
            return Err(Fault::new(PIPER_IN_USE, "an operation outside branches to the block"));
        }
        h.module_mut()?;
        h.forget_block(block)?;
        h.module_mut()?.erase_blocks(&[block]);
        Ok(())
    })
}

/// Whether an operation stands in a block, or in an operation that does.
fn within(m: &piper_ir::Module, op: piper_ir::Op, block: piper_ir::Block) -> bool {
    let mut at = Some(op);
    while let Some(op) = at {
        if m.parent_block(op) == Some(block) {
            return true;
        }
        at = m.parent_op(op);
    }
    false
}

/// Whether an operation in another block of the region has this one as a successor.
fn branches_to(m: &piper_ir::Module, block: piper_ir::Block) -> bool {
    let region = m.block_region(block);
    if region == Region::NONE {
        return false;
    }
    let others = m.blocks(region).filter(|other| *other != block);
    let mut lasts = others.filter_map(|other| m.last_op(other));
    lasts.any(|op| m.successors(op).contains(&block))
}
