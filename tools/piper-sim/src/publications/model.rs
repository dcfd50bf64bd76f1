//! Models, and what one layer of them costs on one device for one microbatch.

use super::chips::{Attention, Chip, Format};

/// How attention projects.
#[derive(Clone, Copy, Debug)]
pub enum Heads {
    /// Grouped queries: query heads, key and value heads, size of a head.
    Grouped(f64, f64, f64),
    /// DeepSeek's latent attention: heads; ranks of queries and of keys and values; sizes of the part without and with rotation,
    /// and of a value.
    Latent(f64, f64, f64, f64, f64, f64),
}

/// Experts of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Experts {
    /// Routed experts.
    pub count: f64,
    /// Of which a token uses so many.
    pub used: f64,
    /// Experts that every token uses.
    pub shared: f64,
    /// Inner width of an expert.
    pub width: f64,
    /// Nodes that a token's experts lie on at most.
    pub nodes: f64,
}

/// A model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// Layers.
    pub layers: f64,
    /// Of which the first so many are dense where others have experts.
    pub dense: f64,
    /// Width.
    pub width: f64,
    /// Attention.
    pub heads: Heads,
    /// Inner width of dense layers.
    pub inner: f64,
    /// Matrices of a perceptron: 3 with a gate, 2 without.
    pub matrices: f64,
    /// Experts, if it has any.
    pub experts: Option<Experts>,
    /// Vocabulary.
    pub vocabulary: f64,
}

const fn llama(name: &'static str, layers: f64, width: f64, heads: f64, inner: f64) -> Model {
    Model {
        name,
        layers,
        dense: layers,
        width,
        heads: Heads::Grouped(heads, 8.0, 128.0),
        inner,
        matrices: 3.0,
        experts: None,
        vocabulary: 128256.0,
    }
}

/// Llama-3 8B.
pub const LLAMA_8B: Model = llama("Llama-3 8B", 32.0, 4096.0, 32.0, 14336.0);
/// Llama-3 70B.
pub const LLAMA_70B: Model = llama("Llama-3 70B", 80.0, 8192.0, 64.0, 28672.0);
/// Llama-3 405B.
pub const LLAMA_405B: Model = llama("Llama-3 405B", 126.0, 16384.0, 128.0, 53248.0);
/// GPT-3 175B.
pub const GPT3: Model = Model {
    name: "GPT-3 175B",
    layers: 96.0,
    dense: 96.0,
    width: 12288.0,
    heads: Heads::Grouped(96.0, 96.0, 128.0),
    inner: 49152.0,
    matrices: 2.0,
    experts: None,
    vocabulary: 51200.0,
};
/// DeepSeek-V3. Its one multi-token-prediction layer is counted as a layer by the runs that train it.
pub const V3: Model = Model {
    name: "DeepSeek-V3",
    layers: 61.0,
    dense: 3.0,
    width: 7168.0,
    heads: Heads::Latent(128.0, 1536.0, 512.0, 128.0, 64.0, 128.0),
    inner: 18432.0,
    matrices: 3.0,
    experts: Some(Experts { count: 256.0, used: 8.0, shared: 1.0, width: 2048.0, nodes: 4.0 }),
    vocabulary: 129280.0,
};
const fn qwen3(name: &'static str, layers: f64, width: f64, heads: f64, expert: f64) -> Model {
    Model {
        name,
        layers,
        dense: 0.0,
        width,
        heads: Heads::Grouped(heads, 4.0, 128.0),
        inner: 0.0,
        matrices: 3.0,
        experts: Some(Experts { count: 128.0, used: 8.0, shared: 0.0, width: expert, nodes: 1e9 }),
        vocabulary: 151936.0,
    }
}
/// Qwen3-30B-A3B.
pub const QWEN3_30B: Model = qwen3("Qwen3 30B-A3B", 48.0, 2048.0, 32.0, 768.0);
/// Qwen3-235B-A22B.
pub const QWEN3_235B: Model = qwen3("Qwen3 235B-A22B", 94.0, 4096.0, 64.0, 1536.0);

/// How a run divides and computes a layer.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Tokens of a microbatch on one context-parallel rank, before tensor parallelism.
    pub tokens: f64,
    /// Length of a sequence, all ranks together.
    pub length: f64,
    /// Tensor-parallel ranks (with sequence parallelism).
    pub tp: f64,
    /// Context-parallel ranks.
    pub cp: f64,
    /// Expert-parallel ranks.
    pub ep: f64,
    /// Format of matrix products.
    pub format: Format,
    /// Attention kernels.
    pub attention: Attention,
    /// Elementwise operations run one by one instead of fused.
    pub eager: bool,
    /// Collectives of tensor parallelism run beside its products.
    pub overlaps_tp: bool,
    /// Part of the forward that the backward computes again.
    pub recompute: f64,
    /// Bytes an element that is dispatched to an expert takes.
    pub dispatch_bytes: f64,
}

