//! What a text says again and again, found by its spelling without asking the context, which others use too.

use rustc_hash::FxHashMap;

use crate::{Attr, AttrData, Context, Name, OpName, Type};

/// What spellings stand for. The last one is at hand: the same types and names come in rows.
pub(super) struct Spellings<'p, T> {
    last: Option<(&'p str, T)>,
    known: FxHashMap<&'p str, T>,
}

impl<T> Default for Spellings<'_, T> {
    fn default() -> Self {
        Self { last: None, known: FxHashMap::default() }
    }
}

impl<'p, T: Copy> Spellings<'p, T> {
    pub(super) fn get(&mut self, text: &'p str) -> Option<T> {
        match self.last {
            Some((last, found)) if last == text => Some(found),
            _ => {
                let found = *self.known.get(text)?;
                self.last = Some((text, found));
                Some(found)
            }
        }
    }

    pub(super) fn insert(&mut self, text: &'p str, found: T) {
        self.known.insert(text, found);
    }
}

/// Small integers that were read last, by value.
const INTEGERS: usize = 64;

/// The spellings of a text.
#[derive(Default)]
pub(super) struct Seen<'p> {
    pub(super) op_names: Spellings<'p, OpName>,
    pub(super) names: Spellings<'p, Name>,
    pub(super) types: Spellings<'p, Type>,
    integers: Vec<Option<(i64, Type, Attr)>>,
}

impl Seen<'_> {
    /// The attribute of an integer that its type can hold.
    pub(super) fn integer(&mut self, ctx: &Context, value: i64, ty: Type) -> Attr {
        if self.integers.is_empty() {
            self.integers.resize(INTEGERS, None);
        }
        let slot = &mut self.integers[value as usize % INTEGERS];
        match *slot {
            Some((known, known_ty, attr)) if (known, known_ty) == (value, ty) => attr,
            _ => {
                let attr = ctx.attr(AttrData::Int { value: value.into(), ty });
                *slot = Some((value, ty, attr));
                attr
            }
        }
    }
}
