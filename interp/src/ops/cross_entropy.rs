//! Softmax cross-entropy with integer targets.
//!
//! The mean's count is an attribute rather than the number of rows: a microbatch keeps the count of the whole batch, so
//! that partial losses (and partial gradients) *add up* to the mean and nothing has to be rescaled after a split.

use super::embedding::class_index;
use crate::error::NumericError;
use crate::real::{Real, sum};
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `logits[.., V], targets i32[..] -> loss`, a scalar: `(sum_r lse(logits[r]) - logits[r, target[r]]) / denominator`, rows
/// ascending.
///
/// # Errors
/// When a target is outside `0..V`, the denominator is not positive, or shapes or element types do not fit.
pub fn cross_entropy<T: Real>(
    logits: &Tensor,
    targets: &Tensor,
    denominator: i64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.cross_entropy");
    let logits = shapes.operand::<T>("logits", logits, &["*", "V"])?;
    let targets = shapes.operand::<i32>("targets", targets, &["*"])?;
    let denominator = positive::<T>(&shapes, denominator)?;
    let vocab = shapes.size("V");
    let mut total = T::ZERO;
    for row in 0..targets.len() {
        let target = class_index("nn.cross_entropy", "targets", targets, row, vocab)?;
        let z = &logits[row * vocab..(row + 1) * vocab];
        let (max, exp_sum) = max_and_exp_sum(z);
        total += max + exp_sum.ln() - z[target];
    }
    Ok(Tensor::scalar(total / denominator))
}

/// `logits, targets, dloss -> dlogits`: `(softmax(logits[r]) - onehot(target[r])) dloss / denominator`.
///
/// # Errors
/// As [`cross_entropy`]; `dloss` must be a scalar.
pub fn cross_entropy_dx<T: Real>(
    logits: &Tensor,
    targets: &Tensor,
    dloss: &Tensor,
    denominator: i64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.cross_entropy_dx");
    let logits = shapes.operand::<T>("logits", logits, &["*", "V"])?;
    let targets = shapes.operand::<i32>("targets", targets, &["*"])?;
    let dloss = shapes.operand::<T>("dloss", dloss, &[])?[0];
    let factor = dloss / positive::<T>(&shapes, denominator)?;
    let vocab = shapes.size("V");
    let mut dlogits = Vec::with_capacity(logits.len());
    for row in 0..targets.len() {
        let target = class_index("nn.cross_entropy_dx", "targets", targets, row, vocab)?;
        let z = &logits[row * vocab..(row + 1) * vocab];
        let (max, exp_sum) = max_and_exp_sum(z);
        for (class, &z) in z.iter().enumerate() {
            let one_hot = if class == target { T::ONE } else { T::ZERO };
            dlogits.push(((z - max).exp() / exp_sum - one_hot) * factor);
        }
    }
    shapes.result(&["*", "V"], dlogits)
}

fn positive<T: Real>(shapes: &Shapes, denominator: i64) -> Result<T, NumericError> {
    if denominator <= 0 {
        return Err(shapes.attribute_error(format!("denominator = {denominator} is not positive")));
    }
    Ok(T::from_f64(denominator as f64))
}

/// The greatest logit `m` and `sum exp(z - m)`: the log-sum-exp is `m + ln` of the latter, without overflow.
fn max_and_exp_sum<T: Real>(z: &[T]) -> (T, T) {
    let max = z.iter().copied().fold(T::NEG_INFINITY, T::max);
    (max, sum(z.iter().map(|&z| (z - max).exp())))
}
