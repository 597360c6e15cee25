"""The strategy: programs of at least eight nodes over the whole op table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

import wengert  # noqa: F401  (fills the table)
from wengert.core.dims import substitute
from wengert.core.graph import Graph
from wengert.core.op import Op
from wengert.core.op_parts.samples import Real
from wengert.core.table import op as table
from wengert.core.types import ArrayType

from . import (
    elementwise,
    large,
    making,
    matrices,
    nesting,
    reductions,
    sequencing,
    shaping,
    windows,
)
from .builder import FLOATS, Builder, Refused
from .coverage import count_nodes, traced
from .operands import draw_open_shape, new_input
from .program import Program, Step, names_in

Recipe = Callable[[Builder, Op], Any]
LEAST_NODES, LEAST_STEPS = 8, 10  # of a program
# What a program is not drawn from: a source that only graphs built by hand have.
UNREACHED = frozenset({"parameter"})

_OWN: dict[str, Recipe] = {
    "glu": reductions.halves,
    "excess": reductions.classes,
    "cross_entropy": reductions.classes,
    "recurrence": reductions.recurrence,
    "searchsorted": reductions.searchsorted,
    "reshape": shaping.reshape,
    "broadcast_to": shaping.broadcast_to,
    "permute_dims": shaping.permute,
    "matrix_transpose": shaping.transpose,
    "tril": shaping.triangle,
    "triu": shaping.triangle,
    "concat": shaping.concat,
    "pad": shaping.pad,
    "shift": shaping.shift,
    "slice_axes": shaping.slice_axes,
    "place": shaping.place,
    "gather": shaping.gather,
    "scatter": shaping.scatter,
    "take": shaping.take,
    "take_along_axis": shaping.take_along_axis,
    "scatter_add": shaping.scatter_add,
    "one_hot": shaping.one_hot,
    "matmul": matrices.matmul,
    "vecdot": matrices.vecdot,
    "convolution": windows.convolution,
    "largest_positions": windows.pooled,
    "solve": matrices.solve,
    "triangular_solve": matrices.solve,
    "cholesky": matrices.cholesky,
    "cofactors_tangent": matrices.cofactors_tangent,
    **dict.fromkeys(
        ("det", "inv", "cofactors", "det_sign", "log_abs_det", "expm"),
        matrices.of_matrix,
    ),
    **dict.fromkeys(("qr_tall", "svd_tall"), matrices.factors),
    "orthogonal_complement": matrices.complement,
    "pseudo_inverse": matrices.pseudo_inverse,
    "eigh_parts": matrices.eigenvalues,
    "least_squares": matrices.least_squares,
    "sqrtm": matrices.square_root,
    "solve_sylvester": matrices.sylvester,
    "banded_solve": matrices.banded,
    "astype": elementwise.convert,
    "size": elementwise.size_as_number,
    "debug": elementwise.debug,
    "full": making.full,
    "arange": making.arange,
    "constant": making.constant,
    "random_bits": making.random_bits,
    "fold_in": making.fold_in,
}
_NESTED = {
    "scan": nesting.scan,
    "while_loop": nesting.while_loop,
    "cond": nesting.cond,
    "region": nesting.region,
}
_FUNCTIONS = (elementwise.numpy_functions, matrices.contraction, making.random_numbers)
_RARER = (large.large, large.large, shaping.joined, shaping.updated, shaping.at, shaping.at)
_RARER += (sequencing.sequence,) * 4


def recipe(op: Op) -> Recipe | None:
    """How a step with this op is drawn: its own way, or that of its family."""
    params = op.call.params
    if op.name in _OWN:
        return _OWN[op.name]
    if not op.samples:
        return None
    if op.kind == "elementwise":
        return elementwise.elementwise
    if "keepdims" in params:
        return reductions.reduction
    if "eps" in params:
        return reductions.normalization
    if "reduction" in params:
        return reductions.pair_loss
    if "axis" in params and len(op.call.operands) == 1:
        return reductions.along_axis
    if len(op.call.operands) == 1 and all(isinstance(s.operands[0], Real) for s in op.samples):
        return elementwise.pointwise
    return _as_sampled


def _as_sampled(b: Builder, op: Op) -> None:
    """An op of no known family: one of its samples as it stands, in one dtype of floats."""
    dtype = b.choose(FLOATS)
    found = op.samples[b.integer(0, len(op.samples) - 1)]
    given = []
    for spec in found.operands:
        low, high = getattr(spec, "low", 0), getattr(spec, "high", 5)
        if spec is None:
            given.append("None")
        elif hasattr(spec, "value"):
            given.append(elementwise.written(spec.value))
        elif isinstance(spec, Real):
            given.append(new_input(b, spec.shape, dtype, low, high))
        else:
            given.append(new_input(b, spec.shape, getattr(spec, "dtype", "bool"), low, high - 1))
    operands = f"[{', '.join(given)}]" if op.call.variadic else ", ".join(given)
    call = f"{elementwise.spelled(op)}({operands}{elementwise.parameters(found.params)})"
    drawn = found.draw(np.random.default_rng(0))
    result = None if op.type is None else op.type(*drawn, **found.params)
    b.emit(f"{call}[{b.integer(0, len(result) - 1)}]" if isinstance(result, tuple) else call)


OPS = [op for op in table if recipe(op) is not None and not op.name.startswith("planted_")]
OTHERS: list[Any] = [*([*_NESTED, *_FUNCTIONS, "gradient"] * 3), *_RARER]
SIZED = [table["size"], table["arange"], table["full"]]  # without open sizes they are constants


def extend(b: Builder, count: int) -> None:
    """Add so many steps; what is refused is drawn again, but not for ever."""
    goal, tries = len(b.steps) + count, 3 * count + 3
    while len(b.steps) < goal and tries > 0:
        tries -= 1
        try:
            with b.attempt():
                _step(b, b.choose([*OPS, *OTHERS, *(SIZED * 3 if b.sizes[0] else ())]))
        except Refused:
            continue


def _step(b: Builder, choice: Any) -> None:
    depth, parent = 0, b.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    if isinstance(choice, Op):
        made = recipe(choice)
        assert made is not None
        made(b, choice)
    elif callable(choice):
        choice(b, None)
    elif depth >= 2 or (depth == 1 and b.repeated):
        raise Refused
    elif choice == "gradient":
        nesting.gradient(b, extend, b.integer(1, 4))
    else:
        _NESTED[choice](b, extend)


_CALLS = (
    ({"n": 6}, {"n": 1}, {"n": 11}),
    ({"n": 6}, {"n": 13}),
    ({"n": 11}, {"n": 0}, {"n": 6}),
    ({"n": 6, "m": 11}, {"n": 19, "m": 6}),
    ({"n": 47}, {"n": 2}, {"n": 103}),
)


@st.composite
def programs(draw: Any) -> Program:
    """A program of at least eight nodes; nearly half are differentiated as a whole."""
    kind = draw(st.integers(0, 99))
    sizes = [dict(each) for each in _CALLS[kind % len(_CALLS)]] if kind >= 70 else [{}]
    b = Builder(draw, sizes)
    for _ in range(b.integer(1, 2)):
        new_input(b, draw_open_shape(b), b.choose(FLOATS))
    if b.chance(45):
        try:
            with b.attempt():
                nesting.gradient(b, extend, b.integer(4, 7))
        except Refused:
            pass
    for _ in range(20):
        if _count(b.steps) >= LEAST_STEPS and count_nodes(found := _finished(b)) >= LEAST_NODES:
            return found if _sizes_exist(found) else cast(Program, reject())
        extend(b, 1)
    return cast(Program, reject())


def _sizes_exist(program: Program) -> bool:
    """Whether no open size becomes negative: x[1:] has n - 1 rows, so n is not 0."""
    graph = traced(program) if program.dims else Graph()
    found = {t.shape for t in _types(graph)}
    return all(
        isinstance(size, int) and size >= 0
        for sizes in program.sizes
        for shape in found
        for size in substitute(shape, sizes)
    )


def _types(graph: Graph) -> Iterator[ArrayType]:
    for node in graph.nodes:
        yield from (node.type,) if isinstance(node.type, ArrayType) else node.type
    for body in graph.subgraphs():
        yield from _types(body)


def _count(steps: list[Step] | tuple[Step, ...]) -> int:
    return sum(1 + sum(_count(block.steps) for block in step.blocks) for step in steps)


def _finished(b: Builder) -> Program:
    """All that nothing reads is returned, so that nothing is dead, and a little more."""
    returns = b.unused() or list(b.variables[-1:])
    middle = [name for step in b.steps for name in step.gives if name not in returns]
    while middle and b.chance(30):
        returns.append(middle.pop(b.integer(0, len(middle) - 1)))
    used = names_in(" ".join(returns)).union(*(step.uses() for step in b.steps))
    inputs = tuple(x for x in b.inputs if x.name in used)
    opened = {name for x in inputs for _, name in x.axes}
    calls = [tuple((k, v) for k, v in each.items() if k in opened) for each in b.sizes]
    donated = tuple(x.name for x in inputs if b.chance(15))
    return Program(inputs, tuple(b.steps), tuple(returns), tuple(dict.fromkeys(calls)), donated)
