//! How every value of a graph varies along an axis that divides it, with collectives where that changes.

use std::collections::hash_map::Entry;
use std::rc::Rc;

use piper_dialects::dag::{AllGather, AllReduce, AllToAll, Compute, Dist, ReduceScatter};
use piper_dialects::func;
use piper_dialects::nn::Along;
use piper_dialects::strategy::sharded_dim;
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Builder, Module, Name, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Division, infer};
use crate::accumulate;
use crate::batching::{along_from, arguments_along, divide, divide_batch, results_along};
use crate::nodes::{Selector, compute_nodes, node_tag};
use crate::replicate::topology::data_order;

/// Builders fail only where a part is missing, which these calls show they are not.
const COMPLETE: &str = "every part of the operation is given";

/// Divides the bodies of a graph's nodes, inserts collectives, and says how every value varies. Types of values are left alone.
///
/// # Errors
/// See [`shard`](super); all are reported.
pub(crate) fn vary(
    module: &mut Module,
    graph: Op,
    division: &Division<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Value, Along>, PassFailed> {
    let selected = select(module, graph, division, reporter)?;
    let parameters = parameters(module, graph, division, &selected, reporter)?;
    let gradients = gradients(module, graph, &parameters);
    let order = data_order(module, graph).map_err(|cyclic| {
        reporter.error(
            module.op_loc(cyclic[0]),
            "operations of the graph depend on each other in a cycle",
        );
        PassFailed
    })?;
    let mut divider = Divider {
        module,
        division,
        selected,
        parameters,
        gradients,
        along: FxHashMap::default(),
        whole: FxHashMap::default(),
        parts: FxHashMap::default(),
        exchanged: FxHashMap::default(),
        templates: FxHashSet::default(),
    };
    divider.keep_templates(&order);
    let errors = reporter.error_count();
    for op in order {
        if Compute::cast(divider.module, op).is_none() {
            divider.other(op, reporter);
        } else if divider.selected.contains_key(&op) {
            divider.part(op, reporter)?;
        } else {
            divider.rest(op, reporter)?;
        }
    }
    divider.erase_templates(graph);
    if reporter.error_count() > errors { Err(PassFailed) } else { Ok(divider.along) }
}

/// The nodes that shardings select, with the number of the first that does.
fn select(
    module: &Module,
    graph: Op,
    division: &Division<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Op, usize>, PassFailed> {
    let mut selected = FxHashMap::default();
    if division.shardings.is_empty() {
        return Ok(selected);
    }
    let nodes = compute_nodes(module, graph);
    let mut selector = Selector::new(module, &nodes);
    for (number, sharding) in division.shardings.iter().enumerate() {
        let found = selector.select(&sharding.filter);
        if found.is_empty() {
            reporter
                .error(sharding.loc, "'strategy.shard' selects no node")
                .hint("a filter is of tags, as {PART = mlp}; see the nodes with --pass build-dag");
            return Err(PassFailed);
        }
        for node in found {
            selected.entry(node).or_insert(number);
        }
    }
    Ok(selected)
}

/// The parameter that a value is, on whatever slice.
fn parameter_of(module: &Module, mut value: Value) -> Option<Op> {
    loop {
        let def = module.defining_op(value)?;
        match module.name_text(def) {
            "dag.parameter" => return Some(def),
            "dag.project" | "dag.transfer" => value = module.operand(def, 0),
            _ => return None,
        }
    }
}

/// The dimension of every parameter that is divided.
fn parameters(
    module: &Module,
    graph: Op,
    division: &Division<'_>,
    selected: &FxHashMap<Op, usize>,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Op, usize>, PassFailed> {
    let ctx = module.ctx();
    let mut divided: FxHashMap<Op, usize> = FxHashMap::default();
    let mut used = vec![false; division.shardings.len()];
    let errors = reporter.error_count();
    let name = |op: Op| module.attr_by(op, "name").and_then(|a| a.as_str(ctx)).unwrap_or("");
    let nodes = if selected.is_empty() { Vec::new() } else { compute_nodes(module, graph) };
    for node in &nodes {
        let Some(&number) = selected.get(node) else { continue };
        let sharding = &division.shardings[number];
        for parameter in module.operands(*node).filter_map(|v| parameter_of(module, v)) {
            let Some(dim) = sharded_dim(&sharding.parameters, name(parameter)) else { continue };
            used[number] = true;
            let Entry::Vacant(new) = divided.entry(parameter) else { continue };
            new.insert(dim);
            let dist = Dist::of(ctx, module.ty(module.result(parameter, 0)));
            let shape =
                dist.as_ref().and_then(|d| d.tensor.as_tensor(ctx)).map_or(&[][..], |t| t.0);
            let message = match shape.get(dim) {
                Some(size) if size % division.factor == 0 => continue,
                Some(size) => format!(
                    "dimension {dim} of parameter \"{}\", {size}, cannot be divided into {} equal parts",
                    name(parameter),
                    division.factor
                ),
                None => format!("parameter \"{}\" has no dimension {dim}", name(parameter)),
            };
            reporter
                .error(sharding.loc, message)
                .note(module.op_loc(parameter), "the parameter is declared here");
        }
    }
    for (sharding, used) in division.shardings.iter().zip(used) {
        if !used {
            reporter
                .error(sharding.loc, "'strategy.shard' divides no parameter of what it selects")
                .hint("its patterns are compared with the names of nn.parameter; * stands for any characters");
        }
    }
    for &node in nodes.iter().filter(|node| !selected.contains_key(*node)) {
        let mut used = module.operands(node).filter_map(|v| parameter_of(module, v));
        if let Some(parameter) = used.find(|p| divided.contains_key(p)) {
            reporter
                .error(
                    division.shardings[0].loc,
                    format!(
                        "parameter \"{}\" is divided, but node '{}', which no strategy.shard selects, uses it too",
                        name(parameter),
                        node_tag(module, node)
                    ),
                )
                .note(module.op_loc(node), "used here");
            break;
        }
    }
    if reporter.error_count() > errors { Err(PassFailed) } else { Ok(divided) }
}

/// The contributions to the gradients of divided parameters, as nodes give them: each is divided as its parameter is.
fn gradients(
    module: &Module,
    graph: Op,
    parameters: &FxHashMap<Op, usize>,
) -> FxHashMap<Value, usize> {
    let ctx = module.ctx();
    let name = |op: Op| module.attr_by(op, "name").and_then(|a| a.as_str(ctx));
    let dims: FxHashMap<_, usize> = parameters.iter().map(|(op, dim)| (name(*op), *dim)).collect();
    let mut contributions = FxHashMap::default();
    for gradient in accumulate::gradients(module, graph) {
        let Some(&dim) = dims.get(&name(gradient)) else { continue };
        let mut open = vec![module.operand(gradient, 0)];
        while let Some(value) = open.pop() {
            let Some(def) = module.defining_op(value) else { continue };
            if Compute::cast(module, def).is_some() {
                contributions.insert(value, dim);
            } else {
                open.extend(module.operands(def));
            }
        }
    }
    contributions
}

/// How a body's arguments and its results vary.
type Signature = (Vec<Along>, Vec<Along>);

/// A divided body: its name, how its arguments vary and how its results do.
type Part = (Name, Vec<Along>, Vec<Along>);

/// What is known of how the operands and results of a node vary.
type Known = Vec<Option<Along>>;

struct Divider<'m> {
    module: &'m mut Module,
    division: &'m Division<'m>,
    selected: FxHashMap<Op, usize>,
    parameters: FxHashMap<Op, usize>,
    /// Results that are gradients of divided parameters.
    gradients: FxHashMap<Value, usize>,
    along: FxHashMap<Value, Along>,
    /// Bodies of nodes that are not selected: how their arguments and results vary.
    whole: FxHashMap<Name, Rc<Signature>>,
    /// Bodies of selected nodes, by what is known of their operands and results.
    parts: FxHashMap<(Name, Known), Rc<Part>>,
    /// A value as another kind of part.
    exchanged: FxHashMap<(Value, Along), Value>,
    /// Bodies of selected nodes, undivided.
    templates: FxHashSet<Op>,
}

impl Divider<'_> {
    /// What is not computed: inputs, parameters, transfers, sums.
    fn other(&mut self, op: Op, reporter: &mut Reporter<'_>) {
        let module = &*self.module;
        let results: Vec<Value> = module.results(op).collect();
        if results.is_empty() {
            return;
        }
        let varies = match module.name_text(op) {
            "dag.input" if self.division.batch => input_along(module, op),
            "dag.parameter" => match self.parameters.get(&op) {
                Some(&dim) => Along::Dim(dim),
                None => Along::Whole,
            },
            "dag.input" | "dag.state" => Along::Whole,
            name => {
                let mut operands = module
                    .operands(op)
                    .map(|v| self.along.get(&v).copied().unwrap_or(Along::Whole));
                let first = operands.next().unwrap_or(Along::Whole);
                if operands.any(|other| other != first) {
                    let axis = self.division.axis.text(module.ctx());
                    reporter.error(
                        module.op_loc(op),
                        format!("'{name}' takes a value that varies along \"{axis}\" and one that does not, or does in another way"),
                    );
                }
                match name {
                    // These are widened by the axis.
                    "dag.all_reduce" | "dag.gradient" if first == Along::Sum => Along::Whole,
                    _ => first,
                }
            }
        };
        self.along.extend(results.into_iter().map(|v| (v, varies)));
    }

    fn body(&self, node: Op, reporter: &mut Reporter<'_>) -> Result<(Op, Name), PassFailed> {
        let ctx = self.module.ctx();
        let callee =
            Compute(node).callee(self.module).as_symbol(ctx).expect("declared as a symbol");
        match self.module.lookup_nearest(node, callee.text(ctx)) {
            Some(body) => Ok((body, callee)),
            None => {
                let message = format!("there is no function '@{}'", callee.text(ctx));
                reporter.error(self.module.op_loc(node), message);
                Err(PassFailed)
            }
        }
    }

    /// A node that is not selected: it gets a part of the batch, or does the same everywhere.
    fn rest(&mut self, node: Op, reporter: &mut Reporter<'_>) -> PassResult {
        let (body, callee) = self.body(node, reporter)?;
        if !self.whole.contains_key(&callee) {
            let arguments = arguments_along(self.module, body);
            let known = if self.division.batch {
                let axis = self.division.axis.text(self.module.ctx());
                let what = format!("replicating over \"{axis}\"");
                let results = results_along(self.module, body, reporter)?;
                divide_batch(self.module, body, self.division.factor, &what, reporter)?;
                (arguments, results)
            } else {
                let (inputs, results) = func::Func(body).signature(self.module);
                (vec![Along::Whole; inputs.len()], vec![Along::Whole; results.len()])
            };
            self.whole.insert(callee, Rc::new(known));
        }
        let known = Rc::clone(&self.whole[&callee]);
        let (wanted, results) = &*known;
        // Without a sharding, every value is what its reader's batch dimension says.
        if !self.division.shardings.is_empty() {
            self.exchange_operands(node, wanted, reporter)?;
        }
        self.along.extend(self.module.results(node).zip(results.iter().copied()));
        Ok(())
    }

    /// A node that is selected: it is divided with its parameters.
    fn part(&mut self, node: Op, reporter: &mut Reporter<'_>) -> PassResult {
        let (body, callee) = self.body(node, reporter)?;
        let operands = self.module.operands(node).map(|v| self.known(v));
        let gradient = |v| self.gradients.get(&v).map(|dim| Along::Dim(*dim));
        let known: Vec<Option<Along>> =
            operands.chain(self.module.results(node).map(gradient)).collect();
        let key = (callee, known);
        let part = match self.parts.get(&key) {
            Some(part) => Rc::clone(part),
            None => {
                let part = Rc::new(self.divided(node, body, &key.1, reporter)?);
                self.parts.insert(key, Rc::clone(&part));
                part
            }
        };
        let (symbol, arguments, results) = &*part;
        self.exchange_operands(node, arguments, reporter)?;
        let symbol = self.module.ctx().symbol_attr_of(*symbol);
        self.module.set_attr_by(node, "callee", symbol);
        self.along.extend(self.module.results(node).zip(results.iter().copied()));
        Ok(())
    }

    /// How an operand of a selected node varies, if that is not for the body to say.
    fn known(&self, value: Value) -> Option<Along> {
        if parameter_of(self.module, value).is_some() {
            return self.along.get(&value).copied();
        }
        let mut origin = value;
        while let Some(def) = self.module.defining_op(origin)
            && self.module.name_text(def) == "dag.transfer"
        {
            origin = self.module.operand(def, 0);
        }
        let def = self.module.defining_op(origin)?;
        // A chunk takes complete values: a partial sum is summed, also on its way between two selected nodes.
        let own = self.along.get(&value).copied().filter(|along| *along != Along::Sum);
        if self.selected.contains_key(&def) { own } else { None }
    }

    /// A copy of a body, divided.
    fn divided(
        &mut self,
        node: Op,
        body: Op,
        known: &[Option<Along>],
        reporter: &mut Reporter<'_>,
    ) -> Result<Part, PassFailed> {
        let ctx = self.module.ctx_arc();
        let arguments = infer::arguments(self.module, body, known);
        let axis = self.division.axis.text(&ctx);
        let what = format!("what is computed from parameters divided over \"{axis}\"");
        let Ok(along) = along_from(self.module, body, &arguments, &what, reporter) else {
            let sharding = &self.division.shardings[self.selected[&node]];
            if let Some(error) = reporter.last_mut() {
                error.note(sharding.loc, "asked for here");
            }
            return Err(PassFailed);
        };
        let end = func::Func(body).terminator(self.module).ok_or(PassFailed)?;
        let of = |v: Value| along.get(&v).copied().unwrap_or(Along::Whole);
        let results: Vec<Along> = self.module.operands(end.0).map(of).collect();
        let copy = self.copy(body, axis);
        let along = along_from(self.module, copy, &arguments, &what, reporter)?;
        if let Err(size) = divide(self.module, copy, &along, self.division.factor) {
            let sharding = &self.division.shardings[self.selected[&node]];
            let message = format!(
                "{what} has a dimension of {size}, which cannot be divided into {} equal parts",
                self.division.factor
            );
            reporter.error(sharding.loc, message).note(self.module.op_loc(node), "in this segment");
            return Err(PassFailed);
        }
        let symbol = ctx.name(self.module.symbol_name(copy).unwrap_or_default());
        Ok((symbol, arguments, results))
    }

    /// A copy of a function beside it, with the suffix in its name.
    fn copy(&mut self, func: Op, suffix: &str) -> Op {
        let ctx = self.module.ctx_arc();
        let copy = self.module.clone_op(func, &mut FxHashMap::default());
        let mut name = format!("{}.{suffix}", self.module.symbol_name(func).unwrap_or_default());
        while self.module.lookup(self.module.root(), &name).is_some() {
            name.push('_');
        }
        self.module.set_attr_by(copy, "sym_name", ctx.str_attr(&name));
        self.module.insert_before(func, copy);
        copy
    }

    /// Remembers the bodies that selected nodes start from; one that others use too is copied for them first.
    fn keep_templates(&mut self, order: &[Op]) {
        let ctx = self.module.ctx_arc();
        let mut others: FxHashSet<Name> = FxHashSet::default();
        let callee = |module: &Module, op: Op| Compute(op).callee(module).as_symbol(&ctx);
        for &op in order {
            if Compute::cast(self.module, op).is_some() && !self.selected.contains_key(&op) {
                others.extend(callee(self.module, op));
            }
        }
        let mut copies: FxHashMap<Name, Name> = FxHashMap::default();
        for &op in order {
            if !self.selected.contains_key(&op) {
                continue;
            }
            let Some(name) = callee(self.module, op) else { continue };
            let Some(body) = self.module.lookup_nearest(op, name.text(&ctx)) else { continue };
            if !others.contains(&name) {
                self.templates.insert(body);
                continue;
            }
            let own = match copies.get(&name) {
                Some(own) => *own,
                None => {
                    let copy = self.copy(body, self.division.axis.text(&ctx));
                    self.templates.insert(copy);
                    let own = ctx.name(self.module.symbol_name(copy).unwrap_or_default());
                    copies.insert(name, own);
                    own
                }
            };
            self.module.set_attr_by(op, "callee", ctx.symbol_attr_of(own));
        }
    }

    /// Takes out the undivided bodies, which nobody calls any more.
    fn erase_templates(&mut self, graph: Op) {
        let ctx = self.module.ctx_arc();
        let called: FxHashSet<Name> = compute_nodes(self.module, graph)
            .into_iter()
            .filter_map(|node| Compute(node).callee(self.module).as_symbol(&ctx))
            .collect();
        for template in std::mem::take(&mut self.templates) {
            let name = self.module.symbol_name(template).map(|name| ctx.name(name));
            if name.is_some_and(|name| !called.contains(&name)) {
                self.module.erase(template);
            }
        }
    }

    /// Makes every operand of a node vary as it should.
    fn exchange_operands(
        &mut self,
        node: Op,
        wanted: &[Along],
        reporter: &mut Reporter<'_>,
    ) -> PassResult {
        let operands: Vec<Value> = self.module.operands(node).collect();
        for (at, (value, &want)) in operands.into_iter().zip(wanted).enumerate() {
            let have = self.along.get(&value).copied().unwrap_or(Along::Whole);
            if have == want {
                continue;
            }
            let made = match self.exchanged.get(&(value, want)) {
                Some(&made) => made,
                None => {
                    let made = self.exchange(node, value, have, want, reporter)?;
                    self.exchanged.insert((value, want), made);
                    self.along.insert(made, want);
                    made
                }
            };
            self.module.set_operand(node, at, made);
        }
        Ok(())
    }

    /// The collective that makes a value vary in another way. Its type is left as the value's.
    fn exchange(
        &mut self,
        node: Op,
        value: Value,
        have: Along,
        want: Along,
        reporter: &mut Reporter<'_>,
    ) -> Result<Value, PassFailed> {
        let ctx = self.module.ctx_arc();
        let axis = self.division.axis.text(&ctx);
        let ty = self.module.ty(value);
        let loc = self.module.op_loc(node);
        // Beside the value: its readers may stand in any order.
        let mut b = match self.module.defining_op(value) {
            Some(def) => Builder::after(self.module, def),
            None => Builder::before(self.module, node),
        };
        b.set_loc(loc);
        let made = match (have, want) {
            (Along::Dim(from), Along::Dim(to)) => AllToAll::build(&mut b)
                .value(value)
                .axes(&[axis])
                .from(from as i64)
                .to(to as i64)
                .moved(ty)
                .create_value(),
            (Along::Sum, Along::Whole) => {
                AllReduce::build(&mut b).value(value).axes(&[axis]).sum(ty).create_value()
            }
            (Along::Dim(0), Along::Whole) => {
                AllGather::build(&mut b).shard(value).axes(&[axis]).value(ty).create_value()
            }
            (Along::Sum, Along::Dim(0)) => {
                ReduceScatter::build(&mut b).value(value).axes(&[axis]).shard(ty).create_value()
            }
            _ => {
                let describe = |along| match along {
                    Along::Whole => "whole".to_owned(),
                    Along::Dim(dim) => format!("divided along dimension {dim}"),
                    Along::Sum => "a partial sum".to_owned(),
                };
                let message = format!(
                    "a value of {} that node '{}' takes is {} over \"{axis}\", but has to be {} there, and no collective makes it so",
                    ty.display(&ctx),
                    node_tag(self.module, node),
                    describe(have),
                    describe(want)
                );
                let shardings = self.division.shardings;
                reporter
                    .error(loc, message)
                    .note(shardings[0].loc, "divided by this")
                    .hint("let the segments end where values are whole, partial sums, or divided along the batch");
                return Err(PassFailed);
            }
        };
        let made = made.expect(COMPLETE);
        if let Some(name) = self.module.value_name(value) {
            self.module.set_value_name(made, name);
        }
        Ok(made)
    }
}

/// Along which dimension a step's input is divided: the one that microbatches divide, or its `batch_dim`.
fn input_along(module: &Module, op: Op) -> Along {
    let ctx = module.ctx();
    let divided = Dist::of(ctx, module.ty(module.result(op, 0)))
        .and_then(|dist| dist.dims.iter().position(|axes| !axes.is_empty()));
    let declared =
        || module.attr_by(op, "batch_dim").and_then(|a| usize::try_from(a.as_int(ctx)?).ok());
    divided.or_else(declared).map_or(Along::Whole, Along::Dim)
}
