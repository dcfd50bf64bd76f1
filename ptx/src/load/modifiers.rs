//! The dotted words of an opcode, taken one by one; what is left over at the end is not supported.

use crate::ast::{Instruction, Type};
use crate::error::SourceError;
use crate::float::Rounding;

pub(super) struct Modifiers<'i> {
    words: Vec<&'i str>,
    instruction: &'i Instruction,
}

impl<'i> Modifiers<'i> {
    pub(super) fn new(instruction: &'i Instruction) -> (&'i str, Self) {
        let mut words = instruction.opcode.split('.');
        let root = words.next().unwrap_or_default();
        (root, Self { words: words.collect(), instruction })
    }

    /// Whether `word` is among them.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// Takes `word`, if it is there.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let at = self.words.iter().position(|w| *w == word);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Takes the first of `words` that is there.
    pub(super) fn take_any(&mut self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.take(word))
    }

    /// Takes the first word that begins with `start`, and gives what follows.
    pub(super) fn take_after(&mut self, start: &str) -> Option<&'i str> {
        let at = self.words.iter().position(|w| w.starts_with(start))?;
        self.words.remove(at).strip_prefix(start)
    }

    /// Takes every word for which `is_ignored` holds.
    pub(super) fn ignore(&mut self, is_ignored: impl Fn(&str) -> bool) {
        self.words.retain(|word| !is_ignored(word));
    }

    /// Takes the last type.
    pub(super) fn ty(&mut self) -> Result<Type, SourceError> {
        let at = self.words.iter().rposition(|w| Type::from_name(w).is_some());
        let taken = at.map(|at| self.words.remove(at));
        taken.and_then(Type::from_name).ok_or_else(|| self.unsupported("has no type that is known"))
    }

    /// How many types there are.
    pub(super) fn types(&self) -> usize {
        self.words.iter().filter(|w| Type::from_name(w).is_some()).count()
    }

    /// Takes a rounding of a floating-point result.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        Some(match self.take_any(&["rn", "rz", "rm", "rp", "rna"])? {
            "rn" => Rounding::Nearest,
            "rz" => Rounding::Zero,
            "rm" => Rounding::Down,
            "rp" => Rounding::Up,
            _ => Rounding::NearestAway,
        })
    }

    /// An error unless every word was taken.
    pub(super) fn finish(&self) -> Result<(), SourceError> {
        match self.words.as_slice() {
            [] => Ok(()),
            words => Err(self.unsupported(&format!("with `.{}`", words.join(".")))),
        }
    }

    /// The instruction is not supported, and why.
    pub(super) fn unsupported(&self, why: &str) -> SourceError {
        let message = format!("`{}` {why} is not supported", self.instruction.opcode);
        SourceError::new(self.instruction.place, message)
    }

    /// The operands, exactly `N`.
    pub(super) fn operands<const N: usize>(
        &self,
    ) -> Result<&'i [crate::ast::Operand; N], SourceError> {
        let operands = self.instruction.operands.as_slice();
        operands.try_into().map_err(|_| {
            let message =
                format!("`{}` takes {N} operands, not {}", self.instruction.opcode, operands.len());
            SourceError::new(self.instruction.place, message)
        })
    }
}
