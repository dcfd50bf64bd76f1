"""Strategies as decorators say them, and the directives of the strategy level that they stand for.

Every name, option and number is checked here or by the compiler; what is impossible is an error that says what is possible.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

from . import _piper
from ._errors import PiperError
from ._trace import Tags, _GRAPH, current_graph

__all__ = ["AdamW", "Annotation", "Directive", "SGD", "Strategy", "annotate", "directive", "strategy_of"]

_ATTRIBUTE = "__piper_strategy__"
_C = TypeVar("_C")


def _close(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word.lower(), [k.lower() for k in known], 1, 0.6)
    found = next((k for k in known if close and k.lower() == close[0]), None)
    listed = ", ".join(known)
    return f"did you mean {found!r}? There are {listed}" if found else f"there are {listed}"


@dataclass(frozen=True)
class Directive:
    """A directive by name, with its options, as ``@piper.directive`` takes them."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def taken(self, *known: str) -> dict[str, Any]:
        """The options, all of which must be known."""
        for option in self.options:
            if option not in known:
                raise PiperError.of(
                    f"directive {self.name!r} has no option {option!r}", hint=_close(option, known)
                )
        return self.options


@dataclass(frozen=True)
class AdamW:
    """AdamW with decoupled weight decay; ``clip`` bounds the global gradient norm."""

    lr: float = 3e-4
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip: float | None = None

    def text(self) -> str:
        """As modules write it."""
        betas = f"[{_float(self.betas[0])}, {_float(self.betas[1])}]"
        parts = [f"lr = {_float(self.lr)}", f"betas = {betas}", f"eps = {_float(self.eps)}"]
        if self.weight_decay:
            parts.append(f"weight_decay = {_float(self.weight_decay)}")
        if self.clip is not None:
            parts.append(f"clip = {_float(self.clip)}")
        return f"adamw <{', '.join(parts)}>"


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent."""

    lr: float = 0.1
    momentum: float | None = None

    def text(self) -> str:
        """As modules write it."""
        momentum = "" if self.momentum is None else f", momentum = {_float(self.momentum)}"
        return f"sgd <lr = {_float(self.lr)}{momentum}>"


def _float(value: float) -> str:
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


_NUMBERS = ("data_parallel", "pipeline_parallel", "expert_parallel", "zero_stage", "microbatches")


@dataclass(frozen=True)
class Strategy:
    """How a model is spread over devices: numbers of ``@piper.annotate`` and directives."""

    numbers: dict[str, int] = field(default_factory=dict)
    directives: tuple[Directive, ...] = ()

    # --- numbers

    @property
    def pipeline_parallel(self) -> int:
        """Ranks of the pipeline."""
        return self.numbers.get("pipeline_parallel", 1)

    @property
    def expert_parallel(self) -> int:
        """Over how many devices experts are divided: neighbours among the replicas."""
        return self.numbers.get("expert_parallel", 1)

    @property
    def data_parallel(self) -> int:
        """Into how many parts the batch is divided."""
        return self.numbers.get("data_parallel", self.expert_parallel)

    @property
    def num_devices(self) -> int:
        """The devices that the strategy is for."""
        return self.pipeline_parallel * self.data_parallel

    def checked(self) -> Strategy:
        """Itself, after all that can be checked without a model.

        Raises PiperError for whatever is impossible.
        """
        experts, data = self.expert_parallel, self.data_parallel
        if data % experts:
            possible = [n for n in range(1, data + 1) if data % n == 0]
            raise PiperError.of(
                f"expert_parallel={experts} does not divide data_parallel={data}: experts are divided over replicas",
                hint=f"possible are expert_parallel of {_listed(possible)}, or data_parallel of a multiple of {experts}",
            )
        self.schedule()
        self.zero_stage()
        self.microbatches()
        for found in self.directives:
            if _kind(found) == "expertparallel":
                _expert_options(found)
        if self._named("expertparallel") and experts == 1:
            raise PiperError.of(
                "directive 'ExpertParallel' without expert_parallel",
                hint="say over how many devices experts are divided: @piper.annotate(expert_parallel=2)",
            )
        return self

    def axes(self) -> list[tuple[str, int]]:
        """The mesh: axes with their sizes, major to minor."""
        axes = [
            ("pp", self.pipeline_parallel),
            ("dp", self.data_parallel // self.expert_parallel),
            ("ep", self.expert_parallel),
        ]
        return [axis for axis in axes if axis[1] > 1] or [("dp", 1)]

    # --- directives

    def _named(self, *kinds: str) -> Directive | None:
        found = [d for d in self.directives if _kind(d) in kinds]
        if len(found) > 1:
            names = " and ".join(repr(d.name) for d in found)
            raise PiperError.of(f"directives {names} are for the same thing", hint="leave one of them out")
        return found[0] if found else None

    def schedule(self) -> tuple[str, int, dict[str, Any]]:
        """The schedule's name, how many stages it wants, and its options. Without a directive a pipeline runs 1F1B."""
        ranks = self.pipeline_parallel
        given = self._named("dualpipe", "pipeline")
        if given is None:
            return ("1f1b" if ranks > 1 else "", ranks, {})
        if ranks == 1:
            raise PiperError.of(
                f"directive {given.name!r} without pipeline_parallel",
                hint="say how many ranks the pipeline has: @piper.annotate(pipeline_parallel=4)",
            )
        if _kind(given) == "dualpipe":
            return _dualpipe(given, ranks)
        return _pipeline(given, ranks)

    def microbatches(self) -> int:
        """The microbatches that a replica runs: what is said, or twice as many as ranks."""
        given = [self.numbers[key] for key in ("microbatches",) if key in self.numbers]
        for found in self.directives:
            if "microbatches" in found.options:
                given.append(_whole(found.options["microbatches"], "microbatches"))
        if len(set(given)) > 1:
            raise PiperError.of(f"microbatches are said to be {given[0]} and {given[1]}")
        if given:
            return given[0]
        return 2 * self.pipeline_parallel if self.pipeline_parallel > 1 else 1

    def zero_stage(self) -> int:
        """The stage of ZeRO."""
        given = self._named("zero", "zero1", "zero2", "zero3")
        said = self.numbers.get("zero_stage")
        if given is None:
            stage = said or 0
        else:
            stage = _zero(given, said)
        if stage > 0 and self.data_parallel == 1:
            raise PiperError.of(
                f"ZeRO stage {stage} needs replicas to divide state over",
                hint="say how many: @piper.annotate(data_parallel=2)",
            )
        return stage

    @property
    def recomputes(self) -> bool:
        """Whether the backward computes activations again."""
        for found in self.directives:
            wanted = found.options.get("memory_optimization")
            if wanted is None:
                continue
            if wanted not in ("activation_checkpointing", "recompute"):
                raise PiperError.of(
                    f"memory_optimization={wanted!r} is not known",
                    hint="it is 'activation_checkpointing', also called 'recompute'",
                )
            return True
        return False

    @property
    def overlaps(self) -> bool:
        """Whether exchanges of tokens hide behind computation."""
        return any(found.options.get("communication_overlap") for found in self.directives)

    def lines(self, optimizer: AdamW | SGD) -> list[str]:
        """The directives of the strategy level, in order."""
        schedule, stages, options = self.schedule()
        microbatches, lines = self.microbatches(), []
        if schedule == "dualpipe":
            variant = ' variant = "v"' if options.get("variant") == "v" else ""
            lines.append(
                f'strategy.dualpipe over "pp" stages = "PP" microbatches = {microbatches}{variant}'
            )
        elif schedule:
            group = f" group = {options['group']}" if "group" in options else ""
            lines.append(
                f'strategy.pipeline over "pp" stages = "PP" schedule = "{schedule}" microbatches = {microbatches}{group}'
            )
        elif microbatches > 1:
            lines.append(f'strategy.split "MB" into {microbatches}')
        del stages
        if self.recomputes:
            lines.append("strategy.recompute {}")
        zero, axes = self.zero_stage(), dict(self.axes())
        if "ep" in axes:
            lines.append('strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}')
            lines.append(_replicas("ep", zero))
        if axes.get("dp", 1) > 1:
            # State is divided over one axis; experts' replicas keep whole what they share.
            lines.append(_replicas("dp", 0 if "ep" in axes else zero))
        if self.overlaps and "ep" in axes:
            lines.append('strategy.overlap over "ep"')
        lines.append(f"strategy.optimizer {optimizer.text()}")
        return lines


