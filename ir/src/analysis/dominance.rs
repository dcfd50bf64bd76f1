//! Dominance: what has certainly happened when control reaches a place.
//!
//! A block dominates another if every way from the region's entry to the other goes through it. The tree of immediate
//! dominators is computed once for each region of several blocks, with numbers that make a question about two blocks cost
//! two comparisons (a block's descendants in the tree have the numbers from its own up to its last). What follows in one
//! block, or in the only block of a region, needs no tree. Counterpart: MLIR's `DominanceInfo`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::pass::Analysis;
use crate::{Block, Module, Op, Region, Trait, Value, ValueDefinition};

/// The dominator trees of the regions inside an operation.
#[derive(Debug, Default)]
pub struct Dominance {
    /// For each reachable block of a region with several: its number in the tree, and the last below it.
    spans: FxHashMap<Block, (u32, u32)>,
}

impl Analysis for Dominance {
    const NAME: &'static str = "Dominance";

    fn compute(module: &Module, op: Op) -> Self {
        let mut dominance = Self::default();
        for inner in module.walk(op) {
            for &region in module.regions(inner) {
                if module.blocks(region).nth(1).is_some() {
                    dominance.add(module, region);
                }
            }
        }
        dominance
    }
}

impl Dominance {
    /// Adds a region of several blocks.
    pub(crate) fn add(&mut self, module: &Module, region: Region) {
        let parents = immediate_dominators(module, region);
        let mut children: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
        for block in module.blocks(region) {
            if let Some(&parent) = parents.get(&block).filter(|parent| **parent != block) {
                children.entry(parent).or_default().push(block);
            }
        }
        let Some(entry) = module.first_block(region) else { return };
        let mut next = 0;
        let mut stack = vec![(entry, false)];
        while let Some((block, is_done)) = stack.pop() {
            if is_done {
                if let Some(span) = self.spans.get_mut(&block) {
                    span.1 = next - 1;
                }
                continue;
            }
            self.spans.insert(block, (next, next));
            next += 1;
            stack.push((block, true));
            stack.extend(children.get(&block).into_iter().flatten().map(|child| (*child, false)));
        }
    }

    /// Whether control cannot reach the block: everything dominates it.
    pub fn is_unreachable(&self, module: &Module, block: Block) -> bool {
        let several = module.blocks(module.block_region(block)).nth(1).is_some();
        several && !self.spans.contains_key(&block)
    }

    /// Whether control that reaches `b` has been in `a`, a block of the same region. A block dominates itself.
    pub fn block_dominates(&self, module: &Module, a: Block, b: Block) -> bool {
        if a == b || self.is_unreachable(module, b) {
            return true;
        }
        match (self.spans.get(&a), self.spans.get(&b)) {
            (Some(&(first, last)), Some(&(number, _))) => (first..=last).contains(&number),
            _ => false,
        }
    }

    /// Whether `b`, or the operation around it in the region of `a`, comes after `a` wherever control goes. An operation does
    /// not dominate itself or what is inside it. In a graph region everything comes after everything else.
    pub fn op_dominates(&self, module: &Module, a: Op, b: Op) -> bool {
        let Some(block) = module.parent_block(a) else { return false };
        let region = module.block_region(block);
        let Some((at, at_block)) = within(module, region, b) else { return false };
        if at == a {
            return false;
        }
        if is_graph(module, region) {
            return true;
        }
        if at_block == block {
            comes_before(module, a, at)
        } else {
            self.block_dominates(module, block, at_block)
        }
    }

    /// Whether the operation may use the value.
    pub fn value_dominates(&self, module: &Module, value: Value, user: Op) -> bool {
        match module.definition(value) {
            ValueDefinition::Result { op, .. } => self.op_dominates(module, op, user),
            ValueDefinition::Argument { block, .. } => {
                let region = module.block_region(block);
                within(module, region, user)
                    .is_some_and(|(_, at)| self.block_dominates(module, block, at))
            }
        }
    }
}

/// The operation, or the one around it, that stands directly in the region, with its block.
fn within(module: &Module, region: Region, op: Op) -> Option<(Op, Block)> {
    let mut at = op;
    loop {
        let block = module.parent_block(at)?;
        if module.block_region(block) == region {
            return Some((at, block));
        }
        at = module.parent_op(at)?;
    }
}

fn is_graph(module: &Module, region: Region) -> bool {
    let several = module.blocks(region).nth(1).is_some();
    let owner = module.region_op(region);
    owner.is_none_or(|op| module.def(op).map_or(!several, |def| def.has(Trait::GraphRegion)))
}

/// Of two operations of a block, from both at once: as long as the way between them, or to the nearer end of the block.
fn comes_before(module: &Module, a: Op, b: Op) -> bool {
    let (mut down, mut up) = (module.next_op(a), module.prev_op(a));
    loop {
        match (down, up) {
            (Some(op), _) if op == b => return true,
            (_, Some(op)) if op == b => return false,
            (None, _) => return false,
            (_, None) => return true,
            (Some(below), Some(above)) => {
                down = module.next_op(below);
                up = module.prev_op(above);
            }
        }
    }
}

