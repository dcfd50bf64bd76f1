//! Look-ups, losses, rotary positions, sums and clipping.

use super::{Buffers, Element, larger};
use crate::kernel::{CrossEntropy, Dtype, Embedding};

fn legal(token: i32, limit: u64) -> Option<usize> {
    usize::try_from(token).ok().filter(|&t| (t as u64) < limit)
}

pub(super) fn embedding<T: Element>(e: &Embedding, b: &mut Buffers<'_, '_>) {
    let (tokens, w) = (b.tokens(0), b.read::<T>(1));
    let dim = e.dim as usize;
    let mut y = Vec::with_capacity(tokens.len() * dim);
    for token in tokens {
        match legal(token, e.vocab) {
            Some(t) => y.extend_from_slice(&w[t * dim..(t + 1) * dim]),
            None => y.extend(std::iter::repeat_n(T::new(f64::NAN), dim)),
        }
    }
    b.write(2, &y);
}

pub(super) fn embedding_gradient<T: Element>(e: &Embedding, b: &mut Buffers<'_, '_>) {
    let (tokens, dy) = (b.tokens(0), b.read::<T>(1));
    let dim = e.dim as usize;
    let mut dw = vec![T::ZERO; e.vocab as usize * dim];
    for (r, token) in tokens.into_iter().enumerate() {
        let Some(t) = legal(token, e.vocab) else { continue };
        for j in 0..dim {
            dw[t * dim + j] = dw[t * dim + j] + dy[r * dim + j];
        }
    }
    b.write(2, &dw);
}

/// The logarithm of the sum of the exponentials, from the differences to the largest.
fn log_sum_exp<T: Element>(row: &[T]) -> T {
    let largest = row.iter().copied().reduce(larger).expect("there is a class");
    largest + row.iter().fold(T::ZERO, |sum, &x| sum + (x - largest).exp()).ln()
}

pub(super) fn cross_entropy<T: Element>(c: &CrossEntropy, b: &mut Buffers<'_, '_>) {
    let (logits, targets) = (b.read::<T>(0), b.tokens(1));
    let mut total = 0.0;
    let mut all_lse = Vec::with_capacity(targets.len());
    for (row, &target) in logits.chunks(c.vocab as usize).zip(&targets) {
        let lse = log_sum_exp(row);
        total += legal(target, c.vocab).map_or(f64::NAN, |t| (lse - row[t]).double());
        all_lse.push(lse);
    }
    b.write(2, &[T::new(total / c.denominator as f64)]);
    if c.lse {
        b.write(3, &all_lse);
    }
}

pub(super) fn cross_entropy_gradient<T: Element>(c: &CrossEntropy, b: &mut Buffers<'_, '_>) {
    let (logits, targets, d_loss) = (b.read::<T>(0), b.tokens(1), b.read::<T>(2)[0]);
    let factor = d_loss / T::new(c.denominator as f64);
    let mut d_logits = Vec::with_capacity(logits.len());
    let given = c.lse.then(|| b.read::<T>(3));
    for (r, (row, &target)) in logits.chunks(c.vocab as usize).zip(&targets).enumerate() {
        let lse = given.as_ref().map_or_else(|| log_sum_exp(row), |given| given[r]);
        let target = legal(target, c.vocab);
        let factor = if target.is_some() { factor } else { T::new(f64::NAN) };
        d_logits.extend(row.iter().enumerate().map(|(j, &x)| {
            let probability = (x - lse).exp();
            if Some(j) == target { (probability - T::ONE) * factor } else { probability * factor }
        }));
    }
    b.write(3 + usize::from(c.lse), &d_logits);
}

/// Angle in radians by which pair `pair` of a head of width `head_dim` is turned at `position`:
/// `position * base^(-2 pair / head_dim)` (Su et al., RoFormer, 2021, section 3.2).
pub fn rotary_angle(position: u64, pair: u64, head_dim: u64, base: f64) -> f64 {
    position as f64 * base.powf(-2.0 * pair as f64 / head_dim as f64)
}

pub(super) fn rotary<T: Element>(
    [seq, heads, head_dim]: [usize; 3],
    base: f64,
    inverse: bool,
    b: &mut Buffers<'_, '_>,
) {
    let x = b.read::<T>(0);
    let mut y = vec![T::ZERO; x.len()];
    let half = head_dim / 2;
    for (index, (x, y)) in x.chunks(head_dim).zip(y.chunks_mut(head_dim)).enumerate() {
        let position = index / heads % seq;
        for i in 0..half {
            let angle = rotary_angle(position as u64, i as u64, head_dim as u64, base);
            let (cos, sin) = (T::new(angle.cos()), T::new(angle.sin()));
            let sin = if inverse { -sin } else { sin };
            y[i] = x[i] * cos - x[i + half] * sin;
            y[i + half] = x[i] * sin + x[i + half] * cos;
        }
    }
    b.write(1, &y);
}

pub(super) fn sum_rows<T: Element>(cols: usize, b: &mut Buffers<'_, '_>) {
    let x = b.read::<T>(0);
    let mut y = vec![T::ZERO; cols];
    for row in x.chunks(cols.max(1)) {
        for (y, &x) in y.iter_mut().zip(row) {
            *y = *y + x;
        }
    }
    b.write(1, &y);
}

pub(super) fn swap_blocks<T: Element>([a, columns, block]: [usize; 3], b: &mut Buffers<'_, '_>) {
    let x = b.read::<T>(0);
    let mut y = Vec::with_capacity(x.len());
    for j in 0..columns {
        for i in 0..a {
            let at = (i * columns + j) * block;
            y.extend_from_slice(&x[at..at + block]);
        }
    }
    b.write(1, &y);
}

pub(super) fn cast<T: Element>(to: Dtype, b: &mut Buffers<'_, '_>) {
    let x = b.read::<T>(0);
    match to {
        Dtype::F64 => b.write(1, &x.iter().map(|v| v.double()).collect::<Vec<f64>>()),
        _ => b.write(1, &x.iter().map(|v| v.narrowed()).collect::<Vec<f32>>()),
    }
}

/// One partial sum a lane, folded by halves: the same bits as generated code.
pub(super) fn sum_squares<T: Element>(b: &mut Buffers<'_, '_>) {
    let mut lanes = vec![0.0; T::LANES];
    for (i, value) in b.read::<T>(0).into_iter().enumerate() {
        lanes[i % T::LANES] += value.double() * value.double();
    }
    while lanes.len() > 1 {
        let high = lanes.split_off(lanes.len() / 2);
        lanes.iter_mut().zip(high).for_each(|(low, high)| *low += high);
    }
    b.write(1, &lanes);
}

pub(super) fn clip_scale<T: Element>(max_norm: f64, b: &mut Buffers<'_, '_>) {
    let total = b.read::<f64>(0)[0];
    let scale = max_norm / (total.sqrt() + 1e-6);
    b.write(1, &[T::new(if 1.0 < scale { 1.0 } else { scale })]);
}
