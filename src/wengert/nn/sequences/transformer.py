"""TransformerBlock: attention and a small network, each added to what comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.dropout import require_generator
from wengert.functions.parameter import canonical_number
from wengert.nn.activations import Activation, find_activation
from wengert.nn.init import Initialiser
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.linear import Linear
from wengert.nn.normalization import LayerNorm
from wengert.nn.seeding import Seed, generator_of
from wengert.nn.sequences.multihead import (
    KeyValueCache,
    MultiheadAttention,
    require_input_first,
)
from wengert.nn.sequential import ONE_ARRAY
from wengert.nn.showing import shown_parts
from wengert.ops.drawing.generator import Generator


@worded_methods("__init__", "__call__", "extend", "step", "cache")
@dataclass(init=False, eq=False, repr=False)
class TransformerBlock(Explained):
    """x + attention(norm(x)), and to that down(activation(up(norm(…)))) is added: a block with its
    norms in front (Xiong et al. 2020), of x (…, time, size).

    `hidden` is the width inside, 4 · size if it is not given. `causal`, `rotary` and `shared_heads`
    are those of MultiheadAttention, and so are `cache`, `extend` and `step`. With a generator,
    both terms that are added are dropped out at the rate `dropout`.

    >>> block = wg.nn.TransformerBlock(8, 2, causal=True)
    >>> block(np.ones((3, 5, 8), np.float32)).shape
    (3, 5, 8)
    """

    attention_norm: LayerNorm
    attention: MultiheadAttention
    norm: LayerNorm
    up: Linear
    down: Linear
    activation: Activation
    dropout: float

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        hidden: int | None = None,
        shared_heads: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        activation: str = "gelu",
        dropout: float = 0.0,
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by = "TransformerBlock"
        width, float_dtype = require_size(by, "size", size), require_float(by, dtype)
        inner = 4 * width if hidden is None else require_size(by, "hidden", hidden)
        rng = generator_of(by, seed)
        self.dropout = canonical_number(by, "dropout", dropout, lambda r: 0 <= r < 1, "in [0, 1)")
        self.activation = find_activation(activation, by, "activation")
        self.attention_norm, self.norm = (
            LayerNorm(width, dtype=float_dtype),
            LayerNorm(width, dtype=float_dtype),
        )
        self.attention = MultiheadAttention(
            width,
            heads,
            shared_heads=shared_heads,
            causal=causal,
            rotary=rotary,
            init=init,
            seed=rng,
            dtype=float_dtype,
        )
        self.up = Linear(width, inner, init=init, seed=rng, dtype=float_dtype)
        self.down = Linear(inner, width, init=init, seed=rng, dtype=float_dtype)

    def __call__(self, x: Value, mask: Value = None, rng: Any = None) -> Value:
        if isinstance(mask, Generator):
            raise TypeError(
                "TransformerBlock: mask is a Generator; the second argument is the mask, and the "
                "generator of dropout the third. Write block(x, rng=rng)."
            )
        require_generator("TransformerBlock", rng, ONE_ARRAY)
        return self._around(x, lambda y: self.attention(y, mask), rng)

    def _around(self, x: Value, attention: Callable[[Value], Value], rng: Any) -> Value:
        def dropped(y: Value) -> Value:
            return op.dropout(y, self.dropout, rng) if self.dropout else y

        x = x + dropped(attention(self.attention_norm(x)))
        return x + dropped(self.down(self.activation(self.up(self.norm(x)))))

    def cache(self, room: int, batch: Any = ()) -> KeyValueCache:
        """An empty cache of its attention, for so many positions."""
        return self.attention.cache(room, batch)

    def extend(self, x: Value, cache: KeyValueCache) -> tuple[Value, KeyValueCache]:
        """The outputs of x (…, time, size), which follows what is in the cache, and the cache with
        it.
        """
        kept = []

        def attention(y: Value) -> Value:
            out, after = self.attention.extend(y, cache)
            kept.append(after)
            return out

        return self._around(x, attention, None), kept[0]

    def step(self, x: Value, cache: KeyValueCache) -> tuple[Value, KeyValueCache]:
        """The output of one position, x (…, size), and the cache with it."""
        require_input_first("TransformerBlock", x)
        y, after = self.extend(op.expand_dims(op.asarray(x), axis=-2), cache)
        return y[..., 0, :], after

    def __repr__(self) -> str:
        return shown_parts(self)
