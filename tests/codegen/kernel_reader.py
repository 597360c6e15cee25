"""Runs the text of kernels, so that a test can compare what it says with what is computed.

Understands kernels of kind map, rows, columns and gemm that are written with NumPy's functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from wengert.codegen.explain.kernels import KernelText

LOOP = re.compile(r"(\w+) < (\w+)")
FOLD = re.compile(r"(\w+) over ([\w, <]+?) of (.*)")
FOLDS = {"sum": np.sum, "max": np.max, "min": np.min}
FUNCTIONS = {
    "pull": lambda g, p: np.where(g == 0, 0, g * p),
    **{name: getattr(np, name) for name in ("tanh", "exp", "log", "where", "less", "equal")},
    **{name: getattr(np, name) for name in ("negative", "square", "maximum", "sqrt")},
}


class Reader:
    """Arrays by name, and what kernels make of them."""

    def __init__(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self.arrays = {_plain(name): np.asarray(x) for name, x in arrays.items()}
        self.sizes = sizes

    def run(self, kernel: KernelText) -> None:
        """Do what its lines say, and keep what it stores."""
        self.loops = {name: self.number(size) for name, size in LOOP.findall(kernel.head)}
        self.values: dict[str, str] = {}
        stored = {_plain(each.name): each.type for each in kernel.stores}
        for line in kernel.lines:
            target, _, text = line.text.partition(" = ")
            name, _, index = _plain(target).partition("[")
            self.values[name] = _plain(text)
            if name in stored:
                self.store(name, index.rstrip("]"), stored.pop(name))
        assert not stored, f"{kernel.name} stores {stored} without saying what they are"

    def number(self, size: str) -> int:
        return self.sizes[size] if size in self.sizes else int(size)

    def store(self, name: str, index: str, found: Any) -> None:
        shape = tuple(self.number(str(n)) for n in found.shape)
        letters = [part.strip() for part in index.split(",")] if index else []
        assert len(letters) == len(shape)
        out = np.empty(shape, found.dtype)
        for place in product(*(range(n) for n in shape)):
            out[place] = self.value(name, dict(zip(letters, place, strict=True)))
        self.arrays[name] = out

    def value(self, name: str, env: dict[str, int]) -> Any:
        text = self.values[name]
        fold = FOLD.fullmatch(text)
        if fold is None:
            return self.evaluate(text, env)
        how, over, inside = fold.groups()
        counts = self.loops | {letter: self.number(size) for letter, size in LOOP.findall(over)}
        letters = [part.split(" <")[0].strip() for part in over.split(",")]
        ranges = [range(counts[letter]) for letter in letters]
        each = [
            self.evaluate(inside, env | dict(zip(letters, at, strict=True)))
            for at in product(*ranges)
        ]
        return FOLDS[how](np.array(each))

    def evaluate(self, text: str, env: dict[str, int]) -> Any:
        """An expression where the loops are; what has no index is a value on its way."""
        names = set(re.findall(r"\bv\d+\b(?!\[)", text)) & self.values.keys()
        known = {name: self.value(name, env) for name in names}
        return eval(text, {}, {**FUNCTIONS, **self.sizes, **self.arrays, **known, **env})


def _plain(text: str) -> str:
    """With names that Python allows."""
    return re.sub(r"%(\d+)", r"v\1", re.sub(r"copy\(%(\d+)\)", r"c\1", text))
