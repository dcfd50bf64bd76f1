//! Bodies that compute again, and bodies that give less.

use piper_dialects::func::{self, Func};
use piper_dialects::nn::Along;
use piper_dialects::strategy::Recomputed;
use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, Builder, Loc, Module, Op, OpState, Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::batching::along;
use crate::outline::{argument, residual_types};

/// What an operand of a backward node is to the forward node of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wire {
    /// A result of it.
    Result(usize),
    /// An operand of it, too.
    Operand(usize),
    /// Neither.
    Other,
}

/// A value inside of a forward body: operation and result by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inner {
    op: usize,
    result: usize,
}

/// Where an operand of the new backward comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// An operand it had.
    Own(usize),
    /// An operand of the forward.
    Operand(usize),
    /// A result of the forward.
    Result(usize),
    /// A value inside of the forward, which it now has to give.
    Inner(Inner),
}

impl Source {
    pub(super) fn inner(&self) -> Option<Inner> {
        match self {
            Source::Inner(value) => Some(*value),
            _ => None,
        }
    }
}

/// A backward that computes again.
#[derive(Clone, Debug)]
pub(super) struct Backward {
    /// Its body.
    pub(super) callee: Attr,
    /// Its operands.
    pub(super) operands: Vec<Source>,
}

fn body_of(module: &Module, graph: Op, callee: Attr) -> Op {
    let name = callee.as_symbol(module.ctx()).expect("declared as a symbol");
    module.lookup_nearest(graph, name.text(module.ctx())).expect("a node calls a function")
}

/// A body's operations but its return, and what that returns.
fn parts(module: &Module, body: Op) -> (Vec<Op>, Vec<Value>) {
    let block = module.only_block(body).expect("a chunk has a body");
    let end = Func(body).terminator(module).expect("a body ends with a return");
    let ops = module.ops(block).filter(|op| *op != end.0).collect();
    (ops, module.operands(end.0).collect())
}

fn arguments(module: &Module, body: Op) -> Vec<Value> {
    module.args(module.only_block(body).expect("a chunk has a body")).to_vec()
}

/// Reports names of operations that none of the bodies has.
pub(super) fn names_occur(
    module: &Module,
    graph: Op,
    bodies: &FxHashSet<Attr>,
    names: &[String],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) {
    let ops = bodies.iter().flat_map(|callee| parts(module, body_of(module, graph, *callee)).0);
    let mut known: Vec<&str> = ops.map(|op| module.name_text(op)).collect();
    known.sort_unstable();
    known.dedup();
    for name in names.iter().filter(|name| !known.contains(&&***name)) {
        let hint = match did_you_mean(name, known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("there are {}", known.join(", ")),
        };
        let message = format!("'recompute' names '{name}', which no selected segment has");
        reporter.error(loc, message).hint(hint);
    }
}

/// The forward operations that a backward computes again, and what it takes instead.
struct Again<'a> {
    module: &'a Module,
    what: &'a Recomputed,
    /// Position of every operation of the forward.
    position: FxHashMap<Op, usize>,
    arguments: Vec<Value>,
    returned: Vec<Value>,
    needed: FxHashSet<Op>,
    /// Values of the forward that come from outside, by first need.
    taken: Vec<(Value, Source)>,
}

impl Again<'_> {
    fn is_chosen(&self, op: Op) -> bool {
        match self.what {
            Recomputed::All => true,
            Recomputed::Only(names) => names.iter().any(|name| name == self.module.name_text(op)),
            Recomputed::Nothing => false,
        }
    }

    /// Whether a value of the forward is made by an operation that runs again.
    fn is_made_again(&self, value: Value) -> bool {
        self.module.defining_op(value).is_some_and(|op| self.is_chosen(op))
    }

    /// Notes what it takes to have a value.
    fn need(&mut self, value: Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match self.module.defining_op(value) {
                Some(op) if self.is_chosen(op) => {
                    if self.needed.insert(op) {
                        pending.extend(self.module.operands(op));
                    }
                }
                _ if self.taken.iter().any(|(known, _)| *known == value) => {}
                made => {
                    let source = self.source(value, made);
                    self.taken.push((value, source));
                }
            }
        }
    }

    fn source(&self, value: Value, made: Option<Op>) -> Source {
        if let Some(at) = self.arguments.iter().position(|arg| *arg == value) {
            return Source::Operand(at);
        }
        if let Some(at) = self.returned.iter().position(|result| *result == value) {
            return Source::Result(at);
        }
        let op = made.expect("neither argument nor result of an operation");
        let result = self.module.results(op).position(|result| result == value);
        Source::Inner(Inner { op: self.position[&op], result: result.expect("its own result") })
    }
}

