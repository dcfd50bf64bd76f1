"""Tracing: every function of ``piper.nn``, names of parameters, errors at the line that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Block, Model

import piper
from piper import _generate, nn
from piper.nn import _ops

def traced(forward: Callable[..., piper.Tensor], **inputs: piper.TensorType) -> piper.IR:
    """The module of a function as a model."""

    class Traced:
        pass

    model = Traced()
    model.forward = forward  # type: ignore[attr-defined]
    return piper.generate_ir(model, inputs=inputs)


def loss_of(x: piper.Tensor, targets: piper.Tensor) -> piper.Tensor:
    width = x.shape[-1]
    return nn.cross_entropy(nn.linear(x, nn.Parameter(width, 8, name="to_logits")), targets)


FORWARD: dict[str, Callable[[piper.Tensor], piper.Tensor]] = {
    "add": lambda x: nn.add(x, x) + x,
    "attention": lambda x: nn.attention(x, x, x, heads=2),
    "cast": lambda x: nn.cast(nn.cast(x, piper.bf16), "f32"),
    "combine": lambda x: nn.combine(nn.dispatch(x, experts=4)),
    "expert_linear": lambda x: nn.combine(
        nn.expert_linear(nn.dispatch(x, experts=4), nn.Parameter(4, 16, 16, name="experts"))
    ),
    "gelu": nn.gelu,
    "layer_norm": lambda x: nn.layer_norm(
        x, nn.Parameter(16, name="gamma", init=nn.ones), nn.Parameter(16, name="beta", init=nn.zeros)
    ),
    "linear": lambda x: nn.linear(
        x, nn.Parameter(24, 16, name="w"), nn.Parameter(24, name="b", init=nn.uniform(-1, 1)), transpose_w=True
    ),
    "mul": lambda x: x * x,
    "rms_norm": lambda x: nn.rms_norm(x, nn.Parameter(16, name="g", init=nn.constant_init(2))),
    "rotary": lambda x: nn.rotary(x, heads=2),
    "scale": lambda x: 2 * x - x / 4,
    "silu": lambda x: nn.silu(-x),
    "stop_gradient": lambda x: x + nn.stop_gradient(x),
}


@pytest.mark.parametrize("name", FORWARD)
def test_functions_make_operations_of_their_name(name: str) -> None:
    def forward(tokens: piper.Tensor) -> piper.Tensor:
        x = nn.embedding(tokens, nn.Parameter(8, 16, name="table"))
        return loss_of(FORWARD[name](x), tokens)

    ir = traced(forward, tokens=piper.i32[4, 8])
    assert f"nn.{name}" in [op.name for op in ir.module.walk()]
    assert ir.graph.text()


def test_every_operation_of_the_dialect_is_a_function() -> None:
    declared = {op["name"].partition(".")[2] for op in piper.operations("nn")}
    elsewhere = {"parameter", "opaque", "opaque_dx", "opaque_dw"}
    missing = [name for name in sorted(declared - elsewhere) if not hasattr(nn, name)]
    assert missing == []
    assert _ops.linear.__doc__ is not None and "A linear layer." in _ops.linear.__doc__


def test_the_functions_are_written_from_the_declarations() -> None:
    written = Path(_ops.__file__).read_text(encoding="utf-8")
    assert written == _generate.source(), "run: python -m piper._generate"


def test_parameters_are_called_by_their_path() -> None:
    names = [name for name, _ in Model().named_parameters()]
    assert names[:3] == ["table.weight", "blocks.0.up.weight", "blocks.0.up.bias"]
    assert names[-1] == "head.bias"
    text = piper.generate_ir(Model()).text
    assert 'nn.parameter "blocks.1.down.weight" init = normal<0.0, 0.02>' in text


def test_a_parameter_used_twice_is_one() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.table = nn.Parameter(8, 4)

        def forward(self, tokens: piper.i32[4, 2]) -> piper.Tensor:  # type: ignore[valid-type]
            return nn.cross_entropy(nn.linear(nn.embedding(tokens, self.table), self.table, transpose_w=True), tokens)

    assert piper.generate_ir(Tied()).text.count("nn.parameter") == 1


def test_operations_have_the_line_of_python_that_made_them() -> None:
    ir = piper.generate_ir(Model())
    gelu = next(op for op in ir.module.walk() if op.name == "nn.gelu")
    line = next(n for n, text in enumerate(Path(_conftest()).read_text().splitlines(), 1) if "nn.gelu" in text)
    assert gelu.location is not None
    assert gelu.location[:2] == (_conftest(), line)


def _conftest() -> str:
    return Block.forward.__code__.co_filename


def test_types_are_inferred_where_the_call_stands() -> None:
    def forward(tokens: piper.Tensor) -> piper.Tensor:
        x = nn.embedding(tokens, nn.Parameter(8, 16, name="table"))
        assert x.shape == (4, 8, 16) and x.dtype == "f32" and str(x.type) == "tensor<4x8x16xf32>"
        return loss_of(nn.linear(x, nn.Parameter(17, 16, name="w")), tokens)

    with pytest.raises(piper.PiperError, match="dimension K of 'w' is 17, but 'x' makes it 16") as caught:
        traced(forward, tokens=piper.i32[4, 8])
    assert caught.value.diagnostics[0].file == __file__
    assert "nn.linear(x, nn.Parameter(17, 16" in str(caught.value)
    with pytest.raises(piper.PiperError, match=r"'nn.gelu': operand 'x' must be .*test_nn.py:\d+:\d+"):
        traced(nn_gelu_of_tokens, tokens=piper.i32[4, 8])


def nn_gelu_of_tokens(tokens: piper.Tensor) -> piper.Tensor:
    return nn.gelu(tokens)


def test_what_a_model_may_not_do_is_said() -> None:
    def branches(tokens: piper.Tensor) -> piper.Tensor:
        if nn.embedding(tokens, nn.Parameter(8, 16, name="t")):
            raise AssertionError
        return tokens

    with pytest.raises(piper.PiperError, match="neither true nor false"):
        traced(branches, tokens=piper.i32[4, 8])
    with pytest.raises(piper.PiperError, match="needs a scalar loss"):
        traced(lambda tokens: tokens, tokens=piper.i32[4, 8])
    with pytest.raises(piper.PiperError, match="shape of input 'tokens'"):
        traced(lambda tokens: tokens)
    with pytest.raises(piper.PiperError, match="no input 'tokans'"):
        traced(lambda tokens: tokens, tokens=piper.i32[4, 8], tokans=piper.i32[4, 8])
    with pytest.raises(piper.PiperError, match="outside of a model"):
        nn.constant(1.0)
    with pytest.raises(piper.PiperError, match="no attribute of the model"):
        traced(
            lambda tokens: nn.cross_entropy(nn.embedding(tokens, nn.Parameter(8, 16)), tokens),
            tokens=piper.i32[4, 8],
        )
    with pytest.raises(piper.PiperError, match="a size of a tensor"):
        piper.f32[0]
    with pytest.raises(piper.PiperError, match="no element type"):
        nn.Parameter(4, dtype="f16")


def test_arrays_tell_the_types_of_inputs() -> None:
    tokens = np.zeros((4, 8), np.int64)

    def forward(tokens: piper.Tensor) -> piper.Tensor:
        return loss_of(nn.embedding(tokens, nn.Parameter(8, 16, name="table")), tokens)

    ir = traced(forward, tokens=tokens)  # type: ignore[arg-type]
    assert "tensor<4x8xi32>" in ir.text
