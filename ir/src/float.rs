//! Floating-point formats: from `f4E2M1FN` to `f128`, as bit patterns.
//!
//! A float attribute holds the bits of its own format, so that every NaN payload and every digit of an `f80` survives. This
//! module turns patterns into numbers and back, rounding to nearest even. A format is data ([`FloatFormat`]); nothing here
//! is written once per format. Counterpart: LLVM's `APFloat`.

use num_bigint::BigUint;

use crate::FloatKind;

/// What a format does with the patterns that are no finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Specials {
    /// The highest exponent holds infinities and NaNs, as IEEE 754 says.
    Ieee,
    /// `FN`: all ones are NaN, there is no infinity.
    NanAllOnes,
    /// `FNUZ`: the pattern of negative zero is NaN, there is no infinity.
    NanNegativeZero,
    /// `FN` of four and six bits: every pattern is a finite number.
    Finite,
    /// `f8E8M0FNU`: an exponent without sign and fraction, all ones are NaN.
    ExponentOnly,
}

/// How a format spends its bits: sign, exponent, fraction, from the top.
#[derive(Clone, Copy, Debug)]
struct FloatFormat {
    exponent_bits: u32,
    /// Bits of the significand, the leading one included (which only `f80` stores).
    precision: u32,
    /// What is added to an exponent to store it.
    bias: i32,
    specials: Specials,
}

/// What a pattern means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    Zero,
    /// `significand * 2^exponent`
    Finite {
        significand: u128,
        exponent: i32,
    },
    Infinity,
    Nan,
}

impl FloatKind {
    fn format(self) -> FloatFormat {
        use Specials::*;
        let (exponent_bits, precision, bias, specials) = match self {
            FloatKind::F4E2M1FN => (2, 2, 1, Finite),
            FloatKind::F6E2M3FN => (2, 4, 1, Finite),
            FloatKind::F6E3M2FN => (3, 3, 3, Finite),
            FloatKind::F8E5M2 => (5, 3, 15, Ieee),
            FloatKind::F8E4M3 => (4, 4, 7, Ieee),
            FloatKind::F8E4M3FN => (4, 4, 7, NanAllOnes),
            FloatKind::F8E5M2FNUZ => (5, 3, 16, NanNegativeZero),
            FloatKind::F8E4M3FNUZ => (4, 4, 8, NanNegativeZero),
            FloatKind::F8E4M3B11FNUZ => (4, 4, 11, NanNegativeZero),
            FloatKind::F8E3M4 => (3, 5, 3, Ieee),
            FloatKind::F8E8M0FNU => (8, 1, 127, ExponentOnly),
            FloatKind::BF16 => (8, 8, 127, Ieee),
            FloatKind::F16 => (5, 11, 15, Ieee),
            FloatKind::TF32 => (8, 11, 127, Ieee),
            FloatKind::F32 => (8, 24, 127, Ieee),
            FloatKind::F64 => (11, 53, 1023, Ieee),
            FloatKind::F80 => (15, 64, 16383, Ieee),
            FloatKind::F128 => (15, 113, 16383, Ieee),
        };
        FloatFormat { exponent_bits, precision, bias, specials }
    }

    /// The bits of the number nearest to `value`: ties to even, beyond the largest number infinity, or NaN, or the largest
    /// number, whichever the format has.
    pub fn pattern_of(self, value: f64) -> u128 {
        match self {
            FloatKind::F64 => value.to_bits().into(),
            FloatKind::F32 if !value.is_nan() => (value as f32).to_bits().into(),
            _ => self.format().convert(FloatKind::F64.format(), value.to_bits().into()),
        }
    }

    /// The number of a pattern; that of an `f80` or `f128` is rounded.
    pub fn value_of(self, pattern: u128) -> f64 {
        match self {
            FloatKind::F64 => f64::from_bits(pattern as u64),
            FloatKind::F32 => f64::from(f32::from_bits(pattern as u32)),
            _ => f64::from_bits(FloatKind::F64.format().convert(self.format(), pattern) as u64),
        }
    }

