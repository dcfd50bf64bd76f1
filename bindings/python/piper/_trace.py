"""Symbolic tensors, and the record of what a model does with them.

A model's ``forward`` is called with symbolic tensors (by :func:`piper.generate_ir`). Every function of :mod:`piper.nn` adds an
operation to the :class:`Graph`, with its tags, the line of Python that it comes from, and the calls of modules that it stands in.
Types are inferred at once, so that what does not fit is an exception at that line.
"""

from __future__ import annotations

import contextlib
import functools
import math
import numbers
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import _piper
from ._errors import PiperError
from ._tensor import TensorType

if TYPE_CHECKING:
    from .nn._module import Parameter

__all__ = [
    "Arithmetic",
    "Graph",
    "Tensor",
    "TracedOp",
    "caller",
    "checked_operand",
    "current_graph",
    "finite",
    "number_text",
    "operation",
]

_PACKAGE = str(Path(__file__).resolve().parent)
_GRAPH: ContextVar[Graph | None] = ContextVar("piper_graph", default=None)

Tags = dict[str, int | str]
Place = tuple[str, int, int]


class Arithmetic:
    """The operators of tensors and parameters. Numbers scale; only tensors and parameters are added and multiplied."""

    __slots__ = ()

    #: NumPy leaves operators with its arrays and numbers to this class, instead of applying them to each element.
    __array_ufunc__ = None

    def __add__(self, other: Tensor | Parameter) -> Tensor:
        return self._with("nn.add", other)

    def __radd__(self, other: Tensor | Parameter) -> Tensor:
        return self._with("nn.add", other)

    def __sub__(self, other: Tensor | Parameter) -> Tensor:
        return self._with("nn.add", -checked_operand("nn.add", other))

    def __rsub__(self, other: Tensor | Parameter) -> Tensor:
        return (-self)._with("nn.add", other)

    def __mul__(self, other: Tensor | Parameter | float) -> Tensor:
        if _is_number(other):
            factor = finite(cast(float, other), "what a tensor is multiplied by")
            return operation("nn.scale", [cast("Tensor", self)], {"factor": factor})[0]
        return self._with("nn.mul", cast("Tensor", other))

    def __rmul__(self, other: float) -> Tensor:
        return self * other

    def __neg__(self) -> Tensor:
        return self * -1.0

    def __truediv__(self, other: float) -> Tensor:
        if not _is_number(other) or other == 0:
            by = "0" if _is_number(other) else _shown(other)
            raise PiperError.of(f"a tensor is divided by a number that is not 0, not by {by}", place=caller())
        return self * finite(1.0 / finite(other, "what a tensor is divided by"), "one over what a tensor is divided by")

    def __rtruediv__(self, other: object) -> Tensor:
        raise PiperError.of(f"nothing is divided by a tensor, as {_shown(other)} is here", place=caller())

    def __matmul__(self, weight: Tensor | Parameter) -> Tensor:
        return operation("nn.linear", [cast("Tensor", self), checked_operand("nn.linear", weight)], {})[0]

    def __rmatmul__(self, x: Tensor | Parameter) -> Tensor:
        return operation("nn.linear", [checked_operand("nn.linear", x), cast("Tensor", self)], {})[0]

    def _with(self, name: str, other: Tensor | Parameter) -> Tensor:
        return operation(name, [cast("Tensor", self), checked_operand(name, other)], {})[0]


class Tensor(Arithmetic):
    """A tensor of a model that is being traced. It has a type and no numbers."""

    __slots__ = ("_graph", "_number", "_type")

    def __init__(self, graph: Graph, number: int, ty: TensorType) -> None:
        self._graph = graph
        self._number = number
        self._type = ty

    @property
    def type(self) -> TensorType:
        """Shape and element type."""
        return self._type

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self._type.shape

    @property
    def dtype(self) -> str:
        """The element type: ``"f32"``."""
        return self._type.dtype

    def __bool__(self) -> bool:
        raise PiperError.of(
            "a symbolic tensor is neither true nor false: its numbers are not known while the model is traced",
            hint="branch on shapes and settings, which are known",
            place=caller(),
        )

    def __iter__(self) -> Iterator[Tensor]:
        raise PiperError.of("a symbolic tensor cannot be iterated over", place=caller())

    def __repr__(self) -> str:
        return f"<Tensor {self._type}>"


@dataclass
class TracedOp:
    """An operation that a model did."""

    name: str
    operands: list[int | Parameter]
    attributes: dict[str, Any]
    results: list[int]
    types: list[TensorType]
    operand_types: list[TensorType]
    tags: Tags
    place: Place | None
    #: The calls of modules around it, outermost first, each with a number of its own.
    path: tuple[int, ...]


