"""Signature: what a program is called with and what it returns, as trees of arrays."""

from __future__ import annotations

import gc
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import Level
from wengert.core.dims import Shape, Size, solve, substitute
from wengert.core.dtypes import require_supported
from wengert.core.tensor import Tensor
from wengert.core.trees.same import same
from wengert.core.types import ArrayType
from wengert.core.words.articles import a_kind
from wengert.errors import TraceError

# What stands in `Structure.static` where a leaf was taken out.
LEAF_MARK: Any = tree.flatten(np.empty(0))[1].static[0]


class Static:
    """An argument that is part of the program, whatever it is. Compares by its value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))  # a NaN, and a lambda, has another hash in every call

    def __repr__(self) -> str:
        return repr(self.value)


def mark_static(args: Sequence[Any], positions: Sequence[int]) -> tuple[Any, ...]:
    """The arguments as a tuple, some of them as `Static`."""
    return tuple(Static(x) if i in positions else x for i, x in enumerate(args))


def passed_on(structure: tree.Structure) -> frozenset[int]:
    """The identities of the static numbers among the arguments, in static arguments too."""
    known = tree.static_numbers(structure)
    for x in structure.static:
        if isinstance(x, Static) and tree.holder(x.value) is None:
            known |= tree.static_numbers(tree.flatten(x.value)[1])
    return known


def is_number(x: Any) -> bool:
    """Whether an argument is a number that programs take: a Python float, or an int that fits in 64
    bits.
    """
    return type(x) is float or (type(x) is int and -(2**63) <= x < 2**63)


def with_numbers(args: Sequence[Any], positions: Collection[int]) -> tuple[Any, ...]:
    """The arguments, with Python numbers at these positions as arrays of their own."""
    return tuple(
        np.asarray(x) if i in positions and is_number(x) else x for i, x in enumerate(args)
    )


@dataclass(frozen=True)
class Signature:
    """What a program is called with and what it returns, as trees of arrays."""

    names: tuple[str, ...]  # of the distinct array arguments
    structure: tree.Structure  # of the arguments
    places: tuple[int, ...]  # which of the distinct arrays each leaf is
    returned: tree.Structure
    donated: tuple[int, ...] = ()  # positions among the distinct arrays
    static: tuple[int, ...] = ()  # positions of the arguments that are part of the program
    early: tuple[int, ...] = ()  # those of the donated that are written whatever happens
    numbers: tuple[int, ...] = ()  # positions of the arguments that are Python numbers

    def with_static(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments, with those that are part of the program marked, and numbers as arrays."""
        given = mark_static(args, self.static)
        return with_numbers(given, [i for i in self.numbers if i < len(given)])

    def by_name(self, args: Sequence[Any]) -> dict[str, Any]:
        """The arrays of the arguments of a call."""
        leaves = tree.leaves(self.with_static(args))
        return {self.names[place]: x for place, x in zip(self.places, leaves, strict=True)}


def output_names(returned: Any) -> list[str]:
    """What messages call the arrays of a tree that a function returns."""
    return [f"output {path}" if path else "the output" for path in tree.paths(returned)]


def structure_of(
    returned: Any, levels: Collection[Level], passed: Collection[int]
) -> tree.Structure:
    """The structure of what a function returned while Tensors of these levels recorded it; refuses
    what no program can return. Numbers are arrays, but those that were `passed` on: static ones of
    the arguments, by their identities.
    """
    holder = tree.holder(returned)
    if holder is not None:
        raise _holding(holder)
    returned = tree.arrays(returned, passed)
    leaves, structure = tree.flatten(returned)
    for name, x in zip(output_names(returned), leaves, strict=True):
        require_supported("compile", name, x.dtype.newbyteorder("="))
    for x in structure.static:
        if _holds_tensor(x, levels):
            raise _holding(x)
    return structure


def _holding(x: Any) -> TraceError:
    return TraceError(
        f"compile: the function returned {a_kind(x)} that holds a Tensor or an array; "
        "what is returned must be arrays, numbers or trees of them. Return a list, a tuple, a dict "
        "or a dataclass."
    )


def _holds_tensor(thing: Any, levels: Collection[Level]) -> bool:
    """Whether a Tensor of these levels lies anywhere inside an object, as in a set or a closure."""
    pending, seen = [thing], set()
    while pending:
        x = pending.pop()
        if id(x) in seen or isinstance(x, type | ModuleType | CodeType):
            continue
        seen.add(id(x))
        if type(x) is Tensor:
            if x.level in levels:
                return True
            pending.append(x._value)  # perhaps an inner one; its level would lead anywhere
        elif isinstance(x, FunctionType):  # without its globals
            pending += [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
        else:
            pending += gc.get_referents(x)
    return False


def bound_sizes(types: Sequence[ArrayType], shapes: Sequence[Shape]) -> dict[str, int] | None:
    """The sizes of the Dims in these types where arrays have these shapes; None where the shapes
    are others.

    >>> from wengert.core.dims import Dim
    >>> n, float64 = Dim("n"), np.dtype("float64")
    >>> bound_sizes([ArrayType((n, 3), float64), ArrayType((n,), float64)], [(2, 3), (2,)])
    {'n': 2}
    >>> bound_sizes([ArrayType((n, 3), float64), ArrayType((n,), float64)], [(2, 3), (5,)])
    """
    sizes: dict[str, Size] = {}
    pairs = zip(types, shapes, strict=True)
    unlike = [(wanted.shape, shape) for wanted, shape in pairs if wanted.shape != shape]
    for wanted, shape in unlike:
        solve(wanted, shape, sizes)
    if any(substitute(wanted, sizes) != shape for wanted, shape in unlike):
        return None
    return {name: size for name, size in sizes.items() if isinstance(size, int)}
