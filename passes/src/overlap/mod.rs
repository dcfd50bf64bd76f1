//! `overlap`: the members of a slot in turns, so that exchanges hide behind computation.
//!
//! ```mlir
//! // before, with strategy.resource interleave over "ep": forward of attention and experts beside a split backward of both
//! dag.order on {} [[@attn.1, @mlp.1, @bi1.0, @bi0.0, @bw1.0, @bw0.0]]
//! // after
//! dag.order on {} [[@attn.1], [@bi1.0], [@bw1.0], [@mlp.1], [@bi0.0], [@bw0.0]]
//! ```
//!
//! **Input**: a graph with orders, whose parameters are divided (`shard`), so that its exchanges are there: the collectives
//! between compute nodes. **Output**: slots of several members become slots of one, by `turns`; exchanges whose launch Megatron-LM
//! holds back get `after`, the node behind which `lower-to-device` issues them. That they are started one by one, when
//! what they send is there, follows from the order alone; `after` changes no stream's order and so no time, only the place in the
//! list of issue, and makes the list the published one: within a layer combine backward, attention forward, MLP
//! backward, dispatch forward, MLP weights, dispatch backward, MLP forward, combine forward, attention backward and weights.
//!
//! **Failures**: no exchange over the axis; no slot with a pair.

#[cfg(test)]
mod tests;
mod turns;

