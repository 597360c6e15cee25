"""The known name that somebody most likely meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

ALIKE = 0.6  # of 1: names that share less are about something else
_SHORT, _LONG = 5, 9  # letters of a name from which one, and two, may be wrong


def likeness(a: str, b: str) -> float:
    """How much of two names is alike, from 0 to 1."""
    return SequenceMatcher(a=a, b=b).ratio()


def nearest(given: str, known: Iterable[str], alike: float = 0.0) -> str | None:
    """The known name most like the one that was given; None if none is so much alike.

    >>> nearest("encodr.*", ["encoder.w", "decoder.w"])
    'encoder.w'
    >>> nearest("colour", ["axis", "keepdims"], ALIKE) is None
    True
    """
    matcher = SequenceMatcher(b=given)
    best, closest = alike, None
    for name in known:
        matcher.set_seq1(name)
        ratio = matcher.ratio()
        if ratio > best or (closest is None and ratio >= best):
            best, closest = ratio, name
    return closest


def misspelt(given: str, known: Iterable[str]) -> str | None:
    """The known name that was meant, if one letter is wrong, missing, too many or exchanged with
    its neighbour; in long names two. Names that differ more are of something else.

    >>> misspelt("matmull", ["matmul", "max"]), misspelt("gammaln", ["gammainc", "lgamma"])
    ('matmul', None)
    """
    allowed = (len(given) >= _SHORT) + (len(given) >= _LONG)
    near = [(_typos(given, name, allowed), name) for name in known]
    closest = min((each for each in near if each[0] <= allowed), default=None)
    return None if closest is None else closest[1]


def _typos(given: str, name: str, allowed: int) -> int:
    """How many letters must be changed, left out, put in, or exchanged with their neighbours."""
    if abs(len(given) - len(name)) > allowed:
        return allowed + 1
    before: list[int] = []
    row = list(range(len(name) + 1))
    for i, letter in enumerate(given, 1):
        rows = before, row
        before, row = row, [i]
        for j, other in enumerate(name, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == name[j - 2] and given[i - 2] == other:
                cost = min(cost, rows[0][j - 2] + 1)
            row.append(cost)
    return row[-1]
