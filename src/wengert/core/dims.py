"""Dim: the size of an axis that is known at call time only, as an integer polynomial in canonical
form.

>>> batch = Dim("batch")
>>> (batch + 1) * 2 - batch
batch + 2
>>> (batch * 6) // 3 == batch * 2
True
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.core.table import UFUNCS, op
from wengert.core.words.arguments import worded_methods
from wengert.core.words.source import (
    Line,
    is_asked_by_user,
    is_printed_by_user,
    user_expression,
    user_line,
)
from wengert.errors import ShapeError, TraceError

Monomial: TypeAlias = tuple[str, ...]  # sorted names, repeated for powers; () is the constant term


class SizeNeeded(BaseException):
    """Python asked for the number behind a Dim, or arrays fit with that number only; `trace`
    catches this and specialises that size.

    A BaseException so that a user's ``except Exception`` cannot swallow it.
    """

    line: Line | None

    def __init__(
        self, names: frozenset[str], misfit: Exception | None = None, repair: str = ""
    ) -> None:
        super().__init__(names)
        self.names = names
        self.repair = repair  # what leaves it open, where those who need it know that
        self.misfit = misfit  # what was wrong with the size left open, where Python did not ask
        self.line = user_line()
        self.expression = user_expression()  # that needs it


class _Known(threading.local):
    sizes: Mapping[str, int] | None = None
    yielding: frozenset[str] = frozenset()


_known = _Known()


@contextmanager
def known_sizes(sizes: Mapping[str, int], yielding: frozenset[str] = frozenset()) -> Iterator[None]:
    """While a program is traced: the sizes its Dims have in this call, so that they can be
    specialised. Those of a trace around it are known, too. The `yielding` ones are also specialised
    where arrays would not fit otherwise.
    """
    before = _known.sizes, _known.yielding
    _known.sizes = {**(before[0] or {}), **sizes}
    _known.yielding = before[1] | yielding
    try:
        yield
    finally:
        _known.sizes, _known.yielding = before


def is_known(name: str) -> bool:
    """Whether the number behind a name can be specialised."""
    return _known.sizes is not None and name in _known.sizes


def need_sizes(names: frozenset[str], repair: str = "") -> None:
    """Python needs the numbers behind these names: have them specialised, where they are known. The
    warning ends with the repair, a sentence.
    """
    if names and _known.sizes is not None and names <= _known.sizes.keys():
        raise SizeNeeded(names, repair=repair)


def yielding_sizes(names: frozenset[str]) -> dict[str, int]:
    """Those of the names whose size gives way where arrays do not fit, and the sizes."""
    if _known.sizes is None:
        return {}
    return {name: _known.sizes[name] for name in sorted(names & _known.yielding)}


def let_yield(names: frozenset[str], misfit: Exception) -> None:
    """These can only be numbers here: have those specialised that give way, of which nobody is told
    who has not asked for open sizes.
    """
    names = frozenset(yielding_sizes(names))
    if names:
        raise SizeNeeded(names, misfit)


@worded_methods("__init__")
class Dim:
    """A named size, or a polynomial of them; arithmetic with integers and Dims gives Dims."""

    __slots__ = ("terms",)
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, name: str) -> None:
        if not name.isidentifier():
            raise ShapeError(
                f"Dim: name {name!r} was given; it must be a Python identifier. Rename it."
            )
        self.terms = (((name,), 1),)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's functions, and arithmetic with NumPy arrays: a Dim is a run-time scalar there."""
        function = UFUNCS.get(ufunc)
        if function is None or method != "__call__" or kwargs:
            return int(self)  # specialises; so do reduce, accumulate, reduceat, outer and at
        if all(isinstance(x, Dim | int | np.integer) for x in inputs) and ufunc in _ARITHMETIC:
            left, right = (x if isinstance(x, Dim) else int(x) for x in inputs)
            return _ARITHMETIC[ufunc](left, right)
        return function(*inputs)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    def substitute(self, sizes: Mapping[str, Size]) -> Size:
        """The value of the polynomial where names are replaced by sizes; names not given stay."""
        total: Size = 0
        for monomial, coefficient in self.terms:
            product: Size = coefficient
            for name in monomial:
                product = product * (sizes[name] if name in sizes else Dim(name))
            total = total + product
        return total

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim) and self.terms == other.terms:
            return True
        if isinstance(other, int | Dim) and _known.sizes is not None and is_asked_by_user():
            # A program for all sizes in which `x.shape[0] == 1` is False is wrong for one of them.
            need_sizes(self.names | (other.names if isinstance(other, Dim) else frozenset()))
        return False

    def __hash__(self) -> int:
        if _known.sizes is not None and is_asked_by_user():
            need_sizes(self.names)  # which entry of a dict or a set is found depends on it
        return hash(self.terms)

    def __add__(self, other: Any) -> Any:
        if not _is_size(other):
            return op.python_arithmetic("add", self, other)
        total = dict(self.terms)
        for monomial, coefficient in _terms(other):
            total[monomial] = total.get(monomial, 0) + coefficient
        return _canonical(total)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, list | tuple | str | bytes | bytearray):  # repeated, in Python
            return other * int(self)
        if not _is_size(other):
            return op.python_arithmetic("multiply", self, other)
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                monomial = tuple(sorted(left + right))
                total[monomial] = total.get(monomial, 0) + a * b
        return _canonical(total)

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return int(self)
        if not issubclass(type(other), int) or other < 0:
            return op.python_arithmetic("power", self, other)
        power: Size = 1
        for _ in range(other):
            power = power * self
        return power

    def __rpow__(self, other: Any) -> Any:
        return op.python_arithmetic("power", other, self)

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        return op.python_arithmetic("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return op.python_arithmetic("divide", other, self)

    def __floordiv__(self, other: Size) -> Size:
        quotient = divide_exactly(self, other) if _is_size(other) else None
        if quotient is None:
            return int(self) // int(other)
        return quotient

    def __mod__(self, other: Size) -> Size:
        whole = _is_size(other) and divide_exactly(self, other) is not None
        return 0 if whole else int(self) % int(other)

    def __int__(self) -> int:
        need_sizes(self.names)
        raise TraceError(
            f"Dim: Python needs the number behind {self}; this trace was given no size for it. "
            "Pass an array whose axis has that size, or avoid len(), int() and range() on it."
        )

    __index__ = __int__

    def _number(self, *_others: object) -> Any:
        return int(self)

    def __array__(self, *_args: Any, **_kwargs: Any) -> Any:
        return int(self)  # which Python knows only where it is specialised

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __complex__ = _number
    __abs__ = __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = _number
    __rfloordiv__ = __rmod__ = __invert__ = __lshift__ = __rlshift__ = __rshift__ = _number
    __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _number

    def __pos__(self) -> Dim:
        return self

    if not TYPE_CHECKING:  # type checkers would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            """Whatever else an int has is read from the value."""
            if name.startswith("__") or not hasattr(int, name):
                raise AttributeError(f"'Dim' object has no attribute {name!r}")
            return int(self)

    def __format__(self, spec: str) -> str:
        self._need_for_text(is_asked_by_user())
        return format(repr(self), spec)

    def __str__(self) -> str:
        self._need_for_text(is_asked_by_user())
        return repr(self)

    def _need_for_text(self, by_user: bool) -> None:
        """User code may go on with the text of a number. That of a shape, which `repr` writes, is
        for people.
        """
        if by_user and not is_printed_by_user():
            need_sizes(self.names)

    def __repr__(self) -> str:
        parts = []
        for monomial, coefficient in self.terms:
            factors = list(monomial)
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            parts.append(("- " if coefficient < 0 else "+ ") + "*".join(factors))
        text = " ".join(parts)
        return text.removeprefix("+ ") if text[0] == "+" else "-" + text.removeprefix("- ")


_ARITHMETIC: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
}
Size: TypeAlias = int | Dim
Shape: TypeAlias = tuple[Size, ...]


