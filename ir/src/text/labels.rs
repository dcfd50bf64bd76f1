//! The names that values and blocks are printed with.
//!
//! A value is printed by the name it was written with, made unique, or by a number. Labels are kept by value, in a table that
//! begins at the first value that got one: a printer of one function does not pay for the others.

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

use crate::{Block, Value};

/// What a value is printed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label<'l> {
    Number(u32),
    Text(&'l str),
}

/// Set in an entry of the table that is the index of a text; other entries are numbers plus one, zero is no label.
const TEXT: u32 = 1 << 31;

/// Labels given so far, and the names taken in the scope that is printed.
#[derive(Default)]
pub(super) struct Labels {
    base: usize,
    dense: Vec<u32>,
    /// Values too far from the others for the table.
    far: FxHashMap<Value, u32>,
    texts: Vec<Box<str>>,
    scope: Scope,
    pub(super) blocks: FxHashMap<Block, u32>,
    pub(super) next_block: u32,
}

/// Names taken and numbers given where the printer is.
#[derive(Default)]
pub(super) struct Scope {
    /// Indices of texts.
    taken: HashTable<u32>,
    /// The same, in the order of taking.
    log: Vec<u32>,
    /// How often a name was already made unique.
    repeats: FxHashMap<Box<str>, u32>,
    next_value: u32,
}

impl Labels {
    /// The first number that is given out.
    pub(super) fn count_from(&mut self, first: u32) {
        self.scope.next_value = first;
    }

    pub(super) fn get(&self, value: Value) -> Option<Label<'_>> {
        let word = match self.dense.get(value.index().wrapping_sub(self.base)) {
            Some(&word) if word != 0 => word,
            _ if self.far.is_empty() => return None,
            _ => *self.far.get(&value)?,
        };
        Some(match word & TEXT {
            0 => Label::Number(word - 1),
            _ => Label::Text(&self.texts[(word & !TEXT) as usize]),
        })
    }

    pub(super) fn has(&self, value: Value) -> bool {
        self.get(value).is_some()
    }

    fn set(&mut self, value: Value, word: u32) {
        if self.dense.is_empty() {
            self.base = value.index();
        }
        let at = value.index().wrapping_sub(self.base);
        if at >= self.dense.len() {
            if at > 2 * self.dense.len() + 1024 {
                self.far.insert(value, word);
                return;
            }
            self.dense.resize((at + 1).max(2 * self.dense.len()), 0);
        }
        self.dense[at] = word;
    }

    /// Gives a value the next number.
    pub(super) fn number(&mut self, value: Value) {
        self.scope.next_value += 1;
        self.set(value, self.scope.next_value);
    }

    /// Gives a value a name: `hint`, or that with a number behind it if it is taken.
    pub(super) fn name(&mut self, value: Value, hint: &str) {
        let text = self.unique(hint);
        self.set(value, text | TEXT);
    }

    /// Gives a value the label of another one.
    pub(super) fn share(&mut self, from: Value, to: Value) {
        let word = match self.get(from) {
            Some(Label::Number(number)) => number + 1,
            Some(Label::Text(_)) => match self.dense.get(from.index().wrapping_sub(self.base)) {
                Some(&word) if word != 0 => word,
                _ => self.far[&from],
            },
            None => return,
        };
        self.set(to, word);
    }

    /// Takes the name that a value has already, from another scope.
    pub(super) fn take(&mut self, value: Value) {
        let name = match self.get(value) {
            Some(Label::Text(name)) => Box::from(name),
            _ => return,
        };
        self.try_take(name);
    }

    fn unique(&mut self, hint: &str) -> u32 {
        // Digits alone are numbers, which are given out without looking.
        let hint = match hint.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("_{hint}").into(),
            false => std::borrow::Cow::Borrowed(hint),
        };
        if let Some(text) = self.try_take((&*hint).into()) {
            return text;
        }
        loop {
            let count = self.scope.repeats.entry((&*hint).into()).or_insert(0);
            let candidate = format!("{hint}_{count}");
            *count += 1;
            if let Some(text) = self.try_take(candidate.into()) {
                return text;
            }
        }
    }

    /// Takes a name if it is free.
    fn try_take(&mut self, name: Box<str>) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(&name);
        let Self { texts, scope, .. } = self;
        if scope.taken.find(hash, |&text| texts[text as usize] == name).is_some() {
            return None;
        }
        let text = u32::try_from(texts.len()).expect("fewer than 2^31 names");
        texts.push(name);
        let texts = &*texts;
        let rehash = |&text: &u32| FxBuildHasher.hash_one(&texts[text as usize]);
        scope.taken.insert_unique(hash, text, rehash);
        scope.log.push(text);
        Some(text)
    }

    /// Begins a scope that sees no outer name, and returns the one around it.
    pub(super) fn fresh(&mut self) -> Scope {
        std::mem::take(&mut self.scope)
    }

    /// Ends a scope that [`fresh`](Self::fresh) began.
    pub(super) fn restore(&mut self, outer: Scope) {
        self.scope = outer;
    }

    /// Begins a scope whose names are free again behind it, and returns what ends it. Numbers go on.
    pub(super) fn begin(&mut self) -> (usize, FxHashMap<Box<str>, u32>) {
        (self.scope.log.len(), std::mem::take(&mut self.scope.repeats))
    }

    /// Ends a scope that [`begin`](Self::begin) began.
    pub(super) fn end(&mut self, (mark, repeats): (usize, FxHashMap<Box<str>, u32>)) {
        let Self { texts, scope, .. } = self;
        for text in scope.log.drain(mark..) {
            let hash = FxBuildHasher.hash_one(&texts[text as usize]);
            if let Ok(entry) = scope.taken.find_entry(hash, |&taken| taken == text) {
                entry.remove();
            }
        }
        scope.repeats = repeats;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(labels: &Labels, value: u32) -> String {
        match labels.get(Value(value)) {
            Some(Label::Text(text)) => text.to_owned(),
            Some(Label::Number(number)) => number.to_string(),
            None => "-".to_owned(),
        }
    }

    #[test]
    fn names_are_unique_in_a_scope_and_free_behind_it() {
        let mut labels = Labels::default();
        labels.name(Value(5), "x");
        labels.number(Value(6));
        let mark = labels.begin();
        labels.name(Value(7), "x");
        labels.name(Value(8), "x");
        labels.name(Value(100_000), "y");
        labels.end(mark);
        labels.name(Value(2), "y");
        labels.number(Value(3));
        let outer = labels.fresh();
        labels.name(Value(9), "x");
        labels.number(Value(10));
        labels.restore(outer);
        labels.name(Value(11), "x");
        labels.name(Value(12), "3");
        let texts = [5, 6, 7, 8, 100_000, 2, 3, 9, 10, 11, 12, 13].map(|v| text(&labels, v));
        assert_eq!(texts, ["x", "0", "x_0", "x_1", "y", "y", "1", "x", "0", "x_0", "_3", "-"]);
    }
}
