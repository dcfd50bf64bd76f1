//! One instruction: which part of the loader decides it, and moves, branches and calls themselves.

use super::functions::lanes;
use super::modifiers::Modifiers;
use super::{Frame, Loader, Result, mask_of};
use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Class, LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW, Source};
use crate::error::SourceError;

impl<'m> Loader<'m> {
    pub(super) fn instruction(&mut self, frame: &mut Frame<'m>, i: &'m Instruction) -> Result<()> {
        let (root, mut m) = Modifiers::new(i);
        let guard = i.guard.map(|(register, negated)| (frame.first + register, negated));
        let place = i.place;
        let (op, class) = match root {
            "mov" => (self.mov(frame, i, &mut m)?, Class::Move),
            "cvta" => (self.cvta(frame, i, &mut m)?, Class::Move),
            "bra" => {
                m.ignore(|w| w == "uni");
                let [target] = m.operands()?;
                let Operand::Name(label) = target else {
                    return Err(SourceError::new(place, "`bra` takes a label"));
                };
                frame.fixes.push((self.code.steps.len(), label.clone(), place));
                (Op::Branch(0), Class::Control)
            }
            "brx" => {
                m.ignore(|w| w == "idx" || w == "uni");
                let [index, Operand::Name(list)] = m.operands()? else {
                    return Err(SourceError::new(
                        place,
                        "`brx.idx` takes an index and a list of labels",
                    ));
                };
                let index = self.source(frame, index, Type::U32, place)?;
                frame.fixes.push((self.code.steps.len(), list.clone(), place));
                (Op::BranchTable { index, targets: Vec::new() }, Class::Control)
            }
            "ret" | "exit" => {
                m.ignore(|w| w == "uni");
                if root == "ret" && self.stack.len() > 1 {
                    frame.fixes.push((self.code.steps.len(), String::new(), place));
                    (Op::Branch(0), Class::Control)
                } else {
                    (Op::Exit, Class::Control)
                }
            }
            "trap" | "brkpt" => (Op::Trap, Class::Control),
            "call" => return self.call(frame, i, guard),
            "ld" | "ldu" | "st" | "atom" | "red" | "cp" | "ldmatrix" | "prefetch" | "prefetchu"
            | "discard" | "applypriority" => self.memory(frame, i, root, &mut m)?,
            "bar" | "barrier" | "membar" | "fence" | "shfl" | "vote" | "activemask" | "redux"
            | "mma" | "wgmma" | "griddepcontrol" | "nanosleep" => {
                self.warp(frame, i, root, &mut m)?
            }
            "cvt" => (self.cvt(frame, i, &mut m)?, Class::Move),
            "setp" => return self.setp(frame, i, &mut m, guard),
            _ => self.arithmetic(frame, i, root, &mut m)?,
        };
        m.finish()?;
        self.push(op, guard, class, place);
        Ok(())
    }

    fn mov(&mut self, frame: &mut Frame<'m>, i: &Instruction, m: &mut Modifiers<'m>) -> Result<Op> {
        let ty = m.ty()?;
        let [to, from] = m.operands()?;
        let bits = |parts: usize| ty.bytes() * 8 / (parts.max(1) as u32);
        Ok(match (to, from) {
            (Operand::Vector(parts), from) => {
                let dst = parts
                    .iter()
                    .map(|part| match part {
                        Operand::Sink => Ok(None),
                        part => self.destination(frame, part, i.place).map(Some),
                    })
                    .collect::<Result<_>>()?;
                Op::Unpack {
                    dst,
                    src: self.source(frame, from, ty, i.place)?,
                    bits: bits(parts.len()),
                }
            }
            (to, Operand::Vector(parts)) => {
                let bits = bits(parts.len());
                let part_ty = match bits {
                    8 => Type::B8,
                    16 => Type::B16,
                    _ => Type::B32,
                };
                let src = parts
                    .iter()
                    .map(|part| self.source(frame, part, part_ty, i.place))
                    .collect::<Result<_>>()?;
                Op::Pack { dst: self.destination(frame, to, i.place)?, src, bits }
            }
            (to, from) => {
                let dst = self.destination(frame, to, i.place)?;
                let src = self.source(frame, from, ty, i.place)?;
                let f = match mask_of(ty) {
                    0xffff_ffff => lanes!(|a, _b, _c| a & 0xffff_ffff),
                    _ => lanes!(|a, _b, _c| a),
                };
                Op::Compute { f, dst, src: [src, Source::Value(0), Source::Value(0)] }
            }
        })
    }

