//! Layer norm and RMS norm, forward and backward. Statistics are recomputed in the backward kernels from `x`.

use super::Launch;
use super::emit::{Emitter, I, P, V};
use crate::kernel::{Norm, NormKind};

/// `(x - mean) * rstd` of one row is all that is needed of it; RMS norm has mean zero.
pub(crate) struct Statistics<'c> {
    pub(crate) mean: Option<V<'c>>,
    pub(crate) rstd: V<'c>,
}

impl<'c> Statistics<'c> {
    pub(crate) fn normalise(&self, e: &Emitter<'c>, x: V<'c>) -> V<'c> {
        let centred = self.mean.map_or(x, |mean| e.sub(x, mean));
        e.mul(centred, self.rstd)
    }
}

/// Sum over a row of what `term` gives; lanes beyond the row's end are cleared.
pub(super) fn row_sum<'c>(e: &Emitter<'c>, cols: u64, term: impl Fn(I<'c>, u64) -> V<'c>) -> V<'c> {
    let sum = e.local(e.vector(e.lanes()).const_zero().into());
    e.for_pieces(cols, |c, width| {
        let value = e.keep(term(c, width), width, 0.0);
        e.set(&sum, e.add(e.get(&sum), value));
    });
    e.lane_sum(e.get(&sum))
}

/// Asks for halves of the next row while a row is walked, as fetching ahead by the processor stops where a row is left. Where a row
/// is walked several times, each time is for one half: all at once would have the others find memory idle.
fn ask_for_next<'c>(e: &Emitter<'c>, n: &Norm, row: P<'c>, c: I<'c>, halves: &[u64]) {
    for half in halves {
        e.prefetch_for_reading(row, e.idiv(c, 2), n.cols + half * n.cols / 2);
    }
}

fn statistics<'c>(e: &Emitter<'c>, n: &Norm, x: P<'c>) -> Statistics<'c> {
    let count = e.float(n.cols as f64);
    let mean = (n.kind == NormKind::Layer).then(|| {
        let sum = row_sum(e, n.cols, |c, width| {
            ask_for_next(e, n, x, c, &[0]);
            e.load_piece(x, c, width)
        });
        e.div(sum, count)
    });
    let squares = row_sum(e, n.cols, |c, width| {
        ask_for_next(e, n, x, c, if mean.is_some() { &[1] } else { &[0, 1] });
        let value = e.load_piece(x, c, width);
        let centred = mean.map_or(value, |mean| e.sub(value, mean));
        e.mul(centred, centred)
    });
    let spread = e.add(e.div(squares, count), e.float(n.eps.get()));
    Statistics { mean, rstd: e.div(e.float(1.0), e.sqrt(spread)) }
}

/// `x, gamma, [beta], y`.
pub(super) fn forward(k: &Launch<'_, '_>, n: &Norm) {
    let e = k.e;
    let (gamma, y) = (k.buffers[1], *k.buffers.last().expect("a norm has an output"));
    let beta = (n.kind == NormKind::Layer).then(|| k.buffers[2]);
    k.for_rows(n.rows, |r| {
        let start = e.imul(r, e.n(n.cols));
        let (x, y) = (e.at(k.buffers[0], start), e.at(y, start));
        let stats = statistics(e, n, x);
        e.for_pieces(n.cols, |c, width| {
            let normal = stats.normalise(e, e.load_piece(x, c, width));
            let scaled = e.mul(normal, e.load_piece(gamma, c, width));
            let value = beta.map_or(scaled, |beta| e.add(scaled, e.load_piece(beta, c, width)));
            e.store_result(y, c, value, width);
        });
    });
}

/// `x, gamma, dy, [added], dx`: with `g = dy * gamma` and `h` the normalised row,
/// `dx = rstd * (g - mean(g) - h * mean(g * h))`, without `mean(g)` for RMS norm.
pub(super) fn input_gradient(k: &Launch<'_, '_>, n: &Norm, adds: bool) {
    let e = k.e;
    let gamma = k.buffers[1];
    let count = e.float(n.cols as f64);
    k.for_rows(n.rows, |r| {
        let start = e.imul(r, e.n(n.cols));
        let [x, dy, dx] = [0, 2, k.buffers.len() - 1].map(|i: usize| e.at(k.buffers[i], start));
        let added = adds.then(|| e.at(k.buffers[3], start));
        let stats = statistics(e, n, x);
        let g = |c, width, half| {
            ask_for_next(e, n, dy, c, &[half]);
            e.mul(e.load_piece(dy, c, width), e.load_piece(gamma, c, width))
        };
        let h = |c, width| stats.normalise(e, e.load_piece(x, c, width));
        // One pass for both sums.
        let (mean_g, mean_gh) = match stats.mean {
            None => (None, row_sum(e, n.cols, |c, width| e.mul(g(c, width, 0), h(c, width)))),
            Some(_) => {
                let sum = e.local(e.vector(e.lanes()).const_zero().into());
                let gh = row_sum(e, n.cols, |c, width| {
                    let g = e.keep(g(c, width, 0), width, 0.0);
                    e.set(&sum, e.add(e.get(&sum), g));
                    e.mul(g, h(c, width))
                });
                (Some(e.div(e.lane_sum(e.get(&sum)), count)), gh)
            }
        };
        let mean_gh = e.div(mean_gh, count);
        e.for_pieces(n.cols, |c, width| {
            let g = g(c, width, 1);
            let centred = mean_g.map_or(g, |mean| e.sub(g, mean));
            let value = e.sub(centred, e.mul(h(c, width), mean_gh));
            let value = e.mul(value, stats.rstd);
            let value = added.map_or(value, |added| {
                ask_for_next(e, n, added, c, &[0, 1]);
                e.add(e.load_piece(added, c, width), value)
            });
            e.store_result(dx, c, value, width);
        });
    });
}

/// `x, dy, dgamma, [dbeta]`. Parts take columns; each finds the statistics of all rows.
pub(super) fn weight_gradient(k: &Launch<'_, '_>, n: &Norm) {
    let e = k.e;
    super::rows::summed(k, &k.buffers[2..], [1, n.cols], |sums, [from, to]| {
        let (dgamma, dbeta) = (sums[0], sums.get(1).copied());
        e.for_each(e.n(0), e.n(n.rows), 1, |r| {
            let start = e.imul(r, e.n(n.cols));
            let (x, dy) = (e.at(k.buffers[0], start), e.at(k.buffers[1], start));
            let stats = statistics(e, n, x);
            e.for_pieces_of(from, to, n.cols, |c, width| {
                let gradient = e.load_piece(dy, c, width);
                let normal = stats.normalise(e, e.load_piece(x, c, width));
                let sum = e.add(e.load_piece(dgamma, c, width), e.mul(gradient, normal));
                e.store_piece(dgamma, c, sum, width);
                if let Some(dbeta) = dbeta {
                    let sum = e.add(e.load_piece(dbeta, c, width), gradient);
                    e.store_piece(dbeta, c, sum, width);
                }
            });
        });
    });
}
