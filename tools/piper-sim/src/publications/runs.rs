//! The runs: what was published, and what the publication does not say and is taken.

use super::chips::{
    Attention, Chip, FLASH_2, FLASH_3, Format, GB200, GB300, H100, H100_500W, H800,
};
use super::model::{GPT3, LLAMA_8B, LLAMA_70B, LLAMA_405B, Model, QWEN3_30B, QWEN3_235B, V3};

/// A published figure.
#[derive(Clone, Copy, Debug)]
pub enum Published {
    /// Tokens a second and device.
    Tokens(f64),
    /// TFLOP/s a device, with attention counted over the pairs that are computed.
    Flops(f64),
    /// Seconds a step.
    Seconds(f64),
}

/// A training run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// What the table calls it.
    pub name: &'static str,
    /// Where the figure stands.
    pub source: &'static str,
    /// What it measured.
    pub published: Published,
    /// The chip.
    pub chip: Chip,
    /// The model.
    pub model: Model,
    /// Devices.
    pub devices: f64,
    /// Tensor, context, pipeline and expert ranks.
    pub tp: f64,
    /// Context-parallel ranks.
    pub cp: f64,
    /// Pipeline ranks.
    pub pp: u32,
    /// Stages a rank.
    pub v: u32,
    /// Expert-parallel ranks.
    pub ep: f64,
    /// The schedule, as `piper-schedule` calls it.
    pub schedule: &'static str,
    /// Sequences of a step.
    pub batch: f64,
    /// Sequences of a microbatch.
    pub microbatch: f64,
    /// Tokens of a sequence.
    pub length: f64,
    /// Format of products.
    pub format: Format,
    /// Attention kernels.
    pub attention: Attention,
    /// Elementwise operations run one by one.
    pub eager: bool,
    /// Collectives of tensor parallelism run beside products.
    pub overlaps_tp: bool,
    /// Transfers between stages run beside computing.
    pub overlaps_pp: bool,
    /// Part of the forward computed again.
    pub recompute: f64,
    /// Bytes an element takes on its way to an expert.
    pub dispatch_bytes: f64,
}

/// A dense run without a pipeline, from which the others differ.
const BASE: Run = Run {
    name: "",
    source: "",
    published: Published::Tokens(1.0),
    chip: H100,
    model: LLAMA_8B,
    devices: 8.0,
    tp: 1.0,
    cp: 1.0,
    pp: 1,
    v: 1,
    ep: 1.0,
    schedule: "gpipe",
    batch: 16.0,
    microbatch: 1.0,
    length: 8192.0,
    format: Format::Bf16,
    attention: FLASH_3,
    eager: false,
    overlaps_tp: false,
    overlaps_pp: true,
    recompute: 0.0,
    dispatch_bytes: 2.0,
};

/// Llama-3 405B as reported: no recomputation; 126 layers are 128 places less embedding and head, so a place a stage at V = 8.
const REPORT_405B: Run = Run {
    source: "arXiv 2407.21783, table 4",
    model: LLAMA_405B,
    tp: 8.0,
    pp: 16,
    v: 8,
    schedule: "interleaved1f1b",
    ..BASE
};

/// torchtitan: FlashAttention-2 through PyTorch; half of the products of a layer are computed again ("selective"), or all ("full").
const TITAN: Run = Run {
    source: "torchtitan, performance tables",
    chip: H100_500W,
    attention: FLASH_2,
    eager: true,
    overlaps_pp: false,
    recompute: 0.5,
    ..BASE
};

/// Compiled, FP8, asynchronous tensor parallelism. As many microbatches as pipeline ranks are taken, its default; the published gain
/// of interleaving (1.28) fits 8 microbatches (1.31) and not the 32 that sequences would allow (1.10).
const TITAN_405B: Run = Run {
    model: LLAMA_405B,
    microbatch: 4.0,
    devices: 512.0,
    tp: 8.0,
    pp: 8,
    batch: 256.0,
    recompute: 1.0,
    eager: false,
    format: Format::Fp8,
    overlaps_tp: true,
    ..TITAN
};

/// Megatron-Bridge: cuDNN attention, collectives and transfers beside products.
const BRIDGE: Run = Run {
    source: "Megatron-Bridge, performance summary",
    schedule: "interleaved1f1b",
    format: Format::Fp8,
    overlaps_tp: true,
    ..BASE
};

/// DeepSeek-V3 there: up-projections and dense perceptrons are computed again.
const BRIDGE_V3: Run = Run { model: V3, length: 4096.0, recompute: 0.1, ..BRIDGE };

