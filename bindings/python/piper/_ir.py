"""From a model to the strategy level: a module with the model's operations, the mesh and the plan."""

from __future__ import annotations

import inspect
import linecache
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from . import _piper
from ._arrays import as_array
from ._errors import PiperError
from ._piper import Compiler, Module
from ._stages import set_expert_tags, set_stages
from ._strategy import SGD, AdamW, Annotation, Directive, Strategy, _Directing, strategy_of
from ._tensor import TensorType
from ._trace import Graph, Place, Tags, Tensor, TracedOp, caller
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
    here = caller()
    if isinstance(model, type):
        model = model()
    if optimizer is not None and not isinstance(optimizer, (AdamW, SGD)):
        raise PiperError.of(
            f"{optimizer!r} is no optimizer", hint="give piper.AdamW(lr=3e-4) or piper.SGD(lr=0.1)"
        )
    if inputs is not None and not isinstance(inputs, Mapping):
        raise PiperError.of(
            f"inputs are types or arrays by name, not {inputs!r}", hint='give {"tokens": piper.i32[16, 64]}'
        )
    strategy = _with(strategy_of(model), directives if directives is not None else ()).checked()
    for text in strategy.warnings():
        warnings.warn(text, stacklevel=2)
    called = str(name or type(model).__name__)
    graph, loss, files = _traced(model, _input_types(model, inputs))
    _check_batch(graph, strategy)
    _, stages, _ = strategy.schedule()
    if strategy.expert_parallel > 1:
        place = strategy.place("expert_parallel", "expertparallel")
        set_expert_tags(graph, strategy.expert_parallel, place)
    set_stages(graph, stages, strategy.place("pipeline_parallel", "dualpipe", "pipeline"))
    names = {id(parameter): path for path, parameter in named_parameters(model)}
    lines = strategy.lines(optimizer or AdamW())
    places = [place or here for _, place in lines]
    text = _text(called, graph, loss, names, strategy.axes(), list(zip((line for line, _ in lines), places)), here)
    files.update(dict.fromkeys(place[0] for place in places if place is not None))
    sources = [(file, "".join(linecache.getlines(file))) for file in files]
    return IR(Module.parse(text, f"<{called}>", sources=sources), strategy)


def _with(strategy: Strategy, further: Iterable[Directive | _Directing | Annotation]) -> Strategy:
    # A string can be walked through, but each of its letters is as little a directive as all of it.
    is_one = isinstance(further, (Directive, _Directing, Annotation, str, bytes))
    for one in [further] if is_one or not isinstance(further, Iterable) else further:
        if isinstance(one, Annotation):
            strategy = one.added_to(strategy)
        elif isinstance(one, (Directive, _Directing)):
            given = one.directive if isinstance(one, _Directing) else one
            strategy = replace(strategy, directives=(*strategy.directives, given))
        else:
            raise PiperError.of(
                f"{one!r} is no directive", hint='give piper.directive("ZeRO") or piper.annotate(data_parallel=2)'
            )
    return strategy


def _input_types(
    model: object, given: Mapping[str, TensorType | Any] | None
) -> list[tuple[str, TensorType]]:
    forward = getattr(model, "forward", None)
    if forward is None:
        raise PiperError.of(
            f"{type(model).__name__} has no forward",
            hint="a model is a class with: def forward(self, tokens, targets): ... return loss",
        )
    try:
        signature = inspect.signature(forward, eval_str=False)
    except (TypeError, ValueError) as error:
        raise PiperError.of(f"{type(model).__name__}.forward is no function with inputs: {error}") from None
    names = getattr(inspect.unwrap(_function(forward)), "__globals__", {})
    types, left = [], dict(given or {})
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PiperError.of(f"the inputs of {type(model).__name__}.forward need names, not *{parameter.name}")
        found, fault = left.pop(parameter.name, None), ""
        if found is None:
            found, fault = _annotated(parameter.annotation, names)
        if found is None:
            if parameter.default is not parameter.empty:
                continue
            raise PiperError.of(
                f"the shape of input '{parameter.name}' of {type(model).__name__}.forward is not known{fault}",
                hint=f"write {parameter.name}: piper.i32[16, 64] there, or give inputs={{'{parameter.name}': piper.i32[16, 64]}}",
            )
        if not parameter.name.isascii():
            raise PiperError.of(
                f"the input '{parameter.name}' of {type(model).__name__}.forward cannot be called that",
                hint="names of inputs stand in the text and in the plan: a to z, digits and '_'",
            )
        types.append((parameter.name, _type_of(parameter.name, found)))
    if left:
        known = ", ".join(signature.parameters) or "none"
        raise PiperError.of(f"forward has no input '{next(iter(left))}'", hint=f"its inputs: {known}")
    return types


