"""Derivatives of Python functions over trees of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from wengert.api.differentiated_arguments import (
    Argnums,
    DifferentiatedArguments,
    as_float,
    tangents_of,
)
from wengert.api.one_float import require_one_float
from wengert.api.owned_results import copied, owned
from wengert.core import tree
from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded
from wengert.errors import ShapeError, TraceError
from wengert.interpret.derive import Pullback, jvp_flat, vjp_flat
from wengert.interpret.kept_arrays import kept

__all__ = ["grad", "hvp", "jvp", "value_and_grad", "vjp"]


def zeros_where_none(derivatives: Sequence[Value | None], leaves: Sequence[Value]) -> list[Value]:
    return [
        op.full(x.shape, 0, dtype=x.dtype) if g is None else g
        for g, x in zip(derivatives, leaves, strict=True)
    ]


def _scalar(name: str, out: Any, is_searched: bool = False) -> Value:
    """The loss a function returned, checked to be one float. `is_searched`: for its minimum, by
    what has no other options.
    """
    if isinstance(out, tuple):
        repair = "Pass has_aux=True if it returns (loss, aux)"
        if is_searched:
            repair = "Return the loss alone, and compute what else it gives from the result's tree"
        raise TraceError(
            f"{name}: the function returned a tuple; it must return one scalar. {repair}."
        )
    others = "" if is_searched else ", or use wg.jacobian or wg.vjp"
    return require_one_float(name, "the function", out, others)


@worded
def value_and_grad(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns (value, gradient), or ((value, aux), gradient) with `has_aux`.

    >>> value, gradient = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    if function is None:
        return lambda f: value_and_grad(f, argnums, has_aux)
    f = function

    @wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        (value, aux), gradient = _value_and_grad(
            "value_and_grad", f, args, kwargs, argnums, has_aux
        )
        return ((value, aux) if has_aux else value), gradient

    return differentiated


@worded
def grad(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of a scalar function, or (gradient, aux) with `has_aux`.

    >>> float(grad(lambda x: x**3)(2.0))
    12.0
    """
    if function is None:
        return lambda f: grad(f, argnums, has_aux)
    f = function

    @wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        (_, aux), gradient = _value_and_grad("grad", f, args, kwargs, argnums, has_aux)
        return (gradient, aux) if has_aux else gradient

    return differentiated


def looked_at_value_and_grad(
    by: str, function: Callable[..., Any], args: Sequence[Any]
) -> tuple[Value, Any, Sequence[Value], Sequence[Value | None]]:
    """Value and gradient by the first argument; the distinct leaves of that argument, and their
    gradients, None where none came back.
    """
    seen: list[Any] = []
    (value, _), gradient = _value_and_grad(by, function, args, {}, 0, False, seen)
    leaves, gradients = seen
    return value, gradient, leaves, gradients


def _value_and_grad(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    argnums: Argnums,
    has_aux: bool,
    seen: list[Sequence[Value | None]] | None = None,
) -> tuple[tuple[Value, Any], Any]:
    looked_at = function if seen is None and not has_aux else None
    arguments = DifferentiatedArguments(name, args, argnums, looked_at=looked_at)
    aux_structure: list[tree.Structure] = []

    def flat(*values: Value) -> Sequence[Value]:
        out = arguments.call(function, values, **kwargs)
        if not has_aux:
            return [_scalar(name, out, seen is not None)]
        out, aux = with_aux(name, out)
        leaves, structure = tree.flatten(aux)
        aux_structure.append(structure)
        return [_scalar(name, out), *leaves]

    outputs, pullback = vjp_flat(flat, arguments.leaves, arguments.tape)
    one = np.ones((), outputs[0].dtype)
    cotangents = pullback([one, *[None] * (len(outputs) - 1)])
    if seen is not None:
        seen += arguments.leaves, cotangents
    value, *rest = copied(outputs)
    aux = tree.unflatten(aux_structure[0], rest) if has_aux else None
    gradients = owned(zeros_where_none(cotangents, arguments.leaves), outputs, arguments.leaves)
    return (value, aux), arguments.result(gradients)


