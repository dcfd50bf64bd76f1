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
    with pytest.raises(piper.PiperError, match="'nn.gelu': operand 'x' must be") as caught:
        traced(nn_gelu_of_tokens, tokens=piper.i32[4, 8])
    assert caught.value.diagnostics[0].file == __file__
    assert "return nn.gelu(tokens)" in str(caught.value)


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


def test_inputs_may_be_called_anything_that_python_can() -> None:
    class Names(nn.Module):
        """Inputs called as values, parameters and more are in the text."""

        def __init__(self) -> None:
            self.v1 = nn.Parameter(8, 16)
            self.p0 = nn.Parameter(16, 8)

        def forward(
            self,
            v2: piper.i32[4, 2],  # type: ignore[valid-type]
            p0: piper.i32[4, 2],  # type: ignore[valid-type]
            v_3: piper.i32[4, 2],  # type: ignore[valid-type]
            loss: piper.f32[4, 2, 16],  # type: ignore[valid-type]
            func: piper.f32[4, 2, 16],  # type: ignore[valid-type]
        ) -> piper.Tensor:
            x = nn.embedding(v2, self.v1) + nn.embedding(v_3, self.v1) + loss * 0.0 + func * 0.0
            return nn.cross_entropy(x @ self.p0, p0)

    training = piper.compile(piper.generate_ir(Names(), [piper.annotate(data_parallel=2)])).train()
    assert [name for name, _, _ in training.inputs] == ["v2", "p0", "v_3", "loss", "func"]
    words, rest = np.ones((4, 2), np.int32), np.ones((4, 2, 16), np.float32)
    result = training.step({"v2": words, "p0": words, "v_3": words, "loss": rest, "func": rest})
    assert 0 < result.loss < 10


def test_an_input_may_be_called_as_a_parameter() -> None:
    class Same(nn.Module):
        def __init__(self) -> None:
            self.tokens = nn.Parameter(8, 8)

        def forward(self, tokens: piper.i32[4, 2]) -> piper.Tensor:  # type: ignore[valid-type]
            return nn.cross_entropy(nn.embedding(tokens, self.tokens), tokens)

    training = piper.compile(piper.generate_ir(Same())).train()
    assert training.step({"tokens": np.ones((4, 2), np.int32)}).loss > 0
    assert training.state("tokens").shape == (8, 8)


def test_names_that_are_not_ascii() -> None:
    class Größe(nn.Module):
        def __init__(self) -> None:
            self.größe = nn.Parameter(8, 8)
            self.quoted = {'a "b"\n\\': nn.Parameter(8, 8)}

        def forward(self, tokens: piper.i32[4, 2]) -> piper.Tensor:  # type: ignore[valid-type]
            x = nn.embedding(tokens, self.größe)
            return nn.cross_entropy(x @ self.quoted['a "b"\n\\'], tokens)

    ir = piper.generate_ir(Größe())
    assert ir.text.startswith("module @Gr__e {")
    training = piper.compile(ir).train()
    assert training.step({"tokens": np.ones((4, 2), np.int32)}).loss > 0
    assert training.state("größe").shape == (8, 8)
    assert training.state('quoted.a "b"\n\\').shape == (8, 8)
    assert piper.generate_ir(Größe(), name="2 models").text.startswith("module @_2_models {")

    def forward(größe: piper.Tensor) -> piper.Tensor:
        return größe

    with pytest.raises(piper.PiperError, match="input 'größe' of Traced.forward cannot be called that"):
        traced(forward, größe=piper.i32[4, 2])


def test_what_is_wrong_with_an_annotation_is_said() -> None:
    class Wrong(nn.Module):
        def forward(self, tokens: piper.i32[BATC, 2]) -> piper.Tensor:  # type: ignore # noqa: F821
            return tokens

    with pytest.raises(piper.PiperError) as caught:
        piper.generate_ir(Wrong())
    text = str(caught.value)
    assert "annotation 'piper.i32[BATC, 2]' raises NameError: name 'BATC' is not defined" in text, text

    class Zero(nn.Module):
        def forward(self, tokens: piper.i32[0, 2]) -> piper.Tensor:  # type: ignore[valid-type]
            return tokens

    with pytest.raises(piper.PiperError, match="a size of a tensor is a number from 1, not 0"):
        piper.generate_ir(Zero())

    class Half(nn.Module):
        """One input of a type that only type checkers know, whose shape is given; the other is annotated."""

        def forward(self, tokens: Nowhere, targets: piper.i32[4, 2]) -> piper.Tensor:  # type: ignore # noqa: F821
            return loss_of(nn.embedding(tokens, nn.Parameter(8, 16, name="table")), targets)

    assert piper.generate_ir(Half(), inputs={"tokens": piper.i32[4, 2]}).text.count("tensor<4x2xi32>") > 1
