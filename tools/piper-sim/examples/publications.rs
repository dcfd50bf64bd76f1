//! Prints published training runs against one cost model; docs/simulation.md says what it is made of.
//!
//! `cargo run --release -p piper-sim-cli --example publications`

fn main() {
    print!("{}", piper_sim_cli::publications::report());
}
