"""State-space models: the selective scan, a block of Mamba, and S4D."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.layers.layer_steps import (
    given_and_wanted,
    jax_gradient,
    jax_layer_step,
    our_fitted_layer,
    our_gradient,
    standard,
    torch_gradient,
    torch_layer_step,
    torch_parameters,
    weights,
)
from benchmarks.peers import jax_library, torch_library, torch_tensors

# The selective scan, with softplus of the step widths


@dataclass(frozen=True)
class Selective:
    """Sizes of a selective scan."""

    batch: int = 2
    channels: int = 64
    time: int = 1024
    states: int = 16

    def __str__(self) -> str:
        return f"({self.batch}, {self.channels}, {self.time}, {self.states})"

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        whole = self.batch, self.channels, self.time
        return {
            "u": standard(rng, *whole),
            "delta": standard(rng, *whole) - 2,
            "A": -np.exp(standard(rng, self.channels, self.states)),
            "B": standard(rng, self.batch, self.states, self.time),
            "C": standard(rng, self.batch, self.states, self.time),
            "D": standard(rng, self.channels),
            "z": standard(rng, *whole),
            "delta_bias": 0.1 * standard(rng, self.channels),
        }


def our_scan_loss(arrays: Any) -> Any:
    import wengert as wg

    return wg.mean(wg.selective_scan(**arrays, delta_softplus=True) ** 2)


def our_scan(sizes: Selective) -> Run:
    return our_gradient(our_scan_loss, sizes.arrays())


def jax_selective_scan(associative: bool) -> Callable[..., Any]:
    """Mamba's reference: a loop over time, or one in parallel pieces over all states at once."""
    jax = jax_library()
    jnp = jax.numpy

    def scan(u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, z: Any, delta_bias: Any) -> Any:
        d = jax.nn.softplus(delta + delta_bias[:, None])  # (batch, channels, time)
        rows = [jnp.moveaxis(x, -1, 0) for x in (d, d * u, B, C)]

        def step(h: Any, at: Any) -> tuple[Any, Any]:
            d, du, b, c = at
            h = jnp.exp(d[..., None] * A) * h + du[..., None] * b[:, None]
            return h, jnp.einsum("bcn,bn->bc", h, c)

        def join(x: Any, y: Any) -> Any:
            return x[0] * y[0], y[0] * x[1] + y[1]

        if associative:
            d, du, b, c = rows
            decays = jnp.exp(d[..., None] * A)
            _, hs = jax.lax.associative_scan(join, (decays, du[..., None] * b[:, :, None]))
            ys = jnp.einsum("tbcn,tbn->tbc", hs, c)
        else:
            _, ys = jax.lax.scan(step, jnp.zeros((u.shape[0], *A.shape), u.dtype), tuple(rows))
        y = jnp.moveaxis(ys, 0, -1) + D[:, None] * u
        return y * jax.nn.silu(z)

    return scan


def jax_scan_loss(associative: bool) -> Callable[[Any], Any]:
    jnp, scan = jax_library().numpy, jax_selective_scan(associative)
    return lambda arrays: jnp.mean(scan(**arrays) ** 2)


def scan_in_jax(sizes: Selective, associative: bool) -> Run:
    return jax_gradient(jax_scan_loss(associative), sizes.arrays())


def torch_selective_scan(
    u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, z: Any, delta_bias: Any
) -> Any:
    """Mamba's reference: a loop in Python, which is what PyTorch has on a CPU."""
    torch = torch_library()
    of = torch.nn.functional
    d = of.softplus(delta + delta_bias[:, None])
    decays = torch.exp(torch.einsum("bct,cn->tbcn", d, A)).unbind()
    inputs = torch.einsum("bct,bnt->tbcn", d * u, B).unbind()
    h, ys = torch.zeros_like(decays[0]), []
    for decay, into, c in zip(decays, inputs, C.unbind(-1), strict=True):
        h = decay * h + into
        ys.append(torch.einsum("bcn,bn->bc", h, c))
    y = torch.stack(ys, -1) + D[:, None] * u
    return y * of.silu(z)


