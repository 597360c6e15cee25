"""One right op, and the others each wrong in one way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
from table.batches import check_derivatives_of_examples, check_examples
from table.calls import Call, pullback

from meta.planted import MASK, MASKED, Plant, X, Y, same_type, square_with
from wengert.core.define import bilinear, composite, elementwise, linear, primitive
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError

_count = itertools.count()


def product_with(**fields: Any) -> Callable[[Any], Op]:
    """x * y, where x has the shape of the result and y one axis less."""
    right = {
        "numpy": lambda x, y: x * y,
        "type": lambda x, y: ArrayType(tuple(x.shape), np.result_type(x.dtype, y.dtype)),
        "vjp": lambda g, _out, x, y: (g * y, op.sum(g * x, axis=0)),
        "jvp": _product_jvp,
    }
    return primitive(**right | fields)


def _product_jvp(d: Any, _out: Any, x: Any, y: Any) -> Any:
    return (0 if d[0] is None else d[0] * y) + (0 if d[1] is None else d[1] * x)


def _square_body(function: Any, **fields: Any) -> Op:
    def planted_op(x: Any, /) -> Any:
        """x * x by its body."""
        return op.multiply(x, x)

    return composite(**fields)(planted_op)


def _undone(x: Any) -> Any:
    """Every element, row by row, added up: but in the order in which they lie in memory."""
    return np.cumsum(x.ravel(order="K")).reshape(x.shape)


def _opaque_in_silence(function: Any) -> Op:
    definition = primitive(numpy=lambda x: x * x, type=same_type, opaque="no reason")(function)
    definition.vjp = lambda g, out, operands, params, wanted: [g]
    definition.jvp = lambda tangents, out, operands, params: tangents[0]
    return definition


def _log_by_a_careless_op(function: Any) -> Op:
    """Right in the first derivative, where zero wins; not in that of the quotient it uses."""

    def planted_quotient(g: Any, x: Any, /) -> None:
        """g / x, and 0 where g is 0."""

    quotient = elementwise(
        numpy=lambda g, x: np.where(g == 0, 0.0, g / x),
        vjp=lambda h, _out, g, x: (h / x, -h * g / (x * x)),
        jvp=lambda d, _out, g, x: (
            (0 if d[0] is None else d[0] / x) - (0 if d[1] is None else d[1] * g / (x * x))
        ),
    )(planted_quotient)
    return elementwise(
        numpy=lambda x: np.log(x),
        vjp=lambda g, _out, x: (quotient(g, x),),
        jvp=lambda d, _out, x: quotient(d[0], x),
    )(function)


def _refusing_bools(x: Any) -> ArrayType:
    if x.dtype == bool:
        raise DTypeError("planted: bool")
    return same_type(x)


RIGHT = square_with(partials=lambda _out, x: 2 * x)


def check_at_zero(call: Call) -> None:
    oracle.check_convention(call, 0.0, (0.0,), "planted")


def check_under_mask(call: Call) -> None:
    oracle.check_masked(call, MASK, op.where)


def check_under_mask_once(call: Call) -> None:
    """The first order alone."""
    with np.errstate(all="ignore"):
        zero = pullback(call.function(), call.primals, [np.where(MASK, 0.5, 0.0)])[0][~MASK]
    assert not zero.any()


FAULTS = {
    "partial": Plant(
        square_with(partials=lambda _out, x: 2.001 * x),
        (X,),
        oracle.check_derivatives,
        "tangent 0 differs",
    ),
    "sign of the second partial": Plant(
        elementwise(
            numpy=lambda x, y: x / y,
            partials=lambda out, _x, y: (1 / y, out / y),
            emit=lambda e, x, y: e.div(x, y),
        ),
        (X, Y),
        oracle.check_derivatives,
        "tangent 0 differs",
    ),
    "transpose": Plant(
        linear(
            numpy=lambda x: np.flip(x, 0), type=same_type, transpose=lambda g, _x: op.multiply(g, 1)
        ),
        (X,),
        oracle.check_derivatives,
        "⟨g, Jv⟩",
    ),
    "transpose of a bilinear op": Plant(
        bilinear(
            numpy=lambda x, y: x @ y,
            type=lambda x, y: ArrayType((x.shape[0], y.shape[1]), x.dtype),
            transposes=(lambda g, _x, y: g @ y.mT, lambda g, x, _y: g @ x.mT),
        ),
        (X[:, :2], X[:, 1:]),
        oracle.check_derivatives,
        "⟨g, Jv⟩",
    ),
    "tangent only": Plant(
        product_with(jvp=lambda d, _out, x, y: d[0] * y - d[1] * x),
        (X, Y),
        oracle.check_derivatives,
        "tangent 0 differs",
    ),
    "cotangent only": Plant(
        product_with(vjp=lambda g, _out, x, y: (g * y, op.sum(g, axis=0))),
        (X, Y),
        oracle.check_derivatives,
        "⟨g, Jv⟩",
    ),
    "broadcast axis not summed": Plant(
        product_with(vjp=lambda g, _out, x, y: (g * y, g * x)),
        (X, Y),
        oracle.check_derivatives,
        "cotangent has type",
    ),
    "wrong axis summed": Plant(
        product_with(
            vjp=lambda g, _out, x, y: (g * y, op.sum(g * x, axis=1)),
        ),
        (X[:, :2], Y[:2]),
        oracle.check_derivatives,
        "⟨g, Jv⟩",
    ),
    "mean instead of sum": Plant(
        product_with(vjp=lambda g, _out, x, y: (g * y, op.sum(g * x, axis=0) / 2)),
        (X, Y),
        oracle.check_derivatives,
        "⟨g, Jv⟩",
    ),
    "operand read that is not kept": Plant(
        square_with(partials=lambda _out, _x: 2 * _x),
        (X,),
        oracle.check_derivatives,
        "TypeError: unsupported operand",
    ),
    "output read that is not kept": Plant(
        elementwise(numpy=lambda x: np.exp(x), partials=lambda _out, _x: _out * 1),
        (X,),
        oracle.check_derivatives,
        "TypeError: unsupported operand",
    ),
    "partial that is detached": Plant(
        square_with(partials=lambda _out, x: op.stop_gradient(2 * x)),
        (X,),
        oracle.check_second_order,
        "of the gradient: tangent 0 differs",
        passes=(oracle.check_derivatives, oracle.check_traced_derivatives),
    ),
    "partial that branches on values": Plant(
        square_with(partials=lambda _out, x: 2 * x if op.sum(x) > 0 else x + x),
        (X,),
        oracle.check_traced_derivatives,
        "TraceError",
        passes=(oracle.check_derivatives, oracle.check_second_order),
    ),
    "tangents of None": Plant(
        product_with(jvp=lambda d, _out, x, y: d[0] * y + d[1] * x),
        (X, Y),
        oracle.check_subsets,
        "NoneType",
        passes=(oracle.check_derivatives,),
    ),
    "dtype of the cotangent": Plant(
        product_with(
            vjp=lambda g, _out, x, y: (
                op.astype(g, np.float64) * y,
                op.sum(g * x, axis=0),
            )
        ),
        (np.float32(X), np.float32(Y)),
        oracle.check_float32,
        "cotangent has type",
    ),
    "number of the wrong type": Plant(
        product_with(
            vjp=lambda g, _out, x, y: (g * y, op.sum(g * x, axis=0)),
            jvp=lambda d, _out, x, y: op.astype(d[0] * y + d[1] * x, np.float64),
        ),
        (np.float32(X), np.float32(Y)),
        oracle.check_float32,
        "tangent has type",
    ),
    "shape of the type rule": Plant(
        product_with(type=lambda x, y: ArrayType(tuple(y.shape), x.dtype)),
        (X, Y),
        oracle.check_type,
        "result has type",
    ),
    "dtype of the type rule": Plant(
        product_with(type=lambda x, y: ArrayType(tuple(x.shape), np.dtype("float32"))),
        (X, Y),
        oracle.check_type,
        "result has type",
    ),
    "dtype of the promotion": Plant(
        square_with(
            dtypes=lambda name, operands: ([np.dtype("float64")], np.dtype("float64")), flat=True
        ),
        (np.float32(X),),
        oracle.check_type,
        "result has type",
    ),
    "type rule that refuses": Plant(
        primitive(numpy=lambda x: x.copy(), type=_refusing_bools, opaque="planted"),
        (X > 0,),
        oracle.check_type,
        "the type rule gave DTypeError",
    ),
    "type rule that permits": Plant(
        primitive(
            numpy=lambda x: _refusing_bools(x) and x.copy(), type=same_type, opaque="planted"
        ),
        (X > 0,),
        oracle.check_type,
        "computing gave DTypeError",
    ),
    "several outputs where one was said": Plant(
        primitive(numpy=lambda x: (x * x, x), type=same_type, opaque="planted"),
        (X,),
        oracle.check_type,
        "gave a tuple",
    ),
    "other numbers at each call": Plant(
        primitive(numpy=lambda x: x + next(_count), type=same_type, opaque="planted"),
        (X,),
        oracle.check_traced,
        "traced result 0 differs",
        passes=(oracle.check_type,),
    ),
    "emit of another function": Plant(
        square_with(emit=lambda e, x: e.mul(x, e.abs(x)), partials=lambda _out, x: 2 * x),
        (X,),
        oracle.check_emit,
        "what emit gives",
        passes=(oracle.check_derivatives,),
    ),
    "emit in another dtype": Plant(
        square_with(emit=lambda e, x: e.select(e.gt(x, e.const(0)), 1, 2), flat=True),
        (X,),
        oracle.check_emit,
        "what emit gives has type",
    ),
    "flat that is not": Plant(square_with(flat=True), (X,), oracle.check_flat, "tangent 0 differs"),
    "opaque in silence": Plant(_opaque_in_silence, (X,), oracle.check_opaque, "in silence"),
    "body of another derivative": Plant(
        lambda function: _square_body(
            function,
            vjp=lambda g, _out, x: g * x * 2.001,
            jvp=lambda d, _out, x: d[0] * x * 2.001,
        ),
        (X,),
        oracle.check_body,
        "the body's",
    ),
    "order of memory": Plant(
        primitive(numpy=_undone, type=same_type, opaque="planted"),
        (X,),
        oracle.check_layout,
        "transposed operands",
        passes=(oracle.check_type, oracle.check_traced),
    ),
    "operand written": Plant(
        square_with(numpy=lambda x: np.multiply(x, x, out=x), partials=lambda _out, x: 2 * x),
        (X,),
        oracle.check_untouched,
        "operand 0 was changed",
    ),
    "operand written where it is read-only": Plant(
        square_with(numpy=lambda x: np.multiply(x, x, out=x), partials=lambda _out, x: 2 * x),
        (X,),
        oracle.check_layout,
        "operands",
    ),
    "view of an operand": Plant(
        square_with(numpy=lambda x: x[...], partials=lambda _out, _x: 1),
        (X,),
        oracle.check_untouched,
        "view of operand 0",
        passes=(oracle.check_derivatives,),
    ),
    "commutes": Plant(
        elementwise(
            numpy=lambda x, y: x - y,
            partials=lambda _out, _x, _y: (1, -1),
            commutative=True,
            emit=lambda e, x, y: e.sub(x, y),
        ),
        (X, Y),
        oracle.check_commutes,
        "swapped",
        passes=(oracle.check_derivatives,),
    ),
    "value of a convention": Plant(
        square_with(numpy=lambda x: x * x + 1.0, partials=lambda _out, x: 2 * x),
        (np.zeros(()),),
        check_at_zero,
        "value",
    ),
    "gradient of a convention": Plant(
        square_with(
            numpy=lambda x: np.abs(x), partials=lambda _out, x: op.where(x >= 0, 1.0, -1.0)
        ),
        (np.zeros(()),),
        check_at_zero,
        "gradient",
    ),
    "tangent of a convention": Plant(
        primitive(
            numpy=lambda x: np.abs(x),
            type=same_type,
            vjp=lambda g, _out, x: g * op.where(x > 0, 1.0, op.where(x < 0, -1.0, 0.0)),
            jvp=lambda d, _out, x: d[0] * op.where(x < 0, -1.0, 1.0),
        ),
        (np.zeros(()),),
        check_at_zero,
        "tangent",
    ),
    "zero times infinity": Plant(
        elementwise(
            numpy=lambda x: np.log(x),
            vjp=lambda g, _out, x: (g / x,),
            jvp=lambda d, _out, x: d[0] / x,
            emit=lambda e, x: e.log(x),
        ),
        (MASKED,),
        check_under_mask,
        "cotangent 0 is nan",
    ),
    "zero times infinity in the second derivative": Plant(
        _log_by_a_careless_op,
        (MASKED,),
        check_under_mask,
        "of the gradient 0 is nan",
        passes=(check_under_mask_once,),
    ),
    "many examples": Plant(  # each meets that of another
        product_with(
            batch=lambda call: op.multiply(
                call.front(0), op.expand_dims(op.flip(call.front(1), axis=0), 1)
            )
        ),
        (X, Y),
        check_examples,
        "mapped, output",
        passes=(oracle.check_derivatives,),
    ),
    "derivatives of many examples": Plant(  # right values, and a derivative cut off
        product_with(
            batch=lambda call: op.stop_gradient(
                op.multiply(call.front(0), op.expand_dims(call.front(1), 1))
            )
        ),
        (X, Y),
        check_derivatives_of_examples,
        "mapped, derivative",
        passes=(check_examples,),
    ),
}