/// The backward of a pair of bodies that computes again what `what` names; `None` if it needs none of that.
pub(super) fn of(
    module: &mut Module,
    graph: Op,
    (backward, forward): (Attr, Attr),
    wires: &[Wire],
    what: &Recomputed,
    again: bool,
) -> Option<Backward> {
    let (b_body, f_body) = (body_of(module, graph, backward), body_of(module, graph, forward));
    let (b_ops, b_results) = parts(module, b_body);
    let (f_ops, returned) = parts(module, f_body);
    let (b_args, f_args) = (arguments(module, b_body), arguments(module, f_body));
    let mut run = Again {
        module: &*module,
        what,
        position: f_ops.iter().enumerate().map(|(i, op)| (*op, i)).collect(),
        arguments: f_args.clone(),
        returned: returned.clone(),
        needed: FxHashSet::default(),
        taken: Vec::new(),
    };
    // Arguments of the backward that are made again.
    let mut replaced: FxHashMap<usize, Value> = FxHashMap::default();
    for (i, wire) in wires.iter().enumerate() {
        if let Wire::Result(result) = wire
            && run.is_made_again(returned[*result])
        {
            run.need(returned[*result]);
            replaced.insert(i, returned[*result]);
        }
    }
    if replaced.is_empty() {
        return None;
    }
    let (needed, taken) = (run.needed, run.taken);
    let varies = along(module, f_body, &mut Reporter::new(module.ctx())).unwrap_or_default();

    // Arguments: what it had and keeps; then what the forward's operations take, unless it has that.
    let mut sources: Vec<Source> = Vec::new();
    let mut inputs: Vec<(Value, Along)> = Vec::new();
    let mut aliases: Vec<(Value, usize)> = Vec::new();
    let batch = |module: &Module, body: Op, at: usize| {
        let dim =
            func::arg_attr(module, body, at, "batch_dim").and_then(|a| a.as_int(module.ctx()));
        dim.map_or(Along::Whole, |dim| Along::Dim(dim as usize))
    };
    for (i, arg) in b_args.iter().enumerate().filter(|(i, _)| !replaced.contains_key(i)) {
        sources.push(Source::Own(i));
        inputs.push((*arg, batch(module, b_body, i)));
    }
    for (value, source) in taken {
        let same = wires.iter().position(|wire| match (source, wire) {
            (Source::Operand(i), Wire::Operand(j)) | (Source::Result(i), Wire::Result(j)) => {
                i == *j
            }
            _ => false,
        });
        if let Some(at) = same.and_then(|i| sources.iter().position(|s| *s == Source::Own(i))) {
            aliases.push((value, at));
            continue;
        }
        let varies = match source {
            Source::Operand(i) => batch(module, f_body, i),
            _ => varies.get(&value).copied().unwrap_or(Along::Whole),
        };
        sources.push(source);
        inputs.push((value, varies));
    }
    let name = module.symbol_name(b_body).unwrap_or("b").to_owned();
    let (function, mut map) =
        declare(module, b_body, &format!("{name}.again"), &inputs, &b_results);
    let block = module.only_block(function).expect("just made");
    for (value, at) in aliases {
        let arg = module.args(block)[at];
        map.insert(value, arg);
    }
    let ctx = module.ctx_arc();
    let (pass, is_forward) = (ctx.name("pass"), ctx.str_attr("F"));
    for op in f_ops.into_iter().filter(|op| needed.contains(op)) {
        let copy = module.clone_op(op, &mut map);
        module.append(block, copy);
        module.set_attr(copy, pass, is_forward);
    }
    for (i, value) in replaced {
        map.insert(b_args[i], map[&value]);
    }
    for op in b_ops {
        let copy = module.clone_op(op, &mut map);
        module.append(block, copy);
    }
    end(module, b_body, block, &b_results, &map);
    if again {
        module.set_attr_by(function, crate::split_backward::WEIGHTS, ctx.str_attr("again"));
    }
    Some(Backward {
        callee: ctx.symbol_attr_of(ctx.name(module.symbol_name(function)?)),
        operands: sources,
    })
}

