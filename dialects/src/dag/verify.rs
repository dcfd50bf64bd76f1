//! The rules by which distributions may change: what keeps a contribution from being lost, repeated or misplaced.

use piper_ir::{Context, Loc, Module, Name, Op, Reporter, Value};
use rustc_hash::FxHashMap;

use super::dist::{AxisSizes, Dist, Home};
use super::infer::moved_shards;
use super::{
    Add, AllGather, AllReduce, AllToAll, Commit, Compute, Graph, Order, Output, Parameter, Project,
    ReduceScatter, Transfer, Update,
};

/// The distribution of a value, whose type the operation's declaration has checked.
fn dist(module: &Module, value: Value) -> Dist {
    Dist::of(module.ctx(), module.ty(value)).expect("declared as !dag.dist")
}

fn dists(module: &Module, values: impl Iterator<Item = Value>) -> Vec<Dist> {
    values.map(|v| dist(module, v)).collect()
}

/// The number of microbatches of the graph around an operation.
pub(crate) fn microbatches(module: &Module, op: Op) -> i64 {
    let graph = module.parent_op(op).and_then(|op| Graph::cast(module, op));
    graph.and_then(|g| g.microbatches(module)).and_then(|m| m.as_int(module.ctx())).unwrap_or(1)
}

/// Reports if a result is not what the rule gives.
fn expect(module: &Module, op: Op, value: Value, wanted: &Dist, reporter: &mut Reporter<'_>) {
    let (ctx, wanted) = (module.ctx(), wanted.ty(module.ctx()));
    if module.ty(value) != wanted {
        let (have, want) = (module.ty(value).display(ctx), wanted.display(ctx));
        reporter.error(
            module.op_loc(op),
            format!(
                "'{}' has result type {have}\nbut its operands give {want}",
                module.name_text(op)
            ),
        );
    }
}

fn describe(ctx: &Context, home: &Home) -> String {
    match home {
        Home::Slice(coords) if coords.is_empty() => "the whole mesh".to_owned(),
        Home::Slice(coords) => {
            let parts: Vec<String> =
                coords.iter().map(|(n, c)| format!("{} = {c}", n.text(ctx))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Home::Group(group) => format!("@{}", group.text(ctx)),
    }
}

/// Whether values live at one place; an error for each that does not, with its definition.
fn check_places(
    module: &Module,
    op: Op,
    values: impl Iterator<Item = Value>,
    place: &Home,
    reporter: &mut Reporter<'_>,
) {
    let ctx = module.ctx();
    for value in values {
        let there = dist(module, value).place(ctx);
        if there != *place {
            let message = format!(
                "'{}' runs on {}, but uses a value that lives on {}",
                module.name_text(op),
                describe(ctx, place),
                describe(ctx, &there)
            );
            let defined =
                module.defining_op(value).map_or(ctx.unknown_loc(), |def| module.op_loc(def));
            reporter
                .error(module.op_loc(op), message)
                .hint("crossing slices takes a dag.transfer (or, to and from a group, dag.join and dag.project)")
                .note(defined, "the value is defined here");
        }
    }
}

pub(super) fn graph(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc, graph) = (module.ctx(), module.op_loc(op), Graph(op));
    if graph.microbatches(module).is_some_and(|m| m.as_int(ctx).is_none_or(|m| m < 1)) {
        reporter.error(loc, "the number of microbatches is at least 1");
    }
    let mesh = graph.mesh(module).as_symbol(ctx).expect("declared as a symbol");
    if module
        .lookup_nearest(op, mesh.text(ctx))
        .is_none_or(|m| module.name_text(m) != "strategy.mesh")
    {
        reporter.error(loc, format!("no strategy.mesh named '@{}'", mesh.text(ctx)));
    }
    let mut nodes: FxHashMap<&str, Op> = FxHashMap::default();
    let body = module.only_block(op).expect("declared with one block");
    for inner in module.ops(body) {
        let Some(node) = Compute::cast(module, inner) else { continue };
        let name = node.node(module).as_str(ctx).expect("declared as a string");
        if let Some(first) = nodes.insert(name, inner) {
            reporter
                .error(module.op_loc(inner), format!("redefinition of node '{name}'"))
                .note(module.op_loc(first), "previously defined here");
        }
    }
    for inner in module.ops(body) {
        if let Some(gather) = AllGather::cast(module, inner) {
            let after = gather.after(module).and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
            let unknown = |name: &&piper_ir::Attr| {
                name.as_symbol(ctx).is_none_or(|name| !nodes.contains_key(name.text(ctx)))
            };
            if let Some(unknown) = after.iter().find(unknown) {
                let message =
                    format!("'after' names no compute node of the graph: {}", unknown.display(ctx));
                reporter.error(module.op_loc(inner), message);
            }
        }
        let Some(order) = Order::cast(module, inner) else { continue };
        for member in order_members(module, order) {
            if !nodes.contains_key(member.text(ctx)) {
                let hint = piper_ir::diag::did_you_mean(member.text(ctx), nodes.keys().copied())
                    .map(|n| format!("did you mean '@{n}'?"));
                reporter
                    .error(
                        module.op_loc(inner),
                        format!(
                            "the order names a node '@{}' that does not exist",
                            member.text(ctx)
                        ),
                    )
                    .hint = hint;
            }
        }
    }
}

/// The node names of an order, slot after slot.
fn order_members(module: &Module, order: Order) -> impl Iterator<Item = Name> + '_ {
    let ctx = module.ctx();
    let slots = order.slots(module).as_array(ctx).unwrap_or(&[]);
    slots
        .iter()
        .flat_map(move |slot| slot.as_array(ctx).unwrap_or(&[]))
        .filter_map(move |name| name.as_symbol(ctx))
}

