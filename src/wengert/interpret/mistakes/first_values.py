"""Values that a program is given in its first call, for warnings about what they are used for: they
are not known while it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from wengert.core.bind import program_level
from wengert.core.lowering import Pick, View
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.source import Line, user_line
from wengert.core.words.warn import warn_user
from wengert.interpret.mistakes.widening import place_of


class _Asked(NamedTuple):
    """An argument of a program, and what is to be known of its elements."""

    argument: str
    used_by: str  # the function that takes it
    told: Callable[[str, Any, str], str | None]  # the warning, of user, array and its place
    category: type[Warning]
    line: Line | None


_asked = Meanwhile[set[_Asked]]()


def noting_first_values() -> AbstractContextManager[set[_Asked]]:
    """What is asked of arguments in what is recorded meanwhile."""
    return _asked.said(set())


def ask_first_value(
    x: Tensor, used_by: str, told: Callable[[str, Any, str], str | None], category: type[Warning]
) -> bool:
    """Have whoever records the program warn of what `told` says about the elements of x in its
    first call, if they are those of an argument; and say whether they are.
    """
    if _asked.value is not None and (argument := argument_of(x)) is not None:
        _asked.value.add(_Asked(argument, used_by, told, category, user_line()))
        return True
    return False


def warn_of_first_values(asked: set[_Asked], arrays: Mapping[str, Any]) -> None:
    """Warn of what these arguments, by name, show."""
    for each in sorted(asked, key=lambda each: (each.argument, each.used_by)):
        text = each.told(each.used_by, arrays.get(each.argument), f" in {each.argument!r}")
        if text is not None:
            warn_user(text, each.category, each.line)


def argument_of(x: Tensor) -> str | None:
    """The argument of the program that is recorded whose elements these are: converted, picked or
    rearranged, and not computed with.
    """
    place = place_of(x)
    while place is not None:
        level, number = place
        node = level.graph.nodes[number]
        if node.op is op.input:
            if level is program_level():
                return str(node.params["name"])
            outer = level.stands_for.get(number)
            place = place_of(outer) if type(outer) is Tensor else None
        elif moves_elements(node):
            first = node.operands[0]
            place = None if first is None else (level, first)
        else:
            return None
    return None


def moves_elements(node: Any) -> bool:
    """Whether a node converts, picks or rearranges the elements of its first operand."""
    lower = node.op.lower
    moves = isinstance(lower, View) or (isinstance(lower, Pick) and not lower.joins)
    return node.op is op.astype or (node.op.kind == "linear" and moves)
