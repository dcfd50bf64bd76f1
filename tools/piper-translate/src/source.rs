//! The schedule that is asked for: generated or read, lowered if wanted, and proved.

use std::io::Read;
use std::path::Path;

use piper_ir::pass::PassRegistry;
use piper_plugin_host::Extensions;
use piper_schedule::generate::{
    NewSchedule, Placed, Rejected, Schedule, Schedules, generate, instructions, p2p_batches,
};
use piper_schedule::lower::{Lowering, Program, Transport, lower};
use piper_schedule::{Config, Table, torch_csv};

use crate::args::Args;
use crate::report;

/// A proved schedule.
pub(crate) struct Source {
    /// Name or path, for headings.
    pub(crate) name: String,
    /// What is computed.
    pub(crate) table: Table,
    /// What is run; has communication if it was lowered or read so.
    pub(crate) program: Program,
    /// DeepSpeed's instructions, one line a rank, if they are what is asked for.
    pub(crate) instructions: Option<String>,
}

/// Generates or reads, lowers and proves.
pub(crate) fn read(args: &Args, stdin: &mut dyn Read, cwd: &Path) -> Result<Source, String> {
    let named = args.emit_schedule.as_deref();
    // Other projects' tables are named so.
    let (named, lowered) = match named.and_then(|name| name.strip_suffix("_lowered")) {
        Some(name) => (Some(name), true),
        None => (named, args.lowered),
    };
    let mut source = match (named, &args.import_schedule) {
        (Some(name), _) => {
            let schedules = schedules(args, cwd)?;
            emit(name, &schedules, args).map_err(|rejected| report::rejected(&rejected))?
        }
        (None, Some(path)) => import(path, args, stdin, cwd)?,
        (None, None) => return Err("error: no schedule is asked for\n".into()),
    };
    source.table.check().map_err(|problems| format!("error: {problems}\n"))?;
    if lowered {
        let lowering = Lowering {
            merge: args.merge_bw,
            active_stages: (args.max_active_stages > 0).then_some(args.max_active_stages),
            reduce: true,
            defer: args.defer_recv,
        };
        source.program =
            lower(&source.table, &lowering).map_err(|error| format!("error: {error}\n"))?;
        source.table = source.program.table();
    }
    Ok(source)
}

pub(crate) fn transport(args: &Args) -> Transport {
    if args.buffered_sends { Transport::Buffered } else { Transport::Rendezvous }
}

/// The schedules that there are, with those of plugins.
pub(crate) fn schedules(args: &Args, cwd: &Path) -> Result<Schedules, String> {
    let mut extensions = Extensions::new(PassRegistry::default(), Vec::new());
    for plugin in &args.load_plugin {
        extensions.load(plugin, cwd).map_err(|error| match error.hint() {
            Some(hint) => format!("error: {error}\n  = hint: {hint}\n"),
            None => format!("error: {error}\n"),
        })?;
    }
    Ok(extensions.schedules().clone())
}

/// A schedule that a plugin added.
fn emit_added(added: &NewSchedule, schedules: &Schedules, args: &Args) -> Result<Source, Rejected> {
    for (what, is_wanted) in
        [("batches of transfers", args.p2p_batches), ("DeepSpeed instructions", args.instructions)]
    {
        if is_wanted {
            return Err(Rejected::new(&added.name, format!("has no {what}")));
        }
    }
    let table = schedules.generate(&added.name, &config(added.placed, args))?;
    let program = Program::of(&table);
    Ok(Source { name: added.name.to_string(), table, program, instructions: None })
}

fn config(placed: Placed, args: &Args) -> Config {
    let v = args.v.unwrap_or(if placed == Placed::Loop { 1 } else { 2 });
    let mut config = Config::new(args.pp.unwrap_or(0), v, args.microbatches.unwrap_or(0));
    config.group = args.group;
    config.overlap = args.overlap;
    config.max_activations = args.max_activations;
    config.costs = args.costs;
    config
}

fn emit(name: &str, schedules: &Schedules, args: &Args) -> Result<Source, Rejected> {
    if let Some(added) = schedules.find(name)? {
        return emit_added(added, schedules, args);
    }
    let schedule = Schedule::named(name)?;
    let config = config(schedule.placed, args);
    let table = generate(name, &config)?;
    let program = match args.p2p_batches {
        true => p2p_batches(name, &config)?,
        false => Program::of(&table),
    };
    let instructions = match args.instructions {
        true if schedule.name != "1f1b" => {
            return Err(Rejected::new(schedule.name, "has no DeepSpeed instructions")
                .hint("only 1f1b has them"));
        }
        true => Some(deepspeed(&config)?),
        false => None,
    };
    Ok(Source { name: schedule.name.to_string(), table, program, instructions })
}

fn deepspeed(config: &Config) -> Result<String, Rejected> {
    let mut out = String::new();
    for rank in 0..config.ranks {
        let steps = instructions(config, rank)?;
        let step = |step: &Vec<_>| match step.is_empty() {
            true => ".".to_string(),
            false => step.iter().map(ToString::to_string).collect::<Vec<_>>().join("+"),
        };
        out.push_str(&steps.iter().map(step).collect::<Vec<_>>().join(" "));
        out.push('\n');
    }
    Ok(out)
}

fn import(path: &Path, args: &Args, stdin: &mut dyn Read, cwd: &Path) -> Result<Source, String> {
    let name = if path == Path::new("-") { "<stdin>".into() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        stdin.read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(cwd.join(path)).map(|read| bytes = read)
    };
    read.map_err(|error| format!("error: cannot read '{name}': {error}\n"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("error: '{name}' is not text: line {line} is not UTF-8\n")
    })?;
    // A byte order mark is how some programs begin a CSV file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (program, spans) =
        torch_csv::read_program(text).map_err(|error| report::text_error(&name, &error))?;
    program.check(transport(args)).map_err(|faults| {
        report::faults(&name, text, (&program, &spans), &faults, args.buffered_sends)
    })?;
    Ok(Source { name, table: program.table(), program, instructions: None })
}