pub(super) fn order(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, order) = (module.ctx(), Order(op));
    let slots = order.slots(module).as_array(ctx).expect("declared as an array");
    let well_formed = slots.iter().all(|s| {
        s.as_array(ctx)
            .is_some_and(|m| !m.is_empty() && m.iter().all(|n| n.as_symbol(ctx).is_some()))
    });
    if !well_formed || !super::dist::is_slice(ctx, order.slice(module)) {
        reporter.error(module.op_loc(op), "an order is a slice and a list of slots, each a list of node names: on {pp = 0} [[@f0], [@f1, @b0]]");
    }
}

pub(super) fn compute(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let Some(first) = module.results(op).chain(module.operands(op)).next() else { return };
    let place = dist(module, first).place(ctx);
    check_places(module, op, module.operands(op).chain(module.results(op)), &place, reporter);
    let mb = ctx.name(super::MICROBATCH);
    let own = Compute(op).tags(module).get(ctx, "MB").and_then(|a| a.as_int(ctx));
    for value in module.operands(op) {
        let d = dist(module, value);
        if !d.partial.is_empty() {
            let axes: Vec<_> = d.partial.iter().map(|a| a.text(ctx)).collect();
            reporter.error(
                module.op_loc(op),
                format!(
                    "a chunk takes complete values, but an operand is still a partial sum over {}",
                    axes.join(", ")
                ),
            );
        }
        if let Some(at) = d.coordinate(mb)
            && own.is_some_and(|own| own != at)
        {
            reporter.error(
                module.op_loc(op),
                format!(
                    "a node of microbatch {} uses a value of microbatch {at}",
                    own.unwrap_or(0)
                ),
            );
        }
    }
}

pub(super) fn transfer(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let (from, to) =
        (dist(module, Transfer(op).value(module)), dist(module, Transfer(op).moved(module)));
    let axes = |home: &Home| match home {
        Home::Slice(coords) => Some(coords.iter().map(|(n, _)| *n).collect::<Vec<_>>()),
        Home::Group(_) => None,
    };
    if axes(&from.home).is_none() || axes(&from.home) != axes(&to.home) {
        reporter.error(module.op_loc(op), "a transfer goes between slices of the same axes");
        return;
    }
    if from.place(ctx) == to.place(ctx) {
        reporter.error(module.op_loc(op), "a transfer goes to another slice");
    }
    let mb = ctx.name(super::MICROBATCH);
    if (Dist { home: to.home.clone(), ..from.clone() }) != to
        || from.coordinate(mb) != to.coordinate(mb)
    {
        reporter
            .error(module.op_loc(op), "a transfer changes where a value lives and nothing else");
    }
}

