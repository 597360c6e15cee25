"""Common: functions that many programs share. Matrix products and factorisations are the same text
in every program, and most of the time it takes to make one: apart, they are compiled once.

What is a program's own can be taken apart, too: its parts are compiled side by side.
"""

from __future__ import annotations

import re

SHARED = ("gemm_", "linalg_")  # how the names of such functions begin
LARGE = 20_000  # characters of a module that is worth taking apart
_NAME = re.compile(r"@([\w.]+)\(")
_USED = re.compile(r"@([\w.]+)")


def split(text: str) -> tuple[str, str]:
    """The text of a module without its common functions, and a module of these; "" for none.

    >>> product = "define internal void @gemm_f(ptr %a) {\\n}\\n"
    >>> own, common = split(product + "define void @f() {\\ncall @gemm_f(ptr null)\\n}\\n")
    >>> own.splitlines()
    ['declare void @gemm_f(ptr)', 'define void @f() {', 'call @gemm_f(ptr null)', '}']
    >>> common.splitlines()
    ['define void @gemm_f(ptr %a) {', '}']
    """
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    common = [f for f in functions if _name(f).startswith(SHARED)]
    if not common:
        return text, ""
    own = "".join(f for f in functions if f not in common)
    declared = "".join(f"{_declaration(f)}\n" for f in common if f"@{_name(f)}(" in own)
    body = "".join(f.replace("define internal ", "define ", 1) for f in common)
    lines = head.splitlines(keepends=True)
    used = "".join(line for line in lines if (found := _NAME.search(line)) and found[0] in body)
    return head + declared + own, used + body


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
    return tuple(_part(head, functions, set(part)) for part in parts)


def _part(head: str, functions: list[str], own: set[int]) -> str:
    """A module of some of the functions, with declarations of the others it uses."""
    body = "".join(functions[i].replace("define internal ", "define ", 1) for i in sorted(own))
    used = set(_USED.findall(body))
    others = (f for i, f in enumerate(functions) if i not in own and _name(f) in used)
    return head + "".join(f"{_declaration(f)}\n" for f in others) + body


def _name(line: str) -> str:
    found = _NAME.search(line)
    return found[1] if found else ""


def _declaration(function: str) -> str:
    """How another module declares a function: types without names."""
    first = function.partition("{")[0]
    params = first[first.index("(") + 1 : first.rindex(")")]
    types = ", ".join(each.split()[0] for each in params.split(",") if each.strip())
    return f"declare void @{_name(function)}({types})"
