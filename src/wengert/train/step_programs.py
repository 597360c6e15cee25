"""Programs: the compiled forms of a step, one per kind of batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from wengert.api.compile import Compiled
from wengert.api.met import Met
from wengert.api.trace import Dims
from wengert.core import tree
from wengert.runtime.signature import is_number
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
        user: Callable[..., Any],  # the user's function that is called in it
        dims: Dims | None = None,  # sizes that are left open beside axis 0
    ) -> None:
        self.function, self._own, self._names = function, own, names
        self._dims = dims or {}
        self._options = donate, nonfinite, threads, early, (user,), Met(user, self._dims)
        self._found: dict[Any, Compiled] = {}

    def find(self, own: Sequence[Any], batch: Sequence[Any]) -> Compiled:
        """The compiled function for a batch; it is called with `own` and the batch.

        Axis 0 of batch arrays is left open, and what `dims` names. Where arrays do not fit so (a
        mean or a key is an argument, a carry has the size of the batch), a program is made for each
        size of these.
        """
        names = self._others(len(batch))
        dims, pattern = open_sizes(names, batch, self._dims)
        leaves, structure = tree.flatten(tuple(type(x) if is_number(x) else x for x in batch))
        key = (structure, pattern, tuple(x.dtype for x in leaves))
        known = self._found.get(key)
        if known is not None:
            return known
        yielding = {str(dim): False for axes in dims.values() for dim in axes.values()}
        yielding |= {str(dim): True for axes in self._dims.values() for dim in axes.values()}
        made = Compiled(self._named(names), (), dims, *self._options, yielding)
        made.executable(*own, *batch)
        self._found[key] = made
        return made

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        for compiled in self._found.values():
            compiled.look()

    def plain(self, count: int) -> Compiled:
        """The function for so many batch arguments, to be run op by op."""
        return Compiled(self._named(self._others(count)), (), None, *self._options)

    def _others(self, count: int) -> list[str]:
        """The names of batch arguments, apart from those of live arrays."""
        return [name + "_" * (name in self._own) for name in self._names(count)]

    def _named(self, names: Sequence[str]) -> Callable[..., Any]:
        """The function with the names of its arguments, for messages and Dims."""
        function = self.function

        def named(*args: Any) -> Any:
            return function(*args)

        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(name, kind) for name in (*self._own, *names)]
        named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return named
