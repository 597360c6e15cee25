"""One cold start, alone in a process: `python -m benchmarks.cold_start <library> <network>`.

Imports a library, then makes and runs the first step of a training program (value, gradient and
SGD with momentum of a three-layer MLP, parameters donated), and prints the seconds as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.networks import NETWORKS, Network, data, jax_loss, loss_with

RATE, MOMENTUM = 0.01, 0.9


def training_step(value_and_grad: Callable[..., Any], loss: Callable[..., Any]) -> Any:
    """SGD with momentum, in any library."""

    def step(parameters: list[Any], velocity: list[Any], x: Any, y: Any) -> Any:
        value, gradient = value_and_grad(loss)(parameters, x, y)
        velocity = [MOMENTUM * v + g for v, g in zip(velocity, gradient, strict=True)]
        parameters = [p - RATE * v for p, v in zip(parameters, velocity, strict=True)]
        return value, parameters, velocity

    return step


def start_ours() -> Callable[[Sequence[Any]], Any]:
    wg: Any = importlib.import_module("wengert")

    def first(arguments: Sequence[Any]) -> Any:
        step = training_step(wg.value_and_grad, loss_with(np.tanh, wg.cross_entropy))
        return wg.compile(step, donate=("parameters", "velocity"))(*arguments)

    return first


def start_jax() -> Callable[[Sequence[Any]], Any]:
    jax: Any = importlib.import_module("jax")

    def first(arguments: Sequence[Any]) -> Any:
        step = training_step(jax.value_and_grad, jax_loss(jax))
        return jax.block_until_ready(jax.jit(step, donate_argnums=(0, 1))(*arguments))

    return first


LIBRARIES = {"wengert": start_ours, "jax": start_jax}


def arguments(network: Network) -> tuple[Any, ...]:
    parameters, x, y = data(network)
    return parameters, [np.zeros_like(p) for p in parameters], x, y


def measure(library: str, network: Network) -> dict[str, float]:
    given = arguments(network)
    begin = time.perf_counter()
    first = LIBRARIES[library]()
    imported, busy = time.perf_counter(), time.process_time()
    first(given)
    return {
        "import": imported - begin,
        "first step": time.perf_counter() - imported,
        "its CPU time": time.process_time() - busy,  # not disturbed by other processes
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], NETWORKS[sys.argv[2]])))
