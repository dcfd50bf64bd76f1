//! The chips that can stand in, and what `cuDeviceGetAttribute` says of them.
//!
//! Figures: CUDA C++ Programming Guide, technical specifications per compute capability; counts and clocks of the data
//! sheets of A100 SXM4, H100 SXM5 and B200.

/// A chip.
#[derive(Debug)]
pub(crate) struct Chip {
    /// Names of the target, the first with its features.
    pub(crate) names: &'static [&'static str],
    /// What the device is called.
    pub(crate) product: &'static str,
    pub(crate) capability: (i32, i32),
    pub(crate) multiprocessors: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub(crate) shared_per_multiprocessor: u32,
    /// Bytes of shared memory that a block can ask for.
    pub(crate) shared_per_block: u32,
    pub(crate) blocks_per_multiprocessor: u32,
    pub(crate) l2_bytes: u32,
    /// Kilohertz.
    pub(crate) clock: u32,
    /// Kilohertz.
    pub(crate) memory_clock: u32,
    /// Bits.
    pub(crate) memory_bus: u32,
    /// The fewest multiprocessors of a green context, and the step.
    pub(crate) partition: u32,
}

/// All chips; the first is the default.
pub(crate) const CHIPS: [Chip; 3] = [
    Chip {
        names: &["sm_80"],
        product: "Piper stand-in (A100)",
        capability: (8, 0),
        multiprocessors: 108,
        shared_per_multiprocessor: 164 << 10,
        shared_per_block: 163 << 10,
        blocks_per_multiprocessor: 32,
        l2_bytes: 40 << 20,
        clock: 1_410_000,
        memory_clock: 1_215_000,
        memory_bus: 5120,
        partition: 2,
    },
    Chip {
        names: &["sm_90a", "sm_90"],
        product: "Piper stand-in (H100)",
        capability: (9, 0),
        multiprocessors: 132,
        shared_per_multiprocessor: 228 << 10,
        shared_per_block: 227 << 10,
        blocks_per_multiprocessor: 32,
        l2_bytes: 50 << 20,
        clock: 1_980_000,
        memory_clock: 2_619_000,
        memory_bus: 5120,
        partition: 8,
    },
    Chip {
        names: &["sm_100a", "sm_100"],
        product: "Piper stand-in (B200)",
        capability: (10, 0),
        multiprocessors: 148,
        shared_per_multiprocessor: 228 << 10,
        shared_per_block: 227 << 10,
        blocks_per_multiprocessor: 32,
        l2_bytes: 126 << 20,
        clock: 1_965_000,
        memory_clock: 3_996_000,
        memory_bus: 8192,
        partition: 8,
    },
];

/// Registers of a multiprocessor, and of a block.
pub(crate) const REGISTERS: u32 = 65_536;
/// Threads of a multiprocessor.
pub(crate) const THREADS: u32 = 2048;
/// Bytes of shared memory of a block that has not asked for more.
pub(crate) const SHARED_UNASKED: u32 = 48 << 10;

impl Chip {
    /// The value of a `CUdevice_attribute`, or `None` for numbers that no version has.
    pub(crate) fn attribute(&self, number: u32, ordinal: usize) -> Option<i32> {
        let value = match number {
            1..=3 => 1024,
            4 => 64,
            5 => i32::MAX as u32,
            6 | 7 => 65_535,
            8 => SHARED_UNASKED,
            9 => 65_536,
            10 => 32,
            11 => i32::MAX as u32,
            12 | 82 => REGISTERS,
            13 => self.clock,
            14 | 30 => 512,
            16 => self.multiprocessors,
            // Overlapping copies, mapped host memory, concurrent kernels, one address space, priorities, caches,
            // registration of host memory, memory pools, IPC of events.
            15 | 19 | 31 | 41 | 78 | 79 | 80 | 99 | 115 => 1,
            33 => ordinal as u32 + 1,
            36 => self.memory_clock,
            37 => self.memory_bus,
            38 => self.l2_bytes,
            39 => THREADS,
            40 => 3,
            75 => self.capability.0 as u32,
            76 => self.capability.1 as u32,
            81 => self.shared_per_multiprocessor,
            87 => 2,
            97 => self.shared_per_block,
            106 => self.blocks_per_multiprocessor,
            111 => 1024,
            // Everything else that a chip may have, this one has not.
            0..=160 => 0,
            _ => return None,
        };
        i32::try_from(value).ok()
    }

    /// Whether a module for `target` (such as `sm_90a`) runs here. Plain targets run on every later chip; those with
    /// `a` only on their own, those with `f` within their family.
    pub(crate) fn runs(&self, target: &str) -> bool {
        let own = (self.capability.0 * 10 + self.capability.1) as u32;
        let Some(name) = target.strip_prefix("sm_") else { return false };
        let digits = name.trim_end_matches(['a', 'f']);
        let Ok(number) = digits.parse::<u32>() else { return false };
        match name.chars().next_back() {
            Some('a') => number == own,
            Some('f') => number / 10 == own / 10 && number <= own,
            _ => number <= own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CHIPS;

    #[test]
    fn targets_run_where_the_manual_says() {
        let [a100, h100, b200] = &CHIPS;
        let on = |target: &str| [a100, h100, b200].map(|chip| chip.runs(target));
        assert_eq!(on("sm_80"), [true, true, true]);
        assert_eq!(on("sm_90"), [false, true, true]);
        assert_eq!(on("sm_90a"), [false, true, false]);
        assert_eq!(on("sm_100a"), [false, false, true]);
        assert_eq!(on("sm_100f"), [false, false, true]);
        assert_eq!(on("compute_80"), [false; 3]);
    }
}
