//! The `irdl` dialect: dialects as data.
//!
//! A file of `irdl` operations defines operations, types and attributes by constraints, in the spelling of MLIR's dialect of
//! this name, so that `mlir-opt --irdl-file` reads it too. [`load`] makes [`Dialect`]s of such a text: the same
//! [`OpDef`](piper_ir::OpDef)s that [`dialect_ops!`](piper_ir::dialect_ops) makes, which parser, printer, verifier and builders
//! cannot tell from built-in ones. What `irdl` has no word for (how an operation is written, its traits, its cost, what it
//! expands to) stands in attributes named `piper.…`, which MLIR passes over.
//!
//! `ops`, `syntax` and `verify` are the dialect itself; `references` finds what `@dialect::@name` stands for. Loading:
//! [`load`] reads and checks a text, `define` makes definitions, `constraint` holds their rules apart from any context
//! (`fixed` the values in them), `hooks` reads the `piper.…` attributes, `cost` and `template` two little languages in them.
//!
//! Counterparts in MLIR: the dialect `irdl` and `irdl::loadDialects`.

mod constraint;
mod cost;
mod define;
mod fixed;
mod hooks;
mod load;
mod ops;
mod place;
mod references;
mod syntax;
mod template;
mod verify;

pub use load::{Refusal, load};
pub use ops::*;

use piper_ir::{Dialect, ParamDef};

/// The type of a constraint.
const ATTRIBUTE: &str = "irdl.attribute";
/// The type of a constraint on a region.
const REGION: &str = "irdl.region";
/// On `irdl.base "!builtin.tensor"`: which elements.
const ELEMENTS: &str = "piper.elements";

const SETTING: &str = "
irdl.dialect @demo {
  irdl.operation @op {
    ...
  }
}
";

/// The dialect.
pub fn dialect() -> Dialect {
    let constraint = |name, doc| ParamDef::new(name, doc, |_| Ok(Vec::new()), |_, _| {});
    Dialect {
        name: "irdl".into(),
        doc:
            "Dialects as data: operations, types and attributes defined by constraints, as in MLIR."
                .into(),
        ops: ops::op_defs(),
        types: vec![
            constraint(ATTRIBUTE, "A constraint on types and attributes."),
            constraint(REGION, "A constraint on a region."),
        ],
        attrs: vec![syntax::variadicity_definition()],
        setting: SETTING,
        ..Dialect::default()
    }
}
