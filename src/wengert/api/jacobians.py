"""All partial derivatives at once: Jacobians, backwards and forwards, and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import prod
from typing import Any

import numpy as np

from wengert.api.derivatives import grad, pullback_of, with_aux, zeros_where_none
from wengert.api.differentiated_arguments import Argnums, DifferentiatedArguments
from wengert.api.owned_results import copied
from wengert.core import tree
from wengert.core.dims import Dim, need_sizes, product
from wengert.core.table import op
from wengert.core.types import ArrayType, Value
from wengert.core.words.arguments import worded
from wengert.core.words.source import in_phase
from wengert.interpret.bodies.body import close
from wengert.interpret.derive import Pullback, jvp_flat

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


@worded
def jacobian(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the matrix of all partial derivatives, of shape output + input.

    A tree of outputs gives a tree whose leaves are trees of the differentiated arguments. The
    function runs once; its backward pass is recorded once and looped over the basis of the outputs.
    `jacrev` is another name of it, and `jacfwd` the same matrix column by column.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if function is None:
        return lambda f: jacobian(f, argnums, has_aux)
    return _backwards("jacobian", function, argnums, has_aux)


@worded
def jacrev(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """`jacobian` by the name it has where there is a forward one, too: row by row, in reverse.

    It costs a backward pass per element of the output: the way for fewer outputs than inputs.

    >>> jacrev(lambda x: wg.sum(x * x, axis=0, keepdims=True))(np.array([1.0, 2.0]))
    array([[2., 4.]])
    """
    if function is None:
        return lambda f: jacrev(f, argnums, has_aux)
    return _backwards("jacrev", function, argnums, has_aux)


@worded
def jacfwd(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The matrix that `jacobian` returns, column by column, in forward mode.

    It costs a tangent per element of the input: the way for fewer inputs than outputs, and for what
    has no way back, such as a `while_loop` without a bound. The function runs once; its tangent is
    recorded once and looped over the basis of the inputs.

    >>> jacfwd(lambda x: wg.stack([x, x * x]))(3.0)
    array([1., 6.])
    """
    if function is None:
        return lambda f: jacfwd(f, argnums, has_aux)
    f = function

    @wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        arguments = DifferentiatedArguments("jacfwd", args, argnums)
        value, aux, structure, columns = _columns(partial(f, **kwargs), arguments, has_aux)
        rows = [_row(arguments, y, column) for y, column in zip(value, columns, strict=True)]
        result = tree.unflatten(structure, [arguments.result(row) for row in rows])
        return (result, aux) if has_aux else result

    return differentiated


def _backwards(
    name: str,
    function: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    is_of_gradient: bool = False,
) -> Callable[..., Any]:
    @wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        looked_at = None if has_aux else function
        arguments = DifferentiatedArguments(name, args, argnums, looked_at=looked_at)
        value, aux, structure, pull = pullback_of(
            name, partial(function, **kwargs), arguments, has_aux
        )
        _need_number_of_rows(name, value, arguments.leaves, is_of_gradient)
        rows = [_rows(arguments, value, pull, i) for i in range(len(value))]
        result = tree.unflatten(structure, [arguments.result(row) for row in rows])
        return (result, aux) if has_aux else result

    return differentiated


def _need_number_of_rows(
    name: str, value: Sequence[Value], leaves: Sequence[Value], is_of_gradient: bool
) -> None:
    """The entries of the output are the turns of a loop, over a basis that is made of numbers."""
    own, output = ("hessian", "gradient") if is_of_gradient else (name, "output")
    repair = "Write wg.jacfwd, which goes over those of the arguments."
    if _open_sizes([x for x in leaves if x.dtype.kind == "f"]):
        repair = _of_one_row(own, output)
    need_sizes(
        _open_sizes(value),
        f"{own} goes over the entries of the {output}, whose number is open. {repair}",
    )


def _need_number_of_columns(leaves: Sequence[Value]) -> None:
    """As with rows. Whether the output is open, too, is not known before the function is called."""
    need_sizes(
        _open_sizes(leaves),
        "jacfwd goes over the entries of the arguments, whose number is open. If that of the "
        "output is known, write wg.jacobian, which goes over those. "
        + _of_one_row("jacfwd", "output"),
    )


def _of_one_row(name: str, output: str) -> str:
    return (
        f"If each row of the {output} depends on its own row only, write wg.vmap(wg.{name}(f)), "
        "where f is of one row."
    )


def _open_sizes(values: Sequence[Value]) -> frozenset[str]:
    """The names of the sizes that are known at run time only."""
    counts = [product(x.shape) for x in values]
    return frozenset(name for n in counts if isinstance(n, Dim) for name in n.names)


