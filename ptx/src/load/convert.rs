//! `cvt`: between integers, between floats, and between the two, with the roundings that each form allows.

use super::functions::{lanes, single};
use super::modifiers::Modifiers;
use super::{Frame, Loader, Result};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Function, Op, Source};
use crate::float::{BF16, F16, F32, Rounding, decode, encode, flush};

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

impl<'m> Loader<'m> {
    pub(super) fn cvt(
        &mut self,
        frame: &Frame<'m>,
        i: &Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<Op> {
        let from = m.ty()?;
        let to = m.ty()?;
        let ftz = m.take("ftz");
        let sat = m.take("sat");
        m.ignore(|w| w == "satfinite");
        let relu = m.take("relu");
        let to_integer = m.take_any(&["rni", "rzi", "rmi", "rpi"]);
        let rounding = m.rounding().unwrap_or(Rounding::Nearest);
        if matches!(to, Type::F16x2 | Type::Bf16x2) {
            let [dst, high, low] = m.operands()?;
            let f = match (to, relu, rounding) {
                (Type::F16x2, false, Rounding::Nearest) => packed(F16Pair),
                (Type::Bf16x2, false, Rounding::Nearest) => packed(Bf16Pair),
                (Type::F16x2, true, Rounding::Nearest) => lanes!(|a, b, _c| {
                    pair(single(a).max(0.0), single(b).max(0.0), F16, Rounding::Nearest)
                }),
                (Type::Bf16x2, true, Rounding::Nearest) => lanes!(|a, b, _c| {
                    pair(single(a).max(0.0), single(b).max(0.0), BF16, Rounding::Nearest)
                }),
                (Type::F16x2, false, Rounding::Zero) => {
                    lanes!(|a, b, _c| pair(single(a), single(b), F16, Rounding::Zero))
                }
                (Type::Bf16x2, false, Rounding::Zero) => {
                    lanes!(|a, b, _c| pair(single(a), single(b), BF16, Rounding::Zero))
                }
                _ => return Err(m.unsupported("")),
            };
            let high = self.source(frame, high, from, i.place)?;
            let low = self.source(frame, low, from, i.place)?;
            let dst = self.destination(frame, dst, i.place)?;
            return Ok(Op::Compute { f, dst, src: [high, low, Source::Value(0)] });
        }
        let [dst, value] = m.operands()?;
        let Operand::Register(_) = dst else { return Err(m.unsupported("into this operand")) };
        let dst = self.destination(frame, dst, i.place)?;
        let value = self.source(frame, value, from, i.place)?;
        let wide = self.width(dst);
        let f = match (is_float(from), is_float(to)) {
            (false, false) => integer_to_integer(from, to, wide, sat),
            (false, true) => integer_to_float(from, to, rounding),
            (true, false) if to == Type::Tf32 => {
                return Ok(Op::Compute {
                    f: match rounding {
                        Rounding::Nearest => lanes!(|a, _b, _c| tf32(a, false)),
                        _ => lanes!(|a, _b, _c| tf32(a, true)),
                    },
                    dst,
                    src: [value, Source::Value(0), Source::Value(0)],
                });
            }
            (true, false) => float_to_integer(from, to, to_integer.unwrap_or("rzi")),
            (true, true) => match to_integer {
                Some(mode) => round_to_integer(from, to, mode),
                None => float_to_float(from, to, rounding, ftz, relu, sat),
            },
        };
        let Some(f) = f else { return Err(m.unsupported("")) };
        Ok(Op::Compute { f, dst, src: [value, Source::Value(0), Source::Value(0)] })
    }
}

struct F16Pair;
struct Bf16Pair;
trait Pair {
    const LANES: Function;
}
impl Pair for F16Pair {
    const LANES: Function = lanes!(|a, b, _c| pair(single(a), single(b), F16, Rounding::Nearest));
}
impl Pair for Bf16Pair {
    const LANES: Function = lanes!(|a, b, _c| pair(single(a), single(b), BF16, Rounding::Nearest));
}

fn packed<P: Pair>(_: P) -> Function {
    P::LANES
}

/// Two singles in one register, the first in the upper half.
fn pair(high: f32, low: f32, format: crate::float::Format, rounding: Rounding) -> u64 {
    u64::from(encode(high.into(), format, rounding)) << 16
        | u64::from(encode(low.into(), format, rounding))
}

/// Thirteen bits fewer, to the nearest; ties go away from zero or to even.
fn tf32(a: u64, away: bool) -> u64 {
    let x = a as u32;
    if single(a).is_nan() {
        return 0x7fff_ffff;
    }
    let odd = if away { 1 } else { x >> 13 & 1 };
    u64::from(x.wrapping_add(0xfff + odd) & !0x1fff)
}

/// The value that the low bits of a register have as `ty`.
fn integer(x: u64, ty: Type) -> i128 {
    match ty {
        Type::S8 => i128::from(x as i8),
        Type::U8 | Type::B8 => i128::from(x as u8),
        Type::S16 => i128::from(x as i16),
        Type::U16 | Type::B16 => i128::from(x as u16),
        Type::S32 => i128::from(x as i32),
        Type::U32 | Type::B32 => i128::from(x as u32),
        Type::S64 => i128::from(x as i64),
        _ => i128::from(x),
    }
}

fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bytes() * 8;
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// A function over lanes for every pair of a source type and a destination type.
macro_rules! by_type {
    ($ty:expr, |$t:ident| $function:expr) => {
        match $ty {
            Type::S8 => by_type!(@ S8, $t, $function),
            Type::U8 | Type::B8 => by_type!(@ U8, $t, $function),
            Type::S16 => by_type!(@ S16, $t, $function),
            Type::U16 | Type::B16 => by_type!(@ U16, $t, $function),
            Type::S32 => by_type!(@ S32, $t, $function),
            Type::U32 | Type::B32 => by_type!(@ U32, $t, $function),
            Type::S64 => by_type!(@ S64, $t, $function),
            Type::U64 | Type::B64 => by_type!(@ U64, $t, $function),
            _ => None,
        }
    };
    (@ $name:ident, $t:ident, $function:expr) => {{
        const $t: Type = Type::$name;
        $function
    }};
}

fn integer_to_integer(from: Type, to: Type, register: u32, sat: bool) -> Option<Function> {
    by_type!(from, |FROM| by_type!(to, |TO| {
        let f: Function = match (sat, register) {
            (true, _) => lanes!(|a, _b, _c| {
                let (least, most) = range(TO);
                integer(a, FROM).clamp(least, most) as u64 & (u64::MAX >> (64 - 8 * TO.bytes()))
            }),
            // The result is extended to its register as its own type says.
            (false, 16) => lanes!(|a, _b, _c| integer(integer(a, FROM) as u64, TO) as u64 & 0xffff),
            (false, 32) => {
                lanes!(|a, _b, _c| integer(integer(a, FROM) as u64, TO) as u64 & 0xffff_ffff)
            }
            _ => lanes!(|a, _b, _c| integer(integer(a, FROM) as u64, TO) as u64),
        };
        Some(f)
    }))
}

fn integer_to_float(from: Type, to: Type, rounding: Rounding) -> Option<Function> {
    by_type!(from, |FROM| match (to, rounding) {
        (Type::F32, Rounding::Nearest) => {
            Some(lanes!(|a, _b, _c| u64::from((integer(a, FROM) as f32).to_bits())))
        }
        (Type::F64, Rounding::Nearest) =>
            Some(lanes!(|a, _b, _c| (integer(a, FROM) as f64).to_bits())),
        // Up to 32 bits a double holds the integer.
        (Type::F32, Rounding::Zero) if FROM.bytes() <= 4 => {
            Some(lanes!(|a, _b, _c| u64::from(encode(
                integer(a, FROM) as f64,
                F32,
                Rounding::Zero
            ))))
        }
        (Type::F16, Rounding::Nearest) if FROM.bytes() <= 4 => {
            Some(lanes!(|a, _b, _c| u64::from(encode(
                integer(a, FROM) as f64,
                F16,
                Rounding::Nearest
            ))))
        }
        (Type::Bf16, Rounding::Nearest) if FROM.bytes() <= 4 => {
            Some(lanes!(|a, _b, _c| u64::from(encode(
                integer(a, FROM) as f64,
                BF16,
                Rounding::Nearest
            ))))
        }
        _ => None,
    })
}

fn value(x: u64, ty: Type) -> f64 {
    match ty {
        Type::F16 => decode(x as u32 & 0xffff, F16),
        Type::Bf16 => decode(x as u32 & 0xffff, BF16),
        Type::F32 => f64::from(single(x)),
        _ => f64::from_bits(x),
    }
}

fn to_integer(x: f64, mode: &str) -> f64 {
    match mode {
        "rni" => x.round_ties_even(),
        "rmi" => x.floor(),
        "rpi" => x.ceil(),
        _ => x.trunc(),
    }
}

macro_rules! by_float {
    ($ty:expr, |$t:ident| $function:expr) => {
        match $ty {
            Type::F16 => by_type!(@ F16, $t, $function),
            Type::Bf16 => by_type!(@ Bf16, $t, $function),
            Type::F32 => by_type!(@ F32, $t, $function),
            Type::F64 => by_type!(@ F64, $t, $function),
            _ => None,
        }
    };
}

macro_rules! by_mode {
    ($mode:expr, |$m:ident| $function:expr) => {
        match $mode {
            "rni" => {
                const $m: &str = "rni";
                $function
            }
            "rmi" => {
                const $m: &str = "rmi";
                $function
            }
            "rpi" => {
                const $m: &str = "rpi";
                $function
            }
            _ => {
                const $m: &str = "rzi";
                $function
            }
        }
    };
}

/// Out of range saturates; NaN gives zero.
fn float_to_integer(from: Type, to: Type, mode: &str) -> Option<Function> {
    by_float!(from, |FROM| by_type!(to, |TO| by_mode!(mode, |MODE| {
        Some(lanes!(|a, _b, _c| {
            let (least, most) = range(TO);
            let x = to_integer(value(a, FROM), MODE);
            (x as i128).clamp(least, most) as u64 & (u64::MAX >> (64 - 8 * TO.bytes()))
        }))
    })))
}

fn round_to_integer(from: Type, to: Type, mode: &str) -> Option<Function> {
    if from != to {
        return None;
    }
    by_float!(from, |FROM| by_mode!(mode, |MODE| {
        Some(lanes!(|a, _b, _c| {
            let x = to_integer(value(a, FROM), MODE);
            match FROM {
                Type::F16 => u64::from(encode(x, F16, Rounding::Nearest)),
                Type::Bf16 => u64::from(encode(x, BF16, Rounding::Nearest)),
                Type::F32 => u64::from((x as f32).to_bits()),
                _ => x.to_bits(),
            }
        }))
    }))
}

fn float_to_float(
    from: Type,
    to: Type,
    rounding: Rounding,
    ftz: bool,
    relu: bool,
    sat: bool,
) -> Option<Function> {
    if relu || (sat && to != Type::F32) {
        return None;
    }
    by_float!(from, |FROM| match (to, rounding, ftz) {
        (Type::F64, ..) => Some(lanes!(|a, _b, _c| value(a, FROM).to_bits())),
        (Type::F32, ..) if sat => Some(lanes!(|a, _b, _c| {
            let x = value(a, FROM);
            let x = if x > 0.0 { x.min(1.0) } else { 0.0 };
            u64::from((x as f32).to_bits())
        })),
        (Type::F32, Rounding::Nearest, false) => {
            Some(lanes!(|a, _b, _c| u64::from((value(a, FROM) as f32).to_bits())))
        }
        (Type::F32, Rounding::Nearest, true) => {
            Some(lanes!(|a, _b, _c| u64::from(flush(value(a, FROM) as f32).to_bits())))
        }
        (Type::F32, Rounding::Zero, false) => {
            Some(lanes!(|a, _b, _c| u64::from(encode(value(a, FROM), F32, Rounding::Zero))))
        }
        (Type::F16, Rounding::Nearest, _) => {
            Some(lanes!(|a, _b, _c| u64::from(encode(value(a, FROM), F16, Rounding::Nearest))))
        }
        (Type::F16, Rounding::Zero, _) => {
            Some(lanes!(|a, _b, _c| u64::from(encode(value(a, FROM), F16, Rounding::Zero))))
        }
        (Type::Bf16, Rounding::Nearest, _) => {
            Some(lanes!(|a, _b, _c| u64::from(encode(value(a, FROM), BF16, Rounding::Nearest))))
        }
        (Type::Bf16, Rounding::Zero, _) => {
            Some(lanes!(|a, _b, _c| u64::from(encode(value(a, FROM), BF16, Rounding::Zero))))
        }
        _ => None,
    })
}
