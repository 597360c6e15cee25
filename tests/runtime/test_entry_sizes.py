"""Dims at the entry point: bound, compared, and within the memory there is."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from runtime.entering import enter, ready, require_equal, require_quick, require_slow

N, M = wg.Dim("n"), wg.Dim("m")


def table(n: int, m: int) -> np.ndarray:
    return np.random.default_rng(n * 100 + m).uniform(-1, 1, (n, m))


def test_sizes_within_the_memory_are_quick():
    compiled = ready(lambda x: np.tanh(x @ x.T) @ x, table(8, 3), dims={"x": {0: N}})
    for n in (8, 1, 5, 0, 8):
        require_quick(compiled, table(n, 3))
    require_slow(compiled, table(9, 3))
    require_quick(compiled, table(9, 3))
    require_quick(compiled, table(13, 3))  # the memory has doubled
    require_slow(compiled, table(17, 3))
    assert len(compiled.programs) == 1


def test_results_whose_sizes_are_polynomials():
    dims = {"x": {0: N, 1: M}, "y": {0: N}}

    def function(x, y):
        return (
            np.concatenate([x, x]),
            np.reshape(x, (-1,)),
            x[:, None, :] * y[None, :, None],
            wg.sum(x),
            {"longer": np.concatenate([y, np.ones(1)]), "fixed": x.T @ x},
        )

    compiled = ready(function, table(6, 5), np.ones(6), dims=dims)
    for n, m in ((6, 5), (4, 2), (1, 1), (2, 5)):
        found = require_quick(compiled, table(n, m), np.arange(float(n)))
        assert found[0].shape == (2 * n, m)
        assert found[1].shape == (n * m,)
        assert found[2].shape == (n, n, m)
        assert found[4]["longer"].shape == (n + 1,)


def test_one_dim_has_one_size():
    compiled = ready(lambda x, y: x * y, np.ones(4), np.ones(4), dims={"x": {0: N}, "y": {0: N}})
    require_quick(compiled, np.ones(3), np.arange(3.0))
    assert enter(compiled, np.ones(3), np.ones(3)) is not NotImplemented
    assert compiled.latest.entry(np.ones(3), np.ones(4)) is NotImplemented
    with pytest.raises(wg.errors.ShapeError):
        compiled(np.ones(3), np.ones(4))
    require_quick(compiled, np.ones(3), np.arange(3.0))


def test_multiples_take_the_slow_path():
    dims = {"x": {0: N * 2}, "y": {0: N}}
    compiled = ready(lambda x, y: wg.sum(x) * y, np.ones(6), np.ones(3), dims=dims)
    require_equal(require_slow(compiled, np.ones(4), np.ones(2)), np.full(2, 4.0))
    assert len(compiled.programs) == 1
    with pytest.raises(wg.errors.ShapeError, match="one Dim has one size"):
        compiled(np.ones(4), np.ones(3))


def test_a_dim_must_be_an_axis():
    compiled = wg.compile(lambda x: x * 2, dims={"x": {0: N * M}})
    with pytest.raises(wg.errors.ShapeError, match="an axis is a number, a Dim"):
        compiled(np.ones(6))
