"""One training step of a model of layers, in each library: value, gradient and Adam; float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.peers import jax_library, jitted, torch_library, torch_tensors
from benchmarks.training import jax_adam, jax_state, our_optimizer, steady, torch_adam

Arrays = Mapping[str, np.ndarray]
Loss = Callable[..., Any]  # of a model, or of arrays by name, and a batch
Batch = Sequence[np.ndarray]


def weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small random numbers: the first axis is that of outputs."""
    fan_in = max(1, int(np.prod(shape[1:])))
    return (rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)


def standard(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def given_and_wanted(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of a layer, and outputs of the same shape that they are to become."""
    rng = np.random.default_rng(1)
    return standard(rng, *shape), standard(rng, *shape)


def our_fitted_layer(made: Any, arrays: Arrays, batch: Batch) -> Run:
    """A step of a layer with these parameters towards the wanted outputs."""
    import wengert as wg

    def loss(layer: Any, x: Any, wanted: Any) -> Any:
        return wg.mean((layer(x) - wanted) ** 2)

    return our_layer_step(loss, wg.nn.from_torch_names(made, arrays), batch)


# A step


def our_layer_step(loss: Loss, model: Any, batch: Batch) -> Run:
    import wengert as wg

    step = wg.TrainStep(loss, model, our_optimizer("Adam"))
    return steady(lambda: step(*batch))


def jax_layer_step(loss: Loss, arrays: Arrays, batch: Batch) -> Run:
    jax = jax_library()
    leaves, form = jax.tree.flatten(dict(arrays))
    gradient = jax.value_and_grad(loss)

    def update(state: Any, batch: Any) -> Any:
        value, gradients = gradient(jax.tree.unflatten(form, state[0]), *batch)
        return jax_adam(state, jax.tree.leaves(gradients)), value

    compiled = jax.jit(update, donate_argnums=0)
    state, given = jax_state(jax.device_put(leaves), "Adam"), jax.device_put(tuple(batch))

    def step() -> Any:
        nonlocal state
        state, value = jax.block_until_ready(compiled(state, given))
        return value

    return steady(step)


def torch_layer_step(
    loss: Loss, parameters: Sequence[Any], given: Sequence[Any], way: str = "fused"
) -> Run:
    """The loss is one of the batch alone; `given` are tensors."""
    update = torch_adam(parameters, way)

    def step() -> Any:
        for p in parameters:
            p.grad = None
        value = loss(*given)
        value.backward()
        update()
        return value.detach()

    return steady(step)


def torch_parameters(arrays: Arrays) -> dict[str, Any]:
    tensors = torch_tensors(list(arrays.values()), track=True)
    return dict(zip(arrays, tensors, strict=True))


def torch_module(module: Any, arrays: Arrays) -> Any:
    """A module with these parameters."""
    torch = torch_library()
    module.load_state_dict({name: torch.tensor(x) for name, x in arrays.items()})
    return module


# Value and gradient alone


def our_gradient(loss: Loss, arrays: Arrays) -> Run:
    import wengert as wg

    compiled = wg.compile(wg.value_and_grad(loss))
    given = dict(arrays)
    return lambda: compiled(given)


def jax_gradient(loss: Loss, arrays: Arrays) -> Run:
    return jitted(jax_library().value_and_grad(loss), dict(arrays))


def torch_gradient(loss: Loss, arrays: Arrays) -> Run:
    torch, tensors = torch_library(), torch_parameters(arrays)

    def run() -> object:
        value = loss(tensors)
        gradients = torch.autograd.grad(value, list(tensors.values()))
        return value, dict(zip(tensors, gradients, strict=True))

    return run
