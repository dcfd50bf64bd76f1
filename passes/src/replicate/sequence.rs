//! The order in which each slice runs its nodes: what decides when parameters are wanted.

use piper_dialects::dag::{Compute, Dist, Home, Order};
use piper_ir::{Builder, Module, Name, Op};
use rustc_hash::FxHashMap;

use crate::nodes::compute_nodes;

/// Coordinates of a slice, as the home of its nodes has them.
pub(super) type Slice = Vec<(Name, i64)>;

/// The nodes of every slice, in the order in which they run.
pub(super) struct Sequences(pub(super) Vec<(Slice, Vec<Op>)>);

impl Sequences {
    /// What the graph's orders say, or the text where a slice has none.
    pub(super) fn of(module: &Module, graph: Op) -> Self {
        let ctx = module.ctx();
        let nodes = compute_nodes(module, graph);
        let by_name: FxHashMap<&str, Op> = nodes
            .iter()
            .filter_map(|op| Some((Compute(*op).node(module).as_str(ctx)?, *op)))
            .collect();
        let mut sequences: Vec<(Slice, Vec<Op>)> = Vec::new();
        let block = module.only_block(graph).expect("a graph has a block");
        for order in module.ops(block).filter_map(|op| Order::cast(module, op)) {
            let slots = order.slots(module).as_array(ctx).unwrap_or(&[]);
            let members = slots.iter().flat_map(|slot| slot.as_array(ctx).unwrap_or(&[]));
            let row: Vec<Op> =
                members.filter_map(|m| by_name.get(m.as_symbol(ctx)?.text(ctx)).copied()).collect();
            if let Some(slice) = row.first().and_then(|op| slice_of(module, *op)) {
                sequences.push((slice, row));
            }
        }
        let ordered = sequences.len();
        for op in nodes {
            let Some(slice) = slice_of(module, op) else { continue };
            match sequences.iter().position(|(known, _)| *known == slice) {
                Some(at) if at < ordered => {}
                Some(at) => sequences[at].1.push(op),
                None => sequences.push((slice, vec![op])),
            }
        }
        Self(sequences)
    }

    /// Writes down the order of slices that have none, so that gathers can be put between nodes.
    pub(super) fn write(&self, module: &mut Module, graph: Op) {
        let ctx = module.ctx_arc();
        let block = module.only_block(graph).expect("a graph has a block");
        let written: Vec<Option<Slice>> = module
            .ops(block)
            .filter_map(|op| Order::cast(module, op))
            .map(|order| {
                let entries = order.slice(module).as_dict(&ctx)?.iter();
                let mut slice: Slice =
                    entries.map(|(n, at)| Some((*n, at.as_int(&ctx)?))).collect::<Option<_>>()?;
                slice.sort_by_key(|(name, _)| name.text(&ctx));
                Some(slice)
            })
            .collect();
        for (slice, row) in &self.0 {
            if written.iter().flatten().any(|known| known == slice) {
                continue;
            }
            let slots = row.iter().map(|op| {
                let name = Compute(*op).node(module).as_str(&ctx).unwrap_or("").to_owned();
                ctx.array_attr([ctx.symbol_attr(&name)])
            });
            let slots = ctx.array_attr(slots.collect::<Vec<_>>());
            let at = ctx.dict_attr(slice.iter().map(|(n, at)| (*n, ctx.int_attr(*at))));
            let mut b = Builder::at_end(module, block);
            let state = b.state("dag.order").attr(&ctx, "slice", at).attr(&ctx, "slots", slots);
            b.insert(state);
        }
    }
}

/// The slice that a node runs on.
fn slice_of(module: &Module, op: Op) -> Option<Slice> {
    let value = module.results(op).chain(module.operands(op)).next()?;
    match Dist::of(module.ctx(), module.ty(value))?.place(module.ctx()) {
        Home::Slice(at) => Some(at),
        Home::Group(_) => None,
    }
}
