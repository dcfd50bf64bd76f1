//! Runtime scalars: numbers that change from step to step and are therefore not constants of kernels.

use crate::schema::handle;
use serde::{Deserialize, Serialize};

handle!(
    /// A scalar of [`Plan::scalars`](crate::Plan::scalars).
    ScalarId
);

/// A value the runtime computes each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// Its name, e.g. `lr`.
    pub name: String,
    /// What it is.
    pub source: ScalarSource,
}

/// Where a scalar's value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScalarSource {
    /// The number of the step, starting at 1.
    Step,
    /// Always the same.
    Constant(f64),
    /// Linear from `peak/warmup` at step 1 to `peak` at step `warmup`, then half a cosine down to `floor` at step `total`,
    /// then `floor`.
    WarmupCosine {
        /// Value at the end of the warm-up.
        peak: f64,
        /// Value at the end.
        floor: f64,
        /// Steps of warm-up; 0 = none.
        warmup: u64,
        /// Steps until the floor is reached.
        total: u64,
    },
    /// As `WarmupCosine`, but falling in a straight line.
    WarmupLinear {
        /// Value at the end of the warm-up.
        peak: f64,
        /// Value at the end.
        floor: f64,
        /// Steps of warm-up; 0 = none.
        warmup: u64,
        /// Steps until the floor is reached.
        total: u64,
    },
    /// Linear from `peak/warmup` to `peak` at step `warmup`, then constant.
    WarmupConstant {
        /// Value at the end of the warm-up.
        peak: f64,
        /// Steps of warm-up; 0 = none.
        warmup: u64,
    },
}

impl ScalarSource {
    /// Its value at a step; steps start at 1.
    pub fn at(&self, step: u64) -> f64 {
        match *self {
            ScalarSource::Step => step as f64,
            ScalarSource::Constant(value) => value,
            ScalarSource::WarmupCosine { peak, floor, warmup, total } => {
                match decay(step, warmup, total) {
                    Phase::Warmup(part) => peak * part,
                    Phase::Decay(done) => {
                        floor + (peak - floor) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
                    }
                }
            }
            ScalarSource::WarmupLinear { peak, floor, warmup, total } => {
                match decay(step, warmup, total) {
                    Phase::Warmup(part) => peak * part,
                    Phase::Decay(done) => floor + (peak - floor) * (1.0 - done),
                }
            }
            ScalarSource::WarmupConstant { peak, warmup } => match decay(step, warmup, u64::MAX) {
                Phase::Warmup(part) => peak * part,
                Phase::Decay(_) => peak,
            },
        }
    }
}

/// Fraction of the warm-up reached, or of the decay done.
enum Phase {
    Warmup(f64),
    Decay(f64),
}

fn decay(step: u64, warmup: u64, total: u64) -> Phase {
    if step < warmup {
        Phase::Warmup(step as f64 / warmup as f64)
    } else if step >= total {
        Phase::Decay(1.0)
    } else {
        Phase::Decay((step - warmup) as f64 / (total - warmup) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_rises_to_its_peak_and_falls_to_its_floor() {
        let lr = ScalarSource::WarmupCosine { peak: 1.0, floor: 0.1, warmup: 4, total: 12 };
        assert_eq!(lr.at(1), 0.25);
        assert_eq!(lr.at(4), 1.0);
        assert!((lr.at(8) - 0.55).abs() < 1e-15);
        assert!((lr.at(12) - 0.1).abs() < 1e-15);
        assert!((lr.at(100) - 0.1).abs() < 1e-15);
    }

    #[test]
    fn a_schedule_shorter_than_its_warmup_ends_at_the_floor() {
        let lr = ScalarSource::WarmupLinear { peak: 1.0, floor: 0.0, warmup: 10, total: 5 };
        assert_eq!(lr.at(9), 0.9);
        assert_eq!(lr.at(10), 0.0);
    }
}
