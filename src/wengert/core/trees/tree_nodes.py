"""Nodes of trees, on optree: which objects are opened, and how they are put together again.

optree is written in C++, and the end of the process must not interrupt it.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import optree

from wengert.core.op import Op
from wengert.core.process.ending import ending
from wengert.core.tensor import Tensor
from wengert.core.trees.same import same
from wengert.core.types import ArrayType
from wengert.core.values.spectrum import Spectrum
from wengert.core.words.named_dict import NamedDict
from wengert.core.words.noticed.hidden import (
    can_hide,
    hiding_attribute,
    require_declared,
    require_declared_in_class,
)

Tree: TypeAlias = Any
TreePlace: TypeAlias = tuple[tuple[type, Any], ...]  # for each node on the way its type and the key
LEAF_TYPES = (Tensor, np.ndarray, np.generic, ArrayType)
_NAMESPACE = "wengert"
# Types of leaves that need no look: plain ones, and static values that hold no arrays. An op in a
# tree is a callable, and static.
_PLAIN: set[type] = {np.ndarray, Tensor, float, int, bool, str, Op}
# Dicts and tuples that only say more where they are misused: in trees they are plain ones.
_LIKE_PLAIN: dict[type, type] = {NamedDict: dict, Spectrum: tuple}
_registered: set[type] = set()  # the dataclasses optree has been told of
_registering = threading.Lock()

# Dictionaries keep the order in which they were filled, here and only in this namespace. The
# context lasts as long as this name: dropped, it would put the sorted order back.
_insertion_order = optree.dict_insertion_ordered(True, namespace=_NAMESPACE)
_insertion_order.__enter__()


@ending.whole
def opened_tree(tree: Tree) -> tuple[list[Any], Any, set[type]]:
    """Values, spec, and the types among the values that must be looked at."""
    if ending.near:
        ending.pass_or_stay()
    while True:
        values, spec = optree.tree_flatten(tree, namespace=_NAMESPACE)
        kinds = {type(x) for x in values} - _PLAIN
        if not kinds.isdisjoint(_LIKE_PLAIN):
            tree = rebuilt(spec, [plain(x) for x in values])
            continue
        # Another thread may have registered one of them meanwhile.
        unknown = {kind for kind in kinds if dataclasses.is_dataclass(kind)}
        if not unknown:
            return values, spec, kinds
        for kind in unknown:
            _register(kind)


def plain(x: Any) -> Any:
    """A dict or tuple in the place of one that only says more where it is misused."""
    kind = _LIKE_PLAIN.get(type(x))
    return x if kind is None else kind(x)


def hiding(values: Sequence[Any], kinds: set[type]) -> Iterator[tuple[int, str]]:
    """Where an object of these types, which is no node of a tree, holds arrays, and as what."""
    suspect = {k for k in kinds if not issubclass(k, LEAF_TYPES) and can_hide(k)}
    _PLAIN.update(kinds - suspect)
    for i, x in enumerate(values):
        name = hiding_attribute(x) if type(x) in suspect else None
        if name is not None:
            yield i, name


@ending.whole
def everything(tree: Tree) -> list[Any]:
    if ending.near:
        ending.pass_or_stay()
    return optree.tree_leaves(tree, none_is_leaf=True, namespace=_NAMESPACE)


def of_plain_nodes(tree: Tree) -> Tree:
    """The tree, with plain dicts and tuples for those that only say more."""
    values, spec, _ = opened_tree(tree)
    return rebuilt(spec, values)


@ending.whole
def places(tree: Tree) -> list[tuple[TreePlace, Any]]:
    """All that a tree of plain nodes holds, also None, with the keys that lead to it."""
    if ending.near:
        ending.pass_or_stay()
    accessors, values, _ = optree.tree_flatten_with_accessor(
        tree, none_is_leaf=True, namespace=_NAMESPACE
    )
    return [
        (tuple((_family(key.type), key.entry) for key in accessor), x)
        for accessor, x in zip(accessors, values, strict=True)
    ]


def _family(kind: type) -> type:
    """The kind of node within which equal keys mean the same."""
    return dict if issubclass(kind, dict) else kind


@ending.whole
def ends_before(parts: Tree, tree: Tree) -> bool:
    """Whether a tree has the form of another, or ends before it does; both of plain nodes."""
    if ending.near:
        ending.pass_or_stay()
    try:
        optree.broadcast_prefix(parts, tree, none_is_leaf=True, namespace=_NAMESPACE)
    except ValueError:
        return False
    return True


@ending.whole
def rebuilt(spec: Any, values: Sequence[Any]) -> Tree:
    """The tree, or node, of a spec with these values."""
    if ending.near:
        ending.pass_or_stay()
    return optree.tree_unflatten(spec, values)


@ending.whole
def accessors_of(spec: Any) -> Any:
    if ending.near:
        ending.pass_or_stay()
    return spec.accessors()


@ending.whole
def is_namedtuple(kind: type) -> bool:
    """Whether this is a type of named tuples."""
    if ending.near:
        ending.pass_or_stay()
    return bool(optree.is_namedtuple_class(kind))


class _Rest:
    """What a dataclass instance holds beside its fields; compares by value."""

    def __init__(self, attributes: dict[str, Any], size: int) -> None:
        self.attributes = attributes
        self.size = size  # how many its __dict__ holds with its fields; -1 where it has none

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest) and same(self.attributes, other.attributes)

    def __hash__(self) -> int:
        return hash(frozenset(self.attributes))

    def __repr__(self) -> str:
        return ", ".join(self.attributes)


def rest_of(node: Any) -> tuple[dict[str, Any], int]:
    """What an instance of a dataclass holds beside its fields, where a spec has it as a node; and
    how many attributes its __dict__ has, or -1.
    """
    rests: list[_Rest] = []
    node.walk([None] * node.num_leaves, lambda _kind, data, _children: rests.append(data))
    return rests[-1].attributes, rests[-1].size


def _register(kind: type) -> None:
    require_declared_in_class(kind)
    names = tuple(field.name for field in dataclasses.fields(kind))

    def take(x: Any) -> tuple[tuple[Any, ...], _Rest, tuple[str, ...]]:
        held = getattr(x, "__dict__", None)
        rest = {k: v for k, v in held.items() if k not in names} if held else {}
        if rest:
            require_declared(kind, rest)
        others = _Rest(rest, -1 if held is None else len(held))
        return tuple(getattr(x, name, None) for name in names), others, names

    def build(rest: Any, children: Any) -> Any:
        x: Any = object.__new__(kind)  # not __init__: it may compute, or refuse what is no array
        for name, child in (*zip(names, children, strict=True), *rest.attributes.items()):
            object.__setattr__(x, name, child)
        return x

    with _registering:
        if kind not in _registered:
            optree.register_pytree_node(kind, take, build, namespace=_NAMESPACE)
            _registered.add(kind)
