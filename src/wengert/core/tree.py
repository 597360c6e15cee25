"""Trees of arrays: dict (insertion order), list, tuple, namedtuple and plain dataclasses.

Arrays are leaves; Python numbers, strings, None and callables are static, part of the structure.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import starmap
from typing import Any

import numpy as np

from wengert.core.process.ending import ending
from wengert.core.tensor import Tensor
from wengert.core.trees.dropped_maps import warn_if_map_dropped
from wengert.core.trees.foreign import as_numpy
from wengert.core.trees.same import same
from wengert.core.trees.tree_nodes import (
    LEAF_TYPES,
    Tree,
    accessors_of,
    everything,
    hiding,
    opened_tree,
    plain,
    rebuilt,
)
from wengert.core.values.number import Number
from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.core.words.noticed.hidden import hidden_error, is_foreign

__all__ = [
    "Structure",
    "arrays",
    "copy",
    "flatten",
    "is_leaf",
    "leaves",
    "map",
    "paths",
    "unflatten",
    "weak",
]


class _Leaf:
    """Prints as * where a structure is shown."""

    def __repr__(self) -> str:
        return "*"


_LEAF = _Leaf()  # stands where a leaf was taken out
_PLAIN = (bool, int, float, str)
_ZEROS = {kind: kind() for kind in (bool, int, float)}  # each one object


class Structure:
    """A tree without its leaves; compares by shape of the tree and by its static values."""

    __slots__ = ("spec", "static")

    def __init__(self, spec: Any, static: tuple[Any, ...]) -> None:
        self.spec = spec
        self.static = static  # per leaf of the spec: a static value, or _LEAF

    @ending.whole
    def __eq__(self, other: object) -> bool:
        if ending.near:
            ending.pass_or_stay()
        if not isinstance(other, Structure):
            return NotImplemented
        if self.spec != other.spec or len(self.static) != len(other.static):
            return False
        return all(starmap(same, zip(self.static, other.static, strict=True)))

    @ending.whole
    def __hash__(self) -> int:
        if ending.near:
            ending.pass_or_stay()
        return hash(self.spec)

    @ending.whole
    def alike(self, other: Structure) -> bool:
        """Whether the nodes of two trees are the same, whatever their static values."""
        if ending.near:
            ending.pass_or_stay()
        return bool(self.spec == other.spec)

    @property
    def count(self) -> int:
        """The number of leaves."""
        return sum(x is _LEAF for x in self.static)

    def __str__(self) -> str:
        try:
            return str(unflatten(self, [_LEAF] * self.count))
        except Exception:  # a class of the user's that cannot be shown without arrays
            return str(self.spec)


def is_leaf(x: Any) -> bool:
    """Whether `x` is an array: a leaf that programs compute with.

    >>> wg.tree.is_leaf(np.ones(2)), wg.tree.is_leaf([np.ones(2)])
    (True, False)
    """
    return type(x) is np.ndarray or isinstance(x, LEAF_TYPES)


def flatten(tree: Tree) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure that puts them back.

    >>> leaves, structure = wg.tree.flatten({"w": np.ones(2), "b": np.zeros(1)})
    >>> leaves
    [array([1., 1.]), array([0.])]
    """
    values, spec = _flatten(tree)
    held = [x for x in values if is_leaf(x)]
    if len(held) == len(values):
        return values, Structure(spec, (_LEAF,) * len(values))
    return held, Structure(spec, tuple(_LEAF if is_leaf(x) else x for x in values))


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Tree:
    """The tree of this structure with these leaves.

    >>> leaves, structure = wg.tree.flatten({"w": np.ones(2)})
    >>> wg.tree.unflatten(structure, [2 * x for x in leaves])
    {'w': array([2., 2.])}
    """
    static = structure.static
    if len(leaves) != len(static):
        rest = iter(leaves)
        leaves = [next(rest) if x is _LEAF else x for x in static]
    return rebuilt(structure.spec, leaves)


def derivative_form(structure: Structure) -> Structure:
    """The structure of a gradient or tangent: static numbers do not move, and are 0 in it."""
    static = structure.static
    if not any(_is_number(x) for x in static):
        return structure
    return Structure(structure.spec, tuple(_zero(x) if _is_number(x) else x for x in static))


def leaves(tree: Tree) -> list[Any]:
    """The arrays of a tree, in order.

    >>> wg.tree.leaves({"w": np.ones(2), "layers": [np.zeros(1)]})
    [array([1., 1.]), array([0.])]
    """
    return flatten(tree)[0]


def distinct_leaves(trees: Sequence[Tree]) -> tuple[list[Any], tuple[int, ...]]:
    """The arrays of some arguments, and which of them each leaf is. One array at two places of an
    argument is tied: it is one value; in two arguments it is two.
    """
    return distinct([leaves(each) for each in trees])


