"""Decorators: what they become, and what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from conftest import BATCH, TIME, WORDS, Arrays, Block, Experts, Model, decorated

import piper
from piper import annotate, directive, nn


def plan_of(ir: piper.IR) -> list[str]:
    """The directives, without the optimizer."""
    lines = ir.text.split("strategy.plan", 1)[1].splitlines()[1:-2]
    return [line.strip().removeprefix("strategy.") for line in lines if "optimizer" not in line]


CASES: list[tuple[list[Any], list[str], list[tuple[str, int]]]] = [
    ([], [], [("dp", 1)]),
    ([annotate(data_parallel=2)], ['replicate over "dp"'], [("dp", 2)]),
    ([annotate(data_parallel=2, zero_stage=3)], ['zero over "dp" stage = 3'], [("dp", 2)]),
    (
        [annotate(data_parallel=2), directive("ZeRO", partition="optimizer_states+gradients+parameters")],
        ['zero over "dp" stage = 3'],
        [("dp", 2)],
    ),
    ([annotate(data_parallel=2), directive("ZeRO-2")], ['zero over "dp" stage = 2'], [("dp", 2)]),
    ([annotate(data_parallel=2), directive("ZeRO")], ['zero over "dp" stage = 1'], [("dp", 2)]),
    (
        [annotate(pipeline_parallel=2)],
        ['pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4'],
        [("pp", 2)],
    ),
    (
        [annotate(pipeline_parallel=4), directive("Pipeline", schedule="GPipe", microbatches=2)],
        ['pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 2'],
        [("pp", 4)],
    ),
    (
        [annotate(pipeline_parallel=2), directive("Pipeline", schedule="Interleaved-1F1B")],
        ['pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 4'],
        [("pp", 2)],
    ),
    (
        [annotate(pipeline_parallel=2, data_parallel=2), directive("DualPipe", schedule="interleaved_forward_backward")],
        ['dualpipe over "pp" stages = "PP" microbatches = 4', 'replicate over "dp"'],
        [("pp", 2), ("dp", 2)],
    ),
    (
        [annotate(pipeline_parallel=2), directive("DualPipe", variant="v", memory_optimization="activation_checkpointing")],
        ['dualpipe over "pp" stages = "PP" microbatches = 4 variant = "v"', "recompute {}"],
        [("pp", 2)],
    ),
    ([annotate(microbatches=4)], ['split "MB" into 4'], [("dp", 1)]),
]


@pytest.mark.parametrize(("decorators", "directives", "mesh"), CASES)
def test_decorators_become_the_strategy_level(
    decorators: list[Any], directives: list[str], mesh: list[tuple[str, int]]
) -> None:
    ir = piper.generate_ir(decorated(Model, *decorators))
    assert plan_of(ir) == directives
    assert ir.mesh == mesh
    devices = int(np.prod([size for _, size in mesh]))
    assert ir.num_devices == devices
    assert piper.compile(ir, num_devices=devices, kernels="interpreted").num_devices == devices


def test_experts_are_divided_over_replicas() -> None:
    model = decorated(
        Experts,
        annotate(data_parallel=4, expert_parallel=2, zero_stage=1),
        directive("ExpertParallel", all_to_all="router+output"),
    )
    with pytest.warns(UserWarning, match="ZeRO stage 1 divides state over the 2 devices"):
        ir = piper.generate_ir(model)
    assert ir.mesh == [("dp", 2), ("ep", 2)]
    assert plan_of(ir) == [
        'shard {PART = experts} over "ep" parameters = {"*" = 0}',
        'zero over "ep" stage = 1',
        'replicate over "dp"',
    ]
    kinds = {node.op for node in ir.nodes}
    assert "all_to_all" in kinds and "compute" in kinds
    assert any(node.kind == "communication" for node in ir.nodes)
    assert all(edge.source != edge.target for edge in ir.edges) and ir.edges


class DeepExperts(Experts):
    """Enough of it for a pipeline."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [Block() for _ in range(6)]

    def forward(self, tokens: piper.i32[64, TIME], targets: piper.i32[64, TIME]) -> piper.Tensor:  # type: ignore[valid-type]
        x = self.dense(self.table(tokens))
        for block in self.blocks:
            x = block(x)
        y = nn.gelu(nn.expert_linear(nn.dispatch(x, experts=2), self.experts))
        return nn.cross_entropy(self.head(x + nn.combine(y)), targets)


def test_all_numbers_of_the_page_at_once() -> None:
    @piper.annotate(data_parallel=4, pipeline_parallel=8, expert_parallel=2, zero_stage=3)
    class Everything(DeepExperts):
        pass

    tokens = np.random.default_rng(0).integers(0, WORDS, (64, TIME))
    batch = {"tokens": tokens, "targets": np.roll(tokens, -1, axis=1)}
    sgd = piper.SGD(lr=0.5)
    alone = piper.runtime.execute(piper.compile(piper.generate_ir(DeepExperts(), optimizer=sgd)), batch, steps=2)
    with pytest.warns(UserWarning, match="over the 2 devices of expert_parallel alone, not over all 4"):
        ir = piper.generate_ir(Everything(), optimizer=sgd)
    assert ir.mesh == [("pp", 8), ("dp", 2), ("ep", 2)] and len(ir.stages) == 8
    assert plan_of(ir)[1:] == [
        'shard {PART = experts} over "ep" parameters = {"*" = 0}',
        'zero over "ep" stage = 3',
        'replicate over "dp"',
    ]
    plans = piper.compile(ir, num_devices=32)
    assert len(plans) == 32
    results = piper.runtime.execute(plans, batch, steps=2)
    np.testing.assert_allclose([r.loss for r in results], [r.loss for r in alone], rtol=1e-5)


