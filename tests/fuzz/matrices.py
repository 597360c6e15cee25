"""Steps with contractions and matrices."""

from __future__ import annotations

from wengert.core.op import Op

from .builder import Builder, Refused
from .elementwise import spelled
from .operands import draw_float, resized

INNER = (3, 2, 1, 5, 7, 4, 0, 16, 17, 33, 67, 130)
STACK = (2, 5, 1, 0, 9)  # matrices
MATRIX = (2, 3, 1, 4, 0)


def matmul(b: Builder, op: Op) -> str:
    """Matrices, stacks of them and vectors, in any transposition."""
    name = draw_float(b, rank=(1, 3))
    rows, last = b.shape(name)[:-1], b.shape(name)[-1]
    if b.rank(name) - 1 in b.open_axes(name):
        raise Refused
    columns = b.choose(INNER)
    form = b.choose(("matrix", "transposed", "vector", "stack", "left"))
    if form == "matrix":
        return b.emit(f"{name} @ {resized(b, (last, columns))}")
    if form == "transposed":
        return b.emit(f"{spelled(op)}({name}, {resized(b, (columns, last))}.T)")
    if form == "vector":
        return b.emit(f"{spelled(op)}({name}, {resized(b, (last,))})")
    if form == "stack":
        return b.emit(f"{spelled(op)}({name}, {resized(b, (b.choose(STACK), last, columns))})")
    first = rows[-1] if rows else last
    if rows and b.rank(name) - 2 in b.open_axes(name):
        return b.emit(f"wg.matmul(wg.matrix_transpose({name}), {name})")
    return b.emit(f"np.matmul({resized(b, (columns, first))}, {name})")


def vecdot(b: Builder, op: Op) -> str:
    name = draw_float(b, rank=(1, 3), closed=True)
    axis = b.integer(-b.rank(name), -1)
    other = resized(b, b.shape(name)[axis:])
    return b.emit(f"{spelled(op)}({name}, {other}, axis={axis})")


def contraction(b: Builder, _op: Op | None = None) -> str:
    """Functions that are written with matmul."""
    name = draw_float(b, rank=(2, 2), closed=True)
    columns = b.shape(name)[1]
    other = resized(b, (columns, b.choose(INNER)))
    vector = resized(b, (b.choose((3, 1, 2)),))
    texts = [
        f"wg.einsum('ij,jk->ik', {name}, {other})",
        f"wg.einsum('ij,jk->ki', {name}, {other})",
        f"np.einsum('ij,ij->i', {name}, {name})",
        f"wg.tensordot({name}, {other}, axes=1)",
        f"np.dot({name}, {other})",
        f"wg.outer({vector}, {vector})",
        f"wg.kron({vector}, {vector})",
        f"wg.inner({name}, {name})",
        f"wg.diagonal({name} @ wg.matrix_transpose({name}))",
    ]
    return b.emit(b.choose(texts))


def square(b: Builder) -> str:
    """Matrices that are far from singular: the diagonal outweighs the rest of each row."""
    size = b.choose(MATRIX)
    batch = b.choose(((), (), (2,), (3,), (0,), (2, 1)))
    matrix = resized(b, (*batch, size, size), -0.5, 0.5)
    return b.emit(
        f"{matrix} + {b.choose(('2.5', '-3.0'))} * np.eye({size}, dtype=np.{b.dtype(matrix)})"
    )


def of_matrix(b: Builder, op: Op) -> str:
    """det, inv and what their derivatives are made of."""
    return b.emit(f"{spelled(op)}({square(b)})")


def cofactors_tangent(b: Builder, op: Op) -> str:
    matrix = square(b)
    other = resized(b, b.shape(matrix))
    if b.dtype(other) != b.dtype(matrix):
        other = b.emit(f"wg.astype({other}, np.{b.dtype(matrix)})")
    return b.emit(f"{spelled(op)}({matrix}, {other})")


def cholesky(b: Builder, op: Op) -> str:
    matrix = square(b)
    product = b.emit(f"{matrix} @ wg.matrix_transpose({matrix})")
    return b.emit(f"{spelled(op)}({product}, upper={b.chance(40)})")


