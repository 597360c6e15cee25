"""Elements: ops whose elements are each one element of an operand, found by its position."""

from __future__ import annotations

from wengert.core.table import op

# Of these only `astype`, `tril` and `triu` read an operand at the very position they compute.
ELEMENTS = frozenset(
    (op.astype, op.tril, op.triu, op.pad, op.place, op.shift, op.concat, op.gather)
)
IN_PLACE = frozenset((op.astype, op.tril, op.triu))
