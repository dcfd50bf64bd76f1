//! `update`: the optimizer's step at the end of the graph.
//!
//! ```mlir
//! // before, with strategy.optimizer sgd <lr = 0.1, momentum = 0.9>
//! %g = dag.gradient "w" %dw : ...
//! // after
//! %m = dag.state "w.m" {init = 0.0} : ...
//! %new:2 = dag.update sgd (%w, %g, %m) lr = 0.1 {momentum = 0.9, weight_decay = 0.0} : ...
//! dag.commit %w, %new#0 : ...
//! dag.commit %m, %new#1 : ...
//! ```
//!
//! A gradient `X` updates the state `X.master` if there is one (a shard of a flat bucket, see
//! [`replicate::buckets`](crate::replicate::buckets)), else the parameter `X`. New shards are gathered, unpacked and
//! committed to the parameters they are copies of.
//!
//! Weight decay, where there is one, is of all parameters. With a bound on the global gradient norm every update takes a
//! factor, for which every gradient is counted once however often its parameter is held: see [`norm`].

pub mod norm;
mod rule;

use piper_dialects::dag::{AxisSizes, Dist};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Builder, Loc, Module, Name, Op, Reporter, Value};
use rustc_hash::FxHashMap;

pub use rule::Rule;

use crate::nodes::graphs;
use crate::replicate::axes_attr;
use crate::replicate::buckets::{layout, master_name};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let pass = PassInfo::with_options(
        "update",
        "Add the optimizer's step: clipping, updates, commits",
        rule::OPTIONS.to_vec(),
        |options| {
            let given = rule::Given::read(options)?;
            Ok(move |cx: &mut PassContext<'_, '_>| run_pass(cx, &given))
        },
    )
    .describe(
        "Works on a graph, replicated or not. Consumes the plan's strategy.optimizer or strategy.update; without one the \
         options say what to do. Fails if a gradient has no parameter of its distribution, or if replication is still to come.",
    )
    .after(&["build-dag"])
    .done_when(|module| {
        graphs(module).iter().any(|graph| {
            let block = module.only_block(*graph);
            block.is_some_and(|b| module.ops(b).any(|op| module.name_text(op) == "dag.update"))
        })
    });
    vec![pass]
}

fn run_pass(cx: &mut PassContext<'_, '_>, given: &rule::Given) -> PassResult {
    let graphs = graphs(cx.module);
    if graphs.is_empty() {
        let loc = cx.module.op_loc(cx.op);
        cx.reporter
            .error(loc, "pass 'update' works on a dag.graph, but there is none")
            .hint("run 'build-dag' first");
        return Err(PassFailed);
    }
    for graph in graphs {
        let (rule, loc, directive) = rule::wanted(cx.module, graph, given, cx.reporter)?;
        let updates = run(cx.module, graph, &rule, loc, cx.reporter)?;
        cx.count("updates", updates);
        if let Some(directive) = directive {
            cx.module.erase(directive);
        }
    }
    Ok(())
}

/// A gradient with what it updates.
pub struct Target {
    /// Its name.
    pub name: String,
    /// The complete gradient.
    pub gradient: Value,
    /// Its distribution, which is that of the state.
    pub dist: Dist,
    /// The `dag.parameter` or `dag.state` that is updated.
    pub state: Op,
}

