"""Meanwhile: values that a thread sets for as long as something runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Meanwhile(threading.local, Generic[T]):
    """A value that each thread has for itself: the one that was set last and still holds, or None.

    >>> place = Meanwhile[str]()
    >>> with place.said("inside"):
    ...     print(place.value)
    inside
    >>> print(place.value)
    None
    """

    value: T | None = None

    @contextmanager
    def said(self, value: T) -> Iterator[T]:
        """Let this be the value while the context is open."""
        before, self.value = self.value, value
        try:
            yield value
        finally:
            self.value = before
