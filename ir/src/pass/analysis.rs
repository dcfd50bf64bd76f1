//! Analyses: what passes compute about an operation and may share.
//!
//! An analysis is computed the first time a pass asks for it, kept while the passes that follow on the same operation
//! preserve it, and dropped by the first that does not. A pass preserves nothing unless it says so, or only reads. A
//! nested pipeline has a cache of its own for each operation it runs on, which ends with it; afterwards the outer
//! operation keeps what every nested pass preserved. Counterpart: MLIR's `AnalysisManager`.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::time::Instant;

use super::AnalysisRecord;
use crate::{Module, Op};

/// Something that is computed about an operation and what is inside it. Handles in it are those of the module it was
/// computed on.
pub trait Analysis: Any + Send + Sync {
    /// What timing reports call it.
    const NAME: &'static str;

    /// Computes it.
    fn compute(module: &Module, op: Op) -> Self;
}

/// The analyses of one operation that still hold.
#[derive(Default, Debug)]
pub struct AnalysisCache {
    known: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    computed: Vec<AnalysisRecord>,
}

impl AnalysisCache {
    /// The analysis, computed if it is not known.
    pub fn get<A: Analysis>(&mut self, module: &Module, op: Op) -> Arc<A> {
        if let Some(known) = self.cached::<A>() {
            return known;
        }
        let start = Instant::now();
        let made = Arc::new(A::compute(module, op));
        AnalysisRecord::add(&mut self.computed, A::NAME, start.elapsed(), 1);
        self.known.push((TypeId::of::<A>(), Arc::clone(&made) as Arc<dyn Any + Send + Sync>));
        made
    }

    /// The analysis, if it is known.
    pub fn cached<A: Analysis>(&self) -> Option<Arc<A>> {
        let (_, known) = self.known.iter().find(|(id, _)| *id == TypeId::of::<A>())?;
        Arc::clone(known).downcast::<A>().ok()
    }

    /// Drops what a change did not preserve.
    pub(super) fn invalidate(&mut self, preserved: &Preserved) {
        self.known.retain(|(id, _)| preserved.holds(*id));
    }

    /// What was computed since this was asked last, with the time it took.
    pub(super) fn take_computed(&mut self) -> Vec<AnalysisRecord> {
        std::mem::take(&mut self.computed)
    }
}

/// Which analyses still hold after a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Preserved {
    pub(super) all: bool,
    some: Vec<TypeId>,
}

impl Preserved {
    pub(super) fn everything() -> Self {
        Self { all: true, some: Vec::new() }
    }

    pub(super) fn add<A: Analysis>(&mut self) {
        self.some.push(TypeId::of::<A>());
    }

    fn holds(&self, id: TypeId) -> bool {
        self.all || self.some.contains(&id)
    }

    /// What both changes preserve.
    pub(super) fn and(self, other: Self) -> Self {
        match (self.all, other.all) {
            (true, _) => other,
            (_, true) => self,
            _ => Self {
                all: false,
                some: self.some.into_iter().filter(|id| other.holds(*id)).collect(),
            },
        }
    }
}
