//! Causal attention and rotary positions. The scores stand in memory here: this road is for checking, not for speed.

use piper_codegen::kernel::{Attention, Dtype};

use crate::function::{Buffer, Function, Value, element};

/// Loops over scores: sequence, key head, query head of that key head, query, key.
const SCORES: &str = "b h g i j";
/// The same with the width of a head.
const PRODUCTS: &str = "b h g i j d";
const QUERY: &str = "b i h g d";
const KEY: &str = "b j h d";
const ROW: &str = "b h g i";

/// Extents of queries, of keys, of scores, and of one number a query.
struct Shapes {
    query: [u64; 5],
    key: [u64; 4],
    scores: [u64; 5],
    row: [u64; 4],
}

impl Shapes {
    fn of(s: &Attention) -> Self {
        let group = s.heads / s.kv_heads;
        Self {
            query: [s.batch, s.seq, s.kv_heads, group, s.head_dim],
            key: [s.batch, s.seq, s.kv_heads, s.head_dim],
            scores: [s.batch, s.kv_heads, group, s.seq, s.seq],
            row: [s.batch, s.kv_heads, group, s.seq],
        }
    }
}

/// `value` where the key is not after the query, else `otherwise`.
fn visible(f: &mut Function, value: &Value, otherwise: f64) -> Value {
    let (query, key) = (f.position(3), f.position(4));
    let is_visible = f.compare("ule", &key, &query);
    let otherwise = f.number(otherwise);
    f.select(&is_visible, value, &otherwise)
}

/// Products of queries and keys, not scaled.
fn products(f: &mut Function, s: &Shapes, q: &Buffer, k: &Buffer) -> Buffer {
    let scores = f.sums(&s.scores);
    f.sum(PRODUCTS, &[(q, QUERY), (k, KEY)], (&scores, SCORES), |f, ins| {
        f.binary("arith.mulf", &ins[0], &ins[1])
    });
    scores
}

fn scale(s: &Attention) -> f64 {
    1.0 / (s.head_dim as f64).sqrt()
}

pub(crate) fn forward(f: &mut Function, attention: &Attention, has_lse: bool, dtype: Dtype) {
    let (s, real) = (Shapes::of(attention), element(dtype));
    let (q, k, v) = (f.buffer(&s.query, real), f.buffer(&s.key, real), f.buffer(&s.key, real));
    let o = f.buffer(&s.query, real);
    let lse = has_lse.then(|| f.buffer(&s.row, real));
    let scores = products(f, &s, &q, &k);
    f.generic(SCORES, "", &[], &[(&scores, SCORES)], |f, _, outs| {
        let scale = f.number(scale(attention));
        let scaled = f.binary("arith.mulf", &outs[0], &scale);
        vec![visible(f, &scaled, f64::NEG_INFINITY)]
    });
    let largest = f.own(&s.row, f.computed, f64::NEG_INFINITY);
    f.fold(SCORES, &[(&scores, SCORES)], (&largest, ROW), |f, ins, so_far| {
        f.larger(&ins[0], so_far)
    });
    let sums = f.sums(&s.row);
    f.generic(SCORES, "", &[(&largest, ROW)], &[(&scores, SCORES)], |f, ins, outs| {
        let below = f.binary("arith.subf", &outs[0], &ins[0]);
        vec![f.unary("math.exp", &below)]
    });
    f.sum(SCORES, &[(&scores, SCORES)], (&sums, ROW), |_, ins| ins[0].clone());
    let weighted = f.sums(&s.query);
    let ins = [(&scores, SCORES), (&sums, ROW), (&v, KEY)];
    f.sum(PRODUCTS, &ins, (&weighted, QUERY), |f, ins| {
        let weight = f.binary("arith.divf", &ins[0], &ins[1]);
        f.binary("arith.mulf", &weight, &ins[2])
    });
    f.each("b i h g d", &[(&weighted, QUERY)], (&o, QUERY), |_, ins| ins[0].clone());
    if let Some(lse) = lse {
        f.each(ROW, &[(&largest, ROW), (&sums, ROW)], (&lse, ROW), |f, ins| {
            let log = f.unary("math.log", &ins[1]);
            f.binary("arith.addf", &ins[0], &log)
        });
    }
}

