//! Loads, stores, atomics, asynchronous copies and matrix loads.

use super::modifiers::Modifiers;
use super::{Frame, Loader, Result};
use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Address, Class, Op, Source, Update};
use crate::error::SourceError;
use crate::float::{BF16, F16, Rounding, decode, encode};

impl<'m> Loader<'m> {
    /// `[…]`, in the space that the instruction names; `None` is a generic address.
    fn address(
        &mut self,
        frame: &Frame<'m>,
        operand: &Operand,
        space: Option<Space>,
        i: &Instruction,
    ) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(SourceError::new(i.place, "the address has to stand in brackets"));
        };
        let is_entry = self.stack.len() == 1;
        let (found, base) = match &**base {
            Operand::Variable(number) => {
                let (space, offset) = self.home(frame, *number);
                (Some(space), Source::Value(offset))
            }
            Operand::Name(name) => {
                let (space, source) = self.variable(name, i.place)?;
                (Some(space), source)
            }
            other => (None, self.source(frame, other, Type::B64, i.place)?),
        };
        let space = match (space, found) {
            // A parameter of a device function is memory of the thread.
            (Some(Space::Param), Some(home)) => home,
            (Some(Space::Param), None) if !is_entry => Space::Local,
            (Some(space), _) => space,
            (None, Some(home)) => home,
            (None, None) => Space::Generic,
        };
        Ok(Address { space, base, offset: *offset })
    }

    fn space(m: &mut Modifiers<'m>) -> Option<Space> {
        let spaces = [
            "global",
            "shared",
            "local",
            "param",
            "const",
            "shared::cta",
            "param::entry",
            "param::func",
        ];
        Some(match m.take_any(&spaces)? {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "local" => Space::Local,
            "const" => Space::Const,
            _ => Space::Param,
        })
    }

    pub(super) fn memory(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        root: &str,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        // Cache policies change how fast an access is, not what it does.
        m.ignore(|w| {
            w.starts_with("L2::")
                || w.starts_with("L1::")
                || matches!(w, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt") && root != "cp"
        });
        match root {
            "ld" | "ldu" => self.load(frame, i, m),
            "st" => self.store(frame, i, m),
            "atom" | "red" => self.atomic(frame, i, m, root == "atom"),
            "ldmatrix" => self.load_matrix(frame, i, m),
            "cp" => self.copy(frame, i, m),
            _ => {
                m.ignore(|_| true);
                Ok((Op::Nothing, Class::Control))
            }
        }
    }

    fn is_strong(m: &mut Modifiers<'m>) -> bool {
        let orders = ["volatile", "relaxed", "acquire", "release", "acq_rel"];
        let is_strong = m.take_any(&orders).is_some();
        m.ignore(|w| matches!(w, "weak" | "cta" | "cluster" | "gpu" | "sys" | "unified"));
        is_strong
    }

    fn vector(m: &mut Modifiers<'m>) -> usize {
        match m.take_any(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        }
    }

    fn load(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        m.ignore(|w| w == "nc");
        let is_strong = Self::is_strong(m);
        let space = Self::space(m);
        let count = Self::vector(m);
        let ty = m.ty()?;
        let [to, from] = m.operands()?;
        let parts: &[Operand] = match to {
            Operand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        };
        if parts.len() != count || ty == Type::B128 {
            return Err(SourceError::new(i.place, format!("`{}` loads {count} values", i.opcode)));
        }
        let dst = parts
            .iter()
            .map(|part| match part {
                Operand::Sink => Ok(None),
                part => self.destination(frame, part, i.place).map(Some),
            })
            .collect::<Result<_>>()?;
        let at = self.address(frame, from, space, i)?;
        Ok((Op::Load { dst, ty, at, is_strong }, Class::Load))
    }

    fn store(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        let is_strong = Self::is_strong(m);
        let space = Self::space(m);
        let count = Self::vector(m);
        let ty = m.ty()?;
        let [to, from] = m.operands()?;
        let parts: &[Operand] = match from {
            Operand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        };
        if parts.len() != count || ty == Type::B128 {
            return Err(SourceError::new(i.place, format!("`{}` stores {count} values", i.opcode)));
        }
        let src = parts
            .iter()
            .map(|part| self.source(frame, part, ty, i.place))
            .collect::<Result<_>>()?;
        let at = self.address(frame, to, space, i)?;
        Ok((Op::Store { src, ty, at, is_strong }, Class::Store))
    }

    fn atomic(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
        gives_old: bool,
    ) -> Result<(Op, Class)> {
        Self::is_strong(m);
        m.ignore(|w| w == "noftz" || w == "ftz");
        let space = Self::space(m);
        let count = Self::vector(m);
        let ty = m.ty()?;
        let names = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
        let Some(name) = m.take_any(&names) else { return Err(m.unsupported("")) };
        let Some(update) = update_of(name, ty) else { return Err(m.unsupported("of this type")) };
        let (dst, rest) = match (gives_old, i.operands.as_slice()) {
            (true, [to, rest @ ..]) => (Some(to), rest),
            (_, rest) => (None, rest),
        };
        let (at, operand, second) = match rest {
            [at, operand] if name != "cas" => (at, operand, None),
            [at, operand, second] if name == "cas" => (at, operand, Some(second)),
            _ => {
                return Err(SourceError::new(
                    i.place,
                    format!("`{}` has other operands", i.opcode),
                ));
            }
        };
        let list = |operand: &'m Operand| match operand {
            Operand::Vector(parts) => parts.iter().collect::<Vec<_>>(),
            one => vec![one],
        };
        let mut dsts = match dst {
            Some(dst) => list(dst)
                .into_iter()
                .map(|part| match part {
                    Operand::Sink => Ok(None),
                    part => self.destination(frame, part, i.place).map(Some),
                })
                .collect::<Result<Vec<_>>>()?,
            None => vec![None; count],
        };
        let mut operands = list(operand)
            .into_iter()
            .map(|part| self.source(frame, part, ty, i.place))
            .collect::<Result<Vec<_>>>()?;
        if dsts.len() != count || operands.len() != count {
            return Err(SourceError::new(i.place, format!("`{}` takes {count} values", i.opcode)));
        }
        let second = match second {
            Some(second) => self.source(frame, second, ty, i.place)?,
            None => Source::Value(0),
        };
        let at = self.address(frame, at, space, i)?;
        let more = dsts.drain(1..).zip(operands.drain(1..)).collect();
        let op = Op::Atomic {
            dst: dsts[0],
            ty,
            at,
            update,
            operand: operands[0],
            second,
            count: count as u32,
            more,
        };
        Ok((op, Class::Atomic))
    }

    fn load_matrix(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        m.ignore(|w| matches!(w, "sync" | "aligned" | "m8n8"));
        let count = match m.take_any(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Err(m.unsupported("")),
        };
        let is_transposed = m.take("trans");
        let space = Self::space(m);
        if m.ty()? != Type::B16 {
            return Err(m.unsupported("of this type"));
        }
        let [to, from] = m.operands()?;
        let parts: &[Operand] = match to {
            Operand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        };
        if parts.len() != count {
            return Err(SourceError::new(
                i.place,
                format!("`{}` loads {count} matrices", i.opcode),
            ));
        }
        let dst = parts
            .iter()
            .map(|part| self.destination(frame, part, i.place))
            .collect::<Result<_>>()?;
        let at = self.address(frame, from, space, i)?;
        Ok((Op::LoadMatrix { dst, is_transposed, at }, Class::Load))
    }

    /// `cp.async` in its forms without mbarriers.
    fn copy(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        if !m.take("async") {
            return Err(m.unsupported(""));
        }
        if m.take("commit_group") {
            return Ok((Op::AsyncCommit, Class::Copy));
        }
        if m.take("wait_all") {
            return Ok((Op::AsyncWait(u32::MAX), Class::Copy));
        }
        if m.take("wait_group") {
            let [Operand::Int(count)] = m.operands()? else {
                return Err(SourceError::new(i.place, "`cp.async.wait_group` takes a number"));
            };
            return Ok((Op::AsyncWait((*count).min(1 << 30) as u32), Class::Copy));
        }
        if m.take_any(&["ca", "cg"]).is_none() || m.take_any(&["shared", "shared::cta"]).is_none() {
            return Err(m.unsupported(""));
        }
        if !m.take("global") {
            return Err(m.unsupported("from this space"));
        }
        let (to, from, bytes, take) = match i.operands.as_slice() {
            [to, from, Operand::Int(bytes)] => (to, from, *bytes, None),
            [to, from, Operand::Int(bytes), take] => (to, from, *bytes, Some(take)),
            _ => return Err(SourceError::new(i.place, "`cp.async` copies 4, 8 or 16 bytes")),
        };
        if !matches!(bytes, 4 | 8 | 16) || (i.opcode.contains(".cg") && bytes != 16) {
            let message = format!("`{}` cannot copy {bytes} bytes at a time", i.opcode);
            return Err(SourceError::new(i.place, message));
        }
        let take = match take {
            Some(take) => Some(self.source(frame, take, Type::U32, i.place)?),
            None => None,
        };
        let to = self.address(frame, to, Some(Space::Shared), i)?;
        let from = self.address(frame, from, Some(Space::Global), i)?;
        Ok((Op::AsyncCopy { to, from, bytes: bytes as u32, take }, Class::Copy))
    }
}

