//! Time to generate, check and replay per action, over growing tables: `cargo run -p piper-schedule --example timing`
//!
//! The time per action should stay the same from row to row, since all three are linear.

use std::time::Instant;

use piper_schedule::{Config, Costs, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:16} {:>4} {:>7} {:>9} {:>10} {:>10}",
        "schedule", "P", "M", "actions", "ms", "ns/action"
    );
    for (name, v) in [("1f1b", 1), ("dualpipe", 2), ("interleaved_zb", 4)] {
        for (p, m) in [(16, 64), (16, 640), (16, 6400)] {
            let start = Instant::now();
            let table = generate(name, &Config::new(p, v, m))?;
            table.check()?;
            table.replay(&Costs::new(1, 1, 1))?;
            let (spent, actions) = (start.elapsed(), table.actions().count());
            let per_action = spent.as_nanos() / actions as u128;
            println!(
                "{name:16} {p:4} {m:7} {actions:9} {:10.3} {per_action:10}",
                spent.as_secs_f64() * 1e3
            );
        }
    }
    Ok(())
}
