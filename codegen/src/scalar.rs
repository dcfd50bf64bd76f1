//! Scalar programs: what a fused elementwise kernel does to one element.
//!
//! A program is a list of operations in single-assignment order: operation `i` defines value `i` and may only use
//! earlier values. It is plain data so that kernels can be hashed, compared, sent to another process and evaluated by
//! the reference without any IR at hand. Every operation rounds once to the kernel's element type; nothing is
//! reassociated or contracted, which is why a map kernel of additions, multiplications and divisions gives the same
//! bits on every CPU.

use serde::{Deserialize, Serialize};

/// A real constant with bitwise equality and hashing, so that kernels holding one can be map keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Real(u64);

impl Real {
    /// The constant `value`, every bit kept (infinities and NaN payloads included).
    pub fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// The constant as a number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// Index of the operation that defined a value.
pub type ValueId = u32;

/// One operation of a scalar program. Values are numbers except the results of comparisons, which are truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScalarOp {
    /// A constant, rounded to the element type.
    Const(Real),
    /// The element of input `i` at the current position.
    Input(u32),
    /// Run-time scalar `i`, rounded to the element type.
    Scalar(u32),
    /// `a + b`.
    Add(ValueId, ValueId),
    /// `a - b`.
    Sub(ValueId, ValueId),
    /// `a * b`.
    Mul(ValueId, ValueId),
    /// `a / b`.
    Div(ValueId, ValueId),
    /// `-a`.
    Neg(ValueId),
    /// `if a > b { a } else { b }`; so a NaN in `a` yields `b`, a NaN in `b` yields NaN.
    Max(ValueId, ValueId),
    /// `if a < b { a } else { b }`, with NaN as for [`ScalarOp::Max`].
    Min(ValueId, ValueId),
    /// Correctly rounded square root.
    Sqrt(ValueId),
    /// `1 / sqrt(a)`, two roundings.
    Rsqrt(ValueId),
    /// `e^a`.
    Exp(ValueId),
    /// Natural logarithm; `-inf` at zero, NaN below.
    Log(ValueId),
    /// Hyperbolic tangent.
    Tanh(ValueId),
    /// Sine of radians. Not in f64 kernels.
    Sin(ValueId),
    /// Cosine of radians. Not in f64 kernels.
    Cos(ValueId),
    /// `2/sqrt(pi)` times the integral of `e^-t^2` from zero. Not in f64 kernels.
    Erf(ValueId),
    /// `a` to the whole, non-negative power `b` by square-and-multiply. Only in uniform programs.
    PowInt(ValueId, ValueId),
    /// Truth value of `a < b` (false on NaN).
    Less(ValueId, ValueId),
    /// Truth value of `a <= b` (false on NaN).
    LessEqual(ValueId, ValueId),
    /// Truth value of `a == b` (false on NaN).
    Equal(ValueId, ValueId),
    /// `if condition { a } else { b }`.
    Select(ValueId, ValueId, ValueId),
}

impl ScalarOp {
    /// The values this operation uses, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        use ScalarOp::*;
        match *self {
            Const(_) | Input(_) | Scalar(_) => vec![],
            Neg(a) | Sqrt(a) | Rsqrt(a) | Exp(a) | Log(a) | Tanh(a) | Sin(a) | Cos(a) | Erf(a) => {
                vec![a]
            }
            Add(a, b)
            | Sub(a, b)
            | Mul(a, b)
            | Div(a, b)
            | Max(a, b)
            | Min(a, b)
            | PowInt(a, b) => vec![a, b],
            Less(a, b) | LessEqual(a, b) | Equal(a, b) => vec![a, b],
            Select(c, a, b) => vec![c, a, b],
        }
    }

    /// Whether the result is a truth value rather than a number.
    pub fn is_comparison(&self) -> bool {
        matches!(self, Self::Less(..) | Self::LessEqual(..) | Self::Equal(..))
    }

    /// Whether it is there for f32 only (and bf16, which is computed in f32).
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Sin(_) | Self::Cos(_) | Self::Erf(_))
    }

    /// Floating-point operations, transcendental functions counted as ten.
    fn flops(&self) -> u64 {
        use ScalarOp::*;
        match self {
            Const(_) | Input(_) | Scalar(_) | Select(..) => 0,
            Exp(_) | Log(_) | Tanh(_) | Sin(_) | Cos(_) | Erf(_) | PowInt(..) => 10,
            _ => 1,
        }
    }
}

