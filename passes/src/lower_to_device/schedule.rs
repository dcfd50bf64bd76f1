//! One global order of everything that is done, on all devices together.
//!
//! A *node* is an operation that becomes instructions. Edges are data, the orders of slices, and the overwriting of state (after
//! every reader of the old content). The schedule is simulated with each class computing one node at a time, a whole backward for
//! two units and anything else for one, and communication free as in the replay of schedules; nodes are taken by the time at which
//! they become ready. Any linear extension would be free of deadlock, since each device issues its communication in that order; this
//! one keeps receives near the time when their values exist, so that none holds up a send that could go before it.
//!
//! Aliases (`join`, `project`, `gradient`) and what is there at the beginning (`input`, `parameter`, `state`) are no nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use piper_dialects::dag::{AllGather, Commit, Compute, Order};
use piper_ir::pass::PassFailed;
use piper_ir::{Module, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::topology::Topology;
use crate::overlap::AFTER;

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// The operation itself.
    Run,
    /// One operand of a `dag.output` is reported.
    Store(usize),
    /// A `dag.gradient` is reported.
    Probe,
}

/// Something to be done on some classes.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) op: Op,
    pub(super) task: Task,
    pub(super) classes: Vec<u32>,
    /// Position of the operation in the text.
    pub(super) index: u32,
}

/// How a state gets its new content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Overwrite {
    /// The update writes it in place.
    InPlace,
    /// What computes the value writes it right there.
    Direct,
    /// It is copied at the commit.
    Copied,
}

/// All nodes, and the order.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) nodes: Vec<Node>,
    /// Positions in `nodes`.
    pub(super) order: Vec<u32>,
    /// By commit.
    pub(super) overwrites: FxHashMap<Op, Overwrite>,
}

/// Why one node comes after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    Data,
    Order(Op),
    State(Op),
    /// A collective's `after`.
    Issue,
}

/// Whether an operation only renames a value.
pub(super) fn is_alias(module: &Module, op: Op) -> bool {
    matches!(module.name_text(op), "dag.join" | "dag.project" | "dag.gradient")
}

/// Whether an operation's results are there at the beginning.
pub(super) fn is_source(module: &Module, op: Op) -> bool {
    matches!(module.name_text(op), "dag.input" | "dag.parameter" | "dag.state")
}

/// Finds the nodes and orders them.
///
/// # Errors
/// Orders that make nodes wait for each other in a circle, which is printed.
pub(super) fn schedule(
    module: &Module,
    graph: Op,
    topology: &Topology,
    probe_gradients: bool,
    reporter: &mut Reporter<'_>,
) -> Result<Schedule, PassFailed> {
    let mut planner = Planner {
        module,
        nodes: Vec::new(),
        runs: vec![u32::MAX; module.op_capacity()],
        stores: FxHashMap::default(),
        edges: Vec::new(),
        overwrites: FxHashMap::default(),
    };
    planner.nodes(graph, topology, probe_gradients);
    planner.data_edges();
    planner.state_edges(graph);
    planner.order_edges(graph);
    planner.extend(topology, reporter)
}

struct Planner<'m> {
    module: &'m Module,
    nodes: Vec<Node>,
    /// The `Run` node of an operation.
    runs: Vec<u32>,
    /// `Store` and `Probe` nodes, by operation and operand.
    stores: FxHashMap<(Op, usize), u32>,
    edges: Vec<(u32, u32, Why)>,
    overwrites: FxHashMap<Op, Overwrite>,
}