/// Seconds of a piece of work on one device. Exchanges with experts are apart, as schedules may hide them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seconds {
    /// Forward without exchange.
    pub f: f64,
    /// Gradient of the inputs.
    pub i: f64,
    /// Gradient of the weights.
    pub w: f64,
    /// Exchange with experts, forward; the backward's takes as long, sent at `bf16` width.
    pub exchange_f: f64,
    /// Exchange with experts, backward.
    pub exchange_b: f64,
}

impl Seconds {
    /// The sum of two pieces, the second `times` over.
    pub fn plus(self, other: Seconds, times: f64) -> Seconds {
        Seconds {
            f: self.f + times * other.f,
            i: self.i + times * other.i,
            w: self.w + times * other.w,
            exchange_f: self.exchange_f + times * other.exchange_f,
            exchange_b: self.exchange_b + times * other.exchange_b,
        }
    }
}

/// Matrix products of a layer: columns out, rows in, launches in one, and how many tokens of the microbatch meet each.
fn products(model: &Model, d: &Division, has_experts: bool) -> Vec<(f64, f64, f64, f64)> {
    let (t, w, tp) = (d.tokens, model.width, d.tp);
    let mut list = match model.heads {
        Heads::Grouped(q, kv, size) => {
            vec![((q + 2.0 * kv) * size / tp, w, 1.0, t), (w, q * size / tp, 1.0, t)]
        }
        Heads::Latent(heads, q, kv, plain, rotated, value) => vec![
            (q, w, 1.0, t / tp),
            (kv + rotated, w, 1.0, t / tp),
            (heads * (plain + rotated) / tp, q, 1.0, t),
            (heads * (plain + value) / tp, kv, 1.0, t),
            (w, heads * value / tp, 1.0, t),
        ],
    };
    let up = model.matrices - 1.0;
    match model.experts.filter(|_| has_experts) {
        None => list.extend([(up * model.inner / tp, w, 1.0, t), (w, model.inner / tp, 1.0, t)]),
        Some(e) => {
            // Every rank of the group has so many tokens, and experts get equal shares of all.
            let here = e.count / d.ep;
            let each = t / tp * d.ep * e.used / e.count;
            list.extend([(up * e.width, w, here, each), (w, e.width, here, each)]);
            list.push((e.count, w, 1.0, t / tp));
            if e.shared > 0.0 {
                let width = e.shared * e.width;
                list.extend([(up * width, w, 1.0, t / tp), (w, width, 1.0, t / tp)]);
            }
        }
    }
    list
}

