"""Plain functions have no loop, no vector and no floats: a line runs once in a call of the
function, or not at all. They say what to call, and with which numbers. How good their code is
hardly matters, but LLVM takes longer for each of them than for a page of others; so they are a
module of their own, which it makes without looking for better code. Functions that compute with
single floats are none: the body of a loop may be made of them, and runs thousands of times.
"""

from __future__ import annotations

import re

from wengert.codegen.llvm.machine.common_functions import part_of

_MARK = "; plain functions\n"
_COMPUTES = re.compile(r"<| = phi |\b(?:float|double)\b")


def without_plain(text: str) -> tuple[str, str]:
    """The text of a module without its plain functions, and a module of these; empty, if there are
    none.

    >>> calls = "define void @f(ptr %a) {\\n  call void @g(ptr %a, i64 5)\\n}\\n"
    >>> loops = "define internal void @g(ptr %a, i64 %n) {\\n  %i = phi i64 [ 0, %entry ]\\n}\\n"
    >>> rest, plain = without_plain(calls + loops)
    >>> plain.splitlines()[:3]
    ['; plain functions', 'declare void @g(ptr, i64)', 'define void @f(ptr %a) {']
    >>> rest.splitlines()[0]
    'define void @g(ptr %a, i64 %n) {'
    >>> without_plain("define void @h() {\\n  %x = fadd float 1.0, 2.0\\n}\\n")[1]
    ''
    """
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    plain = {i for i, function in enumerate(functions) if _runs_once(function)}
    if not plain:
        return text, ""
    rest = set(range(len(functions))) - plain
    own = part_of(head, functions, rest) if rest else ""
    return own, as_plain(part_of(head, functions, plain))


def as_plain(text: str) -> str:
    """The text of a module that is made as one of plain functions: whatever is in it, making it
    takes longer than better code would ever save.
    """
    return _MARK + text


def is_plain(text: str) -> bool:
    """Whether this is a module of plain functions."""
    return text.startswith(_MARK)


def _runs_once(function: str) -> bool:
    return not _COMPUTES.search(function)
