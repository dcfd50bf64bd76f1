//! Bytes a second of elementwise, norm and loss kernels whose operands are far larger than caches, beside what the machine can move.
//!
//! `cargo bench -p piper-codegen --features llvm --bench bandwidth` measures four streams: reading, copying (the faster of
//! `memcpy` and our copy), adding two to a third, and scaling in place. Each kernel is measured in turns with the stream that reads
//! and writes in the same proportion; the ratio is that of bytes a second, each with the bytes that a launch must at least move.
//! Timings are for reading, not for passing or failing. `PIPER_BANDWIDTH` picks kernels by a part of their name.

mod native;

use native::{Launch, Library};
use piper_codegen::Kernel;
use piper_codegen::catalog::{self, AdamW};
use piper_codegen::kernel::{
    Access, Body, CrossEntropy, Dtype, Map, Mode, Norm, NormKind, Operand,
};
use piper_codegen::scalar::{Real, ScalarOp, ScalarProgram};
use std::hint::black_box;
use std::time::Instant;

/// Elements of an operand: 64 MiB of f32.
const ELEMS: u64 = 1 << 24;
/// Launches of each of two that are timed in turns.
const TURNS: u32 = 7;

/// What a stream does with memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stream {
    Read,
    Copy,
    Add,
    InPlace,
}

/// A map of one operation.
fn map(operands: &[Mode], op: impl Fn(&mut ScalarProgram) -> u32) -> Kernel {
    let mut body = ScalarProgram::default();
    let result = op(&mut body);
    body.results = vec![result];
    let written = operands.iter().position(|m| m.writes()).expect("a result") as u32;
    let operands = operands.iter().map(|&mode| Operand { access: Access::Full, mode }).collect();
    let uniforms = ScalarProgram::default();
    let (rows, cols, scalars, stores) = (1, ELEMS, 0, vec![written]);
    let body = Body::Map(Map { rows, cols, operands, scalars, uniforms, body, stores });
    Kernel::new(Dtype::F32, body)
}

impl Stream {
    const ALL: [Self; 4] = [Self::Read, Self::Copy, Self::Add, Self::InPlace];

    fn kernel(self) -> Kernel {
        match self {
            // One row of sums stays in the nearest cache.
            Self::Read => Kernel::new(Dtype::F32, Body::SumRows { rows: ELEMS / 2048, cols: 2048 }),
            Self::Copy => map(&[Mode::Read, Mode::Write], |p| p.push(ScalarOp::Input(0))),
            Self::Add => catalog::add(Dtype::F32, ELEMS),
            Self::InPlace => map(&[Mode::ReadWrite], |p| {
                let (x, half) = (p.push(ScalarOp::Input(0)), p.constant(0.5));
                p.push(ScalarOp::Mul(x, half))
            }),
        }
    }
}

