"""The constructors of ops. They follow the mathematics: a derivative is said once, read both ways.

The decorator carries the implementation, the body of the function below it the documentation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from wengert.core import promotion
from wengert.core.bind import bind, located, wholes
from wengert.core.lowering import Elementwise
from wengert.core.op import Call, Jvp, Op, Vjp
from wengert.core.op_parts.broadcast import broadcast_shapes
from wengert.core.op_parts.samples import Sample
from wengert.core.rules import (
    Rule,
    broadcasting_jvp,
    broadcasting_vjp,
    jvp_of_partials,
    keeps,
    plain_jvp,
    plain_vjp,
    vjp_of_partials,
    zeros_like,
)
from wengert.core.signatures.declared import can_take
from wengert.core.table import FUNCTIONS, UFUNCS, op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.core.values.other_arrays import is_labelled, reflects
from wengert.core.words.arguments import binding_refused, refusal
from wengert.core.words.noticed.float_notices import told_again
from wengert.core.words.noticed.unused_results import warn_if_unused


def elementwise(
    *,
    numpy: Rule,
    partials: Rule | None = None,
    vjp: Rule | None = None,
    jvp: Rule | None = None,
    emit: Rule | None = None,
    dtypes: promotion.DTypeRule = promotion.any_number,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """An op on scalars, applied to every element with broadcasting.

    `partials(out, *operands)` returns one partial derivative per operand: a value, a Python number,
    or a function without arguments that computes it when it is wanted; parameters of the op come by
    name. Where a product with a
    partial is not the best way, `vjp(g, out, *operands)` and `jvp(tangents, out, *operands)` are
    given instead. `emit` is short for `lower=Elementwise(emit)`.
    """

    def decorate(function: Callable[..., Any]) -> Op:
        name = function.__name__
        rules = fields | {"numpy": numpy, "kind": "elementwise"}
        if emit is not None:
            rules["lower"] = Elementwise(emit)
        rules["dtypes"] = lambda called, operands: dtypes(called, operands)[0]
        rules["type"] = lambda *operands, **_params: ArrayType(
            broadcast_shapes(name, [getattr(x, "shape", ()) for x in operands]),
            dtypes(name, operands)[1],
        )
        if partials is not None:
            _require_operands(name, partials, Call.read(function, "elementwise"))
            rules |= {
                "vjp": vjp_of_partials(name, partials),
                "jvp": jvp_of_partials(name, partials),
            }
            rules |= {"reads": [partials], "reads_lead": 0}
        elif vjp is not None:
            assert jvp is not None
            rules |= {"vjp": broadcasting_vjp(vjp), "jvp": broadcasting_jvp(jvp), "reads": [vjp]}
        return _register(function, **rules)

    return decorate


def _require_operands(name: str, partials: Rule, call: Call) -> None:
    """Refuse partials that cannot be called with the op's operands."""
    if not can_take(partials, 1 + len(call.operands), [*call.params]):
        takes = ", ".join(map(str, inspect.signature(partials).parameters.values())) or "nothing"
        raise TypeError(
            f"{name}: partials takes {takes}; it is called with {', '.join(['out', *call.names])}: "
            "the result, then what the op takes. Give it these parameters; a leading underscore "
            "says that one is not read."
        )


def linear(
    *, transpose: Rule, fixed: Sequence[int] = (), **fields: Any
) -> Callable[[Callable[..., Any]], Op]:
    """An op linear in its operands together (but for the `fixed` ones): its JVP is the op itself.

    `transpose(g, *operands, **params)` returns a cotangent per linear operand, or one value if
    there is one.
    """

    def decorate(function: Callable[..., Any]) -> Op:
        def vjp(
            g: Value,
            out: Value,
            operands: Sequence[Value],
            params: dict[str, Any],
            wanted: Sequence[bool],
        ) -> Sequence[Value]:
            result = transpose(g, *operands, **params)
            if isinstance(result, tuple | list):
                return result
            return [None if i in fixed else result for i in range(len(operands))]

        def jvp(
            tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
        ) -> Value:
            moved = [
                x if i in fixed or x is None else zeros_like(x) if dx is None else dx
                for i, (x, dx) in enumerate(zip(operands, tangents, strict=True))
            ]
            return definition.rebind(moved, params)

        definition = _register(
            function, kind="linear", vjp=vjp, jvp=jvp, reads=[transpose], reads_out=False, **fields
        )
        return definition

    return decorate


