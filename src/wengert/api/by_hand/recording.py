"""A tape that is told each step: slots by index, and one `record_*` method per operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.errors import NonFiniteError, ShapeError
from wengert.interpret.derive import Pullback, vjp_flat


class Recording:
    """Slots hold tensors by index; recording a step returns the index of its output.

    >>> tape = Recording()
    >>> a, b = tape.input(np.array([1.0, 2.0])), tape.input(np.array([3.0, 4.0]))
    >>> product = tape.record_mul(a, None, b, None)
    >>> gradients = [np.zeros(2) for _ in range(tape.num_tensors)]
    >>> tape.backward(np.ones(2), gradients)
    >>> gradients[a]
    array([3., 4.])

    A data argument may be left out (None) where the slot has a value. Data of a second operand
    (scale, a_vals …) may be an array, which is a constant, or the index of a slot, which then
    receives its gradient.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._steps: list[_RecordedOperation] = []

    @property
    def num_tensors(self) -> int:
        """The number of slots."""
        return len(self._slots)

    def input(self, value: Any = None, *, shape: Any = None) -> int:
        """A new slot with a value, or with a shape only; its index."""
        if (value is None) == (shape is None):
            given = "neither a value nor" if value is None else "both a value and"
            raise ShapeError(
                f"input: given {given} a shape; exactly one is needed. Pass tape.input(value) or "
                "tape.input(shape=(…))."
            )
        if value is None:
            sizes = (shape,) if isinstance(shape, int) else tuple(shape)
            self._slots.append(_Slot(None, sizes, np.dtype(np.float64)))
        else:
            array = np.array(
                value, dtype=None if np.asarray(value).dtype.kind == "f" else np.float64
            )
            self._slots.append(_Slot(array, array.shape, array.dtype))
        return self.num_tensors - 1

    def value(self, index: int) -> Any:
        """The value of a slot."""
        slot = self._slot_at("value", index)
        if slot.value is None:
            raise ValueError(
                f"value: slot {index} has a shape but no value; it was made with shape= only. "
                "Make it with tape.input(value), or give data arguments when recording."
            )
        return slot.value.copy()

    def record_add(self, a: int, b: int) -> int:
        """out = a + b"""
        slots = [self._slot_at("record_add", i) for i in (a, b)]
        data = [np.zeros(s.shape, s.dtype) if s.value is None else s.value for s in slots]
        out = self._record("record_add", op.add, [(a, data[0]), (b, data[1])])
        if any(slot.value is None for slot in slots):  # the gradient of a sum needs shapes only
            self._slots[out] = _Slot(None, *self._slots[out][1:])
        return out

    def record_mul(self, a: int, a_data: Any, b: int, b_data: Any) -> int:
        """out = a * b, element by element."""
        return self._record("record_mul", op.multiply, [(a, a_data), (b, b_data)])

    def record_matmul(self, a: int, a_mat: Any, b: int, b_mat: Any) -> int:
        """out = a @ b, of shape (m, n)."""
        return self._record("record_matmul", op.matmul, [(a, a_mat), (b, b_mat)])

    def record_silu(self, input: int, input_data: Any = None) -> int:
        """out = x * sigmoid(x)"""
        return self._record("record_silu", op.silu, [(input, input_data)])

    def record_layer_norm(
        self,
        input: int,
        mean: Any = None,
        var: Any = None,
        scale: Any = None,
        *,
        bias: Any = None,
        data: Any = None,
        eps: float = 1e-5,
    ) -> int:
        """out = (x - mean) / sqrt(var + eps) * scale + bias along the last axis.

        `mean` and `var` are functions of the input and differentiated as such; given values are
        only checked for agreement with it.
        """
        name = "record_layer_norm"
        x = self._data(name, input, data)
        self._agree(name, "mean", mean, x.mean(axis=-1))
        self._agree(name, "var", var, x.var(axis=-1))
        operands: list[Any] = [
            (input, x),
            self._constant_or_slot(name, scale),
            self._constant_or_slot(name, bias),
        ]
        return self._record(
            name, lambda x, scale, bias: op.layer_norm(x, scale, bias, eps=eps), operands
        )

    def record_ssm_scan(
        self, input: int, a_vals: Any, b_vals: Any, *, data: Any = None, h0: Any = None
    ) -> int:
        """The trajectory h_1 … h_T of h_t = a_t h_(t-1) + b_t x_t along the first axis, h_0 = 0 by
        default.
        """
        name = "record_ssm_scan"
        x = self._data(name, input, data)
        operands = [(input, x), *(self._constant_or_slot(name, v) for v in (a_vals, b_vals, h0))]

        def trajectory(x: Value, a: Value, b: Value, h0: Value) -> Value:
            start = (
                op.full(x.shape[1:], 0, dtype=x.dtype)
                if h0 is None
                else op.reshape(h0, x.shape[1:])
            )
            rows = [op.broadcast_to(v, x.shape) for v in (a, b)]

            def step(h: Value, row: Any) -> tuple[Value, Value]:
                a_t, b_t, x_t = row
                h = a_t * h + b_t * x_t
                return h, h

            return op.scan(step, start, (*rows, x))[1]

        return self._record(name, trajectory, operands)

    def backward(self, loss_grad: Any, tensors: Sequence[Any]) -> None:
        """Add to `tensors`, one array per slot, the gradients from that of the last output."""
        if not self._steps:
            raise ValueError(
                "backward: nothing was recorded; there is no output. Record a step first."
            )
        if len(tensors) < self.num_tensors:
            raise ShapeError(
                f"backward: given {len(tensors)} gradient buffers; there must be one per slot, "
                f"{self.num_tensors}. Add {self.num_tensors - len(tensors)}."
            )
        for index, (slot, buffer) in enumerate(zip(self._slots, tensors, strict=False)):
            self._require_buffer(index, slot, buffer)
        last = self._slots[self._steps[-1].output]
        g = self._shaped("backward", "loss_grad", loss_grad, last.shape).astype(last.dtype)
        for index, gx in self._cotangents({self._steps[-1].output: g}).items():
            tensors[index].__iadd__(gx.reshape(tensors[index].shape))

    def _cotangents(self, cotangents: dict[int, Any]) -> dict[int, Any]:
        """The cotangent of every slot, from that of the last output."""
        for step in reversed(self._steps):
            if step.output not in cotangents:
                continue
            for index, gx in zip(
                step.operands, step.pullback([cotangents[step.output]]), strict=True
            ):
                if gx is not None:
                    require_finite(step.name, index, gx)
                    cotangents[index] = cotangents[index] + gx if index in cotangents else gx
        return cotangents

    def _require_buffer(self, index: int, slot: _Slot, buffer: Any) -> None:
        if not isinstance(buffer, np.ndarray) or buffer.size != math.prod(slot.shape):
            raise ShapeError(
                f"backward: buffer {index} has shape {np.shape(buffer)}; it must be an array with "
                f"as many elements as slot {index}, {slot.shape}. Make it with np.zeros."
            )
        if buffer.dtype.kind != "f" or not buffer.flags.writeable:
            raise ValueError(
                f"backward: buffer {index} has dtype {buffer.dtype} or is read-only; it receives "
                "a sum of floats. Make it with np.zeros."
            )

    def _slot_at(self, name: str, index: Any) -> _Slot:
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise TypeError(
                f"{name}: given {index!r} as a slot; a slot is the index a call of this tape "
                "returned. Pass that."
            )
        if not 0 <= index < len(self._slots):
            raise IndexError(
                f"{name}: given slot {index}; this tape has {len(self._slots)} slots. "
                "Use an index one of its calls returned."
            )
        return self._slots[index]

    def _data(self, name: str, index: int, data: Any) -> Any:
        """The value of a slot: its own, or the data given for it; they must agree in shape."""
        slot = self._slot_at(name, index)
        if data is None:
            if slot.value is None:
                raise ValueError(
                    f"{name}: slot {index} has no value and no data was given for it; one is "
                    "needed for the gradient. Pass the data argument."
                )
            return slot.value
        return self._shaped(name, f"data of slot {index}", data, slot.shape)

    def _shaped(self, name: str, what: str, data: Any, shape: tuple[int, ...]) -> Any:
        array = np.asarray(data)
        array = array if array.dtype.kind == "f" else array.astype(np.float64)
        if array.size != math.prod(shape) or array.ndim not in (1, len(shape)):
            raise ShapeError(
                f"{name}: {what} has shape {array.shape}; it must have shape {shape}, or be flat "
                "with as many elements. Reshape it."
            )
        return array.reshape(shape)

    def _constant_or_slot(self, name: str, value: Any) -> Any:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return (int(value), self._data(name, int(value), None))
        return None if value is None else np.asarray(value)

    def _agree(self, name: str, what: str, given: Any, real: Any) -> None:
        if given is None:
            return
        given = np.asarray(given)
        fits = given.size == real.size and np.allclose(given.reshape(real.shape), real, 1e-3, 1e-5)
        if not fits:
            raise ValueError(
                f"{name}: given {what} {given}; that of the input is {real}. Leave it out, or "
                "pass the right one."
            )

    def _record(self, name: str, function: Any, operands: Sequence[Any]) -> int:
        """Run one step and make a slot for its output.

        An operand is (slot, its data), a constant, or None.
        """
        tracked = [each for each in operands if isinstance(each, tuple)]

        def run(*values: Value) -> Sequence[Value]:
            rest = iter(values)
            return [
                function(*(next(rest) if isinstance(each, tuple) else each for each in operands))
            ]

        data = [self._data(name, *each) for each in tracked]
        (value,), pullback = vjp_flat(run, data)
        self._slots.append(_Slot(value, tuple(value.shape), value.dtype))
        output = self.num_tensors - 1
        self._steps.append(
            _RecordedOperation(
                name.removeprefix("record_"), [i for i, _ in tracked], output, pullback
            )
        )
        return output


class _Slot(NamedTuple):
    """A tensor by index: its value if one is known, its shape and dtype."""

    value: Any
    shape: tuple[int, ...]
    dtype: Any


class _RecordedOperation(NamedTuple):
    """One recorded operation: the slots it read and wrote, and its way back."""

    name: str
    operands: list[int]
    output: int
    pullback: Pullback


def require_finite(name: str, slot: int, gx: Value) -> None:
    """Refuse a non-finite gradient, naming the op whose backward step made it."""
    if type(gx) is Tensor or np.isfinite(gx).all():
        return
    gx = np.asarray(gx)
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(gx))[0])
    raise NonFiniteError(
        f"{name}: its backward step gave {gx[index]} for slot {slot} at index {index}; a gradient "
        f"must be finite. Look at the inputs of {name} there, or guard them with wg.where."
    )
