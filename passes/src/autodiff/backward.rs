//! The reverse sweep: cotangents collected value by value, backward operations emitted by the rules.
//!
//! A cotangent arrives as contributions, one a use. Those of uses in one segment are added there, so that a segment gives
//! each neighbour one tensor; sums of different segments meet where the value was made. Parameters are made nowhere, so
//! theirs stay apart.

use piper_dialects::func::{Func, Return};
use piper_dialects::nn::gradients;
use piper_dialects::strategy::TAGS;
use piper_ir::interfaces::differentiable::{
    Backward, Differentiable, differentiable, differentiable_names, trained_name,
};
use piper_ir::{Attr, Loc, Module, Op, OpState, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{GRADIENTS, PASS};

/// The contributions to one value (or parameter) from the uses in one segment.
struct Share {
    tags: Option<Attr>,
    /// Where the uses are; sums are located at the latest, which is reached first.
    loc: Loc,
    /// Position of the earliest use in the function.
    position: usize,
    values: Vec<Value>,
}

/// Emits the backward program of one function.
pub(super) struct Vjp<'m> {
    module: &'m mut Module,
    end: Op,
    active: FxHashSet<Value>,
    shares: FxHashMap<Value, Vec<Share>>,
    parameters: FxHashMap<String, Vec<Share>>,
    /// Every backward operation, in order.
    emitted: Vec<Op>,
    /// Cotangents of activations: what the backward input pass is for.
    activations: Vec<Value>,
    /// Values that depend on an argument or a constant, not on parameters alone.
    data: FxHashSet<Value>,
    /// Where the rule that runs belongs.
    tags: Option<Attr>,
    loc: Loc,
    position: usize,
}

impl Backward for Vjp<'_> {
    fn module(&self) -> &Module {
        self.module
    }

    fn module_mut(&mut self) -> &mut Module {
        self.module
    }

    fn wants(&self, value: Value) -> bool {
        self.active.contains(&value)
    }

    /// The operation goes to the current segment.
    fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        like: &[Value],
        of: Op,
        keep: &[&str],
    ) -> Op {
        let ctx = self.module.ctx_arc();
        let mut state = OpState::new(ctx.op_name(name), self.loc)
            .operands(operands.iter().copied())
            .results(like.iter().map(|&v| self.module.ty(v)));
        for &attr in keep {
            state = state.attr_if(&ctx, attr, self.module.attr_by(of, attr));
        }
        self.insert(state)
    }

    fn give(&mut self, value: Value, cotangent: Value) {
        if !self.wants(value) {
            return;
        }
        self.name_after(value, cotangent);
        let parameter = self
            .module
            .defining_op(value)
            .and_then(|op| trained_name(self.module, op))
            .map(str::to_owned);
        let shares = match parameter {
            Some(name) => self.parameters.entry(name).or_default(),
            None => self.shares.entry(value).or_default(),
        };
        match shares.iter_mut().find(|share| share.tags == self.tags) {
            Some(share) => {
                share.position = self.position;
                share.values.push(cotangent);
            }
            None => shares.push(Share {
                tags: self.tags,
                loc: self.loc,
                position: self.position,
                values: vec![cotangent],
            }),
        }
    }
}

impl<'m> Vjp<'m> {
    pub(super) fn new(module: &'m mut Module, end: Op, active: FxHashSet<Value>) -> Self {
        let loc = module.op_loc(end);
        let mut data = FxHashSet::default();
        if let Some(block) = module.parent_block(end) {
            data.extend(module.args(block));
            for op in module.ops(block) {
                let is_data = trained_name(module, op).is_none()
                    && (module.num_operands(op) == 0
                        || module.operands(op).any(|v| data.contains(&v)));
                if is_data {
                    data.extend(module.results(op));
                }
            }
        }
        Self {
            module,
            end,
            active,
            shares: FxHashMap::default(),
            parameters: FxHashMap::default(),
            emitted: Vec::new(),
            activations: Vec::new(),
            data,
            tags: None,
            loc,
            position: 0,
        }
    }

    fn insert(&mut self, state: OpState) -> Op {
        let ctx = self.module.ctx_arc();
        let state = state.attr_if(&ctx, TAGS, self.tags);
        let op = self.module.create(state);
        self.module.insert_before(self.end, op);
        self.emitted.push(op);
        op
    }

