"""Data that all members are evaluated on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wengert.core import tree
from wengert.runtime.outside.live import is_live
from wengert.train.engine import Engine
from wengert.train.ensemble.each import Each, of_member, require_rows_of_each
from wengert.train.ensemble.stacked_batches import in_place_of_loss, warn_of_stacked
from wengert.train.storage import Array


class EvaluatedData:
    """Batches of rows, in their order: the same for all members, or `each`."""

    def __init__(
        self,
        by: str,
        names: Sequence[str],
        arguments: Sequence[Any],
        size: Any,
        own: Sequence[Any],  # what every batch begins with
        engine: Engine,  # of the first member
        f: Callable[..., Any],
        members: int,
    ) -> None:
        warn_of_stacked(by, engine, arguments, members, in_place_of_loss(engine, f, bool(own)))
        require_rows_of_each(by, names, arguments)
        one = of_member(arguments, 0)
        first = engine.evaluated_data(by, names, one, size)
        self._whole = first.whole_arguments()
        self.rows, self.size, self._own = first.rows, first.size, tuple(own)
        self._of_first = first
        self._arguments = [x if isinstance(x, Each) else tree.with_numpy(x) for x in arguments]

    def batches(self, order: None, drop_last: bool) -> Iterator[tuple[int, Any]]:
        """(rows, batch) one after the other."""
        for begin in range(0, self.rows, self.size):
            end = min(begin + self.size, self.rows)
            yield end - begin, self._cut(begin, end)

    def first(self, rows: int) -> Any:
        """A batch of the first rows, this many."""
        return self._cut(0, rows)

    def note_missing(self, error: Exception) -> None:
        """Add to what the function raises which columns have missing numbers."""
        self._of_first.note_missing(error)

    def named_arrays(self) -> list[tuple[str, Array]]:
        """Those of the first member, with the names of their arguments."""
        return self._of_first.named_arrays()

    def _cut(self, begin: int, end: int) -> tuple[Any, ...]:
        def of_all(x: Any) -> Any:
            return x if x.ndim == 0 or is_live(x) else x[begin:end]

        def of_each(x: Any) -> Any:
            return x if x.ndim == 1 else x[:, begin:end]

        def cut(x: Any) -> Any:
            return Each(tree.map(of_each, x.tree)) if isinstance(x, Each) else tree.map(of_all, x)

        pairs = zip(self._arguments, self._whole, strict=True)
        return (*self._own, *(x if whole else cut(x) for x, whole in pairs))