/// Immediate dominators of the reachable blocks but the entry, after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
pub fn immediate_dominators(module: &Module, region: Region) -> FxHashMap<Block, Block> {
    let Some(entry) = module.first_block(region) else { return FxHashMap::default() };
    let successors =
        |b: Block| module.last_op(b).map_or(Vec::new(), |op| module.successors(op).to_vec());
    let (mut order, mut seen, mut stack) = (Vec::new(), FxHashSet::default(), vec![(entry, 0)]);
    seen.insert(entry);
    while let Some((block, next)) = stack.pop() {
        match successors(block).get(next) {
            Some(&s) => {
                stack.push((block, next + 1));
                if seen.insert(s) {
                    stack.push((s, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    let number: FxHashMap<Block, usize> = order.iter().enumerate().map(|(i, b)| (*b, i)).collect();
    let mut predecessors: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
    for &b in &order {
        for s in successors(b) {
            predecessors.entry(s).or_default().push(b);
        }
    }
    let mut idom: Vec<Option<usize>> = vec![None; order.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for (i, b) in order.iter().enumerate().skip(1) {
            let mut new = None;
            for p in predecessors.get(b).into_iter().flatten() {
                let Some(&p) = number.get(p) else { continue };
                if idom[p].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(other) => intersect(&idom, p, other),
                });
            }
            if idom[i] != new {
                idom[i] = new;
                changed = true;
            }
        }
    }
    (1..order.len()).filter_map(|i| Some((order[i], order[idom[i]?]))).collect()
}

fn intersect(idom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a].unwrap_or(0);
        }
        while b > a {
            b = idom[b].unwrap_or(0);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Dominance;
    use crate::pass::Analysis;
    use crate::text::parse_module;
    use crate::{Context, Module, Op, Reporter, SourceFile};

    fn parsed(text: &str) -> Module {
        let mut ctx = Context::new([]);
        ctx.allow_unregistered = true;
        let ctx = Arc::new(ctx);
        let mut reporter = Reporter::new(&ctx);
        let module = parse_module(&ctx, &SourceFile::new("t", text), &mut reporter);
        module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()))
    }

    #[test]
    fn a_diamond_with_a_loop_and_a_dead_block() {
        let module = parsed(
            r#""t.f"() ({
              %0 = "t.0"() : () -> i32
              "t.br"()[^bb1, ^bb2] : () -> ()
            ^bb1:
              %1 = "t.1"() : () -> i32
              "t.br"()[^bb3] : () -> ()
            ^bb2:
              "t.2"() ({ "t.inner"() : () -> () }) : () -> ()
              "t.br"()[^bb2, ^bb3] : () -> ()
            ^bb3:
              "t.3"() : () -> ()
              "t.end"() : () -> ()
            ^bb4:
              "t.4"() : () -> ()
              "t.br"()[^bb3] : () -> ()
            }) : () -> ()"#,
        );
        let dominance = Dominance::compute(&module, module.root());
        let named = |name: &str| -> Op {
            let found = module.walk(module.root()).find(|op| module.name_text(*op) == name);
            found.expect(name)
        };
        let dominates = |a: &str, b: &str| dominance.op_dominates(&module, named(a), named(b));
        for (a, b, expected) in [
            ("t.0", "t.1", true),
            ("t.0", "t.3", true),
            ("t.0", "t.inner", true),
            ("t.1", "t.3", false),
            ("t.2", "t.3", false),
            ("t.2", "t.inner", false),
            ("t.1", "t.2", false),
            ("t.3", "t.end", true),
            ("t.end", "t.3", false),
            ("t.0", "t.0", false),
            // Nothing happens in a block that is never reached.
            ("t.3", "t.4", true),
            ("t.4", "t.3", false),
        ] {
            assert_eq!(dominates(a, b), expected, "{a} {b}");
        }
        let value = module.result(named("t.0"), 0);
        assert!(dominance.value_dominates(&module, value, named("t.inner")));
        let value = module.result(named("t.1"), 0);
        assert!(!dominance.value_dominates(&module, value, named("t.3")));
    }

    #[test]
    fn order_in_a_block_is_found_from_either_side() {
        let ops: String = (0..9).map(|i| format!("\"t.o{i}\"() : () -> ()\n")).collect();
        // Two blocks, so that the region is no graph.
        let module = parsed(&format!(
            "\"t.f\"() ({{\n{ops}\n\"t.br\"()[^b] : () -> ()\n^b:\n\"t.end\"() : () -> ()\n}}) : () -> ()"
        ));
        let dominance = Dominance::compute(&module, module.root());
        let inner: Vec<Op> = module
            .walk(module.root())
            .filter(|op| module.name_text(*op).starts_with("t.o"))
            .collect();
        for (i, &a) in inner.iter().enumerate() {
            for (j, &b) in inner.iter().enumerate() {
                assert_eq!(dominance.op_dominates(&module, a, b), i < j, "{i} {j}");
            }
        }
    }
}
