//! Verifiers: what an operation may say, against the mesh its plan is on.

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, FloatKind, Module, Op, Reporter, Trait};

use super::homes::range_of;
use super::ops::*;
use super::optimizer::{LR_SCHEDULES, OPTIONS, learning_rate};
use super::plan::{mesh_named, mesh_of, subject};
use super::{LearningRate, Mesh, Sharding, Slice, SliceFault, SubAxis, order, table, tag_text};

/// Most microbatches, numbered from 0 in the orders, whose language ends at 9999.
const MOST_MICROBATCHES: i64 = 10_000;

/// Most devices of a mesh: a slip of the keyboard must not make tables of 2^60 entries.
const MOST_DEVICES: u64 = 1 << 24;

/// Meshes and plans are found by their name, so they stand among the symbols of a module.
fn at_top(module: &Module, op: Op, reporter: &mut Reporter<'_>) -> bool {
    let table = module.parent_op(op).is_none_or(|p| module.has_trait(p, Trait::SymbolTable));
    if !table {
        let name = module.name_text(op);
        reporter
            .error(
                module.op_loc(op),
                format!("a '{name}' stands in a module, beside the functions"),
            )
            .hint("move it out of the braces it is in");
    }
    table
}

pub(super) fn mesh(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    if !at_top(module, op, reporter) {
        return;
    }
    let view = MeshOp(op);
    let axes = view.axes(module).as_array(ctx).unwrap_or_default();
    let sizes = view.sizes(module).as_int_array(ctx).unwrap_or_default();
    if axes.is_empty() {
        reporter.error(loc, "a mesh has at least one axis").hint("for one device: <[\"dp\" = 1]>");
    }
    if axes.len() != sizes.len() {
        reporter.error(loc, format!("the mesh has {} axes but {} sizes", axes.len(), sizes.len()));
        return;
    }
    let mut devices = 1u64;
    for (i, (axis, size)) in axes.iter().zip(sizes).enumerate() {
        match axis.as_str(ctx) {
            None | Some("") => {
                reporter.error(loc, "axis names are strings that are not empty");
                continue;
            }
            Some(name) if axes[..i].contains(axis) => {
                reporter
                    .error(loc, format!("the mesh has two axes \"{name}\""))
                    .hint("each axis has a name of its own");
            }
            Some(name) if *size < 1 => {
                reporter.error(
                    loc,
                    format!("axis \"{name}\" must have a size of at least 1, but has {size}"),
                );
            }
            Some(_) => {}
        }
        devices = devices.saturating_mul(u64::try_from(*size).unwrap_or(1));
    }
    if devices > MOST_DEVICES {
        reporter.error(loc, format!("the mesh has more than {MOST_DEVICES} devices"));
    }
}

fn check_slice(module: &Module, op: Op, mesh: &Mesh, slice: &Slice, reporter: &mut Reporter<'_>) {
    let loc = module.op_loc(op);
    match mesh.check(slice) {
        Ok(()) => {}
        Err(SliceFault::UnknownAxis(axis)) => {
            reporter
                .error(loc, format!("the mesh has no axis \"{axis}\""))
                .hint(mesh.axis_hint(&axis));
        }
        Err(SliceFault::OutOfRange(axis, at, size)) => {
            reporter.error(
                loc,
                format!("{slice} is outside the mesh: axis \"{axis}\" has coordinates 0 to {}, not {at}", size - 1),
            );
        }
    }
}

