"""Attention, in blocks of rows: scores live for one block at a time, forwards and backwards."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.table import op
from wengert.errors import DTypeError, ShapeError
from wengert.functions.parameter import canonical_number
from wengert.interpret.mistakes.attention_masks import note_mask
from wengert.interpret.mistakes.mixed_rows import note_mixed_rows, note_rows_from_outside

ROWS = 128  # queries whose scores are alive at once; decides the order of sums in gradients of k, v
# Spans of queries that look at fewer keys than the spans behind them. Each is a loop of its own to
# compile: few, and more of them only for sequences of so many blocks.
_SPANS, _LONG, _SPANS_OF_LONG = 4, 16, 8


@function()
def attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """softmax(q kᵀ · scale) v for each head: q is (…, heads, time, size), k (…, heads, keys, size)
    and v (…, heads, keys, width); the result is (…, heads, time, width).

    k and v may have fewer heads, of which neighbouring heads of q share one. The scale is
    1 / sqrt(size) if none is given. `mask` broadcasts to (…, heads, time, keys): bools, true where
    a query may look, or floats that are added to the scores. With `causal`, queries are the last of
    the keys, and each looks at its own key and those before it. A query that may look nowhere gives
    zeros. Scores are not kept for the way back but computed again, block by block.

    >>> x = np.array([[[0.0], [1.0], [2.0]]])
    >>> wg.attention(np.zeros((1, 3, 1)), x, x, causal=True)
    array([[[0. ],
            [0.5],
            [1. ]]])
    """
    q, k, v = (op.asarray(x) for x in (q, k, v))
    mask = None if mask is None else op.asarray(mask)
    _require_arrays(q, k, v, mask)
    if causal:
        _require_as_many(q, k)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    else:
        scale = canonical_number("attention", "scale", scale, math.isfinite, "a finite number")
    if not causal:
        return _attended(q, k, v, mask, None, scale)
    time, keys = q.shape[-2], k.shape[-2]
    known = isinstance(time, int) and isinstance(keys, int)
    return _attended(q, k, v, mask, _places(q, k), scale, keys - time if known else None)


def attend_in_order(q: Any, k: Any, v: Any, places: Any) -> Any:
    """Causal attention of queries that stand at these keys, (time,); with the bits of `attention`,
    as if there were no keys behind the last of them.
    """
    return _attended(q, k, v, None, op.expand_dims(places, axis=1), 1 / math.sqrt(q.shape[-1]))


def _attended(
    q: Any, k: Any, v: Any, mask: Any, places: Any, scale: float, first: int | None = None
) -> Any:
    """`first` is the key at which the first query stands, if queries look no further than their
    own key and it is known.
    """
    heads, split = q.shape[-3], (k.shape[-3], _share(q, k))
    rows = op.reshape(q * scale, (*q.shape[:-3], *split, *q.shape[-2:]))
    mask = _split_heads(mask, q, k, split)
    out = _in_spans(rows, op.matrix_transpose(k), v, mask, places, first)
    return op.reshape(out, (*out.shape[:-4], heads, *out.shape[-2:]))


def _require_arrays(q: Any, k: Any, v: Any, mask: Any) -> None:
    for what, x in {"q": q, "k": k, "v": v}.items():
        if not dtypes.is_float(x.dtype):
            error: Exception = DTypeError(
                f"attention: {what} has dtype {x.dtype}; it must be float32 or float64. Convert it "
                "with astype."
            )
            raise located(error, [x])
    shapes = [tuple(x.shape) for x in (q, k, v)]
    ranks = {len(shape) for shape in shapes}
    held = len(ranks) == 1 and min(ranks) >= 3
    held = held and shapes[0][:-3] == shapes[1][:-3] == shapes[2][:-3]
    held = held and shapes[0][-1] == shapes[1][-1] and shapes[1][-3:-1] == shapes[2][-3:-1]
    if not held or _share(q, k) is None:
        error = ShapeError(
            f"attention: q, k and v have shapes {', '.join(map(str, shapes))}; they must be (…, "
            "heads, time, size), (…, heads, keys, size) and (…, heads, keys, width), where the "
            "heads of k and v divide those of q. Transpose or reshape them."
        )
        raise located(error, [q, k, v])
    if mask is not None and mask.dtype != dtypes.bool_ and not dtypes.is_float(mask.dtype):
        error = DTypeError(
            f"attention: mask has dtype {mask.dtype}; it must be bools, true where a query may "
            "look, or floats that are added to the scores. Compare it with 0?"
        )
        raise located(error, [mask])
    if mask is not None:
        note_mask("attention", mask)


def _share(q: Any, k: Any) -> int | None:
    """How many heads of q have one of k in common; None if that is no whole number."""
    heads, shared = q.shape[-3], k.shape[-3]
    if heads == shared:  # they may be known at call time only
        return 1
    return heads // shared if shared > 0 and heads % shared == 0 else None


def _require_as_many(q: Any, k: Any) -> None:
    time, keys = q.shape[-2], k.shape[-2]
    if isinstance(time, int) and isinstance(keys, int) and time > keys:
        error = ShapeError(
            f"attention: {time} queries and {keys} keys were given with causal=True; queries are "
            "the last of the keys, so there must be as many keys at least. Swap q and k?"
        )
        raise located(error, [q, k])


def _split_heads(mask: Any, q: Any, k: Any, split: tuple[Any, Any]) -> Any:
    """The mask with an axis of its own for heads that share keys."""
    if mask is None:
        return None
    shape = (1,) * (len(q.shape) - len(mask.shape)) + tuple(mask.shape)
    wanted = (*q.shape[:-1], k.shape[-2])
    if len(shape) != len(wanted) or any(
        n not in (1, size) for n, size in zip(shape, wanted, strict=True)
    ):
        note_mixed_rows("attention", [tuple(mask.shape), wanted])
        note_rows_from_outside("attention", [tuple(mask.shape), wanted], [mask, q])
        error = ShapeError(
            f"attention: mask has shape {tuple(mask.shape)}; it must broadcast to (…, heads, time, "
            f"keys), which is {wanted}. {_mask_repair(tuple(mask.shape), wanted)}"
        )
        raise located(error, [mask, q])
    own = (1, 1) if shape[-3] == 1 else split
    return op.reshape(mask, (*shape[:-3], *own, *shape[-2:]))


def _mask_repair(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> str:
    """What makes a mask of fewer axes fit."""
    batch, keys, time = wanted[0], wanted[-1], wanted[-2]
    if len(wanted) == 4 and given == (batch, keys):
        return "For one of keys for each row of the batch, write mask[:, None, None, :]."
    if len(wanted) == 4 and given in ((batch, time, keys), (batch, 1, keys)):
        return "For one for each row of the batch, write mask[:, None]."
    return "Reshape it."


def _places(q: Any, k: Any) -> Any:
    """At which key each query stands, (time, 1)."""
    time, keys = q.shape[-2], k.shape[-2]
    return op.expand_dims(op.arange(time) + (keys - time), axis=1)


def _in_spans(q: Any, k: Any, v: Any, mask: Any, places: Any, first: int | None) -> Any:
    """Rows of queries, (…, heads, share, time, size), a span after the other: what lies behind the
    last key that a span looks at would have a weight of 0, and is left out.
    """
    time = q.shape[-2]
    if not isinstance(time, int) or time <= ROWS:
        return _block(q, k, v, mask, places)
    if first is None:
        return _in_blocks(q, k, v, mask, places)
    spans = []
    for begin, end in _spans(time):
        here = slice(begin, end)
        seen = slice(0, first + end)
        looked = None if mask is None else _part_of_mask(mask, here, seen)
        span = _in_blocks(q[..., here, :], k[..., seen], v[..., seen, :], looked, places[here])
        spans.append(span)
    return op.concat(spans, axis=-2)


def _spans(time: int) -> list[tuple[int, int]]:
    """Where spans begin and end: each has whole blocks, and all have about as many of them."""
    blocks = -(-time // ROWS)
    count = min(blocks, _SPANS if blocks < _LONG else _SPANS_OF_LONG)
    ends = [min(blocks * (n + 1) // count * ROWS, time) for n in range(count)]
    return list(pairwise([0, *ends]))


def _part_of_mask(mask: Any, queries: slice, keys: slice) -> Any:
    """An axis of one element stays as it is."""
    mask = mask if mask.shape[-2] == 1 else mask[..., queries, :]
    return mask if mask.shape[-1] == 1 else mask[..., keys]


def _in_blocks(q: Any, k: Any, v: Any, mask: Any, places: Any) -> Any:
    """Rows of queries a block after the other; what is left over behind the last whole block is a
    block of its own.
    """
    time = q.shape[-2]
    whole = time // ROWS * ROWS
    moving = mask is not None and mask.shape[-2] != 1

    def blocks(x: Any) -> Any:
        """(…, time, n) -> (blocks, …, ROWS, n)"""
        x = op.reshape(x[..., :whole, :], (*x.shape[:-2], whole // ROWS, ROWS, x.shape[-1]))
        return op.moveaxis(x, -3, 0)

    given = {"q": q} | ({"mask": mask} if moving else {}) | _optional(places=places)
    fixed = {} if moving else _optional(mask=mask)

    def one(_carry: Any, block: Any) -> tuple[Any, Any]:
        return _carry, _block(**({"k": k, "v": v, "mask": None, "places": None} | fixed | block))

    if not whole:
        return one((), given)[1]
    _, rows = op.scan(one, (), {name: blocks(x) for name, x in given.items()})
    rows = op.moveaxis(rows, 0, -3)
    rows = op.reshape(rows, (*rows.shape[:-3], whole, rows.shape[-1]))
    if whole == time:
        return rows
    rest = {name: x[..., whole:, :] for name, x in given.items()}
    last = one((), rest)[1]
    return op.concat([rows, last], axis=-2)


def _optional(**arrays: Any) -> dict[str, Any]:
    return {name: x for name, x in arrays.items() if x is not None}


def _block(q: Any, k: Any, v: Any, mask: Any, places: Any) -> Any:
    """Attention of some rows: k is (…, heads, size, keys). All rows that share keys are one
    matrix.
    """
    share, rows, size = q.shape[-3:]
    lead = q.shape[:-3]
    scores = op.matmul(op.reshape(q, (*lead, share * rows, size)), k)
    scores = op.reshape(scores, (*lead, share, rows, k.shape[-1]))
    if mask is not None:
        seen = mask.dtype == dtypes.bool_
        scores = op.where(mask, scores, -np.inf) if seen else scores + mask
    if places is not None:
        scores = op.where(op.arange(k.shape[-1]) <= places, scores, -np.inf)
    weights = _weights(scores, nowhere=mask is not None)
    out = op.matmul(op.reshape(weights, (*lead, share * rows, k.shape[-1])), v)
    return op.reshape(out, (*lead, share, rows, v.shape[-1]))


def _weights(scores: Any, nowhere: bool) -> Any:
    """Softmax of the scores; zeros where all of them are -inf, if that can be."""
    if not nowhere:
        return op.softmax(scores)
    highest = op.stop_gradient(op.max(scores, axis=-1, keepdims=True))
    powers = op.exp(scores - op.where(highest == -np.inf, 0, highest))
    total = op.sum(powers, axis=-1, keepdims=True)
    return powers / op.where(total == 0, 1, total)
