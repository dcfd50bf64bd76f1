//! `verify-dag`: what the verifiers of single operations cannot see. Changes nothing.
//!
//! - [`bodies`]: a chunk's body has the local types of what it is called with;
//! - [`homes`]: every axis and coordinate in a type exists, and none is used twice;
//! - [`axes`]: a result is sharded or partial over exactly the axes along which what it is made of differs;
//! - [`kinds`]: it is a shard, or a partial sum, where its body makes one;
//! - [`contributions`]: every gradient holds every contribution once, found by following the data and not the types;
//! - [`optimizer`]: what is trained has a gradient and is written back, once;
//! - [`wiring`]: each update takes one parameter, its gradient and its state, and gives them back;
//! - [`schedule`]: the orders can be run: nodes on their slice, each once, no cycle together with the data.
//!
//! Each check takes time linear in the graph (contributions: in the number of summands).

pub mod axes;
pub mod bodies;
pub mod contributions;
pub mod homes;
pub mod kinds;
pub mod optimizer;
pub mod schedule;
pub mod wiring;

use piper_dialects::dag::{AxisSizes, Compute, Dist};
use piper_dialects::func::Func;
use piper_ir::pass::{PassContext, PassInfo, PassResult};
use piper_ir::{Context, Module, Op, OpName, Reporter, Type, Value};
use rustc_hash::FxHashMap;

use crate::nodes::graphs;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    vec![
        PassInfo::from_fn(
            "verify-dag",
            "Check that a graph computes every contribution once, in an order that can run",
            run_pass,
        )
        .describe("Input: graphs at any stage. Fails with every fault found; changes nothing.")
        .after(&["build-dag"]),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>) -> PassResult {
    let before = cx.reporter.error_count();
    for graph in graphs(cx.module) {
        verify(cx.module, graph, cx.reporter);
    }
    cx.fail_if_errors_since(before)
}

/// Checks a graph whose operations verify. True if nothing was wrong.
pub fn verify(module: &Module, graph: Op, reporter: &mut Reporter<'_>) -> bool {
    let before = reporter.error_count();
    let block = module.only_block(graph).expect("a graph has a block");
    let graph = Checked {
        module,
        graph,
        ops: module.ops(block).collect(),
        sizes: AxisSizes::of_graph(module, graph),
        compute: module.ctx().op_name(Compute::NAME),
        dists: std::cell::RefCell::default(),
    };
    homes::check(&graph, reporter);
    bodies::check(&graph, reporter);
    axes::check(&graph, reporter);
    kinds::check(&graph, reporter);
    contributions::check(&graph, reporter);
    optimizer::check(&graph, reporter);
    wiring::check(&graph, reporter);
    schedule::check(&graph, reporter);
    reporter.error_count() == before
}

/// A graph under check, with what several checks need.
pub(crate) struct Checked<'m> {
    module: &'m Module,
    graph: Op,
    ops: Vec<Op>,
    sizes: AxisSizes,
    compute: OpName,
    /// Types are few and values are many.
    dists: std::cell::RefCell<FxHashMap<Type, std::rc::Rc<Dist>>>,
}

impl<'m> Checked<'m> {
    fn ctx(&self) -> &'m Context {
        self.module.ctx()
    }

    fn dist(&self, value: Value) -> std::rc::Rc<Dist> {
        let ty = self.module.ty(value);
        let mut dists = self.dists.borrow_mut();
        let made = dists.entry(ty).or_insert_with(|| {
            std::rc::Rc::new(Dist::of(self.module.ctx(), ty).expect("declared as !dag.dist"))
        });
        std::rc::Rc::clone(made)
    }

    /// The operations of this name. Names are interned, so that a scan compares handles.
    fn named(&self, name: &'static str) -> impl Iterator<Item = Op> + '_ {
        let name = self.module.ctx().op_name(name);
        self.ops.iter().copied().filter(move |op| self.module.name(*op) == name)
    }

    /// The compute nodes, in text order.
    fn nodes(&self) -> impl Iterator<Item = Compute> + '_ {
        self.named(Compute::NAME).map(Compute)
    }

    /// The operation, if it is a compute node.
    fn node(&self, op: Op) -> Option<Compute> {
        (self.module.name(op) == self.compute).then_some(Compute(op))
    }

    /// The functions beside the graph, by name.
    fn functions(&self) -> FxHashMap<&'m str, Op> {
        let module = self.module;
        let table = module.parent_block(self.graph).into_iter().flat_map(|b| module.ops(b));
        let functions = table.filter(|op| module.name_text(*op) == Func::NAME);
        functions.filter_map(|op| Some((module.symbol_name(op)?, op))).collect()
    }

    /// The text of the operation's `name`.
    fn name_of(&self, op: Op) -> &'m str {
        self.module.attr_by(op, "name").and_then(|a| a.as_str(self.module.ctx())).unwrap_or("")
    }
}
