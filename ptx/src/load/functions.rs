//! The functions over lanes themselves, by operation and type.

use super::Result;
use super::modifiers::Modifiers;
use crate::ast::Type;
use crate::code::Function;
use crate::float::{BF16, F16, F32, Rounding, add_to_odd, decode, encode, flush};

/// A function over lanes from one over values.
macro_rules! lanes {
    (|$a:ident, $b:ident, $c:ident| $value:expr) => {{
        let f: $crate::code::Function = |x, y, z, d| {
            for l in 0..d.len() {
                let ($a, $b, $c) = (x[l], y[l], z[l]);
                let _ = ($b, $c);
                d[l] = $value;
            }
        };
        f
    }};
}
pub(super) use lanes;

/// The same for every integer type: operands are values of it, and so is the result.
macro_rules! integers {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| $value:expr) => {
        match $ty {
            Type::B16 | Type::U16 => integers!(@ u16, u16, $a, $b, $c, $value),
            Type::S16 => integers!(@ i16, u16, $a, $b, $c, $value),
            Type::B32 | Type::U32 => integers!(@ u32, u32, $a, $b, $c, $value),
            Type::S32 => integers!(@ i32, u32, $a, $b, $c, $value),
            Type::B64 | Type::U64 => integers!(@ u64, u64, $a, $b, $c, $value),
            Type::S64 => integers!(@ i64, u64, $a, $b, $c, $value),
            _ => None,
        }
    };
    (@ $t:ty, $u:ty, $a:ident, $b:ident, $c:ident, $value:expr) => {
        Some(lanes!(|x, y, z| {
            #[allow(unused_variables)]
            let ($a, $b, $c) = (x as $t, y as $t, z as $t);
            #[allow(clippy::unnecessary_cast)]
            let r = ($value) as $u as u64;
            r
        }))
    };
}

/// Singles, with or without flushing of subnormal numbers.
macro_rules! singles {
    ($ftz:expr, |$a:ident, $b:ident, $c:ident| $value:expr) => {
        if $ftz {
            lanes!(|x, y, z| {
                let ($a, $b, $c) = (flush(single(x)), flush(single(y)), flush(single(z)));
                let _ = ($b, $c);
                u64::from(flush($value).to_bits())
            })
        } else {
            lanes!(|x, y, z| {
                let ($a, $b, $c) = (single(x), single(y), single(z));
                let _ = ($b, $c);
                u64::from(($value).to_bits())
            })
        }
    };
}

pub(super) use singles;

macro_rules! doubles {
    (|$a:ident, $b:ident, $c:ident| $value:expr) => {
        lanes!(|x, y, z| {
            let ($a, $b, $c) = (f64::from_bits(x), f64::from_bits(y), f64::from_bits(z));
            let _ = ($b, $c);
            ($value).to_bits()
        })
    };
}

/// Narrow floats, one or two in a register; `$value` is a double that is exact or rounded to odd.
macro_rules! narrow {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| $value:expr) => {
        match $ty {
            Type::F16 => Some(narrow!(@ 1, F16, $a, $b, $c, $value)),
            Type::F16x2 => Some(narrow!(@ 2, F16, $a, $b, $c, $value)),
            Type::Bf16 => Some(narrow!(@ 1, BF16, $a, $b, $c, $value)),
            Type::Bf16x2 => Some(narrow!(@ 2, BF16, $a, $b, $c, $value)),
            _ => None,
        }
    };
    (@ $count:expr, $format:expr, $a:ident, $b:ident, $c:ident, $value:expr) => {
        lanes!(|x, y, z| {
            let mut r = 0;
            for part in 0..$count {
                let take = |v: u64| decode((v >> (16 * part)) as u32 & 0xffff, $format);
                let ($a, $b, $c) = (take(x), take(y), take(z));
                let _ = ($b, $c);
                r |= u64::from(encode($value, $format, Rounding::Nearest)) << (16 * part);
            }
            r
        })
    };
}

#[inline(always)]
pub(super) fn single(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    // The product of two narrow floats or singles is exact in a double.
    add_to_odd(a * b, c)
}

