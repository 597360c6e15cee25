"""What it means for an op to be right: checkers that know nothing of how ops are written.

Each checker takes a Call and raises Fault where the op lies; the message ends with a program that
repeats the call. `tests/meta` plants a lie of every kind and holds the checkers to reporting it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from table.calls import (
    Call,
    Function,
    gradient_function,
    outputs,
    pullback,
    pushforward,
    random_for,
    random_like,
    tangent_function,
    zeros,
)
from table.closeness import require_close, require_differences, require_types
from table.ops import emit
from table.reporting import checker

from wengert.core.check import check
from wengert.core.emit import NumpyEmit
from wengert.core.text.read import read
from wengert.core.text.show import show
from wengert.core.types import ArrayType, type_of
from wengert.errors import NotDifferentiable, WengertError
from wengert.interpret.replay import replay
from wengert.interpret.trace import node_type, trace_flat

SAME = 1e-11  # relative error allowed where two ways must give the same number in float64


# Types and traces.


@checker
def check_type(call: Call) -> None:
    """The type rule says what is computed, and refuses what the computation refuses."""
    expected = _outcome(lambda: ruled_type(call))
    result = _outcome(lambda: call(*call.operands))
    if isinstance(result, WengertError) or isinstance(expected, WengertError):
        _require_same_refusal(result, expected, "computing", "the type rule")
        return
    several = not isinstance(expected, ArrayType)
    assert isinstance(result, tuple) == several, f"gave a {type(result).__name__} for {expected}"
    require_types(outputs(result), expected if several else (expected,), "result")
    for y in outputs(result):
        assert type(y) is np.ndarray, f"result is a {type(y).__name__}, expected an array"


@checker
def check_traced(call: Call) -> None:
    """Recorded and replayed, the call gives the very numbers it gives eagerly."""
    expected = _outcome(lambda: outputs(call(*call.operands)))
    found = _outcome(lambda: _replayed(lambda *xs: outputs(call(*xs)), call.operands, again=True))
    if isinstance(found, WengertError) or isinstance(expected, WengertError):
        _require_same_refusal(found, expected, "tracing", "computing")
        return
    require_types(found, expected, "traced result")
    require_close(found, expected, 0.0, "traced result")


def ruled_type(call: Call) -> Any:
    """What the op's own rules say, from shapes and dtypes alone."""
    given = [list(call.operands)] if call.op.call.variadic else list(call.operands)
    operands, params = call.op.read(given, call.params)
    types = [type_of(x) if hasattr(x, "dtype") else x for x in operands]
    return node_type(call.op, types, params)


def _outcome(attempt: Callable[[], Any]) -> Any:
    """What an attempt gives: its result, or the refusal."""
    try:
        return attempt()
    except WengertError as refusal:
        return refusal


def _require_same_refusal(found: Any, expected: Any, one: str, other: str) -> None:
    assert type(found) is type(expected), f"{one} gave {found!r}, {other} gave {expected!r}"


@checker
def check_traced_derivatives(call: Call) -> None:
    """The derivatives can be recorded too, and give the same numbers."""
    f, rng = call.function(), random_for(call.op, 1)
    outs = f(*call.primals)
    count = len(call.primals)
    for kind, derive, like in (
        ("gradient", gradient_function, outs),
        ("tangent", tangent_function, call.primals),
    ):
        derived = derive(f, count)
        values = [*call.primals, *random_like(rng, like)]
        expected = derived(*values)
        found = _replayed(derived, values)
        require_types(found, expected, f"traced {kind}")
        require_close(found, expected, SAME, f"traced {kind}")


def _replayed(
    f: Callable[..., Sequence[Any]], operands: Sequence[Any], again: bool = False
) -> list[Any]:
    """f recorded with its arrays as inputs (None and Python numbers stay what they are) and run.

    With `again`, what runs is the graph that was written as text and read back.
    """
    inputs = [i for i, x in enumerate(operands) if isinstance(x, np.ndarray)]

    def run(*arrays: Any) -> Sequence[Any]:
        given = dict(zip(inputs, arrays, strict=True))
        return f(*(given.get(i, x) for i, x in enumerate(operands)))

    arrays = [operands[i] for i in inputs]
    graph, captured = trace_flat(run, [type_of(x) for x in arrays], [f"x{i}" for i in inputs])
    assert not captured, "the trace captured Tensors of another level"
    check(graph, node_type)
    if again:
        text = show(graph)
        graph = read(text)
        assert show(graph) == text, f"the text reads back as another graph:\n{text}"
    return replay(graph, arrays)