/// The slices of an array attribute, which are checked against the mesh and for overlaps.
fn check_slices(
    module: &Module,
    op: Op,
    mesh: &Mesh,
    slices: Attr,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Slice>> {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let read: Option<Vec<Slice>> = slices
        .as_array(ctx)
        .unwrap_or_default()
        .iter()
        .map(|slice| Slice::from_attr(ctx, *slice))
        .collect();
    let Some(read) = read else {
        reporter.error(loc, "expected mesh slices such as {pp = 0}: axes with coordinates from 0");
        return None;
    };
    if read.is_empty() {
        reporter.error(loc, "expected at least one mesh slice such as {pp = 0}");
    }
    for (i, slice) in read.iter().enumerate() {
        check_slice(module, op, mesh, slice, reporter);
        if let Some(other) = read[..i].iter().find(|other| !other.is_disjoint(slice)) {
            reporter.error(loc, format!("the slices {other} and {slice} have devices in common"));
        }
    }
    Some(read)
}

/// The mesh that a symbol names, or an error.
fn resolve_mesh(
    module: &Module,
    op: Op,
    symbol: Attr,
    reporter: &mut Reporter<'_>,
) -> Option<Mesh> {
    let ctx = module.ctx();
    let Some(mesh) = mesh_named(module, op, symbol) else {
        let name = symbol.display(ctx);
        let known: Vec<String> = module
            .ops(module.body())
            .filter(|op| MeshOp::cast(module, *op).is_some())
            .filter_map(|op| Some(format!("@{}", module.symbol_name(op)?)))
            .collect();
        let error = reporter.error(module.op_loc(op), format!("{name} is not a strategy.mesh"));
        if known.is_empty() {
            error.hint(format!("declare one: strategy.mesh {name} <[\"dp\" = 2]>"));
        } else {
            error.hint(format!("the file has {}", known.join(", ")));
        }
        return None;
    };
    // A mesh that is wrong in itself is reported on its own account.
    mesh_of(module, mesh)
}

pub(super) fn group(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let group = GroupOp(op);
    let Some(mesh) = resolve_mesh(module, op, group.mesh(module), reporter) else { return };
    check_slices(module, op, &mesh, group.slices(module), reporter);
}

pub(super) fn annotate(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let tags = AnnotateOp(op).tags(module).as_dict(ctx).unwrap_or_default();
    for (name, value) in tags {
        let name = name.text(ctx);
        match tag_text(ctx, *value) {
            None => {
                reporter.error(
                    loc,
                    format!(
                        "tag {name} must be an integer or a string, but is {}",
                        value.display(ctx)
                    ),
                );
            }
            Some(text) if matches!(&*text, "*" | "-") => {
                reporter.error(loc, format!("tag {name} cannot be \"{text}\", which filters use"));
            }
            Some(_) if matches!(name, "PASS" | "MB") => {
                reporter
                    .error(loc, format!("the tag {name} is given by the compiler"))
                    .hint("choose another name");
            }
            Some(_) => {}
        }
    }
    let last = module.only_block(op).and_then(|block| module.last_op(block));
    if last.is_some_and(|last| !module.has_trait(last, Trait::Terminator)) {
        return; // reported for every kind of region
    }
    let Some(last) = last.filter(|last| YieldOp::cast(module, *last).is_some()) else {
        reporter
            .error(loc, "an annotated region ends with strategy.yield")
            .hint("add strategy.yield with the values that are used outside");
        return;
    };
    let yielded: Vec<_> = module.operands(last).map(|v| module.ty(v)).collect();
    let results: Vec<_> = module.results(op).map(|v| module.ty(v)).collect();
    if yielded != results {
        let list = |types: &[piper_ir::Type]| {
            let types: Vec<String> = types.iter().map(|ty| ty.display(ctx)).collect();
            format!("({})", types.join(", "))
        };
        reporter
            .error(
                module.op_loc(last),
                format!(
                    "yields {}, but the annotation has results {}",
                    list(&yielded),
                    list(&results)
                ),
            )
            .note(loc, "the annotation");
    }
}

pub(super) fn yields(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    if module.parent_op(op).is_none_or(|parent| AnnotateOp::cast(module, parent).is_none()) {
        reporter.error(module.op_loc(op), "strategy.yield ends a strategy.annotate");
    }
}

pub(super) fn plan(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    if !at_top(module, op, reporter) {
        return;
    }
    let plan = PlanOp(op);
    resolve_mesh(module, op, plan.mesh(module), reporter);
    let name = plan.function(module).as_symbol(ctx).map_or("", |name| name.text(ctx));
    if subject(module, op, name).is_none() {
        let functions = module.ops(module.body()).filter(|f| module.name_text(*f) == "func.func");
        let known: Vec<&str> = functions.filter_map(|f| module.symbol_name(f)).collect();
        let hint = match did_you_mean(name, known.iter().copied()) {
            Some(close) => Some(format!("did you mean @{close}?")),
            None if known.is_empty() => None,
            None => Some(format!("the file has @{}", known.join(", @"))),
        };
        reporter.error(loc, format!("there is no function @{name} to be trained")).hint = hint;
    }
    let Some(body) = module.only_block(op) else { return };
    for inner in module.ops(body) {
        if !DIRECTIVES.contains(&module.name_text(inner)) {
            reporter
                .error(
                    module.op_loc(inner),
                    format!("'{}' is not a directive", module.name_text(inner)),
                )
                .hint(
                    "a plan holds directives only; what the model computes stands in its function",
                );
        }
    }
}

/// All directives.
const DIRECTIVES: &[&str] = &[
    PipelineOp::NAME,
    DualPipeOp::NAME,
    TableOp::NAME,
    LayoutOp::NAME,
    TagOp::NAME,
    ZeroOp::NAME,
    ReplicateOp::NAME,
    ShardOp::NAME,
    OptimizerOp::NAME,
    UpdateOp::NAME,
    PlaceOp::NAME,
    SplitOp::NAME,
    OrderOp::NAME,
    SplitBackwardOp::NAME,
    RecomputeOp::NAME,
    OverlapOp::NAME,
    SmPartitionOp::NAME,
    ResourceOp::NAME,
    PrecisionOp::NAME,
];

/// The mesh of the plan a directive stands in. A directive elsewhere is an error.
pub(super) fn plan_mesh(module: &Module, op: Op, reporter: &mut Reporter<'_>) -> Option<Mesh> {
    let Some(plan) = module.parent_op(op).and_then(|parent| PlanOp::cast(module, parent)) else {
        let name = module.name_text(op);
        reporter
            .error(
                module.op_loc(op),
                format!("'{name}' is a directive and stands in a strategy.plan"),
            )
            .hint("move it into the braces of the plan");
        return None;
    };
    mesh_of(module, mesh_named(module, plan.0, plan.mesh(module))?)
}

/// A directive's axis exists.
pub(super) fn axis(module: &Module, op: Op, axis: Attr, reporter: &mut Reporter<'_>) {
    let Some(mesh) = plan_mesh(module, op, reporter) else { return };
    let name = axis.as_str(module.ctx()).unwrap_or_default();
    if let Some(part) = SubAxis::parse(name)
        && let Some(size) = mesh.size(&part.axis)
        && !part.fits(size)
    {
        let message = format!("axis \"{}\" of size {size} has no part \"{name}\"", part.axis);
        reporter
            .error(module.op_loc(op), message)
            .hint("\"dp:(2)4\" is the part of size 4 after parts of size 2 together; their product divides the axis's size");
        return;
    }
    // A mesh without axes is reported itself.
    if !mesh.axes.is_empty() && mesh.size(name).is_none() {
        reporter
            .error(module.op_loc(op), format!("the mesh has no axis \"{name}\""))
            .hint(mesh.axis_hint(name));
    }
}

/// An integer attribute is in a range that later arithmetic can take.
fn count(module: &Module, op: Op, what: &str, attr: Attr, least: i64, reporter: &mut Reporter<'_>) {
    match attr.as_int(module.ctx()) {
        Some(value) if (least..=MOST_MICROBATCHES).contains(&value) => {}
        _ => {
            let text = attr.display(module.ctx());
            reporter.error(
                module.op_loc(op),
                format!(
                    "'{what}' must be a number from {least} to {MOST_MICROBATCHES}, but is {text}"
                ),
            );
        }
    }
}

pub(super) fn pipeline(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let view = PipelineOp(op);
    axis(module, op, view.axis(module), reporter);
    count(module, op, "microbatches", view.microbatches(module), 1, reporter);
    for (what, value) in [("group", view.group(module)), ("count", view.count(module))] {
        if let Some(value) = value {
            count(module, op, what, value, 1, reporter);
        }
    }
    let name = view.schedule(module).as_str(ctx).unwrap_or_default();
    if let Err(rejected) = super::schedules(ctx).check(name) {
        let message = rejected.to_string();
        reporter.error(loc, message).hint = rejected.hint;
    }
}

pub(super) fn dualpipe(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = DualPipeOp(op);
    axis(module, op, view.axis(module), reporter);
    count(module, op, "microbatches", view.microbatches(module), 1, reporter);
    if let Some(value) = view.count(module) {
        count(module, op, "count", value, 1, reporter);
    }
}

pub(super) fn table_op(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let view = TableOp(op);
    axis(module, op, view.axis(module), reporter);
    let Some(mesh) = plan_mesh(module, op, &mut Reporter::new(ctx)) else { return };
    let rows = view.rows(module).as_array(ctx).unwrap_or_default();
    for (rank, row) in rows.iter().enumerate() {
        // The parser has said it of the custom form.
        let wrong = match row.as_str(ctx).map(order::row_of) {
            None => "is no text".to_owned(),
            Some(Err(error)) => format!("column {}: {}", error.column, error.message),
            Some(Ok(_)) => continue,
        };
        reporter.error(loc, format!("in row {rank}: {wrong}"));
    }
    let name = view.axis(module).as_str(ctx).unwrap_or_default();
    if let Some(size) = mesh.size(name)
        && rows.len() != size as usize
    {
        reporter
            .error(
                loc,
                format!("axis \"{name}\" has {size} ranks, but there are {} rows", rows.len()),
            )
            .hint("a rank that runs nothing is an empty row: \"\"");
    } else if table::rows_of(ctx, view.rows(module))
        .is_some_and(|rows| table::microbatches(&rows) == 0)
    {
        reporter.error(loc, "the rows have no action");
    }
}

/// The options of data parallelism make sense, alone and together.
fn sharding(module: &Module, op: Op, stage: Option<Attr>, reporter: &mut Reporter<'_>) {
    if let Err((message, hint)) = Sharding::read(module, op, stage) {
        reporter.error(module.op_loc(op), message).hint = hint;
    }
}

pub(super) fn zero(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = ZeroOp(op);
    axis(module, op, view.axis(module), reporter);
    sharding(module, op, Some(view.stage(module)), reporter);
}

pub(super) fn replicate(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = ReplicateOp(op);
    axis(module, op, view.axis(module), reporter);
    sharding(module, op, view.zero(module), reporter);
}

pub(super) fn precision(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    plan_mesh(module, op, reporter);
    let element = |name: &str| module.attr_by(op, name)?.as_type(ctx);
    for name in ["compute", "master", "reduce"] {
        let Some(ty) = element(name) else { continue };
        let known = [FloatKind::F32, FloatKind::F64, FloatKind::BF16];
        if !ty.as_float(ctx).is_some_and(|kind| known.contains(&kind)) {
            let message = format!("'{name}' is f32, f64 or bf16, not {}", ty.display(ctx));
            reporter.error(loc, message);
        }
    }
    let (compute, master, reduce) = (element("compute"), element("master"), element("reduce"));
    if master.is_some() && master == compute {
        reporter
            .error(loc, "compute and master are one type, so there is nothing to be mixed")
            .hint("leave the directive out: everything is in the type of the parameters");
    }
    if reduce.is_some() && (reduce == compute || (master.is_some() && reduce != master)) {
        let ty = reduce.map_or(String::new(), |ty| ty.display(ctx));
        reporter
            .error(loc, format!("gradients are reduced in the master type, not in {ty}"))
            .hint("leave 'reduce' out, or write the master type");
    }
}

pub(super) fn shard(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, view) = (module.ctx(), ShardOp(op));
    axis(module, op, view.axis(module), reporter);
    let report = |reporter: &mut Reporter<'_>, what: &str| {
        reporter
            .error(module.op_loc(op), what.to_owned())
            .hint("write the names with the dimension that is divided, as in {\"*.up\" = 1}");
    };
    match super::shard::patterns_of(ctx, view.parameters(module)) {
        None => report(reporter, "'parameters' gives each name a dimension, 0 or more"),
        Some(patterns) if patterns.is_empty() => {
            report(reporter, "'strategy.shard' divides no parameter");
        }
        Some(_) => {}
    }
}