def _replicas(axis: str, zero: int) -> str:
    return f'strategy.zero over "{axis}" stage = {zero}' if zero else f'strategy.replicate over "{axis}"'


def _kind(given: Directive) -> str:
    return "".join(c for c in given.name.lower() if c.isalnum())


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PiperError.of(f"{what} is a number from 1, not {value!r}")
    return value


_COMMON = ("microbatches", "communication_overlap", "memory_optimization")


def _dualpipe(given: Directive, ranks: int) -> tuple[str, int, dict[str, Any]]:
    options = given.taken("schedule", "variant", "interleaved_schedule", *_COMMON)
    schedule = options.get("schedule", "interleaved_forward_backward")
    if schedule != "interleaved_forward_backward":
        raise PiperError.of(
            f"directive 'DualPipe' has no schedule {schedule!r}",
            hint="it has 'interleaved_forward_backward'; other schedules belong to directive 'Pipeline'",
        )
    if options.get("interleaved_schedule", True) is not True:
        raise PiperError.of("directive 'DualPipe' always interleaves forward and backward")
    variant = options.get("variant", "bidirectional")
    if variant not in ("bidirectional", "v"):
        raise PiperError.of(
            f"directive 'DualPipe' has no variant {variant!r}", hint="it has 'bidirectional' and 'v'"
        )
    if variant == "bidirectional" and ranks % 2:
        raise PiperError.of(
            f"DualPipe needs an even number of ranks, not pipeline_parallel={ranks}",
            hint=f"use pipeline_parallel={ranks - 1 or 2} or {ranks + 1}, or variant='v'",
        )
    return "dualpipe", ranks * (2 if variant == "v" else 1), {"variant": variant}


