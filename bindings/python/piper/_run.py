"""Compiled programs and their runs, on NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from . import _codegen_child, _piper
from ._arrays import packed, unpacked
from ._errors import PiperError
from ._ir import IR
from ._numbers import whole
from ._piper import Module, Simulation
from ._trace import finite

__all__ = [
    "DevicePlan",
    "DeviceMemory",
    "Executable",
    "StepResult",
    "Training",
    "compile",
    "load",
    "simulate",
]

Kernels = Literal["default", "native", "interpreted"]


class DevicePlan(Sequence[dict[str, Any]]):
    """What one device issues, in order: dictionaries with ``op``, ``name``, ``stream`` and so on. Printing it shows a table."""

    def __init__(self, executable: _piper.Executable, device: int) -> None:
        self._text = executable.device_text(device)
        self._steps = executable.device_program(device)
        #: The number of the device.
        self.device = device

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<DevicePlan of device {self.device}: {len(self)} instructions>"


class Executable(Sequence[DevicePlan]):
    """One program for each device, and the kernels that they launch. ``executable[3]`` is the program of device 3."""

    def __init__(self, core: _piper.Executable, names: Sequence[str] = ()) -> None:
        self._core = core
        # Plans have inputs in the order in which devices load them; `names` is the order in which a model takes them.
        places = {name: place for place, name in enumerate(names)}
        self._inputs = sorted(core.inputs, key=lambda found: places.get(found[0], len(places)))

    @overload
    def __getitem__(self, index: int) -> DevicePlan: ...
    @overload
    def __getitem__(self, index: slice) -> list[DevicePlan]: ...
    def __getitem__(self, index: int | slice) -> DevicePlan | list[DevicePlan]:
        if isinstance(index, slice):
            return [DevicePlan(self._core, device) for device in range(*index.indices(len(self)))]
        device = index + len(self) if index < 0 else index
        if not 0 <= device < len(self):
            raise IndexError(f"there is no device {index}; there are {len(self)}")
        return DevicePlan(self._core, device)

    def __len__(self) -> int:
        return self._core.num_devices

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return self._core.name

    @property
    def num_devices(self) -> int:
        """How many devices it is for."""
        return self._core.num_devices

    @property
    def mesh(self) -> list[tuple[str, int]]:
        """Axes of devices with their sizes, major to minor."""
        return self._core.mesh

    @property
    def inputs(self) -> list[tuple[str, list[int], str]]:
        """The inputs of a step: name, shape of the whole batch, element type.

        They are in the order of the model's arguments; in that of the plan if it was read from a file.
        """
        return list(self._inputs)

    @property
    def states(self) -> list[tuple[str, list[int], str]]:
        """Parameters and the optimizer's state: name, shape, element type."""
        return self._core.states

    @property
    def code_report(self) -> str | None:
        """How the machine code was made; ``None`` if there is none, or it was read from a file."""
        return self._core.code_report

    def text(self) -> str:
        """The plan as text: its tables, and a program for each class of devices."""
        return self._core.text()

    def launch_sequence(self) -> str:
        """What each device issues, in order."""
        return self._core.launch_sequence()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pplan`` file. What the interpreter computes is not in it."""
        self._core.save(Path(path))

    def simulate(self, machine: str | os.PathLike[str]) -> Simulation:
        """Plays the programs on a model of a machine: the text of a machine file, or its path."""
        return self._core.simulate_on(_machine_text(machine))

    def train(
        self,
        *,
        seed: int = 0,
        timeout: float = 60.0,
        threads_per_device: int = 1,
        trace: bool = False,
    ) -> Training:
        """Loads the programs on virtual devices, threads of this process, at initial values that follow from ``seed``.

        A step fails after ``timeout`` seconds without any device starting a new instruction.
        """
        numbers = {}
        for name, value, least in [("seed", seed, 0), ("threads_per_device", threads_per_device, 1)]:
            number = whole(value)
            if number is None or not least <= number < 2**64:
                raise PiperError.of(f"{name} is a number from {least} to 2**64 - 1, not {value!r}")
            numbers[name] = number
        seconds = finite(timeout, "timeout")
        if not 0 <= seconds < 2**64:
            raise PiperError.of(f"timeout is a number of seconds, 0 or more, not {timeout!r}")
        core = self._core.train(timeout=seconds, trace=trace, **numbers)
        return Training(core, self._inputs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return repr(self._core)


def _machine_text(machine: str | os.PathLike[str]) -> str:
    if isinstance(machine, str) and ("\n" in machine or "[" in machine):
        return machine
    try:
        return Path(machine).read_text()
    except OSError as error:
        raise PiperError.of(
            f"cannot read the machine '{machine}': {error.strerror}",
            hint="a machine is the path of a TOML file, or its text: [device] flops = 1e12, and so on",
        ) from None


@dataclass(frozen=True)
class StepResult:
    """What a step gave."""

    #: Its number, from 1.
    step: int
    #: Numbers and arrays by name: the loss, and gradients if they were asked for.
    outputs: dict[str, Any]
    #: How long it took.
    seconds: float

    @property
    def loss(self) -> float:
        """The loss; the first number of the outputs."""
        if "loss" in self.outputs:
            return float(self.outputs["loss"])
        return float(next(value for value in self.outputs.values() if isinstance(value, float)))


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of a device."""

    #: What the plan says the arena takes.
    planned: int
    #: The highest byte that anything was ever written to.
    used: int
    #: Of kernels, beside the arena.
    workspace: int


