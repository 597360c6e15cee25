"""Batch arguments: what a step accepts, and which of their sizes are left open."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.api.trace import distinct_leaves
from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.dtypes import SUPPORTED, DType, is_float
from wengert.errors import DTypeError, TraceError
from wengert.train.storage import is_live

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
GENERATOR = "rng"


class LossSignature:
    """The parameters of a loss: which are batch arguments, and whether it takes a generator."""

    def __init__(self, loss: Callable[..., Any], has_state: bool) -> None:
        try:
            parameters = list(inspect.signature(loss).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        places = [p.name for p in parameters if p.kind in POSITIONAL]
        self.wants_rng = any(p.name == GENERATOR for p in parameters) and not _is_fixed(loss)
        self.rng_place = places.index(GENERATOR) if GENERATOR in places else None
        self._names = [name for name in places if name != GENERATOR][1 + has_state :]

    def names(self, count: int) -> list[str]:
        """What the batch arguments are called, in the loss and in messages."""
        known = self._names[:count]
        return [*known, *(f"batch{i}" for i in range(len(known), count))]


def _is_fixed(loss: Callable[..., Any]) -> bool:
    """Whether a `functools.partial` has already given the loss its generator, by keyword."""
    return isinstance(loss, functools.partial) and (
        GENERATOR in loss.keywords or _is_fixed(loss.func)
    )


def prepared(name: str, x: Any, dtype: DType | None) -> Any:
    """A batch argument as a tree of arrays. Python floats become run-time scalars, and floats that
    programs do not have become those of the model.
    """
    if isinstance(x, float):
        return np.asarray(x, dtype or np.float64)
    if not tree.leaves(x):
        return _array_of(name, x)
    return tree.map(lambda leaf: _supported(name, leaf, dtype), x)


def _array_of(name: str, x: Any) -> Any:
    """What is no tree of arrays: an array of another library, or static."""
    found = as_numpy(x)
    if found is not x:
        return found
    if isinstance(x, list | tuple) and tree.leaves(tree.arrays(x)):
        raise TraceError(
            f"TrainStep: batch argument {name!r} is a {type(x).__name__} of Python numbers; these "
            "would be part of the program. Convert it with np.array."
        )
    return x


def as_numpy(x: Any) -> Any:
    """An array of another library as one of NumPy; anything else as it is."""
    return np.asarray(x) if hasattr(x, "__array__") and not tree.is_leaf(x) else x


def _supported(name: str, x: Any, dtype: DType | None) -> Any:
    value = np.asarray(x)
    native = value.dtype.newbyteorder("=")
    if native in SUPPORTED:
        return value
    if is_float(native) and dtype is not None:
        return value.astype(dtype)
    raise DTypeError(
        f"TrainStep: batch argument {name!r} has dtype {value.dtype}; it must hold bools, "
        "integers or floats. Convert it with astype."
    )


class Kinds:
    """The dtypes of batches: a call must not change them by accident."""

    def __init__(self, names: Callable[[int], Sequence[str]], cast: DType | None) -> None:
        self._names, self._cast = names, cast
        self._known: dict[Any, list[DType]] = {}  # by the form of the batch

    def prepared(self, batch: Sequence[Any]) -> tuple[Any, ...]:
        """The batch as trees of arrays, of the dtypes of the first one of its form."""
        names = self._names(len(batch))
        made = tuple(prepared(name, x, self._cast) for name, x in zip(names, batch, strict=True))
        leaves, structure = tree.flatten(made)
        expected = self._known.get(structure.spec, [])
        for i, (x, known) in enumerate(zip(leaves, expected, strict=False)):
            both_cast = self._cast is not None and is_float(x.dtype) and is_float(known)
            if x.dtype.newbyteorder("=") != known and not both_cast:
                path = leaf_names(names, made)[i]
                raise DTypeError(
                    f"TrainStep: batch argument {path!r} has dtype {x.dtype}; it had {known} in "
                    "the first call, and a step keeps the dtypes of its batches. Convert it with "
                    "astype."
                )
        return made

    def remember(self, batch: Sequence[Any]) -> None:
        """Note the dtypes of a batch that a call has succeeded with."""
        leaves, structure = tree.flatten(tuple(batch))
        if structure.spec not in self._known:
            self._known[structure.spec] = [x.dtype.newbyteorder("=") for x in leaves]


def leaf_names(names: Sequence[str], batch: Sequence[Any]) -> list[str]:
    """What a trace calls the leaves of the batch arguments."""
    return [
        f"{name}.{path}" if path else name
        for name, arg in zip(names, batch, strict=True)
        for path in tree.paths(arg)
    ]


def open_sizes(
    names: Sequence[str], batch: Sequence[Any]
) -> tuple[Mapping[str, Mapping[int, Dim]], tuple[int, ...]]:
    """Axis 0 of every array as a Dim, which arrays of equal size share, by the names that a trace
    gives them; and which arrays share. Live arrays of a training step keep their shapes.
    """
    paths = leaf_names(names, batch)
    leaves, places = distinct_leaves(tuple(batch))
    dims: dict[str, Mapping[int, Dim]] = {}
    shared: dict[int, int] = {}
    pattern = []
    for place, x in enumerate(leaves):
        if np.ndim(x) == 0 or is_live(x):
            pattern.append(-1)
            continue
        number = shared.setdefault(x.shape[0], len(shared))
        pattern.append(number)
        dims[paths[places.index(place)]] = {0: Dim(f"batch_{number}" if number else "batch")}
    return dims, tuple(pattern)
