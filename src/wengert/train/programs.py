"""Programs: the compiled forms of a step, one per kind of batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from wengert.api.compile import Compiled
from wengert.core import tree
from wengert.train.batch import open_sizes


class Programs:
    """A function of live arrays and a batch, compiled for every kind of batch that is met."""

    def __init__(
        self,
        function: Callable[..., Any],
        own: Sequence[str],
        names: Callable[[int], Sequence[str]],
        donate: tuple[str, ...],
        early: tuple[str, ...],
        threads: int | None,
        nonfinite: str,
    ) -> None:
        self.function, self._own, self._names = function, own, names
        self._options = donate, nonfinite, threads, early
        self._found: dict[Any, Compiled] = {}

    def find(self, own: Sequence[Any], batch: Sequence[Any]) -> Compiled:
        """The compiled function for a batch; it is called with `own` and the batch.

        Axis 0 of batch arrays is left open. Where the function cannot be traced so (a carry has the
        size of the batch), a program is made for each size; errors are then about real sizes.
        """
        names = [name + "_" * (name in self._own) for name in self._names(len(batch))]
        dims, pattern = open_sizes(names, batch)
        leaves, structure = tree.flatten(tuple(batch))
        key = (structure, pattern, tuple((x.dtype, x.shape[1:]) for x in leaves))
        known = self._found.get(key)
        if known is not None:
            return known
        function = self._named(names)
        made = Compiled(function, (), dims, *self._options)
        if not _works(made, own, batch):
            made = Compiled(function, (), None, *self._options)
            made.executable(*own, *batch)
        self._found[key] = made
        return made

    def plain(self, count: int) -> Compiled:
        """The function for so many batch arguments, to be run op by op."""
        return Compiled(self._named(self._names(count)), (), None, *self._options)

    def _named(self, names: Sequence[str]) -> Callable[..., Any]:
        """The function with the names of its arguments, for messages and Dims."""
        function = self.function

        def named(*args: Any) -> Any:
            return function(*args)

        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(name, kind) for name in (*self._own, *names)]
        named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return named


def _works(made: Compiled, own: Sequence[Any], batch: Sequence[Any]) -> bool:
    """Whether the function can be compiled with its sizes left open."""
    try:
        made.executable(*own, *batch)
    except Exception:  # whatever the user's function raises
        return False
    return True