def distinct(flat: Sequence[Sequence[Any]]) -> tuple[list[Any], tuple[int, ...]]:
    """The same of arguments whose leaves are given."""
    values: list[Any] = []
    places: list[int] = []
    for each in flat:
        seen: dict[int, int] = {}
        for x in each:
            if id(x) not in seen:
                seen[id(x)] = len(values)
                values.append(x)
            places.append(seen[id(x)])
    return values, tuple(places)


def paths(tree: Tree) -> list[str]:
    """The path of every leaf, such as ``layers.0.w``.

    >>> wg.tree.paths({"w": np.ones(2), "layers": [np.zeros(1)]})
    ['w', 'layers.0']
    """
    return [path for _, path, x in _with_accessors(tree) if is_leaf(x)]


def floats(tree: Tree) -> list[tuple[str, float]]:
    """The Python floats in a tree, which are static, with their paths."""
    return [(path, x) for _, path, x in _with_accessors(tree) if type(x) is float]


def floats_beside_arrays(tree: Tree, tuples: bool = False) -> list[tuple[str, float]]:
    """The Python floats in a tree that stand where parameters could: in dicts and lists, and where
    the tree itself is a named tuple; in no field of a dataclass or of a named tuple inside, which
    are settings. In plain tuples only where that is asked for.
    """
    named = isinstance(tree, tuple) and hasattr(tree, "_fields")
    return [
        (path, x)
        for accessor, path, x in _with_accessors(tree)
        if type(x) is float
        and all(
            issubclass(key.type, dict | list) or (tuples and key.type is tuple)
            for key in accessor[int(named) :]
        )
    ]


def with_new_floats(structure: Structure) -> Structure:
    """The structure, with objects of its own for the Python floats in it."""
    static = (x * 1.0 if type(x) is float else x for x in structure.static)
    return Structure(structure.spec, tuple(static))


def plain_values(tree: Tree) -> list[tuple[str, Any]]:
    """The Python numbers and texts in a tree, which are static, with their paths."""
    return [(path, x) for _, path, x in _with_accessors(tree) if type(x) in _PLAIN]


def lists_of_numbers(tree: Tree) -> list[str]:
    """The paths of lists in a tree that hold Python's or NumPy's numbers, and no arrays beside
    them. Of objects that can be called, which are models, the lists are settings.
    """
    if not any(_is_number(x) or isinstance(x, np.generic) for x in _flatten(tree)[0]):
        return []
    only_numbers: dict[str, bool] = {}  # by the path of a list
    for accessor, _, x in _with_accessors(tree):
        kinds = [key.type for key in accessor]
        inner = len(kinds)  # behind which there are lists and tuples only
        while inner and issubclass(kinds[inner - 1], list | tuple):
            inner -= 1
        lists = [i for i in range(inner, len(kinds)) if issubclass(kinds[i], list)]
        if lists and not any(builtins.map(_has_calls, kinds)):
            path = _path(accessor[: lists[0]])
            is_one = _is_number(x) or isinstance(x, np.generic)
            only_numbers[path] = only_numbers.get(path, True) and is_one
    return [path for path, alone in only_numbers.items() if alone]


def _has_calls(kind: type) -> bool:
    """Whether objects of a class can be called; classes themselves always can."""
    return any("__call__" in vars(each) for each in kind.__mro__)


def owners_of_plain_values(tree: Tree) -> dict[str, Any]:
    """What the Python numbers and texts in a tree are in, by their paths."""
    each = _with_accessors(tree)
    return {path: accessor[:-1](tree) for accessor, path, x in each if type(x) in _PLAIN}


def functions(tree: Tree) -> list[tuple[str, Any]]:
    """The functions in a tree, which are static, with their paths."""
    return [(path, x) for _, path, x in _with_accessors(tree) if callable(x) and not is_leaf(x)]


def leaves_with_accessors(tree: Tree) -> list[tuple[Any, str, Any]]:
    """For every leaf the keys that lead to it, as optree has them, its path, and itself."""
    return [each for each in _with_accessors(tree) if is_leaf(each[2])]


def _with_accessors(tree: Tree) -> Iterator[tuple[Any, str, Any]]:
    """For all that a tree holds the keys that lead to it, its path, and itself."""
    values, spec = _flatten(tree)
    for accessor, x in zip(accessors_of(spec), values, strict=True):
        yield accessor, _path(accessor), x


def _path(accessor: Any) -> str:
    return ".".join(str(getattr(key, "field", key.entry)) for key in accessor)


