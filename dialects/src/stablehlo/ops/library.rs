//! Routines that a target's library has: linear algebra, Fourier transforms, random numbers, batch normalisation.

use piper_ir::{AttrConstraint as A, TypeConstraint as T};

use crate::stablehlo::syntax::library as syntax;
use crate::stablehlo::types::{FLOAT, INDEX, LIST};

piper_ir::dialect_ops! {
    /// The Cholesky factor of symmetric matrices: `stablehlo.cholesky %a, lower = true : (tensor<3x3xf32>) -> tensor<3x3xf32>`.
    Cholesky = "stablehlo.cholesky" {
        operands: { a: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { lower: optional(A::Bool) },
        traits: [Pure],
        syntax: (syntax::parse_cholesky, syntax::print_cholesky),
    }

    /// The solution of triangular systems of equations.
    TriangularSolve = "stablehlo.triangular_solve" {
        operands: { a: one(T::Tensor), b: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: {
            left_side: one(A::Bool),
            lower: one(A::Bool),
            unit_diagonal: one(A::Bool),
            transpose_a: one(A::Any),
        },
        traits: [Pure],
    }

    /// A Fourier transform: `stablehlo.fft %x, type = FFT, length = [9] : (tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>>`.
    Fft = "stablehlo.fft" {
        operands: { operand: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { fft_type: one(A::Any), fft_length: one(LIST) },
        traits: [Pure],
        syntax: (syntax::parse_fft, syntax::print_fft),
    }

    /// Random numbers of a distribution with two parameters:
    /// `stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>`.
    Rng = "stablehlo.rng" {
        operands: { a: one(T::Tensor), b: one(T::Tensor), shape: one(T::Tensor) },
        results: { result: one(T::Tensor) },
        attrs: { rng_distribution: one(A::Any) },
        syntax: (syntax::parse_rng, syntax::print_rng),
    }

    /// Random bits of an algorithm with a state: `stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) ->
    /// (tensor<2xui64>, tensor<4xui64>)`.
    RngBitGenerator = "stablehlo.rng_bit_generator" {
        operands: { initial_state: one(T::Tensor) },
        results: { output_state: one(T::Tensor), output: one(T::Tensor) },
        attrs: { rng_algorithm: one(A::Any) },
        traits: [Pure],
        syntax: (syntax::parse_rng_bits, syntax::print_rng_bits),
    }

    /// Batch normalisation with given statistics.
    BatchNormInference = "stablehlo.batch_norm_inference" {
        operands: {
            operand: one(FLOAT), scale: one(FLOAT), offset: one(FLOAT), mean: one(FLOAT), variance: one(FLOAT),
        },
        results: { result: one(FLOAT) },
        attrs: { epsilon: one(A::Float), feature_index: one(INDEX) },
        traits: [Pure],
    }

    /// Batch normalisation, with the statistics as further results.
    BatchNormTraining = "stablehlo.batch_norm_training" {
        operands: { operand: one(FLOAT), scale: one(FLOAT), offset: one(FLOAT) },
        results: { output: one(FLOAT), batch_mean: one(FLOAT), batch_var: one(FLOAT) },
        attrs: { epsilon: one(A::Float), feature_index: one(INDEX) },
        traits: [Pure],
    }

    /// Gradients of batch normalisation.
    BatchNormGrad = "stablehlo.batch_norm_grad" {
        operands: {
            operand: one(FLOAT), scale: one(FLOAT), mean: one(FLOAT), variance: one(FLOAT), grad_output: one(FLOAT),
        },
        results: { grad_operand: one(FLOAT), grad_scale: one(FLOAT), grad_offset: one(FLOAT) },
        attrs: { epsilon: one(A::Float), feature_index: one(INDEX) },
        traits: [Pure],
    }
}
