//! `exp`, `log` and `tanh` as polynomials on vectors, with no call into a mathematics library; `sin`, `cos` and `erf` are in
//! [`super::math_wide`], and `rsqrt` is a root and a quotient, each rounded (1.5 ulp).
//!
//! Series are Taylor series about zero after an exact range reduction, so their truncation error is bounded by the
//! first term left out; the bounds below add rounding and are checked by the accuracy test. Errors are relative to
//! the exact result, in units of the last place (ulp) of the element type:
//!
//! | function | bound | notes |
//! |---|---|---|
//! | `exp` | 2 ulp (3 without fused multiply-add) | subnormal results within one subnormal step; overflow gives infinity |
//! | `log` | 2 ulp | subnormal arguments included |
//! | `tanh` | 4 ulp | also near zero; odd to the bit |

use super::emit::{Emitter, V};
use crate::target::VectorLevel;
use inkwell::FloatPredicate;
use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// `ln 2` minus its nearest f64, from its decimal expansion 0.693147180559945309417232121458...
const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;

/// Constants that differ between f32 and f64.
struct Format {
    mantissa_bits: u64,
    bias: u64,
    /// 1.5 * 2^mantissa_bits: adding it rounds to a whole number, which its low bits then hold.
    round: f64,
    round_bits: u64,
    /// High part of ln 2 with enough trailing zeros that a whole multiple below 2^11 is exact, and the rest.
    ln2: (f64, f64),
    /// Highest power of the exponential's series.
    exp_degree: u32,
    /// Terms of the logarithm's series in `s^2`.
    log_terms: u32,
    /// Arguments below and above which `exp` is zero and infinite.
    exp_range: (f64, f64),
    /// Arguments between which `exp` is normal, and one power of two is enough to make it.
    weight_range: (f64, f64),
    /// Argument from which `tanh` rounds to one.
    tanh_limit: f64,
    /// Factor that makes subnormals normal, its exponent, and the smallest normal number.
    rescale: (f64, f64, f64),
    sqrt_half_bits: u64,
}

impl Format {
    fn of(double: bool) -> Self {
        if double {
            let high = f64::from_bits(LN_2.to_bits() & !0xffff_ffff);
            Self {
                mantissa_bits: 52,
                bias: 1023,
                round: 6_755_399_441_055_744.0,
                round_bits: 6_755_399_441_055_744_f64.to_bits(),
                ln2: (high, (LN_2 - high) + LN_2_REST),
                exp_degree: 13,
                log_terms: 10,
                exp_range: (-746.0, 710.0),
                weight_range: (-708.0, 709.0),
                tanh_limit: 20.0,
                rescale: (18_014_398_509_481_984.0, 54.0, f64::MIN_POSITIVE),
                sqrt_half_bits: (SQRT_2 / 2.0).to_bits(),
            }
        } else {
            let high = f32::from_bits((LN_2 as f32).to_bits() & !0xfff);
            Self {
                mantissa_bits: 23,
                bias: 127,
                round: 12_582_912.0,
                round_bits: u64::from(12_582_912_f32.to_bits()),
                ln2: (f64::from(high), LN_2 - f64::from(high)),
                exp_degree: 7,
                log_terms: 4,
                exp_range: (-104.0, 89.0),
                weight_range: (-87.0, 88.0),
                tanh_limit: 10.0,
                rescale: (33_554_432.0, 25.0, f64::from(f32::MIN_POSITIVE)),
                sqrt_half_bits: u64::from((SQRT_2 as f32 / 2.0).to_bits()),
            }
        }
    }
}

