//! The GPUs that code is made for, as far as code generation must know them.

use crate::target::{Target, VectorLevel};
use serde::{Deserialize, Serialize};

/// A GPU architecture that PTX is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Chip {
    /// Compute capability 8.0 (A100).
    Sm80,
    /// Compute capability 9.0 with its own instructions (H100, H200).
    Sm90a,
    /// The same with products of bf16 by warpgroups (`wgmma`), which no GPU has run yet: only by name.
    Sm90aWarpgroups,
    /// Compute capability 10.0 with its own instructions (B200).
    Sm100a,
}

/// What a chip offers its kernels. Source: "CUDA C++ Programming Guide", table of technical specifications for each
/// compute capability; multiprocessors are those of the products named at [`Chip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads resident on one multiprocessor.
    pub threads: u32,
    /// Blocks resident on one multiprocessor.
    pub blocks: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers: u32,
    /// 32-bit registers one thread may have.
    pub thread_registers: u32,
    /// Bytes of shared memory of one multiprocessor, for its resident blocks together.
    pub shared_bytes: u32,
    /// Bytes of shared memory one block may have without asking for more.
    pub static_shared_bytes: u32,
    /// Bytes of shared memory one block may have if it asks.
    pub block_shared_bytes: u32,
}

impl Chip {
    /// The chips whose code is complete and picked by default; [`Self::Sm90aWarpgroups`] is not.
    pub const ALL: [Self; 3] = [Self::Sm80, Self::Sm90a, Self::Sm100a];

    /// What users call it: `sm_80`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm90aWarpgroups => "sm_90a+wgmma",
            chip => chip.architecture(),
        }
    }

    /// LLVM's and `ptxas`'s name, which is that of the PTX's target: `sm_80`.
    pub fn architecture(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90a | Self::Sm90aWarpgroups => "sm_90a",
            Self::Sm100a => "sm_100a",
        }
    }

    /// The chip of that name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().chain([Self::Sm90aWarpgroups]);
        all.find(|chip| chip.name() == name)
    }

    /// The PTX version of the text, in LLVM's spelling. LLVM ends the process if it is too old for the chip; newer ones
    /// need newer drivers, so it is the oldest that names the chip and has what kernels use.
    pub fn ptx_version(self) -> &'static str {
        match self {
            Self::Sm80 | Self::Sm90a | Self::Sm90aWarpgroups => "ptx80",
            Self::Sm100a => "ptx86",
        }
    }

    /// The chip as a target of [`crate::Compiler::emit`].
    pub fn target(self) -> Target {
        Target {
            triple: Some("nvptx64-nvidia-cuda".into()),
            cpu: self.name().into(),
            features: format!("+{}", self.ptx_version()),
            // Not a vector machine, but one with fused multiply-add.
            vectors: VectorLevel::Neon,
        }
    }

    /// What it offers.
    pub fn limits(self) -> ChipLimits {
        let (multiprocessors, shared_bytes) = match self {
            Self::Sm80 => (108, 164 << 10),
            Self::Sm90a | Self::Sm90aWarpgroups => (132, 228 << 10),
            Self::Sm100a => (148, 228 << 10),
        };
        ChipLimits {
            multiprocessors,
            threads: 2048,
            blocks: 32,
            registers: 65_536,
            thread_registers: 255,
            shared_bytes,
            static_shared_bytes: 48 << 10,
            block_shared_bytes: shared_bytes - 1024,
        }
    }
}

impl ChipLimits {
    /// Blocks of `block` threads, with these registers a thread and shared bytes a block, that one multiprocessor
    /// holds at a time. Registers go to warps in units of 256, shared memory to blocks in units of 128 bytes with 1 KiB
    /// for the system.
    pub fn resident_blocks(&self, block: u32, registers: u32, shared: u32) -> u32 {
        let warps = block.div_ceil(32).max(1);
        let by_threads = self.threads / (32 * warps);
        let of_warp = (32 * registers.max(1)).next_multiple_of(256);
        let by_registers = self.registers / of_warp / warps;
        let by_shared = self.shared_bytes / (shared.next_multiple_of(128) + 1024);
        by_threads.min(by_registers).min(by_shared).min(self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert!(Chip::ALL.iter().all(|&chip| Chip::named(chip.name()) == Some(chip)));
        let opted = Chip::named("sm_90a+wgmma");
        assert_eq!(opted, Some(Chip::Sm90aWarpgroups));
        assert_eq!(opted.map(Chip::architecture), Some("sm_90a"));
        assert_eq!(Chip::named("sm_35"), None);
    }

    #[test]
    fn residency_is_bound_by_the_scarcest() {
        let limits = Chip::Sm80.limits();
        assert_eq!(limits.resident_blocks(256, 32, 0), 8);
        assert_eq!(limits.resident_blocks(256, 128, 0), 2);
        assert_eq!(limits.resident_blocks(128, 32, 48 << 10), 3);
        assert_eq!(limits.resident_blocks(32, 16, 0), 32);
    }
}
