"""Running folds, and the differences that undo them."""

from __future__ import annotations

from collections.abc import Callable
from operator import index as as_integer
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import function, linear, primitive
from wengert.core.lowering import Pick, Places, SpecialKernel, inside_or
from wengert.core.op_parts.batching import along
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.op_parts.samples import Exactly, Integers, sample
from wengert.core.table import FUNCTIONS, UFUNC_METHODS, op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError, TraceError


def _shift(x: Any, axis: int, step: int, fill: float) -> Any:
    out = np.full_like(x, fill)
    to: list[slice] = [slice(None)] * x.ndim
    source = list(to)
    to[axis] = slice(step, None) if step >= 0 else slice(None, step)
    source[axis] = slice(None, -step) if step > 0 else slice(-step, None)
    out[tuple(to)] = x[tuple(source)]
    return out


def _shifted_element(p: Places) -> Any:
    axis = p.params["axis"]
    moved = p.shift(p.own[axis], -p.params["step"])
    masks = [p.at_least(moved, 0), p.below(moved, p.out.shape[axis])]
    return inside_or(p, [*p.own[:axis], moved, *p.own[axis + 1 :]], masks, p.params["fill"])


@primitive(
    numpy=_shift,
    type=lambda x, axis, step, fill: ArrayType(x.shape, x.dtype),
    canonical=lambda x, axis, step, fill: {
        "axis": canonical_axis("shift", axis, x.ndim),
        "step": as_integer(step),
        "fill": fill if isinstance(fill, bool | int | float) else float(fill),
    },
    vjp=lambda g, _out, _x, axis, step, fill: op.shift(g, axis=axis, step=-step),
    jvp=lambda d, _out, _x, axis, step, fill: op.shift(d[0], axis=axis, step=step),
    samples=(
        sample((3, 4), axis=-1),
        sample((3, 4), axis=0, step=-1, fill=1),
        sample((2, 1), axis=1, fill=1),
        sample((0, 2), axis=0),
    ),
    space="hidden",
    exact=True,
    lower=Pick(_shifted_element),
    batch=along("axis"),
)
def shift(x: Any, /, axis: int, step: int = 1, fill: float = 0) -> None:
    """Each element moved `step` places along the axis; `fill` takes the places left free."""


def _recurrence(a: Any, b: Any, axis: int) -> Any:
    out = np.empty(b.shape, np.result_type(a, b))
    factors, terms, rows = (np.moveaxis(each, axis, 0) for each in (a, b, out))
    for t in range(len(rows)):
        rows[t] = factors[t] * rows[t - 1] + terms[t] if t else terms[t]
    return out


def _recurrence_type(a: Any, b: Any, axis: int) -> ArrayType:
    if a.shape != b.shape:
        raise ShapeError(
            f"recurrence: factors have shape {a.shape} and terms {b.shape}; they must be equal. "
            "Broadcast one of them first."
        )
    return ArrayType(b.shape, dtypes.promote(a, b))


def _recurrence_vjp(g: Any, out: Any, a: Any, _b: Any, axis: int) -> Any:
    # h_t = a_t h_{t-1} + b_t read backwards: s_t = g_t + a_{t+1} s_{t+1}
    later = op.shift(op.flip(a, axis=axis), axis=axis)
    gb = op.flip(op.recurrence(later, op.flip(g, axis=axis), axis=axis), axis=axis)
    return op.pull(gb, op.shift(out, axis=axis)), gb


def _recurrence_jvp(d: Any, out: Any, a: Any, b: Any, axis: int) -> Any:
    da, db = d
    terms = [] if da is None else [op.pull(da, op.shift(out, axis=axis))]
    terms += [] if db is None else [db]
    return op.recurrence(a, terms[0] if len(terms) == 1 else terms[0] + terms[1], axis=axis)


@primitive(
    numpy=_recurrence,
    type=_recurrence_type,
    canonical=lambda a, b, axis: {"axis": canonical_axis("recurrence", axis, b.ndim)},
    vjp=_recurrence_vjp,
    jvp=_recurrence_jvp,
    samples=(
        sample((3, 4), (3, 4), axis=-1),
        sample((3, 2), (3, 2), axis=0),
        sample((1,), (1,), axis=0),
        sample((2, 0), (2, 0), axis=1),
        sample(Exactly([1.0, 0.0, 2.0, 0.0]), (4,), axis=0),
    ),
    space="hidden",
    lower=SpecialKernel("recurrence", one_dtype=True),
    batch=along("axis"),
)
def recurrence(a: Any, b: Any, /, axis: int) -> None:
    """The linear recurrence h_t = a_t h_{t-1} + b_t along the axis, from h_0 = b_0: all of h.

    Its derivatives are recurrences again. No division occurs, so factors may be zero.
    """


def _along(name: str) -> Any:
    def canonical(x: Any, axis: int | None) -> dict[str, Any]:
        if axis is None and x.ndim != 1:
            raise ShapeError(
                f"{name}: no axis was given for an array of {x.ndim} axes; only a 1-d array needs "
                "none. Name the axis, or reshape to (-1,) first."
            )
        return {"axis": canonical_axis(name, 0 if axis is None else axis, x.ndim)}

    return canonical


def _running(ufunc: np.ufunc) -> Any:
    return lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=dtypes.accumulated(x.dtype))


def _running_type(x: Any, axis: int) -> ArrayType:
    return ArrayType(x.shape, dtypes.accumulated(x.dtype))


_SAMPLES = (
    sample((4,)),
    sample((3, 4), axis=0),
    sample((2, 3, 4), axis=-2),
    sample((2, 0), axis=1),
    sample((2, 1), axis=-1),
)


