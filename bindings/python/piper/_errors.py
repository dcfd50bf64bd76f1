"""The one exception of the package."""

from __future__ import annotations

import linecache
from collections.abc import Sequence

from ._piper import Diagnostic

__all__ = ["PiperError"]


class PiperError(Exception):
    """What the compiler or the runtime says is wrong; its text is what the tools print.

    ``diagnostics`` has each message with file, line, column, notes and hint as values.
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)

    @classmethod
    def of(
        cls, message: str, *, hint: str | None = None, place: tuple[str, int, int] | None = None
    ) -> PiperError:
        """An error with what to do about it, about a line of Python or about none."""
        source = None if place is None else "".join(linecache.getlines(place[0]))
        return cls([Diagnostic("error", message, hint=hint, place=place, source=source)])
