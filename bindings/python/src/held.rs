//! A program that Python objects speak of.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piper::Program;
use piper::ir::Op;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A program, unless somebody has taken it out to work on it.
pub(crate) struct Held(Mutex<Slot>);

struct Slot {
    program: Result<Program, &'static str>,
    /// Grows whenever handles to operations become meaningless.
    generation: u64,
    /// Erased in this generation.
    erased: HashSet<Op>,
}

/// Why a program is not there.
const BUSY: &str = "passes are running on this module in another thread";

impl Held {
    pub(crate) fn new(program: Program) -> Arc<Self> {
        let slot = Slot { program: Ok(program), generation: 0, erased: HashSet::new() };
        Arc::new(Self(Mutex::new(slot)))
    }

    /// Nobody holds the lock while it waits for Python, so it is never waited for long.
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The generation, which a new handle remembers.
    pub(crate) fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// Looks at or changes the program.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Program) -> R) -> PyResult<R> {
        match &mut self.lock().program {
            Ok(program) => Ok(work(program)),
            Err(why) => Err(PyRuntimeError::new_err(*why)),
        }
    }

    /// As [`with`](Self::with), for whoever has a handle to an operation of that generation.
    pub(crate) fn with_op<R>(
        &self,
        op: Op,
        generation: u64,
        work: impl FnOnce(&mut Program) -> R,
    ) -> PyResult<R> {
        let mut slot = self.lock();
        if slot.program.is_ok() {
            if slot.generation != generation {
                let why =
                    "passes have changed the module since this was read from it; walk it again";
                return Err(PyRuntimeError::new_err(why));
            }
            if slot.erased.contains(&op) {
                return Err(PyRuntimeError::new_err("this operation was erased"));
            }
        }
        match &mut slot.program {
            Ok(program) => Ok(work(program)),
            Err(why) => Err(PyRuntimeError::new_err(*why)),
        }
    }

    /// Remembers that operations are gone.
    pub(crate) fn note_erased(&self, ops: impl IntoIterator<Item = Op>) {
        self.lock().erased.extend(ops);
    }

    /// Takes the program out, to work on it for long. It has to come back by [`put`](Self::put).
    pub(crate) fn take(&self) -> PyResult<Program> {
        let mut slot = self.lock();
        let taken = std::mem::replace(&mut slot.program, Err(BUSY));
        taken.map_err(|why| {
            slot.program = Err(why);
            PyRuntimeError::new_err(why)
        })
    }

    /// Puts a program back that was changed: what is known of its operations is stale.
    pub(crate) fn put(&self, program: Program) {
        let mut slot = self.lock();
        slot.program = Ok(program);
        slot.generation += 1;
        slot.erased.clear();
    }

    /// Takes the program out for good, and says why it is not there.
    pub(crate) fn end(&self, why: &'static str) -> Option<Program> {
        std::mem::replace(&mut self.lock().program, Err(why)).ok()
    }
}
