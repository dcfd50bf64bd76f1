//! `replicate` and `zero`: data parallelism, the batch divided over a mesh axis.
//!
//! ```mlir
//! // before, with strategy.replicate over "dp" on a mesh of "dp" = 2
//! %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster>
//! %dw = dag.compute @b0(%x) B {} node "b0" : (...) -> !dag.dist<tensor<4x4xf32>, @cluster>
//! dag.gradient "w" %dw : ...
//! // after
//! %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster, [{"dp"}, {}]>
//! %dw = dag.compute @b0(%x) B {} node "b0" : (...) -> !dag.dist<tensor<4x4xf32>, @cluster, partial = {"dp"}>
//! %g = dag.all_reduce %dw over ["dp"] : ...
//! dag.gradient "w" %g : ...
//! ```
//!
//! Batch dimensions get the axis, major to microbatches; bodies get local shapes; what was a total over the batch is now a
//! partial sum over the axis, reduced before it is called a gradient. A sum over a group that is already there is widened,
//! so that there is one collective and not two. Losses stay partial: `dag.output` adds what it is given.
//!
//! From stage 1 of ZeRO on the reduction leaves shards of flat buckets instead: see [`buckets`] and, for stage 3, [`gather`]. A mean keeps
//! the count it had, so nothing is divided by the number of replicas.
//!
//! Where gradients are reduced after each microbatch, the batch is divided over copies within microbatches, not the other way
//! round: what is summed first are neighbours in the batch, and a fixed tree has the bits of one device here too.

pub mod buckets;
mod contributions;
pub mod directives;
pub mod gather;
mod options;
mod reduce;
mod sequence;
pub mod topology;

use piper_dialects::dag::{AllReduce, AxisSizes, Dist, Home};
use piper_dialects::nn::Along;
use piper_dialects::strategy::{Directive, Gather, Kind, Reduce, Sharding};
use piper_ir::diag::did_you_mean;
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Builder, Loc, Module, Name, Op, Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::hoist_casts::has_casts;
use crate::nodes::{compute_nodes, graphs};
use crate::shard::{self, Division, Position, vary};

/// What is replicated over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The mesh axis.
    pub axis: String,
    /// What is sharded, and when it is communicated.
    pub sharding: Sharding,
    /// Most bytes a flat bucket may have; `None` = any.
    pub limit: Option<u64>,
}

impl Replication {
    /// What a directive asks for, if it is one of data parallelism.
    pub fn of(kind: &Kind) -> Option<Self> {
        let (Kind::Replicate { axis, sharding } | Kind::Zero { axis, sharding }) = kind else {
            return None;
        };
        Some(Self { axis: axis.clone(), sharding: sharding.clone(), limit: None })
    }
}

/// Builders fail only where a part is missing, which these calls show they are not.
const COMPLETE: &str = "every part of the operation is given";

/// The passes `replicate` and `zero`.
pub fn passes() -> Vec<PassInfo> {
    let pass = |name: &'static str, summary: &'static str, default_stage: u32| {
        PassInfo::with_options(name, summary, options::DEFINITIONS.to_vec(), move |given| {
            let options = options::Given::read(name, given)?;
            Ok(move |cx: &mut PassContext<'_, '_>| run_pass(cx, &options, default_stage))
        })
        .describe(
            "Works on a graph, split and placed or not, before the optimizer. Consumes the plan's strategy.replicate and \
             strategy.zero directives; without one the options say what to do. Fails if the axis is unknown or taken, if the \
             batch is not divisible, if options make no sense together, or if the optimizer is there already.",
        )
        .after(&["build-dag"])
        .done_when(|module| {
            let directives = graphs(module).into_iter().flat_map(|g| directives::of_graph(module, g));
            let is_one = |d: &Directive| matches!(d.kind, Kind::Replicate { .. } | Kind::Zero { .. });
            !graphs(module).is_empty() && !directives.into_iter().any(|d| is_one(&d))
        })
    };
    vec![
        pass("replicate", "Divide the batch over a mesh axis and reduce the gradients", 0),
        pass("zero", "Replicate with state sharded in flat buckets", 1),
    ]
}

