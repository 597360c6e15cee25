"""State that the body of a loop keeps outside of it: the body is recorded once, so that every step
would see what the first one saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dis import get_instructions
from types import CodeType
from typing import Any

from wengert.core.graph import Graph, Node
from wengert.core.tensor import Tensor
from wengert.core.trees.same import same
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import FrozenValueWarning, TraceError
from wengert.interpret.bodies.body import Recorded
from wengert.interpret.bodies.body_variables import (
    LOADS,
    NOTHING,
    NUMBERS,
    Variable,
    as_it_is,
    content,
    line_of_assignment,
    variables,
)

_NAMED_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
_STORES = ("STORE_SUBSCR", "STORE_ATTR")
_ADDS = ("append", "add", "extend", "update", "appendleft")
_COMPARED = (*NUMBERS, bytes)


class BodyState:
    """The variables from outside that the body of a loop reads, before it is recorded."""

    def __init__(self, function: Any) -> None:
        self._code = getattr(function, "__code__", None)
        self._known = variables(function)

    def look(self, by: str, recorded: Sequence[Recorded]) -> None:
        """Refuse Tensors that the body left outside, and warn of numbers that it changed, where it
        reads them, too. What other functions changed, which the body calls, counts if recording it
        again gives another program.
        """
        elsewhere: list[tuple[Variable, dict[str, Any]]] = []
        for each in self._known:
            changed = _changed(each.before, content(each.read()))
            own = each.of is self._code
            line = _line_of_change(self._code, each.name) if changed and own else None
            if line is not None:
                _tell(by, each.name, changed, line)
            elif changed:
                elsewhere.append((each, changed))
        if elsewhere and self._is_another_program(recorded):
            each, changed = elsewhere[0]
            _tell(by, each.name, changed, line_of_assignment(self._known, _key(each, changed)))

    def _is_another_program(self, recorded: Sequence[Recorded]) -> bool:
        put_back = [as_it_is(each) for each in self._known]
        try:
            return any(_differs(each) for each in recorded)
        finally:
            for each in put_back:
                each()


def _key(variable: Variable, changed: dict[str, Any]) -> str:
    return next(iter(changed)) or variable.name


def _tell(by: str, name: str, changed: dict[str, Any], line: Line | None) -> None:
    at = "" if line is None else f" ({line})"
    left = next((key for key, x in changed.items() if type(x) is Tensor), None)
    if left is not None:
        raise TraceError(
            f"{by}: the body left a Tensor in {name}{left}, which it reads; it is recorded once, "
            f"and every step would have what was there at first. Make it part of the carry.{at}"
        )
    key = next((key for key, x in changed.items() if isinstance(x, _COMPARED)), None)
    if key is not None:
        warn_user(
            f"{by}: the body changed {name}{key}; it is recorded once, and every step has the same "
            f"value. Make it part of the carry, or pass it as xs.{at}",
            FrozenValueWarning,
            line,
        )


def _differs(recorded: Recorded) -> bool:
    """Whether a body is another program when it is recorded once more."""
    try:
        graph, captured = recorded.again()
    except TraceError:  # a Tensor that the first recording left
        return True
    except Exception:  # it cannot be recorded twice
        return False
    pairs = zip(recorded.captured, captured, strict=False)
    return (
        len(captured) != len(recorded.captured)
        or not all(same(x._value, y._value) for x, y in pairs)
        or not _same_programs(recorded.graph, graph)
    )


def _same_programs(a: Graph, b: Graph) -> bool:
    return (
        len(a.nodes) == len(b.nodes)
        and a.returns == b.returns
        and all(map(_same_nodes, a.nodes, b.nodes))
    )


def _same_nodes(a: Node, b: Node) -> bool:
    if a.op.name != b.op.name or a.operands != b.operands or a.params.keys() != b.params.keys():
        return False
    return all(_same_parameters(x, b.params[key]) for key, x in a.params.items())


def _same_parameters(x: Any, y: Any) -> bool:
    if isinstance(x, Graph) and isinstance(y, Graph):
        return _same_programs(x, y)
    if isinstance(x, tuple | list) and type(x) is type(y):
        return len(x) == len(y) and all(map(_same_parameters, x, y))
    return same(x, y)


def _changed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    triples = ((key, x, before.get(key, NOTHING)) for key, x in now.items())
    return {k: x for k, x, old in triples if x is not old and not _equal(x, old)}


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, _COMPARED) and type(a) is type(b) and repr(a) == repr(b)


def _line_of_change(code: Any, name: str) -> Line | None:
    """A line that writes to a variable or what is in it, where another line reads it."""
    if not isinstance(code, CodeType):
        return None
    reading: set[int] = set()
    writing: set[int] = set()
    for each in get_instructions(code):
        number = each.positions.lineno if each.positions else None
        if number is None:
            continue
        if each.opname in LOADS and each.argval == name:
            reading.add(number)
        stores = each.opname in _NAMED_STORES and each.argval == name
        if stores or each.opname in _STORES or each.argval in _ADDS:
            writing.add(number)
    written = writing & reading or writing
    return Line(code.co_filename, min(written)) if written and reading - writing else None
