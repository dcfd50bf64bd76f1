//! Element types and reductions.
//!
//! Sums of f32 and f64 over the ranks go by a fixed tree: halves split at the largest power of two below their number,
//! the sums that Piper's own backend forms. Those of f16 and bf16 are formed in f64 by rank and rounded once. Either
//! way two runs give the same bits, which NCCL promises only for one machine and one algorithm.

use crate::abi::{Result, refuse};

/// `ncclDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    Bf16,
}

/// `ncclRedOp_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Product,
    Max,
    Min,
    /// The sum over the number of ranks.
    Average,
}

impl Element {
    pub(crate) fn of(number: u32) -> Result<Self> {
        Ok(match number {
            0 => Self::I8,
            1 => Self::U8,
            2 => Self::I32,
            3 => Self::U32,
            4 => Self::I64,
            5 => Self::U64,
            6 => Self::F16,
            7 => Self::F32,
            8 => Self::F64,
            9 => Self::Bf16,
            _ => return refuse(format!("element type {number} is not supported")),
        })
    }

    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
        }
    }
}

impl Reduction {
    pub(crate) fn of(number: u32) -> Result<Self> {
        Ok(match number {
            0 => Self::Sum,
            1 => Self::Product,
            2 => Self::Max,
            3 => Self::Min,
            4 => Self::Average,
            _ => return refuse(format!("reduction {number} is not supported")),
        })
    }
}

/// Elements of one kind as they lie in memory.
trait Value: Copy {
    const BYTES: usize;
    fn load(bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
    fn combine(self, other: Self, how: Reduction) -> Self;
    fn over(self, count: usize) -> Self;
}

macro_rules! values {
    ($($ty:ty, $add:expr, $multiply:expr, $over:expr;)*) => {
        $(impl Value for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn load(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap_or_default())
            }
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn combine(self, other: Self, how: Reduction) -> Self {
                match how {
                    Reduction::Sum | Reduction::Average => $add(self, other),
                    Reduction::Product => $multiply(self, other),
                    Reduction::Max => if other > self { other } else { self },
                    Reduction::Min => if other < self { other } else { self },
                }
            }
            fn over(self, count: usize) -> Self {
                $over(self, count)
            }
        })*
    };
}

values! {
    i8, i8::wrapping_add, i8::wrapping_mul, |v: i8, n: usize| v / n as i8;
    u8, u8::wrapping_add, u8::wrapping_mul, |v: u8, n: usize| v / n as u8;
    i32, i32::wrapping_add, i32::wrapping_mul, |v: i32, n: usize| v / n as i32;
    u32, u32::wrapping_add, u32::wrapping_mul, |v: u32, n: usize| v / n as u32;
    i64, i64::wrapping_add, i64::wrapping_mul, |v: i64, n: usize| v / n as i64;
    u64, u64::wrapping_add, u64::wrapping_mul, |v: u64, n: usize| v / n as u64;
    f32, |a: f32, b: f32| a + b, |a: f32, b: f32| a * b, |v: f32, n: usize| v / n as f32;
    f64, |a: f64, b: f64| a + b, |a: f64, b: f64| a * b, |v: f64, n: usize| v / n as f64;
}

/// The reduction over the buffers of all ranks, which have one length.
pub(crate) fn reduce(element: Element, how: Reduction, buffers: &[&[u8]]) -> Vec<u8> {
    match element {
        Element::I8 => whole::<i8>(how, buffers),
        Element::U8 => whole::<u8>(how, buffers),
        Element::I32 => whole::<i32>(how, buffers),
        Element::U32 => whole::<u32>(how, buffers),
        Element::I64 => whole::<i64>(how, buffers),
        Element::U64 => whole::<u64>(how, buffers),
        Element::F32 => whole::<f32>(how, buffers),
        Element::F64 => whole::<f64>(how, buffers),
        Element::F16 => halves(how, buffers, from_f16, to_f16),
        Element::Bf16 => halves(how, buffers, from_bf16, to_bf16),
    }
}