@checker
def check_emit(call: Call) -> None:
    """The scalar instructions of an elementwise op, read by NumPy, give the op's own numbers."""
    op = call.op
    expected = _outcome(lambda: outputs(call(*call.operands)))
    if isinstance(expected, WengertError):
        return
    dtypes = op.operand_dtypes(call.operands)
    operands = [
        x if x is None else np.asarray(x, dtype)
        for x, dtype in zip(call.operands, dtypes, strict=True)
    ]
    given = [x for x in operands if x is not None]
    found = outputs(emit(op, NumpyEmit(given[-1].dtype), *operands, **call.params))
    shape = np.broadcast_shapes(*(x.shape for x in given))  # a constant result has no shape
    found = tuple(np.broadcast_to(y, shape) for y in found)
    require_types(found, expected, "what emit gives")
    relative = 1e-5 if given[-1].dtype == np.float32 else max(op.tolerance * 1e-2, 1e-13)
    require_close(found, expected, relative, "what emit gives")


# Derivatives.


@checker
def check_derivatives(call: Call) -> None:
    """JVP = central difference; ⟨g, Jv⟩ = ⟨Jᵀg, v⟩."""
    _require_derivatives(call.function(), call.primals, random_for(call.op, 2), "")


@checker
def check_second_order(call: Call) -> None:
    """The same for the derivative itself, as a function of primals and cotangents (or tangents)."""
    f, rng = call.function(), random_for(call.op, 3)
    count = len(call.primals)
    seeds = random_like(rng, f(*call.primals))
    _require_derivatives(
        gradient_function(f, count), [*call.primals, *seeds], rng, "of the gradient: "
    )
    seeds = random_like(rng, call.primals)
    _require_derivatives(
        tangent_function(f, count), [*call.primals, *seeds], rng, "of the tangent: "
    )


def _require_derivatives(
    f: Function, primals: Sequence[Any], rng: np.random.Generator, which: str
) -> None:
    outs = f(*primals)
    dxs = random_like(rng, primals)
    dys = pushforward(f, primals, dxs)
    require_types(dys, outs, f"{which}tangent")
    require_differences(f, primals, dxs, dys, f"{which}tangent")
    gs = random_like(rng, outs)
    gxs = pullback(f, primals, gs)
    require_types(gxs, primals, f"{which}cotangent")
    left = [np.sum(g * dy) for g, dy in zip(gs, dys, strict=True)]
    right = [np.sum(gx * dx) for gx, dx in zip(gxs, dxs, strict=True)]
    scale = sum(np.sum(np.abs(g * dy)) for g, dy in zip(gs, dys, strict=True))
    scale += sum(np.sum(np.abs(gx * dx)) for gx, dx in zip(gxs, dxs, strict=True))
    error = abs(sum(left) - sum(right))
    assert error <= 1e-10 * scale + 1e-13, (
        f"{which}⟨g, Jv⟩ is {sum(left)}, but ⟨Jᵀg, v⟩ is {sum(right)}"
    )


@checker
def check_flat(call: Call) -> None:
    """Zero almost everywhere: no level records it, and differences vanish."""
    f, rng = call.function(), random_for(call.op, 2)
    dxs, outs = random_like(rng, call.primals), f(*call.primals)
    dys = pushforward(f, call.primals, dxs)
    require_close(dys, [zeros(y) for y in outs], 0.0, "tangent")
    gxs = pullback(f, call.primals, random_like(rng, outs))
    require_close(gxs, [zeros(x) for x in call.primals], 0.0, "cotangent")
    if not call.special:
        require_differences(f, call.primals, dxs, dys, "tangent")


@checker
def check_opaque(call: Call) -> None:
    """Differentiating says why that is impossible, in both directions."""
    f, rng = call.function(), random_for(call.op)
    dxs, gs = random_like(rng, call.primals), random_like(rng, f(*call.primals))
    for refusal in (
        _outcome(lambda: pushforward(f, call.primals, dxs)),
        _outcome(lambda: pullback(f, call.primals, gs)),
    ):
        assert isinstance(refusal, NotDifferentiable), "an opaque op was differentiated in silence"
        assert str(call.op.opaque) in str(refusal), f"the reason is missing in: {refusal}"


