//! Piper's dialects: definitions, verifiers, textual formats, interfaces. No passes.

#![forbid(unsafe_code)]

pub mod arith;
pub mod cf;
pub mod dag;
pub mod device;
pub mod func;
pub mod irdl;
pub mod kernel;
pub mod nn;
pub mod stablehlo;
pub mod strategy;

/// All dialects, for a context that knows everything.
pub fn all() -> Vec<piper_ir::Dialect> {
    vec![
        arith::dialect(),
        cf::dialect(),
        dag::dialect(),
        device::dialect(),
        func::dialect(),
        irdl::dialect(),
        kernel::dialect(),
        nn::dialect(),
        stablehlo::dialect(),
        stablehlo::chlo(),
        strategy::dialect(),
    ]
}
