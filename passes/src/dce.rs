//! `dce`: what nobody notices goes.
//!
//! Operations without effects whose results are unused, and what only they used; blocks that cannot be reached; in graphs of
//! blocks also values that only keep each other alive around a loop, and block arguments that nobody reads.
//!
//! ```mlir
//! // before
//! %a = arith.addi %x, %y : i32
//! %b = arith.muli %a, %y : i32
//! func.return %x : i32
//! // after
//! func.return %x : i32
//! ```

use piper_ir::interfaces::is_trivially_dead;
use piper_ir::pass::PassInfo;
use piper_ir::rewrite::{erase_dead_in_region, erase_unreachable_blocks};
use piper_ir::{Module, Op, Region};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn("dce", "Erase what nobody uses and nobody reaches", |cx| {
        let erased = run(cx.module, cx.op);
        cx.count("num-dce'd", erased);
        Ok(())
    });
    vec![
        info.describe(
            "Erases unused operations without effects and unreachable blocks. Works on any operation and what is inside it.",
        )
        .anchored(None),
    ]
}

/// Erases everything dead inside `root`. Returns how many operations that were.
pub fn run(module: &mut Module, root: Op) -> u64 {
    let mut erased = 0;
    let graphs: Vec<Region> = module
        .walk(root)
        .flat_map(|op| module.regions(op))
        .copied()
        .filter(|region| {
            module.first_block(*region).is_some_and(|b| module.next_block(b).is_some())
        })
        .collect();
    // Inner ones first: an outer one may be gone with all it holds.
    for region in graphs.into_iter().rev() {
        erased += erase_unreachable_blocks(module, region);
        erased += erase_dead_in_region(module, region).unwrap_or(0);
    }
    let mut ops: Vec<Op> = module.walk(root).skip(1).collect();
    // Users come after what they use, except in graphs and for what is used inside regions.
    let mut gone = vec![false; module.op_capacity()];
    while let Some(op) = ops.pop() {
        if gone[op.index()] || !is_trivially_dead(module, op) {
            continue;
        }
        for inner in module.walk(op) {
            gone[inner.index()] = true;
            ops.extend(module.operands(inner).filter_map(|value| module.defining_op(value)));
        }
        module.erase(op);
        erased += 1;
    }
    erased as u64
}
