"""What programs are given and hold: inputs, parameters, constants, sizes and results; and values
as they are, in another dtype or cut out of derivatives.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np

from wengert.core import dtypes, tree
from wengert.core.define import elementwise, linear, primitive
from wengert.core.dims import Size, product
from wengert.core.lowering import Along, Elementwise, Formula, Source, View
from wengert.core.op_parts import magnitude
from wengert.core.op_parts.batching import BatchedCall, with_leading_axes
from wengert.core.op_parts.samples import Booleans, sample, uniform
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.core.words.source import is_users
from wengert.errors import CheckError, ShapeError
from wengert.interpret.mistakes.missing_values import note_cast


def _needs_value(**params: Any) -> Any:
    raise CheckError(
        f"{params.get('name')}: an input was run; its value must be given. Please report this."
    )


@primitive(
    numpy=_needs_value,
    type=lambda name, type: type,
    canonical=lambda name, type: {"name": str(name), "type": type},
    flat=True,
    space="hidden",
    lower=Source(),
)
def input(*, name: str, type: ArrayType) -> None:
    """An input of a graph: a value given at every run. No gradient is accumulated in it."""


@primitive(
    numpy=_needs_value,
    type=lambda name, type: type,
    canonical=lambda name, type: {"name": str(name), "type": type},
    flat=True,
    space="hidden",
    lower=Source(),
)
def parameter(*, name: str, type: ArrayType) -> None:
    """A parameter of a graph: a value that stays between runs and receives a gradient."""


@primitive(
    numpy=lambda value: value,
    type=lambda value: ArrayType(value.shape, value.dtype),
    canonical=lambda value: {"value": value if type(value) is np.ndarray else np.asarray(value)},
    flat=True,
    space="hidden",
    magnitude=magnitude.CONSTANT,
    lower=Source(),
)
def constant(*, value: Any) -> None:
    """An array that is part of the program."""


@primitive(
    numpy=lambda dim, dtype: np.asarray(dim, dtype),
    type=lambda dim, dtype: ArrayType((), dtype),
    canonical=lambda dim, dtype: {
        "dim": canonical_shape("size", dim)[0],
        "dtype": dtypes.canonical("size", dtype),
    },
    flat=True,
    sized=True,
    space="hidden",
    lower=Formula(lambda params: params["dim"]),
)
def size(*, dim: Size, dtype: Any) -> None:
    """The number behind a Dim, as a 0-d array."""


@linear(
    numpy=lambda x, index: x[index],
    type=lambda x, index: x[index],
    transpose=lambda g, _x, index: g,  # the tape gives each output of a call a slot of its own
    space="hidden",
)
def pick(x: Any, /, index: int) -> None:
    """One output of an op that has several."""


def _astype_vjp(g: Any, _out: Any, _x: Any, dtype: Any) -> Any:
    floats = dtypes.is_float(_x.dtype) and dtypes.is_float(dtype)
    return op.astype(g, _x.dtype) if floats else None


def _cast_params(x: Any, dtype: Any) -> dict[str, Any]:
    made = dtypes.canonical("astype", dtype)
    note_cast(x, made)
    return {"dtype": made}


def _cast(x: Any, dtype: Any) -> Any:
    """NumPy's cast, defined everywhere: a float beyond an integer's range is the end of that range,
    and NaN is 0.
    """
    x = np.asarray(x)
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    least, beyond = float(limits.min), float(limits.max) + 1  # exact for 8, 16 and 32 bits
    with np.errstate(invalid="ignore"):
        inside = (
            (x > least - 1) & (x < beyond) if dtype.itemsize < 8 else (x >= least) & (x < beyond)
        )
        whole = np.where(inside, x, 0).astype(dtype)
    return np.where(inside | np.isnan(x), whole, np.where(x < 0, limits.min, limits.max)).astype(
        dtype
    )


@primitive(
    numpy=_cast,
    type=lambda x, dtype: ArrayType(tuple(x.shape), dtype),
    canonical=_cast_params,
    vjp=_astype_vjp,
    # An integer has no tangent: rounding is flat.
    jvp=lambda d, _out, _x, dtype: op.astype(d[0], dtype) if dtypes.is_float(dtype) else None,
    samples=(
        sample((3, 4), dtype=np.float64),
        sample((), dtype=np.float64),
        sample((2, 3), dtype=np.int32),
        sample((0, 3), dtype=np.bool_),
    ),
    exact=True,
    keywords=("copy", "device"),
    magnitude=magnitude.CAST,
    lower=Elementwise(lambda e, x, dtype: e.cast(x, dtype), moves=True),
    batch=with_leading_axes,
)
def astype(x: Any, /, dtype: Any) -> None:
    """The same numbers in another dtype.

    >>> wg.astype(np.array([1.9, -1.9]), np.int64)
    array([ 1, -1])
    """


def _boundary_of_each(call: BatchedCall) -> Any:
    """Safe where every example is."""
    safe = call.operands[1]
    return call.again([call.front(0), op.all(safe) if call.batched[1] else safe])


@elementwise(
    numpy=lambda x, _safe: np.array(x),
    dtypes=lambda name, operands: ([operands[0].dtype, dtypes.bool_], operands[0].dtype),
    vjp=lambda g, _out, _x, _safe: (g, None),
    jvp=lambda d, _out, _x, _safe: d[0],
    samples=(sample((3, 4), Booleans(())), sample((), Booleans(())), sample((0, 2), Booleans(()))),
    exact=True,
    space="hidden",
    batch=_boundary_of_each,
    lower=View(lambda shape, out: tuple(map(Along, range(len(shape))))),
)
def boundary(x: Any, safe: Any, /) -> None:
    """The numbers of x. What is computed from them is not final until everything has succeeded.

    It is written over arguments in the end, and only where nothing has failed; where `safe` holds,
    that is known to be finite and need not be looked at.
    """


def _for_several(x: Any, over: tuple[int, ...]) -> Any:
    if product(over) == 1:
        raise ShapeError(
            "for_several: given no rows for a slice as x[-n:], or one for a BatchNorm; the graph "
            "was recorded for more, and is another one here. Trace the function with such arrays."
        )
    return np.array(x)


@linear(
    numpy=_for_several,
    type=lambda x, over: ArrayType(tuple(x.shape), x.dtype),
    canonical=lambda _x, over: {"over": canonical_shape("for_several", over)},
    transpose=lambda g, _x, over: g,
    sized=True,
    samples=(sample((3, 4), over=(5,)), sample((), over=(1, 2)), sample((0, 2), over=(3,))),
    exact=True,
    space="hidden",
    magnitude=magnitude.SAME,
    several=True,
    lower=View(lambda shape, out, over: tuple(map(Along, range(len(shape))))),
    batch=with_leading_axes,
)
def for_several(x: Any, /, over: tuple[Size, ...]) -> None:
    """The same value, in a program that is right where axes of these sizes hold several elements.

    For a single one the function is recorded anew: then it sees the number, and can refuse it.
    """


@linear(
    numpy=np.array,
    type=lambda x: ArrayType(tuple(x.shape), x.dtype),
    transpose=lambda g, _x: op.over_micro_batches(g),
    samples=(sample((3, 4)), sample(()), sample((0, 2))),
    exact=True,
    space="hidden",
    magnitude=magnitude.SAME,
    lower=View(lambda shape, out: tuple(map(Along, range(len(shape))))),
    batch=with_leading_axes,
)
def over_micro_batches(x: Any, /) -> None:
    """The sum of x over all micro-batches of a step that ranks share, of which there may be one.

    Where there are several, the step computes its program up to here for each of them, exchanges
    what it has, and goes on; machine code only sees the case of one.
    """


def _front_stop_gradient(x: Any, /) -> Any:
    """Every array of a tree is detached; numbers in it are settings, and have no derivative."""
    is_tree = isinstance(x, list | tuple | dict) or dataclasses.is_dataclass(x)
    if (is_tree or type(x) is Tensor) and is_users(sys._getframe(2).f_code):  # 1 is the op's
        warn_if_dropped(
            f"stop_gradient: given {'a tree' if is_tree else 'a Tensor'}, which stays as it is; "
            "what has no derivative was returned, and nothing reads it. Write "
            "y = wg.stop_gradient(y).",
            function="stop_gradient",
        )
    return tree.map(_detached, x) if is_tree else _detached(x)


def _detached(x: Any) -> Any:
    return stop_gradient.rebind(*stop_gradient.read((x,), {}))


@elementwise(
    numpy=np.array,
    dtypes=lambda name, operands: ([operands[0].dtype], operands[0].dtype),
    flat=True,
    samples=uniform((-2, 2)),
    exact=True,
    front=_front_stop_gradient,
    magnitude=magnitude.SAME,
    lower=Elementwise(lambda e, x: x, moves=True),
)
def stop_gradient(x: Any, /) -> None:
    """The same value, cut out of every derivative. The one way to detach.

    A tree is given back with all of its arrays detached.

    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    array(3.)
    """