/// A list of operations and the values it yields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScalarProgram {
    /// Operations; operation `i` defines value `i`.
    pub ops: Vec<ScalarOp>,
    /// The values handed out, all numbers.
    pub results: Vec<ValueId>,
}

impl ScalarProgram {
    /// Appends `op` and returns the value it defines.
    pub fn push(&mut self, op: ScalarOp) -> ValueId {
        self.ops.push(op);
        self.ops.len() as ValueId - 1
    }

    /// Appends a constant.
    pub fn constant(&mut self, value: f64) -> ValueId {
        self.push(ScalarOp::Const(Real::new(value)))
    }

    /// The program that hands scalars `0..count` through unchanged.
    pub fn identity_scalars(count: u32) -> Self {
        Self { ops: (0..count).map(ScalarOp::Scalar).collect(), results: (0..count).collect() }
    }

    /// Floating-point operations for one element.
    pub fn flops(&self) -> u64 {
        self.ops.iter().map(ScalarOp::flops).sum()
    }

    /// Checks single assignment, value kinds and index ranges.
    ///
    /// # Errors
    /// A sentence naming the first operation that is out of order, misuses a truth value, or reads an input or scalar
    /// beyond `inputs` or `scalars`.
    pub fn check(&self, inputs: u32, scalars: u32, allow_powers: bool) -> Result<(), String> {
        for (index, op) in self.ops.iter().enumerate() {
            for (position, used) in op.operands().into_iter().enumerate() {
                if used as usize >= index {
                    return Err(format!(
                        "operation {index} ({op:?}) uses value {used}, which is not defined yet"
                    ));
                }
                let wants_truth = matches!(op, ScalarOp::Select(..)) && position == 0;
                if self.ops[used as usize].is_comparison() != wants_truth {
                    let (found, wanted) = if wants_truth {
                        ("number", "comparison")
                    } else {
                        ("comparison", "number")
                    };
                    return Err(format!(
                        "operation {index} ({op:?}) uses value {used}, a {found}, where a {wanted} belongs"
                    ));
                }
            }
            match *op {
                ScalarOp::Input(i) if i >= inputs => {
                    return Err(format!("operation {index} reads input {i} of {inputs}"));
                }
                ScalarOp::Scalar(i) if i >= scalars => {
                    return Err(format!("operation {index} reads scalar {i} of {scalars}"));
                }
                _ if op.is_single() && allow_powers => {
                    return Err(format!(
                        "operation {index} ({op:?}) is not there in f64, in which uniforms are"
                    ));
                }
                ScalarOp::PowInt(..) if !allow_powers => {
                    return Err(format!(
                        "operation {index} is a power, which only uniform programs may hold"
                    ));
                }
                _ => {}
            }
        }
        for &result in &self.results {
            match self.ops.get(result as usize) {
                None => return Err(format!("result value {result} is not defined")),
                Some(op) if op.is_comparison() => {
                    return Err(format!("result value {result} is a truth value"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_the_faulty_operation() {
        let mut p = ScalarProgram::default();
        let x = p.push(ScalarOp::Input(0));
        let less = p.push(ScalarOp::Less(x, x));
        p.results = vec![x];
        assert_eq!(p.check(1, 0, false), Ok(()));
        assert!(p.check(0, 0, false).unwrap_err().contains("operation 0 reads input 0 of 0"));
        p.push(ScalarOp::Add(x, less));
        assert!(p.check(1, 0, false).unwrap_err().contains("a comparison, where a number belongs"));
        p.ops[2] = ScalarOp::Add(x, 2);
        assert!(p.check(1, 0, false).unwrap_err().contains("not defined yet"));
        p.ops[2] = ScalarOp::PowInt(x, x);
        assert!(p.check(1, 0, false).unwrap_err().contains("power"));
        p.ops.pop();
        p.results = vec![less];
        assert!(p.check(1, 0, false).unwrap_err().contains("truth value"));
    }

    #[test]
    fn constants_compare_by_bits() {
        assert_eq!(Real::new(f64::NAN), Real::new(f64::NAN));
        assert_ne!(Real::new(0.0), Real::new(-0.0));
    }
}
