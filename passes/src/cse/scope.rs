//! The operations known at a place, by what they compute. Leaving a scope forgets what was learnt in it.

use hashbrown::HashTable;
use piper_ir::{Module, Op};

use super::equivalence::{Facts, hash, same};

/// Operations by hash. Nothing is allocated for one but its place in the table.
#[derive(Default)]
pub(super) struct ScopedTable {
    table: HashTable<(u32, Op)>,
    /// What was inserted, in order, with its hash: the way back.
    log: Vec<(u32, Op)>,
    /// Where in the log each open scope began.
    scopes: Vec<usize>,
}

/// The table spreads by its own bits of a 64-bit hash, so the 32 kept must fill them all.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl ScopedTable {
    pub(super) fn enter(&mut self) {
        self.scopes.push(self.log.len());
    }

    pub(super) fn leave(&mut self) {
        let start = self.scopes.pop().expect("as many scopes are left as entered");
        if self.scopes.is_empty() {
            self.table.clear();
            self.log.clear();
            return;
        }
        for (hash, op) in self.log.drain(start..) {
            if let Ok(entry) = self.table.find_entry(spread(hash), |(_, known)| *known == op) {
                entry.remove();
            }
        }
    }

    /// The known operation that computes the same, with the key it is known under; if there is none, this one is known from
    /// here on.
    pub(super) fn find_or_insert(
        &mut self,
        module: &Module,
        op: Op,
        facts: Facts,
    ) -> Option<(Op, u32)> {
        let full = hash(module, op, facts);
        let short = (full ^ full >> 32) as u32;
        let is_same = |&(hash, known): &(u32, Op)| hash == short && same(module, known, op, facts);
        match self.table.entry(spread(short), is_same, |(hash, _)| spread(*hash)) {
            hashbrown::hash_table::Entry::Occupied(entry) => Some((entry.get().1, short)),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                entry.insert((short, op));
                self.log.push((short, op));
                None
            }
        }
    }

    /// Lets a later operation stand for what an earlier one did, to the end of the scope.
    pub(super) fn replace(&mut self, earlier: Op, later: Op, key: u32) {
        if let Some(entry) = self.table.find_mut(spread(key), |(_, known)| *known == earlier) {
            entry.1 = later;
            self.log.push((key, later));
        }
    }
}
