"""The article of a name in messages."""

from __future__ import annotations

_VOWELS = "aeioAEIO"
_SPELLED = "AEFHILMNORSX"  # letters whose own names begin with a vowel


def with_article(name: str) -> str:
    """A name of a class behind a or an, as it is spoken: an Agent, an int, an LSTM, a GRU.

    >>> from wengert.core.words.articles import with_article
    >>> [with_article(name) for name in ("Agent", "MLP", "Module", "GRU", "ufunc")]
    ['an Agent', 'an MLP', 'a Module', 'a GRU', 'a ufunc']
    """
    is_spelled = name[:2].isupper() and len(name[:2]) == 2
    return f"{'an' if name[:1] in (_SPELLED if is_spelled else _VOWELS) else 'a'} {name}"


def a_kind(x: object) -> str:
    """The class of a value, behind its article."""
    return with_article(type(x).__name__)
