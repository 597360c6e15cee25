"""Stubs of the modules whose names come from the table of ops: what type checkers and editors read.

An op is an object that a decorator makes; no tool sees how it is called without running the code.
Functions and classes are imported from where they are defined.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import wengert as wg
from wengert.core.op import Op

WIDTH = 100
HEADER = """\
# Written from the table of ops by tests/test_stubs.py, which says how to write it again.
"""
PLAIN = {
    *("Any", "Callable", "Sequence", "bool", "dict", "float", "int", "list", "None", "str", "tuple")
}
SOURCE = Path(inspect.getfile(wg)).parent
MODULES = {"__init__": wg, "fft": wg.fft, "linalg": wg.linalg, "random": wg.random}


def stub(name: str) -> str:
    """The stub of a module, from what it holds now."""
    module = MODULES[name]
    found = _imported(SOURCE / f"{name}.py")
    lines, constants, definitions = [], [], []
    for public in module.__all__:
        thing = getattr(module, public)
        if isinstance(thing, Op):
            definitions.append(_definition(public, thing))
        elif public in found:
            lines.append(found[public])
        elif thing is None or isinstance(thing, float):
            constants.append(f"{public}: {'None' if thing is None else 'float'}")
        elif inspect.ismodule(thing):
            lines.append(f"from {module.__name__} import {public} as {public}")
        else:
            lines.append(f"from {thing.__module__} import {thing.__name__} as {public}")
    head = [
        "import builtins",
        "from collections.abc import Callable, Sequence",
        "from typing import Any",
        "",
    ]
    documentation = f'"""{(module.__doc__ or "").splitlines()[0]}"""'
    parts = [documentation, "", *head, *sorted(lines), ""]
    if name == "__init__":
        parts += ["__version__: str", "__array_api_version__: str", *constants, ""]
    listed = "".join(f'    "{public}",\n' for public in module.__all__)
    parts += [f"__all__ = [\n{listed}]", ""]
    return HEADER + "\n".join([*parts, *definitions])


def _imported(path: Path) -> dict[str, str]:
    """What a module imports, by name, said so that it counts as its own."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.name] = f"from {node.module} import {alias.name} as {alias.name}"
    return found


def _definition(public: str, op: Op) -> str:
    known = list(inspect.signature(op).parameters.values())
    parameters = [_parameter(p) for p in known]
    by_name = [i for i, p in enumerate(known) if p.kind is p.KEYWORD_ONLY]
    if by_name and not any(p.kind is p.VAR_POSITIONAL for p in known):
        parameters.insert(by_name[0], "*")
    line = f"def {public}({', '.join(parameters)}) -> Any:"
    if len(line) > WIDTH:
        line = f"def {public}(\n" + "".join(f"    {each},\n" for each in parameters) + ") -> Any:"
    documentation = f'r"""{op.doc.strip()}\n"""' if "\n" in op.doc.strip() else f'"""{op.doc}"""'
    return f"{line}\n{textwrap.indent(documentation, '    ')}\n"


def _parameter(p: inspect.Parameter) -> str:
    names = set(re.findall(r"[A-Za-z_]\w*", str(p.annotation)))
    annotation = p.annotation if names <= PLAIN and names else "Any"
    annotation = re.sub(r"\bbool\b", "builtins.bool", str(annotation))  # bool is wg.bool there
    star = "*" if p.kind is p.VAR_POSITIONAL else ""
    default = "" if p.default is p.empty else f" = {_default(p.default)}"
    return f"{star}{p.name}: {annotation}{default}"


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | None | tuple) else "..."
