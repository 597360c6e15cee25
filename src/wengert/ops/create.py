"""Arrays filled by a rule, and arrays of what is given."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import is_in_batch, located, recording_level
from wengert.core.define import function, primitive
from wengert.core.dims import Dim, Shape, Size, divide_exactly
from wengert.core.lowering import Formula
from wengert.core.op import holds_tensor
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.signatures.standard import require_cpu
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.values.constant import indexable
from wengert.core.values.number import Number
from wengert.core.words.noticed.masked import require_plain_array
from wengert.errors import DTypeError, ShapeError, TraceError

BEYOND = 1 << 62  # farther than any size, and still an int64


def _static_number(name: str, value: Any) -> Any:
    """A Python number or a Dim; a value that is computed is refused."""
    if isinstance(value, Tensor):
        error = TraceError(
            f"{name}: a Tensor was given; a number known beforehand is needed. "
            "Write start + step * wg.arange(n), with a size n that is known."
        )
        raise located(error, [value])
    single = isinstance(value, np.ndarray | np.generic) and value.size == 1
    number = value.item() if single else value
    if not isinstance(number, bool | int | float | Dim):
        raise DTypeError(
            f"{name}: {value!r} was given; a number is needed. Convert it with float or int."
        )
    return number


def _full_params(shape: Any, fill_value: Any, dtype: Any) -> dict[str, Any]:
    value = _static_number("full", fill_value)
    if dtype is None:
        dtype = fill_value.dtype if value is not fill_value else np.result_type(value)
    return {
        "shape": canonical_shape("full", shape),
        "fill_value": value,
        "dtype": dtypes.canonical("full", dtype),
    }


def _front_full(shape: Shape, fill_value: float, dtype: Any = None, *, device: Any = None) -> Any:
    require_cpu("full", device)
    value: Any = fill_value
    if isinstance(value, Tensor):
        if any(size != 1 for size in value.shape):
            error = ShapeError(
                f"full: given a Tensor of shape {value.shape}; one number is needed. Write "
                "wg.broadcast_to(x, shape)."
            )
            raise located(error, [value])
        value = op.reshape(value, ())
        value = value if dtype is None else op.astype(value, dtype)
        return op.broadcast_to(value, canonical_shape("full", shape))
    if type(value) is Number:
        return op.broadcast_to(op.asarray(value, dtype), canonical_shape("full", shape))
    given = {"shape": shape, "fill_value": value, "dtype": dtype}
    return full.rebind(*full.read((), given))


@primitive(
    numpy=lambda shape, fill_value, dtype: np.full(shape, fill_value, dtype),
    type=lambda shape, fill_value, dtype: ArrayType(shape, dtype),
    canonical=_full_params,
    front=_front_full,
    flat=True,
    sized=True,
    samples=(
        sample(shape=(2, 3), fill_value=1.5),
        sample(shape=(), fill_value=2),
        sample(shape=4, fill_value=True),
        sample(shape=(0, 2), fill_value=1, dtype=np.float32),
    ),
)
def full(*, shape: Shape, fill_value: float, dtype: Any = None) -> None:
    """An array of one repeated number, which may be computed.

    >>> wg.full((2, 2), 0.5)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> float(wg.grad(lambda x: wg.sum(wg.full((2, 2), x)))(0.5))
    4.0
    """


@function()
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of zeros; float64 by default.

    >>> wg.zeros((2,)), wg.zeros(2, dtype=np.int64)
    (array([0., 0.]), array([0, 0]))
    """
    require_cpu("zeros", device)
    return op.full(shape, 0, dtype=np.float64 if dtype is None else dtype)


@function()
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of ones; float64 by default.

    >>> wg.ones((2,)), wg.ones(2, dtype=np.int64)
    (array([1., 1.]), array([1, 1]))
    """
    require_cpu("ones", device)
    return op.full(shape, 1, dtype=np.float64 if dtype is None else dtype)


@function()
def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array to be filled later. It holds zeros, so that no result depends on chance.

    >>> wg.empty((2,))
    array([0., 0.])
    """
    require_cpu("empty", device)
    return op.zeros(shape, dtype)


