//! `recompute`: backward nodes compute forward values again instead of keeping them.
//!
//! A value that a segment's forward node (`F`) gives to its own backward node is alive from one to the other; in a pipeline that
//! is many slots, for every microbatch in flight. Here the backward takes what the forward took and has the
//! forward's operations in its own body; the forward no longer gives the value. The operations are the same ones on the same
//! operands, so the bits are the same. Values of *other* segments, which are the segment's inputs, are kept.
//!
//! Input: a graph at any stage; bodies of the backward before or after `split_backward`. Applied before it (which
//! [`apply`](crate::apply) does), `BI` has the recomputed operations it needs and gives what `BW` needs of them, counted, as a residual;
//! applied after it, each half recomputes for itself. Fails if a filter selects no segment, or nothing is made by the operations named.
//!
//! ```mlir
//! // before: f0 gives %a, which b0 takes
//! func.func private @f0(%x, %w0) { %a = nn.linear %x, %w0   %g = nn.gelu %a   func.return %a, %g }
//! func.func private @b0(%a, %d_g, %x) { %d_a = nn.gelu_dx %a, %d_g   %d_w0 = nn.linear_dw %x, %d_a   func.return %d_w0 }
//! // after strategy.recompute {PP = 0}
//! func.func private @f0.lean(%x, %w0) { %a = nn.linear %x, %w0   %g = nn.gelu %a   func.return %g }
//! func.func private @b0.again(%d_g, %x, %w0) { %a = nn.linear %x, %w0   %d_a = nn.gelu_dx %a, %d_g   %d_w0 = ...   func.return %d_w0 }
//! ```

mod body;

use piper_dialects::dag::Compute;
use piper_dialects::strategy::Recomputed;
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Builder, Loc, Module, Op, Reporter, Value};
use piper_schedule::text::filter::Filter;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nodes::{compute_nodes, node_tags_match};
use crate::outline::erase_uncalled;

use body::{Backward, Inner, Source, Wire};

/// One directive.
#[derive(Clone, Debug)]
pub struct Recompute {
    /// Which segments: their forward or their backward node matches.
    pub filter: Filter,
    /// What is recomputed there.
    pub what: Recomputed,
    /// Whether `BW` computes again what `BI` has computed, instead of keeping it.
    pub again: bool,
    /// Where it stands.
    pub loc: Loc,
}

/// Applies directives, a later one to a segment instead of an earlier one. Returns how many backward nodes recompute something.
///
/// # Errors
/// A directive that selects no segment, or whose operations occur in none of the segments it selects.
pub fn run(
    module: &mut Module,
    graph: Op,
    directives: &[Recompute],
    reporter: &mut Reporter<'_>,
) -> Result<u64, PassFailed> {
    let selected = selected(module, graph, directives, reporter)?;
    let mut pairs = Pairs { module, graph, known: FxHashMap::default() };
    let mut changed: Vec<(Op, Op, Backward)> = Vec::new();
    for (backward, forward, directive) in selected {
        let made = pairs.backward(backward, forward, directive, &directives[directive]);
        changed.extend(made.map(|made| (backward, forward, made)));
    }
    let count = changed.len() as u64;
    let old: Vec<Attr> = changed
        .iter()
        .flat_map(|(b, f, _)| [Compute(*b).callee(module), Compute(*f).callee(module)])
        .collect();
    rewire(module, graph, changed);
    erase_uncalled(module, graph, old);
    Ok(count)
}

/// Backward nodes with the forward node of their segment and the directive that holds for them.
fn selected(
    module: &Module,
    graph: Op,
    directives: &[Recompute],
    reporter: &mut Reporter<'_>,
) -> Result<Vec<(Op, Op, usize)>, PassFailed> {
    let ctx = module.ctx();
    let nodes = compute_nodes(module, graph);
    let is_forward = |op: Op| Compute(op).kind(module).as_str(ctx) == Some("F");
    let forward: FxHashMap<Attr, Op> = nodes
        .iter()
        .filter(|op| is_forward(**op))
        .map(|op| (Compute(*op).tags(module), *op))
        .collect();
    let backward: Vec<(Op, Op)> = nodes
        .iter()
        .filter(|op| !is_forward(**op))
        .filter_map(|op| Some((*op, *forward.get(&Compute(*op).tags(module))?)))
        .collect();
    let mut holds: Vec<Option<usize>> = vec![None; backward.len()];
    let errors = reporter.error_count();
    for (number, directive) in directives.iter().enumerate() {
        let mut bodies = FxHashSet::default();
        for (at, (b, f)) in backward.iter().enumerate() {
            if [*b, *f].into_iter().any(|op| node_tags_match(module, op, &directive.filter)) {
                holds[at] = Some(number);
                bodies.insert(Compute(*f).callee(module));
            }
        }
        if bodies.is_empty() {
            reporter.error(
                directive.loc,
                format!("'recompute' selects no segment that is trained: {}", directive.filter),
            );
        } else if let Recomputed::Only(names) = &directive.what {
            body::names_occur(module, graph, &bodies, names, directive.loc, reporter);
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let with = backward.into_iter().zip(holds);
    Ok(with.filter_map(|((b, f), directive)| Some((b, f, directive?))).collect())
}

/// What tells one pair of bodies, wired in one way, from another.
type Key = (Attr, Attr, Vec<Wire>, usize);

/// Makes bodies, one for all pairs of nodes that are alike.
struct Pairs<'m> {
    module: &'m mut Module,
    graph: Op,
    known: FxHashMap<Key, Option<Backward>>,
}

impl Pairs<'_> {
    /// How the backward node computes again; `None` if it needs nothing of what the directive names.
    fn backward(&mut self, b: Op, f: Op, number: usize, directive: &Recompute) -> Option<Backward> {
        let module = &mut *self.module;
        let results: FxHashMap<Value, usize> =
            module.results(f).enumerate().map(|(i, v)| (v, i)).collect();
        let operands: FxHashMap<Value, usize> =
            module.operands(f).enumerate().map(|(i, v)| (v, i)).collect();
        let wires: Vec<Wire> = module
            .operands(b)
            .map(|value| match (results.get(&value), operands.get(&value)) {
                (Some(&result), _) => Wire::Result(result),
                (_, Some(&operand)) => Wire::Operand(operand),
                _ => Wire::Other,
            })
            .collect();
        let callees = (Compute(b).callee(module), Compute(f).callee(module));
        let key = (callees.0, callees.1, wires, number);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made = body::of(module, self.graph, callees, &key.2, &directive.what, directive.again);
        self.known.insert(key, made.clone());
        made
    }
}

