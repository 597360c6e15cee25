"""SharedBatch: this rank's part of a batch, and its micro-batches."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import ShapeError
from wengert.optim.model_forms import ModelForm
from wengert.runtime.outside.live import is_live
from wengert.train.batch import batch_form, leaf_names


class SharedBatch:
    """The part of a batch that a rank was given: trees of arrays with one row per sample. Numbers,
    arrays without axes, live arrays and arguments of the model's form are the same for all rows.
    """

    def __init__(self, names: Sequence[str], batch: tuple[Any, ...], model: ModelForm) -> None:
        self.given = batch
        self._leaves, self._structure = tree.flatten(batch)
        whole = {id(x) for arg in batch if model.is_form_of(arg) for x in tree.leaves(arg)}
        self._has_rows = [
            x.ndim > 0 and not is_live(x) and id(x) not in whole for x in self._leaves
        ]
        self.rows = self._count_rows(names)
        self.form = batch_form(self._structure)

    def _count_rows(self, names: Sequence[str]) -> int:
        pairs = zip(self._leaves, self._has_rows, strict=True)
        counts = {x.shape[0] for x, has_rows in pairs if has_rows}
        if len(counts) == 1:
            return int(counts.pop())
        if not counts:
            raise ShapeError(
                "TrainStep: given a batch without rows; ranks divide a batch by its rows, along "
                "axis 0. Pass at least one array with a row per sample."
            )
        known = zip(leaf_names(names, self.given), self._leaves, self._has_rows, strict=True)
        given = ", ".join(f"{name}: {x.shape[0]}" for name, x, has_rows in known if has_rows)
        raise ShapeError(
            f"TrainStep: given batch arrays of different lengths ({given}); ranks divide all of "
            "them by rows, along axis 0. Pass what has no rows in the model, in the state, or "
            "as numbers."
        )

    def checksum(self) -> int | None:
        """That of its rows, as far as they differ; None where all of them are the same."""
        arrays = [x for x, has_rows in zip(self._leaves, self._has_rows, strict=True) if has_rows]
        if all(np.array_equal(x, np.broadcast_to(x[:1], x.shape)) for x in arrays):
            return None
        return zlib.crc32(b"".join(x.tobytes() for x in arrays))

    def micro_batch(self, begin: int, end: int) -> tuple[Any, ...]:
        """Some of the rows of this part."""
        pairs = zip(self._leaves, self._has_rows, strict=True)
        cut = [x[begin:end] if has_rows else x for x, has_rows in pairs]
        batch: tuple[Any, ...] = tree.unflatten(self._structure, cut)
        return batch