pub(super) fn split(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = SplitOp(op);
    plan_mesh(module, op, reporter);
    count(module, op, "into", view.parts(module), 1, reporter);
    if view.tag(module).as_str(module.ctx()).is_none_or(str::is_empty) {
        reporter.error(module.op_loc(op), "the tag of a split has a name");
    }
}

pub(super) fn split_backward(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    plan_mesh(module, op, reporter);
}

pub(super) fn recompute(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    if plan_mesh(module, op, reporter).is_some() {
        super::recompute::verify(module, op, reporter);
    }
}

pub(super) fn layout(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    plan_mesh(module, op, reporter);
    let text = LayoutOp(op).layout(module).as_str(module.ctx()).unwrap_or_default();
    if let Err(error) = piper_schedule::text::layout::parse(text) {
        let mut message = format!("in the layout, column {}: {}", error.column, error.message);
        if let Some(expected) = &error.expected {
            message.push_str(&format!("; expected {expected}"));
        }
        reporter.error(module.op_loc(op), message).hint = error.hint;
    }
}

pub(super) fn tag(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    plan_mesh(module, op, reporter);
    let tags = TagOp(op).tags(module).as_dict(ctx).unwrap_or_default();
    if tags.is_empty() {
        reporter.error(loc, "'as' gives no tag").hint("write one, as in {LAYER = 0:4} as {PP = 0}");
    }
    for (name, value) in tags {
        let (name, text) = (name.text(ctx), tag_text(ctx, *value));
        if matches!(name, "MB" | "PASS") {
            reporter.error(loc, format!("the compiler gives the tag {name}, so a plan may not"));
        }
        let is_pattern = text.as_deref().is_none_or(|text| {
            matches!(text, "*" | "-")
                || piper_schedule::text::filter::Pattern::range(text).is_some()
        });
        if is_pattern {
            reporter
                .error(loc, format!("{name} has no value: a tag is an integer or a string"))
                .hint("what stands after 'as' is given, not asked for");
        }
    }
}

