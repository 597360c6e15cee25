"""Results that nothing reads. Whoever writes `v /= s` or `x.at[i].set(v)` means to change the
array, and whoever loads into a model means to change that model; neither is changed in place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dis import Bytecode, Instruction, get_instructions
from types import CodeType, FrameType
from typing import Any

from wengert.core.words.source import Line, is_users
from wengert.core.words.warn import warn_user
from wengert.errors import UnusedWarning

_READS_ALL = frozenset({"locals", "vars", "eval", "exec", "dir"})
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_GOES_ELSEWHERE = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
_known: dict[tuple[CodeType, int], str | None] = {}  # by code and place: the name that is not read


def warn_if_unused(symbol: str) -> None:
    """Warn where the caller's caller is a function that does not read what `v += …` gives it."""
    frame = sys._getframe(2)
    key = frame.f_code, frame.f_lasti
    if key not in _known:
        _known[key] = _unread(*key)
    name = _known[key]
    if name is not None:
        warn_user(
            f"{name} {symbol}= …: given a Tensor, which is never changed in place; {name} names a "
            "new one, and nothing reads it. Return it, or assign it where it is read: y = y / s, "
            "y = y.at[i].add(v), rows = wg.stack([…]).",
            UnusedWarning,
            Line(frame.f_code.co_filename, frame.f_lineno),
        )


def warn_if_dropped(text: str, method: str = "", function: str = "") -> None:
    """Warn with this text where the user's line that called is a statement of its own, whose result
    is dropped. Inside of `try` or `with` it may be there to find out whether it raises. Of a
    method, given its name: where the line calls that, and the same code reads no other result of
    it, since a first call may be there to warm up. Of a function, given its name: where the line
    calls that; other functions of ours may call it, too.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    if frame is not None and is_dropped(frame, method, function):
        warn_user(text, UnusedWarning, Line(frame.f_code.co_filename, frame.f_lineno))


def is_dropped(frame: FrameType, method: str = "", function: str = "") -> bool:
    """Whether a frame is at a statement whose result is dropped, see `warn_if_dropped`."""
    place = frame.f_code, frame.f_lasti
    key = (*place, method or function)  # ours may call others that ask about the same line
    if key not in _dropped:
        _dropped[key] = (
            _is_dropped_method(*place, method)
            if method
            else _is_dropped(*place) and (not function or _calls_function(*place, function))
        )
    return _dropped[key]


def _is_dropped(code: CodeType, place: int) -> bool:
    """Whether a call is a statement of its own, outside of `try` and `with`."""
    if code.co_exceptiontable:
        entries = getattr(Bytecode(code), "exception_entries", ())
        if any(each.start <= place < each.end for each in entries):
            return False
    listed = list(get_instructions(code))
    # A place may lie in the cache behind an instruction, which is not listed.
    call = sum(each.offset <= place for each in listed) - 1
    is_call = listed[call].opname.startswith("CALL")
    return is_call and call + 1 < len(listed) and listed[call + 1].opname == "POP_TOP"


def _is_dropped_method(code: CodeType, place: int, method: str) -> bool:
    """Whether a call is a statement of its own, and calls the method of this name, and no other
    result of that method is used in the same code.
    """
    if method not in code.co_names or not _is_dropped(code, place):
        return False
    listed = list(get_instructions(code))
    calls = {}  # of the method: whether the result is dropped
    for asked in listed:
        if asked.opname in ("LOAD_ATTR", "LOAD_METHOD") and asked.argval == method:
            after = [i for i, each in enumerate(listed) if _calls_what(asked, each)]
            if after:
                first = min(after, key=lambda i: _end(listed[i]))
                calls[first] = listed[first + 1].opname == "POP_TOP"
    here = sum(each.offset <= place for each in listed) - 1
    return here in calls and all(calls.values())


def _calls_function(code: CodeType, place: int, function: str) -> bool:
    """Whether a call is one of a function of this name, alone or of a module."""
    listed = list(get_instructions(code))
    call = listed[sum(each.offset <= place for each in listed) - 1]
    named = [each for each in listed if each.opname.startswith("LOAD") and each.argval == function]
    between = [each for each in listed if each.opname.startswith("CALL")]
    for asked in named:
        after = [each for each in between if _calls_what(asked, each)]
        if after and min(after, key=_end) is call:
            return True
    return False


def _calls_what(asked: Instruction, each: Instruction) -> bool:
    """Whether an instruction calls, in an expression that begins with what was asked for."""
    if not each.opname.startswith("CALL") or each.positions is None or asked.positions is None:
        return False
    same = each.positions[0] == asked.positions[0] and each.positions[2] == asked.positions[2]
    return same and _end(each) > _end(asked)


def _end(each: Instruction) -> tuple[int, int]:
    place = each.positions
    return (0, 0) if place is None else (place.end_lineno or 0, place.end_col_offset or 0)


_dropped: dict[tuple[CodeType, int, str], bool] = {}  # by code, place and name


def _unread(code: CodeType, place: int) -> str | None:
    """The local variable that the instruction behind a place stores to, if no way from there on
    reads it before it is stored to again.

    >>> def f(v):
    ...     v /= 2
    >>> place = next(x.offset for x in get_instructions(f.__code__) if x.opname == "BINARY_OP")
    >>> _unread(f.__code__, place)
    'v'
    """
    if code.co_exceptiontable or not _READS_ALL.isdisjoint(code.co_names):
        return None  # more ways than can be seen here
    listed = list(get_instructions(code))
    numbers = {each.offset: i for i, each in enumerate(listed)}
    store = numbers.get(place, len(listed)) + 1
    if store >= len(listed) or listed[store - 1].opname != "BINARY_OP":
        return None  # called otherwise, as by operator.iadd
    if not listed[store].opname.startswith("STORE_FAST"):
        return None
    (_, name), *rest = _uses(listed[store])
    if any(used == name for _, used in rest):
        return None
    return None if _is_read(name, listed, numbers, store) else name


def _is_read(name: str, listed: Sequence[Instruction], numbers: dict[int, int], store: int) -> bool:
    pending, seen = list(_next(listed, numbers, store)), set[int]()
    while pending:
        number = pending.pop()
        if number in seen or number >= len(listed):
            continue
        seen.add(number)
        first = next((how for how, used in _uses(listed[number]) if used == name), None)
        if first == "read":
            return True
        if first is None:
            pending += _next(listed, numbers, number)
    return False


def _next(listed: Sequence[Instruction], numbers: dict[int, int], number: int) -> Iterator[int]:
    """The instructions that may come after one."""
    each = listed[number]
    if each.opname in _ENDS:
        return
    if "JUMP" in each.opname or each.opname in ("FOR_ITER", "SEND"):
        yield numbers[each.argval]
    if each.opname not in _GOES_ELSEWHERE:
        yield number + 1


def _uses(each: Instruction) -> list[tuple[str, Any]]:
    """What an instruction does with local variables, in order; newer Pythons have two in one."""
    if "_FAST" not in each.opname:
        return []
    kinds = ["stored" if part == "STORE" else "read" for part in _parts(each.opname)]
    names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
    return list(zip(kinds, names, strict=False))


def _parts(name: str) -> list[str]:
    return [part for part in name.split("_") if part in ("LOAD", "STORE", "DELETE")]