@worded
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value, and the function from a cotangent of it to a tuple with a cotangent per argument.

    Returns (value, pullback), or (value, pullback, aux) with `has_aux`.

    >>> value, pullback = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> [float(g) for g in pullback(1.0)]
    [4.0, 3.0]
    """
    arguments = DifferentiatedArguments("vjp", primals, range(len(primals)))
    # The pullback may be called much later, when the arrays hold something else.
    arguments.leaves = [kept(x) if isinstance(x, np.ndarray) else x for x in arguments.leaves]
    value, aux, structure, pull = pullback_of("vjp", function, arguments, has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        given = _like("vjp", "cotangent", cotangent, value, structure)
        gradients = zeros_where_none(pull(given), arguments.leaves)
        return tuple(arguments.gradients(owned(gradients, given, value, arguments.leaves)))

    result = tree.unflatten(structure, copied(value))
    return (result, pullback, aux) if has_aux else (result, pullback)


def pullback_of(
    name: str, function: Callable[..., Any], arguments: DifferentiatedArguments, has_aux: bool
) -> tuple[list[Value], Any, tree.Structure, Pullback]:
    """Flat outputs, aux, the structure of the output, and the pullback of the flat outputs."""
    structures: list[tree.Structure] = []
    count: list[int] = []

    def flat(*values: Value) -> Sequence[Value]:
        out = arguments.call(function, values)
        out, aux = with_aux(name, out) if has_aux else (out, None)
        leaves, structure = tree.flatten(tree.arrays(out))
        aux_leaves, aux_structure = tree.flatten(aux)
        structures.extend((structure, aux_structure))
        count.append(len(leaves))
        return [*leaves, *aux_leaves]

    outputs, pull = vjp_flat(flat, arguments.leaves, arguments.tape)
    extra = len(outputs) - count[0]
    aux = tree.unflatten(structures[1], copied(outputs[count[0] :]))
    return outputs[: count[0]], aux, structures[0], lambda gs: pull([*gs, *[None] * extra])


def with_aux(name: str, out: Any) -> tuple[Any, Any]:
    if not isinstance(out, tuple) or len(out) != 2:
        error = TraceError(
            f"{name}: the function returned {type(out).__name__}; with has_aux=True it must "
            "return (value, aux). Return both, or leave has_aux out."
        )
        raise located(error, [out])
    return out


def _like(
    name: str, what: str, given: Any, values: Sequence[Value], structure: tree.Structure
) -> list[Value]:
    """A cotangent or tangent as flat leaves, checked against what it belongs to."""
    leaves, form = tree.flatten(tree.arrays(given))
    if not form.alike(structure) or len(leaves) != len(values):
        error = TraceError(
            f"{name}: the {what} has structure {form}; it must have that of its value, "
            f"{structure}. Build it with wg.tree.map over the value."
        )
        raise located(error, values)
    for g, x in zip(leaves, values, strict=True):
        if tuple(g.shape) != tuple(x.shape):
            mismatch = ShapeError(
                f"{name}: a {what} has shape {tuple(g.shape)}; it must have the shape of its "
                f"value, {tuple(x.shape)}. Broadcast or reshape it."
            )
            raise located(mismatch, values)
    return [
        g if g.dtype == x.dtype else op.astype(g, x.dtype)
        for g, x in zip(leaves, values, strict=True)
    ]


@worded
def jvp(function: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value and its tangent, for a tuple of arguments and a tuple of their tangents.

    Returns (value, tangent), or (value, tangent, aux) with `has_aux`.

    >>> value, tangent = jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(tangent)
    6.0
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"jvp: the {what} are {type(given).__name__}; a tuple with one value per argument "
                "is needed. Write (x,)."
            )
    arguments = DifferentiatedArguments("jvp", primals, range(len(primals)), numbers_move=True)
    leaves = arguments.leaves
    whole = tuple(arguments.trees(leaves))
    given = tuple(map(as_float, tangents))
    ds = _like("jvp", "tangent", given, *tree.flatten(whole))
    moving = tangents_of(arguments, ds, whole)
    structures: list[tree.Structure] = []
    count: list[int] = []

    def flat(*values: Value) -> Sequence[Value]:
        out = arguments.call(function, values)
        out, aux = with_aux("jvp", out) if has_aux else (out, None)
        out_leaves, out_structure = tree.flatten(tree.arrays(out))
        aux_leaves, aux_structure = tree.flatten(aux)
        structures.extend((out_structure, aux_structure))
        count.append(len(out_leaves))
        return [*out_leaves, *aux_leaves]

    outputs, d_outputs = jvp_flat(flat, leaves, moving)
    n = count[0]
    value = tree.unflatten(structures[0], copied(outputs[:n]))
    tangents = owned(zeros_where_none(d_outputs[:n], outputs[:n]), outputs, leaves, ds)
    tangent = tree.unflatten(structures[0], tangents)
    return (
        (value, tangent, tree.unflatten(structures[1], copied(outputs[n:])))
        if has_aux
        else (value, tangent)
    )


@worded
def hvp(
    function: Callable[..., Any], primals: Any, tangents: Any, argnums: Argnums | None = None
) -> Any:
    """The Hessian of a scalar function times a vector, without building the Hessian.

    `primals` and `tangents` are tuples of arguments, or one argument and its tangent. Of several
    arguments all parts of the product come back, or those that `argnums` names.

    >>> hvp(lambda x: wg.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    if not isinstance(primals, tuple):
        primals, tangents = (primals,), (tangents,)
    if argnums is None:
        argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(function, argnums), primals, tangents)[1]
