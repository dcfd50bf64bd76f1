//! Which operations of a body run in one launch.
//!
//! Operations that work value by value are fused with each other, and with the matrix product they follow; a sum also with the
//! gradient of a norm that is one of its terms. Everything else is a launch of its own. An operation joins a group only if no
//! other group would then have to run both before and after it; so the groups stay orderable.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use piper_dialects::kernel::Fusion;
use piper_ir::{Module, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::outline::boundary;

/// Operations of one launch.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The kind of the kernel; `None` for an operation that is kept.
    pub(super) kind: Option<&'static str>,
    /// In the order of the body. The first one of a `gemm` is the product.
    pub(super) ops: Vec<Op>,
    /// The type of the values that more elementwise operations would have.
    space: Option<Type>,
    /// Position of its first operation in the body.
    begin: usize,
    /// Position of the last operation among its own and those of all groups it needs, directly or not. A group that it needs
    /// begins before that: groups that have grown reach far, whatever used them before.
    reach: usize,
}

impl Group {
    /// Whether any elementwise operation over its space may be part of it.
    fn is_open(&self) -> bool {
        matches!(self.kind, Some("map" | "gemm"))
    }

    /// Whether what this operation of it takes may be a constant that it repeats.
    fn takes_fills(&self, user: Op) -> bool {
        self.kind == Some("map") || self.kind == Some("gemm") && self.ops[0] != user
    }
}

/// The groups of a body in an order in which they can run: among those that can, the one that begins first.
pub(super) fn groups(module: &Module, function: Op) -> Vec<Group> {
    let Some(block) = module.only_block(function) else { return Vec::new() };
    let Some(end) = module.last_op(block) else { return Vec::new() };
    let ops: Vec<Op> = module.ops(block).filter(|op| *op != end).collect();
    let position = ops.iter().enumerate().map(|(i, op)| (*op, i)).collect();
    let mut grouping = Grouping { module, groups: Vec::new(), of: FxHashMap::default(), position };
    for &op in &ops {
        grouping.place(op);
    }
    grouping.constants(&ops, end);
    grouping.ordered()
}

struct Grouping<'m> {
    module: &'m Module,
    /// Merged groups stay behind empty.
    groups: Vec<Group>,
    of: FxHashMap<Op, usize>,
    position: FxHashMap<Op, usize>,
}