/// Gives the forward nodes the results that are wanted of them, and the backward nodes their bodies and operands.
fn rewire(module: &mut Module, graph: Op, changed: Vec<(Op, Op, Backward)>) {
    // Values inside of a forward that its backward nodes want besides what it gives already.
    let mut wanted: Vec<(Op, Vec<Inner>)> = Vec::new();
    let mut position: FxHashMap<Op, usize> = FxHashMap::default();
    for (_, forward, made) in &changed {
        let at = *position.entry(*forward).or_insert_with(|| {
            wanted.push((*forward, Vec::new()));
            wanted.len() - 1
        });
        let inner = &mut wanted[at].1;
        let new = made.operands.iter().filter_map(Source::inner);
        new.for_each(|value| {
            if !inner.contains(&value) {
                inner.push(value);
            }
        });
    }
    let mut forwards: Vec<(Op, Attr, usize, Vec<Inner>)> = Vec::new();
    for (forward, inner) in wanted {
        let given = module.num_results(forward);
        let callee = Compute(forward).callee(module);
        let wide = match inner.is_empty() {
            true => forward,
            false => {
                let types = body::inner_types(module, graph, forward, callee, &inner);
                let all: Vec<usize> = (0..given).collect();
                with_results(module, forward, callee, &all, types)
            }
        };
        forwards.push((wide, callee, given, inner));
    }
    for (backward, forward, made) in changed {
        let (wide, _, given, inner) = &forwards[position[&forward]];
        let own: Vec<Value> = module.operands(backward).collect();
        let operands: Vec<Value> = made
            .operands
            .iter()
            .map(|source| match source {
                Source::Own(i) => own[*i],
                Source::Operand(i) => module.operand(*wide, *i),
                Source::Result(i) => module.result(*wide, *i),
                Source::Inner(value) => {
                    let at = inner.iter().position(|known| known == value);
                    module.result(*wide, given + at.expect("collected above"))
                }
            })
            .collect();
        module.set_operands(backward, &operands);
        module.set_attr_by(backward, "callee", made.callee);
    }
    let mut variants = FxHashMap::default();
    for (wide, callee, given, inner) in forwards {
        let used = |i: &usize| module.is_used(module.result(wide, *i));
        let mut kept: Vec<usize> = (0..given).filter(used).collect();
        // A forward that nobody needs stays for the verifier to report.
        if kept.is_empty() && inner.is_empty() {
            kept.push(0);
        }
        if kept.len() == given && inner.is_empty() {
            continue;
        }
        let key = (callee, kept.clone(), inner.clone());
        let lean = *variants
            .entry(key)
            .or_insert_with(|| body::forward(module, graph, callee, &kept, &inner));
        let all: Vec<usize> = kept.into_iter().chain(given..given + inner.len()).collect();
        with_results(module, wide, lean, &all, Vec::new());
    }
}

/// Replaces a node by one that gives those of its results and values of `more` types. Returns it.
fn with_results(
    module: &mut Module,
    node: Op,
    callee: Attr,
    kept: &[usize],
    more: Vec<piper_ir::Type>,
) -> Op {
    let ctx = module.ctx_arc();
    let results: Vec<Value> = module.results(node).collect();
    let types = kept.iter().map(|&i| module.ty(results[i])).chain(more).collect::<Vec<_>>();
    let operands: Vec<Value> = module.operands(node).collect();
    let view = Compute(node);
    let (name, kind, tags) = (view.node(module), view.kind(module), view.tags(module));
    let loc = module.op_loc(node);
    let mut b = Builder::before(module, node);
    b.set_loc(loc);
    let state = b
        .state(Compute::NAME)
        .operands(operands)
        .results(types)
        .attr(&ctx, "callee", callee)
        .attr(&ctx, "node", name)
        .attr(&ctx, "kind", kind)
        .attr(&ctx, "tags", tags);
    let new = b.insert(state);
    for (at, &i) in kept.iter().enumerate() {
        let value = module.result(new, at);
        if let Some(hint) = module.value_name(results[i]) {
            module.set_value_name(value, hint);
        }
        if module.is_used(results[i]) {
            module.replace_uses(results[i], value);
        }
    }
    module.erase(node);
    new
}
