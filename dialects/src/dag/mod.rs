//! The DAG level: the whole step as one graph of compute chunks, transfers and collectives over distributed values.
//!
//! What could compose silently wrong is in the types ([`Dist`]): where a value lives, how it is sharded, and what it is still a
//! partial sum over. The verifiers of the operations are the rules by which these may change.

pub mod dist;
mod infer;
mod ops;
mod sizes;
mod verify;

pub use dist::{AxisSizes, Dist, Held, Home, MICROBATCH, Part};
pub use ops::*;
pub use verify::collective_axes;

use piper_ir::Dialect;

/// What stands around the examples in the documentation of the operations.
const SETTING: &str = r#"!weight = !dag.dist<tensor<4xf32>, @cluster on {pp = 0}>
!part = !dag.dist<tensor<4xf32>, @cluster on {pp = 0}, partial = {"dp"}>
!number = !dag.dist<tensor<f64>, @cluster on {pp = 0}>
strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
strategy.group @ends on @cluster [{pp = 0}, {pp = 1}]
func.func private @model()
func.func private @stage(tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
dag.graph @step of @model on @cluster microbatches 2 {
  %x = dag.input "x" : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"dp", "mb"}, {}]>
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !weight
  %m = dag.state "w.momentum" {init = 0.0} : !weight
  %grad = dag.input "grad" : !part
  ...
}
"#;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "dag".into(),
        doc: "The global training step: compute chunks, transfers and collectives over distributed values.".into(),
        ops: op_defs(),
        types: vec![dist::definition()],
        setting: SETTING,
        ..Dialect::default()
    }
}
