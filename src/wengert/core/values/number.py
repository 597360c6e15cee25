"""Number: a Python number that is known at call time only.

Arithmetic with Python numbers is Python's own, in float64 or int64, and gives Numbers; comparisons
with them give bools of the same kind. Everywhere else a Number is a traced scalar whose dtype gives
way to those of arrays, as a Python number's does. Where Python needs the value (a branch, `range`,
a shape, a key of a dict, a text), it is specialised like the size behind a Dim.

What Python's arithmetic makes of Dims and numbers that is no size, as ``1 / n``, is a Number, too.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wengert.core.dims import Dim, need_sizes
from wengert.core.table import FUNCTIONS, UFUNC_METHODS, UFUNCS, op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Weak
from wengert.core.values.other_arrays import reflects
from wengert.core.words.source import is_asked_by_user, is_printed_by_user

_ARGUMENT = "argument "  # no name of a Dim has a blank
_ENCODERS = ("json.encoder",)  # modules that ask for the class of what they write, and no more


def key_of_argument(name: str) -> str:
    """What an argument is called among the sizes that can be specialised."""
    return _ARGUMENT + name


def argument_of_key(key: str) -> str | None:
    """The argument that such a key is for; None for that of a Dim."""
    return key.removeprefix(_ARGUMENT) if key.startswith(_ARGUMENT) else None


class Number:
    """A weak scalar of a trace. `tensor` is the scalar, in float64, int64 or bool."""

    __slots__ = ("first", "keys", "tensor")

    def __init__(self, tensor: Tensor, keys: frozenset[str], first: int | None = None) -> None:
        self.tensor = Tensor(tensor.level, tensor.handle, tensor._value, Weak((), tensor.dtype))
        self.keys = keys  # of the arguments it is computed from, and the names of Dims
        self.first = first  # the whole number it is in the call that is recorded, if that is known

    @property  # type: ignore[misc]  # object's can be assigned to, this one must not be
    def __class__(self) -> Any:
        """What `isinstance` says of it: a Python number."""
        if sys._getframe(1).f_globals.get("__name__") in _ENCODERS:
            self._need()
        return self._kind()

    def _kind(self) -> type:
        return {"f": float, "b": bool}.get(self.tensor.dtype.kind, int)

    def as_array(self) -> Tensor:
        """A scalar whose dtype gives way no more."""
        x = self.tensor
        return Tensor(x.level, x.handle, x._value, ArrayType((), x.dtype))

    if TYPE_CHECKING:
        dtype: np.dtype[Any]
        shape: tuple[()]
    else:  # type checkers would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            """What ops ask an operand for, and a Python number does not have; what a Python number
            has beside these methods is its value's.
            """
            if name in _OF_OPERANDS and not is_asked_by_user():
                return getattr(self.tensor, name)
            kind = self._kind()
            if name.startswith("__") or not hasattr(kind, name):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            return self._need()

    @property
    def real(self) -> Any:
        return _whole(self)

    @property
    def imag(self) -> Any:
        return self._kind()(0) + 0

    def conjugate(self) -> Any:
        return _whole(self)

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Number:
        return self

    # NumPy's functions, and arithmetic with NumPy's arrays.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        called = method == "__call__"
        ours = UFUNCS.get(ufunc) if called else UFUNC_METHODS.get((ufunc, method))
        if ours is None or (called and kwargs):
            self._need()
        return ours(*map(plain_operand, inputs), **kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        ours = FUNCTIONS.get(function)
        if ours is None:
            self._need()
        return ours(*map(plain_operand, args), **kwargs)

    # What needs the value.

    def _need(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self.tensor.level.require_open()
        need_sizes(self.keys)
        self.tensor._refuse_number("number")

    __bool__ = __int__ = __index__ = __float__ = __complex__ = _need
    __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = _need
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _need
    __invert__ = _need
    __array__ = __reduce__ = __getnewargs__ = _need

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._need()

    def __hash__(self) -> int:
        """Where user code looks it up, which entry is found depends on the value."""
        if is_asked_by_user():
            self._need()
        return object.__hash__(self)

    def __format__(self, spec: str) -> str:
        self._need_for_text(is_asked_by_user())
        return format(self._described(), spec)

    def __str__(self) -> str:
        self._need_for_text(is_asked_by_user())
        return self._described()

    def __repr__(self) -> str:
        self._need_for_text(is_asked_by_user())
        return self._described()

    def _need_for_text(self, by_user: bool) -> None:
        """User code may go on with the text; messages and debuggers show what it stands for."""
        if by_user and not self.tensor.level.closed and not is_printed_by_user():
            need_sizes(self.keys)

    def _described(self) -> str:
        return f"Number({', '.join(argument_of_key(key) or key for key in sorted(self.keys))})"

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
        kind: Any = type(right)
        if _is_number(left) and _is_number(right):
            left, right = _whole(left), _whole(right)
        elif left is self and reflects(kind, _REFLECTED[name]):
            return NotImplemented
        return self._computed(name, left, right)

    def _computed(self, name: str, left: Any, right: Any) -> Any:
        if isinstance(left, _SEQUENCES) or isinstance(right, _SEQUENCES):
            self._need()  # Python repeats these, or refuses
        return python_arithmetic(name, left, right)

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

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return self._power(self, other) if modulus is None else self._need()

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
        first = None if self.first is None else abs(self.first)
        return Number(op.abs(_whole(self).tensor), self.keys, first)

    def __matmul__(self, other: Any) -> Any:
        return op.matmul(self.tensor, other)

    def __rmatmul__(self, other: Any) -> Any:
        return op.matmul(other, self.tensor)


def _is_whole(x: Any) -> bool:
    return x.dtype.kind in "ib" if type(x) is Number else isinstance(x, int | Dim)


_OF_OPERANDS = frozenset(("dtype", "ndim", "shape", "size"))
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
}
_SEQUENCES = (list, tuple, str, bytes, bytearray)


def python_arithmetic(name: str, left: Any, right: Any) -> Any:
    """Python's own where both are numbers or Dims; else that of the op."""
    value = getattr(op, name)(plain_operand(left), plain_operand(right))
    keys: frozenset[str] = frozenset()
    for x in (left, right):
        if type(x) is Number:
            keys |= x.keys
        elif isinstance(x, Dim):
            keys |= x.names
        elif not _is_number(x):
            return value
    first = _first_result(name, left, right)
    if first is not None and not -_LIMIT <= first < _LIMIT:
        need_sizes(keys)  # Python's whole numbers have no limit
    return Number(value, keys, first)


