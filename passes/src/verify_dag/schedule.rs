//! Orders that can be run: every node of a slice once, and no cycle together with the data.

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use piper_dialects::dag::{Compute, Home, Order};
use piper_ir::{Name, Op, Reporter};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;
use crate::overlap::AFTER;

/// Why one operation runs before another.
#[derive(Clone, Copy)]
enum Because {
    /// It makes a value the other uses.
    Data,
    /// An order says so.
    Order(Op),
    /// A collective is issued after a node.
    Issue,
}

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let module = graph.module;
    let nodes: FxHashMap<Name, Op> = graph
        .nodes()
        .filter_map(|node| Some((graph.ctx().name(node.node(module).as_str(graph.ctx())?), node.0)))
        .collect();
    let orders: Vec<Op> = graph.named("dag.order").collect();
    let errors = reporter.error_count();
    coverage(graph, &nodes, &orders, reporter);
    if reporter.error_count() == errors {
        acyclic(graph, &nodes, &orders, reporter);
    }
}

/// The slots of an order as operations.
fn slots(graph: &Checked<'_>, nodes: &FxHashMap<Name, Op>, order: Op) -> Vec<Vec<Op>> {
    let ctx = graph.ctx();
    let slots = Order(order).slots(graph.module).as_array(ctx).unwrap_or(&[]);
    let members = |slot: &piper_ir::Attr| {
        let members = slot.as_array(ctx).unwrap_or(&[]).iter();
        members.filter_map(|m| nodes.get(&m.as_symbol(ctx)?).copied()).collect()
    };
    slots.iter().map(members).collect()
}

fn coverage(
    graph: &Checked<'_>,
    nodes: &FxHashMap<Name, Op>,
    orders: &[Op],
    reporter: &mut Reporter<'_>,
) {
    let (module, ctx) = (graph.module, graph.ctx());
    let mut ordered: FxHashMap<Op, Op> = FxHashMap::default();
    let mut slices: FxHashMap<Vec<(Name, i64)>, Op> = FxHashMap::default();
    let text = |op: Op| Compute(op).node(module).as_str(ctx).unwrap_or("");
    for &order in orders {
        let mut slice: Vec<(Name, i64)> = Order(order)
            .slice(module)
            .as_dict(ctx)
            .unwrap_or(&[])
            .iter()
            .filter_map(|(n, at)| Some((*n, at.as_int(ctx)?)))
            .collect();
        slice.sort_by_key(|(n, _)| n.text(ctx));
        let place = Home::Slice(slice.clone());
        let shown = Order(order).slice(module).display(ctx);
        if let Some(first) = slices.insert(slice, order) {
            reporter
                .error(module.op_loc(order), format!("{shown} has two orders"))
                .note(module.op_loc(first), "the first is here");
            continue;
        }
        for op in slots(graph, nodes, order).into_iter().flatten() {
            if let Some(first) = ordered.insert(op, order) {
                let again = if first == order { "twice" } else { "in two orders" };
                reporter
                    .error(
                        module.op_loc(order),
                        format!("node '{}' stands {again}, but runs once", text(op)),
                    )
                    .note(module.op_loc(op), "the node is here");
            } else if place_of(graph, op).is_some_and(|there| there != place) {
                reporter
                    .error(
                        module.op_loc(order),
                        format!(
                            "node '{}' is in the order of {shown}, but does not run there",
                            text(op)
                        ),
                    )
                    .note(module.op_loc(op), "the node is here");
            }
        }
    }
    for op in graph.nodes().map(|node| node.0) {
        if ordered.contains_key(&op) {
            continue;
        }
        if let Some(Home::Slice(at)) = place_of(graph, op)
            && let Some(order) = slices.get(&at)
        {
            let message = format!("node '{}' is not in the order of its slice", text(op));
            reporter
                .error(module.op_loc(op), message)
                .note(module.op_loc(*order), "the order is here");
        }
    }
}

/// The slice a node runs on.
fn place_of(graph: &Checked<'_>, op: Op) -> Option<Home> {
    let value = graph.module.results(op).chain(graph.module.operands(op)).next()?;
    Some(graph.dist(value).place(graph.ctx()))
}

