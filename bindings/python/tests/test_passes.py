"""Passes written in Python, in this process and in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, Model, decorated

import piper
from piper import Compiler, PassContext

TEXT = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = nn.gelu %x : tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}\n"


def test_a_pass_sees_the_module_and_says_something() -> None:
    def count(cx: PassContext) -> None:
        found = [op for op in cx.walk() if op.name == "nn.gelu"]
        cx.remark(f"{len(found)} in {cx.name}", found[0], hint="a hint")

    compiler = Compiler()
    compiler.register_pass("print-count", count, summary="Counts")
    assert ("print-count", "Counts") in compiler.passes
    said = compiler.parse(TEXT, "f.pir").run("print-count")
    assert [(d.severity, d.message, d.line, d.hint) for d in said] == [("remark", "1 in print-count", 2, "a hint")]
    with pytest.raises(piper.PiperError, match="unknown pass 'print-count'"):
        piper.Module.parse(TEXT).run("print-count")


def test_a_name_has_one_owner() -> None:
    compiler = Compiler()
    compiler.register_pass("mine", lambda cx: cx.remark("the first"))
    for name, wanted in [
        ("mine", "host 'Python' registers pass 'mine' twice"),
        ("cse", "registers pass 'cse', which is the name of a pass of Piper itself"),
        ("no name", "registers a pass with the name 'no name'; names are letters"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            compiler.register_pass(name, lambda cx: cx.remark("the second"))
    assert compiler.parse(TEXT).run("mine")[0].message == "the first"


# Each collection of garbage asks the compiler something, and there is one at almost every object that is made.
FINALIZERS = """
import gc
import piper

compiler, asked, texts = piper.Compiler(), 0, ["irdl.dialect @other {\\n  irdl.operation {}\\n}\\n"] * 20

class Last:
    def __init__(self):
        self.itself = self

    def __del__(self):
        global asked
        if texts:
            asked += len(compiler.passes) > 0
            Last()

Last()
gc.set_threshold(1)
while texts:
    try:
        compiler.register_dialect_text(texts.pop())
    except piper.PiperError:
        pass
print("asked" if asked else "never asked")
"""


def test_a_finalizer_may_use_a_compiler_that_refuses_something() -> None:
    # In a process of its own, which can be stopped if it waits for itself.
    told = subprocess.run([sys.executable, "-c", FINALIZERS], capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stdout.strip()) == (0, "asked"), told.stderr


SPEAKING = """
import piper

class Speaking(Exception):
    def __str__(self):
        self.args[0].remark("from an exception")
        return "spoken"

def speak(cx):
    raise Speaking(cx)

compiler = piper.Compiler()
compiler.register_pass("speak", speak)
try:
    compiler.parse("func.func private @f()").run("speak")
except piper.PiperError as error:
    print(sorted(d.message for d in error.diagnostics))