class Training:
    """Virtual devices with their memory and threads."""

    def __init__(self, core: _piper.Training, inputs: list[tuple[str, list[int], str]]) -> None:
        self._core = core
        # The core answers nothing while it takes a step, and these never change.
        self._inputs, self._states = inputs, core.states

    @property
    def inputs(self) -> list[tuple[str, list[int], str]]:
        """The inputs of a step, as those of the executable: name, shape of the whole batch, element type."""
        return list(self._inputs)

    @property
    def states(self) -> list[str]:
        """Names of parameters and of the optimizer's state, ``w`` and ``w.m``."""
        return list(self._states)

    @property
    def steps(self) -> int:
        """Steps taken; one that is under way does not count."""
        return self._core.steps

    def step(self, inputs: Mapping[str, ArrayLike]) -> StepResult:
        """Takes a step on the whole batch. Other threads of Python run meanwhile; an interrupt is raised after the step."""
        wanted = {name: (shape, dtype) for name, shape, dtype in self._inputs}
        if not isinstance(inputs, Mapping):
            raise PiperError.of(
                f"a step takes arrays by name, not {type(inputs).__name__}",
                hint=f"give {{{', '.join(f'{name!r}: ...' for name in wanted)}}}",
            )
        given = {}
        for name, value in inputs.items():
            if name not in wanted:
                raise PiperError.of(f"the plan has no input '{name}'", hint=f"its inputs: {', '.join(wanted)}")
            shape, dtype = wanted[name]
            given[name] = packed(
                name, value, dtype, shape, hint="a step takes the whole batch, before it is divided"
            )
        missing = [name for name in wanted if name not in given]
        if missing:
            raise PiperError.of(f"no input '{missing[0]}'", hint=f"a step wants: {', '.join(wanted)}")
        report = self._core.take_step(given)
        outputs = {
            name: value if isinstance(value, float) else unpacked(value)
            for name, value in report["outputs"].items()
        }
        return StepResult(report["step"], outputs, report["seconds"])

    def run(self, batches: Iterable[Mapping[str, ArrayLike]]) -> Iterator[StepResult]:
        """Takes a step on each batch, as results are asked for."""
        for batch in batches:
            yield self.step(batch)

    def state(self, name: str) -> NDArray[Any]:
        """A parameter or a part of the optimizer's state, put together from where its shards are."""
        self._check_state(name)
        return unpacked(self._core.packed_state(name))

    def set_state(self, name: str, value: ArrayLike) -> None:
        """Sets a parameter or a part of the optimizer's state, wherever its shards are."""
        self._check_state(name)
        known = self._core.state_type(name)
        assert known is not None, "every state has a type"
        dtype, shape = known
        whole = "all of it is set, wherever its shards are"
        self._core.set_packed_state(name, packed(name, value, dtype, shape, hint=whole))

    def _check_state(self, name: str) -> None:
        if name not in self._states:
            raise PiperError.of(f"no state is called '{name}'", hint=f"there are {', '.join(self._states)}")

    def memory(self) -> list[DeviceMemory]:
        """Memory of each device, planned and used."""
        return [DeviceMemory(*bytes_) for bytes_ in self._core.memory()]

    def trace_json(self) -> str:
        """The steps so far as a Perfetto trace, if the plan was loaded with ``trace=True``."""
        return self._core.trace_json()

    def __repr__(self) -> str:
        return f"<Training after {self.steps} steps>"


