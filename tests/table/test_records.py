"""Every record of the table is complete."""

import inspect

from table.ops import OPS, emitted, of_ops


@of_ops()
def test_has_a_docstring(op):
    assert op.doc.strip(), f"{op.name}: has no docstring; write one sentence in the definition."
    assert op.doc.strip().splitlines()[0].endswith("."), "begin with a sentence"


@of_ops(lambda op: op.space != "hidden" and not op.front)
def test_has_samples(op):
    assert op.samples, f"{op.name}: has no samples; the generated tests have nowhere to look."


# What passes dissolve or rewrite before kernels are made.
NEVER_LOWERED = {"pick", "region", "full", "vecdot"}


@of_ops(lambda op: op.body is None)
def test_says_how_it_becomes_code(op):
    assert (op.lower is None) == (op.name in NEVER_LOWERED), f"{op.name}: say `lower=`"


@of_ops(emitted)
def test_an_elementwise_op_can_be_compiled(op):
    taken = inspect.signature(op.lower.emit).parameters.values()
    named = {p.name for p in taken if p.kind is p.KEYWORD_ONLY}
    assert len(taken) - len(named) == 1 + len(op.call.operands), f"{op.name}: e and each operand"
    assert named == set(op.call.params), f"{op.name}: and each parameter, by name"


@of_ops(lambda op: op.kind != "composite")
def test_has_exactly_one_derivative(op):
    given = [op.vjp is not None, op.flat, op.opaque is not None]
    assert given.count(True) == 1
    assert (op.jvp is None) == (op.vjp is None), f"{op.name}: one direction is missing"


@of_ops(lambda op: op.kind == "composite")
def test_a_composite_has_a_body(op):
    assert op.body is not None
    assert (op.jvp is None) == (op.vjp is None), f"{op.name}: one direction is missing"


@of_ops(lambda op: not op.call.variadic and op.vjp is not None)
def test_says_what_it_keeps_for_every_operand(op):
    assert op.keeps is True or len(op.keeps) == len(op.call.operands)


@of_ops()
def test_tolerance_is_not_loose(op):
    assert 0 < op.tolerance <= 1e-6, f"{op.name}: no op may be this inexact in float64."


def test_names_are_unique():
    names = [op.name for op in OPS]
    assert len(set(names)) == len(names)
