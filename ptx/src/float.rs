//! Formats narrower than a double, and rounding to them. Every value of these formats is a double, so a sum or product
//! is formed in doubles and rounded once; where the double itself would round, it is rounded to odd first, which makes
//! the second rounding right (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).

/// A binary format of the IEEE kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the fraction.
    fraction: i32,
    /// Exponent of the smallest normal number.
    least: i32,
    /// Exponent of the largest number.
    most: i32,
}

/// Half precision.
pub(crate) const F16: Format = Format { fraction: 10, least: -14, most: 15 };
/// bfloat16.
pub(crate) const BF16: Format = Format { fraction: 7, least: -126, most: 127 };
/// Single precision.
pub(crate) const F32: Format = Format { fraction: 23, least: -126, most: 127 };

/// Directions of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// To the nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// The bits of `x` in `format`; a NaN becomes the canonical one.
pub(crate) fn encode(x: f64, format: Format, rounding: Rounding) -> u32 {
    let Format { fraction, least, most } = format;
    let infinity = ((most - least + 2) as u32) << fraction;
    let sign_bit = (infinity << 1) & !((1 << fraction) - 1) & !infinity;
    let is_negative = x.is_sign_negative();
    if x.is_nan() {
        return sign_bit - 1;
    }
    let sign = if is_negative { sign_bit } else { 0 };
    if x.is_infinite() {
        return sign | infinity;
    }
    if x == 0.0 {
        return sign;
    }
    let bits = x.to_bits();
    let raw = ((bits >> 52) & 0x7ff) as i32;
    // Subnormal doubles are far below every format here: they only matter as "not zero".
    let (exponent, significand) = if raw == 0 {
        (-1022, bits & ((1 << 52) - 1))
    } else {
        (raw - 1023, (bits & ((1 << 52) - 1)) | (1 << 52))
    };
    let grid = exponent.max(least) - fraction;
    let dropped = (grid - (exponent - 52)).clamp(0, 63) as u32;
    let kept = significand >> dropped;
    let rest = significand & ((1_u64 << dropped) - 1);
    let half = (1_u64 << dropped) >> 1;
    let goes_up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && rest != 0 && kept & 1 == 1),
        Rounding::NearestAway => rest >= half && rest != 0,
        Rounding::Zero => false,
        Rounding::Down => is_negative && rest != 0,
        Rounding::Up => !is_negative && rest != 0,
    };
    let magnitude =
        kept + u64::from(goes_up) + (((exponent.max(least) - least) as u64) << fraction);
    let overflow_is_infinite = match rounding {
        Rounding::Nearest | Rounding::NearestAway => true,
        Rounding::Zero => false,
        Rounding::Down => is_negative,
        Rounding::Up => !is_negative,
    };
    if magnitude >= u64::from(infinity) {
        return sign | if overflow_is_infinite { infinity } else { infinity - 1 };
    }
    sign | magnitude as u32
}

/// The value of `bits` in `format`.
pub(crate) fn decode(bits: u32, format: Format) -> f64 {
    let Format { fraction, least, most } = format;
    let infinity = ((most - least + 2) as u32) << fraction;
    let sign_bit = (infinity << 1) & !((1 << fraction) - 1) & !infinity;
    let magnitude = bits & (sign_bit - 1);
    let value = if magnitude > infinity {
        f64::NAN
    } else if magnitude == infinity {
        f64::INFINITY
    } else {
        let raw = (magnitude >> fraction) as i32;
        let rest = f64::from(magnitude & ((1 << fraction) - 1));
        if raw == 0 {
            rest * power(least - fraction)
        } else {
            (rest + f64::from(1_u32 << fraction)) * power(raw - 1 + least - fraction)
        }
    };
    if bits & sign_bit != 0 { -value } else { value }
}

/// `2^n`, for normal results.
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `a + b` rounded to odd.
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let rest = (a - (sum - b_part)) + (b - b_part);
    if !sum.is_finite() || rest == 0.0 || rest.is_nan() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let bits = sum.to_bits();
    f64::from_bits(if (rest > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 })
}

/// A single with its subnormal values made zero, as `.ftz` asks.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_and_bfloat_survives_a_round_trip() {
        for bits in 0..=0xffff_u32 {
            for format in [F16, BF16] {
                let value = decode(bits, format);
                let modes = [
                    Rounding::Nearest,
                    Rounding::Zero,
                    Rounding::Down,
                    Rounding::Up,
                    Rounding::NearestAway,
                ];
                for mode in modes {
                    let back = encode(value, format, mode);
                    assert!(
                        back == bits || (value.is_nan() && back == 0x7fff),
                        "{bits:#x} {back:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn singles_round_as_the_processor_rounds() {
        let mut x = 1.234_567_890_123e-45_f64;
        while x < 1e39 {
            for value in [x, -x] {
                assert_eq!(encode(value, F32, Rounding::Nearest), (value as f32).to_bits());
                assert_eq!(decode((value as f32).to_bits(), F32), f64::from(value as f32));
            }
            x *= 1.037_123_456_789;
        }
    }

    #[test]
    fn directions_enclose_the_value() {
        for x in [1.0 / 3.0, -1.0 / 3.0, 1e-9, -70000.0, 65519.9] {
            let down = decode(encode(x, F16, Rounding::Down), F16);
            let up = decode(encode(x, F16, Rounding::Up), F16);
            assert!(down <= x && x <= up, "{down} {x} {up}");
            assert!(decode(encode(x, F16, Rounding::Zero), F16).abs() <= x.abs());
        }
    }

    #[test]
    fn a_sum_that_a_double_cannot_hold_still_rounds_right() {
        // 1 + 2^-11 is a tie in half precision; what is far below decides it.
        let tie = 1.0 + 2.0_f64.powi(-11);
        let above = add_to_odd(tie, 2.0_f64.powi(-70));
        assert_eq!(encode(above, F16, Rounding::Nearest), 0x3c01);
        assert_eq!(encode(tie, F16, Rounding::Nearest), 0x3c00);
    }
}