    /// `value` rounded to this format.
    pub fn round(self, value: f64) -> f64 {
        match self {
            FloatKind::F64 => value,
            FloatKind::F32 => f64::from(value as f32),
            _ => self.value_of(self.pattern_of(value)),
        }
    }

    /// Whether the pattern is a finite number.
    pub fn is_finite(self, pattern: u128) -> bool {
        !matches!(self.format().decode(pattern).1, Meaning::Infinity | Meaning::Nan)
    }
}

impl FloatFormat {
    /// Bits of the fraction field.
    fn fraction_bits(self) -> u32 {
        if self.has_explicit_one() { self.precision } else { self.precision - 1 }
    }

    /// Only the x87 format stores the leading bit of the significand.
    fn has_explicit_one(self) -> bool {
        self.precision == 64
    }

    fn sign_shift(self) -> u32 {
        self.exponent_bits + self.fraction_bits()
    }

    fn highest_exponent(self) -> u128 {
        (1 << self.exponent_bits) - 1
    }

    fn fraction_mask(self) -> u128 {
        (1 << self.fraction_bits()) - 1
    }

    /// Sign and meaning of a pattern.
    fn decode(self, pattern: u128) -> (bool, Meaning) {
        let negative = pattern >> self.sign_shift() & 1 == 1;
        let field = pattern >> self.fraction_bits() & self.highest_exponent();
        let fraction = pattern & self.fraction_mask();
        if self.specials == Specials::ExponentOnly {
            let finite = Meaning::Finite { significand: 1, exponent: field as i32 - self.bias };
            return (false, if field == self.highest_exponent() { Meaning::Nan } else { finite });
        }
        let special = match self.specials {
            Specials::Ieee if field == self.highest_exponent() => {
                let payload = if self.has_explicit_one() { fraction << 1 } else { fraction };
                let payload = payload & self.fraction_mask();
                Some(if payload == 0 { Meaning::Infinity } else { Meaning::Nan })
            }
            Specials::NanAllOnes
                if field == self.highest_exponent() && fraction == self.fraction_mask() =>
            {
                Some(Meaning::Nan)
            }
            Specials::NanNegativeZero if negative && field == 0 && fraction == 0 => {
                Some(Meaning::Nan)
            }
            _ => None,
        };
        if let Some(special) = special {
            return (negative, special);
        }
        let hidden = match field {
            0 => 0,
            _ if self.has_explicit_one() => 0,
            _ => 1u128 << self.fraction_bits(),
        };
        let significand = fraction | hidden;
        let exponent = (field.max(1) as i32 - self.bias) - (self.precision as i32 - 1);
        let finite = Meaning::Finite { significand, exponent };
        (negative, if significand == 0 { Meaning::Zero } else { finite })
    }

    fn sign(self, negative: bool) -> u128 {
        if self.specials == Specials::ExponentOnly {
            0
        } else {
            u128::from(negative) << self.sign_shift()
        }
    }

    fn nan(self, negative: bool, payload: u128) -> u128 {
        match self.specials {
            Specials::Ieee => {
                let one = if self.has_explicit_one() { 1 << 63 } else { 0 };
                let quiet = 1 << (self.precision - 2);
                self.sign(negative)
                    | self.highest_exponent() << self.fraction_bits()
                    | one
                    | quiet
                    | payload
            }
            Specials::NanAllOnes => self.sign(negative) | ((1 << self.sign_shift()) - 1),
            Specials::NanNegativeZero => 1 << self.sign_shift(),
            // No pattern is left for it.
            Specials::Finite => 0,
            Specials::ExponentOnly => self.highest_exponent(),
        }
    }

    fn infinity(self, negative: bool) -> u128 {
        match self.specials {
            Specials::Ieee => {
                let one = if self.has_explicit_one() { 1 << 63 } else { 0 };
                self.sign(negative) | self.highest_exponent() << self.fraction_bits() | one
            }
            Specials::Finite => self.sign(negative) | ((1 << self.sign_shift()) - 1),
            _ => self.nan(negative, 0),
        }
    }

    fn zero(self, negative: bool) -> u128 {
        // What has no negative zero gets the positive one; what has none at all its smallest number.
        if self.specials == Specials::NanNegativeZero { 0 } else { self.sign(negative) }
    }

