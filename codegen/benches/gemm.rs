//! Throughput of generated matrix products beside OpenBLAS and, on one thread, the `matrixmultiply` crate, in one run, in turns.
//!
//! `cargo bench -p piper-codegen --features llvm --bench gemm` prints, for each shape and storage, the best rate of
//! several repetitions of each and the ratios. `PIPER_OPENBLAS` names the shared library of OpenBLAS (that of NumPy's wheel
//! will do; `cargo xtask bench gemm` fetches it); without it that column is left out. `PIPER_GEMM` picks shapes by a part of
//! their name, `PIPER_GEMM_THREADS` says on how many threads both run (one by default). Timings are for reading, not for passing or failing.
//!
//! On several threads each turn of ours begins after a pause: OpenBLAS's threads go on looking for work for some 30 ms after a call,
//! on the cores that ours are to run on. Ours end with their turn.
#![allow(unsafe_code)]

use piper_codegen::kernel::{Body, Dtype, Gemm, Kernel, bf16_from_f32, bf16_to_f32};
use piper_codegen::{Isolation, OptLevel, Target, compile};
use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Function = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);
type Part = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void, u64, u64);
/// `cblas_sgemm` with 64-bit integers.
type Sgemm = unsafe extern "C" fn(
    i32,
    i32,
    i32,
    i64,
    i64,
    i64,
    f32,
    *const f32,
    i64,
    *const f32,
    i64,
    f32,
    *mut f32,
    i64,
);

/// What a shape is for, and `m x n x k`.
const SHAPES: [(&str, u64, u64, u64); 22] = [
    ("square", 256, 256, 256),
    ("square", 384, 384, 384),
    ("square", 512, 512, 512),
    ("square", 768, 768, 768),
    ("square", 1024, 1024, 1024),
    ("square", 1536, 1536, 1536),
    ("square", 2048, 2048, 2048),
    // A GPT of width 384 on 16 sequences of 256 bytes: projections, the two products of the MLP, the head, and their gradients.
    ("gpt384 attention", 4096, 384, 384),
    ("gpt384 up", 4096, 1536, 384),
    ("gpt384 down", 4096, 384, 1536),
    ("gpt384 head", 4096, 256, 384),
    ("gpt384 dw attention", 384, 384, 4096),
    ("gpt384 dw up", 384, 1536, 4096),
    ("gpt384 dw down", 1536, 384, 4096),
    // One of width 128 on 32 sequences of 64.
    ("gpt128 attention", 2048, 128, 128),
    ("gpt128 up", 2048, 512, 128),
    ("gpt128 down", 2048, 128, 512),
    ("gpt128 dw up", 128, 512, 2048),
    ("head scores", 64, 256, 64),
    ("head values", 64, 64, 256),
    ("skinny", 8, 1536, 384),
    ("skinny", 1024, 8, 384),
];

fn shapes() -> Vec<(&'static str, Gemm)> {
    let mut list = vec![];
    let wanted = std::env::var("PIPER_GEMM").unwrap_or_default();
    for (what, m, n, k) in SHAPES {
        if !format!("{what} {m}x{n}x{k}").contains(&wanted) {
            continue;
        }
        let storages: &[(bool, bool)] = match what.contains(" dw ") {
            true => &[(true, false)],
            false if what == "square" => {
                &[(false, false), (false, true), (true, false), (true, true)]
            }
            false => &[(false, false), (false, true)],
        };
        for &(transpose_a, transpose_b) in storages {
            let (batch, bias, accumulate, epilogue) = (1, false, false, None);
            let gemm =
                Gemm { m, n, k, transpose_a, transpose_b, batch, bias, accumulate, epilogue };
            list.push((what, gemm));
        }
    }
    list
}

/// Seconds of the fastest of several timed groups of calls.
fn best(calls: u32, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        (0..calls).for_each(|_| run());
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    best
}

/// Small whole numbers, so that products are exact in any order.
fn whole_numbers(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 29) as f32 - 3.0
    };
    (0..count).map(|_| next()).collect()
}

/// How many threads take part.
fn threads() -> u64 {
    let wanted = std::env::var("PIPER_GEMM_THREADS").ok();
    wanted.and_then(|n| n.parse().ok()).filter(|n| *n > 0).unwrap_or(1)
}