    fn cvta(
        &mut self,
        frame: &mut Frame<'m>,
        i: &Instruction,
        m: &mut Modifiers<'m>,
    ) -> Result<Op> {
        let ty = m.ty()?;
        let is_to = m.take("to");
        let spaces = ["global", "shared", "local", "const", "param", "shared::cta"];
        let Some(space) = m.take_any(&spaces) else {
            return Err(m.unsupported("without a space"));
        };
        let [to, from] = m.operands()?;
        let window = match space {
            "shared" | "shared::cta" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            "param" => PARAM_WINDOW,
            _ => 0,
        };
        let change = if is_to { window.wrapping_neg() } else { window };
        Ok(Op::Compute {
            f: |a, b, _, d| {
                for l in 0..a.len() {
                    d[l] = a[l].wrapping_add(b[l]);
                }
            },
            dst: self.destination(frame, to, i.place)?,
            src: [self.source(frame, from, ty, i.place)?, Source::Value(change), Source::Value(0)],
        })
    }

    fn call(
        &mut self,
        frame: &mut Frame<'m>,
        i: &'m Instruction,
        guard: Option<(u32, bool)>,
    ) -> Result<()> {
        let (results, name, arguments) = match i.operands.as_slice() {
            [Operand::List(results), Operand::Name(name), Operand::List(arguments)] => {
                (results.as_slice(), name, arguments.as_slice())
            }
            [Operand::Name(name), Operand::List(arguments)] => {
                (&[][..], name, arguments.as_slice())
            }
            [Operand::List(results), Operand::Name(name)] => (results.as_slice(), name, &[][..]),
            [Operand::Name(name)] => (&[][..], name, &[][..]),
            _ => {
                let message = "only calls of a named function are supported";
                return Err(SourceError::new(i.place, message));
            }
        };
        let Some(callee) = self.module.functions.iter().find(|f| f.name == *name) else {
            return Err(SourceError::new(i.place, format!("{name} is declared nowhere")));
        };
        if !callee.is_defined {
            let message = format!("{name} is called, but the module does not define it");
            return Err(SourceError::new(i.place, message)
                .hint("link libdevice and the like before the module is read"));
        }
        if results.len() != callee.results.len() || arguments.len() != callee.params.len() {
            let message = format!(
                "{name} takes {} arguments and gives {} results",
                callee.params.len(),
                callee.results.len()
            );
            return Err(SourceError::new(i.place, message));
        }
        let mut homes = Vec::new();
        let own = callee.params.iter().chain(&callee.results);
        for (own, given) in own.zip(arguments.iter().chain(results)) {
            let Operand::Variable(given) = given else {
                let message = "arguments and results of a call are .param variables";
                return Err(SourceError::new(i.place, message));
            };
            let home = self.home(frame, *given);
            if home.0 != Space::Local {
                return Err(SourceError::new(i.place, "a parameter of the kernel is passed on"));
            }
            homes.push((*own, home));
        }
        // A guarded call is jumped over where the guard does not hold.
        let skip = guard.map(|(register, negated)| {
            let at = self.code.steps.len();
            self.push(Op::Branch(0), Some((register, !negated)), Class::Control, i.place);
            at
        });
        self.inline(callee, homes)?;
        if let Some(at) = skip {
            let end = self.code.steps.len() as u32;
            self.code.steps[at].op = Op::Branch(end);
        }
        Ok(())
    }
}