/// What an atomic or a warp reduction does to the old value.
pub(super) fn update_of(name: &str, ty: Type) -> Option<Update> {
    fn narrow(a: u64, b: u64, format: crate::float::Format, parts: u32) -> u64 {
        (0..parts).fold(0, |sum, part| {
            let take = |v: u64| decode((v >> (16 * part)) as u32 & 0xffff, format);
            let bits = encode(take(a) + take(b), format, Rounding::Nearest);
            sum | u64::from(bits) << (16 * part)
        })
    }
    Some(match (name, ty) {
        ("add", Type::U32 | Type::S32 | Type::B32) => |a, b, _| a.wrapping_add(b) & 0xffff_ffff,
        ("add", Type::U64 | Type::S64 | Type::B64) => |a, b, _| a.wrapping_add(b),
        ("add", Type::F32) => {
            |a, b, _| u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits())
        }
        ("add", Type::F64) => |a, b, _| (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        ("add", Type::F16) => |a, b, _| narrow(a, b, F16, 1),
        ("add", Type::F16x2) => |a, b, _| narrow(a, b, F16, 2),
        ("add", Type::Bf16) => |a, b, _| narrow(a, b, BF16, 1),
        ("add", Type::Bf16x2) => |a, b, _| narrow(a, b, BF16, 2),
        ("min", Type::U32 | Type::U64) => |a, b, _| a.min(b),
        ("max", Type::U32 | Type::U64) => |a, b, _| a.max(b),
        ("min", Type::S32) => |a, b, _| u64::from((a as i32).min(b as i32) as u32),
        ("max", Type::S32) => |a, b, _| u64::from((a as i32).max(b as i32) as u32),
        ("min", Type::S64) => |a, b, _| (a as i64).min(b as i64) as u64,
        ("max", Type::S64) => |a, b, _| (a as i64).max(b as i64) as u64,
        ("and", Type::B32 | Type::B64) => |a, b, _| a & b,
        ("or", Type::B32 | Type::B64) => |a, b, _| a | b,
        ("xor", Type::B32 | Type::B64) => |a, b, _| a ^ b,
        ("exch", Type::B32 | Type::B64) => |_, b, _| b,
        ("cas", Type::B16 | Type::B32 | Type::B64) => |a, b, c| if a == b { c } else { a },
        ("inc", Type::U32) => |a, b, _| if a >= b { 0 } else { a + 1 },
        ("dec", Type::U32) => |a, b, _| if a == 0 || a > b { b } else { a - 1 },
        _ => return None,
    })
}
