"""The functions that rearrange, create and read at positions: against JAX and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from levels import drawn, pullback, pushforward, require_same, traced

import wengert as wg
from wengert.errors import DTypeError, ShapeError, TraceError

X = drawn((3, 4, 5))

# Functions that are written with ops, and so have no generated tests: value, gradient and trace
# against JAX. Each takes the array and the library.

FUNCTIONS = {
    "expand_dims": [lambda x, xp: xp.expand_dims(x, axis=(0, -1))],
    "squeeze": [
        lambda x, xp: xp.squeeze(x[None, :, None], axis=(0, 2)),
        lambda x, xp: xp.squeeze(x[:1]),
    ],
    "permute_dims": [lambda x, xp: xp.permute_dims(x, (2, 0, 1))],
    "moveaxis": [
        lambda x, xp: xp.moveaxis(x, 0, -1),
        lambda x, xp: xp.moveaxis(x, (0, 2), (-1, -2)),
    ],
    "swapaxes": [lambda x, xp: xp.swapaxes(x, 0, -1)],
    "broadcast_arrays": [lambda x, xp: xp.broadcast_arrays(x[0], x[:, :1])[0]],
    "flip": [
        lambda x, xp: xp.flip(x),
        lambda x, xp: xp.flip(x, axis=(-1, 0)),
        lambda x, xp: xp.flip(x[:0], axis=0),
    ],
    "roll": [
        lambda x, xp: xp.roll(x, 7),
        lambda x, xp: xp.roll(x, -1, axis=1),
        lambda x, xp: xp.roll(x, (1, -9), axis=(0, -1)),
        lambda x, xp: xp.roll(x, 2, axis=(0, 1)),
        lambda x, xp: xp.roll(x[:0], 2, axis=0),
    ],
    "stack": [
        lambda x, xp: xp.stack([x, x * x, x]),
        lambda x, xp: xp.stack([x[0], x[2]], axis=-1),
    ],
    "split": [
        lambda x, xp: xp.split(x, 2, axis=1)[1],
        lambda x, xp: xp.split(x, [1, 3], axis=-1)[1],
        lambda x, xp: xp.split(x, [1, 1])[1],
    ],
    "tile": [
        lambda x, xp: xp.tile(x, 2),
        lambda x, xp: xp.tile(x, (2, 1, 3, 1)),
        lambda x, xp: xp.tile(x[0], (0, 1, 2)),
    ],
    "repeat": [
        lambda x, xp: xp.repeat(x, 2),
        lambda x, xp: xp.repeat(x, 3, axis=-2),
        lambda x, xp: xp.repeat(x, 0, axis=0),
    ],
    "diagonal": [
        lambda x, xp: xp.diagonal(x, axis1=-2, axis2=-1),
        lambda x, xp: xp.diagonal(x, offset=2, axis1=-2, axis2=-1),
        lambda x, xp: xp.diagonal(x, offset=-3, axis1=0, axis2=1),
        lambda x, xp: xp.diagonal(x, offset=-2, axis1=2, axis2=0),
        lambda x, xp: xp.diagonal(x, offset=9, axis1=0, axis2=1),
    ],
    "diag": [
        lambda x, xp: xp.diag(x[0], k=1),
        lambda x, xp: xp.diag(x[0, 0], k=-2),
        lambda x, xp: xp.diag(x[0, 0, :0]),
    ],
    "meshgrid": [
        lambda x, xp: xp.meshgrid(x[0, 0], x[1, :2, 0])[0],
        lambda x, xp: xp.meshgrid(x[0, 0], x[1, :2, 0], x[0, 1], indexing="ij")[2],
    ],
    "linspace": [
        lambda x, xp: xp.linspace(x[0], x[1], 4),
        lambda x, xp: xp.linspace(x[0], 2.0, 3, endpoint=False),
    ],
    "concat": [lambda x, xp: xp.concat([x, x[:1] * x[1:2]], axis=0)],
}
CASES = [
    pytest.param(f, id=f"{name}-{n}") for name, all in FUNCTIONS.items() for n, f in enumerate(all)
]


@pytest.mark.parametrize("f", CASES)
def test_function(f):
    expected, pull = jax.vjp(lambda x: f(x, jnp), X)
    g = np.asarray(drawn(expected.shape, 1))
    (gx,) = pull(g)
    value, found = pullback(lambda x: f(x, wg), X, g)
    assert value.shape == expected.shape
    assert np.allclose(value, expected, rtol=1e-13, atol=1e-14)
    found = np.zeros_like(X) if found is None else found
    assert np.allclose(found, gx, rtol=1e-12, atol=1e-15)
    assert np.array_equal(f(X, wg), value)
    assert np.array_equal(traced(lambda x: f(x, wg), X), value)
    dx = drawn(X.shape, 2)
    assert np.isclose(np.sum(pushforward(lambda x: f(x, wg), X, dx) * g), np.sum(dx * gx))


def test_creation():
    require_same(wg.zeros((2, 3)), np.zeros((2, 3)))
    require_same(wg.ones(3, dtype=np.int32), np.ones(3, np.int32))
    require_same(wg.empty((2, 0)), np.zeros((2, 0)))
    require_same(wg.full((2,), np.float32(3)), np.full((2,), np.float32(3)))
    require_same(wg.zeros_like(X.astype("float32")), np.zeros(X.shape, "float32"))
    require_same(wg.ones_like(2), np.ones((), np.int64))
    require_same(wg.full_like([1.0, 2.0], 7), np.full(2, 7.0))
    require_same(wg.arange(2, 9, 3), np.arange(2, 9, 3))
    require_same(wg.arange(0.5, -2, -0.5), np.arange(0.5, -2, -0.5))
    require_same(wg.linspace(0, 1, 5), np.linspace(0, 1, 5))
    require_same(wg.linspace(0, 1, 5, dtype="float32"), np.linspace(0, 1, 5, dtype="float32"))
    require_same(wg.eye(3), np.eye(3))
    require_same(wg.eye(2, 4, k=-1, dtype=bool), np.eye(2, 4, -1, dtype=bool))
    require_same(wg.asarray([1, 2]), np.array([1, 2]))
    require_same(wg.asarray([1, 2], dtype=np.float32), np.array([1, 2], np.float32))
    require_same(traced(lambda x: wg.zeros_like(x) + wg.asarray(x), X), X)


def test_creation_refuses_what_is_computed():
    with pytest.raises(TraceError, match="arange: a Tensor was given"):
        traced(lambda t: wg.arange(t), np.array(3))
    with pytest.raises(ShapeError, match="full: given a Tensor of shape"):
        traced(lambda t: wg.full((2,), t), np.array([3, 4]))
    with pytest.raises(ShapeError, match=r"arange: .* step 0"):
        wg.arange(0, 3, 0)
    with pytest.raises(DTypeError, match="asarray"):
        wg.asarray([1j])


def test_rounding_has_no_tangent():
    def f(x):
        return x + wg.astype(wg.astype(x, np.int64), np.float64)

    require_same(pushforward(f, np.array(2.5), np.array(1.0)), np.array(1.0))


def test_mixed_dtypes_meet_in_concat():
    x, y, z = np.ones(2, "float32"), np.ones(3), np.ones(1, "int64")
    assert wg.concat([x, z]).dtype == np.concatenate([x, z]).dtype
    value, gx = pullback(lambda x: wg.concat([x, y, z]), x, np.arange(6.0))
    assert value.dtype == np.float64
    require_same(gx, np.array([0, 1], "float32"))


REFUSALS = [
    (ShapeError, "concat: no arrays", lambda: wg.concat([])),
    (ShapeError, r"concat: given shapes \(2, 3\) and \(2, 4\)", lambda: concat_of((2, 3), (2, 4))),
    (ShapeError, r"concat: given shapes \(2,\) and \(2, 4\)", lambda: concat_of((2,), (2, 4))),
    (ShapeError, "concat: axis 2", lambda: wg.concat([X[0]], axis=2)),
    (ShapeError, "concat: axis 0 .* 0-d", lambda: concat_of((), ())),
    (ShapeError, "stack: given shapes", lambda: wg.stack([X[0], X[0, 0]])),
    (ShapeError, "scatter_add: updates of shape", lambda: wg.scatter_add(X, [0], X[None])),
    (ShapeError, "split: 3 equal parts of an axis of size 4", lambda: wg.split(X, 3, axis=1)),
    (ShapeError, "pad: .* negative", lambda: wg.pad(X, -1)),
    (ShapeError, "pad: pad_width .* one pair", lambda: wg.pad(X, ((1, 1), (2, 2)))),
    (DTypeError, "pad: constant_values 0.5", lambda: wg.pad(np.arange(3), 1, 0.5)),
    (ShapeError, r"repeat: repeats \[1, 2\]", lambda: wg.repeat(X, [1, 2], axis=0)),
    (ShapeError, "tile: .* negative", lambda: wg.tile(X, -1)),
    (ShapeError, "tril: .* two axes", lambda: wg.tril(X[0, 0])),
    (ShapeError, "diagonal: .* two axes", lambda: wg.diagonal(X[0, 0])),
    (ShapeError, "diag: .* vector or a matrix", lambda: wg.diag(X)),
    (ShapeError, "squeeze: axis 1", lambda: wg.squeeze(X, axis=1)),
    (ShapeError, "expand_dims: axis", lambda: wg.expand_dims(X, axis=5)),
    (ShapeError, "moveaxis: given 2 source and 1", lambda: wg.moveaxis(X, (0, 1), 0)),
    (ShapeError, "roll: given 2 shifts and 3 axes", lambda: wg.roll(X, (1, 2), (0, 1, 2))),
    (ShapeError, "permute_dims: axes", lambda: wg.permute_dims(X, (0, 0, 1))),
    (ShapeError, "reshape: given shape", lambda: wg.reshape(X, (7, -1))),
    (ShapeError, "broadcast_to: ", lambda: wg.broadcast_to(X, (4, 5))),
    (DTypeError, "take: .* wg.where", lambda: wg.take(X, np.array([True]), axis=0)),
    (DTypeError, "take: an index of dtype float64", lambda: wg.take(X, 1.5, axis=0)),
    (ShapeError, "take_along_axis: .* as many axes", lambda: wg.take_along_axis(X, [0], axis=0)),
    (ShapeError, "scatter_add: operands have shapes", lambda: wg.scatter_add(X, [0], X[0, 0, :2])),
    (DTypeError, "one_hot: ", lambda: wg.one_hot([0.5], 3)),
    (ShapeError, "sort: axis", lambda: wg.sort(np.asarray(1.0))),
    (ShapeError, "searchsorted: given shape", lambda: wg.searchsorted(X, 1.0)),
]


def concat_of(*shapes):
    return wg.concat([np.ones(shape) for shape in shapes])


@pytest.mark.parametrize(("error", "message", "call"), REFUSALS)
def test_function_refuses(error, message, call):
    with pytest.raises(error, match=message):
        call()


# The functions with index operands.


def test_repeated_updates_add_up():
    updates = drawn((5, 2), 1)
    index = np.array([1, 1, -2, 0, 1])
    expected = X[0, :, :2].copy()
    np.add.at(expected, index, updates)
    assert np.allclose(wg.scatter_add(X[0, :, :2], index, updates), expected)


def test_sort_is_stable():
    x = np.array([2, 1, 2, 0, 1, 2])
    require_same(wg.argsort(x), np.argsort(x, kind="stable"))
    require_same(wg.argsort(x, descending=True), np.argsort(-x, kind="stable"))
    require_same(wg.sort(x, descending=True), np.sort(x)[::-1])
    least = np.array([-128, 127, -128, 0], np.int8)
    require_same(wg.argsort(least, descending=True), np.array([1, 3, 0, 2]))
    require_same(np.isnan(wg.sort(np.array([np.nan, 1.0, 0.0]))), np.array([False, False, True]))


def test_one_hot():
    expected = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]], np.float32)
    require_same(wg.one_hot([0, 2, 3], 3), expected)
    require_same(traced(lambda t: wg.one_hot(t, 3), np.array([0, 2, 3])), expected)


@pytest.mark.parametrize("fill", [np.float64(1.5), np.full((1, 1), 1.5), np.int64(3)])
@pytest.mark.parametrize("dtype", [None, np.float32])
def test_full_of_a_computed_number_is_full_of_its_value(fill, dtype):
    shape = (2, 3)
    computed = wg.compile(lambda x: wg.full(shape, x, dtype=dtype))(fill)
    expected = wg.full(shape, fill, dtype=dtype)
    assert computed.dtype == expected.dtype
    np.testing.assert_array_equal(computed, expected)
    like = wg.compile(lambda x: wg.full_like(np.ones(shape, np.float32), x))(fill)
    assert like.dtype == np.float32
    np.testing.assert_array_equal(like, np.full(shape, fill.item(), np.float32))


def test_full_of_a_computed_number_has_its_gradient():
    weights = np.arange(6.0).reshape(2, 3)
    loss = lambda x: wg.sum(weights * wg.full((2, 3), x) ** 2)  # noqa: E731
    np.testing.assert_allclose(wg.grad(loss)(0.5), np.sum(2 * weights * 0.5))
    np.testing.assert_allclose(wg.jvp(loss, (0.5,), (2.0,))[1], 2 * np.sum(2 * weights * 0.5))
    np.testing.assert_array_equal(
        wg.vmap(lambda x: wg.full(2, x))(np.arange(3.0)), [[0, 0], [1, 1], [2, 2]]
    )


@pytest.mark.parametrize("repeat", [wg.repeat, np.repeat])
@pytest.mark.filterwarnings("error")
def test_repeats_of_an_open_size_leave_it_open(repeat):
    def f(row, rows):
        return repeat(row[None], rows.shape[0], axis=0) - rows

    compiled = wg.compile(f, dims={"rows": {0: wg.Dim("n")}})
    for n in (2, 5):
        rows = np.arange(3.0 * n).reshape(n, 3)
        np.testing.assert_array_equal(compiled(np.ones(3), rows), 1.0 - rows)
    assert len(compiled.programs) == 1