def factors(b: Builder, op: Op) -> str:
    """One factor of matrices whose values are far apart."""
    matrix = square(b)
    size, dtype = b.shape(matrix)[-1], b.dtype(matrix)
    apart = b.emit(f"{matrix} + np.diag(20 * np.arange({size})).astype(np.{dtype})")
    if b.chance(50) and size > 1:
        apart = b.emit(f"{apart}[..., 1:]")
    params = {"svd_tall": ", save=True, signs_of_v=False"}.get(op.name, "")
    return b.emit(f"{spelled(op)}({apart}{params})[{b.integer(0, 2 if params else 1)}]")


def complement(b: Builder, op: Op) -> str:
    """Of columns that are far from dependent."""
    matrix = square(b)
    first = b.integer(0, min(2, b.shape(matrix)[-1]))
    return b.emit(f"{spelled(op)}({matrix}[..., {first}:])")


def pseudo_inverse(b: Builder, op: Op) -> str:
    """With one limit, or one for each matrix, that no singular value is near."""
    matrix = square(b)
    batch, dtype = b.shape(matrix)[:-2], b.dtype(matrix)
    shape = batch if b.chance(50) else ()
    return b.emit(f"{spelled(op)}({matrix}, np.full({shape}, 1e-3, np.{dtype}))")


def positive(b: Builder, size: int | None = None) -> str:
    """Matrices without an eigenvalue near 0, or to the left of it."""
    matrix = square(b) if size is None else resized(b, (size, size), -0.5, 0.5)
    one = f"np.eye({b.shape(matrix)[-1]}, dtype=np.{b.dtype(matrix)})"
    return b.emit(f"{matrix} @ wg.matrix_transpose({matrix}) + {one}")


def square_root(b: Builder, op: Op) -> str:
    return b.emit(f"{spelled(op)}({positive(b)})")


def sylvester(b: Builder, op: Op) -> str:
    left, right = positive(b), positive(b, b.choose((2, 1, 3)))
    rest = resized(b, (b.shape(left)[-1], b.shape(right)[-1]))
    return b.emit(f"{spelled(op)}({left}, {right}, {rest})")


def banded(b: Builder, op: Op) -> str:
    """Diagonals of which the main one outweighs the others."""
    below, above = b.choose(((1, 1), (0, 0), (2, 1), (0, 2), (3, 0)))
    size, count = b.choose((*MATRIX, 7, 20)), below + above + 1
    others = resized(b, (*b.choose(((), (2,), (0,))), count, size), -0.5, 0.5)
    main = f"3 * (np.arange({count}) == {above})[:, None].astype(np.{b.dtype(others)})"
    diagonals = b.emit(f"{others} + {main}")
    right = resized(b, (size, b.choose((2, 1, 3, 0))))
    return b.emit(f"{spelled(op)}({diagonals}, {right}, below={below}, above={above})")


def eigenvalues(b: Builder, op: Op) -> str:
    matrix = square(b)
    size, dtype = b.shape(matrix)[-1], b.dtype(matrix)
    apart = b.emit(f"{matrix} + np.diag(20 * np.arange({size})).astype(np.{dtype})")
    return b.emit(f"{spelled(op)}({apart}, save=True)[{b.integer(0, 1)}]")


def least_squares(b: Builder, op: Op) -> str:
    matrix = square(b)
    right = resized(b, (b.shape(matrix)[-1], b.choose((2, 1, 3))))
    return b.emit(f"{spelled(op)}({matrix}, {right})")


def solve(b: Builder, op: Op) -> str:
    matrix = square(b)
    size = b.shape(matrix)[-1]
    vector = b.chance(30)
    right = resized(b, (size,) if vector else (*b.shape(matrix)[:-2], size, b.choose((2, 1, 3, 0))))
    more = ""
    if "lower" in op.call.params:
        more = f", lower={b.chance(50)}, trans={b.chance(50)}"
    return b.emit(f"{spelled(op)}({matrix}, {right}{more})")
