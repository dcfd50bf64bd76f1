//! The passes that apply a plan's directives to its graph: `recompute`, `split-backward`, `split`, `place`, `order` for primitives, `pipeline`
//! and `dualpipe` for the directives of these names.
//!
//! A pass consumes its directives: they are gone from the plan afterwards. Given options, `pipeline` and `dualpipe` act as if the
//! directive stood in the plan; a directive that is there and says otherwise is an error naming both.

use piper_dialects::strategy::{Directive, DualPipeOp, Kind, PipelineOp, PlanOp, PlanSpec, plans};
use piper_ir::pass::{OptionDef, PassContext, PassFailed, PassInfo, PassOptions, PassResult};
use piper_ir::{Attr, Builder, Module, Op, Reporter};

use crate::accumulate::Shape;
use crate::nodes::graphs;
use crate::{expand_directives, order, place, recompute, split, split_backward};

/// Before any directive is applied to it there is a graph.
const GRAPH: &[&str] = &["build-dag"];

/// The passes.
pub fn passes() -> Vec<PassInfo> {
    let summing = |name, summary, wanted: fn(&Kind) -> bool| {
        PassInfo::with_options(name, summary, vec![Shape::OPTION], move |options| {
            let shape = Shape::of(options)?;
            Ok(move |cx: &mut PassContext<'_, '_>| apply(cx, wanted, shape))
        })
        .after(GRAPH)
    };
    vec![
        PassInfo::from_fn("recompute", "Compute forward values again in the backward instead of keeping them", |cx| {
            apply(cx, |k| matches!(k, Kind::Recompute { .. }), Shape::Chain)
        })
        .after(GRAPH)
            .describe("Consumes every `strategy.recompute`. A filter that asks for microbatches (`MB`) needs `split` before. Before `split-backward`, what both halves need is computed once."),
        PassInfo::from_fn("split-backward", "Cut backward chunks into input and weight gradients", |cx| {
            apply(cx, |k| matches!(k, Kind::SplitBackward { .. }), Shape::Chain)
        })
        .after(GRAPH)
            .describe("Consumes `strategy.split_backward`. What the weight gradients need of the input gradients becomes an explicit residual."),
        summing("split", "Divide the batch into microbatches", |k| matches!(k, Kind::Split { .. }))
            .describe("Consumes `strategy.split`. Fails if the number of parts does not divide the batch."),
        summing("place", "Put compute nodes on slices of the mesh, and transfers between them", |k| matches!(k, Kind::Place { .. }))
            .describe("Consumes every `strategy.place`. A parameter used on several slices gets a group. Fails if a node is left without a place."),
        summing("order", "Order the nodes of each slice by a schedule", |k| matches!(k, Kind::Order { .. }))
            .describe("Consumes every `strategy.order`. Fails if an order misses or repeats a node."),
        PassInfo::with_options("pipeline", "Run stages as a pipeline by a named schedule", pipeline_options(), |options| {
            let options = options.clone();
            Shape::of(&options)?;
            Ok(move |cx: &mut PassContext<'_, '_>| named(cx, PipelineOp::NAME, &options))
        })
        .after(GRAPH)
        .describe("Consumes `strategy.pipeline`: expands it into split, place, split_backward and order (see expand-directives), and applies these."),
        PassInfo::with_options("dualpipe", "Run stages by DualPipe: microbatches enter from both ends", dualpipe_options(), |options| {
            let options = options.clone();
            Shape::of(&options)?;
            Ok(move |cx: &mut PassContext<'_, '_>| named(cx, DualPipeOp::NAME, &options))
        })
        .after(GRAPH)
        .describe("Consumes `strategy.dualpipe`: expands it into split, place, split_backward and order (see expand-directives), and applies these."),
    ]
}

const fn option(name: &'static str, summary: &'static str) -> OptionDef {
    OptionDef::new(name, summary, None)
}

fn pipeline_options() -> Vec<OptionDef> {
    let mut options = dualpipe_options();
    options.retain(|o| o.name != "variant");
    options.push(option("schedule", "gpipe, 1f1b, ..."));
    options
}

fn dualpipe_options() -> Vec<OptionDef> {
    vec![
        option("axis", "the mesh axis of the pipeline ranks"),
        option("stages", "the tag that numbers the stages"),
        option("microbatches", "into how many the batch is divided"),
        option("variant", "bidirectional (default) or v"),
        Shape::OPTION,
    ]
}

