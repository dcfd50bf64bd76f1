//! The strategy level: a mesh of devices, tags on the model's operations, and a plan of directives over both.
//!
//! Everything is stored as attributes, so the generic form says all of it; the custom forms read like sentences. Passes do
//! not look at attributes: [`PlanSpec::read`] gives a verified plan as plain values, each directive with its operation for
//! locations. Directives are either *primitives* ([`place`](PlaceOp), [`split`](SplitOp), [`replicate`](ReplicateOp),
//! [`shard`](ShardOp), [`order`](OrderOp), [`split_backward`](SplitBackwardOp), [`recompute`](RecomputeOp),
//! [`resource`](ResourceOp), [`update`](UpdateOp)) or *named* ones, which expand into primitives.

mod filter;
mod homes;
mod mesh;
mod mesh_syntax;
mod ops;
mod optimizer;
mod order;
mod plan;
mod recompute;
mod resource;
mod schedules;
mod shard;
mod sharding;
mod sub_axis;
mod table;
mod tags;
#[cfg(test)]
mod tests;
mod verify;
mod verify_resource;

pub use filter::{filter_attr, filter_of};
pub use homes::{homes_attrs, range_attr};
pub use mesh::{Axis, Mesh, Slice, SliceFault};
pub use ops::{
    AnnotateOp, DualPipeOp, GroupOp, LayoutOp, MeshOp, OptimizerOp, OrderOp, OverlapOp, PipelineOp,
    PlaceOp, PlanOp, PrecisionOp, RecomputeOp, ReplicateOp, ResourceOp, ShardOp, SmPartitionOp,
    SplitBackwardOp, SplitOp, TableOp, TagOp, UpdateOp, YieldOp, ZeroOp,
};
pub use optimizer::{Algorithm, LearningRate, OptimizerSpec, copy_optimizer};
pub use order::row_of;
pub use plan::{Directive, Home, Kind, PlanSpec, bucket_bytes, plans};
pub use recompute::Recomputed;
pub use resource::{
    Method, PartitionSpec, StreamSpec, Work, partition_of, partition_options, stream_of,
};
pub use schedules::{schedules, set_schedules};
pub use shard::sharded_dim;
pub use sharding::{
    Gather, OPTIONS as SHARDING_OPTIONS, Reduce, Sharding, Written as ShardingOptions,
};
pub use sub_axis::SubAxis;
pub use tags::{TAGS, merge, tag_text, tags_attr, tags_of};

use piper_ir::Dialect;

/// What stands around the examples in the documentation of the operations.
const SETTING: &str = r#"strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  ...
}
"#;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "strategy".into(),
        doc: "How a model is spread over a cluster: the mesh, tags on operations, and directives."
            .into(),
        ops: ops::op_defs(),
        setting: SETTING,
        ..Dialect::default()
    }
}