    /// The pattern nearest to `significand * 2^exponent`, and a little more if `sticky`.
    fn encode(self, negative: bool, significand: u128, exponent: i32, sticky: bool) -> u128 {
        if significand == 0 {
            return self.zero(negative);
        }
        let lowest =
            if self.specials == Specials::ExponentOnly { -self.bias } else { 1 - self.bias };
        let leading = 127 - significand.leading_zeros() as i32 + exponent;
        let mut unit = leading.max(lowest) - (self.precision as i32 - 1);
        let drop = unit - exponent;
        let mut kept = if drop <= 0 {
            significand << -drop
        } else if drop > 127 {
            0
        } else {
            let (kept, rest) = (significand >> drop, significand & ((1 << drop) - 1));
            let half = 1u128 << (drop - 1);
            let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
            kept + u128::from(up)
        };
        if kept == 1 << self.precision {
            kept >>= 1;
            unit += 1;
        }
        if kept == 0 {
            return self.zero(negative);
        }
        let exponent = unit + self.precision as i32 - 1;
        let field = if self.specials == Specials::ExponentOnly {
            exponent + self.bias
        } else if kept >> (self.precision - 1) == 0 {
            0
        } else {
            exponent + self.bias
        };
        let fraction = kept & self.fraction_mask();
        let highest = self.highest_exponent() as i32;
        let beyond = match self.specials {
            Specials::Ieee | Specials::ExponentOnly => field >= highest,
            Specials::NanAllOnes => {
                field > highest || (field == highest && fraction == self.fraction_mask())
            }
            Specials::NanNegativeZero | Specials::Finite => field > highest,
        };
        if beyond {
            return self.infinity(negative);
        }
        self.sign(negative) | (field as u128) << self.fraction_bits() | fraction
    }

    fn convert(self, from: FloatFormat, pattern: u128) -> u128 {
        let (negative, meaning) = from.decode(pattern);
        match meaning {
            Meaning::Zero => self.zero(negative),
            Meaning::Infinity => self.infinity(negative),
            Meaning::Nan if self.specials == Specials::Ieee && from.specials == Specials::Ieee => {
                // The top of the payload is kept, as far as it fits.
                let payload = pattern & ((1 << (from.precision - 2)) - 1);
                let (to, from) = (self.precision, from.precision);
                let payload =
                    if to >= from { payload << (to - from) } else { payload >> (from - to) };
                self.nan(negative, payload)
            }
            Meaning::Nan => self.nan(negative, 0),
            Meaning::Finite { significand, exponent } => {
                self.encode(negative, significand, exponent, false)
            }
        }
    }

    /// The pattern nearest to `digits * 10^exponent`.
    fn of_decimal(self, negative: bool, digits: &BigUint, exponent: i32) -> u128 {
        let ten = |power: i32| BigUint::from(10u32).pow(power.unsigned_abs());
        let (numerator, denominator) = if exponent >= 0 {
            (digits * ten(exponent), BigUint::from(1u32))
        } else {
            (digits.clone(), ten(exponent))
        };
        // A quotient of 120 bits or a few more, with whether anything is left.
        let shift = 122 + denominator.bits() as i64 - numerator.bits() as i64;
        let (numerator, denominator) = if shift >= 0 {
            (numerator << shift, denominator)
        } else {
            (numerator, denominator << -shift)
        };
        let quotient = &numerator / &denominator;
        let sticky = &quotient * &denominator != numerator;
        let significand = u128::try_from(&quotient).expect("at most 124 bits");
        self.encode(negative, significand, -shift as i32, sticky)
    }
}

