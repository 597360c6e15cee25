"""Sizes beyond the samples: whole vectors and their tails, blocks of sums, all integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from table.calls import Call, is_float, random_for
from table.ops import OPS, differentiable, elementwise, has_samples, of_ops

import wengert as wg
from compiler.calls_of_ops import Gradients, Values
from compiler.running import bits, require_near, run_alone, widened
from compiler.test_table import check, with_gradients
from wengert.core.dtypes import INTEGERS
from wengert.core.op import Op
from wengert.core.op_parts.samples import Exactly, Sample

RNG = np.random.default_rng(31)
SHAPES = [(1003,), (37, 53), (2, 3, 5, 17)]


def enlarged(op: Op, dtype: Any) -> list[Call]:
    """An elementwise op on larger arrays from the intervals of its samples, some broadcast."""
    found = []
    for number, shape in enumerate(SHAPES):
        first: Sample = op.samples[0]
        specs = [
            spec if isinstance(spec, Exactly) else spec._replace(shape=_part(shape, i))
            for i, spec in enumerate(first.operands)
        ]
        operands = Sample(tuple(specs), first.params).draw(random_for(op, number), dtype)
        found.append(Call(op, tuple(operands), first.params))
    return found


def _part(shape: tuple[int, ...], i: int) -> tuple[int, ...]:
    """The shape of operand i: the whole, a row, or a column."""
    if len(shape) == 1 or i == 0:
        return shape
    return shape[-1:] if i == 1 else (*shape[:-1], 1)


@of_ops(lambda op: elementwise(op) and has_samples(op))
def test_elementwise(op):
    given = [*enlarged(op, np.float64), *enlarged(op, np.float32)]
    check(Values, given)
    if differentiable(op):
        check(Gradients, with_gradients(given))


# Integers.


def takes(op: Op, dtypes: tuple[Any, ...]) -> bool:
    try:
        op(*(np.ones(2, dtype) for dtype in dtypes))
    except (TypeError, ValueError, IndexError, AttributeError):
        return False
    return True


def integers(dtype: Any) -> Any:
    """All the numbers where something happens, and some others."""
    if dtype == np.bool_:
        return np.array([False, True] * 9)
    info = np.iinfo(dtype)
    special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 63]
    special += [-1, -2, -7] * (info.min < 0)
    drawn = RNG.integers(info.min, info.max, 8, dtype, endpoint=True)
    return np.concatenate([np.array(special, dtype), drawn])


# Their second operand is not just any number: an exponent, and the order of a derivative.
CHOOSY = {"power", "polygamma"}


@of_ops(lambda op: elementwise(op) and has_samples(op) and op.name not in CHOOSY)
def test_integers(op):
    """Every pair of awkward integers, in every integer dtype, gives the very eager numbers."""
    count = len(op.call.operands)
    dtypes = [each for each in (np.dtype(bool), *INTEGERS) if takes(op, (each,) * count)]
    groups = []
    for dtype in dtypes:
        rows = list(itertools.product(*[integers(dtype)] * min(count, 2)))
        columns = [np.array(column, dtype) for column in zip(*rows, strict=True)]
        groups.append([*columns, *columns[: count - 2]][:count])
    if not groups:
        return
    function = Values([Call(op, tuple(group), {}) for group in groups])
    with np.errstate(all="ignore"):
        found = run_alone(function, *groups)
        expected = function(*groups)
    for dtype, ours, theirs in zip(dtypes, found, expected, strict=True):
        for x, y in zip(ours, theirs, strict=True):
            require_near(x, y, y, op.tolerance, False, f"of {dtype}")


def test_casts():
    """From every dtype to every dtype; floats stay inside the range of integers, NaN is 0."""
    dtypes = [np.dtype(bool), *INTEGERS, np.dtype("float32"), np.dtype("float64")]
    reals = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 127.9, -128.9, 255.9, 300, -1, 2**31, -(2.0**31)]
    reals += [1e9, 2**53 + 1, 1e18, -1e18, 2.0**63, 2.0**64, -(2.0**63), 1e30, -1e30]
    reals += [np.inf, -np.inf, np.nan]

    def function(*xs: Any) -> Any:
        return [[wg.astype(x, dtype) for dtype in dtypes] for x in xs]

    xs = [integers(d) if d.kind != "f" else np.array(reals, d) for d in dtypes]
    with np.errstate(all="ignore"):
        for x, row in zip(xs, run_alone(function, *xs), strict=True):
            for ours in row:
                theirs = clamped(x, ours.dtype)
                wrong = ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
                assert not wrong.any(), f"{x[wrong]} to {ours.dtype} is {ours[wrong]}"


def clamped(x: Any, dtype: Any) -> Any:
    """NumPy's cast where it is defined, and the nearest number where it is not."""
    found = x.astype(dtype)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        found[x >= 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i"))] = info.max
        found[x <= info.min] = info.min
        found[np.isnan(x)] = 0
    return found


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_casts_of_constants(dtype):
    """What is folded while compiling is what is computed while running."""
    x = np.array([300.0, -1.0, 1e20, -1e20, np.nan, 3.7])
    with pytest.warns(wg.errors.TargetsWarning, match="floats with NaN"):
        given = wg.compile(lambda x: wg.astype(x, dtype))(x)
    known = wg.compile(lambda zero: wg.astype(wg.asarray(x), dtype) + zero)(np.zeros(6, dtype))
    assert np.array_equal(given, known)


def test_powers_of_integers_are_integers():
    compiled = wg.compile(lambda x, y: x**y)
    x, y = np.array([2, 3, -3, 0, 1, 7]), np.array([62, 5, 3, 0, 100, 1])
    assert np.array_equal(compiled(x, y), x**y)
    with pytest.raises(wg.errors.DTypeError, match=r"power: .*negative exponent"):
        compiled(x, -y)


# Folds and what runs along an axis.

LENGTHS = (0, 1, 2, 15, 16, 17, 63, 64, 65, 255, 257, 1023, 1024, 1025, 4099)
FOLDS: dict[str, Callable[..., Any]] = {
    "sum": wg.sum,
    "mean": wg.mean,
    "prod": wg.prod,
    "max": wg.max,
    "min": wg.min,
    "var": wg.var,
    "logsumexp": wg.logsumexp,
    "argmax": wg.argmax,
    "any": lambda x, axis: wg.any(x > 1.9, axis=axis),
    "all": lambda x, axis: wg.all(x < 1.9, axis=axis),
    "softmax": wg.softmax,
    "cumulative_sum": wg.cumulative_sum,
    "sort": wg.sort,
    "argsort": wg.argsort,
    "flip": wg.flip,
    "norm": lambda x, axis: wg.linalg.vector_norm(x, axis=axis),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("fold", FOLDS)
def test_along_an_axis(fold, dtype):
    """One executable of open sizes for all lengths, along the last axis and along the first."""
    if fold == "norm" and dtype == np.int32:
        pytest.skip("a norm is one of floats")
    along = FOLDS[fold]

    def last(x: Any) -> Any:
        return along(x, axis=1)

    def first(x: Any) -> Any:
        return along(x, axis=0)

    dims = {"x": {0: wg.Dim("n"), 1: wg.Dim("k")}}
    programs = [wg.compile(function, dims=dims) for function in (last, first)]
    for length, width in itertools.product(LENGTHS, (1, 3, 17)):
        if length == 0 and fold in ("max", "min", "argmax", "logsumexp"):
            continue
        for axis, program in zip((1, 0), programs, strict=True):
            x = RNG.uniform(0.5, 2, (width, length) if axis else (length, width))
            x = (x * 9).astype(dtype) if dtype == np.int32 else x.astype(dtype)
            with np.errstate(all="ignore"):
                ours, theirs, precise = (
                    program(x),
                    along(x, axis=axis),
                    along(widened(x), axis=axis),
                )
            if fold == "prod" and is_float(x):
                ours, theirs, precise = (np.log(each) for each in (ours, theirs, precise))
            require_near(ours, np.asarray(theirs), precise, 1e-11, True, f"{x.shape}, axis {axis}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 200_003])
def test_long_sums(size, dtype):
    """Many blocks."""
    x = RNG.uniform(-1, 1, size).astype(dtype)

    def function(x: Any) -> Any:
        return wg.sum(x), wg.sum(x * x), wg.max(x), wg.sum(x.reshape(-1, 1), axis=0), wg.argmin(x)

    found, expected = run_alone(function, x), function(widened(x))
    assert found[4] == expected[4]
    for ours, theirs in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-5, atol=1e-2 if dtype == np.float32 else 1e-10
        )


def test_axes_of_many_kinds():
    """Folds over every set of axes, of arrays whose axes are also in another order."""
    x = RNG.uniform(-1, 1, (3, 17, 4, 21))
    sets = [axes for n in range(1, 5) for axes in itertools.combinations(range(4), n)]

    def function(x: Any) -> Any:
        turned = wg.permute_dims(x, (2, 0, 3, 1))
        return [f(y, axis=axes) for y in (x, turned) for axes in sets for f in (wg.sum, wg.max)]

    for ours, theirs in zip(run_alone(function, x), function(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


# Products.

PRODUCTS = [
    (1, 1, 1),
    (5, 3, 2),
    (16, 16, 16),
    (33, 65, 17),
    (64, 300, 48),
    (130, 517, 259),
    (1, 700, 90),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [*PRODUCTS, (0, 3, 2), (3, 0, 2), (3, 2, 0)], ids=str)
def test_products(shape, dtype):
    m, k, n = shape
    x, w = RNG.uniform(-3, 3, (m, k)).astype(dtype), RNG.uniform(-3, 3, (k, n)).astype(dtype)
    turned = np.ascontiguousarray(x.T), np.ascontiguousarray(w.T)

    def function(x: Any, w: Any, xt: Any, wt: Any) -> Any:
        return x @ w, xt.T @ w, x @ wt.T, xt.T @ wt.T, wg.sum(x @ w, axis=0), (x @ w) * 2 + 1

    found = run_alone(function, x, w, *turned)
    expected = function(*map(widened, (x, w, *turned)))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype or ours.dtype.kind == "i"
        relative = 1e-5 if dtype == np.float32 else 1e-12
        assert np.all(np.abs(ours - theirs) <= relative * (9 * k * max(m, 1)))
    assert bits(found[0]) == bits(found[1]) == bits(found[2]) == bits(found[3])


def test_products_in_stacks():
    """Broadcast stacks of matrices."""
    shapes = [
        ((2, 3, 4, 5), (5, 6)),
        ((4, 5), (2, 3, 5, 6)),
        ((2, 1, 4, 5), (3, 5, 6)),
        ((0, 4, 5), (5, 6)),
    ]
    shapes += [((5,), (2, 5, 6)), ((2, 4, 5), (5,)), ((2, 3, 1, 5), (2, 1, 5, 1))]
    pairs = [(RNG.uniform(-1, 1, a), RNG.uniform(-1, 1, b)) for a, b in shapes]

    def function(pairs: Any) -> Any:
        return [wg.vjp(wg.matmul, a, b)[1](wg.matmul(a, b)) for a, b in pairs], [
            a @ b for a, b in pairs
        ]

    found, expected = run_alone(function, pairs), function(pairs)
    for ours, theirs in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def test_many_ops_are_elementwise():
    """The tests above reach what they say they reach."""
    assert sum(elementwise(op) and has_samples(op) for op in OPS) > 60
