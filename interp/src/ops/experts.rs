//! Tokens sorted by expert and back, and a matrix product for each expert: the plain product of its rows.

use super::{linear, linear_dw, linear_dx};
use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `x[G, S, D] -> y[E, G, C, D]`, `S = E*C`: `y[e, g, c, :] = x[g, e*C + c, :]`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn dispatch<T: Real>(x: &Tensor, experts: usize) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.dispatch");
    let values = shapes.operand::<T>("x", x, &["G", "S", "D"])?;
    let places = shapes.divided("S", "experts", experts)?;
    let (g, d) = (shapes.size("G"), shapes.size("D"));
    Tensor::new([experts, g, places, d], swapped(values, g, experts, places * d))
}

/// `y[E, G, C, D] -> x[G, E*C, D]`: the inverse of [`dispatch`].
///
/// # Errors
/// When shapes or element types do not fit.
pub fn combine<T: Real>(y: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.combine");
    let values = shapes.operand::<T>("y", y, &["E", "G", "C", "D"])?;
    let [e, g, c, d] = ["E", "G", "C", "D"].map(|letter| shapes.size(letter));
    Tensor::new([g, e * c, d], swapped(values, e, g, c * d))
}

/// `[a, b, block]` as `[b, a, block]`.
fn swapped<T: Real>(values: &[T], a: usize, b: usize, block: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(values.len());
    for j in 0..b {
        for i in 0..a {
            let at = (i * b + j) * block;
            out.extend_from_slice(&values[at..at + block]);
        }
    }
    out
}

/// `x[E, G, C, K], w[E, K, N] -> y[E, G, C, N]`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn expert_linear<T: Real>(x: &Tensor, w: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.expert_linear");
    shapes.operand::<T>("x", x, &["E", "G", "C", "K"])?;
    shapes.operand::<T>("w", w, &["E", "K", "N"])?;
    each(x, w, |x, w| linear::<T>(x, w, None, false))
}

/// `dy[E, G, C, N], w[E, K, N] -> dx[E, G, C, K]`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn expert_linear_dx<T: Real>(dy: &Tensor, w: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.expert_linear_dx");
    shapes.operand::<T>("dy", dy, &["E", "G", "C", "N"])?;
    shapes.operand::<T>("w", w, &["E", "K", "N"])?;
    each(dy, w, |dy, w| linear_dx::<T>(dy, w, false))
}

/// `x[E, G, C, K], dy[E, G, C, N] -> dw[E, K, N]`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn expert_linear_dw<T: Real>(x: &Tensor, dy: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.expert_linear_dw");
    shapes.operand::<T>("x", x, &["E", "G", "C", "K"])?;
    shapes.operand::<T>("dy", dy, &["E", "G", "C", "N"])?;
    each(x, dy, |x, dy| linear_dw::<T>(x, dy, false))
}

/// Runs `f` on every expert's part of the operands and stacks the results.
fn each(
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor, NumericError>,
) -> Result<Tensor, NumericError> {
    let part = |tensor: &Tensor, expert: usize| {
        let mut part = tensor.slice(0, expert..expert + 1)?;
        part.shape.remove(0);
        Ok::<_, NumericError>(part)
    };
    let mut parts = Vec::with_capacity(a.shape[0]);
    for expert in 0..a.shape[0] {
        let mut made = f(&part(a, expert)?, &part(b, expert)?)?;
        made.shape.insert(0, 1);
        parts.push(made);
    }
    Tensor::concat(0, &parts.iter().collect::<Vec<_>>())
}