/// A float as MLIR prints it: six digits if they say it exactly, else as many as the format has, else the bits.
pub(crate) fn print_float(kind: FloatKind, pattern: u128) -> String {
    let format = kind.format();
    let (negative, meaning) = format.decode(pattern);
    let (significand, exponent) = match meaning {
        Meaning::Zero => return format!("{}0.000000e+00", if negative { "-" } else { "" }),
        Meaning::Finite { significand, exponent } => (significand, exponent),
        Meaning::Infinity | Meaning::Nan => return format!("0x{pattern:X}"),
    };
    let sign = if negative { "-" } else { "" };
    if let Some(text) = few_digits(kind, pattern) {
        return text;
    }
    let (digits, power) = decimal(significand, exponent, 6);
    let number: BigUint = digits.parse().expect("digits");
    if format.of_decimal(negative, &number, power) == pattern {
        let text = six_digits(sign, &digits, power);
        // Literals are read as f64 first: what that does not hold is written otherwise.
        if reads_back(kind, &text, pattern) {
            return text;
        }
    }
    let wanted = 2 + format.precision as usize * 59 / 196;
    let (digits, power) = decimal(significand, exponent, wanted);
    plain_digits(sign, &digits, power, wanted)
        .filter(|text| reads_back(kind, text, pattern))
        .unwrap_or_else(|| format!("0x{pattern:X}"))
}

fn reads_back(kind: FloatKind, text: &str, pattern: u128) -> bool {
    text.parse().is_ok_and(|value: f64| kind.pattern_of(value) == pattern)
}

/// The six-digit form of numbers with a short exact decimal expansion, which need no long arithmetic.
fn few_digits(kind: FloatKind, pattern: u128) -> Option<String> {
    let value = kind.value_of(pattern);
    let scaled = value * 64.0;
    let is_short = (value.abs() < 100.0 && scaled.fract() == 0.0)
        || (value.abs() < 1e6 && value.fract() == 0.0);
    if !is_short {
        return None;
    }
    if kind.pattern_of(value) != pattern {
        return None;
    }
    let text = format!("{:e}", value.abs());
    let (mantissa, power) = text.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let power: i32 = power.parse().ok()?;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    (digits.len() <= 6).then(|| six_digits(sign, &digits, power - (digits.len() as i32 - 1)))
}

/// `digits * 10^power` as LLVM's `APFloat` shortens it: the exact expansion is first cut to about as many digits as are
/// wanted, and then rounded. (`9.99999974E-6` is not rounded to `1.000000e-05` because of the cut.)
fn decimal(significand: u128, exponent: i32, wanted: usize) -> (String, i32) {
    let zeros = significand.trailing_zeros();
    let (mut number, exponent) = (BigUint::from(significand >> zeros), exponent + zeros as i32);
    let mut power = exponent.min(0);
    if exponent >= 0 {
        number <<= exponent;
    } else {
        number *= BigUint::from(5u32).pow(exponent.unsigned_abs());
    }
    // 196/59 is a little more than log2 10.
    let needed = (wanted as u64 * 196).div_ceil(59);
    let removable = number.bits().saturating_sub(needed) * 59 / 196;
    if removable > 0 {
        number /= BigUint::from(10u32).pow(removable as u32);
        power += removable as i32;
    }
    let mut digits = number.to_string();
    let trimmed = digits.trim_end_matches('0').len();
    power += (digits.len() - trimmed) as i32;
    digits.truncate(trimmed);
    if digits.len() > wanted {
        let up = digits.as_bytes()[wanted] >= b'5';
        power += (digits.len() - wanted) as i32;
        digits.truncate(wanted);
        let last = if up { '9' } else { '0' };
        let kept = digits.trim_end_matches(last).len();
        power += (digits.len() - kept) as i32;
        digits.truncate(kept);
        if up {
            match digits.pop() {
                Some(digit) => digits.push((digit as u8 + 1) as char),
                None => digits.push('1'),
            }
        }
    }
    (digits, power)
}

/// `1.500000e+00`
fn six_digits(sign: &str, digits: &str, power: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let exponent = power + rest.len() as i32;
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}.{rest:0<6}e{direction}{:02}", exponent.unsigned_abs())
}

