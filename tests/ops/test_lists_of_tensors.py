"""Lists with Tensors in them: joined by wg.array, by every function of wg, and refused by NumPy in
words that help. Beside it what else people type first: repeats per element, labels of einsum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, ShapeError, TraceError

X = np.array([1.0, -2.0, 3.0])
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("way", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_nested_lists_are_one_array(way: Any):
    def f(x: Any) -> Any:
        return wg.array([[x[0] * x[1], 5.0], (x[2], np.float64(7.0))])

    assert way(f)(X).tolist() == [[-2.0, 5.0], [3.0, 7.0]]
    gradient = way(wg.grad(lambda x: wg.sum(f(x) * WEIGHTS)))(X)
    assert gradient.tolist() == [-2.0, 1.0, 3.0]
    assert way(lambda x: wg.array([x, 2 * x]))(X).shape == (2, 3)


def test_array_of_plain_values_is_new():
    found = wg.array(X)
    assert found is not X
    assert not np.shares_memory(found, X)
    assert wg.array([[1, 2], [3, 4]]).dtype == np.int64
    assert wg.array([1, 2], dtype=np.float32).dtype == np.float32
    assert wg.array(2.5).shape == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_take_the_dtype_of_tensors(dtype: Any):
    assert (
        wg.trace(lambda x: wg.array([x[0], 1.5, 2]), X.astype(dtype)).output_types()[0].dtype
        == dtype
    )


LISTS = {
    "mean": (lambda x: wg.mean([x[0], x[1], 4.0]), [1 / 3, 1 / 3, 0.0]),
    "sum": (lambda x: wg.sum([[x[0]], [x[1] * x[1]]]), [1.0, -4.0, 0.0]),
    "max": (lambda x: wg.max([x[0], x[2], 2.0]), [0.0, 0.0, 1.0]),
    "norm": (lambda x: wg.linalg.norm([x[2], 4.0]), [0.0, 0.0, 0.6]),
    "an operator": (lambda x: wg.sum(x[:2] * [x[2], 2.0]), [3.0, 2.0, 1.0]),
    "np.add": (lambda x: wg.sum(np.add([x[0], 1.0], x[1:])), [1.0, 1.0, 1.0]),
    "np.dot": (lambda x: np.dot(x[:2], [x[2], 1.0]), [3.0, 1.0, 1.0]),
    "np.where": (lambda x: wg.sum(np.where(x > 0, [x[1], x[1], x[1]], x)), [0.0, 3.0, 0.0]),
    "np.stack": (lambda x: np.sum(np.stack([x[0], 2.0, x[2]])), [1.0, 0.0, 1.0]),
    "asarray": (lambda x: wg.asarray([x[0], x[0]])[1], [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_functions_of_wg_take_lists(name: str):
    f, expected = LISTS[name]
    np.testing.assert_allclose(wg.grad(f)(X), expected, rtol=1e-14)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.array([x[0], x[1]]), r"np.array: .*wg.array\(\[a, b\]\)"),
        (lambda x: np.mean([x[0], x[1]]), r"np.mean: .*Write wg.mean, which takes lists"),
        (lambda x: np.sum((x[0], x[1])), r"np.sum: .*Write wg.sum, which takes lists"),
        (lambda x: np.linalg.norm([x[0]]), r"np.linalg.norm: .*Write wg.linalg.norm, which takes"),
        (lambda x: np.trapezoid([x[0], 1.0]), r"np.trapezoid: .*Write np.trapezoid\(wg.array"),
        (lambda x: np.r_[[x[0], x[1]], 1.0], r"np.r_: .*Write np.r_\[wg.array\(\[a, b\]\), c\]"),
        (lambda x: np.c_[[x[0]], [1.0]], r"np.c_: .*Write np.c_\[wg.array\(\[a, b\]\), c\]"),
    ],
)
def test_what_numpy_makes_an_array_of(call: Any, message: str):
    for transform in (wg.grad, wg.trace, wg.compile):
        with pytest.raises(TraceError, match=message):
            wg.trace(call, X) if transform is wg.trace else transform(call)(X)


JOINS: dict[str, Any] = {
    "vectors": lambda x: np.r_[x, 2 * x],
    "columns": lambda x: np.c_[x, 2 * x, np.ones(3)],
    "numbers and a range": lambda x: np.r_[x, 1, 0:3],
    "elements": lambda x: np.r_[x[0], 5.0, x[2]],
    "one": lambda x: np.r_[x],
    "matrices": lambda x: np.c_[np.outer(x, x), np.eye(3)],
    "axis in a text": lambda x: np.r_["-1", x[None], x[None]],
    "new axes in front": lambda x: np.r_["0,2", x, np.eye(3)],
    "new axes behind": lambda x: np.r_["1,2,0", x, np.eye(3), x],
    "integers among floats": lambda x: np.r_[x, np.arange(2), wg.argsort(x)],
}


@pytest.mark.parametrize("name", JOINS)
def test_r_and_c_join_tensors(name: str):
    """NumPy makes arrays of the items itself; its own result is the oracle."""
    f = JOINS[name]
    expected = f(X)
    compiled = wg.compile(f)(X)
    assert compiled.dtype == expected.dtype
    assert np.array_equal(compiled, expected)
    assert np.array_equal(wg.vmap(f)(np.stack([X, 3 * X])), np.stack([expected, f(3 * X)]))
    wg.check_grads(f, [X], order=1)


def test_r_of_sizes_that_are_not_known():
    with pytest.raises(TraceError, match=r"np.r_: .*wg.concat\(\[x, y\]\)"):
        wg.trace(lambda x: np.r_[x, x], X, dims={"x": {0: wg.Dim("n")}})


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_r_of_a_matrix_text():
    with pytest.raises(TraceError, match=r"np\.r_: given a Tensor"):
        wg.grad(lambda x: np.sum(np.r_["c", x]))(X)


def test_shapes_that_differ():
    with pytest.raises(
        ShapeError, match=r"array: given a list of arrays of shapes \(3,\) and \(\)"
    ):
        wg.grad(lambda x: wg.sum(wg.array([x, x[0]])))(X)


# einsum with labels.

A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) - 5
LABELS: dict[str, Any] = {
    "a product": (lambda np, a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2])),
    "no result": (lambda np, a, b: np.einsum(a, [5, 1], b, [1, 3])),
    "a transpose": (lambda np, a, b: np.einsum(a, [1, 0])),
    "large labels": (lambda np, a, b: np.einsum(a, [40, 7], b, [7, 0], [0, 40])),
    "an ellipsis": (lambda np, a, b: np.einsum(a, [Ellipsis, 1], b, [1, 2], [Ellipsis, 2])),
    "a sum": (lambda np, a, b: np.einsum(a, [0, 1], [])),
}


@pytest.mark.parametrize("name", LABELS)
def test_einsum_with_labels(name: str):
    f = LABELS[name]
    np.testing.assert_allclose(f(wg, A, B), f(np, A, B), rtol=1e-14)
    np.testing.assert_allclose(wg.compile(lambda a, b: f(np, a, b))(A, B), f(np, A, B), rtol=1e-14)
    wg.check_grads(lambda a, b: f(np, a, b), [A, B])


def test_einsum_without_labels():
    for call in (lambda: wg.einsum(A), lambda: wg.einsum(A, B), lambda: wg.einsum(A, [-1, 0])):
        with pytest.raises(DTypeError, match=r"or operands and lists of integers in turn"):
            call()


# repeat, as often as it says for each.


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repeats_of_their_own(axis: Any):
    repeats = {
        None: [2, 0, 1, 0, 3, 1],
        0: [2, 1],
        1: [0, 2, 1],
        -1: np.array([1, 0, 2], np.uint8),
    }[axis]
    expected = np.repeat(A, repeats, axis)
    assert np.array_equal(wg.repeat(A, repeats, axis), expected)
    assert np.array_equal(wg.compile(lambda a: np.repeat(a, repeats, axis))(A), expected)
    wg.check_grads(lambda a: np.repeat(a, repeats, axis), [A])
    assert np.array_equal(wg.repeat(A, np.array([2]), 0), np.repeat(A, [2], 0))
    assert wg.repeat(A, [0, 0], 0).shape == (0, 3)


@pytest.mark.parametrize("repeats", [[1, 2], [1, -1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0]], ids=str)
def test_repeats_that_do_not_fit(repeats: Any):
    with pytest.raises(ShapeError, match=r"repeat: repeats .* for an axis of size 3"):
        wg.repeat(X, repeats)


def test_repeats_that_are_traced():
    with pytest.raises(TraceError, match=r"how many elements there .*total_repeat_length=n"):
        wg.compile(lambda x, n: wg.repeat(x, n))(X, np.array([1, 2, 3]))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_traced_repeats_of_a_known_sum(axis: Any):
    repeats = {None: [2, 0, 1, 0, 3, 1], 0: [2, 1], 1: [0, 2, 5]}[axis]
    expected = np.repeat(A, repeats, axis)
    total = sum(repeats)

    def f(a: Any, n: Any) -> Any:
        return wg.repeat(a, n, axis, total_repeat_length=total)

    compiled = wg.compile(f)
    assert np.array_equal(compiled(A, np.array(repeats)), expected)
    assert np.array_equal(f(A, repeats), expected)
    gradient = wg.compile(wg.grad(lambda a, n: wg.sum(f(a, n) ** 2)))(A, np.array(repeats))
    counts = np.array(repeats)[:, None] if axis == 0 else np.array(repeats)
    np.testing.assert_allclose(
        gradient, 2 * A * counts.reshape(A.shape if axis is None else counts.shape)
    )
    short = compiled(A, np.zeros(len(repeats), np.int64))  # the last element fills it
    rows = A.reshape(-1) if axis is None else A
    assert np.array_equal(short, np.repeat(np.take(rows, [-1], axis or 0), total, axis or 0))


def test_traced_repeats_that_do_not_fit():
    def f(x: Any, n: Any) -> Any:
        return wg.repeat(x, n, total_repeat_length=4)

    for repeats in (np.array([1, 2]), np.ones(3)):
        with pytest.raises(ShapeError, match=r"repeat: repeats of dtype .* an axis of size 3"):
            wg.compile(f)(X, repeats)
    with pytest.raises(ShapeError, match=r"total_repeat_length=4 was given .* make 6 elements"):
        f(X, [1, 2, 3])
    with pytest.raises(ShapeError, match=r"total_repeat_length=4 was given .* make 6 elements"):
        f(X, 2)


# Arrays of outside, indexed by what is traced.


def test_tables_indexed_on_several_axes():
    table = np.arange(24.0).reshape(2, 3, 4)
    found = wg.compile(lambda i, j: wg.asarray(table)[i, :, j])(np.array([0, 1]), np.array([3, -1]))
    assert np.array_equal(found, table[[0, 1], :, [3, -1]])
    found = wg.compile(lambda i: wg.asarray(table)[i, i + 1, 1:3])(np.array(1))
    assert np.array_equal(found, table[1, 2, 1:3])
    with pytest.raises(TraceError, match=r"wg.asarray\(array\)\[i, j\]"):
        wg.compile(lambda i: table[i])(np.array(1))


@pytest.mark.parametrize("call", [lambda f, x: f(x), lambda f, x: wg.grad(f)(x)])
def test_a_list_of_models_is_no_operand(call):
    models = [wg.nn.Linear(2, 3), wg.nn.Linear(3, 1)]
    with pytest.raises(
        DTypeError,
        match=r"^tanh: given a Linear as an operand, a network; .*Call it, net\(x\)",
    ):
        call(lambda x: wg.tanh((np.ones(2), [x])), models)


def test_a_ragged_list_of_arrays_is_no_operand():
    with pytest.raises(ShapeError, match=r"^tanh: given a list of arrays of different shapes"):
        wg.tanh([np.ones(2), np.ones(3)])
    with pytest.raises(ShapeError, match=r"shapes \(2,\) and \(3,\).* wg\.tree\.map"):
        wg.grad(lambda x: wg.sum(wg.tanh(x)))([np.ones(2), np.ones(3)])


def test_a_tree_is_detached_as_a_tree():
    """A list of arrays of one shape, too, which other functions join to one array."""

    def f(x: Any) -> Any:
        still = wg.stop_gradient({"pair": [x, 2 * x], "layer": (x[0], 7)})
        assert isinstance(still["pair"], list)
        assert still["layer"][1] == 7
        return wg.sum(x * still["pair"][1]) + still["layer"][0]

    np.testing.assert_array_equal(wg.grad(f)(X), 2 * X)
    np.testing.assert_array_equal(wg.compile(wg.grad(f))(X), 2 * X)
    layer = wg.nn.Linear(2, 3)
    found = wg.grad(lambda layer: wg.sum(wg.stop_gradient(layer)(np.ones((1, 2)))))(layer)
    assert not np.any(found.weight)


JOINED = {
    "a float beside float32": (lambda x: wg.array([x[0], 0.5]), np.float32, np.float32),
    "an integer beside float32": (lambda x: wg.array([x[0], 2]), np.float32, np.float32),
    "nested": (lambda x: wg.array([[x[0], 0.5], [2, x[1]]]), np.float32, np.float32),
    "an array beside a list": (lambda x: wg.array([x, [1, 2, 3.5]]), np.float32, np.float32),
    "a float beside integers": (lambda x: wg.asarray([x[0], 0.5]), np.int32, np.float64),
    "an integer that fits": (lambda x: wg.array([x[0], 2]), np.int32, np.int32),
    "one that does not": (lambda x: wg.array([x[0], 300]), np.uint8, np.int64),
}


@pytest.mark.parametrize("case", JOINED)
def test_numbers_in_lists_take_the_dtype_of_arrays_in_every_way_of_calling(case):
    function, given, expected = JOINED[case]
    x, compiled = np.arange(3, dtype=given), wg.compile(function)
    plain = function(x)
    with wg.eager():
        eager = compiled(x)
    for found in (plain, eager, compiled(x)):
        assert found.dtype == expected
        np.testing.assert_array_equal(found, plain)
