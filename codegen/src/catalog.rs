//! Elementwise kernels of the operation set, written once as scalar programs.

use crate::kernel::{Access, Body, Dtype, Kernel, Map, Mode, Operand};
use crate::scalar::{ScalarOp, ScalarProgram, ValueId};

const READ: Operand = Operand { access: Access::Full, mode: Mode::Read };
const WRITE: Operand = Operand { access: Access::Full, mode: Mode::Write };
const UPDATE: Operand = Operand { access: Access::Full, mode: Mode::ReadWrite };
const FACTOR: Operand = Operand { access: Access::Scalar, mode: Mode::Read };

fn map(
    dtype: Dtype,
    elems: u64,
    operands: Vec<Operand>,
    body: ScalarProgram,
    stores: Vec<u32>,
) -> Kernel {
    let uniforms = ScalarProgram::default();
    Kernel::new(
        dtype,
        Body::Map(Map { rows: 1, cols: elems, operands, scalars: 0, uniforms, body, stores }),
    )
}

fn unary(
    dtype: Dtype,
    elems: u64,
    f: impl FnOnce(&mut ScalarProgram, ValueId) -> ValueId,
) -> Kernel {
    let mut p = ScalarProgram::default();
    let x = p.push(ScalarOp::Input(0));
    let y = f(&mut p, x);
    p.results = vec![y];
    map(dtype, elems, vec![READ, WRITE], p, vec![1])
}

fn binary(
    dtype: Dtype,
    elems: u64,
    f: impl FnOnce(&mut ScalarProgram, ValueId, ValueId) -> ValueId,
) -> Kernel {
    let mut p = ScalarProgram::default();
    let (a, b) = (p.push(ScalarOp::Input(0)), p.push(ScalarOp::Input(1)));
    let y = f(&mut p, a, b);
    p.results = vec![y];
    map(dtype, elems, vec![READ, READ, WRITE], p, vec![2])
}

/// `a, b, !y`: `y = a + b`.
pub fn add(dtype: Dtype, elems: u64) -> Kernel {
    binary(dtype, elems, |p, a, b| p.push(ScalarOp::Add(a, b)))
}

/// `a, b, !y`: `y = a * b`.
pub fn mul(dtype: Dtype, elems: u64) -> Kernel {
    binary(dtype, elems, |p, a, b| p.push(ScalarOp::Mul(a, b)))
}

/// `x, !y`: `y = x * factor`.
pub fn scale(dtype: Dtype, elems: u64, factor: f64) -> Kernel {
    unary(dtype, elems, |p, x| {
        let factor = p.constant(factor);
        p.push(ScalarOp::Mul(x, factor))
    })
}

/// `x, !y`: `y = x`.
pub fn copy(dtype: Dtype, elems: u64) -> Kernel {
    unary(dtype, elems, |_, x| x)
}

/// `!y`: `y = value`.
pub fn fill(dtype: Dtype, elems: u64, value: f64) -> Kernel {
    let mut p = ScalarProgram::default();
    let value = p.constant(value);
    p.results = vec![value];
    map(dtype, elems, vec![WRITE], p, vec![0])
}

/// `2 sqrt(2/pi)` and the same times 0.044715.
const GELU: [f64; 2] = [1.595_769_121_605_730_8, 0.071_354_816_272_600_25];

/// Appends `1 / (1 + exp(-x))`.
fn sigmoid(p: &mut ScalarProgram, x: ValueId) -> ValueId {
    let one = p.constant(1.0);
    let negative = p.push(ScalarOp::Neg(x));
    let exp = p.push(ScalarOp::Exp(negative));
    let sum = p.push(ScalarOp::Add(exp, one));
    p.push(ScalarOp::Div(one, sum))
}

