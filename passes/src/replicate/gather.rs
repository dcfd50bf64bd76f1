//! ZeRO stage 3: parameters live as shards of flat buckets, and are gathered where they are used.
//!
//! ```mlir
//! // before
//! %w = dag.parameter "w" {init = ...} : !dag.dist<tensor<4x4xf32>, @c>
//! %y = dag.compute @f(%x, %w) F {} node "f" : ...
//! // after
//! dag.parameter "w" in "bucket0.master" {init = ...} : !dag.dist<tensor<4x4xf32>, @c>
//! %master = dag.state "bucket0.master" {init = {w = 0}} : !dag.dist<tensor<16xf32>, @c, [{"dp"}]>
//! %full = dag.all_gather %master over ["dp"] : ... -> !dag.dist<tensor<16xf32>, @c>
//! %w0 = dag.unpack %full at array<i64: 0> : ... -> !dag.dist<tensor<4x4xf32>, @c>
//! %y = dag.compute @f(%x, %w0) F {} node "f" : ...
//! ```
//!
//! A gather serves consecutive uses (nodes, in the order of their slice) of its bucket: those of one pass of one microbatch, all of the
//! step, or those between which fewer than N other buckets are used. The last rule is that of the window of the next N stages in
//! torch's lowered pipeline schedules. A gather is issued right before its first use, or so many uses before that (`prefetch`):
//! `after` says after which node. What it has gathered is freed after its last use, as any value is.
//!
//! A bucket with several homes is sharded over them too, so all of them take part in each gather. DualPipe's two owners of a stage
//! mirror each other and use it at the same places of their orders. Where homes do not (a tied embedding), it is gathered once.

use piper_dialects::dag::{Compute, Dist, Home};
use piper_dialects::strategy::{Gather, Sharding};
use piper_ir::pass::PassFailed;
use piper_ir::{Builder, Loc, Module, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::axes_attr;
use super::buckets::{Bucket, master_name};
use super::sequence::{Sequences, Slice};

/// The operand of a node that is a parameter.
type Use = (Op, usize);

/// One gather of a bucket: what it serves, and after which nodes it is issued.
#[derive(Debug)]
struct Interval {
    /// Items with the operands that they are, on every slice.
    uses: Vec<(usize, Use)>,
    after: Vec<Op>,
}

/// All gathers.
pub(super) struct Gathers {
    /// By bucket.
    intervals: Vec<Vec<Interval>>,
    sequences: Sequences,
}

/// A node of a slice that uses gathered parameters.
struct Site {
    /// Place in the slice's sequence.
    at: usize,
    /// What it uses: bucket, item, operand.
    uses: Vec<(usize, usize, Use)>,
}

/// The uses that share a gather on one slice: first and last site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    first: usize,
    last: usize,
}

