"""Every op for many examples at once: what a Python loop over the examples gives."""

from __future__ import annotations

from .batches import check_derivatives_of_examples, check_examples
from .calls import calls
from .ops import differentiable, elementwise, has_samples, of_ops


@of_ops(has_samples)
def test_values(op):
    for call in calls(op):
        check_examples(call)


@of_ops(differentiable)
def test_derivatives(op):
    """Elementwise ops share one rule: of these the last sample, which broadcasts where it can."""
    for call in calls(op)[-1:] if elementwise(op) else calls(op):
        check_derivatives_of_examples(call)