@linear(
    numpy=_running(np.add),
    type=_running_type,
    canonical=_along("cumsum"),
    transpose=lambda g, _x, axis: op.flip(op.cumsum(op.flip(g, axis=axis), axis=axis), axis=axis),
    samples=(*_SAMPLES, sample(Integers((2, 3), dtype="int8"), axis=1)),
    method=True,
    lower=SpecialKernel("cumsum"),
    batch=along("axis"),
)
def cumsum(x: Any, /, axis: int | None = None) -> None:
    """Running sums along the axis: element i is the sum of the elements up to and with i.

    >>> wg.cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """


def _cumprod_vjp(g: Any, out: Any, x: Any, axis: int) -> Any:
    # gx_k = (x_0 … x_{k-1}) s_k with s_k = g_k + x_{k+1} s_{k+1}
    before = op.shift(out, axis=axis, fill=1)
    later = op.shift(op.flip(x, axis=axis), axis=axis)
    s = op.flip(op.recurrence(later, op.flip(g, axis=axis), axis=axis), axis=axis)
    return op.pull(s, before)


def _cumprod_jvp(d: Any, out: Any, x: Any, axis: int) -> Any:
    # out_k = x_k out_{k-1}, so its tangent follows t_k = x_k t_{k-1} + dx_k out_{k-1}
    return op.recurrence(x, op.pull(d[0], op.shift(out, axis=axis, fill=1)), axis=axis)


@primitive(
    numpy=_running(np.multiply),
    type=_running_type,
    canonical=_along("cumprod"),
    vjp=_cumprod_vjp,
    jvp=_cumprod_jvp,
    samples=(
        *_SAMPLES,
        sample(Exactly([2.0, 0.0, 3.0, 4.0])),
        sample(Exactly([[0.0, 2.0, 0.0, 3.0], [1.0, 2.0, 0.5, 0.0]]), axis=1),
    ),
    method=True,
    lower=SpecialKernel("cumprod"),
    batch=along("axis"),
)
def cumprod(x: Any, /, axis: int | None = None) -> None:
    """Running products along the axis. Its derivatives are right at zeros too.

    >>> wg.cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """


def _cumulative(
    definition: Callable[..., Any], first: float, x: Any, axis: int | None, dtype: Any, more: bool
) -> Any:
    x = op.asarray(x)
    x = x if dtype is None else op.astype(x, dtype)
    out = definition(x, axis=axis)
    out = out if dtype is None else op.astype(out, dtype)  # small integers counted in 64 bits
    if not more:
        return out
    along = canonical_axis(definition.__name__, 0 if axis is None else axis, len(x.shape))
    shape = tuple(1 if a == along else size for a, size in enumerate(x.shape))
    return op.concat([op.full(shape, first, dtype=out.dtype), out], axis=along)


@function()
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums under the array API's name; `include_initial` puts a 0 in front.

    >>> wg.cumulative_sum(np.array([1.0, 2.0, 3.0]), include_initial=True)
    array([0., 1., 3., 6.])
    """
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial)


@function()
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products under the array API's name; `include_initial` puts a 1 in front.

    >>> wg.cumulative_prod(np.array([1.0, 2.0, 3.0]), include_initial=True)
    array([1., 1., 2., 6.])
    """
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial)


@function(array_function=(np.diff,))
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along the axis, `n` times; `prepend` and `append` join first.

    With n=0 it is the array as it is, to which nothing joins.

    >>> wg.diff(np.array([1.0, 4.0, 9.0]))
    array([3., 5.])
    """
    x = op.asarray(x)
    if n == 0:
        return x
    along = canonical_axis("diff", axis, len(x.shape))
    if n < 0:
        raise ShapeError(f"diff: n={n} was given; it must not be negative. Use cumsum to undo it.")
    parts = [_end(prepend, x, along), x, _end(append, x, along)]
    if prepend is not None or append is not None:
        x = op.concat([part for part in parts if part is not None], axis=along)
    before = (slice(None),) * along
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = op.not_equal(later, earlier) if x.dtype == bool else op.subtract(later, earlier)
    return x


def _end(value: Any, x: Any, axis: int) -> Any:
    """What joins an end of x: a number stands for one layer of it."""
    if isinstance(value, bool | int | float):  # weak, as everywhere
        value = np.asarray(value, np.result_type(x.dtype, value))
    value = value if value is None else op.asarray(value)
    if value is None or value.shape:
        return value
    return op.broadcast_to(value, tuple(1 if a == axis else n for a, n in enumerate(x.shape)))


def _as_numpy(definition: Callable[..., Any], default_axis: int | None) -> Callable[..., Any]:
    """The running fold, called as NumPy's: without an axis over all elements, row by row."""

    def accumulate(
        x: Any, axis: int | None = default_axis, dtype: Any = None, out: Any = None
    ) -> Any:
        if out is not None:
            error = TraceError(
                f"np.{definition.__name__}: out was given; a Tensor is never written into an "
                "array. Use the returned value."
            )
            raise located(error, [x])
        if axis is None or (not x.shape and axis in (0, -1)):
            x, axis = op.reshape(x, (-1,)), 0
        return _cumulative(definition, 0, x, axis, dtype, False)

    return accumulate


for _ufunc, _theirs, _ours in ((np.add, np.cumsum, cumsum), (np.multiply, np.cumprod, cumprod)):
    UFUNC_METHODS[_ufunc, "accumulate"] = _as_numpy(_ours, 0)
    FUNCTIONS[_theirs] = _as_numpy(_ours, None)
for _name in ("cumulative_sum", "cumulative_prod"):
    if hasattr(np, _name):  # since NumPy 2.1
        FUNCTIONS[getattr(np, _name)] = getattr(op, _name)