fn acyclic(
    graph: &Checked<'_>,
    nodes: &FxHashMap<Name, Op>,
    orders: &[Op],
    reporter: &mut Reporter<'_>,
) {
    let module = graph.module;
    let mut all: DiGraph<Op, Because, u32> =
        DiGraph::with_capacity(graph.ops.len(), 4 * graph.ops.len());
    let index: FxHashMap<Op, NodeIndex> =
        graph.ops.iter().map(|op| (*op, all.add_node(*op))).collect();
    for &op in &graph.ops {
        for value in module.operands(op) {
            if let Some(from) = module.defining_op(value).and_then(|def| index.get(&def)) {
                all.add_edge(*from, index[&op], Because::Data);
            }
        }
    }
    for &order in orders {
        // Members of a slot run in the order given until a pass overlaps them, so a slot is a list like its neighbours.
        let sequence: Vec<Op> = slots(graph, nodes, order).into_iter().flatten().collect();
        for pair in sequence.windows(2) {
            all.add_edge(index[&pair[0]], index[&pair[1]], Because::Order(order));
        }
    }
    let after = graph.ctx().name(AFTER);
    for &op in &graph.ops {
        let name = module.attr(op, after).and_then(|name| name.as_symbol(graph.ctx()));
        if let Some(node) = name.and_then(|name| nodes.get(&name)) {
            all.add_edge(index[node], index[&op], Because::Issue);
        }
    }
    for component in tarjan_scc(&all) {
        let itself = all.contains_edge(component[0], component[0]);
        if component.len() > 1 || itself {
            report_cycle(graph, &all, &component, reporter);
        }
    }
}

/// Reports one cycle in a strongly connected component, with the reason of every step.
fn report_cycle(
    graph: &Checked<'_>,
    all: &DiGraph<Op, Because, u32>,
    component: &[NodeIndex],
    reporter: &mut Reporter<'_>,
) {
    let (module, ctx) = (graph.module, graph.ctx());
    let inside: FxHashSet<NodeIndex> = component.iter().copied().collect();
    // Breadth first from one node back to itself: a shortest cycle through it.
    let start = component.iter().copied().min().expect("a component has a node");
    let mut from: FxHashMap<NodeIndex, NodeIndex> = FxHashMap::default();
    let mut queue = std::collections::VecDeque::from([start]);
    let mut last = start;
    'search: while let Some(at) = queue.pop_front() {
        for next in all.neighbors(at).filter(|next| inside.contains(next)) {
            if next == start {
                last = at;
                break 'search;
            }
            if let std::collections::hash_map::Entry::Vacant(entry) = from.entry(next) {
                entry.insert(at);
                queue.push_back(next);
            }
        }
    }
    let mut cycle = vec![last];
    while cycle[cycle.len() - 1] != start {
        cycle.push(from[&cycle[cycle.len() - 1]]);
    }
    cycle.reverse();
    let name = |at: NodeIndex| match Compute::cast(module, all[at]) {
        Some(node) => format!("'{}'", node.node(module).as_str(ctx).unwrap_or("")),
        None => format!("a '{}'", module.name_text(all[at])),
    };
    let named: Vec<String> = cycle.iter().copied().chain([start]).map(name).collect();
    let report = reporter.error(
        module.op_loc(all[start]),
        format!("the graph cannot run: {} wait for each other", named.join(" -> ")),
    );
    for (i, &at) in cycle.iter().enumerate() {
        let next = cycle[(i + 1) % cycle.len()];
        let because = all.find_edge(at, next).map(|edge| all[edge]);
        let (loc, why) = match because {
            Some(Because::Order(order)) => {
                let slice = Order(order).slice(module).display(ctx);
                (
                    module.op_loc(order),
                    format!("{} runs before {} in the order of {slice}", name(at), name(next)),
                )
            }
            Some(Because::Issue) => {
                (module.op_loc(all[next]), format!("{} is issued after {}", name(next), name(at)))
            }
            _ => (module.op_loc(all[next]), format!("{} uses what {} makes", name(next), name(at))),
        };
        report.note(loc, why);
    }
}
