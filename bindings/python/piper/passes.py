"""Passes in processes of their own: ``piper-opt --pass-exec='python3 my_pass.py'``.

The module comes as text on standard input and goes as text to standard output; remarks and errors are lines of JSON on standard
error; options are arguments ``--name=value``, which :func:`options` reads. :func:`main` does all of that for a function that is written like any other pass::

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
from ._piper import Compiler, Diagnostic, Note, PassContext

__all__ = ["main", "options"]


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
    # With locations, so that later messages still point at the lines that the user wrote.
    sys.stdout.write(module.text(locations=True))
    sys.stdout.flush()
    sys.exit(0)


def options() -> dict[str, str]:
    """The options that the pass was given, ``--max=4`` as ``"max": "4"``; one without a value is ``"true"``."""
    found = {}
    for argument in sys.argv[1:]:
        name, separator, value = argument.removeprefix("--").partition("=")
        found[name] = value if separator else "true"
    return found


def _tell(diagnostics: list[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        line: dict[str, object] = {"severity": diagnostic.severity}
        line |= _placed(diagnostic)
        if diagnostic.hint is not None:
            line["hint"] = diagnostic.hint
        if diagnostic.notes:
            line["notes"] = [_placed(note) for note in diagnostic.notes]
        print(json.dumps(line), file=sys.stderr)


def _placed(said: Diagnostic | Note) -> dict[str, object]:
    found: dict[str, object] = {"message": said.message}
    if said.file is not None and said.line is not None:
        found |= {"file": said.file, "line": said.line, "column": said.column}
    return found
