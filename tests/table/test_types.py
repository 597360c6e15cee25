"""Types: what the rule says, what NumPy computes and what a trace records are the same."""

import itertools

import numpy as np
import pytest
from oracle import check_emit, check_traced, check_type

from table.calls import Call, awkward, calls, is_float
from table.ops import elementwise, emitted, has_samples, of_ops

DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool"]
MIXED = [
    *itertools.permutations(["float32", "float64", "int64", "bool"], 2),
    ("uint8", "int8"),
    ("int8", "float32"),
    ("int16", "uint16"),
]


def converted(call, dtype):
    """The call in another dtype. Integers are positive, for they may be divisors or exponents."""

    def change(x):
        if not is_float(x) and (x.dtype == bool or call.op.kind != "elementwise"):
            return x  # a condition, or positions
        if np.dtype(dtype).kind == "f":
            return x.astype(dtype)
        return np.ceil(np.nan_to_num(abs(x), nan=1, posinf=2)).astype(dtype)

    return call.replaced(change)


@pytest.mark.parametrize("dtype", DTYPES)
@of_ops(has_samples)
def test_type(op, dtype):
    for call in calls(op):
        check_type(converted(call, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@of_ops(has_samples)
def test_traced_is_eager(op, dtype):
    for call in calls(op):
        check_traced(converted(call, dtype))


def pairs(op):
    """A plain call of an op of several numbers, and the positions of these."""
    call = calls(op)[0]
    return call, call.floats


@of_ops(lambda op: elementwise(op) and op.samples and len(pairs(op)[1]) > 1)
def test_promotion(op):
    call, positions = pairs(op)
    for dtypes in MIXED:
        operands = list(call.operands)
        for i, dtype in zip(positions, itertools.cycle(dtypes), strict=False):
            operands[i] = converted(Call(op, (operands[i],), {}), dtype).operands[0]
        mixed = Call(op, tuple(operands), call.params)
        check_type(mixed)
        check_traced(mixed)


@of_ops(lambda op: elementwise(op) and op.samples and len(pairs(op)[1]) > 1)
def test_python_numbers_are_weak(op):
    call, positions = pairs(op)
    for number, dtype in itertools.product((1.0, 1, True), ("float32", "int32", "bool")):
        for i in positions:
            operands = list(converted(call, dtype).operands)
            operands[i] = number
            weak = Call(op, tuple(operands), call.params)
            check_type(weak)
            check_traced(weak)


@pytest.mark.parametrize("dtype", DTYPES)
@of_ops(lambda op: emitted(op) and op.samples)
def test_emit(op, dtype):
    for call in calls(op):
        check_emit(converted(call, dtype))
    if np.dtype(dtype).kind == "f":
        check_emit(awkward(op, dtype))
