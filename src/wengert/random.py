"""Random numbers from explicit keys: the same key gives the same numbers."""

from wengert import functions, ops
from wengert.core.table import op
from wengert.core.words.foreign_names.missing import explain_missing_names

_functions = {each.__name__: each for each in op.public("random").values()}
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604 (strings, from the table)

explain_missing_names(globals())
del explain_missing_names, functions, ops  # the latter were imported to fill the table
