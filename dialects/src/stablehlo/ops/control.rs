//! Control flow, calls to the outside, and the end of a region.

use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::syntax::control as syntax;
use crate::stablehlo::types::{BOOLEAN, INTEGER};
use crate::stablehlo::verify::control as verify;

piper_ir::dialect_ops! {
    /// Ends a region and gives its values: `stablehlo.return %a : tensor<f32>`.
    Return = "stablehlo.return" {
        operands: { results: many(T::Any) },
        traits: [Terminator, Pure],
        format: "operands attr-dict (`:` type($results)^)?",
    }

    /// A loop: as long as `cond` gives true, `do` makes the next values.
    ///
    /// ```mlir
    /// %r:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<4x8xf32>
    /// cond {
    ///   %go_on = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    ///   stablehlo.return %go_on : tensor<i1>
    /// } do {
    ///   %next = stablehlo.add %i, %c : tensor<i32>
    ///   %u = stablehlo.tanh %v : tensor<4x8xf32>
    ///   stablehlo.return %next, %u : tensor<i32>, tensor<4x8xf32>
    /// }
    /// ```
    While = "stablehlo.while" {
        operands: { operand: many(T::Any) },
        results: { result: many(T::Any) },
        regions: { cond: one, body: one },
        traits: [SingleBlock],
        syntax: (syntax::parse_while, syntax::print_while),
        verify: verify::while_loop,
    }

    /// One of two regions, as a boolean says.
    If = "stablehlo.if" {
        operands: { pred: one(BOOLEAN) },
        results: { result: many(T::Any) },
        regions: { true_branch: one, false_branch: one },
        traits: [SingleBlock],
        verify: verify::branches,
    }

    /// One of several regions, as a number says; the last one for a number out of range.
    Case = "stablehlo.case" {
        operands: { index: one(INTEGER) },
        results: { result: many(T::Any) },
        regions: { branches: many },
        traits: [SingleBlock],
        verify: verify::branches,
    }

    /// Something that the target knows by name: `stablehlo.custom_call @Sharding(%x) {...} : (tensor<4xf32>) -> tensor<4xf32>`.
    CustomCall = "stablehlo.custom_call" {
        operands: { inputs: many(T::Any) },
        results: { result: many(T::Any) },
        attrs: {
            call_target_name: one(A::Str),
            has_side_effect: optional(A::Bool),
            backend_config: optional(A::Any),
            api_version: optional(A::Int),
            called_computations: optional(A::Array),
            operand_layouts: optional(A::Array),
            result_layouts: optional(A::Array),
            output_operand_aliases: optional(A::Array),
        },
        syntax: (syntax::parse_custom_call, syntax::print_custom_call),
    }

    /// A named operation with a function that says what it does: `stablehlo.composite "my.op" %x {composite_attributes = {},
    /// decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>`.
    Composite = "stablehlo.composite" {
        operands: { inputs: many(T::Any) },
        results: { outputs: many(T::Any) },
        attrs: {
            name: one(A::Str),
            composite_attributes: optional(A::Dict),
            decomposition: one(A::Symbol),
            version: optional(A::Int),
            composite_regions: optional(A::Any),
        },
        syntax: (syntax::parse_composite, syntax::print_composite),
        verify: verify::composite,
    }
}
