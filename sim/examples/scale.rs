//! Prints how long a simulation takes against instructions and devices.
//!
//! `cargo run --release -p piper-sim --example scale`

#[path = "../../plan/tests/pipeline/mod.rs"]
mod pipeline;

use std::time::Instant;

use pipeline::Shape;
use piper_plan::Cost;
use piper_sim::{Machine, simulate};

const MACHINE: &str = "[device]\nflops = 1e14\nmemory_bandwidth = 1e12\nlaunch_overhead = 3e-6\n[axes]\npp = { bandwidth = 5e10, latency = 5e-6 }\ndp = { bandwidth = 5e10, latency = 5e-6 }\n";

fn main() {
    let machine = Machine::parse(MACHINE).unwrap_or_else(|e| panic!("{e}"));
    println!(
        "{:>8} {:>12} {:>10} {:>10} {:>14}",
        "devices", "instructions", "ranks", "seconds", "ns/instruction"
    );
    for (pp, dp, microbatches) in [
        (16, 1, 32),
        (16, 1, 128),
        (16, 1, 512),
        (16, 1, 2048),
        (16, 16, 512),
        (16, 128, 512),
        (16, 1024, 512),
    ] {
        let mut plan = pipeline::plan(Shape { pp, dp, microbatches, width: 64, depth: 8 });
        for kernel in &mut plan.kernels {
            kernel.cost = Some(Cost { flops: 1e9, bytes: 1e6, seconds: None });
        }
        let instructions: usize = plan.programs.iter().map(|p| p.instrs.len()).sum();
        let start = Instant::now();
        let outcome = simulate(&plan, &machine).unwrap_or_else(|e| panic!("{e}"));
        let took = start.elapsed().as_secs_f64();
        println!(
            "{:>8} {instructions:>12} {:>10} {took:>10.3} {:>14.0}",
            plan.devices(),
            outcome.ranks.len(),
            took / instructions as f64 * 1e9
        );
    }
}
