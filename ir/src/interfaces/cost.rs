//! What an operation costs, from its types alone.
//!
//! Schedules, fusion and reports ask this interface; what the numbers are made of is the operation's own business. A
//! multiply-add is two floating-point operations, a transcendental function ten; bytes are what must at least move between
//! memory and core if nothing is fused.

use crate::{Module, Op, Value};

/// Floating-point operations and bytes of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Cost {
    /// The cost of an operation that reads all its operands and writes all its results.
    pub fn moving_all(module: &Module, op: Op, flops: u64) -> Self {
        Self {
            flops,
            read: module.operands(op).map(|v| bytes(module, v)).sum(),
            written: module.results(op).map(|v| bytes(module, v)).sum(),
        }
    }

    /// Bytes read and written.
    pub fn bytes(self) -> u64 {
        self.read + self.written
    }

    /// Floating-point operations a byte: the arithmetic intensity. `None` if nothing moves.
    pub fn intensity(self) -> Option<f64> {
        (self.bytes() > 0).then(|| self.flops as f64 / self.bytes() as f64)
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            flops: self.flops + other.flops,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }
}

/// The interface: an operation's cost as a function of its types and attributes.
#[derive(Clone, Copy, Debug)]
pub struct CostModel(pub fn(&Module, Op) -> Cost);

/// What an operation costs, if it says so.
pub fn cost(module: &Module, op: Op) -> Option<Cost> {
    let model = module.def(op)?.interface::<CostModel>()?;
    Some((model.0)(module, op))
}

/// Bytes of a tensor of static shape; 0 for anything else.
pub fn bytes(module: &Module, value: Value) -> u64 {
    module.ty(value).num_bytes(module.ctx()).unwrap_or(0)
}

/// Elements of a tensor of static shape; 0 for anything else.
pub fn elements(module: &Module, value: Value) -> u64 {
    module.ty(value).num_elements(module.ctx()).unwrap_or(0)
}
