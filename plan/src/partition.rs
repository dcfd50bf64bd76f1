//! Parts of a device: multiprocessors or workers set aside for some streams and communicators.
//!
//! A partition never holds more than its part, so that communication cannot take the multiprocessors of computation. It
//! promises neither that partitions run at the same time nor that one goes on while another waits: what makes a plan safe is
//! the one issue order of each device, under which [`verify`](crate::verify()) proves it with all streams in turn.
//!
//! Sources of the rules: CUDA driver API and programming guide (green contexts), NCCL's documentation of `minCTAs`/`maxCTAs`.

use crate::mesh::CommId;
use serde::{Deserialize, Serialize};

/// How a partition is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Method {
    /// Multiprocessors set aside by the driver (green contexts), in the granularity of the architecture.
    #[default]
    Green,
    /// Persistent grids of at most so many blocks: kernels keep to it themselves.
    Grid,
    /// Worker threads of a CPU.
    Workers,
}

impl Method {
    /// What one unit of a size is called.
    pub fn unit(self) -> &'static str {
        match self {
            Method::Green => "SMs",
            Method::Grid => "blocks",
            Method::Workers => "workers",
        }
    }
}

/// A part of every device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its name, e.g. `comm`.
    pub name: String,
    /// How it is made.
    pub method: Method,
    /// Multiprocessors, blocks or workers.
    pub size: u32,
    /// How many of them the device has.
    pub total: u32,
    /// The architecture, e.g. `sm_90` or `cpu`.
    pub arch: String,
    /// Fewest and most CTAs of a communicator, if limited.
    pub ctas: Option<(u32, u32)>,
    /// Names of the streams that run on it; each of them in every program that has it.
    pub streams: Vec<String>,
    /// The communicators whose kernels run on it.
    pub comms: Vec<CommId>,
}

/// What an architecture allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granularity {
    /// The smallest partition.
    pub least: u32,
    /// Sizes are multiples of this, but for a last partition that is all that is left.
    pub multiple: u32,
}

/// The granularity of multiprocessors by compute capability; `None` for a name that is none.
///
/// 6.x 1 and 1, 7.x 2 and 2, 8.x 4 and 2, from 9.0 on 8 and 8.
pub fn granularity(arch: &str) -> Option<Granularity> {
    let digits = arch.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
    let number: u32 = digits.parse().ok()?;
    let of = |least, multiple| Some(Granularity { least, multiple });
    match number / 10 {
        6 => of(1, 1),
        7 => of(2, 2),
        8 => of(4, 2),
        9.. => of(8, 8),
        _ => None,
    }
}

/// Multiprocessors of the usual device of an architecture (P100, V100, A100, H100 and H800), or the workers that a device of the
/// threads runtime has.
pub fn usual_total(arch: &str) -> Option<u32> {
    match arch {
        "cpu" => Some(1),
        "sm_60" => Some(56),
        "sm_70" => Some(80),
        "sm_80" => Some(108),
        "sm_90" | "sm_90a" => Some(132),
        _ => None,
    }
}

/// Most CTAs that NCCL takes: 64, and 32 before 2.25.
pub fn most_ctas(nccl: Option<(u32, u32)>) -> u32 {
    if nccl.is_some_and(|version| version < (2, 25)) { 32 } else { 64 }
}

/// Something that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Infeasible {
    /// Which of the partitions.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What may be asked for instead.
    pub hint: Option<String>,
}

/// Whether a device can be divided so: everything that stands against it.
pub fn infeasible(partitions: &[Partition]) -> Vec<Infeasible> {
    let mut found = Vec::new();
    for (at, partition) in partitions.iter().enumerate() {
        let refuse = |message: String, hint: Option<String>| Infeasible { at, message, hint };
        if let Some(fault) = alone(partitions, at) {
            found.push(refuse(fault.0, fault.1));
        }
        if let Some(fault) = ctas(partition) {
            found.push(refuse(fault.0, fault.1));
        }
        let before = &partitions[..at];
        if let Some(other) = before.iter().find(|other| other.name == partition.name) {
            found.push(refuse(format!("there are two partitions \"{}\"", other.name), None));
        }
        for stream in &partition.streams {
            if let Some(other) = before.iter().find(|other| other.streams.contains(stream)) {
                let message = format!("stream \"{stream}\" is in partition \"{}\" too", other.name);
                found.push(refuse(message, Some("a stream runs on one partition".to_owned())));
            }
        }
    }
    if found.is_empty() {
        found.extend(together(partitions));
    }
    found
}

