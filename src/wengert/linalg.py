"""Linear algebra, batched over leading axes."""

from typing import TYPE_CHECKING, Any

from wengert import functions, ops
from wengert.core.table import op

_functions = op.public("linalg")
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604

del functions, ops  # imported to fill the table

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