impl<'c> Emitter<'c> {
    /// Coefficients from the highest power down, by Horner's rule.
    pub(super) fn polynomial(&self, x: V<'c>, coefficients: &[f64]) -> V<'c> {
        let (first, rest) = coefficients.split_first().expect("a polynomial has a coefficient");
        rest.iter().fold(self.like(x, *first), |sum, &c| self.mul_add(sum, x, self.like(x, c)))
    }

    /// `x = n ln 2 + r` with `|r| <= ln 2 / 2`: returns `n` as signed bits, and `r`.
    fn reduce(&self, x: V<'c>, f: &Format) -> (V<'c>, V<'c>) {
        let shifted = self.mul_add(x, self.like(x, LOG2_E), self.like(x, f.round));
        let n = self.sub(shifted, self.like(x, f.round));
        let r = self.mul_add(n, self.like(x, -f.ln2.0), x);
        let r = self.mul_add(n, self.like(x, -f.ln2.1), r);
        (self.bit_sub(self.to_bits(shifted), self.bits_like(x, f.round_bits)), r)
    }

    /// `2^n` for `n` in the normal exponent range.
    fn power_of_two(&self, n: V<'c>, like: V<'c>, f: &Format) -> V<'c> {
        let exponent = self.bit_add(n, self.bits_like(like, f.bias));
        self.number_from_bits(self.shl(exponent, self.bits_like(like, f.mantissa_bits)), like)
    }

    /// `(e^r - 1) / r` for `|r| <= ln 2 / 2`: the sum of `r^k / (k + 1)!`.
    fn exp_series(&self, r: V<'c>, f: &Format) -> V<'c> {
        let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
        self.polynomial(
            r,
            &(1..=f.exp_degree).rev().map(|k| 1.0 / factorial(k)).collect::<Vec<_>>(),
        )
    }

    /// `e^x`.
    pub(crate) fn exp(&self, x: V<'c>) -> V<'c> {
        let f = Format::of(self.is_double(x));
        // Written so that a NaN falls through both comparisons.
        let (low, high) = (self.like(x, f.exp_range.0), self.like(x, f.exp_range.1));
        let x = self.select(self.compare(FloatPredicate::OGT, x, high), high, x);
        let x = self.select(self.compare(FloatPredicate::OLT, x, low), low, x);
        let (n, r) = self.reduce(x, &f);
        let value = self.mul_add(self.exp_series(r, &f), r, self.like(r, 1.0));
        if let Some(scaled) = self.scaled_by_instruction(value, x, &f) {
            return scaled;
        }
        // Two factors, because 2^n alone overflows or is subnormal at the ends of the range.
        let half = self.shift_right_signed(n, self.bits_like(x, 1));
        let rest = self.bit_sub(n, half);
        self.mul(self.mul(value, self.power_of_two(half, x, &f)), self.power_of_two(rest, x, &f))
    }

    /// `value` times two to the whole number nearest to `x log2 e`, rounded once also where it is subnormal, as AVX-512 does
    /// in one instruction. The same bits as by two factors, the first of which loses nothing.
    fn scaled_by_instruction(&self, value: V<'c>, x: V<'c>, f: &Format) -> Option<V<'c>> {
        let V::VectorValue(v) = value else { return None };
        if self.level != VectorLevel::Avx512 {
            return None;
        }
        let lanes = u64::from(v.get_type().get_size());
        let (name, mask) = match (lanes, self.is_double(value)) {
            (32, false) => {
                let half = |v: V<'c>, from| {
                    self.shuffle(v, v, &(from..from + lanes / 2).collect::<Vec<_>>())
                };
                let [low, high] = [0, lanes / 2]
                    .map(|from| self.scaled_by_instruction(half(value, from), half(x, from), f));
                return Some(self.shuffle(low?, high?, &(0..lanes).collect::<Vec<_>>()));
            }
            (16, false) => ("llvm.x86.avx512.mask.scalef.ps.512", self.ctx.i16_type()),
            (8, true) => ("llvm.x86.avx512.mask.scalef.pd.512", self.ctx.i8_type()),
            _ => return None,
        };
        let shifted = self.mul_add(x, self.like(x, LOG2_E), self.like(x, f.round));
        let n = self.sub(shifted, self.like(x, f.round));
        // All lanes, rounded as the thread rounds.
        let all = mask.const_all_ones().into();
        let rounding = self.ctx.i32_type().const_int(4, false).into();
        self.call_intrinsic(name, &[value, n, value, all, rounding])
    }

