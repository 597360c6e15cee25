"""The samples of every op reach its rules: an error of a thousandth in any of them is reported."""

from oracle import check_derivatives
from table.calls import calls
from table.ops import differentiable, of_ops
from table.reporting import Fault, float_outputs

WRONG = 1e-3


def is_reported(op):
    for call in calls(op):
        if float_outputs(call):
            try:
                check_derivatives(call)
            except Fault:
                return True
    return False


def positions(op):
    """The operands that some sample differentiates."""
    return sorted({i for call in calls(op) if float_outputs(call) for i in call.floats})


def off(value):
    return None if value is None else value * (1 + WRONG) + WRONG


@of_ops(lambda op: differentiable(op) and op.vjp)
def test_a_wrong_cotangent(op, monkeypatch):
    rule = op.vjp
    for position in positions(op):

        def vjp(g, out, operands, params, wanted, position=position):
            found = rule(g, out, operands, params, wanted)
            return [off(gx) if i == position else gx for i, gx in enumerate(found)]

        monkeypatch.setattr(op, "vjp", vjp)
        assert is_reported(op), f"{op.name}: no sample sees the cotangent of operand {position}"


@of_ops(lambda op: differentiable(op) and op.jvp)
def test_a_wrong_tangent(op, monkeypatch):
    rule = op.jvp

    def jvp(tangents, out, operands, params):
        found = rule(tangents, out, operands, params)
        return tuple(map(off, found)) if isinstance(found, tuple) else off(found)

    monkeypatch.setattr(op, "jvp", jvp)
    assert is_reported(op), f"{op.name}: no sample sees the tangent"
