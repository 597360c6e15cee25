"""Linear equations of another form than a @ x = b: banded systems, and Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import composite, function, primitive
from wengert.core.dtypes import promote
from wengert.core.lowering import SpecialKernel
from wengert.core.op_parts.batching import BatchedCall
from wengert.core.op_parts.broadcast import broadcast_shapes, unbroadcast
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import (
    require_floats,
    require_matrices,
    require_square,
    spoiling,
)
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.ops.matrices.linalg import SINGULAR

# Banded systems. Diagonals are the rows of an array: a[i, j] stands at [above + i - j, j].


def _banded_type(diagonals: Any, b: Any, below: int, above: int) -> ArrayType:
    require_matrices("solve_banded", diagonals)
    require_floats("solve_banded", diagonals, b)
    if diagonals.shape[-2] != below + above + 1:
        raise ShapeError(
            f"solve_banded: ab has shape {tuple(diagonals.shape)}; with {below} diagonals below "
            f"the main one and {above} above it, it needs {below + above + 1} rows, one for each "
            "diagonal. Compare (l, u) with ab."
        )
    if len(b.shape) < 2 or b.shape[-2] != diagonals.shape[-1]:
        raise ShapeError(
            f"solve_banded: ab has shape {tuple(diagonals.shape)} and b has shape "
            f"{tuple(b.shape)}; b needs {diagonals.shape[-1]} rows, as a vector or in its "
            "second-to-last axis. Add an axis to b, or transpose it?"
        )
    batch = broadcast_shapes("solve_banded", [tuple(diagonals.shape[:-2]), tuple(b.shape[:-2])])
    return ArrayType((*batch, *b.shape[-2:]), promote(diagonals, b))


def _eliminated(diagonals: Any, x: Any, below: int, above: int) -> None:
    """Solve one system in place: rows begin at their first element in the band, and move to the
    left as they are eliminated.
    """
    width, n = diagonals.shape
    rows = np.zeros((n, width + 1), x.dtype)
    for i in range(n):
        columns = np.arange(max(0, i - below), min(n, i + above + 1))
        rows[i, : len(columns)] = diagonals[above + i - columns, columns]
    for k in range(n):
        end = min(n, k + below + 1)
        place = k + int(np.argmax(np.abs(rows[k:end, 0])))
        rows[[k, place]], x[[k, place]] = rows[[place, k]], x[[place, k]]
        if rows[k, 0] == 0:
            raise np.linalg.LinAlgError(
                f"solve_banded: given a singular matrix in an array of shape {diagonals.shape}; "
                "every matrix must be invertible. Check its rows for dependence, or add a small "
                "multiple of the identity."
            )
        by = rows[k + 1 : end, :1] / rows[k, 0]
        rows[k + 1 : end, :-1] = rows[k + 1 : end, 1:] - by * rows[k, 1:]
        x[k + 1 : end] -= by * x[k]
    for i in range(n - 1, -1, -1):
        count = min(width, n - i)
        x[i] = (x[i] - rows[i, 1:count] @ x[i + 1 : i + count]) / rows[i, 0]


def _within(diagonals: Any, below: int, above: int) -> Any:
    """Which elements of the array belong to the matrix."""
    width, n = diagonals.shape[-2:]
    rows = np.arange(n) + np.arange(width)[:, None] - above
    return (rows >= 0) & (rows < n)


def _banded_solve(diagonals: Any, b: Any, below: int, above: int) -> Any:
    t = _banded_type(diagonals, b, below, above)
    shape: Any = t.shape
    batch = shape[:-2]
    finite = np.isfinite(diagonals) | ~_within(diagonals, below, above)
    spoilt = ~finite.all(axis=(-2, -1), keepdims=True)
    identity = np.zeros(diagonals.shape[-2:], diagonals.dtype)
    identity[above] = 1
    given = np.broadcast_to(np.where(spoilt, identity, diagonals), (*batch, *diagonals.shape[-2:]))
    x = np.array(np.broadcast_to(b, shape), t.dtype, order="C")
    for place in np.ndindex(batch):
        _eliminated(given[place], x[place], below, above)
    return spoiling(x, spoilt if spoilt.any() else None)


def _moved(x: Any, by: int, axis: int) -> Any:
    """Elements `by` places further along an axis, and 0 where there are none."""
    size = x.shape[axis]
    rank = len(x.shape)
    if by == 0:
        return x
    if not -size < by < size:
        return op.zeros_like(x)
    kept = slice(by, None) if by > 0 else slice(None, by)
    pads = [(0, 0)] * rank
    pads[axis] = (0, by) if by > 0 else (-by, 0)
    return op.pad(x[(..., kept, *[slice(None)] * (-1 - axis))], pads)


def _turned(diagonals: Any, below: int, above: int) -> Any:
    """The diagonals of the transposed matrix, which has `above` of them below."""
    last = below + above
    return op.stack(
        [_moved(diagonals[..., last - r, :], r - below, -1) for r in range(last + 1)], axis=-2
    )


def _product(diagonals: Any, x: Any, below: int, above: int) -> Any:
    """The banded matrix times x."""
    total = None
    for r in range(below + above + 1):
        part = _moved(op.expand_dims(diagonals[..., r, :], -1) * x, above - r, -2)
        total = part if total is None else total + part
    return total


def _on_diagonals(left: Any, right: Any, below: int, above: int) -> Any:
    """The diagonals of left @ right.mT."""
    parts = [op.sum(_moved(left, r - above, -2) * right, axis=-1) for r in range(below + above + 1)]
    return op.stack(parts, axis=-2)


def _banded_vjp(g: Any, out: Any, diagonals: Any, _b: Any, below: int, above: int) -> Any:
    gb = op.banded_solve(_turned(diagonals, below, above), g, below=above, above=below)
    ga = -_on_diagonals(gb, out, below, above)
    return unbroadcast(ga, diagonals), unbroadcast(gb, _b)


def _banded_jvp(d: Any, out: Any, diagonals: Any, b: Any, below: int, above: int) -> Any:
    moved = [] if d[1] is None else [d[1]]
    moved += [] if d[0] is None else [-_product(d[0], out, below, above)]
    total = moved[0] if len(moved) == 1 else moved[0] + moved[1]
    return op.banded_solve(diagonals, total, below=below, above=above)


def _banded_flops(operands: Any, results: Any, params: dict[str, Any]) -> int:
    width, n = operands[0][-2:]
    systems = int(np.prod(results[0][:-2]))
    flops: int = systems * n * 2 * (params["below"] + 1) * (width + results[0][-1])
    return flops


def _banded_each(call: BatchedCall) -> Any:
    rank = max(call.rank(0), call.rank(1))
    return call.again([call.raised(0, rank), call.raised(1, rank)])


def _diagonals(*shape: int, main: int) -> Exactly:
    """Well-conditioned banded matrices without any symmetry, and numbers outside of them."""
    matrices = np.cos(np.arange(np.prod(shape))).reshape(shape)
    matrices[..., main, :] += 3
    return Exactly(matrices)


@primitive(
    numpy=_banded_solve,
    type=_banded_type,
    canonical=lambda diagonals, b, below, above: {"below": int(below), "above": int(above)},
    vjp=_banded_vjp,
    jvp=_banded_jvp,
    samples=(
        sample(_diagonals(3, 5, main=1), (5, 2), below=1, above=1),
        sample(_diagonals(4, 6, main=1), (6, 1), below=2, above=1),
        sample(_diagonals(2, 1, 3, 4, main=2), (3, 4, 2), below=0, above=2),
        sample(_diagonals(1, 3, main=0), (2, 3, 1), below=0, above=0),
        sample(_diagonals(5, 2, main=2), (2, 2), below=2, above=2),
        sample((3, 0), (0, 2), below=1, above=1),
    ),
    space="hidden",
    lower=SpecialKernel("banded_solve", _banded_flops, SINGULAR, one_dtype=True),
    batch=_banded_each,
)
def banded_solve(diagonals: Any, b: Any, /, below: int, above: int) -> None:
    """The x with a @ x = b for a matrix that is 0 but for some diagonals."""


@function(space="linalg")
def solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    """The x with a @ x = b for a matrix a that is 0 but for l diagonals below the main one, u above
    it, and the main one, as SciPy calls it. These are the rows of ab, the highest first: a[i, j] is
    ab[u + i - j, j]. What of ab lies outside of a has no influence and no gradient.

    >>> ab = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [1.0, 1.0, 0.0]])
    >>> wg.linalg.solve_banded((1, 1), ab, np.array([3.0, 4.0, 3.0]))
    array([1., 1., 1.])
    """
    try:
        below, above = (int(each) for each in l_and_u)
        whole = (below, above) == tuple(l_and_u) and min(below, above) >= 0
    except (TypeError, ValueError):
        whole = False
    if not whole:
        error = ValueError(
            f"solve_banded: l_and_u={l_and_u!r} was given; it is a pair of integers from 0 on, the "
            "numbers of diagonals below and above the main one. Write (1, 1) for three diagonals."
        )
        raise located(error, [ab, b])
    ab, b = op.asarray(ab), op.asarray(b)
    vector = len(b.shape) == 1
    columns = op.expand_dims(b, -1) if vector else b
    solution = op.banded_solve(ab, columns, below=below, above=above)
    return op.squeeze(solution, axis=-1) if vector else solution


# Sylvester's equation.

MOST_UNKNOWNS = 4096  # beyond, the system of all of them takes gigabytes


def _sylvester_params(a: Any, b: Any, q: Any) -> dict[str, Any]:
    for each in (a, b):
        require_square("solve_sylvester", each)
    require_matrices("solve_sylvester", q)
    require_floats("solve_sylvester", a, b, q)
    m, n = a.shape[-1], b.shape[-1]
    if tuple(q.shape[-2:]) != (m, n):
        raise ShapeError(
            f"solve_sylvester: a, b and q have shapes {tuple(a.shape)}, {tuple(b.shape)} and "
            f"{tuple(q.shape)}; q needs as many rows as a and as many columns as b. Transpose it?"
        )
    if isinstance(m, int) and isinstance(n, int) and m * n > MOST_UNKNOWNS:
        raise ShapeError(
            f"solve_sylvester: q has shape {tuple(q.shape)}; its {m * n} elements are the unknowns "
            f"of one system, and there may be {MOST_UNKNOWNS}. Of symmetric a and b write p, u = "
            "wg.linalg.eigh(a), r, v = wg.linalg.eigh(b) and u @ ((u.mT @ q @ v) / (p[:, None] + "
            "r)) @ v.mT."
        )
    batches = [tuple(each.shape[:-2]) for each in (a, b, q)]
    broadcast_shapes("solve_sylvester", batches)
    return {}


def _sylvester_vjp(g: Any, out: Any, a: Any, b: Any, _q: Any) -> Any:
    gq = op.solve_sylvester(a.mT, b.mT, g)
    ga, gb = -(gq @ out.mT), -(out.mT @ gq)
    return unbroadcast(ga, a), unbroadcast(gb, b), unbroadcast(gq, _q)


def _sylvester_jvp(d: Any, out: Any, a: Any, b: Any, _q: Any) -> Any:
    da, db, dq = d
    moved = [] if dq is None else [dq]
    moved += [] if da is None else [-(da @ out)]
    moved += [] if db is None else [-(out @ db)]
    total = moved[0]
    for each in moved[1:]:
        total = total + each
    return op.solve_sylvester(a, b, total)


def _apart(*shape: int, away: float) -> Exactly:
    """Matrices whose eigenvalues are near a number."""
    return Exactly(np.sin(np.arange(np.prod(shape))).reshape(shape) + away * np.eye(shape[-1]))


@composite(
    canonical=_sylvester_params,
    vjp=_sylvester_vjp,
    jvp=_sylvester_jvp,
    samples=(
        sample(_apart(3, 3, away=2), _apart(2, 2, away=1), (3, 2)),
        sample(_apart(2, 1, 2, 2, away=-3), _apart(3, 3, 3, away=-1), (2, 3)),
        sample(_apart(1, 1, away=2), _apart(1, 1, away=2), (2, 1, 1)),
        sample((0, 0), _apart(2, 2, away=1), (0, 2)),
    ),
    space="linalg",
)
def solve_sylvester(a: Any, b: Any, q: Any, /) -> Any:
    """The x with a @ x + x @ b = q, of square a and b.

    There is one where no eigenvalue of a is one of -b; otherwise LinAlgError is raised. All
    elements of x are the unknowns of one system, of which there may be 4096.

    >>> wg.linalg.solve_sylvester(np.diag([1.0, 2.0]), np.array([[1.0]]), np.array([[4.0], [9.0]]))
    array([[2.],
           [3.]])
    """
    m, n = a.shape[-1], b.shape[-1]
    rows, columns = (np.eye(int(size), dtype=bool) for size in (m, n))
    wide = [op.expand_dims(a, (-3, -1)), op.expand_dims(b.mT, (-4, -2))]
    same = columns[:, None, :], rows[:, None, :, None]
    left = op.where(same[0], wide[0], 0)
    right = op.where(same[1], wide[1], 0)
    system = left + right
    batch = tuple(system.shape[:-4])
    system = op.reshape(system, (*batch, m * n, m * n))
    vectors = op.reshape(q, (*q.shape[:-2], m * n, 1))
    solution = op.solve(system, vectors)
    return op.reshape(solution, (*solution.shape[:-2], m, n))
