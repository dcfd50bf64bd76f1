//! Symbols of a table, found by name.

use rustc_hash::FxHashMap;

use crate::{Module, Name, Op};

/// Symbols of a table by name, for passes that look up many.
#[derive(Debug)]
pub struct SymbolTable {
    symbols: FxHashMap<Name, Op>,
}

impl SymbolTable {
    /// Indexes the symbols directly inside `table`.
    pub fn new(module: &Module, table: Op) -> Self {
        let ops = module.only_block(table).into_iter().flat_map(|b| module.ops(b));
        Self {
            symbols: ops
                .filter_map(|op| Some((module.ctx().name(module.symbol_name(op)?), op)))
                .collect(),
        }
    }

    /// The operation with this name.
    pub fn get(&self, name: Name) -> Option<Op> {
        self.symbols.get(&name).copied()
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.symbols.keys().copied()
    }
}
