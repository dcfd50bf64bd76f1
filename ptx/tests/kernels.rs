//! Kernels that LLVM compiled for three targets, against the same computed here.

use piper_ptx::{Arg, Kernel, Machine, Module};

const TARGETS: [&str; 3] = ["sm_80", "sm_90a", "sm_100a"];

fn kernel(file: &str, target: &str, name: &str) -> (Module, Kernel) {
    let path = format!("{}/tests/fixtures/{file}.{target}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{file} {target}: {e}"));
    let kernel = module.kernel(name).unwrap_or_else(|e| panic!("{file} {target}: {e}"));
    (module, kernel)
}

fn bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Numbers that look random and have few bits.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 61) as f32 / 16.0 - 1.75).collect()
}

#[test]
fn saxpy_over_sizes_that_fill_no_block() {
    for target in TARGETS {
        let (_, saxpy) = kernel("saxpy", target, "saxpy");
        for n in [1, 7, 33, 257, 300] {
            let mut machine = Machine::new();
            let x: Vec<f32> = numbers(n);
            let y: Vec<f32> = (0..n).map(|i| 10.0 - i as f32).collect();
            let (px, py) = (machine.alloc_f32(&x), machine.alloc_f32(&y));
            let args = [Arg::F32(2.5), Arg::Ptr(px), Arg::Ptr(py), Arg::I32(n as i32)];
            let stats = machine.launch(&saxpy, (n as u32).div_ceil(128), 128, 0, &args).unwrap();
            let expected: Vec<f32> =
                x.iter().zip(&y).map(|(x, y)| 2.5_f32.mul_add(*x, *y)).collect();
            assert_eq!(machine.read_f32(py, n).unwrap(), expected);
            assert_eq!(stats.global_read, 8 * n as u64);
            assert_eq!(stats.global_written, 4 * n as u64);
        }
    }
}

#[test]
fn vectors_of_four_in_a_grid_stride_loop() {
    for target in TARGETS {
        let (_, scale) = kernel("saxpy", target, "scale_vec4");
        let mut machine = Machine::new();
        let x = numbers(4 * 333);
        let px = machine.alloc_f32(&x);
        let py = machine.alloc(4 * x.len());
        machine
            .launch(&scale, 2, 64, 0, &[Arg::F32(3.0), Arg::Ptr(px), Arg::Ptr(py), Arg::I32(333)])
            .unwrap();
        let expected: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
        assert_eq!(machine.read_f32(py, x.len()).unwrap(), expected);
    }
}

#[test]
fn a_tree_in_shared_memory_and_shuffles_in_a_warp() {
    for target in TARGETS {
        let (_, sum) = kernel("reduce", target, "block_sum");
        let mut machine = Machine::new();
        let x = numbers(3 * 256);
        let px = machine.alloc_f32(&x);
        let out = machine.alloc(12);
        let stats = machine.launch(&sum, 3, 256, 0, &[Arg::Ptr(px), Arg::Ptr(out)]).unwrap();
        let expected: Vec<f32> = x.chunks(256).map(|c| c.iter().sum()).collect();
        assert_eq!(machine.read_f32(out, 3).unwrap(), expected);
        assert_eq!(stats.bank_conflicts, 0);
        assert!(stats.barriers > 0 && stats.shared_read > 0);

        let (_, warp) = kernel("reduce", target, "warp_sum");
        let all = machine.alloc(32 * 4);
        machine.launch(&warp, 1, 32, 0, &[Arg::Ptr(px), Arg::Ptr(all)]).unwrap();
        assert_eq!(machine.read_f32(all, 1).unwrap()[0], x[..32].iter().sum::<f32>());
    }
}

#[test]
fn votes_shuffles_and_reductions_of_a_warp() {
    for target in TARGETS {
        let (_, votes) = kernel("reduce", target, "warp_votes");
        let mut machine = Machine::new();
        let out = machine.alloc(32 * 4);
        machine.launch(&votes, 1, 32, 0, &[Arg::Ptr(out)]).unwrap();
        let expected: Vec<u32> =
            (0..32).map(|t| (0xaaaa_aaaa_u32 ^ (t ^ 5)).wrapping_add(496)).collect();
        assert_eq!(machine.read_u32(out, 32).unwrap(), expected);
    }
}

