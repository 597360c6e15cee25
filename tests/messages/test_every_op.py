"""Whatever an op is given, it answers in its own words: no error of NumPy or Python comes through.

Each op is called as one of its samples says, with one operand or one parameter replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from table.calls import Call, calls
from table.ops import of_ops

import wengert as wg
from messages.cases import FORM, Outcome
from wengert.core.op import Op

OPERANDS: dict[str, Callable[[Any], Any]] = {
    "complex numbers": lambda x: np.asarray(x).astype(complex),
    "objects": lambda x: np.asarray(x).astype(object),
    "a text": lambda x: "text",
    "a dictionary": lambda x: {},
    "None": lambda x: None,
}
PARAMETERS = (99, -99, 1.5, None, "text", [], {}, (0, 0), np.ones(3))


def _is_public(op: Op) -> bool:
    return op.space != "hidden" and bool(op.samples)


def _run(call: Call, operands: list[Any], params: dict[str, Any]) -> Any:
    given = [operands] if call.op.call.variadic else operands
    return call.op(*given, **params)


def _traced(call: Call, operands: list[Any], params: dict[str, Any]) -> Any:
    """The call with its arrays as inputs of a graph; what is no array stays as it is."""
    inputs = _inputs(operands)

    def program(*values: Any) -> Any:
        full = list(operands)
        for i, x in zip(inputs, values, strict=True):
            full[i] = x
        return _run(call, full, params)

    return wg.trace(program, *(operands[i] for i in inputs))


def _inputs(operands: list[Any]) -> list[int]:
    return [i for i, x in enumerate(operands) if getattr(x, "dtype", np.dtype("O")).kind in "fiub"]


def _bad_operands(call: Call) -> Iterator[tuple[str, list[Any]]]:
    for i, x in enumerate(call.operands):
        names = call.op.call.operands
        may_be_none = not call.op.call.variadic and names[i] in call.op.call.optional
        for kind, change in OPERANDS.items():
            if x is not None and not (kind == "None" and may_be_none):
                operands = list(call.operands)
                operands[i] = change(x)
                yield f"{kind} as operand {i}", operands


def _refusal(name: str, run: Callable[[], Any]) -> Outcome | None:
    with np.errstate(all="ignore"):
        try:
            run()
        except Exception as error:
            return Outcome(name, error)
    return None


def _require_worded(found: Outcome, op: Op) -> None:
    assert FORM.fullmatch(found.text), f"{found.name}: {found.error!r}"
    assert found.text.startswith(f"{op.name}: "), f"{found.name}: {found.error!r}"


@of_ops(_is_public)
def test_a_wrong_operand(op):
    call = calls(op)[0]
    for name, operands in _bad_operands(call):
        for run in (_run, _traced):
            found = _refusal(name, lambda r=run, xs=operands: r(call, xs, call.params))
            if found is not None:
                _require_worded(found, op)
            else:  # NumPy compares anything, and answers with a dtype that we have
                assert run is _run or not _inputs(operands), f"{name}: was recorded"


@of_ops(lambda op: _is_public(op) and op.call.params)
def test_a_wrong_parameter(op):
    call = calls(op)[0]
    for name in op.call.params:
        for value in PARAMETERS:
            for run in (_run, _traced):
                params = call.params | {name: value}
                what = f"{name}={value!r}"
                found = _refusal(what, lambda r=run, ps=params: r(call, list(call.operands), ps))
                if found is not None:
                    _require_worded(found, op)


@pytest.mark.parametrize("axis", [7, -7, "text", 1.5])
@of_ops(lambda op: _is_public(op) and "axis" in op.call.params)
def test_a_wrong_axis_is_refused(op, axis):
    call = calls(op)[0]
    with pytest.raises((wg.errors.ShapeError, TypeError)):
        _run(call, list(call.operands), call.params | {"axis": axis})
