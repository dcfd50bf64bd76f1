//! Collectives among the processes of a program. Read and written in the generic form, as JAX prints them.

use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::attrs::CHANNEL_ATTR;
use crate::stablehlo::types::INDEX;
use crate::stablehlo::verify::collective as verify;

piper_ir::dialect_ops! {
    /// Values joined by the region over the processes of a group; every one gets the result.
    AllReduce = "stablehlo.all_reduce" {
        operands: { operands: many(T::Any) },
        results: { result: many(T::Any) },
        attrs: {
            replica_groups: one(A::Any),
            channel_handle: optional(CHANNEL_ATTR),
            use_global_device_ids: optional(A::Unit),
        },
        regions: { computation: one },
        traits: [SingleBlock],
        verify: verify::same_types,
    }

    /// As `stablehlo.all_reduce`; every process gets its part along `scatter_dimension`.
    ReduceScatter = "stablehlo.reduce_scatter" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: {
            scatter_dimension: one(INDEX),
            replica_groups: one(A::Any),
            channel_handle: optional(CHANNEL_ATTR),
            use_global_device_ids: optional(A::Unit),
        },
        regions: { computation: one },
        traits: [SingleBlock],
        verify: verify::reduce_scatter,
    }

    /// The parts of a group's processes one after the other along `all_gather_dim`; every one gets the result.
    AllGather = "stablehlo.all_gather" {
        operands: { operands: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: {
            all_gather_dim: one(INDEX),
            replica_groups: one(A::Any),
            channel_handle: optional(CHANNEL_ATTR),
            use_global_device_ids: optional(A::Unit),
        },
        verify: verify::all_gather,
    }

    /// Part `i` along `split_dimension` goes to process `i` of the group; the parts received stand along `concat_dimension`.
    AllToAll = "stablehlo.all_to_all" {
        operands: { operands: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: {
            split_dimension: one(INDEX),
            concat_dimension: one(INDEX),
            split_count: one(A::Int),
            replica_groups: one(A::Any),
            channel_handle: optional(CHANNEL_ATTR),
        },
    }

    /// Values sent from process to process, by pairs; who receives nothing has zeros.
    CollectivePermute = "stablehlo.collective_permute" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { source_target_pairs: one(A::Any), channel_handle: optional(CHANNEL_ATTR) },
        traits: [SameOperandsAndResultType],
    }

    /// The value of a group's first process for all of it.
    CollectiveBroadcast = "stablehlo.collective_broadcast" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { replica_groups: one(A::Any), channel_handle: optional(CHANNEL_ATTR) },
        traits: [SameOperandsAndResultType],
    }

    /// The sum over replicas.
    CrossReplicaSum = "stablehlo.cross-replica-sum" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { replica_groups: one(A::Any) },
        traits: [SameOperandsAndResultType],
    }

    /// The number of this process among the parts of a program: `stablehlo.partition_id : tensor<ui32>`.
    PartitionId = "stablehlo.partition_id" {
        results: { result: one(T::Tensor) },
        format: "attr-dict `:` type($result)",
    }

    /// The number of this process among the replicas: `stablehlo.replica_id : tensor<ui32>`.
    ReplicaId = "stablehlo.replica_id" {
        results: { result: one(T::Tensor) },
        format: "attr-dict `:` type($result)",
    }

    /// Sends values to another process or the host.
    Send = "stablehlo.send" {
        operands: { inputs: many(T::Any), token: one(T::Any) },
        results: { result: one(T::Any) },
        attrs: {
            channel_handle: one(CHANNEL_ATTR),
            is_host_transfer: optional(A::Bool),
            source_target_pairs: optional(A::Any),
        },
    }

    /// Receives values from another process or the host.
    Recv = "stablehlo.recv" {
        operands: { token: one(T::Any) },
        results: { result: many(T::Any) },
        attrs: {
            channel_handle: one(CHANNEL_ATTR),
            is_host_transfer: optional(A::Bool),
            source_target_pairs: optional(A::Any),
        },
    }

    /// Receives values from the program's infeed.
    Infeed = "stablehlo.infeed" {
        operands: { token: one(T::Any) },
        results: { results: many(T::Any) },
        attrs: { infeed_config: optional(A::Str), layout: optional(A::Array) },
    }

    /// Writes values to the program's outfeed.
    Outfeed = "stablehlo.outfeed" {
        operands: { inputs: many(T::Any), token: one(T::Any) },
        results: { result: one(T::Any) },
        attrs: { outfeed_config: optional(A::Str) },
    }
}
