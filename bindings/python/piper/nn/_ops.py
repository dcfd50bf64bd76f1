"""The operations of dialect ``nn`` as functions. Written by ``python -m piper._generate`` from the declarations; change those."""

from __future__ import annotations

from .._trace import Tensor, operation
from ._module import Parameter

__all__ = [
    "add",
    "attention",
    "attention_dx",
    "combine",
    "cross_entropy",
    "cross_entropy_dx",
    "dispatch",
    "embedding",
    "embedding_dw",
    "expert_linear",
    "expert_linear_dw",
    "expert_linear_dx",
    "gelu",
    "gelu_dx",
    "layer_norm",
    "layer_norm_dw",
    "layer_norm_dx",
    "linear",
    "linear_dw",
    "linear_dx",
    "mul",
    "rms_norm",
    "rms_norm_dw",
    "rms_norm_dx",
    "rotary",
    "scale",
    "silu",
    "silu_dx",
    "stop_gradient",
    "sum_rows",
]

Operand = Tensor | Parameter


def embedding(
    tokens: Operand,
    w: Operand,
) -> Tensor:
    """Rows of a table picked by token.

    `y[b, s, :] = w[tokens[b, s], :]`, with `tokens: i32[B, S]`, `w[V, D]`, `y[B, S, D]`. A token outside `0..V` is an error at
    run time.
    """
    return operation("nn.embedding", [tokens, w], {})[0]


def embedding_dw(
    tokens: Operand,
    dy: Operand,
    *,
    vocab: int,
) -> Tensor:
    """Weight gradient of `nn.embedding`.

    `dw[v, :]` is the sum of `dy[b, s, :]` over the positions with `tokens[b, s] = v`, in ascending order of `(b, s)`.
    `tokens: i32[B, S]`, `dy[B, S, D]`, `dw[V, D]` with `V = vocab`.
    """
    return operation("nn.embedding_dw", [tokens, dy], {"vocab": vocab})[0]


def linear(
    x: Operand,
    w: Operand,
    bias: Operand | None = None,
    *,
    transpose_w: bool = False,
) -> Tensor:
    """A linear layer.

    `y[.., N] = x[.., K] w[K, N] + bias[N]`; with `transpose_w` the weight is stored `[N, K]`. The bias is optional.
    """
    return operation("nn.linear", [x, w, bias], {"transpose_w": transpose_w})[0]


def linear_dx(
    dy: Operand,
    w: Operand,
    *,
    transpose_w: bool = False,
) -> Tensor:
    """Input gradient of `nn.linear`.

    `dx[.., K] = dy[.., N] w^T`; with `transpose_w` the weight is stored `[N, K]`.
    """
    return operation("nn.linear_dx", [dy, w], {"transpose_w": transpose_w})[0]


def linear_dw(
    x: Operand,
    dy: Operand,
    *,
    transpose_w: bool = False,
) -> Tensor:
    """Weight gradient of `nn.linear`.

    `dw[K, N] = sum over rows of x[row, K] dy[row, N]`; with `transpose_w` the result is `[N, K]`, as the weight is.
    """
    return operation("nn.linear_dw", [x, dy], {"transpose_w": transpose_w})[0]


def dispatch(
    x: Operand,
    *,
    experts: int,
) -> Tensor:
    """Tokens sorted by expert.

    `y[e, g, c, :] = x[g, e*C + c, :]`, with `x[G, S, D]`, `y[E, G, C, D]`, `E = experts`, `C = S/E`: the e-th part of every sequence
    goes to expert e.
    """
    return operation("nn.dispatch", [x], {"experts": experts})[0]


def combine(
    y: Operand,
) -> Tensor:
    """Tokens back in their sequences: the inverse of `nn.dispatch`, and its transpose.

    `x[g, e*C + c, :] = y[e, g, c, :]`, with `y[E, G, C, D]`, `x[G, E*C, D]`.
    """
    return operation("nn.combine", [y], {})[0]


def expert_linear(
    x: Operand,
    w: Operand,
) -> Tensor:
    """A linear layer for each expert.

    `y[e, g, c, N] = x[e, g, c, K] w[e, K, N]`.
    """
    return operation("nn.expert_linear", [x, w], {})[0]


def expert_linear_dx(
    dy: Operand,
    w: Operand,
) -> Tensor:
    """Input gradient of `nn.expert_linear`.

    `dx[e, g, c, K] = dy[e, g, c, N] w[e, K, N]^T`.
    """
    return operation("nn.expert_linear_dx", [dy, w], {})[0]


