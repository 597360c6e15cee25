"""Derivatives by hand: custom_vjp; and recomputation: checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper, wraps
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.dtypes import DType, is_float
from wengert.core.op import Call, Op
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.trees.matched_trees import beside
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.values.number import Number
from wengert.core.words.arguments import worded, worded_methods
from wengert.core.words.noticed.lost_writes import below_arguments, require_unwritten
from wengert.errors import DTypeError, NotDifferentiable, ShapeError, TraceError
from wengert.interpret.trace import composite_body, outer_tensor


@worded
def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose inner values are computed again on the way back instead of kept.

    >>> import wengert as wg
    >>> float(wg.grad(checkpoint(lambda x: wg.sin(x * x)))(0.0))
    0.0
    """

    @wraps(function)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return op.region(lambda *xs: function(*xs, **kwargs), *args)

    return recomputed


@worded_methods("__init__")
class custom_vjp:
    """A function with a reverse rule of its own.

    `defvjp(forward, backward)`: `forward(*args)` returns (value, residuals), and
    `backward(residuals, cotangent)` one cotangent per argument. The function must not use outer
    Tensors except as arguments.

    >>> import wengert as wg
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (wg.clip(g, -1.0, 1.0),))
    >>> float(wg.grad(lambda x: 5.0 * clipped(x))(2.0))
    1.0
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.forward: Callable[..., tuple[Any, Any]] | None = None
        self.backward: Callable[..., Sequence[Any]] | None = None
        update_wrapper(self, function)

    def defvjp(
        self, forward: Callable[..., tuple[Any, Any]], backward: Callable[..., Sequence[Any]]
    ) -> None:
        """Set the reverse rule."""
        self.forward, self.backward = forward, backward

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named:
            raise TypeError(
                f"{self.function.__name__}: given {', '.join(named)} by name; a custom_vjp "
                "function takes its arguments by position, as its rules do. Leave out the names."
            )
        if self.forward is None:
            raise NotDifferentiable(
                f"{self.function.__name__}: has no reverse rule yet; a custom_vjp function needs "
                "one. Call defvjp(forward, backward) first."
            )
        opened, numbers = tree.with_open_numbers(args)
        leaves, places = tree.distinct_leaves(opened)
        call = _CustomCall(self, _Form(tree.flatten(opened)[1], numbers), places)
        out = call.op.rebind(leaves, {"save": False})
        return call.result(out)


class _Form(NamedTuple):
    """A tree without its arrays and without the Python numbers that are known at call time only."""

    structure: tree.Structure
    numbers: tuple[frozenset[str] | None, ...]  # per leaf: the keys of the Number, None of an array

    def filled(self, leaves: Sequence[Value]) -> Any:
        """The tree, whose Python numbers are such again: they give way to the dtypes of arrays."""
        values = [
            x if keys is None else Number(x, keys)
            for x, keys in zip(leaves, self.numbers, strict=True)
        ]
        return tree.unflatten(self.structure, values)


class _CustomCall:
    """One call of a custom_vjp function, as an op on the leaves of its arguments."""

    def __init__(self, custom: custom_vjp, arguments: _Form, places: Sequence[int]) -> None:
        self.custom = custom
        self.arguments = arguments
        self.places = places  # which of the operands each leaf of the arguments is
        self.outputs: tree.Structure | None = None
        self.residuals: _Form | None = None
        self.count = 0  # leaves of the output; those of the residuals follow
        name = custom.function.__name__
        self.op = Op(
            name=name,
            kind="composite",
            call=Call((), frozenset(), True, {"save": False}),
            doc=custom.function.__doc__ or "",
            numpy=self.body,
            type=self.type,
            body=self.body,
            vjp=self.vjp,
            jvp=self.jvp,
            saving=lambda params: {"save": True},
            asked=lambda params: self.count,
            space="hidden",
        )

    def body(self, *leaves: Value, save: bool) -> tuple[Value, ...]:
        args = self.args(leaves)
        given, form = tree.flatten(args)
        if save:
            assert self.custom.forward is not None
            out, residuals = _pair(self.op.name, self.custom.forward(*args))
        else:
            out, residuals = self.custom.function(*args), None
        require_unwritten(self.op.name, below_arguments, form, given, args, (out, residuals))
        values, self.outputs = tree.flatten(tree.arrays(out))
        self.count = len(values)
        opened, numbers = tree.with_open_numbers(residuals)
        kept, structure = tree.flatten(opened)
        if save:
            self.residuals = _Form(structure, numbers)
        if _highest((*values, *kept)) > _highest(leaves):
            raise outer_tensor(self.op.name)
        return (*values, *kept)

    def args(self, operands: Sequence[Value]) -> Any:
        return self.arguments.filled([operands[i] for i in self.places])

    def type(self, *types: ArrayType, save: bool) -> tuple[ArrayType, ...]:
        if any(not isinstance(t, ArrayType) for t in types):  # values: NumPy refused the call
            self._explain([type_of(t) for t in types], save)
            return ()
        return tuple(composite_body(self.op, types, {"save": save}).output_types())

    def _explain(self, types: Sequence[ArrayType], save: bool) -> None:
        """Raise what recording the body says of arrays that do not fit each other. What else is
        wrong in a function of the user's, its own error says.
        """
        try:
            composite_body(self.op, types, {"save": save})
        except (ShapeError, DTypeError):
            raise
        except Exception:
            return

    def result(self, out: Sequence[Value]) -> Any:
        assert self.outputs is not None
        return tree.unflatten(self.outputs, out[: self.count])

    def vjp(
        self,
        g: Any,
        out: Any,
        operands: Sequence[Value],
        params: dict[str, Any],
        wanted: Sequence[bool],
    ) -> Sequence[Value]:
        assert self.custom.backward is not None
        assert self.outputs is not None
        assert self.residuals is not None
        cotangents = [
            op.full(y.shape, 0, dtype=y.dtype) if gy is None else gy
            for gy, y in zip(g[: self.count], out, strict=False)
        ]
        residuals = self.residuals.filled(out[self.count :])
        returned = self.custom.backward(residuals, tree.unflatten(self.outputs, cotangents))
        totals: list[Value | None] = [None] * len(operands)
        for place, gx in zip(self.places, self._flat(returned, operands), strict=True):
            before = totals[place]
            totals[place] = gx if before is None else before if gx is None else before + gx
        return totals

    def _flat(self, returned: Any, operands: Sequence[Value]) -> list[Value | None]:
        """The cotangents a backward rule returned, one per leaf, checked against the arguments;
        None counts as zero.
        """
        args = self.args(operands)
        name = self.op.name
        if not isinstance(returned, tuple | list) or len(returned) != len(args):
            raise ShapeError(
                f"{name}: its backward rule returned {type(returned).__name__} for {len(args)} "
                "arguments; it must return a tuple with one cotangent per argument. Use None for "
                "zero."
            )
        flat: list[Value | None] = []
        for arg, gx in zip(args, returned, strict=True):
            leaves, numbers = tree.leaves(arg), tree.with_open_numbers(arg)[1]
            if not leaves:  # a Python number or another static value
                flat += [None] * len(numbers)
                continue
            values = _cotangents(name, gx, arg)
            own = (
                _own(v, x.dtype) if is_float(x.dtype) else None
                for v, x in zip(values, leaves, strict=True)
            )
            flat += [next(own) if keys is None else None for keys in numbers]
        return flat

    def jvp(
        self, tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
    ) -> Any:
        raise NotDifferentiable(
            f"{self.op.name}: given a tangent; a custom_vjp function has a reverse rule only. "
            "Differentiate it with wg.grad or wg.vjp, and check it with modes=['rev'] of "
            "wg.check_grads, and with order=1 where its backward rule has no derivative; for "
            "wg.hvp, write its forward rule without a call of the function itself."
        )


def _pair(name: str, returned: Any) -> tuple[Any, Any]:
    """What a forward rule returned."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        error = TraceError(
            f"{name}: its forward rule returned {type(returned).__name__}; it must return (value, "
            "residuals). Return None for the residuals where the backward rule needs none."
        )
        raise located(error, [returned])
    return returned[0], returned[1]


