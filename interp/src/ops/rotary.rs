//! Rotary positions (Su et al. 2021) in the half-split pairing: values `i` and `i + hd/2` of a head form a plane.

use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `x[B, S, H*hd] -> same`: plane `i` of every head at position `s` turns by `s * base^(-2i/hd)`; `inverse` turns back,
/// which is the transpose and therefore the gradient. Angles, sines and cosines are f64, rounded to `T` once.
///
/// # Errors
/// When `x` does not fit, `heads` does not divide its width, or the head size is odd.
pub fn rotary<T: Real>(
    x: &Tensor,
    heads: usize,
    base: f64,
    inverse: bool,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.rotary");
    let x = shapes.operand::<T>("x", x, &["B", "S", "H*hd"])?;
    let head_size = shapes.divided("H*hd", "heads", heads)?;
    if head_size % 2 != 0 {
        return Err(
            shapes.attribute_error(format!("the head size {head_size} of heads = {heads} is odd"))
        );
    }
    let (batch, seq, half) = (shapes.size("B"), shapes.size("S"), head_size / 2);
    let mut y = vec![T::ZERO; x.len()];
    for s in 0..seq {
        for i in 0..half {
            let angle = s as f64 * base.powf(-2.0 * i as f64 / head_size as f64);
            let sin = T::from_f64(if inverse { -angle.sin() } else { angle.sin() });
            let cos = T::from_f64(angle.cos());
            for b in 0..batch {
                for h in 0..heads {
                    let low = ((b * seq + s) * heads + h) * head_size + i;
                    let high = low + half;
                    y[low] = x[low] * cos - x[high] * sin;
                    y[high] = x[high] * cos + x[low] * sin;
                }
            }
        }
    }
    shapes.result(&["B", "S", "H*hd"], y)
}
