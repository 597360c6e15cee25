"""Number: a Python number that is known at call time only.

Arithmetic with Python numbers is Python's own, in float64 or int64, and gives Numbers; comparisons
with them give bools of the same kind. In all else a Number is a traced scalar whose dtype gives way
to those of arrays, as a Python number's does.
Where Python needs the value (a branch, `range`, a shape), it is specialised like the size behind a
Dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.core.dims import Dim, need_sizes
from wengert.core.table import FUNCTIONS, UFUNCS, op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Weak

_ARGUMENT = "argument "  # no name of a Dim has a blank


def key_of_argument(name: str) -> str:
    """What an argument is called among the sizes that can be specialised."""
    return _ARGUMENT + name


def argument_of_key(key: str) -> str | None:
    """The argument that such a key is for; None for that of a Dim."""
    return key.removeprefix(_ARGUMENT) if key.startswith(_ARGUMENT) else None


class Number:
    """A weak scalar of a trace. `tensor` is the scalar, in float64, int64 or bool."""

    __slots__ = ("keys", "tensor")

    def __init__(self, tensor: Tensor, keys: frozenset[str]) -> None:
        self.tensor = Tensor(tensor.level, tensor.handle, tensor.value, Weak((), tensor.dtype))
        self.keys = keys  # of the arguments that it is computed from

    @property  # type: ignore[misc]  # object's can be assigned to, this one must not be
    def __class__(self) -> Any:
        """What `isinstance` says of it: a Python number."""
        return {"f": float, "b": bool}.get(self.tensor.dtype.kind, int)

    @property
    def shape(self) -> tuple[()]:
        return ()

    ndim, size = 0, 1

    def as_array(self) -> Tensor:
        """A scalar whose dtype gives way no more."""
        x = self.tensor
        return Tensor(x.level, x.handle, x.value, ArrayType((), x.dtype))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.tensor.dtype

    # NumPy's functions, and arithmetic with NumPy's arrays.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc not in UFUNCS:
            return NotImplemented
        return UFUNCS[ufunc](*map(plain_operand, inputs))

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        ours = FUNCTIONS.get(function)
        return NotImplemented if ours is None else ours(*map(plain_operand, args), **kwargs)

    # What needs the value.

    def _need(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self.tensor.level.require_open()
        need_sizes(self.keys)
        self.tensor._refuse_number("number")

    __bool__ = __int__ = __index__ = __float__ = __complex__ = _need
    __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = _need
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _need
    __invert__ = _need
    __array__ = __format__ = is_integer = hex = bit_length = _need
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Number({', '.join(filter(None, map(argument_of_key, sorted(self.keys))))})"

    # Comparisons and logic: a bool that is known at call time only.

    def _compared(self, name: str, other: Any) -> Any:
        if not _is_number(other) and not isinstance(other, Tensor | np.ndarray | np.generic):
            self._need()
        return self._computed(name, self, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("less", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("greater_equal", other)

    def __eq__(self, other: Any) -> Any:
        return self._compared("equal", other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("not_equal", other)

    def _joined(self, name: str, left: Any, right: Any) -> Any:
        """Of bools, and with arrays; what Python makes of the bits of other numbers is its own."""
        numbers = _is_number(left) and _is_number(right)
        if numbers and not (_is_bool(left) and _is_bool(right)):
            self._need()
        return self._computed(name, left, right)

    def __and__(self, other: Any) -> Any:
        return self._joined("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._joined("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return self._joined("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._joined("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return self._joined("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._joined("bitwise_xor", other, self)

    # Arithmetic.

    def _counted(self, name: str, left: Any, right: Any) -> Any:
        """Arithmetic, in which Python counts bools as whole numbers."""
        if _is_number(left) and _is_number(right):
            left, right = _whole(left), _whole(right)
        return self._computed(name, left, right)

    def _computed(self, name: str, left: Any, right: Any) -> Any:
        """Python's arithmetic where both are numbers; else that of the op."""
        found = getattr(op, name)(plain_operand(left), plain_operand(right))
        keys: frozenset[str] = frozenset()
        for x in (left, right):
            if type(x) is Number:
                keys |= x.keys
            elif not _is_number(x):
                return found
        return Number(found, keys)

    def __add__(self, other: Any) -> Any:
        return self._counted("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._counted("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._counted("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._counted("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._counted("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._counted("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._counted("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._counted("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._counted("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._counted("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._counted("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._counted("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._power(other, self)

    def _power(self, base: Any, exponent: Any) -> Any:
        """Of whole numbers, the kind of the result depends on the exponent's value."""
        known = isinstance(exponent, int) and exponent >= 0
        if _is_whole(base) and _is_whole(exponent) and not known:
            self._need()
        return self._counted("power", base, exponent)

    def __neg__(self) -> Any:
        return self._counted("multiply", self, -1)

    def __pos__(self) -> Any:
        return _whole(self)

    def __abs__(self) -> Any:
        return Number(op.abs(_whole(self).tensor), self.keys)

    def __matmul__(self, other: Any) -> Any:
        return op.matmul(self.tensor, other)

    def __rmatmul__(self, other: Any) -> Any:
        return op.matmul(other, self.tensor)


def _is_whole(x: Any) -> bool:
    return x.dtype.kind in "ib" if type(x) is Number else isinstance(x, int | Dim)


def _is_number(x: Any) -> bool:
    """Whether it is a number of Python's, known now or at call time."""
    return isinstance(x, int | float) and not isinstance(x, np.generic)


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool)  # which a Number says of itself, too


def _whole(x: Any) -> Any:
    """A bool as the whole number that Python counts it as."""
    if type(x) is Number and x.dtype.kind == "b":
        return Number(op.astype(x.tensor, np.int64), x.keys)
    return x


def plain_operand(x: Any) -> Any:
    """An operand as ops take it: the scalar where it is a Number."""
    return x.tensor if type(x) is Number else x
