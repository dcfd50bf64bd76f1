"""From a model to the strategy level: a module with the model's operations, the mesh and the plan."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from . import _piper
from ._errors import PiperError
from ._piper import Compiler, Module
from ._stages import set_expert_tags, set_stages
from ._strategy import SGD, AdamW, Annotation, Directive, Strategy, _Directing, strategy_of
from ._tensor import TensorType
from ._trace import Graph, Tags, Tensor, TracedOp
from .nn._module import Parameter, named_parameters

__all__ = ["IR", "Edge", "Node", "generate_ir"]


@dataclass(frozen=True)
class Node:
    """A node of the graph of a step: a piece of computation, a transfer, a collective."""

    op: str
    name: str
    #: ``"compute"`` or ``"communication"`` or, for the rest, ``"other"``.
    kind: str
    tags: dict[str, Any]

    def __str__(self) -> str:
        tags = ", ".join(f"{key} = {value}" for key, value in self.tags.items())
        return f"{self.op} {self.name} {{{tags}}}" if tags else f"{self.op} {self.name}"


@dataclass(frozen=True)
class Edge:
    """A value that goes from one node to another; numbers are places in ``IR.nodes``."""

    source: int
    target: int


class IR:
    """A model with its strategy, as Piper's text. Printing it shows the text."""

    def __init__(self, module: Module, strategy: Strategy | None = None) -> None:
        #: The module at the strategy level.
        self.module = module
        #: What the decorators said, if it comes from a decorated model.
        self.strategy = strategy

    @classmethod
    def parse(cls, text: str, name: str = "<string>", *, compiler: Compiler | None = None) -> IR:
        """A model and its strategy from a text."""
        return cls(Module.parse(text, name, compiler=compiler))

    @property
    def text(self) -> str:
        """The module as text."""
        return self.module.text()

    @cached_property
    def mesh(self) -> list[tuple[str, int]]:
        """Axes of devices with their sizes, major to minor."""
        for op in self.module.walk():
            if op.name == "strategy.mesh":
                return list(zip(op["axes"], op["sizes"], strict=True))
        return []

    @property
    def num_devices(self) -> int:
        """The devices that the strategy is for."""
        return int(np.prod([size for _, size in self.mesh], dtype=np.int64))

    @property
    def stages(self) -> list[list[str]]:
        """The operations of each stage of the pipeline, by name; all in one list if there is no pipeline."""
        stages: dict[int, list[str]] = {}
        for op in self.module.walk():
            if op.name.startswith("nn.") and op.name != "nn.parameter":
                stages.setdefault((op.get("tags") or {}).get("PP", 0), []).append(op.name)
        return [stages[stage] for stage in sorted(stages)]

    @cached_property
    def graph(self) -> Module:
        """The graph of a whole step: every piece of computation and communication, placed and ordered."""
        graph = self.module.copy()
        graph.lower_to_graph()
        return graph

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes of :attr:`graph`, in order."""
        return [node for _, node in self._nodes]

    @cached_property
    def _nodes(self) -> list[tuple[_piper.Operation, Node]]:
        found = []
        for op in self.graph.walk():
            if not op.name.startswith("dag.") or op.name in _FRAMES:
                continue
            kind = "communication" if op.name in _COMMUNICATION else "other"
            if op.name == "dag.compute":
                kind = "compute"
            tags = op.get("tags") or {}
            if op.name == "dag.compute":
                tags["PASS"] = op["kind"]
            found.append((op, Node(op.name.removeprefix("dag."), op.symbol or _name(op), kind, tags)))
        return found

    @cached_property
    def edges(self) -> list[Edge]:
        """The values that go between :attr:`nodes`."""
        places = {op: place for place, (op, _) in enumerate(self._nodes)}
        edges = []
        for op, place in places.items():
            for operand in op.operands:
                source = places.get(operand.owner) if operand.owner is not None else None
                if source is not None:
                    edges.append(Edge(source, place))
        return edges

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} = {size}" for name, size in self.mesh)
        return f"<IR {self.module.name} on [{axes}]>"


_FRAMES = {"dag.graph", "dag.order"}
_COMMUNICATION = {
    "dag.transfer",
    "dag.all_reduce",
    "dag.reduce_scatter",
    "dag.all_gather",
    "dag.all_to_all",
}


def _name(op: _piper.Operation) -> str:
    for key in ("node", "name"):
        value = op.get(key)
        if value is not None:
            return str(value)
    names = [result.name for result in op.results if result.name]
    return names[0] if names else ""


def generate_ir(
    model: object,
    directives: Iterable[Directive | _Directing | Annotation] | None = None,
    *,
    inputs: Mapping[str, TensorType | Any] | None = None,
    optimizer: AdamW | SGD | None = None,
    name: str | None = None,
) -> IR:
    """Traces a model and gives it the strategy that its class is decorated with.

    ``model`` is an object with ``forward`` (a class is called for one), which takes tensors and gives a scalar loss. The shapes of
    its inputs, the whole batch first, are annotations of ``forward``, as ``tokens: piper.i32[16, 64]``, or are given as ``inputs``: types or
    arrays by name. ``directives`` add to those of the class.
    """
    if isinstance(model, type):
        model = model()
    strategy = _with(strategy_of(model), directives or ()).checked()
    called = name or type(model).__name__
    graph, loss, files = _traced(model, _input_types(model, inputs))
    _check_batch(graph, strategy)
    _, stages, _ = strategy.schedule()
    if strategy.expert_parallel > 1:
        set_expert_tags(graph, strategy.expert_parallel)
    set_stages(graph, stages)
    names = {id(parameter): path for path, parameter in named_parameters(model)}
    text = _text(called, graph, loss, names, strategy, optimizer or AdamW())
    sources = [(file, "".join(linecache.getlines(file))) for file in files]
    return IR(Module.parse(text, f"<{called}>", sources=sources), strategy)


def _with(strategy: Strategy, further: Iterable[Directive | _Directing | Annotation]) -> Strategy:
    numbers, directives = dict(strategy.numbers), list(strategy.directives)
    for one in further:
        if isinstance(one, Annotation):
            numbers.update(one.numbers())
        else:
            directives.append(one.directive if isinstance(one, _Directing) else one)
    return replace(strategy, numbers=numbers, directives=tuple(directives))


def _input_types(
    model: object, given: Mapping[str, TensorType | Any] | None
) -> list[tuple[str, TensorType]]:
    forward = getattr(model, "forward", None)
    if forward is None:
        raise PiperError.of(
            f"{type(model).__name__} has no forward",
            hint="a model is a class with: def forward(self, tokens, targets): ... return loss",
        )
    signature = inspect.signature(forward, eval_str=False)
    try:
        hints = inspect.get_annotations(_function(forward), eval_str=True)
    except Exception:  # Names that only type checkers know.
        hints = {}
    types, left = [], dict(given or {})
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PiperError.of(f"the inputs of {type(model).__name__}.forward need names, not *{parameter.name}")
        found = left.pop(parameter.name, None)
        if found is None:
            found = _annotated(hints.get(parameter.name))
        if found is None:
            if parameter.default is not parameter.empty:
                continue
            raise PiperError.of(
                f"the shape of input '{parameter.name}' of {type(model).__name__}.forward is not known",
                hint=f"write {parameter.name}: piper.i32[16, 64] there, or give inputs={{'{parameter.name}': piper.i32[16, 64]}}",
            )
        types.append((parameter.name, _type_of(parameter.name, found)))
    if left:
        names = ", ".join(signature.parameters) or "none"
        raise PiperError.of(f"forward has no input '{next(iter(left))}'", hint=f"its inputs: {names}")
    return types


def _function(forward: Any) -> Any:
    return getattr(forward, "__func__", forward)


def _annotated(hint: Any) -> TensorType | None:
    if isinstance(hint, TensorType):
        return hint
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint) if isinstance(part, TensorType)), None)
    return None


def _type_of(name: str, given: Any) -> TensorType:
    if isinstance(given, TensorType):
        return given
    array = np.asarray(given)
    kinds = {"i": "i32", "u": "i32"}
    if array.dtype.name == "bfloat16":
        dtype = "bf16"
    elif array.dtype.kind == "f":
        dtype = "f64" if array.dtype == np.float64 else "f32"
    elif array.dtype.kind in kinds:
        dtype = kinds[array.dtype.kind]
    else:
        raise PiperError.of(
            f"input '{name}' is {given!r}, which is no type and no array", hint="give piper.i32[16, 64]"
        )
    return TensorType(tuple(array.shape), dtype)


def _traced(
    model: object, types: list[tuple[str, TensorType]]
) -> tuple[Graph, Tensor, list[str]]:
    graph = Graph()
    tensors = {name: graph.input(name, ty) for name, ty in types}
    with graph.active():
        loss = model.forward(**tensors)  # type: ignore[attr-defined]
    if not isinstance(loss, Tensor) or loss.shape != () or not graph.ops:
        shown = repr(loss) if isinstance(loss, Tensor) else type(loss).__name__
        raise PiperError.of(
            f"{type(model).__name__}.forward gives {shown}, but training needs a scalar loss",
            hint="end with: return piper.nn.cross_entropy(logits, targets)",
        )
    files: dict[str, None] = {}
    for op in graph.ops:
        if op.place is not None:
            files[op.place[0]] = None
    return graph, loss, list(files)


def _check_batch(graph: Graph, strategy: Strategy) -> None:
    microbatches, replicas = strategy.microbatches(), strategy.data_parallel
    for name, ty in graph.inputs:
        if not ty.shape:
            raise PiperError.of(f"input '{name}' is a scalar; its first dimension must be the batch")
        batch = ty.shape[0]
        if batch % (microbatches * replicas):
            possible = [m for m in range(1, batch + 1) if batch % (m * replicas) == 0]
            hint = f"use a batch of a multiple of {microbatches * replicas}"
            if possible:
                hint += f", or microbatches of {', '.join(str(m) for m in possible)}"
            raise PiperError.of(
                f"a batch of {batch} ('{name}') is not divided into {microbatches} microbatches of {replicas} replicas",
                hint=hint,
            )


def _text(
    called: str,
    graph: Graph,
    loss: Tensor,
    names: dict[int, str],
    strategy: Strategy,
    optimizer: AdamW | SGD,
) -> str:
    """The module. Operations are in the generic form, with the lines of Python that they come from."""
    values: dict[int, str] = {}
    arguments = []
    for number, (name, ty) in enumerate(graph.inputs):
        values[number] = f"%{name}"
        arguments.append(f'%{name}: {ty.text} {{role = "data", batch_dim = 0}}')
    body: list[str] = []
    parameters: dict[tuple[int, str], str] = {}
    unnamed: dict[int, str] = {}

    def value_of(operand: int | Parameter, op: TracedOp) -> str:
        if isinstance(operand, int):
            return values[operand]
        key = (id(operand), repr(sorted(op.tags.items())))
        if key not in parameters:
            path = operand.name or names.get(id(operand)) or unnamed.get(id(operand))
            if path is None:
                raise PiperError.of(
                    f"a parameter of type {operand.type} is used that is no attribute of the model",
                    hint="keep it as an attribute, or give it a name: Parameter(..., name='w')",
                )
            parameters[key] = f"%p{len(parameters)}"
            attributes = f'{{name = {_quoted(path)}, init = #nn.init<{operand.init.text}>{_tags(op.tags, ", ")}}}'
            body.append(
                f'{parameters[key]} = "nn.parameter"() {attributes} : () -> {operand.type.text}{_loc(op)}'
            )
        return parameters[key]

    for op in graph.ops:
        operands = [value_of(operand, op) for operand in op.operands]
        for number in op.results:
            values[number] = f"%v{number}"
        attributes = []
        for key, value in op.attributes.items():
            written = _piper.attribute_text(op.name, key, value)
            if written is not None:
                attributes.append(f"{key} = {written}")
        if op.tags:
            attributes.append(_tags(op.tags, "").strip())
        results = ", ".join(values[number] for number in op.results)
        types = ", ".join(ty.text for ty in op.operand_types)
        made = ", ".join(ty.text for ty in op.types)
        body.append(
            f'{results} = "{op.name}"({", ".join(operands)}) {{{", ".join(attributes)}}} : ({types}) -> ({made}){_loc(op)}'
        )
    body.append(f"func.return {values[loss._number]} : {loss.type.text}")
    axes = ", ".join(f'"{axis}" = {size}' for axis, size in strategy.axes())
    symbol = "".join(c if c.isalnum() or c == "_" else "_" for c in called) or "model"
    lines = [
        f"module @{symbol} {{",
        f"  strategy.mesh @cluster <[{axes}]>",
        f"  func.func @loss({', '.join(arguments)}) -> {loss.type.text} {{",
        *(f"    {line}" for line in body),
        "  }",
        "  strategy.plan @train for @loss on @cluster {",
        *(f"    {line}" for line in strategy.lines(optimizer)),
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _tags(tags: Tags, before: str) -> str:
    if not tags:
        return ""
    written = ", ".join(
        f"{key} = {value if isinstance(value, int) else _quoted(value)}" for key, value in tags.items()
    )
    return f"{before}tags = {{{written}}}"


def _loc(op: TracedOp) -> str:
    if op.place is None:
        return ""
    file, line, column = op.place
    return f" loc({_quoted(file)}:{line}:{column})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
