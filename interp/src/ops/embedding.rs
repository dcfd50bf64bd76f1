//! Rows of a table picked by token, and the scatter that is their gradient.

use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `tokens i32[B, S], w[V, D] -> [B, S, D]`: row `tokens[b, s]` of `w`.
///
/// # Errors
/// When a token is outside `0..V`, or shapes or element types do not fit.
pub fn embedding<T: Real>(tokens: &Tensor, w: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.embedding");
    let tokens = shapes.operand::<i32>("tokens", tokens, &["B", "S"])?;
    let w = shapes.operand::<T>("w", w, &["V", "D"])?;
    let (vocab, d) = (shapes.size("V"), shapes.size("D"));
    let mut y = Vec::with_capacity(tokens.len() * d);
    for position in 0..tokens.len() {
        let row = class_index("nn.embedding", "tokens", tokens, position, vocab)?;
        y.extend_from_slice(&w[row * d..(row + 1) * d]);
    }
    shapes.result(&["B", "S", "D"], y)
}

/// `tokens i32[B, S], dy[B, S, D] -> dw[V, D]`: row `tokens[b, s]` of `dw` gains `dy[b, s]`, in ascending `(b, s)` order.
///
/// # Errors
/// When a token is outside `0..vocab`, or shapes or element types do not fit.
pub fn embedding_dw<T: Real>(
    tokens: &Tensor,
    dy: &Tensor,
    vocab: usize,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.embedding_dw");
    shapes.attribute("V", vocab);
    let tokens = shapes.operand::<i32>("tokens", tokens, &["B", "S"])?;
    let dy = shapes.operand::<T>("dy", dy, &["B", "S", "D"])?;
    let d = shapes.size("D");
    let mut dw = vec![T::ZERO; vocab * d];
    for position in 0..tokens.len() {
        let row = class_index("nn.embedding_dw", "tokens", tokens, position, vocab)?;
        for i in 0..d {
            dw[row * d + i] += dy[position * d + i];
        }
    }
    shapes.result(&["V", "D"], dw)
}

/// The token at `position` as an index below `vocab`.
pub(super) fn class_index(
    op: &'static str,
    operand: &'static str,
    tokens: &[i32],
    position: usize,
    vocab: usize,
) -> Result<usize, NumericError> {
    let token = tokens[position];
    match usize::try_from(token) {
        Ok(index) if index < vocab => Ok(index),
        _ => Err(NumericError::Token { op, operand, position, token, vocab }),
    }
}
