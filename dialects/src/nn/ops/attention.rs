//! Causal attention with grouped keys and values, and rotary positions.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};
use piper_ir::{AttrConstraint, Module, Op, Reporter};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{Signature, Sizes, checked};
use crate::nn::types::{COUNT, POSITIVE, REAL};
use crate::nn::{cost, gradients};

/// Why the sequence and the heads stay whole.
const WHOLE: &[(&str, &str)] = &[
    ("S", "every position attends to all earlier ones"),
    ("H*hd", "the number of heads is fixed by an attribute"),
    ("KV*hd", "the number of heads is fixed by an attribute"),
    ("H", "the number of heads is fixed by an attribute"),
];

piper_ir::dialect_ops! {
    /// Causal multi-head attention.
    ///
    /// For head `h` of `H = heads`, with `hd` values a head, query position `s` and key positions `t <= s`:
    /// `z[s, t] = q[s] k[t] / sqrt(hd)`, `o[s] = sum over t of softmax(z[s, :])[t] v[t]`. Query head `h` reads key and value
    /// head `h / (H / KV)` of `KV = kv_heads` (grouped-query attention, Ainslie et al. 2023).
    /// `q[B, S, H*hd]`, `k[B, S, KV*hd]`, `v[B, S, KV*hd]`, `o[B, S, H*hd]`. The optional second result
    /// `lse[B, H, S] = log(sum over t of exp z[s, t])` is what the gradient needs.
    ///
    /// ```mlir
    /// %o, %lse = nn.attention %x, %kv, %kv {heads = 2, kv_heads = 1} : (tensor<4x8x16xf32>, tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x2x8xf32>)
    /// ```
    Attention = "nn.attention" {
        operands: { q: one(REAL), k: one(REAL), v: one(REAL) },
        results: { o: one(REAL), lse: optional(REAL) },
        attrs: { heads: one(COUNT), kv_heads: one(COUNT) },
        traits: [Pure],
        format: "$q `,` $k `,` $v attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: verify_attention,
        interfaces: [
            Signature::new(&["B S H*hd", "B S KV*hd", "B S KV*hd"], &["B S H*hd", "B H S"])
                .sized(&[("H", "heads")])
                .whole(WHOLE),
            Shardable(factors), CostModel(cost::attention::<2, 14>), Differentiable::Rule(gradients::attention::attention), Fusion::Alone("attention"),
        ],
    }

    /// Gradients of `nn.attention`.
    ///
    /// With `p[s, t] = exp(z[s, t] - lse[s])`, `dp[s, t] = do[s] v[t]` and `delta[s] = do[s] o[s]` (Dao et al. 2022):
    /// `dz = p (dp - delta)`, `dq[s] = sum over t of dz[s, t] k[t] / sqrt(hd)`, `dk[t] = sum over s of dz[s, t] q[s] / sqrt(hd)`,
    /// `dv[t] = sum over s of p[s, t] do[s]`; keys and values sum over the query heads that read them.
    ///
    /// ```mlir
    /// %o, %lse = nn.attention %x, %kv, %kv {heads = 2, kv_heads = 1} : (tensor<4x8x16xf32>, tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x2x8xf32>)
    /// %dq, %dk, %dv = nn.attention_dx %x, %kv, %kv, %o, %lse, %dy {heads = 2, kv_heads = 1} : (tensor<4x8x16xf32>, tensor<4x8x8xf32>, tensor<4x8x8xf32>, tensor<4x8x16xf32>, tensor<4x2x8xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x8xf32>, tensor<4x8x8xf32>)
    /// ```
    AttentionDx = "nn.attention_dx" {
        operands: { q: one(REAL), k: one(REAL), v: one(REAL), o: one(REAL), lse: one(REAL), d_o: one(REAL) },
        results: { dq: one(REAL), dk: one(REAL), dv: one(REAL) },
        attrs: { heads: one(COUNT), kv_heads: one(COUNT) },
        traits: [Pure],
        format: "$q `,` $k `,` $v `,` $o `,` $lse `,` $d_o attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: verify_attention,
        interfaces: [
            Signature::new(
                &["B S H*hd", "B S KV*hd", "B S KV*hd", "B S H*hd", "B H S", "B S H*hd"],
                &["B S H*hd", "B S KV*hd", "B S KV*hd"],
            )
            .sized(&[("H", "heads")])
            .whole(WHOLE),
            Shardable(factors), CostModel(cost::attention::<5, 15>), Fusion::Alone("attention_dx"),
        ],
    }

    /// Rotary positions (Su et al. 2021), in the half-split pairing.
    ///
    /// Values `i` and `i + hd/2` of every head are a plane that turns by `s base^(-2i/hd)` at position `s`. `inverse` turns
    /// back, which is the transpose and so the gradient. `x[B, S, H*hd]`, result the same; `hd` must be even.
    ///
    /// ```mlir
    /// %turned = nn.rotary %x {heads = 2, base = 10000.0} : tensor<4x8x16xf32>
    /// ```
    Rotary = "nn.rotary" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        attrs: { heads: one(COUNT), base: one(POSITIVE), inverse: optional(AttrConstraint::Unit) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        infer: infer_types,
        verify: verify_rotary,
        interfaces: [
            Signature::new(&["B S H*hd"], &["B S H*hd"]).linear_in(&["x"]).whole(&[
                ("S", "positions count from the start of the sequence"),
                ("H*hd", "the number of heads is fixed by an attribute"),
            ]),
            Shardable(factors), CostModel(cost::a_result::<3>), Differentiable::Rule(gradients::attention::rotary), Fusion::Alone("rotary"),
        ],
    }
}

/// The head size, if the count in an attribute divides the width.
fn head_size(
    module: &Module,
    op: Op,
    sizes: &mut Sizes<'_, '_>,
    letter: &str,
    attr: &str,
) -> Option<i64> {
    let width = sizes.get(letter)?;
    let heads = module.attr_by(op, attr)?.as_int(module.ctx())?;
    if width % heads != 0 {
        sizes
            .error(format!("{attr} = {heads} does not divide dimension {letter} = {width}"))
            .hint("the last dimension is heads of equal size, one after the other");
        return None;
    }
    Some(width / heads)
}

fn verify_attention(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut sizes = checked(module, op, reporter);
    let q = head_size(module, op, &mut sizes, "H*hd", "heads");
    let k = head_size(module, op, &mut sizes, "KV*hd", "kv_heads");
    let count = |attr: &str| module.attr_by(op, attr).and_then(|a| a.as_int(module.ctx()));
    if let (Some(heads), Some(kv_heads)) = (count("heads"), count("kv_heads"))
        && heads % kv_heads != 0
    {
        sizes
            .error(format!("kv_heads = {kv_heads} does not divide heads = {heads}"))
            .hint("equally many query heads share one key and value head");
    }
    if let (Some(q), Some(k)) = (q, k)
        && q != k
    {
        sizes
            .error(format!("the head size of 'q' is {q}, but that of 'k' is {k}"))
            .hint("'q' has heads, 'k' and 'v' have kv_heads of one size");
    }
}

fn verify_rotary(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut sizes = checked(module, op, reporter);
    if let Some(size) = head_size(module, op, &mut sizes, "H*hd", "heads")
        && size % 2 != 0
    {
        sizes
            .error(format!("the head size {size} is odd; values turn in pairs"))
            .hint("take fewer heads, or wider ones");
    }
}
