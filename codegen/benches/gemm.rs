//! Throughput of generated matrix products beside the `matrixmultiply` crate, in one run, alternating.
//!
//! `cargo bench -p piper-codegen --features llvm --bench gemm` prints, for each shape and storage, the best rate of
//! several repetitions of both and their ratio. Timings are for reading, not for passing or failing.
#![allow(unsafe_code)]

use piper_codegen::kernel::{Body, Dtype, Gemm, Kernel};
use piper_codegen::{Isolation, OptLevel, Target, compile};
use std::ffi::c_void;
use std::io::Write;
use std::time::Instant;

type Function = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);

const SHAPES: [(u64, u64, u64); 13] = [
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
    (64, 128, 128),
    (64, 512, 128),
    (64, 128, 512),
    (256, 384, 128),
    (1024, 128, 128),
    (1024, 512, 128),
    (1024, 128, 512),
    (128, 512, 1024),
    (64, 64, 32),
];

fn shapes() -> Vec<Gemm> {
    let mut list = vec![];
    for (m, n, k) in SHAPES {
        for (transpose_a, transpose_b) in [(false, false), (false, true), (true, false)] {
            let (batch, bias, accumulate, epilogue) = (1, false, false, None);
            list.push(Gemm {
                m,
                n,
                k,
                transpose_a,
                transpose_b,
                batch,
                bias,
                accumulate,
                epilogue,
            });
        }
    }
    list
}

/// Seconds of the fastest of several timed groups of calls.
fn best(calls: u32, mut run: impl FnMut()) -> f64 {
    run();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        (0..calls).for_each(|_| run());
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    best
}

macro_rules! compare {
    ($type:ident, $dtype:expr, $reference:path) => {{
        let kernels: Vec<(String, Kernel)> = shapes()
            .into_iter()
            .map(|g| Kernel { dtype: $dtype, body: Body::Gemm(g) })
            .map(|k| (k.symbol(), k))
            .collect();
        let start = Instant::now();
        let bytes = compile(&kernels, &Target::host(), OptLevel::Full, Isolation::InProcess)
            .expect("compiles");
        println!(
            "{} products compiled and linked in {:.0} ms, {} KiB",
            kernels.len(),
            start.elapsed().as_secs_f64() * 1e3,
            bytes.len() / 1024
        );
        let mut file = tempfile::Builder::new().suffix(".so").tempfile().expect("a temporary file");
        file.write_all(&bytes).expect("written");
        // SAFETY: the object was just generated and has no initialisers.
        let library = unsafe { libloading::Library::new(file.path()) }.expect("loads");
        println!(
            "{:>4} {:>16} {:>5} {:>9} {:>9} {:>6}",
            "type", "m x n x k", "a b", "piper", "mm", "ratio"
        );
        for (symbol, kernel) in &kernels {
            let Body::Gemm(g) = &kernel.body else { unreachable!() };
            let (m, n, k) = (g.m as usize, g.n as usize, g.k as usize);
            let mut a = vec![0.5 as $type; m * k];
            let mut b = vec![0.25 as $type; k * n];
            let mut c = vec![0.0 as $type; m * n];
            let mut d = c.clone();
            let mut workspace = vec![0_u64; kernel.workspace_bytes() as usize / 8 + 8];
            let aligned = workspace.as_mut_ptr().align_offset(64);
            // SAFETY: the symbol has the documented ABI; all buffers have the kernel's sizes.
            let function = unsafe { library.get::<Function>(symbol.as_bytes()) }.expect("exported");
            let calls = (2e8 / kernel.flops() as f64).ceil() as u32;
            let (rs_a, cs_a) = if g.transpose_a { (1, m as isize) } else { (k as isize, 1) };
            let (rs_b, cs_b) = if g.transpose_b { (1, k as isize) } else { (n as isize, 1) };
            let mut times = [f64::INFINITY; 2];
            for _ in 0..3 {
                let buffers =
                    [a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), c.as_mut_ptr().cast::<c_void>()];
                let ours = best(calls, || {
                    // SAFETY: as above.
                    unsafe {
                        let workspace = workspace.as_mut_ptr().wrapping_add(aligned).cast();
                        function(buffers.as_ptr(), std::ptr::null(), workspace);
                    }
                });
                let theirs = best(calls, || {
                    // SAFETY: strides and sizes describe the vectors exactly.
                    unsafe {
                        $reference(
                            m,
                            k,
                            n,
                            1.0,
                            a.as_ptr(),
                            rs_a,
                            cs_a,
                            b.as_ptr(),
                            rs_b,
                            cs_b,
                            0.0,
                            d.as_mut_ptr(),
                            n as isize,
                            1,
                        );
                    }
                });
                times = [times[0].min(ours), times[1].min(theirs)];
            }
            assert_eq!(c, d, "constant operands multiply exactly");
            let rate = |seconds: f64| kernel.flops() as f64 / seconds / 1e9;
            println!(
                "{:>4} {:>16} {:>5} {:>9.1} {:>9.1} {:>6.2}",
                stringify!($type),
                format!("{m}x{n}x{k}"),
                format!(
                    "{} {}",
                    if g.transpose_a { "T" } else { "N" },
                    if g.transpose_b { "T" } else { "N" }
                ),
                rate(times[0]),
                rate(times[1]),
                times[1] / times[0]
            );
        }
    }};
}

fn main() {
    println!("best GFLOP/s on one core of {:?}", Target::host().cpu);
    compare!(f32, Dtype::F32, matrixmultiply::sgemm);
    compare!(f64, Dtype::F64, matrixmultiply::dgemm);
}
