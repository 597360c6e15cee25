"""wg.GradientTape: record a computation as it runs, then ask for gradients."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from wengert.api.by_hand.recording import Recording, require_finite
from wengert.api.cotangents import cotangent_of
from wengert.api.owned_results import owned
from wengert.core import tree
from wengert.core.bind import enter, leave
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.errors import DTypeError, MissingGradient, NonFiniteError, TraceError
from wengert.interpret.tape import Tape


@worded_methods("__init__", "watch", "gradient")
class GradientTape(Recording):
    """A tape with two ways of use.

    As a context manager it records what is computed from watched values:

    >>> with GradientTape() as tape:
    ...     x = tape.watch(np.array([1.0, 2.0]))
    ...     loss = (x * x).sum()
    >>> tape.gradient(loss, x)
    array([2., 4.])

    With slots and `record_*` methods it is told each step; see `Recording`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tape = Tape()
        self._entered = False

    def __enter__(self) -> GradientTape:
        if self._entered:
            raise TraceError(
                "GradientTape: entered twice; one tape records one computation. Make a new tape."
            )
        self._entered = True
        enter(self._tape)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        leave(self._tape)

    def watch(self, value: Any) -> Any:
        """The same value, or tree of values, as Tensors from which gradients can be asked."""
        if not self._entered or self._tape.closed:
            raise TraceError(
                "GradientTape: watch was called outside of its with block; the tape records "
                "inside it only. Write `with wg.GradientTape() as tape:` around it."
            )
        value = tree.arrays(value)
        if not any(x.dtype.kind == "f" for x in tree.leaves(value)):
            raise DTypeError(
                f"GradientTape: watch was given {type(value).__name__} without float arrays; only "
                "floats have gradients. Convert it with astype(np.float64)."
            )
        return tree.map(lambda x: self._tape.watch(x) if x.dtype.kind == "f" else x, value)

    def gradient(self, loss: Any, sources: Any, seed: Any = None) -> Any:
        """The gradient of `loss` by a tree of watched values; zeros where nothing flows.

        `seed` is the cotangent of the loss: one by default, required where the loss is no scalar.
        """
        handles, structure = tree.flatten(sources)
        moving = [x for x in handles if x.dtype.kind == "f"]
        if any(self._slot(x) is None for x in moving):
            raise MissingGradient(
                "GradientTape: gradient was asked for a value this tape does not watch; sources "
                "are what tape.watch returned, or Tensors computed from it. Watch it before use."
            )
        loss = self._own(loss)
        start = self._slot(loss)
        gloss = cotangent_of("GradientTape", loss if start is None else loss._value, seed)
        slots: list[Any] = [self._slot(x) for x in moving]
        cotangents: list[Value | None] = [None] * len(slots)
        if start is not None:
            cotangents = self._tape.sweep({start: gloss}, slots)
            if not all(g is None or type(g) is Tensor or np.isfinite(g).all() for g in cotangents):
                self._explain(start, gloss, slots)
        filled = [_or_zeros(g, x) for g, x in zip(cotangents, moving, strict=True)]
        gradients = iter(owned(filled, [gloss], [x._value for x in moving]))
        return tree.unflatten(
            tree.derivative_form(structure),
            [next(gradients) if x.dtype.kind == "f" else _or_zeros(None, x) for x in handles],
        )

    def _own(self, loss: Any) -> Any:
        """A loss as a Tensor of this tape, also where an inner tape computed it."""
        while isinstance(loss, Tensor) and loss.level is not self._tape and loss._value is not None:
            loss = loss._value
        return loss if isinstance(loss, Tensor) else np.asarray(loss)

    def _explain(self, start: int, gloss: Any, slots: list[int]) -> None:
        """Walk back again, looking at every step, to name the one that went non-finite."""
        self._tape.sweep(
            {start: gloss},
            slots,
            inspect=lambda record, slot, gx: require_finite(record.op.name, slot, gx),
        )
        raise NonFiniteError(
            "GradientTape: a sum of gradients is not finite, though each term is; a gradient must "
            "be finite. Scale the loss down."
        )

    def _slot(self, x: Any) -> int | None:
        mine = isinstance(x, Tensor) and x.level is self._tape
        return x.handle if mine else None


def _or_zeros(g: Value | None, x: Value) -> Value:
    return np.zeros(x.shape, x.dtype) if g is None else g