/// `0.333333343` or `9.99999974E-6`; nothing for what would be read as an integer.
fn plain_digits(sign: &str, digits: &str, power: i32, wanted: usize) -> Option<String> {
    let count = digits.len() as i32;
    let leading = power + count - 1;
    let scientific =
        if power >= 0 { power > 3 || count + power > wanted as i32 } else { leading < -3 };
    if scientific {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let direction = if leading < 0 { '-' } else { '+' };
        return Some(format!("{sign}{first}.{rest}E{direction}{}", leading.unsigned_abs()));
    }
    if power >= 0 {
        return None;
    }
    Some(match leading {
        0.. => {
            let (whole, part) = digits.split_at(leading as usize + 1);
            format!("{sign}{whole}.{part}")
        }
        _ => format!("{sign}0.{}{digits}", "0".repeat((-leading - 1) as usize)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts of `mlir-opt`.
    #[test]
    fn floats_print_as_mlir_prints_them() {
        for (kind, value, text) in [
            (FloatKind::F16, 1.0, "1.000000e+00"),
            (FloatKind::F32, 1.0e-5, "9.99999974E-6"),
            (FloatKind::F32, 0.1, "1.000000e-01"),
            (FloatKind::F32, f64::INFINITY, "0x7F800000"),
            (FloatKind::F32, -0.0, "-0.000000e+00"),
            (FloatKind::F32, 3.4028234663852886e38, "3.40282347E+38"),
            (FloatKind::BF16, 0.3, "3.007810e-01"),
            (FloatKind::F32, 16777217.0, "0x4B800000"),
            (FloatKind::F64, 123456789.0, "0x419D6F3454000000"),
            (FloatKind::F16, 100000.0, "0x7C00"),
            (FloatKind::F32, 1.0e-45, "1.401300e-45"),
            (FloatKind::F32, 0.333333343, "0.333333343"),
            (FloatKind::F8E4M3FN, 0.1, "1.015630e-01"),
            (FloatKind::F64, 1.0e23, "9.9999999999999991E+22"),
            (FloatKind::F64, 5.0e-324, "4.940660e-324"),
            (FloatKind::F128, 0.1, "0.100000000000000005551115123125782702"),
            (FloatKind::F80, -1.0, "-1.000000e+00"),
        ] {
            assert_eq!(print_float(kind, kind.pattern_of(value)), text, "{kind:?} {value}");
        }
    }

    /// Every pattern of the small formats is the pattern of its value, and reads back from its text.
    #[test]
    fn patterns_of_small_formats_are_those_of_their_values() {
        for (kind, _) in FloatKind::ALL.into_iter().filter(|(kind, _)| kind.bits() <= 16) {
            for pattern in 0..1u128 << kind.bits() {
                if !kind.is_finite(pattern) {
                    continue;
                }
                assert_eq!(
                    kind.pattern_of(kind.value_of(pattern)),
                    pattern,
                    "{kind:?} {pattern:#x}"
                );
                let text = print_float(kind, pattern);
                assert!(
                    text.starts_with("0x") || reads_back(kind, &text, pattern),
                    "{kind:?} {pattern:#x} {text}"
                );
            }
        }
    }

    #[test]
    fn halves_round_to_even() {
        let f16 = FloatKind::F16;
        assert_eq!(f16.pattern_of(2049.0), f16.pattern_of(2048.0));
        assert_eq!(f16.pattern_of(2051.0), f16.pattern_of(2052.0));
        assert_eq!(f16.pattern_of(65519.0), f16.pattern_of(65504.0));
        assert_eq!(f16.pattern_of(65520.0), f16.pattern_of(f64::INFINITY));
        assert_eq!(FloatKind::BF16.pattern_of(1.0), 0x3F80);
        assert_eq!(FloatKind::F80.pattern_of(1.0), 0x3FFF_8000_0000_0000_0000);
        assert_eq!(FloatKind::F128.pattern_of(1.0), 0x3FFF << 112);
    }

    /// What lies beyond the largest number depends on what the format has.
    #[test]
    fn numbers_too_large_become_what_the_format_has() {
        assert_eq!(FloatKind::F8E5M2.pattern_of(1e6), 0x7C);
        assert_eq!(FloatKind::F8E4M3FN.pattern_of(1e6), 0x7F);
        assert_eq!(FloatKind::F8E4M3FNUZ.pattern_of(1e6), 0x80);
        assert_eq!(FloatKind::F4E2M1FN.pattern_of(-1e6), 0xF);
        assert_eq!(FloatKind::F4E2M1FN.value_of(0x7), 6.0);
    }
}
