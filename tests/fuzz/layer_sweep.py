"""Layers with drawn options against JAX: `python -m tests.fuzz.layer_sweep --count 200 --seed 7`.

Each draw is a function with options, sizes and arrays. Values and gradients by all arrays, compiled
in float64, must be those of JAX to 1e-8 of the largest number, and those of float32 near them.
Sizes are odd ones, strides go beyond windows, lengths from 1 to 4096.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import wengert as wg
from tests import sequence_references as reference

LENGTHS = (1, 2, 3, 17, 1000, 4096)
EXACT, SINGLE = 1e-8, 1e-5  # of the largest number of an array

Function = Callable[[dict[str, Any]], Any]


class Draw(NamedTuple):
    """A call in both libraries, of arrays by name."""

    told: str
    ours: Function
    theirs: Function
    arrays: dict[str, Any]


class Drawer:
    """Random choices of one draw."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def upto(self, most: int) -> int:
        return int(self.rng.integers(1, most + 1))

    def array(self, *shape: int, scale: float = 1.0) -> Any:
        return scale * self.rng.normal(size=shape)


# Windows


def conv(d: Drawer) -> Draw:
    """Any options: groups, strides beyond the window, dilation, padding of every kind."""
    axes, groups = d.one(1, 1, 2, 2, 3), d.one(1, 1, 2, 3)
    window = tuple(d.upto(4) for _ in range(axes))
    stride, dilation = (tuple(d.upto(n) for _ in range(axes)) for n in (6, 3))
    spans = [(k - 1) * s + 1 for k, s in zip(window, dilation, strict=True)]
    longest = d.one(*LENGTHS[3:]) if axes == 1 else 9
    space = tuple(n + int(d.rng.integers(longest)) for n in spans)
    pads = d.one("valid", "same", "numbers", "numbers")
    if pads == "numbers":
        pads = tuple((d.upto(4) - 1, d.upto(4) - 1) for _ in range(axes))
    channels, outs = groups * d.upto(4), groups * d.upto(4)
    arrays = {
        "x": d.array(d.upto(3), channels, *space),
        "w": d.array(outs, channels // groups, *window),
    }
    options = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}

    def theirs(a: Any) -> Any:
        padding = pads.upper() if isinstance(pads, str) else pads
        return lax.conv_general_dilated(
            a["x"], a["w"], stride, padding, rhs_dilation=dilation, feature_group_count=groups
        )

    return Draw(f"conv {options}", lambda a: wg.conv(a["x"], a["w"], **options), theirs, arrays)


