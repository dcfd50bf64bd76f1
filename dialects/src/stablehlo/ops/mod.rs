//! The operations, one file a family.

pub(super) mod chlo;
pub(super) mod collective;
pub(super) mod contraction;
pub(super) mod control;
pub(super) mod elementwise;
pub(super) mod indexing;
pub(super) mod library;
pub(super) mod reduction;
pub(super) mod shape;

use std::sync::Arc;

use piper_ir::OpDef;

/// The definitions of all operations of `stablehlo`.
pub(super) fn all() -> Vec<Arc<OpDef>> {
    [
        elementwise::binary::op_defs(),
        elementwise::unary::op_defs(),
        elementwise::mixed::op_defs(),
        shape::op_defs(),
        contraction::op_defs(),
        reduction::op_defs(),
        indexing::op_defs(),
        control::op_defs(),
        collective::op_defs(),
        library::op_defs(),
    ]
    .concat()
}