pub(crate) fn gradient(f: &mut Function, attention: &Attention, dtype: Dtype) {
    let (s, real) = (Shapes::of(attention), element(dtype));
    let (q, k, v) = (f.buffer(&s.query, real), f.buffer(&s.key, real), f.buffer(&s.key, real));
    let (o, lse, d_o) =
        (f.buffer(&s.query, real), f.buffer(&s.row, real), f.buffer(&s.query, real));
    let (dq, dk, dv) = (f.buffer(&s.query, real), f.buffer(&s.key, real), f.buffer(&s.key, real));
    let offset = f.sums(&s.row);
    f.sum("b h g i d", &[(&o, QUERY), (&d_o, QUERY)], (&offset, ROW), |f, ins| {
        f.binary("arith.mulf", &ins[0], &ins[1])
    });
    let weights = products(f, &s, &q, &k);
    f.generic(SCORES, "", &[(&lse, ROW)], &[(&weights, SCORES)], |f, ins, outs| {
        let scale = f.number(scale(attention));
        let scaled = f.binary("arith.mulf", &outs[0], &scale);
        let below = f.binary("arith.subf", &scaled, &ins[0]);
        let weight = f.unary("math.exp", &below);
        vec![visible(f, &weight, 0.0)]
    });
    let d_scores = products(f, &s, &d_o, &v);
    let ins = [(&weights, SCORES), (&offset, ROW)];
    f.generic(SCORES, "", &ins, &[(&d_scores, SCORES)], |f, ins, outs| {
        let inner = f.binary("arith.subf", &outs[0], &ins[1]);
        let weighed = f.binary("arith.mulf", &ins[0], &inner);
        let scale = f.number(scale(attention));
        vec![f.binary("arith.mulf", &weighed, &scale)]
    });
    let results = [
        (&d_scores, &k, KEY, &dq, QUERY, &s.query[..], QUERY),
        (&d_scores, &q, QUERY, &dk, KEY, &s.key[..], KEY),
        (&weights, &d_o, QUERY, &dv, KEY, &s.key[..], KEY),
    ];
    for (factor, other, other_at, result, at, shape, loops) in results {
        let sums = f.sums(shape);
        f.sum(PRODUCTS, &[(factor, SCORES), (other, other_at)], (&sums, at), |f, ins| {
            f.binary("arith.mulf", &ins[0], &ins[1])
        });
        f.each(loops, &[(&sums, at)], (result, at), |_, ins| ins[0].clone());
    }
}

/// Shape and base of a rotation of positions.
pub(crate) struct Rotary {
    pub(crate) batch: u64,
    pub(crate) seq: u64,
    pub(crate) heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) base: f64,
    pub(crate) is_inverse: bool,
}

pub(crate) fn rotary(f: &mut Function, r: &Rotary, dtype: Dtype) {
    let (real, half) = (element(dtype), r.head_dim / 2);
    let shape = [r.batch, r.seq, r.heads, 2, half];
    let (x, y) = (f.buffer(&shape, real), f.buffer(&shape, real));
    // The angles are computed in f64, whatever the type of the elements.
    let (cos, sin) = (f.sums(&[r.seq, half]), f.sums(&[r.seq, half]));
    f.generic("s i", "", &[], &[(&cos, "s i"), (&sin, "s i")], |f, _, _| {
        let (position, pair) = (f.position_number(0, "f64"), f.position_number(1, "f64"));
        let step = f.constant(-2.0, "f64");
        let twice = f.binary("arith.mulf", &step, &pair);
        let width = f.constant(r.head_dim as f64, "f64");
        let power = f.binary("arith.divf", &twice, &width);
        let base = f.constant(r.base, "f64");
        let frequency = f.binary("math.powf", &base, &power);
        let angle = f.binary("arith.mulf", &position, &frequency);
        let (cos, mut sin) = (f.unary("math.cos", &angle), f.unary("math.sin", &angle));
        if r.is_inverse {
            sin = f.unary("arith.negf", &sin);
        }
        vec![cos, sin]
    });
    let (first, second) = ("b s h 0 i", "b s h 1 i");
    let ins = [(&x, first), (&x, second), (&cos, "s i"), (&sin, "s i")];
    f.generic("b s h i", "", &ins, &[(&y, first), (&y, second)], |f, ins, _| {
        let [a, b, cos, sin] = ins else { unreachable!("four operands") };
        let [ac, bs, as_, bc] =
            [(a, cos), (b, sin), (a, sin), (b, cos)].map(|(x, y)| f.binary("arith.mulf", x, y));
        vec![f.binary("arith.subf", &ac, &bs), f.binary("arith.addf", &as_, &bc)]
    });
}
