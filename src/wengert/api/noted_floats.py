"""Python floats beside the arrays of a differentiated argument: they are settings, whose derivative
is 0, and whoever comes from JAX means variables. They are told where the function computes with
them.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from wengert.core import tree
from wengert.core.bind import recording_level
from wengert.core.op import Op
from wengert.core.types import Value
from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.interpret.tape import Tape

# The code of functions, by identity: code of two cells of a notebook may be equal.
_looked_at: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()


class NotingTape(Tape):
    """A tape that notes which of some Python floats, by their identities, are operands."""

    def __init__(self, floats: Sequence[float]) -> None:
        super().__init__()
        self._floats = {id(x): x for x in floats}
        self.met: set[int] = set()

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        self.met.update(id(x) for x in operands if type(x) is float and id(x) in self._floats)
        return super().process(op, operands, params)


class NotedFloats:
    """The floats of differentiated arguments, as objects of their own: others may be equal."""

    def __init__(self, name: str, structures: Sequence[tree.Structure]) -> None:
        self._name = name
        self.structures = [tree.with_new_floats(each) for each in structures]
        trees = [tree.unflatten(each, [None] * each.count) for each in self.structures]
        self._floats = [pair for x in trees for pair in tree.floats_beside_arrays(x, tuples=True)]
        self.tape = NotingTape([x for _, x in self._floats])

    def warn_if_met(self, dtype: Any) -> None:
        """Warn of those that the function has just computed with."""
        program = recording_level()
        met = [
            (path, x)
            for path, x in self._floats
            if id(x) in self.tape.met or (program is not None and program.has_constant(x))
        ]
        if met:
            (path, x), more = met[0], len(met) - 1
            others = f"; so {'is' if more == 1 else 'are'} {more} more" if more else ""
            warn_user(
                f"{self._name}: leaf {path!r} of the argument is the Python float {x!r}, and the "
                f"function computes with it{others}. A Python number is part of the program, and "
                f"its derivative is 0. Write np.{dtype}({x!r}) to differentiate by it; if it is a "
                "setting, pass it in another argument, or in a field of a dataclass.",
                UntrainedWarning,
            )


def noted_floats(
    name: str, function: Callable[..., Any], structures: Sequence[tree.Structure]
) -> NotedFloats | None:
    """What to look at in a call of a function: once for each, and where there are such floats."""
    if not any(float in map(type, each.static) for each in structures):
        return None
    code = _code_of(function)
    if code is None or _looked_at.get(id(code)) is code:
        return None
    _looked_at[id(code)] = code
    return NotedFloats(name, structures)


def _code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code of the user's function; a lambda in a loop is a new object every time around."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
