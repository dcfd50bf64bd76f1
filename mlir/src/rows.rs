//! Look-ups, losses, sums and clipping.

use piper_codegen::kernel::{CrossEntropy, Dtype, Embedding};

use crate::function::{Buffer, Function, element};

pub(crate) fn embedding(f: &mut Function, e: &Embedding, dtype: Dtype) {
    let real = element(dtype);
    let (tokens, w) = (f.buffer(&[e.rows], "i32"), f.buffer(&[e.vocab, e.dim], real));
    let y = f.buffer(&[e.rows, e.dim], real);
    f.each("r c", &[(&tokens, "r")], (&y, "r c"), |f, ins| {
        let (row, is_legal) = f.token(&ins[0], e.vocab);
        let column = f.position(1);
        let value = f.load(&w, &[&row, &column]);
        let nan = f.number(f64::NAN);
        f.select(&is_legal, &value, &nan)
    });
}

/// Rows of the table are met in the order of the tokens: a scatter, which no structured operation is.
pub(crate) fn embedding_gradient(f: &mut Function, e: &Embedding, dtype: Dtype) {
    let real = element(dtype);
    let (tokens, dy) = (f.buffer(&[e.rows], "i32"), f.buffer(&[e.rows, e.dim], real));
    let dw = f.buffer(&[e.vocab, e.dim], real);
    let sums = f.sums(&[e.vocab, e.dim]);
    f.for_each(e.rows, |f, at| {
        let token = f.load(&tokens, &[at]);
        let (row, is_legal) = f.token(&token, e.vocab);
        f.only_if(&is_legal, |f| {
            f.for_each(e.dim, |f, column| {
                let (sum, term) = (f.load(&sums, &[&row, column]), f.load(&dy, &[at, column]));
                let sum = f.binary("arith.addf", &sum, &term);
                f.store(&sum, &sums, &[&row, column]);
            });
        });
    });
    f.each("t c", &[(&sums, "t c")], (&dw, "t c"), |_, ins| ins[0].clone());
}

/// The logarithm of the sum of the exponentials of each row, in a buffer of the type that the kernel computes in.
fn log_sum_exp(f: &mut Function, c: &CrossEntropy, logits: &Buffer) -> Buffer {
    let largest = f.own(&[c.rows], f.computed, f64::NEG_INFINITY);
    f.fold("r t", &[(logits, "r t")], (&largest, "r"), |f, ins, so_far| f.larger(&ins[0], so_far));
    let sums = f.sums(&[c.rows]);
    f.sum("r t", &[(logits, "r t"), (&largest, "r")], (&sums, "r"), |f, ins| {
        let below = f.binary("arith.subf", &ins[0], &ins[1]);
        f.unary("math.exp", &below)
    });
    let lse = f.own(&[c.rows], f.computed, 0.0);
    f.each("r", &[(&largest, "r"), (&sums, "r")], (&lse, "r"), |f, ins| {
        let log = f.unary("math.log", &ins[1]);
        f.binary("arith.addf", &ins[0], &log)
    });
    lse
}

pub(crate) fn cross_entropy(f: &mut Function, c: &CrossEntropy, dtype: Dtype) {
    let real = element(dtype);
    let (logits, targets) = (f.buffer(&[c.rows, c.vocab], real), f.buffer(&[c.rows], "i32"));
    let loss = f.buffer(&[1], real);
    let given = c.lse.then(|| f.buffer(&[c.rows], real));
    let lse = log_sum_exp(f, c, &logits);
    if let Some(given) = given {
        f.each("r", &[(&lse, "r")], (&given, "r"), |_, ins| ins[0].clone());
    }
    let total = f.own(&[1], "f64", 0.0);
    let ins = [(&lse, "r"), (&targets, "r")];
    f.fold("r", &ins, (&total, "0"), |f, ins, so_far| {
        let (target, is_legal) = f.token(&ins[1], c.vocab);
        let row = f.position(0);
        let logit = f.load(&logits, &[&row, &target]);
        let of_row = f.binary("arith.subf", &ins[0], &logit);
        let nan = f.number(f64::NAN);
        let of_row = f.select(&is_legal, &of_row, &nan);
        let wide = f.converted(&of_row, "f64");
        f.binary("arith.addf", so_far, &wide)
    });
    f.each("e", &[(&total, "e")], (&loss, "e"), |f, ins| {
        let denominator = f.constant(c.denominator as f64, "f64");
        f.binary("arith.divf", &ins[0], &denominator)
    });
}