#[test]
fn atomics_and_variables_of_the_module() {
    for target in TARGETS {
        let (module, count) = kernel("reduce", target, "count");
        let mut machine = Machine::new();
        let sum = machine.alloc_f32(&[0.5]);
        let flags = machine.alloc_u32(&[3, 0, 9, 0, 1, 0]);
        machine.launch(&count, 1, 100, 0, &[Arg::Ptr(sum), Arg::Ptr(flags)]).unwrap();
        assert_eq!(machine.read_f32(sum, 1).unwrap(), [4950.5]);
        let flags = machine.read_u32(flags, 6).unwrap();
        assert_eq!((flags[0], flags[2], flags[4]), (99, 0, 4951));
        let counter = machine.symbol(&module, "counter").unwrap();
        assert_eq!(machine.read_u32(counter, 1).unwrap(), [107]);
        // The variable lives on from launch to launch.
        let zeros = machine.alloc_u32(&[0; 6]);
        machine.launch(&count, 1, 3, 0, &[Arg::Ptr(sum), Arg::Ptr(zeros)]).unwrap();
        assert_eq!(machine.read_u32(counter, 1).unwrap(), [110]);
    }
}

#[test]
fn device_functions_and_jump_tables() {
    for target in TARGETS {
        let (_, weigh) = kernel("reduce", target, "weigh");
        let mut machine = Machine::new();
        let x = numbers(40);
        let px = machine.alloc_f32(&x);
        machine.launch(&weigh, 1, 40, 0, &[Arg::Ptr(px)]).unwrap();
        let expected: Vec<f32> =
            x.iter().enumerate().map(|(i, x)| x * [1.0, 2.0, 4.0, 8.0][i & 3] * 2.0).collect();
        assert_eq!(machine.read_f32(px, 40).unwrap(), expected);

        let (_, pick) = kernel("reduce", target, "pick");
        let out = machine.alloc(40 * 4);
        machine.launch(&pick, 1, 40, 0, &[Arg::Ptr(out)]).unwrap();
        let expected: Vec<u32> = (0..40_u32)
            .map(|t| match t & 7 {
                0 => t.wrapping_mul(t),
                1 => 1000 / t,
                2 => (-77777_i32 >> t.min(31)) as u32,
                3 => t.count_ones(),
                4 => t.leading_zeros(),
                5 => ((u64::from(t) << 32 | 0xffff_fffe) << (t & 31) >> 32) as u32,
                _ => 12345 % t,
            })
            .collect();
        assert_eq!(machine.read_u32(out, 40).unwrap(), expected);
    }
}

#[test]
fn a_double_buffered_pipeline_of_asynchronous_copies() {
    for target in TARGETS {
        let (_, pipeline) = kernel("tile", target, "pipeline");
        for steps in [1, 2, 5] {
            let mut machine = Machine::new();
            let x = numbers(steps * 128);
            let px = machine.alloc_f32(&x);
            let out = machine.alloc(512);
            let args = [Arg::Ptr(px), Arg::Ptr(out), Arg::I32(steps as i32)];
            machine.launch(&pipeline, 1, 128, 0, &args).unwrap();
            let expected: Vec<f32> =
                (0..128).map(|t| (0..steps).map(|s| x[s * 128 + 127 - t]).sum()).collect();
            assert_eq!(machine.read_f32(out, 128).unwrap(), expected);
        }
    }
}

#[test]
fn tensor_core_tiles_are_plain_products() {
    for target in TARGETS {
        let (_, tile) = kernel("tile", target, "tile_bf16");
        let mut machine = Machine::new();
        let (a, b, c) = (numbers(256), numbers(200)[72..].to_vec(), numbers(128));
        let halves = |v: &[f32]| v.iter().flat_map(|x| bf16(*x).to_le_bytes()).collect::<Vec<u8>>();
        let (pa, pb) = (machine.alloc_bytes(&halves(&a)), machine.alloc_bytes(&halves(&b)));
        let pd = machine.alloc_f32(&c);
        machine.launch(&tile, 1, 32, 0, &[Arg::Ptr(pa), Arg::Ptr(pb), Arg::Ptr(pd)]).unwrap();
        // The numbers have so few bits that every sum is exact.
        let expected: Vec<f32> = (0..128)
            .map(|i| c[i] + (0..16).map(|k| a[i / 8 * 16 + k] * b[k * 8 + i % 8]).sum::<f32>())
            .collect();
        assert_eq!(machine.read_f32(pd, 128).unwrap(), expected);

        let (_, tile) = kernel("tile", target, "tile_tf32");
        let (a, b) = (numbers(128), numbers(64));
        let (pa, pb) = (machine.alloc_f32(&a), machine.alloc_f32(&b));
        let pd = machine.alloc(512);
        machine.launch(&tile, 1, 32, 0, &[Arg::Ptr(pa), Arg::Ptr(pb), Arg::Ptr(pd)]).unwrap();
        let expected: Vec<f32> = (0..128)
            .map(|i| (0..8).map(|k| a[i / 8 * 8 + k] * b[i % 8 * 8 + k]).sum::<f32>())
            .collect();
        assert_eq!(machine.read_f32(pd, 128).unwrap(), expected);
    }
}

