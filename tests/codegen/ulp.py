"""Errors of compiled elementary functions, in units of the last place of the true value."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np

from wengert.codegen.llvm.machine.native import Native, make_object, object_code
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.vectors import Code, Module, Vector
from wengert.codegen.numerics import LANES
from wengert.codegen.targets.cpu.target import Target, host

Array = np.ndarray[Any, Any]


def compiled(
    function: Callable[..., Vector],
    *dtypes: Any,
    lanes: int = LANES,
    width: int | None = None,
    target: Target | None = None,
) -> Callable[..., Array]:
    """`function(e, x, …)` over whole arrays of these dtypes: a function of NumPy arrays.

    `target` is this machine, or one whose instructions this machine has.

    Operands may have any shapes that broadcast. The result has the dtype the function gives it.
    """
    given = [np.dtype(d) for d in dtypes]
    chosen = target or host()
    code = Code(Module(chosen if width is None else replace(chosen, width=width)), lanes)
    e = Instructions(code, given[-1])
    kinds: list[np.dtype[Any]] = []

    def body(i: Any, _: list[str]) -> None:
        mask = code.first_lanes(code.min(code.sub("%n", i), lanes))
        operands = [code.load(code.address(f"%x{k}", i, d), d, mask) for k, d in enumerate(given)]
        found = function(e, *operands)
        kinds.append(found.dtype)
        code.store(found, code.address("%y", i, found.dtype), mask)

    code.loop(0, "%n", lanes, body)
    names = "".join(f"ptr %x{k}, " for k in range(len(given)))
    code.function("run", f"{names}ptr %y, i64 %n", "")
    made = object_code(code.module.text(), partial(make_object, target=chosen))
    native = Native(made, ("run",))
    run = native.function("run", *[ctypes.c_void_p] * (len(given) + 1), ctypes.c_int64)

    def call(*operands: Any) -> Array:
        ready = [np.asarray(x, d) for x, d in zip(operands, given, strict=True)]
        arrays = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*ready)]
        found = np.empty(arrays[0].shape, kinds[0])
        run(*(x.ctypes.data for x in arrays), found.ctypes.data, found.size)
        return found

    call.native = native  # type: ignore[attr-defined]  # the code lives as long as the function
    return call


def ulp_of(value: Array, dtype: Any) -> Array:
    """The distance between neighbours of `dtype` where these finite float64 numbers lie."""
    limits = np.finfo(dtype)
    power = (value.view(np.int64) & 0x7FF0_0000_0000_0000).view(np.float64)  # of two, below
    smallest = float(limits.smallest_subnormal)
    return np.maximum(power * 2.0 ** -int(limits.nmant), smallest)


def errors(found: Array, true: Iterable[Any]) -> Array:
    """Errors in ulps; `true` are mpmath numbers (or floats: NaN, ±inf).

    An infinite result counts as the power of two after the largest finite number, so it is right
    where the true value is that large. NaN and true infinities must be met exactly.
    """
    limits = np.finfo(found.dtype)
    numbers = found.ravel().tolist()
    pairs = zip(numbers, true, strict=True)
    with mpmath.workprec(200):  # the differences must not be rounded
        return np.array([_error(x, mpmath.mpf(t), limits) for x, t in pairs])


def _error(found: float, true: Any, limits: Any) -> float:
    if mpmath.isnan(true) or found != found:
        return 0.0 if mpmath.isnan(true) and found != found else np.inf
    if mpmath.isinf(true):
        return 0.0 if found == true else np.inf
    top = mpmath.ldexp(1, int(limits.maxexp))
    if abs(found) == np.inf:
        found = mpmath.sign(found) * top
        if abs(true) > top:
            true = mpmath.sign(true) * top
    lowest = int(limits.minexp) - int(limits.nmant)
    exponent = lowest if true == 0 else max(true.exp + true.bc - 1 - int(limits.nmant), lowest)
    return float(mpmath.ldexp(abs(found - true), -exponent))


def errors_in_float32(found: Array, true: Array) -> Array:
    """As `errors`, of float32 results against float64 ones that are good to 1e-14."""
    assert (found.dtype, true.dtype) == (np.float32, np.float64)
    with np.errstate(invalid="ignore"):  # ∞ - ∞
        error = np.abs(found - true) / ulp_of(true, np.float32)
    awkward = ~np.isfinite(error)
    if awkward.any():
        error[awkward] = _awkward_errors(found[awkward].astype(np.float64), true[awkward])
    return error


def _awkward_errors(found: Array, true: Array) -> Array:
    """Errors where a result is infinite or NaN, in float32."""
    top = 2.0**128
    with np.errstate(invalid="ignore"):
        bounded = np.where(np.isinf(found), np.clip(true, -top, top), true)
        error = np.abs(np.clip(found, -top, top) - bounded) / ulp_of(bounded, np.float32)
    met = (found == true) | (np.isnan(found) & np.isnan(true))
    missed = np.isnan(found) | np.isnan(true) | np.isinf(true)
    return np.where(met, 0.0, np.where(missed, np.inf, error))
