//! Kernels in machine code under criterion, at the sizes of a small GPT: products, attention, norms, softmax, maps and the
//! optimizer's update, with operations a second (products, attention) or bytes a second.
//!
//! `cargo bench -p piper-codegen --features llvm --bench kernels -- attention` runs those whose name holds `attention`.
#![allow(missing_docs)] // What criterion's macro makes.

mod native;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use native::Library;
use piper_codegen::Kernel;
use piper_codegen::catalog::{self, AdamW};
use piper_codegen::kernel::{Attention, Body, CrossEntropy, Dtype, Gemm, Norm, NormKind};
use piper_codegen::scalar::Real;
use std::time::Duration;

fn product(m: u64, n: u64, k: u64) -> Body {
    Body::Gemm(Gemm {
        m,
        n,
        k,
        transpose_a: false,
        transpose_b: false,
        batch: 1,
        bias: false,
        accumulate: false,
        epilogue: None,
    })
}

/// Group, name, kernel.
fn kernels(dtype: Dtype) -> Vec<(&'static str, String, Kernel)> {
    let mut list = vec![];
    let mut add = |group, name: String, body| list.push((group, name, Kernel::new(dtype, body)));
    for (m, n, k) in [(2048, 512, 128), (4096, 384, 384), (1024, 1024, 1024)] {
        add("product", format!("{m}x{n}x{k}"), product(m, n, k));
    }
    for (batch, seq, heads, head_dim) in [(32, 64, 4, 32), (4, 256, 6, 64), (1, 1024, 4, 64)] {
        let shape = Attention { batch, seq, heads, kv_heads: heads, head_dim };
        let name = format!("{batch}x{seq}x{heads}x{head_dim}");
        add("attention", name.clone(), Body::Attention { shape, lse: true });
        add("attention gradient", name, Body::AttentionDx(shape));
    }
    for (rows, cols) in [(2048, 128), (4096, 384)] {
        let norm = Norm { kind: NormKind::Layer, rows, cols, eps: Real::new(1e-5) };
        let name = format!("{rows}x{cols}");
        add("norm", name.clone(), Body::Norm(norm));
        add("norm dx", name.clone(), Body::NormDx { norm, adds: false });
        add("norm dw", name, Body::NormDw(norm));
    }
    for (rows, vocab) in [(4096, 256), (256, 32000)] {
        let loss = CrossEntropy { rows, vocab, denominator: rows as i64, lse: true };
        let name = format!("{rows}x{vocab}");
        add("softmax", name.clone(), Body::CrossEntropy(loss));
        add("softmax gradient", name, Body::CrossEntropyDx(loss));
    }
    let adamw = AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    let elems = 1 << 20;
    list.extend([
        ("map", "add".to_owned(), catalog::add(dtype, elems)),
        ("map", "gelu".to_owned(), catalog::gelu(dtype, elems)),
        ("map", "silu".to_owned(), catalog::silu(dtype, elems)),
        ("update", "adamw".to_owned(), catalog::adamw(dtype, elems, adamw)),
    ]);
    list
}

fn benches(c: &mut Criterion) {
    for dtype in [Dtype::F32, Dtype::Bf16] {
        for (group, name, kernel) in kernels(dtype) {
            let mut group = c.benchmark_group(group);
            group.throughput(match kernel.body {
                Body::Gemm(_) | Body::Attention { .. } | Body::AttentionDx(_) => {
                    Throughput::Elements(kernel.flops())
                }
                _ => Throughput::Bytes(kernel.bytes_moved()),
            });
            group.bench_function(format!("{name} {dtype:?}"), |b| {
                // Compiled here, so that a filter leaves out what it does not name.
                let library = Library::new([&kernel]);
                let mut launch = library.launch(&kernel);
                b.iter(|| launch.run());
            });
        }
    }
}

criterion_group! {
    name = all;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = benches
}
criterion_main!(all);
