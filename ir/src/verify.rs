//! The verifier. It reports every fault it finds, not the first; later checks of an operation are skipped only where
//! earlier ones make them meaningless.

use rustc_hash::FxHashMap;

use crate::diag::{Reporter, did_you_mean};
use crate::{
    Arity, AttrConstraint, Block, Module, Name, OPERAND_SEGMENTS, Op, OpDef, RESULT_SEGMENTS,
    Region, Trait, Value, ValueDef, ValueDefinition,
};

/// Checks everything under the root. True if nothing was wrong.
pub fn verify(module: &Module, reporter: &mut Reporter<'_>) -> bool {
    verify_op(module, module.root(), reporter)
}

/// Checks an operation and everything in its regions. True if nothing was wrong.
pub fn verify_op(module: &Module, root: Op, reporter: &mut Reporter<'_>) -> bool {
    let before = reporter.error_count();
    for op in module.walk(root) {
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
        check_blocks(module, op, reporter);
    }
    check_dominance(module, root, reporter);
    reporter.error_count() == before
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
            Trait::IsolatedFromAbove => check_isolation(module, op, reporter),
            Trait::SymbolTable => check_symbols(module, op, reporter),
            Trait::Pure
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

/// Nothing under `root` uses a value from outside it.
fn check_isolation(module: &Module, root: Op, reporter: &mut Reporter<'_>) {
    // Nested isolated operations are checked on their own account.
    let mut pending: Vec<Op> = Vec::new();
    let inner = |op: Op| {
        module
            .regions(op)
            .iter()
            .flat_map(|r| module.blocks(*r))
            .flat_map(|b| module.ops(b))
            .collect::<Vec<_>>()
    };
    let inside: rustc_hash::FxHashSet<Region> = {
        let mut set = rustc_hash::FxHashSet::default();
        let mut stack = vec![root];
        while let Some(op) = stack.pop() {
            set.extend(module.regions(op));
            for op in inner(op) {
                pending.push(op);
                if !module.has_trait(op, Trait::IsolatedFromAbove) && !module.regions(op).is_empty()
                {
                    stack.push(op);
                }
            }
        }
        set
    };
    for op in pending {
        for value in module.operands(op) {
            if defining_block(module, value)
                .is_some_and(|b| !inside.contains(&module.block_region(b)))
            {
                let name = module.name_text(root);
                reporter
                    .error(
                        module.op_loc(op),
                        format!(
                            "'{}' uses a value defined outside the isolated region of '{name}'",
                            module.name_text(op)
                        ),
                    )
                    .note(module.op_loc(root), "required by this operation");
            }
        }
    }
}

fn defining_block(module: &Module, value: Value) -> Option<Block> {
    match module.definition(value) {
        ValueDefinition::Result { op, .. } => module.parent_block(op),
        ValueDefinition::Argument { block, .. } => Some(block),
    }
}

/// Terminators stand last, entry blocks have no predecessors, and blocks that need a terminator have one.
fn check_blocks(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let name = module.name_text(op);
    for &region in module.regions(op) {
        let entry = module.first_block(region);
        for block in module.blocks(region) {
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

/// Values are defined before they are used, except in graph regions.
fn check_dominance(module: &Module, root: Op, reporter: &mut Reporter<'_>) {
    // Position of every operation in its block, and the dominator tree of every region with several blocks.
    let mut position = vec![0u32; module.op_capacity()];
    let mut dominators: FxHashMap<Region, FxHashMap<Block, Block>> = FxHashMap::default();
    for op in module.walk(root) {
        for &region in module.regions(op) {
            for block in module.blocks(region) {
                for (i, inner) in module.ops(block).enumerate() {
                    position[inner.index()] = i as u32;
                }
            }
            if module.blocks(region).nth(1).is_some() {
                dominators.insert(region, immediate_dominators(module, region));
            }
        }
    }
    let is_graph = |region: Region| {
        let several = module.blocks(region).nth(1).is_some();
        module
            .region_op(region)
            .is_none_or(|op| module.def(op).map_or(!several, |def| def.has(Trait::GraphRegion)))
    };
    for op in module.walk(root) {
        for (index, value) in module.operands(op).enumerate() {
            if !dominates(module, value, op, &position, &dominators, &is_graph) {
                let report = reporter.error(
                    module.op_loc(op),
                    format!("operand #{index} does not dominate this use"),
                );
                match module.definition(value) {
                    ValueDefinition::Result { op: def, .. } => {
                        report
                            .note(module.op_loc(def), "operand defined here")
                            .hint("define it before it is used");
                    }
                    ValueDefinition::Argument { block, .. } => {
                        if let Some(owner) = module.block_op(block) {
                            report.note(
                                module.op_loc(owner),
                                "operand is a block argument of this operation's region",
                            );
                        }
                    }
                }
            }
        }
    }
}

fn dominates(
    module: &Module,
    value: Value,
    user: Op,
    position: &[u32],
    dominators: &FxHashMap<Region, FxHashMap<Block, Block>>,
    is_graph: &impl Fn(Region) -> bool,
) -> bool {
    let Some(block) = defining_block(module, value) else { return false };
    let region = module.block_region(block);
    // The user, or the operation around it, that stands in the region of the definition.
    let mut at = user;
    let at_block = loop {
        match module.parent_block(at) {
            Some(b) if module.block_region(b) == region => break b,
            Some(_) => match module.parent_op(at) {
                Some(parent) => at = parent,
                None => return false,
            },
            None => return false,
        }
    };
    if is_graph(region) {
        return true;
    }
    match module.definition(value) {
        ValueDefinition::Result { op, .. } if at_block == block => {
            position[op.index()] < position[at.index()]
        }
        ValueDefinition::Argument { .. } if at_block == block => true,
        _ => {
            let Some(tree) = dominators.get(&region) else { return false };
            let mut b = at_block;
            while let Some(&parent) = tree.get(&b) {
                if parent == block {
                    return true;
                }
                if parent == b {
                    return false;
                }
                b = parent;
            }
            // Unreachable blocks are dominated by everything.
            !tree.contains_key(&at_block) && module.first_block(region) != Some(at_block)
        }
    }
}

/// Immediate dominators of the reachable blocks but the entry, after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
pub fn immediate_dominators(module: &Module, region: Region) -> FxHashMap<Block, Block> {
    let Some(entry) = module.first_block(region) else { return FxHashMap::default() };
    let successors =
        |b: Block| module.last_op(b).map_or(Vec::new(), |op| module.successors(op).to_vec());
    let (mut order, mut seen, mut stack) =
        (Vec::new(), rustc_hash::FxHashSet::default(), vec![(entry, 0)]);
    seen.insert(entry);
    while let Some((block, next)) = stack.pop() {
        match successors(block).get(next) {
            Some(&s) => {
                stack.push((block, next + 1));
                if seen.insert(s) {
                    stack.push((s, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    let number: FxHashMap<Block, usize> = order.iter().enumerate().map(|(i, b)| (*b, i)).collect();
    let mut predecessors: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
    for &b in &order {
        for s in successors(b) {
            predecessors.entry(s).or_default().push(b);
        }
    }
    let mut idom: Vec<Option<usize>> = vec![None; order.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for (i, b) in order.iter().enumerate().skip(1) {
            let mut new = None;
            for p in predecessors.get(b).into_iter().flatten() {
                let Some(&p) = number.get(p) else { continue };
                if idom[p].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(other) => intersect(&idom, p, other),
                });
            }
            if idom[i] != new {
                idom[i] = new;
                changed = true;
            }
        }
    }
    (1..order.len()).filter_map(|i| Some((order[i], order[idom[i]?]))).collect()
}

fn intersect(idom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a].unwrap_or(0);
        }
        while b > a {
            b = idom[b].unwrap_or(0);
        }
    }
    a
}

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
