"""Once: attributes that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """An attribute that a method computes the first time, and that is kept.

    As `functools.cached_property`, without the lock it has in Python 3.11: one for all objects of a
    class, which keeps threads waiting for each other, and a forked process for ever.

    >>> class Square:
    ...     @once
    ...     def size(self) -> int:
    ...         print("computed")
    ...         return 4
    >>> it = Square()
    >>> it.size + it.size
    computed
    8
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__
        self._name = compute.__name__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: Any, kind: type) -> Self | T:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._compute(owner)
        return value
