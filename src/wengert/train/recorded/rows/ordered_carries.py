"""Scans over rows whose last carry depends on the order of the rows: a Kalman filter that adds up
its likelihood, and no sum, product, mean or logsumexp of the rows.

Sums are written in many ways, so the body of the scan is tried: a few steps on drawn numbers, in
two orders. Integers that it carries, keys and counts, stand still meanwhile: they say which row
comes, and differ between two orders of any program.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.core.dims import Dim, Size, substitute
from wengert.core.dtypes import is_float
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.printing import quiet
from wengert.interpret.replay import inside, replay

_STEPS = 4
_OTHER_ORDER = (1, 3, 0, 2)
_ROUNDING = 1e-4  # of float32, in a few steps
_LARGEST = 1 << 22  # elements that are worth drawing of an array


def depends_on_order(graph: Graph, number: int, forward: Collection[Node]) -> bool:
    """Whether some last carry of this scan that the forward pass reads is another one if its rows
    come in another order.
    """
    node = graph.nodes[number]
    read = _carries_read(graph, number, forward)
    sizes = _sizes(node.params["body"])
    shapes = [substitute(t.shape, sizes) for t in node.params["body"].input_types()]
    if not read or any(math.prod(shape) > _LARGEST for shape in shapes):
        return False
    try:
        with np.errstate(all="ignore"):
            first, second = _in_two_orders(node, sizes)
    except Exception:  # a body that cannot be computed with drawn numbers is not asked about
        return False
    return any(_differ(first[i], second[i]) for i in read)


def _carries_read(graph: Graph, scan: int, forward: Collection[Node]) -> set[int]:
    picks = {
        number: node.params["index"]
        for number, node in enumerate(graph.nodes)
        if node.op is op.pick and node.operands[0] == scan
    }
    used = {i for node in forward for i in node.operands} | set(graph.returns)
    carried = graph.nodes[scan].params["carry"]
    return {index for number, index in picks.items() if number in used and index < carried}


def _sizes(body: Graph) -> dict[str, Size]:
    """A few for every size that is open."""
    shapes = [t.shape for t in body.input_types()]
    open_sizes = [size for shape in shapes for size in shape if isinstance(size, Dim)]
    return {name: _STEPS for size in open_sizes for name in size.names}


def _in_two_orders(node: Node, sizes: dict[str, Size]) -> tuple[Sequence[Any], Sequence[Any]]:
    params: dict[str, Any] = node.params
    body, consts, carry = quiet(params["body"]), params["consts"], params["carry"]
    types: list[ArrayType] = body.input_types()
    rng = np.random.default_rng(0)
    given = [_drawn(rng, t, sizes) for t in types[: consts + carry]]
    fixed, begin = given[:consts], given[consts:]
    rows = [[_drawn(rng, t, sizes) for t in types[consts + carry :]] for _ in range(_STEPS)]

    def last(order: Sequence[int]) -> Sequence[Any]:
        carried: list[Any] = begin
        for step in order:
            out = replay(body, [*fixed, *carried, *rows[step]])[:carry]
            pairs = zip(out, carried, strict=True)
            carried = [new if is_float(new.dtype) else old for new, old in pairs]
        return carried

    with inside(sizes):
        return last(range(_STEPS)), last(_OTHER_ORDER)


def _drawn(rng: np.random.Generator, kind: ArrayType, sizes: dict[str, Size]) -> Any:
    """Numbers that most functions take: positive ones, matrices that have an inverse and a
    Cholesky factor, and indices of whatever has two elements.
    """
    shape = substitute(kind.shape, sizes)
    if not is_float(kind.dtype):
        return rng.integers(0, 2, shape).astype(kind.dtype)
    drawn = rng.uniform(0.5, 1.5, shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        drawn = (drawn + np.swapaxes(drawn, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    return np.asarray(drawn, kind.dtype)


def _differ(a: Any, b: Any) -> bool:
    """Whether these are finite and not the same: what is not finite says nothing."""
    a, b = np.asarray(a), np.asarray(b)
    if not (np.isfinite(a).all() and np.isfinite(b).all()) or not a.size:
        return False
    return bool(np.abs(a - b).max() > _ROUNDING * max(np.abs(a).max(), np.abs(b).max()))