/// The larger; a NaN loses against a number, and -0 against +0.
fn larger(a: f64, b: f64) -> f64 {
    if a == b { if a.is_sign_negative() { b } else { a } } else { a.max(b) }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a == b { if a.is_sign_negative() { a } else { b } } else { a.min(b) }
}

fn either_nan(a: f64, b: f64, r: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { r }
}

pub(super) fn saturated(x: f32) -> f32 {
    // NaN becomes zero.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// The two singles of a register.
#[inline(always)]
fn both(a: u64, b: u64, c: u64, f: impl Fn(f32, f32, f32) -> f32) -> u64 {
    let low = f(single(a), single(b), single(c));
    let high = f(single(a >> 32), single(b >> 32), single(c >> 32));
    u64::from(high.to_bits()) << 32 | u64::from(low.to_bits())
}

pub(super) fn insert(value: u64, into: u64, field: u64, width: u64) -> u64 {
    let (position, length) = (field & 0xff, field >> 8 & 0xff);
    if position >= width || length == 0 {
        return into;
    }
    let length = length.min(width - position);
    let mask = (u64::MAX >> (64 - length)) << position;
    (into & !mask) | ((value << position) & mask)
}

pub(super) fn float_function(
    root: &str,
    ty: Type,
    ftz: bool,
    rounding: Rounding,
    m: &mut Modifiers<'_>,
) -> Result<Option<Function>> {
    if root == "selp" {
        return Ok(Some(lanes!(|a, b, c| if c != 0 { a } else { b })));
    }
    let nan = m.take("NaN");
    if rounding != Rounding::Nearest {
        if ty != Type::F32 {
            return Err(m.unsupported("with this rounding"));
        }
        return Ok(directed(root, rounding));
    }
    if ty == Type::F32x2 {
        return Ok(match root {
            "add" => Some(lanes!(|a, b, _c| both(a, b, 0, |a, b, _| a + b))),
            "sub" => Some(lanes!(|a, b, _c| both(a, b, 0, |a, b, _| a - b))),
            "mul" => Some(lanes!(|a, b, _c| both(a, b, 0, |a, b, _| a * b))),
            "fma" => Some(lanes!(|a, b, c| both(a, b, c, f32::mul_add))),
            _ => None,
        }
        .filter(|_| !ftz));
    }
    if m.take("relu") {
        return Ok(match root {
            "fma" => narrow!(ty, |a, b, c| larger(fma_to_odd(a, b, c), 0.0)),
            _ => return Err(m.unsupported("with `.relu`")),
        });
    }
    if matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) {
        return Ok(match root {
            "add" => narrow!(ty, |a, b, _c| add_to_odd(a, b)),
            "sub" => narrow!(ty, |a, b, _c| add_to_odd(a, -b)),
            "mul" => narrow!(ty, |a, b, _c| a * b),
            "fma" => narrow!(ty, |a, b, c| fma_to_odd(a, b, c)),
            "min" if nan => narrow!(ty, |a, b, _c| either_nan(a, b, smaller(a, b))),
            "max" if nan => narrow!(ty, |a, b, _c| either_nan(a, b, larger(a, b))),
            "min" => narrow!(ty, |a, b, _c| smaller(a, b)),
            "max" => narrow!(ty, |a, b, _c| larger(a, b)),
            "ex2" => narrow!(ty, |a, _b, _c| a.exp2()),
            "tanh" => narrow!(ty, |a, _b, _c| a.tanh()),
            // Signs are bits, also of a NaN.
            "neg" if matches!(ty, Type::F16 | Type::Bf16) => Some(lanes!(|a, _b, _c| a ^ 0x8000)),
            "neg" => Some(lanes!(|a, _b, _c| a ^ 0x8000_8000)),
            "abs" if matches!(ty, Type::F16 | Type::Bf16) => Some(lanes!(|a, _b, _c| a & 0x7fff)),
            "abs" => Some(lanes!(|a, _b, _c| a & 0x7fff_7fff)),
            _ => None,
        });
    }
    if ty == Type::F64 {
        return Ok(Some(match root {
            "add" => doubles!(|a, b, _c| a + b),
            "sub" => doubles!(|a, b, _c| a - b),
            "mul" => doubles!(|a, b, _c| a * b),
            "fma" | "mad" => doubles!(|a, b, c| a.mul_add(b, c)),
            "div" => doubles!(|a, b, _c| a / b),
            "rcp" => doubles!(|a, _b, _c| 1.0 / a),
            "sqrt" => doubles!(|a, _b, _c| a.sqrt()),
            "rsqrt" => doubles!(|a, _b, _c| 1.0 / a.sqrt()),
            "min" => doubles!(|a, b, _c| smaller(a, b)),
            "max" => doubles!(|a, b, _c| larger(a, b)),
            "neg" => lanes!(|a, _b, _c| a ^ 1 << 63),
            "abs" => lanes!(|a, _b, _c| a & !(1 << 63)),
            "copysign" => doubles!(|a, b, _c| b.copysign(a)),
            _ => return Ok(None),
        }));
    }
    Ok(Some(match root {
        "add" => singles!(ftz, |a, b, _c| a + b),
        "sub" => singles!(ftz, |a, b, _c| a - b),
        "mul" => singles!(ftz, |a, b, _c| a * b),
        "fma" | "mad" => singles!(ftz, |a, b, c| a.mul_add(b, c)),
        "div" => singles!(ftz, |a, b, _c| a / b),
        "rcp" => singles!(ftz, |a, _b, _c| 1.0 / a),
        "sqrt" => singles!(ftz, |a, _b, _c| a.sqrt()),
        "rsqrt" => singles!(ftz, |a, _b, _c| (1.0 / f64::from(a).sqrt()) as f32),
        "ex2" => singles!(ftz, |a, _b, _c| f64::from(a).exp2() as f32),
        "lg2" => singles!(ftz, |a, _b, _c| f64::from(a).log2() as f32),
        "sin" => singles!(ftz, |a, _b, _c| f64::from(a).sin() as f32),
        "cos" => singles!(ftz, |a, _b, _c| f64::from(a).cos() as f32),
        "tanh" => singles!(ftz, |a, _b, _c| f64::from(a).tanh() as f32),
        "min" if nan => {
            singles!(ftz, |a, b, _c| either_nan(a.into(), b.into(), smaller(a.into(), b.into()))
                as f32)
        }
        "max" if nan => {
            singles!(ftz, |a, b, _c| either_nan(a.into(), b.into(), larger(a.into(), b.into()))
                as f32)
        }
        "min" => singles!(ftz, |a, b, _c| smaller(a.into(), b.into()) as f32),
        "max" => singles!(ftz, |a, b, _c| larger(a.into(), b.into()) as f32),
        "neg" if !ftz => lanes!(|a, _b, _c| (a ^ 0x8000_0000) & 0xffff_ffff),
        "neg" => singles!(ftz, |a, _b, _c| -a),
        "abs" if !ftz => lanes!(|a, _b, _c| a & 0x7fff_ffff),
        "abs" => singles!(ftz, |a, _b, _c| a.abs()),
        "copysign" => singles!(ftz, |a, b, _c| b.copysign(a)),
        _ => return Ok(None),
    }))
}

