//! Kernels that Piper itself brings: gradient accumulation and what optimizers are made of.
//!
//! This is the one place that says what their parameters are. Interpreters and code generation both resolve a
//! `device.kernel` through [`BuiltinKernel`]; the arithmetic is that of the reference interpreter's optimizer operations.

use piper_ir::{Attr, Context};

use super::Mode;

/// The names, as `device.kernel` writes them.
pub(super) const NAMES: &[&str] =
    &["accumulate", "sgd", "adamw", "sum_squares", "clip_scale", "sum", "cast"];

/// A built-in kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BuiltinKernel {
    /// `into += from`, element by element. No constants.
    Accumulate,
    /// `p -= lr * (g*scale + weight_decay*p)`; with `momentum`: `m = momentum*m + (g*scale + weight_decay*p); p -= lr*m`.
    /// Constants: `weight_decay`, `momentum`.
    Sgd,
    /// Adam with decoupled weight decay, `step` counted from 1. Constants: `beta1`, `beta2`, `eps`, `weight_decay`.
    AdamW,
    /// The sum of the squares of all elements of its operands, accumulated and given in `f64`.
    SumSquares,
    /// `min(1, max_norm / (sqrt(total) + 1e-6))` in the type of the result. Constant: `max_norm`.
    ClipScale,
    /// The sum of numbers, in operand order.
    Sum,
    /// The same values in another element type, rounded to the nearest.
    Cast,
}

/// A buffer parameter of a built-in kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// How it is used.
    pub mode: Mode,
    /// Whether any number of buffers may stand for it.
    pub many: bool,
}

const fn parameter(name: &'static str, mode: Mode) -> Parameter {
    Parameter { name, mode, many: false }
}

impl BuiltinKernel {
    /// All of them, in the order of their names in the dialect.
    pub const ALL: [BuiltinKernel; 7] = [
        Self::Accumulate,
        Self::Sgd,
        Self::AdamW,
        Self::SumSquares,
        Self::ClipScale,
        Self::Sum,
        Self::Cast,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES[Self::ALL.iter().position(|k| *k == self).expect("all are listed")]
    }

    /// The kernel of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().position(|n| *n == name).map(|at| Self::ALL[at])
    }

    /// Its buffer parameters in order (reads, then updates, then writes), given its constants: `momentum` of `sgd` other than 0
    /// brings the momentum buffer, `clipped` of the optimizers the clipping factor.
    pub fn parameters(self, ctx: &Context, hyper: Attr) -> Vec<Parameter> {
        let clipped = hyper.get(ctx, "clipped").is_some();
        let momentum = hyper.get(ctx, "momentum").and_then(|m| m.as_number(ctx)).unwrap_or(0.0);
        let mut list = Vec::new();
        match self {
            Self::Accumulate => {
                list.extend([parameter("from", Mode::Read), parameter("into", Mode::Update)]);
            }
            Self::Sgd | Self::AdamW => {
                list.push(parameter("gradient", Mode::Read));
                if clipped {
                    list.push(parameter("scale", Mode::Read));
                }
                list.push(parameter("parameter", Mode::Update));
                if self == Self::AdamW {
                    list.extend([parameter("m", Mode::Update), parameter("v", Mode::Update)]);
                } else if momentum != 0.0 {
                    list.push(parameter("momentum", Mode::Update));
                }
            }
            Self::SumSquares | Self::Sum => {
                list.push(Parameter { name: "values", mode: Mode::Read, many: true });
                list.push(parameter("sum", Mode::Write));
            }
            Self::Cast => {
                list.extend([parameter("from", Mode::Read), parameter("to", Mode::Write)]);
            }
            Self::ClipScale => {
                list.extend([parameter("total", Mode::Read), parameter("scale", Mode::Write)]);
            }
        }
        list
    }

    /// Its runtime scalars, in order.
    pub fn scalars(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &["lr"],
            Self::AdamW => &["lr", "step"],
            _ => &[],
        }
    }
}
