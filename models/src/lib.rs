//! Published models as `.pir` text: every layer a call of declared functions with shapes and costs, so that strategies for
//! them are planned, verified and simulated without their kernels.
//!
//! ```
//! use piper_models::{Run, find, text};
//! let model = find("mixtral-8x7b").unwrap().with_layers(2);
//! let run = Run { pp: 2, ep: 2, microbatches: 4, ..Run::default() };
//! assert!(text(&model, &run).unwrap().contains("strategy.plan @train"));
//! ```
//!
//! Costs follow from dimensions ([`Model::attention`] and its neighbours): a multiply-add is two operations, causal attention
//! counts the half of the scores that causality leaves. What is not matrix products (norms, rotary positions, softmax, gates' activations) is
//! left out of operations; bytes are not stated, so that a launch moves at least its operands and results.
//! The gradient of a product costs once for its input and once for its weights; that of the attention itself recomputes the scores:
//! five products for two, all of them in the input half (Dao et al. 2022). A function keeps for its gradient what enters, and as a second
//! result the operands of its activations, or queries, keys, values and output of the attention (of latent attention the compressed
//! vectors, which are projected up again); norms are recomputed at no cost. [`Run::keeps`] can be off: then only what enters is kept.

#![forbid(unsafe_code)]

mod layers;
mod model;
mod program;
mod run;

pub use layers::{Cost, Piece};
pub use model::{Attention, Experts, MODELS, Model, find};
pub use program::text;
pub use run::{Run, Schedule};
