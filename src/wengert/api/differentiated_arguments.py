"""The arguments of a derivative: which of their leaves are variables, and how these move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.noted_floats import noted_floats
from wengert.api.trace import argument_names
from wengert.core import tree
from wengert.core.bind import located
from wengert.core.dtypes import CHARS, float64, require_supported
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.values.number import Number
from wengert.core.words.noticed.lost_writes import Label, require_unwritten
from wengert.core.words.noticed.masked import has_own_arithmetic, is_masked_array, other_array_in
from wengert.core.words.noticed.tied import warn_of_ties
from wengert.core.words.noticed.updated_pairs import note_updated_pair
from wengert.core.words.numbers_in_trees import arrays_instead
from wengert.errors import DTypeError
from wengert.interpret.tape import Tape

Argnums = int | Sequence[int]


class DifferentiatedArguments:
    """The differentiated arguments of a call, flat; one array at two places of an argument is one
    variable. Where numbers move, those inside of trees are variables, too.
    """

    def __init__(
        self,
        name: str,
        args: Sequence[Any],
        argnums: Argnums,
        numbers_move: bool = False,
        looked_at: Callable[..., Any] | None = None,  # the function, to look at Python floats
    ) -> None:
        self.name = name
        self.single = isinstance(argnums, int | np.integer)
        self.args = args
        numbers = _argument_numbers(name, argnums)
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"{name}: argnums {argnums} was given for a call with {len(args)} positional "
                    "arguments; it must name one of them. Pass that argument by position."
                )
        self.numbers = [number % len(args) for number in numbers]
        if len(set(self.numbers)) != len(self.numbers):
            raise ValueError(
                f"{name}: argnums {argnums} was given for a call with {len(args)} positional "
                "arguments; it must name each of them once. Leave out what is repeated."
            )
        for number, arg in enumerate(args):
            if number not in self.numbers:
                other = other_array_in(arg)
                if other is not None:
                    raise _not_plain(name, type(other).__name__)
        chosen = [as_float(args[number]) for number in self.numbers]
        chosen = list(map(tree.arrays, chosen)) if numbers_move else chosen
        flat = [tree.flatten(arg) for arg in chosen]
        if not numbers_move:
            for number, (leaves, _) in zip(self.numbers, flat, strict=True):
                _require_floats(name, leaves, args[number])
        distinct, self.places = tree.distinct([leaves for leaves, _ in flat])
        if len(distinct) < len(self.places):
            for arg in chosen:
                warn_of_ties(name, arg)
        self.leaves: list[Value] = [_plain(name, x) for x in distinct]
        self.structures = [structure for _, structure in flat]
        self._floats = looked_at and noted_floats(name, looked_at, self.structures)
        if self._floats is not None:
            self.structures = self._floats.structures

    @property
    def tape(self) -> Tape | None:
        """The tape that a first call is to be recorded on, where it is looked at."""
        return self._floats.tape if self._floats else None

    def call(self, f: Callable[..., Any], values: Sequence[Value], **named: Any) -> Any:
        """What the function returns, with these values for the differentiated leaves."""
        args, made = list(self.args), self.trees(values)
        for number, each in zip(self.numbers, made, strict=True):
            args[number] = each
        try:
            returned = f(*args, **named)
        except Exception as error:
            note_updated_pair(self.name, self.args, error)
            raise
        if self._floats is not None:
            self._floats.warn_if_met(next(x.dtype for x in self.leaves if x.dtype.kind == "f"))
        rest = iter(self.places)
        for number, each, structure in zip(self.numbers, made, self.structures, strict=True):
            leaves = [values[next(rest)] for _ in range(structure.count)]
            label = _labels(f, len(args), number)
            require_unwritten(self.name, label, structure, leaves, each, returned)
        return returned

    def trees(self, values: Sequence[Value]) -> list[Any]:
        """The differentiated arguments, with these values for their leaves."""
        rest = iter(self.places)
        return [
            tree.unflatten(structure, [values[next(rest)] for _ in range(structure.count)])
            for structure in self.structures
        ]

    def gradients(self, values: Sequence[Value]) -> list[Any]:
        """Trees like the differentiated arguments, with these gradients for their leaves."""
        rest = iter(self.places)
        return [
            tree.unflatten(
                tree.derivative_form(structure),
                [values[next(rest)] for _ in range(structure.count)],
            )
            for structure in self.structures
        ]

    def result(self, values: Sequence[Value]) -> Any:
        """The same, in the form of `argnums`: one tree or a tuple of trees."""
        trees = self.gradients(values)
        return trees[0] if self.single else tuple(trees)


def _labels(f: Callable[..., Any], count: int, number: int) -> Label:
    return lambda path: ".".join((argument_names(f, count)[number], *path))


def _argument_numbers(name: str, argnums: Any) -> tuple[int, ...]:
    numbers = tuple(argnums) if isinstance(argnums, list | tuple | range) else (argnums,)
    if not all(isinstance(number, int | np.integer) for number in numbers):
        raise TypeError(
            f"{name}: argnums={argnums!r} was given; it is the position of an argument, or a tuple "
            "of positions. Count the arguments from 0: argnums=1 is the second one."
        )
    return tuple(map(int, numbers))


def _plain(name: str, x: Value) -> Value:
    """A leaf as an ordinary array in the machine's byte order."""
    if is_masked_array(x) or has_own_arithmetic(x):
        raise _not_plain(name, type(x).__name__)
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        return x.astype(x.dtype.newbyteorder("="))
    if x.dtype.char not in CHARS:
        require_supported(name, "an array of the arguments", x.dtype)
    return x


