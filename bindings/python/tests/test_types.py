"""The stubs and the package hold under mypy --strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")


def test_types_are_strict() -> None:
    folder = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "piper"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
