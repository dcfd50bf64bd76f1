//! Sums of contributions: finding what is added, and adding it in another order.

use piper_dialects::dag::{Add, Dist, Graph};
use piper_ir::pass::{OptionDef, PassOptions};
use piper_ir::{Builder, Module, Op, Type, Value};
use rustc_hash::FxHashMap;

/// How a sum is ordered.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One after the other: the least memory, as a running sum is updated in place.
    #[default]
    Chain,
    /// A balanced binary tree over the order of the summands: the same bits whatever the schedule, if the order is.
    Tree,
}

impl Shape {
    /// The option by which passes are told.
    pub const OPTION: OptionDef = OptionDef::new(
        "accumulate",
        "gradients add up as a 'chain' (in running order) or as a 'tree' (same bits under every schedule)",
        Some("chain"),
    );

    /// What the options of a pass say.
    ///
    /// # Errors
    /// A value that is no shape.
    pub fn of(options: &PassOptions) -> Result<Self, String> {
        match options.text(&Self::OPTION.name) {
            None | Some("chain") => Ok(Self::Chain),
            Some("tree") => Ok(Self::Tree),
            Some(other) => Err(format!("option 'accumulate' takes chain or tree, not '{other}'")),
        }
    }
}

/// The values a sum is made of, left to right: `value` itself unless it is a `dag.add`.
pub fn summands(module: &Module, value: Value) -> Vec<Value> {
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        match module.defining_op(value).and_then(|op| Add::cast(module, op)) {
            Some(sum) => stack.extend([sum.b(module), sum.a(module)]),
            None => found.push(value),
        }
    }
    found
}

/// Makes sums. Types repeat (every matrix of one shape, every microbatch), so each pair of them is united once.
#[derive(Default)]
pub struct Sums {
    united: FxHashMap<(Type, Type), Type>,
}

impl Sums {
    /// Inserts the sum of values that hold different contributions.
    pub fn sum(&mut self, b: &mut Builder<'_>, values: &[Value], shape: Shape) -> Value {
        match (values, shape) {
            ([only], _) => *only,
            (_, Shape::Chain) => {
                values[1..].iter().fold(values[0], |total, &next| self.add(b, total, next))
            }
            (_, Shape::Tree) => {
                // The left half is the largest power of two below the length, so that aligned halves are subtrees of the whole.
                let (left, right) = values.split_at(left_half(values.len()));
                let (left, right) = (self.sum(b, left, shape), self.sum(b, right, shape));
                self.add(b, left, right)
            }
        }
    }

    /// Inserts a `dag.add`.
    pub fn add(&mut self, b: &mut Builder<'_>, a: Value, other: Value) -> Value {
        let types = (b.module.ty(a), b.module.ty(other));
        let ty = *self.united.entry(types).or_insert_with(|| united(b.module, a, types));
        let loc =
            b.module.defining_op(other).map_or(b.ctx().unknown_loc(), |op| b.module.op_loc(op));
        b.set_loc(loc);
        let state = b.state("dag.add").operands([a, other]).results([ty]);
        b.value(state)
    }
}

/// The type of a sum of values of two types, the first of which is `a`'s.
fn united(module: &Module, a: Value, (x, y): (Type, Type)) -> Type {
    let ctx = module.ctx();
    let dist = |ty: Type| Dist::of(ctx, ty).expect("a value of the graph");
    let (x, y) = (dist(x), dist(y));
    let graph = module
        .defining_op(a)
        .and_then(|op| module.parent_op(op))
        .and_then(|op| Graph::cast(module, op));
    let microbatches =
        graph.and_then(|g| g.microbatches(module)).and_then(|m| m.as_int(ctx)).unwrap_or(1);
    let held = match (&x.held, &y.held) {
        // What would be counted twice is for the verifier of the sum to report.
        (Some(p), Some(q)) => p.united(q, microbatches).unwrap_or_else(|_| Some(p.clone())),
        _ => None,
    };
    Dist { held, ..x }.ty(ctx)
}

/// The `dag.add` operations that a sum is made of, the outermost first.
pub fn additions(module: &Module, value: Value) -> Vec<Op> {
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        if let Some(sum) = module.defining_op(value).and_then(|op| Add::cast(module, op)) {
            found.push(sum.0);
            stack.extend([sum.b(module), sum.a(module)]);
        }
    }
    found
}

/// The largest power of two below `count`, which is at least 2.
fn left_half(count: usize) -> usize {
    1 << (count - 1).ilog2()
}

/// Erases a sum's operations that have no use any more, from the outermost inwards.
pub fn erase_unused(module: &mut Module, value: Value) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        let Some(op) = module.defining_op(value) else { continue };
        if Add::cast(module, op).is_none() || module.has_used_result(op) {
            continue;
        }
        stack.extend(module.operands(op).collect::<Vec<_>>());
        module.erase(op);
    }
}

/// The `dag.gradient` operations of a graph.
pub fn gradients(module: &Module, graph: Op) -> Vec<Op> {
    let block = module.only_block(graph).expect("a graph has a block");
    module.ops(block).filter(|op| module.name_text(*op) == "dag.gradient").collect()
}

#[cfg(test)]
mod tests {
    use super::left_half;

    /// `((0 1)(2 3))`: how a tree over the summands from `first` on groups them.
    fn tree(first: usize, count: usize) -> String {
        if count == 1 {
            return first.to_string();
        }
        let left = left_half(count);
        format!("({}{})", tree(first, left), tree(first + left, count - left))
    }

    #[test]
    fn aligned_halves_are_subtrees() {
        assert_eq!(tree(0, 2), "(01)");
        assert_eq!(tree(0, 3), "((01)2)");
        assert_eq!(tree(0, 4), "((01)(23))");
        assert_eq!(tree(0, 8), "(((01)(23))((45)(67)))");
        for parts in [1, 2, 4, 8] {
            let whole = tree(0, 8);
            let size = 8 / parts;
            assert!((0..parts).all(|part| whole.contains(&tree(part * size, size))));
        }
    }
}