def _not_plain(name: str, kind: str) -> DTypeError:
    return DTypeError(
        f"{name}: given {kind}; derivatives take plain arrays. Convert it with np.asarray, with "
        "x.filled(value) if it is masked, and to one unit before if it has units."
    )


def _require_floats(name: str, leaves: Sequence[Value], arg: Any) -> None:
    if not any(x.dtype.kind == "f" for x in leaves):
        what = f"has dtype {leaves[0].dtype}" if leaves else f"is {type(arg).__name__}"
        repair = "Convert it with astype(np.float64)"
        instead = arrays_instead(arg)
        if instead is not None:
            what = (
                f"is {type(arg).__name__} that holds nothing but Python numbers, which are settings"
            )
            repair = instead
        error = DTypeError(
            f"{name}: the argument to differentiate by {what}; it must hold float arrays. "
            f"{repair}, or choose another argument with argnums."
        )
        raise located(error, leaves)


def as_float(arg: Any) -> Any:
    """An argument to differentiate by; a bare Python number counts as a float64 scalar."""
    if isinstance(arg, Number):
        return op.astype(arg, float64)
    return np.asarray(arg, np.float64) if isinstance(arg, bool | int | float) else arg


def tangents_of(
    arguments: DifferentiatedArguments, ds: Sequence[Value], whole: tuple[Any, ...]
) -> list[Value | None]:
    """The tangent of each variable, from those at all its places, which must be one."""
    first: dict[int, int] = {}
    for at, which in enumerate(arguments.places):
        before = first.setdefault(which, at)
        if not _same(ds[before], ds[at]):
            paths = tree.paths(whole)
            error = ValueError(
                f"jvp: the tangents at {paths[before]} and {paths[at]} differ, or are computed "
                "apart; one array stands at both, and it moves as one. Give both the same "
                "tangent, or copy the array."
            )
            raise located(error, ds)
    return [_tangent_of(x, ds[first[i]]) for i, x in enumerate(arguments.leaves)]


def _same(one: Value, other: Value) -> bool:
    """Whether values are known to be equal; what is traced is equal to itself only."""
    while type(one) is Tensor and type(other) is Tensor and one is not other:
        one, other = one._value, other._value
    if one is other:
        return one is not None
    arrays = isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic)
    return arrays and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _tangent_of(x: Value, dx: Value) -> Value | None:
    """The tangent of a float; integers and bools do not move."""
    if x.dtype.kind == "f":
        return dx
    if isinstance(dx, np.ndarray) and dx.any():
        raise DTypeError(
            f"jvp: an argument of dtype {x.dtype} was given a tangent that is not zero; only "
            "floats move. Convert it with astype(np.float64), or give it zeros."
        )
    return None
