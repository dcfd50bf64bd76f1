//! Softmax cross-entropy.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::{COUNT, INDICES, REAL, SCALAR};
use crate::nn::{cost, gradients};

/// Why `V` stays whole.
const SOFTMAX: &[(&str, &str)] = &[("V", "the softmax is taken over it")];

piper_ir::dialect_ops! {
    /// Mean softmax cross-entropy with integer targets.
    ///
    /// `loss = sum over rows of (log(sum over v of exp logits[row, v]) - logits[row, targets[row]]) / denominator`, with
    /// `logits[.., V]`, `targets: i32[..]`, `loss` a scalar. The denominator is the number of rows of the whole batch; it
    /// stays the same when the batch is split, so that partial losses add up to the mean. The optional second result
    /// `lse[..] = log(sum over v of exp logits[.., v])` is what the gradient needs.
    ///
    /// ```mlir
    /// %loss, %lse = nn.cross_entropy %logits, %tokens {denominator = 32} : (tensor<4x8x64xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
    /// ```
    CrossEntropy = "nn.cross_entropy" {
        operands: { logits: one(REAL), targets: one(INDICES) },
        results: { loss: one(SCALAR), lse: optional(REAL) },
        attrs: { denominator: one(COUNT) },
        traits: [Pure],
        format: "$logits `,` $targets attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [Signature::new(&["* V", "*"], &["", "*"]).whole(SOFTMAX), Shardable(factors), CostModel(cost::an_operand::<0, 13>), Differentiable::Rule(gradients::loss::cross_entropy), Fusion::Alone("cross_entropy")],
    }

    /// Gradient of `nn.cross_entropy` by the logits.
    ///
    /// `dlogits = (exp(logits - lse) - onehot(targets)) dloss / denominator`, with `dloss` a scalar. Without the log-sum-exp
    /// `lse[..]` it is found again, at the cost of another pass over the logits.
    ///
    /// ```mlir
    /// %loss, %lse = nn.cross_entropy %logits, %tokens {denominator = 32} : (tensor<4x8x64xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
    /// %dlogits = nn.cross_entropy_dx %logits, %tokens, %dloss, %lse {denominator = 32} : (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<f32>, tensor<4x8xf32>) -> tensor<4x8x64xf32>
    /// ```
    CrossEntropyDx = "nn.cross_entropy_dx" {
        operands: { logits: one(REAL), targets: one(INDICES), dloss: one(SCALAR), lse: optional(REAL) },
        results: { dlogits: one(REAL) },
        attrs: { denominator: one(COUNT) },
        traits: [Pure],
        format: "$logits `,` $targets `,` $dloss (`,` $lse^)? attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["* V", "*", "", "*"], &["* V"]).linear_in(&["dloss"]).whole(SOFTMAX),
            Shardable(factors), CostModel(cost::cross_entropy_dx), Fusion::Alone("cross_entropy_dx"),
        ],
    }
}