def test_what_does_nothing_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="communication_overlap does nothing without expert_parallel"):
        piper.generate_ir(decorated(Model, annotate(data_parallel=2), directive("ZeRO", communication_overlap=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        piper.generate_ir(decorated(Experts, annotate(data_parallel=2, expert_parallel=2, zero_stage=1)))
        piper.generate_ir(decorated(Experts, annotate(data_parallel=4, expert_parallel=2)))


def test_stages_are_cut_by_themselves_or_by_tags() -> None:
    ir = piper.generate_ir(decorated(Model, annotate(pipeline_parallel=4)))
    assert len(ir.stages) == 4 and all(ir.stages)

    @annotate(pipeline_parallel=2)
    class Tagged(Model):
        def forward(self, tokens: piper.i32[BATCH, TIME], targets: piper.i32[BATCH, TIME]) -> piper.Tensor:  # type: ignore[valid-type]
            with piper.annotate("PP"):
                x = self.table(tokens)
            with piper.annotate("PP"):
                for block in self.blocks:
                    x = block(x)
            return nn.cross_entropy(self.head(x), targets)

    stages = piper.generate_ir(Tagged(blocks=1)).stages
    assert stages[0] == ["nn.embedding"] and stages[1][0] == "nn.linear"
    with pytest.raises(piper.PiperError, match="has the stages 0, 1, but"):
        piper.generate_ir(Tagged(), [annotate(pipeline_parallel=4)])


REFUSED: list[tuple[Any, str]] = [
    (lambda: annotate(data_paralel=2)(Model), "did you mean 'data_parallel'"),
    (lambda: annotate(data_parallel=0)(Model), "data_parallel is a number from 1, not 0"),
    (lambda: annotate(zero_stage=4)(Model), "zero_stage is 0, 1, 2 or 3"),
    (lambda: directive("DualPip"), "did you mean 'DualPipe'"),
    (lambda: [annotate(pipeline_parallel=2), directive("Pipeline", schedule="2F2B")], "no schedule '2F2B'"),
    (lambda: [annotate(pipeline_parallel=2), directive("Pipeline", sched="1F1B")], "did you mean 'schedule'"),
    (lambda: [annotate(pipeline_parallel=2), directive("DualPipe", schedule="1F1B")], "'interleaved_forward_backward'"),
    (lambda: [annotate(pipeline_parallel=3), directive("DualPipe")], "even number of ranks"),
    (lambda: [directive("DualPipe")], "without pipeline_parallel"),
    (lambda: [annotate(zero_stage=1)], "needs replicas"),
    (lambda: [annotate(data_parallel=2, zero_stage=1), directive("ZeRO-3")], "different stages of ZeRO"),
    (lambda: [annotate(data_parallel=2), directive("ZeRO", partition="parameters")], "cannot divide 'parameters'"),
    (lambda: [annotate(data_parallel=3, expert_parallel=2)], "does not divide data_parallel=3"),
    (lambda: [annotate(data_parallel=2, expert_parallel=2)], "the model has no experts"),
    (lambda: [annotate(data_parallel=2), directive("ExpertParallel")], "without expert_parallel"),
    (lambda: [annotate(expert_parallel=2), directive("ExpertParallel", load_balancing="dynamic")], "load_balancing"),
    (lambda: [annotate(data_parallel=32)], "a batch of 16"),
    (lambda: [annotate(pipeline_parallel=64, microbatches=4)], "do not make 64 stages"),
    (lambda: [annotate(pipeline_parallel=2), directive("Pipeline"), directive("DualPipe")], "for the same thing"),
    (lambda: [annotate(pipeline_parallel=4), directive("DualPipe", microbatches=4)], "at least 2"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED)
def test_what_is_impossible_says_what_is_possible(make: Any, text: str) -> None:
    with pytest.raises(piper.PiperError) as caught:
        made = make()
        if isinstance(made, list):
            piper.compile(piper.generate_ir(decorated(Model, *made)))
    shown = str(caught.value)
    assert text in shown, shown
    assert caught.value.diagnostics[0].severity == "error"


def test_the_number_of_devices_is_that_of_the_strategy() -> None:
    ir = piper.generate_ir(decorated(Model, annotate(data_parallel=2, pipeline_parallel=2)))
    with pytest.raises(piper.PiperError, match="use num_devices=4"):
        piper.compile(ir, num_devices=8)


def test_the_example_of_the_page(batch: Arrays) -> None:
    @piper.annotate(data_parallel=4, pipeline_parallel=8)
    @piper.directive("DualPipe", schedule="interleaved_forward_backward")
    class Deep(Model):
        def forward(self, tokens: piper.i32[64, TIME], targets: piper.i32[64, TIME]) -> piper.Tensor:  # type: ignore[valid-type]
            return super().forward(tokens, targets)

    ir = piper.generate_ir(Deep(blocks=6))
    plans = piper.compile(ir, num_devices=32, kernels="interpreted")
    tokens = np.zeros((64, TIME), np.int32)
    (result,) = piper.runtime.execute(plans, {"tokens": tokens, "targets": tokens})
    assert len(plans) == 32 and 0 < result.loss < 2 * np.log(WORDS)
    assert {"op", "name", "stream"} <= set(plans[0][0])
    assert "launch" in str(plans[31])
    with pytest.raises(IndexError):
        plans[32]
    with pytest.raises(piper.PiperError, match="num_devices=32"):
        piper.PiperRuntime(num_devices=8).execute(plans, [tokens, tokens])
