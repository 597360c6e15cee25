"""Derivatives: of first and second order, in both directions, through tape, forward and trace."""

import numpy as np
from oracle import (
    check_body,
    check_derivatives,
    check_flat,
    check_float32,
    check_opaque,
    check_second_order,
    check_subsets,
    check_traced_derivatives,
)

from table.calls import calls
from table.ops import differentiable, of_ops
from table.reporting import float_outputs

# What is flat on purpose and not almost everywhere.
CUT = {"stop_gradient", "required"}


def floating(op, dtype=np.float64):
    """The calls of an op in which a float depends on a float."""
    return [call for call in calls(op, dtype) if float_outputs(call)]


@of_ops(differentiable)
def test_first_order(op):
    assert floating(op), f"{op.name}: no sample can be differentiated; give it one of floats."
    for call in floating(op):
        check_derivatives(call)


@of_ops(differentiable)
def test_second_order(op):
    for call in floating(op):
        check_second_order(call)


@of_ops(differentiable)
def test_traced_derivatives(op):
    for call in floating(op):
        check_traced_derivatives(call)


@of_ops(differentiable)
def test_with_constant_operands(op):
    for call in floating(op):
        check_subsets(call)


@of_ops(differentiable)
def test_float32(op):
    for call in floating(op, np.float32):
        check_float32(call)


@of_ops(lambda op: op.flat and op.samples and op.name not in CUT)
def test_flat(op):
    for call in floating(op):
        check_flat(call)


@of_ops(lambda op: op.opaque is not None and op.samples)
def test_opaque(op):
    for call in floating(op):
        check_opaque(call)


@of_ops(lambda op: op.body is not None and op.vjp is not None)
def test_a_composite_agrees_with_its_body(op):
    for call in floating(op):
        check_body(call)
