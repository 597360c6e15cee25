"""Which arguments of a program derivatives are taken by, for warnings about losses and residuals:
the function that is compiled may be a gradient itself, or take one inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from wengert.core.bind import is_differentiating
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.interpret.mistakes.first_values import argument_of

_names = Meanwhile[set[str]]()


def noting_differentiated() -> AbstractContextManager[set[str]]:
    """The names of the arguments that derivatives are taken by in what is recorded meanwhile."""
    return _names.said(set())


def note_differentiated(values: Iterable[Value]) -> None:
    """Note that a derivative by these begins. One inside another, as of a network by its
    coordinates, is part of a loss.
    """
    names = _names.value
    if names is None or is_differentiating():
        return
    for x in values:
        path = argument_of(x) if type(x) is Tensor else None
        if path is not None:
            names.add(path.partition(".")[0])
