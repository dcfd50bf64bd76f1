//! Arithmetic on numbers, and on vectors and tensors of them value by value, as MLIR's `arith` dialect has it.
//!
//! The generic form and the semantics are MLIR's: `mlir-opt` reads what Piper prints, and folds to the same values. What is
//! undefined there (division by zero, shifts by the width) is not folded. `scaling_extf` and `scaling_truncf` are absent.

mod cast;
mod cast_folds;
mod chains;
mod compare;
mod compare_folds;
mod constant;
mod flags;
mod float;
mod float_folds;
mod integer;
mod integer_folds;
mod numbers;
mod patterns;
mod syntax;
mod types;
mod verify;

use piper_ir::Dialect;

pub use cast::{
    Bitcast, ExtF, ExtSI, ExtUI, FPToSI, FPToUI, IndexCast, IndexCastUI, SIToFP, TruncF, TruncI,
    UIToFP,
};
pub use compare::{CmpF, CmpI, Select};
pub use constant::{Constant, constant_state};
pub use float::{AddF, DivF, MaxNumF, MaximumF, MinNumF, MinimumF, MulF, NegF, RemF, SubF};
pub use integer::{
    AddI, AddUIExtended, AndI, CeilDivSI, CeilDivUI, DivSI, DivUI, FloorDivSI, MaxSI, MaxUI, MinSI,
    MinUI, MulI, MulSIExtended, MulUIExtended, OrI, RemSI, RemUI, ShLI, ShRSI, ShRUI, SubI, XOrI,
};

/// The dialect.
pub fn dialect() -> Dialect {
    let ops = [
        constant::op_defs(),
        integer::op_defs(),
        float::op_defs(),
        compare::op_defs(),
        cast::op_defs(),
    ];
    Dialect {
        name: "arith".into(),
        doc: "Arithmetic on integers and floating-point numbers, as in MLIR.".into(),
        ops: ops.into_iter().flatten().collect(),
        attrs: flags::definitions(),
        materialize: Some(constant::materialize),
        ..Dialect::default()
    }
}
