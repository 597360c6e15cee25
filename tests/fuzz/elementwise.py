"""Steps that act element by element: operands from the intervals of an op's samples, in every
spelling.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.op import Op
from wengert.core.op_parts.samples import Booleans, Exactly, Integers, Real
from wengert.core.table import UFUNCS

from .builder import INTEGERS, Builder
from .operands import (
    draw_any,
    draw_bool,
    draw_float,
    draw_integer_array,
    draw_open,
    fit_integers,
    new_input,
    partner,
    pick,
)

# How NumPy spells an op, where that has one meaning for floats.
_NUMPY = {ours.name: u.__name__ for u, ours in UFUNCS.items() if isinstance(ours, Op)}
_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "remainder": "%",
    "floor_divide": "//",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}


def spelled(op: Op) -> str:
    """How a program reaches an op."""
    if op.space == "hidden":
        return f"wg.op.{op.name}"
    return f"wg.{op.space}.{op.name}" if op.space else f"wg.{op.name}"


def parameters(params: dict[str, Any]) -> str:
    """Parameters as the end of a call."""
    return "".join(f", {name}={written(value)}" for name, value in params.items())


def written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return literal(value)
    if isinstance(value, type | np.dtype):
        return f"np.{np.dtype(value).name}"
    return repr(value)


def literal(value: np.ndarray[Any, Any]) -> str:
    """An array as a constant of the program."""
    text = f"np.array({value.tolist()!r}, np.{value.dtype.name})"
    return f"{text}.reshape({value.shape})" if value.size == 0 else text


def elementwise(b: Builder, op: Op) -> str:
    """A call with operands from the ranges of one sample, broadcast against each other."""
    samples = op.samples[b.integer(0, len(op.samples) - 1)]
    given: list[str] = []
    first: str | None = None
    for position, spec in enumerate(samples.operands):
        if spec is None:
            given.append("None")
            continue
        given.append(_operand(b, spec, first, may_be_number=position > 0))
        first = first or (given[-1] if given[-1] in b.scopes[0] else None)
    text = parameters(samples.params)
    return b.emit(f"{spelled(op)}({', '.join(given)}{text})" if text else _spelling(b, op, given))


def _spelling(b: Builder, op: Op, given: list[str]) -> str:
    arrays = [name for name in given if name in b.scopes[0]]
    if op.name in _INFIX and len(given) == 2 and b.chance(40):
        return f"{given[0]} {_INFIX[op.name]} {given[1]}"
    plain = all(b.kind(name) == "f" for name in arrays) and "None" not in given
    if op.name in _NUMPY and plain and b.chance(30):
        return f"np.{_NUMPY[op.name]}({', '.join(given)})"
    return f"{spelled(op)}({', '.join(given)})"


def _operand(b: Builder, spec: Any, first: str | None, may_be_number: bool) -> str:
    if isinstance(spec, Real):
        return _real(b, spec, first, may_be_number)
    if isinstance(spec, Booleans):
        return _matching(b, first, "bool")
    if isinstance(spec, Integers):
        return _integers(b, spec, first)
    assert isinstance(spec, Exactly), spec
    value = np.asarray(spec.value)
    if value.ndim == 0 and may_be_number and b.chance(70):
        return repr(value.item())
    dtype = b.choose(("float32", "float64")) if value.dtype.kind == "f" else value.dtype.name
    return b.add_input(literal(value.astype(dtype)))


def _real(b: Builder, spec: Real, first: str | None, may_be_number: bool) -> str:
    low, high = float(spec.low), float(spec.high)
    if may_be_number and first is not None and b.chance(20):
        return f"{low + (high - low) * b.integer(1, 9) / 10:.4g}"
    whole = math.floor(high) > math.ceil(low)
    if whole and first is None and b.chance(6):
        return draw_integer_array(b, math.ceil(low), math.floor(high) + 1)
    return draw_float(b, low, high) if first is None else partner(b, first, low, high)


def _integers(b: Builder, spec: Integers, first: str | None) -> str:
    dtypes = [d for d in INTEGERS if not (d.startswith("u") and spec.low < 0)]
    dtypes = [d for d in dtypes if np.iinfo(d).max >= spec.high]
    if first is None:
        return draw_integer_array(b, spec.low, spec.high, dtypes)
    return fit_integers(b, _matching(b, first, b.choose(dtypes)), spec.low, spec.high)


def _matching(b: Builder, first: str | None, dtype: str) -> str:
    """A bool or integer array that broadcasts against another."""
    if first is None:
        return draw_bool(b)

    def allowed(name: str) -> bool:
        # Not uint64 beside signed integers: together they are floats, which have no bits to shift.
        same = b.dtype(name) == dtype or (dtype != "bool" and b.dtype(name) == b.dtype(first))
        return same and b.shape(name) == b.shape(first)

    def make() -> str:
        shape = tuple(1 if i in b.open_axes(first) else n for i, n in enumerate(b.shape(first)))
        wanted = b.dtype(first) if dtype != "bool" and b.kind(first) in "iu" else dtype
        return new_input(b, shape[b.integer(0, len(shape)) :], wanted, 0, 9)

    return pick(b, allowed, make)


def pointwise(b: Builder, op: Op) -> str:
    """A composite of one array that keeps its shape; parameters as in one of its samples."""
    found = op.samples[b.integer(0, len(op.samples) - 1)]
    spec = found.operands[0]
    return b.emit(f"{spelled(op)}({draw_float(b, spec.low, spec.high)}{parameters(found.params)})")


def convert(b: Builder, op: Op) -> str:
    """astype, from any dtype to any other that holds the numbers."""
    name = draw_any(b)
    # Casts of what an integer type cannot hold are undefined in NumPy.
    small = b.within(name, 0, 100) or (b.kind(name) == "b")
    targets: tuple[str, ...] = ("float32", "float64", "bool", "int32", "int64", "int8")
    targets = (*targets, "uint8", "uint64") if small else targets
    if b.kind(name) != "b" and not b.within(name, -100, 100):
        targets = ("float32", "float64", "bool")
    dtype = b.choose(targets)
    spelling = b.choose([f"wg.astype({name}, np.{dtype})", f"{name}.astype(np.{dtype})"])
    return b.emit(spelling)


def debug(b: Builder, op: Op) -> str:
    """The same array, which is printed whenever the program comes here."""
    return b.emit(f'{spelled(op)}({draw_any(b)}, "here")')


def numpy_functions(b: Builder, _op: Op | None = None) -> str:
    """Functions that are written with ops, spelled as NumPy spells them."""
    name = draw_float(b, rank=(1, 3))
    axis = b.integer(0, b.rank(name) - 1)
    texts = [
        f"np.sum({name} * {name}, axis={axis})",
        f"{name}.mean(axis={axis}, keepdims=True) - {name}",
        f"np.flip({name}, {axis})",
        f"np.roll({name}, 1, axis={axis})",
        f"np.expand_dims({name}, {axis})",
        f"{name}[..., ::-1]",
        f"{name}[..., None]",
        f"np.moveaxis({name}, {axis}, 0)",
        f"np.nan_to_num({name}) + abs({name})",
        f"np.where({name} > 0.2, {name}, -{name})",
        f"np.diff({name}, axis={axis})",
        f"np.stack([{name}, {name} * 2.0], axis={axis})",
        f"np.concatenate([{name}, -{name}], axis={axis})",
        f"np.swapaxes({name}, {axis}, -1)",
        f"{name}.T",
        f"np.repeat({name}, 2, axis={axis})",
        f"np.tile({name}, 2)",
        f"np.squeeze({name}[:1], 0)" if b.shape(name)[0] else f"np.ravel({name})",
        f"np.ravel({name})",
    ]
    return b.emit(b.choose(texts))


def size_as_number(b: Builder, _op: Op | None = None) -> str:
    """The size of an axis in arithmetic; open, it is a number of the call."""
    name = draw_open(b)
    axis = b.choose(b.open_axes(name))
    texts = [
        f"{name} / ({name}.shape[{axis}] + 1)",
        f"{name} * 0.1 * {name}.shape[{axis}]",
        f"wg.sum({name}, axis={axis}) / ({name}.shape[{axis}] + 2)",
        f"wg.reshape({name}, (-1,)) + 0.5",
        f"wg.zeros_like({name}) + wg.ones(({name}.shape[{axis}],)).sum()",
    ]
    return b.emit(b.choose(texts))
