//! One function an operation, one file a family.
//!
//! `*_dx` is the gradient of the input (pass `BI`), `*_dw` that of the weights (pass `BW`). All are generic over the
//! element type [`crate::Real`]; operands of another type are errors.

pub mod activation;
pub mod attention;
pub mod cross_entropy;
pub mod elementwise;
pub mod embedding;
pub mod experts;
pub mod linear;
pub mod norm;
pub mod optimizer;
pub mod parameter;
pub mod rotary;
pub mod tree_sum;

pub use activation::{gelu, gelu_dx, silu, silu_dx};
pub use attention::{attention, attention_dx};
pub use cross_entropy::{cross_entropy, cross_entropy_dx};
pub use elementwise::{add, constant, mul, scale, stop_gradient, sum_rows};
pub use embedding::{embedding, embedding_dw};
pub use experts::{combine, dispatch, expert_linear, expert_linear_dw, expert_linear_dx};
pub use linear::{linear, linear_dw, linear_dx};
pub use norm::{layer_norm, layer_norm_dw, layer_norm_dx, rms_norm, rms_norm_dw, rms_norm_dx};
pub use optimizer::{AdamW, Sgd, clip_scale, sum_squares};
pub use parameter::parameter;
pub use rotary::rotary;
pub use tree_sum::tree_sum;
