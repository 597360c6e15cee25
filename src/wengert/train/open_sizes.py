"""Which sizes of batch arguments are left open, and which arrays are no batch."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.dims import Dim, Size
from wengert.errors import ShapeError
from wengert.optim.model_forms import ModelForm, networks_in
from wengert.runtime.executable import Executable
from wengert.runtime.outside.live import is_live
from wengert.train.batch import ROWS, leaf_names

OpenShape: TypeAlias = tuple[Size | None, ...]


def open_sizes(
    names: Sequence[str], batch: Sequence[Any], asked: Dims, model: ModelForm
) -> tuple[Dims, tuple[Any, ...]]:
    """The Dims of a batch, by the names that a trace gives to arrays; and a pattern that batches
    share which can share programs.

    Axis 0 of every array is a Dim, one for all arrays of equal size, beside the Dims that were
    asked for, unless `{"x0": {}}` says that there is none. The pattern says which arrays share one,
    and has the sizes that are not open. Live arrays of another training step keep their shapes, and
    so do networks, arguments of the model's form, and copies of the state that are evaluated.
    """
    paths = leaf_names(names, batch)
    leaves, places = tree.distinct_leaves(tuple(batch))
    _require_names(asked, paths)
    whole = [arg for arg in batch if model.is_form_of(arg) or model.is_form_of_state(arg)]
    closed = {id(x) for x in tree.leaves(whole)}
    closed |= {id(x) for network in networks_in(batch) for x in tree.leaves(network)}
    closed |= {id(x) for x in leaves if not np.ndim(x) or is_live(x)}
    closed |= {
        id(leaves[i]) for i, path in zip(places, paths, strict=True) if _is_said(path, asked)
    }
    shared = _shared_sizes(batch, closed, asked)
    dims: dict[str, Mapping[int, Dim]] = {}
    pattern = []
    for place, x in enumerate(leaves):
        path, number = paths[places.index(place)], -1
        opened = _axes(path, x, asked.get(path, {}))
        if id(x) not in closed and 0 not in opened:
            number, opened[0] = shared[x.shape[0]]
        if opened:
            dims[path] = opened
        sizes = tuple(None if i in opened else size for i, size in enumerate(np.shape(x)))
        pattern.append((number, sizes))
    return dims, tuple(pattern)


def dims_that_fit(asked: Dims, names: Sequence[str], batch: Sequence[Any]) -> Dims:
    """The Dims that were asked for arguments of another function, as far as a batch has arrays of
    the same names with such axes, alike in size.
    """
    own: dict[str, Mapping[int, Dim]] = {}
    sizes: dict[Dim, set[int]] = {}
    for path, x in zip(leaf_names(names, batch), tree.leaves(tuple(batch)), strict=True):
        axes = asked.get(path, {})
        if axes and all(-np.ndim(x) <= axis < np.ndim(x) for axis in axes):
            own[path] = axes
            for axis, dim in axes.items():
                sizes.setdefault(dim, set()).add(np.shape(x)[axis])
    return {
        path: axes
        for path, axes in own.items()
        if all(len(sizes[dim]) == 1 for dim in axes.values())
    }


def shapes_by_rows(executable: Executable) -> list[OpenShape] | None:
    """The shapes of results, with Dims for sizes that follow the rows of a batch, and None for
    those that follow another open size; None where the number of rows is not open.
    """
    starts = [t.shape[0] for t in executable.input_types if t.shape]
    rows = frozenset(name for n in starts if isinstance(n, Dim) for name in n.names)

    def seen(size: Size) -> Size | None:
        return size if isinstance(size, int) or size.names & rows else None

    return [tuple(map(seen, t.shape)) for t in executable.output_types] if rows else None


def _is_said(path: str, asked: Dims) -> bool:
    """Whether `dims={"x0": {}}` says of an array that none of its axes is open."""
    return any(
        not axes and (path == name or path.startswith(f"{name}.")) for name, axes in asked.items()
    )


def _shared_sizes(
    batch: Sequence[Any], closed: Collection[int], asked: Dims
) -> dict[int, tuple[int, Dim]]:
    """A number and a Dim for every size that arrays begin with, but for those that are closed,
    given by their ids. First for arguments whose arrays all begin with one size: these are
    batches, and where arrays do not fit, what comes later gives way first.
    """
    taken = {str(dim) for axes in asked.values() for dim in axes.values()}
    free = (name for name in _batch_names() if name not in taken)
    sizes_of_arguments = [
        list(dict.fromkeys(x.shape[0] for x in tree.leaves(arg) if id(x) not in closed))
        for arg in batch
    ]
    sizes = dict.fromkeys(
        size for each in sorted(sizes_of_arguments, key=lambda s: len(s) > 1) for size in each
    )
    return {size: (number, Dim(next(free))) for number, size in enumerate(sizes)}


def _batch_names() -> Iterator[str]:
    """batch, batch_1, batch_2, …"""
    yield ROWS
    yield from (f"{ROWS}_{i}" for i in itertools.count(1))


def _require_names(asked: Dims, paths: Sequence[str]) -> None:
    whole = {path.split(".")[0] for path in paths}
    unknown = sorted(set(asked) - set(paths) - {name for name in whole if not asked.get(name)})
    if unknown:
        raise ShapeError(
            f"TrainStep: dims names {', '.join(unknown)}; the batch arguments are "
            f"{', '.join(paths)}. Use one of these names."
        )


def _axes(path: str, x: Any, asked: Mapping[int, Dim]) -> dict[int, Dim]:
    """The axes of an array that are asked to be open, counted from the front."""
    rank = np.ndim(x)
    for axis in asked:
        if not -rank <= axis < rank:
            raise ShapeError(
                f"TrainStep: dims names axis {axis} of {path!r}, which has shape {np.shape(x)}; "
                "the axis must exist. Choose another."
            )
    return {axis % rank: dim for axis, dim in asked.items()}
