"""The walk-through of docs/embed-python.md runs, block after block, and prints what it says; so does the example."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "embed-python.md"


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Types of inputs come from files that can be read: the page is one.
    script = tmp_path / "page.py"
    parts = blocks()
    script.write_text("\n".join(code for kind, code in parts if kind == "python"))
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    shown = [" ".join(line.split()) for line in printed.getvalue().splitlines()]
    # In order; what stands between two lines of a block must be printed between them, or "..." stands there.
    at = 0
    for kind, text in parts:
        is_free = True
        for line in text.splitlines() if kind == "text" else []:
            wanted = " ".join(line.split())
            if wanted in ("", "..."):
                is_free = True
                continue
            rest = shown[at:] if is_free else shown[at : at + 1]
            assert wanted in rest, f"{line!r} is not printed after {shown[:at][-1:]}:\n{printed.getvalue()}"
            at += rest.index(wanted) + 1
            is_free = False


def test_the_example_trains() -> None:
    main = runpy.run_path(str(ROOT / "examples" / "embed-python" / "train.py"))["main"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = main()
    assert found[-1] < found[0] and "on <Training after 5 steps>" in printed.getvalue()
