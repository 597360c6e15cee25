"""Loops, value and gradient: a diagonal state-space scan, and a simulation of scalars.

The scan: `h = a[t] * h + b[t]`, where a and b are (length, batch, channels, states), and the loss
is the sum of all h². The simulation: scalar states in a dict, `c[i] += 0.01 (p[i] tanh(c[i+1]) -
c[i])` in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.peers import jax_library, jitted, torch_library, torch_tensors

SHAPE = (1024, 4, 64, 16)  # length, batch, channels, states
STATES, STEPS = 60, 614
RATE = 0.01


# The state-space scan


def space_data(shape: Sequence[int] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 0.99, shape).astype(np.float32)
    return a, rng.standard_normal(shape).astype(np.float32)


def space_loss(xp: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """The loss, written with a library's functions and its loop."""

    def loss(a: Any, b: Any) -> Any:
        def step(h: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
            h = at[0] * h + at[1]
            return h, h

        _, hs = scan(step, xp.zeros(a.shape[1:], a.dtype), (a, b))
        return xp.sum(hs * hs)

    return loss


def associative_loss() -> Callable[..., Any]:
    """The same in JAX, with a loop in parallel pieces."""
    jax = jax_library()

    def loss(a: Any, b: Any) -> Any:
        def join(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
            return x[0] * y[0], y[0] * x[1] + y[1]

        _, hs = jax.lax.associative_scan(join, (a, b))
        return jax.numpy.sum(hs * hs)

    return loss


def space_by_hand(a: np.ndarray, b: np.ndarray) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
    hs, h = np.empty_like(a), np.zeros_like(a[0])
    for t in range(len(a)):
        h = a[t] * h + b[t]
        hs[t] = h
    ga, gb, g = np.empty_like(a), np.empty_like(b), np.zeros_like(h)
    for t in range(len(a) - 1, -1, -1):
        g += 2 * hs[t]
        gb[t] = g
        ga[t] = g * hs[t - 1] if t else 0
        g *= a[t]
    return np.sum(hs * hs), (ga, gb)


def space_ours(shape: Sequence[int]) -> Run:
    import wengert as wg

    a, b = space_data(shape)
    compiled = wg.compile(wg.value_and_grad(space_loss(wg, wg.scan), argnums=(0, 1)))
    return lambda: compiled(a, b)


def space_in_jax(shape: Sequence[int], associative: bool) -> Run:
    jax = jax_library()
    loss = associative_loss() if associative else space_loss(jax.numpy, jax.lax.scan)
    return jitted(jax.value_and_grad(loss, argnums=(0, 1)), *space_data(shape))


def space_in_torch(shape: Sequence[int]) -> Run:
    """A Python loop over tensors, which is what PyTorch has."""
    torch = torch_library()
    a, b = torch_tensors(space_data(shape), track=True)

    def step() -> object:
        h, hs = torch.zeros_like(a[0]), []
        for a_t, b_t in zip(a.unbind(), b.unbind(), strict=True):
            h = a_t * h + b_t
            hs.append(h)
        value = torch.stack(hs).square().sum()
        return value, torch.autograd.grad(value, (a, b))

    return step


def space_in_numpy(shape: Sequence[int]) -> Run:
    return partial(space_by_hand, *space_data(shape))


def space_case(shape: Sequence[int]) -> Case:
    length, *rest = shape
    return Case(
        "scan diagonal",
        f"value and gradient of {length} steps of a diagonal state space of "
        f"{' × '.join(map(str, rest))} numbers",
        {
            OURS: it.ours(partial(space_ours, shape)),
            "JAX lax.scan": it.jax(partial(space_in_jax, shape, False)),
            "JAX associative_scan": it.jax(partial(space_in_jax, shape, True)),
            "torch loop": it.torch(partial(space_in_torch, shape)),
            "NumPy by hand": it.numpy(partial(space_in_numpy, shape)),
        },
        (Times(6, "JAX"),),
    )


# The simulation


def simulation_data(states: int = STATES) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(states), 0.1 * np.arange(states)


def named(letter: str, values: Iterable[Any]) -> dict[str, Any]:
    """Scalars as entries of a dict."""
    return {f"{letter}{i:03d}": np.asarray(value) for i, value in enumerate(values)}


def simulation_loss(tanh: Callable[..., Any], scan: Callable[..., Any], steps: int) -> Any:
    def loss(parameters: dict[str, Any], start: dict[str, Any]) -> Any:
        ps, names = list(parameters.values()), list(start)

        def step(state: dict[str, Any], _: None) -> tuple[dict[str, Any], None]:
            c = [state[name] for name in names]
            c = [x + RATE * (p * tanh(y) - x) for x, y, p in zip(c, c[1:] + c[:1], ps, strict=True)]
            return dict(zip(names, c, strict=True)), None

        state, _ = scan(step, start, None, length=steps)
        return sum(x * x for x in state.values())

    return loss


def simulation_by_hand(p: np.ndarray, c: np.ndarray, steps: int) -> tuple[Any, np.ndarray]:
    """All states as one array."""
    tanhs = []
    for _ in range(steps):
        tanhs.append(np.tanh(np.roll(c, -1)))
        c = c + RATE * (p * tanhs[-1] - c)
    gp, g = np.zeros_like(p), 2 * c
    for each in reversed(tanhs):
        pulled = RATE * g
        gp += pulled * each
        g = g - pulled + np.roll(pulled * p * (1 - each * each), 1)
    return np.sum(c * c), gp


def simulation_ours(states: int, steps: int) -> Run:
    import wengert as wg

    p, c = simulation_data(states)
    ps, cs = named("p", p), named("c", c)
    compiled = wg.compile(wg.value_and_grad(simulation_loss(np.tanh, wg.scan, steps)))
    return lambda: compiled(ps, cs)


def simulation_in_jax(states: int, steps: int) -> Run:
    """In float64, which JAX computes where it is asked to only."""
    jax = jax_library()
    p, c = simulation_data(states)
    loss = simulation_loss(jax.numpy.tanh, jax.lax.scan, steps)
    with jax.enable_x64(True):
        step = jax.jit(jax.value_and_grad(loss))
        given = jax.device_put((named("p", p), named("c", c)))

    def run() -> object:
        with jax.enable_x64(True):
            return jax.block_until_ready(step(*given))

    return run


def simulation_in_torch(states: int, steps: int) -> Run:
    torch = torch_library()
    arrays = simulation_data(states)
    (p,), (start,) = torch_tensors(arrays[:1], track=True), torch_tensors(arrays[1:])

    def step() -> object:
        c = start
        for _ in range(steps):
            c = c + RATE * (p * torch.tanh(torch.roll(c, -1)) - c)
        value = (c * c).sum()
        return value, torch.autograd.grad(value, (p,))[0].unbind()

    return step


def simulation_in_numpy(states: int, steps: int) -> Run:
    p, c = simulation_data(states)

    def run() -> object:
        value, gp = simulation_by_hand(p, c, steps)
        return value, list(gp)

    return run


def simulation_case(states: int, steps: int) -> Case:
    return Case(
        "scan scalars",
        f"value and gradient of {steps} steps of a simulation of {states} scalars, float64",
        {
            OURS: it.ours(partial(simulation_ours, states, steps)),
            "JAX lax.scan": it.jax(partial(simulation_in_jax, states, steps)),
            "torch loop": it.torch(partial(simulation_in_torch, states, steps)),
            "NumPy by hand": it.numpy(partial(simulation_in_numpy, states, steps)),
        },
        (Times(12, "JAX"),),
    )


CASES = (space_case(SHAPE), simulation_case(STATES, STEPS))
