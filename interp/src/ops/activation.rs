//! Pointwise non-linearities and their derivatives.

use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// sqrt(2/pi), to double precision.
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
/// The cubic coefficient of the tanh approximation (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
const CUBIC: f64 = 0.044715;

/// `y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, any shape.
///
/// # Errors
/// When `x` does not hold `T`.
pub fn gelu<T: Real>(x: &Tensor) -> Result<Tensor, NumericError> {
    let (half, c, cubic) = (T::from_f64(0.5), T::from_f64(SQRT_2_OVER_PI), T::from_f64(CUBIC));
    pointwise::<T>("nn.gelu", x, |x| half * x * (T::ONE + (c * (x + cubic * x * x * x)).tanh()))
}

/// Gradient of [`gelu`]: with `u = sqrt(2/pi) (x + 0.044715 x^3)` and `t = tanh u`,
/// `dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2))`.
///
/// # Errors
/// When the shapes differ or an operand does not hold `T`.
pub fn gelu_dx<T: Real>(x: &Tensor, dy: &Tensor) -> Result<Tensor, NumericError> {
    let (half, c, cubic) = (T::from_f64(0.5), T::from_f64(SQRT_2_OVER_PI), T::from_f64(CUBIC));
    let three = T::from_f64(3.0);
    pointwise_dx::<T>("nn.gelu_dx", x, dy, |x| {
        let t = (c * (x + cubic * x * x * x)).tanh();
        half * (T::ONE + t) + half * x * (T::ONE - t * t) * c * (T::ONE + three * cubic * x * x)
    })
}

/// `y = x sigmoid(x)`, any shape.
///
/// # Errors
/// When `x` does not hold `T`.
pub fn silu<T: Real>(x: &Tensor) -> Result<Tensor, NumericError> {
    pointwise::<T>("nn.silu", x, |x| x * sigmoid(x))
}

/// Gradient of [`silu`]: `dx = dy s (1 + x (1 - s))` with `s = sigmoid(x)`.
///
/// # Errors
/// When the shapes differ or an operand does not hold `T`.
pub fn silu_dx<T: Real>(x: &Tensor, dy: &Tensor) -> Result<Tensor, NumericError> {
    pointwise_dx::<T>("nn.silu_dx", x, dy, |x| {
        let s = sigmoid(x);
        s * (T::ONE + x * (T::ONE - s))
    })
}

fn sigmoid<T: Real>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}

fn pointwise<T: Real>(
    op: &'static str,
    x: &Tensor,
    f: impl Fn(T) -> T,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new(op);
    let x = shapes.operand::<T>("x", x, &["*"])?;
    shapes.result(&["*"], x.iter().map(|&x| f(x)).collect())
}

fn pointwise_dx<T: Real>(
    op: &'static str,
    x: &Tensor,
    dy: &Tensor,
    slope: impl Fn(T) -> T,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new(op);
    let x = shapes.operand::<T>("x", x, &["*"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*"])?;
    shapes.result(&["*"], x.iter().zip(dy).map(|(&x, &dy)| dy * slope(x)).collect())
}
