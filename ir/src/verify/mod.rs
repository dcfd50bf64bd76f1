//! The verifier. It reports every fault it finds, not the first; later checks of an operation are skipped only where
//! earlier ones make them meaningless.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::diag::{Diagnostic, Reporter, did_you_mean};
use crate::{
    Arity, AttrConstraint, Module, OPERAND_SEGMENTS, Op, OpDef, RESULT_SEGMENTS, Trait, Value,
    ValueDef,
};

mod dominance;
mod symbols;

use dominance::Visited;
pub use symbols::SymbolTable;

/// Checks everything under the root. True if nothing was wrong.
pub fn verify(module: &Module, reporter: &mut Reporter<'_>) -> bool {
    verify_op(module, module.root(), reporter)
}

/// Checks an operation and everything in its regions. True if nothing was wrong. Isolated operations of a large module are
/// checked by several threads; what is reported, and in which order, does not depend on it.
pub fn verify_op(module: &Module, root: Op, reporter: &mut Reporter<'_>) -> bool {
    let before = reporter.error_count();
    let visited = Visited::new(module);
    let units = units(module, root);
    if units.is_empty() {
        verify_unit(module, root, &visited, reporter);
    } else {
        verify_alone(module, root, reporter);
        if module.op_capacity() < WORTH_THREADS {
            units.iter().for_each(|&op| verify_unit(module, op, &visited, reporter));
        } else {
            let found: Vec<Vec<Diagnostic>> = units
                .par_chunks(units.len().div_ceil(8 * rayon::current_num_threads()))
                .map(|units| {
                    let mut reporter = Reporter::new(module.ctx());
                    units.iter().for_each(|&op| verify_unit(module, op, &visited, &mut reporter));
                    reporter.take()
                })
                .collect();
            for diagnostic in found.into_iter().flatten() {
                reporter.report(diagnostic);
            }
        }
    }
    reporter.error_count() == before
}

/// A module of fewer operations is checked by one thread.
const WORTH_THREADS: usize = 10_000;

/// The operations inside `root` that can be checked apart: all that are directly inside, if each is isolated and gives no
/// value to the others.
fn units(module: &Module, root: Op) -> Vec<Op> {
    let Some(block) = module.only_block(root) else { return Vec::new() };
    let apart =
        |op: &Op| module.num_results(*op) == 0 && module.has_trait(*op, Trait::IsolatedFromAbove);
    match module.next_block(block).is_none() && module.ops(block).all(|op| apart(&op)) {
        true => module.ops(block).collect(),
        false => Vec::new(),
    }
}

fn verify_unit(module: &Module, root: Op, visited: &Visited, reporter: &mut Reporter<'_>) {
    for op in module.walk(root) {
        verify_alone(module, op, reporter);
    }
    dominance::check(module, root, visited, reporter);
}

/// Checks an operation without what is inside it.
fn verify_alone(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let faults = reporter.error_count();
    if let Some(def) = module.def(op) {
        check_declared(module, op, def, reporter);
        check_traits(module, op, def, reporter);
        if reporter.error_count() == faults
            && let Some(verify) = def.verify
        {
            verify(module, op, reporter);
        }
    }
    if !module.regions(op).is_empty() {
        check_blocks(module, op, reporter);
    }
}