/// As [`best`], for calls in parts on threads that wait for each other by looking, as the runtime's do between launches that follow
/// closely. The threads are there before the first call that counts, as OpenBLAS's are.
fn best_in_parts(parts: u64, calls: u32, run: &(dyn Fn(u64) + Sync)) -> f64 {
    const END: u64 = u64::MAX;
    let (turn, done) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for part in 1..parts {
            let (turn, done) = (&turn, &done);
            scope.spawn(move || {
                let mut seen = 0;
                loop {
                    let now = turn.load(Ordering::Acquire);
                    match now {
                        END => return,
                        now if now == seen => std::hint::spin_loop(),
                        now => {
                            seen = now;
                            run(part);
                            done.fetch_add(1, Ordering::Release);
                        }
                    }
                }
            });
        }
        let mut call = 0;
        let mut once = || {
            call += 1;
            turn.store(call, Ordering::Release);
            run(0);
            while done.load(Ordering::Acquire) < call * (parts - 1) {
                std::hint::spin_loop();
            }
        };
        once();
        let seconds = best(calls, once);
        turn.store(END, Ordering::Release);
        seconds
    })
}

/// Longer than OpenBLAS's threads look for work before they sleep: 2^26 ticks of the processor's clock.
const UNTIL_ASLEEP: Duration = Duration::from_millis(80);

/// Times one product on buffers `a`, `b`, `c` of its element type.
struct Timed {
    library: libloading::Library,
}

impl Timed {
    fn compile(kernels: &[Kernel]) -> Self {
        let named: Vec<(String, Kernel)> =
            kernels.iter().map(|k| (k.symbol(), k.clone())).collect();
        let start = Instant::now();
        let bytes = compile(&named, &Target::host(), OptLevel::Full, Isolation::InProcess)
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
        Self { library }
    }

    fn run(&self, kernel: &Kernel, buffers: [*mut c_void; 3], calls: u32) -> f64 {
        let split = kernel.split();
        let parts = split.parts.min(threads());
        let mut workspace = vec![0_u64; split.workspace_bytes(parts) as usize / 8 + 8];
        let aligned = workspace.as_mut_ptr().align_offset(64);
        if parts > 1 {
            let name = format!("{}$part", kernel.symbol());
            // SAFETY: the symbol is exported where a kernel may be divided.
            let part = unsafe { self.library.get::<Part>(name.as_bytes()) }.expect("exported");
            let workspace = workspace.as_mut_ptr().wrapping_add(aligned) as usize;
            let buffers = buffers.as_ptr() as usize;
            let run = |index| {
                // SAFETY: as below; each part runs once a call.
                unsafe { part(buffers as _, std::ptr::null(), workspace as _, index, parts) };
            };
            std::thread::sleep(UNTIL_ASLEEP);
            return best_in_parts(parts, calls, &run);
        }
        // SAFETY: the symbol has the documented ABI; all buffers have the kernel's sizes.
        let function = unsafe { self.library.get::<Function>(kernel.symbol().as_bytes()) };
        let function = function.expect("exported");
        best(calls, || {
            // SAFETY: as above.
            unsafe {
                let workspace = workspace.as_mut_ptr().wrapping_add(aligned).cast();
                function(buffers.as_ptr(), std::ptr::null(), workspace);
            }
        })
    }
}

