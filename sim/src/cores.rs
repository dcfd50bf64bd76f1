//! Cores that all devices of a host share.
//!
//! `k` jobs on `C` cores each progress at the rate `min(1, C/k)`: what threads get from a fair scheduler. As all progress at the
//! same rate, a job that needs `w` seconds of a core ends when the *virtual* clock, which runs at that rate, has advanced by
//! `w`. So a heap by virtual end times suffices, and a change of the rate touches no job.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A positive time as an integer that orders the same way.
fn key(time: f64) -> u64 {
    time.max(0.0).to_bits()
}

/// The cores and the jobs on them.
#[derive(Debug)]
pub(crate) struct Cores {
    count: f64,
    /// The virtual clock, as of `real`.
    virtual_now: f64,
    real: f64,
    jobs: BinaryHeap<Reverse<(u64, u64)>>,
    /// Seconds after a job's end at which it is noticed, for those that have any.
    latencies: BTreeMap<u64, f64>,
}

impl Cores {
    pub(crate) fn new(count: f64) -> Self {
        Cores {
            count,
            virtual_now: 0.0,
            real: 0.0,
            jobs: BinaryHeap::new(),
            latencies: BTreeMap::new(),
        }
    }

    fn rate(&self) -> f64 {
        (self.count / self.jobs.len().max(1) as f64).min(1.0)
    }

    fn advance(&mut self, now: f64) {
        self.virtual_now += (now - self.real) * self.rate();
        self.real = now;
    }

    /// Adds a job of `work` seconds; its end is noticed `latency` after it.
    pub(crate) fn start(&mut self, now: f64, work: f64, latency: f64, id: u64) {
        self.advance(now);
        if latency > 0.0 {
            self.latencies.insert(id, latency);
        }
        self.jobs.push(Reverse((key(self.virtual_now + work), id)));
    }

    /// When the next job ends if nothing changes.
    pub(crate) fn next_end(&self, now: f64) -> Option<f64> {
        let Reverse((end, _)) = self.jobs.peek()?;
        let left = (f64::from_bits(*end) - self.virtual_now) / self.rate();
        Some((self.real + left).max(now))
    }

    /// The jobs that have ended by `now`, with when that is noticed.
    pub(crate) fn ended(&mut self, now: f64) -> Vec<(f64, u64)> {
        self.advance(now);
        let mut out = Vec::new();
        // Rounding may leave a job short of its end by a few units in the last place of the clocks.
        let reached = self.virtual_now + self.real * 1e-13;
        while let Some(Reverse((end, id))) = self.jobs.peek().copied() {
            if f64::from_bits(end) > reached {
                break;
            }
            self.jobs.pop();
            out.push((now + self.latencies.remove(&id).unwrap_or(0.0), id));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn three_jobs_on_two_cores_share_them() {
        let mut cores = Cores::new(2.0);
        for (id, work) in [(0, 2.0), (1, 2.0), (2, 4.0)] {
            cores.start(0.0, work, 0.0, id);
        }
        let first = cores.next_end(0.0).expect("jobs");
        assert!((first - 3.0).abs() < 1e-12, "two thirds of a core each: {first}");
        assert_eq!(cores.ended(first).len(), 2);
        let last = cores.next_end(first).expect("a job");
        assert!((last - 5.0).abs() < 1e-12, "the last one has a core for its other half: {last}");
    }
}