def _cotangents(name: str, gx: Any, arg: Any) -> list[Value | None]:
    """What a backward rule returned for an argument, at each of its arrays."""
    values = beside(tree.arrays(gx), arg)
    if values is None:
        raise ShapeError(
            f"{name}: its backward rule returned {_form(gx)} for an argument that is {_form(arg)}; "
            "a cotangent must be a tree like its argument, with the same keys. Return such a tree, "
            "with None where it is zero."
        )
    leaves = tree.leaves(arg)
    if any(
        v is not None and tuple(v.shape) != tuple(x.shape)
        for v, x in zip(values, leaves, strict=True)
    ):
        raise ShapeError(
            f"{name}: its backward rule returned shapes "
            f"{[v.shape for v in values if v is not None]} for an argument of shapes "
            f"{[x.shape for x in leaves]}; they must be equal. Sum or reshape them."
        )
    return values


def _form(x: Any) -> str:
    return "an array" if tree.is_leaf(x) else str(tree.flatten(x)[1])


def _highest(values: Sequence[Value]) -> int:
    """The number of the innermost transformation that some of the values belong to."""
    return max((x.level.number for x in values if type(x) is Tensor), default=0)


def _own(gx: Value | None, dtype: DType) -> Value | None:
    """A cotangent a user's rule returned, in the dtype of its argument and not the user's array."""
    if gx is None:
        return None
    if isinstance(gx, np.ndarray):
        return np.array(gx, dtype)
    return gx if gx.dtype == dtype else op.astype(gx, dtype)
