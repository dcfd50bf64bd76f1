"""The stubs and the package hold under mypy --strict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from piper import _piper

pytest.importorskip("mypy")


def test_types_are_strict() -> None:
    folder = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "piper"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_are_those_of_the_extension(tmp_path: Path) -> None:
    environment = dict(os.environ)
    above = Path(_piper.__file__).resolve().parents[1]
    if above.name != "site-packages":  # What is installed is found without.
        environment |= {"MYPYPATH": str(above), "PYTHONPATH": str(above)}
    # What extensions have that stubs cannot well say: names of positional arguments, layouts, and a list of names.
    ignored = ["--ignore-positional-only", "--ignore-disjoint-bases", "--ignore-missing-stub"]
    command = [sys.executable, "-m", "mypy.stubtest", "piper._piper", *ignored]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