@function()
def full_like(x: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of one repeated number with the shape, and by default the dtype, of another.

    >>> wg.full_like(np.array([1, 2]), 7)
    array([7, 7])
    """
    require_cpu("full_like", device)
    x = op.asarray(x)
    dtype = x.dtype if dtype is None else dtype
    return op.full(tuple(x.shape), fill_value, dtype=dtype)


@function()
def zeros_like(x: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros with the shape, and by default the dtype, of another array.

    >>> wg.zeros_like(np.array([3, 4]))
    array([0, 0])
    """
    require_cpu("zeros_like", device)
    return op.full_like(x, 0, dtype)


@function()
def ones_like(x: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones with the shape, and by default the dtype, of another array.

    >>> wg.ones_like(np.array([3, 4]))
    array([1, 1])
    """
    require_cpu("ones_like", device)
    return op.full_like(x, 1, dtype)


@function()
def empty_like(x: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array to be filled later, like another one. It holds zeros.

    >>> wg.empty_like(np.array([3, 4]))
    array([0, 0])
    """
    require_cpu("empty_like", device)
    return op.full_like(x, 0, dtype)


def _arange_params(start: Any, stop: Any, step: Any, dtype: Any) -> dict[str, Any]:
    if stop is None:
        start, stop = 0, start
    start, stop, step = (_static_number("arange", each) for each in (start, stop, step))
    numbers = [n for n in (start, stop, step) if not isinstance(n, Dim)]
    if step == 0 or not all(map(math.isfinite, numbers)):
        raise ShapeError(
            f"arange: start {start}, stop {stop} and step {step} were given; they must be finite, "
            "and the step not 0. Change them."
        )
    if dtype is None:
        dtype = np.result_type(*(1 if isinstance(n, Dim) else n for n in (start, stop, step)))
    dtype = dtypes.canonical("arange", dtype)
    return {"start": start, "stop": stop, "step": step, "dtype": dtype}


def _arange_type(start: Any, stop: Any, step: Any, dtype: Any) -> ArrayType:
    if any(isinstance(n, Dim) for n in (start, stop, step)):
        length = divide_exactly(stop - start, step)
        if length is None:
            length = len(range(int(start), int(stop), int(step)))
        return ArrayType((length,), dtype)
    # NumPy's own count, with its rounding, and without filling the array
    length = max(math.ceil((stop - start) / step), 0)
    return ArrayType((length,), dtype)


@primitive(
    numpy=lambda start, stop, step, dtype: np.arange(start, stop, step, dtype=dtype),
    type=_arange_type,
    canonical=_arange_params,
    flat=True,
    sized=True,
    samples=(
        sample(start=5),
        sample(start=1, stop=8, step=3),
        sample(start=4, stop=-3, step=-2, dtype=np.float32),
        sample(start=0.5, stop=2.1, step=0.2),
        sample(start=3, stop=3),
        sample(start=3, stop=0),
    ),
    keywords=("device",),
    lower=Formula(lambda params: params["start"], lambda params: params["step"]),
)
def arange(*, start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> None:
    """Numbers from start up to stop, a step apart, without stop; one number alone is the stop.

    >>> wg.arange(4), wg.arange(1.0, 2.0, 0.25)
    (array([0, 1, 2, 3]), array([1.  , 1.25, 1.5 , 1.75]))
    """


@function()
def linspace(
    start: Any,
    stop: Any,
    num: int,
    dtype: Any = None,
    endpoint: bool = True,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers at equal distances from start to stop, as a new first axis.

    The ends may be arrays or Tensors; gradients flow to both.

    >>> wg.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    require_cpu("linspace", device)
    (count,) = canonical_shape("linspace", num)
    count = int(count)
    wanted = None if dtype is None else dtypes.canonical("linspace", dtype)
    if not isinstance(start, Tensor) and not isinstance(stop, Tensor):
        return np.linspace(start, stop, count, endpoint=endpoint, dtype=wanted)
    known = [x if isinstance(x, bool | int | float) else op.asarray(x) for x in (start, stop)]
    kind = np.result_type(dtypes.promote(*known), 0.0)  # differences of integers may wrap around
    start, stop = op.broadcast_arrays(*(op.astype(x, kind) for x in known))
    gaps = count - 1 if endpoint else count
    places = np.arange(count).astype(kind).reshape(-1, *[1] * start.ndim)
    out = places * ((stop - start) / max(gaps, 1)) + start
    if endpoint and gaps > 0:  # the end is reached exactly, whatever the step was rounded to
        out = op.concat([out[:-1], op.expand_dims(stop, 0)])
    if wanted is None:
        return out
    return op.astype(op.floor(out) if wanted.kind in "iu" else out, wanted)


@function()
def eye(
    n_rows: Size,
    n_cols: Size | None = None,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """A matrix of zeros with ones on diagonal k; float64 by default.

    >>> wg.eye(2), wg.eye(2, 3, k=1, dtype=np.int64)
    (array([[1., 0.],
           [0., 1.]]), array([[0, 1, 0],
           [0, 0, 1]]))
    """
    require_cpu("eye", device)
    rows, cols = canonical_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    lines = op.reshape(op.arange(rows), (rows, 1))
    k = min(max(k, -BEYOND), BEYOND)  # no diagonal lies there
    return op.astype(op.equal(lines + k, op.arange(cols)), np.float64 if dtype is None else dtype)


def _joined(x: Any) -> Any:
    """Nested lists of Tensors, arrays and numbers as one array; numbers take the others' dtype."""
    leaves: list[Any] = []

    def shape_of(each: Any) -> Shape:
        if not isinstance(each, list | tuple):
            leaf = each.as_array() if isinstance(each, Number) else each
            leaves.append(leaf)
            return tuple(leaf.shape) if isinstance(leaf, Tensor) else np.shape(leaf)
        shapes = [shape_of(inner) for inner in each]
        if any(shape != shapes[0] for shape in shapes):
            odd = next(shape for shape in shapes if shape != shapes[0])
            raise ShapeError(
                f"array: given a list of arrays of shapes {shapes[0]} and {odd}; all must be "
                "equal. Broadcast or reshape them first, join them with wg.concat, or call the "
                "function for each with wg.tree.map."
            )
        return (len(each), *(shapes[0] if shapes else (0,)))

    shape = shape_of(x)
    plain = [each if isinstance(each, bool | int | float) else op.asarray(each) for each in leaves]
    dtype = _common_dtype(plain)
    arrays = [op.astype(op.asarray(each), dtype) for each in plain]
    if any(each.shape != arrays[0].shape for each in arrays):  # arrays beside lists of numbers
        return op.stack([op.astype(op.asarray(each), dtype) for each in x])
    return op.reshape(op.stack(arrays), shape)


def _common_dtype(leaves: list[Any]) -> dtypes.DType:
    """That of the arrays, to which Python's numbers give way; but no integer is cut off."""
    dtype = dtypes.promote(*leaves)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        numbers = [each for each in leaves if isinstance(each, int)]
        if any(not limits.min <= each <= limits.max for each in numbers):
            return dtypes.promote(*map(op.asarray, leaves))
    return dtype


def _dtype_of_arrays(x: list[Any] | tuple[Any, ...]) -> dtypes.DType | None:
    """The dtype of nested lists in which NumPy's scalars or arrays stand beside Python's numbers;
    None for others, which are NumPy's business.
    """
    leaves = list(_leaves(x))
    numbers = {bool, int, float}
    typed = [each for each in leaves if isinstance(each, np.ndarray | np.generic)]
    others = {type(each) for each in leaves if not isinstance(each, np.ndarray | np.generic)}
    if not typed or not others or not others <= numbers:
        return None
    if any(each.dtype not in dtypes.SUPPORTED for each in typed):
        return None
    return _common_dtype(leaves)


def _leaves(x: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    for each in x:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each


@function()
def array(x: Any, dtype: Any = None) -> Any:
    """A new array of a number, an array or nested lists, in which there may be Tensors.

    Python's numbers in a list take the dtype of the arrays beside them, as in arithmetic.
    `np.array` cannot join Tensors: what it returns is never one.

    >>> wg.array([np.float32(1), 0.5]).dtype
    dtype('float32')
    >>> wg.grad(lambda x: wg.sum(wg.array([[x, 2.0], [x * x, x]])))(3.0)
    array(8.)
    """
    if isinstance(x, np.ndarray):
        x = np.array(x)
    return op.asarray(x, dtype)


def _copied(x: Any, dtype: Any, copy: bool) -> Any:
    is_array = isinstance(x, np.ndarray) and x.dtype.isnative
    if not copy and (not is_array or x.dtype != (dtype or x.dtype)):
        raise ValueError(
            f"asarray: copy=False was given; {type(x).__name__} needs a copy to become an array "
            "of that dtype. Leave copy out."
        )
    return np.array(x, dtype, copy=copy)


@function()
def asarray(x: Any, dtype: Any = None, *, copy: bool | None = None, device: Any = None) -> Any:
    """A number, array or nested list as an array; a Tensor stays what it is, and Tensors in lists
    are joined. In a function that is recorded or mapped, the array can be indexed by traced or
    batched integers: ``wg.asarray(table)[i, j]``.

    With ``copy=True`` the memory is new, with ``copy=False`` it is what was given, or an error.

    >>> wg.asarray([[1, 2], [3, 4]], dtype=np.float32)
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    require_cpu("asarray", device)
    if copy is not None and not isinstance(x, Tensor | Number):
        wanted = None if dtype is None else dtypes.canonical("asarray", dtype)
        x = _copied(x, wanted, copy)
    if isinstance(x, Number):
        x = x.as_array()
    elif isinstance(x, list | tuple) and holds_tensor(x):
        x = _joined(x)
    elif not isinstance(x, Tensor):
        require_plain_array("asarray", x)
        common = _dtype_of_arrays(x) if dtype is None and isinstance(x, list | tuple) else None
        x = dtypes.native(np.asarray(x, common))
        dtypes.require_supported("asarray", 0, x.dtype)
    converted = x if dtype is None or x.dtype == np.dtype(dtype) else op.astype(x, dtype)
    return indexable(converted) if recording_level() is not None or is_in_batch() else converted
