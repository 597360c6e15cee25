"""Steps along time: recurrences, selective scans, attention, transforms."""

from __future__ import annotations

from typing import Any

from .builder import Builder, Refused
from .operands import draw_axis, draw_float

_LARGEST = 400  # elements of an array that a loop in NumPy goes along
_FEW = 40  # elements of one that is made long


def sequence(b: Builder, _op: Any) -> str:
    """One of the functions of sequences, of one array that is drawn."""
    forms = (_recurrence, _recurrence, _selective, _selective, *[_attention] * 3, _combined)
    made = b.choose((*forms, _transform, _inverse, *_LAYERS))
    return _layer(b, made) if isinstance(made, str) else made(b)


def _drawn(b: Builder, rank: tuple[int, int]) -> str:
    name = draw_float(b, -2.0, 2.0, rank=rank)
    if b.value(name).size > _LARGEST or not b.value(name).size or b.open_axes(name):
        raise Refused
    return name


def _recurrence(b: Builder) -> str:
    name = _drawn(b, (1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    first = f", h0=wg.take({name}, 0, axis={axis})" if b.chance(50) else ""
    more = f", reverse={b.chance(50)}, axis={axis}"
    return b.emit(f"wg.linear_recurrence(wg.tanh({name}), {name}{first}{more})")


def _selective(b: Builder) -> str:
    """Of an array (batch, channels, time), whose channels are its states as well."""
    name = _drawn(b, (3, 3))
    matrix = b.choose((name, f"{name}[:, None]", f"{name}[0] @ {name}[0].T"))
    a = f"-wg.exp({name}[0] @ {name}[0].T * 0.1)"
    more = b.choose(("", f", z={name}", f", D={name}[0, :, 0]", f", delta_bias={name}[0, :, 0]"))
    more += b.choose(("", ", delta_softplus=True"))
    delta = f"wg.abs({name}) * 0.3"
    return b.emit(f"wg.selective_scan({name}, {delta}, {a}, {matrix}, {name}{more})")


def _attention(b: Builder) -> str:
    """Of queries that are the keys; all heads may share those of the first, and there may be more
    queries than a block has.
    """
    name = _drawn(b, (3, 4))
    shape = b.value(name).shape
    mask = b.choose(("None", f"{name}[..., :1] > -1.0", f"{name}[..., :1]"))
    q = name
    if b.chance(30) and b.value(name).size <= _FEW:
        # Running sums, for no two rows are equal then: sums of equal numbers round to one side.
        longer = f"wg.repeat({name}, {150 // shape[-2]}, axis=-2)"
        q, mask = f"wg.sin(wg.cumsum({longer}, axis=-2))", "None"
    k = f"{q}[..., :1, :, :]" if b.chance(50) else q
    return b.emit(f"wg.attention({q}, {k}, wg.cos({k}), {mask}, causal={b.chance(50)})")


_LAYERS = {  # by what makes them, with what a call of them ends with
    "RNN({}, 2, activation='relu'": "[0]",
    "RNN({}, 3": "[0]",
    "GRU({}, 2": "[0]",
    "LSTM({}, 2": "[0]",
    "LSTM({}, 3": "[1][1]",
    "S4D({}, states=4": "",
    "Mamba({}, states=2, expand=1, kernel=2": "",
    "MultiheadAttention({}, 1, causal=True": "",
    "TransformerBlock({}, 1, hidden=3": "",
}


def _layer(b: Builder, make: str) -> str:
    """A layer whose weights depend on what it is called with."""
    name = _drawn(b, (2, 3))
    begin = make.format(b.value(name).shape[-1])
    layer = f"wg.nn.{begin}, seed=1, dtype=wg.{b.value(name).dtype.name})"
    moved = f"wg.tree.map(lambda w: w + 0.1 * wg.mean({name}), {layer})"
    return b.emit(f"{moved}({name}){_LAYERS[make]}")


def _combined(b: Builder) -> str:
    name = _drawn(b, (1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    function = b.choose(("wg.maximum", "wg.add", "lambda x, y: wg.tanh(x) * y"))
    more = f"reverse={b.chance(50)}, axis={axis}"
    return b.emit(f"wg.associative_scan({function}, {name}, {more})")


def _transform(b: Builder) -> str:
    name = _drawn(b, (1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    size = b.choose(("None", f"{b.integer(1, 9)}"))
    return b.emit(f"wg.fft.rfft({name}, n={size}, axis={axis})[{b.integer(0, 1)}]")


def _inverse(b: Builder) -> str:
    name = _drawn(b, (1, 3))
    axis = draw_axis(b, name) % b.rank(name)
    return b.emit(f"wg.fft.irfft({name}, wg.sin({name}), n={b.integer(1, 9)}, axis={axis})")
