"""Common: functions that many programs share. Matrix products and factorisations are the same text
in every program, and most of the time it takes to make one: apart, they are compiled once.
"""

from __future__ import annotations

import re

SHARED = ("gemm_", "linalg_")  # how the names of such functions begin
_NAME = re.compile(r"@([\w.]+)\(")


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


def _name(line: str) -> str:
    found = _NAME.search(line)
    return found[1] if found else ""


def _declaration(function: str) -> str:
    """How another module declares a function: types without names."""
    first = function.partition("{")[0]
    params = first[first.index("(") + 1 : first.rindex(")")]
    types = ", ".join(each.split()[0] for each in params.split(",") if each.strip())
    return f"declare void @{_name(function)}({types})"
