//! Throughput of the other kernel families at the sizes of a small GPT, and what each costs to compile.
//!
//! `cargo bench -p piper-codegen --features llvm --bench families` prints microseconds a launch, GFLOP/s and GB/s.
#![allow(unsafe_code)]

use piper_codegen::catalog::{self, AdamW};
use piper_codegen::kernel::{
    Attention, Body, CrossEntropy, Dtype, Embedding, Kernel, Norm, NormKind,
};
use piper_codegen::scalar::Real;
use piper_codegen::{Isolation, OptLevel, Target, compile};
use std::ffi::c_void;
use std::io::Write;
use std::time::Instant;

type Function = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);

fn kernels(dtype: Dtype) -> Vec<Kernel> {
    let rows = 1024;
    let layer = Norm { kind: NormKind::Layer, rows, cols: 128, eps: Real::new(1e-5) };
    let shape = Attention { batch: 16, seq: 64, heads: 4, kv_heads: 4, head_dim: 32 };
    let long = Attention { batch: 1, seq: 1024, heads: 4, kv_heads: 4, head_dim: 64 };
    let loss = CrossEntropy { rows, vocab: 256, denominator: 1024, lse: true };
    let table = Embedding { rows, vocab: 256, dim: 128 };
    let adamw = AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    let (batch, seq, heads, head_dim, base, inverse) = (16, 64, 4, 32, Real::new(1e4), false);
    let bodies = [
        Body::Norm(layer),
        Body::NormDx { norm: layer, adds: false },
        Body::NormDw(layer),
        Body::Attention { shape, lse: true },
        Body::AttentionDx(shape),
        Body::Attention { shape: long, lse: true },
        Body::AttentionDx(long),
        Body::Rotary { batch, seq, heads, head_dim, base, inverse },
        Body::CrossEntropy(loss),
        Body::CrossEntropyDx(loss),
        Body::Embedding(table),
        Body::EmbeddingDw(table),
        Body::SumRows { rows, cols: 512 },
        Body::SumSquares { elems: 1 << 17 },
    ];
    let elems = 1 << 17;
    let maps = [
        catalog::add(dtype, elems),
        catalog::gelu(dtype, elems),
        catalog::gelu_dx(dtype, elems),
        catalog::silu(dtype, elems),
        catalog::adamw(dtype, elems, adamw),
    ];
    bodies.map(|body| Kernel::new(dtype, body)).into_iter().chain(maps).collect()
}

fn main() {
    println!("one core of {:?}", Target::host().cpu);
    println!(
        "{:>5} {:>18} {:>11} {:>9} {:>7} {:>10}",
        "type", "family", "us a launch", "GFLOP/s", "GB/s", "compile ms"
    );
    for dtype in [Dtype::F32, Dtype::F64] {
        for kernel in kernels(dtype) {
            let start = Instant::now();
            let named = [(kernel.symbol(), kernel.clone())];
            let bytes = compile(&named, &Target::host(), OptLevel::Full, Isolation::InProcess)
                .expect("compiles");
            let compile_ms = start.elapsed().as_secs_f64() * 1e3;
            let mut file =
                tempfile::Builder::new().suffix(".so").tempfile().expect("a temporary file");
            file.write_all(&bytes).expect("written");
            // SAFETY: the object was just generated and has no initialisers.
            let library = unsafe { libloading::Library::new(file.path()) }.expect("loads");
            // SAFETY: the symbol has the documented ABI.
            let function =
                unsafe { library.get::<Function>(kernel.symbol().as_bytes()) }.expect("exported");
            // Zeros are legal tokens and finite numbers.
            let mut buffers: Vec<Vec<u64>> = kernel
                .parameters()
                .iter()
                .map(|p| vec![0_u64; (p.elems * p.dtype.bytes()).div_ceil(8) as usize])
                .collect();
            let pointers: Vec<*mut c_void> =
                buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
            let mut workspace = vec![0_u64; kernel.workspace_bytes() as usize / 8 + 8];
            let aligned = workspace.as_mut_ptr().align_offset(64);
            let scalars = [1e-3, 1.0];
            let calls = (2e7 / (kernel.flops() + kernel.bytes_moved()) as f64).ceil() as u32;
            let mut best = f64::INFINITY;
            for _ in 0..10 {
                let start = Instant::now();
                for _ in 0..calls {
                    // SAFETY: buffers and workspace have the kernel's sizes.
                    unsafe {
                        let workspace = workspace.as_mut_ptr().wrapping_add(aligned).cast();
                        function(pointers.as_ptr(), scalars.as_ptr(), workspace);
                    }
                }
                best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
            }
            println!(
                "{:>5} {:>18} {:>11.1} {:>9.2} {:>7.1} {:>10.0}",
                format!("{dtype:?}"),
                kernel.family(),
                best * 1e6,
                kernel.flops() as f64 / best / 1e9,
                kernel.bytes_moved() as f64 / best / 1e9,
                compile_ms
            );
        }
    }
}
