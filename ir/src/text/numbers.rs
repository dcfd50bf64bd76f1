//! Numbers in text: which literals a type takes, and what they mean.

use num_bigint::{BigInt, BigUint, Sign};

use crate::attrs::extend;
use crate::types::Signedness;

/// A decimal or `0x` integer. `None` if it does not fit 127 bits.
pub(super) fn parse_int(text: &str) -> Option<i128> {
    parse_magnitude(text).and_then(|value| i128::try_from(value).ok())
}

fn parse_magnitude(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn parse_big(text: &str) -> Option<BigUint> {
    match text.strip_prefix("0x") {
        Some(hex) => BigUint::parse_bytes(hex.as_bytes(), 16),
        None => BigUint::parse_bytes(text.as_bytes(), 10),
    }
}

/// The value of a literal in an integer type of at most 128 bits. A signless type takes the range of both readings and keeps
/// the signed one; a `-` must make the number negative. `is_index`: the signed range alone.
pub(super) fn int_literal(
    text: &str,
    negative: bool,
    width: u32,
    signedness: Signedness,
    is_index: bool,
) -> Option<i128> {
    let magnitude = parse_magnitude(text)?;
    if width == 0 {
        return (magnitude == 0 && !negative).then_some(0);
    }
    let half = 1u128 << (width - 1);
    let signed_only = signedness == Signedness::Signed || is_index;
    let in_range = if negative {
        magnitude != 0 && magnitude <= half && signedness != Signedness::Unsigned
    } else if signed_only {
        magnitude < half
    } else {
        magnitude <= half - 1 + half
    };
    let value = if negative { (magnitude as i128).wrapping_neg() } else { magnitude as i128 };
    in_range.then(|| extend(value, width, signedness))
}

/// As [`int_literal`] for more than 128 bits: two's complement words, the lowest first.
pub(super) fn wide_literal(
    text: &str,
    negative: bool,
    width: u32,
    signedness: Signedness,
) -> Option<Box<[u64]>> {
    let magnitude = parse_big(text)?;
    let half = BigUint::from(1u32) << (width - 1);
    let in_range = match (negative, signedness) {
        (true, Signedness::Unsigned) => false,
        (true, _) => magnitude != BigUint::ZERO && magnitude <= half,
        (false, Signedness::Signed) => magnitude < half,
        (false, _) => magnitude.bits() <= u64::from(width),
    };
    if !in_range {
        return None;
    }
    let reads_negative = negative || (signedness == Signedness::Signless && magnitude >= half);
    let modulus = BigUint::from(1u32) << width;
    let bits = if negative { modulus - magnitude } else { magnitude };
    let mut words = bits.to_u64_digits();
    words.resize(width.div_ceil(64) as usize, 0);
    let spare = width.div_ceil(64) * 64 - width;
    if let (true, Some(last)) = (reads_negative, words.last_mut()) {
        // Sign bits fill the last word, so that equal values are equal words.
        *last = ((*last << spare) as i64 >> spare) as u64;
    }
    Some(words.into())
}

/// An integer of more than 128 bits as it is written.
pub(super) fn print_wide(words: &[u64], signedness: Signedness) -> String {
    let negative =
        signedness != Signedness::Unsigned && words.last().is_some_and(|&w| w >> 63 == 1);
    let number = words.iter().rev().fold(BigUint::ZERO, |n, &word| (n << 64) + word);
    if negative {
        let modulus = BigUint::from(1u32) << (64 * words.len());
        BigInt::from_biguint(Sign::Minus, modulus - number).to_string()
    } else {
        number.to_string()
    }
}

/// The bit pattern a hexadecimal literal gives a floating-point type of so many bits.
pub(super) fn pattern_literal(text: &str, bits: u32) -> Option<u128> {
    parse_magnitude(text).filter(|pattern| bits >= 128 || pattern >> bits == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_take_the_range_of_their_type() {
        let signless =
            |text, negative, width| int_literal(text, negative, width, Signedness::Signless, false);
        assert_eq!(signless("255", false, 8), Some(-1));
        assert_eq!(signless("256", false, 8), None);
        assert_eq!(signless("128", true, 8), Some(-128));
        assert_eq!(signless("129", true, 8), None);
        assert_eq!(signless("0", true, 8), None);
        assert_eq!(signless("1", true, 1), Some(1));
        assert_eq!(signless("0", false, 0), Some(0));
        let max = "340282366920938463463374607431768211455";
        assert_eq!(signless(max, false, 128), Some(-1));
        assert_eq!(int_literal(max, false, 128, Signedness::Unsigned, false), Some(-1));
        assert_eq!(int_literal("255", false, 8, Signedness::Signed, false), None);
        assert_eq!(int_literal("0xFFFFFFFFFFFFFFFF", false, 64, Signedness::Signless, true), None);
    }

    #[test]
    fn wide_integers_keep_all_their_bits() {
        for (text, negative, width) in [
            ("1361129467683753853853498429727072845823", false, 140),
            ("1", true, 200),
            ("803469022129495137770981046170581301261101496891396417650688", true, 200),
            ("5", false, 129),
        ] {
            let words = wide_literal(text, negative, width, Signedness::Signless).expect(text);
            let sign = if negative { "-" } else { "" };
            assert_eq!(print_wide(&words, Signedness::Signless), format!("{sign}{text}"));
        }
        let ones = format!("0x{}", "F".repeat(50));
        let words = wide_literal(&ones, false, 200, Signedness::Signless).expect("200 bits");
        assert_eq!(print_wide(&words, Signedness::Signless), "-1");
        assert!(wide_literal(&ones, false, 199, Signedness::Signless).is_none());
    }
}
