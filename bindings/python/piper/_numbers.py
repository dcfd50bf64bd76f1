"""Numbers that users give, of Python or of NumPy."""

from __future__ import annotations

import operator
from typing import Any, cast

__all__ = ["whole"]


def whole(value: object) -> int | None:
    """A whole number as Python's own; ``None`` of anything else, truth values too."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(cast(Any, value))
    except TypeError:
        return None