def expert_linear_dw(
    x: Operand,
    dy: Operand,
) -> Tensor:
    """Weight gradient of `nn.expert_linear`.

    `dw[e, K, N] = sum over g, c of x[e, g, c, K] dy[e, g, c, N]`.
    """
    return operation("nn.expert_linear_dw", [x, dy], {})[0]


def layer_norm(
    x: Operand,
    gamma: Operand,
    beta: Operand,
    *,
    eps: float,
) -> Tensor:
    """Layer normalisation (Ba, Kiros and Hinton 2016).

    `y = (x - mean(x)) / sqrt(var(x) + eps) * gamma + beta` over the last dimension, with the biased variance.
    `x[.., D]`, `gamma[D]`, `beta[D]`, `y[.., D]`.
    """
    return operation("nn.layer_norm", [x, gamma, beta], {"eps": eps})[0]


def layer_norm_dx(
    x: Operand,
    gamma: Operand,
    dy: Operand,
    *,
    eps: float,
) -> Tensor:
    """Input gradient of `nn.layer_norm`.

    With `g = dy gamma`, `r = 1 / sqrt(var(x) + eps)` and `xhat = (x - mean(x)) r`:
    `dx = r (g - mean(g) - xhat mean(g xhat))`.
    """
    return operation("nn.layer_norm_dx", [x, gamma, dy], {"eps": eps})[0]


