"""Fourier transforms as pairs of real arrays."""

from wengert import functions, ops
from wengert.core.table import op
from wengert.core.words.foreign_names.missing import explain_missing_names

_functions = op.public("fft")
globals().update(_functions)
__all__ = [*_functions]  # noqa: PLE0604 (strings, from the table)

explain_missing_names(globals())
del explain_missing_names, functions, op, ops  # the latter were imported to fill the table
