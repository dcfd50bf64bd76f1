//! A stand-in for `libcublasLt.so.12`: matrix products on the streams of the stand-in `libcuda.so.1`.
//!
//! What a caller describes is checked as the manual has it, and said in words on standard error: a shape that does not fit, an
//! attribute of the wrong size, an algorithm of another product, workspace that is too small. A product is computed when its
//! stream gets there, from memory that the driver checks, with sums in f32 in ascending order.
//!
//! ```text
//! describe.rs   handles, descriptions, layouts, preferences and their attributes
//! choose.rs     whether a product fits, and how it would be computed
//! multiply.rs   products on streams
//! ```
#![allow(unsafe_code, non_snake_case)]
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod choose;
mod describe;
mod multiply;
mod objects;
