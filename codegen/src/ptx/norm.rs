//! Layer norm and RMS norm: a warp or a block a row, its statistics found together.

use super::device::Device;
use super::launch::{self, Team, statistics_bytes};
use super::sums;
use crate::kernel::{Dtype, Norm, NormKind};
use crate::llvm::emit::P;
use crate::llvm::norm::Statistics;

/// The statistics of a row, found by its team.
fn statistics<'c>(
    k: &Device<'_, 'c>,
    team: Team,
    n: &Norm,
    lanes: u64,
    x: P<'c>,
) -> Statistics<'c> {
    let e = k.e;
    let count = e.float(n.cols as f64);
    let mean = (n.kind == NormKind::Layer)
        .then(|| e.div(k.row_sum(team, n.cols, lanes, |c| k.load(x, c, lanes)), count));
    let squares = k.row_sum(team, n.cols, lanes, |c| {
        let value = k.load(x, c, lanes);
        let centred = mean.map_or(value, |mean| e.sub(value, mean));
        e.mul(centred, centred)
    });
    let spread = e.add(e.div(squares, count), e.float(n.eps.get()));
    Statistics { mean, rstd: e.div(e.float(1.0), e.sqrt(spread)) }
}
/// `x, gamma, [beta], y`.
pub(super) fn forward(k: &Device<'_, '_>, n: &Norm, dtype: Dtype) {
    let e = k.e;
    let (gamma, y) = (k.buffers[1], *k.buffers.last().expect("a norm has an output"));
    let beta = (n.kind == NormKind::Layer).then(|| k.buffers[2]);
    let (team, lanes) = (Team::of(n.cols), launch::lanes(n.cols, dtype));
    k.row(team, n.rows, |row| {
        let start = e.imul(row, e.n(n.cols));
        let (x, y) = (e.at(k.buffers[0], start), e.at(y, start));
        let stats = statistics(k, team, n, lanes, x);
        k.columns(team, n.cols, lanes, |c| {
            let normal = stats.normalise(e, k.load(x, c, lanes));
            let scaled = e.mul(normal, k.load(gamma, c, lanes));
            let value = beta.map_or(scaled, |beta| e.add(scaled, k.load(beta, c, lanes)));
            k.store(y, c, value);
        });
    });
}

/// `x, gamma, dy, [added], dx`: with `g = dy * gamma` and `h` the normalised row,
/// `dx = rstd * (g - mean(g) - h * mean(g * h))`, without `mean(g)` for RMS norm.
pub(super) fn input_gradient(k: &Device<'_, '_>, n: &Norm, adds: bool, dtype: Dtype) {
    let e = k.e;
    let gamma = k.buffers[1];
    let count = e.float(n.cols as f64);
    let (team, lanes) = (Team::of(n.cols), launch::lanes(n.cols, dtype));
    k.row(team, n.rows, |row| {
        let start = e.imul(row, e.n(n.cols));
        let [x, dy, dx] = [0, 2, k.buffers.len() - 1].map(|i: usize| e.at(k.buffers[i], start));
        let added = adds.then(|| e.at(k.buffers[3], start));
        let stats = statistics(k, team, n, lanes, x);
        let g = |c| e.mul(k.load(dy, c, lanes), k.load(gamma, c, lanes));
        let h = |c| stats.normalise(e, k.load(x, c, lanes));
        let mean_g = stats.mean.map(|_| e.div(k.row_sum(team, n.cols, lanes, g), count));
        let mean_gh = e.div(k.row_sum(team, n.cols, lanes, |c| e.mul(g(c), h(c))), count);
        k.columns(team, n.cols, lanes, |c| {
            let centred = mean_g.map_or(g(c), |mean| e.sub(g(c), mean));
            let value = e.sub(centred, e.mul(h(c), mean_gh));
            let value = e.mul(value, stats.rstd);
            let value = added.map_or(value, |added| e.add(k.load(added, c, lanes), value));
            k.store(dx, c, value);
        });
    });
}

/// `x, dy, dgamma, [dbeta]`: first the statistics of all rows, then sums over parts of the rows, then over the parts.
pub(super) fn weight_gradient(k: &Device<'_, '_>, n: &Norm, dtype: Dtype, stage: usize) {
    let e = k.e;
    let computed = e.dtype();
    let partial = |k: &Device<'_, '_>| statistics_bytes(n, k.e.dtype());
    match stage {
        0 => {
            let kept = k.scratch(computed, 0);
            let (team, lanes) = (Team::of(n.cols), launch::lanes(n.cols, dtype));
            k.row(team, n.rows, |row| {
                let x = e.at(k.buffers[0], e.imul(row, e.n(n.cols)));
                let stats = statistics(k, team, n, lanes, x);
                k.once(team, || {
                    let at = e.imul(row, e.n(2));
                    e.store(kept, at, stats.mean.unwrap_or(e.float(0.0)));
                    e.store(kept, e.iadd(at, e.n(1)), stats.rstd);
                });
            });
        }
        1 => {
            let kept = k.scratch(computed, 0);
            let results = launch::results(n.kind);
            sums::parts(k, n.rows, n.cols, results, partial(k), |row, col| {
                let here = e.iadd(e.imul(row, e.n(n.cols)), col);
                let at = e.imul(row, e.n(2));
                let mean = (n.kind == NormKind::Layer).then(|| e.load(kept, at));
                let stats = Statistics { mean, rstd: e.load(kept, e.iadd(at, e.n(1))) };
                let gradient = e.load(k.buffers[1], here);
                let normal = stats.normalise(e, e.load(k.buffers[0], here));
                let mut terms = vec![e.mul(gradient, normal)];
                terms.extend((results == 2).then_some(gradient));
                terms
            });
        }
        _ => sums::total(k, n.rows, n.cols, &k.buffers[2..], partial(k)),
    }
}
