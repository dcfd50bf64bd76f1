//! A plan as plain values: what passes read instead of attributes.

use std::ops::Range;

use piper_ir::{Loc, Module, Op, Type};
use piper_schedule::Slot;
use piper_schedule::text::filter::Filter;

use super::homes::range_of;
use super::ops::*;
use super::order::row_of;
use super::resource::{PartitionSpec, StreamSpec, partition_of, stream_of};
use super::shard::patterns_of;
use super::{
    Mesh, OptimizerSpec, Recomputed, Sharding, Slice, filter_of, recompute, table, tag_text,
};
use crate::dag::Graph;

/// A `strategy.plan` with everything it refers to.
#[derive(Clone, Debug)]
pub struct PlanSpec {
    /// The plan's operation.
    pub op: Op,
    /// Its name.
    pub name: String,
    /// The mesh's operation.
    pub mesh_op: Op,
    /// The mesh.
    pub mesh: Mesh,
    /// The mesh's name.
    pub mesh_name: String,
    /// The function's operation, or the `dag.graph` that was built from it.
    pub function: Op,
    /// The function's name.
    pub function_name: String,
    /// The directives, in text order.
    pub directives: Vec<Directive>,
}

/// One directive of a plan.
#[derive(Clone, Debug)]
pub struct Directive {
    /// Its operation.
    pub op: Op,
    /// Where it stands.
    pub loc: Loc,
    /// What it says.
    pub kind: Kind,
}

/// Where a part of the model lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The devices.
    pub slice: Slice,
    /// The microbatches that run here; all if none are written.
    pub microbatches: Option<Range<u32>>,
}

/// What a directive says.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Kind {
    /// Named: a pipeline along `axis` over the values of tag `stages`; `count` of them, if some are empty.
    Pipeline {
        axis: String,
        stages: String,
        schedule: String,
        microbatches: u32,
        group: Option<u32>,
        overlap: bool,
        count: Option<u32>,
    },
    /// Named: DualPipe; `vee` is DualPipeV.
    DualPipe { axis: String, stages: String, microbatches: u32, vee: bool, count: Option<u32> },
    /// Named: the parts of every stage in order; `stages` is the tag that numbers the stages.
    Layout { stages: String, parts: Vec<Vec<(char, u32)>> },
    /// Primitive: tags for what `filter` selects.
    Tag { filter: Filter, tags: Vec<(String, String)> },
    /// Named: the schedule whose rows are given, one for each coordinate of `axis`.
    Table { axis: String, stages: String, rows: Vec<Vec<Slot>>, microbatches: u32 },
    /// Named: ZeRO.
    Zero { axis: String, sharding: Sharding },
    /// Named: train with this optimizer.
    Optimizer(OptimizerSpec),
    /// Primitive: data parallelism along `axis`, state sharded as `sharding` says.
    Replicate { axis: String, sharding: Sharding },
    /// Primitive: parameters of what `filter` selects are divided along `axis`; see [`sharded_dim`](super::sharded_dim).
    Shard { filter: Filter, axis: String, parameters: Vec<(String, usize)> },
    /// Primitive: what `filter` selects lives here.
    Place { filter: Filter, homes: Vec<Home> },
    /// Primitive: the batch in `parts`; `tag` numbers them.
    Split { tag: String, parts: u32 },
    /// Primitive: the slots that the devices of `slice` run; stages are values of tag `stages`.
    Order { stages: String, slice: Slice, row: Vec<Slot> },
    /// Primitive: backward in two halves.
    SplitBackward { filter: Filter },
    /// Primitive: forward values that the backward computes again; `again` if weight gradients do so themselves.
    Recompute { filter: Filter, what: Recomputed, again: bool },
    /// Primitive: update all parameters.
    Update(OptimizerSpec),
    /// Named: slots run so that exchanges along `axis` are hidden; they go to a stream. If `off`, only the stream.
    Overlap { axis: String, stream: Option<String>, off: bool },
    /// Named: `comm` multiprocessors for some streams, the rest for the others.
    SmPartition { comm: u32 },
    /// Primitive: work on a stream.
    Stream(StreamSpec),
    /// Primitive: a part of the device for some streams.
    Partition(PartitionSpec),
    /// Primitive: the members of slots take turns at exchanges along `axis`.
    Interleave { axis: String },
    /// Primitive: compute in another type than parameters are kept in.
    Precision { compute: Type, master: Option<Type>, reduce: Option<Type> },
}

impl Kind {
    /// The mesh axis that the directive takes for itself, if it takes one.
    pub fn axis(&self) -> Option<&str> {
        match self {
            Kind::Pipeline { axis, .. }
            | Kind::DualPipe { axis, .. }
            | Kind::Table { axis, .. }
            | Kind::Zero { axis, .. }
            | Kind::Replicate { axis, .. }
            | Kind::Shard { axis, .. } => Some(axis),
            _ => None,
        }
    }

