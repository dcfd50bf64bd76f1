"""The compiled half of the package: modules, passes, compiled programs. Public names are those of ``piper``."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, final

#: A value of an attribute: what has no counterpart in Python is an ``Attribute``; ``True`` is also a unit attribute.
_AttributeValue: TypeAlias = (
    bool | int | float | str | Attribute | Sequence[_AttributeValue] | dict[str, _AttributeValue] | None
)

@final
class Attribute:
    """An attribute or a type that Python has no value for, as MLIR writes it."""

    def __new__(cls, text: str) -> Attribute: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Note:
    """A further fact of a diagnostic, at a place of its own."""

    @property
    def message(self) -> str: ...
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...

@final
class Diagnostic:
    """What the compiler says of a program: an error, a warning or a remark, with its place."""

    def __new__(
        cls,
        severity: str,
        message: str,
        *,
        hint: str | None = None,
        place: tuple[str, int, int] | None = None,
        source: str | None = None,
    ) -> Diagnostic:
        """A message of one's own; ``place`` is file, line and column, ``source`` the text of that file."""
    @property
    def severity(self) -> str:
        """``"error"``, ``"warning"``, ``"remark"`` or ``"note"``."""
    @property
    def message(self) -> str: ...
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...
    @property
    def notes(self) -> list[Note]: ...
    @property
    def hint(self) -> str | None: ...
    @property
    def rendered(self) -> str:
        """All of it with the source lines, as the tools print it."""

@final
class Value:
    """A value: a result of an operation or an argument of a block."""

    @property
    def type(self) -> str:
        """Its type as text, ``"tensor<4x8xf32>"``."""
    @property
    def shape(self) -> list[int] | None:
        """Its sizes, if it is a tensor; -1 where one is not known."""
    @property
    def name(self) -> str | None:
        """The name it was written with, without ``%``."""
    @property
    def owner(self) -> Operation | None:
        """The operation that makes it; nothing for an argument."""
    @property
    def uses(self) -> list[tuple[Operation, int]]:
        """Who uses it, with the number of the operand."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Block:
    """A block of operations."""

    @property
    def operations(self) -> list[Operation]: ...
    @property
    def arguments(self) -> list[Value]: ...
    @property
    def parent(self) -> Operation: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Operation:
    """An operation of a module. It goes stale when passes run on the module; using it then is a RuntimeError."""

    @property
    def name(self) -> str:
        """Its full name, as ``"nn.linear"``."""
    @property
    def symbol(self) -> str | None:
        """The name after ``@``, if it has one."""
    @property
    def operands(self) -> list[Value]: ...
    @property
    def results(self) -> list[Value]: ...
    @property
    def attributes(self) -> dict[str, Any]:
        """All attributes by name, declared ones first; a copy."""
    def get(self, name: str, default: Any = None) -> Any:
        """The attribute of this name, or ``default``."""
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: _AttributeValue) -> None: ...
    def __delitem__(self, name: str) -> None: ...
    def __contains__(self, name: str) -> bool: ...
    @property
    def location(self) -> tuple[str, int, int] | None:
        """File, line and column, if it comes from a text."""
    @property
    def parent(self) -> Operation | None: ...
    @property
    def block(self) -> Block | None: ...
    @property
    def regions(self) -> list[list[Block]]: ...
    @property
    def next(self) -> Operation | None: ...
    @property
    def previous(self) -> Operation | None: ...
    @property
    def is_used(self) -> bool:
        """Whether any of its results is used."""
    def walk(self) -> list[Operation]:
        """Itself and everything in its regions, outer before inner."""
    def set_operand(self, index: int, value: Value) -> None:
        """Replaces one of its operands."""
    def move_before(self, other: Operation) -> None:
        """Moves it in front of another operation."""
    def replace_uses(self, values: Sequence[Value]) -> None:
        """Lets everybody who uses its results use these values instead."""
    def erase(self) -> None:
        """Takes it out of the module, with everything in it. Nothing may use its results any more."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Module:
    """A module of operations at any level, from a model to device programs."""

    @staticmethod
    def parse(
        text: str,
        name: str = "<string>",
        *,
        compiler: Compiler | None = None,
        sources: Sequence[tuple[str, str]] = ...,
    ) -> Module:
        """Reads a text in MLIR's syntax; ``name`` is what messages call it.

        ``sources`` are the texts, by name, that its locations speak of.
        """
    def copy(self) -> Module:
        """A module of its own with the same contents."""
    @property
    def name(self) -> str: ...
    def text(self, *, generic: bool = False, locations: bool = False) -> str:
        """The module as text; ``generic`` is the form that any MLIR tool reads."""
    def verify(self) -> None:
        """Checks the module; whatever is wrong is raised."""
    def run(self, pipeline: str, *, implied: bool = False) -> list[Diagnostic]:
        """Runs exactly these passes, ``"canonicalize,cse"``, and gives their remarks and warnings.

        With ``implied`` each runs after the passes that it builds on. Handles to operations are stale afterwards.
        """
    @property
    def plans(self) -> list[str]:
        """The names of its strategies."""
    def lower_to_graph(self, plan: str | None = None, *, fixed_tree: bool = False) -> None:
        """Brings a strategy to the graph of a whole step, in place."""
    def _compile(
        self,
        plan: str | None = None,
        *,
        kernels: str = "default",
        gradients: bool = False,
        fixed_tree: bool = False,
        command: list[str] | None = None,
    ) -> Executable: ...
    @property
    def root(self) -> Operation: ...
    def walk(self) -> list[Operation]:
        """All operations, outer before inner, beginning with the module itself."""
    def lookup(self, name: str) -> Operation | None:
        """The operation of this name (``@name``) at the top level."""
    def create(
        self,
        name: str,
        operands: Sequence[Value] = ...,
        attributes: dict[str, _AttributeValue] | None = None,
        results: Sequence[str] | None = None,
        *,
        before: Operation | None = None,
        after: Operation | None = None,
        at_end: Block | None = None,
    ) -> Operation:
        """Creates an operation before or after another one, or at the end of a block.

        Result types are texts; where none are given they are inferred, if the operation can.
        """

