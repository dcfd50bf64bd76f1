//! Runs a task's steps in order, streams what they print, and sums up.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The steps of a task: all run, whatever fails before them.
pub(crate) struct Steps {
    total: usize,
    done: Vec<(String, bool, Duration)>,
    passed: u64,
    failed: u64,
}

impl Steps {
    pub(crate) fn new(total: usize) -> Self {
        Self { total, done: Vec::new(), passed: 0, failed: 0 }
    }

    /// A step that is this program's own work.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn check(
        &mut self,
        name: &str,
        what: &str,
        work: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        let start = self.begin(name, what);
        let succeeded = work()?;
        self.end(name, succeeded, start);
        Ok(())
    }

    /// A step that is one command.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub(crate) fn run(&mut self, name: &str, what: &str, command: &mut Command) -> Result<()> {
        self.check(name, what, || {
            Ok(command.status().with_context(|| format!("cannot start {command:?}"))?.success())
        })
    }

    /// A step whose command prints libtest summaries, which are added up.
    ///
    /// # Errors
    /// When the command cannot be started or its output cannot be read.
    pub(crate) fn tests(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let start = self.begin(name, "tests");
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let (mut passed, mut failed) = (0, 0);
        if let Some(stdout) = child.stdout.take() {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line)? > 0 {
                let text = String::from_utf8_lossy(&line);
                print!("{text}");
                if let Some((p, f)) = summary(&text) {
                    passed += p;
                    failed += f;
                }
                line.clear();
            }
        }
        let succeeded = child.wait()?.success();
        self.passed += passed;
        self.failed += failed;
        // A build error or a crash leaves no summary of its own, and must not look like a pass.
        self.end_counted(name, succeeded, start, failed > 0);
        Ok(())
    }

    fn begin(&self, name: &str, what: &str) -> Instant {
        println!("\n[{}/{}] {name}: {what}", self.done.len() + 1, self.total);
        Instant::now()
    }

    fn end(&mut self, name: &str, succeeded: bool, start: Instant) {
        self.end_counted(name, succeeded, start, false);
    }

    fn end_counted(&mut self, name: &str, succeeded: bool, start: Instant, already_counted: bool) {
        if !succeeded && !already_counted {
            self.failed += 1;
        }
        let took = start.elapsed();
        println!(
            "      {} in {:.1} s",
            if succeeded { "ok" } else { "FAILED" },
            took.as_secs_f64()
        );
        self.done.push((name.into(), succeeded, took));
    }

    /// Prints the steps' verdicts and, as the last line, `N passed, N failed`; true when nothing failed.
    ///
    /// A step that failed without a failed test (format, lints, a build error) counts as one failure.
    pub(crate) fn verdict(&self) -> bool {
        let each = self.done.iter().map(|(name, ok, took)| {
            format!("{name} {} ({:.0} s)", if *ok { "ok" } else { "FAILED" }, took.as_secs_f64())
        });
        println!("\n{}", each.collect::<Vec<_>>().join(", "));
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0 && self.done.iter().all(|(_, ok, _)| *ok)
    }
}

/// Passed and failed counts of a line `test result: ok. 3 passed; 0 failed; ...`.
fn summary(line: &str) -> Option<(u64, u64)> {
    let counts = line.strip_prefix("test result: ")?;
    let number_before = |word: &str| {
        let before = counts[..counts.find(word)?].trim_end();
        before.rsplit([' ', '.']).next()?.parse().ok()
    };
    Some((number_before(" passed")?, number_before(" failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_libtest_are_read() {
        let line = "test result: ok. 43 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.16s\n";
        assert_eq!(summary(line), Some((43, 0)));
        assert_eq!(summary("test result: FAILED. 2 passed; 7 failed; 0 ignored\n"), Some((2, 7)));
        assert_eq!(summary("test a ... ok\n"), None);
        assert_eq!(
            summary("  test result: ok. 1 passed; 0 failed"),
            None,
            "quoted output is not a summary"
        );
    }

    #[test]
    fn a_failed_step_is_a_failure_even_without_a_failed_test() {
        let mut steps = Steps::new(2);
        steps.check("fine", "", || Ok(true)).unwrap();
        assert!(steps.verdict());
        steps.check("broken", "", || Ok(false)).unwrap();
        assert_eq!(steps.failed, 1);
        assert!(!steps.verdict());
    }

    #[cfg(unix)]
    #[test]
    fn a_crash_after_passing_tests_is_one_failure() {
        let mut steps = Steps::new(1);
        let script = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101";
        steps.tests("crash", Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!((steps.passed, steps.failed), (2, 1));
    }
}
