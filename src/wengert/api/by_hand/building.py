"""Building a graph node by node: its inputs, parameters and handles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import dtypes, tree
from wengert.core.graph import Graph as CoreGraph
from wengert.core.graph import Node
from wengert.core.op import Op
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, type_of
from wengert.core.words.source import user_line
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.interpret.trace import Trace


@dataclass(frozen=True, eq=False)
class Container:
    """A tree of nodes, a struct or a map, and how it was made."""

    tree: Any
    made: tuple[str, tuple[Any, ...], dict[str, Any]]


class Building(CoreGraph):
    """A graph that hands out Tensors for its nodes and keeps the values given to its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.level = Trace(self)
        self._handles: dict[int, Tensor] = {}
        self._given: dict[int, Any] = {}  # values of inputs and parameters
        # Graphs whose handles are valid here, with the number of nodes they share with this one.
        self._kin: list[tuple[CoreGraph, int]] = []

    def input(
        self, value: Any = None, *, shape: Any = None, name: str | None = None, dtype: Any = None
    ) -> Any:
        """An input with a value, or with a shape only; a tree of arrays gives a tree of inputs."""
        return self._source(op.input, value, shape, name, dtype)

    def parameter(
        self, value: Any = None, *, shape: Any = None, name: str | None = None, dtype: Any = None
    ) -> Any:
        """A parameter: like an input, and `backward` accumulates its gradient."""
        return self._source(op.parameter, value, shape, name, dtype)

    def _source(self, source: Op, value: Any, shape: Any, name: str | None, dtype: Any) -> Any:
        kind = source.name
        name = self._fresh_name(kind, name)
        wanted = None if dtype is None else dtypes.canonical(kind, dtype)
        if value is None and shape is None:
            raise ShapeError(
                f"{kind}: neither a value nor a shape was given; one is needed. Pass shape=(…)."
            )
        if value is None:
            t = ArrayType(canonical_shape(kind, shape), wanted or dtypes.float64)
            return self._add_source(source, t, None, name)
        if isinstance(value, list) and not tree.leaves(value):
            value = np.asarray(value, np.float64)
        value = tree.arrays(value)
        if tree.is_leaf(value):
            array = _checked(source, value, name, wanted)
            return self._add_source(source, type_of(array), array, name)
        leaves, structure = tree.flatten(value)
        if not leaves:
            raise DTypeError(
                f"{kind}: given {type(value).__name__} without arrays; a value is an array or a "
                "tree of arrays. Pass one."
            )
        names = [f"{name}.{path}" for path in tree.paths(value)]
        kinds = [source if dtypes.is_float(x.dtype) else op.input for x in leaves]
        checked = [
            _checked(each, x, path, wanted)
            for each, x, path in zip(kinds, leaves, names, strict=True)
        ]
        handles = [
            self._add_source(each, type_of(array), array, path)
            for each, array, path in zip(kinds, checked, names, strict=True)
        ]
        return Container(tree.unflatten(structure, handles), (kind, (), {}))

    def _add_source(self, source: Op, t: ArrayType, value: Any, name: str) -> Tensor:
        node = Node(source, (), {"name": name, "type": t}, t, user_line())
        number = self.append(node)
        self.inputs.append(number)
        if value is not None:
            self._given[number] = value
        return self.handle(number)

    def _fresh_name(self, kind: str, name: str | None) -> str:
        taken = {self.name(number).split(".")[0] for number in self.inputs}
        if name is None:
            prefix = "x" if kind == "input" else "p"
            return next(
                f"{prefix}{i}" for i in range(len(taken) + 1) if f"{prefix}{i}" not in taken
            )
        if name in taken:
            raise ValueError(
                f"{kind}: name {name!r} is taken in this graph; names must differ. Choose another."
            )
        return name

    def append_zeros(self, t: ArrayType) -> int:
        """A new node of zeros."""
        params = {"shape": t.shape, "fill_value": 0, "dtype": t.dtype}
        return self.append_value(self.level.process(op.full, (), params))

    def append_value(self, value: Any) -> int:
        """The number of a node with this value: a Tensor of this graph, or a constant."""
        return int(self.level.lift(value).handle)

    def handle(self, number: int) -> Tensor:
        """The Tensor that stands for a node of this graph."""
        if number not in self._handles:
            self._handles[number] = self.level.tensor(number)
        return self._handles[number]

    def number(self, node: Any) -> int:
        """The number of a node, given as a handle of this graph (or of one it came from) or as a
        number.
        """
        if isinstance(node, Tensor):
            owner = node.level.graph if isinstance(node.level, Trace) else None
            if owner is self or any(owner is kin and node.handle < n for kin, n in self._kin):
                return int(node.handle)
            raise TraceError(
                "Graph: given a node of another graph; a node belongs to the graph that made it. "
                "Build it in this graph, or ask the other one."
            )
        if isinstance(node, int) and not isinstance(node, bool) and 0 <= node < len(self.nodes):
            return node
        raise ValueError(
            f"Graph: given {node!r}; a node is a handle this graph returned, or a number below "
            f"{len(self.nodes)}. Check where it came from."
        )


def _checked(source: Op, value: Any, name: str, dtype: Any) -> Any:
    """A copy of a value for an input or a parameter."""
    array = np.array(value, dtype=dtype)
    dtypes.require_supported(source.name, repr(name), array.dtype)
    if source is op.parameter and not dtypes.is_float(array.dtype):
        raise DTypeError(
            f"parameter: {name!r} has dtype {array.dtype}; a parameter must be a float to have a "
            "gradient. Convert it with astype(np.float64), or make it an input."
        )
    return array