impl Planner<'_> {
    fn nodes(&mut self, graph: Op, topology: &Topology, probe_gradients: bool) {
        let module = self.module;
        let block = module.only_block(graph).expect("a graph has a block");
        let classes = |value: Value| topology.kept(module, value).classes.to_vec();
        for (index, op) in module.ops(block).enumerate() {
            let index = index as u32;
            let name = module.name_text(op);
            let here = match name {
                _ if is_source(module, op) => continue,
                "dag.order" => continue,
                "dag.output" => {
                    for (i, part) in module.operands(op).enumerate() {
                        self.stores.insert((op, i), self.nodes.len() as u32);
                        self.nodes.push(Node {
                            op,
                            task: Task::Store(i),
                            classes: classes(part),
                            index,
                        });
                    }
                    continue;
                }
                "dag.gradient" => {
                    if probe_gradients {
                        self.stores.insert((op, 0), self.nodes.len() as u32);
                        let here = classes(module.operand(op, 0));
                        self.nodes.push(Node { op, task: Task::Probe, classes: here, index });
                    }
                    continue;
                }
                _ if is_alias(module, op) => continue,
                "dag.commit" => {
                    let how = self.overwrite(Commit(op));
                    self.overwrites.insert(op, how);
                    if how != Overwrite::Copied {
                        continue;
                    }
                    classes(Commit(op).state(module))
                }
                "dag.transfer" => {
                    let mut both = classes(module.operand(op, 0));
                    both.extend(classes(module.result(op, 0)));
                    both
                }
                _ => match module.results(op).chain(module.operands(op)).next() {
                    Some(value) => classes(value),
                    None => continue,
                },
            };
            self.runs[op.index()] = self.nodes.len() as u32;
            self.nodes.push(Node { op, task: Task::Run, classes: here, index });
        }
    }

    /// How a commit can be done.
    fn overwrite(&self, commit: Commit) -> Overwrite {
        let module = self.module;
        let (state, value) = (commit.state(module), commit.value(module));
        let Some(def) = module.defining_op(value) else { return Overwrite::Copied };
        match module.name_text(def) {
            "dag.update" => {
                // Results are the parameter and its states; operands have the gradient between them.
                let at = module.results(def).position(|r| r == value).unwrap_or(0);
                let operand = if at == 0 { 0 } else { at + 1 };
                if module.operand(def, operand) == state {
                    Overwrite::InPlace
                } else {
                    Overwrite::Copied
                }
            }
            "dag.unpack" | "dag.all_gather" if module.uses(value).count() == 1 => Overwrite::Direct,
            _ => Overwrite::Copied,
        }
    }

    /// The nodes that make a value.
    fn makers(&self, value: Value, out: &mut Vec<u32>) {
        let Some(def) = self.module.defining_op(value) else { return };
        if is_alias(self.module, def) {
            self.module.operands(def).for_each(|v| self.makers(v, out));
        } else if self.runs[def.index()] != u32::MAX {
            out.push(self.runs[def.index()]);
        }
    }

    /// The nodes that read a value, through its aliases.
    fn readers(&self, value: Value, out: &mut Vec<u32>) {
        for used in self.module.uses(value) {
            if let Some(&store) = self.stores.get(&(used.op, used.index)) {
                out.push(store);
            }
            if is_alias(self.module, used.op) {
                self.module.results(used.op).for_each(|v| self.readers(v, out));
            } else if self.runs[used.op.index()] != u32::MAX {
                let commits_to = self.module.name_text(used.op) == "dag.commit" && used.index == 0;
                if !commits_to {
                    out.push(self.runs[used.op.index()]);
                }
            }
        }
    }

    fn data_edges(&mut self) {
        let mut makers = Vec::new();
        for to in 0..self.nodes.len() {
            let Node { op, task, .. } = self.nodes[to];
            makers.clear();
            match task {
                Task::Store(operand) => self.makers(self.module.operand(op, operand), &mut makers),
                _ => self.module.operands(op).for_each(|v| self.makers(v, &mut makers)),
            }
            makers.sort_unstable();
            makers.dedup();
            self.edges.extend(makers.iter().map(|&from| (from, to as u32, Why::Data)));
        }
    }

    fn state_edges(&mut self, graph: Op) {
        let module = self.module;
        let block = module.only_block(graph).expect("a graph has a block");
        for commit in module.ops(block).filter_map(|op| Commit::cast(module, op)) {
            let writer = match self.overwrites[&commit.0] {
                Overwrite::Copied => Some(commit.0),
                _ => module.defining_op(commit.value(module)),
            };
            let Some(writer) = writer.map(|op| self.runs[op.index()]).filter(|w| *w != u32::MAX)
            else {
                continue;
            };
            let mut readers = Vec::new();
            self.readers(commit.state(module), &mut readers);
            let before = readers.iter().filter(|reader| **reader != writer);
            self.edges.extend(before.map(|&reader| (reader, writer, Why::State(commit.0))));
        }
    }

    fn order_edges(&mut self, graph: Op) {
        let module = self.module;
        let ctx = module.ctx();
        let block = module.only_block(graph).expect("a graph has a block");
        let nodes: FxHashMap<&str, Op> = module
            .ops(block)
            .filter_map(|op| Some((Compute::cast(module, op)?.node(module).as_str(ctx)?, op)))
            .collect();
        for gather in module.ops(block).filter_map(|op| AllGather::cast(module, op)) {
            let after = gather.after(module).and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
            let issued = after.iter().filter_map(|name| nodes.get(name.as_symbol(ctx)?.text(ctx)));
            let to = self.runs[gather.0.index()];
            self.edges.extend(issued.map(|op| (self.runs[op.index()], to, Why::Issue)));
        }
        for order in module.ops(block).filter_map(|op| Order::cast(module, op)) {
            let slots = order.slots(module).as_array(ctx).unwrap_or(&[]);
            let members = slots.iter().flat_map(|slot| slot.as_array(ctx).unwrap_or(&[]));
            let chain: Vec<u32> = members
                .filter_map(|name| nodes.get(name.as_symbol(ctx)?.text(ctx)))
                .map(|op| self.runs[op.index()])
                .collect();
            self.edges.extend(chain.windows(2).map(|pair| (pair[0], pair[1], Why::Order(order.0))));
        }
        let after = ctx.name(AFTER);
        for op in module.ops(block) {
            let Some(name) = module.attr(op, after).and_then(|a| a.as_symbol(ctx)) else {
                continue;
            };
            if let Some(node) = nodes.get(name.text(ctx)) {
                let (from, to) = (self.runs[node.index()], self.runs[op.index()]);
                self.edges.push((from, to, Why::Issue));
            }
        }
    }

    /// Takes nodes in the order in which they become ready.
    fn extend(
        mut self,
        topology: &Topology,
        reporter: &mut Reporter<'_>,
    ) -> Result<Schedule, PassFailed> {
        let count = self.nodes.len();
        self.edges.sort_by_key(|edge| (edge.0, edge.1));
        self.edges.dedup_by_key(|edge| (edge.0, edge.1));
        let mut starts = vec![0u32; count + 1];
        let mut waits = vec![0u32; count];
        for &(from, to, _) in &self.edges {
            starts[from as usize + 1] += 1;
            waits[to as usize] += 1;
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let ctx = self.module.ctx();
        let mut ready_at = vec![0u64; count];
        let mut clocks = vec![0u64; topology.classes.len()];
        let mut order = Vec::with_capacity(count);
        // At one time communication goes first, so that a value leaves before the next computation begins.
        let computes: Vec<bool> =
            self.nodes.iter().map(|node| self.module.name_text(node.op) == "dag.compute").collect();
        let key = |ready: u64, node: u32| Reverse((ready, computes[node as usize], node));
        let mut heap: BinaryHeap<Reverse<(u64, bool, u32)>> =
            (0..count as u32).filter(|&n| waits[n as usize] == 0).map(|n| key(0, n)).collect();
        while let Some(Reverse((ready, _, node))) = heap.pop() {
            order.push(node);
            let at = node as usize;
            let done = match self.module.name_text(self.nodes[at].op) {
                "dag.compute" => {
                    let here = self.nodes[at].classes.iter().map(|&c| c as usize);
                    let start = here.clone().map(|c| clocks[c]).fold(ready, u64::max);
                    let kind = Compute(self.nodes[at].op).kind(self.module).as_str(ctx);
                    let end = start + if kind == Some("B") { 2 } else { 1 };
                    here.for_each(|c| clocks[c] = end);
                    end
                }
                _ => ready,
            };
            for &(_, to, _) in &self.edges[starts[at] as usize..starts[at + 1] as usize] {
                let to_at = to as usize;
                ready_at[to_at] = ready_at[to_at].max(done);
                waits[to_at] -= 1;
                if waits[to_at] == 0 {
                    heap.push(key(ready_at[to_at], to));
                }
            }
        }
        if order.len() < count {
            self.report_cycle(&waits, reporter);
            return Err(PassFailed);
        }
        Ok(Schedule { nodes: self.nodes, order, overwrites: self.overwrites })
    }

    /// Prints one circle among the nodes that were never ready.
    fn report_cycle(&self, waits: &[u32], reporter: &mut Reporter<'_>) {
        // Each of them waits for another of them; following these ends in a circle.
        let mut waits_for: FxHashMap<u32, (u32, Why)> = FxHashMap::default();
        for &(from, to, why) in &self.edges {
            if waits[from as usize] > 0 && waits[to as usize] > 0 {
                waits_for.insert(to, (from, why));
            }
        }
        let Some(mut at) = (0..waits.len() as u32).find(|n| waits[*n as usize] > 0) else { return };
        let mut seen = FxHashSet::default();
        while seen.insert(at) {
            at = waits_for[&at].0;
        }
        let first = at;
        let error = reporter.error(
            self.module.op_loc(self.nodes[first as usize].op),
            format!("the step cannot run: {} waits for itself", self.describe(first)),
        );
        loop {
            let (before, why) = waits_for[&at];
            let reason = match why {
                Why::Data => "whose result it uses".to_owned(),
                Why::Order(order) => {
                    let slice = Order(order).slice(self.module).display(self.module.ctx());
                    format!("which is before it in the order on {slice}")
                }
                Why::State(_) => "which reads the state that it overwrites".to_owned(),
                Why::Issue => "after which it is to be issued".to_owned(),
            };
            let message =
                format!("{} waits for {}, {reason}", self.describe(at), self.describe(before));
            error.note(self.module.op_loc(self.nodes[at as usize].op), message);
            at = before;
            if at == first {
                break;
            }
        }
        error.hint("the orders of the slices contradict each other or the data flow");
    }

    fn describe(&self, node: u32) -> String {
        let op = self.nodes[node as usize].op;
        match Compute::cast(self.module, op)
            .and_then(|c| c.node(self.module).as_str(self.module.ctx()))
        {
            Some(name) => format!("'{name}'"),
            None => format!("'{}'", self.module.name_text(op)),
        }
    }
}
