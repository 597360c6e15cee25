"""Loops, value and gradient: a diagonal state-space scan, and a simulation of scalars.

The scan: `h = a[t] * h + b[t]`, where a and b are (length, batch, channels, states), and the loss
is the sum of all h². The simulation: scalar states in a dict, `c[i] += 0.01 (p[i] tanh(c[i+1]) -
c[i])` in each step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare, print_table
from benchmarks.peers import ALL, chosen, torch_tensors
from wengert.runtime.profile_table import duration

SHAPE = (1024, 4, 64, 16)  # length, batch, channels, states
STATES, STEPS = 60, 614
RATE = 0.01
FIGURES = [Figure(3, "JAX lax.scan")]


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


def associative_loss(jax: Any) -> Callable[..., Any]:
    """The same, with a loop in parallel pieces."""

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


def space_in_torch(torch: Any, a: Any, b: Any) -> Run:
    """A Python loop over tensors, which is what PyTorch has."""

    def step() -> object:
        h, hs = torch.zeros_like(a[0]), []
        for a_t, b_t in zip(a.unbind(), b.unbind(), strict=True):
            h = a_t * h + b_t
            hs.append(h)
        value = torch.stack(hs).square().sum()
        return value, torch.autograd.grad(value, (a, b))

    return step


def space(shape: Sequence[int] = SHAPE, peers: Sequence[str] = ALL) -> dict[str, Run]:
    a, b = space_data(shape)
    compiled = wg.compile(wg.value_and_grad(space_loss(wg, wg.scan), argnums=(0, 1)))
    found: dict[str, Run] = {OURS: lambda: compiled(a, b)}
    if jax := chosen(peers, "jax"):
        arrays = jax.device_put((a, b))
        losses = {
            "JAX lax.scan": space_loss(jax.numpy, jax.lax.scan),
            "JAX associative": associative_loss(jax),
        }
        for name, loss in losses.items():
            found[name] = _jitted(jax, jax.value_and_grad(loss, argnums=(0, 1)), arrays)
    if torch := chosen(peers, "torch"):
        found["torch loop"] = space_in_torch(torch, *torch_tensors(torch, (a, b), track=True))
    return found | {"NumPy by hand": lambda: space_by_hand(a, b)}


def _jitted(jax: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Run:
    step = jax.jit(function)
    return lambda: jax.block_until_ready(step(*arrays))


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


def simulation_in_torch(torch: Any, p: Any, start: Any, steps: int) -> Run:
    def step() -> object:
        c = start
        for _ in range(steps):
            c = c + RATE * (p * torch.tanh(torch.roll(c, -1)) - c)
        value = (c * c).sum()
        return value, torch.autograd.grad(value, (p,))[0].unbind()

    return step


def simulation(
    states: int = STATES, steps: int = STEPS, peers: Sequence[str] = ALL
) -> dict[str, Run]:
    p, c = simulation_data(states)
    ps, cs = named("p", p), named("c", c)
    compiled = wg.compile(wg.value_and_grad(simulation_loss(np.tanh, wg.scan, steps)))
    found: dict[str, Run] = {OURS: lambda: compiled(ps, cs)}
    if jax := chosen(peers, "jax"):
        loss = simulation_loss(jax.numpy.tanh, jax.lax.scan, steps)
        found["JAX lax.scan"] = _in_double(jax, jax.value_and_grad(loss), (ps, cs))
    if torch := chosen(peers, "torch"):
        (tp,), (tc,) = torch_tensors(torch, (p,), track=True), torch_tensors(torch, (c,))
        found["torch loop"] = simulation_in_torch(torch, tp, tc, steps)

    def by_hand() -> object:
        value, gp = simulation_by_hand(p, c, steps)
        return value, list(gp)

    return found | {"NumPy by hand": by_hand}


def _in_double(jax: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Run:
    """JAX computes in float64 where it is asked to only."""
    with jax.enable_x64(True):
        step, given = jax.jit(function), jax.device_put(arrays)

    def run() -> object:
        with jax.enable_x64(True):
            return jax.block_until_ready(step(*given))

    return run


# Both


def first_calls(build: Callable[[], dict[str, Run]], repeats: int = 3) -> dict[str, float]:
    """The median time of a first call, which compiles, of those that compile."""
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, run in build().items():
            if name == OURS or name.startswith("JAX"):
                start = time.perf_counter()
                run()
                found.setdefault(name, []).append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in found.items()}


CASES: dict[str, Callable[[], dict[str, Run]]] = {
    "state space, float32, " + " × ".join(map(str, SHAPE)): space,
    f"simulation, float64, {STATES} scalars, {STEPS} steps": simulation,
}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for case, build in CASES.items():
        yield case, build(), FIGURES


def main() -> None:
    compare("Scans, value and gradient", rows(), seconds=2.0)
    print("\nFirst calls of the same, which compile, in a process that has compiled before")
    for case, build in CASES.items():
        times = first_calls(build)
        print_table(["", *times, ""], [[case, *map(duration, times.values()), ""]])
