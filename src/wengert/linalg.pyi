# Written from the table of ops by tests/test_stubs.py, which says how to write it again.
"""Linear algebra, batched over leading axes."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from wengert.functions.numpy_scipy.scipy_names import cho_solve as cho_solve
from wengert.functions.numpy_scipy.scipy_names import solve_triangular as solve_triangular
from wengert.ops.contract import outer as outer
from wengert.ops.contract import tensordot as tensordot
from wengert.ops.matrices.determinant import slogdet as slogdet
from wengert.ops.matrices.diagonals import diagonal as diagonal
from wengert.ops.matrices.equations import solve_banded as solve_banded
from wengert.ops.matrices.factors import eigh as eigh
from wengert.ops.matrices.factors import eigvalsh as eigvalsh
from wengert.ops.matrices.factors import qr as qr
from wengert.ops.matrices.linalg import cross as cross
from wengert.ops.matrices.linalg import matrix_power as matrix_power
from wengert.ops.matrices.linalg import trace as trace
from wengert.ops.matrices.matrix_functions import lstsq as lstsq
from wengert.ops.matrices.matrix_functions import matrix_rank as matrix_rank
from wengert.ops.matrices.matrix_functions import pinv as pinv
from wengert.ops.matrices.norm import matrix_norm as matrix_norm
from wengert.ops.matrices.norm import norm as norm
from wengert.ops.matrices.singular import svd as svd
from wengert.ops.matrices.singular import svdvals as svdvals

__all__ = [
    "det",
    "solve",
    "triangular_solve",
    "inv",
    "cholesky",
    "solve_sylvester",
    "expm",
    "sqrtm",
    "vector_norm",
    "qr",
    "eigh",
    "eigvalsh",
    "slogdet",
    "matrix_power",
    "trace",
    "cross",
    "solve_banded",
    "pinv",
    "matrix_rank",
    "lstsq",
    "matrix_norm",
    "norm",
    "svd",
    "svdvals",
    "solve_triangular",
    "cho_solve",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "vecdot",
]

def det(x: Any) -> Any:
    r"""The determinant of each matrix.

    Gradient and Hessian hold for singular matrices too; third derivatives need an invertible
    matrix.

    >>> wg.linalg.det(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array(6.)
    """

def solve(a: Any, b: Any) -> Any:
    r"""The x with a @ x = b; b is one vector, or holds columns.

    A singular a raises LinAlgError; one with an element that is not finite gives NaN.

    >>> wg.linalg.solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """

def triangular_solve(a: Any, b: Any, lower: builtins.bool, trans: builtins.bool = False) -> Any:
    r"""The x with a @ x = b, or a.mT @ x = b where `trans`, reading one triangle of a only.

    `lower` says which triangle; the other one has no influence and no gradient.

    >>> a = np.array([[2.0, 9.0], [1.0, 1.0]])
    >>> wg.linalg.triangular_solve(a, np.array([2.0, 3.0]), lower=True)
    array([1., 2.])
    """

def inv(x: Any) -> Any:
    r"""The inverse of each matrix; NaN where an element is not finite.

    A singular matrix raises LinAlgError.

    >>> wg.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """

def cholesky(x: Any, upper: builtins.bool = False) -> Any:
    r"""The lower triangular l with l @ l.mT = x, positive definite; its transpose if `upper`.

    Both triangles of x are read: what is factored is its symmetric part (x + x.mT) / 2, so the
    gradient is symmetric. A matrix that is not positive definite raises LinAlgError, and one with
    an element that is not finite gives NaN.

    >>> wg.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """

def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    r"""The x with a @ x + x @ b = q, of square a and b.

    There is one where no eigenvalue of a is one of -b; otherwise LinAlgError is raised. All
    elements of x are the unknowns of one system, of which there may be 4096.

    >>> wg.linalg.solve_sylvester(np.diag([1.0, 2.0]), np.array([[1.0]]), np.array([[4.0], [9.0]]))
    array([[2.],
           [3.]])
    """

def expm(x: Any) -> Any:
    r"""The exponential of each matrix: the sum of its powers x**k / k!.

    By scaling and squaring; a matrix with an element that is not finite gives NaN. Derivatives are
    exponentials of matrices of twice the size, and hold for any matrix.

    >>> wg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """

def sqrtm(x: Any) -> Any:
    r"""The square root r of each matrix, r @ r = x, whose eigenvalues have no negative real part.

    It is real where x is regular and no eigenvalue of it lies on the negative axis; other matrices
    raise LinAlgError, and one with an element that is not finite gives NaN. Derivatives are roots
    of matrices of twice the size.

    >>> wg.linalg.sqrtm(np.array([[1.0, 2.0], [0.0, 9.0]]))
    array([[1. , 0.5],
           [0. , 3. ]])
    """

def vector_norm(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: builtins.bool = False,
    ord: float = 2,
) -> Any:
    r"""The ord-norm of the elements along the axes: (Σ|x|^ord)^(1/ord), 2 by default.

    ord 1 sums absolute values, inf and -inf take the largest and smallest one, 0 counts elements
    that are not 0. Exact up to the largest float: no square overflows on the way. Derivatives are 0
    at the zero vector, and ties of inf share evenly.

    >>> wg.linalg.vector_norm(np.array([3e200, 4e200]))
    array(5.e+200)
    """

def matmul(x: Any, y: Any) -> Any:
    r"""Matrix product over the last two axes, broadcast over the others; 1-d operands are vectors.

    >>> wg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """

def matrix_transpose(x: Any) -> Any:
    r"""The array with its last two axes swapped.

    >>> wg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """

def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    r"""Sum of products along one axis, broadcast over the others.

    >>> wg.vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
