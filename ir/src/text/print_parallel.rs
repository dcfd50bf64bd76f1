//! Printing the operations of a large module by several threads.
//!
//! What stands in one isolated operation is printed without knowing the others but for the numbers of its values in the
//! generic form, which go on from operation to operation; these are counted before.

use rayon::prelude::*;

use super::aliases::Aliases;
use super::printer::{Naming, PrintOptions, Printer};
use crate::{Block, Module, Op, Trait};

/// About how many operations make a piece of work.
const PIECE_OPS: usize = 4096;
/// Pieces that are printed before the first of them is written: what bounds the text held in memory.
const WAVE: usize = 16;

/// Operations that stand behind one another, and the first number their values get.
struct Piece {
    ops: Vec<Op>,
    first_number: u32,
}

impl Printer<'_> {
    /// Prints the operations of the root's block by several threads, if they can be printed apart and are worth it.
    pub(super) fn print_in_parallel(&mut self, block: Block) -> bool {
        let module = self.module();
        // Names that must be unique in all need one printer.
        if self.options.unique_ids
            || rayon::current_num_threads() < 2
            || module.op_capacity() < 4 * PIECE_OPS
        {
            return false;
        }
        let apart =
            |op: Op| module.num_results(op) == 0 && module.has_trait(op, Trait::IsolatedFromAbove);
        if !module.args(block).is_empty() || !module.ops(block).all(apart) {
            return false;
        }
        let pieces = self.pieces(block);
        for wave in pieces.chunks(WAVE) {
            let (options, indent) = (self.options, self.indent);
            let aliases = self.aliases;
            let print = |piece: &Piece| piece.print(module, aliases, options, indent);
            let texts: Vec<String> = wave.par_iter().map(print).collect();
            for text in texts {
                self.text(&text);
                self.flush();
            }
        }
        true
    }

    fn pieces(&self, block: Block) -> Vec<Piece> {
        let module = self.module();
        let (mut pieces, mut number, mut size) = (Vec::new(), 0, PIECE_OPS);
        for op in module.ops(block) {
            if size >= PIECE_OPS {
                pieces.push(Piece { ops: Vec::new(), first_number: number });
                size = 0;
            }
            for inner in module.walk(op) {
                size += 1;
                let numbered = self.options.generic
                    && module.num_results(inner) > 0
                    && matches!(self.results_naming(inner), Naming::Number);
                number += u32::from(numbered);
            }
            pieces.last_mut().expect("just begun").ops.push(op);
        }
        pieces
    }
}

impl Piece {
    fn print(
        &self,
        module: &Module,
        aliases: Option<&Aliases>,
        options: PrintOptions,
        indent: usize,
    ) -> String {
        let mut out = String::with_capacity(96 * PIECE_OPS);
        let mut printer = Printer::detached(module.ctx(), &mut out, options);
        printer.module = Some(module);
        printer.aliases = aliases;
        printer.indent = indent;
        printer.labels.count_from(self.first_number);
        for &op in &self.ops {
            printer.newline();
            printer.op(op);
        }
        out
    }
}