/// All runs.
pub const RUNS: [Run; 21] = [
    Run {
        name: "V3, 2,048 H800, DualPipe",
        source: "Insights into DeepSeek-V3 (ISCA 2025), table 4",
        published: Published::Seconds(19.93),
        chip: H800,
        model: V3,
        devices: 2048.0,
        pp: 16,
        ep: 64.0,
        schedule: "dualpipe",
        batch: 15360.0,
        length: 4096.0,
        format: Format::Fp8,
        recompute: 0.1,
        dispatch_bytes: 1.03,
        ..BASE
    },
    Run {
        name: "Llama-3 405B, 8,192 H100",
        published: Published::Flops(430.0),
        devices: 8192.0,
        batch: 2048.0,
        ..REPORT_405B
    },
    Run {
        name: "Llama-3 405B, 16,384 H100",
        published: Published::Flops(400.0),
        devices: 16384.0,
        batch: 2048.0,
        ..REPORT_405B
    },
    Run {
        name: "Llama-3 405B, 16,384 H100, 131K",
        published: Published::Flops(380.0),
        devices: 16384.0,
        cp: 16.0,
        batch: 128.0,
        length: 131072.0,
        ..REPORT_405B
    },
    Run {
        name: "405B, 512 H100, 1F1B",
        published: Published::Tokens(100.0),
        schedule: "1f1b",
        ..TITAN_405B
    },
    Run {
        name: "405B, 512 H100, interleaved",
        published: Published::Tokens(128.0),
        schedule: "interleaved1f1b",
        v: 2,
        ..TITAN_405B
    },
    Run { name: "8B, 8 H100", published: Published::Tokens(5762.0), microbatch: 2.0, ..TITAN },
    Run {
        name: "8B, 8 H100, compiled",
        published: Published::Tokens(6667.0),
        microbatch: 2.0,
        eager: false,
        ..TITAN
    },
    Run {
        name: "8B, 8 H100, compiled, FP8",
        published: Published::Tokens(8532.0),
        microbatch: 2.0,
        eager: false,
        format: Format::Fp8,
        ..TITAN
    },
    Run {
        name: "8B, 128 H100",
        published: Published::Tokens(5605.0),
        devices: 128.0,
        batch: 256.0,
        microbatch: 2.0,
        ..TITAN
    },
    Run {
        name: "8B, 128 H100, compiled",
        published: Published::Tokens(6514.0),
        devices: 128.0,
        batch: 256.0,
        microbatch: 2.0,
        eager: false,
        ..TITAN
    },
    Run {
        name: "8B, 128 H100, compiled, FP8",
        published: Published::Tokens(8380.0),
        devices: 128.0,
        batch: 256.0,
        microbatch: 2.0,
        eager: false,
        format: Format::Fp8,
        ..TITAN
    },
    Run {
        name: "70B, 256 H100, FP8",
        published: Published::Tokens(829.0),
        model: LLAMA_70B,
        devices: 256.0,
        tp: 8.0,
        batch: 512.0,
        microbatch: 16.0,
        recompute: 1.0,
        eager: false,
        format: Format::Fp8,
        ..TITAN
    },
    Run {
        name: "70B, 256 H100, FP8, async TP",
        published: Published::Tokens(876.0),
        model: LLAMA_70B,
        devices: 256.0,
        tp: 8.0,
        batch: 512.0,
        microbatch: 16.0,
        recompute: 1.0,
        eager: false,
        format: Format::Fp8,
        overlaps_tp: true,
        ..TITAN
    },
    Run {
        name: "8B, 8 H100, FP8",
        published: Published::Tokens(14451.0),
        batch: 128.0,
        schedule: "gpipe",
        ..BRIDGE
    },
    Run {
        name: "70B, 64 H100, FP8",
        published: Published::Tokens(1664.0),
        model: LLAMA_70B,
        devices: 64.0,
        tp: 4.0,
        pp: 8,
        v: 5,
        batch: 256.0,
        ..BRIDGE
    },
    Run {
        name: "405B, 1,024 H100, FP8",
        published: Published::Tokens(328.0),
        model: LLAMA_405B,
        devices: 1024.0,
        tp: 8.0,
        cp: 2.0,
        pp: 8,
        v: 8,
        batch: 1536.0,
        ..BRIDGE
    },
    Run {
        name: "V3, 1,024 H100, FP8",
        published: Published::Tokens(1297.0),
        devices: 1024.0,
        tp: 2.0,
        pp: 8,
        v: 4,
        ep: 64.0,
        batch: 8192.0,
        ..BRIDGE_V3
    },
    Run {
        name: "V3, 256 GB200, MXFP8",
        published: Published::Tokens(4912.0),
        chip: GB200,
        devices: 256.0,
        pp: 4,
        v: 4,
        ep: 64.0,
        batch: 4096.0,
        ..BRIDGE_V3
    },
    Run {
        name: "Qwen3 235B, 256 H100",
        published: Published::Tokens(1712.0),
        model: QWEN3_235B,
        devices: 256.0,
        tp: 2.0,
        pp: 8,
        v: 4,
        ep: 32.0,
        batch: 8192.0,
        length: 4096.0,
        format: Format::Bf16,
        ..BRIDGE
    },
    Run {
        name: "Qwen3 30B, 16 H100",
        published: Published::Tokens(8960.0),
        model: QWEN3_30B,
        devices: 16.0,
        ep: 16.0,
        batch: 1024.0,
        length: 4096.0,
        schedule: "gpipe",
        format: Format::Bf16,
        ..BRIDGE
    },
];

/// Runs whose publication leaves something open that matters: how many devices, or how they are divided.
pub const OPEN: [Run; 2] = [
    Run {
        name: "V3, GB300, MXFP8 (256 taken)",
        published: Published::Tokens(6288.0),
        chip: GB300,
        devices: 256.0,
        pp: 2,
        v: 8,
        ep: 32.0,
        batch: 4096.0,
        ..BRIDGE_V3
    },
    Run {
        name: "GPT-3 175B, 96 H100 (TP8 PP12 taken)",
        source: "Megatron-LM, README (47 % of peak)",
        published: Published::Flops(465.0),
        model: GPT3,
        devices: 96.0,
        tp: 8.0,
        pp: 12,
        v: 8,
        batch: 1152.0,
        length: 2048.0,
        format: Format::Bf16,
        ..BRIDGE
    },
];
