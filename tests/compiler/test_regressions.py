"""Programs that once went wrong."""

import numpy as np
import pytest

import wengert as wg


def test_a_product_without_rows_writes_nothing():
    compiled = wg.compile(lambda x, y: x @ y.T)
    x, y = np.ones((9, 0, 5), np.float32), np.ones((33, 5), np.float32)
    for _ in range(200):
        assert compiled(x, y).shape == (9, 0, 33)


N = wg.Dim("n")
SLICES = {
    "from the second on": lambda x: x[1:] * 2,
    "the last five": lambda x: x[-5:] * 2,
    "both axes": lambda x: wg.sum(x[3:, 3:] * 2),
    "joined": lambda x: wg.concat([x[3:], x]),
    "rolled": lambda x: wg.roll(x, 2, axis=0),
    "backwards": lambda x: x[::-1] + 1,
}


@pytest.mark.parametrize("name", SLICES)
def test_slices_of_an_open_axis_are_right_for_every_size(name):
    f = SLICES[name]
    compiled = wg.compile(f, dims={"x": {0: N, 1: N}})
    for size in (7, 8, 2, 1, 7, 0, 5, 3, 9, 2):
        x = np.arange(size * size, dtype=np.float64).reshape(size, size)
        np.testing.assert_array_equal(compiled(x), f(x))


def test_an_index_beyond_an_open_axis_is_refused():
    compiled = wg.compile(lambda x: x[4] * 2, dims={"x": {0: N}})
    assert compiled(np.arange(6.0)) == 8.0
    for _ in range(2):
        with pytest.raises(IndexError):
            compiled(np.arange(3.0))


def test_an_epilogue_that_is_broadcast_over_a_batch():
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(5, 6)), rng.normal(size=(2, 1, 1, 6))
    f = lambda x, y, z: np.tanh(x @ y + z)  # noqa: E731
    np.testing.assert_allclose(wg.compile(f)(x, y, z), f(x, y, z), rtol=1e-12)
    w = rng.normal(size=(3, 2, 4, 6))
    g = lambda x, y, w: x @ y * w.transpose(1, 0, 2, 3)  # noqa: E731
    np.testing.assert_allclose(wg.compile(g)(x, y, w), g(x, y, w), rtol=1e-12)


def test_positions_as_results():
    compiled = wg.compile(lambda x: (wg.arange(x.shape[0]), x), dims={"x": {0: N}})
    np.testing.assert_array_equal(compiled(np.ones(5))[0], np.arange(5))


@pytest.mark.parametrize("fuse", ["1", "0"])
def test_a_collected_carry_of_a_kernel_of_its_own(fuse, monkeypatch):
    monkeypatch.setenv("WENGERT_FUSE", fuse)

    def loss(c, xs):
        step = lambda c, x: (wg.cumulative_sum(c * x),) * 2  # noqa: E731
        return wg.sum(wg.scan(step, c, xs)[1] ** 2)

    rng = np.random.default_rng(0)
    c, xs = rng.normal(size=3), rng.normal(size=(4, 3))
    gradient = wg.grad(loss, argnums=(0, 1))
    for found, expected in zip(wg.compile(gradient)(c, xs), gradient(c, xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


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


def test_memory_for_sizes_that_grow_where_others_shrink():
    def f(x, y):
        count = x.shape[0] - y.shape[0]
        a = wg.cumulative_sum(wg.broadcast_to(wg.sum(x), (count,)))
        return wg.cumulative_sum(a)

    compiled = wg.compile(f, dims={"x": {0: wg.Dim("m")}, "y": {0: N}})
    for rest in (99_990, 10, 50_000, 10, 99_999):
        x, y = np.ones(100_000), np.ones(rest)
        np.testing.assert_allclose(compiled(x, y), f(x, y))


def test_what_a_region_reads_may_come_after_it_began():
    def body(x, y):
        return wg.sin(x) * 2, y * wg.cos(x)

    def f(x, w):
        first, second = wg.checkpoint(body)(x, wg.exp(w))
        return wg.tanh(first), second

    x = np.linspace(0, 1, 5)
    for found, expected in zip(wg.compile(f)(x, x), f(x, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_fold_over_two_axes_beside_a_copy_of_a_permuted_array():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, 4, 3, 3))

    def f(x, y):
        z = wg.reshape(wg.permute_dims(x, (0, 2, 1)), (4, 9))
        return z * wg.sum(y, axis=(1, 2))[:, None]

    np.testing.assert_allclose(wg.compile(f)(x, y), f(x, y), rtol=1e-14)


def test_an_index_into_an_open_axis_that_is_empty():
    compiled = wg.compile(lambda x, i: x[i] * 2, dims={"x": {0: N}})
    assert compiled(np.ones((1, 4)), np.array([0])).shape == (1, 4)
    for index in (np.array([0]), np.array(0)):
        with pytest.raises(IndexError):
            compiled(np.ones((0, 4)), index)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "bool", "float32"])