def _count(x: Value) -> int:
    return prod(int(size) for size in x.shape)


def _rows(
    arguments: DifferentiatedArguments, value: Sequence[Value], pull: Pullback, which: int
) -> list[Value]:
    """The partial derivatives of output `which` by every leaf, output axes first."""
    y = value[which]
    n = _count(y)
    basis = np.eye(n, dtype=y.dtype if y.dtype.kind == "f" else np.float64).reshape(n, *y.shape)

    def row(_: Any, e: Value) -> tuple[Any, list[Value]]:
        gradients = pull([e if i == which else None for i in range(len(value))])
        return None, zeros_where_none(gradients, arguments.leaves)

    with in_phase("backward"):
        stacked = op.scan(row, None, basis)[1]
    return [
        op.reshape(j, (*y.shape, *x.shape)) for j, x in zip(stacked, arguments.leaves, strict=True)
    ]


def _columns(
    function: Callable[..., Any], arguments: DifferentiatedArguments, has_aux: bool
) -> tuple[list[Value], Any, tree.Structure, list[Value]]:
    """Flat outputs, aux, the structure of the output, and for each output its tangents along the
    basis of all float leaves, one behind the other.

    The function is recorded along one tangent. What does not depend on it, the values, is computed
    outside: once, and where Python can branch on it. No generator sees a loop here: all columns are
    of one function.
    """
    made: list[Any] = []

    def flat(*values: Value) -> Sequence[Value]:
        out = arguments.call(function, values)
        out, aux = with_aux("jacfwd", out) if has_aux else (out, None)
        leaves, structure = tree.flatten(tree.arrays(out))
        aux_leaves, aux_structure = tree.flatten(aux)
        made[:] = [structure, aux_structure, len(leaves)]
        return [*leaves, *aux_leaves]

    def column(*tangents: Value) -> list[Value]:
        rest = iter(tangents)
        moving = [next(rest) if x.dtype.kind == "f" else None for x in arguments.leaves]
        outputs, d_outputs = jvp_flat(flat, arguments.leaves, moving)
        made.append(outputs)
        n = made[2]
        return zeros_where_none(d_outputs[:n], outputs[:n])

    moving = [x for x in arguments.leaves if x.dtype.kind == "f"]
    _need_number_of_columns(moving)
    basis = _basis(moving)
    types = [ArrayType(x.shape[1:], x.dtype) for x in basis]
    body, _, captured = close("jacfwd", column, tree.flatten(tuple(types))[1], types)
    params = {
        "body": body,
        "consts": len(captured),
        "carry": 0,
        "length": sum(map(_count, types)),
        "reverse": False,
        "save": False,
    }
    with in_phase("tangent"):
        columns = op.scan.rebind([*captured, *basis], params)
    structure, aux_structure, n, outputs = made
    return outputs[:n], tree.unflatten(aux_structure, copied(outputs[n:])), structure, list(columns)


def _basis(leaves: Sequence[Value]) -> list[Any]:
    """For each leaf its part of the vectors that have a single one, in one of the leaves."""
    total, parts, begin = sum(map(_count, leaves)), [], 0
    for x in leaves:
        part = np.zeros((total, _count(x)), x.dtype)
        part[begin : begin + _count(x)] = np.eye(_count(x), dtype=x.dtype)
        begin += _count(x)
        parts.append(part.reshape(total, *map(int, x.shape)))
    return parts


def _row(arguments: DifferentiatedArguments, y: Value, column: Value) -> list[Value]:
    """The partial derivatives of an output by every leaf, output axes first."""
    blocks: list[Value] = []
    begin = 0
    for x in arguments.leaves:
        if x.dtype.kind != "f" or y.dtype.kind != "f":
            blocks.append(op.full((*y.shape, *x.shape), 0, dtype=x.dtype))
        else:
            part = op.reshape(column[begin : begin + _count(x)], (*x.shape, *y.shape))
            axes = range(len(x.shape) + len(y.shape))
            order = (*axes[len(x.shape) :], *axes[: len(x.shape)])
            blocks.append(op.permute_dims(part, order))
        begin += _count(x) if x.dtype.kind == "f" else 0
    return copied(blocks)


@worded
def hessian(
    function: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns all second partial derivatives of a scalar function, exactly.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    if function is None:
        return lambda f: hessian(f, argnums, has_aux)
    gradient = grad(function, argnums, has_aux)
    return _backwards("jacobian", gradient, argnums, has_aux, is_of_gradient=True)
