"""Shards: the rows of a batch that are this rank's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import ShapeError
from wengert.train.ranked.micro_batches import divided
from wengert.train.ranked.ranks import Ranks

Path = str | os.PathLike[str]


def shard(ranks: Ranks, *arrays: Any) -> Any:
    """This rank's rows of a whole batch, as views: one array or tree, or a tuple of them. A path to
    a .npy file stands for the array in it, memory-mapped, of which only these rows are read.

    >>> ranks = wg.parallel.one_process()
    >>> wg.parallel.shard(ranks, np.arange(4))
    array([0, 1, 2, 3])

    Arrays on disk can be passed to `step.run` as they are, too: `np.load(path, mmap_mode="r")`.
    """
    if not arrays:
        raise TypeError(
            "parallel.shard: given no array; it takes the ranks and the arrays of a whole batch. "
            "Write wg.parallel.shard(ranks, x, y)."
        )
    opened = [_opened(x) for x in arrays]
    rows = {np.shape(x)[0] if np.ndim(x) else None for each in opened for x in tree.leaves(each)}
    if len(rows) != 1 or None in rows:
        raise ShapeError(
            f"parallel.shard: given arrays with {', '.join(map(str, sorted(rows, key=str)))} rows; "
            "each sample is one row of every array. Cut them to one length."
        )
    batches = divided(int(rows.pop() or 0), ranks.micro_batches)
    first, last = batches.rows_of_rank(ranks.rank, ranks.size) if batches.rows else (0, 0)
    parts = tuple(tree.map(lambda x: x[first:last], each) for each in opened)
    return parts if len(parts) > 1 else parts[0]


def _opened(x: Any) -> Any:
    if isinstance(x, str | os.PathLike):
        if not os.fspath(x).endswith(".npy"):
            raise ValueError(
                f"parallel.shard: given the path {os.fspath(x)!r}; only .npy files can be "
                "memory-mapped. Write the array with np.save."
            )
        return np.load(x, mmap_mode="r")
    return x