pub(super) fn add(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (a, b) = (dist(module, Add(op).a(module)), dist(module, Add(op).b(module)));
    if (Dist { held: a.held.clone(), ..b.clone() }) != a {
        let ctx = module.ctx();
        let (a, b) = (a.ty(ctx).display(ctx), b.ty(ctx).display(ctx));
        reporter.error(module.op_loc(op), format!("'dag.add' takes values that differ only in the contributions they hold, but has\n{a}\nand {b}"));
        return;
    }
    if let Some(united) = unite(module, op, [&a, &b].into_iter(), reporter) {
        expect(module, op, Add(op).sum(module), &Dist { held: united, ..a }, reporter);
    }
}

/// The union of what values hold; reports a contribution that would be counted twice.
fn unite<'d>(
    module: &Module,
    op: Op,
    values: impl Iterator<Item = &'d Dist>,
    reporter: &mut Reporter<'_>,
) -> Option<Option<super::Held>> {
    let total = microbatches(module, op);
    let mut all = None;
    for (i, value) in values.enumerate() {
        let united = match (&all, &value.held) {
            (_, Some(held)) if i == 0 => Ok(Some(held.clone())),
            (Some(so_far), Some(held)) => super::Held::united(so_far, held, total),
            (None, None) if i == 0 => Ok(None),
            _ => Err(
                "all contributions are in one operand already, so another would be counted twice"
                    .to_owned(),
            ),
        };
        match united {
            Ok(united) => all = united,
            Err(why) => {
                reporter
                    .error(module.op_loc(op), format!("'{}': {why}", module.name_text(op)))
                    .hint("each contribution goes into the sum once");
                return None;
            }
        }
    }
    Some(all)
}

/// The slices of a group, as homes. Empty if it is not known.
fn group_slices(module: &Module, op: Op, group: Name) -> Vec<Home> {
    let ctx = module.ctx();
    let Some(def) = module.lookup_nearest(op, group.text(ctx)) else { return Vec::new() };
    let slices = module.attr_by(def, "slices").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
    let slice = |attr: &piper_ir::Attr| {
        let coords = attr
            .as_dict(ctx)?
            .iter()
            .map(|(n, a)| Some((*n, a.as_int(ctx)?)))
            .collect::<Option<_>>()?;
        Some(Home::Slice(coords))
    };
    slices.iter().filter_map(slice).collect()
}

pub(super) fn join(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let loc = module.op_loc(op);
    let (values, joined) = (dists(module, module.operands(op)), dist(module, module.result(op, 0)));
    let Home::Group(group) = joined.home else {
        reporter.error(loc, "'dag.join' makes a value on a group");
        return;
    };
    let slices = group_slices(module, op, group);
    let homes: Vec<Home> = values.iter().map(|v| v.home.clone()).collect();
    if slices.is_empty() || homes != slices {
        let name = group.text(module.ctx());
        reporter.error(
            loc,
            format!("'dag.join' takes one value on each slice of '@{name}', in its order"),
        );
        return;
    }
    let same = values.iter().all(|v| {
        (Dist { home: values[0].home.clone(), held: values[0].held.clone(), ..v.clone() })
            == values[0]
    });
    if !same {
        reporter.error(loc, "'dag.join' takes values that differ only in where they live and the contributions they hold");
        return;
    }
    // Equal sets: contributions of different data. Else every contribution is in one of them.
    let held = if values.iter().all(|v| v.held == values[0].held) {
        values[0].held.clone()
    } else {
        match unite(module, op, values.iter(), reporter) {
            Some(held) => held,
            None => return,
        }
    };
    let mut wanted = Dist { home: joined.home.clone(), held, ..values[0].clone() };
    wanted.partial.push(group);
    expect(module, op, module.result(op, 0), &wanted, reporter);
}