@checker
def check_subsets(call: Call) -> None:
    """With any of the float operands held constant, the others' derivatives stay as they are."""
    f, rng, count = call.function(), random_for(call.op, 4), len(call.primals)
    gs = random_like(rng, f(*call.primals))
    dxs = random_like(rng, call.primals)
    every = pullback(f, call.primals, gs)
    for subset in _subsets(count):
        some = pullback(f, call.primals, gs, subset)
        require_close(some, [every[i] for i in subset], SAME, f"cotangent wrt {subset}, operand")
        held = [dx if i in subset else None for i, dx in enumerate(dxs)]
        zero = [dx if i in subset else zeros(dx) for i, dx in enumerate(dxs)]
        found, expected = (pushforward(f, call.primals, each) for each in (held, zero))
        require_types(found, expected, f"tangent along {subset}")
        require_close(found, expected, SAME, f"tangent along {subset}, output")


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """The non-empty proper subsets; of many operands the singletons and their complements."""
    sizes = range(1, count) if count <= 3 else (1, count - 1)
    return itertools.chain.from_iterable(itertools.combinations(range(count), n) for n in sizes)


@checker
def check_float32(call: Call) -> None:
    """In float32 everything stays float32, and near the float64 result."""
    f, rng = call.function(), random_for(call.op, 5)
    outs = f(*call.primals)
    dxs, gs = random_like(rng, call.primals), random_like(rng, outs)
    gxs, dys = pullback(f, call.primals, gs), pushforward(f, call.primals, dxs)
    require_types(gxs, call.primals, "cotangent")
    require_types(dys, outs, "tangent")
    wide = call.replaced(_widened)
    g, primals = wide.function(), wide.primals
    for what, found, expected in (
        ("cotangent", gxs, pullback(g, primals, [_widened(each) for each in gs])),
        ("tangent", dys, pushforward(g, primals, [_widened(each) for each in dxs])),
    ):
        require_close(found, expected, 2e-3, f"float32 {what}")


def _widened(x: Any) -> Any:
    return x.astype(np.float64) if x.dtype == np.float32 else x


@checker
def check_body(call: Call) -> None:
    """A composite's own derivative is its body's."""
    op = call.op
    assert op.body is not None
    plain = dataclasses.replace(op, vjp=None, jvp=None)
    operands, params = op.read(
        [list(call.operands)] if op.call.variadic else call.operands, call.params
    )
    require_close(
        outputs(op.numpy(*operands, **params)),
        outputs(op.body(*operands, **params)),
        1e-12,
        "value",
    )
    ours, theirs = call.function(), Call(plain, call.operands, call.params).function()
    rng = random_for(op, 6)
    gs, dxs = random_like(rng, ours(*call.primals)), random_like(rng, call.primals)
    for what, derive, seeds in (("cotangent", pullback, gs), ("tangent", pushforward, dxs)):
        found, expected = (derive(f, call.primals, seeds) for f in (ours, theirs))
        require_close(found, expected, 1e-9, f"{what} (expected: the body's)")


@checker
def check_reference(
    call: Call, values: Sequence[Any], cotangents: Sequence[Any], gradients: Sequence[Any]
) -> None:
    """Values, and gradients for these cotangents, are another library's."""
    result = outputs(call(*call.operands))
    require_close(result, values, call.op.tolerance, "value (expected: the reference), output")
    if gradients:
        found = pullback(call.function(), call.primals, cotangents)
        require_close(
            found, gradients, call.op.tolerance, "gradient (expected: the reference), operand"
        )


@checker
def check_second_reference(
    call: Call, cotangents: Sequence[Any], seeds: Sequence[Any], gradients: Sequence[Any]
) -> None:
    """∂⟨h, Jᵀg⟩/∂x for these cotangents g and seeds h is another library's."""
    count = len(call.primals)
    derived = gradient_function(call.function(), count)
    found = pullback(derived, [*call.primals, *cotangents], seeds, range(count))
    require_close(
        found,
        gradients,
        call.op.tolerance,
        "gradient of the gradient (expected: the reference), operand",
    )


def derivatives(call: Call) -> list[Any]:
    """Outputs, cotangents and tangents along fixed random directions."""
    result = list(outputs(call(*call.operands)))
    f, rng = call.function(), random_for(call.op, 7)
    outs = f(*call.primals)
    if call.primals and outs and call.op.opaque is None:
        result += pullback(f, call.primals, random_like(rng, outs))
        result += pushforward(f, call.primals, random_like(rng, call.primals))
    return result