use piper_dialects::dag::{Compute, Dist, MICROBATCH, Order, collective_axes};
use piper_dialects::strategy::{Directive, Kind};
use piper_ir::pass::{OptionDef, PassContext, PassFailed, PassInfo, PassOptions, PassResult};
use piper_ir::{Attr, Loc, Module, Name, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::expand_directives;
use crate::nodes::{graphs, tag_of};
use crate::replicate::directives;
use crate::resource::{is_collective, is_exchange};
use turns::{Member, turns};

/// Attribute of a collective: the node after which it is issued.
pub const AFTER: &str = "after";

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let options = vec![OptionDef::new(
        "axis",
        "the axis of the exchanges, as if a strategy.overlap over it stood in the plan",
        None,
    )];
    vec![
        PassInfo::with_options(
            "overlap",
            "Run the members of a slot in turns, so that exchanges hide behind computation",
            options,
            |options| {
                let options = options.clone();
                Ok(move |cx: &mut PassContext<'_, '_>| run_pass(cx, &options))
            },
        )
        .describe(
            "Consumes `strategy.resource interleave` and `strategy.overlap`, which leaves its stream for the pass `resource`. Works on a \
             graph with orders and exchanges: after `order` and `shard`. Fails if no slot holds a pair with exchanges over the axis.",
        )
        .after(&["build-dag"]),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>, options: &PassOptions) -> PassResult {
    let mut found = false;
    for graph in graphs(cx.module) {
        let mut wanted: Vec<(String, Loc)> = Vec::new();
        if let Some(axis) = options.text("axis").filter(|_| options.is_given("axis")) {
            wanted.push((axis.to_owned(), cx.module.op_loc(graph)));
        }
        for directive in directives::of_graph(cx.module, graph) {
            let Directive { op, loc, kind } = &directive;
            match kind {
                Kind::Interleave { axis } => {
                    wanted.push((axis.clone(), *loc));
                    cx.module.erase(*op);
                }
                Kind::Overlap { axis, off, .. } => {
                    found |= *off;
                    if !off {
                        wanted.push((axis.clone(), *loc));
                    }
                    // A backward that has an order is not cut any more.
                    for op in expand_directives::overlap(cx.module, &directive, false) {
                        if matches!(Kind::read(cx.module, op), Some(Kind::Interleave { .. })) {
                            cx.module.erase(op);
                        }
                    }
                }
                _ => {}
            }
        }
        for (axis, loc) in wanted {
            found = true;
            let slots = run(cx.module, graph, &axis, loc, cx.reporter)?;
            cx.count("interleaved", slots);
        }
    }
    if !found {
        let loc = cx.module.op_loc(cx.op);
        cx.reporter
            .error(loc, "pass 'overlap' has nothing to do: no plan has a 'strategy.overlap'")
            .hint("add strategy.overlap over \"ep\" to the plan, or give the option: overlap{axis=ep}");
        return Err(PassFailed);
    }
    Ok(())
}

/// Linearises the slots of a graph's orders around the exchanges over an axis. Returns how many slots had pairs with exchanges.
///
/// # Errors
/// See the head of this file.
pub fn run(
    module: &mut Module,
    graph: Op,
    axis: &str,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<u64, PassFailed> {
    let ctx = module.ctx_arc();
    let block = module.only_block(graph).expect("a graph has a block");
    let axis_name = ctx.name(axis);
    let over = |op: Op| {
        is_collective(module, op)
            && module
                .attr_by(op, "axes")
                .is_some_and(|axes| collective_axes(&ctx, axes).contains(&axis_name))
    };
    let exchanges: FxHashSet<Op> =
        module.ops(block).filter(|op| over(*op) && is_exchange(module, *op)).collect();
    if exchanges.is_empty() {
        reporter
            .error(loc, format!("no exchange over \"{axis}\" stands between nodes of the graph"))
            .hint("strategy.shard divides parameters over the axis, and the pass 'shard' puts the exchanges in");
        return Err(PassFailed);
    }
    let nodes: FxHashMap<Name, Op> = module
        .ops(block)
        .filter(|op| Compute::cast(module, *op).is_some())
        .filter_map(|op| Some((ctx.name(Compute(op).node(module).as_str(&ctx)?), op)))
        .collect();
    let orders: Vec<Op> =
        module.ops(block).filter(|op| Order::cast(module, *op).is_some()).collect();
    let mut changes: Vec<(Op, Vec<Attr>)> = Vec::new();
    let mut pins: Vec<(Op, Attr)> = Vec::new();
    let mut interleaved = 0;
    for order in orders {
        let slots = Order(order).slots(module).as_array(&ctx).unwrap_or(&[]);
        let mut linear: Vec<Attr> = Vec::with_capacity(slots.len());
        for slot in slots {
            let names = slot.as_array(&ctx).unwrap_or(&[]);
            let members: Option<Vec<Op>> =
                names.iter().map(|n| nodes.get(&n.as_symbol(&ctx)?).copied()).collect();
            let Some(members) = members.filter(|members| members.len() > 1) else {
                linear.push(*slot);
                continue;
            };
            let slot = Slot::of(module, &members, &exchanges);
            if slot.has_pair() {
                interleaved += 1;
            }
            let running = turns(&slot.members);
            linear.extend(running.iter().map(|at| ctx.array_attr([names[*at]])));
            let pinned = slot.pins(module, &running).into_iter();
            pins.extend(pinned.map(|(exchange, after)| (exchange, names[after])));
        }
        changes.push((order, linear));
    }
    if interleaved == 0 {
        reporter
            .error(loc, format!("no slot holds a pair with exchanges over \"{axis}\", so nothing can cover them"))
            .hint("schedules with pairs: interleaved1f1b with 'overlap', dualpipe; or write (0F1 | 0B0) in a strategy.order");
        return Err(PassFailed);
    }
    for (order, slots) in changes {
        module.set_attr_by(order, "slots", ctx.array_attr(slots));
    }
    for (exchange, after) in pins {
        module.set_attr_by(exchange, AFTER, after);
    }
    Ok(interleaved)
}

/// What a value is made from, through transfers and collectives: the compute node, and the exchanges on the way, last first.
fn made_by(module: &Module, mut value: Value, exchanges: &FxHashSet<Op>) -> (Option<Op>, Vec<Op>) {
    let mut passed = Vec::new();
    while let Some(def) = module.defining_op(value) {
        if Compute::cast(module, def).is_some() {
            return (Some(def), passed);
        }
        if exchanges.contains(&def) {
            passed.push(def);
        } else if !is_collective(module, def) && module.name_text(def) != "dag.transfer" {
            break;
        }
        value = module.operand(def, 0);
    }
    (None, passed)
}

/// A slot as the turns see it.
struct Slot {
    members: Vec<Member>,
    /// The exchanges whose results each member takes.
    taken: Vec<Vec<Op>>,
    /// Exchanges of what a member makes, with its position.
    made: Vec<(Op, usize)>,
    forward: Vec<bool>,
}

impl Slot {
    fn of(module: &Module, ops: &[Op], exchanges: &FxHashSet<Op>) -> Self {
        let ctx = module.ctx();
        let position: FxHashMap<Op, usize> = ops.iter().copied().zip(0..).collect();
        let kind = |op: Op| Compute(op).kind(module).as_str(ctx).unwrap_or("F");
        let forward: Vec<bool> = ops.iter().map(|op| kind(*op) == "F").collect();
        // A chain is one direction of one microbatch. Backwards go first: other ranks wait for them.
        let mut chains: Vec<(bool, String)> = ops
            .iter()
            .zip(&forward)
            .map(|(op, forward)| (*forward, tag_of(module, *op, "MB").unwrap_or_default()))
            .collect();
        let of_each = chains.clone();
        chains.sort_by_key(|chain| chain.0);
        chains.dedup();
        let mut slot = Slot {
            members: Vec::with_capacity(ops.len()),
            taken: Vec::with_capacity(ops.len()),
            made: Vec::new(),
            forward,
        };
        for (at, op) in ops.iter().enumerate() {
            let mut member = Member {
                chain: chains.iter().position(|chain| *chain == of_each[at]).unwrap_or(0),
                fills: kind(*op) == "BW",
                ..Member::default()
            };
            let mut taken: Vec<Op> = Vec::new();
            for value in module.operands(*op) {
                let (maker, passed) = made_by(module, value, exchanges);
                taken.extend(passed.iter().copied());
                if let Some(&from) = maker.and_then(|maker| position.get(&maker)) {
                    if from != at && !member.needs.contains(&from) {
                        member.needs.push(from);
                    }
                    slot.made.extend(passed.last().map(|first| (*first, from)));
                }
            }
            member.waits = !taken.is_empty();
            slot.members.push(member);
            slot.taken.push(taken);
        }
        slot.fill_behind();
        slot.made.sort_unstable_by_key(|(exchange, _)| exchange.index());
        slot.made.dedup();
        slot
    }

    /// A weight gradient takes the same exchange as the input gradient beside it, which others wait for: it comes after that.
    fn fill_behind(&mut self) {
        for at in 0..self.members.len() {
            let behind = |of: &usize| {
                let (member, other) = (&self.members[at], &self.members[*of]);
                member.fills
                    && !other.fills
                    && member.chain == other.chain
                    && self.taken[*of].iter().any(|exchange| self.taken[at].contains(exchange))
            };
            let behind: Vec<usize> = (0..self.members.len()).filter(behind).collect();
            for of in behind {
                if !self.members[at].needs.contains(&of) {
                    self.members[at].needs.push(of);
                }
            }
        }
    }

    /// Whether two chains run here, and one has an exchange that the other can cover.
    fn has_pair(&self) -> bool {
        self.members.iter().any(|m| m.waits)
            && self.members.iter().any(|m| m.chain != self.members[0].chain)
    }

    /// Exchanges with the member behind which they are issued: those of a backward behind the weight gradients that fill its
    /// turn, those that take a forward's values away behind the node that waited for the exchange before them.
    fn pins(&self, module: &Module, running: &[usize]) -> Vec<(Op, usize)> {
        let mut pins = Vec::new();
        for &(exchange, from) in &self.made {
            let Some(at) = running.iter().position(|m| *m == from) else { continue };
            let behind = &running[at + 1..];
            let after = if self.forward[from] {
                let other =
                    behind.first().filter(|m| self.members[**m].chain != self.members[from].chain);
                other.filter(|m| !self.members[**m].fills && goes_away(module, exchange))
            } else {
                behind.iter().take_while(|m| self.members[**m].fills).last()
            };
            let after = after.filter(|after| !self.taken[**after].contains(&exchange));
            pins.extend(after.map(|after| (exchange, *after)));
        }
        pins
    }
}

/// Whether an exchange takes the shard off the batch, as tokens go to their experts, and does not bring it back.
fn goes_away(module: &Module, exchange: Op) -> bool {
    let ctx = module.ctx();
    match module.name_text(exchange) {
        "dag.all_gather" => true,
        "dag.all_to_all" => {
            let from = module.attr_by(exchange, "from").and_then(|a| a.as_int(ctx)).unwrap_or(0);
            let dist = Dist::of(ctx, module.ty(module.operand(exchange, 0)));
            dist.zip(usize::try_from(from).ok()).is_some_and(|(dist, from)| {
                dist.dims
                    .get(from)
                    .is_some_and(|axes| axes.iter().any(|axis| axis.text(ctx) == MICROBATCH))
            })
        }
        _ => false,
    }
}