/// One layer for one microbatch.
pub fn layer(chip: &Chip, model: &Model, d: &Division, has_experts: bool) -> Seconds {
    let list = products(model, d, has_experts);
    let mut out = Seconds::default();
    for &(n, k, groups, tokens) in &list {
        let time = |m: f64, n: f64, k: f64| chip.product(d.format, m, n, k, groups);
        out.f += time(tokens, n, k);
        out.i += time(tokens, k, n);
        out.w += time(n, k, tokens);
        // FP8: 6 bytes an element: read twice (once for the largest), written as it is and transposed; inputs forward, gradients
        // backward.
        if d.format == Format::Fp8 {
            out.f += chip.moving(groups * tokens * k * 6.0);
            out.i += chip.moving(groups * tokens * n * 6.0);
        }
    }
    // Attention: two products forward, five backward (one of them again), over half the pairs.
    let tokens = d.tokens;
    let (pairs, sizes, kv_bytes) = match model.heads {
        Heads::Grouped(q, kv, size) => (q / d.tp, 2.0 * size, 2.0 * kv * size / d.tp * 2.0),
        Heads::Latent(heads, _, _, plain, rotated, value) => {
            (heads / d.tp, plain + rotated + value, heads * (plain + rotated + value) / d.tp * 2.0)
        }
    };
    let operations = 2.0 * tokens * d.length / 2.0 * pairs * sizes;
    let rate = chip.bf16_peak * chip.clock;
    out.f += operations / (rate * d.attention.forward);
    out.i += 2.5 * operations / (rate * d.attention.backward);
    // Elementwise, in bytes a token: two norms, two residuals, rotation, activation. Eager runs every operation alone, norms and
    // rotations in f32.
    let inner = match model.experts.filter(|_| has_experts) {
        Some(e) => (e.used + e.shared) * e.width / d.tp,
        None => model.inner / d.tp,
    };
    let rotated = match model.heads {
        Heads::Grouped(q, kv, size) => (q + kv) * size / d.tp,
        Heads::Latent(heads, ..) => heads * 64.0 / d.tp,
    };
    let sequence = model.width / d.tp;
    let [norm, residual, rotation, activation] =
        if d.eager { [26.0, 6.0, 20.0, 10.0] } else { [4.0, 6.0, 4.0, 6.0] };
    let mut bytes = 2.0 * (norm + residual) * sequence + rotation * rotated + activation * inner;
    if let Some(e) = model.experts.filter(|_| has_experts) {
        // Permuting to experts and back reads and writes each copy.
        bytes += 2.0 * 4.0 * e.used * model.width / d.tp;
    }
    out.f += chip.moving(tokens * bytes);
    out.i += chip.moving(tokens * 2.0 * bytes);
    // Tensor parallelism with sequences divided: gather and scatter at both halves; the backward gathers inputs again for W.
    if d.tp > 1.0 {
        let one = tokens * model.width * 2.0 * (d.tp - 1.0) / d.tp / chip.nvlink;
        let halves = if has_experts { 1.0 } else { 2.0 };
        // Beside products cut in as many pieces as there are ranks, only the first piece shows.
        let shown = if d.overlaps_tp { 1.0 / d.tp } else { 1.0 };
        out.f += 2.0 * halves * one * shown;
        out.i += 2.0 * halves * one * shown;
        out.w += halves * one * shown;
    }
    // Context parallelism: keys and values of all ranks are gathered, and their gradients scattered.
    if d.cp > 1.0 {
        let all = tokens * d.cp * kv_bytes * (d.cp - 1.0) / d.cp;
        let wire = if d.tp * d.cp <= chip.node { chip.nvlink } else { chip.network };
        out.f += all / wire;
        out.i += 2.0 * all / wire;
    }
    if let Some(e) = model.experts.filter(|_| has_experts) {
        let nodes = (d.ep * d.tp / chip.node).max(1.0);
        // Distinct nodes that a token's experts lie on, the own one left out; each gets the token once and passes it on inside.
        let reached = (nodes * (1.0 - (1.0 - 1.0 / nodes).powf(e.used))).min(e.nodes);
        let away = reached * (nodes - 1.0) / nodes;
        let one = tokens / d.tp * model.width;
        let exchange = |bytes: f64| {
            let between = one * away * bytes / chip.network;
            let within = one * e.used * bytes / chip.nvlink;
            between.max(within)
        };
        out.exchange_f = exchange(d.dispatch_bytes) + exchange(2.0);
        out.exchange_b = 2.0 * exchange(2.0);
    }
    out.i += d.recompute * out.f;
    out
}

/// The head and the loss for one microbatch.
pub fn head(chip: &Chip, model: &Model, d: &Division) -> Seconds {
    let (n, k, t) = (model.vocabulary / d.tp, model.width, d.tokens);
    let product = |m: f64, n: f64, k: f64| chip.product(Format::Bf16, m, n, k, 1.0);
    // Logits are read in bf16, made f32, normalised; backward the reverse.
    let loss = chip.moving(t * n * 12.0);
    Seconds {
        f: product(t, n, k) + loss,
        i: product(t, k, n) + loss,
        w: product(n, k, t),
        ..Seconds::default()
    }
}

/// Parameters of a layer on one device, those of experts apart.
pub fn layer_parameters(model: &Model, tp: f64, ep: f64, has_experts: bool) -> (f64, f64) {
    let w = model.width;
    let attention = match model.heads {
        Heads::Grouped(q, kv, size) => 2.0 * w * q * size + 2.0 * w * kv * size,
        Heads::Latent(heads, q, kv, plain, rotated, value) => {
            w * (q + kv + rotated)
                + heads * (q * (plain + rotated) + kv * (plain + value) + value * w)
        }
    };
    match model.experts.filter(|_| has_experts) {
        None => ((attention + model.matrices * w * model.inner) / tp, 0.0),
        Some(e) => {
            let expert = model.matrices * w * e.width;
            (attention / tp + e.shared * expert + w * e.count, e.count / ep * expert)
        }
    }
}

/// Operations that training takes a token by the usual count: three forwards of the products a token meets, and of attention over
/// the pairs that a causal mask leaves.
pub fn operations_a_token(model: &Model, length: f64) -> f64 {
    let part = |has_experts: bool| {
        let (common, _) = layer_parameters(model, 1.0, 1.0, has_experts);
        match model.experts.filter(|_| has_experts) {
            None => common,
            Some(e) => common + e.used * model.matrices * model.width * e.width,
        }
    };
    let dense = if model.experts.is_some() { model.dense } else { model.layers };
    let weights =
        dense * part(false) + (model.layers - dense) * part(true) + model.vocabulary * model.width;
    let (heads, sizes) = match model.heads {
        Heads::Grouped(q, _, size) => (q, 2.0 * size),
        Heads::Latent(heads, _, _, plain, rotated, value) => (heads, plain + rotated + value),
    };
    3.0 * (2.0 * weights + 2.0 * model.layers * length / 2.0 * heads * sizes)
}
