//! Which operations form a chunk, and in what order chunks run.

use piper_dialects::func;
use piper_dialects::nn::{self, Along};
use piper_dialects::strategy::tags_attr;
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Module, Op, Reporter, Value};
use rustc_hash::FxHashMap;

use crate::batching::along;

/// A chunk: the forward or the backward operations of a segment.
pub(super) struct Chunk {
    pub(super) tags: Attr,
    pub(super) segment: usize,
    pub(super) forward: bool,
    /// In textual order.
    pub(super) ops: Vec<Op>,
}

impl Chunk {
    /// `f0`, `b0`: the direction and the number of the segment.
    pub(super) fn node_name(&self) -> String {
        format!("{}{}", if self.forward { 'f' } else { 'b' }, self.segment)
    }
}

/// The chunks of a function.
pub(super) struct Chunks {
    /// In an order in which they can run; forward order of segments, then mostly the reverse.
    pub(super) chunks: Vec<Chunk>,
    /// For every operation, the position of its chunk in `chunks`.
    pub(super) of_op: FxHashMap<Op, usize>,
    /// How every value varies when the batch is split.
    pub(super) along: FxHashMap<Value, Along>,
    /// For every returned gradient contribution: which of how many of its parameter.
    pub(super) contributions: FxHashMap<Value, (i64, i64)>,
}

impl Chunks {
    pub(super) fn of(
        module: &Module,
        func: Op,
        reporter: &mut Reporter<'_>,
    ) -> Result<Self, PassFailed> {
        let ctx = module.ctx();
        let body = module.only_block(func).ok_or(PassFailed)?;
        let mut segments: FxHashMap<Attr, usize> = FxHashMap::default();
        let mut number: FxHashMap<(usize, bool), usize> = FxHashMap::default();
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut of_op = FxHashMap::default();
        let mut untagged = false;
        for op in module.ops(body) {
            let name = module.name_text(op);
            if name == nn::Parameter::NAME || name == func::Return::NAME {
                continue;
            }
            let forward = module
                .attr_by(op, "pass")
                .and_then(|a| a.as_str(ctx))
                .is_none_or(|pass| pass == "F");
            let Some(tags) = tags_attr(module, op)
                .filter(|tags| tags.as_dict(ctx).is_some_and(|d| !d.is_empty()))
            else {
                // Its backward operations have none for the same reason.
                if forward {
                    reporter
                        .error(
                            module.op_loc(op),
                            format!("'{name}' is in no segment: it has no tags"),
                        )
                        .hint("put it inside a strategy.annotate {...} region, such as {PP = 0}");
                }
                untagged = true;
                continue;
            };
            let count = segments.len();
            let segment = *segments.entry(tags).or_insert(count);
            let at = *number.entry((segment, forward)).or_insert_with(|| {
                chunks.push(Chunk { tags, segment, forward, ops: Vec::new() });
                chunks.len() - 1
            });
            chunks[at].ops.push(op);
            of_op.insert(op, at);
        }
        if untagged {
            return Err(PassFailed);
        }
        let order = running_order(module, &chunks, &of_op, reporter)?;
        let mut position = vec![0; chunks.len()];
        for (i, &chunk) in order.iter().enumerate() {
            position[chunk] = i;
        }
        for at in of_op.values_mut() {
            *at = position[*at];
        }
        let mut slots: Vec<Option<Chunk>> = chunks.into_iter().map(Some).collect();
        let chunks = order.iter().map(|&i| slots[i].take().expect("each chunk once")).collect();
        let along = along(module, func, reporter)?;
        Ok(Self { chunks, of_op, along, contributions: contributions(module, func) })
    }
}

/// Chunks after those they depend on, else in textual order.
fn running_order(
    module: &Module,
    chunks: &[Chunk],
    of_op: &FxHashMap<Op, usize>,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<usize>, PassFailed> {
    let mut graph =
        petgraph::graph::DiGraph::<usize, (Op, Op)>::with_capacity(chunks.len(), chunks.len() * 4);
    let nodes: Vec<_> = (0..chunks.len()).map(|i| graph.add_node(i)).collect();
    let mut seen = rustc_hash::FxHashSet::default();
    for (at, chunk) in chunks.iter().enumerate() {
        for &op in &chunk.ops {
            for value in module.operands(op) {
                let Some(def) = module.defining_op(value) else { continue };
                let Some(&from) = of_op.get(&def) else { continue };
                if from != at && seen.insert((from, at)) {
                    graph.add_edge(nodes[from], nodes[at], (def, op));
                }
            }
        }
    }
    // Kahn's algorithm, taking the textually first chunk that is ready.
    let mut waiting: Vec<usize> =
        nodes.iter().map(|n| graph.neighbors_directed(*n, petgraph::Incoming).count()).collect();
    let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<usize>> =
        (0..chunks.len()).filter(|i| waiting[*i] == 0).map(std::cmp::Reverse).collect();
    let mut order = Vec::with_capacity(chunks.len());
    while let Some(std::cmp::Reverse(at)) = ready.pop() {
        order.push(at);
        for next in graph.neighbors(nodes[at]) {
            let next = graph[next];
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(std::cmp::Reverse(next));
            }
        }
    }
    if order.len() == chunks.len() {
        return Ok(order);
    }
    // Of several circles (the backward has that of the forward again) the one that comes first.
    let circles =
        petgraph::algo::tarjan_scc(&graph).into_iter().filter(|component| component.len() > 1);
    let mut cyclic =
        circles.min_by_key(|component| component.iter().min().copied()).unwrap_or_default();
    cyclic.sort_unstable();
    let tags = |at: usize| chunks[at].tags.display(module.ctx());
    let (a, b) = (graph[cyclic[0]], graph[cyclic[1]]);
    let report = reporter.error(
        module.op_loc(chunks[a].ops[0]),
        format!(
            "segments {} and {} depend on each other both ways, so neither can run first",
            tags(a),
            tags(b)
        ),
    );
    report.hint(
        "a segment that is left and entered again needs a tag of its own for the second part",
    );
    for edge in graph.edge_indices() {
        let Some((from, to)) = graph.edge_endpoints(edge) else { continue };
        if cyclic.contains(&from) && cyclic.contains(&to) {
            let (_, user) = graph[edge];
            let message = format!("{} uses a value of {} here", tags(graph[to]), tags(graph[from]));
            report.note(module.op_loc(user), message);
        }
    }
    Err(PassFailed)
}

/// Numbers the contributions of each parameter among the function's results.
fn contributions(module: &Module, func: Op) -> FxHashMap<Value, (i64, i64)> {
    let ctx = module.ctx();
    let names = module.attr_by(func, "gradients").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
    let returned: Vec<Value> = func::Func(func)
        .terminator(module)
        .map_or(Vec::new(), |end| module.operands(end.0).skip(1).collect());
    let mut total: FxHashMap<Attr, i64> = FxHashMap::default();
    let indices: Vec<i64> = names
        .iter()
        .map(|name| {
            let count = total.entry(*name).or_insert(0);
            *count += 1;
            *count - 1
        })
        .collect();
    returned
        .iter()
        .zip(names)
        .zip(indices)
        .map(|((value, name), index)| (*value, (index, total[name])))
        .collect()
}
