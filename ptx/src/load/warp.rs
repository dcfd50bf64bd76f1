//! What threads do together: barriers, fences, shuffles, votes and tensor core tiles.

use super::memory::update_of;
use super::modifiers::Modifiers;
use super::{Frame, Loader, Result};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Class, Op, Product, Shuffle, Source, Tile, Vote};
use crate::error::SourceError;

impl<'m> Loader<'m> {
    pub(super) fn warp(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        root: &str,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        match root {
            "bar" | "barrier" => Ok((self.barrier(frame, i, root, m)?, Class::Barrier)),
            "fence" if m.take("proxy") => {
                if m.take_any(&["async", "async::shared::cta"]).is_none() {
                    return Err(m.unsupported("of this kind"));
                }
                m.ignore(|w| w == "shared::cta");
                Ok((Op::ProxyFence, Class::Barrier))
            }
            "membar" | "fence" => {
                m.ignore(|_| true);
                Ok((Op::Fence, Class::Barrier))
            }
            "shfl" => Ok((self.shuffle(frame, i, m)?, Class::Warp)),
            "vote" => Ok((self.vote(frame, i, m)?, Class::Warp)),
            "activemask" => {
                m.ty()?;
                let [to] = m.operands()?;
                Ok((Op::ActiveMask { dst: self.destination(frame, to, i.place)? }, Class::Warp))
            }
            "redux" => {
                m.ignore(|w| w == "sync");
                let ty = m.ty()?;
                let Some(name) = m.take_any(&["add", "min", "max", "and", "or", "xor"]) else {
                    return Err(m.unsupported(""));
                };
                let Some(update) = update_of(name, ty).filter(|_| ty.bytes() == 4) else {
                    return Err(m.unsupported("of this type"));
                };
                let [to, value, mask] = m.operands()?;
                let op = Op::Reduce {
                    dst: self.destination(frame, to, i.place)?,
                    update,
                    value: self.source(frame, value, ty, i.place)?,
                    mask: self.source(frame, mask, Type::B32, i.place)?,
                };
                Ok((op, Class::Warp))
            }
            "mma" => Ok((self.mma(frame, i, m)?, Class::Tensor)),
            "wgmma" => self.wgmma(frame, i, m),
            _ => {
                m.ignore(|_| true);
                Ok((Op::Nothing, Class::Control))
            }
        }
    }

    fn barrier(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        root: &str,
        m: &mut Modifiers<'m>,
    ) -> Result<Op> {
        if m.take("warp") {
            m.ignore(|w| w == "sync");
            let [mask] = m.operands()?;
            return Ok(Op::WarpBarrier { mask: self.source(frame, mask, Type::B32, i.place)? });
        }
        m.ignore(|w| w == "cta");
        let is_aligned = m.take("aligned") || root == "bar";
        let waits = match m.take_any(&["sync", "arrive"]) {
            Some(how) => how == "sync",
            None => return Err(m.unsupported("")),
        };
        let (id, count) = match i.operands.as_slice() {
            [id] => (id, None),
            [id, count] => (id, Some(count)),
            _ => {
                return Err(SourceError::new(
                    i.place,
                    "a barrier has a number, and may have a count",
                ));
            }
        };
        let id = self.source(frame, id, Type::U32, i.place)?;
        let count = match count {
            Some(count) => Some(self.source(frame, count, Type::U32, i.place)?),
            None => None,
        };
        Ok(Op::Barrier { id, count, is_aligned, waits })
    }

