//! Walking a module, without recursion.

use super::Module;
use crate::{Op, Region};

impl Module {
    /// All operations under `root`, itself included, each before those in its regions, in textual order.
    pub fn walk(&self, root: Op) -> impl Iterator<Item = Op> + '_ {
        let mut at = None;
        let mut stack = Vec::new();
        std::iter::from_fn(move || {
            let Some(current) = at else {
                at = Some(root);
                return Some(root);
            };
            // Down into the first operation of the first non-empty region; else along; else up and along.
            let mut next = self.first_inner_op(current, 0);
            if next.is_some() {
                stack.push(current);
            }
            let mut done = current;
            while next.is_none() && done != root {
                next = self.op_after(done);
                if next.is_none() {
                    done = stack.pop()?;
                }
            }
            at = Some(next?);
            next
        })
    }

    /// The operation after `op` in a walk of `root`: for those who cannot keep an iterator, as while they edit.
    pub fn walk_next(&self, root: Op, op: Op) -> Option<Op> {
        if let Some(inner) = self.first_inner_op(op, 0) {
            return Some(inner);
        }
        let mut done = op;
        while done != root {
            if let Some(next) = self.op_after(done) {
                return Some(next);
            }
            done = self.parent_op(done)?;
        }
        None
    }

    /// The first operation in the regions of `op`, from region number `from` on.
    fn first_inner_op(&self, op: Op, from: usize) -> Option<Op> {
        self.regions(op)[from..]
            .iter()
            .find_map(|&region| self.blocks(region).find_map(|b| self.first_op(b)))
    }

    /// The operation after `op` under the same parent: in its block, a later block, or a later region.
    fn op_after(&self, op: Op) -> Option<Op> {
        if let Some(next) = self.next_op(op) {
            return Some(next);
        }
        let block = self.parent_block(op)?;
        let mut later = self.next_block(block);
        while let Some(b) = later {
            if let Some(first) = self.first_op(b) {
                return Some(first);
            }
            later = self.next_block(b);
        }
        let region: Region = self.block_region(block);
        let parent = self.region_op(region)?;
        let at = self.regions(parent).iter().position(|&r| r == region)?;
        self.first_inner_op(parent, at + 1)
    }

    /// The operations directly in the root's block.
    pub fn top_level(&self) -> Vec<Op> {
        self.ops(self.body()).collect()
    }
}
