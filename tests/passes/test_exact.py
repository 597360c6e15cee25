"""What the field `exact` promises: the bits NumPy gives are those any target gives."""

from __future__ import annotations

import numpy as np
import pytest
from table.calls import awkward
from table.ops import OPS, emit, emitted, has_samples, of_ops

from passes.checking import bits
from wengert.core.emit import NumpyEmit


def exact(op):
    return op.exact and emitted(op) and has_samples(op)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@of_ops(exact)
def test_emit_gives_the_bits_of_numpy(op, dtype):
    operands = awkward(op, dtype).operands
    operands = [x.astype(d) for x, d in zip(operands, op.operand_dtypes(operands), strict=True)]
    with np.errstate(all="ignore"):
        found = emit(op, NumpyEmit(operands[-1].dtype), *operands)
        assert bits(found) == bits(op.numpy(*operands))


@of_ops(lambda op: exact(op) and op.commutative)
def test_swapped_operands_give_the_same_bits(op):
    x, y = awkward(op).operands
    x, y = (each.astype(d) for each, d in zip((x, y), op.operand_dtypes((x, y)), strict=True))
    with np.errstate(all="ignore"):
        assert bits(op.numpy(x, y)) == bits(op.numpy(y, x))


def test_what_is_exact_and_what_is_not():
    chosen = {op.name for op in OPS if op.exact}
    assert {"add", "divide", "sqrt", "where", "astype", "reshape", "gather"} <= chosen
    # rounded by a library's choice; added in some order; with a sign of zero that depends on order
    assert not chosen & {"exp", "power", "hypot", "sum", "matmul", "cumsum", "maximum", "max"}
    assert not any(op.body for op in OPS if op.exact), "a composite is expanded before"
