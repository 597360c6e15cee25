"""Systems, inverses and Cholesky's factor against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import Failed, run_special, run_variants, strided
from wengert.codegen.llvm.linalg.factorisations import FACTORISATIONS
from wengert.core.dtypes import FLOATS
from wengert.core.table import op

NAMES = ("solve", "triangular_solve", "inv", "cholesky")
SIZES = (0, 1, 2, 3, 5, 16, 17, 33, 70)
SYSTEMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("solve", {}),
    ("triangular_solve", {"lower": True, "trans": False}),
    ("triangular_solve", {"lower": False, "trans": False}),
    ("triangular_solve", {"lower": True, "trans": True}),
    ("triangular_solve", {"lower": False, "trans": True}),
)


def run(name: str, *operands: Any, **params: Any) -> Any:
    (found,) = run_variants(FACTORISATIONS[name], op[name], operands, params)
    return found


def require_close(name: str, operands: Any, params: Any, found: Any) -> None:
    """Compare with NumPy's result; these operands are well-conditioned."""
    wanted = op[name].numpy(*operands, **params)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    tolerance = 16 * (1 + operands[0].shape[-1]) * np.finfo(found.dtype).eps
    scale = np.max(np.abs(wanted), initial=0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * scale)


def regular(n: int, dtype: Any, *batch: int, seed: int = 0) -> Any:
    """Well-conditioned matrices, whose triangles are too, in which rows must be exchanged."""
    x = np.random.default_rng(seed).uniform(-1, 1, (*batch, n, n))
    x += 2 * np.sqrt(n) * np.eye(n)
    return x.astype(dtype)


def shuffled(x: Any, seed: int = 0) -> Any:
    order = np.random.default_rng(seed).permutation(x.shape[-1])
    return np.ascontiguousarray(x[..., order, :])


def positive(n: int, dtype: Any, *batch: int) -> Any:
    x = regular(n, np.float64, *batch)
    return (x @ x.mT).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(name: str, dtype: Any) -> None:
    for call in calls(op[name], dtype):
        operands, params = op[name].read(call.operands, call.params)
        require_close(name, operands, params, run(name, *operands, **params))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_sizes(n: int, dtype: Any) -> None:
    a = shuffled(regular(n, dtype, 2))
    b = np.random.default_rng(1).normal(size=(2, n, 1 + n % 20)).astype(dtype)
    require_close("solve", (a, b), {}, run("solve", a, b))
    require_close("inv", (a,), {}, run("inv", a))
    p = positive(n, dtype)
    for upper in (False, True):
        found = run("cholesky", p, upper=upper)
        require_close("cholesky", (p,), {"upper": upper}, found)
        assert not np.tril(found.mT if not upper else found, -1).any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "params"), SYSTEMS[1:])
def test_triangles(name: str, params: dict[str, Any], dtype: Any) -> None:
    for n in (1, 5, 17, 50):
        a = regular(n, dtype)
        b = np.random.default_rng(2).normal(size=(n, 3)).astype(dtype)
        found = run(name, a, b, **params)
        require_close(name, (a, b), params, found)
        other = np.triu(a, 1) if params["lower"] else np.tril(a, -1)
        a[other != 0] = np.nan  # what is not read
        (again,) = run_special(FACTORISATIONS[name], op[name], (a, b), params)
        assert again.tobytes() == found.tobytes()


