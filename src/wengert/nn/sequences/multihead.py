"""MultiheadAttention, and the keys and values that it keeps from step to step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core.bind import located
from wengert.core.dtypes import is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.functions.drawn_weights import note_drawn
from wengert.functions.sequences.attention import attend_in_order
from wengert.functions.time_axes import note_time_axis
from wengert.interpret.mistakes.attention_masks import note_rows_as_heads
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.linear import Linear
from wengert.nn.seeding import Seed, generator_of
from wengert.nn.sequences.positional import rotary
from wengert.nn.sequences.sequence_arguments import (
    new_zeros,
    require_batch,
    require_kept,
    require_rows,
)
from wengert.nn.showing import shown_layer, shown_parts


@dataclass(eq=False, repr=False)
class KeyValueCache(Explained):
    """Keys and values of the positions so far: (room, …, heads, size), along axis 0 with room for
    more, and the sizes of the batch behind it.
    """

    keys: Any
    values: Any
    length: Any  # how many rows are taken, an int64

    # What to do where programs are compiled for several sizes of an axis.
    repairs_of_sizes: ClassVar[dict[int, str]] = {
        0: "Make all caches with one room, layer.cache(room, batch), that is enough for the longest"
    }

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__", "extend", "step", "cache")
@dataclass(init=False, eq=False, repr=False)
class MultiheadAttention(Explained):
    """Attention of x (…, time, size) to itself, or to a context (…, keys, size), in several heads.

    `project_in` makes queries, keys and values, `project_out` the result, (…, time, size). Heads
    have size / heads numbers each. With `shared_heads`, keys and values have only so many heads,
    each for several of the queries (grouped queries). `causal` lets each position look at itself
    and those before it; `rotary` turns queries and keys by their positions. A mask is that of
    `wg.attention`.

    A causal layer also goes on from where it was: `cache = layer.cache(room, batch)` has room for
    so many positions, `y, cache = layer.step(x, cache)` takes one position, (…, size), and
    `extend` several, (…, time, size). The bits are those of the whole sequence.

    >>> layer = wg.nn.MultiheadAttention(8, 2, causal=True, rotary=True)
    >>> layer(np.ones((3, 5, 8), np.float32)).shape
    (3, 5, 8)
    >>> y, cache = layer.step(np.ones((3, 8), np.float32), layer.cache(16, batch=3))
    >>> y.shape, int(cache.length)
    ((3, 8), 1)
    """

    project_in: Linear
    project_out: Linear
    heads: int
    shared_heads: int
    causal: bool
    rotary: bool

    torch_names: ClassVar[dict[str, str]] = {
        "project_in.weight": "in_proj_weight",
        "project_in.bias": "in_proj_bias",
        "project_out": "out_proj",
    }

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        shared_heads: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        bias: bool = True,
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by = "MultiheadAttention"
        width, count = require_size(by, "size", size), require_size(by, "heads", heads)
        shared = count if shared_heads is None else require_size(by, "shared_heads", shared_heads)
        _require_heads(by, width, count, shared, rotary)
        float_dtype, rng = require_float(by, dtype), generator_of(by, seed)
        own = width // count
        rows = [count * own, shared * own, shared * own]  # queries, keys, values
        parts = [initialise(by, init, (n, width), rng, float_dtype) for n in rows]
        weight = note_drawn(by, np.concatenate(parts))
        self.project_in = Linear.of(weight, np.zeros(sum(rows), float_dtype) if bias else None)
        self.project_out = Linear(width, width, bias=bias, init=init, seed=rng, dtype=float_dtype)
        self.heads, self.shared_heads = count, shared
        self.causal, self.rotary = bool(causal), bool(rotary)

    @property
    def size(self) -> int:
        return int(self.project_in.weight.shape[1])

    def __call__(self, x: Value, mask: Value = None, context: Value = None) -> Value:
        if mask is not None:
            self._require_mask(x, mask, context)
        x = op.asarray(x)
        require_rows("MultiheadAttention", x, self.size, 2)
        note_time_axis("MultiheadAttention", x)
        q, k, v = self._projected(x, context)
        if self.rotary:
            q, k = rotary(q), rotary(k)
        return self._merged(op.attention(q, k, v, mask, self.causal))

    def _projected(self, x: Value, context: Value) -> tuple[Value, Value, Value]:
        """q, k and v as (…, heads, time, size)."""
        sizes = self._rows()
        if context is None:
            parts = op.split(self.project_in(x), [sizes[0], sizes[0] + sizes[1]], axis=-1)
        else:
            context = op.asarray(context)
            require_rows("MultiheadAttention", context, self.size, 2)
            weight, bias = self.project_in.weight, self.project_in.bias
            ours, theirs = (
                Linear.of(weight[rows], None if bias is None else bias[rows])
                for rows in (slice(None, sizes[0]), slice(sizes[0], None))
            )
            parts = [ours(x), *op.split(theirs(context), 2, axis=-1)]
        heads = (self.heads, self.shared_heads, self.shared_heads)
        q, k, v = (self._in_heads(y, n) for y, n in zip(parts, heads, strict=True))
        return q, k, v

    def _rows(self) -> tuple[int, int]:
        """How many numbers queries and keys have."""
        return self.size, self.size // self.heads * self.shared_heads

    def _in_heads(self, y: Value, heads: int) -> Value:
        """(…, time, heads · size) -> (…, heads, time, size)"""
        apart = op.reshape(y, (*y.shape[:-1], heads, self.size // self.heads))
        return op.swapaxes(apart, -3, -2)

    def _merged(self, y: Value) -> Value:
        """(…, heads, time, size) -> (…, time, size), through the last projection"""
        y = op.swapaxes(y, -3, -2)
        return self.project_out(op.reshape(y, (*y.shape[:-2], self.size)))

    def cache(self, room: int, batch: Any = ()) -> KeyValueCache:
        """An empty cache for so many positions, of a batch of these sizes."""
        rows = require_size("MultiheadAttention.cache", "room", room)
        sizes = require_batch("MultiheadAttention.cache", batch)
        shape = (rows, *sizes, self.shared_heads, self.size // self.heads)
        dtype = self.project_in.weight.dtype
        return KeyValueCache(
            new_zeros(shape, dtype), new_zeros(shape, dtype), np.array(0, np.int64)
        )

    def extend(self, x: Value, cache: KeyValueCache) -> tuple[Value, KeyValueCache]:
        """The outputs of x (…, time, size), which follows what is in the cache, and the cache with
        it. IndexError if there is no room.
        """
        self._require_order()
        x = op.asarray(x)
        require_rows("MultiheadAttention", x, self.size, 2)
        self._require_cache(x, cache)
        start = cache.length
        _require_room(cache, x.shape[-2])
        q, k, v = self._projected(x, None)
        if self.rotary:
            q, k = rotary(q, start), rotary(k, start)
        places = op.position_with_room(op.arange(x.shape[-2]) + start, cache.keys.shape[0])
        keys, values = (
            op.at(rows)[places].set(op.moveaxis(new, -2, 0))
            for rows, new in ((cache.keys, k), (cache.values, v))
        )
        k, v = (op.moveaxis(rows, 0, -2) for rows in (keys, values))
        y = self._merged(attend_in_order(q, k, v, places))
        return y, KeyValueCache(keys, values, start + x.shape[-2])

    def step(self, x: Value, cache: KeyValueCache) -> tuple[Value, KeyValueCache]:
        """The output of one position, x (…, size), which follows what is in the cache, and the
        cache with it. IndexError if there is no room.
        """
        require_input_first("MultiheadAttention", x)
        x = op.asarray(x)
        require_rows("MultiheadAttention", x, self.size, 1)
        y, cache = self.extend(op.expand_dims(x, axis=-2), cache)
        return y[..., 0, :], cache

    def _require_cache(self, x: Value, cache: Any) -> None:
        room = cache.keys.shape[0] if isinstance(cache, KeyValueCache) else 0
        shape = (room, *x.shape[:-2], self.shared_heads, self.size // self.heads)
        wanted = {"keys": shape, "values": shape}
        begin = "cache(room, batch)"
        require_kept("MultiheadAttention", cache, KeyValueCache, x, wanted, begin)

    def _require_mask(self, x: Value, mask: Value, context: Value) -> None:
        """Refuse keys in the place of the mask; warn of one for each row in the place of heads."""
        shape, own = np.shape(mask), np.shape(x)
        rows = len(shape) == len(own) > 1 and shape[-1] == self.size
        rows = rows and not self._is_mask(shape, own, np.shape(x if context is None else context))
        if mask is x or mask is context or (rows and context is not None):
            error = ShapeError(
                "MultiheadAttention: given queries, keys and values, or x again; it takes one x, "
                "and its second argument is a mask. Write layer(x), or layer(x, context=keys) to "
                "look at others."
            )
            raise located(error, [x])
        if rows and context is None and is_float(getattr(mask, "dtype", np.dtype(bool))):
            of_batch = "; for a mask of each row of the batch, mask[:, None]"
            error = ShapeError(
                f"MultiheadAttention: given x of shape {own} and {shape} as its mask, rows of the "
                f"layer's size; a mask is (…, queries, keys), here {(own[-2], own[-2])}. To look "
                "at other rows, write layer(x, context=rows)"
                f"{of_batch if shape[1:] == (own[-2], own[-2]) else ''}."
            )
            raise located(error, [x, mask])
        if len(own) == len(shape) == 3 and shape[0] == own[0] == self.heads > 1:
            note_rows_as_heads("MultiheadAttention", op.asarray(mask), self.heads)

    def _is_mask(self, shape: Any, queries: Any, keys: Any) -> bool:
        """Whether a mask of this shape fits x and a context of the others."""
        wanted = (*keys[-2:-1], *queries[-2:-1], self.heads, *reversed(queries[:-2]))
        return all(n in (1, size) for n, size in zip(reversed(shape), wanted, strict=False))

    def _require_order(self) -> None:
        if not self.causal:
            raise ValueError(
                "MultiheadAttention: a step was asked of a layer that looks at later positions, "
                "too; only a causal one can go step by step. Make it with causal=True."
            )

    def __repr__(self) -> str:
        return shown_parts(self)


def require_input_first(by: str, x: Any) -> None:
    """Refuse a cache in the place of the input."""
    if isinstance(x, KeyValueCache):
        raise TypeError(
            f"{by}.step: x is a KeyValueCache; the input comes first, and the cache second. Write "
            "y, cache = layer.step(x, cache)."
        )


def _require_room(cache: KeyValueCache, count: Any) -> None:
    """Refuse more positions than there is room for, where that is known; else the program does."""
    room, taken = cache.keys.shape[0], cache.length
    if isinstance(taken, Tensor) or not isinstance(count, int) or not isinstance(room, int):
        return
    if int(taken) + count > room:
        raise IndexError(
            f"MultiheadAttention: {count} positions were given for a cache of {room}, of which "
            f"{int(taken)} are taken; there must be room for all. Make one with more room: "
            "layer.cache(room, batch). Axis 0 of a cache is its room; rows of the batch are chosen "
            "along axis 1, keys[:, rows]."
        )


def _require_heads(by: str, size: int, heads: int, shared: int, turned: bool) -> None:
    if size % heads:
        raise ValueError(
            f"{by}: size={size} and heads={heads} were given; heads must divide the size. Choose "
            "others."
        )
    if heads % shared:
        raise ValueError(
            f"{by}: heads={heads} and shared_heads={shared} were given; shared_heads must divide "
            "heads. Choose others."
        )
    if turned and size // heads % 2:
        raise ValueError(
            f"{by}: heads of {size // heads} numbers were given with rotary=True; pairs of numbers "
            "are turned, so there must be an even count. Choose another size or other heads."
        )