pub(super) fn project(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let (value, here) =
        (dist(module, Project(op).value(module)), dist(module, Project(op).here(module)));
    let Home::Group(group) = value.home else {
        reporter.error(loc, "'dag.project' takes a value on a group");
        return;
    };
    if value.partial.contains(&group) || value.dims.iter().flatten().any(|axis| *axis == group) {
        let name = group.text(ctx);
        reporter.error(loc, format!("the value is divided over '@{name}', so no slice has it"));
        return;
    }
    let slices = group_slices(module, op, group);
    let wanted = match &here.home {
        Home::Group(part) => group_slices(module, op, *part),
        slice => vec![slice.clone()],
    };
    if wanted.is_empty() || !wanted.iter().all(|slice| slices.contains(slice)) {
        reporter.error(
            loc,
            format!("{} is no part of '@{}'", describe(ctx, &here.home), group.text(ctx)),
        );
        return;
    }
    expect(
        module,
        op,
        Project(op).here(module),
        &Dist { home: here.home.clone(), ..value },
        reporter,
    );
}

/// The axes a collective names: strings for mesh axes, symbols for groups.
pub fn collective_axes(ctx: &Context, axes: piper_ir::Attr) -> Vec<Name> {
    let axes = axes.as_array(ctx).unwrap_or(&[]);
    axes.iter()
        .filter_map(|a| a.as_str(ctx).map(|s| ctx.name(s)).or_else(|| a.as_symbol(ctx)))
        .collect()
}

/// The value without the axes it is partial over; reports an axis that it is not.
fn reduced(
    module: &Module,
    op: Op,
    mut value: Dist,
    axes: &[Name],
    reporter: &mut Reporter<'_>,
) -> Option<Dist> {
    for axis in axes {
        let before = value.partial.len();
        value.partial.retain(|a| a != axis);
        if value.partial.len() == before {
            let (name, axis) = (module.name_text(op), axis.text(module.ctx()));
            reporter.error(module.op_loc(op), format!("'{name}' sums over '{axis}', but the value is not a partial sum over it: it would be multiplied"))
                .hint("the value is whole along this axis already; leave the reduction out");
            return None;
        }
    }
    Some(value)
}

pub(super) fn all_reduce(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = AllReduce(op);
    let axes = collective_axes(module.ctx(), view.axes(module));
    if let Some(wanted) = reduced(module, op, dist(module, view.value(module)), &axes, reporter) {
        expect(module, op, view.sum(module), &wanted, reporter);
    }
}

pub(super) fn reduce_scatter(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = ReduceScatter(op);
    let axes = collective_axes(module.ctx(), view.axes(module));
    let Some(mut wanted) = reduced(module, op, dist(module, view.value(module)), &axes, reporter)
    else {
        return;
    };
    match wanted.dims.first_mut() {
        Some(dim) => dim.extend(&axes),
        None => {
            reporter.error(module.op_loc(op), "a rank-0 value cannot be scattered");
            return;
        }
    }
    expect(module, op, view.shard(module), &wanted, reporter);
}

pub(super) fn all_gather(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = AllGather(op);
    let axes = collective_axes(module.ctx(), view.axes(module));
    let mut wanted = dist(module, view.shard(module));
    let Some(dim) = wanted.dims.first_mut().filter(|dim| dim.ends_with(&axes)) else {
        reporter.error(module.op_loc(op), "'dag.all_gather' takes a value whose dimension 0 is sharded over its axes, minor to all others");
        return;
    };
    dim.truncate(dim.len() - axes.len());
    expect(module, op, view.value(module), &wanted, reporter);
}

pub(super) fn all_to_all(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, view) = (module.ctx(), AllToAll(op));
    let axes = collective_axes(ctx, view.axes(module));
    let number = |attr: piper_ir::Attr| attr.as_int(ctx).unwrap_or(-1);
    let (from, to) = (number(view.from(module)), number(view.to(module)));
    match moved_shards(dist(module, view.value(module)), &axes, from, to) {
        Ok(wanted) => expect(module, op, view.moved(module), &wanted, reporter),
        Err(why) => drop(reporter.error(module.op_loc(op), format!("'dag.all_to_all': {why}"))),
    }
}

