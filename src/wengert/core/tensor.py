"""Tensor: a value inside a transformation, which answers Python's operators and NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wengert.core.dims import Dim, Size, let_yield, need_sizes
from wengert.core.signatures.standard import API_VERSIONS, require_cpu
from wengert.core.table import FUNCTIONS, SCIPY_UFUNCS, UFUNC_METHODS, UFUNCS, op
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.values.carried import carrier_for_join
from wengert.core.values.other_arrays import is_labelled
from wengert.core.words.elsewhere import (
    SCIPY_SPECIAL,
    assigns,
    function_of_wg,
    installed_function,
    instead_of_torch,
    joining,
    masked_is_running,
    numpy_function,
    repair_of,
    scipy_function,
    takes_item,
    torch_call,
    ufunc_name,
)
from wengert.core.words.numpys_numbers import with_numpys_number
from wengert.core.words.source import (
    Line,
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


class Tensor:
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

    def __dlpack__(self, **_options: Any) -> Any:
        raise TraceError(
            "__dlpack__: called on a Tensor; it stands for numbers while a program is recorded or "
            "differentiated, and other libraries cannot take part in that. Pass on what the "
            "function returns, which is an array."
        )

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

    def __reduce__(self) -> NoReturn:
        self._refuse(
            "pickle", "a stored value would lose its derivative", "Return it, and store the result"
        )

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
                "0. Of a layer that returns one array and no state, as Mamba and attention, write "
                f"y = layer(x). ({user_line()})"
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

    def __float__(self) -> float:
        self._refuse_number("float")

    def __int__(self) -> int:
        self._refuse_number("int")

    def __index__(self) -> int:
        repair = (
            "Index arrays with wg.asarray(array)[i, j] or wg.take(array, index), and keep sizes "
            "plain numbers, computed from all of the data before the call"
        )
        if takes_item():  # of a list or tuple: arrays have other ways
            repair = (
                "Stack what all of a list of layers give, wg.stack([f(x) for f in layers])[i], and "
                "arrays or numbers of a list, wg.take(wg.stack(items), i, axis=0)"
            )
        return self._refuse("index", "Python does not know its value", repair)

    def item(self, *_args: Any) -> NoReturn:
        self._refuse_number("item")

    def tolist(self) -> NoReturn:
        self._refuse_number("tolist")

    def __getattr__(self, name: str) -> NoReturn:
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

    @classmethod
    def __torch_function__(cls, function: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
        """What torch calls in the place of its own functions. Where an operator of torch was given
        a Tensor, this error leads to the operator of the Tensor.
        """
        called, at = torch_call(), ""
        name = f"torch.{getattr(function, '__name__', 'a function')}"
        if called is not None and instead_of_torch(called[0]) != instead_of_torch(name):
            name, at = called[0], f" ({called[1]})"
        raise TypeError(
            f"{name}: given a Tensor of wengert, which is recorded; torch computes with its own "
            f"tensors only. {instead_of_torch(name)}.{at}"
        )

    def __array__(self, *_args: Any, **_kwargs: Any) -> np.ndarray[Any, Any]:
        carrier = carrier_for_join(self)
        if carrier is not None:
            return carrier
        return self._refuse_array()

    def _refuse_array(self) -> NoReturn:
        self._refuse_to_package()
        self._refuse_to_scipy()
        if masked_is_running():
            self._refuse(
                "np.ma",
                "operands have no masks, and what a masked array hides would be used",
                "Use m.filled(value), or wg.where with the mask",
            )
        called = numpy_function()
        if called is not None:
            lost = "mix up the examples" if self.level.batched else "cut it out of the derivative"
            self._refuse(
                called,
                f"NumPy makes an array of it, or of the list it is in, which would {lost}",
                joining(called),
            )
        if assigns():
            self._refuse_assignment()
        if self.level.batched:
            self._refuse(
                "np.array",
                "NumPy would make an array of all examples, or of the list it is in",
                "Join Tensors with wg.array([a, b]) or wg.stack, and return what you need outside",
            )
        if self.dtype.kind != "f":
            self._refuse(
                "np.array",
                "NumPy does not know its value",
                "Index arrays with wg.asarray(array)[i, j] or wg.take(array, index), and join "
                "Tensors with wg.array([a, b])",
            )
        if self._is_recorded:
            self._refuse(
                "np.array",
                "NumPy does not know its value, which each call may change",
                "Leave np.asarray(x) out, join Tensors with wg.array([a, b]) or wg.stack, and "
                "return as it is what you need outside, where it is an array",
            )
        self._refuse(
            "np.array",
            "a NumPy array would cut it out of the derivative",
            "Leave np.asarray(x) out, join Tensors with wg.array([a, b]) or wg.stack, or detach "
            "one with wg.stop_gradient(x) on purpose",
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse(
            "assignment",
            "a Tensor is never changed in place",
            "Write x = x.at[key].set(value), or wg.where(mask, new, x)",
        )

    def _require_c_order(self, name: str, order: str) -> None:
        if order not in ("C", "K", "A"):
            self._refuse(
                name,
                f"order={order!r} is not recorded, elements are read row by row ('C')",
                _repair_of_order(name, order),
            )

    def _refuse_assignment(self) -> NoReturn:
        self._refuse(
            "assignment",
            "an array of numbers cannot hold it",
            "Collect what you would write in a list, rows.append(x), and join it after the loop, "
            "np.stack(rows); or detach it with wg.stop_gradient(x) on purpose",
        )

    def _refuse_number(self, what: str) -> NoReturn:
        if assigns():
            self._refuse_assignment()
        self._refuse_to_scipy()
        if self.level.batched:
            self._refuse(
                what,
                "Python has one number where there is one for each example",
                "Keep it a Tensor, and compute with the functions of NumPy or wg",
            )
        if self.level.symbolic and self.dtype.kind in "iu":
            self._refuse(
                what,
                "Python does not know its value, which each call may change",
                "Keep it a Tensor. A size or a count is one number for all calls: compute it from "
                "all of the data before, count = int(labels.max()) + 1, and write count here",
            )
        if self._is_recorded:
            self._refuse(
                what,
                "Python does not know its value, which each call may change",
                "Keep it a Tensor, and return it as it is, in aux, too: outside it is a number",
            )
        self._refuse(
            what,
            f"a Python {'float' if what == 'float' else 'number'} would cut it out of the "
            "derivative",
            "Keep it a Tensor, or detach it with wg.stop_gradient(x) on purpose",
        )

    def _refuse_to_scipy(self) -> None:
        """The same of a function of SciPy."""
        function = scipy_function()
        if function is not None:
            self._refuse(
                function, "SciPy computes with arrays that have values", function_of_wg(function)
            )

    def _refuse_to_package(self) -> None:
        """Where a function of an installed package asks, it is that which cannot be called here."""
        called = installed_function()
        if called is None or self.level.batched:
            return
        if self._is_recorded:
            self._refuse(
                called[0],
                "it computes with NumPy arrays, which are not known before the call",
                "Write it with the functions of wg, or call it outside, with what step.bind(…) or "
                "a compiled function returns; metrics= of wg.train.fit takes it, too",
                called[1],
            )
        self._refuse(
            called[0],
            "it computes with NumPy arrays, which would cut it out of the derivative",
            "Write it with the functions of wg, or detach one with wg.stop_gradient(x) on purpose",
            called[1],
        )

    @property
    def _is_recorded(self) -> bool:
        """Whether no number is known, also below what differentiates it: nothing can detach one."""
        value: Any = self
        while isinstance(value, Tensor) and not value.level.symbolic:
            value = value._value
        return isinstance(value, Tensor)

    def _refuse(self, what: str, reason: str, repair: str, line: Line | None = None) -> NoReturn:
        self.level.require_open()
        need_sizes(self.level.sizes_behind(self))
        repair = with_numpys_number(what, self.level.argument_behind(self), repair)
        state = "traced" if self._is_recorded else "being differentiated"
        state = "batched by vmap" if self.level.batched else state
        self.level.refused = TraceError(
            f"{what}: given a Tensor that is {state}; {reason}. {repair}. ({line or user_line()})"
        )
        raise self.level.refused

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


def _repair_of_order(name: str, order: Any) -> str:
    """What to write for another order than row by row, or for torch's `x.flatten(1)`."""
    if isinstance(order, int):
        return "Write x.reshape(x.shape[0], -1) for torch's x.flatten(1)"
    return "Write x.T.reshape(shape[::-1]).T" if name == "reshape" else f"Write x.T.{name}()"