_LIMIT = 2**63
_WHOLE: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "power": lambda x, y: x**y if x.bit_length() * y < 4096 else _LIMIT,
}


def _first_result(name: str, left: Any, right: Any) -> int | None:
    """What arithmetic gives in the call that is recorded, where that is a whole number."""
    x, y = (each.first if type(each) is Number else each for each in (left, right))
    if name not in _WHOLE or type(x) is not int or type(y) is not int:
        return None
    return None if name == "power" and y < 0 else _WHOLE[name](x, y)


def _is_number(x: Any) -> bool:
    """Whether it is a number of Python's, known now or at call time."""
    return isinstance(x, int | float | Dim) and not isinstance(x, np.generic)


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool)  # which a Number says of itself, too


def _whole(x: Any) -> Any:
    """A bool as the whole number that Python counts it as."""
    if type(x) is Number and x.dtype.kind == "b":
        return Number(op.astype(x.tensor, np.int64), x.keys)
    return x


def is_traced_number(x: Any) -> bool:
    """Whether it is a Number, whatever its __class__ says."""
    return type(x) is Number


def plain_operand(x: Any) -> Any:
    """An operand as ops take it: the scalar where it is a Number."""
    return x.tensor if type(x) is Number else x


op.enter_function("python_arithmetic", python_arithmetic, "hidden")  # for Dims, which rank below
