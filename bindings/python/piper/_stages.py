"""Where a model is cut into the stages of a pipeline, and which of its operations belong to experts."""

from __future__ import annotations

from itertools import groupby

from ._errors import PiperError
from ._trace import Graph, Place, TracedOp

__all__ = ["set_expert_tags", "set_stages"]


def set_stages(graph: Graph, stages: int, place: Place | None) -> None:
    """Gives every operation its stage as tag ``PP``: as the model says, or so that stages take about as long as each other.

    ``place`` is the line of Python that asks for the stages.

    A stage ends where a call of a module ends. Calls are looked into only where there are fewer of them than stages.
    """
    if any("PP" in op.tags for op in graph.ops):
        _check_given(graph, stages, place)
        return
    if stages == 1:
        for op in graph.ops:
            op.tags["PP"] = 0
        return
    units: list[list[TracedOp]] = []
    for depth in range(1, max((len(op.path) for op in graph.ops), default=0) + 2):
        units = _units(graph.ops, depth)
        if len(units) >= stages:
            break
    if len(units) < stages:
        raise PiperError.of(
            f"the model has {len(units)} operations, which do not make {stages} stages",
            hint=f"use at most {len(units)} stages",
            place=place,
        )
    for stage, ops in enumerate(_balanced(units, stages)):
        for op in ops:
            op.tags["PP"] = stage


def _check_given(graph: Graph, stages: int, place: Place | None) -> None:
    stage: int | str = 0
    for op in graph.ops:
        # What stands between annotations belongs to the stage before it.
        stage = op.tags.setdefault("PP", stage)
    found = {op.tags["PP"] for op in graph.ops}
    if found != set(range(stages)):
        listed = ", ".join(str(tag) for tag in sorted(found, key=str))
        raise PiperError.of(
            f"the model has the stages {listed}, but the strategy wants the {stages} stages 0 to {stages - 1}",
            hint="tag them with piper.annotate(PP=...), or leave these tags out: the model is then cut by itself",
            place=place,
        )


def _units(ops: list[TracedOp], depth: int) -> list[list[TracedOp]]:
    """What is not cut: calls of modules down to a depth, and operations outside of them."""
    numbers = iter(range(len(ops)))

    def key(op: TracedOp) -> tuple[int, ...]:
        return op.path[:depth] if len(op.path) >= depth else (*op.path, -1, next(numbers))

    return [list(unit) for _, unit in groupby(ops, key)]


def _balanced(units: list[list[TracedOp]], stages: int) -> list[list[TracedOp]]:
    """Consecutive units in ``stages`` parts, the longest as short as it can be."""
    costs = [sum(_flops(op) for op in unit) for unit in units]
    low, high = max(costs), sum(costs)
    while low < high:
        middle = (low + high) // 2
        if _parts(costs, middle) <= stages:
            high = middle
        else:
            low = middle + 1
    parts: list[list[TracedOp]] = [[]]
    filled = 0
    for index, (unit, cost) in enumerate(zip(units, costs, strict=True)):
        left = stages - len(parts)
        if parts[-1] and left and (filled + cost > low or len(units) - index <= left):
            parts.append([])
            filled = 0
        parts[-1].extend(unit)
        filled += cost
    return parts


def _parts(costs: list[int], most: int) -> int:
    parts, filled = 1, 0
    for cost in costs:
        if filled + cost > most:
            parts, filled = parts + 1, 0
        filled += cost
    return parts


def _flops(op: TracedOp) -> int:
    """About how much an operation computes, for the balance of stages alone."""
    out = sum(ty.elements for ty in op.types)
    if op.name == "nn.linear":
        weight = op.operand_types[1].shape
        return 2 * out * (weight[1] if op.attributes.get("transpose_w") else weight[0])
    if op.name == "nn.expert_linear":
        return 2 * out * op.operand_types[1].shape[1]
    if op.name == "nn.attention":
        return 2 * op.operand_types[0].elements * op.operand_types[0].shape[1]
    if op.name == "nn.cross_entropy":
        return 10 * op.operand_types[0].elements
    return 5 * out


def set_expert_tags(graph: Graph, experts: int, place: Place | None) -> None:
    """Tags what is computed between ``nn.dispatch`` and ``nn.combine`` with ``PART = "experts"``, and the rest ``"dense"``.

    ``place`` is the line of Python that divides experts.

    Regions are numbered (``REGION``), as those of one tag would be one segment of the graph.
    """
    sorted_by_expert: set[int] = set()
    region, before = -1, ""
    for op in graph.ops:
        inside = any(value in sorted_by_expert for value in op.operands if isinstance(value, int))
        is_expert = inside and op.name != "nn.combine"
        if is_expert or op.name == "nn.dispatch":
            sorted_by_expert.update(op.results)
        if op.name == "nn.dispatch" and op.attributes.get("experts", 0) % experts:
            count = op.attributes.get("experts", 0)
            possible = [n for n in range(1, count + 1) if count % n == 0]
            raise PiperError.of(
                f"{count} experts are not divided over expert_parallel={experts} devices",
                hint=f"possible are {', '.join(str(n) for n in possible)}",
                place=place,
            )
        part = "experts" if is_expert else "dense"
        if part != before:
            region, before = region + 1, part
        op.tags.setdefault("PART", part)
        op.tags.setdefault("REGION", region)
    if not sorted_by_expert:
        raise PiperError.of(
            f"expert_parallel={experts}, but the model has no experts",
            hint="experts stand between piper.nn.dispatch and piper.nn.combine",
            place=place,
        )