def map(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply `function` to every leaf, together with the leaves at the same places of the other
    trees. An array at two places of each tree is one leaf, and its result stands at both.

    >>> map(lambda x, y: x + y, {"a": np.ones(2)}, {"a": np.ones(2)})
    {'a': array([2., 2.])}
    """
    first, structure = flatten(tree)
    columns = [first]
    for other in others:
        values, other_structure = flatten(other)
        if len(values) != len(first) or not other_structure.alike(structure):
            raise ValueError(
                f"tree.map: given trees {structure} and {other_structure}; their structures must "
                "be equal. Build one from the other."
            )
        columns.append(values)
    rows = list(zip(*columns, strict=True))
    results: list[Any] = []
    ties: dict[tuple[int, ...], Any] = {}  # by the identities of the arrays
    for row in rows:
        place = tuple(id(x) for x in row)
        if place in ties:
            results.append(ties[place])
            continue
        results.append(function(*row))
        if not any(isinstance(x, np.generic) for x in row):  # numbers are never tied
            ties[place] = results[-1]
    warn_if_map_dropped(rows, results)
    return unflatten(structure, results)


def copy(tree: Tree) -> Tree:
    """The same tree with arrays of its own; an array at two places stays one array.

    >>> model = {"w": np.ones(2)}
    >>> wg.tree.copy(model)["w"] is model["w"]
    False
    """
    copies: dict[int, Any] = {}
    values, structure = flatten(tree)
    return unflatten(structure, [copies.setdefault(id(x), np.array(x)) for x in values])


def arrays(tree: Tree, but: Collection[int] = ()) -> Tree:
    """The tree with its Python numbers turned into arrays, but those with these identities.

    >>> wg.tree.arrays({"w": 1.5, "name": "a"})
    {'w': array(1.5), 'name': 'a'}
    """
    values, spec = _flatten(tree)
    return rebuilt(spec, [_array(x) if _is_number(x) and id(x) not in but else x for x in values])


def static_numbers(structure: Structure) -> frozenset[int]:
    """The identities of the static numbers of a tree, and of those that stand for them in
    derivatives: a function that returns one of these passes it on.
    """
    numbers = [x for x in structure.static if _is_number(x)]
    return frozenset(id(each) for x in numbers for each in (x, _zero(x)))


def with_open_numbers(tree: Tree) -> tuple[Tree, tuple[frozenset[str] | None, ...]]:
    """The tree with Numbers, which are known at call time only, as leaves; and per leaf what its
    Number was computed from, None where it is an array.
    """
    values, spec = _flatten(tree)
    if not any(type(x) is Number for x in values):
        return tree, (None,) * sum(is_leaf(x) for x in values)
    keys = tuple(
        x.keys if type(x) is Number else None for x in values if type(x) is Number or is_leaf(x)
    )
    return rebuilt(spec, [x.as_array() if type(x) is Number else x for x in values]), keys


def with_numpy(tree: Tree) -> Tree:
    """The tree with arrays of other libraries turned into NumPy's."""
    values, spec, others = opened_tree(tree)
    if not others or not any(is_foreign(x) for x in values):
        return tree
    return rebuilt(spec, [as_numpy(x) if is_foreign(x) else x for x in values])


def values(tree: Tree) -> list[Any]:
    """All that a tree holds, arrays and static values; also None."""
    opened_tree(tree)
    return everything(plain(tree))


def weak(tree: Tree) -> list[bool]:
    """For every leaf of `arrays(tree)`: whether it is a Python number, whose dtype gives way to
    others.

    >>> wg.tree.weak([2.0, np.ones(2)])
    [True, False]
    """
    return [_is_number(x) for x in _flatten(tree)[0] if _is_number(x) or is_leaf(x)]


def _is_number(x: Any) -> bool:
    if type(x) is Tensor:  # `isinstance` would call its __class__
        return False
    return isinstance(x, bool | int | float | Number) and not isinstance(x, np.generic)


def _zero(x: Any) -> Any:
    """What stands for a static number in derivatives."""
    return next(zero for kind, zero in _ZEROS.items() if isinstance(x, kind))


def _array(x: Any) -> Any:
    return x.as_array() if isinstance(x, Number) else np.asarray(x)


def _flatten(tree: Tree) -> tuple[list[Any], Any]:
    values, spec, others = opened_tree(tree)
    if others:
        for i, name in hiding(values, others):
            raise hidden_error(values[i], name, _path(accessors_of(spec)[i]))
    if len(set(builtins.map(id, values))) < len(values):
        values = _numbers_apart(values)
    return values, spec


def _numbers_apart(values: list[Any]) -> list[Any]:
    """The values, with a NumPy scalar at several places as one object for each. Scalars are
    numbers: `{"a": m, "b": m}` has two, as with Python's, where one array would be tied.
    """
    seen: set[int] = set()
    apart = []
    for x in values:
        if isinstance(x, np.generic):
            if id(x) in seen:
                x = np.asarray(x) if isinstance(x, np.bool_) else x.copy()  # there is one np.True_
            seen.add(id(x))
        apart.append(x)
    return apart


def holder(tree: Tree) -> Any | None:
    """An object in a tree that is no node of it and holds arrays, if there is one."""
    values, _, others = opened_tree(tree)
    return next((values[i] for i, _ in hiding(values, others)), None)


explain_missing_names(globals(), "tree")
del explain_missing_names