/// Applies the primitives of some kinds to every graph.
fn apply(cx: &mut PassContext<'_, '_>, wanted: fn(&Kind) -> bool, shape: Shape) -> PassResult {
    for graph in graphs(cx.module) {
        let directives: Vec<Directive> =
            directives_of(cx.module, graph).into_iter().filter(|d| wanted(&d.kind)).collect();
        primitives(cx.module, graph, directives, shape, cx.reporter)?;
    }
    Ok(())
}

/// The directives of the plan that a graph came from, in text order.
fn directives_of(module: &Module, graph: Op) -> Vec<Directive> {
    plan_of(module, graph)
        .and_then(|op| PlanSpec::read(module, op))
        .map_or(Vec::new(), |plan| plan.directives)
}

/// The plan that a graph came from: it is for the same function on the same mesh.
fn plan_of(module: &Module, graph: Op) -> Option<Op> {
    let of = |op: Op, name: &str| module.attr_by(op, name);
    plans(module).into_iter().find(|&plan| {
        of(plan, "function") == of(graph, "function") && of(plan, "mesh") == of(graph, "mesh")
    })
}

/// Applies primitives to a graph and takes them out of the plan. Primitives commute but for what they need of each other, so that they are
/// applied in the order that costs least: the backward is cut before it is copied.
///
/// # Errors
/// As the primitives'.
pub fn primitives(
    module: &mut Module,
    graph: Op,
    directives: Vec<Directive>,
    shape: Shape,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let mut placements = Vec::new();
    let mut rows = Vec::new();
    let recomputed: Vec<_> = directives.iter().filter_map(recompute_of).collect();
    // One body for all microbatches is made before they are; where they differ, after.
    let by_microbatch = directives.iter().any(|d| changes_some_microbatches(&d.kind));
    if by_microbatch {
        microbatches(module, graph, &directives, shape, reporter)?;
    }
    if !recomputed.is_empty() {
        recompute::run(module, graph, &recomputed, reporter)?;
    }
    for directive in &directives {
        if let Kind::SplitBackward { filter } = &directive.kind {
            split_backward::run(module, graph, filter, directive.loc, reporter)?;
        }
    }
    if !by_microbatch {
        microbatches(module, graph, &directives, shape, reporter)?;
    }
    for Directive { loc, kind, .. } in &directives {
        match kind {
            Kind::Place { filter, homes } => placements.push(place::Placement {
                filter: filter.clone(),
                homes: homes.clone(),
                loc: *loc,
            }),
            Kind::Order { stages, slice, row } => {
                rows.push(order::Row {
                    stages: stages.clone(),
                    slice: slice.clone(),
                    row: row.clone(),
                    loc: *loc,
                });
            }
            _ => {}
        }
    }
    if !placements.is_empty() {
        place::run(module, graph, &placements, shape, reporter)?;
    }
    order::run(module, graph, &rows, shape, reporter)?;
    for directive in directives {
        module.erase(directive.op);
    }
    Ok(())
}

/// Whether a directive changes the bodies of some microbatches only, so that the batch is to be divided before it is applied.
pub fn changes_some_microbatches(kind: &Kind) -> bool {
    let (Kind::Recompute { filter, .. } | Kind::SplitBackward { filter }) = kind else {
        return false;
    };
    filter.clauses.iter().any(|clause| clause.tag == expand_directives::MICROBATCH_TAG)
}

fn recompute_of(directive: &Directive) -> Option<recompute::Recompute> {
    let Kind::Recompute { filter, what, again } = &directive.kind else { return None };
    let (filter, what) = (filter.clone(), what.clone());
    Some(recompute::Recompute { filter, what, again: *again, loc: directive.loc })
}

fn microbatches(
    module: &mut Module,
    graph: Op,
    directives: &[Directive],
    shape: Shape,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    for Directive { loc, kind, .. } in directives {
        if let Kind::Split { tag, parts } = kind {
            split::run(module, graph, tag, i64::from(*parts), shape, *loc, reporter)?;
        }
    }
    Ok(())
}

