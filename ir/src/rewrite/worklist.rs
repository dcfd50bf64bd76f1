//! Sets of operations, and the list of those that wait for the driver.

use rustc_hash::FxHashSet;

use crate::Op;

/// A set of operations: one bit each where they are many, a hash set where they are few of a large module, so that a pass
/// on each of ten thousand functions does not clear ten thousand tables of the whole module.
#[derive(Clone, Debug)]
pub(super) enum OpSet {
    Dense(Vec<u64>),
    Sparse(FxHashSet<Op>),
}

impl OpSet {
    /// A set for about `expected` operations out of `capacity`.
    pub(super) fn new(expected: usize, capacity: usize) -> Self {
        if expected.saturating_mul(64) >= capacity {
            OpSet::Dense(vec![0; capacity.div_ceil(64)])
        } else {
            OpSet::Sparse(FxHashSet::default())
        }
    }

    /// Adds an operation; false if it was there.
    pub(super) fn insert(&mut self, op: Op) -> bool {
        match self {
            OpSet::Dense(words) => {
                let (word, bit) = (op.index() / 64, 1 << (op.index() % 64));
                if word >= words.len() {
                    words.resize(word + 1 + words.len() / 2, 0);
                }
                let is_new = words[word] & bit == 0;
                words[word] |= bit;
                is_new
            }
            OpSet::Sparse(set) => set.insert(op),
        }
    }

    /// Removes an operation; false if it was not there.
    pub(super) fn remove(&mut self, op: Op) -> bool {
        match self {
            OpSet::Dense(words) => {
                let (word, bit) = (op.index() / 64, 1 << (op.index() % 64));
                let Some(word) = words.get_mut(word) else { return false };
                let was = *word & bit != 0;
                *word &= !bit;
                was
            }
            OpSet::Sparse(set) => set.remove(&op),
        }
    }

    pub(super) fn contains(&self, op: Op) -> bool {
        match self {
            OpSet::Dense(words) => {
                words.get(op.index() / 64).is_some_and(|word| word >> (op.index() % 64) & 1 == 1)
            }
            OpSet::Sparse(set) => set.contains(&op),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            OpSet::Dense(words) => words.fill(0),
            OpSet::Sparse(set) => set.clear(),
        }
    }
}

/// Operations to look at, the latest first, each at most once.
#[derive(Debug)]
pub(super) struct Worklist {
    stack: Vec<Op>,
    /// What is in the list. An entry of the stack that is not here was removed, or is an older one of its operation.
    waiting: OpSet,
}

impl Worklist {
    pub(super) fn new(expected: usize, capacity: usize) -> Self {
        Self { stack: Vec::new(), waiting: OpSet::new(expected, capacity) }
    }

    /// Starts over with these, which are looked at in this order.
    pub(super) fn fill(&mut self, ops: &[Op]) {
        self.clear();
        self.stack.extend(ops.iter().rev());
        for &op in ops {
            self.waiting.insert(op);
        }
    }

    pub(super) fn push(&mut self, op: Op) {
        if self.waiting.insert(op) {
            self.stack.push(op);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Op> {
        while let Some(op) = self.stack.pop() {
            if self.waiting.remove(op) {
                return Some(op);
            }
        }
        None
    }

    pub(super) fn remove(&mut self, op: Op) {
        self.waiting.remove(op);
    }

    pub(super) fn clear(&mut self) {
        self.stack.clear();
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_comes_first_and_none_twice() {
        for expected in [1, 1000] {
            let op = Op::from_index;
            let mut list = Worklist::new(expected, 1000);
            list.fill(&[op(1), op(2), op(3)]);
            list.push(op(2));
            list.push(op(5000));
            list.remove(op(3));
            assert_eq!(list.pop(), Some(op(5000)));
            assert_eq!(list.pop(), Some(op(1)));
            list.push(op(3));
            assert_eq!(list.pop(), Some(op(3)));
            assert_eq!((list.pop(), list.pop()), (Some(op(2)), None));
        }
    }
}