/// A function beside `like` with arguments for values; `results` give the types of its results.
fn declare(
    module: &mut Module,
    like: Op,
    name: &str,
    inputs: &[(Value, Along)],
    results: &[Value],
) -> (Op, FxHashMap<Value, Value>) {
    let ctx = module.ctx_arc();
    let mut name = name.to_owned();
    while module.lookup_nearest(like, &name).is_some() {
        name.push('_');
    }
    let types: Vec<Type> = inputs.iter().map(|(v, _)| module.ty(*v)).collect();
    let given: Vec<Type> = results.iter().map(|v| module.ty(*v)).collect();
    let ty = ctx.function(&types, &given);
    let loc = module.op_loc(like);
    let mut b = Builder::after(module, like);
    let state = b
        .set_loc(loc)
        .state(Func::NAME)
        .attr(&ctx, "sym_name", ctx.str_attr(&name))
        .attr(&ctx, "function_type", ctx.type_attr(ty))
        .attr(&ctx, "sym_visibility", ctx.str_attr("private"))
        .region();
    let function = b.insert(state);
    let region = module.regions(function)[0];
    let block = module.add_block(region);
    let mut map = FxHashMap::default();
    for (i, (value, along)) in inputs.iter().enumerate() {
        map.insert(*value, argument(module, block, *value));
        if let Along::Dim(dim) = along {
            func::set_arg_attr(module, function, i, "batch_dim", ctx.int_attr(*dim as i64));
        }
    }
    (function, map)
}

fn end(
    module: &mut Module,
    like: Op,
    block: piper_ir::Block,
    results: &[Value],
    map: &FxHashMap<Value, Value>,
) {
    let ctx = module.ctx_arc();
    let loc = Func(like).terminator(module).map_or(ctx.unknown_loc(), |end| module.op_loc(end.0));
    let results: Vec<Value> = results.iter().map(|v| map[v]).collect();
    let end = module.create(OpState::new(ctx.op_name(func::Return::NAME), loc).operands(results));
    module.append(block, end);
}

/// The forward that gives those of its results, then values from inside; operations that this needs not are left out.
pub(super) fn forward(
    module: &mut Module,
    graph: Op,
    callee: Attr,
    kept: &[usize],
    inner: &[Inner],
) -> Attr {
    let ctx = module.ctx_arc();
    let body = body_of(module, graph, callee);
    let (ops, returned) = parts(module, body);
    let args = arguments(module, body);
    let inside = inner.iter().map(|at| module.result(ops[at.op], at.result));
    let results: Vec<Value> = kept.iter().map(|&i| returned[i]).chain(inside).collect();
    let mut live: FxHashSet<Value> = results.iter().copied().collect();
    let mut needed: Vec<Op> = Vec::new();
    for &op in ops.iter().rev() {
        if module.results(op).any(|value| live.contains(&value)) {
            live.extend(module.operands(op));
            needed.push(op);
        }
    }
    let inputs: Vec<(Value, Along)> = args
        .iter()
        .enumerate()
        .map(|(i, arg)| {
            let dim = func::arg_attr(module, body, i, "batch_dim").and_then(|a| a.as_int(&ctx));
            (*arg, dim.map_or(Along::Whole, |dim| Along::Dim(dim as usize)))
        })
        .collect();
    let name = module.symbol_name(body).unwrap_or("f").to_owned();
    let (function, mut map) = declare(module, body, &format!("{name}.lean"), &inputs, &results);
    let block = module.only_block(function).expect("just made");
    for op in needed.into_iter().rev() {
        let copy = module.clone_op(op, &mut map);
        module.append(block, copy);
    }
    end(module, body, block, &results, &map);
    ctx.symbol_attr(module.symbol_name(function).unwrap_or_default())
}

/// Types of values from inside of a forward body as results of its node.
pub(super) fn inner_types(
    module: &Module,
    graph: Op,
    node: Op,
    callee: Attr,
    inner: &[Inner],
) -> Vec<Type> {
    let body = body_of(module, graph, callee);
    let (ops, _) = parts(module, body);
    let varies = along(module, body, &mut Reporter::new(module.ctx())).unwrap_or_default();
    let values = inner.iter().map(|at| module.result(ops[at.op], at.result));
    let local: Vec<(Type, Along)> =
        values.map(|v| (module.ty(v), varies.get(&v).copied().unwrap_or(Along::Whole))).collect();
    residual_types(module, node, &local)
}