def test_clip_has_the_dtype_of_all_three(dtype):
    x, high = np.array([0, 1, 1], dtype), np.array(0.5, np.float32)
    f = lambda x, high: wg.clip(x, -1.0, high)  # noqa: E731
    expected = np.clip(x, -1.0, high)
    for found in (f(x, high), wg.compile(f)(x, high)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def _parts(x, y):
    a = wg.exp(x)
    last, rows = wg.scan(lambda h, row: (h * 0.5 + row, h), a[0], a)
    return {
        "a": a,
        "backwards": a[::-1],
        "other": wg.tanh(y) * a,
        "x": x,
        "ones": wg.ones(x.shape),
        "last": last,
        "rows": rows,
    }


@pytest.mark.parametrize("fuse", ["1", "0"])
@pytest.mark.parametrize(
    ("joined", "alone"),
    [
        ([["a", "backwards"]], ["a"]),
        ([["a", "x"], ["a"]], []),
        ([["a", "a"], ["backwards", "a"]], []),
        ([["backwards", "ones"], ["other", "ones"]], []),
        ([["rows", "last"]], ["rows"]),
        ([["x"], ["other", "backwards"]], ["other"]),
    ],
)
def test_results_that_are_parts_of_results(joined, alone, fuse, monkeypatch):
    monkeypatch.setenv("WENGERT_FUSE", fuse)

    def f(x, y):
        parts = _parts(x, y)
        whole = [wg.concat([parts[name].reshape(-1) for name in names]) for names in joined]
        return [*whole, *(parts[name] for name in alone)]

    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 5, 3))
    for function in (f, lambda x, y: f(x, y)[::-1]):
        for found, expected in zip(wg.compile(function)(x, y), function(x, y), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_sum_of_integers_modulo_a_number():
    """LLVM failed on the division of a vector of 64-bit integers by a number it could see."""
    f = wg.compile(lambda x: wg.remainder(wg.count_nonzero(x, axis=-1), 5) - 2, threads=1)
    assert f(np.ones(9)) == 2
    x = np.arange(-40, 40)
    assert np.array_equal(wg.compile(lambda x: x // 7, threads=1)(x), x // 7)


@pytest.mark.parametrize("lanes", ["4", "8", "16"])
def test_remainders_of_counts(lanes, monkeypatch):
    """LLVM aborted while it compiled them: it knows that a count of seven is small."""
    monkeypatch.setenv("WENGERT_LANES", lanes)
    x = np.array([[1, 0, 1, 1, 0, 1, 1]], np.int32)
    for f in (
        lambda x: wg.signbit(wg.count_nonzero(x) % 3 - 2),
        lambda x: wg.astype(wg.count_nonzero(x, axis=1) // 3, np.float32),
        lambda x: wg.sqrt(wg.sum(wg.astype(x, np.uint8)) % 3 + 0.5),
    ):
        np.testing.assert_array_equal(wg.compile(f)(x), f(x))


def test_a_boundary_of_a_constant():
    """The gradient of what does not depend on an argument is a constant, and may be written."""
    f = wg.compile(lambda x, safe: wg.op.boundary(wg.zeros_like(x) + 1.0, safe) * 2.0)
    np.testing.assert_array_equal(f(np.ones(3), np.bool_(True)), np.full(3, 2.0))
    g = wg.compile(lambda x, safe: wg.op.boundary(wg.grad(lambda z: 3.0)(x), safe), donate="x")
    x = np.ones(())
    assert g(x, np.bool_(False)) is x
    assert x == 0
    assert "boundary" in str(g.explain(x, np.bool_(False)))


@pytest.mark.parametrize("first", [(), 0, 1], ids=str)
@pytest.mark.parametrize("second", [(), 0, 1], ids=str)
def test_reductions_over_no_axes_beside_others(first, second):
    """Of two in one loop, each goes over axes of its own, also where these are none."""

    def f(x):
        return [
            reduce(each, axis=axis)
            for each in (x, x * 2 + 1)
            for reduce, axis in ((np.sum, first), (np.max, second), (np.count_nonzero, first))
        ]

    x = np.random.default_rng(0).integers(-9, 9, (3, 4)).astype(float)
    for found, expected in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)