fn run_pass(
    cx: &mut PassContext<'_, '_>,
    options: &options::Given,
    default_stage: u32,
) -> PassResult {
    let graphs = graphs(cx.module);
    if graphs.is_empty() {
        let loc = cx.module.op_loc(cx.op);
        cx.reporter
            .error(loc, format!("pass '{}' works on a dag.graph, but there is none", options.pass))
            .hint("run 'build-dag' first");
        return Err(PassFailed);
    }
    for graph in graphs {
        for (replication, loc, directive) in
            options::wanted(cx.module, graph, options, default_stage, cx.reporter)?
        {
            run(cx.module, graph, &replication, loc, cx.reporter)?;
            if let Some(directive) = directive {
                cx.module.erase(directive);
            }
        }
    }
    Ok(())
}

/// Replicates a graph over an axis. `loc` is where that was asked for.
///
/// # Errors
/// See the module documentation; all are reported.
pub fn run(
    module: &mut Module,
    graph: Op,
    replication: &Replication,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    run_beside(module, graph, replication, &[], loc, reporter)
}

/// As [`run`], but with parts of the graph divided along their parameters instead of the batch.
///
/// # Errors
/// As [`run`] and [`shard`](mod@crate::shard).
pub(crate) fn run_beside(
    module: &mut Module,
    graph: Op,
    replication: &Replication,
    shardings: &[shard::Sharding],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let axis = module.ctx().name(&replication.axis);
    let sharding = &replication.sharding;
    let factor = check(module, graph, axis, loc, reporter)?;
    check_sharded_once(module, graph, sharding, loc, reporter)?;
    let by_microbatch = reduces_each(module, graph, sharding);
    let division = Division { axis, factor, batch: true, inside: by_microbatch, shardings };
    divide_graph(module, graph, &division, reporter)?;
    if sharding.stage >= 1 {
        let buckets = buckets::plan(module, graph, axis, sharding, by_microbatch, reporter)?;
        check_limit(module, &buckets, replication.limit, loc, reporter)?;
        // Shards in the master type, and copies in the compute type that live as long as a step: where there are two types,
        // whole parameters in the master type are nowhere needed.
        let kept = Sharding { gather: Some(Gather::Keep), ..sharding.clone() };
        let gathered = match sharding.stage {
            3 => Some(gather::plan(module, graph, &buckets, sharding, loc, reporter)?),
            _ if has_casts(module, graph) => {
                Some(gather::plan(module, graph, &buckets, &kept, loc, reporter)?)
            }
            _ => None,
        };
        let masters: Vec<Value> = buckets
            .iter()
            .map(|bucket| reduce::emit(module, graph, bucket, by_microbatch))
            .collect();
        if let Some(gathered) = gathered {
            gather::emit(module, graph, &buckets, &masters, &gathered);
        }
    }
    reduce_gradients(module, graph, axis);
    Ok(())
}

/// Whether gradients are reduced after each of several microbatches.
fn reduces_each(module: &Module, graph: Op, sharding: &Sharding) -> bool {
    let microbatches = module.attr_by(graph, "microbatches").and_then(|m| m.as_int(module.ctx()));
    sharding.stage >= 2
        && microbatches.is_some_and(|m| m > 1)
        && match sharding.reduce {
            Some(reduce) => reduce == Reduce::Each,
            None => !is_pipeline(module, graph),
        }
}

/// Whether nodes are placed on more than one slice.
fn is_pipeline(module: &Module, graph: Op) -> bool {
    let ctx = module.ctx();
    let mut places = compute_nodes(module, graph).into_iter().filter_map(|op| {
        let value = module.results(op).next()?;
        Some(Dist::of(ctx, module.ty(value))?.place(ctx))
    });
    let first = places.next();
    places.any(|place| Some(place) != first)
}

