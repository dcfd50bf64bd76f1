//! The device level: what each device class runs, in the order in which it issues it.
//!
//! A `device.plan` holds declarations (communicators, inputs, outputs, states, scalars, kernels) and one `device.program` for
//! each class of devices; it is the text of a compiled plan. A program declares its buffers (ranges of one arena) and then
//! lists instructions; the stream is an attribute of each, and `device.record` and `device.wait` order streams. Buffers are
//! flat (`memref<4096xf32>`): what shape their elements have matters to kernels alone.
//!
//! The order of the text is the order of issue. Communication that meets at another device appears there at the same place
//! of one global order, which is why nothing can wait in a circle.

mod accesses;
mod kernels;
mod ops;
mod verify;

pub use accesses::{Access, Mode, accesses, base_buffer, is_instruction};
pub use kernels::{BuiltinKernel, Parameter};
pub use ops::*;

use piper_ir::Dialect;

/// What stands around the examples in the documentation of the operations.
const SETTING: &str = r#"strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
func.func private @f(tensor<2x4xf32>) -> tensor<8xf32>
device.plan "step" on @cluster {
  device.comm @dp members [{dp = 0}, {dp = 1}]
  device.comm @p2p members []
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.output "grad.w" : tensor<4x4xf32>
  device.state "w" : tensor<4x4xf32> init 0.0
  device.kernel @add accumulate {} : (memref<8xf32>, memref<8xf32>) -> ()
  device.program @first for {pp = 0} streams ["compute", "comm"] {
    %w = device.buffer "w" : memref<16xf32> persistent
    %v = device.view "v" of %w : memref<8xf32> from 8
    %x = device.buffer "x" : memref<8xf32>
    ...
  }
}
"#;

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "device".into(),
        doc: "Programs of device classes: buffers, launches, communication and events, in issue order.".into(),
        ops: op_defs(),
        setting: SETTING,
        ..Dialect::default()
    }
}
