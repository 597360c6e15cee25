"""Bad input to compiled functions and their executables, and to the planning of their kernels."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
from meta.planted import planted, same_type, unary

import wengert as wg
from messages.units import lengths
from wengert.codegen.memory.task_order import Task, order, peak
from wengert.core.define import elementwise, primitive
from wengert.runtime.entries.result_pool import waiting_bytes

line, square = np.ones(3), np.ones((2, 2))


N, M = wg.Dim("n"), wg.Dim("m")
COLUMNS = {"x": {0: N}, "y": {0: N}}


def total(x: Any, y: Any) -> Any:
    return x + y


def compiled(function: Any, *args: Any, **options: Any) -> Any:
    """Compile a function and call it; options that are refused are so before the call."""
    return wg.compile(function, **options)(*args)


def named(function: Callable[..., Any], *args: Any, **given: Any) -> Any:
    """Compile a function and call it with arguments by name."""
    return wg.compile(function)(*args, **given)


def changed(read: Callable[[Any], Any]) -> None:
    """Call a compiled function, change an array that it has read, and call it again."""
    numbers = np.ones(3)
    f = wg.compile(lambda x: x * read(numbers))
    f(line)
    numbers[0] = 2.0
    f(line)


def uses_live() -> None:
    """Compile a function that reads the parameters of a step."""
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(3), wg.optim.SGD(0.1))
    live = step.model
    compiled(lambda x: x * live, line)


def while_recorded(read: Callable[[Any], Any]) -> None:
    """Compile a function that asks a step for something."""
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(3), wg.optim.SGD(0.1))
    compiled(lambda x: x * read(step), line)


def in_a_thread() -> None:
    """Ask for the value of a number where nobody can specialise it."""
    with ThreadPoolExecutor() as pool:
        compiled(lambda x, n: x * pool.submit(lambda: int(n)).result(), line, 2)


class Scaled:
    def __init__(self) -> None:
        self.scale = np.ones(3)

    @wg.compile
    def applied(self, x: Any) -> Any:
        return x * self.scale


outside = wg.random.Generator(wg.random.key(0))

CAPTURED: dict[str, Callable[[], Any]] = {
    "random.Generator: one from outside, traced": lambda: compiled(
        lambda x: x + outside.normal((3,)), line
    ),
    "compile: the value of a number, in another thread": in_a_thread,
    "compile: a method of a plain class": lambda: Scaled().applied(line),
    "compile: a captured array that was changed": lambda: changed(lambda numbers: numbers),
    "compile: an array behind a constant that was changed": lambda: changed(np.exp),
    "compile: a captured array that is live": uses_live,
    "compile: a function that reads a step's model": lambda: while_recorded(
        lambda step: step.model
    ),
    "compile: a function that calls a step": lambda: while_recorded(lambda step: step(line)),
    "compile: a function that calls a bound one": lambda: while_recorded(
        lambda step: step.bind(lambda w: w)()
    ),
    "TrainStep: a Tensor for an argument": lambda: wg.grad(
        wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(3), wg.optim.SGD(0.1))
    )(line),
}

OPTIONS: dict[str, Callable[[], Any]] = {
    "compile: no function": lambda: compiled(3),
    "compile: an unknown nonfinite": lambda: compiled(total, nonfinite="never"),
    "compile: no threads": lambda: compiled(total, threads=0),
    "compile: threads that are no number": lambda: compiled(total, threads="all"),
    "compile: static, an unknown name": lambda: compiled(total, line, line, static="z"),
    "compile: static, a position that does not exist": lambda: compiled(
        total, line, line, static=2
    ),
    "compile: static, a list": lambda: compiled(lambda x, k: x * k[0], line, [2.0], static="k"),
    "compile: static, an argument of a function without any": lambda: compiled(
        lambda: 2.0, static="k"
    ),
    "compile: static, nothing": lambda: compiled(total, static=None),
    "compile: static, no name and no position": lambda: compiled(total, static=[2.5]),
    "compile: donate, no name and no position": lambda: compiled(total, donate=2.5),
    "compile: donate, an unknown name": lambda: compiled(total, line, line, donate=("x", "z")),
    "compile: dims, a list": lambda: compiled(total, dims=[1]),
    "compile: dims, an axis that is no number": lambda: compiled(total, dims={"x": {"rows": N}}),
    "compile: dims, a size that is no Dim": lambda: compiled(total, dims={"x": {0: 3}}),
    "compile: dims, an unknown name": lambda: compiled(total, line, line, dims={"z": {0: N}}),
    "compile: dims, two sizes of one Dim": lambda: compiled(total, line, np.ones(4), dims=COLUMNS),
    "compile: dims, an odd size of two halves": lambda: compiled(
        lambda x: x * 2, line, dims={"x": {0: 2 * N}}
    ),
    "compile: dims, a product of two Dims": lambda: compiled(
        lambda x: x * 2, line, dims={"x": {0: N * M}}
    ),
}


def where(**variables: str) -> Any:
    """Compile where the environment has these variables."""
    with mock.patch.dict(os.environ, variables):
        return compiled(total, line, line)


def waiting(asked: str) -> int:
    """How many bytes of results wait where the environment asks for this many."""
    with mock.patch.dict(os.environ, WENGERT_RESULT_BYTES=asked):
        return waiting_bytes()


class Box:
    """Holds a value, and is no tree."""

    def __init__(self, value: Any) -> None:
        self.value = value


CALLS: dict[str, Callable[[], Any]] = {
    "compile: an argument that has only a name": lambda: named(lambda x, *, y: x + y, line, y=line),
    "compile: arguments that have only a name": lambda: named(
        lambda x, *, y, **rest: x + y, line, y=line, z=2.0, w=3.0
    ),
    "compile: lanes that are no number": lambda: where(WENGERT_LANES="many"),
    "compile: lanes that do not exist": lambda: where(WENGERT_LANES="3"),
    "compile: no lanes": lambda: where(WENGERT_LANES="0"),
    "compile: a grain of no work": lambda: where(WENGERT_GRAIN="0"),
    "compile: threads of the environment that are no number": lambda: where(
        WENGERT_NUM_THREADS="all"
    ),
    "compile: bytes of results that are no number": lambda: waiting("lots"),
    "compile: complex numbers": lambda: compiled(total, line, np.ones(3, complex)),
    "compile: complex numbers in a tree": lambda: compiled(
        lambda p, x: p["w"][1] * x, {"w": [line, np.ones(3, complex)]}, line
    ),
    "compile: complex numbers as the result": lambda: compiled(lambda x: np.ones(3, complex), line),
    "compile: objects as a result": lambda: compiled(lambda x: [x, np.array([None])], line),
    "compile: a set as the result": lambda: compiled(lambda x: {x * 2}, line),
    "compile: an object that is no tree as a result": lambda: compiled(
        lambda x: {"a": x, "b": Box([x * 2])}, line
    ),
    "compile: a function of a Tensor as a result": lambda: compiled(
        lambda x: lambda y: x * y, line
    ),
    "compile: a matrix": lambda: compiled(total, line, np.matrix(line)),
    "compile: an array with a unit": lambda: compiled(total, line, lengths),
    "compile: a masked array": lambda: compiled(total, line, np.ma.array(line, mask=[0, 1, 0])),
    "compile: an array of objects": lambda: compiled(total, line, np.array([None] * 3)),
    "compile: sizes that differ, traced": lambda: compiled(total, line, np.ones(4)),
    "compile: a value that is needed, traced": lambda: compiled(lambda x: x * float(x[0]), line),
}


def made(*args: Any, **options: Any) -> Any:
    """The executable of a sum, to be called with other arguments."""
    return wg.compile(total, **options).executable(*args)


EXECUTABLES: dict[str, Callable[[], Any]] = {
    "executable: another tree": lambda: made(line, line)(line, [line]),
    "executable: an argument too few": lambda: made(line, line)(line),
    "executable: another truth value": lambda: made(line, True)(line, False),
    "executable: another static argument": lambda: made(line, 2.0, static="y")(line, 3.0),
    "executable: another dtype": lambda: made(line, line)(line, np.ones(3, np.float32)),
    "executable: another shape": lambda: made(line, line)(line, np.ones(4)),
    "executable: another number of axes": lambda: made(line, line)(line, square),
    "executable: sizes for which a slice is another": lambda: wg.compile(
        lambda x: x[1:] * 2, dims={"x": {0: N}}
    ).executable(line)(line[:0]),
    "executable: sizes for which there is no maximum": lambda: wg.compile(
        lambda x: wg.max(x), dims={"x": {0: N}}
    ).executable(line)(line[:0]),
    "executable: two sizes of one Dim": lambda: made(line, line, dims=COLUMNS)(line, np.ones(4)),
    "executable: a profile with another shape": lambda: made(line, line).profile(line, np.ones(4)),
    "executable: a profile with two sizes of one Dim": lambda: made(
        line, line, dims=COLUMNS
    ).profile(line, np.ones(4)),
    "executable: part of another program": lambda: compiled(
        lambda x: made(line, line)(x, line), line
    ),
    "executable: differentiated": lambda: wg.grad(lambda x: wg.sum(made(line, line)(x, line)))(
        line
    ),
}


def read_only() -> Any:
    array = np.ones(3)
    array.flags.writeable = False
    return array


def twice(array: Any) -> tuple[Any, Any]:
    return array, array


DONATED: dict[str, Callable[[], Any]] = {
    "donate: a read-only array": lambda: compiled(total, read_only(), line, donate="x"),
    "donate: one array as two arguments": lambda: compiled(total, *twice(np.ones(3)), donate="y"),
    "donate: an array that overlaps itself": lambda: compiled(
        total, np.lib.stride_tricks.as_strided(np.ones(3), (2, 2), (8, 8)), square, donate="x"
    ),
}


def disproved(function: Callable[..., Any], *args: Any) -> Any:
    """Report a failure that NumPy, given the same numbers, does not see."""
    return wg.compile(function).executable(*args)._explain_failure(1, 0, args)


NUMBERS: dict[str, Callable[[], Any]] = {
    "compile: an index out of range, traced": lambda: compiled(
        lambda x, i: x[i] * 2, line, np.array([0, 7])
    ),
    "compile: an index out of range that NumPy does not see": lambda: disproved(
        lambda x, i: x[i], line, np.array([0, 2])
    ),
    "compile: a class that does not exist, traced": lambda: compiled(
        lambda x, t: wg.cross_entropy(x, t), square, np.array([0, 2])
    ),
    "compile: a singular matrix, traced": lambda: compiled(lambda a: wg.linalg.inv(a), square),
    "compile: a singular matrix that NumPy does not see": lambda: disproved(
        lambda a: wg.linalg.inv(a), np.eye(2)
    ),
    "compile: a negative exponent that NumPy does not see": lambda: disproved(
        lambda x, y: x**y, np.arange(3), np.arange(3)
    ),
    "compile: a result that is not finite": lambda: compiled(
        lambda x: {"sum": x + 1, "logs": [wg.log(x)]}, np.zeros(3), nonfinite="raise"
    ),
    "compile: the only result is not finite": lambda: compiled(
        lambda x: wg.log(x), np.zeros(3), nonfinite="raise"
    ),
    "compile: a gradient that is not finite": lambda: compiled(
        wg.grad(lambda p: wg.sum(wg.sqrt(p["w"]))), {"w": np.arange(3.0)}, nonfinite="raise"
    ),
    "compile: a step of a scan that is not finite": lambda: compiled(
        lambda xs: wg.scan(lambda c, x: (c + wg.log(x), None), 0.0, xs)[0],
        np.array([1.0, -2.0]),
        nonfinite="raise",
    ),
    "compile: a sum that overflows inside a function": lambda: compiled(
        lambda x: wg.mse(x, -x), np.full((2, 3), 1e200), nonfinite="raise"
    ),
    "compile: an argument that is not finite": lambda: compiled(
        lambda p, x: p["w"] @ x, {"w": square}, np.array([1.0, np.nan]), nonfinite="raise"
    ),
    "compile: an Mlp itself": lambda: compiled(
        wg.nn.Mlp([3, 2, 1], seed=0), np.ones((2, 3), np.float32)
    ),
    "compile: a std that is not above 0": lambda: compiled(
        lambda mean, std: wg.distributions.TanhNormal(mean, std).sample(wg.random.key(0)),
        np.zeros(2),
        np.array([1.0, -1.5]),
        nonfinite="raise",
    ),
    "compile: a constant that is not finite": lambda: compiled(
        lambda x: x + np.array([1.0, np.inf, 2.0]), line, nonfinite="raise"
    ),
    "compile: a result that is not finite, nobody knows why": lambda: _unexplained(
        lambda x: wg.log(x), np.zeros(3)
    ),
}


def _unexplained(function: Callable[..., Any], *args: Any) -> Any:
    """Raise for a result whose values cannot be computed again."""
    with mock.patch("wengert.runtime.origins.provenance.locate", return_value=None):
        return compiled(function, *args, nonfinite="raise")


def _without_code(use: Callable[[Any], Any]) -> Any:
    """Compile a function of an op that is no composite and says nothing of its code."""
    define = primitive(numpy=lambda x: np.flip(x), type=same_type, opaque="nobody has derived it")
    with planted(define, unary) as definition:
        return compiled(lambda x: use(definition)(x), line)


def _elementwise_without_code() -> Any:
    define = elementwise(numpy=lambda x: np.cbrt(x), opaque="nobody has derived it")
    with planted(define, unary) as definition:
        return compiled(lambda x: definition(x) * 2.0, line)


def _with_emit(emit: Callable[..., Any], use: Callable[[Any], Any]) -> Any:
    """Compile a function of an elementwise op with this code."""
    define = elementwise(numpy=lambda x: np.cbrt(x), emit=emit, opaque="nobody has derived it")
    with planted(define, unary) as definition:
        return compiled(lambda x: use(definition)(x), line)


OWN_OPS: dict[str, Callable[[], Any]] = {
    "compile: an op without code": lambda: _without_code(lambda f: f),
    "compile: an op without code in a loop": lambda: _without_code(
        lambda f: lambda x: wg.scan(lambda c, y: (c + f(x)[0] * y, None), 0.0, x)[0]
    ),
    "compile: an elementwise op without code": _elementwise_without_code,
    "compile: an elementwise op with an instruction that does not exist": lambda: _with_emit(
        lambda e, x: e.hypotenuse(x, x), lambda f: lambda x: f(x) * 2.0
    ),
    "compile: an elementwise op written with operators, in a loop": lambda: _with_emit(
        lambda e, x: x * x,
        lambda f: lambda x: wg.scan(lambda c, y: (c + f(y), None), 0.0, x)[0],
    ),
}


# Faults of ours, should they ever be seen: lists of tasks that are no program.

CHAIN, SIZES = [Task((), (0,)), Task((0,), (1,))], {0: 64, 1: 64}
PLANS: dict[str, Callable[[], Any]] = {
    "order: two writers of a buffer": lambda: order([CHAIN[0], CHAIN[0]], {0: 64}, set()),
    "order: a size of a buffer that nothing writes": lambda: order(CHAIN, SIZES | {2: 64}, set()),
    "order: a cycle": lambda: order([Task((1,), (0,)), Task((0,), (1,))], SIZES, set()),
    "peak: an order without all tasks": lambda: peak(CHAIN, SIZES, set(), [0]),
    "peak: an order against a dependency": lambda: peak(CHAIN, SIZES, set(), [1, 0]),
}

# Writes that would be lost.


def _kept_in_a_dict() -> Any:
    kept = {"h": line}

    def f(x: Any) -> Any:
        kept["h"] = kept["h"] + x
        return x * kept["h"]

    return compiled(f, line)


def _kept_by_a_body() -> Any:
    kept = {"h": 0.0}

    def body(carry: Any, x: Any) -> Any:
        kept["h"] = kept["h"] + x
        return carry + kept["h"], None

    return wg.scan(body, 0.0, line)


def _written_to(model: Any) -> Any:
    model["mean"] = model["mean"] * 0.9
    return wg.sum(model["w"])


WRITES: dict[str, Callable[[], Any]] = {
    "compile: a Tensor kept in a dict": _kept_in_a_dict,
    "scan: a Tensor that its body keeps in a dict": _kept_by_a_body,
    "compile: a model that is written to": lambda: compiled(
        _written_to, {"w": line, "mean": np.zeros(())}
    ),
    "grad: a model that is written to": lambda: wg.grad(_written_to)(
        {"w": line, "mean": np.zeros(())}
    ),
}

CASES = WRITES | CAPTURED | OPTIONS | CALLS | EXECUTABLES | DONATED | NUMBERS | OWN_OPS | PLANS
