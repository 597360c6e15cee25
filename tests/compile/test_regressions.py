"""Programs that once went wrong."""

import numpy as np
import pytest

import wengert as wg


def test_a_product_without_rows_writes_nothing():
    compiled = wg.compile(lambda x, y: x @ y.T)
    x, y = np.ones((9, 0, 5), np.float32), np.ones((33, 5), np.float32)
    for _ in range(200):
        assert compiled(x, y).shape == (9, 0, 33)


def test_a_slice_beyond_the_end_of_an_open_axis_is_refused():
    compiled = wg.compile(lambda x: x[1:] * 2, dims={"x": {0: wg.Dim("n")}})
    assert compiled(np.ones((3, 2))).shape == (2, 2)
    for _ in range(2):
        with pytest.raises(wg.errors.ShapeError, match="no size may be negative"):
            compiled(np.ones((0, 2)))


def test_variance_of_an_empty_open_axis():
    compiled = wg.compile(lambda x: wg.var(x, correction=1), dims={"x": {0: wg.Dim("n")}})
    assert np.isnan(compiled(np.ones(0)))
    assert compiled(np.array([1.0, 3.0])) == 2.0


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_a_carry_that_is_collected_too(length):
    def loss(a, b):
        step = lambda h, x: (x[0] * h + x[1],) * 2  # noqa: E731
        last, hs = wg.scan(step, np.zeros(3), (a, b))
        return wg.sum(hs * hs) + wg.sum(last)

    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 1, (2, length, 3))
    both = wg.value_and_grad(loss, argnums=(0, 1))
    for found, expected in zip(
        wg.tree.leaves(wg.compile(both)(a, b)), wg.tree.leaves(both(a, b)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
