//! `setp`: comparisons, alone or combined with a predicate.

use super::functions::{lanes, single};
use super::modifiers::Modifiers;
use super::{Frame, Loader, Result};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Class, Function, Op, Source};
use crate::error::SourceError;
use crate::float::{BF16, F16, Format, decode, flush};

impl<'m> Loader<'m> {
    pub(super) fn setp(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
        guard: Option<(u32, bool)>,
    ) -> Result<()> {
        let ty = m.ty()?;
        let ftz = m.take("ftz");
        let names = [
            "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
            "gtu", "geu", "num", "nan",
        ];
        let Some(name) = m.take_any(&names) else { return Err(m.unsupported("")) };
        let combine = m.take_any(&["and", "or", "xor"]);
        m.finish()?;
        let [to, operands @ ..] = i.operands.as_slice() else {
            return Err(SourceError::new(i.place, "`setp` takes a predicate and two values"));
        };
        let expected = if combine.is_some() { 3 } else { 2 };
        if operands.len() != expected {
            return Err(SourceError::new(
                i.place,
                format!("`{}` takes {expected} sources", i.opcode),
            ));
        }
        let a = self.source(frame, &operands[0], ty, i.place)?;
        let b = self.source(frame, &operands[1], ty, i.place)?;
        let (p, q) = match to {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            p => (p, None),
        };
        let narrow = match ty {
            Type::F16 | Type::F16x2 => Some(F16),
            Type::Bf16 | Type::Bf16x2 => Some(BF16),
            _ => None,
        };
        let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
        let compare = |part: u32| match narrow {
            Some(format) => narrow_comparison(name, format, part),
            None => comparison(name, ty, ftz),
        };
        let mut outputs = vec![(p, compare(0), false)];
        if let Some(q) = q {
            outputs.push((q, compare(u32::from(packed)), !packed));
        }
        let mut copies = Vec::new();
        for (to, f, inverted) in outputs {
            if *to == Operand::Sink {
                continue;
            }
            let Some(f) = f else { return Err(m.unsupported("")) };
            let dst = self.destination(frame, to, i.place)?;
            let result =
                if combine.is_some() || q.is_some() { self.temporary(Type::Pred) } else { dst };
            let src = [a, b, Source::Value(0)];
            self.push(Op::Compute { f, dst: result, src }, guard, Class::Integer, i.place);
            let value = if inverted { Source::Not(result) } else { Source::Register(result) };
            if let Some(combine) = combine {
                let c = self.source(frame, &operands[2], Type::Pred, i.place)?;
                let f = match combine {
                    "and" => lanes!(|a, b, _c| a & b),
                    "or" => lanes!(|a, b, _c| a | b),
                    _ => lanes!(|a, b, _c| a ^ b),
                };
                copies.push(Op::Compute { f, dst, src: [value, c, Source::Value(0)] });
            } else if result != dst {
                let f: Function = |a, _, _, d| *d = *a;
                copies.push(Op::Compute {
                    f,
                    dst,
                    src: [value, Source::Value(0), Source::Value(0)],
                });
            }
        }
        for op in copies {
            self.push(op, guard, Class::Integer, i.place);
        }
        Ok(())
    }
}

fn comparison(name: &str, ty: Type, ftz: bool) -> Option<Function> {
    macro_rules! ints {
        ($($name:pat => $op:tt),*) => {
            match name {
                $($name => match ty {
                    Type::Pred => None,
                    Type::B16 | Type::U16 | Type::B32 | Type::U32 | Type::B64 | Type::U64 => {
                        Some(lanes!(|a, b, _c| u64::from(a $op b)))
                    }
                    Type::S16 => Some(lanes!(|a, b, _c| u64::from((a as i16) $op (b as i16)))),
                    Type::S32 => Some(lanes!(|a, b, _c| u64::from((a as i32) $op (b as i32)))),
                    Type::S64 => Some(lanes!(|a, b, _c| u64::from((a as i64) $op (b as i64)))),
                    _ => None,
                },)*
                _ => None,
            }
        };
    }
    macro_rules! floats {
        ($value:expr; $($name:pat => |$a:ident, $b:ident| $test:expr),*) => {
            match name {
                $($name => Some(lanes!(|x, y, _c| {
                    let ($a, $b): (f64, f64) = ($value(x), $value(y));
                    u64::from($test)
                })),)*
                _ => None,
            }
        };
        ($value:expr) => {
            floats!($value;
                "eq" => |a, b| a == b, "ne" => |a, b| differ(a, b), "lt" => |a, b| a < b,
                "le" => |a, b| a <= b, "gt" => |a, b| a > b, "ge" => |a, b| a >= b,
                "equ" => |a, b| !differ(a, b), "neu" => |a, b| a != b,
                "ltu" => |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Equal | std::cmp::Ordering::Greater)),
                "leu" => |a, b| a.partial_cmp(&b) != Some(std::cmp::Ordering::Greater),
                "gtu" => |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Equal | std::cmp::Ordering::Less)),
                "geu" => |a, b| a.partial_cmp(&b) != Some(std::cmp::Ordering::Less),
                "num" => |a, b| !a.is_nan() && !b.is_nan(), "nan" => |a, b| a.is_nan() || b.is_nan())
        };
    }
    match ty {
        Type::F32 if ftz => floats!(|x| f64::from(flush(single(x)))),
        Type::F32 => floats!(|x| f64::from(single(x))),
        Type::F64 => floats!(f64::from_bits),
        _ => ints!(
            "eq" => ==, "ne" => !=, "lt" | "lo" => <, "le" | "ls" => <=, "gt" | "hi" => >, "ge" | "hs" => >=
        ),
    }
}

/// Whether two numbers differ; a NaN differs from nothing.
fn differ(a: f64, b: f64) -> bool {
    !a.is_nan() && !b.is_nan() && a != b
}

/// Comparisons of narrow floats in part `part` of a register.
fn narrow_comparison(name: &str, format: Format, part: u32) -> Option<Function> {
    macro_rules! all {
        ($format:expr, $shift:expr; $($name:pat => |$a:ident, $b:ident| $test:expr),*) => {
            match name {
                $($name => Some(lanes!(|x, y, _c| {
                    let $a = decode((x >> $shift) as u32 & 0xffff, $format);
                    let $b = decode((y >> $shift) as u32 & 0xffff, $format);
                    u64::from($test)
                })),)*
                _ => None,
            }
        };
        ($format:expr, $shift:expr) => {
            all!($format, $shift;
                "eq" => |a, b| a == b, "ne" => |a, b| differ(a, b), "lt" => |a, b| a < b,
                "le" => |a, b| a <= b, "gt" => |a, b| a > b, "ge" => |a, b| a >= b,
                "neu" => |a, b| a != b, "equ" => |a, b| !differ(a, b),
                "num" => |a, b| !a.is_nan() && !b.is_nan(), "nan" => |a, b| a.is_nan() || b.is_nan())
        };
    }
    match (format == F16, part) {
        (true, 0) => all!(F16, 0),
        (true, _) => all!(F16, 16),
        (false, 0) => all!(BF16, 0),
        (false, _) => all!(BF16, 16),
    }
}
