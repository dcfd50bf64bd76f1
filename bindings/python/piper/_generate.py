"""Writes ``nn/_ops.py`` from the declarations of dialect ``nn``: ``python -m piper._generate``. A test compares."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from . import _piper

__all__ = ["source"]

#: Made by other means: they need a name, a type, or a function that is only declared.
_NOT_HERE = {
    "nn.parameter",
    "nn.constant",
    "nn.cast",
    "nn.opaque",
    "nn.opaque_dx",
    "nn.opaque_dw",
}

_HEAD = '''"""The operations of dialect ``nn`` as functions. Written by ``python -m piper._generate`` from the declarations; change those."""

from __future__ import annotations

from .._trace import Tensor, operation
from ._module import Parameter

__all__ = [
{names}
]

Operand = Tensor | Parameter
'''


def source() -> str:
    """The text of ``nn/_ops.py``."""
    declared = [op for op in _piper.operations("nn") if op["name"] not in _NOT_HERE]
    names = [_function_name(op) for op in declared]
    listed = "\n".join(f'    "{name}",' for name in sorted(names))
    return _HEAD.replace("{names}", listed) + "".join(_function(op) for op in declared)


def _function_name(op: dict[str, Any]) -> str:
    return str(op["name"]).partition(".")[2]


def _python_type(must_be: str) -> str:
    if "unit" in must_be or must_be == "true or false":
        return "bool"
    if "integer" in must_be:
        return "int"
    if "number" in must_be:
        return "float"
    return "str"


def _function(op: dict[str, Any]) -> str:
    parameters, operands, attributes = [], [], []
    for name, arity, _ in op["operands"]:
        operands.append(name)
        optional = " | None = None" if arity == "optional" else ""
        parameters.append(f"{name}: Operand{optional}")
    keywords = []
    for name, required, must_be in op["attributes"]:
        kind = _python_type(must_be)
        attributes.append(f'"{name}": {name}')
        if required:
            keywords.append(f"{name}: {kind}")
        elif kind == "bool":
            keywords.append(f"{name}: bool = False")
        else:
            keywords.append(f"{name}: {kind} | None = None")
    if keywords:
        parameters += ["*", *keywords]
    results = op["results"]
    single = len([result for result in results if result[1] == "one"]) == 1
    made = "Tensor" if single else f"tuple[{', '.join(['Tensor'] * len(results))}]"
    call = f'operation("{op["name"]}", [{", ".join(operands)}], {{{", ".join(attributes)}}})'
    lines = [f"\n\ndef {_function_name(op)}(\n"]
    lines += [f"    {parameter},\n" for parameter in parameters]
    lines.append(f") -> {made}:\n")
    prose = str(op["summary"])
    if op["description"]:
        prose += "\n\n" + str(op["description"])
    # Mathematics in the documentation has backslashes nowhere, quotes of three nowhere; Markdown's back-ticks stay.
    docstring = textwrap.indent(f'"""{prose}\n"""' if "\n" in prose else f'"""{prose}"""', "    ")
    lines.append(docstring.replace("    \n", "\n") + "\n")
    if single:
        lines.append(f"    return {call}[0]\n")
    else:
        variables = ", ".join(result[0] for result in results)
        lines.append(f"    {variables} = {call}\n    return {variables}\n")
    return "".join(lines)


if __name__ == "__main__":
    path = Path(__file__).parent / "nn" / "_ops.py"
    path.write_text(source(), encoding="utf-8")
    print(f"wrote {path}")
