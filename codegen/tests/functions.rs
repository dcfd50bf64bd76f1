//! Accuracy of the generated functions, in units of the last place against the f64 standard library.
//!
//! Over all f32 values (minutes): `cargo test -p piper-codegen --features llvm --test functions -- --ignored --nocapture`.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::kernel::{Access, Body, Dtype, Kernel, Map, Mode, Operand};
use piper_codegen::scalar::{ScalarOp, ScalarProgram};
use piper_codegen::{Target, VectorLevel};
use support::{Data, Native, Random, levels};

fn kernel(dtype: Dtype, elems: u64, op: ScalarOp) -> Kernel {
    let body = ScalarProgram { ops: vec![ScalarOp::Input(0), op], results: vec![1] };
    let operands =
        [Mode::Read, Mode::Write].map(|mode| Operand { access: Access::Full, mode }).to_vec();
    let uniforms = ScalarProgram::default();
    Kernel::new(
        dtype,
        Body::Map(Map {
            rows: 1,
            cols: elems,
            operands,
            scalars: 0,
            uniforms,
            body,
            stores: vec![1],
        }),
    )
}

/// Distance in units of the last place of `exact` rounded to f32; subnormal steps below the normal range.
fn ulps_f32(actual: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if actual == rounded || (actual.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let step = f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
    (f64::from(actual) - exact).abs() / step
}

fn ulps_f64(actual: f64, exact: f64) -> f64 {
    if actual == exact || (actual.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    (actual - exact).abs() / (f64::from_bits(exact.abs().to_bits() + 1) - exact.abs())
}

fn arguments(op: ScalarOp) -> Vec<f64> {
    let mut random = Random(7);
    let mut list = vec![
        0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e-30, 1e-300, 88.0, -87.0, 89.5, -104.0, 709.0, -745.0,
    ];
    list.extend([
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-42,
        5e-324,
        3.4e38,
        0.99999,
        1.00001,
    ]);
    list.extend((0..40000).map(|_| match op {
        ScalarOp::Exp(_) => random.unit() * 90.0,
        ScalarOp::Log(_) => (random.unit() * 85.0).exp(),
        _ => random.unit() * 12.0,
    }));
    list.extend((0..10000).map(|_| {
        if matches!(op, ScalarOp::Log(_)) { 1.0 + random.unit() * 0.5 } else { random.unit() }
    }));
    list.extend((0..2000).map(|_| random.unit() * (random.unit() * 40.0).exp()));
    list
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    let functions: [Case; 3] = [
        (ScalarOp::Exp(0), f64::exp, [2.0, 3.0]),
        (ScalarOp::Log(0), f64::ln, [2.0, 2.0]),
        (ScalarOp::Tanh(0), f64::tanh, [4.0, 4.0]),
    ];
    for (op, exact, bounds) in functions {
        let arguments = arguments(op);
        let elems = arguments.len() as u64;
        let kernels = [kernel(Dtype::F32, elems, op), kernel(Dtype::F64, elems, op)];
        for level in levels() {
            let bound = bounds[usize::from(level == VectorLevel::Portable)];
            let native = Native::new(&kernels, level);
            let short: Vec<f32> = arguments.iter().map(|&x| x as f32).collect();
            let data = [Data::F32(short.clone()), Data::F32(vec![0.0; short.len()])];
            let Data::F32(values) = &native.run(&kernels[0], &data, &[])[1] else { unreachable!() };
            let mut worst = [0.0_f64; 2];
            for (&x, &y) in short.iter().zip(values) {
                let error = ulps_f32(y, exact(f64::from(x)));
                worst[0] = worst[0].max(error);
                assert!(error <= bound, "{level:?} f32 {op:?}({x:e}) = {y:e}: {error} ulp");
            }
            let data = [Data::F64(arguments.clone()), Data::F64(vec![0.0; arguments.len()])];
            let Data::F64(values) = &native.run(&kernels[1], &data, &[])[1] else { unreachable!() };
            for (&x, &y) in arguments.iter().zip(values) {
                // The standard library's own error of up to one unit is part of what is measured.
                let error = ulps_f64(y, exact(x));
                worst[1] = worst[1].max(error);
                assert!(error <= bound, "{level:?} f64 {op:?}({x:e}) = {y:e}: {error} ulp");
            }
            println!("{level:?} {op:?}: f32 {:.2} ulp, f64 {:.2} ulp", worst[0], worst[1]);
        }
    }
    assert!(levels().contains(&Target::host_level()));
}

/// Operation, exact function, and the bound with and without fused multiply-add.
type Case = (ScalarOp, fn(f64) -> f64, [f64; 2]);

/// All functions of f32 with what they are compared with, and the bound with and without fused multiply-add.
const OF_F32: [Case; 7] = [
    (ScalarOp::Exp(0), f64::exp, [2.0, 3.0]),
    (ScalarOp::Log(0), f64::ln, [2.0, 2.0]),
    (ScalarOp::Tanh(0), f64::tanh, [4.0, 4.0]),
    (ScalarOp::Rsqrt(0), |x| 1.0 / x.sqrt(), [1.5, 1.5]),
    (ScalarOp::Sin(0), f64::sin, [0.51, 0.51]),
    (ScalarOp::Cos(0), f64::cos, [0.51, 0.51]),
    (ScalarOp::Erf(0), erf, [0.51, 0.51]),
];

/// The error function: the alternating series where it cancels little, else one less the continued fraction of its complement
/// (Abramowitz and Stegun, 7.1.5 and 7.1.14).
fn erf(x: f64) -> f64 {
    let (size, square) = (x.abs(), x * x);
    if size < 2.0 {
        let (mut sum, mut power) = (0.0, x);
        for n in 0..60_u32 {
            let term = power / f64::from(2 * n + 1);
            sum += term;
            if term.abs() < 1e-18 * sum.abs() {
                break;
            }
            power *= -square / f64::from(n + 1);
        }
        return 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    if size > 6.0 {
        return x.signum();
    }
    let fraction = (1..=100_u32).rev().fold(size, |rest, n| size + f64::from(n) / 2.0 / rest);
    (1.0 - (-square).exp() / std::f64::consts::PI.sqrt() / fraction).copysign(x)
}

/// The largest error of each function over every `stride`-th bit pattern from `first` on; functions side by side.
fn worst_of(level: VectorLevel, first: u32, stride: u32) {
    std::thread::scope(|scope| {
        for case in OF_F32 {
            scope.spawn(move || worst_of_one(case, level, first, stride));
        }
    });
}

fn worst_of_one((op, exact, bounds): Case, level: VectorLevel, first: u32, stride: u32) {
    const AT_ONCE: usize = 1 << 20;
    let bound = bounds[usize::from(level == VectorLevel::Portable)];
    let kernel = kernel(Dtype::F32, AT_ONCE as u64, op);
    let native = Native::new(std::slice::from_ref(&kernel), level);
    let (mut worst, mut at) = (0.0_f64, 0.0_f32);
    let mut patterns = (first..=u32::MAX).step_by(stride as usize);
    loop {
        let mut x: Vec<f32> = patterns.by_ref().take(AT_ONCE).map(f32::from_bits).collect();
        let count = x.len();
        if count == 0 {
            break;
        }
        x.resize(AT_ONCE, 0.0);
        let data = [Data::F32(x.clone()), Data::F32(vec![0.0; AT_ONCE])];
        let Data::F32(values) = &native.run(&kernel, &data, &[])[1] else { unreachable!() };
        for (&x, &y) in x.iter().zip(values).take(count) {
            let error = ulps_f32(y, exact(f64::from(x)));
            if error > worst {
                (worst, at) = (error, x);
            }
            assert!(error <= bound, "{level:?} {op:?}({x:e}) = {y:e}: {error} ulp");
        }
    }
    println!("{level:?} {op:?}: {worst:.3} ulp, at {at:e}");
}

#[test]
fn errors_stay_within_the_bounds_over_a_stride_of_the_whole_range() {
    for level in levels() {
        worst_of(level, 3, 8209);
    }
}

#[test]
#[ignore = "all 2^32 values of seven functions: many minutes"]
fn errors_stay_within_the_bounds_over_all_values() {
    worst_of(Target::host_level(), 0, 1);
}

#[test]
fn what_is_for_f32_alone_is_refused_in_f64() {
    let refused = kernel(Dtype::F64, 4, ScalarOp::Sin(0)).validate();
    assert!(refused.is_err_and(|reason| reason.contains("f32 and bf16, not for f64")));
    assert_eq!(kernel(Dtype::Bf16, 4, ScalarOp::Erf(0)).validate(), Ok(()));
}
