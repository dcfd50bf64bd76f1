//! Sums, products, fills, and the sum over rows that is a bias's gradient.

use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `a + b`, same shape. Its gradient is `dy` for both.
///
/// # Errors
/// When the shapes differ or an operand does not hold `T`.
pub fn add<T: Real>(a: &Tensor, b: &Tensor) -> Result<Tensor, NumericError> {
    binary::<T>("nn.add", a, b, |a, b| a + b)
}

/// `a * b` value by value, same shape. Its gradients are `mul(dy, b)` and `mul(dy, a)`.
///
/// # Errors
/// When the shapes differ or an operand does not hold `T`.
pub fn mul<T: Real>(a: &Tensor, b: &Tensor) -> Result<Tensor, NumericError> {
    binary::<T>("nn.mul", a, b, |a, b| a * b)
}

/// `x * factor`, the factor rounded to `T` first. Its gradient is `scale(dy, factor)`.
///
/// # Errors
/// When `x` does not hold `T`.
pub fn scale<T: Real>(x: &Tensor, factor: f64) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.scale");
    let x = shapes.operand::<T>("x", x, &["*"])?;
    let factor = T::from_f64(factor);
    shapes.result(&["*"], x.iter().map(|&x| x * factor).collect())
}

/// Every value `value`, rounded to `T`.
pub fn constant<T: Real>(shape: &[usize], value: f64) -> Tensor {
    Tensor::filled(shape, T::from_f64(value))
}

/// The identity; autodiff gives it the gradient zero.
pub fn stop_gradient(x: &Tensor) -> Tensor {
    x.clone()
}

/// `dy[.., N] -> [N]`: the sum over all leading dimensions in ascending order, which is the gradient of a bias.
///
/// # Errors
/// When `dy` is a scalar or does not hold `T`.
pub fn sum_rows<T: Real>(dy: &Tensor) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.sum_rows");
    let dy = shapes.operand::<T>("dy", dy, &["*", "N"])?;
    let n = shapes.size("N");
    let mut total = vec![T::ZERO; n];
    for row in dy.chunks_exact(n.max(1)) {
        for (total, &value) in total.iter_mut().zip(row) {
            *total += value;
        }
    }
    shapes.result(&["N"], total)
}

fn binary<T: Real>(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(T, T) -> T,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new(op);
    let a = shapes.operand::<T>("a", a, &["*"])?;
    let b = shapes.operand::<T>("b", b, &["*"])?;
    shapes.result(&["*"], a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect())
}
