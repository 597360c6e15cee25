"""S4D: a diagonal state-space model that is the same at all times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dims import product
from wengert.core.dtypes import promote
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.drawn_weights import note_drawn
from wengert.functions.time_axes import note_time_axis
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed, generator_of
from wengert.nn.sequences.sequence_arguments import (
    new_zeros,
    require_batch,
    require_kept,
    require_rows,
)
from wengert.nn.showing import shown_layer
from wengert.ops.sequences.diagonal_scans import scan_by_steps

ComplexState: TypeAlias = tuple[Value, Value]  # real and imaginary parts, (…, size, pairs)
_NARROW, _WIDE = math.log(1e-3), math.log(1e-1)  # logarithms of widths of steps, at first
_NEAR = 0.25  # below it exp(z) - 1 loses digits, and its derivative by z more of them


@worded_methods("__init__", "__call__", "extend", "step", "initial_state")
@dataclass(init=False, eq=False, repr=False)
class S4D(Explained):
    """State-space models with diagonals of complex numbers, one for each channel of x
    (…, time, size) (Gu, Goel, Gupta and Ré 2022, S4D-Lin):

        h' = A h + x,   y = 2 Re(sum of C B h') + D x
        A = exp(width · (-decay + i · rate)),   B = (A - 1) / (-decay + i · rate)

    `states` counts real numbers: half as many complex ones, each of which stands for a pair.
    Parameters are `log_width` (size,), `log_decay` and `rate` (size, states / 2), the parts
    `c_real` and `c_imag` of C, and `skip`, which is D. A whole sequence is computed as a loop, so
    `y, state = layer.step(x, state)` has its bits, for x (…, size), and `extend` for several,
    (…, time, size); both begin with `layer.initial_state(batch)`. States fade over 1 / (width ·
    decay) steps, and the rounding of A counts as often: in float32, which has 7 digits, as many of
    them are lost as that number of steps has.

    >>> layer = wg.nn.S4D(3, states=8)
    >>> layer(np.ones((2, 5, 3), np.float32)).shape
    (2, 5, 3)
    """

    log_width: Any  # (size,)
    log_decay: Any  # (size, pairs)
    rate: Any  # (size, pairs)
    c_real: Any  # (size, pairs)
    c_imag: Any  # (size, pairs)
    skip: Any  # (size,)

    def __init__(
        self, size: int, *, states: int = 64, seed: Seed = None, dtype: Any = np.float32
    ) -> None:
        width, count = require_size("S4D", "size", size), require_size("S4D", "states", states)
        if count % 2:
            raise ValueError(
                f"S4D: states={states} was given; it must be even, two numbers for each complex "
                "one. Choose another."
            )
        float_dtype, rng = require_float("S4D", dtype), generator_of("S4D", seed)
        pairs = (width, count // 2)
        self.log_width = rng.uniform(_NARROW, _WIDE, width).astype(float_dtype)
        self.log_decay = np.full(pairs, math.log(0.5), float_dtype)
        self.rate = np.tile(math.pi * np.arange(pairs[1]), (width, 1)).astype(float_dtype)
        self.c_real, self.c_imag = (
            (rng.normal(size=pairs) * math.sqrt(0.5)).astype(float_dtype) for _ in range(2)
        )
        self.skip = note_drawn("S4D", rng.normal(size=width).astype(float_dtype))

    def initial_state(self, batch: Any = ()) -> ComplexState:
        """Zeros, for a batch of these sizes."""
        shape = (*require_batch("S4D.initial_state", batch), *self.rate.shape)
        return new_zeros(shape, self.rate.dtype), new_zeros(shape, self.rate.dtype)

    def __call__(self, x: Value) -> Value:
        x = op.asarray(x)
        require_rows("S4D", x, self.rate.shape[0], 2)
        zeros = op.zeros((*x.shape[:-2], *self.rate.shape), self.rate.dtype)
        return self.extend(x, (zeros, zeros))[0]

    def extend(self, x: Value, state: ComplexState) -> tuple[Value, ComplexState]:
        """The outputs of x (…, time, size), which follows what led to the state, and the state
        after it.
        """
        x = op.asarray(x)
        require_rows("S4D", x, self.rate.shape[0], 2)
        note_time_axis("S4D", x)
        size, pairs = self.rate.shape
        lead, time = tuple(x.shape[:-2]), x.shape[-2]
        wanted = dict.fromkeys(range(2), (*lead, size, pairs))
        require_kept("S4D", state, tuple, x, wanted, "initial_state(batch)")
        numbers = self._discrete()
        u = op.swapaxes(op.reshape(x, (product(lead), time, size)), 1, 2)
        parts = [op.reshape(part, (-1, size, pairs)) for part in state]
        dtype = promote(u, *numbers, *parts)
        given = [op.astype(each, dtype) for each in (u, *numbers, *parts)]
        known = isinstance(time, int) and time > 0
        y, *last = op.diagonal_scan(*given) if known else scan_by_steps(*given)
        y = op.reshape(op.swapaxes(y, 1, 2), tuple(x.shape))
        real, imag = (op.reshape(part, (*lead, size, pairs)) for part in last)
        return y + self.skip * x, (real, imag)

    def step(self, x: Value, state: ComplexState) -> tuple[Value, ComplexState]:
        """The output of one time, x (…, size), and the next state."""
        y, after = self.extend(op.expand_dims(op.asarray(x), axis=-2), state)
        return y[..., 0, :], after

    def _discrete(self) -> tuple[Value, Value, Value, Value]:
        """A, and 2 C B, as real and imaginary parts."""
        width, decay = op.expand_dims(op.exp(self.log_width), axis=1), op.exp(self.log_decay)
        z = (-width * decay, width * self.rate)
        size = op.exp(z[0])
        a, b = size * op.cos(z[1]), size * op.sin(z[1])
        # (a - 1 + ib) / (-decay + i rate), by the conjugate of the divisor
        square = decay * decay + self.rate * self.rate
        far = (
            (b * self.rate - (a - 1) * decay) / square,
            -(b * decay + (a - 1) * self.rate) / square,
        )
        near = z[0] * z[0] + z[1] * z[1] < _NEAR**2
        pairs = zip(_growth(*z), far, strict=True)
        real, imag = (op.where(near, width * close, other) for close, other in pairs)
        c = 2 * (self.c_real * real - self.c_imag * imag)
        d = 2 * (self.c_real * imag + self.c_imag * real)
        return a, b, c, d

    def __repr__(self) -> str:
        return shown_layer(self)


def _growth(real: Value, imag: Value) -> ComplexState:
    """(exp(z) - 1) / z = 1 + z/2 + z²/6 + …, of |z| up to `_NEAR`: as many terms as are seen."""
    seen = np.finfo(real.dtype).eps / 4
    terms = next(n for n in range(1, 20) if _NEAR**n / math.factorial(n + 1) < seen)
    one, other = op.zeros_like(real), op.zeros_like(real)
    for n in range(terms, -1, -1):
        one, other = (
            one * real - other * imag + 1 / math.factorial(n + 1),
            one * imag + other * real,
        )
    return one, other
