//! ZeRO stage 1: gradients are summed into shards of flat buckets, and optimizer state lives on these shards.
//!
//! ```mlir
//! // instead of an all_reduce and a dag.gradient for each of "w" (16 elements) and "b" (4), over "dp" = 8:
//! %flat = dag.pack %dw, %db at array<i64: 0, 16> : ...                  // 24 elements: padded to a multiple of 8
//! %shard = dag.reduce_scatter %flat over ["dp"] : ...                   // 3 on each device
//! %g = dag.gradient "bucket0" %shard : ...
//! %master = dag.state "bucket0.master" {init = {b = 16, w = 0}} : ...   // the shard of the parameters to be updated
//! ```
//!
//! **How the optimizer finds its way.** The gradient `X` updates the state `X.master` if there is one, else the parameter `X`.
//! A master's `init` names the parameters it is a flat copy of, each with the offset of its first element; after the update
//! its shards are gathered, unpacked at these offsets, and committed to the parameters.
//!
//! Buckets are filled per home in the order in which gradients become complete (the last layers' first), so that the first
//! bucket can be reduced while the backward still runs. A tensor larger than a bucket has one to itself.

use piper_dialects::dag::{
    AllReduce, AxisSizes, Compute, Dist, Gradient, Pack, ReduceScatter, State, collective_axes,
};
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Builder, Module, Name, Op, Reporter, Type, Value};
use rustc_hash::FxHashMap;

use super::{COMPLETE, axes_attr};

/// Name of the state that a bucket's optimizer updates.
pub fn master_name(bucket: &str) -> String {
    format!("{bucket}.master")
}

/// The parameters in a flat copy with the offsets of their first elements, ascending: what the `init` of a `dag.state` says.
/// `None` if it is not that of a flat copy.
pub fn layout(module: &Module, state: Op) -> Option<Vec<(Name, i64)>> {
    let ctx = module.ctx();
    let entries = module.attr_by(state, "init")?.as_dict(ctx)?;
    let mut parts: Vec<(Name, i64)> =
        entries.iter().map(|(name, at)| Some((*name, at.as_int(ctx)?))).collect::<Option<_>>()?;
    parts.sort_by_key(|(_, at)| *at);
    Some(parts)
}

/// One gradient that goes into a bucket.
struct Item {
    name: String,
    gradient: Op,
    /// The sum over all contributions, before any collective.
    raw: Value,
    dist: Dist,
    /// The axes it is partial over, in the order they are to be reduced in.
    axes: Vec<Name>,
    element: Type,
    elements: i64,
    completion: usize,
}

