"""One cold start, alone in a process: `python -m benchmarks.cold_start LIBRARY PROGRAM`.

Imports a library, then makes a program and runs it for the first time, and prints the seconds of
both as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.layers.convnets import (
    NETS,
    ConvNet,
    jax_arrays,
    jax_net_loss,
    our_model,
    our_net_loss,
)
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.peers import jax_library
from benchmarks.training import CLIP, JAX_UPDATES, jax_state, jax_step, our_optimizer, our_step
from benchmarks.transformer import Transformer, jax_transformer_loss, our_transformer_loss
from benchmarks.unrolled import leapfrog, recurrent

First = Callable[[], Any]  # makes a program, and runs it once
TENSORS, WIDTH = 100, 256


def network_step(library: str, network: Network) -> First:
    parameters, x, y = data(network)
    if library == "wengert":
        return lambda: our_step(network, parameters=parameters)(x, y)

    def first() -> Any:
        jax = jax_library()
        compiled = jax.jit(jax_step("Adam"), donate_argnums=0)
        return jax.block_until_ready(compiled(jax_state(parameters, "Adam"), (x, y)))[1]

    return first


def transformer_step(library: str, model: Transformer) -> First:
    parameters, x, y = model.data()
    if library == "wengert":
        import wengert as wg

        loss = our_transformer_loss(model)
        adam = our_optimizer("Adam")
        return lambda: wg.TrainStep(loss, parameters, adam, clip_norm=CLIP)(x, y)

    return lambda: jax_first(jax_transformer_loss(model), parameters, x, y)


def jax_first(loss: Callable[..., Any], parameters: Any, *batch: Any) -> Any:
    """The loss of the first training step, with clipping and Adam."""
    jax = jax_library()
    value_and_grad = jax.value_and_grad(loss)
    leaves, form = jax.tree.flatten(parameters)

    def step(state: Any, batch: Any) -> Any:
        value, gradients = value_and_grad(jax.tree.unflatten(form, state[0]), *batch)
        gradients = jax.tree.leaves(gradients)
        norm = jax.numpy.sqrt(sum(jax.numpy.sum(g * g) for g in gradients))
        scale = jax.numpy.minimum(1.0, CLIP / norm)
        return JAX_UPDATES["Adam"](state, [scale * g for g in gradients]), value

    compiled = jax.jit(step, donate_argnums=0)
    return jax.block_until_ready(compiled(jax_state(leaves, "Adam"), batch))[1]


def convnet_step(library: str, net: ConvNet) -> First:
    x, y = net.images()
    if library == "wengert":
        import wengert as wg

        model, adam = our_model(net), our_optimizer("Adam")
        return lambda: wg.TrainStep(our_net_loss, model, adam, clip_norm=CLIP)(x, y)

    def first() -> Any:  # JAX has channels last
        loss, arrays = jax_net_loss(net), jax_arrays(net)
        return jax_first(loss, arrays, np.ascontiguousarray(x.transpose(0, 2, 3, 1)), y)

    return first


def lars_update(library: str, tensors: int, width: int) -> First:
    rng = np.random.default_rng(0)
    weights, gradients = (
        [rng.standard_normal((width, width)).astype(np.float32) for _ in range(tensors)]
        for _ in range(2)
    )
    if library == "wengert":
        import wengert as wg

        lars = our_optimizer("Lars")
        state, scalars = lars.init(weights), wg.tree.arrays(lars.scalars(1))
        update = wg.compile(lars.update, donate=("model", "state"))

        def ours() -> Any:
            update(weights, gradients, state, scalars)
            return weights[0]

        return ours

    def first() -> Any:
        jax = jax_library()
        compiled = jax.jit(JAX_UPDATES["Lars"], donate_argnums=0)
        return jax.block_until_ready(compiled(jax_state(weights, "Lars"), gradients))[0][0]

    return first


PROGRAMS: dict[str, Callable[[str], First]] = {
    "three-layer step": partial(network_step, network=NETWORKS["mnist"]),
    "transformer": partial(transformer_step, model=Transformer()),
    "ConvNet": partial(convnet_step, net=NETS["32 × 32"]),
    "Lars": partial(lars_update, tensors=TENSORS, width=WIDTH),
    "unrolled RNN": recurrent,
    "unrolled leapfrog": leapfrog,
}


def measure(library: str, program: str) -> dict[str, float]:
    begin = time.perf_counter()
    module = importlib.import_module(library)
    if library == "wengert":  # which imports what is behind a name when it is first used
        _ = module.TrainStep, module.compile, module.nn, module.optim
    imported = time.perf_counter()
    first = PROGRAMS[program](library)
    start = time.perf_counter()
    first()
    return {"import": imported - begin, "first": time.perf_counter() - start}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
