"""Tensor: a value inside a transformation, which answers Python's operators and NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wengert.core.dims import Dim, Size, let_yield
from wengert.core.signatures.standard import API_VERSIONS, require_cpu
from wengert.core.table import FUNCTIONS, SCIPY_UFUNCS, UFUNC_METHODS, UFUNCS, op
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.values.carried import carrier_for_join
from wengert.core.values.other_arrays import is_labelled
from wengert.core.words.foreign_names.callers import torch_call
from wengert.core.words.foreign_names.elsewhere import (
    SCIPY_SPECIAL,
    function_of_wg,
    instead_of_torch,
    repair_of,
    repair_of_unpacking,
    ufunc_name,
)
from wengert.core.words.refusing import Refusing
from wengert.core.words.source import (
    is_asked_by_user,
    is_users,
    known_code,
    unpacked_names,
    user_line,
)
from wengert.errors import MissingAttribute, TraceError

if TYPE_CHECKING:
    from wengert.core.bind import Level


_NOT_YET = "its number is not known yet"


class Tensor(Refusing):
    """A handle on a value of a transformation: symbolic while tracing, with a value while
    differentiating.
    """

    __slots__ = ("_value", "handle", "known", "level")
    # `series * x` and `np.multiply(series, x)` are left to us: both lie above those of pandas.
    __pandas_priority__ = 5000
    __array_priority__ = 5000.0

    def __init__(
        self, level: Level, handle: Any, value: Value, known: ArrayType | None = None
    ) -> None:
        self.level = level
        self.handle = handle  # what it is to its level: node number, slot, or tangent
        self._value = value  # a value of a lower level, or None where the level is symbolic
        self.known = known

    @property  # type: ignore[misc]  # object's can be assigned to, this one must not be
    def __class__(self) -> Any:
        """What `isinstance` says of it in the user's code: an array, as it is when the same
        function is called without a transformation, so that both take the same branch.
        """
        code = sys._getframe(1).f_code
        by_user = known_code(code)  # looked up right here: recording asks often
        return np.ndarray if (is_users(code) if by_user is None else by_user) else Tensor

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.known.shape if self.known is not None else tuple(self._value.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.known.dtype if self.known is not None else self._value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        return type_of(self).size

    @property
    def real(self) -> Value:
        return self  # there are no complex numbers here

    @property
    def imag(self) -> Value:
        return op.zeros_like(self)

    def conj(self) -> Value:
        return self

    def conjugate(self) -> Value:
        return self

    @property
    def T(self) -> Value:
        return op.permute_dims(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Value:
        return op.matrix_transpose(self)

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: Any, *, stream: Any = None) -> Value:
        require_cpu("to_device", device)
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is not None and api_version not in API_VERSIONS:
            raise ValueError(
                f"__array_namespace__: version {api_version!r} was given; there are "
                f"{', '.join(API_VERSIONS)}. Use one."
            )
        return sys.modules["wengert"]

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU

    def astype(self, dtype: Any, copy: bool = True) -> Value:
        return op.astype(self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Value:
        self._require_c_order("reshape", order)
        return op.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Value:
        if not axes or axes == (None,):
            return self.T
        return op.permute_dims(
            self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        )

    def ravel(self, order: str = "C") -> Value:
        self._require_c_order("ravel", order)
        return op.reshape(self, (-1,))

    flatten = ravel

    def copy(self) -> Tensor:
        return self

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self  # never changed in place, so it needs no copy

    def dot(self, other: Value) -> Value:
        return np.dot(self, other)

    # What Python may ask for, and what would silently cut the value out of the derivative.

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                "len: given a Tensor of shape (); the length is the size of axis 0. Use x.size for "
                f"the number of elements. ({user_line()})"
            )
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Value]:
        names = unpacked_names()
        if self.shape and isinstance(self.shape[0], Dim) and names:
            let_yield(
                self.shape[0].names,
                TraceError(
                    f"iter: given a Tensor of shape {self.shape} that is unpacked into names; the "
                    f"size of its axis 0 must be a number. Leave it out of dims. ({user_line()})"
                ),
            )
        if names not in (0, len(self)):
            raise ValueError(
                f"iter: {'too many' if len(self) > names else 'not enough'} values to unpack, a "
                f"Tensor of shape {self.shape} into {names} names; it gives one for each of axis "
                f"0. {repair_of_unpacking(self.level.made_by(self))}. ({user_line()})"
            )
        return iter([self[i] for i in range(len(self))])  # type: ignore[index]  # set in getitem.py

    def __bool__(self) -> bool:
        if self._value is not None and not self.level.batched:
            return bool(self._value)
        self._refuse_to_scipy()
        if self.level.batched:
            self._refuse(
                "bool",
                "a Python branch would take one side for all examples",
                "Use wg.where(condition, a, b) or wg.cond, for a loop that ends by itself "
                "wg.while_loop, or branch on values that are not batched",
            )
        return self._refuse(
            "bool",
            "a Python branch would record one side only",
            "Use wg.where(condition, a, b) or wg.cond, for a loop that ends by itself "
            "wg.while_loop, or branch on values that are not traced",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name == "__jax_array__":
            self._refuse_to_jax()
        if name.startswith("__"):
            raise AttributeError(name)  # what Python and NumPy look for
        of_torch = torch_call()
        if of_torch is not None:
            raise MissingAttribute(
                f"{of_torch[0]}: given a Tensor of wengert, which is recorded and has no {name}; "
                "torch computes with its own tensors only. "
                f"{instead_of_torch(of_torch[0])}. ({of_torch[1]})"
            )
        known = set(dir(Tensor)).difference(Tensor.__slots__)  # which are ours
        raise MissingAttribute(
            f"Tensor.{name}: there is no such attribute; a Tensor has most of those of a NumPy "
            f"array. {repair_of(name, sorted(known))}. ({user_line()})"
        )

    def __array__(self, *_args: Any, **_kwargs: Any) -> np.ndarray[Any, Any]:
        carrier = carrier_for_join(self)
        if carrier is not None:
            return carrier
        return self._refuse_array()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Value:
        for x in inputs:
            kind = type(x)
            if kind is not Tensor and kind is not np.ndarray and is_labelled(kind):
                return NotImplemented
        function = UFUNCS.get(ufunc) if method == "__call__" else UFUNC_METHODS.get((ufunc, method))
        call = ufunc_name(ufunc) + ("" if method == "__call__" else f".{method}")
        if function is None and call == SCIPY_SPECIAL + ufunc.__name__:
            function = SCIPY_UFUNCS.get(ufunc.__name__)
        if kwargs.get("out") is not None:
            self._refuse(
                call,
                "NumPy was asked to write it into an array in place",
                "Write x = x + y, not x += y",
            )
        if function is None:
            theirs = "SciPy" if call.startswith("scipy") else "NumPy"
            self._refuse(call, f"this {theirs} function is not recorded", function_of_wg(call))
        if method == "__call__" and kwargs:
            self._refuse(
                call,
                f"its {', '.join(kwargs)} argument is not recorded",
                "Use wg.where or astype instead",
            )
        return function(*inputs, **kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Value:
        ours = FUNCTIONS.get(function)
        if ours is None:
            name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
            self._refuse(name, "this NumPy function is not recorded", function_of_wg(name))
        return ours(*args, **kwargs)

    def __hash__(self) -> int:
        """By identity, for us. A dict of the user's would find nothing where an array, which has no
        hash, is refused.
        """
        if is_asked_by_user():
            self._refuse(
                "hash",
                "a key of a dict or a set is found by its value, which Python does not know",
                "Keep Tensors in a list or as values of a dict, and look numbers up with "
                "wg.asarray(table)[index]",
            )
        return object.__hash__(self)

    def __format__(self, spec: str) -> str:
        self._refuse_to_jax()  # in the place of an error of JAX that shows it
        if (self._value is None or self.level.batched) and spec:
            reason = "there is one number for each example" if self.level.batched else _NOT_YET
            self._refuse("format", reason, "Print it where it has a value")
        return format(self._value, spec) if self._has_value else repr(self)

    @property
    def _has_value(self) -> bool:
        return self._value is not None and not self.level.batched

    def __repr__(self) -> str:
        if self.level.batched:
            return f"Tensor({type_of(self)} of each in {self._value!r})"
        if self._value is not None:
            return f"Tensor({self._value!r})"
        return f"Tensor({type_of(self)}, %{self.handle})"