def conv_transpose(d: Drawer) -> Draw:
    """As the gradient of JAX's convolution by its input."""
    axes, groups = d.one(1, 2), d.one(1, 2)
    window, stride, dilation = (tuple(d.upto(n) for _ in range(axes)) for n in (4, 5, 2))
    inner, outs = groups * d.upto(3), groups * d.upto(3)
    space = tuple(d.upto(7) for _ in range(axes))
    large = tuple(
        (n - 1) * s + (k - 1) * e + 1
        for n, s, k, e in zip(space, stride, window, dilation, strict=True)
    )
    batch = d.upto(3)
    arrays = {
        "x": d.array(batch, inner, *space),
        "w": d.array(inner, outs // groups, *window),
    }
    options = {"stride": stride, "dilation": dilation, "groups": groups}

    def theirs(a: Any) -> Any:
        def forward(y: Any) -> Any:
            return lax.conv_general_dilated(
                y, a["w"], stride, "VALID", rhs_dilation=dilation, feature_group_count=groups
            )

        return jax.vjp(forward, jnp.zeros((batch, outs, *large), a["x"].dtype))[1](a["x"])[0]

    def ours(a: Any) -> Any:
        return wg.conv_transpose(a["x"], a["w"], **options)

    return Draw(f"conv_transpose {options}", ours, theirs, arrays)


def pool(d: Drawer) -> Draw:
    axes = d.one(1, 2, 3)
    window, stride = (tuple(d.upto(4) for _ in range(axes)) for _ in range(2))
    space = tuple(k + int(d.rng.integers(9)) for k in window)
    arrays = {"x": d.array(2, 3, *space)}
    kind = d.one("max_pool", "mean_pool")
    first, join = (-jnp.inf, lax.max) if kind == "max_pool" else (0.0, lax.add)

    def theirs(a: Any) -> Any:
        windows, strides = (1, 1, *window), (1, 1, *stride)
        y = lax.reduce_window(a["x"], first, join, windows, strides, "VALID")
        return y if kind == "max_pool" else y / np.prod(window)

    def ours(a: Any) -> Any:
        return getattr(wg, kind)(a["x"], window, stride=stride)

    return Draw(f"{kind} {window} {stride}", ours, theirs, arrays)


# Sequences


def recurrence(d: Drawer) -> Draw:
    time, reverse = d.one(*LENGTHS), d.one(True, False)
    shape = (time, *(d.upto(19) for _ in range(d.one(0, 1, 2))))
    arrays = {
        "a": d.rng.uniform(-0.95, 0.95, shape),
        "b": d.array(*shape),
        "h0": d.array(*shape[1:]),
    }
    return Draw(
        f"linear_recurrence {shape} reverse={reverse}",
        lambda a: wg.linear_recurrence(**a, reverse=reverse),
        lambda a: reference.linear_recurrence(**a, reverse=reverse),
        arrays,
    )


def selective(d: Drawer) -> Draw:
    batch, share, groups, states = d.upto(2), d.upto(3), d.upto(3), d.one(1, 3, 16, 17, 65)
    time, channels = d.one(*LENGTHS), share * groups
    u, large = (batch, channels, time), d.one(1.0, 1.0, 1e4)
    kinds = [(channels, states), (batch, states, time), (batch, groups, states, time)]
    arrays = {
        "u": d.array(*u),
        "delta": np.abs(d.array(*u)) * large,
        "A": -np.abs(d.array(channels, states)),
        "B": d.array(*d.one(*kinds)) / large,
        "C": d.array(*d.one(*kinds)),
        "D": d.array(channels),
        "z": d.array(*u),
        "delta_bias": d.array(channels),
        "h0": d.array(batch, channels, states),
    }
    for name in ("D", "z", "delta_bias", "h0"):
        if d.one(True, False):
            del arrays[name]
    soft = d.one(True, False)
    if not soft:
        arrays.pop("delta_bias", None)  # a negative width grows without bound
    return Draw(
        f"selective_scan {u} of {states} states, {sorted(arrays)}, softplus={soft}, {large:g}",
        lambda a: wg.selective_scan(**a, delta_softplus=soft, return_last_state=True),
        lambda a: reference.selective_scan(**a, delta_softplus=soft),
        arrays,
    )


def attention(d: Drawer) -> Draw:
    heads, share, size, width = d.upto(2), d.upto(2), d.upto(9), d.upto(9)
    keys = d.one(1, 2, 3, 17, 129, 300)
    causal = d.one(True, False)
    time = min(d.one(1, 2, 17, 128, 129, 300), keys) if causal else d.one(1, 3, 128, 257)
    arrays = {
        "q": d.array(2, heads * share, time, size),
        "k": d.array(2, heads, keys, size),
        "v": d.array(2, heads, keys, width),
    }
    if d.one(True, False):
        arrays["mask"] = d.array(*d.one((time, keys), (2, 1, time, keys), (1, keys)))
    scale = d.one(None, 0.3)
    return Draw(
        f"attention {[x.shape for x in arrays.values()]} causal={causal} scale={scale}",
        lambda a: wg.attention(**a, causal=causal, scale=scale),
        lambda a: reference.attention(**a, causal=causal, scale=scale),
        arrays,
    )


def recurrent_layer(d: Drawer) -> Draw:
    kind, time = d.one("LSTM", "GRU", "RNN"), d.one(*LENGTHS)
    width, hidden = d.upto(5), d.upto(5)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    lead = (d.upto(3),) if d.one(True, False) else ()
    arrays = {
        "x": d.array(time, *lead, width),
        "w": d.array(gates * hidden, width, scale=0.4),
        "u": d.array(gates * hidden, hidden, scale=0.4),
        "b": d.array(gates * hidden),
        "c": d.array(gates * hidden),
        "h": d.array(*lead, hidden, scale=0.5),
        "m": d.array(*lead, hidden, scale=0.5),
    }

    def ours(a: Any) -> Any:
        layer = getattr(wg.nn, kind)(width, hidden)
        layer.input_weight, layer.hidden_weight = a["w"], a["u"]
        layer.input_bias, layer.hidden_bias = a["b"], a["c"]
        hs, last = layer(a["x"], (a["h"], a["m"]) if kind == "LSTM" else a["h"])
        return hs, last if kind == "LSTM" else (last, a["m"])

    def theirs(a: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, memory = state
            x, y = x @ a["w"].T + a["b"], h @ a["u"].T + a["c"]
            if kind == "LSTM":
                i, f, g, o = jnp.split(x + y, 4, -1)
                memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(memory)
            elif kind == "GRU":
                (xr, xz, xn), (hr, hz, hn) = jnp.split(x, 3, -1), jnp.split(y, 3, -1)
                z = jax.nn.sigmoid(xz + hz)
                h = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
            else:
                h = jnp.tanh(x + y)
            return (h, memory), h

        last, hs = lax.scan(step, (a["h"], a["m"]), a["x"])
        return hs, last

    return Draw(f"{kind} {arrays['x'].shape} -> {hidden}", ours, theirs, arrays)


KINDS: tuple[Callable[[Drawer], Draw], ...] = (
    conv,
    conv,
    conv_transpose,
    pool,
    recurrence,
    selective,
    attention,
    recurrent_layer,
)


def weighed(f: Function, total: Callable[[Any], Any]) -> Function:
    """A sum of all that a function returns, in which each number counts differently."""

    def loss(arrays: dict[str, Any]) -> Any:
        found = [y for y in jax.tree.leaves(f(arrays)) if y.size]
        ways = [np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype) for y in found]
        return sum(total(y * way) for y, way in zip(found, ways, strict=True))

    return loss


def furthest(found: Any, wanted: Any) -> float:
    """The largest difference, as a part of the largest number; NaN where there is one."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(
        float(np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(y))))
        for x, y in ((np.asarray(x, np.float64), np.asarray(y)) for x, y in pairs)
        if y.size
    )


def faults(draw: Draw) -> list[str]:
    """What differs, in words."""
    values = jax.jit(draw.theirs)(draw.arrays)
    slopes = jax.jit(jax.grad(weighed(draw.theirs, jnp.sum)))(draw.arrays)
    gradient = wg.compile(wg.grad(weighed(draw.ours, wg.sum)))
    singles = {name: x.astype(np.float32) for name, x in draw.arrays.items()}
    near = gradient(singles)
    rounded = gradient({name: x.astype(np.float64) for name, x in singles.items()})
    measured = {
        "values": (furthest(wg.compile(draw.ours)(draw.arrays), values), EXACT),
        "gradients": (furthest(gradient(draw.arrays), slopes), EXACT),
        "gradients in float32": (furthest(near, rounded), SINGLE),
    }
    return [
        f"{what} differ by {found:.1e}, more than {limit:g}: {draw.told}"
        for what, (found, limit) in measured.items()
        if not found <= limit
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.fuzz.layer_sweep")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    met: Counter[str] = Counter()
    failed = 0
    for number in range(asked.count):
        d = Drawer(asked.seed * 10**6 + number)
        kind = KINDS[number % len(KINDS)]
        draw = kind(d)
        met[draw.told.partition(" ")[0]] += 1
        for fault in faults(draw):
            failed += 1
            print(f"draw {number} of seed {asked.seed}: {fault}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(met.items())))
    raise SystemExit(f"{failed} differ" if failed else None)


if __name__ == "__main__":
    main()
