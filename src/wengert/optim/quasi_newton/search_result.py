"""What a search for a minimum comes to; and results that nobody reads, of searches that began with
the live weights of a training step. The step goes on with those from before, whatever was found.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from dis import get_instructions
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, ClassVar

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_SEARCHES
from wengert.core.words.source import is_users_own
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.runtime.outside.live import is_live
from wengert.runtime.outside.watch import checksum


@dataclass(frozen=True)
class Result(Explained):
    """What a search for a minimum came to."""

    _repairs: ClassVar[Mapping[str, str]] = OF_SEARCHES
    _nature: ClassVar[str] = "it is what a search came to"

    tree: Any  # the weights
    value: float  # there
    grad_norm: float  # there; the root of the sum of squares
    iterations: int
    evaluations: int
    converged: bool  # whether a tolerance was met
    message: str  # why it ended


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_ENDS = ("STORE_", "POP_TOP", "RETURN_")  # instructions that end an expression, or begin so
_NUMBERS = frozenset(each.name for each in fields(Result)) - {"tree"}


class _UnreadResult(Result):
    """A result of which only numbers were read: whatever else is asked for makes it a plain one."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _NUMBERS:
            object.__setattr__(self, "__class__", Result)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        """What is printed is looked at, and not gone on with."""
        return repr(Result(*(object.__getattribute__(self, each.name) for each in fields(Result))))


_unread: dict[int, tuple[weakref.ref[Result], dict[int, int]]] = {}  # by id; mostly none


def note_search_from_step(result: Result, start: Sequence[Any]) -> None:
    """Note a result of a search from these arrays, if they are live ones of a step, and no code of
    the user's that is running has a `.tree`: that may come after a look at the step as it was.
    """
    if not all(map(is_live, start)) or _reads_a_tree():
        return
    object.__setattr__(result, "__class__", _UnreadResult)
    number = id(result)
    gone = weakref.ref(result, lambda _: _unread.pop(number, None))
    _unread[number] = gone, {_address(x): checksum(x) for x in start}


def warn_of_unread_results(by: str, leaves: Sequence[Any]) -> None:
    """Warn, once, where a search has begun with just these arrays of a step, nobody has read what
    it found, and the step still has the numbers from before.
    """
    if not _unread:
        return
    floats = {_address(x): x for x in leaves if is_float(x.dtype)}
    for number, (reference, start) in list(_unread.items()):
        result = reference()
        if result is not None and type(result) is not _UnreadResult:
            _unread.pop(number, None)
        elif start.keys() == floats.keys():
            _unread.pop(number, None)
            if all(checksum(x) == start[place] for place, x in floats.items()):
                warn_user(
                    f"{by}: a search began with step.model, and nothing has read the tree that it "
                    "found; minimize changes no tree, and the step has the weights from before. "
                    "Write step.model = search.minimize(…).tree, or begin with "
                    "wg.tree.copy(step.model) where only its value is wanted.",
                    CopiedWarning,
                )


def warn_of_unread_results_before_reading(by: str, leaves: Sequence[Any]) -> None:
    """The same, where somebody reads the weights of a step: not for another search, and not in a
    session of Python, where the next line may take the tree.
    """
    if _unread and hasattr(sys.modules["__main__"], "__file__") and not _searches_again():
        warn_of_unread_results(by, leaves)


def _address(x: Any) -> int:
    return int(np.asarray(x).__array_interface__["data"][0])


def _reads_a_tree() -> bool:
    """Whether code of the user's that is running asks something for its `tree`, but for `wg`."""
    return any(
        not isinstance(frame.f_globals.get(name), ModuleType)
        for frame in _users_frames()
        for name in _asked_for_tree(frame.f_code)
    )


def _users_frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_own(frame.f_code):
            yield frame
        frame = frame.f_back


def _searches_again() -> bool:
    """Whether code of the user's that is running is about to call `minimize`: in the expression
    that it computes, or further down, as in a loop over settings of a search.
    """
    for frame in _users_frames():
        called = False
        for each in get_instructions(frame.f_code):
            if each.argval == "minimize" and each.opname in _ATTRIBUTES:
                called = True
            elif each.opname.startswith(_ENDS) and each.offset <= frame.f_lasti:
                called = False  # that was another expression, which is over
        if called:
            return True
    return False


@lru_cache(256)
def _asked_for_tree(code: CodeType) -> frozenset[str]:
    """The names that code, and code inside it, asks for their `tree`; "" for what has no name."""
    names, before = set(), None
    for each in get_instructions(code):
        if each.opname in _ATTRIBUTES and each.argval == "tree":
            named = before is not None and before.opname in ("LOAD_GLOBAL", "LOAD_NAME")
            names.add(str(before.argval) if named and before is not None else "")
        before = each
    if "tree" in code.co_consts:  # getattr(result, "tree")
        names.add("")
    inside = [_asked_for_tree(each) for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(names.union(*inside))