def _is_size(x: Any) -> bool:
    """Whether it is a whole number that is known now, or a Dim: a Number's class only says so."""
    return issubclass(type(x), int | np.integer | Dim)


def _terms(size: Size | np.integer[Any]) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(size, Dim):
        return size.terms
    return (((), int(size)),) if size else ()


def _canonical(total: Mapping[Monomial, int]) -> Size:
    """Highest powers first, then by name; a constant polynomial is a plain int."""
    terms = tuple(
        sorted(((m, c) for m, c in total.items() if c), key=lambda term: (-len(term[0]), term[0]))
    )
    if not terms:
        return 0
    if len(terms) == 1 and terms[0][0] == ():
        return terms[0][1]
    dim = Dim.__new__(Dim)
    dim.terms = terms
    return dim


def divide_exactly(size: Size, divisor: Size) -> Size | None:
    """`size / divisor` where that is a polynomial with integer coefficients, else None."""
    if isinstance(size, int) and isinstance(divisor, int):
        return size // divisor if divisor and size % divisor == 0 else None
    divisor_terms = _terms(divisor)
    if not divisor_terms:
        return None
    lead, lead_coefficient = divisor_terms[0]
    quotient: Size = 0
    rest: Size = size
    while _terms(rest):  # long division; the leading monomial shrinks in every round
        monomial, coefficient = _terms(rest)[0]
        remaining = list(monomial)
        for name in lead:
            if name not in remaining:
                return None
            remaining.remove(name)
        if coefficient % lead_coefficient:
            return None
        term = _canonical({tuple(remaining): coefficient // lead_coefficient})
        quotient = quotient + term
        rest = rest - term * divisor
    return quotient


def divide_up(size: Size, divisor: int) -> Size | None:
    """The smallest whole number that is no less than `size / divisor`, where that is a polynomial
    with integer coefficients, else None.

    >>> str(divide_up(3 * Dim("n") - 1, 3))
    'n'
    """
    rest = sum(coefficient for factors, coefficient in _terms(size) if not factors)
    whole = divide_exactly(size - rest, divisor)
    return None if whole is None else whole - (-rest // divisor)


def is_at_least(size: Size, other: Size) -> bool:
    """Whether a size is no less than another one, whatever their Dims are, which are not negative.
    False where that depends on them.

    >>> n = Dim("n")
    >>> is_at_least(2 * n, n), is_at_least(n, 3)
    (True, False)
    """
    return all(coefficient >= 0 for _, coefficient in _terms(size - other))


def never_shrinks(size: Size) -> bool:
    """Whether a size is known to be no less where its Dims are larger."""
    return all(coefficient >= 0 for factors, coefficient in _terms(size) if factors)


def may_be_count(size: Size) -> bool:
    """Whether a size is 0 or more, at least from some sizes of its Dims on: n - 1 is, -n is not."""
    return never_shrinks(size) if isinstance(size, Dim) else size >= 0


def product(shape: Shape) -> Size:
    """Number of elements of a shape."""
    total: Size = 1
    for size in shape:
        total = total * size
    return total


def parse_size(text: str) -> Size:
    """Read back what `repr` of a Dim or an int wrote.

    >>> parse_size("2*batch*batch - n + 3")
    2*batch*batch - n + 3
    """
    total: Size = 0
    for word in text.replace("- ", "-").replace("+ ", "+").split():
        sign = -1 if word.startswith("-") else 1
        factor: Size = sign
        for name in word.lstrip("+-").split("*"):
            factor = factor * (int(name) if name.isdecimal() else Dim(name))
        total = total + factor
    return total


def is_countable(size: Size) -> bool:
    """Whether the numbers of a size are such as machine code counts with: of 64 bits."""
    return all(-(2**63) < coefficient < 2**63 for _, coefficient in _terms(size))


def has_dims(value: object) -> bool:
    """Whether a parameter value holds a Dim anywhere."""
    if isinstance(value, tuple | list):
        return any(has_dims(item) for item in value)
    return isinstance(value, Dim) or getattr(value, "has_dims", False)  # the latter: a body


def substitute(value: Any, sizes: Mapping[str, Size]) -> Any:
    """A parameter value with its Dims replaced by sizes."""
    if isinstance(value, Dim):
        return value.substitute(sizes)
    if isinstance(value, tuple):
        return tuple(substitute(item, sizes) for item in value)
    return value


def solve(symbolic: Shape, actual: Shape, sizes: dict[str, Size]) -> None:
    """Add to `sizes` what `actual` says about the names in `symbolic`, where it says it plainly.

    >>> sizes = {}
    >>> solve((Dim("n"), Dim("m") * 2 + 1), (5, 7), sizes)
    >>> sizes
    {'n': 5, 'm': 3}
    """
    for want, have in zip(symbolic, actual, strict=False):
        if not isinstance(want, Dim):
            continue
        terms = dict(want.terms)
        have = have - terms.pop((), 0)
        if len(terms) == 1:
            ((monomial, coefficient),) = terms.items()
            size = divide_exactly(have, coefficient)
            if len(monomial) == 1 and size is not None:
                sizes.setdefault(monomial[0], size)
