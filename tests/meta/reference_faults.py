"""Ops that are wrong by less than differences can see: only a reference tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
from table.calls import Call

from meta.faults import product_with
from meta.planted import Plant, X, Y, square_with
from wengert.core.table import op

SMALL = 1e-8

G, H = np.cos(X), np.sin(3 * X)  # a cotangent, and a seed of the second order


def check_square(call: Call) -> None:
    """Compare with x², whose cotangent for g is 2xg."""
    (x,) = call.operands
    oracle.check_reference(call, [x * x], [G], [2 * x * G])


def check_square_twice(call: Call) -> None:
    """Compare with x²: ⟨h, 2xg⟩ has the gradient 2gh."""
    oracle.check_second_reference(call, [G], [H], [2 * G * H])


def check_product(call: Call) -> None:
    """Compare with xy, where y has an axis less: Jᵀg is (gy, Σ gx)."""
    x, y = call.operands
    oracle.check_reference(call, [x * y], [G], [G * y, np.sum(G * x, axis=0)])


def check_product_twice(call: Call) -> None:
    """Compare with xy: ⟨h, gy⟩ + ⟨k, gx⟩ has the gradient (kg, Σ hg)."""
    k = np.cos(4 * Y)
    oracle.check_second_reference(call, [G], [H, k], [k * G, np.sum(H * G, axis=0)])


def _changing_by(factor: float, x: Any) -> Any:
    """x, but with another derivative."""
    return factor * x + (1 - factor) * op.stop_gradient(x)


REFERENCE_FAULTS = {
    "value against a reference": Plant(
        square_with(numpy=lambda x: x * x + SMALL, partials=lambda _out, x: 2 * x),
        (X,),
        check_square,
        "value",
        passes=(oracle.check_derivatives,),
    ),
    "partial against a reference": Plant(
        square_with(partials=lambda _out, x: (2 + SMALL) * x),
        (X,),
        check_square,
        "gradient",
        passes=(oracle.check_derivatives,),
    ),
    "second derivative against a reference": Plant(
        square_with(partials=lambda _out, x: 2 * _changing_by(1 + SMALL, x)),
        (X,),
        check_square_twice,
        "gradient of the gradient (expected: the reference), operand 0 differs",
        passes=(check_square, oracle.check_derivatives, oracle.check_second_order),
    ),
    "mixed derivative against a reference": Plant(
        product_with(
            vjp=lambda g, _out, x, y: (
                g * _changing_by(1 + SMALL, y),
                op.sum(g * _changing_by(1 + SMALL, x), axis=0),
            )
        ),
        (X, Y),
        check_product_twice,
        "gradient of the gradient (expected: the reference), operand 0 differs",
        passes=(check_product, oracle.check_derivatives, oracle.check_second_order),
    ),
    "mixed derivative that is lost": Plant(
        product_with(
            vjp=lambda g, _out, x, y: (g * op.stop_gradient(y), op.sum(g * x, axis=0)),
        ),
        (X, Y),
        check_product_twice,
        "gradient of the gradient (expected: the reference), operand 1 differs",
        passes=(check_product, oracle.check_derivatives),
    ),
}