/// Adds the optimizer's step to a graph. `loc` is where it was asked for. Returns the number of updates.
///
/// # Errors
/// A gradient without a parameter or master of its distribution; an optimizer that is there already; what [`norm::scales`] refuses.
pub fn run(
    module: &mut Module,
    graph: Op,
    rule: &Rule,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<u64, PassFailed> {
    let ctx = module.ctx_arc();
    let targets = targets(module, graph, loc, reporter)?;
    let scales = match rule.clip {
        Some(max_norm) => Some(norm::scales(module, graph, &targets, max_norm, loc, reporter)?),
        None => None,
    };
    let sizes = AxisSizes::of_graph(module, graph);
    let parameters = states_by_name(module, graph);
    for target in &targets {
        let ty = target.dist.ty(&ctx);
        let place = module.op_loc(target.state);
        let taken = rule.state.iter().find_map(|suffix| {
            let name = ctx.str_attr(&format!("{}.{suffix}", target.name));
            parameters.get(&name)?.first().copied()
        });
        if let Some(taken) = taken {
            let message =
                format!("a parameter has the name of the optimizer's state of \"{}\"", target.name);
            reporter
                .error(module.op_loc(taken), message)
                .note(place, format!("\"{}\" is declared here", target.name))
                .hint("give one of the two another name");
            return Err(PassFailed);
        }
        let mut b = appending(module, graph, place);
        let mut inputs = vec![b.module.result(target.state, 0), target.gradient];
        let mut states = vec![inputs[0]];
        for suffix in rule.state {
            let name = format!("{}.{suffix}", target.name);
            let state = b
                .state("dag.state")
                .results([ty])
                .attr(&ctx, "name", ctx.str_attr(&name))
                .attr(&ctx, "init", ctx.float_attr(0.0));
            let value = b.value(state);
            let hint = ctx.name(&name);
            b.module.set_value_name(value, hint);
            inputs.push(value);
            states.push(value);
        }
        let scale = scales.as_ref().map(|scales| scales.of(&ctx, &target.dist));
        inputs.extend(scale);
        let state = b
            .state("dag.update")
            .operands(inputs)
            .results(states.iter().map(|_| ty))
            .attr(&ctx, "rule", ctx.str_attr(rule.name))
            .attr(&ctx, "lr", rule.lr)
            .attr(&ctx, "hyper", rule.hyper)
            .attr_if(&ctx, "clipped", scale.map(|_| ctx.unit()));
        let update = b.insert(state);
        let new: Vec<Value> = b.module.results(update).collect();
        let hint = ctx.name(&format!("{}.new", target.name));
        b.module.set_value_name(new[0], hint);
        for (&state, &value) in states.iter().zip(&new) {
            commit(&mut b, state, value);
        }
        if let Some(parts) = layout(module, target.state) {
            spread(module, graph, target, new[0], &parts, &parameters, &sizes);
        }
    }
    Ok(targets.len() as u64)
}

/// Inserts before the graph's orders, which stand last.
fn appending(module: &mut Module, graph: Op, loc: Loc) -> Builder<'_> {
    let block = module.only_block(graph).expect("a graph has a block");
    let first_order =
        module.ops_reversed(block).take_while(|op| module.name_text(*op) == "dag.order").last();
    let mut b = match first_order {
        Some(order) => Builder::before(module, order),
        None => Builder::at_end(module, block),
    };
    b.set_loc(loc);
    b
}

fn commit(b: &mut Builder<'_>, state: Value, value: Value) {
    let commit = b.state("dag.commit").operands([state, value]);
    b.insert(commit);
}

/// `dag.parameter` and `dag.state` operations by name.
fn states_by_name(module: &Module, graph: Op) -> FxHashMap<Attr, Vec<Op>> {
    let block = module.only_block(graph).expect("a graph has a block");
    let mut states: FxHashMap<Attr, Vec<Op>> = FxHashMap::default();
    for op in module.ops(block) {
        if matches!(module.name_text(op), "dag.parameter" | "dag.state") {
            states.entry(module.attr_by(op, "name").expect("declared")).or_default().push(op);
        }
    }
    states
}

