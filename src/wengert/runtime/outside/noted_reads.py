"""NotesReads: objects whose settings note that they are read. Of these a program depends on what
was read while it was recorded, and not on all that some code could read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from typing import Any, TypeAlias

Read: TypeAlias = tuple[int, str]  # the identity of the dict that has an attribute, and its name
noting: dict[int, set[Read]] = {}  # what was read, by the thread that records a function


class NotesReads:
    """Base of such objects: a getter of theirs calls `note_read`, while `noting` has something."""

    @classmethod
    def noted_names(cls) -> Mapping[str, str]:
        """The attributes whose getters note that they are read, by their names in `__dict__`, each
        with what the user calls it.
        """
        return {}

    @classmethod
    def without_programs(cls, label: str) -> str:
        """How to let a setting change at no program for each value; `label` is what the user calls
        the object.
        """
        return ""


def note_read(owner: object, name: str) -> None:
    """Note that an attribute was read, where this thread records a function."""
    read = noting.get(get_ident())
    if read is not None:
        read.add((id(vars(owner)), name))


def note_all(owner: NotesReads) -> None:
    """Note that all attributes of an object were read, as by its copy."""
    for name in owner.noted_names() if noting else ():
        note_read(owner, name)


@contextmanager
def noting_reads() -> Iterator[set[Read]]:
    """What this thread reads meanwhile. What a recording inside of another one has read, that other
    one has read as well.
    """
    thread, read = get_ident(), set[Read]()
    around = noting.get(thread)
    noting[thread] = read
    try:
        yield read
    finally:
        if around is None:
            del noting[thread]
        else:
            around |= read
            noting[thread] = around


def repair_of(x: Any, label: str) -> str:
    """What to do where an object, or a setting of it, makes a program for each of its values; ""
    where its class does not say so.
    """
    return x.without_programs(label) if isinstance(x, NotesReads) else ""
