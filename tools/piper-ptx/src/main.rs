//! `piper-ptx`: runs a kernel of a PTX text on the CPU with every check on, or says what is in the text.
#![forbid(unsafe_code)]

mod argument;
mod npy;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use piper_ptx::{Checks, Machine, Module, Stats};

use argument::Argument;

/// Runs and checks PTX on a CPU.
#[derive(Parser)]
#[command(name = "piper-ptx", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse a text and list its kernels; every instruction is looked at.
    Check {
        /// The PTX text.
        file: PathBuf,
    },
    /// Run one kernel and print results and counts.
    Run {
        /// The PTX text.
        file: PathBuf,
        /// The kernel; not needed where there is one.
        #[arg(long)]
        kernel: Option<String>,
        /// Blocks: x, x,y or x,y,z.
        #[arg(long, default_value = "1", value_parser = sizes)]
        grid: [u32; 3],
        /// Threads of a block: x, x,y or x,y,z.
        #[arg(long, default_value = "1", value_parser = sizes)]
        block: [u32; 3],
        /// Bytes of dynamic shared memory.
        #[arg(long, default_value_t = 0)]
        shared: u32,
        /// An argument: f32:2.0, i32:-1, u32:7, u64:7, f64:0.5, buf:x.npy, buf:zeros:4096xf32, buf:iota:300xf32 or
        /// buf:empty:16xf32 (memory that nobody has written).
        #[arg(long = "arg", value_parser = Argument::parse)]
        args: Vec<Argument>,
        /// Print the buffer that is argument number N (from zero) after the run; with N=FILE.npy, write it there.
        #[arg(long = "out")]
        out: Vec<String>,
        /// Instructions that a warp may issue before the kernel counts as endless.
        #[arg(long, default_value_t = Checks::default().step_limit)]
        step_limit: u64,
        /// Leave out the checks for races and for memory that nobody wrote.
        #[arg(long)]
        fast: bool,
    },
}

fn sizes(text: &str) -> Result<[u32; 3], String> {
    let mut sizes = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most three sizes: x,y,z".to_string());
    }
    for (size, part) in sizes.iter_mut().zip(parts) {
        *size = part.trim().parse().map_err(|_| format!("`{part}` is no size"))?;
    }
    Ok(sizes)
}

/// Prints a line. Whoever reads may have seen enough and gone: that is no fault.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Check { file } => check(&file),
        Command::Run { file, kernel, grid, block, shared, args, out, step_limit, fast } => {
            let checks = Checks {
                races: !fast,
                uninitialised: !fast,
                uninitialised_global: !fast,
                step_limit,
            };
            run(&file, kernel, (grid, block, shared), args, &out, checks)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn module(file: &PathBuf) -> Result<Module> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    match Module::parse(&text) {
        Ok(module) => Ok(module),
        Err(error) => bail!("{}:{error}", file.display()),
    }
}

fn check(file: &PathBuf) -> Result<()> {
    let module = module(file)?;
    say!("target {}", module.target());
    let mut faults = 0;
    for name in module.kernels() {
        match module.kernel(name) {
            Ok(kernel) => {
                let params: u64 = kernel.params().map(|p| p.bytes).sum();
                say!(
                    "kernel {name}: {} instructions, {} virtual registers, {} parameters ({params} bytes), {} bytes \
                     shared, {} bytes local",
                    kernel.instructions(),
                    kernel.registers(),
                    kernel.params().len(),
                    kernel.shared_bytes(),
                    kernel.local_bytes()
                );
            }
            Err(error) => {
                faults += 1;
                eprintln!("error: {}:{error}", file.display());
            }
        }
    }
    for variable in module.variables() {
        say!("variable {}: {} bytes, {:?}", variable.name, variable.bytes, variable.space);
    }
    if faults > 0 {
        bail!("{faults} of {} kernels cannot be run", module.kernels().count());
    }
    Ok(())
}

fn run(
    file: &PathBuf,
    name: Option<String>,
    (grid, block, shared): ([u32; 3], [u32; 3], u32),
    args: Vec<Argument>,
    out: &[String],
    checks: Checks,
) -> Result<()> {
    let module = module(file)?;
    let names: Vec<&str> = module.kernels().collect();
    let name = match (name, names.as_slice()) {
        (Some(name), _) => name,
        (None, [one]) => (*one).to_string(),
        (None, _) => bail!("which kernel? --kernel is one of: {}", names.join(", ")),
    };
    let kernel = match module.kernel(&name) {
        Ok(kernel) => kernel,
        Err(error) => bail!("{}:{error}", file.display()),
    };
    let mut machine = Machine::new();
    machine.checks = checks;
    let mut values = Vec::new();
    let mut buffers = Vec::new();
    for arg in args {
        let (value, buffer) = arg.place(&mut machine)?;
        values.push(value);
        buffers.push(buffer);
    }
    let start = Instant::now();
    let stats = match machine.launch(&kernel, grid, block, shared, &values) {
        Ok(stats) => stats,
        Err(fault) => bail!("{}: {fault}", file.display()),
    };
    let seconds = start.elapsed().as_secs_f64();
    for wanted in out {
        let (number, path) = match wanted.split_once('=') {
            Some((number, path)) => (number, Some(path)),
            None => (wanted.as_str(), None),
        };
        let at: usize = number.parse().with_context(|| format!("--out {wanted}"))?;
        let Some(Some(buffer)) = buffers.get(at) else {
            bail!("--out {wanted}: argument {at} is no buffer");
        };
        let mut bytes = vec![0; buffer.bytes()];
        machine.copy_out(buffer.pointer, &mut bytes)?;
        match path {
            Some(path) => npy::write(path, buffer, &bytes)?,
            None => say!("argument {at}: {}", buffer.show(&bytes)),
        }
    }
    show(&stats, seconds);
    Ok(())
}

fn show(stats: &Stats, seconds: f64) {
    say!(
        "{} instructions in {} of warps, {:.0} million a second",
        stats.instructions(),
        stats.warp_instructions,
        stats.instructions() as f64 / seconds.max(1e-9) / 1e6
    );
    let classes = [
        ("integer", stats.integer),
        ("float", stats.float),
        ("move", stats.moves),
        ("load", stats.loads),
        ("store", stats.stores),
        ("atomic", stats.atomics),
        ("control", stats.control),
        ("barrier", stats.barriers),
        ("warp", stats.warp),
        ("copy", stats.copies),
        ("tensor", stats.tensor),
    ];
    let used: Vec<String> =
        classes.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}")).collect();
    say!("  {}", used.join(", "));
    say!(
        "  global: {} bytes read, {} written, {} segments of 32 bytes",
        stats.global_read,
        stats.global_written,
        stats.global_segments
    );
    if stats.shared_read + stats.shared_written > 0 {
        say!(
            "  shared: {} bytes read, {} written, {} bank conflicts",
            stats.shared_read,
            stats.shared_written,
            stats.bank_conflicts
        );
    }
}