fn whole<T: Value>(how: Reduction, buffers: &[&[u8]]) -> Vec<u8> {
    let length = buffers.first().map_or(0, |b| b.len());
    let mut result = vec![0; length];
    let mut column = Vec::with_capacity(buffers.len());
    for at in (0..length).step_by(T::BYTES) {
        column.clear();
        column.extend(buffers.iter().map(|b| T::load(&b[at..at + T::BYTES])));
        if let Some(mut value) = tree(&column, how) {
            if how == Reduction::Average {
                value = value.over(buffers.len());
            }
            value.store(&mut result[at..at + T::BYTES]);
        }
    }
    result
}

fn tree<T: Value>(values: &[T], how: Reduction) -> Option<T> {
    match values {
        [] => None,
        [value] => Some(*value),
        _ => {
            let half = values.len().next_power_of_two() / 2;
            let (left, right) = (tree(&values[..half], how)?, tree(&values[half..], how)?);
            Some(left.combine(right, how))
        }
    }
}

fn halves(
    how: Reduction,
    buffers: &[&[u8]],
    load: fn(u16) -> f64,
    store: fn(f64) -> u16,
) -> Vec<u8> {
    let length = buffers.first().map_or(0, |b| b.len());
    let mut result = Vec::with_capacity(length);
    for at in (0..length).step_by(2) {
        let values = buffers.iter().map(|b| load(u16::from_le_bytes([b[at], b[at + 1]])));
        let mut total = values.reduce(|a, b| a.combine(b, how)).unwrap_or(0.0);
        if how == Reduction::Average {
            total = total.over(buffers.len());
        }
        result.extend(store(total).to_le_bytes());
    }
    result
}

fn from_bf16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

fn to_bf16(value: f64) -> u16 {
    round(value, 8, 7)
}

fn from_f16(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2_f64.powi(e - 15),
    }
}

fn to_f16(value: f64) -> u16 {
    round(value, 5, 10)
}

/// Rounds to the nearest number of 16 bits, ties to even, with `exponent` and `fraction` bits.
fn round(value: f64, exponent: u32, fraction: i32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let infinity = ((1_u16 << exponent) - 1) << fraction;
    if value.is_nan() {
        return sign | infinity | 1 << (fraction - 1);
    }
    let bias = (1 << (exponent - 1)) - 1;
    let size = value.abs();
    if size == 0.0 {
        return sign;
    }
    // The exponent of a double below the least normal one is that of a number that rounds to zero here.
    let own = ((size.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let ulps = (size * 2_f64.powi(fraction - own)).round_ties_even();
    let bits = ulps + f64::from(own + bias - 1) * 2_f64.powi(fraction);
    if bits >= f64::from(infinity) { sign | infinity } else { sign | bits as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_nearest_even() {
        for bits in (0..=u16::MAX).filter(|b| b >> 10 & 31 != 31) {
            assert_eq!(to_f16(from_f16(bits)), bits);
        }
        for bits in (0..=u16::MAX).filter(|b| b >> 7 & 255 != 255) {
            assert_eq!(to_bf16(from_bf16(bits)), bits);
        }
        assert_eq!(to_bf16(1.0 + 1.0 / 256.0), 0x3f80);
        assert_eq!(to_bf16(1.0 + 3.0 / 256.0), 0x3f82);
        assert_eq!(to_f16(65_519.9), 0x7bff);
        assert_eq!(to_f16(65_520.0), 0x7c00);
        assert_eq!(to_f16(2_f64.powi(-25)), 0);
        assert_eq!(to_f16(1.5 * 2_f64.powi(-25)), 1);
    }

    #[test]
    fn sums_go_by_a_tree_over_the_ranks() {
        let values = [1e8_f32, 1.0, -1e8, 1.0, 3.0];
        let buffers: Vec<[u8; 4]> = values.iter().map(|v| v.to_le_bytes()).collect();
        let slices: Vec<&[u8]> = buffers.iter().map(|b| b.as_slice()).collect();
        let total = reduce(Element::F32, Reduction::Sum, &slices);
        let expected = ((values[0] + values[1]) + (values[2] + values[3])) + values[4];
        assert_eq!(f32::load(&total).to_bits(), expected.to_bits());
    }
}
