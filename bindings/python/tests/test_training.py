"""Runs on NumPy arrays: the numbers, states, files, simulation, interrupts."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import BATCH, ROOT, TIME, WORDS, Arrays, Experts, Model, decorated

import piper
from piper import annotate, directive

SGD = piper.SGD(lr=0.5)


def losses(batch: Arrays, *decorators: object, model: type = Model, steps: int = 3) -> list[float]:
    ir = piper.generate_ir(decorated(model, *decorators), optimizer=SGD)
    return [r.loss for r in piper.runtime.execute(piper.compile(ir), batch, steps=steps)]


def test_strategies_give_the_numbers_of_one_device(batch: Arrays) -> None:
    alone = losses(batch)
    assert alone[2] < alone[0]
    pipelined = losses(batch, annotate(pipeline_parallel=2, data_parallel=2, zero_stage=1))
    dual = losses(batch, annotate(pipeline_parallel=2), directive("DualPipe"))
    np.testing.assert_allclose(pipelined, alone, rtol=1e-5)
    np.testing.assert_allclose(dual, alone, rtol=1e-5)


def test_experts_give_the_numbers_of_one_device(batch: Arrays) -> None:
    alone = losses(batch, model=Experts)
    divided = losses(batch, annotate(data_parallel=4, expert_parallel=2), model=Experts)
    np.testing.assert_allclose(divided, alone, rtol=1e-5)


def test_numbers_are_those_of_numpy(batch: Arrays) -> None:
    ir = piper.generate_ir(Model(blocks=0), optimizer=SGD)
    training = piper.compile(ir, gradients=True).train(seed=3)
    table, head = training.state("table.weight"), training.state("head.weight")
    result = training.step(batch)
    x = table[batch["tokens"]]
    z = (x @ head).astype(np.float64)
    p = np.exp(z - z.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    rows = np.take_along_axis(p, batch["targets"][..., None], -1)
    assert result.loss == pytest.approx(-np.log(rows).mean(), rel=1e-5)
    dz = (p - np.eye(8)[batch["targets"]]) / rows.size
    gradient = np.einsum("btk,btn->kn", x, dz)
    np.testing.assert_allclose(result.outputs["grad.head.weight"], gradient, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(training.state("head.weight"), head - 0.5 * gradient, rtol=1e-4, atol=1e-6)


def test_states_are_read_and_set(batch: Arrays) -> None:
    plan = piper.compile(piper.generate_ir(decorated(Model, annotate(data_parallel=2, zero_stage=3)), optimizer=piper.AdamW()))
    training = plan.train()
    assert "head.weight" in training.states
    assert ("head.weight", [4, 8], "f32") in plan.states
    value = np.arange(32, dtype=np.float64).reshape(4, 8)
    training.set_state("head.weight", value)
    np.testing.assert_array_equal(training.state("head.weight"), value.astype(np.float32))
    training.step(batch)
    assert training.steps == 1 and training.state("head.weight").flags.writeable
    assert [m.planned for m in training.memory()] == [m.used for m in training.memory()]
    with pytest.raises(piper.PiperError, match="no state is called 'heat'"):
        training.set_state("heat", value)
    with pytest.raises(piper.PiperError):
        training.state("heat")
    with pytest.raises(piper.PiperError, match=r"has the shape \[2\]"):
        training.set_state("head.weight", [1.0, 2.0])


def test_inputs_are_checked(batch: Arrays) -> None:
    training = piper.compile(piper.generate_ir(Model())).train()
    assert training.inputs == [("tokens", [16, 2], "i32"), ("targets", [16, 2], "i32")]
    for given, text in [
        ({"tokens": batch["tokens"]}, "no input 'targets'"),
        ({**batch, "more": batch["tokens"]}, "has no input 'more'"),
        ({**batch, "tokens": batch["tokens"][:8]}, r"has the shape \[8, 2\]"),
        ({**batch, "tokens": batch["tokens"] * 0.5}, "does not become i32"),
        ({**batch, "tokens": batch["tokens"] + 2**40}, "do not fit 32 bits"),
    ]:
        with pytest.raises(piper.PiperError, match=text):
            training.step(given)
    assert training.step(batch).step == 1


def test_arrays_in_order_are_those_of_forward(batch: Arrays) -> None:
    class Backwards(Model):
        """Its last input is used first, so that devices load it first."""

        def forward(self, targets: piper.i32[BATCH, TIME], tokens: piper.i32[BATCH, TIME]) -> piper.Tensor:  # type: ignore[valid-type]
            return super().forward(tokens, targets)

    plan = piper.compile(piper.generate_ir(decorated(Backwards, annotate(pipeline_parallel=2))))
    assert [name for name, _, _ in plan.inputs] == ["targets", "tokens"]
    assert plan.train().inputs == plan.inputs
    # To follow one another is not mutual, so that the other order is another loss.
    tokens = batch["tokens"]
    targets = (tokens + 1) % WORDS
    named = piper.runtime.execute(plan, {"tokens": tokens, "targets": targets})
    ordered = piper.runtime.execute(plan, [targets, tokens])
    assert [r.loss for r in ordered] == [r.loss for r in named]
    assert [r.loss for r in ordered] != [r.loss for r in piper.runtime.execute(plan, [tokens, targets])]


def test_the_order_of_arrays_is_that_of_the_function_of_the_plan(batch: Arrays) -> None:
    text = piper.generate_ir(Model(), optimizer=SGD).text
    arguments = ", ".join(f"%{name}: tensor<16x2xi32>" for name in ("targets", "tokens"))
    other = f"  func.func @other({arguments}) {{\n    func.return\n  }}\n"
    text = text.replace("  strategy.plan @train", f"{other}  strategy.plan @train")
    plan = piper.compile(text)
    assert [name for name, _, _ in plan.inputs] == ["tokens", "targets"]
    ordered = piper.runtime.execute(plan, [batch["tokens"], batch["targets"]])
    assert [r.loss for r in ordered] == [r.loss for r in piper.runtime.execute(plan, batch)]


def test_bfloat16_is_bits() -> None:
    numbers = np.array([1.0, -2.5, 3.0e38, 1e-40, np.inf, 1.00390625, 1.01171875], np.float32)
    bits = piper.f32_to_bf16(numbers)
    assert bits.dtype == np.uint16 and bits[0] == 0x3F80 and bits[5] == 0x3F80 and bits[6] == 0x3F82
    np.testing.assert_allclose(piper.bf16_to_f32(bits)[:3], numbers[:3], rtol=2**-8)
    assert np.isnan(piper.bf16_to_f32(piper.f32_to_bf16(np.float32(np.nan))))


def test_plans_are_files(tmp_path: Path, batch: Arrays) -> None:
    plan = piper.compile(piper.generate_ir(Model(), optimizer=SGD))
    plan.save(tmp_path / "m.pplan")
    read = piper.load(tmp_path / "m.pplan")
    assert read.launch_sequence() == plan.launch_sequence()
    if piper.has_llvm():
        assert [read.train().step(batch).loss] == losses(batch, steps=1)
    else:
        with pytest.raises(piper.PiperError):
            read.train()
    with pytest.raises(piper.PiperError):
        piper.load(tmp_path / "none.pplan")


def test_plans_are_simulated() -> None:
    ir = piper.generate_ir(decorated(Model, annotate(pipeline_parallel=2)))
    plan = piper.compile(ir)
    machine = "[device]\nflops = 1e12\nmemory_bandwidth = 1e11\n[axes]\npp = { bandwidth = 1e9, latency = 1e-6 }\n"
    found = piper.simulate(plan, machine)
    assert found.makespan > 0 and found.busy + found.exposed + found.bubble == pytest.approx(1)
    assert "bubble" in found.table() and found.json().startswith("{") and found.peak_memory > 0
    with pytest.raises(piper.PiperError, match="cannot read the machine"):
        piper.simulate(plan, "no-such-file.toml")
    with pytest.raises(piper.PiperError, match="in the machine"):
        piper.simulate(plan, "[device]\n")


def test_other_threads_run_during_a_step(batch: Arrays) -> None:
    training = piper.compile(piper.generate_ir(Model())).train()
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    try:
        # Nobody is made to give the lock up any more: the other thread counts only while this one gives it up by itself.
        sys.setswitchinterval(1000)
        thread.start()
        before = counted[0]
        total = sum(range(10_000))
        assert total > 0 and counted[0] == before
        for _ in range(1000):
            training.step(batch)
            if counted[0] > before + 10:
                break
        after = counted[0]
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert after > before + 10


def test_a_training_tells_of_itself_during_a_step(batch: Arrays) -> None:
    training = piper.compile(piper.generate_ir(decorated(Model, annotate(pipeline_parallel=2)))).train()
    known = training.inputs, training.states
    told: list[tuple[str, int, bool]] = []
    wrong: list[BaseException] = []
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                told.append((repr(training), training.steps, (training.inputs, training.states) == known))
                time.sleep(0)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(50):
        training.step(batch)
    stop.set()
    thread.join()
    assert wrong == [] and told and all(same for _, _, same in told)
    assert [steps for _, steps, _ in told] == sorted(steps for _, steps, _ in told)
    assert repr(training) == "<Training after 50 steps>" and training.steps == 50


def test_what_the_core_raises_is_not_taken_for_a_step_under_way(batch: Arrays) -> None:
    class Broken:
        """A core that fails, whoever asks."""

        def __init__(self, core: object) -> None:
            self.states = core.states  # type: ignore[attr-defined]

        @property
        def steps(self) -> int:
            raise RuntimeError("the core is broken")

    training = piper.compile(piper.generate_ir(Model())).train()
    training.step(batch)
    training._core = Broken(training._core)  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="the core is broken"):
        training.steps  # noqa: B018 - asking is all there is to it


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_ends_a_run_between_steps(batch: Arrays) -> None:
    training = piper.compile(piper.generate_ir(Model())).train()
    # A process started in the background ignores interrupts, and Python then leaves it at that.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            piper.runtime.execute(training, batch, steps=1_000_000)
    finally:
        signal.signal(signal.SIGINT, inherited)
    taken = training.steps
    assert training.step(batch).step == taken + 1


def test_a_file_of_the_repository_is_compiled() -> None:
    ir = piper.IR.parse((ROOT / "examples" / "mlp.pir").read_text(), "mlp.pir")
    assert ir.num_devices == 2
    assert piper.compile(ir, kernels="interpreted").mesh == [("pp", 2)]


@pytest.mark.skipif(not piper.has_llvm(), reason="this build has no LLVM")
def test_code_is_generated_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ir = piper.generate_ir(Model())
    assert piper.compile(ir, in_process=True).code_report is not None
    monkeypatch.setattr("piper._codegen_child.command", lambda: ["false"])
    monkeypatch.setenv("PIPER_CACHE_DIR", str(tmp_path))
    with pytest.raises(piper.PiperError, match="code generation failed"):
        piper.compile(ir)
