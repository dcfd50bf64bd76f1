//! The pretty forms that JAX prints, one file a family of operations.

pub(super) mod contraction;
pub(super) mod control;
pub(super) mod convolution;
pub(super) mod elementwise;
pub(super) mod library;
pub(super) mod reduction;
pub(super) mod shape;