"""


def test_the_text_of_an_exception_may_use_the_pass_that_raised_it() -> None:
    told = subprocess.run([sys.executable, "-c", SPEAKING], capture_output=True, text=True, timeout=60)
    assert "spoken" in told.stdout and told.returncode == 0, told.stderr


def test_a_pass_changes_the_module_among_others() -> None:
    def silu(cx: PassContext) -> None:
        for op in cx.walk():
            if op.name == "nn.gelu":
                other = cx.module.create("nn.silu", op.operands, after=op)
                op.replace_uses(other.results)
                op.erase()

    compiler = Compiler()
    compiler.register_pass("silu", silu)
    module = compiler.parse(TEXT)
    module.run("canonicalize,silu,func.func(cse)")
    assert "nn.silu" in module.text() and "nn.gelu" not in module.text()


def test_an_exception_is_a_diagnostic_with_the_name_of_the_pass() -> None:
    def wrong(cx: PassContext) -> None:
        raise LookupError("no such thing")

    compiler = Compiler()
    compiler.register_pass("wrong", wrong)
    with pytest.raises(piper.PiperError) as caught:
        compiler.parse(TEXT).run("wrong")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "pass 'wrong' raised LookupError: no such thing"
    assert diagnostic.notes[0].file == __file__ and "Traceback" in diagnostic.notes[0].message


def test_errors_of_a_pass_fail_the_run() -> None:
    compiler = Compiler()
    compiler.register_pass("wrong", lambda cx: cx.error("not this", cx.walk()[1]))
    with pytest.raises(piper.PiperError, match="not this"):
        compiler.parse(TEXT).run("wrong")


def test_what_a_pass_leaves_is_verified() -> None:
    def wrong(cx: PassContext) -> None:
        returns, gelu = cx.walk()[3], cx.walk()[2]
        returns.move_before(gelu)

    compiler = Compiler()
    compiler.register_pass("wrong", wrong)
    with pytest.raises(piper.PiperError):
        compiler.parse(TEXT).run("wrong")


def test_a_module_that_a_pass_keeps_is_of_no_use() -> None:
    kept: list[piper.Module] = []
    compiler = Compiler()
    compiler.register_pass("keep", lambda cx: kept.append(cx.module))
    compiler.parse(TEXT).run("keep")
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0].text()


def test_an_interrupt_in_a_pass_goes_on_as_itself() -> None:
    def interrupted(cx: PassContext) -> None:
        raise KeyboardInterrupt

    compiler = Compiler()
    compiler.register_pass("interrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiler.parse(TEXT).run("interrupted")


def test_a_pass_that_runs_itself_is_an_error_and_no_explosion() -> None:
    compiler, calls = Compiler(), [0]

    def again(cx: PassContext) -> None:
        calls[0] += 1
        compiler.parse(cx.module.text()).run("again")

    compiler.register_pass("again", again)
    with pytest.raises(piper.PiperError) as caught:
        compiler.parse(TEXT).run("again")
    assert calls == [1] and "pass 'again' runs itself" in str(caught.value)
    # The compiler is as good as new.
    compiler.register_pass("other", lambda cx: cx.remark("well"))
    assert compiler.parse(TEXT).run("other")[0].message == "well"


def test_passes_that_run_each_other() -> None:
    compiler, calls = Compiler(), [0, 0]

    def there(cx: PassContext) -> None:
        calls[0] += 1
        compiler.parse(cx.module.text()).run("back")

    def back(cx: PassContext) -> None:
        calls[1] += 1
        compiler.parse(cx.module.text()).run("there")

    compiler.register_pass("there", there)
    compiler.register_pass("back", back)
    with pytest.raises(piper.PiperError, match="pass 'there' runs itself"):
        compiler.parse(TEXT).run("there")
    assert calls == [1, 1]


def test_passes_of_ever_new_compilers_end() -> None:
    calls = [0]

    def deeper(cx: PassContext) -> None:
        calls[0] += 1
        compiler = Compiler()
        compiler.register_pass("deeper", deeper)
        try:
            compiler.parse(cx.module.text()).run("deeper")
        except piper.PiperError as error:
            raise RuntimeError(error.diagnostics[0].message.splitlines()[0]) from None

    compiler = Compiler()
    compiler.register_pass("deeper", deeper)
    with pytest.raises(piper.PiperError, match="is run by 16 passes, each by the next"):
        compiler.parse(TEXT).run("deeper")
    assert calls == [16]


def test_a_pass_may_run_others() -> None:
    compiler, said = Compiler(), []
    compiler.register_pass("inner", lambda cx: cx.remark("inner"))
    compiler.register_pass("outer", lambda cx: said.extend(compiler.parse(cx.module.text()).run("inner")))
    compiler.parse(TEXT).run("outer")
    compiler.parse(TEXT).run("outer")
    assert [d.message for d in said] == ["inner", "inner"]


DIALECT = """irdl.dialect @mine {
  irdl.operation @twice attributes {piper.format = "$x attr-dict `:` type($x)", piper.traits = ["Pure"]} {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
}
"""


def test_dialects_are_added_as_data() -> None:
    text = TEXT.replace("nn.gelu", "mine.twice")
    compiler = Compiler()
    with pytest.raises(piper.PiperError):
        compiler.parse(text)
    compiler.register_dialect_text(DIALECT, "mine.pir")
    module = compiler.parse(text)
    assert text.splitlines()[1] in module.text() and [op.name for op in module.walk()][2] == "mine.twice"
    with pytest.raises(piper.PiperError, match="there is a dialect 'mine' already"):
        compiler.register_dialect_text(DIALECT)
    with pytest.raises(piper.PiperError) as caught:
        compiler.register_dialect_text("irdl.dialect @other {\n  irdl.operation {}\n}\n", "other.pir")
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("other.pir", 2)
    with pytest.raises(piper.PiperError):  # Others know nothing of it.
        piper.Module.parse(text)


def graph_text() -> str:
    ir = piper.generate_ir(decorated(Model, piper.annotate(data_parallel=2, zero_stage=3)))
    return ir.graph.text()


def test_passes_in_processes_of_their_own() -> None:
    text = graph_text()
    gathers = text.count("dag.all_gather")
    assert gathers > 0
    examples = ROOT / "examples" / "embed-python"

    def run(name: str) -> tuple[str, list[dict[str, object]]]:
        command = [sys.executable, str(examples / name)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=os.environ)
        return done.stdout, [json.loads(line) for line in done.stderr.splitlines()]

    same, said = run("count_gathers.py")
    assert said[0] == {"severity": "remark", "message": f"{gathers} all-gather(s)"} | {
        key: said[0][key] for key in ("file", "line", "column")
    }
    assert piper.Module.parse(same).text() == piper.Module.parse(text).text()
    assert 'loc("<stdin>":' in same
    hoisted, said = run("hoist_gathers.py")
    assert len(said) > 0 and hoisted != same
    piper.Module.parse(hoisted).verify()

    command = [sys.executable, str(examples / "count_gathers.py")]
    done = subprocess.run(command, input="nonsense", capture_output=True, text=True)
    assert done.returncode == 1
    assert json.loads(done.stderr.splitlines()[0])["severity"] == "error"
