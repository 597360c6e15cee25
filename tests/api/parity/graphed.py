"""What tests of graphs built by hand share: containers, and gradients by differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from differences import BY_DIFFERENCES, gradients, require_all_close, require_close

import wengert as wg

rng = np.random.default_rng(20)


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


def require_gradients(g: wg.Graph, y: Any, nodes: list[Any], formula: Any, *values: Any) -> None:
    """The gradients of `nodes` with a random cotangent of `y` are those of the formula."""
    gy = rng.standard_normal(np.shape(g.value(y)))
    require_close(g.value(y), formula(*values), 1e-14)
    g.zero_grad()
    g.backward(y, seed=gy)
    expected = gradients(lambda *xs: np.sum(gy * formula(*xs)), *values)
    require_all_close([g.gradient(node) for node in nodes], expected, BY_DIFFERENCES)
