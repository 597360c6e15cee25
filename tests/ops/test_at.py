"""x.at[key].set(v) and its siblings: NumPy's values, derivatives by differences, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiler.running import require_eager

import wengert as wg
from wengert.errors import DTypeError, MissingAttribute, ShapeError, TraceError

rng = np.random.default_rng(17)
X = rng.standard_normal((3, 4))
UFUNCS = {
    "set": None,
    "add": np.add,
    "multiply": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
KEYS: dict[str, Any] = {
    "one row": 1,
    "from the end": -1,
    "one element": (1, 2),
    "column": (slice(None), 2),
    "slice": slice(1, 3),
    "backwards": (slice(None, None, -2), slice(1, None)),
    "nothing": slice(2, 2),
    "all": Ellipsis,
    "new axis": (None, 1),
    "rows": np.array([0, 2]),
    "rows, repeated": np.array([0, 2, 0, -1, 0]),
    "one row again and again": np.array([1] * 7),
    "elements, repeated": (np.array([0, 1, 1]), np.array([1, 2, -2])),
    "columns of a slice": (slice(1, 3), np.array([0, 0, 3])),
    "apart": (np.array([0, 0]), None, np.array([1, 1])),
    "a list": [2, 2],
    "broadcast": (np.array([[0], [2]]), np.array([1, 1, 3])),
    "no index": np.zeros(0, np.int64),
    "a mask": X > 0,
    "a mask of rows": np.array([True, False, True]),
}


def numpy_update(way: str, x: Any, key: Any, v: Any) -> Any:
    out = np.array(x)
    ufunc = UFUNCS[way]
    if ufunc is None:
        out[key] = v
    else:
        ufunc.at(out, key, v)
    return out


def update(way: str, key: Any) -> Any:
    return lambda x, v: getattr(wg.at(x)[key], way)(v)


@pytest.mark.parametrize("way", UFUNCS)
@pytest.mark.parametrize("name", KEYS)
def test_values_and_derivatives(name: str, way: str):
    key = KEYS[name]
    for v in (rng.standard_normal(X[key].shape), np.array(0.3)):
        expected = numpy_update(way, X, key, v)
        np.testing.assert_allclose(update(way, key)(X, v), expected, rtol=1e-14)
        if v.size:
            wg.check_grads(update(way, key), [X, v])
    assert np.array_equal(wg.at(X)[key].get(), X[key])


@pytest.mark.parametrize("way", UFUNCS)
@pytest.mark.parametrize("name", ["column", "backwards", "rows, repeated", "broadcast", "a mask"])
def test_compiled(name: str, way: str):
    key, v = KEYS[name], rng.standard_normal(X[KEYS[name]].shape)
    require_eager(update(way, key), X, v)
    loss = lambda x, v: wg.sum(wg.sin(update(way, key)(x, v)) * X)  # noqa: E731
    require_eager(wg.grad(loss, argnums=(0, 1)), X, v)


@pytest.mark.parametrize("way", UFUNCS)
def test_indices_that_are_traced(way: str):
    """Whether they are repeated is known only when the program runs."""
    f = lambda x, i, v: getattr(x.at[:, i], way)(v)  # noqa: E731
    loss = lambda x, v, i: wg.sum(wg.sin(getattr(wg.at(x)[:, i], way)(v)) * X)  # noqa: E731
    compiled, gradient = wg.compile(f), wg.compile(wg.grad(loss, argnums=(0, 1)))
    for i in ([0, 1, 2], [1, 1, 1], [-1, 3, 0]):
        v = rng.standard_normal((3, 3))
        expected = numpy_update(way, X, (slice(None), i), v)
        np.testing.assert_allclose(compiled(X, np.array(i), v), expected, rtol=1e-14)
        found, wanted = gradient(X, v, np.array(i)), wg.grad(loss, argnums=(0, 1))(X, v, i)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    with pytest.raises(IndexError, match="index 4 was given for axis 0 of size 4"):
        compiled(X, np.array([0, 4, 1]), X[:, :3])


def test_open_sizes():
    f = wg.compile(
        lambda x, i, v: (x.at[i].set(v), x.at[i].add(v), x.at[1:].multiply(2.0)),
        dims={"x": {0: wg.Dim("n")}, "i": {0: wg.Dim("m")}, "v": {0: wg.Dim("m")}},
    )
    for n, m in ((4, 3), (7, 0), (2, 9)):
        x, i, v = rng.standard_normal((n, 2)), rng.integers(0, n, m), rng.standard_normal((m, 2))
        found = f(x, i, v)
        np.testing.assert_allclose(found[0], numpy_update("set", x, i, v))
        np.testing.assert_allclose(found[1], numpy_update("add", x, i, v), rtol=1e-13)
        np.testing.assert_allclose(found[2], np.concatenate([x[:1], x[1:] * 2]))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("way", ["max", "min"])
def test_extremes_of_open_sizes(way: str, dtype: Any):
    f = wg.compile(
        lambda x, i, v: getattr(x.at[i], way)(v),
        dims={"i": {0: wg.Dim("m")}, "v": {0: wg.Dim("m")}},
    )
    for m in (3, 0, 40):
        x, v = (rng.integers(0, 200, (n, 2)).astype(dtype) for n in (5, m))
        i = rng.integers(-5, 5, m)
        if dtype is np.float64 and m:
            v[0], v[1], v[2] = np.nan, -np.inf, np.inf
        np.testing.assert_array_equal(f(x, i, v), numpy_update(way, x, i, v))
    assert len(f.programs) == 1


def test_a_step_with_the_largest_of_each_segment():
    recorded = []

    def loss(m: Any, x: Any, to: Any) -> Any:
        recorded.append("once")
        return wg.mean(wg.at(wg.zeros(4, np.float32))[to].max(m * x))

    step = wg.TrainStep(loss, np.ones(1, np.float32), wg.optim.SGD(0.0))
    assert step(np.arange(6, dtype=np.float32), np.array([0, 1, 1, 2, 3, 3])) == 2.5
    np.testing.assert_array_equal(step.gradients, [2.5])
    assert step(np.arange(3, dtype=np.float32), np.array([0, 1, 1])) == 0.5
    assert recorded == ["once"]


def test_the_gradient_of_set_goes_to_the_last():
    gx, gv = wg.grad(lambda x, v: wg.sum(x.at[[1, 1, 0]].set(v) * np.arange(1.0, 4)), (0, 1))(
        np.zeros(3), np.ones(3)
    )
    assert gx.tolist() == [0.0, 0.0, 3.0]
    assert gv.tolist() == [0.0, 2.0, 1.0]


def test_the_gradient_of_multiply_at_zeros():
    f = lambda v: wg.sum(wg.at(np.full(2, 3.0))[[0, 0, 0]].multiply(v))  # noqa: E731
    assert wg.grad(f)(np.array([2.0, 0.0, 5.0])).tolist() == [0.0, 30.0, 0.0]
    assert wg.hessian(f)(np.array([2.0, 0.0, 0.0]))[1, 2] == 6.0


@pytest.mark.parametrize("way", ["max", "min"])
@pytest.mark.parametrize("compiled", [False, True])
def test_ties_share_evenly(way: str, compiled: bool):
    f = lambda x, v: wg.sum(getattr(x.at[[0, 0, 1]], way)(v))  # noqa: E731
    gradient = wg.grad(f, argnums=(0, 1))
    gx, gv = (wg.compile(gradient) if compiled else gradient)(np.ones(3), np.ones(3))
    np.testing.assert_allclose(gx, [1 / 3, 1 / 2, 1.0], rtol=1e-15)
    np.testing.assert_allclose(gv, [1 / 3, 1 / 3, 1 / 2], rtol=1e-15)


def test_masks_that_are_traced():
    relu = lambda x: x.at[x < 0].set(0.0)  # noqa: E731
    assert np.array_equal(wg.compile(relu)(X), np.maximum(X, 0))
    require_eager(wg.grad(lambda x: wg.sum(wg.at(x)[x < 0].multiply(3.0))), X)
    rows = wg.compile(lambda x, m: x.at[m].add(np.arange(4.0)))
    mask = np.array([True, False, True])
    assert np.array_equal(rows(X, mask), numpy_update("add", X, mask, np.arange(4.0)))
    with pytest.raises(ShapeError, match=r"a mask of shape \(3, 4\).*first axes"):
        wg.compile(lambda x, m: x.at[m].set(0.0))(X[:, :2], X > 0)
    with pytest.raises(TraceError, match="mask"):
        wg.compile(lambda x: x.at[x < 0].get())(X)


def test_signs_of_zeros_and_infinities_stay():
    x = np.array([-0.0, np.inf, 1.0])
    for key in ([2, 2], slice(2, 3)):
        for way in UFUNCS:
            found = getattr(wg.at(x)[key], way)(2.0)
            assert np.array_equal(np.signbit(found[:2]), [True, False])
            assert found[1] == np.inf
    assert np.signbit(wg.at(x)[[2]].set(-0.0)[2])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
def test_dtypes_stay(dtype: Any):
    x = np.array([1, 0, 1]).astype(dtype)
    assert wg.at(x)[1].set(True if dtype == np.bool_ else 1).dtype == dtype
    assert wg.at(x)[[1, 1]].set(np.array([0, 1], dtype))[1] == 1
    assert wg.at(x)[1].set(x[0]).dtype == dtype
    if dtype != np.bool_:
        assert wg.at(x)[[1, 1]].add(1).tolist() == [1, 2, 1]
        assert wg.at(x)[[1, 1]].max(x[:2]).dtype == dtype


def test_nothing_is_changed_in_place():
    x = np.zeros(3)
    found = wg.at(x)[...].set(np.ones(3))
    found[0] = 5.0
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: wg.at(x)[1].set(np.ones(5)), ShapeError, r"shape \(5,\) for a part of shape"),
        (lambda x: wg.at(x)[[1]].set(np.ones(5)), ShapeError, r"at.set: .*part of shape \(1, 4\)"),
        (lambda x: wg.at(x)[3].set(1.0), IndexError, "index 3 was given for axis 0 of size 3"),
        (lambda x: wg.at(x)[[0, 3]].add(1.0), IndexError, "at.add: index 3 was given"),
        (lambda x: wg.at(x.astype(int))[0].set(1.5), DTypeError, "float64 for an array of int64"),
        (lambda x: wg.at(x > 0)[0].add(True), DTypeError, "an array of bools"),
        (lambda x: wg.at(x)[0].divide(2.0), MissingAttribute, "at.divide: there is no such update"),
        (lambda x: wg.at(x)[0, 0, 0].set(2.0), IndexError, "3 indices were given"),
    ],
)
def test_refusals(call: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        call(X)
    with pytest.raises(error, match=rf"{message}.*test_at.py"):
        wg.trace(call, X)


def test_assignment_says_what_to_write():
    with pytest.raises(TypeError, match=r"x = x.at\[key\].set\(values\)"):
        wg.at(X)[0] = 1.0
    with pytest.raises(TraceError, match=r"x = x.at\[key\].set\(value\)"):
        wg.trace(lambda x: x.__setitem__(0, 1.0), X)


def test_which_update_is_last():
    found = wg.op.last_at(np.array([1, -1, 1, 0]), 4)
    assert found.tolist() == [3, 2, -1, 1]
    with pytest.raises(IndexError, match="index 4 was given for 4 positions"):
        wg.op.last_at(np.array([4]), 4)
