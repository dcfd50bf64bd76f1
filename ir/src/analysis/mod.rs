//! Analyses that any pass may ask for: `cx.analysis::<Dominance>()`. See [`Analysis`].

mod dominance;

pub use dominance::{Dominance, immediate_dominators};

use crate::pass::Analysis;
use crate::verify::SymbolTable;
use crate::{Module, Op};

impl Analysis for SymbolTable {
    const NAME: &'static str = "SymbolTable";

    fn compute(module: &Module, op: Op) -> Self {
        Self::new(module, op)
    }
}