    /// A cotangent is called `d_` and the name of its value, unless it already has a name.
    fn name_after(&mut self, value: Value, cotangent: Value) {
        let ctx = self.module.ctx_arc();
        if self.module.value_name(cotangent).is_none()
            && let Some(name) = self.module.value_name(value)
        {
            let name = ctx.name(&format!("d_{}", name.text(&ctx)));
            self.module.set_value_name(cotangent, name);
        }
    }

    /// Starts the sweep: the loss has cotangent one.
    pub(super) fn seed(&mut self, at: Op, loss: Value) {
        let ctx = self.module.ctx_arc();
        self.enter(at, usize::MAX);
        let one = gradients::one(&ctx, self.loc, self.module.ty(loss));
        let one = self.insert(one);
        let one = self.module.result(one, 0);
        self.give(loss, one);
    }

    fn enter(&mut self, op: Op, position: usize) {
        self.tags = self.module.attr_by(op, TAGS);
        self.loc = self.module.op_loc(op);
        self.position = position;
    }

    /// Runs the rule of a forward operation, if anything after it needs its gradient.
    pub(super) fn step(&mut self, op: Op, position: usize, reporter: &mut Reporter<'_>) {
        if !self.module.results(op).any(|v| self.shares.contains_key(&v)) {
            return;
        }
        let Some(Differentiable::Rule(rule)) = differentiable(self.module, op) else {
            let text = self.module.name_text(op);
            reporter.error(self.module.op_loc(op), format!("'{text}' is not differentiable")).hint(
                format!(
                    "differentiable are {}; nn.stop_gradient ends the gradient",
                    differentiable_names(self.module.ctx()).join(", ")
                ),
            );
            return;
        };
        if let Some((index, _)) = self
            .module
            .results(op)
            .enumerate()
            .skip(1)
            .find(|(_, value)| self.shares.contains_key(value))
        {
            let text = self.module.name_text(op);
            reporter
                .error(
                    self.module.op_loc(op),
                    format!("result {index} of '{text}' is not differentiable"),
                )
                .hint("pass it through nn.stop_gradient");
            return;
        }
        self.enter(op, position);
        let result = self.module.result(op, 0);
        let cotangent = self.joined(result);
        rule(self, op, cotangent);
    }

    /// The cotangent of a value: the sums of its segments, joined in the current one.
    fn joined(&mut self, value: Value) -> Value {
        let shares = self.shares.remove(&value).unwrap_or_default();
        let is_activation = self.data.contains(&value);
        let here = (self.tags, self.loc);
        let mut parts = Vec::with_capacity(shares.len());
        for share in shares {
            let part = self.sum_of(value, share, here.0);
            parts.push(part);
        }
        (self.tags, self.loc) = here;
        let total = self.sum(value, &parts);
        if is_activation {
            self.activations.push(total);
        }
        total
    }

    /// The sum of one segment's contributions, made in that segment.
    fn sum_of(&mut self, value: Value, share: Share, home: Option<Attr>) -> Value {
        (self.tags, self.loc) = (share.tags, share.loc);
        let total = self.sum(value, &share.values);
        // What merely passes through a segment on its way home (the gradient of a sum) still leaves from it: neighbours in
        // the backward program are then neighbours in the forward program.
        let made_in = self.module.defining_op(total).and_then(|op| self.module.attr_by(op, TAGS));
        if share.tags == home || made_in == share.tags { total } else { self.copy(value, total) }
    }

    fn copy(&mut self, value: Value, cotangent: Value) -> Value {
        let ctx = self.module.ctx_arc();
        let state = gradients::copy(&ctx, self.loc, self.module.ty(value), cotangent);
        let op = self.insert(state);
        let copy = self.module.result(op, 0);
        self.name_after(value, copy);
        copy
    }

    fn sum(&mut self, value: Value, parts: &[Value]) -> Value {
        let ctx = self.module.ctx_arc();
        let mut total = parts[0];
        for &part in &parts[1..] {
            let state = gradients::sum(&ctx, self.loc, self.module.ty(value), total, part);
            let op = self.insert(state);
            total = self.module.result(op, 0);
            self.name_after(value, total);
        }
        total
    }

