"""Linear algebra, batched over leading axes."""

from wengert import functions, ops
from wengert.core.table import op
from wengert.core.words.foreign_names.missing import explain_missing_names

# The standard has these both here and beside the other array functions.
_SHARED = ("diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot")
_functions = op.public("linalg") | {name: getattr(op, name) for name in _SHARED}
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604 (strings, from the table)

explain_missing_names(globals())
del explain_missing_names, functions, ops  # the latter were imported to fill the table