def _function(forward: Any) -> Any:
    return getattr(forward, "__func__", forward)


def _annotated(hint: Any, names: dict[str, Any]) -> tuple[TensorType | None, str]:
    """The type that an annotation says, or why it says none, if anything is wrong with it."""
    if isinstance(hint, str):
        text = hint
        try:
            hint = eval(text, names)  # What Python itself does with annotations that are texts.
        except PiperError:
            raise
        except Exception as error:  # Names that only type checkers know, among others.
            return None, f": its annotation '{text}' raises {type(error).__name__}: {error}"
    if isinstance(hint, TensorType):
        return hint, ""
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint) if isinstance(part, TensorType)), None), ""
    return None, ""


def _type_of(name: str, given: Any) -> TensorType:
    if isinstance(given, TensorType):
        return given
    array = as_array(name, given)
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
) -> tuple[Graph, Tensor, dict[str, None]]:
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
    return graph, loss, files


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
                place=strategy.place("microbatches", option="microbatches") or strategy.places.get("data_parallel"),
            )


def _text(
    called: str,
    graph: Graph,
    loss: Tensor,
    names: dict[int, str],
    mesh: list[tuple[str, int]],
    plan: list[tuple[str, Place | None]],
    here: Place | None,
) -> str:
    """The module, with the lines of Python that its operations and directives come from; the rest comes from ``here``."""
    values: dict[int, str] = {}
    arguments = []
    # Inputs keep their names, by which steps take them, so the numbers of everything else keep out of their way.
    gap = ""
    while any(re.fullmatch(rf"[pv]{gap}\d+", name) for name, _ in graph.inputs):
        gap += "_"
    for number, (name, ty) in enumerate(graph.inputs):
        values[number] = f"%{name}"
        arguments.append(f'%{name}: {ty.text} {{role = "data", batch_dim = 0}}')
    body: list[str] = []
    parameters: dict[tuple[int, str], str] = {}

    def value_of(operand: int | Parameter, op: TracedOp) -> str:
        if isinstance(operand, int):
            return values[operand]
        key = (id(operand), repr(sorted(op.tags.items())))
        if key not in parameters:
            path = operand.name or names.get(id(operand))
            if path is None:
                raise PiperError.of(
                    f"a parameter of type {operand.type} is used that is no attribute of the model",
                    hint="keep it as an attribute, or give it a name: Parameter(..., name='w')",
                    place=op.place,
                )
            parameters[key] = f"%p{gap}{len(parameters)}"
            attributes = f'{{name = {_quoted(path)}, init = #nn.init<{operand.init.text}>{_tags(op.tags, ", ")}}}'
            body.append(
                f'{parameters[key]} = "nn.parameter"() {attributes} : () -> {operand.type.text}{_loc(op.place)}'
            )
        return parameters[key]

    for op in graph.ops:
        operands = [value_of(operand, op) for operand in op.operands]
        for number in op.results:
            values[number] = f"%v{gap}{number}"
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
            f'{results} = "{op.name}"({", ".join(operands)}) {{{", ".join(attributes)}}} : ({types}) -> ({made}){_loc(op.place)}'
        )
    body.append(f"func.return {values[loss._number]} : {loss.type.text}{_loc(here)}")
    axes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh)
    symbol = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in called) or "model"
    symbol = f"_{symbol}" if symbol[0].isdigit() else symbol
    lines = [
        f"module @{symbol} {{",
        f"  strategy.mesh @cluster <[{axes}]>{_loc(here)}",
        f"  func.func @loss({', '.join(arguments)}) -> {loss.type.text} {{",
        *(f"    {line}" for line in body),
        f"  }}{_loc(here)}",
        "  strategy.plan @train for @loss on @cluster {",
        *(f"    {line}{_loc(place)}" for line, place in plan),
        f"  }}{_loc(here)}",
        f"}}{_loc(here)}",
    ]
    return "\n".join(lines) + "\n"


def _tags(tags: Tags, before: str) -> str:
    if not tags:
        return ""
    written = ", ".join(
        f"{key} = {value if isinstance(value, int) else _quoted(value)}" for key, value in tags.items()
    )
    return f"{before}tags = {{{written}}}"


def _loc(place: Place | None) -> str:
    if place is None:
        return ""
    file, line, column = place
    return f" loc({_quoted(file)}:{line}:{column})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(f"\\{ord(c):02X}" if c < " " or c == "\x7f" else c for c in escaped)
    return f'"{escaped}"'
