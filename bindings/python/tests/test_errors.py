"""What is wrong is a :class:`piper.PiperError` that says where and what is possible, never an exception of the machinery behind it."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Arrays, Experts, Model, decorated

import piper
from piper import annotate, directive, nn


def traced(compute: Callable[[piper.Tensor, nn.Parameter], Any]) -> piper.IR:
    """A model that computes this from ``x`` and a square parameter."""

    class Traced(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Parameter(4, 4)

        def forward(self, tokens: piper.i32[4, 4]) -> piper.Tensor:  # type: ignore[valid-type]
            x = nn.embedding(tokens, self.w)
            return nn.cross_entropy(compute(x, self.w), tokens)

    return piper.generate_ir(Traced())


ARRAY = np.ones((4, 4), np.float32)

OPERATORS: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda x, w: x + 1.0, "'nn.add' takes tensors and parameters, not 1.0"),
    (lambda x, w: 1 + x, "'nn.add' takes tensors and parameters, not 1"),
    (lambda x, w: x - None, "'nn.add' takes tensors and parameters, not None"),
    (lambda x, w: "a" - x, "'nn.add' takes tensors and parameters, not 'a'"),
    (lambda x, w: x * "a", "'nn.mul' takes tensors and parameters, not 'a'"),
    (lambda x, w: x * ARRAY, "'nn.mul' takes tensors and parameters, not what is of type ndarray"),
    (lambda x, w: ARRAY * x, "'nn.mul' takes tensors and parameters, not what is of type ndarray"),
    (lambda x, w: ARRAY @ w, "'nn.linear' takes tensors and parameters, not what is of type ndarray"),
    (lambda x, w: x @ 2, "'nn.linear' takes tensors and parameters, not 2"),
    (lambda x, w: x * float("nan"), "what a tensor is multiplied by is a finite number, not nan"),
    (lambda x, w: x * 10**400, "what a tensor is multiplied by is a finite number"),
    (lambda x, w: x / 0, "a tensor is divided by a number that is not 0, not by 0"),
    (lambda x, w: x / w, "a tensor is divided by a number that is not 0, not by <Parameter"),
    (lambda x, w: 1 / x, "nothing is divided by a tensor, as 1 is here"),
    (lambda x, w: x / 1e-320, "one over what a tensor is divided by"),
    (lambda x, w: nn.gelu(3), "'nn.gelu' takes tensors and parameters, not 3"),
    (lambda x, w: nn.cast(3, "f32"), "'nn.cast' takes tensors and parameters, not 3"),
    (lambda x, w: nn.cross_entropy(x, 3), "'nn.cross_entropy' takes tensors and parameters, not 3"),
    (lambda x, w: nn.dispatch(x, experts=2**70), "does not fit 64 bits"),
    (lambda x, w: nn.dispatch(x, experts=object()), "cannot be an attribute"),
    (lambda x, w: nn.dispatch(x, experts=2.5), "'experts' must be"),
    (lambda x, w: nn.constant("a", 4, 4), "the value of nn.constant is a finite number, not 'a'"),
    (lambda x, w: nn.constant(1.0, -4), "a size of a tensor is a number from 1, not -4"),
    (lambda x, w: [y for y in x], "cannot be iterated over"),
]


@pytest.mark.parametrize(("compute", "text"), OPERATORS)
def test_operators_say_what_they_take(compute: Callable[[Any, Any], Any], text: str) -> None:
    with pytest.raises(piper.PiperError) as caught:
        traced(compute)
    assert text in str(caught.value), str(caught.value)


def test_operators_are_those_of_parameters_and_numbers_of_numpy_too() -> None:
    def compute(x: piper.Tensor, w: nn.Parameter) -> piper.Tensor:
        v = nn.Parameter(4, 4, 4, name="v")
        y = v + x - v * np.float32(2) / np.int64(4)
        return (v - y) @ w + -v

    names = [op.name for op in traced(compute).module.walk()]
    assert names.count("nn.add") == 4 and names.count("nn.linear") == 1 and "nn.mul" not in names


def test_an_error_of_an_operator_shows_its_line() -> None:
    with pytest.raises(piper.PiperError) as caught:
        traced(lambda x, w: x + 17)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.file == __file__ and diagnostic.line is not None
    assert "x + 17" in linecache.getline(__file__, diagnostic.line) and "x + 17" in str(caught.value)


TYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: piper.f32[True], "a size of a tensor is a number from 1, not True"),
    (lambda: piper.f32[2, "a"], "a size of a tensor is a number from 1, not 'a'"),
    (lambda: nn.Linear("a", 3), "a size of a tensor is a number from 1, not 'a'"),  # type: ignore[arg-type]
    (lambda: nn.normal(0, float("inf")), "is a finite number, not inf"),
    (lambda: nn.uniform("a", 1), "is a finite number, not 'a'"),  # type: ignore[arg-type]
    (lambda: directive(3), "a directive is called by its name, not by 3"),  # type: ignore[arg-type]
    (lambda: annotate("PP")(Model), "tags what is computed in it"),
    (lambda: piper.compile(3), "compile takes what generate_ir gives"),  # type: ignore[arg-type]
    (lambda: piper.simulate(3, "m.toml"), "simulate takes what piper.compile gives"),  # type: ignore[arg-type]
    (lambda: piper.runtime.execute(3, {}), "execute takes what piper.compile gives"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "text"), TYPES)
def test_arguments_of_a_wrong_kind_are_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(piper.PiperError) as caught:
        make()
    assert text in str(caught.value)


GENERATED: list[tuple[dict[str, Any], str]] = [
    ({"optimizer": piper.AdamW(lr=float("nan"))}, "lr of AdamW is a finite number, not nan"),
    ({"optimizer": piper.AdamW(lr="a")}, "lr of AdamW is a finite number, not 'a'"),  # type: ignore[arg-type]
    ({"optimizer": piper.AdamW(betas=(0.9,))}, "betas of AdamW are two numbers"),  # type: ignore[arg-type]
    ({"optimizer": piper.AdamW(weight_decay=float("inf"))}, "weight_decay of AdamW"),
    ({"optimizer": piper.SGD(momentum=float("nan"))}, "momentum of SGD is a finite number"),
    ({"optimizer": "adam"}, "'adam' is no optimizer"),
    ({"inputs": [1]}, "inputs are types or arrays by name, not [1]"),
    ({"inputs": {"tokens": [[1, 2], [3]]}}, "'tokens' is given what is no array"),
    ({"directives": ["ZeRO"]}, "'ZeRO' is no directive"),
    ({"directives": "ZeRO"}, "'ZeRO' is no directive"),
    ({"directives": b"ZeRO"}, "b'ZeRO' is no directive"),
    ({"directives": 3}, "3 is no directive"),
    ({"directives": [directive("ZeRO", stage=True), annotate(data_parallel=2)]}, "a stage of ZeRO is 0, 1, 2 or 3"),
    ({"directives": [annotate(zero_stage=True)]}, "zero_stage is 0, 1, 2 or 3, not True"),
    ({"directives": [annotate(data_parallel=True)]}, "data_parallel is a number from 1, not True"),
    ({"directives": [annotate(data_parallel=2**40)]}, "data_parallel is less than 2**31"),
    ({"directives": [directive("ZeRO", communication_overlap="bananas"), annotate(data_parallel=2)]}, "not 'bananas'"),
    ({"directives": [directive("ZeRO", memory_optimization="bananas"), annotate(data_parallel=2)]}, "'bananas' is not known"),
    ({"directives": [directive("Pipeline", group="a"), annotate(pipeline_parallel=2)]}, "group is a number from 1"),
]


@pytest.mark.parametrize(("given", "text"), GENERATED)
def test_settings_of_a_wrong_kind_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(piper.PiperError) as caught:
        piper.generate_ir(Model(), **given)
    assert text in str(caught.value), str(caught.value)


def test_what_a_run_is_given_is_checked(batch: Arrays) -> None:
    plan = piper.compile(piper.generate_ir(Model()))
    settings: list[tuple[dict[str, Any], str]] = [
        ({"seed": -1}, "seed is a number from 0 to 2**64 - 1, not -1"),
        ({"seed": 2**64}, "seed is a number from 0"),
        ({"seed": 0.5}, "seed is a number from 0"),
        ({"threads_per_device": 0}, "threads_per_device is a number from 1"),
        ({"timeout": float("nan")}, "timeout is a finite number, not nan"),
        ({"timeout": -1}, "timeout is a number of seconds"),
        ({"timeout": 1e300}, "timeout is a number of seconds"),
        ({"timeout": "a"}, "timeout is a finite number, not 'a'"),
        ({"seed": np.float64(1)}, "seed is a number from 0"),
        ({"seed": np.bool_(True)}, "seed is a number from 0"),
        ({"threads_per_device": np.array([1, 2])}, "threads_per_device is a number from 1"),
    ]
    for given, text in settings:
        with pytest.raises(piper.PiperError) as caught:
            plan.train(**given)
        assert text in str(caught.value)
    training = plan.train()
    wrong: list[tuple[Any, str]] = [
        ({**batch, "tokens": [[1, 2], [3]]}, "'tokens' is given what is no array"),
        ([batch["tokens"]], "a step takes arrays by name, not list"),
        (3, "a step takes arrays by name, not int"),
    ]
    for inputs, text in wrong:
        with pytest.raises(piper.PiperError) as caught:
            training.step(inputs)
        assert text in str(caught.value)
    with pytest.raises(piper.PiperError, match="steps is a number from 0, not -1"):
        piper.runtime.execute(training, batch, steps=-1)
    with pytest.raises(piper.PiperError, match="arrays by name or in order, not 'abc'"):
        piper.runtime.execute(training, "abc")
    with pytest.raises(piper.PiperError) as caught:
        training.set_state("head.weight", [1.0, 2.0])
    assert "whole batch" not in str(caught.value) and "wherever its shards are" in str(caught.value)
    with pytest.raises(piper.PiperError, match="no state is called 'heat'"):
        training.state("heat")


def test_numbers_of_numpy_are_numbers(batch: Arrays) -> None:
    two, one = np.int64(2), np.uint8(1)

    @annotate(data_parallel=two, pipeline_parallel=np.int32(2), zero_stage=one, microbatches=np.int16(4))
    @directive("Pipeline", schedule="looped_bfs", stages_per_rank=one)
    @directive("ZeRO", stage=one)
    class Numbers(nn.Module):
        def __init__(self) -> None:
            self.table = nn.Embedding(np.int64(8), np.int64(4))
            self.head = nn.Linear(np.int64(4), np.int64(8))

        def forward(self, tokens: piper.i32[np.int64(16), np.uint8(2)], targets: piper.i32[16, 2]) -> piper.Tensor:  # type: ignore[valid-type]
            with annotate("A", at=np.int64(7)):
                x = self.table(tokens)
            return nn.cross_entropy(self.head(x), targets)

    ir = piper.generate_ir(Numbers(), optimizer=piper.SGD(lr=np.float32(0.5)))
    assert "at = 7" in ir.text and ir.mesh == [("pp", 2), ("dp", 2)]
    plan = piper.compile(ir, np.int64(4))
    settings = {"seed": np.int64(3), "threads_per_device": np.int32(2), "timeout": np.float32(60)}
    training = plan.train(**settings)
    results = piper.runtime.execute(training, batch, steps=np.int64(2))
    assert [r.step for r in results] == [1, 2]
    assert [r.loss for r in results] == [r.loss for r in piper.runtime.execute(plan, batch, steps=2, seed=3)]


def test_numbers_that_are_too_large_are_no_attributes() -> None:
    module = piper.Module.parse("func.func private @f()")
    with pytest.raises(ValueError, match="does not fit 64 bits"):
        module.walk()[1]["a"] = 2**64


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def test_what_a_pass_says_of_a_directive_points_at_its_line() -> None:
    @annotate(pipeline_parallel=4)
    @directive("DualPipe", microbatches=4)  # Too few.
    class Few(Model):
        pass

    with pytest.raises(piper.PiperError, match="at least 2") as caught:
        piper.compile(piper.generate_ir(Few()))
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.file, diagnostic.line) == (__file__, line_of("# Too few."))
    assert '@directive("DualPipe", microbatches=4)' in str(caught.value)


def test_what_is_wrong_with_a_directive_points_at_its_line() -> None:
    @annotate(data_parallel=2)
    @directive("ZeRO", partition="everything")  # No such part.
    class Wrong(Model):
        pass

    with pytest.raises(piper.PiperError, match="cannot divide 'everything'") as caught:
        piper.generate_ir(Wrong())
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.file, diagnostic.line) == (__file__, line_of("# No such part."))

    @annotate(
        data_parallel=3, expert_parallel=2
    )
    class Uneven(Experts):
        pass

    with pytest.raises(piper.PiperError, match="does not divide data_parallel=3") as caught:
        piper.generate_ir(Uneven())
    assert caught.value.diagnostics[0].file == __file__


def test_every_operation_of_a_generated_module_comes_from_python() -> None:
    model = decorated(Experts, annotate(data_parallel=2, expert_parallel=2, zero_stage=1), directive("ZeRO-1"))
    ir = piper.generate_ir(model)
    places = [op.location for op in ir.module.walk()]
    assert all(place is not None and place[0].endswith(".py") for place in places), places


def test_a_place_of_a_file_that_cannot_be_read_is_still_said() -> None:
    names: dict[str, Any] = {"piper": piper, "Model": Model}
    exec("@piper.directive('DualPipe')\nclass Exec(Model): pass\n", names)
    with pytest.raises(piper.PiperError, match="without pipeline_parallel") as caught:
        piper.generate_ir(names["Exec"]())
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("<string>", 1)
