//! Optimizer steps and the global-norm clip before them.
//!
//! The learning rate and the step are run-time scalars. All scalar attributes and the bias corrections of AdamW are f64,
//! rounded to `T` once; the arithmetic on values is in `T`. A state tensor is changed in place, as the overwrite of an
//! argument/result pair.

use crate::error::NumericError;
use crate::real::Real;
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `sum x^2`, accumulated in f64 in ascending order whatever `T` is.
///
/// # Errors
/// When `x` does not hold `T`.
pub fn sum_squares<T: Real>(x: &Tensor) -> Result<f64, NumericError> {
    let x = Shapes::new("sum_squares").operand::<T>("x", x, &["*"])?;
    Ok(x.iter().fold(0.0, |total, &x| total + x.to_f64() * x.to_f64()))
}

/// `min(1, max_norm / (sqrt(total) + 1e-6))` in f64, rounded to `T`: the factor that brings gradients whose squares sum to
/// `total` down to the norm `max_norm`. A `total` that is NaN gives NaN, so that one bad gradient shows in every parameter
/// rather than being stepped over.
pub fn clip_scale<T: Real>(total: f64, max_norm: f64) -> T {
    let ratio = max_norm / (total.sqrt() + 1e-6);
    T::from_f64(if ratio > 1.0 { 1.0 } else { ratio })
}

/// Stochastic gradient descent with L2 weight decay and optional momentum (without dampening).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// Decay coefficient; 0 for none.
    pub weight_decay: f64,
    /// Factor on the momentum buffer; only read when there is a buffer.
    pub momentum: f64,
}

impl Sgd {
    /// `p -= lr d` with `d = g * scale + weight_decay * p`, or with a buffer `m = momentum * m + d; p -= lr m`.
    ///
    /// # Errors
    /// When shapes differ or an operand does not hold `T`.
    pub fn step<T: Real>(
        &self,
        p: &mut Tensor,
        m: Option<&mut Tensor>,
        g: &Tensor,
        scale: T,
        lr: f64,
    ) -> Result<(), NumericError> {
        let mut shapes = Shapes::new("sgd");
        let old_p = shapes.operand::<T>("p", p, &["*"])?;
        let g = shapes.operand::<T>("g", g, &["*"])?;
        let (decay, momentum, lr) =
            (T::from_f64(self.weight_decay), T::from_f64(self.momentum), T::from_f64(lr));
        let mut direction: Vec<T> =
            g.iter().zip(old_p).map(|(&g, &p)| g * scale + decay * p).collect();
        if let Some(m) = m {
            shapes.operand::<T>("m", m, &["*"])?;
            for (m, d) in m.values_mut::<T>().into_iter().flatten().zip(&mut direction) {
                *m = momentum * *m + *d;
                *d = *m;
            }
        }
        for (p, &d) in p.values_mut::<T>().into_iter().flatten().zip(&direction) {
            *p -= lr * d;
        }
        Ok(())
    }
}

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decay coefficient of the parameter; 0 for none.
    pub weight_decay: f64,
}

impl AdamW {
    /// With `g = g * scale` and `t = step`, which starts at 1:
    /// `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr (mhat / (sqrt(vhat) + eps) + weight_decay p)`
    /// where `mhat = m / (1 - b1^t)` and `vhat = v / (1 - b2^t)`.
    ///
    /// # Errors
    /// When shapes differ, an operand does not hold `T`, or `step` is 0.
    #[allow(clippy::too_many_arguments)]
    pub fn step<T: Real>(
        &self,
        p: &mut Tensor,
        m: &mut Tensor,
        v: &mut Tensor,
        g: &Tensor,
        scale: T,
        lr: f64,
        step: u32,
    ) -> Result<(), NumericError> {
        let mut shapes = Shapes::new("adamw");
        shapes.operand::<T>("p", p, &["*"])?;
        shapes.operand::<T>("m", m, &["*"])?;
        shapes.operand::<T>("v", v, &["*"])?;
        let g = shapes.operand::<T>("g", g, &["*"])?;
        if step == 0 {
            return Err(shapes.attribute_error("step = 0, but steps start at 1".into()));
        }
        let (b1, b2) = (T::from_f64(self.beta1), T::from_f64(self.beta2));
        let (one_less_b1, one_less_b2) =
            (T::from_f64(1.0 - self.beta1), T::from_f64(1.0 - self.beta2));
        let correction = |beta: f64| T::from_f64(1.0 - beta.powf(f64::from(step)));
        let (correction1, correction2) = (correction(self.beta1), correction(self.beta2));
        let (eps, decay, lr) =
            (T::from_f64(self.eps), T::from_f64(self.weight_decay), T::from_f64(lr));
        let p = p.values_mut::<T>().into_iter().flatten();
        let m = m.values_mut::<T>().into_iter().flatten();
        let v = v.values_mut::<T>().into_iter().flatten();
        for (((p, m), v), &g) in p.zip(m).zip(v).zip(g) {
            let g = g * scale;
            *m = b1 * *m + one_less_b1 * g;
            *v = b2 * *v + one_less_b2 * (g * g);
            let (mhat, vhat) = (*m / correction1, *v / correction2);
            *p -= lr * (mhat / (vhat.sqrt() + eps) + decay * *p);
        }
        Ok(())
    }
}
