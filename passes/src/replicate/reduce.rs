//! The gradient of a bucket: packed, summed over the copies, each left with a shard.
//!
//! At the last microbatch, whole gradients are added up and the sum is scattered. After each microbatch, its contributions are
//! packed and scattered at once, and shards are added up as the gradients were:
//!
//! ```mlir
//! %flat0 = dag.pack %dw0, %db0 at array<i64: 0, 16> : ...   // partial = {"dp", mb[0:1]}
//! %shard0 = dag.reduce_scatter %flat0 over ["dp"] : ...     // [{"dp"}], partial = {mb[0:1]}
//! %flat1 = dag.pack %dw1, %db1 at array<i64: 0, 16> : ...
//! %shard1 = dag.reduce_scatter %flat1 over ["dp"] : ...
//! %shard = dag.add %shard0, %shard1 : ...                   // [{"dp"}]
//! ```
//!
//! A gradient with several homes is summed over its group once, at the end: a microbatch runs on one of them.

use piper_dialects::dag::{Compute, Dist, Gradient, Join, Pack, ReduceScatter, State};
use piper_ir::{Builder, Module, Name, Op, Value};
use rustc_hash::FxHashMap;

use super::buckets::{Bucket, master_name, slice_sums};
use super::{COMPLETE, axes_attr};
use crate::accumulate::{Sums, additions, erase_unused};

/// Makes the gradient of a bucket, whose own reductions and `dag.gradient`s are erased. Returns the master.
pub(super) fn emit(module: &mut Module, graph: Op, bucket: &Bucket, by_microbatch: bool) -> Value {
    let ctx = module.ctx_arc();
    let Bucket { name, items, offsets, .. } = bucket;
    let shard = bucket.shard(module).ty(&ctx);
    let init = ctx.dict_attr(
        items.iter().zip(offsets).map(|(item, at)| (ctx.name(&item.name), ctx.int_attr(*at))),
    );
    let last = bucket.last();
    let mut b = Builder::before(module, last);
    let master = State::build(&mut b).name(&master_name(name)).init(init).value(shard);
    let master = master.create_value().expect(COMPLETE);
    let sum = if by_microbatch {
        each(module, graph, bucket)
    } else {
        let raw: Vec<Value> = items.iter().map(|item| item.raw).collect();
        scatter(module, graph, bucket, last, &raw, &items[0].axes, "")
    };
    let mut b = Builder::before(module, last);
    let gradient = Gradient::build(&mut b).name(name).value(sum).complete(shard);
    let gradient = gradient.create_value().expect(COMPLETE);
    for (value, hint) in [(master, "master"), (gradient, "g")] {
        module.set_value_name(value, ctx.name(&format!("{name}_{hint}")));
    }
    for item in items {
        let reduced = module.operand(item.gradient, 0);
        module.erase(item.gradient);
        let sums = slice_sums(module, item.raw);
        for value in [reduced, item.raw] {
            if let Some(def) = module.defining_op(value)
                && matches!(module.name_text(def), "dag.all_reduce" | "dag.join")
                && !module.is_used(value)
            {
                module.erase(def);
            }
        }
        sums.into_iter().for_each(|sum| erase_unused(module, sum));
    }
    master
}

/// Packs one value of each item and scatters the sum over axes.
fn scatter(
    module: &mut Module,
    graph: Op,
    bucket: &Bucket,
    before: Op,
    values: &[Value],
    axes: &[Name],
    suffix: &str,
) -> Value {
    let ctx = module.ctx_arc();
    let of = Dist::of(&ctx, module.ty(values[0])).expect("declared as !dag.dist");
    let flat = bucket.flat(module, &of, &[]);
    let mut b = Builder::before(module, before);
    let packed = Pack::build(&mut b).values(values).offsets(&bucket.offsets);
    let packed = packed.flat(flat.ty(&ctx)).create_value().expect(COMPLETE);
    let hint = ctx.name(&format!("{}_flat{suffix}", bucket.name));
    module.set_value_name(packed, hint);
    scatter_value(module, graph, bucket, before, packed, axes, suffix)
}

/// Scatters the sum of a value over axes.
fn scatter_value(
    module: &mut Module,
    graph: Op,
    bucket: &Bucket,
    before: Op,
    value: Value,
    axes: &[Name],
    suffix: &str,
) -> Value {
    let ctx = module.ctx_arc();
    let mut shard = Dist::of(&ctx, module.ty(value)).expect("declared as !dag.dist");
    shard.dims[0].extend(axes);
    shard.partial.retain(|axis| !axes.contains(axis));
    let attr = axes_attr(module, graph, axes);
    let mut b = Builder::before(module, before);
    let scattered = ReduceScatter::build(&mut b).value(value).axes(attr).shard(shard.ty(&ctx));
    let scattered = scattered.create_value().expect(COMPLETE);
    let hint = ctx.name(&format!("{}_shard{suffix}", bucket.name));
    module.set_value_name(scattered, hint);
    scattered
}

/// The microbatch of a node, for names.
fn suffix(module: &Module, value: Value) -> String {
    let node = module.defining_op(value).and_then(|def| Compute::cast(module, def));
    let tag = node.and_then(|node| node.tags(module).get(module.ctx(), "MB"));
    tag.map_or(String::new(), |mb| format!("_{}", mb.display(module.ctx())))
}

/// Scatters every contribution; the sum of the shards, added as the first item's gradient was.
fn each(module: &mut Module, graph: Op, bucket: &Bucket) -> Value {
    let ctx = module.ctx_arc();
    let first = &bucket.items[0];
    let (axis, rest) = first.axes.split_first().expect("the replicated axis is among them");
    let mut sums = Sums::default();
    let mut by_slice = Vec::new();
    for (slice, sum) in slice_sums(module, first.raw).into_iter().enumerate() {
        let mut shards: FxHashMap<Value, Value> = FxHashMap::default();
        for number in 0..first.contributions[slice].len() {
            let values: Vec<Value> =
                bucket.items.iter().map(|item| item.contributions[slice][number].value).collect();
            let suffix = suffix(module, values[0]);
            let before = bucket.last();
            let shard = scatter(
                module,
                graph,
                bucket,
                before,
                &values,
                std::slice::from_ref(axis),
                &suffix,
            );
            shards.insert(values[0], shard);
        }
        // Operands before the sums of them.
        for op in additions(module, sum).into_iter().rev() {
            let (a, other) = (module.operand(op, 0), module.operand(op, 1));
            let (a, other, result) = (shards[&a], shards[&other], module.result(op, 0));
            let mut b = Builder::before(module, bucket.last());
            let added = sums.add(&mut b, a, other);
            shards.insert(result, added);
        }
        by_slice.push(shards[&sum]);
    }
    let mut sum = by_slice[0];
    let is_joined =
        module.defining_op(first.raw).is_some_and(|def| Join::cast(module, def).is_some());
    if is_joined {
        let mut joined = bucket.flat(module, &first.dist, std::slice::from_ref(axis));
        joined.partial.retain(|known| known != axis);
        let mut b = Builder::before(module, bucket.last());
        let state =
            b.state("dag.join").operands(by_slice.iter().copied()).results([joined.ty(&ctx)]);
        sum = b.value(state);
    }
    if rest.is_empty() {
        return sum;
    }
    scatter_value(module, graph, bucket, bucket.last(), sum, rest, "")
}
