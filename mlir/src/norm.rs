//! Layer norm and RMS norm.

use piper_codegen::kernel::{Dtype, Norm, NormKind};

use crate::function::{Buffer, Function, Value, element};

/// The mean of each row (zero for RMS) and the reciprocal of its deviation.
struct Statistics {
    mean: Buffer,
    rstd: Buffer,
}

fn statistics(f: &mut Function, n: &Norm, x: &Buffer) -> Statistics {
    let mean = f.sums(&[n.rows]);
    if n.kind == NormKind::Layer {
        f.sum("r c", &[(x, "r c")], (&mean, "r"), |_, ins| ins[0].clone());
        f.generic("r", "", &[], &[(&mean, "r")], |f, _, outs| {
            let count = f.number(n.cols as f64);
            vec![f.binary("arith.divf", &outs[0], &count)]
        });
    }
    let rstd = f.sums(&[n.rows]);
    f.sum("r c", &[(x, "r c"), (&mean, "r")], (&rstd, "r"), |f, ins| {
        let centred = f.binary("arith.subf", &ins[0], &ins[1]);
        f.binary("arith.mulf", &centred, &centred)
    });
    f.generic("r", "", &[], &[(&rstd, "r")], |f, _, outs| {
        let count = f.number(n.cols as f64);
        let variance = f.binary("arith.divf", &outs[0], &count);
        let eps = f.number(n.eps.get());
        let shifted = f.binary("arith.addf", &variance, &eps);
        let root = f.unary("math.sqrt", &shifted);
        let one = f.number(1.0);
        vec![f.binary("arith.divf", &one, &root)]
    });
    Statistics { mean, rstd }
}

/// `(x - mean) * rstd`.
fn normal(f: &mut Function, x: &Value, mean: &Value, rstd: &Value) -> Value {
    let centred = f.binary("arith.subf", x, mean);
    f.binary("arith.mulf", &centred, rstd)
}

pub(crate) fn forward(f: &mut Function, n: &Norm, dtype: Dtype) {
    let real = element(dtype);
    let (x, gamma) = (f.buffer(&[n.rows, n.cols], real), f.buffer(&[n.cols], real));
    let beta = (n.kind == NormKind::Layer).then(|| f.buffer(&[n.cols], real));
    let y = f.buffer(&[n.rows, n.cols], real);
    let Statistics { mean, rstd } = statistics(f, n, &x);
    let mut ins = vec![(&x, "r c"), (&mean, "r"), (&rstd, "r"), (&gamma, "c")];
    ins.extend(beta.iter().map(|beta| (beta, "c")));
    f.each("r c", &ins, (&y, "r c"), |f, ins| {
        let normal = normal(f, &ins[0], &ins[1], &ins[2]);
        let scaled = f.binary("arith.mulf", &normal, &ins[3]);
        match ins.get(4) {
            Some(beta) => f.binary("arith.addf", &scaled, beta),
            None => scaled,
        }
    });
}

pub(crate) fn input_gradient(f: &mut Function, n: &Norm, adds: bool, dtype: Dtype) {
    let real = element(dtype);
    let (x, gamma) = (f.buffer(&[n.rows, n.cols], real), f.buffer(&[n.cols], real));
    let dy = f.buffer(&[n.rows, n.cols], real);
    let added = adds.then(|| f.buffer(&[n.rows, n.cols], real));
    let dx = f.buffer(&[n.rows, n.cols], real);
    let Statistics { mean, rstd } = statistics(f, n, &x);
    let (mean_g, mean_gh) = (f.sums(&[n.rows]), f.sums(&[n.rows]));
    let of = |f: &mut Function, value: &Value| {
        let count = f.number(n.cols as f64);
        f.binary("arith.divf", value, &count)
    };
    if n.kind == NormKind::Layer {
        f.sum("r c", &[(&dy, "r c"), (&gamma, "c")], (&mean_g, "r"), |f, ins| {
            f.binary("arith.mulf", &ins[0], &ins[1])
        });
    }
    let ins = [(&x, "r c"), (&mean, "r"), (&rstd, "r"), (&dy, "r c"), (&gamma, "c")];
    f.sum("r c", &ins, (&mean_gh, "r"), |f, ins| {
        let normal = normal(f, &ins[0], &ins[1], &ins[2]);
        let g = f.binary("arith.mulf", &ins[3], &ins[4]);
        f.binary("arith.mulf", &g, &normal)
    });
    let mut ins = [ins.as_slice(), &[(&mean_g, "r"), (&mean_gh, "r")]].concat();
    ins.extend(added.iter().map(|added| (added, "r c")));
    f.each("r c", &ins, (&dx, "r c"), |f, ins| {
        let normal = normal(f, &ins[0], &ins[1], &ins[2]);
        let g = f.binary("arith.mulf", &ins[3], &ins[4]);
        let (mean_g, mean_gh) = (of(f, &ins[5]), of(f, &ins[6]));
        let centred = f.binary("arith.subf", &g, &mean_g);
        let along = f.binary("arith.mulf", &normal, &mean_gh);
        let across = f.binary("arith.subf", &centred, &along);
        let gradient = f.binary("arith.mulf", &across, &ins[2]);
        match ins.get(7) {
            Some(added) => f.binary("arith.addf", added, &gradient),
            None => gradient,
        }
    });
}

pub(crate) fn weight_gradient(f: &mut Function, n: &Norm, dtype: Dtype) {
    let real = element(dtype);
    let (x, dy) = (f.buffer(&[n.rows, n.cols], real), f.buffer(&[n.rows, n.cols], real));
    let d_gamma = f.buffer(&[n.cols], real);
    let d_beta = (n.kind == NormKind::Layer).then(|| f.buffer(&[n.cols], real));
    let Statistics { mean, rstd } = statistics(f, n, &x);
    let sums = f.sums(&[n.cols]);
    let ins = [(&x, "r c"), (&mean, "r"), (&rstd, "r"), (&dy, "r c")];
    f.sum("r c", &ins, (&sums, "c"), |f, ins| {
        let normal = normal(f, &ins[0], &ins[1], &ins[2]);
        f.binary("arith.mulf", &ins[3], &normal)
    });
    f.each("c", &[(&sums, "c")], (&d_gamma, "c"), |_, ins| ins[0].clone());
    if let Some(d_beta) = d_beta {
        let sums = f.sums(&[n.cols]);
        f.sum("r c", &[(&dy, "r c")], (&sums, "c"), |_, ins| ins[0].clone());
        f.each("c", &[(&sums, "c")], (&d_beta, "c"), |_, ins| ins[0].clone());
    }
}
