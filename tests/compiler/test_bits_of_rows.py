"""A row's output has the same bits alone and inside any batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

ROWS = 67
DEPTHS = (1, 7, 40, 300)  # of the sums inside a product
COLUMNS = (1, 2, 10, 17)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# Which of the operands is stored the other way round.
TRANSPOSITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "xw": lambda x, w: x @ w,
    "xwT": lambda x, w: x @ w.T,
    "xTw": lambda x, w: x.T @ w,
    "xTwT": lambda x, w: x.T @ w.T,
}


def real(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(sum(shape)).uniform(-2, 2, shape).astype(dtype)


def same(x: Any, y: Any) -> bool:
    return np.array_equal(x, y)


def require_rows(run: Callable[[Any], Any], x: Any) -> None:
    """Every batch that begins anywhere, and every row alone, gives the rows of the whole."""
    whole = run(x)
    for count in range(1, len(x) + 1):
        start = (count * 29) % (len(x) - count + 1)
        found = run(x[start : start + count])
        assert same(found, whole[start : start + count]), f"{count} rows from {start}"
    for i in range(len(x)):
        assert same(run(x[i : i + 1])[0], whole[i]), f"row {i} alone"


@BOTH
@pytest.mark.parametrize("which", TRANSPOSITIONS)
def test_products_of_any_batch(which, dtype):
    """One executable for every number of rows, depth and number of columns."""
    product = TRANSPOSITIONS[which]
    m, k, n = wg.Dim("m"), wg.Dim("k"), wg.Dim("n")
    dims = {
        "x": {0: k, 1: m} if "xT" in which else {0: m, 1: k},
        "w": {0: n, 1: k} if "wT" in which else {0: k, 1: n},
    }

    def function(x: Any, w: Any) -> Any:
        return product(x, w)

    compiled = wg.compile(function, dims=dims)
    executables = set()
    for depth in DEPTHS:
        x = real(dtype, ROWS, depth)
        for columns in COLUMNS:
            w = real(dtype, depth, columns)
            w = np.ascontiguousarray(w.T) if "wT" in which else w

            def run(rows: Any, w: Any = w) -> Any:
                x = np.ascontiguousarray(rows.T) if "xT" in which else rows
                executables.add(id(compiled.executable(x, w)))
                return compiled(x, w)

            require_rows(run, x)
    assert len(executables) == 1


@BOTH
@pytest.mark.parametrize("which", TRANSPOSITIONS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_products_of_known_sizes(which, columns, dtype):
    """As above where every size is part of the program."""
    product, depth = TRANSPOSITIONS[which], 40
    x, w = real(dtype, ROWS, depth), real(dtype, depth, columns)
    w = np.ascontiguousarray(w.T) if "wT" in which else w

    def function(x: Any, w: Any) -> Any:
        parts = [x[:count] for count in range(1, ROWS + 1)]
        return [product(part.T if "xT" in which else part, w) for part in parts]

    found = wg.compile(function)(x, w)
    for count, rows in enumerate(found, 1):
        assert same(rows, found[-1][:count]), f"{count} rows"


@BOTH
def test_products_with_vectors_and_stacks(dtype):
    """A row as a vector, a stack of matrices and a column give the bits of the matrices."""

    def function(x: Any, w: Any) -> Any:
        return [
            x @ w,
            [x[i] @ w for i in range(3)],
            [w.T @ x[i] for i in range(3)],
            x @ w[:, 2],
            x[0] @ w[:, 2],
            x.reshape(4, 3, -1) @ w,
            x.reshape(4, 3, -1) @ wg.stack([w, w, w, w]),
            np.einsum("ik,kj->ij", x, w),
        ]

    x, w = real(dtype, 12, 300), real(dtype, 300, 10)
    whole, left, right, column, single, stacked, pairs, summed = wg.compile(function)(x, w)
    for i in range(3):
        assert same(left[i], whole[i])
        assert same(right[i], whole[i])
    assert same(column, whole[:, 2])
    assert single == whole[0, 2]
    assert same(stacked.reshape(12, 10), whole)
    assert same(pairs.reshape(12, 10), whole)
    assert same(summed, whole)


def network(x: Any, w: Any, b: Any, v: Any) -> Any:
    hidden = np.tanh(x @ w + b)
    return wg.softmax(wg.layer_norm(hidden, b, b) @ v)


def pulled(x: Any, w: Any, b: Any, v: Any) -> Any:
    """The gradient of a sum over rows with respect to its rows."""
    return wg.grad(lambda x: wg.sum(wg.log(network(x, w, b, v))[:, 0]))(x)


def folded(x: Any, w: Any, b: Any, v: Any) -> Any:
    """What is found along each row."""
    return wg.stack(
        [
            wg.sum(x, axis=1),
            wg.max(x, axis=1),
            wg.prod(x, axis=1),
            wg.logsumexp(x, axis=1),
            wg.var(x, axis=1),
            wg.sum(x * wg.exp(x), axis=1),
            wg.cumulative_sum(x, axis=1)[:, -1],
            wg.argmax(x, axis=1).astype(x.dtype),
        ],
        axis=1,
    )


@BOTH
@pytest.mark.parametrize("function", [network, pulled, folded])
@pytest.mark.parametrize(("depth", "columns"), [(5, 17), (40, 10), (1100, 2)])
def test_programs(function, depth, columns, dtype):
    """Through whole programs, fused as they are."""
    compiled = wg.compile(function, dims={"x": {0: wg.Dim("m")}})
    w, b, v = real(dtype, depth, columns), real(dtype, columns), real(dtype, columns, columns)
    require_rows(lambda x: compiled(x, w, b, v), real(dtype, ROWS, depth) / 2)
    assert len(compiled.programs) == 1


@BOTH
def test_programs_of_known_sizes(dtype):
    w, b, v = real(dtype, 40, 17), real(dtype, 17), real(dtype, 17, 10)
    x = real(dtype, ROWS, 40)
    compiled = wg.compile(network)
    whole = compiled(x, w, b, v)
    for count in (1, 2, 3, 7, 8, 9, 16, 31, 33, 66):
        assert same(compiled(x[:count], w, b, v), whole[:count]), f"{count} rows"


def test_a_row_that_depends_on_the_others_is_found():
    """These tests can fail."""
    compiled = wg.compile(lambda x: x + wg.sum(x) * 1e-15, dims={"x": {0: wg.Dim("m")}})
    with pytest.raises(AssertionError, match="rows from"):
        require_rows(compiled, real(np.float64, ROWS, 5))
