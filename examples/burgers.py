"""A network that solves a differential equation, without data: `make demo EXAMPLE=burgers`.

Burgers' equation, u_t + u u_x = ν u_xx, turns a sine wave into a steep front. A physics-informed
network u(t, x) is trained so that the equation holds at points drawn at random. Its derivatives are
exact: `wg.grad` of one point, `wg.grad` of that, and `wg.vmap` for all points. At the end it is
compared with the exact solution (Cole and Hopf).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from command import read_options
from picture import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    PURPLE,
    Array,
    Curve,
    Panel,
    draw,
    linear_axis,
    log_axis,
    save,
)

import wengert as wg

VISCOSITY = 0.02


def solution(model: wg.nn.Mlp, t: Any, x: Any) -> Any:
    """u at one point. It is -sin(πx) where t = 0 and 0 at both ends, whatever the network says."""
    free = model(wg.stack([t, x]))[0]
    return t * (1 - x**2) * free - np.sin(np.pi * x)


def residual(model: wg.nn.Mlp, t: Any, x: Any) -> Any:
    """By how much the equation does not hold at one point."""
    u = solution(model, t, x)
    u_t, u_x = wg.grad(solution, argnums=(1, 2))(model, t, x)
    u_xx = wg.grad(wg.grad(solution, argnums=2), argnums=2)(model, t, x)
    return u_t + u * u_x - VISCOSITY * u_xx


def loss(model: wg.nn.Mlp, points: Any) -> Any:
    residuals = wg.vmap(residual, in_axes=(None, 0, 0))(model, points[:, 0], points[:, 1])
    return wg.mean(residuals**2)


def exact(t: Array, x: Array) -> Array:
    """The solution by Cole and Hopf: two integrals over a Gaussian, by Hermite's quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(80)
    y = x[..., None] - np.sqrt(4 * VISCOSITY * t[..., None]) * nodes
    heat = np.exp(-np.cos(np.pi * y) / (2 * np.pi * VISCOSITY)) * weights
    u: Array = -np.sum(np.sin(np.pi * y) * heat, axis=-1) / np.sum(heat, axis=-1)
    return u


def draw_points(rng: np.random.Generator, count: int) -> Array:
    """(t, x) anywhere in the domain, (count, 2)."""
    return rng.uniform([0.0, -1.0], [1.0, 1.0], (count, 2)).astype(np.float32)


def main() -> None:
    options = read_options(__doc__, "burgers", steps=4000, width=32, points=1024)
    rng = np.random.default_rng(options.seed)
    model = wg.nn.Mlp((2, *(options.width,) * 3, 1), "tanh", seed=options.seed)
    rate = wg.optim.Cosine(5e-3, options.steps)
    step = wg.TrainStep(loss, model, wg.optim.Adam(rate))
    began = time.perf_counter()
    losses = []
    for number in range(1, options.steps + 1):
        losses.append(step(draw_points(rng, options.points)))
        if number == 1 or number % max(options.steps // 8, 1) == 0:
            seconds = time.perf_counter() - began
            print(f"step {number:5}  mean squared residual {losses[-1]:.2e}  {seconds:5.1f} s")

    solve = step.bind(wg.vmap(solution, in_axes=(None, 0, 0)))
    times, places = np.linspace(0.0, 1.0, 5), np.linspace(-1.0, 1.0, 201)
    t, x = np.meshgrid(times, places, indexing="ij")
    computed, true = solve(t.ravel(), x.ravel()).reshape(t.shape), exact(t, x)
    print(f"relative error {np.linalg.norm(computed - true) / np.linalg.norm(true):.2%}, ", end="")
    print(f"largest error {np.abs(computed - true).max():.4f}")
    save(picture(times, places, computed, true, np.array(losses)), options.picture)


def picture(times: Array, x: Array, computed: Array, true: Array, losses: Array) -> str:
    curves = []
    colors = (GRAY, BLUE, ORANGE, GREEN, PURPLE)
    for time_, color, u, truth in zip(times, colors, computed, true, strict=True):
        curves.append(Curve(f"t = {time_:g}", color, x, truth))
        curves.append(Curve("", color, x[::8], u[::8], dots=True, width=0, radius=2.5))
    wave = Panel(
        "The exact solution (lines) and the network (dots)",
        linear_axis("x", -1, 1),
        linear_axis("u", -1.1, 1.1),
        curves,
    )
    shown = losses[:: max(len(losses) // 400, 1)]
    steps = np.linspace(0, len(losses), len(shown))
    learned = Panel(
        "Mean squared residual",
        linear_axis("step", 0, len(losses)),
        log_axis("", shown.min(), shown.max()),
        [Curve("", BLUE, steps, shown)],
    )
    return draw([wave, learned])


if __name__ == "__main__":
    main()