def _pipeline(given: Directive, ranks: int) -> tuple[str, int, dict[str, Any]]:
    options = given.taken("schedule", "stages_per_rank", "group", *_COMMON)
    wanted = str(options.get("schedule", "1F1B"))
    bare = "".join(c for c in wanted.lower() if c.isalnum())
    known = {"".join(c for c in name if c.isalnum()): (name, placed) for name, _, placed in _piper.schedules()}
    if bare not in known or known[bare][1] == "bidirectional":
        names = [name for name, placed in known.values() if placed != "bidirectional"]
        raise PiperError.of(f"directive 'Pipeline' has no schedule {wanted!r}", hint=_close(wanted, names))
    name, placed = known[bare]
    several = placed == "vee" or "interleaved" in name or name == "looped_bfs"
    per_rank = _whole(options.get("stages_per_rank", 2 if several else 1), "stages_per_rank")
    return name, ranks * per_rank, dict(options)


def _zero(given: Directive, said: int | None) -> int:
    options = given.taken("stage", "partition", *_COMMON)
    kind = _kind(given)
    wanted: list[tuple[str, int]] = []
    if kind != "zero":
        wanted.append((f"directive {given.name!r}", int(kind[-1])))
    if "stage" in options:
        wanted.append((f"stage={options['stage']!r}", options["stage"]))
    if "partition" in options:
        parts = [part.strip() for part in str(options["partition"]).split("+")]
        order = ["optimizer_states", "gradients", "parameters"]
        if parts != order[: len(parts)]:
            raise PiperError.of(
                f"ZeRO cannot divide {options['partition']!r}",
                hint="possible are 'optimizer_states', 'optimizer_states+gradients' and "
                "'optimizer_states+gradients+parameters'",
            )
        wanted.append((f"partition={options['partition']!r}", len(parts)))
    if said is not None:
        wanted.append((f"zero_stage={said}", said))
    for what, stage in wanted:
        if stage not in (0, 1, 2, 3):
            raise PiperError.of(f"{what}: a stage of ZeRO is 0, 1, 2 or 3")
        if stage != wanted[0][1]:
            raise PiperError.of(
                f"{wanted[0][0]} and {what} say different stages of ZeRO", hint="leave one of them out"
            )
    return wanted[0][1] if wanted else 1


def _expert_options(given: Directive) -> None:
    options = given.taken("all_to_all", "load_balancing", *_COMMON)
    exchanged = options.get("all_to_all", "router+output")
    if exchanged != "router+output":
        raise PiperError.of(
            f"all_to_all={exchanged!r} is not possible",
            hint="tokens go to their experts and back: 'router+output'",
        )
    if options.get("load_balancing", "static") != "static":
        raise PiperError.of(
            f"load_balancing={options['load_balancing']!r} is not possible",
            hint="tokens go to experts by their place in the sequence, so that loads are equal: 'static'",
        )


