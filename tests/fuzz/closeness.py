"""How far a compiled result may lie from the eager one: as far as rounding carries it.

Compiled code may round differently wherever an op is not exact: another order of a sum, another
exp. What becomes of such a difference depends on the program that follows. So the program's graph
is run a few times with noise: the result of every op that is not exact moves by about as much as
two correct implementations differ, and exact ops carry that on. Some runs begin at the result in a
wider dtype, because NumPy's own may be far from it: it adds up rows one after the other. How far
the outputs then scatter is how far compiled code may be off. A program of exact ops does not
scatter at all, and must agree bit for bit; where an element jumps (a floor, a branch, a tie), noise
makes it jump too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from wengert.core.bind import bind
from wengert.core.dims import substitute
from wengert.core.emit import NumpyEmit
from wengert.core.graph import Graph, Node
from wengert.core.lowering import SpecialKernel
from wengert.core.table import op
from wengert.core.types import ArrayType, type_of
from wengert.interpret.trace import composite_body

Array = np.ndarray[Any, Any]
SOURCES = (op.input, op.parameter, op.constant, op.size, op.full)  # nothing is computed
REFUSALS = (ValueError, TypeError, IndexError, np.linalg.LinAlgError)  # of an op
RUNS = 10
# Instructions that are not alike everywhere.
FUNCTIONS = ("exp", "expm1", "log", "log1p", "pow", "sin", "cos")
ULPS = 2.0  # how far two correct implementations of an op may differ, in units of the last place
THOUSANDTH = 1e-3  # so far that results do not meet operands by chance
FACTOR = 8.0  # how much farther than the noisy runs a compiled program may go


class Noise:
    """One noisy evaluation of graphs: each op is moved at its operands or at its result, as NumPy
    finds it or as it should be.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.at_result = seed % 2 == 0
        self.precise = seed % 4 == 0

    def emit(self) -> type[NumpyEmit]:
        """Instructions with noise, for ops that are algorithms: small errors inside may grow."""

        def moved(instruction: Any) -> Any:
            return staticmethod(lambda *x: self._jittered(np.asarray(instruction(*x)), False))

        return type(
            "NoisyEmit", (NumpyEmit,), {name: moved(getattr(NumpyEmit, name)) for name in FUNCTIONS}
        )

    def outputs(self, graph: Graph, given: Sequence[Any]) -> list[Any]:
        values: dict[int, Any] = dict(zip(graph.inputs, given, strict=True))
        for number, node in enumerate(graph.nodes):
            if number not in values:
                operands = [None if i is None else values[i] for i in node.operands]
                values[number] = self._value(node, operands)
        return [values[number] for number in graph.returns]

    def _value(self, node: Node, operands: list[Any]) -> Any:
        if node.op is op.pick:
            return operands[0][node.params["index"]]
        if node.op is op.constant:
            return node.params["value"]
        params = node.params
        if node.op.body is not None:
            types = [None if x is None else type_of(x) for x in operands]
            body = composite_body(node.op, types, params)
            found = self.outputs(body, [x for x in operands if x is not None])
            return tuple(found) if isinstance(node.type, tuple) else found[0]
        value = bind(node.op, operands, params)
        if isinstance(value, tuple):
            factors = isinstance(node.op.lower, SpecialKernel)  # else bodies, moved inside
            return self._moved_together(node, operands, params, value) if factors else value
        if value.dtype.kind != "f" or node.op in SOURCES:
            return value
        return self._turned(value if node.op.exact else self._moved(node, operands, params, value))

    def _turned(self, value: Array) -> Array:
        """The sign of a zero that was computed is not promised."""
        zero = (value == 0) & (self.rng.random(value.shape) < 0.5)
        return np.where(zero, -value, value).astype(value.dtype)

    def _moved(self, node: Node, operands: list[Any], params: dict[str, Any], value: Array) -> Any:
        """The value as another implementation might find it."""
        if self.at_result:
            found = _in_wider_dtype(node, operands, params, value) if self.precise else value
            other = self._jittered(found, False) + self._partial_sums(node, operands, params)
        else:
            near = [self._jittered(x, node.op.kind == "primitive") for x in operands]
            try:
                other = bind(node.op, near, params)
            except REFUSALS:
                other = value
        chosen = _chosen(node, value, operands, params)
        if node.op.kind == "primitive" and chosen.any():
            chosen &= self._chosen_elsewhere(node, operands, params)
        return np.where(chosen, value, other).astype(value.dtype)

    def _moved_together(
        self, node: Node, operands: list[Any], params: dict[str, Any], values: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Several results of one op: factors of a matrix, each as exact as its largest number."""
        if not self.at_result:
            values = bind(node.op, [self._jittered(x, True) for x in operands], params)
            return tuple(map(self._turned, values))
        return tuple(self._turned(self._jittered(x, True)) for x in values)

    def _partial_sums(self, node: Node, operands: list[Any], params: dict[str, Any]) -> Any:
        """What rounding of partial sums makes: they are as large as the sum of all sizes, also
        where the sum itself is small.
        """
        if node.op.kind not in ("linear", "bilinear"):
            return 0.0
        sizes = [np.abs(x) if _is_float(x) else x for x in operands]
        size = np.asarray(bind(node.op, sizes, params))
        by = self.rng.uniform(-1, 1, size.shape) * (np.finfo(size.dtype).eps / 8)
        return np.where(np.isfinite(size), size * by, 0.0).astype(size.dtype)

    def _chosen_elsewhere(self, node: Node, operands: list[Any], params: dict[str, Any]) -> Any:
        """Which elements are elements of other operands, too: inv([[2, 1], [3, 2]]) is [[2, -1],
        [-3, 2]] by chance, while max always takes one.
        """
        near = [self._jittered(x, True, THOUSANDTH) for x in operands]
        try:
            value = bind(node.op, near, params)
        except REFUSALS:
            return False
        return _chosen(node, value, near, params)

    def _jittered(self, x: Any, whole: bool, far: float = 0.0) -> Any:
        """An array moved by units of the last place, its own or (`whole`) the largest one's; or
        farther.
        """
        if not _is_float(x) or x.size == 0:
            return x
        unit = max(ULPS * np.finfo(x.dtype).eps, far)
        size = (
            np.max(np.abs(x), where=np.isfinite(x), initial=0)
            if whole and x.ndim > 1
            else np.abs(x)
        )
        # Never nothing, as a run must tell, and never twice the same: errors of two ops in a row
        # could cancel in every run.
        by = self.rng.choice((-unit, unit), x.shape) * self.rng.uniform(1, 2, x.shape)
        return np.where(np.isfinite(x), x + size * by, x).astype(x.dtype)


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _in_wider_dtype(
    node: Node, operands: Sequence[Any], params: dict[str, Any], value: Array
) -> Array:
    """The value without the rounding inside of an op of many elements, where NumPy has that."""
    if node.op.kind == "elementwise":
        return value
    wider = np.float64 if value.dtype == np.float32 else np.longdouble
    try:
        found = node.op.numpy(*(x.astype(wider) if _is_float(x) else x for x in operands), **params)
    except REFUSALS:
        return value
    return np.asarray(found).astype(value.dtype)


def _chosen(node: Node, value: Array, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Which elements were taken from an operand as they are, by max, clip, relu …: not rounded."""
    arrays = [np.abs(x) for x in operands if isinstance(x, np.ndarray)]
    size = np.abs(value)
    if node.op.kind == "elementwise":
        found = size == 0
        return np.logical_or.reduce(
            [found, *(np.broadcast_to(size == x, found.shape) for x in arrays)]
        )
    found = np.isin(size, np.concatenate([[0.0], *(x.reshape(-1) for x in arrays)]))
    if node.op.kind in ("linear", "bilinear"):  # a sum is exact where one term alone is not 0
        sizes = [np.abs(x) if _is_float(x) else x for x in operands]
        found &= bind(node.op, sizes, params) == size
    return found


def with_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph, and the bodies in it, with numbers for its Dims."""

    def change(value: Any) -> Any:
        if isinstance(value, Graph):
            return with_sizes(value, sizes)
        if isinstance(value, ArrayType):
            return ArrayType(substitute(value.shape, sizes), value.dtype)
        return tuple(map(change, value)) if isinstance(value, tuple) else substitute(value, sizes)

    nodes = [
        replace(
            node,
            type=change(node.type),
            params={name: change(each) for name, each in node.params.items()},
        )
        for node in graph.nodes
    ]
    return Graph(nodes, graph.inputs, graph.returns)


def scatter(graph: Graph, given: Sequence[Any], expected: Sequence[Array]) -> list[Array]:
    """How far each output element may be off; inf where noise decides whether it is finite."""
    widths = [np.zeros(y.shape) for y in expected]
    for seed in range(RUNS):
        noise = Noise(seed)
        with (
            np.errstate(all="ignore"),
            patch("wengert.core.emit.NumpyEmit", noise.emit()),
            patch("wengert.ops.control_flow.scan.replay", noise.outputs),
            patch("wengert.ops.control_flow.while_loop.replay", noise.outputs),
            patch("wengert.ops.control_flow.control.replay", noise.outputs),
        ):
            found = noise.outputs(graph, given)
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            widths[i] = np.maximum(widths[i], distance(np.asarray(x), y))
    rounded = _rounded(graph)
    return [
        _with_floor(FACTOR * width, y, number in rounded)
        for width, y, number in zip(widths, expected, graph.returns, strict=True)
    ]


def _rounded(graph: Graph) -> set[int]:
    """Nodes behind an op that is not exact."""
    found: set[int] = set()
    for number, node in enumerate(graph.nodes):
        exact = node.op.exact or node.op is op.pick or node.op in SOURCES
        if not exact or any(i in found for i in node.operands):
            found.add(number)
    return found


FEW = 8  # elements of an output that noise may leave alone by chance, in all runs


def _with_floor(width: Array, y: Array, rounded: bool) -> Any:
    """Noise may cancel at an element: an output that is not exact may round anywhere."""
    if y.dtype.kind != "f" or not (width.any() or (rounded and y.size <= FEW)):
        return width
    size = np.where(np.isfinite(y), np.abs(y), 0.0)
    return np.maximum(width, ULPS * float(np.finfo(y.dtype).eps) * size)


def distance(x: Array, y: Array) -> Any:
    """Per element; inf where only one is finite, or the two are infinite differently."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        apart = np.abs(x - y)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def bits(x: Any) -> bytes:
    """The bits of an array; all NaNs are one."""
    found = np.array(x)
    if found.dtype.kind == "f":
        found[np.isnan(found)] = np.nan
    return found.tobytes()
