//! Prints a published model as `.pir` text of declared functions:
//! `cargo run -p piper-models --example model -- deepseek-v3 pp=16 dp=2 ep=64 microbatches=120 schedule=dualpipe`.
//!
//! Options: `layers`, `sequence`, `pp`, `v` (stages a rank), `tp`, `ep`, `dp`, `microbatches`, `sequences` (of a microbatch),
//! `zero` (stage), `keeps`, `overlap` (0 or 1), `schedule` (`dualpipe`, `dualpipev`, or one of `strategy.pipeline`), `dtype`. Without a name it lists the models.

use std::process::ExitCode;

use piper_models::{MODELS, Model, Run, Schedule, find, text};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(name) = args.next() else {
        for model in MODELS {
            println!(
                "{:18} {:3} layers, {:6.1}e9 parameters",
                model.name,
                model.layers,
                model.parameters() as f64 / 1e9
            );
        }
        return ExitCode::SUCCESS;
    };
    match written(&name, args) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn written(name: &str, options: impl Iterator<Item = String>) -> Result<String, String> {
    let known: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let mut model: Model = find(name)
        .ok_or_else(|| format!("there is no model '{name}'; there are {}", known.join(", ")))?
        .clone();
    let mut run = Run::default();
    for option in options {
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| format!("expected key=value, found '{option}'"))?;
        let number =
            || value.parse::<u64>().map_err(|_| format!("{key} is a number, not '{value}'"));
        match key {
            "layers" => model = model.with_layers(number()?),
            "sequence" => model.sequence = number()?,
            "pp" => run.pp = number()?,
            "v" => run.v = number()?,
            "tp" => run.tp = number()?,
            "ep" => run.ep = number()?,
            "dp" => run.dp = number()?,
            "microbatches" => run.microbatches = number()?,
            "sequences" => run.sequences = number()?,
            "zero" => run.zero = number()?,
            "keeps" => run.keeps = number()? != 0,
            "overlap" => run.overlap = number()? != 0,
            "schedule" => run.schedule = Schedule::named(value),
            "dtype" => {
                run.dtype = ["bf16", "f32", "f64"]
                    .into_iter()
                    .find(|dtype| *dtype == value)
                    .ok_or_else(|| format!("dtype is bf16, f32 or f64, not '{value}'"))?;
            }
            _ => return Err(format!("there is no option '{key}'")),
        }
    }
    text(&model, &run)
}
