"""Strategies as decorators say them, and the directives of the strategy level that they stand for.

Every name, option and number is checked here or by the compiler; what is impossible is an error that says what is possible.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

from . import _piper
from ._errors import PiperError
from ._numbers import whole
from ._trace import Place, Tags, _GRAPH, caller, current_graph, number_text

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
    #: The line of Python that gave it, at which errors point.
    place: Place | None = field(default=None, repr=False, compare=False)

    def taken(self, *known: str) -> dict[str, Any]:
        """The options, all of which must be known."""
        for option in self.options:
            if option not in known:
                raise self.wrong(
                    f"directive {self.name!r} has no option {option!r}", hint=_close(option, known)
                )
        return self.options

    def wrong(self, message: str, *, hint: str | None = None) -> PiperError:
        """An error at its line."""
        return PiperError.of(message, hint=hint, place=self.place)


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
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise PiperError.of(f"betas of AdamW are two numbers, not {self.betas!r}")
        first, second = (number_text(beta, "each of betas of AdamW") for beta in self.betas)
        parts = [f"lr = {number_text(self.lr, 'lr of AdamW')}", f"betas = [{first}, {second}]"]
        parts.append(f"eps = {number_text(self.eps, 'eps of AdamW')}")
        decay = number_text(self.weight_decay, "weight_decay of AdamW")
        if self.weight_decay:
            parts.append(f"weight_decay = {decay}")
        if self.clip is not None:
            parts.append(f"clip = {number_text(self.clip, 'clip of AdamW')}")
        return f"adamw <{', '.join(parts)}>"


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent."""

    lr: float = 0.1
    momentum: float | None = None

    def text(self) -> str:
        """As modules write it."""
        momentum = ""
        if self.momentum is not None:
            momentum = f", momentum = {number_text(self.momentum, 'momentum of SGD')}"
        return f"sgd <lr = {number_text(self.lr, 'lr of SGD')}{momentum}>"


_NUMBERS = ("data_parallel", "pipeline_parallel", "expert_parallel", "zero_stage", "microbatches")


