//! Scalar programs as operations of `arith` and `math`.

use piper_codegen::scalar::{ScalarOp, ScalarProgram};

use crate::function::{Function, Value};

/// The results of a program in `ty`, of inputs and scalars that may be of another type.
pub(crate) fn program(
    f: &mut Function,
    program: &ScalarProgram,
    ty: &'static str,
    inputs: &[Value],
    scalars: &[Value],
) -> Vec<Value> {
    use ScalarOp::*;
    let mut values: Vec<Value> = Vec::with_capacity(program.ops.len());
    for op in &program.ops {
        let at = |id: u32| values[id as usize].clone();
        let value = match *op {
            Const(number) => f.constant(number.get(), ty),
            Input(i) => inputs[i as usize].clone(),
            Scalar(i) => f.converted(&scalars[i as usize], ty),
            Add(a, b) => f.binary("arith.addf", &at(a), &at(b)),
            Sub(a, b) => f.binary("arith.subf", &at(a), &at(b)),
            Mul(a, b) => f.binary("arith.mulf", &at(a), &at(b)),
            Div(a, b) => f.binary("arith.divf", &at(a), &at(b)),
            Neg(a) => f.unary("arith.negf", &at(a)),
            Max(a, b) => f.larger(&at(a), &at(b)),
            Min(a, b) => {
                let is_less = f.compare("olt", &at(a), &at(b));
                f.select(&is_less, &at(a), &at(b))
            }
            Sqrt(a) => f.unary("math.sqrt", &at(a)),
            Rsqrt(a) => {
                let root = f.unary("math.sqrt", &at(a));
                let one = f.constant(1.0, ty);
                f.binary("arith.divf", &one, &root)
            }
            Exp(a) => f.unary("math.exp", &at(a)),
            Log(a) => f.unary("math.log", &at(a)),
            Tanh(a) => f.unary("math.tanh", &at(a)),
            Sin(a) => f.unary("math.sin", &at(a)),
            Cos(a) => f.unary("math.cos", &at(a)),
            Erf(a) => f.unary("math.erf", &at(a)),
            PowInt(a, b) => f.binary("math.powf", &at(a), &at(b)),
            Less(a, b) => f.compare("olt", &at(a), &at(b)),
            LessEqual(a, b) => f.compare("ole", &at(a), &at(b)),
            Equal(a, b) => f.compare("oeq", &at(a), &at(b)),
            Select(condition, a, b) => f.select(&at(condition), &at(a), &at(b)),
        };
        values.push(value);
    }
    program.results.iter().map(|id| values[*id as usize].clone()).collect()
}
