"""Modules: read, checked, walked, changed, run through passes."""

from __future__ import annotations

import threading

import pytest

import piper

TEXT = """module @m {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = nn.gelu %x : tensor<4xf32>
    %z = nn.add %y, %y : tensor<4xf32>
    func.return %z : tensor<4xf32>
  }
}
"""


def named(module: piper.Module, name: str) -> piper.Operation:
    return next(op for op in module.walk() if op.name == name)


def test_text_comes_back() -> None:
    module = piper.Module.parse(TEXT, "m.pir")
    assert module.text() == TEXT
    assert str(module) == TEXT
    assert '"nn.gelu"(%x)' in module.text(generic=True)
    assert module.name == "m.pir"


def test_stablehlo_is_read() -> None:
    text = "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> { %b = stablehlo.add %a, %a : tensor<2xf32> func.return %b : tensor<2xf32> }"
    assert "stablehlo.add" in [op.name for op in piper.Module.parse(text).walk()]


def test_a_wrong_text_is_an_error_with_its_place() -> None:
    with pytest.raises(piper.PiperError) as caught:
        piper.Module.parse("module {\n  nn.gelo\n}\n", "wrong.pir")
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.severity, diagnostic.file, diagnostic.line, diagnostic.column) == ("error", "wrong.pir", 2, 3)
    assert "wrong.pir:2:3" in str(caught.value)
    assert diagnostic.rendered.startswith("error: ")


def test_operations_are_walked_and_read() -> None:
    module = piper.Module.parse(TEXT, "m.pir")
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "nn.gelu", "nn.add", "func.return"]
    function = module.lookup("f")
    assert function is not None and function.symbol == "f"
    gelu, add = named(module, "nn.gelu"), named(module, "nn.add")
    assert add.operands[0] == gelu.results[0] and add.operands[0].owner == gelu
    assert sorted((op.name, index) for op, index in gelu.results[0].uses) == [("nn.add", 0), ("nn.add", 1)]
    assert gelu.operands[0].owner is None and gelu.operands[0].name == "x"
    assert gelu.results[0].type == "tensor<4xf32>" and gelu.results[0].shape == [4]
    assert gelu.location == ("m.pir", 3, 10)
    assert gelu.parent == function and gelu.next == add and add.previous == gelu
    assert gelu.block is not None and len(gelu.block.operations) == 3
    assert len({gelu, named(module, "nn.gelu"), add}) == 2


def test_attributes_are_python_values() -> None:
    module = piper.Module.parse(TEXT)
    gelu = named(module, "nn.gelu")
    values = {"a": 1, "b": 0.5, "c": "text", "d": [1, 2], "e": {"f": 2}, "g": True}
    for key, value in values.items():
        gelu[key] = value
    gelu["h"] = piper.Attribute("#nn.init<zeros>")
    assert {key: gelu[key] for key in values} == values
    assert gelu["h"] == piper.Attribute("#nn.init<zeros>")
    assert "a" in gelu and gelu.get("nothing") is None
    del gelu["a"]
    assert "a" not in gelu.attributes
    with pytest.raises(KeyError):
        gelu["a"]
    with pytest.raises(ValueError, match="no attribute"):
        gelu["i"] = piper.Attribute("][")
    with pytest.raises(TypeError, match="cannot be an attribute"):
        gelu["i"] = object()  # type: ignore[assignment]
    module.verify()


def test_modules_are_built_and_changed() -> None:
    module = piper.Module.parse(TEXT)
    add = named(module, "nn.add")
    half = module.create("nn.scale", [add.results[0]], {"factor": 0.5}, after=add)
    assert half.results[0].type == "tensor<4xf32>"
    named(module, "func.return").set_operand(0, half.results[0])
    module.verify()
    silu = module.create("nn.silu", [named(module, "nn.gelu").operands[0]], before=add)
    add.replace_uses([silu.results[0]])
    with pytest.raises(RuntimeError, match="erased"):
        add.erase()
        str(add)
    assert "nn.add" not in module.text()
    with pytest.raises(ValueError, match="are used"):
        silu.erase()
    with pytest.raises(piper.PiperError, match="no operation is called 'nn.gelo'"):
        module.create("nn.gelo", [], before=silu)
    with pytest.raises(ValueError, match="say where"):
        module.create("nn.gelu", [])
    with pytest.raises(ValueError, match="cannot stand in itself"):
        function = module.lookup("f")
        assert function is not None
        function.move_before(silu)


def test_a_broken_module_says_what_is_broken() -> None:
    module = piper.Module.parse(TEXT, "m.pir")
    named(module, "nn.add").move_before(named(module, "nn.gelu"))
    with pytest.raises(piper.PiperError) as caught:
        module.verify()
    assert caught.value.diagnostics[0].line == 4


def test_passes_run_and_make_handles_stale() -> None:
    module = piper.Module.parse(TEXT)
    gelu = named(module, "nn.gelu")
    kept = module.copy()
    assert module.run("func.func(cse),canonicalize") == []
    with pytest.raises(RuntimeError, match="walk it again"):
        str(gelu.operands)
    assert repr(gelu) == "<Operation, stale>"
    assert kept.text() == TEXT
    with pytest.raises(piper.PiperError, match="did you mean 'cse'"):
        module.run("cze")


def test_modules_may_be_used_by_several_threads() -> None:
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                module = piper.Module.parse(TEXT)
                module.run("canonicalize")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
