//! What is shown while steps are taken: a bar on a terminal, plain lines elsewhere.

use crate::say::say;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Lines that a run without a terminal prints unless told otherwise.
const LINES: u64 = 20;

/// The progress of a run.
pub struct Progress {
    bar: Option<ProgressBar>,
    every: u64,
    steps: u64,
    tokens_per_step: u64,
    start: Instant,
    /// Losses so far.
    pub losses: Vec<f64>,
}

impl Progress {
    /// Begins. `log_every` is a number of steps between lines.
    pub fn new(steps: u64, tokens_per_step: u64, log_every: Option<u64>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}<{eta}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let every = log_every.unwrap_or_else(|| steps.div_ceil(LINES)).max(1);
        Self { bar, every, steps, tokens_per_step, start: Instant::now(), losses: Vec::new() }
    }

    /// A step was taken.
    pub fn step(&mut self, loss: f64) {
        self.losses.push(loss);
        let done = self.losses.len() as u64;
        let rate = self.tokens_per_second();
        let line = format!("loss {loss:.4}  {rate:.0} tokens/s");
        match &self.bar {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(line);
            }
            None if done == 1 || done.is_multiple_of(self.every) || done == self.steps => {
                say!("step {done:>5}  {line}");
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Since the first step began, comparison and all.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn tokens_per_second(&self) -> f64 {
        let done = self.losses.len() as u64 * self.tokens_per_step;
        done as f64 / self.elapsed().as_secs_f64().max(1e-9)
    }
}

/// The losses as a line of blocks, at most `width` of them, with the first, lowest and last.
pub fn loss_curve(losses: &[f64], width: usize) -> String {
    let (Some(first), Some(last)) = (losses.first(), losses.last()) else {
        return "no steps".to_owned();
    };
    let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let columns = width.clamp(1, losses.len());
    let mut curve = String::new();
    for column in 0..columns {
        let range = &losses[column * losses.len() / columns..(column + 1) * losses.len() / columns];
        let mean = range.iter().sum::<f64>() / range.len() as f64;
        let height = ((mean - lowest) / (highest - lowest).max(f64::MIN_POSITIVE) * 7.0).round();
        curve.push(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][(height.clamp(0.0, 7.0)) as usize]);
    }
    format!("{curve}  first {first:.4}, lowest {lowest:.4}, last {last:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_loss_falls_in_the_picture() {
        let losses: Vec<f64> = (0..80).map(|i| 5.0 - f64::from(i) * 0.05).collect();
        let curve = loss_curve(&losses, 8);
        assert_eq!(curve, "█▇▆▅▄▃▂▁  first 5.0000, lowest 1.0500, last 1.0500");
        assert_eq!(loss_curve(&[], 8), "no steps");
        assert!(loss_curve(&[2.0, 2.0], 8).starts_with("▁▁"));
        assert!(loss_curve(&[f64::NAN], 8).contains("NaN"));
    }
}
