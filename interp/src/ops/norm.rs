//! Layer normalisation (Ba et al. 2016) and root-mean-square normalisation (Zhang and Sennrich 2019) over the last
//! dimension. Backward parts recompute the statistics of a row from `x` rather than take them as residuals.

use crate::error::NumericError;
use crate::real::{Real, dot, sum};
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `x[.., D], gamma[D], beta[D] -> y`: `y = (x - mean) / sqrt(var + eps) * gamma + beta`, with the biased variance.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn layer_norm<T: Real>(
    x: &Tensor,
    gamma: &Tensor,
    beta: &Tensor,
    eps: f64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.layer_norm");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let gamma = shapes.operand::<T>("gamma", gamma, &["D"])?;
    let beta = shapes.operand::<T>("beta", beta, &["D"])?;
    let mut y = Vec::with_capacity(x.len());
    for x in x.chunks_exact(shapes.size("D").max(1)) {
        let (xhat, _) = standardized(x, eps);
        y.extend(
            xhat.iter().zip(gamma).zip(beta).map(|((&xhat, &gamma), &beta)| xhat * gamma + beta),
        );
    }
    shapes.result(&["*", "D"], y)
}

/// Input gradient of [`layer_norm`]: with `g = dy * gamma` and `r = 1 / sqrt(var + eps)`,
/// `dx = r (g - mean(g) - xhat mean(g xhat))`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn layer_norm_dx<T: Real>(
    x: &Tensor,
    gamma: &Tensor,
    dy: &Tensor,
    eps: f64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.layer_norm_dx");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let gamma = shapes.operand::<T>("gamma", gamma, &["D"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*", "D"])?;
    let d = shapes.size("D").max(1);
    let count = T::from_count(d);
    let mut dx = Vec::with_capacity(x.len());
    for (x, dy) in x.chunks_exact(d).zip(dy.chunks_exact(d)) {
        let (xhat, rstd) = standardized(x, eps);
        let g = product(dy, gamma);
        let mean_g = sum(g.iter().copied()) / count;
        let mean_g_xhat = dot(&g, &xhat) / count;
        dx.extend(g.iter().zip(&xhat).map(|(&g, &xhat)| rstd * (g - mean_g - xhat * mean_g_xhat)));
    }
    shapes.result(&["*", "D"], dx)
}

/// Weight gradients of [`layer_norm`]: `dgamma[D] = sum_rows dy xhat` and `dbeta[D] = sum_rows dy`, rows ascending.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn layer_norm_dw<T: Real>(
    x: &Tensor,
    dy: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor), NumericError> {
    let mut shapes = Shapes::new("nn.layer_norm_dw");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*", "D"])?;
    let d = shapes.size("D");
    let (mut dgamma, mut dbeta) = (vec![T::ZERO; d], vec![T::ZERO; d]);
    for (x, dy) in x.chunks_exact(d.max(1)).zip(dy.chunks_exact(d.max(1))) {
        let (xhat, _) = standardized(x, eps);
        for i in 0..d {
            dgamma[i] += dy[i] * xhat[i];
            dbeta[i] += dy[i];
        }
    }
    Ok((shapes.result(&["D"], dgamma)?, shapes.result(&["D"], dbeta)?))
}

/// `x[.., D], gamma[D] -> y`: `y = x / sqrt(mean(x^2) + eps) * gamma`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn rms_norm<T: Real>(x: &Tensor, gamma: &Tensor, eps: f64) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.rms_norm");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let gamma = shapes.operand::<T>("gamma", gamma, &["D"])?;
    let mut y = Vec::with_capacity(x.len());
    for x in x.chunks_exact(shapes.size("D").max(1)) {
        let rrms = reciprocal_rms(x, eps);
        y.extend(x.iter().zip(gamma).map(|(&x, &gamma)| x * rrms * gamma));
    }
    shapes.result(&["*", "D"], y)
}

/// Input gradient of [`rms_norm`]: with `g = dy * gamma`, `r = 1 / sqrt(mean(x^2) + eps)` and `xhat = x r`,
/// `dx = r (g - xhat mean(g xhat))`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn rms_norm_dx<T: Real>(
    x: &Tensor,
    gamma: &Tensor,
    dy: &Tensor,
    eps: f64,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.rms_norm_dx");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let gamma = shapes.operand::<T>("gamma", gamma, &["D"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*", "D"])?;
    let d = shapes.size("D").max(1);
    let count = T::from_count(d);
    let mut dx = Vec::with_capacity(x.len());
    for (x, dy) in x.chunks_exact(d).zip(dy.chunks_exact(d)) {
        let rrms = reciprocal_rms(x, eps);
        let xhat: Vec<T> = x.iter().map(|&x| x * rrms).collect();
        let g = product(dy, gamma);
        let mean_g_xhat = dot(&g, &xhat) / count;
        dx.extend(g.iter().zip(&xhat).map(|(&g, &xhat)| rrms * (g - xhat * mean_g_xhat)));
    }
    shapes.result(&["*", "D"], dx)
}

/// Weight gradient of [`rms_norm`]: `dgamma[D] = sum_rows dy x / sqrt(mean(x^2) + eps)`, rows ascending.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn rms_norm_dw<T: Real>(x: &Tensor, dy: &Tensor, eps: f64) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.rms_norm_dw");
    let x = shapes.operand::<T>("x", x, &["*", "D"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*", "D"])?;
    let d = shapes.size("D");
    let mut dgamma = vec![T::ZERO; d];
    for (x, dy) in x.chunks_exact(d.max(1)).zip(dy.chunks_exact(d.max(1))) {
        let rrms = reciprocal_rms(x, eps);
        for i in 0..d {
            dgamma[i] += dy[i] * (x[i] * rrms);
        }
    }
    shapes.result(&["D"], dgamma)
}

/// One row with mean 0 and variance 1, and the reciprocal standard deviation.
fn standardized<T: Real>(x: &[T], eps: f64) -> (Vec<T>, T) {
    let count = T::from_count(x.len());
    let mean = sum(x.iter().copied()) / count;
    let variance = sum(x.iter().map(|&x| (x - mean) * (x - mean))) / count;
    let rstd = T::ONE / (variance + T::from_f64(eps)).sqrt();
    (x.iter().map(|&x| (x - mean) * rstd).collect(), rstd)
}

fn reciprocal_rms<T: Real>(x: &[T], eps: f64) -> T {
    T::ONE / (dot(x, x) / T::from_count(x.len()) + T::from_f64(eps)).sqrt()
}

fn product<T: Real>(a: &[T], b: &[T]) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| a * b).collect()
}
