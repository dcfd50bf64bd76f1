//! Attributes of operations.
//!
//! The words of an operation's attribute list are first one word a declared attribute (its slot; "none" when absent),
//! then pairs (name, attribute) for the discardable ones. Declared attributes are so found without a search.

use super::Module;
use crate::{Attr, Name, Op};

/// The name, which text cannot give, of the attribute that keeps the properties of an operation that is not registered.
pub(crate) const PROPERTIES: &str = "";

impl Module {
    fn num_slots(&self, op: Op) -> usize {
        self.def(op).map_or(0, |def| def.attrs.len())
    }

    fn words(&self, op: Op) -> &[u32] {
        let data = &self.ops[op.index()];
        let start = data.attrs_start as usize;
        &self.attr_words[start..start + usize::from(data.attrs_len)]
    }

    /// The declared attribute in this slot.
    pub fn slot(&self, op: Op, slot: usize) -> Option<Attr> {
        self.words(op).get(slot).and_then(|&w| Attr(w).some())
    }

    /// Sets the declared attribute in this slot.
    pub fn set_slot(&mut self, op: Op, slot: usize, attr: Option<Attr>) {
        assert!(slot < self.num_slots(op), "{} has no attribute slot {slot}", self.name_text(op));
        let start = self.ops[op.index()].attrs_start as usize;
        self.attr_words[start + slot] = attr.unwrap_or(Attr::NONE).0;
    }

    /// The attribute of this name, declared or discardable.
    pub fn attr(&self, op: Op, name: Name) -> Option<Attr> {
        if let Some(slot) = self.ctx.op_name_data(self.name(op)).slot(name) {
            return self.slot(op, slot);
        }
        let found = self.discardable(op).find(|(n, _)| *n == name).map(|(_, attr)| attr);
        found.or_else(|| self.properties(op)?.get(&self.ctx, name.text(&self.ctx)))
    }

    /// What was written in `<...>` of an operation that is not registered: a dictionary or any other attribute.
    pub fn properties(&self, op: Op) -> Option<Attr> {
        if self.def(op).is_some() {
            return None;
        }
        self.discardable(op).find(|(n, _)| n.text(&self.ctx) == PROPERTIES).map(|(_, attr)| attr)
    }

    /// The attribute of this name, declared or discardable.
    pub fn attr_by(&self, op: Op, name: &str) -> Option<Attr> {
        if let Some(slot) = self.def(op).and_then(|def| def.attr_slot(name)) {
            return self.slot(op, slot);
        }
        let mut discardable = self.discardable(op);
        let found = discardable.find(|(n, _)| n.text(&self.ctx) == name).map(|(_, attr)| attr);
        found.or_else(|| self.properties(op)?.get(&self.ctx, name))
    }

    /// The declared attributes that are present, in declaration order.
    pub fn declared(&self, op: Op) -> impl Iterator<Item = (&str, Attr)> + '_ {
        let defs = self.def(op).map_or(&[][..], |def| &def.attrs);
        defs.iter().zip(self.words(op)).filter_map(|(def, &w)| Some((&*def.name, Attr(w).some()?)))
    }

    /// The discardable attributes, in the order they were set.
    pub fn discardable(&self, op: Op) -> impl Iterator<Item = (Name, Attr)> + '_ {
        let (pairs, _) =
            self.words(op)[self.num_slots(op).min(self.words(op).len())..].as_chunks::<2>();
        pairs.iter().map(|[name, attr]| (Name(*name), Attr(*attr)))
    }

    /// Sets or adds the attribute of this name; a declared one goes into its slot.
    pub fn set_attr(&mut self, op: Op, name: Name, attr: Attr) {
        if let Some(slot) = self.ctx.op_name_data(self.name(op)).slot(name) {
            return self.set_slot(op, slot, Some(attr));
        }
        let slots = self.num_slots(op);
        let (start, len) = (
            self.ops[op.index()].attrs_start as usize,
            usize::from(self.ops[op.index()].attrs_len),
        );
        let known = self.discardable(op).position(|(n, _)| n == name);
        if let Some(at) = known {
            self.attr_words[start + slots + 2 * at + 1] = attr.0;
            return;
        }
        let new_start =
            if start + len == self.attr_words.len() { start } else { self.attr_words.len() };
        if new_start != start {
            self.attr_words.extend_from_within(start..start + len);
        }
        self.attr_words.extend([name.0, attr.0]);
        let data = &mut self.ops[op.index()];
        data.attrs_start = u32::try_from(new_start).expect("attribute pool");
        data.attrs_len += 2;
    }

    /// Sets or adds the attribute of this name.
    pub fn set_attr_by(&mut self, op: Op, name: &str, attr: Attr) {
        self.set_attr(op, self.ctx.name(name), attr);
    }

    /// Removes the attribute of this name and returns it.
    pub fn remove_attr(&mut self, op: Op, name: Name) -> Option<Attr> {
        let old = self.attr(op, name)?;
        if let Some(slot) = self.ctx.op_name_data(self.name(op)).slot(name) {
            self.set_slot(op, slot, None);
            return Some(old);
        }
        let slots = self.num_slots(op);
        let at = self.discardable(op).position(|(n, _)| n == name)?;
        let data = &mut self.ops[op.index()];
        let start = data.attrs_start as usize;
        let (from, end) = (start + slots + 2 * at, start + usize::from(data.attrs_len));
        data.attrs_len -= 2;
        self.attr_words.copy_within(from + 2..end, from);
        Some(old)
    }

    /// The text of the operation's `sym_name`, if it has one.
    pub fn symbol_name(&self, op: Op) -> Option<&str> {
        self.attr_by(op, "sym_name")?.as_str(&self.ctx)
    }
}
