"""RNN and LSTM: recurrent layers beside the GRU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.nn.init import Initialiser, initialise
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

_ACTIVATIONS = ("tanh", "relu")


@worded_methods("__init__", "__call__", "step", "initial_state")
@dataclass(init=False, eq=False, repr=False)
class RNN(Explained):
    """A plain recurrent layer over axis 0 of xs, which is (time, in) or (time, batch, in).

        h' = tanh(W x + b + U h + c), or relu                                   (Elman 1990)

    `input_weight` is W, (hidden, in), `hidden_weight` U, (hidden, hidden), `input_bias` and
    `hidden_bias` are b and c, zero at first. `rnn(xs, h)` gives all h' and the last one; without h
    it begins with zeros. `rnn.step(x, h)` is one step.

    >>> hs, last = wg.nn.RNN(3, 5)(np.ones((7, 2, 3), np.float32))
    >>> hs.shape, last.shape
    ((7, 2, 5), (2, 5))
    """

    input_weight: Any  # (hidden, in)
    hidden_weight: Any  # (hidden, hidden)
    input_bias: Any  # (hidden,)
    hidden_bias: Any  # (hidden,)
    activation: str

    torch_names: ClassVar[dict[str, str]] = TORCH_NAMES

    def __init__(
        self,
        in_size: int,
        hidden_size: int,
        *,
        activation: str = "tanh",
        init: str | Initialiser = "xavier_uniform",
        hidden_init: str | Initialiser = "orthogonal",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        width = require_size("RNN", "in_size", in_size)
        hidden = require_size("RNN", "hidden_size", hidden_size)
        if activation not in _ACTIVATIONS:
            raise ValueError(
                f"RNN: activation={activation!r} was given; it must be one of "
                f"{', '.join(_ACTIVATIONS)}. Choose one, or write a scan of your own."
            )
        float_dtype, rng = require_float("RNN", dtype), generator_of("RNN", seed)
        self.input_weight = initialise("RNN", init, (hidden, width), rng, float_dtype)
        self.hidden_weight = initialise("RNN", hidden_init, (hidden, hidden), rng, float_dtype)
        self.input_bias, self.hidden_bias = (
            np.zeros(hidden, float_dtype),
            np.zeros(hidden, float_dtype),
        )
        self.activation = activation

    def initial_state(self, batch: Any = ()) -> Value:
        """Zeros, for a batch of these sizes."""
        return zero_state("RNN", self, batch)

    def step(self, x: Value, h: Value) -> Value:
        """The next h, from x (…, in) and h (…, hidden)."""
        require_step("RNN", self, x, h)
        return self._next(self._project(x), h)

    def _project(self, x: Value) -> Value:
        return op.matmul(x, op.matrix_transpose(self.input_weight)) + self.input_bias

    def _next(self, from_x: Value, h: Value) -> Value:
        from_h = from_states(h, self.hidden_weight, self.hidden_bias)
        (after,), _ = CELLS[self.activation].step(from_x, from_h, (h,))
        return after

    def __call__(self, xs: Value, h: Value = None) -> tuple[Value, Value]:
        xs = op.asarray(xs)
        require_sequence("RNN", xs, self.input_weight.shape[1])
        projected, hidden = self._project(xs), self.hidden_weight.shape[1]
        h = op.zeros((*xs.shape[1:-1], hidden), projected.dtype) if h is None else op.asarray(h)
        require_state("RNN", xs, h, hidden)
        hs, (last,) = recurrent_outputs(self.activation, self, projected, (h,))
        return hs, last

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__", "step", "initial_state")
@dataclass(init=False, eq=False, repr=False)
class LSTM(Explained):
    """A long short-term memory over axis 0 of xs, which is (time, in) or (time, batch, in).

        i = sigmoid(W_i x + b_i + U_i h + c_i)       (Hochreiter and Schmidhuber 1997, Gers 2000)
        f = sigmoid(W_f x + b_f + U_f h + c_f)
        g = tanh(W_g x + b_g + U_g h + c_g)
        o = sigmoid(W_o x + b_o + U_o h + c_o)
        m' = f · m + i · g
        h' = o · tanh(m')

    `input_weight` holds W_i, W_f, W_g, W_o below each other, (4 hidden, in), `hidden_weight` the U,
    (4 hidden, hidden), `input_bias` the b and `hidden_bias` the c, both (4 hidden,): zero at first
    but for b_f, which is 1. The state is a pair (h, m) of output and memory. `lstm(xs, state)`
    gives all h' and the last state; without a state it begins with zeros. `lstm.step(x, state)` is
    one step, and gives the next state.

    >>> hs, (h, memory) = wg.nn.LSTM(3, 5)(np.ones((7, 2, 3), np.float32))
    >>> hs.shape, h.shape, memory.shape
    ((7, 2, 5), (2, 5), (2, 5))
    """

    input_weight: Any  # (4 hidden, in)
    hidden_weight: Any  # (4 hidden, hidden)
    input_bias: Any  # (4 hidden,)
    hidden_bias: Any  # (4 hidden,)

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
        width = require_size("LSTM", "in_size", in_size)
        hidden = require_size("LSTM", "hidden_size", hidden_size)
        float_dtype, rng = require_float("LSTM", dtype), generator_of("LSTM", seed)
        self.input_weight = initial_gates("LSTM", init, 4, (hidden, width), rng, float_dtype)
        self.hidden_weight = initial_gates(
            "LSTM", hidden_init, 4, (hidden, hidden), rng, float_dtype
        )
        self.input_bias, self.hidden_bias = (
            np.zeros(4 * hidden, float_dtype),
            np.zeros(4 * hidden, float_dtype),
        )
        self.input_bias[hidden : 2 * hidden] = 1  # it remembers, until it learns to forget

    def initial_state(self, batch: Any = ()) -> tuple[Value, Value]:
        """Zeros, for a batch of these sizes: (h, memory)."""
        return zero_state("LSTM", self, batch), zero_state("LSTM", self, batch)

    def step(self, x: Value, state: tuple[Value, Value]) -> tuple[Value, Value]:
        """The next (h, memory), from x (…, in) and the state before it; h is the output."""
        h, memory = self._pair(state)
        require_step("LSTM", self, x, h)
        require_step("LSTM", self, x, memory, "memory")
        return self._next(self._project(x), h, memory)

    def _pair(self, state: Any) -> tuple[Value, Value]:
        if not isinstance(state, tuple | list) or len(state) != 2:
            error = ShapeError(
                f"LSTM: the state is {type(state).__name__}; it must be a pair (h, memory) of "
                "arrays. Pass what a call returned, or begin with lstm.initial_state(batch)."
            )
            raise located(error, [state])
        return state[0], state[1]

    def _project(self, x: Value) -> Value:
        """What x adds to the four gates: of all times at once."""
        return op.matmul(x, op.matrix_transpose(self.input_weight)) + self.input_bias

    def _next(self, from_x: Value, h: Value, memory: Value) -> tuple[Value, Value]:
        from_h = from_states(h, self.hidden_weight, self.hidden_bias)
        (h, memory), _ = CELLS["lstm"].step(from_x, from_h, (h, memory))
        return h, memory

    def __call__(
        self, xs: Value, state: tuple[Value, Value] | None = None
    ) -> tuple[Value, tuple[Value, Value]]:
        xs = op.asarray(xs)
        require_sequence("LSTM", xs, self.input_weight.shape[1])
        projected, hidden = self._project(xs), self.hidden_weight.shape[1]
        if state is None:
            zeros = op.zeros((*xs.shape[1:-1], hidden), projected.dtype)
            state = (zeros, zeros)
        h, memory = self._pair(state)
        require_state("LSTM", xs, h, hidden)
        require_state("LSTM", xs, memory, hidden, "memory")
        return recurrent_outputs("lstm", self, projected, (op.asarray(h), op.asarray(memory)))

    def __repr__(self) -> str:
        return shown_layer(self)
