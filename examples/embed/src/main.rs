//! Runs the example and tells.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    match embed::run(30) {
        Ok(outcome) => {
            print!("{}", outcome.text);
            outcome.remarks.iter().for_each(|remark| println!("{}", remark.text));
            println!("devices: {:?} bytes each", outcome.memory);
            let [first, .., last] = outcome.losses[..] else { return ExitCode::FAILURE };
            println!("loss {first:.4} -> {last:.4}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}
