//! Branches: which operands of a terminator become the arguments of which successor.
//!
//! In text a successor takes no arguments; a branch has them among its operands, in segments of its own layout. Whoever
//! follows values through blocks, or drops a block argument that nobody needs, asks here.

use std::ops::Range;

use crate::{Attr, Block, Module, Op, Value};

/// A terminator's answer about its successors.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// The positions of the operands that become the arguments of successor number `index`.
    pub operands: fn(&Module, Op, usize) -> Range<usize>,
    /// Replaces those operands, and whatever attribute counts them.
    pub set_operands: fn(&mut Module, Op, usize, &[Value]),
    /// The successor that is taken if operands have these values (`None`: not known), if that decides it.
    pub taken: fn(&Module, Op, &[Option<Attr>]) -> Option<usize>,
}

impl Branch {
    /// The interface of an operation, if it is a branch that knows its operands.
    pub fn of(module: &Module, op: Op) -> Option<&Branch> {
        module.def(op)?.interface()
    }

    /// The values passed to successor number `index`.
    pub fn values(&self, module: &Module, op: Op, index: usize) -> Vec<Value> {
        let range = (self.operands)(module, op, index);
        module.operands(op).skip(range.start).take(range.len()).collect()
    }

    /// Every (branch, successor number) that leads to `block`; `None` if one of them does not know its operands.
    /// Costs a walk over the terminators of the region.
    pub fn edges_to(module: &Module, block: Block) -> Option<Vec<(Op, usize)>> {
        let mut edges = Vec::new();
        for from in module.blocks(module.block_region(block)) {
            let Some(end) = module.last_op(from) else { continue };
            for (index, &to) in module.successors(end).iter().enumerate() {
                if to == block {
                    Branch::of(module, end)?;
                    edges.push((end, index));
                }
            }
        }
        Some(edges)
    }
}

/// Replaces a range of operands by others, and sets segment `index` of the segment attribute `sizes` (if there is one)
/// to their number.
pub fn replace_segment(
    module: &mut Module,
    op: Op,
    range: Range<usize>,
    values: &[Value],
    sizes: Option<(&str, usize)>,
) {
    let mut operands: Vec<Value> = module.operands(op).collect();
    operands.splice(range, values.iter().copied());
    module.set_operands(op, &operands);
    if let Some((name, index)) = sizes {
        let ctx = module.ctx_arc();
        let known = module.attr_by(op, name).and_then(|attr| attr.as_int_array(&ctx));
        let mut lengths = known.unwrap_or(&[]).to_vec();
        lengths[index] = values.len() as i64;
        module.set_attr_by(op, name, ctx.i32_array_attr(&lengths));
    }
}
