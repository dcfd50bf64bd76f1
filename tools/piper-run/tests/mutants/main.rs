//! Change any one instruction of a real plan: the verifier objects, or the plan still means the same.
//!
//! A sample of the mutants of every schedule; `cargo run --release -p piper-run --example mutants` takes them all and prints
//! the score.

#![allow(unreachable_pub)] // private modules, of more than one target

mod cases;
#[path = "../../../../plan/tests/full/mod.rs"]
mod full;
mod mutate;
mod races;
mod score;
mod symbolic;

use score::{Effort, Score};

#[test]
fn every_change_of_meaning_is_rejected() {
    let effort = Effort { mutants: 60, runs: 1, look_at_rejected: false };
    let mut score = Score::default();
    for (seed, case) in (0u64..).zip(cases::all()) {
        score.add(&case, seed, effort).expect("the case itself is right");
    }
    println!("{} mutants of {} plans", score.mutants(), score.plans);
    assert!(score.holes.is_empty(), "holes:\n{}", score.holes.join("\n"));
    assert!(score.plans >= 30 && score.mutants() >= 1500, "{} mutants", score.mutants());
    let unseen: Vec<&str> = (0..mutate::KINDS.len())
        .filter(|k| score.kinds[*k].mutants == 0)
        .map(|k| mutate::KINDS[k])
        .collect();
    assert!(unseen.is_empty(), "no mutant of {unseen:?}");
}
