//! Draws a schedule: `cargo run -p piper-schedule --example draw -- dualpipe 4 2 10 [colour]`
//!
//! Arguments: schedule, ranks, stages per rank, microbatches.

use piper_schedule::table::{Style, render};
use piper_schedule::{Config, Costs, generate};

fn main() {
    if let Err(error) = draw() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn draw() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, numbers @ ..] = &args[..] else {
        return Err("usage: draw SCHEDULE P V M [colour]".into());
    };
    let number = |at: usize| {
        numbers
            .get(at)
            .ok_or("usage: draw SCHEDULE P V M [colour]")?
            .parse()
            .map_err(|_| "a number")
    };
    let config = Config::new(number(0)?, number(1)?, number(2)?);
    let table = generate(name, &config).map_err(|error| match &error.hint {
        Some(hint) => format!("{error}\n  = hint: {hint}"),
        None => error.to_string(),
    })?;
    table.check()?;
    let style =
        Style { colour: numbers.get(3).is_some_and(|word| word == "colour"), ..Style::default() };
    print!("{}", render(&table, style)?);
    let replay = table.replay(&Costs::new(1, 1, 1))?;
    println!(
        "F=I=W=1: makespan {}, idle {:?}",
        replay.makespan,
        (0..table.ranks.len()).map(|r| replay.idle(r)).collect::<Vec<_>>()
    );
    println!("peak activations {:?}", replay.peak_activations);
    Ok(())
}