/// A bucket has to fit in memory.
fn check_limit(
    module: &Module,
    buckets: &[buckets::Bucket],
    limit: Option<u64>,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let Some(limit) = limit else { return Ok(()) };
    let bytes = |bucket: &buckets::Bucket| {
        bucket.padded as u64 * bucket.items[0].element.byte_width(module.ctx()).unwrap_or(1)
    };
    let Some(large) = buckets.iter().filter(|b| bytes(b) > limit).max_by_key(|b| bytes(b)) else {
        return Ok(());
    };
    let names: Vec<&str> = large.items.iter().map(|item| &*item.name).collect();
    let error = reporter.error(
        loc,
        format!("a bucket of {} bytes does not fit into the memory of {limit} bytes", bytes(large)),
    );
    let what = match &names[..] {
        [one] => format!("it is \"{one}\" alone"),
        [first, .., last] => {
            format!("it has {} parameters, \"{first}\" to \"{last}\"", names.len())
        }
        [] => String::new(),
    };
    let largest = large.items.iter().max_by_key(|item| item.elements);
    if let Some(item) = largest {
        error.note(module.op_loc(item.gradient), what);
    }
    error.hint(match names.len() {
        1 => "divide the tensor over another axis, or more devices".to_owned(),
        _ => format!("write a bucket of at most {limit} bytes"),
    });
    Err(PassFailed)
}

/// Shards are made over one axis; further ones only replicate.
fn check_sharded_once(
    module: &Module,
    graph: Op,
    sharding: &Sharding,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let block = module.only_block(graph).expect("a graph has a block");
    let master = module
        .ops(block)
        .find(|op| module.name_text(*op) == "dag.state" && buckets::layout(module, *op).is_some());
    let Some(master) = master.filter(|_| sharding.stage >= 1) else { return Ok(()) };
    reporter
        .error(loc, "the graph's state is sharded already, and is sharded over one axis")
        .note(module.op_loc(master), "this is a shard")
        .hint("replicate over the other axes first, and put strategy.zero last: whole parameters are then sharded over all of them");
    Err(PassFailed)
}

/// Divides parts of the graph along their parameters, and nothing else.
///
/// # Errors
/// As [`shard`](mod@crate::shard).
pub(crate) fn shard_only(
    module: &mut Module,
    graph: Op,
    axis: &str,
    shardings: &[shard::Sharding],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let axis = module.ctx().name(axis);
    let factor = check(module, graph, axis, loc, reporter)?;
    let division = Division { axis, factor, batch: false, inside: false, shardings };
    divide_graph(module, graph, &division, reporter)?;
    reduce_gradients(module, graph, axis);
    Ok(())
}

/// Divides what the graph's values are made of, and gives them the types that say so.
fn divide_graph(
    module: &mut Module,
    graph: Op,
    division: &Division<'_>,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let ctx = module.ctx_arc();
    let axis = division.axis;
    let along = vary(module, graph, division, reporter)?;
    // Many values have one type.
    let mut types: FxHashMap<(Type, Along), Type> = FxHashMap::default();
    for (&value, &along) in along.iter().filter(|(_, along)| **along != Along::Whole) {
        let ty = module.ty(value);
        let divided = *types.entry((ty, along)).or_insert_with(|| {
            let Some(mut dist) = Dist::of(&ctx, ty) else { return ty };
            match (along, division.position()) {
                (Along::Dim(dim), Position::Major) => dist.dims[dim].insert(0, axis),
                (Along::Dim(dim), Position::Minor) => dist.dims[dim].push(axis),
                (Along::Sum, _) => dist.partial.push(axis),
                (Along::Whole, _) => {}
            }
            dist.ty(&ctx)
        });
        module.set_ty(value, divided);
    }
    widen_reductions(module, graph, division, &along);
    Ok(())
}

