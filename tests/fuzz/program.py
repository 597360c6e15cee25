"""A random program as data: it can be run, printed as runnable Python, and made smaller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg

NAME = re.compile(r"(?<![\w.])[vxf]\d+\b(?!=)")  # variables, arguments and functions of a program
Sizes = Mapping[str, int]  # the sizes that Dims have in one call

# What a printed program compares with. The fuzzer itself compares more closely (see closeness.py).
_CHECK = """
ways = {
    "fused": ({"threads": 1}, {}),
    "unfused": ({"threads": 1}, {"WENGERT_FUSE": "0"}),
    "three threads": ({"threads": 3, "donate": donated}, {"WENGERT_GRAIN": "1"}),
}
compiled = {name: wg.compile(program, dims=dims, **way[0]) for name, way in ways.items()}
for sizes in calls:
    expected = wg.tree.leaves(program(*draw(**sizes)))
    for name, (options, settings) in ways.items():
        with mock.patch.dict(os.environ, settings):
            results = wg.tree.leaves(compiled[name](*draw(**sizes)))
        for number, (x, y) in enumerate(zip(results, expected, strict=True)):
            x, y = np.asarray(x), np.asarray(y)
            same = x.dtype == y.dtype and x.shape == y.shape
            print(name, number, x.dtype, x.shape, "as eager" if same else "WRONG TYPE", end=" ")
            print(np.array_equal(x, y, equal_nan=y.dtype.kind == "f"))
            print("  found", x.reshape(-1)[:8], "\\n  eager", y.reshape(-1)[:8])
"""


@dataclass(frozen=True)
class Step:
    """One assignment, and the functions it calls, which are defined before it."""

    text: str
    gives: tuple[str, ...]
    blocks: tuple[Block, ...] = ()

    def lines(self) -> list[str]:
        return [*(line for block in self.blocks for line in block.lines()), self.text]

    def uses(self) -> set[str]:
        inner = set().union(*(block.uses() for block in self.blocks)) if self.blocks else set()
        called = {block.name for block in self.blocks}
        return (names_in(self.text) | inner) - set(self.gives) - called


@dataclass(frozen=True)
class Block:
    """A function inside a program: a loss, the body of a loop, a branch, a region."""

    name: str
    params: tuple[str, ...]
    steps: tuple[Step, ...]
    result: str

    def lines(self) -> list[str]:
        body = [line for step in self.steps for line in step.lines()]
        indented = [f"    {line}" for line in (*body, f"return {self.result}")]
        return [f"def {self.name}({', '.join(self.params)}):", *indented]

    def uses(self) -> set[str]:
        """Names of the surrounding program."""
        inner = names_in(self.result).union(*(step.uses() for step in self.steps))
        own = {name for step in self.steps for name in step.gives}
        return inner - own - set(self.params)


@dataclass(frozen=True)
class Input:
    """An argument of the program, as the expression that draws it; n and m are the open sizes."""

    name: str
    text: str
    axes: tuple[tuple[int, str], ...] = ()  # open axes and the names of their Dims


@dataclass(frozen=True)
class Program:
    """A function of some arrays, and the calls to compare."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    returns: tuple[str, ...]
    calls: tuple[tuple[tuple[str, int], ...], ...] = ((),)  # sizes of the Dims, one row per call
    donated: tuple[str, ...] = ()  # arguments that results may be written over, in one of the ways

    @property
    def sizes(self) -> list[dict[str, int]]:
        return [dict(each) for each in self.calls]

    @property
    def dims(self) -> dict[str, dict[int, wg.Dim]]:
        opened = {x.name: {axis: wg.Dim(name) for axis, name in x.axes} for x in self.inputs}
        return {name: axes for name, axes in opened.items() if axes}

    @property
    def names(self) -> list[str]:
        return [x.name for x in self.inputs]

    @property
    def function_text(self) -> str:
        body = [line for step in self.steps for line in step.lines()]
        result = f"({', '.join(self.returns)},)"
        head = f"def program({', '.join(self.names)}):"
        return "\n".join([head, *(f"    {line}" for line in (*body, f"return {result}"))])

    def function(self) -> Callable[..., Any]:
        """The program as a Python function."""
        scope = namespace()
        exec(compile(self.function_text, "<program>", "exec"), scope)
        found: Callable[..., Any] = scope["program"]
        return found

    def arguments(self, sizes: Sizes, donated: Sequence[str] = ()) -> list[Any]:
        """The arguments of one call, drawn afresh; what is donated can be written to."""
        scope = namespace() | dict(sizes)
        drawn = [(x.name, eval(x.text, scope)) for x in self.inputs]
        return [x if x.flags.writeable or name not in donated else x.copy() for name, x in drawn]

    def __str__(self) -> str:
        """Python that runs the program in all ways and prints what each gives."""
        lines = ["import os", "from unittest import mock", ""]
        lines += ["import numpy as np", "from numpy import inf, nan", ""]
        lines += ["import wengert as wg", ""]
        lines += ["", self.function_text, "", ""]
        lines += ["def draw(n=0, m=0):", "    return ["]
        for x in self.inputs:
            text = f"{x.text}.copy()" if x.name in self.donated else x.text
            lines.append(f"        {text},  # {x.name}")
        lines += ["    ]", "", ""]
        lines += [f"calls = {self.sizes}", f"dims = {_written_dims(self.dims)}"]
        lines += [f"donated = {self.donated}"]
        return "\n".join(lines) + _CHECK


def names_in(text: str) -> set[str]:
    return set(NAME.findall(text))


def namespace() -> dict[str, Any]:
    return {"np": np, "wg": wg, "nan": np.nan, "inf": np.inf}


def _written_dims(dims: Mapping[str, Mapping[int, wg.Dim]]) -> str:
    rows = [
        f'"{name}": {{{", ".join(f"{axis}: wg.Dim({str(dim)!r})" for axis, dim in axes.items())}}}'
        for name, axes in dims.items()
    ]
    return f"{{{', '.join(rows)}}}"
