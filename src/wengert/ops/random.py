"""Random numbers by counting: each is a function of a key and a position, and nothing is hidden.

The generator is Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011):
ten rounds that mix a counter of four 32-bit words under a key of two. The words of the counter are

    (block, block >> 32, stream, purpose)

where element i of an array is word i % 4 of block i // 4, `stream` tells apart several arrays drawn
under one key, and `purpose` is 0 for numbers and 1 for new keys, so that a new key never repeats
what its parent draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import function, primitive
from wengert.core.dims import Dim, Shape
from wengert.core.lowering import SpecialKernel
from wengert.core.op_parts.batching import BatchedCall
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.values.number import Number, is_traced_number
from wengert.core.words.not_arrays import require_array
from wengert.errors import DTypeError
from wengert.interpret.batched import one_by_one
from wengert.ops.drawing.draw_bounds import (
    are_run_time_bounds,
    between,
    integer_bounds,
    require_whole,
    shape_first,
)
from wengert.ops.drawing.draw_checks import drawable_probability
from wengert.ops.drawing.generator import drawn

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85  # the golden ratio and sqrt(3) - 1, as fractions of 2**32
_ROUNDS = 10
_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)
_NUMBERS, _KEYS = 0, 1  # purposes
_UNROLLED = 8  # keys that are recorded one by one

Words = Sequence[Any]


def philox(counter: Words, key: Words) -> list[Any]:
    """Four random 32-bit words from four words of counter and two of key, numbers or arrays."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = (int(word) if np.ndim(word) == 0 else word.astype(np.uint64) for word in key)
    for _ in range(_ROUNDS):
        left, right = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1 = (right >> _WORD) ^ c1 ^ np.uint64(k0), right & _LOW
        c2, c3 = (left >> _WORD) ^ c3 ^ np.uint64(k1), left & _LOW
        k0, k1 = (k0 + _KEY_STEPS[0]) % 2**32, (k1 + _KEY_STEPS[1]) % 2**32
    return [word.astype(np.uint32) for word in (c0, c1, c2, c3)]


def _require_key(name: str, key: Any) -> None:
    require_array(name, key)
    if tuple(key.shape) != (2,) or key.dtype != dtypes.uint32:
        raise DTypeError(
            f"{name}: given a key of dtype {key.dtype} and shape {tuple(key.shape)}; a key is two "
            "uint32 numbers. Make one with wg.random.key(seed)."
        )


def _bits(key: Any, shape: Shape, dtype: Any, stream: int) -> Any:
    _require_key("random_bits", key)
    return _bits_under(key, (), shape, dtype, stream)