    /// Adds up the parameters' contributions, returns them from the function and marks every operation's pass. Returns how
    /// many operations were added.
    pub(super) fn finish(mut self, func: Op, forward: &[Op], reporter: &mut Reporter<'_>) -> usize {
        let ctx = self.module.ctx_arc();
        let mut names: Vec<Attr> = Vec::new();
        let mut results: Vec<Value> = self.module.operands(self.end).collect();
        let mut seen = FxHashSet::default();
        for &op in forward {
            let Some(name) = trained_name(self.module, op).map(str::to_owned) else { continue };
            if !seen.insert(name.clone()) {
                continue;
            }
            let value = self.module.result(op, 0);
            let Some(mut shares) = self.parameters.remove(&name) else {
                self.warn_without_gradient(op, &name, reporter);
                continue;
            };
            shares.sort_by_key(|share| share.position);
            for share in shares {
                (self.tags, self.loc) = (share.tags, share.loc);
                let mut total = self.sum(value, &share.values);
                // A contribution is a value of its own: not also an activation's cotangent, nor another parameter's.
                let shared = results.contains(&total) || self.is_activation_cotangent(total);
                let made_in =
                    self.module.defining_op(total).and_then(|op| self.module.attr_by(op, TAGS));
                if shared || made_in != share.tags {
                    total = self.copy(value, total);
                }
                names.push(ctx.str_attr(&name));
                results.push(total);
            }
        }
        let (end, block) = (self.end, Func(func).block(self.module));
        debug_assert!(Return::cast(self.module, end).is_some() && block.is_some());
        let added = names.len();
        self.module.set_operands(end, &results);
        Func(func).refresh_type(self.module);
        let gradients = ctx.array_attr(names);
        self.module.set_attr_by(func, GRADIENTS, gradients);
        if let Some(dicts) = self.module.attr_by(func, "res_attrs").and_then(|a| a.as_array(&ctx)) {
            let mut dicts = dicts.to_vec();
            dicts.extend(std::iter::repeat_n(ctx.dict_attr([]), added));
            let attr = ctx.array_attr(dicts);
            self.module.set_attr_by(func, "res_attrs", attr);
        }
        self.mark_passes(func);
        self.emitted.len()
    }

    fn is_activation_cotangent(&self, value: Value) -> bool {
        self.activations.contains(&value)
    }

    fn warn_without_gradient(&self, parameter: Op, name: &str, reporter: &mut Reporter<'_>) {
        let module = &self.module;
        let stopped = module.results(parameter).all(|w| {
            module.is_used(w)
                && module
                    .uses(w)
                    .all(|u| matches!(differentiable(module, u.op), Some(Differentiable::Stops)))
        });
        if !stopped {
            reporter
                .warning(
                    module.op_loc(parameter),
                    format!(
                        "parameter '{name}' does not influence the loss and will not be trained"
                    ),
                )
                .hint("remove it, or use it through nn.stop_gradient if that is meant");
        }
    }

    /// Backward operations that an activation's cotangent needs are BI, the others BW.
    fn mark_passes(&mut self, func: Op) {
        let ctx = self.module.ctx_arc();
        let backward: FxHashSet<Op> = self.emitted.iter().copied().collect();
        let mut input: FxHashSet<Op> = FxHashSet::default();
        let mut pending = self.activations.clone();
        while let Some(value) = pending.pop() {
            if let Some(op) = self.module.defining_op(value)
                && backward.contains(&op)
                && input.insert(op)
            {
                pending.extend(self.module.operands(op));
            }
        }
        let name = ctx.name(PASS);
        let block = Func(func).block(self.module);
        let ops: Vec<Op> = block.map_or_else(Vec::new, |block| self.module.ops(block).collect());
        for op in ops {
            let pass = match backward.contains(&op) {
                _ if op == self.end || trained_name(self.module, op).is_some() => continue,
                false => "F",
                true if input.contains(&op) => "BI",
                true => "BW",
            };
            let pass = ctx.str_attr(pass);
            self.module.set_attr(op, name, pass);
        }
    }
}