    /// Into how many microbatches the directive divides the batch, if it does.
    pub fn microbatches(&self) -> Option<u32> {
        match self {
            Kind::Pipeline { microbatches, .. }
            | Kind::DualPipe { microbatches, .. }
            | Kind::Table { microbatches, .. } => Some(*microbatches),
            Kind::Split { parts, .. } => Some(*parts),
            _ => None,
        }
    }

    /// Whether the directive expands into others.
    pub fn is_named(&self) -> bool {
        matches!(
            self,
            Kind::Pipeline { .. }
                | Kind::DualPipe { .. }
                | Kind::Table { .. }
                | Kind::Layout { .. }
                | Kind::Zero { .. }
                | Kind::Optimizer(_)
                | Kind::Overlap { .. }
                | Kind::SmPartition { .. }
        )
    }
}

/// The plans of a module, in text order.
pub fn plans(module: &Module) -> Vec<Op> {
    module.ops(module.body()).filter(|op| PlanOp::cast(module, *op).is_some()).collect()
}

/// Bytes of a size such as `25MiB`, `512KiB`, `4GiB`, `1MB` or `100B`.
///
/// # Errors
/// What is wrong with the text.
pub fn bucket_bytes(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit.trim_start() {
        "B" => 1,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => {
            return Err(format!("\"{text}\" is not a size: write a number and B, KiB, MiB or GiB"));
        }
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(scale))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("\"{text}\" is not a size of at least one byte"))
}

/// The mesh of a `strategy.mesh`; `None` if it does not verify.
pub(super) fn mesh_of(module: &Module, op: Op) -> Option<Mesh> {
    let ctx = module.ctx();
    let mesh = MeshOp::cast(module, op)?;
    let names = mesh.axes(module).as_array(ctx)?.iter().map(|name| name.as_str(ctx));
    let names: Vec<&str> = names.collect::<Option<_>>()?;
    let sizes = mesh.sizes(module).as_int_array(ctx)?.iter().map(|size| u32::try_from(*size).ok());
    let sizes: Vec<u32> = sizes.collect::<Option<_>>()?;
    (names.len() == sizes.len()).then(|| Mesh::new(names.into_iter().zip(sizes)))
}

/// The `strategy.mesh` that a symbol attribute of `from` names.
pub(super) fn mesh_named(module: &Module, from: Op, symbol: piper_ir::Attr) -> Option<Op> {
    let name = symbol.as_symbol(module.ctx())?.text(module.ctx());
    module.lookup_nearest(from, name).filter(|op| MeshOp::cast(module, *op).is_some())
}

/// What a plan is for: the function of this name, or the graph that was built from it.
pub(super) fn subject(module: &Module, plan: Op, name: &str) -> Option<Op> {
    let ctx = module.ctx();
    let is_graph_of = |op: &Op| {
        let function = Graph::cast(module, *op).map(|graph| graph.function(module));
        function.and_then(|f| f.as_symbol(ctx)).is_some_and(|f| f.text(ctx) == name)
    };
    let found = module.lookup_nearest(plan, name);
    found
        .filter(|op| !module.regions(*op).is_empty())
        .or_else(|| module.ops(module.parent_block(plan)?).find(is_graph_of))
}

impl MeshOp {
    /// The mesh as plain values; `None` only if it does not verify.
    pub fn read(self, module: &Module) -> Option<Mesh> {
        mesh_of(module, self.0)
    }
}

impl PlanOp {
    /// The plan as plain values; `None` only if the module does not verify.
    pub fn read(self, module: &Module) -> Option<PlanSpec> {
        PlanSpec::read(module, self.0)
    }
}

impl PlanSpec {
    /// The plan of this `strategy.plan`; `None` only if the module does not verify.
    pub fn read(module: &Module, op: Op) -> Option<Self> {
        let ctx = module.ctx();
        let plan = PlanOp::cast(module, op)?;
        let mesh_op = mesh_named(module, op, plan.mesh(module))?;
        let function_name = plan.function(module).as_symbol(ctx)?.text(ctx);
        let body = module.only_block(op)?;
        let directives: Option<Vec<_>> = module
            .ops(body)
            .map(|op| Some(Directive { op, loc: module.op_loc(op), kind: Kind::read(module, op)? }))
            .collect();
        Some(Self {
            op,
            name: module.symbol_name(op)?.to_owned(),
            mesh_op,
            mesh: mesh_of(module, mesh_op)?,
            mesh_name: module.symbol_name(mesh_op)?.to_owned(),
            function: subject(module, op, function_name)?,
            function_name: function_name.to_owned(),
            directives: directives?,
        })
    }
}

