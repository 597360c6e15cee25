"""Derivatives of functions on flat lists of values; every public transformation is built on these
two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.core.bind import enter, leave, opened, raise_first
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.noticed.caught import warn_if_caught
from wengert.core.words.noticed.float_notices import noticed_at_users_lines
from wengert.interpret.forward import Forward
from wengert.interpret.mistakes.differentiated import note_differentiated
from wengert.interpret.tape import Tape

Flat: TypeAlias = Callable[..., Sequence[Value]]
Pullback: TypeAlias = Callable[[Sequence[Value | None]], list[Value | None]]


@noticed_at_users_lines
def vjp_flat(
    function: Flat, primals: Sequence[Value], tape: Tape | None = None
) -> tuple[list[Value], Pullback]:
    """The outputs, and the function from their cotangents to those of the primals.

    None stands for a zero cotangent, given or returned; integers and bools always get None. A tape
    of its own is given by who looks at what is recorded.
    """
    note_differentiated(primals)
    tape = Tape() if tape is None else tape
    enter(tape)
    try:
        watched = [tape.watch(x) if x.dtype.kind == "f" else x for x in primals]
        results = list(function(*watched))
        if tape.refused is not None:
            warn_if_caught(tape.refused)
    except SystemError as error:
        raise_first(error)
    finally:
        leave(tape)
    mine = [type(y) is Tensor and y.level is tape for y in results]
    outputs = [y._value if m else y for y, m in zip(results, mine, strict=True)]
    slots = [y.handle if m else None for y, m in zip(results, mine, strict=True)]
    sources = [x.handle for x in watched if type(x) is Tensor and x.level is tape]

    def pullback(cotangents: Sequence[Value | None]) -> list[Value | None]:
        starts: dict[int, Value] = {}  # an output may be there twice
        for slot, g in zip(slots, cotangents, strict=True):
            if slot is not None and g is not None:
                starts[slot] = starts[slot] + g if slot in starts else g
        gradients = iter(tape.sweep(starts, sources))
        return [next(gradients) if type(x) is Tensor and x.level is tape else None for x in watched]

    return outputs, pullback


@noticed_at_users_lines
def jvp_flat(
    function: Flat, primals: Sequence[Value], tangents: Sequence[Value | None]
) -> tuple[list[Value], list[Value | None]]:
    """The outputs and their tangents; None stands for a zero tangent."""
    note_differentiated(x for x, dx in zip(primals, tangents, strict=True) if dx is not None)
    level = Forward()
    with opened(level):
        duals = [
            x if dx is None else level.dual(x, dx) for x, dx in zip(primals, tangents, strict=True)
        ]
        results = list(function(*duals))
    mine = [type(y) is Tensor and y.level is level for y in results]
    outputs = [y._value if m else y for y, m in zip(results, mine, strict=True)]
    return outputs, [y.handle if m else None for y, m in zip(results, mine, strict=True)]