_KINDS = ("DualPipe", "Pipeline", "ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3", "ExpertParallel")


def directive(name: str, **options: Any) -> _Directing:
    """Adds a directive to a model class::

        @piper.directive("DualPipe", schedule="interleaved_forward_backward")
        class Model(piper.nn.Module): ...

    There are ``"DualPipe"``, ``"Pipeline"`` (``schedule="GPipe"``, ``"1F1B"`` and so on), ``"ZeRO"`` and ``"ExpertParallel"``.
    """
    given = Directive(name, dict(options))
    if _kind(given) not in {_kind(Directive(known)) for known in _KINDS}:
        raise PiperError.of(f"no directive is called {name!r}", hint=_close(name, _KINDS))
    return _Directing(given)


@dataclass(frozen=True)
class _Directing:
    """A directive, to be added to a class or given to :func:`piper.generate_ir`."""

    directive: Directive

    def __call__(self, model: _C) -> _C:
        known = strategy_of(model)
        return _set(model, replace(known, directives=(self.directive, *known.directives)))


class Annotation:
    """What :func:`annotate` gives: a decorator, or a context that tags what is traced in it."""

    def __init__(self, tag: str | None, values: dict[str, Any]) -> None:
        self._tag = tag
        self.values = values

    def __call__(self, model: _C) -> _C:
        if self._tag is not None:
            raise PiperError.of(
                f"piper.annotate({self._tag!r}) tags what is computed in it",
                hint=f"write: with piper.annotate({self._tag!r}): ...",
            )
        known = strategy_of(model)
        numbers = dict(known.numbers)
        for name, value in self.numbers().items():
            if numbers.get(name, value) != value:
                raise PiperError.of(f"{name} is said to be {numbers[name]} and {value}")
            numbers[name] = value
        return _set(model, replace(known, numbers=numbers))

    def numbers(self) -> dict[str, int]:
        """The numbers of a strategy that it says."""
        numbers = {}
        for name, value in self.values.items():
            if name not in _NUMBERS:
                raise PiperError.of(
                    f"piper.annotate has nothing called {name!r}", hint=_close(name, _NUMBERS)
                )
            if name == "zero_stage":
                if isinstance(value, bool) or value not in (0, 1, 2, 3):
                    raise PiperError.of(f"zero_stage is 0, 1, 2 or 3, not {value!r}")
                numbers[name] = value
            else:
                numbers[name] = _whole(value, name)
        return numbers

    def __enter__(self) -> None:
        graph = current_graph("piper.annotate is entered")
        tags: Tags = {}
        if self._tag is not None:
            tags[self._tag] = graph.counters.get(self._tag, 0)
            graph.counters[self._tag] = graph.counters.get(self._tag, 0) + 1
        for name, value in self.values.items():
            if isinstance(value, bool) or not isinstance(value, (int, str)):
                raise PiperError.of(f"a tag is a number or a string, not {name}={value!r}")
            tags[name] = value
        for name in tags:
            if name in ("MB", "PASS"):
                raise PiperError.of(f"the compiler itself gives the tag {name!r}")
        graph.tags.append(tags)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        graph = _GRAPH.get()
        if graph is not None:
            graph.tags.pop()


def annotate(tag: str | None = None, /, **values: Any) -> Annotation:
    """On a class, says how the model is spread over devices::

        @piper.annotate(data_parallel=4, pipeline_parallel=8, expert_parallel=2, zero_stage=3)
        class Model(piper.nn.Module): ...

    In a model's ``forward``, tags what is computed: ``with piper.annotate(PP=0):``, or with the next number of the tag,
    ``with piper.annotate("PP"):``. Tag ``PP`` is the stage of the pipeline; without it stages are cut where calls of modules end.
    """
    return Annotation(tag, values)


def strategy_of(model: object) -> Strategy:
    """The strategy that a model's class was decorated with."""
    found = getattr(model, _ATTRIBUTE, None)
    return found if isinstance(found, Strategy) else Strategy()


def _set(model: _C, strategy: Strategy) -> _C:
    setattr(model, _ATTRIBUTE, strategy)
    return model


Decorator = Callable[[type], type]
