//! What a gradient is the sum of, microbatch by microbatch.

use piper_dialects::dag::{Dist, Held};
use piper_ir::{Module, Value};

use super::buckets::slice_sums;
use crate::accumulate::summands;

/// One summand of a gradient.
#[derive(Clone)]
pub(super) struct Contribution {
    pub(super) value: Value,
    /// Of which microbatch and use it is; `None`: all of them.
    pub(super) held: Option<Held>,
}

/// The summands of a gradient, by slice of its home, in the order in which they are added.
pub(super) fn contributions(module: &Module, raw: Value) -> Vec<Vec<Contribution>> {
    let ctx = module.ctx();
    let one = |value: Value| {
        let held = Dist::of(ctx, module.ty(value)).and_then(|dist| dist.held);
        Contribution { value, held }
    };
    let on_slice = |sum: Value| summands(module, sum).into_iter().map(one).collect();
    slice_sums(module, raw).into_iter().map(on_slice).collect()
}
