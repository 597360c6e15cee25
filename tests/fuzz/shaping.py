"""Steps that move elements: shapes, joins, slices, gathers and scatters."""

from __future__ import annotations

import math

from wengert.core.op import Op

from .builder import Builder, Refused, tuple_text
from .elementwise import spelled
from .operands import draw_any, draw_axis, draw_float, fit_integers, new_input, resized


def reshape(b: Builder, op: Op) -> str:
    """Into factors of the size, with -1 for one of them; open axes stay or are merged."""
    name = draw_any(b)
    opened = b.open_axes(name)
    if opened:
        sizes = [b.size_text(name, i) for i in range(b.rank(name))]
        merged = ["-1", *sizes[2:]] if b.rank(name) > 1 and set(opened) & {0, 1} else [*sizes, "1"]
        return b.emit(f"{spelled(op)}({name}, {tuple_text(merged)})")
    size = b.value(name).size
    shape: list[int] = []
    rest = size
    for _ in range(b.integer(0, 2)):
        factor = b.choose([k for k in (1, 2, 3, 5, 7, 4, 8) if rest and rest % k == 0] or [1])
        shape.append(factor)
        rest = rest // factor
    shape.insert(b.integer(0, len(shape)), rest)
    text: list[int] = list(shape)
    if size and b.chance(40):
        text[b.integer(0, len(text) - 1)] = -1
    spelling = b.choose(
        [f"{spelled(op)}({name}, {tuple_text(text)})", f"{name}.reshape({tuple_text(text)})"]
    )
    return b.emit(spelling)


def broadcast_to(b: Builder, op: Op) -> str:
    name = draw_any(b, rank=(0, 3))
    sizes = [b.size_text(name, i) for i in range(b.rank(name))]
    for i, size in enumerate(b.shape(name)):
        if size == 1 and i not in b.open_axes(name) and b.chance(70):
            sizes[i] = str(b.choose((4, 2, 5, 0)))
    lead = [str(b.choose((2, 3, 1, 0)))] if b.chance(50) else []
    return b.emit(f"{spelled(op)}({name}, {tuple_text([*lead, *sizes])})")


def permute(b: Builder, op: Op) -> str:
    name = draw_any(b)
    left = list(range(b.rank(name)))
    order = [left.pop(b.integer(0, len(left) - 1)) for _ in range(len(left))]
    return b.emit(f"{spelled(op)}({name}, {tuple_text(order)})")


def transpose(b: Builder, op: Op) -> str:
    return b.emit(f"{spelled(op)}({draw_any(b, rank=(2, 4))})")


def triangle(b: Builder, op: Op) -> str:
    return b.emit(f"{spelled(op)}({draw_any(b, rank=(2, 4))}, k={b.integer(-2, 3)})")


def concat(b: Builder, op: Op) -> str:
    """Two or three arrays that differ along one axis only."""
    name = draw_any(b, rank=(1, 3))
    axis = b.integer(0, b.rank(name) - 1)
    parts = [name]
    for _ in range(b.integer(0, 2)):
        step = b.choose(("", "", "1:", "::2", "::-1"))
        index = ", ".join([":"] * axis + [step or ":"])
        parts.append(f"{name}[{index}]")
    if b.closed(name) and b.kind(name) == "f" and b.chance(50):
        shape = list(b.shape(name))
        shape[axis] = b.choose((1, 2, 0, 3))
        parts.append(resized(b, tuple(shape)))
    return b.emit(f"{spelled(op)}([{', '.join(parts)}], axis={axis})")


def joined(b: Builder, _op: Op | None = None) -> str:
    """Several variables as one row of elements: a result of parts that others read, too."""
    names = [draw_any(b, closed=True) for _ in range(b.integer(2, 4))]
    parts = [f"{x}.reshape(-1){b.choose(('', '', '[::-1]'))}" for x in names]
    return b.emit(f"wg.concat([{', '.join(parts)}])")


