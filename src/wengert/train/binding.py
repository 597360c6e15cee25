"""Bound: a function of the model, compiled, on the live parameters of a step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.api.eager import eager, is_eager
from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.dims import Dim, Shape
from wengert.core.table import op
from wengert.errors import ShapeError
from wengert.ops.random import Generator
from wengert.runtime.entry import never
from wengert.runtime.live import recording_threads, refuse_calling
from wengert.train.batch import AVERAGED, GENERATOR, Parameters, prepared
from wengert.train.data import Data
from wengert.train.engine import Engine
from wengert.train.step_function import averages_of, cast_floats, leaves_of
from wengert.train.step_programs import Programs
from wengert.train.step_results import with_sizes
from wengert.train.uncopied import Uncopied

PLAIN = "Call the function itself that was bound, with the model as an argument."
# Where random numbers come from that are no training step's: steps are counted from 0.
APART, EVALUATING = -1, -1  # the latter: in the place of the number of a bound function


class Bound(Uncopied):
    """`bound(*args)` is `f(model, *args)` on the live parameters: nothing is copied, and no tree is
    flattened. The random numbers of a generator depend on the seed of the step, on the number of
    this function, and on how often it was called before.
    """

    _otherwise = "Bind the function to the other step."

    def __init__(
        self,
        engine: Engine,
        f: Callable[..., Any],
        parameters: Parameters,
        number: int,
        dims: Dims | None = None,
    ) -> None:
        self.function = f
        storage, cast = engine.plan.storage, engine.plan.cast

        weights = tuple(segment.weights for segment in storage.trained)
        own: dict[str, Any] = {"weights": weights, "fixed": engine.fixed}
        if parameters.wants_averaged:
            states = [segment.states for segment in storage.trained]
            own["averages"] = tuple(averages_of(storage, weights, states))
        names = (*own, "draw") if parameters.wants_rng else tuple(own)  # a draw is of its call

        def function(*values: Any) -> Any:
            own, args = dict(zip(names, values, strict=False)), values[len(names) :]
            fixed, given = own["fixed"], {}
            if "averages" in own:
                given[AVERAGED] = storage.tree(leaves_of(storage, own["averages"], fixed))
            if "draw" in own:
                given[GENERATOR] = _generator(fixed[2], own["draw"])
            model = storage.tree(leaves_of(storage, own["weights"], fixed))
            args = tuple(cast_floats(cast, x) for x in args)
            return with_sizes(parameters.call(f, [model, *args], given))

        self._own: tuple[Any, ...] = tuple(own.values())
        self._draws, self._number = parameters.wants_rng, number
        self._calls = itertools.count()
        self._cast, self._parameters, self._names = cast, parameters, parameters.names
        self._compiled, self._guard = engine.compiled, engine.guard
        self._programs = Programs(
            function, names, parameters.names, (), (), engine.threads, "ignore", f, dims
        )
        self._entry: Any = never
        self.open_shapes: list[Shape] | None = None  # of the last result, where sizes were open

    def __call__(self, *args: Any, **named: Any) -> Any:
        if recording_threads:
            refuse_calling("TrainStep.bind", PLAIN)
        if named:
            args = self._parameters.by_place("TrainStep.bind", args, named)
        guard, own = self._guard, self._own
        if self._draws:
            own = (*own, np.array([self._number, next(self._calls)]))
        with guard.lock:
            if self._compiled and not (guard.waiting or guard.pending or is_eager()):
                found = self._entry(*own, *args)
                if found is not NotImplemented:
                    return found
        return guard.read(partial(self._call_slowly, own, args))

    def call_numbered(self, number: int, args: Sequence[Any]) -> Any:
        """The same, with the random numbers that belong to a number."""
        self._calls = itertools.count(number)
        return self(*args)

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        self._programs.look()

    def _call_slowly(self, own: Sequence[Any], args: Sequence[Any]) -> Any:
        names = self._names(len(args))
        args = [prepared(name, x, self._cast) for name, x in zip(names, args, strict=True)]
        if not self._compiled or is_eager():
            self.open_shapes = None
            with eager():
                return self._programs.plain(len(args))(*own, *args)
        compiled = self._programs.find(own, args)
        found = compiled(*own, *args)
        executable = compiled.latest
        self._entry, self.open_shapes = executable.entry, None
        if any(isinstance(size, Dim) for t in executable.input_types for size in t.shape):
            self.open_shapes = [t.shape for t in executable.output_types]
        return found


def _generator(key: Any, draw: Any) -> Generator:
    """The generator of a call: by the seed's key, and by the numbers of function and call."""
    key = op.fold_in(key, np.array(APART))
    for i in range(2):
        key = op.fold_in(key, op.reshape(draw[i : i + 1], ()))
    return Generator(key)


def weighted_mean(bound: Bound, data: Data) -> Any:
    """The mean of what a function returns over all batches, weighted by their rows: a tree, with
    Python floats for scalars.
    """
    bound.look()
    totals: list[Any] = []
    structure: tree.Structure | None = None
    shapes: list[Shape] | None = None  # what a result has for every number of rows
    for number, (rows, batch) in enumerate(data.batches(None, drop_last=False)):
        found = tree.arrays(bound.call_numbered(number, batch))
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
        fewer = tree.leaves(tree.arrays(bound.call_numbered(0, data.first(data.size - 1))))
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