@pytest.mark.parametrize(("name", "params"), SYSTEMS[:2])
def test_strides(name: str, params: dict[str, Any]) -> None:
    a, b = regular(5, np.float32, 2), np.random.default_rng(3).normal(size=(2, 5, 3)).astype("f4")
    wanted = run(name, a, b, **params)
    for x, y in zip(strided(a), strided(b)[::-1], strict=True):
        (found,) = run_special(FACTORISATIONS[name], op[name], (x, y), params)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("name", "params"), SYSTEMS[:2])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 1), (2,)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((2, 1, 1), (4, 1)),
        ((0,), ()),
        ((0, 3), (1, 1)),
    ],
)
def test_broadcast(
    name: str, params: dict[str, Any], left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(4)
    a, b = regular(4, np.float64, *left), rng.normal(size=(*right, 4, 2))
    found = run(name, a, b, **params)
    require_close(name, (a, b), params, found)
    batch = found.shape[:-2]
    views = np.broadcast_to(a, (*batch, 4, 4)), np.broadcast_to(b, (*batch, 4, 2))
    np.testing.assert_array_equal(run(name, *views, **params), found)


@pytest.mark.parametrize(("name", "params"), SYSTEMS)
def test_mixed_dtypes_and_vectors(name: str, params: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    for given in (("f4", "f8"), ("f8", "f4")):
        a, b = regular(6, given[0], 2), rng.normal(size=6).astype(given[1])
        require_close(name, (a, b), params, run(name, a, b, **params))


@pytest.mark.parametrize(("name", "params"), SYSTEMS[:2])
def test_no_columns(name: str, params: dict[str, Any]) -> None:
    assert run(name, regular(3, np.float32), np.ones((3, 0), "f4"), **params).shape == (3, 0)


def test_backward_error_of_a_large_system() -> None:
    """As LAPACK's: a few roundings of the numbers given, whatever the condition."""
    rng = np.random.default_rng(6)
    for dtype in FLOATS:
        a, b = (rng.normal(size=shape).astype(dtype) for shape in ((150, 150), (150, 4)))
        (x,) = run_special(FACTORISATIONS["solve"], op.solve, (a, b), {})
        wide = a.astype("g")
        scale = np.abs(wide).sum(axis=1).max() * np.abs(x.astype("g")).max()
        assert np.max(np.abs(wide @ x - b)) <= 4 * np.finfo(dtype).eps * scale


@pytest.mark.parametrize("name", NAMES)
def test_alone_and_in_a_batch(name: str) -> None:
    """A result does not depend on what stands beside it, rows, columns or matrices."""
    rng = np.random.default_rng(7)
    a = positive(19, np.float32, 3)
    operands = (a, rng.normal(size=(3, 19, 18)).astype("f4")) if name in NAMES[:2] else (a,)
    params = {"triangular_solve": SYSTEMS[1][1], "cholesky": {"upper": False}}.get(name, {})
    special = FACTORISATIONS[name]
    (whole,) = run_special(special, op[name], operands, params)
    (alone,) = run_special(special, op[name], [x[1] for x in operands], params)
    assert alone.tobytes() == whole[1].tobytes()
    if len(operands) == 2:
        column = [operands[0][1], operands[1][1, :, 7]]
        (alone,) = run_special(special, op[name], column, params)
        assert alone.tobytes() == whole[1, :, 7].tobytes()


def fails_at(name: str, *operands: Any, **params: Any) -> int:
    with pytest.raises(Failed) as caught:
        run(name, *operands, **params)
    with pytest.raises(np.linalg.LinAlgError):
        op[name].numpy(*operands, **params)
    return caught.value.position


def test_singular_matrices_are_noted() -> None:
    a = regular(3, np.float64, 2, 3)
    a[1, 1] = [[1, 2, 3], [2, 4, 6], [1, 0, 1]]
    b = np.ones((2, 3, 3, 1))
    assert fails_at("solve", a, b) == 4
    assert fails_at("inv", a) == 4
    assert fails_at("solve", a, np.ones((3, 0))) == 4
    assert fails_at("inv", np.zeros((1, 1), "f4")) == 0
    a = regular(20, np.float32, 2)
    a[1, 18, 18] = 0
    for _, params in SYSTEMS[1:]:
        assert fails_at("triangular_solve", a, np.ones(20, "f4"), **params) == 1


def test_matrices_that_are_not_positive_definite_are_noted() -> None:
    x = positive(18, np.float64, 3)
    x[2, 17, 17] = -1
    for upper in (False, True):
        assert fails_at("cholesky", x, upper=upper) == 2
    assert fails_at("cholesky", np.zeros((1, 1)), upper=False) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_nan_and_infinity_reach_the_results(n: int, value: float) -> None:
    a = positive(n, np.float64, 2)
    a[1, n // 3, n // 2] = value
    a[1, n // 4] *= -1  # indefinite: whatever else is wrong
    lower = np.tril(np.ones((n, n), bool))
    for name, operands, params, filled in (
        ("inv", [a], {}, np.ones((n, n), bool)),
        ("solve", [a, np.ones((n, 3))], {}, np.ones((n, 3), bool)),
        ("solve", [a, np.ones(n)], {}, np.ones(n, bool)),
        ("cholesky", [a], {"upper": False}, lower),
        ("cholesky", [a], {"upper": True}, lower.T),
    ):
        found, eager = run(name, *operands, **params), op[name].numpy(*operands, **params)
        for good, bad in (found, eager):
            assert np.isfinite(good).all(), name
            np.testing.assert_array_equal(np.isnan(bad), filled, name)
            np.testing.assert_array_equal(bad[~filled], 0, name)


def test_the_symmetric_part_is_factored() -> None:
    x = positive(4, np.float64)
    skew = np.triu(np.ones((4, 4)), 1)
    found = run("cholesky", x + skew - skew.T, upper=False)
    np.testing.assert_allclose(found, np.linalg.cholesky(x), rtol=1e-14, atol=1e-14)


# Banded systems and square roots.


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["banded_solve", "sqrtm"])
def test_samples_of_other_equations(name: str, dtype: Any) -> None:
    for call in calls(op[name], dtype):
        operands, params = op[name].read(call.operands, call.params)
        require_close(name, operands, params, run(name, *operands, **params))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("below", "above"), [(1, 1), (0, 3), (4, 0), (17, 16)])
def test_bands(below: int, above: int, dtype: Any) -> None:
    """Without a diagonal that outweighs the others, so that rows are exchanged."""
    rng = np.random.default_rng(7)
    for n in (1, 3, 40):
        ab = rng.normal(size=(2, below + above + 1, n)).astype(dtype)
        x = rng.normal(size=(n, 1 + n % 20)).astype(dtype)
        row = above + np.subtract.outer(np.arange(n), np.arange(n))
        inside = (row >= 0) & (row < below + above + 1)
        a = np.where(inside, ab[:, np.where(inside, row, 0), np.arange(n)], 0)
        found = run("banded_solve", ab, a @ x, below=below, above=above)
        size = np.abs(a).sum(axis=-1).max() * np.abs(found).max()
        assert np.max(np.abs(a @ found - a @ x)) <= 16 * np.finfo(dtype).eps * size
        assert not np.isnan(found).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_roots(dtype: Any) -> None:
    rng = np.random.default_rng(8)
    for n in (1, 2, 5, 17, 40):
        a = (rng.normal(size=(2, n, n)) + 2 * np.sqrt(n) * np.eye(n)).astype(dtype)
        found = run("sqrtm", a)
        np.testing.assert_allclose(found @ found, a, rtol=0, atol=64 * n * np.finfo(dtype).eps)
        require_close("sqrtm", (a,), {}, found)


def test_matrices_without_a_root() -> None:
    a = np.stack([np.eye(3), np.diag([1.0, -2.0, 3.0]), np.ones((3, 3))])
    for first in (1, 2):
        with pytest.raises(Failed):
            run_special(FACTORISATIONS["sqrtm"], op.sqrtm, (a[first:],), {})
    spoilt = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    (found,) = run_special(FACTORISATIONS["sqrtm"], op.sqrtm, (spoilt,), {})
    np.testing.assert_array_equal(found, spoilt)