def updated(b: Builder, _op: Op | None = None) -> str:
    """What may be written over an argument, if that is donated: of its type, and made from it."""
    x = b.choose([x.name for x in b.inputs])
    if b.kind(x) != "f":
        raise Refused
    step = draw_float(b)
    return b.emit(f"{x} - wg.astype(wg.mean({step}) * wg.cos({x}), np.{b.dtype(x)})")


def pad(b: Builder, op: Op) -> str:
    name = draw_any(b, rank=(1, 3))
    widths = tuple((b.integer(0, 2), b.integer(0, 2)) for _ in b.shape(name))
    return b.emit(f"{spelled(op)}({name}, {widths}, constant_values={b.choose((0, 1))})")


def shift(b: Builder, op: Op) -> str:
    name = draw_float(b, rank=(1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    step, fill = b.choose((1, -1)), b.choose((0, 1))
    return b.emit(f"{spelled(op)}({name}, axis={axis}, step={step}, fill={fill})")


def slice_axes(b: Builder, op: Op) -> str:
    """A window with steps in either direction, directly or as an index expression."""
    name = draw_any(b, rank=(0, 3))
    if b.chance(50):
        return _index(b, name)
    start, size, step = [], [], []
    for axis, length in enumerate(b.shape(name)):
        if axis in b.open_axes(name):
            start.append("0")
            size.append(b.size_text(name, axis))
            step.append("1")
            continue
        by, first = b.choose((1, 2, -1, -2)), b.integer(0, max(length - 1, 0))
        reach = length - 1 - first if by > 0 else first
        most = reach // abs(by) + 1 if length else 0
        start.append(str(first))
        size.append(str(b.integer(0, most)))
        step.append(str(by))
    texts = (tuple_text(each) for each in (start, size, step))
    return b.emit("{}({}, start={}, size={}, step={})".format(spelled(op), name, *texts))


def _index(b: Builder, name: str) -> str:
    """Slices, integers, None and ... in brackets."""
    parts = []
    for axis, length in enumerate(b.shape(name)):
        whole = axis in b.open_axes(name)
        ways = [":", "::-1"] if whole else [":", "1:", "::2", "::-1", "-2:", ":-1"]
        if length and not whole:
            ways.append(str(b.integer(-length, length - 1)))
        parts.append(b.choose(ways))
    if b.chance(20):
        parts.insert(b.integer(0, len(parts)), "None")
    return b.emit(f"{name}[{', '.join(parts) or '...'}]")


def place(b: Builder, op: Op) -> str:
    """The opposite of a window: into zeros of a larger shape."""
    name = draw_float(b, rank=(0, 3), closed=True)
    shape, start, step = [], [], []
    for length in b.shape(name):
        by, before, after = b.choose((1, 2, -1, -2)), b.integer(0, 2), b.integer(0, 2)
        span = (length - 1) * abs(by) + 1 if length else 0
        shape.append(before + span + after)
        start.append(before if by > 0 else before + max(span - 1, 0))
        step.append(by)
    return b.emit(
        f"{spelled(op)}({name}, shape={tuple(shape)}, start={tuple(start)}, step={tuple(step)})"
    )


def _count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def indices(b: Builder, size: int, shape: tuple[int, ...]) -> str:
    """Whole numbers from -size up to size: an argument, a constant or computed."""
    if size == 0 and _count(shape):
        raise Refused
    if b.chance(20):
        return f"np.arange({_count(shape)}).reshape({shape}) % {max(size, 1)}"
    if b.chance(20) and _count(shape):
        near = resized(b, shape, 0.0, float(size) - 0.01)
        return b.emit(f"wg.astype(wg.floor({near}), np.int64)")
    name = new_input(b, shape, b.choose(("int64", "int32", "int8", "uint8")), 0, 9)
    low = 0 if b.dtype(name).startswith("u") else -size
    return fit_integers(b, name, low, size)


def take(b: Builder, op: Op) -> str:
    name = draw_any(b, rank=(1, 3))
    axis = b.integer(0, b.rank(name) - 1)
    if axis in b.open_axes(name):
        raise Refused
    shape = b.draw_shape(0, 2)
    size = b.shape(name)[axis]
    if size and b.chance(20):
        whole = ", ".join([":"] * axis + [f"np.arange({_count(shape)}).reshape({shape}) % {size}"])
        return b.emit(f"{name}[{whole}]")
    return b.emit(f"{spelled(op)}({name}, {indices(b, b.shape(name)[axis], shape)}, axis={axis})")


def take_along_axis(b: Builder, op: Op) -> str:
    name = draw_any(b, rank=(1, 3), closed=True)
    axis = b.integer(0, b.rank(name) - 1)
    if b.chance(30) and b.kind(name) == "f":
        return b.emit(f"{spelled(op)}({name}, wg.argsort({name}, axis={axis}), axis={axis})")
    shape = list(b.shape(name))
    shape[axis] = b.choose((2, 1, 3, 0))
    number = indices(b, b.shape(name)[axis], tuple(shape))
    return b.emit(f"{spelled(op)}({name}, {number}, axis={axis})")


def gather(b: Builder, op: Op) -> str:
    """One or two index arrays for neighbouring axes."""
    name = draw_float(b, rank=(1, 3), closed=True)
    axis = b.integer(0, b.rank(name) - 1)
    shape = b.draw_shape(0, 2)
    given = [indices(b, b.shape(name)[axis], shape)]
    if axis + 1 < b.rank(name) and b.chance(40):
        given.append(indices(b, b.shape(name)[axis + 1], shape[1:]))
    return b.emit(f"{spelled(op)}([{name}, {', '.join(given)}], axis={axis})")


def scatter(b: Builder, op: Op) -> str:
    """Sums of updates at indices, into zeros."""
    size, shape = b.choose((4, 3, 1, 5)), b.draw_shape(0, 2)
    before, after = b.draw_shape(0, 1), b.draw_shape(0, 1)
    updates = resized(b, (*before, *shape, *after))
    number = indices(b, size, shape)
    whole = (*before, size, *after)
    return b.emit(f"{spelled(op)}([{updates}, {number}], shape={whole}, axis={len(before)})")


def scatter_add(b: Builder, op: Op) -> str:
    name = draw_float(b, rank=(1, 3), closed=True)
    axis, shape = b.integer(0, b.rank(name) - 1), b.draw_shape(0, 1)
    number = indices(b, b.shape(name)[axis], shape)
    around = b.shape(name)
    updates = resized(b, (*around[:axis], *shape, *around[axis + 1 :]))
    if b.dtype(updates) != b.dtype(name):
        updates = b.emit(f"wg.astype({updates}, np.{b.dtype(name)})")
    return b.emit(f"{spelled(op)}({name}, {number}, {updates}, axis={axis})")


def at(b: Builder, _op: Op | None = None) -> str:
    """A functional update, by slices or by rows that may be repeated."""
    name = draw_float(b, rank=(1, 3), closed=True)
    size, rest = b.shape(name)[0], b.shape(name)[1:]
    if b.chance(50):
        count = b.integer(0, 4)
        key, part = indices(b, size, (count,)), (count, *rest)
    else:
        keys = {"1:": slice(1, None), "::-1": slice(None, None, -1), "::2": slice(None, None, 2)}
        key = b.choose(list(keys))
        part = (len(range(size)[keys[key]]), *rest)
    updates = resized(b, part) if b.chance(60) else "0.25"
    if updates != "0.25":
        updates = b.emit(f"wg.astype({updates}, np.{b.dtype(name)})")
    way = b.choose(("set", "add", "multiply", "max", "min"))
    return b.emit(f"wg.at({name})[{key}].{way}({updates})")


def one_hot(b: Builder, op: Op) -> str:
    count, shape = b.choose((3, 5, 1, 0)), b.draw_shape(0, 2)
    number = new_input(b, shape, b.choose(("int64", "int32", "int8")), -1, 6)
    return b.emit(
        f"{spelled(op)}({number}, {count}, dtype=np.{b.choose(('float32', 'float64', 'int32'))})"
    )
