//! Prints the mutation score of the plan verifier: `cargo run --release -p piper-run --example mutants [mutants per plan]`.
//!
//! Every schedule is compiled with and without replicas and ZeRO, and each plan is changed in one instruction at a time: at
//! least 20,000 mutants. What the verifier accepts must be shown to be the same plan: no race and no hang by definition, the
//! same result on symbolic numbers in six interleavings, and the same bits from the runtime.

#![allow(unreachable_pub)] // private modules, of more than one target

use std::process::ExitCode;

#[path = "../tests/mutants/cases.rs"]
mod cases;
#[path = "../../../plan/tests/full/mod.rs"]
mod full;
#[path = "../tests/mutants/mutate.rs"]
mod mutate;
#[path = "../tests/mutants/races.rs"]
mod races;
#[path = "../tests/mutants/score.rs"]
mod score;
#[path = "../tests/mutants/symbolic.rs"]
mod symbolic;

use score::{Effort, Score};

fn main() -> ExitCode {
    let mutants = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(640);
    let effort = Effort { mutants, runs: usize::MAX, look_at_rejected: true };
    let mut score = Score::default();
    for (seed, case) in (1000u64..).zip(cases::all()) {
        let before = score.mutants();
        if let Err(why) = score.add(&case, seed, effort) {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
        println!("{:<36} {:>6} mutants", case.name, score.mutants() - before);
    }
    println!(
        "\n{:<40} {:>8} {:>9} {:>11} {:>14} {:>10}",
        "mutation", "mutants", "rejected", "(harmless)", "accepted, same", "run, same"
    );
    for (kind, count) in mutate::KINDS.iter().zip(&score.kinds) {
        println!(
            "{kind:<40} {:>8} {:>9} {:>11} {:>14} {:>10}",
            count.mutants, count.rejected, count.rejected_same, count.same, count.ran
        );
    }
    let sum = |of: fn(&score::Count) -> usize| score.kinds.iter().map(of).sum::<usize>();
    println!(
        "{:<40} {:>8} {:>9} {:>11} {:>14} {:>10}",
        format!("{} plans", score.plans),
        score.mutants(),
        sum(|k| k.rejected),
        sum(|k| k.rejected_same),
        sum(|k| k.same),
        sum(|k| k.ran)
    );
    println!("\nfirst fault reported:");
    for (fault, count) in &score.faults {
        println!("  {fault:<28} {count:>6}");
    }
    println!("\n{} accepted mutants are not the same plan", score.holes.len());
    score.holes.iter().for_each(|hole| println!("  {hole}"));
    if score.holes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
