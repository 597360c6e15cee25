"""A small transformer, decoder only, in NumPy's names: for the time that compiling it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import jax_cross_entropy, jax_layer_norm, jax_library


@dataclass(frozen=True)
class Transformer:
    """Its sizes, and those of a batch."""

    layers: int = 12
    width: int = 64
    heads: int = 4
    words: int = 100
    length: int = 32
    batch: int = 4

    def data(self) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        """Parameters, and words and the ones that follow them."""
        rng = np.random.default_rng(0)
        width = self.width

        def weights(*shape: int) -> np.ndarray:
            array: np.ndarray = rng.standard_normal(shape) / np.sqrt(shape[0])
            return array.astype(np.float32)

        def norm() -> list[np.ndarray]:
            return [np.ones(width, np.float32), np.zeros(width, np.float32)]

        blocks = [
            {
                "attend": norm(),
                "qkv": weights(width, 3 * width),
                "out": weights(width, width),
                "think": norm(),
                "up": weights(width, 4 * width),
                "down": weights(4 * width, width),
            }
            for _ in range(self.layers)
        ]
        tables = {"words": weights(self.words, width), "places": weights(self.length, width)}
        text = rng.integers(0, self.words, (self.batch, self.length + 1))
        return {**tables, "blocks": blocks, "last": norm()}, text[:, :-1], text[:, 1:]


@dataclass(frozen=True)
class Functions:
    """What the libraries name differently; `xp` has NumPy's names."""

    xp: Any
    softmax: Callable[[Any], Any]
    gelu: Callable[[Any], Any]
    layer_norm: Callable[[Any, Any, Any], Any]
    cross_entropy: Callable[[Any, Any], Any]  # of (rows, words) and (rows,)


def transformer_loss(model: Transformer, of: Functions) -> Callable[..., Any]:
    batch, length, heads, width = model.batch, model.length, model.heads, model.width
    xp = of.xp
    future = np.triu(np.full((length, length), -1e9, np.float32), 1)

    def split(x: Any) -> Any:
        x = xp.reshape(x, (batch, length, heads, width // heads))
        return xp.transpose(x, (0, 2, 1, 3))  # (batch, heads, length, width of a head)

    def attention(x: Any, block: dict[str, Any]) -> Any:
        x = x @ block["qkv"]
        q, k, v = (split(x[..., i * width : (i + 1) * width]) for i in range(3))
        scores = q @ xp.transpose(k, (0, 1, 3, 2)) / np.float32(np.sqrt(width // heads))
        mixed = of.softmax(scores + future) @ v
        return xp.reshape(xp.transpose(mixed, (0, 2, 1, 3)), (batch, length, width)) @ block["out"]

    def loss(parameters: dict[str, Any], x: Any, y: Any) -> Any:
        h = parameters["words"][x] + parameters["places"]
        for block in parameters["blocks"]:
            h = h + attention(of.layer_norm(h, *block["attend"]), block)
            h = h + of.gelu(of.layer_norm(h, *block["think"]) @ block["up"]) @ block["down"]
        logits = of.layer_norm(h, *parameters["last"]) @ parameters["words"].T
        rows = xp.reshape(logits, (batch * length, model.words))
        return of.cross_entropy(rows, xp.reshape(y, (batch * length,)))

    return loss


def our_transformer_loss(model: Transformer) -> Callable[..., Any]:
    import wengert as wg

    functions = Functions(np, wg.softmax, wg.gelu, wg.layer_norm, wg.cross_entropy)
    return transformer_loss(model, functions)


def jax_transformer_loss(model: Transformer) -> Callable[..., Any]:
    jax = jax_library()
    gelu = partial(jax.nn.gelu, approximate=False)
    functions = Functions(jax.numpy, jax.nn.softmax, gelu, jax_layer_norm, jax_cross_entropy)
    return transformer_loss(model, functions)
