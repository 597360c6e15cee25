"""Steps along axes: folds, running sums, sorting, normalisation and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.op import Op

from .builder import Builder, Refused
from .elementwise import parameters, spelled
from .operands import draw_any, draw_axes, draw_axis, draw_float, fit_integers, new_input, partner


def _sample_params(b: Builder, op: Op, without: tuple[str, ...]) -> dict[str, Any]:
    found = op.samples[b.integer(0, len(op.samples) - 1)].params
    return {name: value for name, value in found.items() if name not in without}


def reduction(b: Builder, op: Op) -> str:
    """Over one axis, several, all or none; axes stay with keepdims."""
    first = op.samples[0].operands[0]
    exact = op.flat or op.name in ("sum", "max", "min", "prod")
    name = (
        draw_any(b)
        if exact
        else draw_float(b, getattr(first, "low", -2), getattr(first, "high", 2))
    )
    if op.name == "prod" and b.kind(name) == "f" and b.value(name).size > 30:
        raise Refused  # a product of many is zero or infinite
    single = "arg" in op.name
    axis = draw_axes(b, name)
    params = _sample_params(b, op, ("axis", "keepdims"))
    if axis is not None:
        params["axis"] = axis if not single or isinstance(axis, int) else axis[0]
    if b.chance(30):
        params["keepdims"] = True
    if op.space == "" and hasattr(np, op.name) and "correction" not in params and b.chance(25):
        return b.emit(f"np.{op.name}({name}{parameters(params)})")
    return b.emit(f"{spelled(op)}({name}{parameters(params)})")


def along_axis(b: Builder, op: Op) -> str:
    """softmax, cumsum, sort …: one axis, and the shape stays."""
    name = draw_float(b, rank=(1, 4))
    params = _sample_params(b, op, ("axis",)) | {"axis": draw_axis(b, name)}
    if op.name == "cumprod":
        name = draw_float(b, 0.5, 1.5, rank=(1, 4))
        params["axis"] = draw_axis(b, name)
    return b.emit(f"{spelled(op)}({name}{parameters(params)})")


def halves(b: Builder, op: Op) -> str:
    """glu: the axis must be even."""
    name = draw_float(b, rank=(1, 3))
    axis = draw_axis(b, name)
    if axis % b.rank(name) in b.open_axes(name) or b.shape(name)[axis] % 2:
        name = b.emit(f"wg.concat([{name}, wg.cos({name})], axis={axis})")
    return b.emit(f"{spelled(op)}({name}, axis={axis})")


def normalization(b: Builder, op: Op) -> str:
    """layer_norm and its kin: over one or two axes, with or without scale and shift."""
    name = draw_float(b, rank=(1, 4))
    rank = b.rank(name)
    first = draw_axis(b, name)
    axis: int | tuple[int, ...] = first
    if rank > 1 and b.chance(30):
        axis = tuple(sorted({first % rank, b.integer(0, rank - 1)}))
    eps = b.choose((1e-3, 0.1, 1e-5))
    given = [name]
    for _ in op.call.operands[1:]:
        given.append(_new_scale(b, op, name, axis) if b.chance(60) else "None")
    return b.emit(f"{spelled(op)}({', '.join(given)}, axis={axis}, eps={eps})")


def _new_scale(b: Builder, op: Op, name: str, axis: int | tuple[int, ...]) -> str:
    """One number per feature: of the axes that are normalised, or for batch_norm of the others."""
    rank = b.rank(name)
    chosen = {a % rank for a in ((axis,) if isinstance(axis, int) else axis)}
    if op.name == "batch_norm":
        chosen = set(range(rank)) - chosen
    opened = b.open_axes(name)
    shape = tuple(1 if i in opened else n for i, n in enumerate(b.shape(name)) if i in chosen)
    return new_input(b, shape, b.dtype(name), 0.5, 1.5)


def pair_loss(b: Builder, op: Op) -> str:
    """mse and its kin: predictions and targets of one shape."""
    found = op.samples[b.integer(0, len(op.samples) - 1)]
    first, second = (getattr(spec, "high", 2.0) for spec in found.operands)
    low = getattr(found.operands[1], "low", -2.0)
    name = draw_float(b, -first, first, rank=(1 if "axis" in op.call.params else 0, 4))
    other = _like(b, name, float(low), float(second))
    params = dict(found.params)
    if "axis" in op.call.params:
        params["axis"] = draw_axis(b, name)
    return b.emit(f"{spelled(op)}({name}, {other}{parameters(params)})")


def _like(b: Builder, name: str, low: float, high: float) -> str:
    """A float array of the same shape."""
    other = partner(b, name, low, high)
    shapes = [[x.shape for x in b.values(each)] for each in (name, other)]
    if shapes[0] == shapes[1]:
        return other
    if all(np.broadcast_shapes(x, y) == x for x, y in zip(*shapes, strict=True)):
        return b.emit(f"wg.broadcast_to({other}, {b.shape_text(name)})")
    raise Refused


def classes(b: Builder, op: Op) -> str:
    """cross_entropy and its derivative: targets are class numbers or probabilities."""
    name = draw_float(b, rank=(1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    if axis in b.open_axes(name) or b.shape(name)[axis] == 0:
        raise Refused
    rest = [size for i, size in enumerate(b.shape(name)) if i != axis]
    if b.chance(40) or b.open_axes(name):
        targets = b.emit(f"wg.softmax({_like(b, name, -2.0, 2.0)}, axis={axis})")
    else:
        integers = new_input(b, tuple(rest), b.choose(("int64", "int32", "uint8")), 0, 9)
        targets = fit_integers(b, integers, 0, b.shape(name)[axis])
    params: dict[str, Any] = {"axis": axis, "label_smoothing": b.choose((0.0, 0.1))}
    if "reduction" in op.call.params:
        params["reduction"] = b.choose(("mean", "sum", "none"))
    return b.emit(f"{spelled(op)}({name}, {targets}{parameters(params)})")


def recurrence(b: Builder, op: Op) -> str:
    """h[t] = a[t] h[t - 1] + b[t] along an axis."""
    name = draw_float(b, -0.9, 0.9, rank=(1, 3))
    other = _like(b, name, -2.0, 2.0)
    return b.emit(f"{spelled(op)}({name}, {other}, axis={draw_axis(b, name) % b.rank(name)})")


def searchsorted(b: Builder, op: Op) -> str:
    edges = draw_float(b, rank=(1, 1))
    points = draw_float(b)
    if b.dtype(edges) != b.dtype(points):
        points = b.emit(f"wg.astype({points}, np.{b.dtype(edges)})")
    side = b.choose(("left", "right"))
    return b.emit(f"{spelled(op)}(wg.sort({edges}), {points}, side={side!r})")
