"""Generates code for one request, so that an abort inside LLVM ends this process and not the one that trains.

``python -m piper._codegen_child`` serves the request on standard input. :func:`command` starts it without the package around it,
which saves loading NumPy.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys


def command() -> list[str]:
    """The program that generates code, with its arguments."""
    from . import _piper

    return [sys.executable, "-I", "-S", __file__, str(_piper.__file__)]


def main(library: str | None) -> int:
    """Serves the request on standard input; ``library`` is the file of the extension module."""
    if library is None:
        from . import _piper

        return _piper.codegen_child()
    loader = importlib.machinery.ExtensionFileLoader("_piper", library)
    spec = importlib.util.spec_from_loader("_piper", loader)
    if spec is None:
        return 2
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return int(module.codegen_child())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