/// Finds what is gathered when.
///
/// # Errors
/// A node that uses more buckets than may be kept.
pub(super) fn plan(
    module: &Module,
    graph: Op,
    buckets: &[Bucket],
    sharding: &Sharding,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<Gathers, PassFailed> {
    let sequences = Sequences::of(module, graph);
    let of_value = values(module, buckets);
    let pipeline = sequences.0.len() > 1;
    let gather =
        sharding.gather.unwrap_or(if pipeline { Gather::Keep } else { Gather::Microbatch });
    let ahead = sharding.prefetch.unwrap_or(0) as usize;
    let mut spans: Vec<Vec<(usize, Vec<Span>)>> = buckets.iter().map(|_| Vec::new()).collect();
    let mut sites: Vec<Vec<Site>> = Vec::new();
    for (slice, (_, row)) in sequences.0.iter().enumerate() {
        let here = sites_of(module, row, &of_value);
        if let Gather::Live(live) = gather {
            check_live(module, row, &here, live, loc, reporter)?;
        }
        for (bucket, spans) in spans.iter_mut().enumerate() {
            let found = spans_of(module, row, &here, bucket, gather);
            if !found.is_empty() {
                spans.push((slice, found));
            }
        }
        sites.push(here);
    }
    let mut intervals = Vec::new();
    for (bucket, mut spans) in spans.into_iter().enumerate() {
        let places = |spans: &[Span], slice: usize| -> Vec<usize> {
            spans.iter().map(|span| sites[slice][span.first].at).collect()
        };
        if let [(first, known), rest @ ..] = &spans[..]
            && rest.iter().any(|(slice, other)| places(other, *slice) != places(known, *first))
        {
            if known.len() > 1 || rest.iter().any(|(_, other)| other.len() > 1) {
                let names: Vec<&str> = buckets[bucket].items.iter().map(|i| &*i.name).collect();
                let message = format!(
                    "the slices that hold {} use it at different times, so it is gathered once a step",
                    names.join(", ")
                );
                reporter.remark(loc, message);
            }
            for (slice, known) in &mut spans {
                *known =
                    spans_of(module, &sequences.0[*slice].1, &sites[*slice], bucket, Gather::Keep);
            }
        }
        let count = spans.first().map_or(0, |(_, spans)| spans.len());
        let interval = |number: usize| {
            let mut interval = Interval { uses: Vec::new(), after: Vec::new() };
            for (slice, spans) in &spans {
                let (row, here) = (&sequences.0[*slice].1, &sites[*slice]);
                let Span { first, last } = spans[number];
                for site in &here[first..=last] {
                    let own = site.uses.iter().filter(|(known, ..)| *known == bucket);
                    interval.uses.extend(own.map(|(_, item, used)| (*item, *used)));
                }
                let issue = first.checked_sub(ahead).map(|site| here[site].at);
                interval.after.extend(issue.and_then(|at| at.checked_sub(1)).map(|at| row[at]));
            }
            interval
        };
        intervals.push((0..count).map(interval).collect());
    }
    Ok(Gathers { intervals, sequences })
}

/// Which item of which bucket a value of the graph is: parameters and their projections.
fn values(module: &Module, buckets: &[Bucket]) -> FxHashMap<Value, (usize, usize)> {
    let mut of_value = FxHashMap::default();
    for (b, bucket) in buckets.iter().enumerate() {
        for (i, item) in bucket.items.iter().enumerate() {
            let Some(parameter) = item.parameter else { continue };
            let value = module.result(parameter, 0);
            of_value.insert(value, (b, i));
            for used in module.uses(value) {
                if module.name_text(used.op) == "dag.project" {
                    of_value.insert(module.result(used.op, 0), (b, i));
                }
            }
        }
    }
    of_value
}

fn sites_of(module: &Module, row: &[Op], of_value: &FxHashMap<Value, (usize, usize)>) -> Vec<Site> {
    let site = |(at, op): (usize, &Op)| {
        let operands = module.operands(*op).enumerate();
        let uses: Vec<_> = operands
            .filter_map(|(operand, value)| {
                let &(bucket, item) = of_value.get(&value)?;
                Some((bucket, item, (*op, operand)))
            })
            .collect();
        (!uses.is_empty()).then_some(Site { at, uses })
    };
    row.iter().enumerate().filter_map(site).collect()
}

/// Every node's buckets can be kept together.
fn check_live(
    module: &Module,
    row: &[Op],
    sites: &[Site],
    live: u32,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    for site in sites {
        let used: FxHashSet<usize> = site.uses.iter().map(|(bucket, ..)| *bucket).collect();
        if used.len() > live as usize {
            let node = Compute(row[site.at]).node(module).as_str(module.ctx()).unwrap_or("");
            let message = format!(
                "'gather' keeps {live} bucket(s) at a time, but node '{node}' uses {} at once",
                used.len()
            );
            reporter
                .error(loc, message)
                .note(module.op_loc(row[site.at]), "the node is here")
                .hint(format!(
                    "gather = \"{}\", or group = \"segment\" for fewer, larger buckets",
                    used.len()
                ));
            return Err(PassFailed);
        }
    }
    Ok(())
}

/// The sites of a slice that use a bucket, as spans that share a gather.
fn spans_of(
    module: &Module,
    row: &[Op],
    sites: &[Site],
    bucket: usize,
    gather: Gather,
) -> Vec<Span> {
    let uses_it = |site: &Site| site.uses.iter().any(|(known, ..)| *known == bucket);
    let own: Vec<usize> = (0..sites.len()).filter(|at| uses_it(&sites[*at])).collect();
    let pass = |site: usize| {
        let node = Compute(row[sites[site].at]);
        (node.tags(module).get(module.ctx(), "MB"), node.kind(module))
    };
    let shares = |earlier: usize, later: usize| match gather {
        Gather::Keep => true,
        Gather::Microbatch => pass(earlier) == pass(later),
        Gather::Live(live) => {
            let between = sites[earlier + 1..later].iter().flat_map(|site| &site.uses);
            let others: FxHashSet<usize> =
                between.map(|(other, ..)| *other).filter(|other| *other != bucket).collect();
            others.len() < live as usize
        }
    };
    let mut spans: Vec<Span> = Vec::new();
    for at in own {
        match spans.last_mut() {
            Some(span) if shares(span.last, at) => span.last = at,
            _ => spans.push(Span { first: at, last: at }),
        }
    }
    spans
}

/// Inserts the gathers, and makes parameters declarations of what is in the flat states `masters`.
pub(super) fn emit(
    module: &mut Module,
    graph: Op,
    buckets: &[Bucket],
    masters: &[Value],
    gathers: &Gathers,
) {
    let ctx = module.ctx_arc();
    gathers.sequences.write(module, graph);
    for ((bucket, master), intervals) in buckets.iter().zip(masters).zip(&gathers.intervals) {
        for (number, interval) in intervals.iter().enumerate() {
            one(module, graph, bucket, *master, interval, number);
        }
        for parameter in bucket.items.iter().filter_map(|item| item.parameter) {
            let value = module.result(parameter, 0);
            let projections: Vec<Op> = module.uses(value).map(|used| used.op).collect();
            projections.into_iter().for_each(|op| module.erase(op));
            module.set_attr_by(parameter, "flat", ctx.str_attr(&master_name(&bucket.name)));
        }
    }
}

/// Inserts one gather of a bucket, and lets what it serves use it.
fn one(
    module: &mut Module,
    graph: Op,
    bucket: &Bucket,
    master: Value,
    interval: &Interval,
    number: usize,
) {
    let ctx = module.ctx_arc();
    let shard = Dist::of(&ctx, module.ty(master)).expect("declared as !dag.dist");
    let whole = Dist { dims: vec![bucket.divided.clone()], ..shard.clone() };
    let axes = axes_attr(module, graph, &shard.dims[0][bucket.divided.len()..]);
    // In text before the first user, for readers; the graph has no order of its own.
    let Some(&(_, (before, _))) = interval.uses.first() else { return };
    let nodes = interval.after.iter().map(|op| {
        let name = Compute(*op).node(module).as_str(&ctx).unwrap_or("").to_owned();
        ctx.symbol_attr(&name)
    });
    let after: Vec<_> = nodes.collect();
    let after = (!after.is_empty()).then(|| ctx.array_attr(after));
    let mut used: Vec<usize> = interval.uses.iter().map(|(item, _)| *item).collect();
    used.sort_unstable();
    used.dedup();
    let types: Vec<_> = used
        .iter()
        .map(|i| module.ty(module.result(bucket.items[*i].parameter.expect("it is used"), 0)))
        .collect();
    let offsets: Vec<i64> = used.iter().map(|i| bucket.offsets[*i]).collect();
    let mut b = Builder::before(module, before);
    let state = b
        .state("dag.all_gather")
        .operands([master])
        .results([whole.ty(&ctx)])
        .attr(&ctx, "axes", axes)
        .attr_if(&ctx, "after", after);
    let full = b.value(state);
    let state = b.state("dag.unpack").operands([full]).results(types).attr(
        &ctx,
        "offsets",
        ctx.int_array_attr(&offsets),
    );
    let unpack = b.insert(state);
    module.set_value_name(full, ctx.name(&format!("{}_full{number}", bucket.name)));
    let parts: Vec<Value> = module.results(unpack).collect();
    for (part, item) in parts.iter().zip(&used) {
        module.set_value_name(*part, ctx.name(&bucket.items[*item].name));
    }
    let mut here: FxHashMap<(usize, Slice), Value> = FxHashMap::default();
    for &(item, (op, operand)) in &interval.uses {
        let part = parts[used.binary_search(&item).expect("collected above")];
        let wanted = module.ty(module.operand(op, operand));
        let value = if module.ty(part) == wanted {
            part
        } else {
            let slice = match Dist::of(&ctx, wanted).expect("declared as !dag.dist").home {
                Home::Slice(at) => at,
                Home::Group(name) => vec![(name, 0)],
            };
            *here.entry((item, slice)).or_insert_with(|| {
                let mut b = Builder::after(module, unpack);
                let state = b.state("dag.project").operands([part]).results([wanted]);
                b.value(state)
            })
        };
        module.set_operand(op, operand, value);
    }
}