pub(super) fn place(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let view = PlaceOp(op);
    let Some(mesh) = plan_mesh(module, op, reporter) else { return };
    let Some(homes) = check_slices(module, op, &mesh, view.homes(module), reporter) else { return };
    let Some(ranges) = view.microbatches(module) else {
        if homes.len() > 1 {
            reporter
                .error(loc, "several homes: which microbatches run where?")
                .hint("add a range for each home, as in microbatches = [0:4, 4:8]");
        }
        return;
    };
    let ranges: Option<Vec<_>> = ranges
        .as_array(ctx)
        .unwrap_or_default()
        .iter()
        .map(|range| range_of(ctx, *range))
        .collect();
    let Some(mut ranges) = ranges else {
        reporter.error(loc, "'microbatches' must be ranges such as [0:4, 4:8]");
        return;
    };
    if ranges.len() != homes.len() {
        reporter.error(
            loc,
            format!("{} home(s) but {} range(s) of microbatches", homes.len(), ranges.len()),
        );
        return;
    }
    ranges.sort_by_key(|range| range.start);
    let mut next = 0;
    for range in ranges {
        if range.is_empty() {
            reporter.error(loc, format!("the range {}:{} is empty", range.start, range.end));
        } else if range.start > next {
            reporter.error(loc, format!("no home runs microbatch {next}"));
        } else if range.start < next {
            reporter.error(loc, format!("two homes run microbatch {}", range.start));
        }
        next = next.max(range.end);
    }
}

