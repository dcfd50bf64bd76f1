//! Neural-network operations on whole tensors of one logical device: what a model computes, before any strategy.
//!
//! Every operation states its shapes as a [`Signature`], from which the verifier and the rule for dividing it
//! ([`Shardable`](piper_ir::interfaces::Shardable)) follow. What it costs, how a gradient goes back through it and with what
//! it is fused are interfaces too. Element types are f32, f64 or bf16, the same for all floating-point values of an operation but
//! `nn.cast` (bf16 is what values are stored in: operations compute in f32 and round their results; what is only declared, `nn.opaque`, is not computed); tokens and classes are i32. Tensors are row-major and of static shape. In the documentation "rows" are all leading dimensions
//! together. Backward operations are named after their forward one: `_dx` is the gradient of the input, `_dw` that of the
//! weights.

mod cost;
mod factors;
pub mod gradients;
mod infer;
pub mod init;
mod opaque;
mod ops;
mod signature;
mod types;

use piper_ir::Dialect;

pub use factors::factors;
pub use init::Init;
pub use opaque::{GivenCostOf, declared_only};
pub use ops::activation::{Gelu, GeluDx, Silu, SiluDx};
pub use ops::attention::{Attention, AttentionDx, Rotary};
pub use ops::elementwise::{Add, Constant, Convert, Mul, Scale, StopGradient, SumRows};
pub use ops::embedding::{Embedding, EmbeddingDw};
pub use ops::experts::{Combine, Dispatch, ExpertLinear, ExpertLinearDw, ExpertLinearDx};
pub use ops::linear::{Linear, LinearDw, LinearDx};
pub use ops::loss::{CrossEntropy, CrossEntropyDx};
pub use ops::norm::{LayerNorm, LayerNormDw, LayerNormDx, RmsNorm, RmsNormDw, RmsNormDx};
pub use ops::opaque::{Opaque, OpaqueDw, OpaqueDx};
pub use ops::parameter::Parameter;
pub use piper_ir::interfaces::Along;
pub use signature::{Linearity, Signature};

/// What stands around the examples in the documentation of the operations.
const SETTING: &str = r#"func.func @f(%x: tensor<4x8x16xf32>, %dy: tensor<4x8x16xf32>, %w: tensor<16x32xf32>, %dh: tensor<4x8x32xf32>,
             %gamma: tensor<16xf32>, %beta: tensor<16xf32>, %kv: tensor<4x8x8xf32>, %tokens: tensor<4x8xi32>,
             %table: tensor<64x16xf32>, %logits: tensor<4x8x64xf32>, %dloss: tensor<f32>) {
  ...
  func.return
}
"#;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "nn".into(),
        doc: "Neural-network operations on whole tensors, with their gradients.".into(),
        ops: ops::all(),
        attrs: vec![init::definition()],
        setting: SETTING,
        ..Dialect::default()
    }
}
