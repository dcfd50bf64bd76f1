//! Which gradients share a flat bucket.
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
//! its shards are gathered, unpacked at these offsets, and committed to the parameters (from stage 3 on there is nothing else to
//! commit to: see [`gather`](super::gather)).
//!
//! Buckets are filled per home (and per group, where one is asked for) in the order in which gradients become complete, the last
//! layers' first, so that the first bucket can be reduced while the backward still runs. A tensor larger than a bucket has one to itself.
//!
//! **Divided parameters.** What `shard` has divided over "tp" is laid out as the part that a device has: the flat tensor is one
//! such layout after the other, divided over "tp" and then over the copies, and offsets are those within a layout. Parameters
//! that are divided over other axes, or whole, have other buckets.
//!
//! ```mlir
//! // "up" = 8x16 and "down" = 16x8, each divided over "tp" = 2
//! %flat = dag.pack %dup, %ddown at array<i64: 0, 64> : ... -> !dag.dist<tensor<256xf32>, @c, [{"tp"}], partial = {"dp"}>
//! %shard = dag.reduce_scatter %flat over ["dp"] : ... -> !dag.dist<tensor<256xf32>, @c, [{"tp", "dp"}]>
//! ```

use piper_dialects::dag::{
    AllReduce, AxisSizes, Compute, Dist, Home, Join, Parameter, collective_axes,
};
use piper_dialects::strategy::Sharding;
use piper_ir::pass::PassFailed;
use piper_ir::{Module, Name, Op, Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contributions::{Contribution, contributions};
use crate::nodes::tag_of;

/// Name of the state that a bucket's optimizer updates.
pub fn master_name(bucket: &str) -> String {
    format!("{bucket}.master")
}

/// The bucket whose optimizer updates a state of this name.
pub fn bucket_of(master: &str) -> Option<&str> {
    master.strip_suffix(".master")
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
pub(super) struct Item {
    /// Its parameter's name.
    pub(super) name: String,
    pub(super) gradient: Op,
    /// The parameter, on the gradient's home.
    pub(super) parameter: Option<Op>,
    /// The sum over all contributions, before any collective.
    pub(super) raw: Value,
    pub(super) dist: Dist,
    /// The axes it is partial over, in the order they are to be reduced in: the replicated one first, if it is reduced apart.
    pub(super) axes: Vec<Name>,
    pub(super) element: Type,
    /// What a device has of it.
    pub(super) elements: i64,
    pub(super) completion: usize,
    /// What it is grouped by, if anything.
    key: Option<String>,
    /// The contributions that are added, by slice of its home; empty unless they are wanted.
    pub(super) contributions: Vec<Vec<Contribution>>,
}

/// Gradients that are communicated together.
pub(super) struct Bucket {
    /// `bucket0`
    pub(super) name: String,
    pub(super) items: Vec<Item>,
    /// First elements of the items.
    pub(super) offsets: Vec<i64>,
    /// Elements of a device before they are scattered, padded so that they divide into equal shards.
    pub(super) padded: i64,
    /// The axes that divide its parameters already.
    pub(super) divided: Vec<Name>,
    /// Among how many devices they do.
    parts: i64,
}

impl Bucket {
    fn new(number: usize, items: Vec<Item>, sizes: &AxisSizes) -> Self {
        let product = |axes: &[Name]| axes.iter().filter_map(|a| sizes.get(*a)).product::<i64>();
        let divided = items[0].dist.dividing();
        let (shards, parts) = (product(&items[0].axes), product(&divided));
        let mut offsets = Vec::new();
        let mut length = 0;
        for item in &items {
            offsets.push(length);
            length += item.elements;
        }
        let padded = (length as u64).next_multiple_of(shards.max(1) as u64) as i64;
        Self { name: format!("bucket{number}"), items, offsets, padded, divided, parts }
    }

    /// The gradient that is complete last: where the bucket's operations go.
    pub(super) fn last(&self) -> Op {
        let last = self.items.iter().max_by_key(|item| item.completion);
        last.expect("a bucket has an item").gradient
    }

    /// The type of the bucket's shard of a complete value.
    pub(super) fn shard(&self, module: &Module) -> Dist {
        let first = &self.items[0];
        let mut shard = Dist { held: None, ..self.flat(module, &first.dist, &first.axes) };
        shard.partial.retain(|axis| !first.axes.contains(axis));
        shard
    }

    /// The type of the bucket where its tensors are distributed as `like`, scattered over axes.
    pub(super) fn flat(&self, module: &Module, like: &Dist, scattered: &[Name]) -> Dist {
        Dist {
            tensor: module.ctx().tensor(&[self.padded * self.parts], self.items[0].element),
            dims: vec![[&self.divided, scattered].concat()],
            ..like.clone()
        }
    }
}

/// The buckets of the gradients that are partial over `axis`. With `by_microbatch` their contributions are found too, and a bucket has
/// only gradients of equal ones.
///
/// # Errors
/// A gradient whose reduced form is used by something else than its `dag.gradient`; gradients that are sharded already.
pub(super) fn plan(
    module: &Module,
    graph: Op,
    axis: Name,
    sharding: &Sharding,
    by_microbatch: bool,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Bucket>, PassFailed> {
    let ctx = module.ctx();
    let sizes = AxisSizes::of_graph(module, graph);
    let errors = reporter.error_count();
    let mut homes: Vec<Vec<Item>> = Vec::new();
    for mut item in items(module, graph, axis, &sizes, by_microbatch, reporter) {
        item.key = sharding.group.as_ref().and_then(|group| group_key(module, &item, group));
        if by_microbatch {
            item.contributions = contributions(module, item.raw);
        }
        let same = |other: &Item| {
            let like = Dist {
                tensor: other.dist.tensor,
                dims: other.dist.dims.clone(),
                ..item.dist.clone()
            };
            let held = |item: &Item| -> Vec<Vec<_>> {
                let slice =
                    |slice: &Vec<Contribution>| slice.iter().map(|c| c.held.clone()).collect();
                item.contributions.iter().map(slice).collect()
            };
            like == other.dist
                && item.dist.dividing() == other.dist.dividing()
                && item.axes == other.axes
                && item.element == other.element
                && item.key == other.key
                && held(&item) == held(other)
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
    let mut buckets = Vec::new();
    for mut items in homes {
        items.sort_by_key(|item| item.completion);
        let bytes = items[0].element.byte_width(ctx).unwrap_or(1);
        let mut filling: Vec<Item> = Vec::new();
        for item in items {
            let filled: i64 = filling.iter().map(|i| i.elements).sum();
            if !filling.is_empty()
                && (filled + item.elements) as u64 * bytes > sharding.bucket_limit()
            {
                buckets.push(Bucket::new(number, std::mem::take(&mut filling), &sizes));
                number += 1;
            }
            filling.push(item);
        }
        buckets.push(Bucket::new(number, filling, &sizes));
        number += 1;
    }
    Ok(buckets)
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

/// The nodes that use a parameter, through its projections, in text order of their uses.
pub(super) fn users(module: &Module, parameter: Value) -> Vec<Op> {
    let mut found = Vec::new();
    for used in module.uses(parameter) {
        match module.name_text(used.op) {
            "dag.project" => found.extend(users(module, module.result(used.op, 0))),
            _ if Compute::cast(module, used.op).is_some() => found.push(used.op),
            _ => {}
        }
    }
    found
}

/// What a gradient is grouped by: the segment (or the value of a tag) of the first node that uses its parameter.
fn group_key(module: &Module, item: &Item, group: &str) -> Option<String> {
    let ctx = module.ctx();
    let block = module.parent_block(item.gradient)?;
    let used: FxHashSet<Op> =
        users(module, module.result(item.parameter?, 0)).into_iter().collect();
    let first = module.ops(block).find(|op| used.contains(op))?;
    if group != "segment" {
        return tag_of(module, first, group);
    }
    let tags = Compute(first).tags(module).as_dict(ctx)?.iter();
    let own = tags.filter(|(name, _)| name.text(ctx) != "MB");
    Some(own.map(|(name, at)| format!("{}={};", name.text(ctx), at.display(ctx))).collect())
}

/// The gradients that are partial over the axis, in text order.
fn items(
    module: &Module,
    graph: Op,
    axis: Name,
    sizes: &AxisSizes,
    by_microbatch: bool,
    reporter: &mut Reporter<'_>,
) -> Vec<Item> {
    let ctx = module.ctx();
    let block = module.only_block(graph).expect("a graph has a block");
    let position: FxHashMap<Op, usize> =
        module.ops(block).enumerate().map(|(i, op)| (op, i)).collect();
    let parameters: FxHashMap<(&str, Home), Op> = module
        .ops(block)
        .filter_map(|op| {
            let view = Parameter::cast(module, op)?;
            let dist = Dist::of(ctx, module.ty(view.value(module)))?;
            Some(((view.name(module).as_str(ctx)?, dist.home), op))
        })
        .collect();
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
        // What does not vary with the batch is complete on every device.
        if !dist.partial.contains(&axis) {
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
        // A microbatch is summed over the copies before anything else is.
        if by_microbatch {
            axes.retain(|known| *known != axis);
        }
        if !axes.contains(&axis) {
            axes.insert(0, axis);
        }
        let (_, element) = dist.tensor.as_tensor(ctx).expect("a distribution is of a tensor");
        items.push(Item {
            parameter: parameters.get(&(&*name, dist.home.clone())).copied(),
            name,
            gradient: op,
            raw,
            element,
            elements: dist.local(ctx, sizes).and_then(|t| t.num_elements(ctx)).unwrap_or(0) as i64,
            dist,
            axes,
            completion: completed_at(module, raw, &position, &mut completion),
            key: None,
            contributions: Vec::new(),
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

/// The sums of a gradient by slice: what a join takes, or the value itself.
pub(super) fn slice_sums(module: &Module, raw: Value) -> Vec<Value> {
    match module.defining_op(raw) {
        Some(def) if Join::cast(module, def).is_some() => module.operands(def).collect(),
        _ => vec![raw],
    }
}