    fn shuffle(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<Op> {
        if !m.take("sync") {
            return Err(m.unsupported("without `.sync`"));
        }
        if m.ty()? != Type::B32 {
            return Err(m.unsupported("of this type"));
        }
        let how = match m.take_any(&["up", "down", "bfly", "idx"]) {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Butterfly,
            Some(_) => Shuffle::Index,
            None => return Err(m.unsupported("")),
        };
        let [to, value, lane, clamp, mask] = m.operands()?;
        let (to, found) = match to {
            Operand::Pair(to, found) => (&**to, Some(&**found)),
            to => (to, None),
        };
        let found = match found {
            None | Some(Operand::Sink) => None,
            Some(found) => Some(self.destination(frame, found, i.place)?),
        };
        Ok(Op::Shuffle {
            how,
            dst: self.destination(frame, to, i.place)?,
            found,
            value: self.source(frame, value, Type::B32, i.place)?,
            lane: self.source(frame, lane, Type::B32, i.place)?,
            clamp: self.source(frame, clamp, Type::B32, i.place)?,
            mask: self.source(frame, mask, Type::B32, i.place)?,
        })
    }

    fn vote(&mut self, frame: &Frame<'m>, i: &'m Instruction, m: &mut Modifiers<'m>) -> Result<Op> {
        if !m.take("sync") {
            return Err(m.unsupported("without `.sync`"));
        }
        let how = match m.take_any(&["all", "any", "uni", "ballot"]) {
            Some("all") => Vote::All,
            Some("any") => Vote::Any,
            Some("uni") => Vote::Uniform,
            Some(_) => Vote::Ballot,
            None => return Err(m.unsupported("")),
        };
        m.ty()?;
        let [to, value, mask] = m.operands()?;
        Ok(Op::Vote {
            how,
            dst: self.destination(frame, to, i.place)?,
            value: self.source(frame, value, Type::Pred, i.place)?,
            mask: self.source(frame, mask, Type::B32, i.place)?,
        })
    }

    fn wgmma(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<(Op, Class)> {
        m.ignore(|w| matches!(w, "sync" | "aligned"));
        match m.take_any(&["mma_async", "fence", "commit_group", "wait_group"]) {
            Some("mma_async") => Ok((self.product(frame, i, m)?, Class::Tensor)),
            Some("fence") => Ok((Op::ProductFence, Class::Tensor)),
            Some("commit_group") => Ok((Op::ProductCommit, Class::Tensor)),
            Some(_) => {
                let [Operand::Int(count)] = m.operands()? else {
                    return Err(SourceError::new(i.place, "`wgmma.wait_group` takes a number"));
                };
                Ok((Op::ProductWait(*count as u32), Class::Tensor))
            }
            None => Err(m.unsupported("")),
        }
    }

    /// `wgmma.mma_async.sync.aligned.m64nNk16.f32.T.T sums, a, b, is-added, ±1, ±1, is-across, is-across;`
    fn product(
        &mut self,
        frame: &Frame<'m>,
        i: &'m Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<Op> {
        let shape = m.take_after("m64n").and_then(|rest| rest.strip_suffix("k16"));
        let columns = shape.and_then(|n| n.parse::<u32>().ok());
        let Some(columns) = columns.filter(|n| n.is_multiple_of(8) && (8..=256).contains(n)) else {
            return Err(m.unsupported("of this shape"));
        };
        let is_bf16 = match [m.ty()?, m.ty()?, m.ty()?] {
            [Type::Bf16, Type::Bf16, Type::F32] => true,
            [Type::F16, Type::F16, Type::F32] => false,
            _ => return Err(m.unsupported("of these types")),
        };
        let [Operand::Vector(sums), a, b, is_added, signs @ .., across_a, across_b] =
            m.operands::<8>()?
        else {
            return Err(SourceError::new(i.place, "`wgmma.mma_async` has a vector of sums"));
        };
        if matches!(a, Operand::Vector(_)) {
            return Err(m.unsupported("with a left matrix in registers"));
        }
        if sums.len() != columns as usize / 2 {
            let message = format!("{columns} columns are {} registers a thread", columns / 2);
            return Err(SourceError::new(i.place, message));
        }
        let sign = |operand: &Operand| match operand {
            Operand::Int(1) => Ok(false),
            Operand::Int(n) if *n as i32 == -1 => Ok(true),
            _ => Err(SourceError::new(i.place, "matrices are scaled by 1 or -1")),
        };
        let flag = |operand: &Operand| match operand {
            Operand::Int(n @ 0..=1) => Ok(*n == 1),
            _ => Err(SourceError::new(i.place, "a matrix is transposed (1) or not (0)")),
        };
        let sums =
            sums.iter().map(|sum| self.destination(frame, sum, i.place)).collect::<Result<_>>()?;
        Ok(Op::Product(Product {
            columns,
            is_bf16,
            sums,
            is_negated: [sign(&signs[0])?, sign(&signs[1])?],
            is_across: [flag(across_a)?, flag(across_b)?],
            a: self.source(frame, a, Type::B64, i.place)?,
            b: self.source(frame, b, Type::B64, i.place)?,
            is_added: self.source(frame, is_added, Type::Pred, i.place)?,
        }))
    }

    /// `mma.sync.aligned.m16n8kK.row.col.f32.A.B.f32`.
    fn mma(&mut self, frame: &Frame<'m>, i: &'m Instruction, m: &mut Modifiers<'m>) -> Result<Op> {
        m.ignore(|w| matches!(w, "sync" | "aligned" | "row"));
        if !m.take("col") {
            return Err(m.unsupported("without `.row.col`"));
        }
        let Some(shape) = m.take_any(&["m16n8k16", "m16n8k8", "m16n8k4"]) else {
            return Err(m.unsupported("of this shape"));
        };
        let types = [m.ty()?, m.ty()?, m.ty()?, m.ty()?];
        let tile = match types {
            [Type::F32, Type::F16, Type::F16, Type::F32] => Tile::F16,
            [Type::F32, Type::Bf16, Type::Bf16, Type::F32] => Tile::Bf16,
            [Type::F32, Type::Tf32, Type::Tf32, Type::F32] => Tile::Tf32,
            _ => return Err(m.unsupported("of these types")),
        };
        let depth = match (shape, tile) {
            ("m16n8k16", Tile::F16 | Tile::Bf16) => 16,
            ("m16n8k8", _) => 8,
            ("m16n8k4", Tile::Tf32) => 4,
            _ => return Err(m.unsupported("of this shape")),
        };
        // Elements a lane holds, packed by two where they are narrow.
        let packed = if tile == Tile::Tf32 { 1 } else { 2 };
        let (a_count, b_count) = (16 * depth / 32 / packed, 8 * depth / 32 / packed);
        let [Operand::Vector(d), a, b, Operand::Vector(c)] = m.operands()? else {
            return Err(SourceError::new(i.place, "`mma` takes four vectors of registers"));
        };
        let list = |operand: &'m Operand| -> &'m [Operand] {
            match operand {
                Operand::Vector(parts) => parts,
                one => std::slice::from_ref(one),
            }
        };
        let (a, b) = (list(a), list(b));
        if d.len() != 4 || c.len() != 4 || a.len() != a_count || b.len() != b_count {
            let message = format!("`{}` takes 4, {a_count}, {b_count} and 4 registers", i.opcode);
            return Err(SourceError::new(i.place, message));
        }
        let mut sources = |parts: &[Operand], ty| -> Result<Vec<Source>> {
            parts.iter().map(|part| self.source(frame, part, ty, i.place)).collect()
        };
        let (a, b, c) = (sources(a, Type::B32)?, sources(b, Type::B32)?, sources(c, Type::F32)?);
        let d =
            d.iter().map(|part| self.destination(frame, part, i.place)).collect::<Result<_>>()?;
        Ok(Op::Mma { tile, depth: depth as u32, d, a, b, c })
    }
}
