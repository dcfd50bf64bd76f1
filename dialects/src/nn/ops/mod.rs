//! The operations, one file a family.

pub(super) mod activation;
pub(super) mod attention;
pub(super) mod elementwise;
pub(super) mod embedding;
pub(super) mod experts;
pub(super) mod linear;
pub(super) mod loss;
pub(super) mod norm;
pub(super) mod opaque;
pub(super) mod parameter;

use std::sync::Arc;

use piper_ir::OpDef;

/// The definitions of all operations of the dialect.
pub(super) fn all() -> Vec<Arc<OpDef>> {
    [
        parameter::op_defs(),
        embedding::op_defs(),
        linear::op_defs(),
        experts::op_defs(),
        norm::op_defs(),
        activation::op_defs(),
        elementwise::op_defs(),
        attention::op_defs(),
        loss::op_defs(),
        opaque::op_defs(),
    ]
    .concat()
}
