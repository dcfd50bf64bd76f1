//! One run of a program: its time, the processor's time, its memory, and what it said of its phases.
//!
//! The kernel keeps the highest resident size of a process (`VmHWM`) but forgets it with the process, so it is read every
//! two milliseconds; what is allocated in the last of them is not seen. The processor's time of a child is what the kernel
//! added to that of this process's children. Both are Linux's; elsewhere they are not measured.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How often the memory of a child is looked at.
const INTERVAL: Duration = Duration::from_millis(2);
/// The unit of processor times in `/proc`, fixed for programs whatever the kernel's own clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a run cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of all processors, the kernel's work included; 0 where it is not known.
    pub(crate) busy: f64,
    /// Highest resident size in bytes; 0 where it is not known.
    pub(crate) memory: u64,
    /// Seconds by name, as `--mlir-timing` gave them, at any depth; of two with one name the sum.
    phases: Vec<(String, f64)>,
}

impl Run {
    /// Seconds of a phase, 0 if it was not reported.
    pub(crate) fn phase(&self, name: &str) -> f64 {
        self.phases.iter().filter(|(n, _)| n == name).map(|(_, time)| time).sum()
    }
}

/// Runs a program to its end. `--mlir-timing` in JSON is expected on standard error; standard output is dropped.
///
/// # Errors
/// When it does not start, fails, or gives no times.
pub(crate) fn run(command: &mut Command) -> Result<Run> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let busy_before = children_seconds();
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let status = format!("/proc/{}/status", child.id());
    let (memory, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let (output, wall) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if let Some(bytes) = std::fs::read_to_string(&status).ok().and_then(|s| peak(&s)) {
                    memory.fetch_max(bytes, Ordering::Relaxed);
                }
                std::thread::sleep(INTERVAL);
            }
        });
        let output = child.wait_with_output();
        let wall = start.elapsed().as_secs_f64();
        is_done.store(true, Ordering::Relaxed);
        (output, wall)
    });
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed:\n{said}");
    let phases = phases(&said).with_context(|| format!("{command:?} gave no times:\n{said}"))?;
    Ok(Run { wall, busy: children_seconds() - busy_before, memory: memory.into_inner(), phases })
}

/// `VmHWM` of `/proc/PID/status`, in bytes.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Processor seconds of all children that ended.
fn children_seconds() -> f64 {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|s| ended_children(&s)).unwrap_or(0.0)
}

/// The fields `cutime` and `cstime`, numbers 16 and 17, of `/proc/PID/stat`. The second, a name, may hold anything.
fn ended_children(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / TICKS_PER_SECOND)
}

/// The times in a report of `--mlir-timing --mlir-output-format=json`.
fn phases(report: &str) -> Option<Vec<(String, f64)>> {
    fn add(nodes: &Value, into: &mut Vec<(String, f64)>) {
        for node in nodes.as_array().into_iter().flatten() {
            if let (Some(name), Some(time)) =
                (node["name"].as_str(), node["wall"]["duration"].as_f64())
            {
                into.push((name.to_owned(), time));
            }
            add(&node["passes"], into);
        }
    }
    // Remarks may stand before it.
    let at = report.find("[\n")?;
    let mut found = Vec::new();
    add(&serde_json::from_str(&report[at..]).ok()?, &mut found);
    Some(found).filter(|found| !found.is_empty())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{ended_children, peak, phases, run};

    #[test]
    fn the_kernels_files_are_read() {
        assert_eq!(peak("Name:\tx\nVmHWM:\t    12 kB\nVmRSS:\t 3 kB\n"), Some(12 * 1024));
        assert_eq!(peak("Name:\tx\nState:\tZ (zombie)\n"), None);
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 250 50 20 0 1 0";
        assert_eq!(ended_children(stat), Some(3.0));
    }

    #[test]
    fn the_report_of_both_tools_is_read() {
        let report = "remark: x\n[\n{\"wall\": {\"duration\":   0.5, \"percentage\":  94.0}, \"name\": \"Parser\", \"passes\": [\n{}]},\n\
            {\"wall\": {\"duration\": 1.0, \"percentage\": 6.0}, \"name\": \"'func.func' Pipeline\", \"passes\": [\n\
            {\"wall\": {\"duration\": 0.75, \"percentage\": 3.0}, \"name\": \"CSE\", \"passes\": [\n{}]},\n{}]}\n]\n";
        let found = phases(report).expect("times");
        let expected = [("Parser", 0.5), ("'func.func' Pipeline", 1.0), ("CSE", 0.75)];
        assert_eq!(found, expected.map(|(name, time)| (name.to_owned(), time)));
        assert_eq!(phases("no report"), None);
    }

    #[test]
    fn a_run_is_measured() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo '[\n{\"name\": \"Total\", \"wall\": {\"duration\": 2.5}}]' >&2"]);
        let measured = run(&mut command).expect("it runs");
        assert_eq!((measured.phase("Total"), measured.phase("Parser")), (2.5, 0.0));
        assert!(measured.wall > 0.0);
        let failing = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 1"]));
        assert!(failing.expect_err("it fails").to_string().contains("no such thing"));
    }
}