/// Singles rounded in a direction.
fn directed(root: &str, rounding: Rounding) -> Option<Function> {
    macro_rules! with {
        ($mode:expr) => {
            match root {
                "add" => Some(lanes!(|a, b, _c| rounded(
                    add_to_odd(single(a).into(), single(b).into()),
                    $mode
                ))),
                "sub" => Some(lanes!(|a, b, _c| rounded(
                    add_to_odd(single(a).into(), (-single(b)).into()),
                    $mode
                ))),
                "mul" => Some(lanes!(|a, b, _c| rounded(
                    f64::from(single(a)) * f64::from(single(b)),
                    $mode
                ))),
                "fma" => Some(lanes!(|a, b, c| {
                    rounded(fma_to_odd(single(a).into(), single(b).into(), single(c).into()), $mode)
                })),
                _ => None,
            }
        };
    }
    match rounding {
        Rounding::Zero => with!(Rounding::Zero),
        Rounding::Down => with!(Rounding::Down),
        Rounding::Up => with!(Rounding::Up),
        _ => None,
    }
}

fn rounded(x: f64, rounding: Rounding) -> u64 {
    u64::from(encode(x, F32, rounding))
}

pub(super) fn integer_function(
    root: &str,
    ty: Type,
    m: &mut Modifiers<'_>,
) -> Result<Option<Function>> {
    let half = m.take_any(&["lo", "hi", "wide"]);
    Ok(match root {
        "add" => integers!(ty, |a, b, _c| a.wrapping_add(b)),
        "sub" => integers!(ty, |a, b, _c| a.wrapping_sub(b)),
        "mul" | "mul24" | "mad" => match half {
            Some("lo") if root == "mad" => {
                integers!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
            }
            Some("lo") => integers!(ty, |a, b, _c| a.wrapping_mul(b)),
            Some("wide") => match ty {
                Type::S32 => Some(lanes!(|a, b, c| {
                    (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
                })),
                Type::U32 => Some(lanes!(|a, b, c| (a * b).wrapping_add(c))),
                Type::S16 => Some(lanes!(|a, b, c| {
                    u64::from(
                        (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32
                    )
                })),
                Type::U16 => {
                    Some(lanes!(|a, b, c| u64::from(((a * b) as u32).wrapping_add(c as u32))))
                }
                _ => None,
            },
            Some(_) => match ty {
                Type::S32 => Some(lanes!(|a, b, c| {
                    let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
                    u64::from((high as i32).wrapping_add(c as i32) as u32)
                })),
                Type::U32 => Some(lanes!(|a, b, c| u64::from(((a * b) >> 32) as u32)
                    .wrapping_add(c)
                    & 0xffff_ffff)),
                Type::S64 => Some(lanes!(|a, b, c| {
                    let high = (i128::from(a as i64) * i128::from(b as i64)) >> 64;
                    (high as i64).wrapping_add(c as i64) as u64
                })),
                Type::U64 => Some(lanes!(|a, b, c| {
                    (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)
                })),
                Type::S16 => Some(lanes!(|a, b, c| {
                    let high = (i32::from(a as i16) * i32::from(b as i16)) >> 16;
                    u64::from((high as i16).wrapping_add(c as i16) as u16)
                })),
                Type::U16 => Some(lanes!(|a, b, c| (((a * b) >> 16) + c) & 0xffff)),
                _ => None,
            },
            None => None,
        },
        // Division by zero gives all ones on the device.
        "div" => integers!(ty, |a, b, _c| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => integers!(ty, |a, b, _c| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => integers!(ty, |a, b, _c| a.min(b)),
        "max" => integers!(ty, |a, b, _c| a.max(b)),
        "abs" => match ty {
            Type::S16 => Some(lanes!(|a, _b, _c| u64::from((a as i16).wrapping_abs() as u16))),
            Type::S32 => Some(lanes!(|a, _b, _c| u64::from((a as i32).wrapping_abs() as u32))),
            Type::S64 => Some(lanes!(|a, _b, _c| (a as i64).wrapping_abs() as u64)),
            _ => None,
        },
        "neg" => integers!(ty, |a, _b, _c| a.wrapping_neg()),
        "and" if ty == Type::Pred => Some(lanes!(|a, b, _c| a & b)),
        "or" if ty == Type::Pred => Some(lanes!(|a, b, _c| a | b)),
        "xor" if ty == Type::Pred => Some(lanes!(|a, b, _c| a ^ b)),
        "not" if ty == Type::Pred => Some(lanes!(|a, _b, _c| a ^ 1)),
        "and" => integers!(ty, |a, b, _c| a & b),
        "or" => integers!(ty, |a, b, _c| a | b),
        "xor" => integers!(ty, |a, b, _c| a ^ b),
        "not" => integers!(ty, |a, _b, _c| !a),
        "cnot" => integers!(ty, |a, _b, _c| u8::from(a == 0)),
        "selp" => Some(lanes!(|a, b, c| if c != 0 { a } else { b })),
        // Amounts are clamped to the width, not taken modulo it.
        "shl" => match ty {
            Type::B16 => Some(lanes!(|a, b, _c| if b > 15 { 0 } else { a << b & 0xffff })),
            Type::B32 => Some(lanes!(|a, b, _c| if b > 31 { 0 } else { a << b & 0xffff_ffff })),
            Type::B64 => Some(lanes!(|a, b, _c| if b > 63 { 0 } else { a << b })),
            _ => None,
        },
        "shr" => match ty {
            Type::B16 | Type::U16 | Type::B32 | Type::U32 | Type::B64 | Type::U64 => {
                Some(lanes!(|a, b, _c| if b > 63 { 0 } else { a >> b }))
            }
            Type::S16 => Some(lanes!(|a, b, _c| u64::from(((a as i16) >> b.min(15)) as u16))),
            Type::S32 => Some(lanes!(|a, b, _c| u64::from(((a as i32) >> b.min(31)) as u32))),
            Type::S64 => Some(lanes!(|a, b, _c| ((a as i64) >> b.min(63)) as u64)),
            _ => None,
        },
        "shf" => {
            let is_left = m.take("l");
            if !is_left && !m.take("r") {
                return Err(m.unsupported(""));
            }
            let wraps = m.take("wrap");
            m.take("clamp");
            Some(match (is_left, wraps) {
                (true, true) => lanes!(|a, b, c| ((b << 32 | a) << (c & 31)) >> 32),
                (true, false) => lanes!(|a, b, c| ((b << 32 | a) << c.min(32)) >> 32),
                (false, true) => lanes!(|a, b, c| ((b << 32 | a) >> (c & 31)) & 0xffff_ffff),
                (false, false) => lanes!(|a, b, c| ((b << 32 | a) >> c.min(32)) & 0xffff_ffff),
            })
        }
        "prmt" => Some(lanes!(|a, b, c| permuted(a, b, c))),
        "bfe" => match ty {
            Type::U32 => Some(lanes!(|a, b, c| extract(a, b, c, 32, false))),
            Type::S32 => Some(lanes!(|a, b, c| extract(a, b, c, 32, true))),
            Type::U64 => Some(lanes!(|a, b, c| extract(a, b, c, 64, false))),
            Type::S64 => Some(lanes!(|a, b, c| extract(a, b, c, 64, true))),
            _ => None,
        },
        "bfi" | "lop3" => Some(lanes!(|a, _b, _c| a)),
        "popc" => Some(lanes!(|a, _b, _c| u64::from(a.count_ones()))),
        "clz" if ty == Type::B64 => Some(lanes!(|a, _b, _c| u64::from(a.leading_zeros()))),
        "clz" => Some(lanes!(|a, _b, _c| u64::from((a as u32).leading_zeros()))),
        "brev" if ty == Type::B64 => Some(lanes!(|a, _b, _c| a.reverse_bits())),
        "brev" => Some(lanes!(|a, _b, _c| u64::from((a as u32).reverse_bits()))),
        "bfind" => match ty {
            Type::U32 => {
                Some(lanes!(|a, _b, _c| u64::from(31_u32.wrapping_sub((a as u32).leading_zeros()))))
            }
            _ => None,
        },
        _ => None,
    })
}

fn permuted(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (b << 32 | a).to_le_bytes();
    let mut result = 0;
    for i in 0..4 {
        let select = selector >> (4 * i) & 15;
        let byte = bytes[(select & 7) as usize];
        let byte = if select & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result |= u64::from(byte) << (8 * i);
    }
    result
}

fn extract(a: u64, position: u64, length: u64, width: u64, is_signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let mask = u64::MAX >> (64 - width);
    if length == 0 {
        return 0;
    }
    let sign_at = (position + length - 1).min(width - 1);
    let sign = if is_signed && a >> sign_at & 1 == 1 { mask } else { 0 };
    let value = if position >= width { 0 } else { a >> position };
    let kept = length.min(width.saturating_sub(position));
    let field = if kept == 0 { 0 } else { u64::MAX >> (64 - kept) };
    (value & field | sign & !field) & mask
}
