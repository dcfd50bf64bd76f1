//! Layer norm and RMS norm.

use super::{Buffers, Element, dot};
use crate::kernel::{Norm, NormKind};

/// The normalised row and the reciprocal standard deviation.
fn normalise<T: Element>(n: &Norm, x: &[T]) -> (Vec<T>, T) {
    let count = T::new(x.len() as f64);
    let mean = match n.kind {
        NormKind::Layer => x.iter().fold(T::ZERO, |sum, &v| sum + v) / count,
        NormKind::Rms => T::ZERO,
    };
    let centred: Vec<T> = x.iter().map(|&v| v - mean).collect();
    let rstd = T::ONE / (dot(&centred, &centred) / count + T::new(n.eps.get())).sqrt();
    (centred.into_iter().map(|v| v * rstd).collect(), rstd)
}

pub(super) fn forward<T: Element>(n: &Norm, b: &mut Buffers<'_, '_>) {
    let (x, gamma) = (b.read::<T>(0), b.read::<T>(1));
    let beta = (n.kind == NormKind::Layer).then(|| b.read::<T>(2));
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks(n.cols as usize) {
        let (normal, _) = normalise(n, row);
        y.extend(normal.iter().enumerate().map(|(j, &h)| {
            let scaled = h * gamma[j];
            beta.as_ref().map_or(scaled, |beta| scaled + beta[j])
        }));
    }
    b.write(b.0.len() - 1, &y);
}

pub(super) fn input_gradient<T: Element>(n: &Norm, adds: bool, b: &mut Buffers<'_, '_>) {
    let (x, gamma, dy) = (b.read::<T>(0), b.read::<T>(1), b.read::<T>(2));
    let cols = n.cols as usize;
    let count = T::new(n.cols as f64);
    let mut dx = Vec::with_capacity(x.len());
    for (x, dy) in x.chunks(cols).zip(dy.chunks(cols)) {
        let (h, rstd) = normalise(n, x);
        let g: Vec<T> = dy.iter().zip(&gamma).map(|(&d, &w)| d * w).collect();
        let mean_g = match n.kind {
            NormKind::Layer => g.iter().fold(T::ZERO, |sum, &v| sum + v) / count,
            NormKind::Rms => T::ZERO,
        };
        let mean_gh = dot(&g, &h) / count;
        dx.extend(g.iter().zip(&h).map(|(&g, &h)| (g - mean_g - h * mean_gh) * rstd));
    }
    if adds {
        dx.iter_mut().zip(b.read::<T>(3)).for_each(|(dx, added)| *dx = added + *dx);
    }
    b.write(3 + usize::from(adds), &dx);
}

pub(super) fn weight_gradient<T: Element>(n: &Norm, b: &mut Buffers<'_, '_>) {
    let (x, dy) = (b.read::<T>(0), b.read::<T>(1));
    let cols = n.cols as usize;
    let (mut dgamma, mut dbeta) = (vec![T::ZERO; cols], vec![T::ZERO; cols]);
    for (x, dy) in x.chunks(cols).zip(dy.chunks(cols)) {
        let (h, _) = normalise(n, x);
        for j in 0..cols {
            dgamma[j] = dgamma[j] + dy[j] * h[j];
            dbeta[j] = dbeta[j] + dy[j];
        }
    }
    b.write(2, &dgamma);
    if n.kind == NormKind::Layer {
        b.write(3, &dbeta);
    }
}
