//! The textual form: MLIR's text, read and written.
//!
//! The lexer and the recursive descent are written by hand because the grammar is open: a dialect's operations, types and
//! attributes read themselves from the same token cursor ([`Parser`]) and write themselves to the same [`Printer`].

mod aliases;
mod complaint;
mod format;
mod labels;
mod lexer;
mod metadata;
mod numbers;
mod parse_affine;
mod parse_alone;
mod parse_attrs;
mod parse_dense;
mod parse_locs;
mod parse_ops;
mod parse_types;
mod parser;
mod print_affine;
mod print_attrs;
mod print_dense;
mod print_parallel;
mod printer;
mod seen;
mod ssa_names;

pub(crate) use aliases::{type_wants_walk, wants_walk};
pub use format::{
    DirectiveDef, DirectiveReader, DirectiveWriter, Format, FormatError, ParseDirective,
    PrintDirective,
};
pub use lexer::{LexError, Token, TokenKind};
pub use parse_alone::{parse_attr, parse_type};
pub use parse_locs::ArgLoc;
pub use parse_ops::{EntryArg, parse_module, parse_without_module};
pub use parser::{Failed, ParseResult, Parser};
pub use print_attrs::{print_attr, print_loc, print_type};
pub use printer::{PrintOptions, Printer, print_module, print_op, write_module};
pub use ssa_names::OperandName;
