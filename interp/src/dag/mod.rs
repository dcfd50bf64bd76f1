//! Runs a `dag.graph`: one training step, with every device's own tensors.
//!
//! Each operation is executed for every device of its home, on the local values there. Sums over axes are balanced trees in
//! member order ([`ops::tree_sum`](fn@crate::ops::tree_sum)), so that a run has the bits of any other lowering that promises
//! the fixed tree. What is replicated is computed on each device and compared where it leaves the graph: a state or gradient whose
//! replicas differ is an error.
//!
//! Nothing is taken from the types but what they say of layout; the rules by which they may change are the verifiers'.

mod layout;
mod state;
mod step;

use std::collections::BTreeMap;
use std::rc::Rc;

use piper_dialects::dag::{Dist, Graph};
use piper_ir::{Module, Name, Op, Value};
use rustc_hash::FxHashMap;

pub use crate::func::Error;

use crate::func;
use crate::tensor::Tensor;
use layout::Layout;

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// What a step gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The numbers the graph reports, such as `loss`, in double precision.
    pub outputs: BTreeMap<String, f64>,
    /// The complete gradient of every parameter, those of flat buckets apart again.
    pub gradients: Tensors,
    /// Parameters and optimizer state after the step, as logical tensors: what was not written keeps its value.
    pub state: Tensors,
}

/// A value on every device that has it.
type Local = Vec<Option<Rc<Tensor>>>;

/// Runs the steps of a graph.
#[derive(Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    functions: func::Interpreter<'m>,
    layout: Layout,
    /// Operations after those they use.
    order: Vec<Op>,
    /// The axes of dimension 0 of the input that is divided most, major to minor: how the batch is divided.
    batch_axes: Vec<Name>,
}

impl<'m> Interpreter<'m> {
    /// An interpreter of a graph that verifies.
    ///
    /// # Errors
    /// An operation that is no graph, a mesh that does not verify, operations that depend on each other in a cycle.
    pub fn new(module: &'m Module, graph: Op) -> Result<Self, Error> {
        let error =
            |op: Op, message: &str| Error { loc: module.op_loc(op), message: message.into() };
        if Graph::cast(module, graph).is_none() {
            return Err(error(graph, "this is not a dag.graph"));
        }
        let layout = Layout::of(module, graph)
            .ok_or_else(|| error(graph, "the graph's mesh or groups do not verify"))?;
        let order = data_order(module, graph)
            .map_err(|op| error(op, "the operation depends on itself through others"))?;
        let inputs = order.iter().filter(|op| module.name_text(**op) == "dag.input");
        let dists =
            inputs.filter_map(|op| Dist::of(module.ctx(), module.ty(module.result(*op, 0))));
        let divided = dists.filter_map(|dist| dist.dims.into_iter().next());
        let batch_axes = divided
            .fold(Vec::new(), |best, axes| if axes.len() > best.len() { axes } else { best });
        Ok(Self { batch_axes, module, functions: func::Interpreter::new(module), layout, order })
    }

    /// Runs one step on whole tensors: `data` by the names of `dag.input`s, `state` as logical tensors (see
    /// [`initial_state`](Self::initial_state)). `number` counts steps from 1; schedules of the learning rate depend on it.
    ///
    /// # Errors
    /// Data or state that is missing or has another type than declared; an operation that cannot be evaluated; replicas that
    /// differ.
    pub fn step(&self, data: &Tensors, state: &Tensors, number: u32) -> Result<Step, Error> {
        step::Run::new(self, data, state, number).run()
    }

    fn error(&self, op: Op, message: impl Into<String>) -> Error {
        Error { loc: self.module.op_loc(op), message: message.into() }
    }

    fn dist(&self, op: Op, value: Value) -> Result<Dist, Error> {
        Dist::of(self.module.ctx(), self.module.ty(value))
            .ok_or_else(|| self.error(op, "a value of a graph has type !dag.dist"))
    }

    /// The text of the operation's `name`.
    fn name(&self, op: Op) -> &'m str {
        self.module.attr_by(op, "name").and_then(|a| a.as_str(self.module.ctx())).unwrap_or("")
    }
}

/// The operations of a graph, each after those whose results it uses, else in text order.
fn data_order(module: &Module, graph: Op) -> Result<Vec<Op>, Op> {
    let ops: Vec<Op> =
        module.only_block(graph).map_or(Vec::new(), |block| module.ops(block).collect());
    let mut waiting: FxHashMap<Op, usize> =
        ops.iter().map(|op| (*op, module.num_operands(*op))).collect();
    let mut ready: std::collections::VecDeque<Op> =
        ops.iter().copied().filter(|op| waiting[op] == 0).collect();
    let mut order = Vec::with_capacity(ops.len());
    while let Some(op) = ready.pop_front() {
        order.push(op);
        for used in module.results(op).flat_map(|value| module.uses(value)) {
            if let Some(left) = waiting.get_mut(&used.op) {
                *left -= 1;
                if *left == 0 {
                    ready.push_back(used.op);
                }
            }
        }
    }
    if order.len() < ops.len() {
        return Err(ops.into_iter().find(|op| waiting[op] > 0).unwrap_or(graph));
    }
    Ok(order)
}
