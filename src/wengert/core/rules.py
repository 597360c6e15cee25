"""From what a definition says of its derivative to the signatures every interpreter calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from types import FunctionType
from typing import Any

import numpy as np

from wengert.core.op import Jvp, Vjp
from wengert.core.op_parts.broadcast import broadcast_like, unbroadcast
from wengert.core.signatures.declared import REST, declared
from wengert.core.table import op
from wengert.core.types import Value

Rule = Callable[..., Any]


def keeps(rules: Sequence[Rule], count: int | None, lead: int, has_out: bool) -> dict[str, Any]:
    """Which values the backward pass reads; a leading underscore in a rule's signature says: not
    this one.

    The rules take `lead` arguments, the output where `has_out`, then the operands; `count` is None
    where an op takes any number of them.
    """
    out, operands = False, [False] * (count or 1)
    for rule in rules:
        names = [name for name, kind, _ in declared(rule) if kind <= REST][lead:]
        out |= has_out and not names[0].startswith("_")
        reads = [not name.startswith("_") for name in names[has_out:]]
        operands = [a or b for a, b in zip(operands, reads, strict=False)]
    return {"keeps_out": out, "keeps": operands[0] if count is None else tuple(operands)}


def pull(g: Value, partial: Value) -> Value:
    """A cotangent or tangent times a partial derivative; zero wins over anything non-finite."""
    kind = type(partial)
    if kind is FunctionType:
        partial = partial()
        kind = type(partial)
    if kind is np.ndarray and type(g) is np.ndarray:
        return op.pull.numpy(g, partial)
    if (kind is int or kind is float) and isfinite(partial):
        return g if partial == 1 else -g if partial == -1 else g * partial
    return op.pull(g, partial)


def as_tuple(value: Any) -> Sequence[Any]:
    return value if type(value) is tuple or type(value) is list else (value,)


def _require_all(name: str, given: Sequence[Any], operands: Sequence[Value]) -> None:
    if len(given) != len(operands):
        raise ValueError(
            f"{name}: partials returned {len(given)} derivatives for {len(operands)} operands; "
            "there must be one for each. Return a tuple of them."
        )


def vjp_of_partials(name: str, partials: Rule) -> Vjp:
    def vjp(
        g: Value,
        out: Value,
        operands: Sequence[Value],
        params: dict[str, Any],
        wanted: Sequence[bool],
    ) -> Sequence[Value]:
        each = as_tuple(partials(out, *operands, **params))
        _require_all(name, each, operands)
        gradients: list[Value] = []
        for p, x, want in zip(each, operands, wanted, strict=True):
            if not want:
                gradients.append(None)
                continue
            gx = g if type(p) is int and p == 1 else pull(g, p)
            same = gx.shape == x.shape and gx.dtype is x.dtype
            gradients.append(gx if same else unbroadcast(gx, x))
        return gradients

    return vjp


def jvp_of_partials(name: str, partials: Rule) -> Jvp:
    def jvp(
        tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
    ) -> Value:
        each = as_tuple(partials(out, *operands, **params))
        _require_all(name, each, operands)
        total = None
        for dx, p in zip(tangents, each, strict=True):
            if dx is not None:
                term = pull(dx, p)
                total = term if total is None else total + term
        return broadcast_like(total, out)

    return jvp


def broadcasting_vjp(rule: Rule) -> Vjp:
    def vjp(
        g: Value,
        out: Value,
        operands: Sequence[Value],
        params: dict[str, Any],
        wanted: Sequence[bool],
    ) -> Sequence[Value]:
        return [
            unbroadcast(gx, x) if want and gx is not None else None
            for gx, x, want in zip(as_tuple(rule(g, out, *operands)), operands, wanted, strict=True)
        ]

    return vjp


def broadcasting_jvp(rule: Rule) -> Jvp:
    def jvp(
        tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
    ) -> Value:
        return broadcast_like(rule(tangents, out, *operands), out)

    return jvp


def plain_vjp(rule: Rule) -> Vjp:
    def vjp(
        g: Value,
        out: Value,
        operands: Sequence[Value],
        params: dict[str, Any],
        wanted: Sequence[bool],
    ) -> Sequence[Value]:
        result = as_tuple(rule(g, out, *operands, **params))
        return [
            (gx() if callable(gx) else gx) if want else None
            for gx, want in zip(result, wanted, strict=True)
        ]

    return vjp


def plain_jvp(rule: Rule) -> Jvp:
    def jvp(
        tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
    ) -> Value:
        return rule(tangents, out, *operands, **params)

    return jvp


def zeros_like(x: Value) -> Value:
    return op.full(x.shape, 0, dtype=x.dtype)
