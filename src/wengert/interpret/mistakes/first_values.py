"""Values that a program is given in its first call, or computes from these, for warnings about what
they are used for: they are not known while it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.core.bind import program_level
from wengert.core.graph import Graph
from wengert.core.lowering import Pick, View
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.source import Line, user_line
from wengert.core.words.warn import warn_user
from wengert.interpret.mistakes.computed_values import computed_value
from wengert.interpret.mistakes.widening import place_of

if TYPE_CHECKING:
    from wengert.interpret.mistakes.computed_values import Place


class FirstCall(NamedTuple):
    """What is known when a program is called for the first time."""

    graph: Graph
    arrays: Mapping[str, Any]  # by argument
    data: Mapping[str, Any]  # all rows of those that are rows of the data of a run
    sizes: Mapping[str, int]  # that are open


class _Asked(NamedTuple):
    """An argument of a program or what it computes, and what is to be known of its elements."""

    of: str | Place | None  # None for all of the first call
    used_by: str  # the function that takes it
    told: Callable[[str, Any, str], str | None]  # the warning, of user, array and its place
    category: type[Warning]
    line: Line | None


_asked = Meanwhile[set[_Asked]]()
_data = Meanwhile[Callable[[], Iterable[tuple[str, Any]]]]()


def arguments_are_rows_of(
    named: Callable[[], Iterable[tuple[str, Any]]],
) -> AbstractContextManager[object]:
    """Meanwhile arguments are some of the rows of these arrays, which have their names."""
    return _data.said(named)


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


def ask_computed_value(
    x: Tensor, used_by: str, told: Callable[[str, Any, str], str | None], category: type[Warning]
) -> None:
    """The same of what is computed, if that takes simple ops alone."""
    if _asked.value is not None and (place := place_of(x)) is not None:
        _asked.value.add(_Asked(place, used_by, told, category, user_line()))


def ask_first_call(
    used_by: str, told: Callable[[str, FirstCall, str], str | None], category: type[Warning]
) -> None:
    """Have whoever records the program warn of what `told` says about its first call."""
    if _asked.value is not None:
        _asked.value.add(_Asked(None, used_by, told, category, user_line()))


def warn_of_first_values(
    asked: set[_Asked], graph: Graph, given: Mapping[int, Any], sizes: Mapping[str, int]
) -> None:
    """Warn of what the inputs of a graph show that it is given first, with its open sizes then."""
    names = [str(graph.nodes[number].params["name"]) for number in graph.inputs]
    arrays = {name: given[i] for i, name in enumerate(names)}
    found: dict[tuple[str, Line | None], type[Warning]] = {}
    for each in sorted(asked, key=lambda each: (_name(each), each.used_by, str(each.line))):
        if isinstance(each.of, str):
            text = each.told(each.used_by, arrays.get(each.of), f" in {each.of!r}")
        elif each.of is None:
            data = {} if _data.value is None else dict(_data.value())
            text = each.told(each.used_by, FirstCall(graph, arrays, data, sizes), "")
        else:
            text = each.told(each.used_by, computed_value(each.of, graph, arrays, sizes), "")
        if text is not None:
            found[text, each.line] = each.category
    for (text, line), category in found.items():
        warn_user(text, category, line)


def _name(asked: _Asked) -> str:
    return asked.of if isinstance(asked.of, str) else ""


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
