"""The kernel of `convolution`: a table of numbers, and a call of a function that all convolutions
of a dtype share.

The order of every sum is that of a product of matrices: channels and the elements of a window, row
by row, in blocks of INNER; sequential fma inside a block from 0.0 on, then the blocks in order.
The order does not depend on which function computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from wengert.codegen.llvm.convolution import by_space, by_window
from wengert.codegen.llvm.convolution.geometry import write_geometry
from wengert.codegen.llvm.convolution.laying import define_copy, define_lay
from wengert.codegen.llvm.gemm.product import defined_once, tiles
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.numerics import INNER
from wengert.core.dims import Dim, Size, product
from wengert.core.dtypes import DType
from wengert.core.types import ArrayType

_SPACE, _WINDOW = "space", "window"
_LEADING = 3  # axes before those of space
_ENOUGH_UNITS = 8  # for workers to have about the same each
# Products of each element of w that a chunk should have, since it begins by copying w: one by one,
# or by transposing squares of it.
_PRODUCTS_OF_COPY = {_SPACE: 320, _WINDOW: 96}


def _emit(call: KernelCall) -> None:
    """Write the numbers of this convolution, and call the function that computes its chunk."""
    code, (x, w), (y,) = call.code, call.operands, call.outputs
    way = _way(w.shape[-1], y.shape[-1])
    function = _functions(code.module, x.dtype, way)
    params = call.params
    before = [pair[0] for pair in params["padding"]]
    steps = (params["stride"], params["dilation"], params["spread"], before)
    geometry = write_geometry(code, (x, w, y), steps, _parts(x.shape, w.shape, way))
    begin, end = call.units
    _call(code, function, [x.pointer, w.pointer, y.pointer, geometry, call.scratch], begin, end)


def _call(code: Code, function: str, pointers: Sequence[str], begin: Index, end: Index) -> None:
    given = ", ".join(f"ptr {each}" for each in pointers)
    code.do(f"call void @{function}({given}, i64 {begin}, i64 {end})")


def _way(window: Size | str, count: Size | str) -> str:
    """What lies along the lanes: positions, or outputs where the rows of a window are longer than
    those of positions. A size that is not known is a long one.
    """
    if not isinstance(count, int):
        return _SPACE
    return _WINDOW if not isinstance(window, int) or window > count else _SPACE


def _functions(module: Module, dtype: DType, way: str) -> str:
    """The name of the function, which is in the module then, with those that it calls."""
    family = f"convolution_{dtype.name}"
    tiles(module, dtype)
    defined_once(module, f"{family}_lay", dtype, define_lay)
    defined_once(module, f"{family}_copy", dtype, define_copy)
    define = by_space.define_by_space if way == _SPACE else by_window.define_by_window
    name = f"{family}_{way}"
    defined_once(module, name, dtype, define)
    return name


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """Bytes for the way that is taken, or for both where that is not known yet."""
    x, w = types
    axes = range(len(x.shape) - _LEADING)
    window = w.shape[_LEADING:]
    counts = [_most(x, w, params, axis) for axis in axes]
    reach = [
        (counts[a] - 1) * params["stride"][a] + (window[a] - 1) * params["dilation"][a] + 1
        for a in axes
    ]
    channels, outs, dtype = w.shape[2], w.shape[1], x.dtype
    total: Size = 0
    known = not any(isinstance(n, Dim) for n in (window[-1], counts[-1]))
    ways = [_way(window[-1], counts[-1])] if known else [_SPACE, _WINDOW]
    for way in ways:
        apart = params["stride" if way == _SPACE else "dilation"][-1]
        volume = product((*reach[:-1], reach[-1] + apart))
        if way == _SPACE:
            inner = channels * product(window)
            weights = w.shape[0] * outs * inner
            elements, words = by_space.scratch_elements(weights, inner, channels * volume, dtype)
        else:
            held = _together(channels, product(window))
            elements, words = by_window.scratch_elements(
                outs, product(tuple(counts)), held * volume
            )
        total = total + elements * dtype.itemsize + words * 8 + 1024
    return total


def _together(channels: Size, window: Size) -> int:
    """Channels that are laid out together, at most."""
    whole = INNER if isinstance(window, Dim) else INNER // max(gcd(window, INNER), 1)
    return whole if isinstance(channels, Dim) else max(min(channels, whole), 1)


def _most(x: ArrayType, w: ArrayType, params: dict[str, Any], axis: int) -> Size:
    """How many positions there are along an axis; at most, where sizes are not known."""
    before, after = params["padding"][axis]
    stride: int = params["stride"][axis]
    size, window = x.shape[_LEADING + axis], w.shape[_LEADING + axis]
    reach: Size = (size - 1) * params["spread"][axis] + before + after
    reach = reach - (window - 1) * params["dilation"][axis]
    return reach + 1 if isinstance(reach, Dim) else reach // stride + 1


def _parts(x: Sequence[Size | str], w: Sequence[Size | str], way: str) -> int:
    """How many parts the outputs are divided into, beside images: several where images are too few
    for workers to have about the same each, as in the gradient of the first layer's window.
    """
    batch, groups, outs = x[0], x[1], w[1]
    if not (isinstance(batch, int) and isinstance(groups, int) and isinstance(outs, int)):
        return 1
    if way == _SPACE:
        return 1
    return max(min(outs // by_space.LONGEST, _ENOUGH_UNITS // max(batch * groups, 1)), 1)


def _units(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """Images of each group, or the parts of their outputs: each is computed as a whole by one
    worker.
    """
    x, w = types
    return x.shape[0] * x.shape[1] * _parts(x.shape, w.shape, _way_of_types(types, params))


def _way_of_types(types: Sequence[ArrayType], params: dict[str, Any]) -> str:
    x, w = types
    return _way(w.shape[-1], _most(x, w, params, len(w.shape) - _LEADING - 1))


def _least(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """Units of a chunk, so that it has several products for each element of w: it begins by copying
    w together.
    """
    x, w = types
    counts = [_most(x, w, params, axis) for axis in range(len(x.shape) - _LEADING)]
    positions = product(tuple(counts))
    if not isinstance(positions, int):
        return 1
    wanted = _PRODUCTS_OF_COPY[_way_of_types(types, params)]
    return -(-wanted // max(positions, 1))


def _common(module: Module, types: Sequence[ArrayType], params: dict[str, Any]) -> None:
    x, _ = types
    _functions(module, x.dtype, _way_of_types(types, params))


CONVOLUTION = {"convolution": Special(_emit, _scratch, _units, _common, _least)}