def layer_norm_dw(
    x: Operand,
    dy: Operand,
    *,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Weight gradients of `nn.layer_norm`.

    `dgamma[D] = sum over rows of dy xhat` and `dbeta[D] = sum over rows of dy`, with `xhat` as in `nn.layer_norm_dx`.
    """
    dgamma, dbeta = operation("nn.layer_norm_dw", [x, dy], {"eps": eps})
    return dgamma, dbeta


def rms_norm(
    x: Operand,
    gamma: Operand,
    *,
    eps: float,
) -> Tensor:
    """Root-mean-square normalisation (Zhang and Sennrich 2019).

    `y = x / sqrt(mean(x^2) + eps) * gamma` over the last dimension. `x[.., D]`, `gamma[D]`, `y[.., D]`.
    """
    return operation("nn.rms_norm", [x, gamma], {"eps": eps})[0]


def rms_norm_dx(
    x: Operand,
    gamma: Operand,
    dy: Operand,
    *,
    eps: float,
) -> Tensor:
    """Input gradient of `nn.rms_norm`.

    With `g = dy gamma`, `r = 1 / sqrt(mean(x^2) + eps)` and `xhat = x r`: `dx = r (g - xhat mean(g xhat))`.
    """
    return operation("nn.rms_norm_dx", [x, gamma, dy], {"eps": eps})[0]


def rms_norm_dw(
    x: Operand,
    dy: Operand,
    *,
    eps: float,
) -> Tensor:
    """Weight gradient of `nn.rms_norm`.

    `dgamma[D] = sum over rows of dy xhat`, with `xhat` as in `nn.rms_norm_dx`.
    """
    return operation("nn.rms_norm_dw", [x, dy], {"eps": eps})[0]


def gelu(
    x: Operand,
) -> Tensor:
    """The Gaussian error linear unit (Hendrycks and Gimpel 2016), in its tanh form.

    `y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    """
    return operation("nn.gelu", [x], {})[0]


def gelu_dx(
    x: Operand,
    dy: Operand,
) -> Tensor:
    """Gradient of `nn.gelu`.

    With `u = sqrt(2/pi) (x + 0.044715 x^3)` and `t = tanh u`:
    `dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2))`
    """
    return operation("nn.gelu_dx", [x, dy], {})[0]


def silu(
    x: Operand,
) -> Tensor:
    """The sigmoid linear unit, also called swish: `y = x sigmoid(x)`."""
    return operation("nn.silu", [x], {})[0]


def silu_dx(
    x: Operand,
    dy: Operand,
) -> Tensor:
    """Gradient of `nn.silu`.

    `dx = dy s (1 + x (1 - s))` with `s = sigmoid(x)`.
    """
    return operation("nn.silu_dx", [x, dy], {})[0]


def add(
    a: Operand,
    b: Operand,
) -> Tensor:
    """`y = a + b`, value by value: both of the same shape."""
    return operation("nn.add", [a, b], {})[0]


def mul(
    a: Operand,
    b: Operand,
) -> Tensor:
    """`y = a b`, value by value: both of the same shape."""
    return operation("nn.mul", [a, b], {})[0]


def scale(
    x: Operand,
    *,
    factor: float,
) -> Tensor:
    """`y = x factor`; the factor is rounded to the element type first."""
    return operation("nn.scale", [x], {"factor": factor})[0]


def sum_rows(
    dy: Operand,
) -> Tensor:
    """The sum over all leading dimensions, in ascending order: the gradient of a bias.

    `y[N] = sum over rows of dy[row, N]`
    """
    return operation("nn.sum_rows", [dy], {})[0]


def stop_gradient(
    x: Operand,
) -> Tensor:
    """The identity, through which no gradient flows."""
    return operation("nn.stop_gradient", [x], {})[0]


def attention(
    q: Operand,
    k: Operand,
    v: Operand,
    *,
    heads: int,
    kv_heads: int,
) -> Tensor:
    """Causal multi-head attention.

    For head `h` of `H = heads`, with `hd` values a head, query position `s` and key positions `t <= s`:
    `z[s, t] = q[s] k[t] / sqrt(hd)`, `o[s] = sum over t of softmax(z[s, :])[t] v[t]`. Query head `h` reads key and value
    head `h / (H / KV)` of `KV = kv_heads` (grouped-query attention, Ainslie et al. 2023).
    `q[B, S, H*hd]`, `k[B, S, KV*hd]`, `v[B, S, KV*hd]`, `o[B, S, H*hd]`. The optional second result
    `lse[B, H, S] = log(sum over t of exp z[s, t])` is what the gradient needs.
    """
    return operation("nn.attention", [q, k, v], {"heads": heads, "kv_heads": kv_heads})[0]


def attention_dx(
    q: Operand,
    k: Operand,
    v: Operand,
    o: Operand,
    lse: Operand,
    d_o: Operand,
    *,
    heads: int,
    kv_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `nn.attention`.

    With `p[s, t] = exp(z[s, t] - lse[s])`, `dp[s, t] = do[s] v[t]` and `delta[s] = do[s] o[s]` (Dao et al. 2022):
    `dz = p (dp - delta)`, `dq[s] = sum over t of dz[s, t] k[t] / sqrt(hd)`, `dk[t] = sum over s of dz[s, t] q[s] / sqrt(hd)`,
    `dv[t] = sum over s of p[s, t] do[s]`; keys and values sum over the query heads that read them.
    """
    dq, dk, dv = operation("nn.attention_dx", [q, k, v, o, lse, d_o], {"heads": heads, "kv_heads": kv_heads})
    return dq, dk, dv


def rotary(
    x: Operand,
    *,
    heads: int,
    base: float,
    inverse: bool = False,
) -> Tensor:
    """Rotary positions (Su et al. 2021), in the half-split pairing.

    Values `i` and `i + hd/2` of every head are a plane that turns by `s base^(-2i/hd)` at position `s`. `inverse` turns
    back, which is the transpose and so the gradient. `x[B, S, H*hd]`, result the same; `hd` must be even.
    """
    return operation("nn.rotary", [x], {"heads": heads, "base": base, "inverse": inverse})[0]


def cross_entropy(
    logits: Operand,
    targets: Operand,
    *,
    denominator: int,
) -> Tensor:
    """Mean softmax cross-entropy with integer targets.

    `loss = sum over rows of (log(sum over v of exp logits[row, v]) - logits[row, targets[row]]) / denominator`, with
    `logits[.., V]`, `targets: i32[..]`, `loss` a scalar. The denominator is the number of rows of the whole batch; it
    stays the same when the batch is split, so that partial losses add up to the mean. The optional second result
    `lse[..] = log(sum over v of exp logits[.., v])` is what the gradient needs.
    """
    return operation("nn.cross_entropy", [logits, targets], {"denominator": denominator})[0]


def cross_entropy_dx(
    logits: Operand,
    targets: Operand,
    dloss: Operand,
    lse: Operand | None = None,
    *,
    denominator: int,
) -> Tensor:
    """Gradient of `nn.cross_entropy` by the logits.

    `dlogits = (exp(logits - lse) - onehot(targets)) dloss / denominator`, with `dloss` a scalar. Without the log-sum-exp
    `lse[..]` it is found again, at the cost of another pass over the logits.
    """
    return operation("nn.cross_entropy_dx", [logits, targets, dloss, lse], {"denominator": denominator})[0]