/// Replaces the gradients that are partial over `axis` by gradients of sharded flat buckets of at most `bucket_bytes`.
///
/// # Errors
/// A gradient whose reduced form is used by something else than its `dag.gradient`, or of a parameter that is not there.
pub(super) fn shard(
    module: &mut Module,
    graph: Op,
    axis: Name,
    bucket_bytes: u64,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let ctx = module.ctx_arc();
    let sizes = AxisSizes::of_graph(module, graph);
    let errors = reporter.error_count();
    let mut homes: Vec<Vec<Item>> = Vec::new();
    for item in items(module, graph, axis, reporter) {
        let same = |other: &Item| {
            let like = Dist {
                tensor: other.dist.tensor,
                dims: other.dist.dims.clone(),
                ..item.dist.clone()
            };
            like == other.dist && item.axes == other.axes && item.element == other.element
        };
        match homes.iter_mut().find(|items| same(&items[0])) {
            Some(items) => items.push(item),
            None => homes.push(vec![item]),
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let mut number = next_number(module, graph);
    for mut items in homes {
        items.sort_by_key(|item| item.completion);
        let bytes = items[0].element.byte_width(&ctx).unwrap_or(1);
        let shards: i64 = items[0].axes.iter().filter_map(|a| sizes.get(*a)).product();
        let mut bucket: Vec<Item> = Vec::new();
        for item in items {
            let filled: i64 = bucket.iter().map(|i| i.elements).sum();
            if !bucket.is_empty() && (filled + item.elements) as u64 * bytes > bucket_bytes {
                emit(module, graph, &std::mem::take(&mut bucket), shards, number);
                number += 1;
            }
            bucket.push(item);
        }
        emit(module, graph, &bucket, shards, number);
        number += 1;
    }
    Ok(())
}

/// The first bucket number that no gradient has yet.
fn next_number(module: &Module, graph: Op) -> usize {
    let ctx = module.ctx();
    let block = module.only_block(graph).expect("a graph has a block");
    let taken = module.ops(block).filter_map(|op| {
        let name = module.attr_by(op, "name")?.as_str(ctx)?;
        name.strip_prefix("bucket")?.split('.').next()?.parse::<usize>().ok()
    });
    taken.max().map_or(0, |n| n + 1)
}

/// The gradients that are partial over the axis, in text order.
fn items(module: &Module, graph: Op, axis: Name, reporter: &mut Reporter<'_>) -> Vec<Item> {
    let ctx = module.ctx();
    let block = module.only_block(graph).expect("a graph has a block");
    let position: FxHashMap<Op, usize> =
        module.ops(block).enumerate().map(|(i, op)| (op, i)).collect();
    let mut completion: FxHashMap<Value, usize> = FxHashMap::default();
    let mut items = Vec::new();
    for op in module.ops(block).filter(|op| module.name_text(*op) == "dag.gradient") {
        let name = module.attr_by(op, "name").and_then(|a| a.as_str(ctx)).unwrap_or("").to_owned();
        let value = module.operand(op, 0);
        let reduction = module.defining_op(value).and_then(|def| AllReduce::cast(module, def));
        let (raw, mut axes) = match reduction {
            Some(sum) => (sum.value(module), collective_axes(ctx, sum.axes(module))),
            None => (value, Vec::new()),
        };
        let dist = Dist::of(ctx, module.ty(raw)).expect("declared as !dag.dist");
        // What does not vary with the batch is complete on every device, and a sharded tensor has no flat form.
        if !dist.partial.contains(&axis) || dist.dims.iter().any(|d| !d.is_empty()) {
            continue;
        }
        if let Some(user) = module.uses(value).map(|u| u.op).find(|user| *user != op)
            && reduction.is_some()
        {
            reporter
                .error(
                    module.op_loc(op),
                    format!("the gradient of \"{name}\" cannot be sharded: it is used elsewhere"),
                )
                .note(module.op_loc(user), "used here");
            continue;
        }
        if !axes.contains(&axis) {
            axes.insert(0, axis);
        }
        let (_, element) = dist.tensor.as_tensor(ctx).expect("a distribution is of a tensor");
        items.push(Item {
            name,
            gradient: op,
            raw,
            element,
            elements: dist.tensor.num_elements(ctx).unwrap_or(0) as i64,
            dist,
            axes,
            completion: completed_at(module, raw, &position, &mut completion),
        });
    }
    items
}

/// The text position of the last compute node a sum has a summand of.
fn completed_at(
    module: &Module,
    value: Value,
    position: &FxHashMap<Op, usize>,
    known: &mut FxHashMap<Value, usize>,
) -> usize {
    // Post-order with an explicit stack: a running sum is as deep as there are microbatches.
    let mut stack = vec![(value, false)];
    while let Some((value, operands_done)) = stack.pop() {
        if known.contains_key(&value) {
            continue;
        }
        let Some(def) = module.defining_op(value) else { continue };
        if Compute::cast(module, def).is_some() || module.num_operands(def) == 0 {
            known.insert(value, position.get(&def).copied().unwrap_or(0));
        } else if operands_done {
            let last = module.operands(def).filter_map(|v| known.get(&v)).max();
            known.insert(value, last.copied().unwrap_or(0));
        } else {
            stack.push((value, true));
            stack.extend(module.operands(def).map(|v| (v, false)));
        }
    }
    known.get(&value).copied().unwrap_or(0)
}

/// Makes one bucket of these gradients, whose own reductions and `dag.gradient`s are erased.
fn emit(module: &mut Module, graph: Op, items: &[Item], shards: i64, number: usize) {
    let Some(first) = items.first() else { return };
    let ctx = module.ctx_arc();
    let name = format!("bucket{number}");
    let mut offsets = Vec::new();
    let mut length = 0;
    for item in items {
        offsets.push(length);
        length += item.elements;
    }
    let padded = (length as u64).next_multiple_of(shards.max(1) as u64) as i64;
    let flat = Dist {
        tensor: ctx.tensor(&[padded], first.element),
        dims: vec![Vec::new()],
        ..first.dist.clone()
    };
    let mut shard = Dist { dims: vec![first.axes.clone()], ..flat.clone() };
    shard.partial.retain(|a| !first.axes.contains(a));
    let axes = axes_attr(module, graph, &first.axes);
    let init = ctx.dict_attr(
        items.iter().zip(&offsets).map(|(item, at)| (ctx.name(&item.name), ctx.int_attr(*at))),
    );
    let last = items.iter().max_by_key(|item| item.completion).unwrap_or(first).gradient;
    let mut b = Builder::before(module, last);
    let raw: Vec<Value> = items.iter().map(|item| item.raw).collect();
    let (flat, shard) = (flat.ty(&ctx), shard.ty(&ctx));
    let master = State::build(&mut b).name(&master_name(&name)).init(init).value(shard);
    let master = master.create_value().expect(COMPLETE);
    let packed = Pack::build(&mut b).values(raw).offsets(&offsets).flat(flat);
    let packed = packed.create_value().expect(COMPLETE);
    let scattered = ReduceScatter::build(&mut b).value(packed).axes(axes).shard(shard);
    let scattered = scattered.create_value().expect(COMPLETE);
    let gradient = Gradient::build(&mut b).name(&name).value(scattered).complete(shard);
    let gradient = gradient.create_value().expect(COMPLETE);
    for (value, hint) in
        [(master, "master"), (packed, "flat"), (scattered, "shard"), (gradient, "g")]
    {
        module.set_value_name(value, ctx.name(&format!("{name}_{hint}")));
    }
    for item in items {
        let reduced = module.operand(item.gradient, 0);
        module.erase(item.gradient);
        if reduced != item.raw
            && let Some(reduction) = module.defining_op(reduced)
        {
            module.erase(reduction);
        }
    }
}
