//! StableHLO, in the forms that JAX prints: what a framework hands to a compiler.
//!
//! Operations, attributes and their text are those of the StableHLO specification (<https://openxla.org/stablehlo/spec>). The
//! generic form of every operation is read; the pretty form for the operations that JAX prints in it. Whatever else a pretty
//! printer makes is refused with the way out: print in the generic form (JAX: `get_asm(print_generic_op_form=True)`).
//!
//! `chlo` is the small part of that dialect which JAX leaves in its modules.
//!
//! Verifiers check shapes, element types and dimension numbers of the main operations. Elementwise operations, products,
//! sums, transpositions, reshapes and broadcasts say how their dimensions correspond and what they cost, so that whatever
//! asks those interfaces works on them as on `nn`.

mod attrs;
mod forms;
mod infer;
mod ops;
mod rules;
mod syntax;
mod types;
mod verify;

use piper_ir::{Dialect, ParamDef};

pub use attrs::{enum_case, field, list};
pub use ops::contraction::{Dot, DotGeneral};
pub use ops::control::{Case, Composite, CustomCall, If, Return, While};
pub use ops::elementwise::{binary, mixed, unary};
pub use ops::indexing::{Gather, Scatter};
pub use ops::reduction::{Reduce, ReduceWindow, Sort};
pub use ops::shape::{
    BroadcastInDim, Concatenate, Constant, DynamicSlice, DynamicUpdateSlice, Iota, Pad, Reshape,
    Slice, Transpose,
};

/// What stands around the examples in the documentation of the operations.
const SETTING: &str = r#"func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %n: tensor<4x8xi32>, %p: tensor<4x8xi1>,
             %zero: tensor<f32>, %c: tensor<i32>) {
  ...
  func.return
}
"#;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "stablehlo".into(),
        doc: "Tensor operations with StableHLO's semantics and text, as JAX prints them.".into(),
        ops: ops::all(),
        types: vec![ParamDef::new(
            "stablehlo.token",
            "Orders operations with effects.",
            |_| Ok(Vec::new()),
            |_, _| {},
        )],
        attrs: attrs::definitions(),
        setting: SETTING,
        ..Dialect::default()
    }
}

/// The part of `chlo` that JAX prints.
pub fn chlo() -> Dialect {
    Dialect {
        name: "chlo".into(),
        doc: "Functions and top-k, which decompose into StableHLO.".into(),
        ops: ops::chlo::op_defs(),
        ..Dialect::default()
    }
}