impl Kind {
    /// What a directive's operation says; `None` if it is none or does not verify.
    pub fn read(module: &Module, op: Op) -> Option<Self> {
        let ctx = module.ctx();
        let text = |name: &str| Some(module.attr_by(op, name)?.as_str(ctx)?.to_owned());
        let number = |name: &str| u32::try_from(module.attr_by(op, name)?.as_int(ctx)?).ok();
        let sharding = |stage: &str| Sharding::read(module, op, module.attr_by(op, stage)).ok();
        Some(match module.name_text(op) {
            PipelineOp::NAME => Kind::Pipeline {
                axis: text("axis")?,
                stages: text("stages")?,
                schedule: text("schedule")?,
                microbatches: number("microbatches")?,
                group: number("group"),
                overlap: PipelineOp(op).overlap(module).is_some(),
                count: number("count"),
            },
            DualPipeOp::NAME => Kind::DualPipe {
                axis: text("axis")?,
                stages: text("stages")?,
                microbatches: number("microbatches")?,
                vee: text("variant").as_deref() == Some("v"),
                count: number("count"),
            },
            LayoutOp::NAME => Kind::Layout {
                stages: text("stages")?,
                parts: piper_schedule::text::layout::parse(&text("layout")?).ok()?,
            },
            TagOp::NAME => {
                let tags = TagOp(op).tags(module).as_dict(ctx)?.iter();
                let tags = tags.map(|(n, v)| Some((n.text(ctx).to_owned(), tag_text(ctx, *v)?)));
                let filter = filter_of(ctx, TagOp(op).filter(module))?;
                Kind::Tag { filter, tags: tags.collect::<Option<_>>()? }
            }
            TableOp::NAME => {
                let rows = table::rows_of(ctx, TableOp(op).rows(module))?;
                let microbatches = table::microbatches(&rows);
                Kind::Table { axis: text("axis")?, stages: text("stages")?, rows, microbatches }
            }
            ZeroOp::NAME => Kind::Zero { axis: text("axis")?, sharding: sharding("stage")? },
            ReplicateOp::NAME => {
                Kind::Replicate { axis: text("axis")?, sharding: sharding("zero")? }
            }
            OptimizerOp::NAME => Kind::Optimizer(OptimizerSpec::read(module, op)?),
            UpdateOp::NAME => Kind::Update(OptimizerSpec::read(module, op)?),
            PlaceOp::NAME => {
                let place = PlaceOp(op);
                let slices = place.homes(module).as_array(ctx)?;
                let ranges = place.microbatches(module).and_then(|ranges| ranges.as_array(ctx));
                let homes: Option<Vec<_>> = slices
                    .iter()
                    .enumerate()
                    .map(|(i, slice)| {
                        let slice = Slice::from_attr(ctx, *slice)?;
                        let microbatches = match ranges {
                            None => None,
                            Some(ranges) => Some(range_of(ctx, *ranges.get(i)?)?),
                        };
                        Some(Home { slice, microbatches })
                    })
                    .collect();
                Kind::Place { filter: filter_of(ctx, place.filter(module))?, homes: homes? }
            }
            ShardOp::NAME => Kind::Shard {
                filter: filter_of(ctx, ShardOp(op).filter(module))?,
                axis: text("axis")?,
                parameters: patterns_of(ctx, ShardOp(op).parameters(module))?,
            },
            SplitOp::NAME => Kind::Split { tag: text("tag")?, parts: number("parts")? },
            OrderOp::NAME => Kind::Order {
                stages: text("stages")?,
                slice: Slice::from_attr(ctx, OrderOp(op).slice(module))?,
                row: row_of(&text("row")?).ok()?,
            },
            PrecisionOp::NAME => {
                let element = |name: &str| module.attr_by(op, name)?.as_type(ctx);
                Kind::Precision {
                    compute: element("compute")?,
                    master: element("master"),
                    reduce: element("reduce"),
                }
            }
            SplitBackwardOp::NAME => {
                Kind::SplitBackward { filter: filter_of(ctx, SplitBackwardOp(op).filter(module))? }
            }
            RecomputeOp::NAME => {
                let (what, again) = recompute::read(module, RecomputeOp(op))?;
                let filter = filter_of(ctx, RecomputeOp(op).filter(module))?;
                Kind::Recompute { filter, what, again }
            }
            OverlapOp::NAME => Kind::Overlap {
                axis: text("axis")?,
                stream: text("stream"),
                off: OverlapOp(op).off(module).is_some(),
            },
            SmPartitionOp::NAME => Kind::SmPartition { comm: number("comm")? },
            ResourceOp::NAME => {
                let get = |name: &str| module.attr_by(op, name);
                if get("stream").is_some() {
                    Kind::Stream(stream_of(ctx, get)?)
                } else if get("partition").is_some() {
                    Kind::Partition(partition_of(ctx, get)?)
                } else {
                    Kind::Interleave { axis: text("interleave")? }
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::bucket_bytes;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(bucket_bytes("25MiB"), Ok(25 << 20));
        assert_eq!(bucket_bytes("1MB"), Ok(1_000_000));
        assert_eq!(bucket_bytes("100 B"), Ok(100));
        assert!(bucket_bytes("25").is_err());
        assert!(bucket_bytes("MiB").is_err());
        assert!(bucket_bytes("0B").is_err());
        assert!(bucket_bytes("99999999999999GiB").is_err());
    }
}