@final
class Compiler:
    """Dialects and passes. ``Module.parse`` uses Piper's own unless it is given another compiler."""

    def __new__(cls) -> Compiler: ...
    def parse(self, text: str, name: str = "<string>") -> Module: ...
    def module(self, name: str = "<module>") -> Module:
        """An empty module, to be built."""
    @property
    def passes(self) -> list[tuple[str, str]]:
        """The names of all passes with what each does."""
    def register_pass(
        self, name: str, function: Callable[[PassContext], object], *, summary: str = ""
    ) -> None:
        """Adds a pass. A name that is taken, or that pipelines cannot write, is a `ValueError`."""
    def register_dialect_text(self, text: str, name: str = "<dialect>") -> None:
        """Adds the dialects that a text of ``irdl`` operations defines, for modules made from now on.

        ``name`` is what messages call the text. Nothing is added if anything is wrong with it.
        """

@final
class PassContext:
    """What a pass works on and with. It ends with the pass."""

    @property
    def module(self) -> Module: ...
    @property
    def name(self) -> str: ...
    def walk(self) -> list[Operation]: ...
    def remark(self, text: str, op: Operation | None = None, *, hint: str | None = None) -> None: ...
    def warning(self, text: str, op: Operation | None = None, *, hint: str | None = None) -> None: ...
    def error(self, text: str, op: Operation | None = None, *, hint: str | None = None) -> None:
        """Reports a fault; the pass has failed, but goes on."""

@final
class Executable:
    @property
    def name(self) -> str: ...
    @property
    def mesh(self) -> list[tuple[str, int]]: ...
    @property
    def num_devices(self) -> int: ...
    @property
    def inputs(self) -> list[tuple[str, list[int], str]]: ...
    @property
    def states(self) -> list[tuple[str, list[int], str]]: ...
    @property
    def code_report(self) -> str | None: ...
    def text(self) -> str: ...
    def launch_sequence(self) -> str: ...
    def device_text(self, device: int) -> str: ...
    def device_program(self, device: int) -> list[dict[str, Any]]: ...
    def save(self, path: Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def simulate_on(self, machine: str) -> Simulation: ...
    def train(
        self,
        *,
        seed: int = 0,
        timeout: float = 60.0,
        threads_per_device: int = 1,
        trace: bool = False,
    ) -> Training: ...

@final
class Simulation:
    """A simulated step."""

    @property
    def makespan(self) -> float:
        """Seconds of the step."""
    @property
    def critical_path(self) -> float:
        """Seconds it would take if devices and ports were never busy with something else."""
    @property
    def busy(self) -> float:
        """The part of the step in which devices compute."""
    @property
    def exposed(self) -> float:
        """The part of the step in which devices only wait for the wire."""
    @property
    def bubble(self) -> float:
        """The part of the step in which devices neither compute nor wait for the wire."""
    @property
    def peak_memory(self) -> int:
        """The most bytes that are alive on any device."""
    def table(self) -> str:
        """The outcome for people."""
    def json(self) -> str:
        """The outcome for programs."""
    def trace_json(self) -> str:
        """The timeline, for Perfetto."""

class _Report(TypedDict):
    step: int
    seconds: float
    outputs: dict[str, Any]

@final
class Training:
    @property
    def steps(self) -> int: ...
    @property
    def states(self) -> list[str]: ...
    def take_step(self, inputs: dict[str, tuple[str, list[int], bytes]]) -> _Report: ...
    def packed_state(self, name: str) -> tuple[str, list[int], bytearray]: ...
    def state_type(self, name: str) -> tuple[str, list[int]] | None: ...
    def set_packed_state(self, name: str, value: tuple[str, list[int], bytes]) -> None: ...
    def memory(self) -> list[tuple[int, int, int]]: ...
    def trace_json(self) -> str: ...

def load(path: str | os.PathLike[str]) -> Executable: ...
def has_llvm() -> bool:
    """Whether kernels can become machine code."""

def codegen_child() -> int: ...
def operations(dialect: str) -> list[dict[str, Any]]:
    """The operations of a dialect: name, summary, description, operands, attributes, results."""

def infer_types(
    name: str, operands: list[str], attributes: dict[str, Any] | None = None
) -> list[str]: ...
def attribute_text(name: str, key: str, value: object) -> str | None: ...
def schedules() -> list[tuple[str, str, str]]:
    """The pipeline schedules: name, summary, and how stages lie on ranks."""
