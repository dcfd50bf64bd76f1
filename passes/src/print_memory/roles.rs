//! What a buffer is for, as told by the operations of the graph whose instructions use it.

use piper_dialects::dag::Graph;
use piper_dialects::device::{self, Buffer, Launch, base_buffer, is_instruction};
use piper_ir::{Module, Op, Value};
use rustc_hash::FxHashMap;

use crate::lower_to_device::ORIGIN;
use crate::replicate::buckets::layout;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Parameters as they persist: whole, or shards from ZeRO stage 3 on.
    Parameters,
    /// Moments, and master copies of parameters that are also kept otherwise.
    OptimizerState,
    /// What gradients are accumulated in, and what the optimizer reads.
    Gradients,
    /// Whole parameters put together of shards for a while, and copies in another precision.
    Gathered,
    /// What chunks compute for other chunks, and inputs.
    Activations,
    /// What is packed to be reduced, what a reduction leaves before the optimizer, new parameters being gathered.
    Communication,
    /// Contributions to gradients of one microbatch, and numbers.
    Workspace,
}

impl Role {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Parameters,
        Self::OptimizerState,
        Self::Gradients,
        Self::Gathered,
        Self::Activations,
        Self::Communication,
        Self::Workspace,
    ];

    /// What tables call it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::OptimizerState => "optimizer state",
            Self::Gradients => "gradients",
            Self::Gathered => "gathered parameters",
            Self::Activations => "activations",
            Self::Communication => "communication",
            Self::Workspace => "workspace",
        }
    }
}

/// What is known of how a buffer is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    /// Contributions are added into it.
    accumulates: bool,
    /// It is added to something.
    is_added: bool,
    /// The optimizer, or a norm, reads it as a gradient.
    is_gradient: bool,
    /// It goes into a bucket or is reduced.
    is_sent: bool,
    /// A reduction leaves its result in it; what is reduced.
    reduced_from: Option<Value>,
    /// Shards are put together in it, or it is a cast copy of a parameter.
    is_gathered: bool,
    /// New parameters are put together in it.
    is_spread: bool,
    /// A number computed of gradients.
    is_number: bool,
}

/// The kind of every buffer of a program.
pub(super) fn roles(module: &Module, program: Op) -> FxHashMap<Value, Role> {
    let graph = graph_of(module, program);
    let nodes: Vec<Op> = graph
        .and_then(|graph| module.only_block(graph))
        .map_or(Vec::new(), |block| module.ops(block).collect());
    let block = module.only_block(program).expect("a program has a block");
    let mut uses: FxHashMap<Value, Uses> = FxHashMap::default();
    for op in module.ops(block).filter(|op| is_instruction(module, *op)) {
        let origin = module.attr_by(op, ORIGIN).and_then(|o| o.as_int(module.ctx()));
        let node = origin.and_then(|at| nodes.get(usize::try_from(at).ok()?)).copied();
        if let Some(node) = node {
            instruction(module, op, node, &mut uses);
        }
    }
    let mut roles = FxHashMap::default();
    for buffer in module.ops(block).filter_map(|op| Buffer::cast(module, op)) {
        let value = buffer.buffer(module);
        let role = if buffer.persistent(module).is_some() {
            persistent(module, &nodes, buffer)
        } else {
            let known = uses.get(&value).copied().unwrap_or_default();
            let accumulated = |from: Value| uses.get(&from).is_some_and(|from| from.accumulates);
            match known {
                Uses { is_gathered: true, .. } => Role::Gathered,
                Uses { accumulates: true, .. } => Role::Gradients,
                Uses { reduced_from: Some(from), .. } if accumulated(from) => Role::Communication,
                Uses { reduced_from: Some(_), is_added: true, .. } => Role::Communication,
                Uses { reduced_from: Some(_), .. } => Role::Gradients,
                Uses { is_sent: true, .. } | Uses { is_spread: true, .. } => Role::Communication,
                Uses { is_gradient: true, .. } => Role::Gradients,
                Uses { is_added: true, .. } | Uses { is_number: true, .. } => Role::Workspace,
                _ => Role::Activations,
            }
        };
        roles.insert(value, role);
    }
    roles
}