pub(super) fn pack(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc, name) = (module.ctx(), module.op_loc(op), module.name_text(op));
    let packing = name == "dag.pack";
    let (values, flat) = if packing {
        (dists(module, module.operands(op)), dist(module, module.result(op, 0)))
    } else {
        (dists(module, module.results(op)), dist(module, module.operand(op, 0)))
    };
    let offsets = module.attr_by(op, "offsets").and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
    let Some((&[length], element)) = flat.tensor.as_tensor(ctx) else {
        reporter.error(loc, format!("the flat side of '{name}' has one dimension"));
        return;
    };
    if offsets.len() != values.len() {
        reporter.error(
            loc,
            format!("'{name}' has {} tensor(s), but {} offset(s)", values.len(), offsets.len()),
        );
        return;
    }
    // Offsets are within what a device has: a part of a divided tensor, whose flat form is divided over the same axes.
    let sizes = match module.parent_op(op) {
        Some(graph) if !flat.dims[0].is_empty() => AxisSizes::of_graph(module, graph),
        _ => AxisSizes::default(),
    };
    let is_divided = values.iter().any(|value| value.dims.iter().any(|axes| !axes.is_empty()));
    let parts: i64 = match is_divided {
        true => flat.dims[0].iter().filter_map(|axis| sizes.get(*axis)).product(),
        false => 1,
    };
    let length = length / parts.max(1);
    let mut end = 0;
    for (value, &offset) in values.iter().zip(offsets) {
        let elements = value.tensor.num_elements(ctx).unwrap_or(0) as i64 / parts.max(1);
        let fits = offset >= end && offset + elements <= length;
        let same_type = value.tensor.as_tensor(ctx).is_some_and(|(_, e)| e == element);
        let like = Dist { tensor: flat.tensor, dims: flat.dims.clone(), ..value.clone() } == flat
            && if is_divided { value.dividing() == flat.dims[0] } else { true };
        if !fits || !same_type || !like {
            let (value, flat) = (value.ty(ctx).display(ctx), flat.ty(ctx).display(ctx));
            reporter.error(
                loc,
                format!("'{name}' cannot lay out {value}\nat element {offset} of {flat}"),
            );
            return;
        }
        end = offset + elements;
    }
    if !flat.dims[0].is_empty() && !is_divided {
        reporter.error(loc, format!("the flat side of '{name}' is not sharded"));
    }
}

pub(super) fn cast(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let (from, to) = (dist(module, module.operand(op, 0)), dist(module, module.result(op, 0)));
    let shape = |d: &Dist| d.tensor.as_tensor(ctx).map(|(shape, _)| shape.to_vec());
    if shape(&from) != shape(&to) || (Dist { tensor: to.tensor, ..from }) != to {
        reporter.error(module.op_loc(op), "'dag.cast' changes the element type and nothing else");
    }
}

/// Reports what is missing from a value that has to be complete.
fn require_complete(
    module: &Module,
    op: Op,
    value: Value,
    what: &str,
    reporter: &mut Reporter<'_>,
) {
    let (ctx, d) = (module.ctx(), dist(module, value));
    if d.is_complete() {
        return;
    }
    let mut missing: Vec<String> =
        d.partial.iter().map(|axis| format!("the sum over \"{}\"", axis.text(ctx))).collect();
    if let Some(held) = &d.held {
        missing.extend(held.missing(microbatches(module, op)).iter().map(|p| match held.uses {
            1 => format!("the contributions of microbatches {}..{}", p.lo, p.hi),
            uses => format!(
                "the contributions of microbatches {}..{} of use {} of {uses}",
                p.lo, p.hi, p.index
            ),
        }));
    }
    let defined: Loc =
        module.defining_op(value).map_or(ctx.unknown_loc(), |def| module.op_loc(def));
    reporter
        .error(
            module.op_loc(op),
            format!(
                "'{}' takes a complete {what}, but {} is missing",
                module.name_text(op),
                missing.join(" and ")
            ),
        )
        .note(defined, "the value is made here")
        .hint("dag.add unites contributions of microbatches; dag.all_reduce and dag.reduce_scatter sum over axes");
}

pub(super) fn gradient(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    require_complete(module, op, module.operand(op, 0), "gradient", reporter);
    if module.ty(module.operand(op, 0)) != module.ty(module.result(op, 0)) {
        reporter.error(module.op_loc(op), "'dag.gradient' does not change the type");
    }
}