    /// `e^x` as a weight of a softmax, where `x` is hardly ever above zero: zero where it is below the smallest normal number.
    /// Cheaper than [`Self::exp`], in particular where most is hidden: processors take long for a result that is subnormal
    /// or vanishes.
    pub(crate) fn weight(&self, x: V<'c>) -> V<'c> {
        let f = Format::of(self.is_double(x));
        let (low, high) = (self.like(x, f.weight_range.0), self.like(x, f.weight_range.1));
        let vanishes = self.compare(FloatPredicate::OLT, x, low);
        let bounded = self.select(self.compare(FloatPredicate::OGT, x, high), high, x);
        let bounded = self.select(vanishes, low, bounded);
        let (n, r) = self.reduce(bounded, &f);
        let value = self.mul_add(self.exp_series(r, &f), r, self.like(r, 1.0));
        let value = self.mul(value, self.power_of_two(n, x, &f));
        self.select(vanishes, self.like(x, 0.0), value)
    }

    /// `tanh x = (e^2x - 1) / (e^2x + 1)`, through `e^2x - 1` so that small arguments keep their digits.
    pub(crate) fn tanh(&self, x: V<'c>) -> V<'c> {
        let f = Format::of(self.is_double(x));
        let sign_bit = self.bits_like(x, 1 << (if self.is_double(x) { 63 } else { 31 }));
        let sign = self.bit_and(self.to_bits(x), sign_bit);
        let magnitude = self.number_from_bits(self.bit_sub(self.to_bits(x), sign), x);
        let limit = self.like(x, f.tanh_limit);
        let capped =
            self.select(self.compare(FloatPredicate::OGT, magnitude, limit), limit, magnitude);
        let (n, r) = self.reduce(self.add(capped, capped), &f);
        let small = self.mul(self.exp_series(r, &f), r);
        let scale = self.power_of_two(n, x, &f);
        let minus_one = self.mul_add(small, scale, self.sub(scale, self.like(x, 1.0)));
        let value = self.div(minus_one, self.add(minus_one, self.like(x, 2.0)));
        self.number_from_bits(self.bit_or(self.to_bits(value), sign), x)
    }

    /// Natural logarithm: `x = 2^e m` with `m` about one, then the series of `2 artanh(s)`, `s = (m-1)/(m+1)`.
    pub(crate) fn log(&self, x: V<'c>) -> V<'c> {
        let f = Format::of(self.is_double(x));
        let (factor, exponent, smallest) = f.rescale;
        let subnormal = self.compare(FloatPredicate::OLT, x, self.like(x, smallest));
        let normal = self.select(subnormal, self.mul(x, self.like(x, factor)), x);
        let correction = self.select(subnormal, self.like(x, -exponent), self.like(x, 0.0));
        let bits = self.to_bits(normal);
        let mantissa_bits = self.bits_like(x, f.mantissa_bits);
        let e = self.shift_right_signed(
            self.bit_sub(bits, self.bits_like(x, f.sqrt_half_bits)),
            mantissa_bits,
        );
        let m = self.number_from_bits(self.bit_sub(bits, self.shl(e, mantissa_bits)), x);
        let e = self.add(self.number_from_signed(e, x), correction);

        let t = self.sub(m, self.like(x, 1.0));
        let s = self.div(t, self.add(t, self.like(x, 2.0)));
        let z = self.mul(s, s);
        let coefficients: Vec<_> =
            (1..=f.log_terms).rev().map(|k| 2.0 / f64::from(2 * k + 1)).collect();
        let series = self.mul(self.polynomial(z, &coefficients), z);
        // With h = t^2/2, log m = t - (h - s (h + series)): exact to first order where m is near one.
        let h = self.mul(self.mul(t, t), self.like(x, 0.5));
        let tail = self.mul_add(s, self.add(h, series), self.mul(e, self.like(x, f.ln2.1)));
        let value = self.mul_add(e, self.like(x, f.ln2.0), self.sub(t, self.sub(h, tail)));

        let finite = self.compare(FloatPredicate::OLT, x, self.like(x, f64::INFINITY));
        let value = self.select(finite, value, x);
        let negative = self.compare(FloatPredicate::OLT, x, self.like(x, 0.0));
        let value = self.select(negative, self.like(x, f64::NAN), value);
        let zero = self.compare(FloatPredicate::OEQ, x, self.like(x, 0.0));
        self.select(zero, self.like(x, f64::NEG_INFINITY), value)
    }
}