def bilinear(*, transposes: tuple[Rule, Rule], **fields: Any) -> Callable[[Callable[..., Any]], Op]:
    """An op of two operands, linear in each: one transpose per operand, `(g, x, y, **params)`."""

    def decorate(function: Callable[..., Any]) -> Op:
        def vjp(
            g: Value,
            out: Value,
            operands: Sequence[Value],
            params: dict[str, Any],
            wanted: Sequence[bool],
        ) -> Sequence[Value]:
            return [
                rule(g, *operands, **params) if want else None
                for rule, want in zip(transposes, wanted, strict=True)
            ]

        def jvp(
            tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
        ) -> Value:
            (x, y), (dx, dy) = operands, tangents
            terms = []
            if dx is not None:
                terms.append(definition.rebind((dx, y), params))
            if dy is not None:
                terms.append(definition.rebind((x, dy), params))
            return terms[0] if len(terms) == 1 else terms[0] + terms[1]

        definition = _register(
            function, kind="bilinear", vjp=vjp, jvp=jvp, reads=transposes, reads_out=False, **fields
        )
        return definition

    return decorate


def primitive(
    *,
    vjp: Rule | None = None,
    jvp: Rule | None = None,
    vjp_flat: Vjp | None = None,
    jvp_flat: Jvp | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """Any other op: `vjp(g, out, *operands, **params)` and `jvp(tangents, out, *operands,
    **params)`.

    `vjp_flat` and `jvp_flat` are given instead where the rule needs operands and parameters as a
    whole.
    """

    def decorate(function: Callable[..., Any]) -> Op:
        rules: dict[str, Any] = {"vjp": vjp_flat, "jvp": jvp_flat}
        if vjp is not None and jvp is not None:
            rules = {"vjp": plain_vjp(vjp), "jvp": plain_jvp(jvp), "reads": [vjp]}
        return _register(function, kind="primitive", **fields | rules)

    return decorate


def composite(
    *,
    numpy: Rule | None = None,
    vjp: Rule | None = None,
    jvp: Rule | None = None,
    vjp_flat: Vjp | None = None,
    jvp_flat: Jvp | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """An op whose body is its meaning, written with other ops; one node in a graph until `expand`.

    Its derivative is the body's, unless both `vjp` and `jvp` are given, or `vjp_flat` and
    `jvp_flat`, as for a primitive. `numpy` is a shorter way to the body's value on arrays, for ops
    that are called often.
    """

    def decorate(function: Callable[..., Any]) -> Op:
        rules: dict[str, Any] = {}
        if vjp is not None and jvp is not None:
            rules = {"vjp": plain_vjp(vjp), "jvp": plain_jvp(jvp), "reads": [vjp]}
        elif vjp_flat is not None and jvp_flat is not None:
            rules = {"vjp": vjp_flat, "jvp": jvp_flat}
        return _register(
            function, kind="composite", body=function, numpy=numpy or function, **fields | rules
        )

    return decorate


def _register(
    function: Callable[..., Any],
    *,
    method: bool = False,
    infix: str | None = None,
    array_function: Sequence[Callable[..., Any]] = (),
    aliases: Sequence[np.ufunc] = (),
    samples: Sequence[Sample] = (),
    reads: Sequence[Rule] = (),
    reads_lead: int = 1,
    reads_out: bool = True,
    **fields: Any,
) -> Op:
    """Enter an op into the table.

    `method` makes it a method of Tensor and `infix` an operator; `array_function` are NumPy
    functions that can be called in the same way, `aliases` ufuncs that mean the op where `numpy` is
    none; `reads` are the rules whose signatures say what the backward pass keeps.
    """
    name = function.__name__
    if fields["kind"] == "composite":
        fields.setdefault("type", None)
    derivative = [
        fields.get("vjp") is not None,
        bool(fields.get("flat")),
        bool(fields.get("opaque")),
    ]
    if fields["kind"] != "composite" and derivative.count(True) != 1:
        raise ValueError(
            f"{name}: {derivative.count(True)} of a derivative, flat=True (zero almost everywhere) "
            "and opaque='reason' (none exists) were given; an op needs exactly one. Choose one."
        )
    call = Call.read(function, fields["kind"])
    if reads:
        fields |= keeps(reads, None if call.variadic else len(call.operands), reads_lead, reads_out)
    definition = Op(
        name=name,
        call=call,
        doc=inspect.getdoc(function) or "",
        samples=tuple(samples),
        infix=infix,
        **fields,
    )
    op.enter_op(name, definition)
    _install(definition, method, array_function)
    if infix is not None:
        _install_operator(infix, definition)
    for spelling in (definition.numpy, *aliases):
        if isinstance(spelling, np.ufunc):
            UFUNCS.setdefault(spelling, definition)  # the first stays: users do not redefine it
    return definition


F = TypeVar("F", bound=Callable[..., Any])


def function(
    *,
    method: bool = False,
    array_function: Sequence[Callable[..., Any]] = (),
    space: str = "",
    entry: str | None = None,
) -> Callable[[F], F]:
    """A public function written with ops and never a node itself; `op.<name>` finds it too, or
    `op.<entry>` where the name has another meaning outside of its space.
    """

    def decorate(definition: F) -> F:
        @wraps(definition)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return definition(*args, **kwargs)
            except RuntimeWarning:
                return told_again(definition, *args, **kwargs)
            except Exception as error:
                explained: Exception | None = None
                if isinstance(error, TypeError) and binding_refused(error):
                    signature = inspect.signature(definition)
                    explained = refusal(definition.__name__, signature, args, kwargs)
                clearer = located(explained or error, args)
                if clearer is error:
                    raise
                raise clearer from None

        op.enter_function(entry or definition.__name__, call, space)
        _install(call, method, array_function)
        return cast("F", call)

    return decorate


def _install(
    definition: Callable[..., Any], method: bool, array_function: Sequence[Callable[..., Any]]
) -> None:
    if method:

        def bound(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            return definition(self, *args, **kwargs)

        bound.__name__ = definition.__name__
        bound.__qualname__ = f"{Tensor.__name__}.{definition.__name__}"
        bound.__doc__ = definition.doc if isinstance(definition, Op) else definition.__doc__
        bound.__wrapped__ = definition  # type: ignore[attr-defined]  # inspect finds its signature
        setattr(Tensor, definition.__name__, bound)
    for theirs in array_function:
        FUNCTIONS[theirs] = definition


def _install_operator(infix: str, definition: Op) -> None:
    """Give Tensor the Python operator, and its reflection where it has one."""
    if len(definition.call.operands) == 1:
        setattr(Tensor, infix, lambda self: definition(self))
        return

    reflected = "__r" + infix.removeprefix("__")

    def operator(self: Tensor, other: Any) -> Value:
        kind: Any = type(other)
        level = self.level
        alone = kind is np.ndarray or (kind is Tensor and other.level is level)
        if alone and not level.closed and not wholes:
            return level.process(definition, (self, other), {})  # what bind would find out
        number = kind is float or kind is int
        if not number and (_answers_itself(other, kind) or reflects(kind, reflected)):
            return NotImplemented
        return bind(definition, (self, other), {})

    def reflection(self: Tensor, other: Any) -> Value:
        if _answers_itself(other, type(other)):
            return NotImplemented
        return bind(definition, (other, self), {})

    def in_place(self: Tensor, other: Any) -> Value:
        warn_if_unused(_ASSIGNED[infix])
        return operator(self, other)

    setattr(Tensor, infix, operator)
    if infix in _ASSIGNED:
        setattr(Tensor, "__i" + infix.removeprefix("__"), in_place)
    if infix not in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(Tensor, reflected, reflection)


_ASSIGNED = {  # the operators that Python has an assignment for, `x += y`
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__floordiv__": "//",
    "__mod__": "%",
    "__pow__": "**",
    "__matmul__": "@",
    "__and__": "&",
    "__or__": "|",
    "__xor__": "^",
    "__lshift__": "<<",
    "__rshift__": ">>",
}


def _answers_itself(other: Any, kind: type) -> bool:
    """Whether an operator is left to the other operand: None, text, what asks NumPy to leave it
    alone, too, and arrays with names of axes.
    """
    if kind is float or kind is int:
        return False
    asked = getattr(kind, "__array_ufunc__", other)
    return other is None or kind is str or asked is None or is_labelled(kind)


for _constructor in (elementwise, linear, bilinear, primitive, composite):
    setattr(op, _constructor.__name__, _constructor)  # wg.op.elementwise and so on
