"""State that the body of a loop keeps outside of it: the body is recorded once, so that every step
would see what the first one saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dis import get_instructions
from types import CodeType
from typing import Any, NamedTuple

from wengert.core.graph import Graph, Node
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.tensor import Tensor
from wengert.core.trees.same import same
from wengert.core.words.source import Line
from wengert.core.words.warn import no_warnings, warn_user
from wengert.errors import FrozenValueWarning, TraceError
from wengert.interpret.bodies.body import RecordAgain
from wengert.interpret.bodies.body_variables import (
    NOTHING,
    NUMBERS,
    Standing,
    Variable,
    as_it_is,
    content,
    generators,
    line_of_assignment,
    line_of_reading,
    loads,
    variables,
)
from wengert.interpret.bodies.loops import sites_put_back
from wengert.interpret.randomness import moved, positions, put_back_later

_NAMED_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
_STORES = ("STORE_SUBSCR", "STORE_ATTR")
_ADDS = ("append", "add", "extend", "update", "appendleft")
_COMPARED = (*NUMBERS, bytes)
_DECISIONS = ("COMPARE_OP", "CONTAINS_OP", "IS_OP", "POP_JUMP", "JUMP_IF")  # or begin so

_LATER_STEPS = 6  # that are recorded after the second, where something goes on changing

_told = Meanwhile[list[str]]()


def noting_told_bodies() -> AbstractContextManager[list[str]]:
    """The names of what warnings said meanwhile that bodies of loops have changed. Whoever watches
    the program around them need not say it again.
    """
    return _told.said([])


def note_told(names: Sequence[str]) -> None:
    if _told.value is not None:
        _told.value.extend(names)


class Repairs(NamedTuple):
    """What messages say of a loop that is to be done: a sentence each, without its end."""

    randomness: str
    state: str
    items: str  # of an iterator
    function: str = "the body"  # what messages call the function of the user's
    tensors: str = "Make it part of the carry"


class _Change(NamedTuple):
    variable: Variable
    now: dict[str, Any]  # what the body has changed, by what messages add to the name
    line: Line | None  # of the body itself that writes to it, where another line reads it


class _Steps(NamedTuple):
    """The body recorded as it would run in the first step, the second, and some more."""

    differ: bool
    changes: list[dict[str, Any]]  # those of the second, for each variable


class BodyState:
    """The variables from outside that the body of a loop reads, before it is recorded."""

    def __init__(self, function: Any) -> None:
        self._code = getattr(function, "__code__", None)
        self._known = variables(function)
        self._begin = [as_it_is(each) for each in self._known]

    def generators(self) -> list[Any]:
        """The generators of random numbers that the body could draw from."""
        return generators(self._known)

    def draws_again(self, recorded: Sequence[RecordAgain]) -> bool:
        """Whether a second recording draws random numbers as well. Weights that are drawn once, and
        kept, are meant to be the same in every step. All is put back to what it is now.
        """
        drawn = self.generators()
        put_back = [*(as_it_is(each) for each in self._known), put_back_later(drawn)]
        before = positions(drawn)
        try:
            with no_warnings(), sites_put_back():
                for again in recorded:
                    again()
            return moved(before) is not None
        except Exception:
            return True
        finally:
            for each in put_back:
                each()

    def look(
        self, by: str, repairs: Repairs, recorded: Sequence[RecordAgain], has_drawn: bool
    ) -> None:
        """Refuse Tensors that the body left outside, and warn of numbers that it changed and of
        iterators that it took items from. What it has changed counts if one of the next steps would
        be another program, or if the body decides by what changes in each step. A body that
        `has_drawn` from a generator is not recorded again, which would draw more.
        """
        changes = dict(self._changes())
        for each in changes.values():
            moved = next((key for key, x in each.now.items() if isinstance(x, Standing)), None)
            if moved is not None:
                _tell_of_items(by, each.variable, moved, repairs)
                return
        if not changes:
            return
        steps = None if has_drawn else self._first_steps(recorded, changes.values())
        own = {i: each for i, each in changes.items() if each.line is not None}
        told = [each for i, each in own.items() if self._matters(i, each, steps)]
        if not told and steps is not None and steps.differ:
            first = next(iter(changes.values()))
            name = next(iter(first.now)) or first.variable.name
            line = line_of_assignment(self._known, name)
            if line is None and first.variable.of is self._code:
                line = line_of_reading(first.variable)
            told = [first._replace(line=line)]
        for each in told:
            _tell(by, each, repairs)

    def _changes(self) -> Sequence[tuple[int, _Change]]:
        found: list[tuple[int, _Change]] = []
        for i, each in enumerate(self._known):
            now = _changed(each.before, content(each.read()))
            if now:
                own = each.of is self._code
                line = _line_of_change(self._code, each) if own else None
                found.append((i, _Change(each, now, line)))
        return found

    def _matters(self, i: int, change: _Change, steps: _Steps | None) -> bool:
        """Whether what the body itself writes to and reads is another one in each step."""
        if steps is None:  # it is not known what a second recording does
            before = change.variable.before
            return any(before.get(key) is not None for key in change.now)
        decides = bool(steps.changes[i]) and _decides_by(self._code, change.variable)
        return steps.differ or decides

    def _first_steps(
        self, recorded: Sequence[RecordAgain], changes: Iterable[_Change]
    ) -> _Steps | None:
        """None where the body cannot be recorded again. All is put back to what it is now. What the
        body has computed once for all steps, and remembers, is there from the beginning: recorded
        again as a whole, it would not be of the program around the loop.
        """
        now = [as_it_is(each) for each in self._known]
        remembers = any(_is_from_around(x) for each in changes for x in each.now.values())
        for put_back in () if remembers else self._begin:
            put_back()
        try:
            with no_warnings(), sites_put_back():
                return self._recorded_in_turn(recorded)
        finally:
            for put_back in now:
                put_back()

    def _recorded_in_turn(self, recorded: Sequence[RecordAgain]) -> _Steps | None:
        """A third and later steps are recorded as long as something goes on changing: a count in a
        function that the body calls may decide at 3, or at each fourth.
        """
        try:
            first = [again() for again in recorded]
        except Exception:
            return None
        between = self._contents()
        try:
            second = [again() for again in recorded]
        except Exception:  # of what the first has left: a Tensor, or a list without items
            return _Steps(True, [{} for _ in self._known])
        changes = list(map(_changed, between, self._contents()))
        differ, goes_on, left = not all(map(_same_bodies, first, second)), changes, _LATER_STEPS
        while not differ and any(goes_on) and left:
            before, left = self._contents(), left - 1
            try:
                differ = not all(map(_same_bodies, first, [again() for again in recorded]))
            except TraceError:  # of a Tensor that an earlier step has left
                differ = True
            except Exception:  # maybe of a step that the loop has not
                break
            goes_on = list(map(_changed, before, self._contents()))
        return _Steps(differ, changes)

    def _contents(self) -> list[dict[str, Any]]:
        return [content(each.read()) for each in self._known]


def _tell(by: str, change: _Change, repairs: Repairs) -> None:
    name, changed, line = change.variable.name, change.now, change.line
    at = "" if line is None else f" ({line})"
    left = next((key for key, x in changed.items() if type(x) is Tensor), None)
    if left is not None:
        raise TraceError(
            f"{by}: {repairs.function} left a Tensor in {name}{left}, which it reads; it is "
            "recorded once, and every step would have what was there at first. "
            f"{repairs.tensors}.{at}"
        )
    key = next((key for key, x in changed.items() if isinstance(x, _COMPARED)), None)
    if key is not None:
        note_told([name])
        warn_user(
            f"{by}: {repairs.function} changed {name}{key}; it is recorded once, and every step "
            f"has the same value. {repairs.state}.{at}",
            FrozenValueWarning,
            line,
        )


def _tell_of_items(by: str, variable: Variable, key: str, repairs: Repairs) -> None:
    line = line_of_reading(variable)
    note_told([variable.name])
    warn_user(
        f"{by}: {repairs.function} took items from the iterator {variable.name}{key}; it is "
        f"recorded once, and every step has the same ones. {repairs.items}."
        f"{'' if line is None else f' ({line})'}",
        FrozenValueWarning,
        line,
    )


def _same_bodies(a: tuple[Graph, list[Tensor]], b: tuple[Graph, list[Tensor]]) -> bool:
    (graph, captured), (other, others) = a, b
    if len(captured) != len(others) or not _same_programs(graph, other):
        return False
    return all(x is y for x, y in zip(captured, others, strict=True))


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


def _is_from_around(x: Any) -> bool:
    """Whether this is a Tensor of a program around the loop, or has some."""
    if isinstance(x, tuple | list):
        return any(map(_is_from_around, x))
    return type(x) is Tensor and not x.level.closed


def _changed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    triples = ((key, x, before.get(key, NOTHING)) for key, x in now.items())
    return {k: x for k, x, old in triples if x is not old and not _equal(x, old)}


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Standing):
        return bool(a == b)
    return isinstance(a, _COMPARED) and type(a) is type(b) and repr(a) == repr(b)


def _line_of_change(code: Any, variable: Variable) -> Line | None:
    """A line that writes to a variable or what is in it, where another line reads it."""
    if not isinstance(code, CodeType):
        return None
    reading, writing = _reading_and_writing(code, variable)
    written = writing & reading or writing
    return Line(code.co_filename, min(written)) if written and reading - writing else None


def _decides_by(code: Any, variable: Variable) -> bool:
    """Whether a line that reads a variable compares something or goes another way."""
    reading, writing = _reading_and_writing(code, variable)
    deciding = {
        each.positions.lineno
        for each in get_instructions(code)
        if each.positions is not None and each.opname.startswith(_DECISIONS)
    }
    return bool(deciding & (reading - writing))


def _reading_and_writing(code: CodeType, variable: Variable) -> tuple[set[int], set[int]]:
    """The lines that read a variable, and those that write to it or to what is in it."""
    reading: set[int] = set()
    writing: set[int] = set()
    for each in get_instructions(code):
        number = each.positions.lineno if each.positions else None
        if number is None:
            continue
        if loads(each, variable):
            reading.add(number)
        stores = each.opname in _NAMED_STORES and each.argval == variable.name
        if stores or each.opname in _STORES or each.argval in _ADDS:
            writing.add(number)
    return reading, writing
