//! Reductions, whose region joins two values.

use piper_ir::interfaces::{CostModel, Shardable};
use piper_ir::{AttrConstraint as A, Module, TypeConstraint as T, Value};

use crate::stablehlo::infer;
use crate::stablehlo::rules;
use crate::stablehlo::syntax::reduction as syntax;
use crate::stablehlo::types::LIST;
use crate::stablehlo::verify::reduction as verify;

piper_ir::dialect_ops! {
    /// Values joined along some dimensions, beginning with an initial value.
    ///
    /// ```mlir
    /// %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    /// %pair:2 = stablehlo.reduce(%x init: %zero), (%n init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    ///  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    ///   %go = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    ///   %v = stablehlo.select %go, %a, %b : tensor<i1>, tensor<f32>
    ///   %k = stablehlo.select %go, %i, %j : tensor<i1>, tensor<i32>
    ///   stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    /// }
    /// ```
    ///
    /// The region takes the values so far and the next ones. The short form `applies` stands for a region of one commutative
    /// operation. In the generic form the initial values follow the operands, as many of them.
    Reduce = "stablehlo.reduce" {
        operands: { inputs: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: { dimensions: one(LIST) },
        regions: { body: one },
        traits: [Pure, SingleBlock],
        syntax: (syntax::parse_reduce, syntax::print_reduce),
        infer: infer::reduce,
        verify: verify::reduce,
        interfaces: [Shardable(rules::reduce), CostModel(rules::reduce_cost)],
    }

    /// Values joined in windows that slide over the operand.
    ReduceWindow = "stablehlo.reduce_window" {
        operands: { inputs: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: {
            window_dimensions: one(LIST),
            window_strides: optional(LIST),
            base_dilations: optional(LIST),
            window_dilations: optional(LIST),
            padding: optional(A::Any),
        },
        regions: { body: one },
        traits: [Pure, SingleBlock],
        verify: verify::reduce_window,
    }

    /// The value that a region picks from each window gets what another tensor scatters.
    SelectAndScatter = "stablehlo.select_and_scatter" {
        operands: { operand: one(T::Tensor), source: one(T::Tensor), init_value: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { window_dimensions: optional(LIST), window_strides: optional(LIST), padding: optional(A::Any) },
        regions: { select: one, scatter: one },
        traits: [Pure, SingleBlock],
    }

    /// A region applied to the values of several tensors.
    Map = "stablehlo.map" {
        operands: { inputs: many(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { dimensions: one(LIST) },
        regions: { computation: one },
        traits: [Pure, SingleBlock],
    }

    /// Tensors sorted together along a dimension; the region says whether the first comes before the second.
    Sort = "stablehlo.sort" {
        operands: { inputs: many(T::Tensor) },
        results: { result: many(T::Tensor) },
        attrs: { dimension: optional(A::Int), is_stable: optional(A::Bool) },
        regions: { comparator: one },
        traits: [Pure, SingleBlock],
    }
}

impl Reduce {
    /// What is reduced.
    pub fn reduced(self, module: &Module) -> Vec<Value> {
        module.operands(self.0).take(module.num_operands(self.0) / 2).collect()
    }

    /// The initial values, one for each.
    pub fn initial(self, module: &Module) -> Vec<Value> {
        module.operands(self.0).skip(module.num_operands(self.0) / 2).collect()
    }
}