fn targets(
    module: &Module,
    graph: Op,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Target>, PassFailed> {
    let ctx = module.ctx();
    let states = states_by_name(module, graph);
    let block = module.only_block(graph).expect("a graph has a block");
    let errors = reporter.error_count();
    let mut targets = Vec::new();
    for op in module.ops(block) {
        if module.name_text(op) == "dag.update" {
            reporter
                .error(
                    loc,
                    "the graph has an optimizer already, and parameters are updated once a step",
                )
                .note(module.op_loc(op), "updated here");
            return Err(PassFailed);
        }
        if module.name_text(op) != "dag.gradient" {
            continue;
        }
        let name = module.attr_by(op, "name").and_then(|a| a.as_str(ctx)).unwrap_or("").to_owned();
        let gradient = module.result(op, 0);
        let ty = module.ty(gradient);
        let named = [ctx.str_attr(&master_name(&name)), ctx.str_attr(&name)];
        let mut candidates = named.iter().filter_map(|name| states.get(name)).flatten().peekable();
        let known = candidates.peek().copied().copied();
        let Some(&state) = candidates.find(|state| module.ty(module.result(**state, 0)) == ty)
        else {
            let diagnostic = match known {
                None => reporter.error(
                    module.op_loc(op),
                    format!("there is no parameter \"{name}\" for this gradient"),
                ),
                Some(state) => {
                    let has = module.ty(module.result(state, 0)).display(ctx);
                    let gradient = ty.display(ctx);
                    reporter
                        .error(
                            module.op_loc(op),
                            format!("the gradient of \"{name}\" has type {gradient}\nbut the parameter has type {has}"),
                        )
                        .note(module.op_loc(state), "the parameter is here")
                }
            };
            diagnostic.hint("a gradient lives where its parameter does; a parameter with several homes lives on a strategy.group");
            continue;
        };
        let dist = Dist::of(ctx, ty).expect("declared as !dag.dist");
        targets.push(Target { name, gradient, dist, state });
    }
    if targets.is_empty() && reporter.error_count() == errors {
        reporter.error(loc, "the graph has no gradients, so there is nothing to update");
    }
    if reporter.error_count() > errors { Err(PassFailed) } else { Ok(targets) }
}

/// Gathers a new flat master and commits its parts to the parameters.
fn spread(
    module: &mut Module,
    graph: Op,
    target: &Target,
    new: Value,
    parts: &[(Name, i64)],
    parameters: &FxHashMap<Attr, Vec<Op>>,
    sizes: &AxisSizes,
) {
    let ctx = module.ctx_arc();
    let loc = module.op_loc(target.state);
    let home =
        |op: Op, module: &Module| Dist::of(&ctx, module.ty(module.result(op, 0))).map(|d| d.home);
    let is_whole = |op: Op| module.attr_by(op, "flat").is_none();
    let owners: Vec<Option<Op>> = parts
        .iter()
        .map(|(name, _)| {
            let named = parameters.get(&ctx.str_attr(name.text(&ctx)))?;
            let mut here = named.iter().copied().filter(|op| is_whole(*op));
            here.find(|op| home(*op, module).as_ref() == Some(&target.dist.home))
        })
        .collect();
    if owners.iter().all(Option::is_none) {
        return;
    }
    // What divides the parameters stays as it is.
    let first = owners.iter().flatten().next().map(|op| module.ty(module.result(*op, 0)));
    let divided = first.and_then(|ty| Dist::of(&ctx, ty)).map_or(Vec::new(), |d| d.dividing());
    let whole = Dist { dims: vec![divided.clone()], ..target.dist.clone() };
    let axes = target.dist.dims[0].strip_prefix(&divided[..]).unwrap_or(&target.dist.dims[0]);
    debug_assert!(
        axes.iter().all(|a| sizes.get(*a).is_some()),
        "axes of a type that verifies are known"
    );
    let axes = axes_attr(module, graph, axes);
    let types: Vec<_> =
        owners.iter().flatten().map(|op| module.ty(module.result(*op, 0))).collect();
    let offsets: Vec<i64> = parts
        .iter()
        .zip(&owners)
        .filter(|(_, owner)| owner.is_some())
        .map(|((_, at), _)| *at)
        .collect();
    let mut b = appending(module, graph, loc);
    let state = b
        .state("dag.all_gather")
        .operands([new])
        .results([whole.ty(&ctx)])
        .attr(&ctx, "axes", axes);
    let gathered = b.value(state);
    let state = b.state("dag.unpack").operands([gathered]).results(types).attr(
        &ctx,
        "offsets",
        ctx.int_array_attr(&offsets),
    );
    let unpack = b.insert(state);
    for (owner, value) in owners.iter().flatten().zip(b.module.results(unpack)) {
        let parameter = b.module.result(*owner, 0);
        let place = b.module.op_loc(*owner);
        b.set_loc(place);
        commit(&mut b, parameter, value);
    }
}