/// Expands the directive of a name, or the one that the options describe, and applies what it stands for.
fn named(cx: &mut PassContext<'_, '_>, name: &str, options: &PassOptions) -> PassResult {
    let mut found = false;
    let shape = Shape::of(options).unwrap_or_default();
    for graph in graphs(cx.module) {
        let Some(plan_op) = plan_of(cx.module, graph) else { continue };
        let stands =
            directives_of(cx.module, graph).into_iter().find(|d| cx.module.name_text(d.op) == name);
        match stands {
            Some(directive) => agree(cx, &directive, options)?,
            None if options.is_given("stages") || options.is_given("axis") => {
                add_directive(cx, plan_op, name, options)?
            }
            None => continue,
        }
        found = true;
        let plan = PlanSpec::read(cx.module, plan_op).ok_or(PassFailed)?;
        let named: Vec<Directive> =
            plan.directives.iter().filter(|d| cx.module.name_text(d.op) == name).cloned().collect();
        for directive in &named {
            let made = match name {
                PipelineOp::NAME => {
                    expand_directives::pipeline(cx.module, &plan, directive, cx.reporter)?
                }
                _ => expand_directives::dualpipe(cx.module, &plan, directive, cx.reporter)?,
            };
            let directives = made.into_iter().filter_map(|op| {
                Some(Directive { op, loc: directive.loc, kind: Kind::read(cx.module, op)? })
            });
            let directives: Vec<_> = directives.collect();
            primitives(cx.module, graph, directives, shape, cx.reporter)?;
        }
    }
    if !found {
        let pass = name.trim_start_matches("strategy.");
        let loc = cx.module.op_loc(cx.op);
        cx.reporter
            .error(loc, format!("pass '{pass}' has nothing to do: no plan has a '{name}'"))
            .hint(format!("add one to the plan, or give options: {pass}{{axis=pp stages=PP microbatches=8 ...}}"));
        return Err(PassFailed);
    }
    Ok(())
}

/// Reports an option that says otherwise than the directive.
fn agree(cx: &mut PassContext<'_, '_>, directive: &Directive, options: &PassOptions) -> PassResult {
    let ctx = cx.ctx();
    for key in ["axis", "stages", "microbatches", "schedule", "variant"] {
        let Some(given) = options.text(key).filter(|_| options.is_given(key)) else { continue };
        let attr = cx.module.attr_by(directive.op, key);
        let stands = attr.map(|a| a.as_str(ctx).map_or_else(|| a.display(ctx), str::to_owned));
        if stands.as_deref() != Some(given) {
            let name = cx.module.name_text(directive.op);
            let says = stands.map_or("no value".to_owned(), |s| format!("'{s}'"));
            cx.reporter
                .error(
                    directive.loc,
                    format!("'{name}' says {key} = {says}, but the pass option says {key}={given}"),
                )
                .hint("remove one of the two");
            return Err(PassFailed);
        }
    }
    Ok(())
}

/// Puts the directive that the options describe at the end of the plan.
fn add_directive(
    cx: &mut PassContext<'_, '_>,
    plan: Op,
    name: &str,
    options: &PassOptions,
) -> PassResult {
    let ctx = cx.ctx();
    let loc = cx.module.op_loc(plan);
    let mut attrs: Vec<(&str, Attr)> = Vec::new();
    let required: &[&str] = if name == PipelineOp::NAME {
        &["axis", "stages", "schedule", "microbatches"]
    } else {
        &["axis", "stages", "microbatches"]
    };
    for &key in required {
        let Some(text) = options.text(key) else {
            cx.reporter.error(
                loc,
                format!(
                    "the options of pass '{}' lack '{key}'",
                    name.trim_start_matches("strategy.")
                ),
            );
            return Err(PassFailed);
        };
        let attr = match key {
            "microbatches" => match options.get::<u32>(key) {
                Ok(number) => ctx.int_attr(number.unwrap_or(1).into()),
                Err(why) => {
                    cx.reporter.error(loc, why);
                    return Err(PassFailed);
                }
            },
            _ => ctx.str_attr(text),
        };
        attrs.push((key, attr));
    }
    if let Some(variant) = options.text("variant") {
        attrs.push(("variant", ctx.str_attr(variant)));
    }
    let block = PlanOp(plan).body(cx.module);
    let block = cx.module.first_block(block).ok_or(PassFailed)?;
    let mut b = Builder::at_end(cx.module, block);
    let state = attrs
        .into_iter()
        .fold(b.set_loc(loc).state(name), |state, (key, attr)| state.attr(ctx, key, attr));
    let op = b.insert(state);
    if !piper_ir::verify::verify_op(cx.module, op, cx.reporter) {
        return Err(PassFailed);
    }
    Ok(())
}
