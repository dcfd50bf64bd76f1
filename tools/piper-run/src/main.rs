//! The program. Code generation runs in a child that is this program again, so that comes first.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Compiling is making many small things: an allocator made for that saves a sixth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Deeply nested text needs stack where the core's own growing of it does not reach.
const STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    piper_codegen::child_main();
    match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(piper_run::cli::main) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::FAILURE),
        Err(_) => piper_run::cli::main(),
    }
}
