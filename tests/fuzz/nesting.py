"""Steps with functions inside: derivatives, loops, branches and regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .builder import Builder, Refused, tuple_text
from .operands import draw_bool, draw_float, pick
from .program import Block

Extend = Callable[[Builder, int], None]  # add so many steps to a builder
_TERMS = ("wg.sum(wg.sin({0}))", "wg.sum({0} * {0})", "np.sum(np.tanh({0})) * 0.5", "wg.sum({0})")


def _arguments(b: Builder, most: int, rank: int = 3) -> list[str]:
    """Different float variables, at least one."""
    found: list[str] = []
    for _ in range(b.integer(1, most)):
        name = draw_float(b, rank=(0, rank))
        if name not in found:
            found.append(name)
    return found


def _inner(b: Builder, names: list[str], repeated: bool = False) -> tuple[Builder, list[str]]:
    params = [b.new_name() for _ in names]
    values = {p: b.values(name) for p, name in zip(params, names, strict=True)}
    return b.inner(values, repeated), params


def _float_outcomes(b: Builder) -> list[str]:
    return [name for name in b.unused() if b.kind(name) == "f"]


def _loss(b: Builder, extend: Extend, names: list[str], count: int) -> Block:
    """A scalar function of these variables in which nothing is dead."""
    inner, params = _inner(b, names)
    extend(inner, count)
    terms = [b.choose(_TERMS).format(name) for name in _float_outcomes(inner)]
    return b.block(inner, params, " + ".join(terms or [f"wg.sum({params[0]})"]))


def _vector(b: Builder, extend: Extend, names: list[str], count: int) -> Block:
    """A function of these variables that returns an array."""
    inner, params = _inner(b, names)
    extend(inner, count)
    found = _float_outcomes(inner) or params
    return b.block(inner, params, b.choose(found[::-1]))


def gradient(b: Builder, extend: Extend, count: int) -> None:
    """A derivative of a function of `count` steps, in one of the ways there are."""
    forms: dict[str, Any] = {
        "value_and_grad": _value_and_grad,
        "grad": _grad,
        "jvp": _jvp,
        "vjp": _vjp,
        "hvp": _hvp,
        "grad of grad": _grad_of_grad,
        "jacobian": _jacobian,
    }
    weighted = ["value_and_grad"] * 4 + ["grad"] * 2 + ["jvp"] * 2 + ["vjp"] * 2
    forms[b.choose([*weighted, "hvp", "grad of grad", "jacobian"])](b, extend, count)


def _value_and_grad(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 3)
    block = _loss(b, extend, names, count)
    places, given = tuple_text(range(len(names))), ", ".join(names)
    pattern = "{}, (" + "{}, " * len(names) + ")"
    b.emit_many(f"wg.value_and_grad({block.name}, argnums={places})({given})", pattern, [block])


def _grad(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 2)
    block = _loss(b, extend, names, count)
    b.emit(f"wg.grad({block.name})({', '.join(names)})", [block])


def _jvp(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 2)
    block = _vector(b, extend, names, count)
    tangents = tuple_text([f"wg.cos({name})" for name in names])
    b.emit_many(f"wg.jvp({block.name}, {tuple_text(names)}, {tangents})", "{}, {}", [block])


def _vjp(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 2)
    block = _vector(b, extend, names, count)
    call = f"(lambda y, back: back(wg.cos(y)))(*wg.vjp({block.name}, {', '.join(names)}))"
    b.emit_many(call, "{}, " * len(names), [block])


def _hvp(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 1)
    block = _loss(b, extend, names, min(count, 4))
    b.emit(f"wg.hvp({block.name}, {names[0]}, wg.cos({names[0]}))", [block])


def _grad_of_grad(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 1)
    block = _loss(b, extend, names, min(count, 4))
    inner = f"wg.sum(wg.sin(wg.grad({block.name})(z)))"
    b.emit(f"wg.grad(lambda z: {inner})({names[0]})", [block])


def _jacobian(b: Builder, extend: Extend, count: int) -> None:
    names = _arguments(b, 1, rank=1)
    if not b.closed(names[0]) or b.value(names[0]).size > 5:
        raise Refused
    block = _vector(b, extend, names, min(count, 4))
    way = b.choose(["jacobian", "jacfwd"])
    b.emit(f"wg.{way}({block.name})({names[0]})", [block])


def region(b: Builder, extend: Extend) -> None:
    """A part that is recomputed on the way back."""
    names = _arguments(b, 2)
    inner, params = _inner(b, names)
    extend(inner, b.integer(1, 3))
    results = (inner.unused() or params)[:2]
    block = b.block(inner, params, tuple_text(results))
    call = f"wg.checkpoint({block.name})({', '.join(names)})"
    b.emit_many(call, "{}, " * len(results), [block])


def cond(b: Builder, extend: Extend) -> None:
    """One of two functions of the same variables, with results of one type."""
    names = _arguments(b, 2)
    condition = b.choose(
        [
            f"wg.sum({draw_float(b)}) > 0.1",
            f"wg.any({draw_bool(b)})",
            f"wg.max({names[0]} * 1.0) < 0.9",
        ]
        if b.value(names[0]).size
        else [f"wg.sum({names[0]}) > -0.5"]
    )
    blocks = []
    for _ in range(2):
        inner, params = _inner(b, names)
        extend(inner, b.integer(1, 3))
        blocks.append(b.block(inner, params, _like(inner, params[0])))
    called = ", ".join(block.name for block in blocks)
    b.emit(f"wg.cond({condition}, {called}, {', '.join(names)})", blocks)


def _like(b: Builder, param: str) -> str:
    """An expression of the type of a parameter, from what a function computed."""
    others = [name for name in _float_outcomes(b) if _spreads_over(b, name, param)]
    if not others:
        return f"wg.tanh({param})"
    other = b.choose(others[::-1])
    return f"wg.astype(wg.tanh({param} * 0.5 + {other}), np.{b.dtype(param)})"


def _spreads_over(b: Builder, name: str, param: str) -> bool:
    """Whether a variable broadcasts to the shape of a parameter."""
    for x, y in zip(b.values(name), b.values(param), strict=True):
        try:
            if np.broadcast_shapes(x.shape, y.shape) != y.shape:
                return False
        except ValueError:
            return False
    return name != param


def scan(b: Builder, extend: Extend) -> None:
    """A loop that carries an array, along the rows of another or a number of times."""
    carry = draw_float(b, rank=(0, 2))
    rows = _rows(b) if b.chance(80) else None
    if b.value(carry).size > 64 and b.chance(70):
        raise Refused
    params = [b.new_name() for _ in range(2)]
    first = [carry_row(x) for x in b.values(rows)] if rows else [np.zeros(())] * len(b.scopes)
    values = {params[0]: b.values(carry)} | ({params[1]: first} if rows else {})
    inner = b.inner(values, repeated=True)
    extend(inner, b.integer(1, 3))
    collected = b.choose([*(_outcomes(inner) or [params[0]])][::-1])
    after = _like(inner, params[0])
    block = b.block(inner, params, f"{after}, {collected}")
    more = f", {rows}" if rows else f", length={b.integer(0, 4)}"
    more += ", reverse=True" if b.chance(30) else ""
    b.emit_many(f"wg.scan({block.name}, {carry}{more})", "{}, {}", [block])


def while_loop(b: Builder, extend: Extend) -> None:
    """A loop that counts its steps in the carry, and ends by that count or by what it computes."""
    carry = draw_float(b, rank=(0, 2))
    if b.value(carry).size > 64 and b.chance(70):
        raise Refused
    param, counter = b.new_name(), b.new_name()
    inner = b.inner({param: b.values(carry)}, repeated=True)
    extend(inner, b.integer(1, 3))
    after = _like(inner, param)
    block = b.block(inner, [counter, param], f"{counter} + 1, {after}")
    steps = b.integer(0, 4)
    test = b.choose([f"s[0] < {steps}", f"(s[0] < {steps}) & (wg.sum(s[1]) < 1.5)"])
    call = f"lambda s: {block.name}(*s), (0, {carry}), max_steps={steps + b.integer(0, 2)}"
    b.emit_many(f"wg.while_loop(lambda s: {test}, {call})", "{}, {}", [block])


def _rows(b: Builder) -> str:
    def allowed(name: str) -> bool:
        return 1 <= b.rank(name) <= 3 and b.shape(name)[0] <= 9

    return pick(b, allowed, lambda: draw_float(b, rank=(1, 3)))


def carry_row(x: Any) -> Any:
    """What a loop sees first of an array."""
    return x[0] if len(x) else np.zeros(x.shape[1:], x.dtype)


def _outcomes(b: Builder) -> list[str]:
    return [name for name in b.unused() if b.value(name).size <= 200]