/// The graph that a program was made from.
fn graph_of(module: &Module, program: Op) -> Option<Op> {
    let plan = module.parent_op(program)?;
    let name = device::Plan(plan).graph(module)?.as_symbol(module.ctx())?;
    let graph = module.lookup_nearest(plan, name.text(module.ctx()))?;
    Graph::cast(module, graph).map(|graph| graph.0)
}

/// The kind of a buffer that holds state.
fn persistent(module: &Module, nodes: &[Op], buffer: Buffer) -> Role {
    let named = |op: &&Op| module.attr_by(**op, "name") == Some(buffer.name(module));
    let mut states =
        nodes.iter().filter(|op| matches!(module.name_text(**op), "dag.parameter" | "dag.state"));
    let Some(&state) = states.find(named) else { return Role::OptimizerState };
    if module.name_text(state) == "dag.parameter" {
        return Role::Parameters;
    }
    // A flat state is the parameters themselves if these are nowhere else.
    let is_in = |op: &&Op| {
        module.attr_by(**op, "flat").is_some()
            && module.attr_by(**op, "flat") == module.attr_by(state, "name")
    };
    let only_copy = layout(module, state).is_some() && nodes.iter().any(|op| is_in(&op));
    if only_copy { Role::Parameters } else { Role::OptimizerState }
}

/// Notes how an instruction uses its buffers.
fn instruction(module: &Module, op: Op, node: Op, uses: &mut FxHashMap<Value, Uses>) {
    let base = |value: Value| base_buffer(module, value).0;
    let mut note = |value: Value, set: &mut dyn FnMut(&mut Uses)| {
        set(uses.entry(base(value)).or_default());
    };
    let operands: Vec<Value> = module.operands(op).collect();
    match module.name_text(node) {
        "dag.add" => {
            if let Some(launch) = Launch::cast(module, op) {
                launch.reads(module).for_each(|v| note(v, &mut |u| u.is_added = true));
                launch.updates(module).for_each(|v| note(v, &mut |u| u.accumulates = true));
            }
        }
        "dag.pack" => operands.iter().for_each(|v| note(*v, &mut |u| u.is_sent = true)),
        "dag.reduce_scatter" | "dag.all_reduce" if operands[0] != operands[1] => {
            let from = base(operands[0]);
            note(operands[0], &mut |u| u.is_sent = true);
            note(operands[1], &mut |u| u.reduced_from = Some(from));
        }
        "dag.all_gather" => {
            let made_by = module.defining_op(module.operand(node, 0));
            let is_new = made_by.is_some_and(|def| module.name_text(def) == "dag.update");
            note(operands[1], &mut |u| {
                if is_new { u.is_spread = true } else { u.is_gathered = true }
            });
        }
        "dag.cast" => {
            if let Some(launch) = Launch::cast(module, op) {
                let of_gradient = module.uses(module.result(node, 0)).any(|used| {
                    matches!(module.name_text(used.op), "dag.gradient" | "dag.add" | "dag.pack")
                });
                launch.writes(module).for_each(|v| {
                    note(v, &mut |u| {
                        if of_gradient { u.is_added = true } else { u.is_gathered = true }
                    });
                });
            }
        }
        "dag.update" => {
            let gradient = Launch::cast(module, op).and_then(|launch| launch.reads(module).next());
            if let Some(gradient) = gradient {
                note(gradient, &mut |u| u.is_gradient = true);
            }
        }
        "dag.gradient" => operands.iter().for_each(|v| note(*v, &mut |u| u.is_gradient = true)),
        "dag.sum_squares" | "dag.sum" | "dag.clip_scale" => {
            if let Some(launch) = Launch::cast(module, op) {
                launch.writes(module).for_each(|v| note(v, &mut |u| u.is_number = true));
            }
        }
        _ => {}
    }
}