type Complaint = (String, Option<String>);

/// A partition's own size.
fn alone(partitions: &[Partition], at: usize) -> Option<Complaint> {
    let partition = &partitions[at];
    let Partition { size, total, arch, method, .. } = partition;
    let unit = method.unit();
    if *size == 0 {
        return Some((format!("partition \"{}\" has no {unit}", partition.name), None));
    }
    if size > total {
        let message = format!("{size} {unit} are more than the {total} of a device");
        return Some((message, None));
    }
    if *method != Method::Green {
        return None;
    }
    let Some(Granularity { least, multiple }) = granularity(arch) else {
        let message =
            format!("\"{arch}\" cannot be divided: it is no architecture with green contexts");
        return Some((message, Some("sm_60 to sm_90 and later, or method = \"grid\"".to_owned())));
    };
    // The driver gives back what is left after its splits, of whatever size: the last partition may be that.
    let before = &partitions[..at];
    let taken = before.iter().map(|other| other.size).fold(0, u32::saturating_add);
    let is_rest = at > 0
        && at + 1 == partitions.len()
        && taken.checked_add(*size) == Some(*total)
        && before.iter().all(|other| other.size.is_multiple_of(multiple));
    if *size >= least && (size.is_multiple_of(multiple) || is_rest) {
        return None;
    }
    let below = (size / multiple * multiple).max(least.next_multiple_of(multiple));
    let above = size.next_multiple_of(multiple).max(below);
    let mut nearest: Vec<String> =
        [below, above].into_iter().filter(|n| n <= total).map(|n| n.to_string()).collect();
    nearest.dedup();
    let message = format!(
        "{size} SMs cannot be set aside on {arch}: partitions are multiples of {multiple}, at least {least}"
    );
    let hint = format!(
        "nearest: {}; method = \"grid\" keeps to any number by persistent grids",
        nearest.join(" and ")
    );
    Some((message, Some(hint)))
}

/// Limits of communicators.
fn ctas(partition: &Partition) -> Option<Complaint> {
    let (least, most) = partition.ctas?;
    let Partition { size, method, .. } = partition;
    if least > most {
        return Some((format!("at least {least} CTAs, but at most {most}"), None));
    }
    if most > *size {
        let unit = method.unit();
        let message =
            format!("{most} CTAs do not fit {size} {unit}: they run all at once or not at all");
        return Some((message, Some(format!("ctas = {size}, or more {unit}"))));
    }
    None
}

