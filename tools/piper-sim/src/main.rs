//! `piper-sim`.

use std::process::ExitCode;

fn main() -> ExitCode {
    piper_sim_cli::main()
}
