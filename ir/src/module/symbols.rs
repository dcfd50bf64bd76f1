//! Symbols found by name.
//!
//! A table of many symbols is indexed when it is first asked. The index is never told of edits: what it finds is looked at
//! again, and what it does not find is searched for. So a symbol that is there costs one question of a hash table, however
//! often it is referred to, and only one that is not there costs a search.

use std::sync::RwLock;

use rustc_hash::FxHashMap;

use super::Module;
use crate::{Block, Name, Op, Trait};

/// Tables with fewer operations are searched.
const WORTH_INDEX: usize = 32;

/// The indexes of a module's symbol tables. A copy of a module makes its own.
#[derive(Debug, Default)]
pub(super) struct SymbolIndex {
    tables: RwLock<FxHashMap<Op, FxHashMap<Name, Op>>>,
}

impl Clone for SymbolIndex {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Module {
    /// The operation with this `sym_name` directly inside a symbol table operation; the first, if several have it.
    pub fn lookup(&self, table: Op, name: &str) -> Option<Op> {
        let block = self.only_block(table)?;
        if self.ops(block).nth(WORTH_INDEX).is_none() {
            return self.search(block, name);
        }
        let key = self.ctx.name(name);
        let is_it = |&op: &Op| {
            self.ops.get(op.index()).is_some_and(|data| data.block == block)
                && self.symbol_name(op) == Some(name)
        };
        if let Some(known) = self.indexed(table, block, key).filter(is_it) {
            return Some(known);
        }
        let found = self.search(block, name)?;
        let mut tables = self.symbols.tables.write().expect("symbol index");
        tables.entry(table).or_default().insert(key, found);
        Some(found)
    }

    /// What the index of a table has under a name. Makes the index if there is none.
    fn indexed(&self, table: Op, block: Block, key: Name) -> Option<Op> {
        if let Some(symbols) = self.symbols.tables.read().expect("symbol index").get(&table) {
            return symbols.get(&key).copied();
        }
        let mut symbols = FxHashMap::default();
        for op in self.ops(block) {
            if let Some(name) = self.symbol_name(op) {
                symbols.entry(self.ctx.name(name)).or_insert(op);
            }
        }
        let found = symbols.get(&key).copied();
        self.symbols.tables.write().expect("symbol index").insert(table, symbols);
        found
    }

    fn search(&self, block: Block, name: &str) -> Option<Op> {
        self.ops(block).find(|&op| self.symbol_name(op) == Some(name))
    }

    /// The operation with this `sym_name` in the nearest enclosing symbol table that has one.
    pub fn lookup_nearest(&self, from: Op, name: &str) -> Option<Op> {
        let mut at = Some(from);
        while let Some(op) = at {
            if self.has_trait(op, Trait::SymbolTable)
                && let Some(found) = self.lookup(op, name)
            {
                return Some(found);
            }
            at = self.parent_op(op);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Builder, Context, Module, Op};

    fn add(module: &mut Module, name: &str) -> Op {
        let block = module.body();
        let ctx = module.ctx_arc();
        let mut b = Builder::at_end(module, block);
        let state = b.state("t.symbol").attr(&ctx, "sym_name", ctx.str_attr(name));
        b.insert(state)
    }

    #[test]
    fn what_is_found_follows_every_edit() {
        let ctx = Arc::new(Context::new([]));
        let mut module = Module::new(Arc::clone(&ctx));
        let root = module.root();
        let ops: Vec<Op> = (0..100).map(|i| add(&mut module, &format!("s{i}"))).collect();
        assert_eq!(module.lookup(root, "s70"), Some(ops[70]));
        assert_eq!(module.lookup(root, "late"), None);

        let late = add(&mut module, "late");
        assert_eq!(module.lookup(root, "late"), Some(late), "added");
        module.set_attr_by(ops[70], "sym_name", ctx.str_attr("renamed"));
        assert_eq!(module.lookup(root, "s70"), None, "renamed");
        assert_eq!(module.lookup(root, "renamed"), Some(ops[70]));
        module.erase(ops[71]);
        assert_eq!(module.lookup(root, "s71"), None, "erased");
        let again = add(&mut module, "s71");
        assert_eq!(module.lookup(root, "s71"), Some(again), "replaced");
        module.detach(ops[72]);
        assert_eq!(module.lookup(root, "s72"), None, "taken out");
        let copy = module.clone();
        assert_eq!(copy.lookup(root, "s71"), Some(again), "a copy knows its own");
    }
}
