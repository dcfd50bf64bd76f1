//! Chips: what one does at best, and what kernels and links reach of that. One table for all runs.
//!
//! Every number is a data sheet's or a microbenchmark's; none is chosen to make a training run come out right.

/// Number format of matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// bfloat16.
    Bf16,
    /// 8-bit floating point, with activations and weights cast before each product.
    Fp8,
}

/// One kind of chip and its links.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// Its name.
    pub name: &'static str,
    /// bf16 operations a second of the data sheet, without sparsity.
    pub bf16_peak: f64,
    /// Operations a second that the best matrix product reaches in bf16.
    pub bf16: f64,
    /// The same in FP8.
    pub fp8: f64,
    /// Bytes a second to memory that kernels reach.
    pub memory: f64,
    /// Bytes a second each way within a node (or rack) that collectives reach.
    pub nvlink: f64,
    /// Bytes a second each way between nodes that one device reaches.
    pub network: f64,
    /// Devices of a node (or rack).
    pub node: f64,
    /// The clock under a power limit below the data sheet's, as a part of the usual.
    pub clock: f64,
}

/// Part of the memory bandwidth that streaming kernels reach.
const STREAMING: f64 = 0.9;

/// H100 SXM. Products: 794.5 of 989 TFLOP/s in bf16, 1,402.6 of 1,979 in FP8 (maximum achievable matmul table of
/// github.com/stas00/ml-engineering). NVLink: 450 GB/s each way, of which collectives reach 0.8; InfiniBand 400 Gb/s a device,
/// of which 0.9.
pub const H100: Chip = Chip {
    name: "H100",
    bf16_peak: 989.4e12,
    bf16: 794.5e12,
    fp8: 1402.6e12,
    memory: 3.35e12 * STREAMING,
    nvlink: 0.8 * 450e9,
    network: 0.9 * 50e9,
    node: 8.0,
    clock: 1.0,
};

/// H100 limited to 500 W instead of 700 W: power goes with the cube of the clock.
pub const H100_500W: Chip = Chip { name: "H100 500 W", clock: 0.894, ..H100 };

/// H800: an H100 with slower NVLink. 160 GB/s within and 50 GB/s between nodes are what DeepSeek-V3's report states as reached.
pub const H800: Chip = Chip { name: "H800", nvlink: 160e9, network: 50e9, ..H100 };

/// GB200 (one of 72 in a rack): products 1,822 of 2,500 TFLOP/s in bf16; FP8 as B200 reaches, 76.3 % of 5,000 (same table).
pub const GB200: Chip = Chip {
    name: "GB200",
    bf16_peak: 2500e12,
    bf16: 1822e12,
    fp8: 0.763 * 5000e12,
    memory: 8e12 * STREAMING,
    nvlink: 0.8 * 900e9,
    network: 0.9 * 50e9,
    node: 72.0,
    clock: 1.0,
};

/// GB300: as GB200; its table entry for B300 is within 2 % of B200's.
pub const GB300: Chip = Chip { name: "GB300", ..GB200 };

/// Seconds a kernel takes before it does anything.
const LAUNCH: f64 = 3e-6;

impl Chip {
    /// Seconds of one matrix product of `m x k` by `k x n` (`groups` of them in one launch): operations at the best rate, and the
    /// result written after them. The second term is what makes products of small `k` slow: on an H800, FP8 products of 8192 x 8192
    /// take 0.039 ms + 0.0843 us a unit of `k` (benchmark table of github.com/tile-ai/tilelang), and 0.039 ms is their result's way
    /// to memory.
    pub fn product(&self, format: Format, m: f64, n: f64, k: f64, groups: f64) -> f64 {
        let rate = match format {
            Format::Bf16 => self.bf16,
            Format::Fp8 => self.fp8,
        };
        groups * (2.0 * m * n * k / (rate * self.clock) + 2.0 * m * n / self.memory) + LAUNCH
    }

    /// Seconds to move bytes through memory.
    pub fn moving(&self, bytes: f64) -> f64 {
        bytes / self.memory
    }
}

/// Attention kernels: the part of the bf16 peak that they reach, forward and backward.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Forward.
    pub forward: f64,
    /// Backward.
    pub backward: f64,
}

/// FlashAttention-2 reaches 35 % on H100 (abstract of arXiv 2407.08608).
pub const FLASH_2: Attention = Attention { forward: 0.35, backward: 0.35 };

/// FlashAttention-3 and cuDNN: about 600 TFLOP/s forward at 4K to 16K with heads of 128 and 500 backward (arXiv 2407.08608).
pub const FLASH_3: Attention = Attention { forward: 0.60, backward: 0.50 };
