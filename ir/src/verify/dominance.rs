//! Dominance: a value is defined before it is used, except in graph regions, and not outside an isolated operation.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashSet;

use crate::analysis::Dominance;
use crate::diag::Reporter;
use crate::{Module, Op, Region, Trait, Value, ValueDefinition};

/// Which operations a check has come past. Operations are visited in textual order, so that in one block "visited" is
/// "stands before". One table serves several threads, which visit different operations.
pub(super) struct Visited(Vec<AtomicBool>);

impl Visited {
    pub(super) fn new(module: &Module) -> Self {
        Self(std::iter::repeat_with(AtomicBool::default).take(module.op_capacity()).collect())
    }

    fn mark(&self, op: Op) {
        self.0[op.index()].store(true, Ordering::Relaxed);
    }

    fn has(&self, op: Op) -> bool {
        self.0[op.index()].load(Ordering::Relaxed)
    }
}

/// The dominator trees of the regions that were asked about.
#[derive(Default)]
struct Trees {
    known: FxHashSet<Region>,
    dominance: Dominance,
}

/// Reports every use under `root` of a value that does not dominate it.
pub(super) fn check(module: &Module, root: Op, visited: &Visited, reporter: &mut Reporter<'_>) {
    let mut trees = Trees::default();
    for op in module.walk(root) {
        for (index, value) in module.operands(op).enumerate() {
            match placement(module, value, op, visited, &mut trees) {
                Placement::Good => {}
                Placement::Late => report_late(module, op, index, value, reporter),
                Placement::Outside(isolated) => {
                    let (name, outer) = (module.name_text(op), module.name_text(isolated));
                    reporter
                        .error(
                            module.op_loc(op),
                            format!("'{name}' uses a value defined outside the isolated region of '{outer}'"),
                        )
                        .note(module.op_loc(isolated), "required by this operation");
                }
            }
        }
        visited.mark(op);
    }
}

fn report_late(module: &Module, op: Op, index: usize, value: Value, reporter: &mut Reporter<'_>) {
    let report =
        reporter.error(module.op_loc(op), format!("operand #{index} does not dominate this use"));
    match module.definition(value) {
        ValueDefinition::Result { op: def, .. } => {
            report
                .note(module.op_loc(def), "operand defined here")
                .hint("define it before it is used");
        }
        ValueDefinition::Argument { block, .. } => {
            if let Some(owner) = module.block_op(block) {
                let note = "operand is a block argument of this operation's region";
                report.note(module.op_loc(owner), note);
            }
        }
    }
}

/// How a use stands to the definition of its value.
enum Placement {
    Good,
    /// The definition does not come before the use.
    Late,
    /// The use is in an isolated operation, the definition is not.
    Outside(Op),
}

fn placement(
    module: &Module,
    value: Value,
    user: Op,
    visited: &Visited,
    trees: &mut Trees,
) -> Placement {
    let (def, block) = match module.definition(value) {
        ValueDefinition::Result { op, .. } => (Some(op), module.parent_block(op)),
        ValueDefinition::Argument { block, .. } => (None, Some(block)),
    };
    let Some(block) = block else { return Placement::Late };
    if let Some(def) = def
        && module.parent_block(user) == Some(block)
        && visited.has(def)
    {
        // By far the most uses: of a result, in its block, behind it.
        return Placement::Good;
    }
    let region = module.block_region(block);
    // The user, or the operation around it, that stands in the region of the definition.
    let (mut at, mut isolated) = (user, None);
    let at_block = loop {
        match module.parent_block(at) {
            Some(b) if module.block_region(b) == region => break b,
            Some(b) => match module.block_op(b) {
                Some(parent) => at = parent,
                None => return Placement::Late,
            },
            None => return isolated.map_or(Placement::Late, Placement::Outside),
        }
        if isolated.is_none() && module.has_trait(at, Trait::IsolatedFromAbove) {
            isolated = Some(at);
        }
    };
    if let Some(isolated) = isolated {
        return Placement::Outside(isolated);
    }
    let several = module.first_block(region) != Some(block) || module.next_block(block).is_some();
    let is_graph = module
        .region_op(region)
        .is_none_or(|op| module.def(op).map_or(!several, |def| def.has(Trait::GraphRegion)));
    let good = is_graph
        || match def {
            // Its own result is not yet there for what is inside an operation.
            Some(def) if at_block == block => def != at && visited.has(def),
            None if at_block == block => true,
            _ => {
                if trees.known.insert(region) {
                    trees.dominance.add(module, region);
                }
                trees.dominance.block_dominates(module, block, at_block)
            }
        };
    if good { Placement::Good } else { Placement::Late }
}
