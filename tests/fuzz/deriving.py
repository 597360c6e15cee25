"""Random functions with derivatives inside derivatives, against JAX in float64.

    python -m tests.fuzz.deriving --programs 5000 --seed 7

A program is an expression over vectors of one length, as nested tuples. Two readings of it, one
with Wengert and one with JAX, give a value, a gradient, and a product with the Hessian. Inside are
gradients, tangents, pullbacks, loops, branches, checkpoints and tied arrays, in each other.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import traceback
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import wengert as wg

N = 3
LARGEST = 1e6  # derivatives of derivatives grow; beyond this, rounding is all there is
CLOSE = 1e-8
MATRIX = np.random.default_rng(5).standard_normal((N, N)) / 2
Expression = Any  # ("x", i), ("constant", values), (name, *expressions) or (name, function, …)
Function = Any  # ("function", expression): its arguments are the last variables of the scope

UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda np, x: np.sin(x),
    "tanh": lambda np, x: np.tanh(x),
    "exp": lambda np, x: np.exp(np.sin(x)),
    "square": lambda np, x: x * x * 0.5,
    "cube": lambda np, x: np.tanh(x) ** 3,
    "root": lambda np, x: np.sqrt(1.0 + x * x),
    "log": lambda np, x: np.log(1.5 + np.cos(x)),
    "abs": lambda np, x: np.abs(x - 0.21),
    "turned": lambda np, x: x[::-1],
    "shifted": lambda np, x: np.concat([x[1:], x[:1] * 2.0]),
    "running": lambda np, x: np.cumsum(x) / 3.0,
    "matrix": lambda np, x: np.matmul(MATRIX, x),
    "outer": lambda np, x: np.sum(np.expand_dims(x, 0) * np.expand_dims(np.sin(x), 1), axis=1),
    "product": lambda np, x: np.prod(np.cos(x)) * np.ones_like(x),
    "largest": lambda np, x: np.max(x) * np.cos(x),
    "sorted": lambda np, x: np.sort(x),
    "gathered": lambda np, x: np.take(x, np.asarray([2, 0, 2]), axis=0),
    "shares": lambda np, x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
    "length": lambda np, x: x / np.sqrt(np.sum(x * x) + 0.1),
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda np, x, y: x + y,
    "subtract": lambda np, x, y: x - y,
    "multiply": lambda np, x, y: np.tanh(x) * y,
    "divide": lambda np, x, y: x / (2.0 + np.sin(y)),
    "larger": lambda np, x, y: np.maximum(x, y - 0.13),
    "chosen": lambda np, x, y: np.where(x > 0.07, x * y, y),
    "dot": lambda np, x, y: np.sum(x * y) * 0.3 + x,
}
# By how many arguments their function has; each gives a vector.
NESTED = {
    "grad": 1,
    "jvp": 1,
    "vjp": 1,
    "hvp": 1,
    "jacobian": 1,
    "jacfwd": 1,
    "checkpoint": 1,
    "region_grad": 1,
    "grad_pair": 2,
    "tied_grad": 2,
    "tied_hvp": 2,
    "tied_jvp": 2,
    "scan": 2,
    "repeat": 1,
    "cond": 1,
}


class Drawing:
    """Expressions drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def expression(self, depth: int, scope: int, nested: int) -> Expression:
        """At most so deep, over variables 0 … scope - 1, with so many derivatives in each other."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.08:
            if rng.random() < 0.12:
                return ("constant", [rng.uniform(-1, 1) for _ in range(N)])
            return ("x", max(rng.randrange(scope), rng.randrange(scope)))
        if nested and rng.random() < 0.45:
            return self.nested(depth, scope, nested)
        if rng.random() < 0.5:
            return (rng.choice(sorted(UNARY)), self.expression(depth - 1, scope, nested))
        both = [self.expression(depth - 1, scope, nested) for _ in range(2)]
        return (rng.choice(sorted(BINARY)), *both)

    def nested(self, depth: int, scope: int, nested: int) -> Expression:
        name = self.rng.choice(sorted(NESTED))
        count = NESTED[name]
        body = self.expression(depth - 1, scope + count, nested - 1)
        at = self.expression(depth - 1, scope, nested - 1)
        other = self.expression(min(depth - 1, 2), scope, 0)
        if name == "cond":
            return (name, body, self.expression(depth - 1, scope + 1, nested - 1), at)
        return (name, body, at, other)


def names_in(expression: Expression) -> list[str]:
    inner = [names_in(each) for each in expression[1:] if isinstance(each, tuple)]
    return [expression[0], *(name for each in inner for name in each)]


class Reading:
    """Expressions as functions of one library."""

    np: Any

    def run(self, e: Expression, scope: tuple[Any, ...]) -> Any:
        name, *parts = e
        if name == "x":
            return scope[parts[0]]
        if name == "constant":
            return self.np.asarray(np.array(parts[0]))
        if name in UNARY:
            return UNARY[name](self.np, self.run(parts[0], scope))
        if name in BINARY:
            return BINARY[name](self.np, *(self.run(each, scope) for each in parts))
        if name == "cond":
            then, orelse, at = parts
            x = self.run(at, scope)
            return self.cond(
                self.np.sum(x) > 0.05,
                lambda x: self.run(then, (*scope, x)),
                lambda x: self.run(orelse, (*scope, x)),
                x,
            )
        body, at, other = parts
        x, v = self.run(at, scope), self.run(other, scope)
        return getattr(self, name)(lambda *xs: self.run(body, (*scope, *xs)), x, v)

    def loss(self, f: Any) -> Any:
        return lambda *xs: self.np.sum(self.np.sin(f(*xs)))

    def grad(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.grad(self.loss(f))(x)

    def jvp(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.jvp(f, (x,), (v,))[1]

    def vjp(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.vjp(f, x)[1](v)[0]

    def hvp(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.jvp(self.lib.grad(self.loss(f)), (x,), (v,))[1]

    def jacobian(self, f: Any, x: Any, v: Any) -> Any:
        return self.np.matmul(self.lib.jacobian(f)(x), v)

    def jacfwd(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.jacfwd(f)(x) @ v

    def checkpoint(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.checkpoint(f)(x)

    def region_grad(self, f: Any, x: Any, v: Any) -> Any:
        return self.lib.grad(self.loss(self.lib.checkpoint(f)))(x)

    def grad_pair(self, f: Any, x: Any, v: Any) -> Any:
        gx, gy = self.lib.grad(self.loss(f), argnums=(0, 1))(x, x)
        return gx * v + gy

    def scan(self, f: Any, x: Any, v: Any) -> Any:
        rows = self.np.stack([v, x * 0.5])
        last, ys = self.loop(lambda h, row: (self.np.tanh(f(h, row)), self.np.sum(h)), x, rows)
        return last + self.np.sum(ys)


class Ours(Reading):
    np, lib = wg, wg
    cond, loop = staticmethod(wg.cond), staticmethod(wg.scan)

    def repeat(self, f: Any, x: Any, v: Any) -> Any:
        def step(state: Any) -> Any:
            return {"n": state["n"] + 1, "h": wg.tanh(f(state["h"])) + v * 0.1}

        first = {"n": 0, "h": x}
        return wg.while_loop(lambda state: state["n"] < 3, step, first, max_steps=5)["h"]

    def hvp(self, f: Any, x: Any, v: Any) -> Any:
        return wg.hvp(self.loss(f), x, v)

    def _tied(self, f: Any) -> Any:
        return lambda tree: self.loss(f)(tree["a"], tree["b"][0])

    def tied_grad(self, f: Any, x: Any, v: Any) -> Any:
        found = wg.grad(self._tied(f))({"a": x, "b": [x]})
        return found["a"] * v + found["b"][0]

    def tied_hvp(self, f: Any, x: Any, v: Any) -> Any:
        found = wg.hvp(self._tied(f), {"a": x, "b": [x]}, {"a": v, "b": [v]})
        return found["a"] * v + found["b"][0]

    def tied_jvp(self, f: Any, x: Any, v: Any) -> Any:
        tied, along = {"a": x, "b": [x]}, {"a": v, "b": [v]}
        return wg.jvp(lambda tree: f(tree["a"], tree["b"][0]), (tied,), (along,))[1]


class Theirs(Reading):
    """One variable where ours are tied."""

    np, lib = jnp, jax
    cond, loop = staticmethod(jax.lax.cond), staticmethod(jax.lax.scan)

    def repeat(self, f: Any, x: Any, v: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, h: jnp.tanh(f(h)) + v * 0.1, x)

    def tied_grad(self, f: Any, x: Any, v: Any) -> Any:
        found = jax.grad(lambda x: self.loss(f)(x, x))(x)
        return found * v + found

    def tied_hvp(self, f: Any, x: Any, v: Any) -> Any:
        found = jax.jvp(jax.grad(lambda x: self.loss(f)(x, x)), (x,), (v,))[1]
        return found * v + found

    def tied_jvp(self, f: Any, x: Any, v: Any) -> Any:
        return jax.jvp(lambda x: f(x, x), (x,), (v,))[1]


def outcomes(reading: Reading, e: Expression) -> Callable[..., list[Any]]:
    """(x, y, v) -> value, gradient by both, Hessian by x times v."""

    def scalar(x: Any, y: Any) -> Any:
        return reading.np.sum(reading.run(e, (x, y)))

    lib = reading.lib

    def run(x: Any, y: Any, v: Any) -> list[Any]:
        value, gradient = lib.value_and_grad(scalar, argnums=(0, 1))(x, y)
        along = lib.jvp(lambda x: lib.grad(scalar)(x, y), (x,), (v,))[1]
        return [value, *gradient, along]

    return run


def program(number: int) -> Expression:
    """A program with at least one derivative, loop or branch inside."""
    draw = Drawing(number)
    while True:
        e = draw.expression(depth=draw.rng.randrange(2, 5), scope=2, nested=2)
        if NESTED.keys() & set(names_in(e)):
            return e


def check(number: int, compiled: bool = True) -> str:
    """Raise AssertionError where we differ from JAX; else what became of the program."""
    e, rng = program(number), np.random.default_rng(number)
    args = [rng.standard_normal(N) for _ in range(3)]
    expected = [np.asarray(x) for x in outcomes(Theirs(), e)(*args)]
    if not all(np.isfinite(x).all() and np.abs(x).max() < LARGEST for x in expected):
        return "too large"
    ours = outcomes(Ours(), e)
    ways = {"eager": ours} | ({"compiled": wg.compile(ours, threads=1)} if compiled else {})
    for way, run in ways.items():
        for what, x, y in zip(("value", "d/dx", "d/dy", "H v"), run(*args), expected, strict=True):
            error = np.max(np.abs(x - y)) / max(1.0, float(np.max(np.abs(y))))
            assert error < CLOSE, f"{way} {what} is\n{x}, JAX finds\n{y}\nof {e}"
    return "right"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.deriving", description=__doc__)
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ["WENGERT_CACHE"] = "0"
    counts: dict[str, int] = {}
    for number in range(given.seed * 10**7, given.seed * 10**7 + given.programs):
        try:
            told = check(number, compiled=number % 2 == 0)
        except Exception as error:
            told = "wrong"
            more = "" if isinstance(error, AssertionError) else traceback.format_exc(limit=-6)
            print(f"{'=' * 80}\nprogram {number}: {error}\n{more}{program(number)}", flush=True)
        counts[told] = counts.get(told, 0) + 1
        if number % 100 == 99:
            jax.clear_caches()
            print(number, counts, file=sys.stderr, flush=True)
    print(counts)
    return "wrong" in counts


if __name__ == "__main__":
    sys.exit(main())
