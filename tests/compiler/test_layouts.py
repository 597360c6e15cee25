"""Arguments may lie anywhere in memory or be empty, and nothing around them is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits


def unaligned(x: Any) -> Any:
    space = np.empty(x.nbytes + 1, np.uint8)
    found = np.frombuffer(space.data, x.dtype, x.size, offset=1).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned or x.itemsize == 1
    return found


def strided(x: Any) -> Any:
    wide = np.full([2 * n for n in x.shape], 77).astype(x.dtype)
    wide[(slice(None, None, 2),) * x.ndim] = x
    return wide[(slice(None, None, 2),) * x.ndim]


def reversed_(x: Any) -> Any:
    back = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[back])[back]


def padded(x: Any) -> Any:
    wide = np.full([n + 3 for n in x.shape], 77).astype(x.dtype)
    inner = (slice(1, -2),) * x.ndim
    wide[inner] = x
    return wide[inner]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": reversed_,
    "padded": padded,
    "unaligned": unaligned,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "read_only": lambda x: np.require(x.copy(), requirements="C"),
    "odd_address": lambda x: np.concatenate([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(
        x.shape
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "bool"])
def test_layouts(layout, dtype):
    x = (np.random.default_rng(1).uniform(-4, 4, (6, 5)) * 3).astype(dtype)
    given = LAYOUTS[layout](x)
    plain = np.array(given, dtype, order="C")
    given.flags.writeable = layout not in ("read_only", "broadcast")
    compiled = wg.compile(lambda x: (x, wg.sum(x, axis=0), x.T + x.T, wg.cumulative_sum(x, axis=1)))
    executable = compiled.executable(plain)
    for _ in range(3):
        expected = bits(compiled(plain))
        assert bits(compiled(given)) == expected
        assert compiled.executable(given) is executable, "code specialises on layout"
        assert bits(executable(given)) == expected
        assert np.array_equal(given, plain)


@pytest.mark.parametrize(
    "layout", ["fortran", "strided", "reversed", "padded", "unaligned", "swapped"]
)
def test_donated_layouts(layout):
    x = np.random.default_rng(2).uniform(-4, 4, (6, 5))
    p = LAYOUTS[layout](x)
    compiled = wg.compile(lambda p: (p * 2 + 1, wg.sum(p)), donate=0)
    for _ in range(3):
        expected = np.array(p) * 2 + 1, np.sum(p)
        found, total = compiled(p)
        assert found is p
        assert np.array_equal(p, expected[0])
        np.testing.assert_allclose(total, expected[1], rtol=1e-14)


def test_what_lies_around_an_array_is_not_touched():
    for size in (1, 5, 15, 16, 17, 33):
        space = np.full(size + 64, 77.0)
        p = space[32 : 32 + size]
        compiled = wg.compile(lambda p: p * 0, donate=0)
        for _ in range(3):
            p[...] = 1
            compiled(p)
            assert not p.any()
        assert np.all(space[:32] == 77)
        assert np.all(space[32 + size :] == 77)


SIZES_OF_NOTHING = [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)]


@pytest.mark.parametrize("shape", SIZES_OF_NOTHING, ids=str)
def test_empty_arrays(shape):
    def function(x: Any) -> Any:
        flat = x.reshape(-1)
        square = x.reshape(-1, shape[-1] or 1)
        found = [x + 1, wg.sum(x), wg.prod(x), wg.sum(x, axis=0), wg.concat([flat, flat])]
        found += [square.T @ square, square @ square.T, wg.cumulative_sum(flat), wg.sort(flat)]
        return [*found, wg.grad(lambda x: wg.sum(wg.exp(x) * x))(x), wg.all(x > 0)]

    x = np.zeros(shape)
    for ours, theirs in zip(wg.compile(function)(x), function(x), strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
