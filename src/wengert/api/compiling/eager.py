"""eager: compiled functions op by op, with all that a caller can see of a call kept the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.api.trace import argument_names
from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.tensor import Tensor
from wengert.core.types import type_of
from wengert.core.words.noticed.float_notices import noticed_at_users_lines
from wengert.core.words.noticed.lost_writes import require_unwritten
from wengert.errors import NonFiniteError, TraceError
from wengert.interpret.eagerness import eager, is_eager
from wengert.runtime.donation import matched, require_donatable
from wengert.runtime.nonfinite_policies import IGNORE, RAISE
from wengert.runtime.refusals import require_plain
from wengert.runtime.signature import Static, output_names, passed_on, structure_of

__all__ = ["EagerCall", "eager", "is_eager", "is_inside"]

Array: TypeAlias = np.ndarray[Any, Any]

_inside: ContextVar[bool] = ContextVar("wengert_inside", default=False)


def is_inside() -> bool:
    """Whether a compiled function is running op by op: one that it calls is part of it."""
    return _inside.get()


@contextmanager
def _running() -> Iterator[None]:
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


@dataclass(frozen=True)
class EagerCall:
    """One call of a compiled function, to be run op by op.

    The function gets views of the arrays that it cannot write to, native and of NumPy's own class.
    What it returns is copied, donated arrays are written when all is well, and results that are not
    finite are treated as compiled code does.
    """

    function: Callable[..., Any]
    structure: tree.Structure  # of the arguments, those that are static marked
    places: Sequence[int]  # which of the distinct arrays each leaf is
    donated: Sequence[int]  # positions among the distinct arrays
    nonfinite: str
    early: Sequence[int] = ()  # those of the donated ones that are written whatever happens
    passed: frozenset[int] = frozenset()  # identities of numbers it has and may pass on

    @noticed_at_users_lines
    def run(self, arrays: Sequence[Any]) -> Any:
        """The results for the distinct arrays among the arguments, whose dtypes are supported."""
        given = [np.asarray(x) for x in arrays]
        if any(type(x) is not np.ndarray for x in arrays):
            require_plain(self.names(given), arrays)
        require_donatable(self.names(given), self.donated, given)
        shown = [_shown(x) for x in given]
        arguments = self._arguments(shown)
        with _running():
            result = self.function(*(x.value if isinstance(x, Static) else x for x in arguments))
        leaves = [shown[place] for place in self.places]
        require_unwritten("compile", self._label, self.structure, leaves, arguments, result)
        passed = passed_on(self.structure) | self.passed
        returned = structure_of(result, (), passed)
        outputs = [_owned(x) for x in tree.leaves(tree.arrays(result, passed))]
        fault = self._fault(returned, outputs)
        types = [type_of(x) for x in map(_shown, given)], [type_of(x) for x in outputs]
        for j, i in matched(self.donated, *types).items():
            if fault is None or i in self.early:
                given[i][...] = outputs[j]
            outputs[j] = given[i]
        if fault is not None and self.nonfinite == RAISE:
            raise fault
        return tree.unflatten(returned, outputs)

    def _label(self, path: tuple[str, ...]) -> str:
        number = int(path[0])
        return ".".join((argument_names(self.function, number + 1)[number], *path[1:]))

    def _arguments(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        arguments = tree.unflatten(self.structure, [arrays[place] for place in self.places])
        assert isinstance(arguments, tuple)
        return arguments

    def names(self, arrays: Sequence[Array]) -> list[str]:
        """What messages call the distinct arrays."""
        arguments = self._arguments(arrays)
        names = [""] * len(arrays)
        places = iter(self.places)
        for name, x in zip(argument_names(self.function, len(arguments)), arguments, strict=True):
            for path in tree.paths(x):
                place = next(places)
                names[place] = names[place] or ".".join(filter(None, (name, path)))
        return names

    def _fault(self, returned: tree.Structure, outputs: Sequence[Array]) -> NonFiniteError | None:
        """What is wrong with the results, where they are asked to be finite."""
        if self.nonfinite == IGNORE:
            return None
        names = output_names(tree.unflatten(returned, outputs))
        for name, x in zip(names, outputs, strict=True):
            if is_float(x.dtype) and not np.isfinite(x).all():
                index = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
                return NonFiniteError(
                    f"compile: {name} is {x[index]} at index {index}; nonfinite='raise' refuses "
                    "that. Look at the values on the way, or pass nonfinite='ignore'."
                )
        return None


def _shown(x: Array) -> Array:
    """The array as a program sees it: native, and not to be written to."""
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    view = native.view()
    view.flags.writeable = False
    return view


def _owned(x: Any) -> Array:
    """A result as a new array: not one of the arguments, of the function's or returned twice."""
    if isinstance(x, Tensor):
        raise TraceError(
            "compile: the function uses a Tensor of an enclosing transformation; a graph stands "
            "on its own. Pass it in as an argument."
        )
    return np.array(x, x.dtype.newbyteorder("="), order="C", copy=True)
