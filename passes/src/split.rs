//! `split`: the batch in parts that run one after the other.
//!
//! Every compute node is copied for each part, with the tag numbered; values that vary with the batch are sharded over the time
//! axis `mb`, contributions to gradients and the loss hold the microbatch they come from, and are added. Bodies get the
//! shapes of a part. Nothing is scaled: means keep the count they had.

use piper_dialects::dag::{Compute, Dist, Held, MICROBATCH};
use piper_dialects::nn::Along;
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Builder, Loc, Module, Name, Op, Reporter, Type, Value};
use rustc_hash::FxHashMap;

use crate::accumulate::{Shape, Sums, summands};
use crate::batching::{divide_batch, results_along};
use crate::nodes::{compute_nodes, node_tag};

/// Splits a graph into `parts` microbatches, tagged `tag`; contributions add up in this shape.
///
/// # Errors
/// The graph is split already, or sharded with exchanges along the batch; `parts` does not divide the batch.
pub fn run(
    module: &mut Module,
    graph: Op,
    tag: &str,
    parts: i64,
    shape: Shape,
    at: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    let ctx = module.ctx_arc();
    if module.attr_by(graph, "microbatches").is_some() {
        reporter
            .error(at, "the graph is already split into microbatches")
            .hint("one split a plan; divide further by its number of parts");
        return Err(PassFailed);
    }
    // What is exchanged along the batch is exchanged within a microbatch, for which the axis has to be minor to it.
    let exchanges = ["dag.all_to_all", "dag.all_gather", "dag.reduce_scatter"];
    let block = module.only_block(graph).ok_or(PassFailed)?;
    if let Some(op) = module.ops(block).find(|op| exchanges.contains(&module.name_text(*op))) {
        reporter
            .error(at, "the batch is divided over a mesh axis with exchanges in it and cannot be split any more")
            .note(module.op_loc(op), format!("'{}' stands here", module.name_text(op)))
            .hint("run 'split' (or 'pipeline', 'dualpipe') before 'shard'");
        return Err(PassFailed);
    }
    let nodes = compute_nodes(module, graph);
    let mut bodies: FxHashMap<Attr, Vec<Along>> = FxHashMap::default();
    for &node in &nodes {
        let callee = Compute(node).callee(module);
        if bodies.contains_key(&callee) {
            continue;
        }
        let body = callee
            .as_symbol(&ctx)
            .and_then(|n| module.lookup_nearest(graph, n.text(&ctx)))
            .ok_or(PassFailed)?;
        let along = results_along(module, body, reporter)?;
        divide_batch(module, body, parts, "split", reporter)?;
        bodies.insert(callee, along);
    }
    module.set_attr_by(graph, "microbatches", ctx.int_attr(parts));
    Splitter {
        module,
        graph,
        tag: ctx.name(tag),
        parts,
        shape,
        values: FxHashMap::default(),
        types: FxHashMap::default(),
    }
    .run(&nodes, &bodies);
    Ok(())
}

struct Splitter<'m> {
    module: &'m mut Module,
    graph: Op,
    tag: Name,
    parts: i64,
    shape: Shape,
    /// For every value that varies with the batch, its parts.
    values: FxHashMap<Value, Vec<Value>>,
    /// Types of parts, as many values have one type.
    types: FxHashMap<(Type, Along, i64), Type>,
}

