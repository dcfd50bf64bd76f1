//! Arithmetic and logic: which operands an instruction has, and what becomes several steps.

use super::functions::{
    float_function, insert, integer_function, lanes, saturated, single, singles,
};
use super::modifiers::Modifiers;
use super::{Frame, Loader, Result};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Class, Function, Op, Source};
use crate::error::SourceError;
use crate::float::{BF16, F16, Rounding, decode, flush};

impl<'m> Loader<'m> {
    pub(super) fn arithmetic(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        root: &str,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        if m.has("approx") {
            m.take("approx");
        }
        // `shf.l.wrap.b32`, `lop3.b32` and the like have one type; `add.rn.f32.f16` has two.
        let second = if m.types() == 2 && root != "set" { Some(m.ty()?) } else { None };
        let ty = m.ty().map_err(|_| m.unsupported(""))?;
        if second.is_some() && !matches!(root, "add" | "sub" | "fma") {
            return Err(m.unsupported("with two types"));
        }
        let ftz = m.take("ftz");
        let is_float = matches!(
            ty,
            Type::F16
                | Type::F16x2
                | Type::Bf16
                | Type::Bf16x2
                | Type::F32
                | Type::F32x2
                | Type::F64
        );
        let rounding = m.rounding().unwrap_or(Rounding::Nearest);
        m.ignore(|w| w == "full");
        if let Some(narrow) = second {
            return self.mixed(frame, i, root, m, narrow);
        }
        let function = if is_float {
            float_function(root, ty, ftz, rounding, m)?
        } else {
            integer_function(root, ty, m)?
        };
        let Some(function) = function else { return Err(m.unsupported("")) };
        let function = if m.take("sat") {
            if ty != Type::F32 {
                return Err(m.unsupported("with `.sat` of this type"));
            }
            match root {
                "add" => singles!(ftz, |a, b, _c| saturated(a + b)),
                "sub" => singles!(ftz, |a, b, _c| saturated(a - b)),
                "mul" => singles!(ftz, |a, b, _c| saturated(a * b)),
                "fma" | "mad" => singles!(ftz, |a, b, c| saturated(a.mul_add(b, c))),
                _ => return Err(m.unsupported("with `.sat`")),
            }
        } else {
            function
        };
        let class = if is_float { Class::Float } else { Class::Integer };
        Ok((self.compute(frame, i, root, ty, function)?, class))
    }

    /// `dst, a[, b[, c]]` with the types that `root` gives its operands.
    fn compute(
        &mut self,
        frame: &Frame<'m>,
        i: &Instruction,
        root: &str,
        ty: Type,
        f: Function,
    ) -> Result<Op> {
        let takes = match root {
            "fma" | "mad" | "mad24" | "selp" | "shf" | "prmt" | "bfe" | "slct" | "sad" | "dp4a" => {
                3
            }
            "lop3" | "bfi" => 4,
            "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "min" | "max" | "and" | "or"
            | "xor" | "shl" | "shr" | "copysign" | "bmsk" => 2,
            _ => 1,
        };
        let min_max_of_three = matches!(root, "min" | "max") && i.operands.len() == 4;
        let takes = if min_max_of_three { 3 } else { takes };
        let [to, operands @ ..] = i.operands.as_slice() else {
            return Err(SourceError::new(i.place, format!("`{}` has no operands", i.opcode)));
        };
        if operands.len() != takes {
            let message = format!("`{}` takes {takes} sources, not {}", i.opcode, operands.len());
            return Err(SourceError::new(i.place, message));
        }
        let mut src = [Source::Value(0); 3];
        for (at, (slot, operand)) in src.iter_mut().zip(operands).enumerate() {
            let ty = match (root, at) {
                ("selp", 2) => Type::Pred,
                ("shl" | "shr", 1) | ("bfe", 1 | 2) => Type::U32,
                ("mad", 2) if i.opcode.contains(".wide") => match ty {
                    Type::S16 | Type::U16 => Type::B32,
                    _ => Type::B64,
                },
                _ => ty,
            };
            *slot = self.source(frame, operand, ty, i.place)?;
        }
        let dst = self.destination(frame, to, i.place)?;
        if root == "lop3" {
            let [_, _, _, Operand::Int(table)] = operands else {
                return Err(SourceError::new(i.place, "the table of `lop3` has to be a number"));
            };
            return Ok(self.lop3(dst, src, *table as u8, i));
        }
        if root == "bfi" {
            return self.bfi(frame, i, dst, src, operands, ty);
        }
        Ok(Op::Compute { f, dst, src })
    }

