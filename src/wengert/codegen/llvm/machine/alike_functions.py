"""Alike: functions that differ only in numbers: in words of the frame, in sizes and strides.

The layers of a network, and the parameters of an optimizer, often come to such functions. They are
compiled once: the numbers that differ are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

SHORT = 1200  # characters of a function that is compiled as quickly as a call of another
_HEAD = re.compile(r"define internal void @[\w.]+\(([^()]*)\)")
# Lines whose numbers may as well be arguments. A divisor, or the length of a copy, should be known;
# an element of a vector must be.
_OPEN = re.compile(
    r"^  (?:%\w+ = (?:(?:mul|add|sub) nsw i64|icmp \w+ i64|getelementptr|select i1|call i64) "
    r"|store i64 )[^<\n]*$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<= i64 )\d+\b|(?<=, )\d+$")


class _Function(NamedTuple):
    place: int  # in the module
    head: str
    params: str
    body: str
    numbers: list[str]  # in the body that may as well be arguments


def share_alike(functions: list[str]) -> list[str]:
    """The same functions. Of those that are alike, one has the body, and all call it.

    >>> line = "  %a = getelementptr i64, ptr %frame, i64 {}\\n"
    >>> text = "define internal void @{}(ptr %frame) {{\\n" + line + line + "; comment\\n" * SHORT
    >>> body, f, g = share_alike([text.format("f", 3, 4), text.format("g", 5, 4)])
    >>> print(*body.splitlines()[:3], sep="\\n")
    define internal void @alike0(ptr %frame, i64 %number0) {
      %a = getelementptr i64, ptr %frame, i64 %number0
      %a = getelementptr i64, ptr %frame, i64 4
    >>> print(g, end="")
    define internal void @g(ptr %frame) {
      call void @alike0(ptr %frame, i64 5)
      ret void
    }
    """
    alike: dict[tuple[str, str], list[_Function]] = {}
    for place, text in enumerate(functions):
        head = _HEAD.match(text)
        if head and len(text) > SHORT:
            body = text[head.end() :]
            form, numbers = _taken_apart(body)
            found = _Function(place, head[0], head[1], body, numbers)
            alike.setdefault((found.params, form), []).append(found)
    out = list(functions)
    shared: list[str] = []
    for group in alike.values():
        if len(group) > 1:
            body, calls = _shared(f"alike{len(shared)}", group)
            shared.append(body)
            for each, call in zip(group, calls, strict=True):
                out[each.place] = call
    return shared + out


def _taken_apart(body: str) -> tuple[str, list[str]]:
    """A body without its numbers, and these."""
    numbers: list[str] = []

    def take(number: str) -> str:
        numbers.append(number)
        return ""

    return _with_numbers(body, take), numbers


def _with_numbers(body: str, change: Callable[[str], str]) -> str:
    def line(found: re.Match[str]) -> str:
        return _NUMBER.sub(lambda number: change(number[0]), found[0])

    return _OPEN.sub(line, body)


def _shared(name: str, group: list[_Function]) -> tuple[str, list[str]]:
    """One function with the body of all, and a call of it for each."""
    columns = list(zip(*(each.numbers for each in group), strict=True))
    changing = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
    names = {column: f"%number{n}" for n, column in enumerate(changing)}
    first, rest = group[0], iter(columns)
    params = ", ".join((first.params, *(f"i64 {each}" for each in names.values())))
    own = _with_numbers(first.body, lambda number: names.get(next(rest), number))
    attributes = own.partition("{")[0]
    calls = []
    for n, each in enumerate(group):
        given = ", ".join((first.params, *(f"i64 {column[n]}" for column in changing)))
        calls.append(f"{each.head}{attributes}{{\n  call void @{name}({given})\n  ret void\n}}\n")
    return f"define internal void @{name}({params}){own}", calls