pub(super) fn order(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let view = OrderOp(op);
    let Some(mesh) = plan_mesh(module, op, reporter) else { return };
    if let Some(slice) = Slice::from_attr(ctx, view.slice(module)) {
        check_slice(module, op, &mesh, &slice, reporter);
    }
    let row = view.row(module).as_str(ctx).unwrap_or_default();
    match order::row_of(row) {
        Err(error) => {
            let message = format!("in the order, column {}: {}", error.column, error.message);
            reporter.error(loc, message).hint = error.hint;
        }
        Ok(_)
            if piper_schedule::text::order::parse(row).is_ok_and(|table| table.ranks.len() > 1) =>
        {
            reporter
                .error(loc, "an order is the row of one rank, but this one has several lines")
                .hint("write one strategy.order for each rank");
        }
        Ok(_) => {}
    }
}

pub(super) fn optimizer(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    plan_mesh(module, op, reporter);
    let algorithm = module.attr_by(op, "algorithm").and_then(|a| a.as_str(ctx)).unwrap_or_default();
    for (option, takers) in OPTIONS {
        if module.attr_by(op, option).is_some() && !takers.contains(&algorithm) {
            reporter.error(loc, format!("{algorithm} has no option '{option}'"));
        }
    }
    let mut range = |what: &str, value: Option<f64>, fits: fn(f64) -> bool, wanted: &str| {
        if let Some(value) = value.filter(|value| !fits(*value)) {
            reporter.error(loc, format!("'{what}' must be {wanted}, but is {value}"));
        }
    };
    let number = |name: &str| module.attr_by(op, name).and_then(|a| a.as_number(ctx));
    range("eps", number("eps"), |v| v > 0.0 && v.is_finite(), "above 0");
    range("weight_decay", number("weight_decay"), |v| v >= 0.0 && v.is_finite(), "at least 0");
    range("clip", number("clip"), |v| v > 0.0 && v.is_finite(), "above 0");
    range("momentum", number("momentum"), |v| (0.0..1.0).contains(&v), "from 0 to below 1");
    if let Some(betas) = module.attr_by(op, "betas") {
        let betas = betas.as_array(ctx).unwrap_or_default();
        let values: Vec<f64> = betas.iter().filter_map(|beta| beta.as_number(ctx)).collect();
        if values.len() != 2 || betas.len() != 2 {
            reporter.error(loc, "'betas' must be two numbers, as in [0.9, 0.95]");
        } else {
            for value in values {
                range("betas", Some(value), |v| (0.0..1.0).contains(&v), "from 0 to below 1");
            }
        }
    }
    let Some(lr) = module.attr_by(op, "lr") else { return };
    let Some(rate) = learning_rate(ctx, lr) else {
        let names: Vec<&str> = LR_SCHEDULES.iter().map(|(name, _)| *name).collect();
        reporter
            .error(loc, format!("'lr' must be a number or a schedule, but is {}", lr.display(ctx)))
            .hint(format!("schedules: {}", names.join(", ")));
        return;
    };
    let finite = |v: f64| v >= 0.0 && v.is_finite();
    let (rates, steps) = match rate {
        LearningRate::Constant(value) => (vec![value], None),
        LearningRate::WarmupCosine { peak, floor, warmup, total }
        | LearningRate::WarmupLinear { peak, floor, warmup, total } => {
            (vec![peak, floor], Some((warmup, total)))
        }
        LearningRate::WarmupConstant { peak, .. } => (vec![peak], None),
    };
    if let Some(bad) = rates.into_iter().find(|rate| !finite(*rate)) {
        reporter.error(loc, format!("a learning rate must be at least 0, but is {bad}"));
    }
    if let Some((warmup, total)) = steps.filter(|(warmup, total)| warmup >= total) {
        reporter.error(
            loc,
            format!("the warmup of {warmup} steps must end before the total of {total} steps"),
        );
    }
}