fn main() {
    let openblas = std::env::var_os("PIPER_OPENBLAS").map(|path| {
        // SAFETY: OpenBLAS's initialisers start threads and read the environment, no more.
        unsafe { libloading::Library::new(path) }.expect("OpenBLAS loads")
    });
    let sgemm = openblas.as_ref().map(|library| {
        // SAFETY: the names and types are those of OpenBLAS's C interface with 64-bit integers.
        unsafe {
            for name in ["scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_"] {
                if let Ok(set) = library.get::<unsafe extern "C" fn(i32)>(name.as_bytes()) {
                    set(threads() as i32);
                }
            }
            library
                .get::<Sgemm>(b"scipy_cblas_sgemm64_")
                .or_else(|_| library.get::<Sgemm>(b"cblas_sgemm64_"))
                .expect("a CBLAS with 64-bit integers")
        }
    });
    let shapes = shapes();
    let kernel = |dtype, g: &Gemm| Kernel::new(dtype, Body::Gemm(g.clone()));
    let kernels: Vec<Kernel> = [Dtype::F32, Dtype::Bf16]
        .into_iter()
        .flat_map(|dtype| shapes.iter().map(move |(_, g)| kernel(dtype, g)))
        .collect();
    println!("best GFLOP/s on {} core(s) of {:?}, f32", threads(), Target::host().cpu);
    let timed = Timed::compile(&kernels);
    println!(
        "{:<20} {:>16} {:>4} {:>8} {:>9} {:>8} {:>6} {:>8} {:>6}",
        "", "m x n x k", "a b", "piper", "openblas", "mm", "ratio", "bf16", "ratio"
    );
    let mut ratios = vec![];
    for (what, g) in &shapes {
        let (m, n, k) = (g.m as usize, g.n as usize, g.k as usize);
        let (wide, narrow) = (kernel(Dtype::F32, g), kernel(Dtype::Bf16, g));
        let (mut a, mut b) = (whole_numbers(m * k), whole_numbers(k * n));
        let bits = |v: &[f32]| v.iter().map(|&x| bf16_from_f32(x)).collect::<Vec<u16>>();
        let (mut a_bits, mut b_bits, mut c_bits) = (bits(&a), bits(&b), vec![0_u16; m * n]);
        let mut c = [0, 1, 2].map(|_| vec![0.0_f32; m * n]);
        let calls = (threads() as f64 * 1e8 / wide.flops() as f64).ceil() as u32;
        let (rs_a, cs_a) = if g.transpose_a { (1, m as isize) } else { (k as isize, 1) };
        let (rs_b, cs_b) = if g.transpose_b { (1, k as isize) } else { (n as isize, 1) };
        let mut times = [f64::INFINITY; 4];
        for _ in 0..4 {
            let ours = timed.run(
                &wide,
                [a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), c[0].as_mut_ptr().cast()],
                calls,
            );
            let blas = sgemm.as_ref().map_or(f64::INFINITY, |sgemm| {
                let transposed = |t| if t { 112 } else { 111 };
                // SAFETY: strides and sizes describe the vectors exactly; 101 is row-major order.
                best(calls, || unsafe {
                    sgemm(
                        101,
                        transposed(g.transpose_a),
                        transposed(g.transpose_b),
                        g.m as i64,
                        g.n as i64,
                        g.k as i64,
                        1.0,
                        a.as_ptr(),
                        if g.transpose_a { g.m } else { g.k } as i64,
                        b.as_ptr(),
                        if g.transpose_b { g.k } else { g.n } as i64,
                        0.0,
                        c[1].as_mut_ptr(),
                        g.n as i64,
                    );
                })
            });
            // SAFETY: as above.
            let plain = best(calls, || unsafe {
                let (a, b, d) = (a.as_ptr(), b.as_ptr(), c[2].as_mut_ptr());
                matrixmultiply::sgemm(
                    m, k, n, 1.0, a, rs_a, cs_a, b, rs_b, cs_b, 0.0, d, n as isize, 1,
                );
            });
            let bf16 = timed.run(
                &narrow,
                [
                    a_bits.as_mut_ptr().cast(),
                    b_bits.as_mut_ptr().cast(),
                    c_bits.as_mut_ptr().cast(),
                ],
                calls,
            );
            for (least, time) in times.iter_mut().zip([ours, blas, plain, bf16]) {
                *least = least.min(time);
            }
        }
        assert_eq!(c[0], c[2], "products of whole numbers are exact");
        assert!(sgemm.is_none() || c[0] == c[1], "products of whole numbers are exact");
        let same = c[0].iter().zip(&c_bits);
        assert!(
            same.clone().all(|(&x, &bits)| bf16_to_f32(bits) == bf16_to_f32(bf16_from_f32(x))),
            "bf16 is the product rounded once"
        );
        let rate = |seconds: f64| wide.flops() as f64 / seconds / 1e9;
        let reference = if sgemm.is_some() { times[1] } else { times[2] };
        ratios.push(reference / times[0]);
        let mark = |t| if t { "T" } else { "N" };
        println!(
            "{what:<20} {:>16} {:>4} {:>8.1} {:>9.1} {:>8.1} {:>6.2} {:>8.1} {:>6.2}",
            format!("{m}x{n}x{k}"),
            format!("{} {}", mark(g.transpose_a), mark(g.transpose_b)),
            rate(times[0]),
            rate(times[1]),
            rate(times[2]),
            reference / times[0],
            rate(times[3]),
            times[0] / times[3],
        );
    }
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{} products: geometric mean of the ratios {mean:.2}, least {least:.2}", ratios.len());
}
