//! `sin`, `cos` and `erf` of f32 vectors, computed in f64 and rounded once at the end.
//!
//! With 29 bits to spare no care is needed beyond the reduction of arguments, and the errors are those of the last rounding:
//! below 0.51 ulp over the whole range, subnormal and largest arguments included. The accuracy test bears it out.

use super::emit::{Emitter, V};
use crate::kernel::Dtype;
use inkwell::FloatPredicate;
use std::f64::consts::FRAC_PI_2;

/// 2/pi in words of 24 bits, the first worth 2^-24: `floor(2^(24 i) 2/pi) mod 2^24`. It is enough for exponents of f32, by the
/// method of Payne and Hanek, "Radian reduction for trigonometric functions" (1983).
const TWO_OVER_PI: [u32; 9] = [
    0xa2_f983, 0x6e_4e44, 0x15_29fc, 0x27_57d1, 0xf5_34dd, 0xc0_db62, 0x95_993c, 0x43_9041,
    0xfe_5163,
];
/// Words that matter for one argument.
const WORDS: usize = 5;
/// 1.5 * 2^52: adding it rounds to a whole number, which its low bits then hold.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// From here on `erf` is 1 in f32.
const ERF_LIMIT: f64 = 4.0;
/// Coefficients of `erf(x) / x` in Chebyshev polynomials of `x^2`.
const ERF_TERMS: usize = 26;

/// `erf(x) / x` at `u = x^2`: `2/sqrt(pi) e^-u` times the sum of `(2u)^n / (1 3 5 .. (2n + 1))`, whose terms are all positive.
fn erf_ratio(u: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (1.0, 0.0, 1.0);
    while term > sum * 1e-18 {
        sum += term;
        odd += 2.0;
        term *= 2.0 * u / odd;
    }
    2.0 / std::f64::consts::PI.sqrt() * (-u).exp() * sum
}

/// Chebyshev coefficients of [`erf_ratio`] over `[0, limit^2]`, by interpolation at the polynomials' roots.
fn erf_coefficients() -> Vec<f64> {
    let count = ERF_TERMS as f64;
    let half = ERF_LIMIT * ERF_LIMIT / 2.0;
    let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / count;
    let values: Vec<f64> =
        (0..ERF_TERMS).map(|i| erf_ratio(half * (1.0 + angle(i).cos()))).collect();
    let coefficient = |k: usize| {
        let terms = values.iter().enumerate().map(|(i, v)| v * (k as f64 * angle(i)).cos());
        terms.sum::<f64>() * if k == 0 { 1.0 } else { 2.0 } / count
    };
    (0..ERF_TERMS).map(coefficient).collect()
}

impl<'c> Emitter<'c> {
    /// `value` to the nearest whole number; below 2^51.
    fn nearest_whole(&self, value: V<'c>) -> V<'c> {
        let magic = self.like(value, ROUND);
        self.sub(self.add(value, magic), magic)
    }

    /// Of a vector of f64 that f32 can hold: the number of quarter turns, modulo four and as the low bits of an integer, and
    /// the rest of at most half a quarter, in radians.
    fn quarter_turns(&self, x: V<'c>) -> (V<'c>, V<'c>) {
        let sign = self.bits_like(x, 1 << 63);
        let magnitude = self.number_from_bits(
            self.bit_sub(self.to_bits(x), self.bit_and(self.to_bits(x), sign)),
            x,
        );
        // Words so high that their product with x is a multiple of four turns are left out: one more from 2^49 on, for every
        // factor of 2^24. All products of a word with the 24 bits of x are exact.
        let word = |i: usize| f64::from(TWO_OVER_PI[i]) * 2_f64.powi(-24 * (i as i32 + 1));
        let words: Vec<V<'c>> = (0..WORDS)
            .map(|i| {
                (1..=TWO_OVER_PI.len() - WORDS).fold(self.like(x, word(i)), |chosen, skipped| {
                    let from = self.like(x, 2_f64.powi(25 + 24 * skipped as i32));
                    let is_large = self.compare(FloatPredicate::OGE, magnitude, from);
                    self.select(is_large, self.like(x, word(i + skipped)), chosen)
                })
            })
            .collect();
        let products: Vec<V<'c>> = words.iter().map(|w| self.mul(x, *w)).collect();
        let modulo_four = |p: V<'c>| {
            let quotient = self.nearest_whole(self.mul(p, self.like(p, 0.25)));
            self.sub(p, self.mul(quotient, self.like(p, 4.0)))
        };
        // The first two, taken modulo four, add up exactly; the third with an error that is kept.
        let high = self.add(modulo_four(products[0]), modulo_four(products[1]));
        let turns = self.nearest_whole(high);
        let rest = self.sub(high, turns);
        let sum = self.add(rest, products[2]);
        let of_product = self.sub(sum, rest);
        let lost =
            self.add(self.sub(rest, self.sub(sum, of_product)), self.sub(products[2], of_product));
        let more = self.nearest_whole(sum);
        let low = self.add(lost, self.add(products[3], products[4]));
        let rest = self.add(self.sub(sum, more), low);
        let turns = self.add(self.add(turns, more), self.like(x, ROUND));
        (self.to_bits(turns), self.mul(rest, self.like(x, FRAC_PI_2)))
    }

