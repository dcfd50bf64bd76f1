//! Reading and writing at places that tensors of indices say.

use piper_ir::interfaces::CostModel;
use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::attrs::{GATHER_ATTR, SCATTER_ATTR};
use crate::stablehlo::rules;
use crate::stablehlo::types::{INTEGER, LIST};
use crate::stablehlo::verify::indexing as verify;

piper_ir::dialect_ops! {
    /// Slices of a tensor at places that indices say.
    Gather = "stablehlo.gather" {
        operands: { operand: one(T::Tensor), start_indices: one(INTEGER) },
        results: { result: one(T::Tensor) },
        attrs: {
            dimension_numbers: one(GATHER_ATTR),
            slice_sizes: one(LIST),
            indices_are_sorted: optional(A::Bool),
        },
        traits: [Pure],
        verify: verify::gather,
        interfaces: [CostModel(rules::gather_cost)],
    }

    /// As `stablehlo.gather`, with slice sizes that a value says.
    DynamicGather = "stablehlo.dynamic_gather" {
        operands: { operand: one(T::Tensor), start_indices: one(INTEGER), slice_sizes: one(INTEGER) },
        results: { result: one(T::Tensor) },
        attrs: { dimension_numbers: one(GATHER_ATTR), indices_are_sorted: optional(A::Bool) },
        traits: [Pure],
    }

    /// Tensors with updates joined by the region at places that indices say. The operands are the tensors, the indices, and an
    /// update for each tensor.
    Scatter = "stablehlo.scatter" {
        operands: { inputs: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: {
            scatter_dimension_numbers: one(SCATTER_ATTR),
            indices_are_sorted: optional(A::Bool),
            unique_indices: optional(A::Bool),
        },
        regions: { update_computation: one },
        traits: [Pure, SingleBlock],
        verify: verify::scatter,
        interfaces: [CostModel(rules::no_flops)],
    }
}
