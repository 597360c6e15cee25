"""LSTM and GRU: one layer over a whole sequence, whose outputs are to become given ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.layers.layer_steps import (
    jax_layer_step,
    our_layer_step,
    standard,
    torch_layer_step,
    torch_module,
    weights,
)
from benchmarks.peers import jax_library, torch_library, torch_tensors

GATES = {"LSTM": 4, "GRU": 3}


@dataclass(frozen=True)
class Recurrent:
    """A layer, its sizes, and those of a batch."""

    layer: str = "LSTM"
    batch: int = 32
    time: int = 100
    width: int = 64
    hidden: int = 128

    def __str__(self) -> str:
        shape = f"({self.batch}, {self.time}, {self.width})"
        return f"{self.layer} of {shape}, {self.hidden} wide"

    def arrays(self) -> dict[str, np.ndarray]:
        rng, rows = np.random.default_rng(0), GATES[self.layer] * self.hidden
        return {
            "weight_ih_l0": weights(rng, rows, self.width),
            "weight_hh_l0": weights(rng, rows, self.hidden),
            "bias_ih_l0": 0.1 * standard(rng, rows),
            "bias_hh_l0": 0.1 * standard(rng, rows),
        }

    def sequences(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and wanted outputs, time first."""
        rng = np.random.default_rng(1)
        x = standard(rng, self.time, self.batch, self.width)
        return x, 0.1 * standard(rng, self.time, self.batch, self.hidden)


def ours(model: Recurrent) -> Run:
    import wengert as wg

    made = getattr(wg.nn, model.layer)(model.width, model.hidden)
    layer = wg.nn.from_torch_names(made, model.arrays())

    def loss(layer: Any, xs: Any, wanted: Any) -> Any:
        return wg.mean((layer(xs)[0] - wanted) ** 2)

    return our_layer_step(loss, layer, model.sequences())


def in_jax(model: Recurrent) -> Run:
    jax = jax_library()
    jnp = jax.numpy
    sigmoid = jax.nn.sigmoid

    def loss(arrays: Any, xs: Any, wanted: Any) -> Any:
        projected = xs @ arrays["weight_ih_l0"].T + arrays["bias_ih_l0"]

        def from_h(h: Any) -> Any:
            return h @ arrays["weight_hh_l0"].T + arrays["bias_hh_l0"]

        def lstm(state: Any, x: Any) -> Any:
            i, f, g, o = jnp.split(x + from_h(state[0]), 4, axis=-1)
            memory = sigmoid(f) * state[1] + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(memory)
            return (h, memory), h

        def gru(state: Any, x: Any) -> Any:
            (xr, xz, xn), (hr, hz, hn) = (jnp.split(y, 3, axis=-1) for y in (x, from_h(state[0])))
            z, n = sigmoid(xz + hz), jnp.tanh(xn + sigmoid(xr + hr) * hn)
            h = (1 - z) * n + z * state[0]
            return (h, state[1]), h

        zeros = jnp.zeros((xs.shape[1], model.hidden), xs.dtype)
        step = lstm if model.layer == "LSTM" else gru
        _, hs = jax.lax.scan(step, (zeros, zeros), projected)
        return jnp.mean((hs - wanted) ** 2)

    return jax_layer_step(loss, model.arrays(), model.sequences())


def in_torch(model: Recurrent) -> Run:
    torch = torch_library()
    made = getattr(torch.nn, model.layer)(model.width, model.hidden)
    layer = torch_module(made, model.arrays())

    def loss(xs: Any, wanted: Any) -> Any:
        return (layer(xs)[0] - wanted).square().mean()

    return torch_layer_step(loss, list(layer.parameters()), torch_tensors(model.sequences()))
