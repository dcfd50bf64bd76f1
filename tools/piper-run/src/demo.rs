//! `piper-run demo`: one strategy from its text to a checked training run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use piper_runtime::StopFlag;

use crate::args::{DemoArgs, Level};
use crate::data::Corpus;
use crate::lower::best_level;
use crate::progress::Progress;
use crate::run::{
    Ending, EngineOptions, compiler, describe, ending, open, summary, tell_code, tier,
};
use crate::say::say;
use crate::train::Training;
use crate::{Failure, compile, files, schedule};

const FILE: &str = "examples/gpt.pir";
const MODEL: &str = include_str!("../../../examples/gpt.pir");
/// Interpreters take about a hundred times as long as machine code.
const STEPS: u64 = 200;
const STEPS_INTERPRETED: u64 = 4;

/// Runs the demonstration.
///
/// # Errors
/// Data that cannot be read; anything a run can fail with.
pub fn demo(args: &DemoArgs, stop: &StopFlag) -> Result<Ending, Failure> {
    let trace =
        args.trace.clone().unwrap_or_else(|| std::env::temp_dir().join("piper-demo-trace.json"));
    files::check_writable("trace", &trace)?;
    let (corpus, what) = match &args.data {
        Some(path) => (Corpus::read(path, 0)?, path.display().to_string()),
        None => own_text()?,
    };
    say!("== The strategy ({FILE}) ==\n\n{}\n", strategy_text(MODEL));
    let (plan, table) = schedule::expanded(FILE, MODEL, None, 100)?;
    say!("== What it expands to (piper-opt --pass expand-directives {FILE}) ==\n\n{plan}");
    say!(
        "== The schedule: time goes right, a line a pipeline rank; 0F3 is the forward of stage 0 for microbatch 3,"
    );
    say!("   B its backward, I and W the gradients of inputs and of weights apart ==\n\n{table}");

    let level = args.level.unwrap_or_else(best_level);
    let steps =
        args.steps.unwrap_or(if level == Level::Native { STEPS } else { STEPS_INTERPRETED });
    say!(
        "== Training on {what} ({} bytes), and the same on one device beside it ==\n",
        corpus.len()
    );
    if level != Level::Native {
        say!("(this build has no LLVM, so {steps} steps are interpreted; --steps asks for more)");
    }
    let options = compile::Options { fixed_tree: true, ..compile::Options::default() };
    let mut ours = compile::compile(FILE, MODEL, options)?;
    let mut single = compile::compile(FILE, MODEL, compile::Options { single: true, ..options })?;
    corpus.check(&ours.feeds)?;
    say!("{}", describe(&ours, &format!("level {}", level.text())));
    let engine_options = EngineOptions {
        level,
        gradients: true,
        compiler: compiler(args.no_cache),
        trace: true,
        timeout: Duration::from_secs(60),
        stop: stop.clone(),
        ..EngineOptions::default()
    };
    let training = Training {
        corpus: &corpus,
        steps,
        learning_rate: ours.learning_rate.clone(),
        stop: stop.clone(),
    };
    let (tokens, tier) = (ours.tokens_per_step(), tier(&ours, true));
    let mut engine = open(&mut ours, &engine_options)?;
    tell_code(engine.code(), &engine_options.compiler);
    let mut reference = open(&mut single, &EngineOptions { trace: false, ..engine_options })?;
    let mut progress = Progress::new(steps, tokens, None);
    let trained = training.run(&mut *engine, Some(&mut *reference), |loss| progress.step(loss));
    progress.finish();
    let trained = trained?;
    say!("\n== Result ==\n\n{}", summary(&trained, tokens, &engine.memory(), tier));
    if let Some(text) = engine.trace()? {
        files::write("trace", &trace, text.as_bytes())?;
        say!("The trace lies at {} (open it at https://ui.perfetto.dev).", trace.display());
    }
    Ok(ending(&trained, tier))
}

/// The strategy.plan and mesh of a file, as they are written.
fn strategy_text(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("strategy.mesh") {
            out += &format!("{line}\n");
        }
        if depth > 0 || line.trim_start().starts_with("strategy.plan") {
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            out += &format!("{line}\n");
        }
    }
    out
}

/// The docs and sources of the workspace this program was built in.
fn own_text() -> Result<(Corpus, String), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    collect(&root, 0, &mut paths);
    paths.sort();
    let mut bytes = Vec::new();
    for path in &paths {
        // A file that vanished meanwhile is no loss.
        bytes.extend(std::fs::read(path).unwrap_or_default());
    }
    let what = format!("this repository's {} docs and sources", paths.len());
    if bytes.is_empty() {
        return Err(Failure::with_hint(
            "the sources this program was built from are gone",
            "give a text: --data FILE",
        ));
    }
    Ok((Corpus::of(what.clone(), bytes, 0)?, what))
}

/// Markdown and Rust files below a folder. Folders of tools (`.git`) and of build results are left out.
fn collect(folder: &Path, depth: u32, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') && name != "target" && depth < 12 {
            collect(&path, depth + 1, paths);
        } else if kind.is_file() && (name.ends_with(".md") || name.ends_with(".rs")) {
            paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_text_enough_to_train_on() {
        let (corpus, what) = own_text().expect("sources");
        assert!(corpus.len() > 200_000, "{what}: {}", corpus.len());
    }

    #[test]
    fn the_strategy_is_shown_as_it_is_written() {
        let text = strategy_text(MODEL);
        assert!(
            text.contains("strategy.mesh @cluster")
                && text.contains("strategy.dualpipe over \"pp\""),
            "{text}"
        );
        assert!(!text.contains("func.func"), "{text}");
    }
}
