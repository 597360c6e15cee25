"""What Python and other libraries may not make of a Tensor: a number, an array, a tensor of theirs.

Each of these would cut it silently out of the derivative, or needs a number that is not known yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from wengert.core.dims import need_sizes
from wengert.core.words.foreign_names.callers import (
    assigns,
    installed_function,
    jax_call,
    masked_is_running,
    numpy_function,
    scipy_function,
    takes_item,
    torch_call,
)
from wengert.core.words.foreign_names.elsewhere import (
    function_of_wg,
    instead_of_jax,
    instead_of_torch,
    joining,
    torch_function,
)
from wengert.core.words.numpys_numbers import with_numpys_number
from wengert.core.words.source import Line, user_line
from wengert.errors import TraceError

if TYPE_CHECKING:
    from wengert.core.bind import Level
    from wengert.core.tensor import Tensor


class Refusing:
    """What a Tensor answers where it would be lost: an error that says what to write."""

    __slots__ = ()

    if TYPE_CHECKING:
        level: Level
        _value: Any

        @property
        def dtype(self) -> np.dtype[Any]: ...

    def __dlpack__(self, **_options: Any) -> Any:
        raise TraceError(
            "__dlpack__: called on a Tensor; it stands for numbers while a program is recorded or "
            "differentiated, and other libraries cannot take part in that. Pass on what the "
            "function returns, which is an array."
        )

    def __reduce__(self) -> NoReturn:
        self._refuse(
            "pickle", "a stored value would lose its derivative", "Return it, and store the result"
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

    @classmethod
    def __torch_function__(cls, function: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
        """What torch calls in the place of its own functions. Where an operator of torch was given
        a Tensor, this error leads to the operator of the Tensor.
        """
        called = torch_call()
        inside = f"torch.{getattr(function, '__name__', 'a function')}"
        name = torch_function(called and called[0], inside)
        at = "" if called is None or name == inside else f" ({called[1]})"
        raise TypeError(
            f"{name}: given a Tensor of wengert, which is recorded; torch computes with its own "
            f"tensors only. {instead_of_torch(name)}.{at}"
        )

    def _refuse_to_jax(self) -> None:
        """Where JAX asks for `__jax_array__`, or writes an error about what it was given. This is
        not noted as an error that somebody caught: JAX may have asked only to see what it is.
        """
        called = jax_call()
        if called is not None:
            raise TraceError(
                f"{called[0]}: given a Tensor of wengert, which is recorded; JAX computes with its "
                f"own arrays only. {instead_of_jax(called[0])}. ({called[1]})"
            )

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
                "Write it with the functions of wg, or call it outside: before, with the data, or "
                "with what step.bind(…) or a compiled function returns; metrics= of wg.train.fit "
                "takes it, too",
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
        while isinstance(value, Refusing) and not value.level.symbolic:
            value = value._value
        return isinstance(value, Refusing)

    def _refuse(self, what: str, reason: str, repair: str, line: Line | None = None) -> NoReturn:
        self.level.require_open()
        need_sizes(self.level.sizes_behind(cast("Tensor", self)))
        repair = with_numpys_number(what, self.level.argument_behind(cast("Tensor", self)), repair)
        state = "traced" if self._is_recorded else "being differentiated"
        state = "batched by vmap" if self.level.batched else state
        self.level.refused = TraceError(
            f"{what}: given a Tensor that is {state}; {reason}. {repair}. ({line or user_line()})"
        )
        raise self.level.refused


def _repair_of_order(name: str, order: Any) -> str:
    """What to write for another order than row by row, or for torch's `x.flatten(1)`."""
    if isinstance(order, int):
        return "Write x.reshape(x.shape[0], -1) for torch's x.flatten(1)"
    return "Write x.T.reshape(shape[::-1]).T" if name == "reshape" else f"Write x.T.{name}()"
