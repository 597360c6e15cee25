"""Bound: a function of the model, compiled, on the live parameters of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from wengert.api.eager import eager, is_eager
from wengert.core import tree
from wengert.runtime.entry import never
from wengert.train.batch import prepared
from wengert.train.data import Data
from wengert.train.engine import Engine
from wengert.train.program import cast_floats, leaves_of
from wengert.train.programs import Programs
from wengert.train.results import with_sizes

REMEMBERED = 16


class Bound:
    """`bound(*args)` is `f(model, *args)` on the live parameters: nothing is copied, and no tree is
    flattened.
    """

    def __init__(
        self, engine: Engine, f: Callable[..., Any], names: Callable[[int], Sequence[str]]
    ) -> None:
        plan = engine.plan
        storage, cast = plan.storage, plan.cast

        def function(weights: Any, fixed: Any, *args: Any) -> Any:
            model = storage.tree(leaves_of(storage, weights, fixed))
            return with_sizes(f(model, *(cast_floats(cast, x) for x in args)))

        self._weights = tuple(segment.weights for segment in storage.trained)
        self._fixed = engine.fixed
        self._cast, self._names = cast, names
        self._compiled = engine.compiled
        self._programs = Programs(
            function, ("weights", "fixed"), names, (), (), engine.threads, "ignore"
        )
        self._entry: Any = never

    def __call__(self, *args: Any) -> Any:
        if self._compiled and not is_eager():
            found = self._entry(self._weights, self._fixed, *args)
            if found is not NotImplemented:
                return found
        return self._call_slowly(args)

    def _call_slowly(self, args: Sequence[Any]) -> Any:
        names = self._names(len(args))
        args = [prepared(name, x, self._cast) for name, x in zip(names, args, strict=True)]
        own = (self._weights, self._fixed)
        if not self._compiled or is_eager():
            with eager():
                return self._programs.plain(len(args))(*own, *args)
        compiled = self._programs.find(own, args)
        found = compiled(*own, *args)
        self._entry = compiled.executable(*own, *args).entry
        return found


class BoundFunctions:
    """Bound functions that were used last. A lambda in a loop is a new object every time around; it
    is found again by its code and by what it has taken from outside.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, Bound]] = {}  # with the function: its parts must live

    def find(self, f: Callable[..., Any], bind: Callable[[Any], Bound]) -> Bound:
        key = _identity(f)
        if key not in self._known:
            self._known[key] = f, bind(f)
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]
        return self._known[key][1]


def _identity(f: Any) -> Any:
    if not isinstance(f, FunctionType):
        return id(f)
    cells = (cell.cell_contents for cell in f.__closure__ or ())
    return f.__code__, id(f.__globals__), *map(id, cells), *map(id, f.__defaults__ or ())


def weighted_mean(bound: Bound, data: Data) -> Any:
    """The mean of what a function returns over all batches, weighted by their rows: a tree, with
    Python floats for scalars.
    """
    totals: list[Any] = []
    structure: tree.Structure | None = None
    for rows, batch in data.batches(None, drop_last=False):
        leaves, structure = tree.flatten(tree.arrays(bound(*batch)))
        shares = [np.asarray(x, np.float64) * rows for x in leaves]
        totals = [a + b for a, b in zip(totals, shares, strict=True)] if totals else shares
    assert structure is not None
    means = [x / data.rows for x in totals]
    return tree.unflatten(structure, [float(x) if np.ndim(x) == 0 else x for x in means])
