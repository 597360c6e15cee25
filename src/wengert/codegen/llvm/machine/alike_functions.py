"""Alike functions differ only in numbers: in words of the frame, in sizes and strides.

The layers of a network, the parameters of an optimizer and the steps of a loop in Python often
become such functions. They are compiled once: the numbers that differ are arguments, and so are
functions they hand on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

SHORT = 1200  # characters of a function that is compiled as quickly as a call of another
MANY = 8  # functions that are worth it though they are shorter, ...
SHORTEST = 300  # ... but not as short as a call
_HEAD = re.compile(r"define internal void @[\w.]+\(([^()]*)\)")
# Lines whose numbers may as well be arguments. A divisor, or the length of a copy, should be known;
# an element of a vector must be.
_OPEN = re.compile(
    r"^  (?:%\w+ = (?:(?:mul|add|sub) nsw i64|icmp \w+ i64|getelementptr|select i1|call i64) "
    r"|store i64 )[^<\n]*$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<= i64 )\d+\b|(?<=, )\d+$")
_HANDS = ", ptr @"
_HANDED = re.compile(r"(?<=, ptr )@\w+")  # a function that is an argument
# A function that does nothing but to call another, and the call of one with the frame alone.
_ONLY_CALLS = re.compile(
    r"define internal void @(\w+)\(ptr(?: noalias)? %frame\)[^{\n]*\{\n"
    r"(?:entry:\n  br label %start\nstart:\n)?(  call void @[^\n]*)\n  ret void\n\}\n"
)
_NO_DIGITS = str.maketrans("", "", "0123456789")
_CALLS = "(ptr %frame)\n"
_CALL = re.compile(r"^  call void @(\w+)\(ptr %frame\)$", re.MULTILINE)


class _Function(NamedTuple):
    place: int  # in the module
    head: str
    params: str
    body: str
    numbers: list[str]  # in the body that may as well be arguments
    handed: list[str]  # functions in it that may be, too


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
    lines: dict[str, tuple[str, list[str]]] = {}
    for place in _with_a_like(functions):
        text = functions[place]
        head = _HEAD.match(text)
        if head:
            body = text[head.end() :]
            handed = _HANDED.findall(body) if _HANDS in body else []
            form, numbers = _taken_apart(_HANDED.sub("@", body) if handed else body, lines)
            function = _Function(place, head[0], head[1], body, numbers, handed)
            alike.setdefault((function.params, form), []).append(function)
    out = list(functions)
    shared: list[str] = []
    for group in alike.values():
        long = len(functions[group[0].place]) > SHORT
        if len(group) >= (2 if long else MANY):
            body, calls = _shared(f"alike{len(shared)}", group)
            shared.append(body)
            for each, call in zip(group, calls, strict=True):
                out[each.place] = call
    return shared + out


def _with_a_like(functions: list[str]) -> list[int]:
    """The places of functions that may be like another one: without digits they are the same. This
    test is quick, and most functions of a small program are like no other.
    """
    by_form: dict[str, list[int]] = {}
    for place, text in enumerate(functions):
        if len(text) > SHORTEST:
            body = text[text.find("{") :]
            body = _HANDED.sub("@", body) if _HANDS in body else body
            by_form.setdefault(body.translate(_NO_DIGITS), []).append(place)
    return sorted(place for places in by_form.values() if len(places) > 1 for place in places)


def _taken_apart(body: str, known: dict[str, tuple[str, list[str]]]) -> tuple[str, list[str]]:
    """A body without its numbers, and these. `known` has lines that were met before."""
    form: list[str] = []
    numbers: list[str] = []
    for line in body.split("\n"):
        if line not in known:
            known[line] = _line_taken_apart(line)
        rest, of_line = known[line]
        form.append(rest)
        numbers += of_line
    return "\n".join(form), numbers


def _line_taken_apart(line: str) -> tuple[str, list[str]]:
    if not _OPEN.match(line):
        return line, []
    return _NUMBER.sub("", line), _NUMBER.findall(line)


def _with_numbers(body: str, change: Callable[[str], str]) -> str:
    def line(match: re.Match[str]) -> str:
        return _NUMBER.sub(lambda number: change(number[0]), match[0])

    return _OPEN.sub(line, body)


def _shared(name: str, group: list[_Function]) -> tuple[str, list[str]]:
    """One function with the body of all, and a call of it for each."""
    columns = list(zip(*(each.numbers for each in group), strict=True))
    handed = list(zip(*(each.handed for each in group), strict=True))
    names = {column: f"%number{n}" for n, column in enumerate(_changing(columns))}
    others = {column: f"%function{n}" for n, column in enumerate(_changing(handed))}
    first, rest, functions = group[0], iter(columns), iter(handed)
    own = _HANDED.sub(lambda given: others.get(next(functions), given[0]), first.body)
    own = _with_numbers(own, lambda number: names.get(next(rest), number))
    typed = [("i64", names), ("ptr", others)]
    more = [f"{kind} {each}" for kind, named in typed for each in named.values()]
    attributes = own.partition("{")[0]
    calls = []
    for n, each in enumerate(group):
        given = [f"{kind} {column[n]}" for kind, named in typed for column in named]
        call = f"  call void @{name}({', '.join((first.params, *given))})\n"
        calls.append(f"{each.head}{attributes}{{\n{call}  ret void\n}}\n")
    return f"define internal void @{name}({', '.join((first.params, *more))}){own}", calls


def _changing(columns: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The columns that are not the same in all functions, each once."""
    return list(dict.fromkeys(column for column in columns if len(set(column)) > 1))


def called_directly(functions: list[str]) -> list[str]:
    """The same without functions that only call another: their callers call that one.

    >>> only = "define internal void @f(ptr %frame) #0 {\\n"
    >>> only += "  call void @alike0(ptr %frame, i64 5)\\n  ret void\\n}\\n"
    >>> print(*called_directly([only, "  call void @f(ptr %frame)\\n"]), end="")
      call void @alike0(ptr %frame, i64 5)
    >>> other = only.replace("@f", "@g").replace("@alike0(ptr %frame, i64 5)", "@f(ptr %frame)")
    >>> print(*called_directly([other, only, "  call void @g(ptr %frame)\\n"]), end="")
      call void @alike0(ptr %frame, i64 5)
    """
    matches = [_ONLY_CALLS.fullmatch(text) for text in functions]
    calls = {each[1]: each[2] for each in matches if each}
    for name, call in calls.items():  # the callee may itself only call another
        while (inner := _CALL.fullmatch(call)) and inner[1] in calls:
            call = calls[inner[1]]
        calls[name] = call
    used = {name[1:] for text in functions if _HANDS in text for name in _HANDED.findall(text)}
    left = (t for t, each in zip(functions, matches, strict=True) if not each or each[1] in used)
    return [
        _CALL.sub(lambda call: calls.get(call[1], call[0]), text) if _CALLS in text else text
        for text in left
    ]