/// The size of the axis, if the graph can be replicated over it.
fn check(
    module: &Module,
    graph: Op,
    axis: Name,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<i64, PassFailed> {
    let ctx = module.ctx();
    let sizes = AxisSizes::of_graph(module, graph);
    let mesh_axes: Vec<&str> = mesh_axes(module, graph);
    let text = axis.text(ctx);
    let Some(factor) = sizes.get(axis).filter(|_| mesh_axes.contains(&text)) else {
        let hint = match did_you_mean(text, mesh_axes.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!(
                "the mesh has {}",
                mesh_axes.iter().map(|a| format!("\"{a}\"")).collect::<Vec<_>>().join(", ")
            ),
        };
        reporter.error(loc, format!("the mesh has no axis \"{text}\"")).hint(hint);
        return Err(PassFailed);
    };
    let block = module.only_block(graph).expect("a graph has a block");
    let mut seen: FxHashSet<Type> = FxHashSet::default();
    for op in module.ops(block) {
        if module.name_text(op) == "dag.update" {
            reporter
                .error(loc, "the optimizer's step is in the graph already, so it cannot be replicated any more")
                .note(module.op_loc(op), "updated here")
                .hint("run 'update' after it; in a plan, put the optimizer last");
            return Err(PassFailed);
        }
        for value in module.results(op) {
            if !seen.insert(module.ty(value)) {
                continue;
            }
            let Some(dist) = Dist::of(ctx, module.ty(value)) else { continue };
            let fixed =
                matches!(&dist.home, Home::Slice(at) if at.iter().any(|(name, _)| *name == axis));
            if fixed
                || dist.partial.contains(&axis)
                || dist.dims.iter().flatten().any(|a| *a == axis)
            {
                let what = if fixed { "placed along" } else { "replicated over" };
                reporter.error(loc, format!("the graph is already {what} \"{text}\"")).note(
                    module.op_loc(op),
                    format!("this has type {}", dist.ty(ctx).display(ctx)),
                );
                return Err(PassFailed);
            }
        }
    }
    Ok(factor)
}

/// The names of the axes of a graph's mesh.
fn mesh_axes(module: &Module, graph: Op) -> Vec<&str> {
    let ctx = module.ctx();
    let mesh = module.attr_by(graph, "mesh").and_then(|a| a.as_symbol(ctx));
    let mesh = mesh.and_then(|m| module.lookup_nearest(graph, m.text(ctx)));
    let axes =
        mesh.and_then(|m| module.attr_by(m, "axes")).and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
    axes.iter().filter_map(|a| a.as_str(ctx)).collect()
}

/// Makes every sum of a value that is now partial over the axis a sum over the axis too.
///
/// The new axis comes where it does in batch dimensions: members in the order of the pieces of the batch that they summed make a
/// tree over members the top of the tree over all pieces, whatever divides them.
fn widen_reductions(
    module: &mut Module,
    graph: Op,
    division: &Division<'_>,
    along: &FxHashMap<Value, Along>,
) {
    let ctx = module.ctx_arc();
    let block = module.only_block(graph).expect("a graph has a block");
    let reductions: Vec<Op> =
        module.ops(block).filter(|op| AllReduce::cast(module, *op).is_some()).collect();
    for op in reductions {
        let own = ctx.str_attr(division.axis.text(&ctx));
        let mut axes = AllReduce(op).axes(module).as_array(&ctx).unwrap_or(&[]).to_vec();
        // One that the division brought is over the axis already.
        if along.get(&AllReduce(op).value(module)) == Some(&Along::Sum) && !axes.contains(&own) {
            match division.position() {
                Position::Major => axes.insert(0, own),
                Position::Minor => axes.push(own),
            }
            module.set_attr_by(op, "axes", ctx.array_attr(axes));
        }
    }
}

/// Sums over the axis what is still partial over it where it is called a gradient.
fn reduce_gradients(module: &mut Module, graph: Op, axis: Name) {
    let ctx = module.ctx_arc();
    let block = module.only_block(graph).expect("a graph has a block");
    let gradients: Vec<Op> =
        module.ops(block).filter(|op| module.name_text(*op) == "dag.gradient").collect();
    for op in gradients {
        let value = module.operand(op, 0);
        let dist = Dist::of(&ctx, module.ty(value)).expect("declared as !dag.dist");
        if !dist.partial.contains(&axis) {
            continue;
        }
        let mut b = Builder::before(module, op);
        let sum = AllReduce::build(&mut b).value(value).axes(&[axis.text(&ctx)]);
        let sum = sum.create_value().expect(COMPLETE);
        module.set_operand(op, 0, sum);
    }
}

/// The attribute of a collective's axes: strings for mesh axes, symbols for groups.
pub fn axes_attr(module: &Module, graph: Op, axes: &[Name]) -> Attr {
    let ctx = module.ctx();
    let mesh = mesh_axes(module, graph);
    let axes: Vec<Attr> = axes
        .iter()
        .map(|a| {
            if mesh.contains(&a.text(ctx)) {
                ctx.str_attr(a.text(ctx))
            } else {
                ctx.symbol_attr_of(*a)
            }
        })
        .collect();
    ctx.array_attr(axes)
}
