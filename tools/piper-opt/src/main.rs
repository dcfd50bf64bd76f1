//! The program: Piper's dialects and passes, the process's arguments.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Deeply nested text needs stack where the core's own growing of it does not reach.
const STACK_BYTES: usize = 64 << 20;

/// Compiling is making many small things: an allocator made for that saves a sixth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let run = || piper_opt::main(piper_passes::registry::all(), piper_dialects::all());
    match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::FAILURE),
        Err(_) => run(),
    }
}