fn check_declared(module: &Module, op: Op, def: &OpDef, reporter: &mut Reporter<'_>) {
    let (ctx, loc, name) = (module.ctx(), module.op_loc(op), &def.name);
    for (slot, attr) in def.attrs.iter().enumerate() {
        match module.slot(op, slot) {
            None if attr.required => {
                let mut message = format!("'{name}' requires attribute '{}'", attr.name);
                if !matches!(attr.constraint, AttrConstraint::Any) {
                    message = format!("{message}: {}", attr.constraint.describe());
                }
                let given: Vec<&str> =
                    module.discardable(op).map(|(key, _)| key.text(ctx)).collect();
                let slip = given.into_iter().find(|key| did_you_mean(key, [&*attr.name]).is_some());
                reporter.error(loc, message).hint =
                    slip.map(|slip| format!("'{slip}' is given; write '{}'", attr.name));
            }
            Some(value) if !attr.constraint.accepts(ctx, value) => {
                let (what, text) = (attr.constraint.describe(), value.display(ctx));
                reporter.error(
                    loc,
                    format!("attribute '{}' of '{name}' must be {what}, but is {text}", attr.name),
                );
            }
            _ => {}
        }
    }
    check_values(
        module,
        op,
        &def.operands,
        "operand",
        OPERAND_SEGMENTS,
        module.num_operands(op),
        reporter,
    );
    check_values(
        module,
        op,
        &def.results,
        "result",
        RESULT_SEGMENTS,
        module.num_results(op),
        reporter,
    );
    let regions = module.regions(op).len();
    let single = def.regions.iter().filter(|r| r.arity == Arity::One).count();
    if regions < single || (single == def.regions.len() && regions > single) {
        reporter.error(loc, format!("'{name}' expects {single} region(s), but has {regions}"));
    }
    let successors = module.successors(op).len();
    let single = def.successors.iter().filter(|s| s.arity == Arity::One).count();
    if successors < single || (single == def.successors.len() && successors > single) {
        reporter
            .error(loc, format!("'{name}' expects {single} successor(s), but has {successors}"));
    }
}

fn check_values(
    module: &Module,
    op: Op,
    defs: &[ValueDef],
    what: &str,
    segments: &str,
    total: usize,
    reporter: &mut Reporter<'_>,
) {
    let (ctx, loc, name) = (module.ctx(), module.op_loc(op), module.name_text(op));
    let (single, loose) = (
        defs.iter().filter(|d| d.arity == Arity::One).count(),
        defs.iter().filter(|d| d.arity != Arity::One).count(),
    );
    let many = defs.iter().any(|d| d.arity == Arity::Variadic);
    if loose > 1 {
        let sizes = module.attr_by(op, segments).and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
        if sizes.len() != defs.len()
            || sizes.iter().any(|&s| s < 0)
            || sizes.iter().sum::<i64>() != total as i64
        {
            let declared = defs.len();
            reporter.error(loc, format!("'{segments}' of '{name}' must give the sizes of {declared} {what} groups with {total} {what}s in all"));
            return;
        }
        for (def, &size) in defs.iter().zip(sizes) {
            let fits = match def.arity {
                Arity::One => size == 1,
                Arity::Optional => size <= 1,
                Arity::Variadic => true,
            };
            if !fits {
                reporter.error(
                    loc,
                    format!("{what} '{}' of '{name}' cannot stand for {size} values", def.name),
                );
                return;
            }
        }
    } else if total < single || (total > single + loose && !many) {
        let expected = match (loose, many) {
            (0, _) => format!("{single}"),
            (_, false) => format!("{single} or {}", single + 1),
            (_, true) => format!("at least {single}"),
        };
        reporter.error(loc, format!("'{name}' expects {expected} {what}(s), but has {total}"));
        return;
    }
    for (i, def) in defs.iter().enumerate() {
        let check = |value: Value, reporter: &mut Reporter<'_>| {
            let ty = module.ty(value);
            if !def.constraint.accepts(ctx, ty) {
                let (wanted, text) = (def.constraint.describe(), ty.display(ctx));
                reporter.error(
                    loc,
                    format!(
                        "{what} '{}' of '{name}' must be {wanted}, but has type {text}",
                        def.name
                    ),
                );
            }
        };
        if what == "operand" {
            module.operand_group(op, i).for_each(|v| check(v, reporter));
        } else {
            module.result_group(op, i).for_each(|v| check(v, reporter));
        }
    }
}

