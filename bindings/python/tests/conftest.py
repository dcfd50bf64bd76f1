"""Models that are small enough for the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import piper
from piper import nn

ROOT = Path(__file__).resolve().parents[3]
BATCH, TIME, WIDTH, WORDS = 16, 2, 4, 8

Arrays = dict[str, NDArray[Any]]


class Block(nn.Module):
    """A perceptron with a residual."""

    def __init__(self) -> None:
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: piper.Tensor) -> piper.Tensor:
        return x + self.down(nn.gelu(self.up(x)))


class Model(nn.Module):
    """Blocks between a table and a head."""

    def __init__(self, blocks: int = 2) -> None:
        self.table = nn.Embedding(WORDS, WIDTH, init=nn.normal(0.0, 0.5))
        self.blocks = [Block() for _ in range(blocks)]
        self.head = nn.Linear(WIDTH, WORDS, init=nn.normal(0.0, 0.5))

    def forward(
        self,
        tokens: piper.i32[BATCH, TIME],  # type: ignore[valid-type]
        targets: piper.i32[BATCH, TIME],  # type: ignore[valid-type]
    ) -> piper.Tensor:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return nn.cross_entropy(self.head(x), targets)


class Experts(nn.Module):
    """A layer of experts between dense ones."""

    def __init__(self) -> None:
        self.table = nn.Embedding(WORDS, WIDTH, init=nn.normal(0.0, 0.5))
        self.dense = nn.Linear(WIDTH, WIDTH)
        self.experts = nn.Parameter(2, WIDTH, WIDTH, init=nn.normal(0.0, 0.5))
        self.head = nn.Linear(WIDTH, WORDS, init=nn.normal(0.0, 0.5))

    def forward(
        self,
        tokens: piper.i32[BATCH, TIME],  # type: ignore[valid-type]
        targets: piper.i32[BATCH, TIME],  # type: ignore[valid-type]
    ) -> piper.Tensor:
        x = self.dense(self.table(tokens))
        y = nn.gelu(nn.expert_linear(nn.dispatch(x, experts=2), self.experts))
        return nn.cross_entropy(self.head(x + nn.combine(y)), targets)


@pytest.fixture
def batch() -> Arrays:
    """A batch for these models."""
    tokens = np.random.default_rng(0).integers(0, WORDS, (BATCH, TIME))
    return {"tokens": tokens, "targets": np.roll(tokens, -1, axis=1)}


def decorated(model: type, *decorators: Any) -> type:
    """A class of its own with decorators, outermost first."""
    made: Any = type(model.__name__, (model,), {})
    for decorator in reversed(decorators):
        made = decorator(made)
    return made  # type: ignore[no-any-return]
