"""Passes in processes of their own: ``piper-opt --pass-exec='python3 my_pass.py'``.

The module comes as text on standard input and goes as text to standard output; remarks and errors are lines of JSON on standard
error; options are arguments ``--name=value``. :func:`main` does all of that for a function that is written like any other pass::

    import piper

    def count(cx):
        gathers = [op for op in cx.walk() if op.name == "dag.all_gather"]
        cx.remark(f"{len(gathers)} all-gather(s)")

    if __name__ == "__main__":
        piper.passes.main(count)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from ._errors import PiperError
from ._piper import Compiler, Diagnostic, PassContext

__all__ = ["main"]


def main(function: Callable[[PassContext], object], *, name: str | None = None) -> None:
    """Runs ``function`` on the module on standard input, writes what became of it, and ends the process: 0 if all went well."""
    called = (name or function.__name__).replace("_", "-")
    compiler = Compiler()
    compiler.register_pass(called, function)
    try:
        module = compiler.parse(sys.stdin.read(), "<stdin>")
        said = module.run(called)
    except PiperError as error:
        _tell(list(error.diagnostics))
        sys.exit(1)
    _tell(said)
    sys.stdout.write(module.text())
    sys.stdout.flush()
    sys.exit(0)


def _tell(diagnostics: list[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        line: dict[str, object] = {"severity": diagnostic.severity, "message": diagnostic.message}
        for key in ("file", "line", "column", "hint"):
            value = getattr(diagnostic, key)
            if value is not None:
                line[key] = value
        notes = [note.message for note in diagnostic.notes]
        if notes:
            line["notes"] = notes
        print(json.dumps(line), file=sys.stderr)
