"""Mamba: a selective state-space model with a short convolution and a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.dims import product
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.time_axes import note_time_axis
from wengert.nn.init import Initialiser
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.linear import Linear
from wengert.nn.seeding import Seed, generator_of
from wengert.nn.sequences.sequence_arguments import (
    new_zeros,
    require_batch,
    require_kept,
    require_rows,
)
from wengert.nn.showing import shown_layer, shown_parts

_NARROW, _WIDE = math.log(1e-3), math.log(1e-1)  # logarithms of widths of steps, at first


@dataclass(eq=False, repr=False)
class MambaState(Explained):
    """What Mamba keeps from step to step."""

    window: Any  # (…, kernel - 1, inner): the inputs that the convolution still sees
    h: Any  # (…, inner, states)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__", "extend", "step", "initial_state")
@dataclass(init=False, eq=False, repr=False)
class Mamba(Explained):
    """The block of Mamba (Gu and Dao 2023), of x (…, time, size):

        u, z = project_in(x);   u = silu(causal convolution of u, channel by channel)
        delta, B, C = project_u(u);   delta = project_delta(delta)
        y = project_out(selective_scan(u, delta, A, B, C, D, z))

    Inside it is `expand` times as wide, with `states` numbers for each channel; the convolution
    sees `kernel` times. delta has `rank` numbers before it is projected, size / 16 if that is not
    given. A is -exp(`log_a`), `skip` is D. `y, state = layer.step(x, state)` takes one time,
    (…, size), and `extend` several, (…, time, size), beginning with `layer.initial_state(batch)`;
    the bits are those of the whole sequence.

    >>> layer = wg.nn.Mamba(8, states=4)
    >>> layer(np.ones((3, 5, 8), np.float32)).shape
    (3, 5, 8)
    """

    project_in: Linear  # (2 inner, size)
    conv_weight: Any  # (inner, kernel)
    conv_bias: Any  # (inner,)
    project_u: Linear  # (rank + 2 states, inner)
    project_delta: Linear  # (inner, rank)
    log_a: Any  # (inner, states)
    skip: Any  # (inner,)
    project_out: Linear  # (size, inner)

    def __init__(
        self,
        size: int,
        *,
        states: int = 16,
        expand: int = 2,
        kernel: int = 4,
        rank: int | None = None,
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by = "Mamba"
        width, count = require_size(by, "size", size), require_size(by, "states", states)
        inner, seen = width * require_size(by, "expand", expand), require_size(by, "kernel", kernel)
        low = -(-width // 16) if rank is None else require_size(by, "rank", rank)
        float_dtype, rng = require_float(by, dtype), generator_of(by, seed)
        bound = 1 / math.sqrt(seen)
        self.project_in = Linear(
            width, 2 * inner, bias=False, init=init, seed=rng, dtype=float_dtype
        )
        self.conv_weight = rng.uniform(-bound, bound, (inner, seen)).astype(float_dtype)
        self.conv_bias = np.zeros(inner, float_dtype)
        self.project_u = Linear(
            inner, low + 2 * count, bias=False, init=init, seed=rng, dtype=float_dtype
        )
        limit = 1 / math.sqrt(low)
        widths = np.exp(rng.uniform(_NARROW, _WIDE, inner))
        self.project_delta = Linear.of(
            rng.uniform(-limit, limit, (inner, low)).astype(float_dtype),
            (widths + np.log(-np.expm1(-widths))).astype(
                float_dtype
            ),  # softplus of it is the width
        )
        self.log_a = np.tile(np.log(np.arange(1, count + 1)), (inner, 1)).astype(float_dtype)
        self.skip = np.ones(inner, float_dtype)
        self.project_out = Linear(inner, width, bias=False, init=init, seed=rng, dtype=float_dtype)

    @property
    def size(self) -> int:
        return int(self.project_in.weight.shape[1])

    def initial_state(self, batch: Any = ()) -> MambaState:
        """Zeros, for a batch of these sizes."""
        sizes = require_batch("Mamba.initial_state", batch)
        (inner, kernel), states = self.conv_weight.shape, self.log_a.shape[1]
        dtype = self.conv_weight.dtype
        return MambaState(
            new_zeros((*sizes, kernel - 1, inner), dtype),
            new_zeros((*sizes, inner, states), dtype),
        )

    def __call__(self, x: Value) -> Value:
        x = op.asarray(x)
        require_rows("Mamba", x, self.size, 2)
        (inner, kernel), states = self.conv_weight.shape, self.log_a.shape[1]
        lead, dtype = x.shape[:-2], self.conv_weight.dtype
        zeros = op.zeros((*lead, kernel - 1, inner), dtype), op.zeros((*lead, inner, states), dtype)
        return self.extend(x, MambaState(*zeros))[0]

    def extend(self, x: Value, state: MambaState) -> tuple[Value, MambaState]:
        """The outputs of x (…, time, size), which follows what led to the state, and the state
        after it.
        """
        x = op.asarray(x)
        require_rows("Mamba", x, self.size, 2)
        note_time_axis("Mamba", x)
        inner, states = self.log_a.shape
        lead, before = tuple(x.shape[:-2]), self.conv_weight.shape[1] - 1
        wanted = {"window": (*lead, before, inner), "h": (*lead, inner, states)}
        require_kept("Mamba", state, MambaState, x, wanted, "initial_state(batch)")
        u, z = op.split(self.project_in(x), 2, axis=-1)
        seen = op.concat([state.window, u], axis=-2)  # (…, kernel - 1 + time, inner)
        u = op.silu(self._convolved(seen, x.shape[-2]))
        rank = self.project_delta.weight.shape[1]
        narrow, b, c = op.split(self.project_u(u), [rank, rank + states], axis=-1)
        delta = op.matmul(narrow, op.matrix_transpose(self.project_delta.weight))
        flat = [self._channels_first(each) for each in (u, delta, z, b, c)]
        y, h = op.selective_scan(
            *flat[:2],
            -op.exp(self.log_a),
            *flat[3:],
            self.skip,
            flat[2],
            self.project_delta.bias,
            True,
            op.reshape(state.h, (-1, inner, states)),
            True,
        )
        y = op.reshape(op.swapaxes(y, 1, 2), (*x.shape[:-1], inner))
        window = seen[..., x.shape[-2] :, :]
        return self.project_out(y), MambaState(
            window, op.reshape(h, (*x.shape[:-2], inner, states))
        )

    def _convolved(self, seen: Value, time: Any) -> Value:
        """Each time with those before it, weighed channel by channel."""
        kernel = self.conv_weight.shape[1]
        total = self.conv_bias
        for place in range(kernel):
            total = total + seen[..., place : place + time, :] * self.conv_weight[:, place]
        return total

    def _channels_first(self, x: Value) -> Value:
        """(…, time, n) -> (batch, n, time)"""
        return op.swapaxes(op.reshape(x, (product(x.shape[:-2]), *x.shape[-2:])), 1, 2)

    def step(self, x: Value, state: MambaState) -> tuple[Value, MambaState]:
        """The output of one time, x (…, size), and the next state."""
        y, after = self.extend(op.expand_dims(op.asarray(x), axis=-2), state)
        return y[..., 0, :], after

    def __repr__(self) -> str:
        return shown_parts(self)
