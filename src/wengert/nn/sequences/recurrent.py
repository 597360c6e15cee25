"""GRU: a gated recurrent layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.nn.init import Initialiser
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed, generator_of
from wengert.nn.sequences.sequence_arguments import (
    TORCH_NAMES,
    initial_gates,
    recurrent_outputs,
    require_sequence,
    require_state,
    require_step,
    zero_state,
)
from wengert.nn.showing import shown_layer
from wengert.ops.sequences.recurrent_cells import CELLS
from wengert.ops.sequences.recurrent_loops import from_states


@worded_methods("__init__", "__call__", "step", "initial_state")
@dataclass(init=False, eq=False, repr=False)
class GRU(Explained):
    """A gated recurrent unit over axis 0 of xs, which is (time, in) or (time, batch, in). The batch
    is axis 1: transpose sequences that come as (batch, time, in).

        r = sigmoid(W_r x + b_r + U_r h + c_r)          (Cho et al. 2014, in the form of cuDNN)
        z = sigmoid(W_z x + b_z + U_z h + c_z)
        n = tanh(W_n x + b_n + r · (U_n h + c_n))
        h' = (1 - z) · n + z · h

    `input_weight` holds W_r, W_z, W_n below each other, (3 hidden, in), `hidden_weight` the U,
    (3 hidden, hidden), `input_bias` the b and `hidden_bias` the c, both (3 hidden,) and zero at
    first. `gru(xs, h)` gives all h' and the last one; without h it begins with zeros.
    `gru.step(x, h)` is one step.

    >>> gru = wg.nn.GRU(3, 5)
    >>> hs, last = gru(np.ones((7, 2, 3), np.float32))
    >>> hs.shape, last.shape
    ((7, 2, 5), (2, 5))
    """

    input_weight: Any  # (3 hidden, in)
    hidden_weight: Any  # (3 hidden, hidden)
    input_bias: Any  # (3 hidden,)
    hidden_bias: Any  # (3 hidden,)

    torch_names: ClassVar[dict[str, str]] = TORCH_NAMES

    def __init__(
        self,
        in_size: int,
        hidden_size: int,
        *,
        init: str | Initialiser = "xavier_uniform",
        hidden_init: str | Initialiser = "orthogonal",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        width = require_size("GRU", "in_size", in_size)
        hidden = require_size("GRU", "hidden_size", hidden_size)
        float_dtype, rng = require_float("GRU", dtype), generator_of("GRU", seed)
        self.input_weight = initial_gates("GRU", init, 3, (hidden, width), rng, float_dtype)
        self.hidden_weight = initial_gates(
            "GRU", hidden_init, 3, (hidden, hidden), rng, float_dtype
        )
        self.input_bias, self.hidden_bias = (
            np.zeros(3 * hidden, float_dtype),
            np.zeros(3 * hidden, float_dtype),
        )

    def initial_state(self, batch: Any = ()) -> Value:
        """Zeros, for a batch of these sizes."""
        return zero_state("GRU", self, batch)

    def step(self, x: Value, h: Value) -> Value:
        """The next h, from x (…, in) and h (…, hidden)."""
        require_step("GRU", self, x, h)
        return self._next(self._project(x), h)

    def _project(self, x: Value) -> Value:
        """What x adds to the three gates: of all times at once."""
        return op.matmul(x, op.matrix_transpose(self.input_weight)) + self.input_bias

    def _next(self, from_x: Value, h: Value) -> Value:
        from_h = from_states(h, self.hidden_weight, self.hidden_bias)
        (after,), _ = CELLS["gru"].step(from_x, from_h, (h,))
        return after

    def __call__(self, xs: Value, h: Value = None) -> tuple[Value, Value]:
        xs = op.asarray(xs)
        require_sequence("GRU", xs, self.input_weight.shape[1])
        projected = self._project(xs)
        if h is None:
            shape = (*xs.shape[1:-1], self.hidden_weight.shape[1])
            h = op.zeros(shape, projected.dtype)
        h = op.asarray(h)
        require_state("GRU", xs, h, self.hidden_weight.shape[1])
        hs, (last,) = recurrent_outputs("gru", self, projected, (h,))
        return hs, last

    def __repr__(self) -> str:
        return shown_layer(self)
