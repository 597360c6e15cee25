"""Linear algebra, batched over leading axes."""

from typing import TYPE_CHECKING, Any

from wengert import functions, ops
from wengert.core.table import op

# The standard has these both here and beside the other array functions.
_SHARED = ("diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot")
_functions = op.public("linalg") | {name: getattr(op, name) for name in _SHARED}
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604 (strings, from the table)

del functions, ops  # imported to fill the table

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