@dataclass
class Graph:
    """What a model did, in order."""

    inputs: list[tuple[str, TensorType]] = field(default_factory=list)
    ops: list[TracedOp] = field(default_factory=list)
    tags: list[Tags] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    #: How often a tag without a value was opened: its next value.
    counters: dict[str, int] = field(default_factory=dict)
    _values: int = 0
    _calls: int = 0

    def input(self, name: str, ty: TensorType) -> Tensor:
        """A further argument of the model."""
        self.inputs.append((name, ty))
        return self._value(ty)

    def _value(self, ty: TensorType) -> Tensor:
        self._values += 1
        return Tensor(self, self._values - 1, ty)

    @contextmanager
    def active(self) -> Iterator[None]:
        """While this lasts, functions of :mod:`piper.nn` add to this graph."""
        token = _GRAPH.set(self)
        try:
            yield
        finally:
            _GRAPH.reset(token)

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call of a module."""
        self._calls += 1
        self.path.append(self._calls)
        try:
            yield
        finally:
            self.path.pop()

    def add(
        self,
        name: str,
        operands: Sequence[Tensor | Parameter],
        attributes: Mapping[str, Any],
        types: Sequence[TensorType] | None,
    ) -> tuple[Tensor, ...]:
        """Records an operation and gives its results."""
        place = caller()
        used: list[int | Parameter] = []
        operand_types: list[TensorType] = []
        for operand in operands:
            checked_operand(name, operand)
            operand_types.append(operand.type)
            if isinstance(operand, Tensor):
                if operand._graph is not self:
                    raise PiperError.of(f"'{name}' is given a tensor of another trace", place=place)
                used.append(operand._number)
            else:
                used.append(operand)
        given = {key: value for key, value in attributes.items() if value is not None}
        if types is None:
            try:
                types = _inferred(name, tuple(operand_types), _Frozen(given))
            except (TypeError, ValueError) as error:
                raise PiperError.of(str(error), place=place) from None
        results = [self._value(ty) for ty in types]
        tags: Tags = {}
        for opened in self.tags:
            tags.update(opened)
        self.ops.append(
            TracedOp(
                name,
                used,
                given,
                [result._number for result in results],
                list(types),
                operand_types,
                tags,
                place,
                tuple(self.path),
            )
        )
        return tuple(results)


class _Frozen(dict[str, Any]):
    """Attributes as part of a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted((key, repr(value)) for key, value in self.items())))


@functools.lru_cache(maxsize=4096)
def _inferred(name: str, operands: tuple[TensorType, ...], attributes: _Frozen) -> list[TensorType]:
    texts = _piper.infer_types(name, [ty.text for ty in operands], dict(attributes))
    return [TensorType.parse(text) for text in texts]


def current_graph(what: str) -> Graph:
    """The graph that is being traced."""
    graph = _GRAPH.get()
    if graph is None:
        raise PiperError.of(
            f"{what} outside of a model that is being traced",
            hint="call it in the model's forward; piper.generate_ir(model) calls that",
        )
    return graph


def checked_operand(name: str, value: Tensor | Parameter) -> Tensor | Parameter:
    """What is given to an operation, which takes only tensors and parameters."""
    if not isinstance(value, Arithmetic):
        raise PiperError.of(
            f"'{name}' takes tensors and parameters, not {_shown(value)}",
            hint="piper.nn.constant makes a tensor of a number",
            place=caller(),
        )
    return value


def finite(value: float, what: str) -> float:
    """A number of Python or of NumPy."""
    with contextlib.suppress(OverflowError):  # Of whole numbers that no float comes near to.
        if _is_number(value) and math.isfinite(value):
            return float(value)
    raise PiperError.of(f"{what} is a finite number, not {_shown(value)}", place=caller())


def number_text(value: float, what: str) -> str:
    """A finite number as modules write it: ``1.0e-08``."""
    text = repr(finite(value, what))
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 and "\n" not in shown else f"what is of type {type(value).__name__}"


def operation(
    name: str,
    operands: Sequence[Tensor | Parameter | None],
    attributes: Mapping[str, Any],
    types: Sequence[TensorType] | None = None,
) -> tuple[Tensor, ...]:
    """Adds an operation to the model that is being traced. Operands that are ``None`` are left out."""
    graph = current_graph(f"'{name}' is called")
    there = [operand for operand in operands if operand is not None]
    return graph.add(name, there, attributes, types)


def caller() -> Place | None:
    """The innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            column = 1
            if sys.version_info >= (3, 11) and frame.f_lasti >= 0:
                positions = list(code.co_positions())[frame.f_lasti // 2]
                if positions[0] == frame.f_lineno and positions[2] is not None:
                    column = positions[2] + 1
            return code.co_filename, frame.f_lineno, column
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
