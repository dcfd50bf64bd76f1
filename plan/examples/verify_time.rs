//! Prints how long verification takes: `cargo run --release -p piper-plan --example verify_time`.

#[path = "../tests/pipeline/mod.rs"]
mod pipeline;

use std::time::Instant;

fn main() {
    for (pp, dp) in [(16, 1), (16, 64)] {
        let shape = pipeline::Shape { pp, dp, microbatches: 64, width: 1024, depth: 40 };
        let plan = pipeline::plan(shape);
        let instrs: Vec<usize> = plan.programs.iter().map(|p| p.instrs.len()).collect();
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let start = Instant::now();
            assert!(piper_plan::verify(&plan).is_empty());
            best = best.min(start.elapsed().as_secs_f64());
        }
        let (most, total) = (instrs.iter().max().unwrap_or(&0), instrs.iter().sum::<usize>());
        println!(
            "pp{pp} dp{dp}: {total} instructions in {pp} programs (up to {most}), verified in {:.1} ms",
            best * 1e3
        );
    }
}
