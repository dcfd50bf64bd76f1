//! What the figures were measured on, and how busy it was with other things.

use std::fs::read_to_string;

/// One line: processor, cores, memory, load.
pub(crate) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| Some(value(&text, "model name")?.to_owned()))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| value(&text, "MemTotal")?.strip_suffix("kB")?.trim().parse::<f64>().ok())
        .map_or(String::new(), |kib| format!(", {:.0} GiB", kib / f64::from(1 << 20)));
    let load = match load() {
        None => String::new(),
        Some(load) => {
            let noise = if load > 0.5 {
                ", so other work took part of it: trust ratios, not times"
            } else {
                ""
            };
            format!("; load before the start {load:.1}{noise}")
        }
    };
    format!("{model}, {cores} cores{memory}{load}")
}

/// Processes that wanted a core, on average over the last minute.
fn load() -> Option<f64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The value of the first line `key : value`.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_found() {
        let text = "processor\t: 0\nmodel name\t: A CPU: fast\nmodel name\t: B\n";
        assert_eq!(super::value(text, "model name"), Some("A CPU: fast"));
        assert_eq!(super::value(text, "MemTotal"), None);
    }
}
