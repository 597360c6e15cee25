"""LivePrograms: a function of live arrays and a batch, compiled."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.api.compiling.held import held
from wengert.api.compiling.met import Met
from wengert.api.compiling.swept_numbers import ProgramUse
from wengert.api.trace import Dims
from wengert.interpret.mistakes.mixed_rows import MixedRows
from wengert.optim.model_forms import ModelForm
from wengert.runtime.entries.entry import Entry, never
from wengert.runtime.executable import Executable
from wengert.train.open_sizes import dims_that_fit, open_sizes
from wengert.train.recorded.rows.rows_of_data import telling_of_mixed_rows


class LivePrograms:
    """A function (*own, *batch), where `own` are live arrays and what else a step gives it.

    `entry(*own, *batch)` is the quick way: that of the program used last. Where it answers
    NotImplemented, `call` finds out which program the arguments are for, and may have to make it.
    Axis 0 of batch arrays is left open, and what `dims` names, and what `dims_of_step` names where
    it fits, of which nobody is told where it does not; arguments of the model's form are
    other weights, and keep their shapes. Where arrays do not fit so (a mean
    or a key is an argument, a carry has the size of the batch), there is a program for each size of
    these.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        own: Sequence[str],  # what messages call its first arguments
        names: Callable[[int], Sequence[str]],  # and so many others
        user: Callable[..., Any],  # the user's function that is called in it
        own_trees: Sequence[Any],  # what it receives beside the batch, the model first
        dims: Dims | None,
        threads: int | None,
        nonfinite: str,
        donate: tuple[str, ...] = (),
        early: tuple[str, ...] = (),
        met: Met | None = None,  # the programs of other functions of the same code
        passed: frozenset[int] = frozenset(),  # identities of numbers that it may pass on
        static: Collection[str] = (),  # names of arguments that are part of the program
        static_in: str = "",  # where messages have these named, if they can be
        dims_of_step: Dims | None = None,  # of arguments with the same names
        use: ProgramUse | None = None,  # of the step
        form: ModelForm | None = None,  # of arguments that are no rows; that of the model else
    ) -> None:
        self.function, self._own, self._names = function, own, names
        self._static, self._dims_of_step = static, dims_of_step or {}
        self._dims, self._model = dims or {}, form or ModelForm(own_trees[0])
        roots = (user, *held(own_trees))
        met = met or Met(user, self._dims)
        met.use = use or met.use
        self._options = donate, nonfinite, threads, early, roots, met, passed, static_in
        self._compiled: dict[int, Compiled] = {}  # by how many batch arguments there are
        self._unsaid = set[MixedRows]()  # which would be mistakes in a run that shuffles
        self.entry: Any = never
        self._latest: Executable | None = None  # whose entry it is

    @property
    def gateable(self) -> Entry | None:
        """What a gate leads to: the quick way, where machine code does all of it and no other
        Python thread runs meanwhile.
        """
        entry = None if self._latest is None else self._latest.gateable
        return None if entry is None or entry.releases else entry

    def call(self, own: Sequence[Any], batch: Sequence[Any]) -> tuple[Any, Executable]:
        """What the function returns, and the program that computed it."""
        with telling_of_mixed_rows(batch, self._unsaid):
            returned, executable = self.of(batch).served((*own, *batch))
        self.entry, self._latest = executable.entry, executable
        return returned, executable

    def executable(self, own: Sequence[Any], batch: Sequence[Any]) -> Executable:
        """The program for a batch."""
        with telling_of_mixed_rows(batch, self._unsaid):
            return self.of(batch).executable(*own, *batch)

    def of(self, batch: Sequence[Any]) -> Compiled:
        """The function for so many batch arguments."""
        count = len(batch)
        if count not in self._compiled:
            others, first = self._names(count), len(self._own)
            static = tuple(first + i for i, name in enumerate(others) if name in self._static)
            named = self._named(self._others(count))
            self._compiled[count] = Compiled(named, static, self._opened, *self._options)
        return self._compiled[count]

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        for compiled in list(self._compiled.values()):
            compiled.look()

    def _opened(self, args: tuple[Any, ...]) -> OpenSizes:
        batch = args[len(self._own) :]
        names = self._others(len(batch))
        asked = {**dims_that_fit(self._dims_of_step, names, batch), **self._dims}
        dims, pattern = open_sizes(names, batch, asked, self._model)
        named = _names_of(asked)
        rows = [name for name in _names_of(dims) if name not in named]
        yielding = dict.fromkeys((*sorted(rows, key=lambda name: (len(name), name)), *named), False)
        yielding |= dict.fromkeys(_names_of(self._dims), True)
        return OpenSizes(dims, yielding, pattern)

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


def _names_of(dims: Dims) -> list[str]:
    return list(dict.fromkeys(str(dim) for axes in dims.values() for dim in axes.values()))