    pub(super) fn temporary(&mut self, ty: Type) -> u32 {
        self.code.registers.push(("(temporary)".to_string(), ty));
        self.code.registers.len() as u32 - 1
    }

    /// Any function of three bits, as a sum of its minterms.
    fn lop3(&mut self, dst: u32, src: [Source; 3], table: u8, i: &Instruction) -> Op {
        let sum = self.temporary(Type::B32);
        let copy: Function = |a, _, _, d| *d = *a;
        let zero = Source::Value(0);
        let clear = Op::Compute { f: copy, dst: sum, src: [zero; 3] };
        self.push(clear, None, Class::Integer, i.place);
        const MINTERMS: [Function; 8] = [
            lanes!(|a, b, c| !a & !b & !c & 0xffff_ffff),
            lanes!(|a, b, c| !a & !b & c & 0xffff_ffff),
            lanes!(|a, b, c| !a & b & !c & 0xffff_ffff),
            lanes!(|a, b, c| !a & b & c & 0xffff_ffff),
            lanes!(|a, b, c| a & !b & !c & 0xffff_ffff),
            lanes!(|a, b, c| a & !b & c & 0xffff_ffff),
            lanes!(|a, b, c| a & b & !c & 0xffff_ffff),
            lanes!(|a, b, c| a & b & c & 0xffff_ffff),
        ];
        for (term, f) in MINTERMS.into_iter().enumerate() {
            if table >> term & 1 == 1 {
                let part = self.temporary(Type::B32);
                self.push(Op::Compute { f, dst: part, src }, None, Class::Integer, i.place);
                let f: Function = lanes!(|a, b, c| a | b);
                let src = [Source::Register(sum), Source::Register(part), zero];
                self.push(Op::Compute { f, dst: sum, src }, None, Class::Integer, i.place);
            }
        }
        Op::Compute { f: copy, dst, src: [Source::Register(sum), zero, zero] }
    }

    fn bfi(
        &mut self,
        frame: &Frame<'m>,
        i: &Instruction,
        dst: u32,
        src: [Source; 3],
        operands: &[Operand],
        ty: Type,
    ) -> Result<Op> {
        let length = self.source(frame, &operands[3], Type::U32, i.place)?;
        let [value, into, position] = src;
        // Position and length travel together in one register.
        let field = self.temporary(Type::B64);
        let f = lanes!(|a, b, _c| (a & 0xff) | (b & 0xff) << 8);
        let src = [position, length, Source::Value(0)];
        self.push(Op::Compute { f, dst: field, src }, None, Class::Integer, i.place);
        let f = match ty {
            Type::B32 => lanes!(|a, b, c| insert(a, b, c, 32)),
            Type::B64 => lanes!(|a, b, c| insert(a, b, c, 64)),
            _ => return Err(SourceError::new(i.place, "`bfi` is of .b32 or .b64")),
        };
        Ok(Op::Compute { f, dst, src: [value, into, Source::Register(field)] })
    }

    /// `add`, `sub` and `fma` of singles with operands of a narrow type.
    fn mixed(
        &mut self,
        frame: &Frame<'m>,
        i: &Instruction,
        root: &str,
        m: &Modifiers<'m>,
        narrow: Type,
    ) -> Result<(Op, Class)> {
        let f = match (root, narrow) {
            ("add", Type::F16) => lanes!(|a, b, _c| {
                u64::from((decode(a as u32, F16) as f32 + single(b)).to_bits())
            }),
            ("add", Type::Bf16) => lanes!(|a, b, _c| {
                u64::from((decode(a as u32, BF16) as f32 + single(b)).to_bits())
            }),
            ("sub", Type::F16) => lanes!(|a, b, _c| {
                u64::from((decode(a as u32, F16) as f32 - single(b)).to_bits())
            }),
            ("sub", Type::Bf16) => lanes!(|a, b, _c| {
                u64::from((decode(a as u32, BF16) as f32 - single(b)).to_bits())
            }),
            ("fma", Type::F16) => lanes!(|a, b, c| {
                let (a, b) = (decode(a as u32, F16) as f32, decode(b as u32, F16) as f32);
                u64::from(a.mul_add(b, single(c)).to_bits())
            }),
            ("fma", Type::Bf16) => lanes!(|a, b, c| {
                let (a, b) = (decode(a as u32, BF16) as f32, decode(b as u32, BF16) as f32);
                u64::from(a.mul_add(b, single(c)).to_bits())
            }),
            _ => return Err(m.unsupported("with two types")),
        };
        Ok((self.compute(frame, i, root, Type::F32, f)?, Class::Float))
    }
}
