"""Looking into a program: the op that prints a value wherever it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import recording_level
from wengert.core.define import primitive
from wengert.core.dims import Dim
from wengert.core.dtypes import bool_
from wengert.core.lowering import SpecialKernel
from wengert.core.op_parts.batching import Same
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.interpret.printing import print_value


def _print(x: Any, name: str) -> Any:
    print_value(name, x)
    return np.empty(0, bool)


def _front_debug(x: Any, name: str = "debug") -> Any:
    """Print every array and number of a tree when the program comes here; return the tree itself,
    so that derivatives know nothing of it.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"debug: given {type(name).__name__} for the name; a name is a string. Write "
            'wg.debug(x, "x").'
        )
    if isinstance(x, Dim):
        debug.rebind((x,), {"name": name})
        return x
    arrays = tree.arrays(x)
    for path, leaf in zip(tree.paths(arrays), tree.leaves(arrays), strict=True):
        _show(leaf, f"{name}.{path}" if path else name)
    return x


def _show(x: Value, name: str) -> None:
    """Print a value now, or have the innermost level that records print it whenever its program
    comes here, though the value may be known before, or outside a loop.
    """
    level = recording_level()
    while type(x) is Tensor and (level is None or x.level.number > level.number):
        x.level.require_open()
        if x.level.symbolic:  # of a graph that is built by hand
            level = x.level
            break
        x = x._value
    if level is None:
        print_value(name, x)
    else:
        level.process(debug, (x,), {"name": name})


@primitive(
    numpy=_print,
    type=lambda x, name: ArrayType((0,), bool_),  # nothing: it is there to be run, not to be read
    canonical=lambda x, name: {"name": str(name)},
    front=_front_debug,
    flat=True,
    lower=SpecialKernel("debug"),
    batch=lambda call: Same(call.again(call.operands)),
)
def debug(x: Any, /, name: str) -> None:
    """Print a value when the program comes to this place, compiled or not, and return the same.

    A tree is printed leaf by leaf. Loops say in which step they are; a branch prints if it is
    taken. A derivative prints what its function does, once, and nothing on the way back. Lines go
    to `sys.stdout`, in the order of the program, with `np.set_printoptions` as it is then.

    >>> y = wg.compile(lambda x: wg.debug(x * 2, "twice") + 1)(np.arange(3.0))
    twice: float64[3] = [0. 2. 4.]
    """
