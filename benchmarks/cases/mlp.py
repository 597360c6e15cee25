"""Gradients of multilayer perceptrons: value and gradient, compiled; and `wg.nn.Mlp`, whose forward
and backward run on memory of its own, from a given gradient of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.networks import (
    NETWORKS,
    Network,
    data,
    jax_loss,
    loss_with,
    numpy_value_and_grad,
)
from benchmarks.peers import jax_library, jitted, torch_library, torch_tensors

STEP = "TrainStep"


# Value and gradient


def compiled(network: Network) -> Run:
    import wengert as wg

    parameters, x, y = data(network)
    step = wg.compile(wg.value_and_grad(loss_with(np.tanh, wg.cross_entropy)))
    return lambda: step(parameters, x, y)


def with_jax(network: Network) -> Run:
    jax = jax_library()
    return jitted(jax.value_and_grad(jax_loss(jax)), *data(network))


def with_torch(network: Network) -> Run:
    torch = torch_library()
    arrays, *batch = data(network)
    parameters = torch_tensors(arrays, track=True)
    x, y = torch_tensors(batch)
    loss = loss_with(torch.tanh, torch.nn.functional.cross_entropy)

    def step() -> object:
        value = loss(parameters, x, y)
        return value, torch.autograd.grad(value, parameters)

    return step


def by_hand(network: Network) -> Run:
    parameters, x, y = data(network)
    return lambda: numpy_value_and_grad(parameters, x, y)


def gradient_case(name: str, network: Network) -> Case:
    makers = {
        OURS: it.ours(partial(compiled, network)),
        "JAX jit": it.jax(partial(with_jax, network)),
        "torch": it.torch(partial(with_torch, network)),
        "NumPy by hand": it.numpy(partial(by_hand, network)),
    }
    goals = (Times(5, "JAX"),) if name == "tiny" else ()
    measures = f"value and gradient of {network}, compiled"
    return Case(f"gradient {name}", measures, makers, goals, weight=2)


# An Mlp that allocates nothing


def batch_of(network: Network) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [(network.batch, size) for size in (network.sizes[0], network.sizes[-1])]
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def parameters_of(network: Network) -> list[np.ndarray]:
    """The same parameters for every library, as `wg.nn.Mlp` has them: (out, in) and (out,)."""
    rng = np.random.default_rng(1)
    parameters: list[np.ndarray] = []
    for i, o in zip(network.sizes, network.sizes[1:], strict=False):
        parameters.append((rng.standard_normal((o, i)) / np.sqrt(i)).astype(np.float32))
        parameters.append(np.zeros(o, np.float32))
    return parameters


def our_mlp(network: Network) -> Any:
    """An Mlp with these parameters."""
    import wengert as wg

    mlp = wg.nn.Mlp(network.sizes, seed=0)
    for leaf, values in zip(wg.tree.leaves(mlp), parameters_of(network), strict=True):
        leaf[...] = values
    return mlp


def native(network: Network) -> Run:
    mlp, (x, g) = our_mlp(network), batch_of(network)
    scratch, grads = mlp.scratch(network.batch), mlp.gradients(network.batch)
    grads.d_output[...] = g
    layers = range(len(network.sizes) - 1)
    gradients = [view(i) for i in layers for view in (grads.d_weights, grads.d_biases)]

    def run() -> list[np.ndarray]:
        mlp.forward(x, scratch)
        mlp.backward(x, scratch, grads)
        return gradients

    return run


def native_in_step(network: Network) -> Run:
    """The same gradients inside a training step, which also updates: by nothing, here."""
    import wengert as wg

    mlp, (x, g) = our_mlp(network), batch_of(network)
    step = wg.TrainStep(lambda m, x, g: wg.sum(m(x) * g), mlp, wg.optim.SGD(0.0), threads=1)
    gradients = wg.tree.leaves(step.gradients)

    def run() -> list[np.ndarray]:
        step(x, g)
        return gradients

    return run


def loss_of(tanh: Any, parameters: Sequence[Any], x: Any, g: Any) -> Any:
    """The loss that has this gradient by its outputs, with a library's function."""
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for w, b in hidden:
        x = tanh(x @ w.T + b)
    return ((x @ last[0].T + last[1]) * g).sum()


def native_with_jax(network: Network) -> Run:
    jax = jax_library()
    gradient = jax.grad(partial(loss_of, jax.numpy.tanh))
    return jitted(gradient, parameters_of(network), *batch_of(network))


def native_with_torch(network: Network) -> Run:
    torch = torch_library()
    parameters = torch_tensors(parameters_of(network), track=True)
    x, g = torch_tensors(batch_of(network))
    return lambda: torch.autograd.grad(loss_of(torch.tanh, parameters, x, g), parameters)


def native_by_hand(network: Network) -> Run:
    parameters, (x, g) = parameters_of(network), batch_of(network)
    depth = len(parameters) // 2

    def run() -> list[np.ndarray]:
        into, d_output = [x], g
        gradients: list[np.ndarray] = []
        for i in range(depth):
            y = into[-1] @ parameters[2 * i].T + parameters[2 * i + 1]
            into.append(np.tanh(y) if i < depth - 1 else y)
        for i in reversed(range(depth)):
            if i < depth - 1:
                d_output = d_output * (1 - into[i + 1] * into[i + 1])
            gradients = [d_output.T @ into[i], d_output.sum(0), *gradients]
            d_output = d_output @ parameters[2 * i]
        return gradients

    return run


def native_case(name: str, network: Network) -> Case:
    makers = {
        OURS: it.ours(partial(native, network)),
        STEP: it.ours(partial(native_in_step, network)),
        "JAX jit": it.jax(partial(native_with_jax, network)),
        "torch": it.torch(partial(native_with_torch, network)),
        "NumPy by hand": it.numpy(partial(native_by_hand, network)),
    }
    # At most 1.2 times the time of a step, which compiles forward and backward as one program.
    goals = (Times(round(1 / 1.2, 3), STEP),) if name == "tiny" else ()
    measures = f"forward and backward of nn.Mlp, {network}, allocating nothing"
    return Case(f"Mlp {name}", measures, makers, goals)


CASES = (
    *(gradient_case(name, NETWORKS[name]) for name in ("tiny", "small", "mnist")),
    native_case("tiny", NETWORKS["tiny"]),
    native_case("tiny, one row", NETWORKS["tiny"]._replace(batch=1)),
    native_case("small", NETWORKS["small"]),
)
