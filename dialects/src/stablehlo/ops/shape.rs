//! Operations that move values without computing any, and those that make them from nothing.

use piper_ir::interfaces::{CostModel, Shardable};
use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::forms::{parse_same, print_plain};
use crate::stablehlo::infer;
use crate::stablehlo::rules;
use crate::stablehlo::syntax::shape as syntax;
use crate::stablehlo::types::{INDEX, INTEGER, LIST};
use crate::stablehlo::verify::shape as verify;

piper_ir::dialect_ops! {
    /// A tensor of constants: `stablehlo.constant dense<1.0> : tensor<4xf32>`.
    Constant = "stablehlo.constant" {
        results: { output: one(T::Tensor) },
        attrs: { value: one(A::Any) },
        traits: [Pure, ConstantLike],
        syntax: (syntax::parse_constant, syntax::print_constant),
        verify: verify::constant,
        interfaces: [Shardable(rules::nothing), CostModel(rules::no_flops)],
    }

    /// The position along one dimension: `stablehlo.iota dim = 0 : tensor<4x8xi32>`.
    Iota = "stablehlo.iota" {
        results: { output: one(T::Tensor) },
        attrs: { iota_dimension: one(INDEX) },
        traits: [Pure],
        syntax: (syntax::parse_iota, syntax::print_iota),
        verify: verify::iota,
        interfaces: [Shardable(rules::nothing), CostModel(rules::no_flops)],
    }

    /// A tensor repeated along new dimensions, and along those of size 1.
    ///
    /// Dimension `i` of the operand is dimension `dims[i]` of the result.
    ///
    /// ```mlir
    /// %y = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    /// %z = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    /// ```
    BroadcastInDim = "stablehlo.broadcast_in_dim" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { broadcast_dimensions: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_broadcast_in_dim, syntax::print_broadcast_in_dim),
        verify: verify::broadcast_in_dim,
        interfaces: [Shardable(rules::broadcast_in_dim), CostModel(rules::no_flops)],
    }

    /// A tensor repeated along new leading dimensions.
    ///
    /// ```mlir
    /// %y = stablehlo.broadcast %x, sizes = [2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    /// ```
    Broadcast = "stablehlo.broadcast" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { broadcast_sizes: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_broadcast, syntax::print_broadcast),
        interfaces: [CostModel(rules::no_flops)],
    }

    /// The same values in row-major order under another shape.
    Reshape = "stablehlo.reshape" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
        verify: verify::reshape,
        interfaces: [Shardable(rules::reshape), CostModel(rules::no_flops)],
    }

    /// The bits under another element type.
    BitcastConvert = "stablehlo.bitcast_convert" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
        interfaces: [CostModel(rules::no_flops)],
    }

    /// Dimensions in another order: dimension `i` of the result is dimension `dims[i]` of the operand.
    ///
    /// ```mlir
    /// %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    /// ```
    Transpose = "stablehlo.transpose" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { permutation: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_transpose, syntax::print_transpose),
        infer: infer::transpose,
        verify: verify::transpose,
        interfaces: [Shardable(rules::transpose), CostModel(rules::no_flops)],
    }

    /// Values in reverse along some dimensions: `stablehlo.reverse %x, dims = [0] : tensor<4xf32>`.
    Reverse = "stablehlo.reverse" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { dimensions: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_reverse, syntax::print_reverse),
        infer: infer::like_first,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// Tensors one after the other along a dimension.
    ///
    /// ```mlir
    /// %y = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    /// ```
    Concatenate = "stablehlo.concatenate" {
        operands: { inputs: many(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { dimension: one(INDEX) },
        traits: [Pure],
        syntax: (syntax::parse_concatenate, syntax::print_concatenate),
        infer: infer::concatenate,
        verify: verify::concatenate,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// A part at fixed places: start, limit and, unless it is 1, stride of each dimension.
    ///
    /// ```mlir
    /// %y = stablehlo.slice %x [0:2, 1:8:3] : (tensor<4x8xf32>) -> tensor<2x3xf32>
    /// ```
    Slice = "stablehlo.slice" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { start_indices: one(LIST), limit_indices: one(LIST), strides: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_slice, syntax::print_slice),
        infer: infer::slice,
        verify: verify::slice,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// A part at places that values say.
    ///
    /// ```mlir
    /// %y = stablehlo.dynamic_slice %x, %c, %c, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    /// ```
    DynamicSlice = "stablehlo.dynamic_slice" {
        operands: { operand: one(T::Tensor), start_indices: many(INTEGER) },
        results: { result: one(T::Tensor) },
        attrs: { slice_sizes: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_dynamic_slice, syntax::print_dynamic_slice),
        infer: infer::dynamic_slice,
        verify: verify::dynamic_slice,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// A tensor with a part replaced at places that values say.
    DynamicUpdateSlice = "stablehlo.dynamic_update_slice" {
        operands: { operand: one(T::Tensor), update: one(T::Tensor), start_indices: many(INTEGER) },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
        infer: infer::like_first,
        verify: verify::dynamic_update_slice,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// A tensor with values added (or, where negative, taken away) at its edges and between its values.
    ///
    /// ```mlir
    /// %y = stablehlo.pad %x, %zero, low = [0, 1], high = [2, 1], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<9x10xf32>
    /// ```
    Pad = "stablehlo.pad" {
        operands: { operand: one(T::Tensor), padding_value: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { edge_padding_low: one(LIST), edge_padding_high: one(LIST), interior_padding: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_pad, syntax::print_pad),
        infer: infer::pad,
        verify: verify::pad,
        interfaces: [CostModel(rules::no_flops)],
    }

    /// The size of a dimension: `stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>`.
    GetDimensionSize = "stablehlo.get_dimension_size" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(INTEGER) },
        attrs: { dimension: one(INDEX) },
        traits: [Pure],
        syntax: (syntax::parse_get_dimension_size, syntax::print_get_dimension_size),
    }

    /// As `stablehlo.reshape`, to a shape that a value says.
    DynamicReshape = "stablehlo.dynamic_reshape" {
        operands: { operand: one(T::Tensor), output_shape: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
    }

    /// As `stablehlo.broadcast_in_dim`, to a shape that a value says.
    DynamicBroadcastInDim = "stablehlo.dynamic_broadcast_in_dim" {
        operands: { operand: one(T::Tensor), output_dimensions: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: {
            broadcast_dimensions: one(LIST),
            known_expanding_dimensions: optional(LIST),
            known_nonexpanding_dimensions: optional(LIST),
        },
        traits: [Pure],
        syntax: (syntax::parse_dynamic_broadcast, syntax::print_dynamic_broadcast),
    }

    /// As `stablehlo.iota`, of a shape that a value says.
    DynamicIota = "stablehlo.dynamic_iota" {
        operands: { output_shape: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { iota_dimension: one(INDEX) },
        traits: [Pure],
        syntax: (syntax::parse_dynamic_iota, syntax::print_dynamic_iota),
    }

    /// As `stablehlo.slice`, with bounds and strides that values say.
    RealDynamicSlice = "stablehlo.real_dynamic_slice" {
        operands: {
            operand: one(T::Tensor),
            start_indices: one(T::Tensor),
            limit_indices: one(T::Tensor),
            strides: one(T::Tensor),
        },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
    }

    /// As `stablehlo.pad`, with sizes that values say.
    DynamicPad = "stablehlo.dynamic_pad" {
        operands: {
            operand: one(T::Tensor),
            padding_value: one(T::Tensor),
            edge_padding_low: one(T::Tensor),
            edge_padding_high: one(T::Tensor),
            interior_padding: one(T::Tensor),
        },
        results: { result: one(T::Tensor) },
        traits: [Pure],
        format: "operands attr-dict `:` functional-type(operands, results)",
    }

    /// The values as they are; what uses them may not be moved before it.
    OptimizationBarrier = "stablehlo.optimization_barrier" {
        operands: { operand: many(T::Any) },
        results: { result: many(T::Any) },
        syntax: (syntax::parse_barrier, syntax::print_barrier),
    }

    /// Values as a tuple: `stablehlo.tuple %a, %b : tuple<tensor<f32>, tensor<i32>>`.
    Tuple = "stablehlo.tuple" {
        operands: { val: many(T::Any) },
        results: { result: one(T::Any) },
        traits: [Pure],
        syntax: (syntax::parse_tuple, syntax::print_tuple),
        verify: verify::tuple,
    }

    /// A member of a tuple: `stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>>) -> tensor<f32>`.
    GetTupleElement = "stablehlo.get_tuple_element" {
        operands: { operand: one(T::Any) },
        results: { result: one(T::Any) },
        attrs: { index: one(INDEX) },
        traits: [Pure],
        syntax: (syntax::parse_get_tuple_element, syntax::print_get_tuple_element),
        verify: verify::get_tuple_element,
    }

    /// A token that orders nothing yet: `stablehlo.create_token : !stablehlo.token`.
    CreateToken = "stablehlo.create_token" {
        results: { output: one(T::Any) },
        traits: [Pure],
        format: "attr-dict `:` type($output)",
    }

    /// A token after several: `stablehlo.after_all %a, %b : !stablehlo.token`.
    AfterAll = "stablehlo.after_all" {
        operands: { inputs: many(T::Any) },
        results: { result: one(T::Any) },
        traits: [Pure],
        syntax: (parse_same, print_plain),
    }
}
