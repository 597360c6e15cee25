"""Functions and layers of sequences, written out in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def linear_recurrence(a: Any, b: Any, h0: Any = None, reverse: bool = False, axis: int = 0) -> Any:
    a, b = (jnp.moveaxis(x, axis, 0) for x in jnp.broadcast_arrays(a, b))
    first = jnp.zeros(b.shape[1:]) if h0 is None else h0

    def step(h: Any, x: Any) -> Any:
        h = x[0] * h + x[1]
        return h, h

    return jnp.moveaxis(jax.lax.scan(step, first, (a, b), reverse=reverse)[1], 0, axis)


def selective_scan(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    h0: Any = None,
) -> tuple[Any, Any]:
    """(y, last state)"""
    delta = delta if delta_bias is None else delta + delta_bias[:, None]
    delta = jax.nn.softplus(delta) if delta_softplus else delta
    (batch, channels, time), states = u.shape, A.shape[1]

    def full(x: Any) -> Any:
        """(batch, channels, states, time)"""
        if x.ndim == 2:
            return jnp.broadcast_to(x[None, :, :, None], (batch, channels, states, time))
        x = x[:, None] if x.ndim == 3 else x
        return jnp.repeat(x, channels // x.shape[1], axis=1)

    def step(h: Any, x: Any) -> Any:
        u, d, b, c = x
        h = jnp.exp(d[..., None] * A) * h + (d * u)[..., None] * b
        return h, jnp.sum(h * c, -1)

    first = jnp.zeros((batch, channels, states)) if h0 is None else h0
    rows = tuple(jnp.moveaxis(x, -1, 0) for x in (u, delta, full(B), full(C)))
    last, ys = jax.lax.scan(step, first, rows)
    y = jnp.moveaxis(ys, 0, -1)
    y = y if D is None else y + u * D[:, None]
    return (y if z is None else y * jax.nn.silu(z)), last


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: float | None = None
) -> Any:
    share = q.shape[-3] // k.shape[-3]
    k, v = (jnp.repeat(x, share, axis=-3) for x in (k, v))
    scores = q @ k.mT * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    time, keys = scores.shape[-2:]
    if causal:
        seen = jnp.arange(keys) <= jnp.arange(time)[:, None] + keys - time
        scores = jnp.where(seen, scores, -jnp.inf)
    return jax.nn.softmax(scores, -1) @ v


def linear(p: Any, x: Any) -> Any:
    return x @ p.weight.T + (0 if p.bias is None else p.bias)


def rotary(x: Any, base: float = 10_000.0) -> Any:
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[-2])[:, None] * base ** (-jnp.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * jnp.exp(1j * angle)
    return jnp.concatenate([turned.real, turned.imag], -1)


def multihead(p: Any, x: Any, mask: Any = None, context: Any = None) -> Any:
    own, size = x.shape[-1] // p.heads, x.shape[-1]
    context = x if context is None else context
    weight, bias = p.project_in.weight, p.project_in.bias
    bias = jnp.zeros(len(weight)) if bias is None else bias
    ends = np.cumsum([size, own * p.shared_heads])
    parts = zip(jnp.split(weight, ends), jnp.split(bias, ends), strict=True)
    q, k, v = (
        (y @ w.T + b).reshape(*y.shape[:-1], -1, own).swapaxes(-3, -2)
        for y, (w, b) in zip((x, context, context), parts, strict=True)
    )
    if p.rotary:
        q, k = rotary(q), rotary(k)
    y = attention(q, k, v, mask, p.causal).swapaxes(-3, -2)
    return linear(p.project_out, y.reshape(*x.shape[:-1], size))


def layer_norm(p: Any, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(x.var(-1, keepdims=True) + p.eps) * p.scale + p.shift


def transformer_block(p: Any, x: Any) -> Any:
    x = x + multihead(p.attention, layer_norm(p.attention_norm, x))
    inner = jax.nn.gelu(linear(p.up, layer_norm(p.norm, x)), approximate=False)
    return x + linear(p.down, inner)


def rnn(p: Any, xs: Any, activation: Any = jnp.tanh) -> Any:
    h, found = jnp.zeros((*xs.shape[1:-1], p.hidden_weight.shape[1])), []
    for x in xs:
        from_x = x @ p.input_weight.T + p.input_bias
        h = activation(from_x + h @ p.hidden_weight.T + p.hidden_bias)
        found.append(h)
    return jnp.stack(found)


def lstm(p: Any, xs: Any) -> Any:
    h = memory = jnp.zeros((*xs.shape[1:-1], p.hidden_weight.shape[1]))
    found = []
    for x in xs:
        gates = x @ p.input_weight.T + p.input_bias + h @ p.hidden_weight.T + p.hidden_bias
        i, f, g, o = jnp.split(gates, 4, -1)
        memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(memory)
        found.append(h)
    return jnp.stack(found)


def s4d(p: Any, x: Any) -> Any:
    """By the kernel of the convolution, in complex numbers."""
    a = -jnp.exp(p.log_decay) + 1j * p.rate
    width = jnp.exp(p.log_width)[:, None]
    weights = 2 * (p.c_real + 1j * p.c_imag) * (jnp.exp(width * a) - 1) / a
    time = x.shape[-2]
    powers = jnp.exp((width * a)[..., None] * jnp.arange(time))
    kernel = jnp.sum(weights[..., None] * powers, 1).real  # (size, time)
    rows = [
        sum(kernel[:, t - s] * x[..., s, :] for s in range(t + 1)) + p.skip * x[..., t, :]
        for t in range(time)
    ]
    return jnp.stack(rows, -2)


def mamba(p: Any, x: Any) -> Any:
    u, z = jnp.split(linear(p.project_in, x), 2, -1)
    kernel, time = p.conv_weight.shape[1], x.shape[-2]
    padded = jnp.pad(u, [(0, 0)] * (u.ndim - 2) + [(kernel - 1, 0), (0, 0)])
    taps = (padded[..., i : i + time, :] * p.conv_weight[:, i] for i in range(kernel))
    u = jax.nn.silu(sum(taps) + p.conv_bias)
    rank, states = p.project_delta.weight.shape[1], p.log_a.shape[1]
    narrow, b, c = jnp.split(linear(p.project_u, u), [rank, rank + states], -1)
    delta = narrow @ p.project_delta.weight.T
    u, delta, b, c, z = (y.swapaxes(-1, -2) for y in (u, delta, b, c, z))
    a, bias = -jnp.exp(p.log_a), p.project_delta.bias
    y, _ = selective_scan(u, delta, a, b, c, p.skip, z, bias, True)
    return linear(p.project_out, y.swapaxes(-1, -2))
