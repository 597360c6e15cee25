"""Common functions are those that many programs share. Matrix products and factorisations are the
same text in every program, and compiling them takes most of the time; so they are modules of their
own, which are compiled once.

A large program of one's own is taken apart, too: its parts are compiled side by side.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LARGE = 20_000  # characters of a module that is worth taking apart
# How the names of common functions begin. Those with the same beginning are made, and kept,
# together.
_FAMILY = re.compile(
    r"(?:gemm_[a-z0-9]+(?:_blocks|_matrix|_thin|_dot)?|convolution_[a-z0-9]+(?:_space|_window)?|linalg)(?=_|$)"
)
_NAME = re.compile(r"@([\w.]+)\(")
_USED = re.compile(r"@([\w.]+)")


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """The text of a module without its common functions, and modules of these.

    >>> product = "define internal void @gemm_f(ptr %a) {\\n}\\n"
    >>> own, [common] = split(product + "define void @f() {\\ncall @gemm_f(ptr null)\\n}\\n")
    >>> own.splitlines()
    ['declare void @gemm_f(ptr)', 'define void @f() {', 'call @gemm_f(ptr null)', '}']
    >>> common.splitlines()
    ['define void @gemm_f(ptr %a) {', '}']
    """
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    families: dict[str, set[int]] = {}
    for i, function in enumerate(functions):
        family = _FAMILY.match(_name(function))
        if family:
            families.setdefault(family[0], set()).add(i)
    if not families:
        return text, ()
    rest = [i for i in range(len(functions)) if not any(i in each for each in families.values())]
    own = "".join(functions[i] for i in rest)
    common = tuple(part_of(_needed(head, functions, f), functions, f) for f in families.values())
    return head + _declared(functions, rest, own) + own, common


def _needed(head: str, functions: list[str], part: set[int]) -> str:
    """The lines of a head that some functions need, in an order of their own."""
    used = {name for i in part for name in _USED.findall(functions[i])}
    lines = head.splitlines(keepends=True)
    return "".join(sorted(line for line in lines if _name(line) in used))


def halves(text: str) -> tuple[str, ...]:
    """A module as two of about the same length, if it is large and has several functions. Those
    that were internal are known to both.

    >>> one, other = (f"define internal void @{name}(ptr %a) {{\\n}}\\n" for name in "fg")
    >>> last = "define void @main() {\\n  call void @f(ptr null)\\n}\\n" + "; comment\\n" * LARGE
    >>> first, second = halves(one + other + last)
    >>> first.splitlines()[:3]
    ['declare void @f(ptr)', 'define void @main() {', '  call void @f(ptr null)']
    >>> second.splitlines()
    ['define void @f(ptr %a) {', '}', 'define void @g(ptr %a) {', '}']
    """
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    if len(text) < LARGE or len(functions) < 2:
        return (text,)
    parts: tuple[list[int], list[int]] = ([], [])
    lengths = [0, 0]
    for i in sorted(range(len(functions)), key=lambda i: -len(functions[i])):
        lighter = lengths.index(min(lengths))
        parts[lighter].append(i)
        lengths[lighter] += len(functions[i])
    return tuple(part_of(head, functions, set(part)) for part in parts)


def part_of(head: str, functions: list[str], part: set[int]) -> str:
    """A module of some of the functions, which other modules can use."""
    body = "".join(functions[i].replace("define internal ", "define ", 1) for i in sorted(part))
    return _with_tables(head, body) + _declared(functions, part, body) + body


def _with_tables(head: str, body: str) -> str:
    """A head without the tables that a body does not read."""
    lines = head.splitlines(keepends=True)
    return "".join(x for x in lines if x[0] != "@" or f"{x.partition(' ')[0]}," in body)


def _declared(functions: list[str], part: Collection[int], body: str) -> str:
    """Declarations of those functions outside of a part that it uses."""
    used = set(_USED.findall(body))
    others = (f for i, f in enumerate(functions) if i not in part and _name(f) in used)
    return "".join(f"{_declaration(f)}\n" for f in others)


def _name(line: str) -> str:
    match = _NAME.search(line)
    return match[1] if match else ""


def _declaration(function: str) -> str:
    """How another module declares a function: types without names."""
    first = function.partition("{")[0]
    params = first[first.index("(") + 1 : first.rindex(")")]
    types = ", ".join(each.split()[0] for each in params.split(",") if each.strip())
    return f"declare void @{_name(function)}({types})"