/// Appends the square of `x` and `sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))`, which is `(1 + tanh(..)) / 2` of half the argument
/// with one division less, and exact also where that cancels.
fn gelu_sigmoid(p: &mut ScalarProgram, x: ValueId) -> [ValueId; 2] {
    let [linear, cubic] = GELU.map(|c| p.constant(c));
    let square = p.push(ScalarOp::Mul(x, x));
    let factor = p.push(ScalarOp::Mul(square, cubic));
    let factor = p.push(ScalarOp::Add(factor, linear));
    let argument = p.push(ScalarOp::Mul(x, factor));
    [square, sigmoid(p, argument)]
}

/// Appends `gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
pub fn push_gelu(p: &mut ScalarProgram, x: ValueId) -> ValueId {
    let [_, s] = gelu_sigmoid(p, x);
    p.push(ScalarOp::Mul(x, s))
}

/// Appends `gelu'(x) dy`, `gelu' = s + x s (1 - s) 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2)`, where `gelu(x) = x s`.
pub fn push_gelu_dx(p: &mut ScalarProgram, x: ValueId, dy: ValueId) -> ValueId {
    let [square, s] = gelu_sigmoid(p, x);
    let [linear, cubic] = [GELU[0], 3.0 * GELU[1]].map(|c| p.constant(c));
    let one = p.constant(1.0);
    let inner = p.push(ScalarOp::Mul(square, cubic));
    let inner = p.push(ScalarOp::Add(inner, linear));
    // The slope of the sigmoid first: far from zero it vanishes before the cube can overflow.
    let rest = p.push(ScalarOp::Sub(one, s));
    let slope = p.push(ScalarOp::Mul(s, rest));
    let slope = p.push(ScalarOp::Mul(slope, x));
    let slope = p.push(ScalarOp::Mul(slope, inner));
    let derivative = p.push(ScalarOp::Add(slope, s));
    p.push(ScalarOp::Mul(derivative, dy))
}

/// Appends `silu(x) = x sigmoid(x)`.
pub fn push_silu(p: &mut ScalarProgram, x: ValueId) -> ValueId {
    let s = sigmoid(p, x);
    p.push(ScalarOp::Mul(x, s))
}

/// Appends `silu'(x) dy`, `silu' = s (1 + x (1 - s))`.
pub fn push_silu_dx(p: &mut ScalarProgram, x: ValueId, dy: ValueId) -> ValueId {
    let s = sigmoid(p, x);
    let one = p.constant(1.0);
    let rest = p.push(ScalarOp::Sub(one, s));
    let product = p.push(ScalarOp::Mul(x, rest));
    let sum = p.push(ScalarOp::Add(product, one));
    let derivative = p.push(ScalarOp::Mul(s, sum));
    p.push(ScalarOp::Mul(derivative, dy))
}

/// `x, !y`: tanh-form GELU.
pub fn gelu(dtype: Dtype, elems: u64) -> Kernel {
    unary(dtype, elems, push_gelu)
}

/// `x, dy, !dx`.
pub fn gelu_dx(dtype: Dtype, elems: u64) -> Kernel {
    binary(dtype, elems, push_gelu_dx)
}

/// `x, !y`: `x sigmoid(x)`.
pub fn silu(dtype: Dtype, elems: u64) -> Kernel {
    unary(dtype, elems, push_silu)
}

/// `x, dy, !dx`.
pub fn silu_dx(dtype: Dtype, elems: u64) -> Kernel {
    binary(dtype, elems, push_silu_dx)
}

