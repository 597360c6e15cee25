"""Every checker reports the fault it is there for, and shows a program that repeats it."""

from contextlib import nullcontext

import numpy as np
import oracle
import pytest
from table.calls import Call, calls
from table.reporting import Fault

from meta import faults
from meta.faults import RIGHT, product_with
from meta.planted import MASK, MASKED, X, Y, binary, planted, square_with, unary
from meta.reference_faults import (
    REFERENCE_FAULTS,
    check_product,
    check_product_twice,
    check_square,
    check_square_twice,
)
from wengert.core.table import op

FAULTS = faults.FAULTS | REFERENCE_FAULTS


def copied(operands):
    return tuple(np.array(x) for x in operands)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_reported(name):
    plant = FAULTS[name]
    with planted(plant.define, plant.signature) as definition:
        for check in plant.passes:
            check(Call(definition, copied(plant.operands), {}))
        with pytest.raises(Fault, match="planted_op") as report:
            plant.check(Call(definition, copied(plant.operands), {}))
    assert plant.says in str(report.value)
    assert "planted_op" not in op


CHECKS = {name: getattr(oracle, name) for name in vars(oracle) if name.startswith("check_")}
ELSEWHERE = {  # what needs another op, or more arguments than a call
    "check_flat",
    "check_opaque",
    "check_body",
    "check_commutes",
    "check_convention",
    "check_masked",
    "check_reference",
    "check_second_reference",
}


def test_every_checker_has_a_planted_fault():
    reported = {
        name
        for plant in FAULTS.values()
        for name in [*plant.check.__code__.co_names, plant.check.__name__]
    }
    assert set(CHECKS) <= reported, set(CHECKS) - reported


@pytest.mark.parametrize("name", sorted(set(CHECKS) - ELSEWHERE))
def test_a_right_op_passes(name):
    with planted(RIGHT, unary) as definition:
        CHECKS[name](Call(definition, (X.copy(),), {}))
        CHECKS[name](Call(definition, (np.zeros((0, 2)),), {}))


def test_a_right_op_passes_the_others():
    with planted(RIGHT, unary) as definition:
        call = Call(definition, (X.copy(),), {})
        check_square(call)
        check_square_twice(call)
        oracle.check_masked(Call(definition, (MASKED,), {}), MASK, op.where)
        oracle.check_convention(Call(definition, (np.zeros(()),), {}), 0.0, (0.0,), "flat there")
    with planted(product_with(), binary) as definition:
        check_product(Call(definition, (X.copy(), Y.copy()), {}))
        check_product_twice(Call(definition, (X.copy(), Y.copy()), {}))
    x, y = X.copy(), X.T.copy().reshape(X.shape)
    oracle.check_commutes(Call(op.add, (x, y), {}))
    oracle.check_flat(Call(op.greater, (x, y), {}))


@pytest.mark.parametrize("name", ["add", "sum", "concat", "astype"])
def test_a_report_shows_a_program_that_runs(name, capsys):
    for call in calls(op[name]):
        exec(call.program(), {})
        assert capsys.readouterr().out == f"{call(*call.operands)}\n"


@pytest.mark.parametrize(("error", "reported"), [(0, False), (1e-8, False), (1e-5, True)])
def test_differences_see_a_small_error(error, reported):
    define = square_with(partials=lambda _out, x: (2 + error) * x)
    with planted(define, unary) as definition:
        call = Call(definition, (X.copy(),), {})
        with pytest.raises(Fault) if reported else nullcontext():
            oracle.check_derivatives(call)
