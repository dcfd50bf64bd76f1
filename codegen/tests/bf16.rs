//! Casts to and from bf16: every bit pattern of bf16, and f32 patterns over the whole range.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::kernel::{Body, Dtype, Kernel, bf16_from_f32, bf16_to_f32};
use support::{Data, Native, by_reference, levels};

fn cast(from: Dtype, to: Dtype, elems: usize) -> Kernel {
    Kernel::new(from, Body::Cast { elems: elems as u64, to })
}

/// Bit patterns of f32: around every value of bf16 and every tie between two, and an even stride over all.
fn patterns() -> Vec<f32> {
    let around = (0..=u16::MAX).flat_map(|high| {
        let near = [0_u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        near.map(|low| f32::from_bits(u32::from(high) << 16 | low))
    });
    around.chain((0..u32::MAX).step_by(65_521).map(f32::from_bits)).collect()
}

#[test]
fn rounding_is_to_the_nearest_and_to_even() {
    for x in patterns() {
        let bits = bf16_from_f32(x);
        let rounded = bf16_to_f32(bits);
        if x.is_nan() {
            assert!(rounded.is_nan(), "{:08x} became {bits:04x}", x.to_bits());
            continue;
        }
        // Of the two neighbours that x lies between, by exact distances; beyond the largest value, infinity stands for 2^128.
        let value = |b: u16| match bf16_to_f32(b) {
            v if v.is_infinite() => 2_f64.powi(128).copysign(f64::from(v)),
            v => f64::from(v),
        };
        let (low, x64) = ((x.to_bits() >> 16) as u16, f64::from(x));
        let high = if x.is_infinite() { low } else { low + 1 };
        let nearest = match (x64 - value(low)).abs().partial_cmp(&(value(high) - x64).abs()) {
            _ if x.is_infinite() => low,
            Some(std::cmp::Ordering::Less) => low,
            Some(std::cmp::Ordering::Greater) => high,
            _ => {
                if low & 1 == 0 {
                    low
                } else {
                    high
                }
            }
        };
        assert_eq!(bits, nearest, "{:08x} ({x:e})", x.to_bits());
    }
}

#[test]
fn casts_have_the_bits_of_the_reference_on_every_cpu() {
    let x = patterns();
    let narrow: Vec<u16> = (0..=u16::MAX).collect();
    let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x) * 1.000_000_01).collect();
    let cases = [
        (
            cast(Dtype::F32, Dtype::Bf16, x.len()),
            Data::F32(x.clone()),
            Data::Bf16(vec![0; x.len()]),
        ),
        (
            cast(Dtype::Bf16, Dtype::F32, narrow.len()),
            Data::Bf16(narrow.clone()),
            Data::F32(vec![0.0; narrow.len()]),
        ),
        (
            cast(Dtype::Bf16, Dtype::Bf16, narrow.len()),
            Data::Bf16(narrow.clone()),
            Data::Bf16(vec![0; narrow.len()]),
        ),
        (
            cast(Dtype::F64, Dtype::Bf16, x.len()),
            Data::F64(doubles.clone()),
            Data::Bf16(vec![0; x.len()]),
        ),
        (cast(Dtype::F64, Dtype::F32, x.len()), Data::F64(doubles), Data::F32(vec![0.0; x.len()])),
        (
            cast(Dtype::Bf16, Dtype::F64, narrow.len()),
            Data::Bf16(narrow.clone()),
            Data::F64(vec![0.0; narrow.len()]),
        ),
        (
            cast(Dtype::F32, Dtype::F64, x.len()),
            Data::F32(x.clone()),
            Data::F64(vec![0.0; x.len()]),
        ),
        (cast(Dtype::F32, Dtype::Bf16, 7), Data::F32(x[1..8].to_vec()), Data::Bf16(vec![0; 7])),
        (cast(Dtype::F32, Dtype::Bf16, 33), Data::F32(x[1..34].to_vec()), Data::Bf16(vec![0; 33])),
    ];
    let kernels = cases.clone().map(|(kernel, ..)| kernel);
    for level in levels() {
        let native = Native::new(&kernels, level);
        for (kernel, from, to) in &cases {
            let data = [from.clone(), to.clone()];
            let expected = &by_reference(kernel, &data, &[])[1];
            let found = &native.run(kernel, &data, &[])[1];
            let (e, f) = (expected.doubles(), found.doubles());
            let nan: Vec<bool> = e.iter().zip(&f).map(|(e, f)| e.is_nan() && f.is_nan()).collect();
            for (i, (e, f)) in expected.bits().iter().zip(found.bits()).enumerate() {
                assert!(*e == f || nan[i], "{level:?} {kernel:?} element {i}: {f:x} for {e:x}");
            }
        }
    }
}
