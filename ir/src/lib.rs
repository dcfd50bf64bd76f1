//! Piper's IR core: an MLIR-style framework.
//!
//! A [`Context`] holds what is shared (interned types, attributes, locations, the registered dialects); a [`Module`] holds
//! operations in arenas of `u32` handles. Operations are declared once with [`dialect_ops!`], as data ([`OpDef`]), from
//! which text, verification, typed views and documentation come. [`text`] reads and writes MLIR text, [`verify`] checks,
//! [`pass`] runs pipelines.
//!
//! **Invariant:** this crate knows no dialect but `builtin`.

#![forbid(unsafe_code)]

extern crate self as piper_ir;

pub mod affine;
pub mod analysis;
mod attrs;
mod builder;
pub mod builtin;
mod context;
mod dense;
pub mod diag;
mod dialect_macro;
mod entity;
mod float;
pub mod interfaces;
mod intern;
mod location;
mod module;
mod opdef;
pub mod pass;
pub mod resources;
pub mod rewrite;
mod source;
pub mod text;
pub mod types;
pub mod verify;

pub use attrs::AttrData;
pub use builder::{BuildError, IntoAttr, IntoTypes, IntoValues, OpBuilder};
pub use context::Context;
pub use dense::{Blob, Dense};
pub use diag::{Diagnostic, Reporter, Severity};
pub use entity::{Attr, Block, Loc, Name, Op, OpName, Region, Type, Value};
pub use interfaces::{InferInput, InferTypes};
pub use location::LocData;
pub use module::{Builder, Module, OpState, Use, ValueDefinition};
pub use opdef::{
    Arity, AttrConstraint, AttrDef, AttrDefault, AttrPredicate, Dialect, DialectError, Example,
    OPERAND_SEGMENTS, OpDef, ParamDef, RESULT_SEGMENTS, RegionDef, SuccessorDef, Syntax, Trait,
    TypeConstraint, TypePredicate, ValueDef, Verify,
};
#[doc(hidden)]
pub use piper_ir_macros::declare_ops;
pub use source::{SourceFile, Sources};
pub use text::{
    DirectiveDef, DirectiveReader, DirectiveWriter, ParseResult, Parser, Printer, TokenKind,
};
pub use types::{DYNAMIC, FloatKind, Signedness, TypeData};
