"""The known name that somebody most likely meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

ALIKE = 0.6  # of 1: names that share less are about something else
MISTYPED = 0.7  # among many names: those that share less are alike by chance


def nearest(given: str, known: Iterable[str], alike: float = 0.0) -> str | None:
    """The known name most like the one that was given; None if none is so much alike.

    >>> nearest("encodr.*", ["encoder.w", "decoder.w"])
    'encoder.w'
    >>> nearest("colour", ["axis", "keepdims"], ALIKE) is None
    True
    """
    matcher = SequenceMatcher(b=given)
    best, found = alike, None
    for name in known:
        matcher.set_seq1(name)
        ratio = matcher.ratio()
        if ratio > best or (found is None and ratio >= best):
            best, found = ratio, name
    return found
