//! Rotary positions: angles, and their sines and cosines, in f64 on the spot, so that no table grows with the sequence.

use super::device::Device;
use super::launch;
use crate::kernel::Dtype;
use crate::llvm::emit::{P, V, built};
use crate::llvm::rows::Rotary;
use crate::reference::rotary_angle;
use inkwell::module::Linkage;
use inkwell::{AddressSpace, IntPredicate};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// `pi/2` minus its nearest f64, from its decimal expansion 1.57079632679489661923132169163975...
const FRAC_PI_2_REST: f64 = 6.123_233_995_736_766e-17;
/// 1.5 * 2^52: adding it rounds to a whole number, which its low bits then hold.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Sum of `x^(2i) (-1)^i / (2i + odd)!` for `terms` terms.
fn series<'c>(k: &Device<'_, 'c>, square: V<'c>, odd: u32, terms: u32) -> V<'c> {
    let e = k.e;
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let coefficient =
        |i: u32| (if i.is_multiple_of(2) { 1.0 } else { -1.0 }) / factorial(2 * i + odd);
    (0..terms - 1).rev().fold(e.float(coefficient(terms - 1)), |sum, i| {
        e.mul_add(sum, square, e.float(coefficient(i)))
    })
}

/// Sine and cosine of an f64 below 2^30 pi: `x = n pi/2 + r`, then Taylor series, whose first terms left out are below
/// 1e-18 for `|r| <= pi/4`.
fn sine_cosine<'c>(k: &Device<'_, 'c>, x: V<'c>) -> (V<'c>, V<'c>) {
    let e = k.e;
    let shifted = e.mul_add(x, e.float(FRAC_2_PI), e.float(ROUND));
    let n = e.sub(shifted, e.float(ROUND));
    let r = e.mul_add(n, e.float(-FRAC_PI_2), x);
    let r = e.mul_add(n, e.float(-FRAC_PI_2_REST), r);
    let square = e.mul(r, r);
    let sine = e.mul(series(k, square, 1, 10), r);
    let cosine = series(k, square, 0, 11);
    let quadrant = e.to_bits(shifted).into_int_value();
    let has = |bit: u64| {
        e.icmp(IntPredicate::NE, built(e.b.build_and(quadrant, e.n(bit), "")), e.n(0)).into()
    };
    let (is_odd, is_back) = (has(1), has(2));
    let (a, b) = (e.select(is_odd, cosine, sine), e.select(is_odd, sine, cosine));
    let next = e.iadd(quadrant, e.n(1));
    let is_negative_cosine =
        e.icmp(IntPredicate::NE, built(e.b.build_and(next, e.n(2), "")), e.n(0)).into();
    (e.select(is_back, e.neg(a), a), e.select(is_negative_cosine, e.neg(b), b))
}

/// Frequencies of the pairs of one head, f64.
fn frequencies<'c>(k: &Device<'_, 'c>, s: &Rotary) -> P<'c> {
    let e = k.e;
    let name = format!("piper_frequencies_{}_{:016x}", s.head_dim, s.base.to_bits());
    let pointer = |address| P { address, element: Dtype::F64 };
    if let Some(existing) = e.module.get_global(&name) {
        return pointer(existing.as_pointer_value());
    }
    let values: Vec<_> = (0..s.head_dim / 2)
        .map(|pair| e.ctx.f64_type().const_float(rotary_angle(1, pair, s.head_dim, s.base)))
        .collect();
    let array = e.ctx.f64_type().const_array(&values);
    let global = e.module.add_global(array.get_type(), Some(AddressSpace::from(1)), &name);
    global.set_initializer(&array);
    global.set_constant(true);
    global.set_linkage(Linkage::Internal);
    global.set_alignment(16);
    pointer(global.as_pointer_value())
}

/// `x, y`.
pub(super) fn rotary<'c>(k: &Device<'_, 'c>, s: &Rotary, dtype: Dtype) {
    let e = k.e;
    let half = s.head_dim / 2;
    let computed = e.dtype();
    let table = frequencies(k, s);
    let lanes = launch::lanes(half, dtype);
    k.walk(s.batch * s.seq * s.heads * half / lanes, |piece| {
        let pair = e.imul(piece, e.n(lanes));
        let (head_row, i) = (e.idiv(pair, half), e.irem(pair, half));
        let position = e.irem(e.idiv(head_row, s.heads), s.seq);
        e.set_dtype(Dtype::F64);
        let position = built(e.b.build_unsigned_int_to_float(position, e.ctx.f64_type(), ""));
        let (sines, cosines): (Vec<V>, Vec<V>) = (0..lanes)
            .map(|lane| {
                let angle = e.mul(position.into(), e.load(table, e.iadd(i, e.n(lane))));
                let (sine, cosine) = sine_cosine(k, angle);
                (e.convert(sine, computed), e.convert(cosine, computed))
            })
            .unzip();
        e.set_dtype(computed);
        let joined = |parts: &[V<'c>]| if lanes == 1 { parts[0] } else { k.vector(parts) };
        let (sine, cosine) = (joined(&sines), joined(&cosines));
        let sine = if s.inverse { e.neg(sine) } else { sine };
        let low = e.iadd(e.imul(head_row, e.n(s.head_dim)), i);
        let high = e.iadd(low, e.n(half));
        let [a, b] = [low, high].map(|at| k.load(k.buffers[0], at, lanes));
        k.store(k.buffers[1], low, e.sub(e.mul(a, cosine), e.mul(b, sine)));
        k.store(k.buffers[1], high, e.add(e.mul(a, sine), e.mul(b, cosine)));
    });
}