impl Grouping<'_> {
    fn start(&mut self, op: Op, kind: Option<&'static str>, grows: bool) {
        let space = grows.then(|| self.module.ty(self.module.result(op, 0)));
        let begin = self.position[&op];
        let makers = self.module.operands(op).filter_map(|v| self.maker(v));
        let reach = makers.map(|maker| self.groups[maker].reach).fold(begin, usize::max);
        self.of.insert(op, self.groups.len());
        self.groups.push(Group { kind, ops: vec![op], space, begin, reach });
    }

    fn place(&mut self, op: Op) {
        match Fusion::of(self.module, op) {
            // Placed when it is known who uses it.
            Some(Fusion::Fill) => {}
            None => self.start(op, None, false),
            Some(Fusion::Alone(kind)) => self.start(op, Some(kind), false),
            Some(Fusion::Product) => self.start(op, Some("gemm"), true),
            Some(Fusion::Adding(kind)) => self.start(op, Some(kind), true),
            Some(Fusion::Elementwise | Fusion::Sum) => self.join(op),
        }
    }

    /// The group that makes a value.
    fn maker(&self, value: Value) -> Option<usize> {
        self.module.defining_op(value).and_then(|op| self.of.get(&op).copied())
    }

    /// Groups whose values a group uses directly.
    fn sources(&self, group: usize) -> Vec<usize> {
        let operands = self.groups[group].ops.iter().flat_map(|op| self.module.operands(*op));
        let mut sources: Vec<usize> =
            operands.filter_map(|v| self.maker(v)).filter(|s| *s != group).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Whether `group` needs values of `other`, directly or not.
    fn needs(&self, group: usize, other: usize) -> bool {
        // What reaches no further than to where the other begins can need nothing of it.
        let begin = self.groups[other].begin;
        let (mut pending, mut seen) = (vec![group], FxHashSet::default());
        while let Some(at) = pending.pop() {
            for source in self.sources(at) {
                if source == other {
                    return true;
                }
                if self.groups[source].reach > begin && seen.insert(source) {
                    pending.push(source);
                }
            }
        }
        false
    }

    /// Lets a group reach to a position, and with it those that need it.
    fn extend(&mut self, group: usize, reach: usize) {
        let mut pending = vec![group];
        while let Some(at) = pending.pop() {
            if self.groups[at].reach >= reach {
                continue;
            }
            self.groups[at].reach = reach;
            let values = self.groups[at].ops.iter().flat_map(|op| self.module.results(*op));
            let users = values.flat_map(|value| self.module.uses(value));
            pending.extend(users.filter_map(|used| self.of.get(&used.op)));
        }
    }

    /// Whether an elementwise operation may be part of a group that makes one of its operands. A kernel that adds does it to
    /// what nobody else reads, and once.
    fn takes(&self, group: usize, op: Op) -> bool {
        let group = &self.groups[group];
        let is_read_once = || self.module.uses(self.module.result(group.ops[0], 0)).count() == 1;
        group.is_open() || Fusion::of(self.module, op) == Some(Fusion::Sum) && is_read_once()
    }

    fn join(&mut self, op: Op) {
        let space = self.module.ty(self.module.result(op, 0));
        let mut makers: Vec<usize> =
            self.module.operands(op).filter_map(|v| self.maker(v)).collect();
        makers.sort_unstable_by_key(|group| Reverse(*group));
        makers.dedup();
        let fits =
            |group: &usize| self.groups[*group].space == Some(space) && self.takes(*group, op);
        // The latest maker first: it is the least likely to be needed by the others.
        let target = makers.iter().copied().filter(fits).find(|target| {
            makers.iter().all(|other| other == target || !self.needs(*other, *target))
        });
        let Some(target) = target else {
            return self.start(op, Some("map"), true);
        };
        self.of.insert(op, target);
        self.groups[target].ops.push(op);
        let reaches = makers.iter().map(|maker| self.groups[*maker].reach);
        let reach = reaches.fold(self.position[&op], usize::max);
        self.extend(target, reach);
        if !self.groups[target].is_open() {
            self.groups[target].space = None;
            return;
        }
        for other in makers.into_iter().filter(|other| *other != target) {
            let alike =
                self.groups[other].kind == Some("map") && self.groups[other].space == Some(space);
            // The product is computed before everything else of its group, and so are its factors.
            let heart =
                (self.groups[target].kind == Some("gemm")).then(|| self.groups[target].ops[0]);
            let is_factor = heart.is_some_and(|heart| {
                self.module.operands(heart).any(|value| self.maker(value) == Some(other))
            });
            let between = |group: &usize| *group != other && self.needs(*group, other);
            if alike && !is_factor && !self.sources(target).iter().any(between) {
                let moved = std::mem::take(&mut self.groups[other].ops);
                self.groups[other].space = None;
                let begin = self.groups[other].begin.min(self.groups[target].begin);
                self.groups[target].begin = begin;
                for op in &moved {
                    self.of.insert(*op, target);
                }
                self.groups[target].ops.extend(moved);
            }
        }
    }

    /// A constant goes into every elementwise group that uses it; if something else does too, it is also a launch.
    fn constants(&mut self, ops: &[Op], end: Op) {
        let is_fill = |op: &&Op| Fusion::of(self.module, **op) == Some(Fusion::Fill);
        for &op in ops.iter().filter(is_fill) {
            let value = self.module.result(op, 0);
            let mut users: Vec<Op> = self.module.uses(value).map(|used| used.op).collect();
            users.sort_unstable_by_key(|user| user.index());
            users.dedup();
            let mut is_launched = false;
            for user in users {
                let fused = |group: &&usize| user != end && self.groups[**group].takes_fills(user);
                let Some(&group) = self.of.get(&user).filter(fused) else {
                    is_launched = true;
                    continue;
                };
                if !self.groups[group].ops.contains(&op) {
                    self.groups[group].ops.push(op);
                }
            }
            if is_launched {
                self.start(op, Some("map"), false);
            }
        }
    }

    /// Kahn's order; ties go to the group whose first operation comes first.
    fn ordered(mut self) -> Vec<Group> {
        for group in &mut self.groups {
            let product = (group.kind == Some("gemm")).then(|| group.ops[0]);
            group.ops.sort_unstable_by_key(|op| (Some(*op) != product, self.position[op]));
        }
        let live = (0..self.groups.len()).filter(|g| !self.groups[*g].ops.is_empty());
        let mut waits = vec![0; self.groups.len()];
        let mut followers = vec![Vec::new(); self.groups.len()];
        let mut ready = BinaryHeap::new();
        for group in live {
            let (arguments, _) = boundary(self.module, &self.groups[group]);
            let mut sources: Vec<usize> =
                arguments.into_iter().filter_map(|v| self.maker(v)).collect();
            sources.sort_unstable();
            sources.dedup();
            waits[group] = sources.len();
            sources.into_iter().for_each(|source| followers[source].push(group));
            if waits[group] == 0 {
                ready.push(Reverse((self.groups[group].begin, group)));
            }
        }
        let mut order = Vec::new();
        while let Some(Reverse((_, group))) = ready.pop() {
            order.push(self.groups[group].clone());
            for &next in &followers[group] {
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(Reverse((self.groups[next].begin, next)));
                }
            }
        }
        order
    }
}