fn check_traits(module: &Module, op: Op, def: &OpDef, reporter: &mut Reporter<'_>) {
    let (ctx, loc, name) = (module.ctx(), module.op_loc(op), &def.name);
    for property in &def.traits {
        match property {
            Trait::Terminator => {
                if module.next_op(op).is_some() {
                    reporter
                        .error(loc, format!("'{name}' must be the last operation of its block"));
                }
            }
            Trait::SingleBlock => {
                for &region in module.regions(op) {
                    if module.blocks(region).count() != 1 {
                        reporter.error(loc, format!("'{name}' expects a region with one block"));
                    }
                }
            }
            Trait::SameOperandsAndResultType => {
                let mut types = module.operands(op).chain(module.results(op)).map(|v| module.ty(v));
                let first = types.next();
                if let Some(other) = types.find(|ty| Some(*ty) != first) {
                    let first = first.map_or(String::new(), |ty| ty.display(ctx));
                    reporter.error(loc, format!("operands and result of '{name}' must have one type, but have {first} and {}", other.display(ctx)));
                }
            }
            Trait::Symbol => {
                if module.symbol_name(op).is_none_or(str::is_empty) {
                    reporter.error(loc, format!("'{name}' requires a name (@name)"));
                }
            }
            Trait::SymbolTable => check_symbols(module, op, reporter),
            Trait::Pure
            | Trait::IsolatedFromAbove
            | Trait::NoTerminator
            | Trait::GraphRegion
            | Trait::Commutative
            | Trait::ConstantLike
            | Trait::NamesResult => {}
        }
    }
}

/// Symbols are unique in their table.
fn check_symbols(module: &Module, table: Op, reporter: &mut Reporter<'_>) {
    let mut seen: FxHashMap<&str, Op> = FxHashMap::default();
    let Some(block) = module.only_block(table) else { return };
    for op in module.ops(block) {
        let Some(name) = module.symbol_name(op) else { continue };
        if let Some(&first) = seen.get(name) {
            reporter
                .error(module.op_loc(op), format!("redefinition of symbol '@{name}'"))
                .note(module.op_loc(first), "previously defined here");
        } else {
            seen.insert(name, op);
        }
    }
}

/// Terminators stand last, entry blocks have no predecessors, and blocks that need a terminator have one.
fn check_blocks(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let name = module.name_text(op);
    for &region in module.regions(op) {
        let entry = module.first_block(region);
        for block in module.blocks(region) {
            let is_alone = module.next_block(block).is_none() && Some(block) == entry;
            if module.last_op(block).is_none() && !is_alone && module.def(op).is_none() {
                reporter
                    .error(module.op_loc(op), "empty block: expect at least a terminator")
                    .hint("only the one block of a region can be empty");
            }
            for inner in module.ops(block) {
                if !module.successors(inner).is_empty() && module.next_op(inner).is_some() {
                    reporter.error(
                        module.op_loc(inner),
                        "an operation with successors must end its block",
                    );
                }
                for &successor in module.successors(inner) {
                    if Some(successor) == entry {
                        reporter.error(
                            module.op_loc(op),
                            "entry block of region may not have predecessors",
                        );
                    }
                    if module.block_region(successor) != region {
                        reporter
                            .error(module.op_loc(inner), "branches to a block of another region");
                    }
                }
            }
            let Some(def) = module.def(op) else { continue };
            let ends = |op| module.def(op).is_none_or(|def: &OpDef| def.has(Trait::Terminator));
            // A terminator that does not stand last is reported as such.
            let last_is_terminator = module.last_op(block).is_some_and(&ends)
                || module.ops(block).any(|op| module.def(op).is_some() && ends(op));
            if !def.has(Trait::NoTerminator) && !last_is_terminator {
                let loc =
                    module.last_op(block).map_or(module.op_loc(op), |last| module.op_loc(last));
                let dialect = name.split('.').next().unwrap_or_default();
                let enders: Vec<&str> = module
                    .ctx()
                    .dialects()
                    .iter()
                    .filter(|known| known.name == dialect)
                    .flat_map(|known| &known.ops)
                    .filter(|def| def.has(Trait::Terminator))
                    .map(|def| &*def.name)
                    .collect();
                reporter
                    .error(loc, format!("a block of '{name}' must end with a terminator"))
                    .hint =
                    (!enders.is_empty()).then(|| format!("end it with {}", enders.join(" or ")));
            }
        }
    }
}
