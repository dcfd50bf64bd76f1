//! Reference interpreters for every level of Piper's IR: the semantics that lowerings are tested against.
//!
//! [`func`] runs functions of the model level, whole models as well as the outlined bodies of compute chunks; [`kernel`] gives
//! what device programs launch as functions on flat buffers.
//!
//! The bottom of the crate is plain numerics that know no IR: [`tensor`] holds values, [`ops`] has one function for each
//! model-level and optimizer-level operation. They are written as their formulas read, with a fixed order of evaluation,
//! so that two runs agree bitwise and a lowering has something unambiguous to be compared with. Nothing here is tuned;
//! the loops are merely ordered so that a small model trains in reasonable time.
//!
//! Sums run in ascending index order in the element type itself (f32 sums are f32 sums), except where an operation says
//! otherwise. Shapes and element types are checked at the head of every function by [`shapes::Shapes`]; what does not fit
//! is an [`error::NumericError`] naming the operation, the operand and the dimension.
#![forbid(unsafe_code)]

pub mod dag;
pub mod error;
pub mod func;
pub mod kernel;
pub mod ops;
pub mod real;
pub mod shapes;
pub mod tensor;

pub use error::NumericError;
pub use piper_plan::Init;
pub use real::Real;
pub use tensor::{Data, Element, ElementType, Tensor};