/// All partitions of a device.
fn together(partitions: &[Partition]) -> Option<Infeasible> {
    let first = partitions.first()?;
    let mut taken = 0u32;
    for (at, partition) in partitions.iter().enumerate() {
        if (partition.total, &partition.arch) != (first.total, &first.arch) {
            let message = format!(
                "partition \"{}\" is of {} with {}, but \"{}\" of {} with {}",
                partition.name,
                partition.arch,
                partition.total,
                first.name,
                first.arch,
                first.total
            );
            return Some(Infeasible { at, message, hint: None });
        }
        taken = taken.saturating_add(partition.size);
        if taken > first.total {
            let unit = partition.method.unit();
            let message = format!("the partitions take {taken} {unit} of {}", first.total);
            let left = first.total - (taken - partition.size);
            let hint = format!("\"{}\" may have {left}", partition.name);
            return Some(Infeasible { at, message, hint: Some(hint) });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Granularity, Method, Partition, granularity, infeasible, most_ctas};
    use proptest::prelude::{ProptestConfig, any, proptest};

    fn partition(name: &str, size: u32) -> Partition {
        Partition {
            name: name.to_owned(),
            size,
            total: 132,
            arch: "sm_90".to_owned(),
            streams: vec![name.to_owned()],
            ..Partition::default()
        }
    }

    fn complaint(partitions: &[Partition]) -> String {
        let found = infeasible(partitions);
        let [only] = &found[..] else { panic!("{found:?}") };
        format!("{}; {}", only.message, only.hint.as_deref().unwrap_or(""))
    }

    #[test]
    fn twenty_of_an_h100_become_sixteen_or_twenty_four() {
        let text = complaint(&[partition("comm", 20), partition("compute", 112)]);
        assert!(text.contains("nearest: 16 and 24"), "{text}");
        assert!(infeasible(&[partition("comm", 24), partition("compute", 108)]).is_empty());
        assert!(infeasible(&[partition("comm", 24), partition("compute", 104)]).is_empty());
        // What is left is a partition only if it is all of it.
        let text = complaint(&[partition("comm", 24), partition("compute", 100)]);
        assert!(text.contains("nearest: 96 and 104"), "{text}");
        assert!(infeasible(&[partition("compute", 112), partition("rest", 20)]).is_empty());
    }

    #[test]
    fn persistent_grids_take_any_number() {
        let grid = |name, size| Partition { method: Method::Grid, ..partition(name, size) };
        assert!(infeasible(&[grid("comm", 20), grid("compute", 112)]).is_empty());
        let text = complaint(&[grid("comm", 21), grid("compute", 112)]);
        assert_eq!(text, "the partitions take 133 blocks of 132; \"compute\" may have 111");
    }

    #[test]
    fn thread_blocks_of_a_communicator_fit_their_partition() {
        let of = |ctas| [Partition { ctas: Some(ctas), ..partition("comm", 16) }];
        assert!(infeasible(&of((1, 16))).is_empty());
        assert!(complaint(&of((1, 20))).contains("do not fit"));
        assert!(complaint(&of((9, 8))).contains("at least 9"));
        assert_eq!(
            (most_ctas(Some((2, 24))), most_ctas(Some((2, 25))), most_ctas(None)),
            (32, 64, 64)
        );
    }

    #[test]
    fn names_and_streams_are_of_one_partition() {
        let twice = [partition("comm", 16), Partition { streams: vec![], ..partition("comm", 16) }];
        assert!(complaint(&twice).starts_with("there are two partitions"));
        let shared = Partition { streams: vec!["comm".into()], ..partition("b", 16) };
        assert!(
            complaint(&[partition("comm", 16), shared]).contains("is in partition \"comm\" too")
        );
    }

    #[test]
    fn architectures_have_their_granularity() {
        let of = |least, multiple| Some(Granularity { least, multiple });
        assert_eq!(granularity("sm_60"), of(1, 1));
        assert_eq!(granularity("sm_75"), of(2, 2));
        assert_eq!(granularity("sm_86"), of(4, 2));
        assert_eq!(granularity("sm_90a"), of(8, 8));
        assert_eq!(granularity("sm_100"), of(8, 8));
        assert_eq!(granularity("sm_52"), None);
        assert_eq!(granularity("gfx942"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// Whatever is asked for, the nearest sizes named are feasible by themselves.
        #[test]
        fn what_is_named_instead_is_feasible(size in 1u32..132, arch in any::<u8>()) {
            let arch = ["sm_60", "sm_70", "sm_80", "sm_90"][usize::from(arch) % 4];
            let ask = |size| [Partition { arch: arch.to_owned(), ..partition("comm", size) }];
            for fault in infeasible(&ask(size)) {
                let hint = fault.hint.expect("sizes");
                let list = hint.split(';').next().unwrap_or("").trim_start_matches("nearest: ");
                for near in list.split(" and ") {
                    let near: u32 = near.parse().expect("a number");
                    assert!(infeasible(&ask(near)).is_empty(), "{arch} {size} -> {near}");
                }
            }
        }
    }
}
