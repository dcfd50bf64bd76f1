//! The two floating-point element types, behind the few functions the operations need.

use std::fmt::Display;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::tensor::Element;

/// `f32` or `f64`. Arithmetic rounds once per operation; nothing is contracted into a fused multiply-add.
pub trait Real:
    Element
    + Display
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least value, below every finite one.
    const NEG_INFINITY: Self;
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// e to this power.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The greater of two; the other one if one is NaN.
    fn max(self, other: Self) -> Self;
    /// A count as a number, for means.
    fn from_count(count: usize) -> Self {
        Self::from_f64(count as f64)
    }
}

macro_rules! real {
    ($t:ident) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NEG_INFINITY: Self = $t::NEG_INFINITY;
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn exp(self) -> Self {
                $t::exp(self)
            }
            fn ln(self) -> Self {
                $t::ln(self)
            }
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            fn tanh(self) -> Self {
                $t::tanh(self)
            }
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
        }
    };
}
real!(f32);
real!(f64);

/// Sum in ascending order, starting from 0.
pub fn sum<T: Real>(values: impl IntoIterator<Item = T>) -> T {
    let mut total = T::ZERO;
    for value in values {
        total += value;
    }
    total
}

/// Inner product in ascending order, starting from 0.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    sum(a.iter().zip(b).map(|(&a, &b)| a * b))
}

/// `y[i] += a * x[i]`.
pub fn add_scaled<T: Real>(y: &mut [T], a: T, x: &[T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}
