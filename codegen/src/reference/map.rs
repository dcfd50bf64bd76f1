//! Scalar programs, elementwise maps.

use super::{Buffers, Element, larger, smaller};
use crate::kernel::{Access, Map};
use crate::scalar::{ScalarOp, ScalarProgram};

/// Evaluates a program at one position, leaving the value of every operation in `values` (whose storage is reused from
/// element to element). Truth values are kept as one and zero.
pub(super) fn program<T: Element>(
    p: &ScalarProgram,
    input: impl Fn(u32) -> T,
    scalars: &[T],
    values: &mut Vec<T>,
) {
    let truth = |b: bool| if b { T::ONE } else { T::ZERO };
    values.clear();
    for op in &p.ops {
        let get = |id: u32| values[id as usize];
        let value = match *op {
            ScalarOp::Const(c) => T::new(c.get()),
            ScalarOp::Input(i) => input(i),
            ScalarOp::Scalar(i) => scalars[i as usize],
            ScalarOp::Add(a, b) => get(a) + get(b),
            ScalarOp::Sub(a, b) => get(a) - get(b),
            ScalarOp::Mul(a, b) => get(a) * get(b),
            ScalarOp::Div(a, b) => get(a) / get(b),
            ScalarOp::Neg(a) => -get(a),
            ScalarOp::Max(a, b) => larger(get(a), get(b)),
            ScalarOp::Min(a, b) => smaller(get(a), get(b)),
            ScalarOp::Sqrt(a) => get(a).sqrt(),
            ScalarOp::Rsqrt(a) => T::ONE / get(a).sqrt(),
            ScalarOp::Exp(a) => get(a).exp(),
            ScalarOp::Log(a) => get(a).ln(),
            ScalarOp::Tanh(a) => get(a).tanh(),
            // Refused in f64, so f64 has digits to spare.
            ScalarOp::Sin(a) => T::new(get(a).double().sin()),
            ScalarOp::Cos(a) => T::new(get(a).double().cos()),
            ScalarOp::Erf(a) => T::new(erf(get(a).double())),
            ScalarOp::PowInt(a, b) => power(get(a), get(b)),
            ScalarOp::Less(a, b) => truth(get(a) < get(b)),
            ScalarOp::LessEqual(a, b) => truth(get(a) <= get(b)),
            ScalarOp::Equal(a, b) => truth(get(a) == get(b)),
            ScalarOp::Select(c, a, b) => {
                if get(c) == T::ONE {
                    get(a)
                } else {
                    get(b)
                }
            }
        };
        values.push(value);
    }
}

/// Square and multiply over the 32 low bits of the exponent, as generated code does.
fn power<T: Element>(base: T, exponent: T) -> T {
    let bits = larger(exponent, T::ZERO).double().min(f64::from(u32::MAX)) as u32;
    let (mut square, mut result) = (base, T::ONE);
    for i in 0..32 {
        if bits >> i & 1 == 1 {
            result = result * square;
        }
        square = square * square;
    }
    result
}

/// The error function to f64's precision: the alternating series where it cancels little, else one less the continued
/// fraction of its complement (Abramowitz and Stegun, 7.1.5 and 7.1.14).
fn erf(x: f64) -> f64 {
    let (size, square) = (x.abs(), x * x);
    let root_pi = std::f64::consts::PI.sqrt();
    if size < 2.0 {
        let (mut sum, mut power) = (0.0, x);
        for n in 0..60_u32 {
            sum += power / f64::from(2 * n + 1);
            power *= -square / f64::from(n + 1);
        }
        return 2.0 / root_pi * sum;
    }
    if size > 6.0 {
        return x.signum();
    }
    let fraction = (1..=100_u32).rev().fold(size, |rest, n| size + f64::from(n) / 2.0 / rest);
    (1.0 - (-square).exp() / root_pi / fraction).copysign(x)
}

/// Index into an operand at a position.
pub(super) fn index(access: Access, row: usize, col: usize, cols: usize) -> usize {
    match access {
        Access::Full => row * cols + col,
        Access::Row => col,
        Access::Column => row,
        Access::Scalar => 0,
    }
}

pub(super) fn map<T: Element>(m: &Map, b: &mut Buffers<'_, '_>, scalars: &[f64]) {
    let mut doubles = vec![];
    program(
        &m.uniforms,
        |_| unreachable!("checked: uniform programs read no input"),
        scalars,
        &mut doubles,
    );
    let uniforms: Vec<T> =
        m.uniforms.results.iter().map(|&r| T::new(doubles[r as usize])).collect();
    let cols = m.cols as usize;
    let mut data: Vec<Vec<T>> = (0..m.operands.len()).map(|i| b.read(i)).collect();
    let mut values = vec![];
    for row in 0..m.rows as usize {
        for col in 0..cols {
            let input =
                |i: u32| data[i as usize][index(m.operands[i as usize].access, row, col, cols)];
            program(&m.body, input, &uniforms, &mut values);
            for (&operand, &result) in m.stores.iter().zip(&m.body.results) {
                data[operand as usize][row * cols + col] = values[result as usize];
            }
        }
    }
    for &operand in &m.stores {
        b.write(operand as usize, &data[operand as usize]);
    }
}
