//! Neural-network operations on whole tensors of one logical device: what a model computes, before any strategy.
//!
//! Every operation states its shapes as a [`Signature`], from which the verifier and the rule for splitting a batch
//! ([`Batching`]) follow. Element types are f32 or f64, the same for all floating-point values of an operation; tokens and
//! classes are i32. Tensors are row-major and of static shape. In the documentation "rows" are all leading dimensions
//! together. Backward operations are named after their forward one: `_dx` is the gradient of the input, `_dw` that of the
//! weights.

pub mod batching;
pub mod init;
mod ops;
mod signature;
mod types;

use piper_ir::Dialect;

pub use batching::{Along, Batching};
pub use init::Init;
pub use ops::activation::{Gelu, GeluDx, Silu, SiluDx};
pub use ops::attention::{Attention, AttentionDx, Rotary};
pub use ops::elementwise::{Add, Constant, Mul, Scale, StopGradient, SumRows};
pub use ops::embedding::{Embedding, EmbeddingDw};
pub use ops::linear::{Linear, LinearDw, LinearDx};
pub use ops::loss::{CrossEntropy, CrossEntropyDx};
pub use ops::norm::{LayerNorm, LayerNormDw, LayerNormDx, RmsNorm, RmsNormDw, RmsNormDx};
pub use ops::parameter::Parameter;
pub use signature::{Linearity, Signature};

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "nn",
        doc: "Neural-network operations on whole tensors, with their gradients.",
        ops: ops::all(),
        attrs: vec![init::definition()],
        ..Dialect::default()
    }
}
