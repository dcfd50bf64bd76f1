//! Handles: numbers under which the objects of a process are known. One that is unknown, or that names an object of
//! another kind, is an error where a driver would follow it into the dark.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Code, Handle, Result};

/// Objects of one kind.
pub(crate) struct Table<T> {
    /// Stands in the upper bits, so that handles of two kinds are never the same number, and none is a real address.
    kind: Handle,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    next: Handle,
    objects: BTreeMap<Handle, Arc<T>>,
}

impl<T> Table<T> {
    /// An empty table; `kind` differs from table to table.
    pub(crate) const fn new(kind: u8) -> Self {
        Self {
            kind: 0x5154_0000_0000_0000 | (kind as Handle) << 40,
            inner: Mutex::new(Inner { next: 1, objects: BTreeMap::new() }),
        }
    }

    /// Takes an object in.
    pub(crate) fn insert(&self, object: Arc<T>) -> Handle {
        self.insert_with(|_| object)
    }

    /// Takes in an object that knows its handle.
    pub(crate) fn insert_with(&self, make: impl FnOnce(Handle) -> Arc<T>) -> Handle {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = self.kind | inner.next << 4;
        inner.next += 1;
        inner.objects.insert(handle, make(handle));
        handle
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<T>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.objects.get(&handle).cloned().ok_or(Code::INVALID_HANDLE)
    }

    /// Forgets a handle.
    pub(crate) fn remove(&self, handle: Handle) -> Result<Arc<T>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.objects.remove(&handle).ok_or(Code::INVALID_HANDLE)
    }
}