def _bits_under(key: Words, lead: Shape, shape: Shape, dtype: Any, stream: int) -> Any:
    """The numbers of a key, or of several with these axes in front."""
    count = math.prod(int(size) for size in shape) * (dtype.itemsize // 4)  # in words
    block = np.arange(-(-count // 4), dtype=np.uint64)
    words = philox((block & _LOW, block >> _WORD, stream, _NUMBERS), key)
    rows = np.stack(words, axis=-1).reshape((*lead, 4 * len(block)))[..., :count]
    flat = np.ascontiguousarray(rows, "<u4").view(dtype.newbyteorder("<"))
    return flat.astype(dtype, copy=False).reshape((*lead, *shape))


def _bits_of_each(call: BatchedCall) -> Any:
    """Arrays at once; what is recorded is a loop, as quick as one draw of as many numbers."""
    key = call.operands[0]
    if type(key) is not np.ndarray:
        return one_by_one(call)
    _require_key("random_bits", ArrayType(call.shape(0), key.dtype))
    return _bits_under((key[:, :1], key[:, 1:]), (len(key),), **call.params)


def _bits_type(key: Any, shape: Shape, dtype: Any, stream: int) -> ArrayType:
    _require_key("random_bits", key)
    return ArrayType(shape, dtype)


def _canonical_bits(_key: Any, shape: Any, dtype: Any, stream: int) -> dict[str, Any]:
    if (wanted := dtypes.canonical("random_bits", dtype)) not in (dtypes.uint32, dtypes.uint64):
        raise DTypeError(
            f"random_bits: dtype {wanted} was given; it must be uint32 or uint64. "
            "Convert the result with astype."
        )
    if not 0 <= (number := int(stream)) < 2**32:
        raise ValueError(
            f"random_bits: stream {stream} was given; it must lie between 0 and 2**32 - 1. Choose "
            "another."
        )
    return {"shape": canonical_shape("random_bits", shape), "dtype": wanted, "stream": number}


_SOME_KEY = Exactly(np.array([7, 11], np.uint32))


@primitive(
    numpy=_bits,
    type=_bits_type,
    canonical=_canonical_bits,
    flat=True,
    sized=True,
    samples=(
        sample(_SOME_KEY, shape=(3, 5)),
        sample(_SOME_KEY, shape=(4,), dtype=np.uint64, stream=1),
        sample(_SOME_KEY, shape=()),
        sample(_SOME_KEY, shape=(0, 2)),
    ),
    space="random",
    exact=True,
    lower=SpecialKernel("random_bits"),
    batch=_bits_of_each,
)
def random_bits(key: Any, /, shape: Shape, dtype: Any = np.uint32, stream: int = 0) -> None:
    """Random unsigned integers; element i, counted row by row, depends on key, stream and i only.

    >>> wg.random.random_bits(wg.random.key(0), (2, 2))
    array([[1713891541, 3781805453],
           [3159862348, 2600524760]], dtype=uint32)
    """


def _fold(key: Any, number: Any) -> Any:
    number = np.asarray(number)
    _fold_type(key, number)
    n = int(number) % 2**64
    return np.stack(philox((n % 2**32, n >> 32, 0, _KEYS), key)[:2])


def _fold_of_each(call: BatchedCall) -> Any:
    key, number = call.operands
    number = np.asarray(number) if isinstance(number, int) else number
    if type(key) is not np.ndarray or type(number) is not np.ndarray:
        return one_by_one(call)
    pairs = list(zip((key, number), call.batched, strict=True))
    _fold_type(*(ArrayType(x.shape[1:] if b else x.shape, x.dtype) for x, b in pairs))
    return _folded(*(x if b else x[None] for x, b in pairs))


def _folded(keys: Any, numbers: Any) -> Any:
    """The keys of many keys and many numbers, or of one of these and many of the others."""
    n = numbers.astype(np.uint64)  # modulo 2**64
    words = philox((n & _LOW, n >> _WORD, 0, _KEYS), (keys[:, 0], keys[:, 1]))
    return np.stack(words[:2], axis=-1)


def _fold_type(key: Any, number: Any) -> ArrayType:
    _require_key("fold_in", key)
    if number.shape != () or number.dtype.kind not in "iu":
        raise DTypeError(
            f"fold_in: given a number of dtype {number.dtype} and shape {tuple(number.shape)}; "
            "it must be one integer. Fold several in one after the other."
        )
    return ArrayType((2,), dtypes.uint32)


@primitive(
    numpy=_fold,
    type=_fold_type,
    flat=True,
    samples=(sample(_SOME_KEY, Exactly(3)), sample(_SOME_KEY, Exactly(-1))),
    space="random",
    exact=True,
    lower=SpecialKernel("fold_in"),
    batch=_fold_of_each,
)
def fold_in(key: Any, number: Any, /) -> None:
    """A new key from a key and a number: different numbers give unrelated keys.

    The number may be a value of the program, such as the index of a training step.

    >>> key = wg.random.key(7)
    >>> wg.random.fold_in(key, 0).tolist() != wg.random.fold_in(key, 1).tolist()
    True
    """


def keys_of_each(name: str, key: Any, count: int) -> Any:
    """The keys that `fold_in` gives for 0 to count - 1, as rows; many are recorded as a loop."""
    require_array(name, key)
    key = op.asarray(key)
    _require_key(name, key)
    if type(key) is np.ndarray:
        return _folded(key[None], np.arange(count))
    if count <= _UNROLLED:
        return op.stack([op.fold_in(key, i) for i in range(count)], axis=0)
    return op.scan(lambda none, i: (none, op.fold_in(key, i)), (), np.arange(count))[1]


@function(space="random")
def key(seed: int) -> Any:
    """The key of a seed, an integer from 0 to 2**64 - 1. One that is an argument of a recorded
    function gives another key in each call.

    >>> wg.random.key(2**32 + 5)
    array([5, 1], dtype=uint32)
    """
    given: Any = seed
    if type(given) is Number:
        given = given.as_array()
    if isinstance(given, Tensor) and given.shape == () and given.dtype.kind in "iu":
        low = op.bitwise_and(given, 0xFFFFFFFF)
        halves = [low, op.bitwise_and(op.bitwise_right_shift(given, 32), 0xFFFFFFFF)]
        return op.astype(op.stack(halves), np.uint32)
    try:
        number = int(seed.__index__())
    except (AttributeError, TypeError):
        raise DTypeError(f"key: seed {seed!r} was given; a seed is an integer. Pass one.") from None
    if not 0 <= number < 2**64:
        raise ValueError(
            f"key: seed {number} was given; it must lie between 0 and 2**64 - 1. Choose another."
        )
    return np.array([number % 2**32, number >> 32], np.uint32)


def require_real(name: str, dtype: Any, repair: str = "Give it by name, dtype=np.float32") -> Any:
    """A float dtype, in canonical form."""
    if isinstance(dtype, int | float):  # as NumPy's functions take them
        raise DTypeError(
            f"{name}: {dtype} was given as dtype; the arguments are a shape and a dtype. {repair}."
        )
    wanted = dtypes.canonical(name, dtype)
    if not dtypes.is_float(wanted):
        raise DTypeError(
            f"{name}: dtype {wanted} was given; it must be float32 or float64. Choose one of these."
        )
    return wanted


def words_for(dtype: Any) -> Any:
    """The integers whose bits make floats of this dtype."""
    return dtypes.uint32 if dtype == dtypes.float32 else dtypes.uint64


def _unit(key: Any, shape: Any, dtype: Any, stream: int = 0) -> Any:
    """Multiples of 2**-24 (float32) or 2**-53 (float64) from 0 up to but not including 1."""
    spare, scale = (8, 2.0**-24) if dtype == dtypes.float32 else (11, 2.0**-53)
    bits = op.random_bits(key, shape, words_for(dtype), stream)
    return op.astype(op.bitwise_right_shift(bits, spare), dtype) * scale


@function(space="random")
@drawn
def uniform(
    key: Any, shape: Any = (), dtype: Any = np.float32, low: Any = 0.0, high: Any = 1.0
) -> Any:
    """Numbers drawn evenly from low (may occur) to high (never occurs). Bounds may be arrays, and
    arguments of a function that is recorded: NaN, where low is not less than high then.

    >>> x = wg.random.uniform(wg.random.key(0), (1000,), low=-1.0, high=3.0)
    >>> x.dtype, bool((x >= -1).all() and (x < 3).all())
    (dtype('float32'), True)
    """
    wanted = require_real("uniform", dtype, "Write uniform(shape, low=low, high=high)")
    if are_run_time_bounds(low, high):
        return between("uniform", _unit(key, shape, wanted), low, high)
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(
            f"uniform: low={low} and high={high} were given; low must be less than high, "
            "and both finite. Exchange or change them."
        )
    unit = _unit(key, shape, wanted)
    if (low, high) == (0, 1):
        return unit
    below_high = float(np.nextafter(wanted.type(high), wanted.type(low)))  # against rounding up
    return op.minimum(unit * float(high - low) + float(low), below_high)


@function(space="random")
@drawn
def normal(key: Any, shape: Any = (), dtype: Any = np.float32) -> Any:
    """Numbers drawn from the normal distribution of mean 0 and variance 1.

    >>> wg.random.normal(wg.random.key(0), (2, 3), np.float64).shape
    (2, 3)
    """
    wanted = require_real("normal", dtype, "Write mean + deviation * normal(shape)")
    # Box and Muller (1958): a radius from one number, an angle from another. The radius keeps every
    # bit of a small number, so that the tails reach 6.7 in float32 and 9.4 in float64.
    words = words_for(wanted)
    scale = 2.0 ** (-8 * words.itemsize)
    positive = op.astype(op.random_bits(key, shape, words), wanted) * scale + scale / 2  # (0, 1]
    radius = op.sqrt(op.log(positive) * -2.0)
    return radius * op.cos(_unit(key, shape, wanted, stream=1) * (2 * math.pi))


@function(space="random")
@drawn
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """True with probability p, which is a number or an array; the shape is that of p by default.

    >>> wg.random.bernoulli(wg.random.key(0), np.array([0.0, 1.0]))
    array([False,  True])
    """
    traced = isinstance(p, Tensor) or is_traced_number(p)
    if not traced and not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise ValueError(
            f"bernoulli: p={p} was given; a probability lies between 0 and 1. Choose one; the "
            "shape comes second."
        )
    own = p.shape if traced else np.shape(p)
    if traced:
        checked = drawable_probability(op.asarray(p))
        p = op.astype(checked, dtypes.float32) if dtypes.is_weak(p) else checked
    unit = _unit(key, own if shape is None else shape, dtypes.float32)
    return op.less(unit, p)


@function(space="random")
@shape_first
@drawn
def randint(key: Any, shape: Any, low: Any, high: Any, dtype: Any = np.int64) -> Any:
    """Integers drawn evenly from low up to but not including high. Bounds may be arrays, and
    arguments of a function that is recorded.

    >>> sorted(set(wg.random.randint(wg.random.key(0), (100,), -1, 2).tolist()))
    [-1, 0, 1]
    """
    wanted = dtypes.canonical("randint", dtype)
    if isinstance(high, Dim) and low == 0 and wanted == dtypes.int64:
        # Indices of an axis whose size is known at run time only: that need not be fixed.
        return op.astype(op.random_bits(key, shape, np.uint64) % high, wanted)
    if are_run_time_bounds(low, high):
        low, high = integer_bounds("randint", shape, wanted, low, high)
        count = op.astype(op.integers_between(low, high), dtypes.uint64)
        offset = op.remainder(op.random_bits(key, shape, np.uint64), count)
        return op.astype(op.add(offset, op.astype(low, dtypes.uint64)), wanted)
    require_whole("randint", low, high)
    limits = np.iinfo(wanted) if wanted.kind in "iu" else None
    if limits is None or not limits.min <= low < high <= limits.max + 1:
        raise ValueError(
            f"randint: low={low}, high={high} and dtype {wanted} were given; low must be less than "
            "high, and an integer dtype must hold all between. Change one of them."
        )
    offset = op.random_bits(key, shape, np.uint64)
    if high - low < 2**64:  # uneven by less than one part in 2**64 / (high - low)
        offset = op.remainder(offset, int(high - low))
    # Modulo 2**64, as signed integers are.
    return op.astype(op.add(offset, int(low) % 2**64), wanted)


@function(space="random")
@drawn
def permutation(key: Any, count: Any) -> Any:
    """The integers from 0 up to but not including count, in random order; or the rows of an array.

    >>> sorted(wg.random.permutation(wg.random.key(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    rows = op.asarray(count) if isinstance(count, np.ndarray | Tensor | list | tuple) else None
    rows = rows if rows is None or rows.shape else None
    size = count if rows is None else rows.shape[0]
    order = op.argsort(op.random_bits(key, (size,), np.uint64))
    return order if rows is None else op.take(rows, order, axis=0)