# Arrays in memory, and points that are special.


@checker
def check_layout(call: Call) -> None:
    """Memory order is invisible: transposed, strided, reversed and read-only operands."""
    expected = derivatives(call)
    for what, change in LAYOUTS.items():
        found = derivatives(call.replaced(change))
        require_close(found, expected, SAME, f"with {what} operands, value")


def _strided(x: Any) -> Any:
    wide = np.full([2 * size for size in x.shape], 77).astype(x.dtype)
    view = wide[(*(slice(None, None, 2) for _ in x.shape), ...)]
    view[...] = x
    return view


def _backward(x: Any) -> Any:
    every = (*(slice(None, None, -1) for _ in x.shape), ...)
    return np.array(x[every], order="C")[every]


def _sealed(x: Any) -> Any:
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: np.array(x, order="F"),
    "strided": _strided,
    "reversed": _backward,
    "read-only": _sealed,
}


@checker
def check_untouched(call: Call) -> None:
    """Operands are never written, and only a linear op (reshape …) may return a view of one."""
    before = [None if x is None else x.copy() for x in call.operands]
    derivatives(call)
    for i, (x, was) in enumerate(zip(call.operands, before, strict=True)):
        assert x is None or _same_bits(x, was), f"operand {i} was changed"
    if call.op.kind != "linear":
        for y in outputs(call(*call.operands)):
            for i, x in enumerate(call.operands):
                shared = x is not None and y.flags.writeable and np.shares_memory(x, y)
                assert not shared, f"the result can be written and is a view of operand {i}"


def _same_bits(x: Any, y: Any) -> bool:
    return x.tobytes() == y.tobytes()


@checker
def check_commutes(call: Call) -> None:
    x, y = call.operands
    require_close([call(x, y)], [call(y, x)], 0.0, "result of swapped operands")


@checker
def check_convention(call: Call, value: Any, gradient: Sequence[Any], reason: str) -> None:
    """A point of convention is as written: value, gradient, and the tangent along each element."""
    require_close(outputs(call(*call.operands)), outputs(value), SAME, f"value ({reason}), output")
    f = call.function()
    ones = [np.ones(y.shape, y.dtype) for y in f(*call.primals)]
    given = [g for i, g in enumerate(gradient) if i in call.floats]
    require_close(pullback(f, call.primals, ones), given, SAME, f"gradient ({reason}), operand")
    for position, g in enumerate(given):
        found = np.zeros(np.shape(g))
        for at in np.ndindex(np.shape(g)):
            dxs: list[Any] = [None] * len(given)
            dxs[position] = np.zeros(np.shape(g))
            dxs[position][at] = 1.0
            found[at] = sum(np.sum(dy) for dy in pushforward(f, call.primals, dxs))
        require_close([found], [g], SAME, f"tangent ({reason}), operand")


@checker
def check_masked(call: Call, mask: Any, where: Callable[..., Any]) -> None:
    """Zero cotangents win: where(mask, f(x), 0) has derivatives of zero wherever the mask is false.

    The operands hold points where f or its derivatives are not finite; the mask is false there.
    """
    inner = call.function()

    def f(*primals: Any) -> list[Any]:
        return [where(mask, y, 0.0) for y in inner(*primals)]

    rng, count = random_for(call.op, 8), len(call.primals)
    gs, dxs = random_like(rng, f(*call.primals)), random_like(rng, call.primals)
    _require_masked(pullback(f, call.primals, gs), mask, "cotangent")
    _require_masked(pushforward(f, call.primals, dxs), mask, "tangent")
    for what, derive, seeds in (
        ("gradient", gradient_function, gs),
        ("tangent", tangent_function, dxs),
    ):
        derived = derive(f, count)
        values = [*call.primals, *seeds]
        _require_masked(
            pullback(derived, values, random_like(rng, derived(*values)))[:count],
            mask,
            f"cotangent of the {what}",
        )
        directions = random_like(rng, values)
        _require_masked(pushforward(derived, values, directions), mask, f"tangent of the {what}")


def _require_masked(found: Sequence[Any], mask: Any, what: str) -> None:
    for i, x in enumerate(found):
        wrong = (x != 0) & ~mask
        assert not wrong.any(), f"{what} {i} is {x[wrong][0]} where the mask is false"
