//! What verifying costs: time an instruction, over programs of growing length and meshes of growing size.
//!
//! `cargo run --release -p piper-plan --example verify_scale [instructions]`
//!
//! The plans are pipelines of 16 stages with an activation sent and a gradient received for every microbatch, kernels
//! between, a sharded optimizer at the end: what a compiler gives, only longer. One thread does all the work.

#[path = "../tests/pipeline/mod.rs"]
mod pipeline;

use pipeline::Shape;
use std::time::Instant;

fn main() {
    let most: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    println!("{:>12} {:>8} {:>10} {:>10}", "instructions", "devices", "ms", "ns/instr");
    for divisor in [16, 4, 1] {
        for dp in [16, 1024] {
            // A microbatch is 8 kernels, 4 transfers and 12 events and waits a stage.
            let microbatches = (most / divisor / 16 / 24) as u32;
            let plan = pipeline::plan(Shape { pp: 16, dp, microbatches, width: 64, depth: 4 });
            let instructions: usize = plan.programs.iter().map(|p| p.instrs.len()).sum();
            let best = (0..5)
                .map(|_| {
                    let start = Instant::now();
                    let faults = piper_plan::verify(&plan);
                    assert!(faults.is_empty(), "{}", faults[0].render(&plan));
                    start.elapsed()
                })
                .min()
                .expect("five runs");
            let ms = best.as_secs_f64() * 1e3;
            println!(
                "{instructions:>12} {:>8} {ms:>10.2} {:>10.0}",
                plan.devices(),
                ms * 1e6 / instructions as f64
            );
        }
    }
}
