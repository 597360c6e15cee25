"""Fourier transforms of real sequences, as pairs of real arrays.

A transform of n = p · q elements is p × p matrices, factors of modulus 1, and transforms of q
elements (Cooley and Tukey 1965, Bailey 1990); so it is products of small matrices, which are fast,
in one order for each n. A large prime becomes a convolution of another length (Bluestein 1970).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.table import op
from wengert.core.values.spectrum import Spectrum
from wengert.errors import ShapeError
from wengert.functions.statistics import as_float

_RADIX = 64  # the largest matrix of a length that has divisors
_DIRECT = 512  # the largest matrix of a length that has none


@function(space="fft")
def rfft(x: Any, n: int | None = None, axis: int = -1) -> tuple[Any, Any]:
    """The Fourier transform of a real sequence along the axis: real and imaginary part of its
    n // 2 + 1 frequencies. With `n`, of n elements: cut off, or filled up with zeros.

    >>> real, imag = wg.fft.rfft(np.array([1.0, 0.0, 0.0, 0.0]))
    >>> real, imag
    (array([1., 1., 1.]), array([0., 0., 0.]))
    """
    x = as_float(op.asarray(x))
    along = canonical_axis("rfft", axis, len(x.shape))
    rows = op.moveaxis(x, along, -1)
    size = _length("rfft", rows.shape[-1] if n is None else n, x)
    rows = _fitted(rows, size)
    z = _transformed(op.expand_dims(rows, axis=-2), size)
    real, imag = (op.moveaxis(z[..., i, : size // 2 + 1], -1, along) for i in range(2))
    return Spectrum((real, imag))


@function(space="fft")
def irfft(real: Any, imag: Any, n: int | None = None, axis: int = -1) -> Any:
    """The real sequence of n elements whose `rfft` is this pair; n is even if it is not given.

    >>> wg.fft.irfft(*wg.fft.rfft(np.array([1.0, 2.0, 4.0])), n=3)
    array([1., 2., 4.])
    """
    real, imag = as_float(op.asarray(real)), as_float(op.asarray(imag))
    if tuple(real.shape) != tuple(imag.shape):
        error = ShapeError(
            f"irfft: real has shape {tuple(real.shape)} and imag {tuple(imag.shape)}; both must "
            "have the same. Pass the pair that rfft returned, as irfft(*pair)."
        )
        raise located(error, [real, imag])
    along = canonical_axis("irfft", axis, len(real.shape))
    count = real.shape[along]
    size = _length("irfft", 2 * (count - 1) if n is None else n, real)
    half = size // 2 + 1
    real, imag = (_fitted(op.moveaxis(x, along, -1), half) for x in (real, imag))
    # Frequency n - k is the conjugate of k. Of the conjugate of all, the forward transform is the
    # conjugate of the inverse one, whose imaginary part is 0.
    inner = slice(1, size - half + 1)
    real = op.concat([real, op.flip(real[..., inner], axis=-1)], axis=-1)
    imag = op.concat([-imag, op.flip(imag[..., inner], axis=-1)], axis=-1)
    z = _transformed(op.stack([real, imag], axis=-2), size)
    return op.moveaxis(z[..., 0, :] / size, -1, along)


def _length(name: str, n: Any, x: Any) -> int:
    if isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1:
        return int(n)
    error = ShapeError(
        f"{name}: n={n} was given or follows from shape {tuple(x.shape)}; it must be a whole "
        "number of at least 1 that is known when the program is recorded. Pass n."
    )
    raise located(error, [x])


def _fitted(x: Any, size: int) -> Any:
    """The last axis cut, or filled up with zeros."""
    given = x.shape[-1]
    if isinstance(given, int) and given >= size:
        return x if given == size else x[..., :size]
    return op.concat([x, op.zeros((*x.shape[:-1], size - given), x.dtype)], axis=-1)


def _transformed(z: Any, n: int) -> Any:
    """(…, 2, n), real and imaginary part, or (…, 1, n), real numbers -> (…, 2, n)"""
    parts, dtype = z.shape[-2], z.dtype
    p = _divisor(n)
    if p == n:
        matrix = _matrix(n, dtype)[:, : parts * n]
        flat = op.reshape(z, (*z.shape[:-2], parts * n))
        product = op.matmul(flat, np.ascontiguousarray(matrix.T))
        return op.reshape(product, (*z.shape[:-2], 2, n))
    if p == 1:
        return _by_convolution(z, n)
    q, lead = n // p, z.shape[:-2]
    columns = op.reshape(z, (*lead, parts * p, q))
    columns = op.matmul(_matrix(p, dtype)[:, : parts * p], columns)
    columns = _times(op.reshape(columns, (*lead, 2, p, q)), _factors(p, q, dtype), axis=-3)
    rows = op.swapaxes(columns, -3, -2)  # (…, p, 2, q)
    return op.reshape(op.moveaxis(_transformed(rows, q), -3, -1), (*lead, 2, n))


def _times(z: Any, factors: tuple[Any, Any], axis: int) -> Any:
    """Complex numbers, whose parts lie along this axis, times others."""
    real, imag = (op.squeeze(each, axis=axis) for each in op.split(z, 2, axis=axis))
    c, s = factors
    return op.stack([real * c - imag * s, real * s + imag * c], axis=axis)


def _by_convolution(z: Any, n: int) -> Any:
    """The transform as a convolution with a chirp: 2jk = j² + k² - (k - j)²."""
    size, dtype = 1 << (2 * n - 2).bit_length(), z.dtype
    c, s, chirp = _chirp(n, size, dtype)
    if z.shape[-2] == 1:
        z = op.stack([z[..., 0, :] * c, z[..., 0, :] * -s], axis=-2)
    else:
        z = _times(z, (c, -s), axis=-2)
    product = _times(_transformed(_fitted(z, size), size), chirp, axis=-2)
    # The inverse transform is the forward one with parts swapped, before and after.
    inverse = op.flip(_transformed(op.flip(product, axis=-2), size), axis=-2)
    return _times(inverse[..., :n], (c, -s), axis=-2)


def _divisor(n: int) -> int:
    """The p of n = p · q: n itself if one matrix will do, 1 if there is none."""
    if n <= _RADIX:
        return n
    stages = math.ceil(math.log(n) / math.log(_RADIX) - 1e-9)
    wanted = n ** (1 / stages)
    divisors = [p for p in range(2, _RADIX + 1) if n % p == 0]
    if divisors:
        return min(divisors, key=lambda p: (abs(math.log(p / wanted)), p))
    return n if n <= _DIRECT else 1


def _turns(numerators: Any, n: int) -> tuple[Any, Any]:
    """cos and sin of -2π numerators / n, exact at quarters of a turn."""
    part = np.asarray(numerators) % n
    angle = 2 * np.pi * part / n
    c, s = np.cos(angle), -np.sin(angle)
    for quarter, (x, y) in enumerate(((1, 0), (0, -1), (-1, 0), (0, 1))):
        at = 4 * part == quarter * n
        c[at], s[at] = x, y
    return c, s


@lru_cache(maxsize=64)
def _matrix(n: int, dtype: Any) -> Any:
    """The transform of n complex numbers as a real matrix, of parts below each other."""
    c, s = _turns(np.outer(np.arange(n), np.arange(n)), n)
    return np.block([[c, -s], [s, c]]).astype(dtype)


@lru_cache(maxsize=64)
def _factors(p: int, q: int, dtype: Any) -> tuple[Any, Any]:
    c, s = _turns(np.outer(np.arange(p), np.arange(q)), p * q)
    return c.astype(dtype), s.astype(dtype)


@lru_cache(maxsize=16)
def _chirp(n: int, size: int, dtype: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """cos and sin of π j² / n, and the transform of the chirp divided by its length."""
    c, s = _turns(np.arange(n, dtype=np.int64) ** 2, 2 * n)
    s = -s
    whole = np.zeros(size, np.complex128)
    whole[:n] = c + 1j * s
    whole[size - n + 1 :] = whole[1:n][::-1]
    spectrum = np.fft.fft(whole) / size
    parts = (spectrum.real.astype(dtype), spectrum.imag.astype(dtype))
    return c.astype(dtype), s.astype(dtype), parts