fn kernels() -> Vec<(&'static str, Stream, Kernel)> {
    let dtype = Dtype::F32;
    let (rows, cols) = (ELEMS / 1024, 1024);
    let norm = |kind| Norm { kind, rows, cols, eps: Real::new(1e-5) };
    let (layer, rms) = (norm(NormKind::Layer), norm(NormKind::Rms));
    let loss = CrossEntropy { rows: ELEMS / 32768, vocab: 32768, denominator: 512, lse: true };
    let adamw = AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    let body = |body| Kernel::new(dtype, body);
    let narrow = |body| Kernel::new(Dtype::Bf16, body);
    vec![
        ("gelu", Stream::Copy, catalog::gelu(dtype, ELEMS)),
        ("gelu gradient", Stream::Add, catalog::gelu_dx(dtype, ELEMS)),
        ("silu", Stream::Copy, catalog::silu(dtype, ELEMS)),
        ("adamw", Stream::InPlace, catalog::adamw(dtype, ELEMS, adamw)),
        ("add bf16", Stream::Add, catalog::add(Dtype::Bf16, 2 * ELEMS)),
        ("layer norm", Stream::Copy, body(Body::Norm(layer))),
        ("layer norm dx", Stream::Add, body(Body::NormDx { norm: layer, adds: false })),
        ("layer norm dw", Stream::Read, body(Body::NormDw(layer))),
        ("rms norm", Stream::Copy, body(Body::Norm(rms))),
        ("rms norm dx", Stream::Add, body(Body::NormDx { norm: rms, adds: false })),
        ("rms norm dw", Stream::Read, body(Body::NormDw(rms))),
        ("cross entropy", Stream::Read, body(Body::CrossEntropy(loss))),
        ("cross entropy dx", Stream::Copy, body(Body::CrossEntropyDx(loss))),
        ("sum of squares", Stream::Read, body(Body::SumSquares { elems: ELEMS })),
        ("to bf16", Stream::Copy, body(Body::Cast { elems: ELEMS, to: Dtype::Bf16 })),
        ("from bf16", Stream::Copy, narrow(Body::Cast { elems: ELEMS, to: Dtype::F32 })),
        ("swap heads", Stream::Copy, body(Body::SwapBlocks { a: 256, b: 1024, block: 64 })),
    ]
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Least seconds of each of two, in turns, after one run that is not counted.
fn in_turns(mut first: impl FnMut(), mut second: impl FnMut()) -> [f64; 2] {
    first();
    second();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..TURNS {
        least = [least[0].min(seconds(&mut first)), least[1].min(seconds(&mut second))];
    }
    least
}

fn rate(kernel: &Kernel, seconds: f64) -> f64 {
    kernel.bytes_moved() as f64 / seconds / 1e9
}

fn main() {
    let wanted = std::env::var("PIPER_BANDWIDTH").unwrap_or_default();
    let streams = Stream::ALL.map(|s| (s, s.kernel()));
    let kernels: Vec<_> =
        kernels().into_iter().filter(|(name, ..)| name.contains(&wanted)).collect();
    let library = Library::new(streams.iter().map(|s| &s.1).chain(kernels.iter().map(|k| &k.2)));
    println!(
        "one core of {:?}, operands of {} MiB",
        piper_codegen::Target::host().cpu,
        ELEMS >> 18
    );
    let (from, mut to) = (vec![1_u8; 4 * ELEMS as usize], vec![0_u8; 4 * ELEMS as usize]);
    let copied = Stream::Copy.kernel();
    let mut copy = library.launch(&copied);
    let [plain, ours] =
        in_turns(|| black_box(&mut to).copy_from_slice(black_box(&from)), || copy.run());
    println!("memcpy {:.1} GB/s, our copy {:.1} GB/s", rate(&copied, plain), rate(&copied, ours));
    drop(copy);
    println!(
        "{:<18} {:>9} {:>10} {:>8} {:>8} {:>10} {:>8}",
        "", "MB moved", "us", "GB/s", "stream", "its GB/s", "ratio"
    );
    for (name, stream, kernel) in &kernels {
        let reference = &streams.iter().find(|s| s.0 == *stream).expect("all are there").1;
        let (mut base, mut launch): (Launch<'_>, _) =
            (library.launch(reference), library.launch(kernel));
        let mut times = in_turns(|| base.run(), || launch.run());
        if *stream == Stream::Copy {
            let [_, plain] = in_turns(|| launch.run(), || to.copy_from_slice(black_box(&from)));
            times[0] = times[0].min(plain);
        }
        let (own, of_stream) = (rate(kernel, times[1]), rate(reference, times[0]));
        println!(
            "{name:<18} {:>9.0} {:>10.0} {own:>8.1} {:>8} {of_stream:>10.1} {:>8.2}",
            kernel.bytes_moved() as f64 / 1e6,
            times[1] * 1e6,
            format!("{stream:?}"),
            own / of_stream,
        );
    }
}
