"""Values, gradients and the gradients of these against JAX in float64."""

import numpy as np
import pytest
from oracle import check_reference, check_second_reference

from table.calls import calls, random_for, random_like
from table.ops import OPS, has_samples, of_ops
from table.references import NO_REFERENCE, REFERENCES, reference, with_gradients
from table.reporting import float_outputs


def compared(op):
    """The calls worth compiling: an elementwise op is the same function at every plain shape."""
    first, *rest = calls(op)
    if op.kind != "elementwise":
        return [first, *rest]
    shapes = [{x.shape for x in call.operands if x is not None} for call in rest]
    return [first] + [c for c, s in zip(rest, shapes, strict=True) if c.special or len(s) > 1]


@of_ops(lambda op: has_samples(op) and op.name not in NO_REFERENCE)
def test_agrees_with_jax(op):
    f = reference(op)
    if f is None:
        pytest.fail(
            f"{op.name}: JAX has no function of this name; enter one in REFERENCES, or the reason "
            "why there is none in NO_REFERENCE (tests/table/references.py)."
        )
    every = compared(op)
    rng = random_for(op, 10)
    rows = []
    for call in every:
        cotangents = random_like(rng, float_outputs(call)) if op.opaque is None else []
        seeds = random_like(rng, call.primals) if has_second_order(call) else []
        rows.append((list(call.operands), cotangents, seeds))
    found = with_gradients(f, every)(rows)
    for call, (_, cotangents, seeds), answer in zip(every, rows, found, strict=True):
        values, gradients, second = answer
        check_reference(call, values, cotangents, gradients)
        if second and all(np.isfinite(gx).all() for gx in gradients):
            check_second_reference(call, cotangents, seeds, second)


def has_second_order(call):
    """Whether the gradient depends on the primals, and there is an element to depend on."""
    curved = call.op.differentiable and call.op.kind != "linear"
    return curved and bool(float_outputs(call)) and all(x.size for x in call.primals)


def test_every_entry_has_an_op():
    """No entry outlives its op."""
    names = {op.name for op in OPS}
    assert set(REFERENCES) | set(NO_REFERENCE) <= names
    assert not set(REFERENCES) & set(NO_REFERENCE)
