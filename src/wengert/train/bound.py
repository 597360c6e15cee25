"""Bound: a function of the model, compiled, on the live parameters of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from wengert.api.eager import eager, is_eager
from wengert.core import tree
from wengert.core.dims import Dim, Shape
from wengert.errors import ShapeError
from wengert.runtime.entry import never
from wengert.train.batch import prepared
from wengert.train.data import Data
from wengert.train.engine import Engine
from wengert.train.program import cast_floats, leaves_of
from wengert.train.programs import Programs
from wengert.train.results import with_sizes
from wengert.train.uncopied import Uncopied

REMEMBERED = 16


class Bound(Uncopied):
    """`bound(*args)` is `f(model, *args)` on the live parameters: nothing is copied, and no tree is
    flattened.
    """

    _otherwise = "Bind the function to the other step."

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
        self.open_shapes: list[Shape] | None = None  # of the last result, where sizes were open

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
            self.open_shapes = None
            with eager():
                return self._programs.plain(len(args))(*own, *args)
        compiled = self._programs.find(own, args)
        found = compiled(*own, *args)
        executable = compiled.executable(*own, *args)
        self._entry, self.open_shapes = executable.entry, None
        if any(isinstance(size, Dim) for t in executable.input_types for size in t.shape):
            self.open_shapes = [t.shape for t in executable.output_types]
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
    try:
        cells = [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError:  # a name that is not bound yet
        return id(f)
    named = f.__kwdefaults__ or {}
    taken = (*cells, *(f.__defaults__ or ()), *named.values())
    return f.__code__, id(f.__globals__), *named, *map(id, taken)


def weighted_mean(bound: Bound, data: Data) -> Any:
    """The mean of what a function returns over all batches, weighted by their rows: a tree, with
    Python floats for scalars.
    """
    totals: list[Any] = []
    structure: tree.Structure | None = None
    shapes: list[Shape] | None = None  # what a result has for every number of rows
    for rows, batch in data.batches(None, drop_last=False):
        found = tree.arrays(bound(*batch))
        leaves, structure = tree.flatten(found)
        if shapes is None:
            shapes = bound.open_shapes or _shapes_elsewhere(bound, data, leaves)
        _require_means(found, leaves, shapes, rows)
        shares = [np.asarray(x, np.float64) * rows for x in leaves]
        totals = [a + b for a, b in zip(totals, shares, strict=True)] if totals else shares
    assert structure is not None
    means = [x / data.rows for x in totals]
    return tree.unflatten(structure, [float(x) if np.ndim(x) == 0 else x for x in means])


def _shapes_elsewhere(bound: Bound, data: Data, leaves: Sequence[Any]) -> list[Shape]:
    """The shapes of a result for another number of rows, where no other batch would tell whether
    those of the first one follow its rows: computed once more. Else those of the first batch.
    """
    shapes = [np.shape(x) for x in leaves]
    alike = data.rows % data.size == 0 and data.size > 1
    if not alike or not any(shapes):
        return shapes
    try:
        fewer = tree.leaves(tree.arrays(bound(*data.first(data.size - 1))))
    except Exception:  # a function for batches of this size only
        return shapes
    return [np.shape(x) for x in fewer]


def _require_means(found: Any, leaves: Sequence[Any], shapes: Sequence[Shape], rows: int) -> None:
    """Refuse results that have an axis of the batch: their mean over batches means nothing."""
    for path, x, other in zip(tree.paths(found), leaves, shapes, strict=True):
        shape = np.shape(x)
        if shape != other:
            pairs = zip(shape, other, strict=False)
            axis = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
            where = f" at {path!r}" if path else ""
            raise ShapeError(
                f"TrainStep.evaluate: the function returned shape {shape}{where} for a batch of "
                f"{rows}; it must return means over the batch, whose shapes do not follow its "
                f"rows. Take the mean over axis {axis}."
            )