    /// Sine, or with `quarter` one the cosine, of a vector of f32.
    fn sine(&self, x: V<'c>, quarter: u64) -> V<'c> {
        let wide = self.convert_lanes(x, Dtype::F64);
        let (turns, r) = self.quarter_turns(wide);
        let turns = self.bit_add(turns, self.bits_like(r, quarter));
        let square = self.mul(r, r);
        let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
        // Taylor series to r^13 and r^14: what is left out is below 3e-14 at pi/4.
        let series = |first: u32| {
            let terms =
                (0..7).map(|i| (if i % 2 == 0 { 1.0 } else { -1.0 }) / factorial(first + 2 * i));
            terms.collect::<Vec<f64>>().into_iter().rev().collect::<Vec<f64>>()
        };
        let sine = self.mul(self.polynomial(square, &series(1)), r);
        let even: Vec<f64> = std::iter::once(-1.0 / factorial(14)).chain(series(0)).collect();
        let cosine = self.polynomial(square, &even);
        let bit = |n: u64| self.bit_and(turns, self.bits_like(r, n));
        let flip = self.shl(bit(2), self.bits_like(r, 62));
        let is_even = self.number_is_zero(bit(1));
        let value = self.select(is_even, sine, cosine);
        let value = self.number_from_bits(self.bit_xor(self.to_bits(value), flip), r);
        self.convert_lanes(value, Dtype::F32)
    }

    /// `sin x` of a vector of f32.
    pub(crate) fn sin(&self, x: V<'c>) -> V<'c> {
        let value = self.sine(x, 0);
        // x^3/6 is nothing here, and zero keeps its sign.
        let bound = self.like(x, 2_f64.powi(-13));
        let is_small = self.compare(FloatPredicate::OLT, self.mul(x, x), self.mul(bound, bound));
        self.select(is_small, x, value)
    }

    /// `cos x` of a vector of f32.
    pub(crate) fn cos(&self, x: V<'c>) -> V<'c> {
        self.sine(x, 1)
    }

    /// `erf x` of a vector of f32: `x` times a polynomial of `x^2`, by Clenshaw's recurrence.
    pub(crate) fn erf(&self, x: V<'c>) -> V<'c> {
        let wide = self.convert_lanes(x, Dtype::F64);
        let square = self.mul(wide, wide);
        let half = self.like(square, ERF_LIMIT * ERF_LIMIT / 2.0);
        let at_most = self.like(square, ERF_LIMIT * ERF_LIMIT);
        let is_large = self.compare(FloatPredicate::OGE, square, at_most);
        let capped = self.select(is_large, at_most, square);
        let s = self.sub(self.div(capped, half), self.like(square, 1.0));
        let twice = self.add(s, s);
        let coefficients = erf_coefficients();
        let zero = self.like(square, 0.0);
        let (mut one, mut two) = (zero, zero);
        for &c in coefficients[1..].iter().rev() {
            let next = self.mul_add(twice, one, self.sub(self.like(square, c), two));
            (one, two) = (next, one);
        }
        let ratio = self.mul_add(s, one, self.sub(self.like(square, coefficients[0]), two));
        let value = self.mul(wide, ratio);
        let sign = self.bit_and(self.to_bits(wide), self.bits_like(wide, 1 << 63));
        let unit = self.to_bits(self.like(wide, 1.0));
        let unit = self.number_from_bits(self.bit_or(unit, sign), wide);
        self.convert_lanes(self.select(is_large, unit, value), Dtype::F32)
    }
}