impl Splitter<'_> {
    fn run(mut self, nodes: &[Op], bodies: &FxHashMap<Attr, Vec<Along>>) {
        let block = self.module.only_block(self.graph).expect("a graph has a block");
        for op in self.module.ops(block).collect::<Vec<_>>() {
            if self.module.name_text(op) == "dag.input" {
                self.input(op);
            }
        }
        for &node in nodes {
            let callee = Compute(node).callee(self.module);
            self.node(node, &bodies[&callee]);
        }
        self.sums(block);
        for &node in nodes.iter().rev() {
            if !self.module.has_used_result(node) {
                self.module.erase(node);
            }
        }
        for op in self.module.ops(block).collect::<Vec<_>>() {
            if self.module.name_text(op) == "dag.input" && !self.module.has_used_result(op) {
                self.module.erase(op);
            }
        }
    }

    fn dist(&self, value: Value) -> Dist {
        Dist::of(self.module.ctx(), self.module.ty(value)).expect("a value of the graph")
    }

    fn mb(&self) -> Name {
        self.module.ctx().name(MICROBATCH)
    }

    /// The part of a distribution that varies along a dimension.
    fn shard(&self, mut dist: Dist, dim: usize, part: i64) -> Dist {
        let mb = self.mb();
        dist.dims[dim].push(mb);
        dist.at(self.module.ctx(), mb, part)
    }

    fn input(&mut self, op: Op) {
        let ctx = self.module.ctx_arc();
        let Some(dim) = self.module.attr_by(op, "batch_dim").and_then(|a| a.as_int(&ctx)) else {
            return;
        };
        let value = self.module.result(op, 0);
        let hint = self.module.value_name(value);
        let mut parts = Vec::new();
        for part in 0..self.parts {
            let ty = self.shard(self.dist(value), dim as usize, part).ty(&ctx);
            let copy = self.module.clone_op(op, &mut FxHashMap::default());
            self.module.insert_before(op, copy);
            let result = self.module.result(copy, 0);
            self.module.set_ty(result, ty);
            if let Some(hint) = hint {
                self.module
                    .set_value_name(result, ctx.name(&format!("{}_{part}", hint.text(&ctx))));
            }
            parts.push(result);
        }
        self.values.insert(value, parts);
    }

    fn node(&mut self, node: Op, along: &[Along]) {
        let ctx = self.module.ctx_arc();
        let name = node_tag(self.module, node);
        let tags = Compute(node).tags(self.module);
        let operands: Vec<Value> = self.module.operands(node).collect();
        let results: Vec<Value> = self.module.results(node).collect();
        let callee = Compute(node).callee(self.module);
        let kind = Compute(node).kind(self.module);
        let loc = self.module.op_loc(node);
        for part in 0..self.parts {
            let inputs = operands
                .iter()
                .map(|v| self.values.get(v).map_or(*v, |parts| parts[part as usize]));
            let inputs: Vec<Value> = inputs.collect();
            let types: Vec<_> =
                results.iter().zip(along).map(|(v, along)| self.result(*v, *along, part)).collect();
            let entries = tags
                .as_dict(&ctx)
                .unwrap_or_default()
                .iter()
                .copied()
                .chain([(self.tag, ctx.int_attr(part))]);
            let state = piper_ir::OpState::new(ctx.op_name("dag.compute"), loc)
                .operands(inputs)
                .results(types)
                .attr(&ctx, "callee", callee)
                .attr(&ctx, "node", ctx.str_attr(&format!("{name}.{part}")))
                .attr(&ctx, "kind", kind)
                .attr(&ctx, "tags", ctx.dict_attr(entries));
            let copy = self.module.create(state);
            self.module.insert_before(node, copy);
            for (old, new) in results.iter().zip(self.module.results(copy)) {
                self.values.entry(*old).or_default().push(new);
            }
        }
    }

    /// The type of a node's result for one part.
    fn result(&mut self, value: Value, along: Along, part: i64) -> Type {
        let key = (self.module.ty(value), along, part);
        if let Some(&known) = self.types.get(&key) {
            return known;
        }
        let ty = self.part(self.dist(value), along, part).ty(self.module.ctx());
        self.types.insert(key, ty);
        ty
    }

    /// One part of a distribution.
    fn part(&self, dist: Dist, along: Along, part: i64) -> Dist {
        match along {
            Along::Dim(dim) => self.shard(dist, dim, part),
            Along::Sum => {
                let held = match &dist.held {
                    Some(held) => Held::one(held.uses, held.parts[0].index, part),
                    None => Held::one(1, 0, part),
                };
                Dist { held: (self.parts > 1 || held.uses > 1).then_some(held), ..dist }
            }
            Along::Whole => dist.at(self.module.ctx(), self.mb(), part),
        }
    }

    /// Gradients and outputs of the sums of all parts.
    fn sums(&mut self, block: piper_ir::Block) {
        let mut sums = Sums::default();
        for op in self.module.ops(block).collect::<Vec<_>>() {
            let name = self.module.name_text(op);
            if name == "dag.output" {
                let parts: Vec<Value> =
                    self.module.operands(op).flat_map(|v| self.parts_of(v)).collect();
                self.module.set_operands(op, &parts);
            } else if name == "dag.gradient" {
                let old = self.module.operand(op, 0);
                let mut parts: Vec<Value> = Vec::new();
                for value in summands(self.module, old) {
                    parts.extend(self.parts_of(value));
                }
                let mut b = Builder::before(self.module, op);
                let total = sums.sum(&mut b, &parts, self.shape);
                self.module.set_operand(op, 0, total);
                crate::accumulate::erase_unused(self.module, old);
            }
        }
    }

    fn parts_of(&self, value: Value) -> Vec<Value> {
        self.values.get(&value).cloned().unwrap_or_else(|| vec![value])
    }
}
