"""Trees of arrays: dict (insertion order), list, tuple, namedtuple and plain dataclasses, on
optree.

Arrays are leaves; Python numbers, strings, None and callables are static, part of the structure.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import optree

from wengert.core.op import Op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType


class _Leaf:
    """Prints as * where a structure is shown."""

    def __repr__(self) -> str:
        return "*"


_NAMESPACE = "wengert"
_LEAF = _Leaf()  # stands where a leaf was taken out
_LEAF_TYPES = (np.ndarray, Tensor, np.generic, ArrayType)
# Types that need no look: plain leaves, and the dataclasses optree has been told of. An op in a
# tree is a callable, and static.
_registered: set[type] = {np.ndarray, Tensor, float, int, bool, str, Op}
Tree: TypeAlias = Any

# Dictionaries keep the order in which they were filled, here and only in this namespace. The
# context lasts as long as this name: dropped, it would put the sorted order back.
_registering = threading.Lock()
_insertion_order = optree.dict_insertion_ordered(True, namespace=_NAMESPACE)
_insertion_order.__enter__()


class Structure:
    """A tree without its leaves; compares by shape of the tree and by its static values."""

    __slots__ = ("spec", "static")

    def __init__(self, spec: Any, static: tuple[Any, ...]) -> None:
        self.spec = spec
        self.static = static  # per leaf of the spec: a static value, or _LEAF

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        if self.spec != other.spec or self.static != other.static:
            return False
        pairs = zip(self.static, other.static, strict=True)
        return all(a is b or _same_number(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash(self.spec)

    @property
    def count(self) -> int:
        """The number of leaves."""
        return self.static.count(_LEAF)

    def __str__(self) -> str:
        return str(unflatten(self, [_LEAF] * self.static.count(_LEAF)))


def _same_number(a: Any, b: Any) -> bool:
    """Whether static values that compare equal are the same: 1, 1.0 and True, 0.0 and -0.0 are
    not.
    """
    if type(a) is not type(b):
        return False
    return not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b)


def is_leaf(x: Any) -> bool:
    """Whether `x` is an array: a leaf that programs compute with."""
    return type(x) is np.ndarray or isinstance(x, _LEAF_TYPES)


def flatten(tree: Tree) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure that puts them back."""
    values, spec = _flatten(tree)
    found = [x for x in values if is_leaf(x)]
    if len(found) == len(values):
        return values, Structure(spec, (_LEAF,) * len(values))
    return found, Structure(spec, tuple(_LEAF if is_leaf(x) else x for x in values))


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Tree:
    """The tree of this structure with these leaves."""
    static = structure.static
    if len(leaves) != len(static):
        rest = iter(leaves)
        leaves = [next(rest) if x is _LEAF else x for x in static]
    return optree.tree_unflatten(structure.spec, leaves)


def leaves(tree: Tree) -> list[Any]:
    """The arrays of a tree, in order."""
    return flatten(tree)[0]


def paths(tree: Tree) -> list[str]:
    """The path of every leaf, such as ``layers.0.w``."""
    values, spec = _flatten(tree)
    return [
        ".".join(str(getattr(key, "field", key.entry)) for key in path)
        for path, x in zip(spec.accessors(), values, strict=True)
        if is_leaf(x)
    ]


def map(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply `function` to every leaf, together with the leaves at the same places of the other
    trees.

    >>> map(lambda x, y: x + y, {"a": np.ones(2)}, {"a": np.ones(2)})
    {'a': array([2., 2.])}
    """
    first, structure = flatten(tree)
    columns = [first]
    for other in others:
        values, other_structure = flatten(other)
        if len(values) != len(first) or other_structure.spec != structure.spec:
            raise ValueError(
                f"tree.map: given trees {structure} and {other_structure}; their structures must "
                "be equal. Build one from the other."
            )
        columns.append(values)
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def copy(tree: Tree) -> Tree:
    """The same tree with arrays of its own; an array at two places stays one array."""
    copies: dict[int, Any] = {}
    values, structure = flatten(tree)
    return unflatten(structure, [copies.setdefault(id(x), np.array(x)) for x in values])


def arrays(tree: Tree) -> Tree:
    """The tree with its Python numbers turned into arrays."""
    values, spec = _flatten(tree)
    return optree.tree_unflatten(spec, [np.asarray(x) if _is_number(x) else x for x in values])


def weak(tree: Tree) -> list[bool]:
    """For every leaf of `arrays(tree)`: whether it is a Python number, whose dtype gives way to
    others.
    """
    return [_is_number(x) for x in _flatten(tree)[0] if _is_number(x) or is_leaf(x)]


def _is_number(x: Any) -> bool:
    return isinstance(x, bool | int | float) and not isinstance(x, np.generic)


def _flatten(tree: Tree) -> tuple[list[Any], Any]:
    while True:
        values, spec = optree.tree_flatten(tree, namespace=_NAMESPACE)
        kinds = {type(x) for x in values} - _registered
        unknown = {kind for kind in kinds if dataclasses.is_dataclass(kind)}
        if not unknown:
            return values, spec
        for kind in unknown:
            _register(kind)


class _Rest:
    """What a dataclass instance holds beside its fields; it takes no part in comparisons."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.attributes = attributes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest)

    def __hash__(self) -> int:
        return 0


def _register(kind: type) -> None:
    names = tuple(field.name for field in dataclasses.fields(kind))

    def take(x: Any) -> tuple[tuple[Any, ...], _Rest, tuple[str, ...]]:
        rest = {k: v for k, v in getattr(x, "__dict__", {}).items() if k not in names}
        return tuple(getattr(x, name, None) for name in names), _Rest(rest), names

    def build(rest: Any, children: Any) -> Any:
        x: Any = object.__new__(kind)  # not __init__: it may compute, or refuse what is no array
        for name, child in (*zip(names, children, strict=True), *rest.attributes.items()):
            object.__setattr__(x, name, child)
        return x

    with _registering:
        if kind not in _registered:
            optree.register_pytree_node(kind, take, build, namespace=_NAMESPACE)
            _registered.add(kind)