def compile(  # noqa: A001 - the name that such a function has everywhere
    ir: IR | Module | str,
    num_devices: int | None = None,
    *,
    plan: str | None = None,
    kernels: Kernels = "default",
    gradients: bool = False,
    fixed_tree: bool = False,
    in_process: bool = False,
) -> Executable:
    """Compiles a model with its strategy to one program for each device.

    ``num_devices`` is checked against the strategy. ``kernels`` are ``"native"`` (machine code; generated in a process of its own
    unless ``in_process``), ``"interpreted"``, or the best that this build has. With ``gradients`` a step also gives every complete
    gradient, as ``grad.NAME``. With ``fixed_tree`` gradients are added in an order that all strategies share, so that they agree bit
    for bit.
    """
    if isinstance(ir, str):
        ir = IR.parse(ir)
    if isinstance(ir, Module):
        ir = IR(ir)
    if not isinstance(ir, IR):
        raise PiperError.of(
            f"compile takes what generate_ir gives, a module or a text, not {ir!r}",
            hint="piper.compile(piper.generate_ir(Model()))",
        )
    if num_devices is not None and ir.mesh and num_devices != ir.num_devices:
        axes = " x ".join(f"{name} {size}" for name, size in ir.mesh)
        raise PiperError.of(
            f"num_devices={num_devices}, but the strategy is for {ir.num_devices} devices ({axes})",
            hint=f"use num_devices={ir.num_devices}, or change data_parallel and pipeline_parallel: their product is the number of devices",
        )
    command = None if in_process or kernels == "interpreted" else _codegen_child.command()
    core = ir.module._compile(
        plan, kernels=kernels, gradients=gradients, fixed_tree=fixed_tree, command=command
    )
    return Executable(core, _input_names(ir.module, plan))


def _input_names(module: Module, plan: str | None) -> list[str]:
    """The arguments of the function that a plan is for, in order; of the only plan if none is named."""
    ops = module.walk()
    plans = [op for op in ops if op.name == "strategy.plan" and plan in (None, op.symbol)]
    if len(plans) != 1:
        return []
    called = plans[0]["function"].text.removeprefix("@").strip('"')
    for op in ops:
        if op.name == "func.func" and op.symbol == called and op.parent == plans[0].parent:
            blocks = [block for region in op.regions for block in region[:1]]
            return [value.name for block in blocks for value in block.arguments if value.name is not None]
    return []


def load(path: str | os.PathLike[str]) -> Executable:
    """Reads a ``.pplan`` file."""
    return Executable(_piper.load(Path(path)))


def simulate(executable: Executable | IR, machine: str | os.PathLike[str]) -> Simulation:
    """Plays programs on a model of a machine, which is a TOML file's path or text, and says how long a step takes."""
    if isinstance(executable, IR):
        executable = compile(executable, kernels="interpreted")
    if not isinstance(executable, Executable):
        raise PiperError.of(f"simulate takes what piper.compile gives, not {executable!r}")
    return executable.simulate(machine)
