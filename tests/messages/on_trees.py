"""Bad trees: arrays where no transformation sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse

import wengert as wg

line = np.ones(3)


class Net:
    def __init__(self) -> None:
        self.w = line


class Parameters(dict[str, Any]):
    pass


@dataclass
class Undeclared:
    def __init__(self) -> None:
        self.w = line


class Extended(wg.nn.Sequential):
    def __init__(self) -> None:
        super().__init__(wg.nn.Linear(2, 3))
        self.head = wg.nn.Linear(3, 1)


@dataclass
class OfTheClass:
    w: Any
    bias = line


class Foreign:
    """As an array of another library."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(3)


CASES: dict[str, Callable[[], Any]] = {
    "tree: arrays in an object that is no dataclass": lambda: wg.grad(lambda net: wg.sum(net.w))(
        Net()
    ),
    "tree: arrays in a SimpleNamespace": lambda: wg.tree.leaves(SimpleNamespace(w=line)),
    "tree: arrays in such an object further down": lambda: wg.tree.leaves(
        {"layers": [line, Net()]}
    ),
    "tree: arrays in a kind of dict": lambda: wg.tree.leaves([Parameters(w=line)]),
    "tree: arrays in a dataclass without fields": lambda: wg.tree.leaves(Undeclared()),
    "tree: arrays in an attribute that is no field": lambda: wg.tree.leaves(Extended()),
    "tree: arrays in an attribute of the class": lambda: wg.tree.leaves(OfTheClass(line)),
    "tree: an array of another library": lambda: wg.grad(lambda m: wg.sum(m["w"]))(
        {"w": line, "b": Foreign()}
    ),
    "tree: a sparse matrix": lambda: wg.compile(lambda x: x)(scipy.sparse.csr_matrix(np.eye(3))),
}