/// Distance in units of the last place of `x`.
fn ulps(x: f32, exact: f64) -> f64 {
    let unit = (f64::from(f32::from_bits(x.abs().to_bits() + 1)) - f64::from(x.abs())).abs();
    (f64::from(x) - exact).abs() / unit
}

#[test]
fn approximations_keep_the_documented_bounds() {
    for target in TARGETS {
        let (_, kernel) = kernel("math", target, "approximations");
        let mut machine = Machine::new();
        let n = 512;
        let x: Vec<f32> = (0..n).map(|i| (i as f32 - 255.5) * 0.031_25).collect();
        let px = machine.alloc_f32(&x);
        let out = machine.alloc(n * 40);
        machine.launch(&kernel, 4, 128, 0, &[Arg::Ptr(px), Arg::Ptr(out), Arg::I32(0)]).unwrap();
        let out = machine.read_f32(out, n * 10).unwrap();
        for (x, out) in x.iter().zip(out.chunks(10)) {
            let v = f64::from(*x);
            // Bounds of the PTX ISA: 2 ulp for ex2, lg2 near 1 absolute, tanh 2^-11 relative, rsqrt 2^-22.9.
            assert!(ulps(out[0], v.exp2()) <= 2.0, "ex2 {x}");
            assert!(
                (f64::from(out[1]) - v.abs().log2()).abs()
                    <= 2.0_f64.powi(-22).max(v.abs().log2().abs() * 2.0_f64.powi(-22))
            );
            assert!((f64::from(out[2]) - v.tanh()).abs() <= v.tanh().abs() * 2.0_f64.powi(-11));
            assert!(ulps(out[3], 1.0 / v.abs().sqrt()) <= 2.0, "rsqrt {x}");
            assert!(ulps(out[4], 1.0 / v) <= 1.0, "rcp {x}");
            assert!((f64::from(out[5]) - v.sin()).abs() <= 2.0_f64.powi(-20));
            assert!((f64::from(out[6]) - v.cos()).abs() <= 2.0_f64.powi(-20));
            assert_eq!(out[7], x.abs().sqrt());
            assert_eq!(out[8], 3.0 / x);
            assert_eq!(out[9], x.floor().clamp(-2.0, 2.0));
        }
    }
}

#[test]
fn halves_and_integers_convert_as_the_language_converts() {
    for target in TARGETS {
        let (_, halves) = kernel("math", target, "halves");
        let mut machine = Machine::new();
        let x = numbers(64);
        let px = machine.alloc_f32(&x);
        let (b, h, back) = (machine.alloc(128), machine.alloc(128), machine.alloc(128));
        let args = [Arg::Ptr(px), Arg::Ptr(b), Arg::Ptr(h), Arg::Ptr(back)];
        machine.launch(&halves, 1, 32, 0, &args).unwrap();
        let words = machine.read_u32(b, 32).unwrap();
        let product = |x: f32| {
            let x = f32::from_bits(u32::from(bf16(x)) << 16);
            bf16(f32::from_bits(u32::from(bf16(x + x)) << 16) * x)
        };
        for (t, word) in words.iter().enumerate() {
            let expected = u32::from(product(x[2 * t])) | u32::from(product(x[2 * t + 1])) << 16;
            assert_eq!(*word, expected, "{target} {t} {} {}", x[2 * t], x[2 * t + 1]);
        }
        let back = machine.read_f32(back, 32).unwrap();
        for (t, value) in back.iter().enumerate() {
            let low = f32::from_bits(u32::from(product(x[2 * t])) << 16);
            assert_eq!(*value, 2.0 * x[2 * t + 1] + low);
        }

        let (_, integers) = kernel("math", target, "integers");
        let x = [1.5, -1.5, 300.7, -70000.0, f32::NAN, 1e20, -1e20, 0.0];
        let px = machine.alloc_f32(&x);
        let out = machine.alloc(32);
        machine.launch(&integers, 1, 8, 0, &[Arg::Ptr(px), Arg::Ptr(out)]).unwrap();
        let expected: Vec<f32> = x
            .iter()
            .map(|x| {
                let s = *x as i32;
                let high = ((i64::from(s) * 1_000_000_007) >> 32) as i32;
                ((i32::from(s as i8).wrapping_add(high / 7)) as u32 as f64 * 0.5) as f32
            })
            .collect();
        assert_eq!(machine.read_f32(out, 8).unwrap(), expected);
    }
}
