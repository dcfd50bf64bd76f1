//! Append-only interning: equal data has one handle, handles stay valid for the life of the context.

use std::hash::{BuildHasher, Hash};
use std::sync::RwLock;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Maps values to dense indices. Reading by index takes no lock; interning takes a read lock when the value is known
/// and a write lock when it is new.
pub(crate) struct Interner<T> {
    items: boxcar::Vec<T>,
    /// Hashes with indices: growing the table, and comparing with what has another hash, does not touch the values.
    table: RwLock<HashTable<(u64, u32)>>,
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn new() -> Self {
        Self { items: boxcar::Vec::new(), table: RwLock::new(HashTable::new()) }
    }

    /// The value with this index. Panics if the index was not handed out by this interner.
    pub(crate) fn get(&self, index: u32) -> &T {
        &self.items[index as usize]
    }

    /// The index of `value`, which is stored if it is new.
    pub(crate) fn intern(&self, value: T) -> u32 {
        let hash = FxBuildHasher.hash_one(&value);
        self.find_or_insert(hash, |item| *item == value).unwrap_or_else(|slot| slot.fill(value))
    }

    /// As [`intern`](Self::intern), building the owned value only when it is new. `key` must hash and compare as the
    /// built value does.
    pub(crate) fn intern_by<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        eq: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> u32 {
        let hash = FxBuildHasher.hash_one(key);
        self.find_or_insert(hash, eq).unwrap_or_else(|slot| slot.fill(make()))
    }

    fn find_or_insert(&self, hash: u64, eq: impl Fn(&T) -> bool) -> Result<u32, Vacant<'_, T>> {
        let same = |&(known, index): &(u64, u32)| known == hash && eq(self.get(index));
        if let Some(&(_, index)) = self.table.read().expect("interner lock").find(hash, same) {
            return Ok(index);
        }
        let table = self.table.write().expect("interner lock");
        // Another thread may have stored it between the two locks.
        if let Some(&(_, index)) = table.find(hash, same) {
            return Ok(index);
        }
        Err(Vacant { interner: self, table, hash })
    }
}

/// A place for a value known to be absent, held under the write lock.
struct Vacant<'a, T> {
    interner: &'a Interner<T>,
    table: std::sync::RwLockWriteGuard<'a, HashTable<(u64, u32)>>,
    hash: u64,
}

impl<T: Hash + Eq> Vacant<'_, T> {
    fn fill(mut self, value: T) -> u32 {
        let index =
            u32::try_from(self.interner.items.push(value)).expect("more than 2^32 interned values");
        self.table.insert_unique(self.hash, (self.hash, index), |&(hash, _)| hash);
        index
    }
}
