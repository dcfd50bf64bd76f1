//! What collectives take, in the alpha-beta model: a message of `b` bytes costs `alpha + b/beta`.
//!
//! With `n` members, a whole buffer of `V` bytes, latency `alpha` and bandwidth `beta`:
//!
//! | algorithm | reduce-scatter, all-gather | all-reduce | source |
//! |---|---|---|---|
//! | ring | `(n-1) (alpha + V/(n beta))` | twice that | Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005 |
//! | double tree | - | `2 (ceil(log2 n) alpha + V/beta)` | Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009 |
//! | by levels | a ring a level, each on what the level before left: `sum_i (n_i-1) (alpha_i + V/(n_1...n_i beta_i))` | twice that | Jia et al., "Highly scalable deep learning training system with mixed-precision", 2018 |
//!
//! The cheapest applicable one is taken, as NCCL's tuner does. An all-to-all posts all messages at once: on each level the part
//! that leaves for another coordinate, `V (n_i-1)/n_i`, crosses that level's fabric, and the levels work at the same time
//! (as DeepEP's forwarding does): `sum_i alpha_i + max_i V (n_i-1)/(n_i beta_i)`.

use crate::machine::{Dim, Topology};

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Sum everywhere; `bytes` = the buffer.
    AllReduce,
    /// Each member a part of the sum; `bytes` = all parts.
    ReduceScatter,
    /// All parts everywhere; `bytes` = all parts.
    AllGather,
    /// Part `j` of each member to member `j`; `bytes` = all parts of one member.
    AllToAll,
}

/// How long a collective lasts, and how long it keeps the port of every member to each fabric busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Duration {
    /// Seconds from its start to its end.
    pub total: f64,
    /// Per fabric, seconds of its port's full bandwidth.
    pub ports: Vec<(usize, f64)>,
}

/// The cost of a collective of `bytes` over a group that extends in `dims` (the fastest first). `weights` says of each fabric
/// how many devices behind one port do the same at the same time.
pub fn duration(
    topology: &Topology<'_>,
    collective: Collective,
    bytes: f64,
    dims: &[Dim],
    weights: &[f64],
) -> Duration {
    let alpha = |dim: &Dim| topology.fabric(dim.fabric).latency;
    let beta = |dim: &Dim| topology.fabric(dim.fabric).bandwidth / weights[dim.fabric];
    let members: u64 = dims.iter().map(|d| d.size).product();
    let n = members as f64;
    if members <= 1 {
        return Duration::default();
    }
    if collective == Collective::AllToAll {
        let crossing = |d: &Dim| bytes * (d.size as f64 - 1.0) / (d.size as f64 * beta(d));
        let ports: Vec<(usize, f64)> = dims.iter().map(|d| (d.fabric, crossing(d))).collect();
        let slowest = ports.iter().map(|p| p.1).fold(0.0, f64::max);
        return Duration { total: dims.iter().map(alpha).sum::<f64>() + slowest, ports };
    }
    let passes = if collective == Collective::AllReduce { 2.0 } else { 1.0 };
    let mut left = bytes;
    let mut levels = Duration::default();
    for dim in dims {
        let steps = dim.size as f64 - 1.0;
        left /= dim.size as f64;
        let busy = passes * steps * left / beta(dim);
        levels.total += passes * steps * alpha(dim) + busy;
        levels.ports.push((dim.fabric, busy));
    }
    let slowest_beta = dims.iter().map(beta).fold(f64::INFINITY, f64::min);
    let longest_alpha = dims.iter().map(alpha).fold(0.0, f64::max);
    let flat = |total: f64, busy: f64| Duration {
        total,
        ports: dims.iter().map(|d| (d.fabric, busy)).collect(),
    };
    let ring_busy = passes * (n - 1.0) / n * bytes / slowest_beta;
    let ring = flat(passes * (n - 1.0) * longest_alpha + ring_busy, ring_busy);
    let mut best = if ring.total < levels.total { ring } else { levels };
    if collective == Collective::AllReduce {
        let depth = f64::from(members.next_power_of_two().trailing_zeros());
        let busy = 2.0 * bytes / slowest_beta;
        let tree = flat(2.0 * depth * longest_alpha + busy, busy);
        if tree.total < best.total {
            best = tree;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use piper_plan::{Axis, Plan};

    /// Seconds of a collective of 8,000 bytes over all devices of a mesh of `a` x `b`: 1 MB/s on `a`, 4 MB/s on `b`.
    fn seconds(a: u32, b: u32, alpha: f64, collective: Collective) -> f64 {
        let text = format!(
            "[device]\nflops = 1e12\nmemory_bandwidth = 1e12\n[axes]\na = {{ bandwidth = 1e6, latency = {alpha:?} }}\nb = {{ bandwidth = 4e6, latency = {alpha:?} }}\n"
        );
        let machine = Machine::parse(&text).expect("a machine");
        let axis = |name: &str, size| Axis { name: name.to_owned(), size };
        let plan = Plan { mesh: vec![axis("a", a), axis("b", b)], ..Plan::default() };
        let topology = Topology::of(&machine, &plan).expect("fits");
        let members: Vec<usize> = (0..plan.devices()).collect();
        duration(&topology, collective, 8000.0, &topology.dims(&members), &[1.0, 1.0]).total
    }

    #[test]
    fn formulas_give_what_they_give_by_hand() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        use Collective::*;
        // Ring of four: three steps of a quarter.
        close(seconds(4, 1, 1e-3, AllGather), 3.0 * (1e-3 + 2e-3));
        close(seconds(4, 1, 1e-3, ReduceScatter), 9e-3);
        close(seconds(4, 1, 0.0, AllReduce), 2.0 * 6e-3);
        // Of sixteen with a long latency, the tree has 2 x 4 of them instead of 2 x 15.
        close(seconds(16, 1, 1.0, AllReduce), 2.0 * (4.0 + 8e-3));
        // Two levels: 8,000 B by halves at 4 MB/s, the half that is left by quarters at 1 MB/s.
        close(seconds(4, 2, 0.0, ReduceScatter), 1e-3 + 3e-3);
        // All-to-all: three quarters cross `a`, half crosses `b`, at the same time.
        close(seconds(4, 2, 1e-4, AllToAll), 2e-4 + 6e-3);
        close(seconds(1, 1, 1.0, AllReduce), 0.0);
    }
}
