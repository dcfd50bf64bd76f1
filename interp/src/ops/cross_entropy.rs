//! Softmax cross-entropy with integer targets.
//!
//! The mean's count is an attribute rather than the number of rows: a microbatch keeps the count of the whole batch, so
//! that partial losses (and partial gradients) *add up* to the mean and nothing has to be rescaled after a split.

use super::embedding::class_index;
use crate::error::NumericError;
use crate::real::{Real, sum};
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `logits[.., V], targets i32[..] -> loss, lse[..]`: `loss = (sum_r lse[r] - logits[r, target[r]]) / denominator`, a scalar, rows
/// ascending, with `lse[r]` the logarithm of the sum of `exp logits[r]`.
///
/// # Errors
/// When a target is outside `0..V`, the denominator is not positive, or shapes or element types do not fit.
pub fn cross_entropy<T: Real>(
    logits: &Tensor,
    targets: &Tensor,
    denominator: i64,
) -> Result<(Tensor, Tensor), NumericError> {
    let mut shapes = Shapes::new("nn.cross_entropy");
    let logits = shapes.operand::<T>("logits", logits, &["*", "V"])?;
    let targets = shapes.operand::<i32>("targets", targets, &["*"])?;
    let denominator = positive::<T>(&shapes, denominator)?;
    let vocab = shapes.size("V");
    let mut total = T::ZERO;
    let mut all_lse = Vec::with_capacity(targets.len());
    for row in 0..targets.len() {
        let target = class_index("nn.cross_entropy", "targets", targets, row, vocab)?;
        let z = &logits[row * vocab..(row + 1) * vocab];
        let lse = log_sum_exp(z);
        total += lse - z[target];
        all_lse.push(lse);
    }
    Ok((Tensor::scalar(total / denominator), shapes.result(&["*"], all_lse)?))
}

/// `logits, targets, dloss, lse[..] -> dlogits`: `(exp(logits[r] - lse[r]) - onehot(target[r])) dloss / denominator`; a log-sum-exp
/// that is not given is computed.
///
/// # Errors
/// As [`cross_entropy`]; `dloss` must be a scalar.
pub fn cross_entropy_dx<T: Real>(
    logits: &Tensor,
    targets: &Tensor,
    dloss: &Tensor,
    lse: Option<&Tensor>,
    denominator: i64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.cross_entropy_dx");
    let logits = shapes.operand::<T>("logits", logits, &["*", "V"])?;
    let targets = shapes.operand::<i32>("targets", targets, &["*"])?;
    let dloss = shapes.operand::<T>("dloss", dloss, &[])?[0];
    let lse = lse.map(|lse| shapes.operand::<T>("lse", lse, &["*"])).transpose()?;
    let factor = dloss / positive::<T>(&shapes, denominator)?;
    let vocab = shapes.size("V");
    let mut dlogits = Vec::with_capacity(logits.len());
    for row in 0..targets.len() {
        let target = class_index("nn.cross_entropy_dx", "targets", targets, row, vocab)?;
        let z = &logits[row * vocab..(row + 1) * vocab];
        let lse = lse.map_or_else(|| log_sum_exp(z), |lse| lse[row]);
        for (class, &z) in z.iter().enumerate() {
            let one_hot = if class == target { T::ONE } else { T::ZERO };
            dlogits.push(((z - lse).exp() - one_hot) * factor);
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

/// `ln(sum exp z) = m + ln(sum exp(z - m))` with `m` the greatest logit, so that nothing overflows.
fn log_sum_exp<T: Real>(z: &[T]) -> T {
    let max = z.iter().copied().fold(T::NEG_INFINITY, T::max);
    max + sum(z.iter().map(|&z| (z - max).exp())).ln()
}
