"""Steps that begin with nothing: filled arrays, ranges, constants and random numbers."""

from __future__ import annotations

from wengert.core.op import Op

from .builder import Builder, tuple_text
from .elementwise import spelled
from .operands import draw_float, draw_open, new_input

DTYPES = ("float32", "float64", "int32", "int64")


def full(b: Builder, op: Op) -> str:
    """As large as a variable or of a shape of its own."""
    value = b.choose((1.5, 0.25, 2, -1))
    if b.chance(50):
        name = draw_open(b) if b.sizes[0] else draw_float(b)
        made = f"{spelled(op)}({b.shape_text(name)}, {value}, dtype=np.{b.dtype(name)})"
        return b.emit(f"{made} - {name}")
    dtype = b.choose(DTYPES)
    return b.emit(f"{spelled(op)}({b.draw_shape(0, 3)}, {value}, dtype=np.{dtype})")


def arange(b: Builder, op: Op) -> str:
    name = draw_open(b) if b.sizes[0] else draw_float(b, rank=(1, 3))
    axis = (b.open_axes(name) or [b.rank(name) - 1])[0]
    size, behind = (
        b.size_text(name, axis),
        "".join(", None" for _ in range(b.rank(name) - 1 - axis)),
    )
    texts = [
        f"{name} + {spelled(op)}({size}, dtype=np.{b.dtype(name)})[:{behind}] * 0.1",
        f"{name} * {spelled(op)}(0, {size})[:{behind}]",
        f"{spelled(op)}(0.5, {b.choose((2.1, 5.0, 0.5))}, 0.25)",
        f"{spelled(op)}({b.integer(-3, 9)}, -2, -2, dtype=np.{b.choose(DTYPES)})",
    ]
    return b.emit(b.choose(texts))


def constant(b: Builder, _op: Op | None = None) -> str:
    """Numbers written in the program."""
    name = draw_float(b, rank=(1, 3), closed=True)
    size = b.shape(name)[-1]
    if size > 9:
        return b.emit(f"{name} * np.linspace(-1, 1, {size}, dtype=np.{b.dtype(name)})")
    values = [b.integer(-9, 9) / 4 for _ in range(size)]
    return b.emit(f"{name} {b.choose(('*', '+'))} np.array({values}, np.{b.dtype(name)})")


def key(b: Builder) -> str:
    """A key: an argument or a constant."""
    keys = [x for x in b.variables if b.dtype(x) == "uint32" and b.shape(x) == (2,) and b.closed(x)]
    if keys and b.chance(50):
        return b.choose(keys)
    if b.chance(20):
        return f"wg.random.key({b.integer(0, 99)})"
    return new_input(b, (2,), "uint32", 0, 99)


def random_bits(b: Builder, op: Op) -> str:
    dtype, stream = b.choose(("uint32", "uint64")), b.integer(0, 2)
    return b.emit(f"{spelled(op)}({key(b)}, {b.draw_shape(0, 3)}, np.{dtype}, {stream})")


def fold_in(b: Builder, op: Op) -> str:
    return b.emit(f"{spelled(op)}({key(b)}, {b.integer(-1, 9)})")


def random_numbers(b: Builder, _op: Op | None = None) -> str:
    """Draws from the distributions, with explicit keys."""
    name, used = draw_float(b), key(b)
    shape, dtype = b.shape_text(name), b.dtype(name)
    texts = [
        f"{name} + wg.random.uniform({used}, {shape}, np.{dtype})",
        f"{name} * wg.random.normal({used}, {shape}, np.{dtype})",
        f"wg.where(wg.random.bernoulli({used}, 0.4, {shape}), {name}, 0.0)",
        f"wg.random.randint({used}, {tuple_text(b.draw_shape(0, 2))}, -4, 9)",
        f"wg.random.permutation({used}, {b.integer(0, 9)})",
        f"wg.dropout({name}, 0.3, wg.random.Generator({used}))",
    ]
    return b.emit(b.choose(texts))