pub(crate) fn cross_entropy_gradient(f: &mut Function, c: &CrossEntropy, dtype: Dtype) {
    let real = element(dtype);
    let (logits, targets) = (f.buffer(&[c.rows, c.vocab], real), f.buffer(&[c.rows], "i32"));
    let d_loss = f.buffer(&[1], real);
    let given = c.lse.then(|| f.buffer(&[c.rows], real));
    let d_logits = f.buffer(&[c.rows, c.vocab], real);
    let lse = given.unwrap_or_else(|| log_sum_exp(f, c, &logits));
    let ins = [(&logits, "r t"), (&lse, "r"), (&targets, "r"), (&d_loss, "0")];
    f.each("r t", &ins, (&d_logits, "r t"), |f, ins| {
        let denominator = f.number(c.denominator as f64);
        let factor = f.binary("arith.divf", &ins[3], &denominator);
        let below = f.binary("arith.subf", &ins[0], &ins[1]);
        let probability = f.unary("math.exp", &below);
        let (target, is_legal) = f.token(&ins[2], c.vocab);
        let class = f.position(1);
        let is_target = f.compare("eq", &class, &target);
        let (zero, one) = (f.number(0.0), f.number(1.0));
        let hit = f.select(&is_target, &one, &zero);
        let error = f.binary("arith.subf", &probability, &hit);
        let gradient = f.binary("arith.mulf", &error, &factor);
        let nan = f.number(f64::NAN);
        f.select(&is_legal, &gradient, &nan)
    });
}

pub(crate) fn sum_rows(f: &mut Function, rows: u64, cols: u64, dtype: Dtype) {
    let real = element(dtype);
    let (x, y) = (f.buffer(&[rows, cols], real), f.buffer(&[cols], real));
    let sums = f.sums(&[cols]);
    f.sum("r c", &[(&x, "r c")], (&sums, "c"), |_, ins| ins[0].clone());
    f.each("c", &[(&sums, "c")], (&y, "c"), |_, ins| ins[0].clone());
}

pub(crate) fn sum_squares(f: &mut Function, elems: u64, dtype: Dtype) {
    let (x, total) = (f.buffer(&[elems], element(dtype)), f.buffer(&[1], "f64"));
    let sum = f.own(&[1], "f64", 0.0);
    f.sum("i", &[(&x, "i")], (&sum, "0"), |f, ins| {
        let wide = f.converted(&ins[0], "f64");
        f.binary("arith.mulf", &wide, &wide)
    });
    f.each("e", &[(&sum, "e")], (&total, "e"), |_, ins| ins[0].clone());
}

pub(crate) fn clip_scale(f: &mut Function, max_norm: f64, dtype: Dtype) {
    let (total, scale) = (f.buffer(&[1], "f64"), f.buffer(&[1], element(dtype)));
    f.each("e", &[(&total, "e")], (&scale, "e"), |f, ins| {
        let norm = f.unary("math.sqrt", &ins[0]);
        let [small, limit, one] = [1e-6, max_norm, 1.0].map(|n| f.constant(n, "f64"));
        let shifted = f.binary("arith.addf", &norm, &small);
        let ratio = f.binary("arith.divf", &limit, &shifted);
        let is_below = f.compare("olt", &one, &ratio);
        f.select(&is_below, &one, &ratio)
    });
}
