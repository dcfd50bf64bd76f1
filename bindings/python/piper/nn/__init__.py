"""What models are made of: the operations of dialect ``nn`` as functions on symbolic tensors, parameters, and modules.

The functions are those of ``docs/dialects/nn.md``, with the same names. Here some have defaults: :func:`cross_entropy` divides by
the number of targets, :func:`attention` has as many heads of keys as of queries.
"""

from __future__ import annotations

from .._errors import PiperError
from .._tensor import DType, TensorType, dtype_name
from .._trace import Tensor, checked_operand, finite, operation
from . import _ops
from ._module import (
    Embedding,
    Init,
    LayerNorm,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    constant_init,
    normal,
    ones,
    uniform,
    zeros,
)
from ._ops import (
    add,
    attention_dx,
    combine,
    cross_entropy_dx,
    dispatch,
    embedding,
    embedding_dw,
    expert_linear,
    expert_linear_dw,
    expert_linear_dx,
    gelu,
    gelu_dx,
    layer_norm_dw,
    layer_norm_dx,
    linear,
    linear_dw,
    linear_dx,
    mul,
    rms_norm_dw,
    rms_norm_dx,
    scale,
    silu,
    silu_dx,
    stop_gradient,
    sum_rows,
)

__all__ = [
    "Embedding",
    "Init",
    "LayerNorm",
    "Linear",
    "Module",
    "Parameter",
    "RMSNorm",
    "add",
    "attention",
    "attention_dx",
    "cast",
    "combine",
    "constant",
    "constant_init",
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
    "normal",
    "ones",
    "rms_norm",
    "rms_norm_dw",
    "rms_norm_dx",
    "rotary",
    "scale",
    "silu",
    "silu_dx",
    "stop_gradient",
    "sum_rows",
    "uniform",
    "zeros",
]

Operand = Tensor | Parameter


def cross_entropy(logits: Operand, targets: Operand, *, denominator: int | None = None) -> Tensor:
    """Mean softmax cross-entropy with integer targets: the sum over all of them divided by ``denominator``, or by their number."""
    if denominator is None:
        denominator = checked_operand("nn.cross_entropy", targets).type.elements
    return _ops.cross_entropy(logits, targets, denominator=denominator)


def attention(
    q: Operand, k: Operand, v: Operand, *, heads: int, kv_heads: int | None = None
) -> Tensor:
    """Causal multi-head attention; ``kv_heads`` are as many as ``heads`` if not given."""
    return operation("nn.attention", [q, k, v], {"heads": heads, "kv_heads": kv_heads or heads})[0]


def rotary(x: Operand, *, heads: int, base: float = 10000.0, inverse: bool = False) -> Tensor:
    """Rotary positions, in the half-split pairing."""
    return _ops.rotary(x, heads=heads, base=base, inverse=inverse)


def rms_norm(x: Operand, gamma: Operand, *, eps: float = 1e-5) -> Tensor:
    """Root-mean-square normalisation over the last dimension."""
    return _ops.rms_norm(x, gamma, eps=eps)


def layer_norm(x: Operand, gamma: Operand, beta: Operand, *, eps: float = 1e-5) -> Tensor:
    """Layer normalisation over the last dimension."""
    return _ops.layer_norm(x, gamma, beta, eps=eps)


def constant(value: float, *shape: int, dtype: DType | str = "f32") -> Tensor:
    """A tensor filled with one value; a scalar without a shape."""
    ty = DType(dtype_name(dtype))[shape]
    return operation("nn.constant", [], {"value": finite(value, "the value of nn.constant")}, [ty])[0]


def cast(x: Operand, dtype: DType | str) -> Tensor:
    """The same values in another element type, rounded to the nearest."""
    name = dtype_name(dtype)
    if name == "i32" or checked_operand("nn.cast", x).dtype == "i32":
        raise PiperError.of("nn.cast is between f32, f64 and bf16")
    return operation("nn.cast", [x], {}, [TensorType(x.shape, name)])[0]