/// `!p, g, scale[1]` (and `!m` after `g` with momentum), scalar 0 = learning rate: `d = g * scale + weight_decay * p`,
/// with momentum `m = momentum * m + d; d = m`, then `p -= lr * d`.
pub fn sgd(dtype: Dtype, elems: u64, weight_decay: f64, momentum: Option<f64>) -> Kernel {
    let mut b = ScalarProgram::default();
    let factor = if momentum.is_some() { 3 } else { 2 };
    let (p, g, scale) =
        (b.push(ScalarOp::Input(0)), b.push(ScalarOp::Input(1)), b.push(ScalarOp::Input(factor)));
    let (lr, decay) = (b.push(ScalarOp::Scalar(0)), b.constant(weight_decay));
    let scaled = b.push(ScalarOp::Mul(g, scale));
    let decayed = b.push(ScalarOp::Mul(decay, p));
    let mut direction = b.push(ScalarOp::Add(scaled, decayed));
    if let Some(momentum) = momentum {
        let (m, momentum) = (b.push(ScalarOp::Input(2)), b.constant(momentum));
        let kept = b.push(ScalarOp::Mul(momentum, m));
        direction = b.push(ScalarOp::Add(kept, direction));
    }
    let step = b.push(ScalarOp::Mul(lr, direction));
    let updated = b.push(ScalarOp::Sub(p, step));
    let (operands, stores);
    if momentum.is_some() {
        b.results = vec![updated, direction];
        (operands, stores) = (vec![UPDATE, READ, UPDATE, FACTOR], vec![0, 2]);
    } else {
        b.results = vec![updated];
        (operands, stores) = (vec![UPDATE, READ, FACTOR], vec![0]);
    }
    let uniforms = ScalarProgram::identity_scalars(1);
    Kernel::new(
        dtype,
        Body::Map(Map { rows: 1, cols: elems, operands, scalars: 1, uniforms, body: b, stores }),
    )
}

/// Constants of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

/// Appends `beta * old + (1 - beta) * new`.
fn blend(p: &mut ScalarProgram, beta: f64, old: ValueId, new: ValueId) -> ValueId {
    let (keep, take) = (p.constant(beta), p.constant(1.0 - beta));
    let kept = p.push(ScalarOp::Mul(keep, old));
    let taken = p.push(ScalarOp::Mul(take, new));
    p.push(ScalarOp::Add(kept, taken))
}

/// `!p, g, !m, !v, scale[1]`, scalars `lr, step` (step counts from 1): Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization" (2019), algorithm 2. The bias corrections `1 / (1 - beta^step)` are computed once, in f64.
pub fn adamw(dtype: Dtype, elems: u64, c: AdamW) -> Kernel {
    let mut uniforms = ScalarProgram::identity_scalars(2);
    let (lr, step) = (0, 1);
    let one = uniforms.constant(1.0);
    let mut correction = |beta: f64| {
        let beta = uniforms.constant(beta);
        let power = uniforms.push(ScalarOp::PowInt(beta, step));
        let rest = uniforms.push(ScalarOp::Sub(one, power));
        uniforms.push(ScalarOp::Div(one, rest))
    };
    let corrections = [correction(c.beta1), correction(c.beta2)];
    uniforms.results = vec![lr, corrections[0], corrections[1]];

    let mut b = ScalarProgram::default();
    let [p, g, m, v, scale] = [0, 1, 2, 3, 4].map(|i| b.push(ScalarOp::Input(i)));
    let [lr, first, second] = [0, 1, 2].map(|i| b.push(ScalarOp::Scalar(i)));
    let g = b.push(ScalarOp::Mul(g, scale));
    let m = blend(&mut b, c.beta1, m, g);
    let square = b.push(ScalarOp::Mul(g, g));
    let v = blend(&mut b, c.beta2, v, square);
    let (eps, decay) = (b.constant(c.eps), b.constant(c.weight_decay));
    let m_hat = b.push(ScalarOp::Mul(m, first));
    let v_hat = b.push(ScalarOp::Mul(v, second));
    let root = b.push(ScalarOp::Sqrt(v_hat));
    let divisor = b.push(ScalarOp::Add(root, eps));
    let ratio = b.push(ScalarOp::Div(m_hat, divisor));
    let decayed = b.push(ScalarOp::Mul(decay, p));
    let direction = b.push(ScalarOp::Add(ratio, decayed));
    let change = b.push(ScalarOp::Mul(lr, direction));
    let updated = b.push(ScalarOp::Sub(p, change));
    b.results = vec![updated, m, v];
    let operands = vec![UPDATE, READ, UPDATE, UPDATE, FACTOR];
    let stores = vec![0, 2, 3];
    Kernel::new(
        dtype,
        Body::Map(Map { rows: 1, cols: elems, operands, scalars: 2, uniforms, body: b, stores }),
    )
}