@dataclass(frozen=True)
class Strategy:
    """How a model is spread over devices: numbers of ``@piper.annotate`` and directives."""

    numbers: dict[str, int] = field(default_factory=dict)
    directives: tuple[Directive, ...] = ()
    #: The lines of Python that gave the numbers, by their names.
    places: dict[str, Place] = field(default_factory=dict, repr=False, compare=False)

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
                place=self.places.get("expert_parallel"),
            )
        self.schedule()
        self.zero_stage()
        self.microbatches()
        for found in self.directives:
            if _kind(found) == "expertparallel":
                _expert_options(found)
        if (given := self._named("expertparallel")) and experts == 1:
            raise given.wrong(
                "directive 'ExpertParallel' without expert_parallel",
                hint="say over how many devices experts are divided: @piper.annotate(expert_parallel=2)",
            )
        # What is wrong with these is said when they are asked for.
        _ = self.overlaps, self.recomputes
        return self

    def warnings(self) -> list[str]:
        """What it does not do of what one may expect of it."""
        stage, experts, data = self.zero_stage(), self.expert_parallel, self.data_parallel
        said = []
        if stage and 1 < experts < data:
            said.append(
                f"ZeRO stage {stage} divides state over the {experts} devices of expert_parallel alone, not over all {data} "
                f"of data_parallel: state is divided over one axis, and the {data // experts} groups of experts keep copies"
            )
        if self.overlaps and experts == 1:
            said.append(
                "communication_overlap does nothing without expert_parallel: "
                "it is exchanges of tokens with experts that hide behind computation"
            )
        return said

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
            raise found[1].wrong(f"directives {names} are for the same thing", hint="leave one of them out")
        return found[0] if found else None

    def schedule(self) -> tuple[str, int, dict[str, Any]]:
        """The schedule's name, how many stages it wants, and its options. Without a directive a pipeline runs 1F1B."""
        ranks = self.pipeline_parallel
        given = self._named("dualpipe", "pipeline")
        if given is None:
            return ("1f1b" if ranks > 1 else "", ranks, {})
        if ranks == 1:
            raise given.wrong(
                f"directive {given.name!r} without pipeline_parallel",
                hint="say how many ranks the pipeline has: @piper.annotate(pipeline_parallel=4)",
            )
        if _kind(given) == "dualpipe":
            return _dualpipe(given, ranks)
        return _pipeline(given, ranks)

    def microbatches(self) -> int:
        """The microbatches that a replica runs: what is said, or twice as many as ranks."""
        given = self.numbers.get("microbatches")
        for found in self.directives:
            if "microbatches" in found.options:
                said = _whole(found.options["microbatches"], "microbatches", found.place)
                if given not in (None, said):
                    raise found.wrong(f"microbatches are said to be {given} and {said}")
                given = said
        if given is not None:
            return given
        return 2 * self.pipeline_parallel if self.pipeline_parallel > 1 else 1

    def zero_stage(self) -> int:
        """The stage of ZeRO."""
        given = self._named(*_ZERO)
        said = self.numbers.get("zero_stage")
        if given is None:
            stage = said or 0
        else:
            stage = _zero(given, said)
        if stage > 0 and self.data_parallel == 1:
            raise PiperError.of(
                f"ZeRO stage {stage} needs replicas to divide state over",
                hint="say how many: @piper.annotate(data_parallel=2)",
                place=given.place if given is not None else self.places.get("zero_stage"),
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
                raise found.wrong(
                    f"memory_optimization={wanted!r} is not known",
                    hint="it is 'activation_checkpointing', also called 'recompute'",
                )
            return True
        return False

    @property
    def overlaps(self) -> bool:
        """Whether exchanges of tokens hide behind computation."""
        wanted = False
        for found in self.directives:
            value = found.options.get("communication_overlap", False)
            if not isinstance(value, bool):
                raise found.wrong(f"communication_overlap is True or False, not {value!r}")
            wanted = wanted or value
        return wanted

    def place(self, number: str, *kinds: str, option: str | None = None) -> Place | None:
        """The line of Python of a directive of these kinds or with this option, or else of a number."""
        for found in self.directives:
            if _kind(found) in kinds or option in found.options:
                return found.place
        return self.places.get(number)

    def lines(self, optimizer: AdamW | SGD) -> list[tuple[str, Place | None]]:
        """The directives of the strategy level, in order, each with the line of Python that it stands for."""
        schedule, _, options = self.schedule()
        microbatches, lines = self.microbatches(), []
        pipelined = self.place("pipeline_parallel", "dualpipe", "pipeline")
        if schedule == "dualpipe":
            variant = ' variant = "v"' if options.get("variant") == "v" else ""
            text = f'strategy.dualpipe over "pp" stages = "PP" microbatches = {microbatches}{variant}'
            lines.append((text, pipelined))
        elif schedule:
            group = f" group = {options['group']}" if "group" in options else ""
            text = f'strategy.pipeline over "pp" stages = "PP" schedule = "{schedule}" microbatches = {microbatches}{group}'
            lines.append((text, pipelined))
        elif microbatches > 1:
            split = self.place("microbatches", option="microbatches")
            lines.append((f'strategy.split "MB" into {microbatches}', split))
        if self.recomputes:
            lines.append(("strategy.recompute {}", self.place("", option="memory_optimization")))
        zero, axes = self.zero_stage(), dict(self.axes())
        divided = self.place("zero_stage", *_ZERO)
        if "ep" in axes:
            experts = self.place("expert_parallel", "expertparallel")
            text = 'strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}'
            lines.append((text, experts))
            lines.append((_replicas("ep", zero), divided if zero else experts))
        if axes.get("dp", 1) > 1:
            # State is divided over one axis; experts' replicas keep whole what they share. See `warnings`.
            here = 0 if "ep" in axes else zero
            lines.append((_replicas("dp", here), divided if here else self.places.get("data_parallel")))
        if self.overlaps and "ep" in axes:
            lines.append(('strategy.overlap over "ep"', self.place("", option="communication_overlap")))
        lines.append((f"strategy.optimizer {optimizer.text()}", None))
        return lines


_ZERO = ("zero", "zero1", "zero2", "zero3")


def _replicas(axis: str, zero: int) -> str:
    return f'strategy.zero over "{axis}" stage = {zero}' if zero else f'strategy.replicate over "{axis}"'


def _kind(given: Directive) -> str:
    return "".join(c for c in given.name.lower() if c.isalnum())


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def _whole(value: object, what: str, place: Place | None = None) -> int:
    number = whole(value)
    if number is None or number < 1:
        raise PiperError.of(f"{what} is a number from 1, not {value!r}", place=place)
    if number >= 2**31:
        raise PiperError.of(f"{what} is less than 2**31, not {value}", place=place)
    return number


_COMMON = ("microbatches", "communication_overlap", "memory_optimization")


def _dualpipe(given: Directive, ranks: int) -> tuple[str, int, dict[str, Any]]:
    options = given.taken("schedule", "variant", "interleaved_schedule", *_COMMON)
    schedule = options.get("schedule", "interleaved_forward_backward")
    if schedule != "interleaved_forward_backward":
        raise given.wrong(
            f"directive 'DualPipe' has no schedule {schedule!r}",
            hint="it has 'interleaved_forward_backward'; other schedules belong to directive 'Pipeline'",
        )
    if options.get("interleaved_schedule", True) is not True:
        raise given.wrong("directive 'DualPipe' always interleaves forward and backward")
    variant = options.get("variant", "bidirectional")
    if variant not in ("bidirectional", "v"):
        raise given.wrong(
            f"directive 'DualPipe' has no variant {variant!r}", hint="it has 'bidirectional' and 'v'"
        )
    if variant == "bidirectional" and ranks % 2:
        raise given.wrong(
            f"DualPipe needs an even number of ranks, not pipeline_parallel={ranks}",
            hint=f"use pipeline_parallel={ranks - 1 or 2} or {ranks + 1}, or variant='v'",
        )
    return "dualpipe", ranks * (2 if variant == "v" else 1), {"variant": variant}


def _pipeline(given: Directive, ranks: int) -> tuple[str, int, dict[str, Any]]:
    options = dict(given.taken("schedule", "stages_per_rank", "group", *_COMMON))
    wanted = str(options.get("schedule", "1F1B"))
    bare = "".join(c for c in wanted.lower() if c.isalnum())
    known = {"".join(c for c in name if c.isalnum()): (name, placed) for name, _, placed in _piper.schedules()}
    if bare not in known or known[bare][1] == "bidirectional":
        names = [name for name, placed in known.values() if placed != "bidirectional"]
        raise given.wrong(f"directive 'Pipeline' has no schedule {wanted!r}", hint=_close(wanted, names))
    name, placed = known[bare]
    several = placed == "vee" or "interleaved" in name or name == "looped_bfs"
    per_rank = options.get("stages_per_rank", 2 if several else 1)
    per_rank = _whole(per_rank, "stages_per_rank", given.place)
    if "group" in options:
        options["group"] = _whole(options["group"], "group", given.place)
    return name, ranks * per_rank, options


def _zero(given: Directive, said: int | None) -> int:
    options = given.taken("stage", "partition", *_COMMON)
    kind = _kind(given)
    wanted: list[tuple[str, object]] = []
    if kind != "zero":
        wanted.append((f"directive {given.name!r}", int(kind[-1])))
    if "stage" in options:
        wanted.append((f"stage={options['stage']!r}", options["stage"]))
    if "partition" in options:
        parts = [part.strip() for part in str(options["partition"]).split("+")]
        order = ["optimizer_states", "gradients", "parameters"]
        if parts != order[: len(parts)]:
            raise given.wrong(
                f"ZeRO cannot divide {options['partition']!r}",
                hint="possible are 'optimizer_states', 'optimizer_states+gradients' and "
                "'optimizer_states+gradients+parameters'",
            )
        wanted.append((f"partition={options['partition']!r}", len(parts)))
    if said is not None:
        wanted.append((f"zero_stage={said}", said))
    stages: list[int] = []
    for what, value in wanted:
        stage = whole(value)
        if stage is None or stage not in (0, 1, 2, 3):
            raise given.wrong(f"{what}: a stage of ZeRO is 0, 1, 2 or 3")
        stages.append(stage)
        if stage != stages[0]:
            raise given.wrong(
                f"{wanted[0][0]} and {what} say different stages of ZeRO", hint="leave one of them out"
            )
    return stages[0] if stages else 1


def _expert_options(given: Directive) -> None:
    options = given.taken("all_to_all", "load_balancing", *_COMMON)
    exchanged = options.get("all_to_all", "router+output")
    if exchanged != "router+output":
        raise given.wrong(
            f"all_to_all={exchanged!r} is not possible",
            hint="tokens go to their experts and back: 'router+output'",
        )
    if options.get("load_balancing", "static") != "static":
        raise given.wrong(
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
    if not isinstance(name, str):
        raise PiperError.of(f"a directive is called by its name, not by {name!r}", hint=_close("", _KINDS))
    given = Directive(name, dict(options), caller())
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
        self._place = caller()

    def __call__(self, model: _C) -> _C:
        known = strategy_of(model)
        for name, value in self.numbers().items():
            if known.numbers.get(name, value) != value:
                raise PiperError.of(
                    f"{name} is said to be {known.numbers[name]} and {value}", place=self._place
                )
        return _set(model, self.added_to(known))

    def added_to(self, strategy: Strategy) -> Strategy:
        """A strategy with these numbers instead of its own."""
        numbers, places = dict(strategy.numbers), dict(strategy.places)
        for name, value in self.numbers().items():
            numbers[name] = value
            if self._place is not None:
                places[name] = self._place
        return replace(strategy, numbers=numbers, places=places)

    def numbers(self) -> dict[str, int]:
        """The numbers of a strategy that it says."""
        if self._tag is not None:
            raise PiperError.of(
                f"piper.annotate({self._tag!r}) tags what is computed in it",
                hint=f"write: with piper.annotate({self._tag!r}): ...",
                place=self._place,
            )
        numbers = {}
        for name, value in self.values.items():
            if name not in _NUMBERS:
                raise PiperError.of(
                    f"piper.annotate has nothing called {name!r}",
                    hint=_close(name, _NUMBERS),
                    place=self._place,
                )
            if name == "zero_stage":
                stage = whole(value)
                if stage is None or stage not in (0, 1, 2, 3):
                    raise PiperError.of(f"zero_stage is 0, 1, 2 or 3, not {value!r}", place=self._place)
                numbers[name] = stage
            else:
                numbers[name] = _whole(value, name, self._place)
        return numbers

    def __enter__(self) -> None:
        graph = current_graph("piper.annotate is entered")
        tags: Tags = {}
        if self._tag is not None:
            tags[self._tag] = graph.counters.get(self._tag, 0)
            graph.counters[self._tag] = graph.counters.get(self._tag, 0) + 1
        for name, value in self.values.items():
            tag = value if isinstance(value, str) else whole(value)
            if tag is None or (isinstance(tag, int) and abs(tag) >= 2**63):
                raise PiperError.of(f"a tag is a number or a string, not {name}={value!r}", place=self._place)
            tags[name] = tag
        for name in tags:
            if name in ("MB", "PASS"):
                raise PiperError.of(f"the compiler itself gives the tag {name!r}", place=self._place)
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