/// The type of the operands without their shards, as a rank-0 `f64`.
pub(super) fn sum_squares(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let mut wanted: Option<Dist> = None;
    for value in module.operands(op) {
        require_complete(module, op, value, "value", reporter);
        let d = dist(module, value);
        let mut partial: Vec<Name> = d.dims.iter().flatten().copied().collect();
        partial.sort_by_key(|n| n.text(ctx));
        let scalar = Dist { tensor: ctx.tensor(&[], ctx.f64()), dims: Vec::new(), partial, ..d };
        if wanted.as_ref().is_some_and(|w| *w != scalar) {
            reporter.error(
                module.op_loc(op),
                "'dag.sum_squares' takes values of one home, sharded over the same axes",
            );
            return;
        }
        wanted = Some(scalar);
    }
    if let Some(wanted) = wanted {
        expect(module, op, module.result(op, 0), &wanted, reporter);
    }
}

pub(super) fn sum(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let result = module.ty(module.result(op, 0));
    for value in module.operands(op) {
        require_complete(module, op, value, "number", reporter);
        if module.ty(value) != result {
            reporter.error(module.op_loc(op), "'dag.sum' takes numbers of one type and home");
            return;
        }
    }
}

pub(super) fn update(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc, view) = (module.ctx(), module.op_loc(op), Update(op));
    let operands: Vec<Value> = module.operands(op).collect();
    let rule = view.rule(module).as_str(ctx).unwrap_or("");
    let clipped = usize::from(view.clipped(module).is_some());
    let momentum = view
        .hyper(module)
        .get(ctx, "momentum")
        .and_then(|a| a.as_number(ctx))
        .is_some_and(|m| m != 0.0);
    let state = match rule {
        "adamw" => 2,
        _ => usize::from(momentum),
    };
    if operands.len() != 2 + state + clipped || module.num_results(op) != 1 + state {
        let (n, r) = (2 + state + clipped, 1 + state);
        reporter
            .error(loc, format!("this '{rule}' update takes {n} operands and has {r} result(s)"));
        return;
    }
    for &value in &operands {
        require_complete(module, op, value, "value", reporter);
    }
    let tensors = &operands[..2 + state];
    if tensors.iter().any(|v| module.ty(*v) != module.ty(operands[0]))
        || module.results(op).any(|v| module.ty(v) != module.ty(operands[0]))
    {
        reporter.error(
            loc,
            "parameter, gradient and state of an update, old and new, have one distribution",
        );
    }
    let place = dist(module, operands[0]).place(ctx);
    check_places(module, op, operands[2 + state..].iter().copied(), &place, reporter);
}

pub(super) fn state(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    require_complete(module, op, module.result(op, 0), "tensor", reporter);
}

pub(super) fn parameter(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    state(module, op, reporter);
    let view = Parameter(op);
    if let Some(flat) = view.flat(module).and_then(|flat| flat.as_str(module.ctx()))
        && let Some(used) = module.uses(view.value(module)).next()
    {
        reporter
            .error(
                module.op_loc(op),
                format!("the parameter is kept in \"{flat}\", so there is no value to be used"),
            )
            .note(module.op_loc(used.op), "used here")
            .hint("gather the flat state and unpack it");
    }
}

pub(super) fn commit(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (state, value) = (Commit(op).state(module), Commit(op).value(module));
    let is_state = module
        .defining_op(state)
        .is_some_and(|def| matches!(module.name_text(def), "dag.parameter" | "dag.state"));
    if !is_state || module.ty(state) != module.ty(value) {
        reporter.error(
            module.op_loc(op),
            "'dag.commit' gives a dag.parameter or dag.state a new value of its own type",
        );
    }
}

pub(super) fn output(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, parts) = (module.ctx(), dists(module, Output(op).parts(module)));
    if parts.iter().any(|p| p.tensor.num_elements(ctx) != Some(1)) {
        reporter.error(module.op_loc(op), "an output is a number");
        return;
    }
    if let Some(Some(held)) = unite(module, op, parts.iter(), reporter) {
        let missing = held.missing(microbatches(module, op));
        if let Some(part) = missing.first() {
            let message = format!(
                "the output lacks the contributions of microbatches {}..{}",
                part.lo, part.hi
            );
            reporter.error(module.op_loc(op), message);
        }
    }
}
