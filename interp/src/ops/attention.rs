//! Causal softmax attention with heads that may share keys and values (grouped-query attention, Ainslie et al. 2023).
//!
//! Head `h` of `H` is the slice `h*hd..(h+1)*hd` of the last dimension of `q`; it reads head `h / (H / KV)` of `k` and `v`.
//! Position `s` sees positions `0..=s`. The log-sum-exp of a row's scaled scores is what backward needs to rebuild the
//! probabilities, and with `o` it replaces the S x S matrix as the residual (Dao et al., "FlashAttention", 2022).

use crate::error::NumericError;
use crate::real::{Real, add_scaled, dot, sum};
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `q[B, S, H*hd], k[B, S, KV*hd], v[B, S, KV*hd] -> o[B, S, H*hd], lse[B, H, S]`.
///
/// With scores `z[t] = (q[s] . k[t]) / sqrt(hd)` for `t <= s`: `lse = log sum_t exp z[t]`, `o[s] = sum_t exp(z[t] - lse) v[t]`.
///
/// # Errors
/// When shapes or element types do not fit, `heads` does not divide the width of `q`, `kv_heads` does not divide `heads`,
/// or `k` has another head size than `q`.
pub fn attention<T: Real>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    heads: usize,
    kv_heads: usize,
) -> Result<(Tensor, Tensor), NumericError> {
    let mut shapes = Shapes::new("nn.attention");
    let q = shapes.operand::<T>("q", q, &["B", "S", "H*hd"])?;
    let k = shapes.operand::<T>("k", k, &["B", "S", "KV*hd"])?;
    let v = shapes.operand::<T>("v", v, &["B", "S", "KV*hd"])?;
    let layout = Layout::new(&mut shapes, heads, kv_heads)?;
    let scale = layout.scale::<T>();
    let mut o = vec![T::ZERO; q.len()];
    let mut lse = Vec::with_capacity(layout.batch * heads * layout.seq);
    for (b, h, s) in layout.queries() {
        let q_row = &q[layout.query(b, s, h)];
        let z: Vec<T> = (0..=s).map(|t| dot(q_row, &k[layout.key(b, t, h)]) * scale).collect();
        let max = z.iter().copied().fold(T::NEG_INFINITY, T::max);
        let e: Vec<T> = z.iter().map(|&z| (z - max).exp()).collect();
        let total = sum(e.iter().copied());
        let o_row = &mut o[layout.query(b, s, h)];
        for (t, &e) in e.iter().enumerate() {
            add_scaled(o_row, e / total, &v[layout.key(b, t, h)]);
        }
        lse.push(max + total.ln());
    }
    Ok((shapes.result(&["B", "S", "H*hd"], o)?, shapes.result(&["B", "H", "S"], lse)?))
}

/// `q, k, v, o, lse, do -> dq, dk, dv`.
///
/// With `p[t] = exp(z[t] - lse)` and `delta = do . o`: `dv[t] += p[t] do`, `dz[t] = p[t] (do . v[t] - delta)`,
/// `dq += dz[t] k[t] / sqrt(hd)`, `dk[t] += dz[t] q / sqrt(hd)`; sums run in ascending `(b, h, s, t)` order.
///
/// # Errors
/// As [`attention`].
#[allow(clippy::too_many_arguments)]
pub fn attention_dx<T: Real>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    o: &Tensor,
    lse: &Tensor,
    d_o: &Tensor,
    heads: usize,
    kv_heads: usize,
) -> Result<(Tensor, Tensor, Tensor), NumericError> {
    let mut shapes = Shapes::new("nn.attention_dx");
    let q = shapes.operand::<T>("q", q, &["B", "S", "H*hd"])?;
    let k = shapes.operand::<T>("k", k, &["B", "S", "KV*hd"])?;
    let v = shapes.operand::<T>("v", v, &["B", "S", "KV*hd"])?;
    let layout = Layout::new(&mut shapes, heads, kv_heads)?;
    let o = shapes.operand::<T>("o", o, &["B", "S", "H*hd"])?;
    let lse = shapes.operand::<T>("lse", lse, &["B", "H", "S"])?;
    let d_o = shapes.operand::<T>("do", d_o, &["B", "S", "H*hd"])?;
    let scale = layout.scale::<T>();
    let (mut dq, mut dk, mut dv) =
        (vec![T::ZERO; q.len()], vec![T::ZERO; k.len()], vec![T::ZERO; v.len()]);
    for (row, (b, h, s)) in layout.queries().enumerate() {
        let query = layout.query(b, s, h);
        let (q_row, do_row) = (&q[query.clone()], &d_o[query.clone()]);
        let delta = dot(do_row, &o[query.clone()]);
        for t in 0..=s {
            let key = layout.key(b, t, h);
            let p = (dot(q_row, &k[key.clone()]) * scale - lse[row]).exp();
            let dz = p * (dot(do_row, &v[key.clone()]) - delta) * scale;
            add_scaled(&mut dv[key.clone()], p, do_row);
            add_scaled(&mut dq[query.clone()], dz, &k[key.clone()]);
            add_scaled(&mut dk[key], dz, q_row);
        }
    }
    Ok((
        shapes.result(&["B", "S", "H*hd"], dq)?,
        shapes.result(&["B", "S", "KV*hd"], dk)?,
        shapes.result(&["B", "S", "KV*hd"], dv)?,
    ))
}

/// Where heads lie in memory.
struct Layout {
    batch: usize,
    seq: usize,
    heads: usize,
    kv_heads: usize,
    head_size: usize,
}

impl Layout {
    fn new(shapes: &mut Shapes, heads: usize, kv_heads: usize) -> Result<Self, NumericError> {
        let head_size = shapes.divided("H*hd", "heads", heads)?;
        if head_size == 0 {
            return Err(shapes.attribute_error("the head size is 0".into()));
        }
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(shapes.attribute_error(format!(
                "kv_heads = {kv_heads} does not divide heads = {heads}"
            )));
        }
        if shapes.size("KV*hd") != kv_heads * head_size {
            return Err(shapes.attribute_error(format!(
                "dimension KV*hd of k is {}, but kv_heads = {kv_heads} heads of size {head_size} make it {}",
                shapes.size("KV*hd"),
                kv_heads * head_size
            )));
        }
        shapes.attribute("H", heads);
        Ok(Self { batch: shapes.size("B"), seq: shapes.size("S"), heads, kv_heads, head_size })
    }

    fn scale<T: Real>(&self) -> T {
        T::ONE / T::from_count(self.head_size).sqrt()
    }

    /// All `(b, h, s)`, in the order of `lse`.
    fn queries(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (batch, heads, seq) = (self.batch, self.heads, self.seq);
        (0..batch).flat_map(move |b| (0..heads).flat_map(move |h| (0..seq).map(move |s| (b, h, s))))
    }

    /// Head `h` of `q` (or `o`) at `(b, s)`.
    fn query(&self, b: usize, s: usize, h: usize) -> std::ops::Range<usize> {
        let start = ((b * self.seq + s) * self.heads + h) * self.head_size;
        start..start + self.head_size
    }

    /// The head of `k` (or `v`) at `(b, t)` that query head `h` reads.
    fn key(&self, b: usize, t: usize, h: usize) -> std::ops::Range<usize> {
        let kv_head = h / (self.heads / self.kv_heads);
        let start = ((b * self.seq + t) * self.kv_heads + kv_head) * self.head_size;
        start..start + self.head_size
    }
}