def scan_in_torch(sizes: Selective) -> Run:
    def loss(arrays: Any) -> Any:
        return torch_selective_scan(**arrays).square().mean()

    return torch_gradient(loss, sizes.arrays())


# A block of Mamba


@dataclass(frozen=True)
class MambaSizes:
    """Sizes of a block of Mamba, and of a batch."""

    batch: int = 4
    time: int = 256
    width: int = 64
    states: int = 16
    kernel: int = 4

    def __str__(self) -> str:
        return f"({self.batch}, {self.time}, {self.width}), {self.states} states"

    @property
    def inner(self) -> int:
        return 2 * self.width

    @property
    def rank(self) -> int:
        return -(-self.width // 16)

    def arrays(self) -> dict[str, np.ndarray]:
        rng, inner = np.random.default_rng(0), self.inner
        return {
            "project_in.weight": weights(rng, 2 * inner, self.width),
            "conv_weight": weights(rng, inner, self.kernel),
            "conv_bias": np.zeros(inner, np.float32),
            "project_u.weight": weights(rng, self.rank + 2 * self.states, inner),
            "project_delta.weight": weights(rng, inner, self.rank),
            "project_delta.bias": rng.uniform(-6, -2, inner).astype(np.float32),
            "log_a": np.tile(np.log(np.arange(1, self.states + 1)), (inner, 1)).astype(np.float32),
            "skip": np.ones(inner, np.float32),
            "project_out.weight": weights(rng, self.width, inner),
        }

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        return given_and_wanted(self.batch, self.time, self.width)


def our_mamba(sizes: MambaSizes) -> Run:
    import wengert as wg

    made = wg.nn.Mamba(sizes.width, states=sizes.states, kernel=sizes.kernel)
    return our_fitted_layer(made, sizes.arrays(), sizes.rows())


def mamba_in_jax(sizes: MambaSizes, associative: bool) -> Run:
    jax = jax_library()
    jnp, scan = jax.numpy, jax_selective_scan(associative)
    rank, states, kernel = sizes.rank, sizes.states, sizes.kernel

    def loss(arrays: Any, x: Any, wanted: Any) -> Any:
        u, z = jnp.split(x @ arrays["project_in.weight"].T, 2, axis=-1)
        padded = jnp.pad(u, ((0, 0), (kernel - 1, 0), (0, 0)))
        time, w = x.shape[1], arrays["conv_weight"]
        u = sum(padded[:, i : i + time] * w[:, i] for i in range(kernel))
        u = jax.nn.silu(u + arrays["conv_bias"])
        parts = u @ arrays["project_u.weight"].T
        narrow, b, c = jnp.split(parts, [rank, rank + states], axis=-1)
        delta = narrow @ arrays["project_delta.weight"].T
        u, delta, z, b, c = (jnp.swapaxes(each, 1, 2) for each in (u, delta, z, b, c))
        a, skip, bias = -jnp.exp(arrays["log_a"]), arrays["skip"], arrays["project_delta.bias"]
        y = jnp.swapaxes(scan(u, delta, a, b, c, skip, z, bias), 1, 2)
        return jnp.mean((y @ arrays["project_out.weight"].T - wanted) ** 2)

    return jax_layer_step(loss, sizes.arrays(), sizes.rows())


def mamba_in_torch(sizes: MambaSizes) -> Run:
    torch = torch_library()
    of = torch.nn.functional
    arrays = torch_parameters(sizes.arrays())
    rank, states, inner = sizes.rank, sizes.states, sizes.inner

    def loss(x: Any, wanted: Any) -> Any:
        u, z = of.linear(x, arrays["project_in.weight"]).transpose(1, 2).chunk(2, 1)
        window, bias = arrays["conv_weight"][:, None], arrays["conv_bias"]
        u = of.conv1d(of.pad(u, (sizes.kernel - 1, 0)), window, bias, groups=inner)
        u = of.silu(u)
        parts = of.linear(u.transpose(1, 2), arrays["project_u.weight"])
        narrow, b, c = parts.split([rank, states, states], -1)
        delta = of.linear(narrow, arrays["project_delta.weight"])
        delta, b, c = (each.transpose(1, 2) for each in (delta, b, c))
        a, skip, bias = -torch.exp(arrays["log_a"]), arrays["skip"], arrays["project_delta.bias"]
        y = torch_selective_scan(u, delta, a, b, c, skip, z, bias)
        y = of.linear(y.transpose(1, 2), arrays["project_out.weight"])
        return (y - wanted).square().mean()

    return torch_layer_step(loss, list(arrays.values()), torch_tensors(sizes.rows()))


# S4D


@dataclass(frozen=True)
class S4DSizes:
    """Sizes of an S4D layer, and of a batch."""

    batch: int = 4
    time: int = 4096
    width: int = 32
    states: int = 64

    def __str__(self) -> str:
        return f"({self.batch}, {self.time}, {self.width}), {self.states} states"

    def arrays(self) -> dict[str, np.ndarray]:
        rng, pairs = np.random.default_rng(0), (self.width, self.states // 2)
        widths = rng.uniform(np.log(1e-3), np.log(1e-1), self.width)
        return {
            "log_width": widths.astype(np.float32),
            "log_decay": np.full(pairs, np.log(0.5), np.float32),
            "rate": np.tile(np.pi * np.arange(pairs[1]), (self.width, 1)).astype(np.float32),
            "c_real": standard(rng, *pairs),
            "c_imag": standard(rng, *pairs),
            "skip": standard(rng, self.width),
        }

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        return given_and_wanted(self.batch, self.time, self.width)


def our_s4d(sizes: S4DSizes) -> Run:
    import wengert as wg

    made = wg.nn.S4D(sizes.width, states=sizes.states)
    return our_fitted_layer(made, sizes.arrays(), sizes.rows())


def s4d_in_jax(sizes: S4DSizes) -> Run:
    """As a convolution with a kernel as long as the sequence, by Fourier transforms."""
    jnp = jax_library().numpy

    def loss(arrays: Any, x: Any, wanted: Any) -> Any:
        time = x.shape[1]
        rates = -jnp.exp(arrays["log_decay"]) + 1j * arrays["rate"]
        steps = jnp.exp(arrays["log_width"])[:, None] * rates  # (width, pairs)
        c = (arrays["c_real"] + 1j * arrays["c_imag"]) * (jnp.exp(steps) - 1) / rates
        powers = jnp.exp(steps[..., None] * jnp.arange(time))
        kernel = 2 * jnp.einsum("cn,cnt->ct", c, powers).real
        u = jnp.swapaxes(x, 1, 2)
        product = jnp.fft.rfft(u, n=2 * time) * jnp.fft.rfft(kernel, n=2 * time)
        y = jnp.fft.irfft(product, n=2 * time)[..., :time] + arrays["skip"][:, None] * u
        return jnp.mean((jnp.swapaxes(y, 1, 2) - wanted) ** 2)

    return jax_layer_step(loss, sizes.arrays(), sizes.rows())


def s4d_in_torch(sizes: S4DSizes) -> Run:
    torch = torch_library()
    arrays = torch_parameters(sizes.arrays())

    def loss(x: Any, wanted: Any) -> Any:
        time = x.shape[1]
        rates = torch.complex(-torch.exp(arrays["log_decay"]), arrays["rate"])
        steps = torch.exp(arrays["log_width"])[:, None] * rates
        c = torch.complex(arrays["c_real"], arrays["c_imag"]) * (torch.exp(steps) - 1) / rates
        powers = torch.exp(steps[..., None] * torch.arange(time))
        kernel = 2 * torch.einsum("cn,cnt->ct", c, powers).real
        u = x.transpose(1, 2)
        product = torch.fft.rfft(u, n=2 * time) * torch.fft.rfft(kernel, n=2 * time)
        y = torch.fft.irfft(product, n=2 * time)[..., :time] + arrays["skip"][:, None] * u
        return (y.transpose(1, 2) - wanted).square().mean()

    return torch_layer_step(loss, list(arrays.values()), torch_tensors(sizes.rows()))
