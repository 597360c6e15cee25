"""Random numbers from explicit keys: the same key gives the same numbers."""

from typing import TYPE_CHECKING, Any

from wengert import functions, ops
from wengert.core.table import op

_functions = op.public("random")
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604 (strings, from the table)

del functions, ops  # imported to fill the table

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
