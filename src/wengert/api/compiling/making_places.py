"""Where a program makes something that compiles, and whether it comes to that place again and again
by itself: by a loop, or in a function that it calls.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from itertools import pairwise
from types import CodeType, FrameType
from typing import TypeAlias

from wengert.core.words.source import is_users

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
# After these Python does not go on with the next instruction; not all versions have all of them.
_ENDS = frozenset(
    (
        "JUMP_ABSOLUTE",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
        "JUMP_FORWARD",
        "RAISE_VARARGS",
        "RERAISE",
        "RETURN_CONST",
        "RETURN_VALUE",
    )
)


@dataclass(frozen=True)
class Instruction:
    """One of Python's instructions, which is under way. It is the same one as others of its line:
    Python may give it other offsets from the second time on.
    """

    code: CodeType
    line: int
    offset: int = field(compare=False)


MakingPlace: TypeAlias = tuple[Instruction, ...]


def making_place() -> MakingPlace:
    """The innermost instruction of the user's that is under way; where it stands in the body of a
    class, those around it, too, up to a function or a module.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    place: list[Instruction] = []
    while frame is not None:
        place.append(Instruction(frame.f_code, frame.f_lineno, frame.f_lasti))
        if not _is_class_body(frame.f_code):
            break
        frame = frame.f_back
    return tuple(place)


def is_run_again(place: MakingPlace) -> bool:
    """Whether a program may run it again by itself. A line of a script, or of a cell of a notebook,
    that is in no loop is run again by a person.
    """
    if not place or _is_function(place[-1].code):
        return True
    return any(_is_in_loop(each.code, each.offset) for each in place)


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & CO_OPTIMIZED)


def _is_class_body(code: CodeType) -> bool:
    """Whether it is neither a function nor a module: these are called <module>, and cells of
    IPython <cell line: 1>.
    """
    return not _is_function(code) and code.co_name.isidentifier()


def _is_in_loop(code: CodeType, offset: int) -> bool:
    """Whether the instruction can be reached from itself."""
    following = _following(code)
    # Python counts what it keeps behind an instruction for itself as part of that.
    begin = max(each for each in following if each <= offset)
    seen: set[int] = set()
    pending = [begin]
    while pending:
        new = [each for each in following.get(pending.pop(), ()) if each not in seen]
        seen.update(new)
        pending += new
    return begin in seen


def _following(code: CodeType) -> dict[int, list[int]]:
    """Where Python can go on after each instruction, unless that raises an error."""
    instructions = list(dis.get_instructions(code))
    following: dict[int, list[int]] = {each.offset: [] for each in instructions}
    for each, after in pairwise(instructions):
        if each.opname not in _ENDS:
            following[each.offset].append(after.offset)
    for each in instructions:
        if each.opcode in _JUMPS:
            following[each.offset].append(each.argval)
    return following
