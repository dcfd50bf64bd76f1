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
//! With `zero = 1` the reduction leaves shards of flat buckets instead: see [`buckets`]. A mean keeps the count it had, so
//! nothing is divided by the number of replicas.

pub mod buckets;
pub mod directives;
pub mod topology;

use piper_dialects::dag::{AllReduce, AxisSizes, Dist, Home};
use piper_dialects::nn::Along;
use piper_dialects::strategy::{Directive, Kind, bucket_bytes};
use piper_ir::diag::did_you_mean;
use piper_ir::pass::{OptionDef, PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Builder, Loc, Module, Name, Op, Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nodes::graphs;
use crate::shard::{Division, Position, Sharding, vary};

/// What is replicated over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The mesh axis.
    pub axis: String,
    /// 0: every copy has the whole optimizer state. 1: each has a shard.
    pub stage: u32,
    /// The most bytes of a flat bucket.
    pub bucket_bytes: u64,
}

impl Replication {
    /// What a directive asks for, if it is one of data parallelism.
    pub fn of(kind: &Kind) -> Option<Self> {
        let (axis, stage, bucket_bytes) = match kind {
            Kind::Replicate { axis, zero, bucket_bytes } => (axis, *zero, *bucket_bytes),
            Kind::Zero { axis, stage, bucket_bytes } => (axis, *stage, *bucket_bytes),
            _ => return None,
        };
        Some(Self { axis: axis.clone(), stage, bucket_bytes })
    }
}

/// Options as given to the pass.
#[derive(Clone, Debug, Default)]
struct Options {
    pass: &'static str,
    over: Option<String>,
    stage: Option<u32>,
    bucket: Option<u64>,
}

/// Builders fail only where a part is missing, which these calls show they are not.
const COMPLETE: &str = "every part of the operation is given";
const BUCKET: u64 = 25 << 20;

/// The passes `replicate` and `zero`.
pub fn passes() -> Vec<PassInfo> {
    let pass = |name: &'static str, summary: &'static str, default_stage: u32| {
        let options = vec![
            OptionDef {
                name: "over",
                summary: "the mesh axis, if no directive says it",
                default: None,
            },
            OptionDef {
                name: "stage",
                summary: "0 or 1: whether optimizer state is sharded",
                default: None,
            },
            OptionDef {
                name: "bucket",
                summary: "bytes of a flat bucket, such as 25MiB",
                default: None,
            },
        ];
        PassInfo::with_options(name, summary, options, move |given| {
            let options = Options {
                pass: name,
                over: given.text("over").map(str::to_owned),
                stage: given.get("stage")?,
                bucket: given.text("bucket").map(bucket_bytes).transpose()?,
            };
            if let Some(stage) = options.stage.filter(|stage| *stage > 1) {
                return Err(format!("option 'stage' of pass '{name}' is 0 or 1, not {stage}"));
            }
            Ok(move |cx: &mut PassContext<'_, '_>| run_pass(cx, &options, default_stage))
        })
        .describe(
            "Works on a graph, split and placed or not, before the optimizer. Consumes the plan's strategy.replicate and \
             strategy.zero directives; without one the options say what to do. Fails if the axis is unknown or taken, if the \
             batch is not divisible, or if the optimizer is there already.",
        )
        .after(&["build-dag"])
    };
    vec![
        pass("replicate", "Divide the batch over a mesh axis and reduce the gradients", 0),
        pass("zero", "Replicate with the optimizer state sharded in flat buckets", 1),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>, options: &Options, default_stage: u32) -> PassResult {
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
            wanted(cx.module, graph, options, default_stage, cx.reporter)?
        {
            run(cx.module, graph, &replication, loc, cx.reporter)?;
            if let Some(directive) = directive {
                cx.module.erase(directive);
            }
        }
    }
    Ok(())
}

type Wanted = (Replication, Loc, Option<Op>);

/// What directives and options together ask for.
fn wanted(
    module: &Module,
    graph: Op,
    options: &Options,
    default_stage: u32,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Wanted>, PassFailed> {
    let all = directives::of_graph(module, graph);
    let errors = reporter.error_count();
    let mut optimizer: Option<&Directive> = None;
    let mut found: Vec<Wanted> = Vec::new();
    for directive in &all {
        if matches!(directive.kind, Kind::Update(_) | Kind::Optimizer(_)) {
            optimizer = Some(directive);
        }
        let Some(replication) = Replication::of(&directive.kind) else { continue };
        let Replication { axis, stage, bucket_bytes: bytes } = &replication;
        if let Some(optimizer) = optimizer {
            reporter
                .error(
                    optimizer.loc,
                    format!(
                        "the optimizer stands before '{}'",
                        directives::spelling(module, directive)
                    ),
                )
                .note(directive.loc, "this changes what the optimizer works on")
                .hint("put the optimizer after it");
        }
        let mut conflict = |option: &str, given: &str, says: &str| {
            reporter.error(
                directive.loc,
                format!("this directive says {option} = {says}, but pass '{}' was given {option} = {given}", options.pass),
            );
        };
        if let Some(given) = options.over.as_ref().filter(|given| *given != axis) {
            conflict("over", &format!("\"{given}\""), &format!("\"{axis}\""));
        }
        if let Some(given) = options.stage.filter(|given| given != stage) {
            conflict("stage", &given.to_string(), &stage.to_string());
        }
        if let Some(given) = options.bucket.filter(|given| given != bytes) {
            conflict("bucket", &format!("{given} bytes"), &format!("{bytes} bytes"));
        }
        found.push((replication, directive.loc, Some(directive.op)));
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    if found.is_empty() {
        let loc = module.op_loc(graph);
        let Some(axis) = options.over.clone() else {
            reporter
                .error(
                    loc,
                    format!(
                        "pass '{}' has nothing to do: the plan has no strategy.replicate",
                        options.pass
                    ),
                )
                .hint(format!("name the mesh axis: {}{{over=dp}}", options.pass));
            return Err(PassFailed);
        };
        let stage = options.stage.unwrap_or(default_stage);
        found.push((
            Replication { axis, stage, bucket_bytes: options.bucket.unwrap_or(BUCKET) },
            loc,
            None,
        ));
    }
    Ok(found)
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
    shardings: &[Sharding],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let axis = module.ctx().name(&replication.axis);
    let factor = check(module, graph, axis, loc, reporter)?;
    let division = Division { axis, factor, batch: true, shardings };
    divide_graph(module, graph, &division, reporter)?;
    if replication.stage == 1 {
        buckets::shard(module, graph, axis, replication.bucket_bytes, reporter)?;
    }
    reduce_gradients(module, graph, axis);
    Ok(())
}

/// Divides parts of the graph along their parameters, and nothing else.
///
/// # Errors
/// As [`shard`](mod@crate::shard).
pub(crate) fn shard_only(
    module: &mut Module,
    graph: Op,
    axis: &str,
    shardings: &[Sharding],
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let axis = module.ctx().name(axis);
    let factor = check(module, graph, axis, loc, reporter)?;
    let division = Division { axis, factor, batch: false, shardings };
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
