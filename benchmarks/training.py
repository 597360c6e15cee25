"""The training step that benchmarks share, in each library: tanh, softmax cross-entropy, the global
norm of the gradients clipped, then Adam or Lars; float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.case import Run
from benchmarks.networks import Network, data, jax_loss, loss_with, numpy_value_and_grad
from benchmarks.peers import jax_library, torch_library, torch_tensors

if TYPE_CHECKING:
    import wengert as wg

RATE, BETA1, BETA2, EPS = 1e-3, 0.9, 0.999, 1e-8
MOMENTUM, DECAY, TRUST = 0.9, 1e-4, 1e-3  # of Lars, with the rate 1
CLIP = 1.0
FIRST = 5  # steps that contestants are compared by

State = tuple[list[Any], ...]  # parameters, then what the optimizer keeps
Batch = tuple[Any, Any]


def steady(step: Callable[[], Any]) -> Run:
    """A step that changes its model each time, as a contestant: it returns the losses of its first
    steps, whenever it is called.
    """
    first = [float(step()) for _ in range(FIRST)]

    def run() -> list[float]:
        step()
        return first

    return run


# Ours


def our_optimizer(name: str) -> wg.optim.Optimizer:
    import wengert as wg

    if name == "Adam":
        return wg.optim.Adam(RATE, betas=(BETA1, BETA2), eps=EPS)
    return wg.optim.Lars(1.0, momentum=MOMENTUM, weight_decay=DECAY, trust_coefficient=TRUST)


def our_step(
    network: Network,
    optimizer: str = "Adam",
    parameters: list[np.ndarray] | None = None,  # those of `data`
    **options: Any,
) -> wg.TrainStep:
    import wengert as wg

    loss = loss_with(wg.tanh, wg.cross_entropy)
    if parameters is None:
        parameters, _, _ = data(network)
    return wg.TrainStep(loss, parameters, our_optimizer(optimizer), clip_norm=CLIP, **options)


def ours_step(network: Network, optimizer: str = "Adam", **options: Any) -> Run:
    step = our_step(network, optimizer, **options)
    _, x, y = data(network)
    return steady(lambda: step(x, y))


# JAX


def jax_adam(state: State, gradients: Sequence[Any], rate: Any = RATE) -> State:
    jnp = jax_library().numpy
    parameters, means, squares, (count,) = state
    count = count + 1
    means = [BETA1 * m + (1 - BETA1) * g for m, g in zip(means, gradients, strict=True)]
    squares = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(squares, gradients, strict=True)]
    corrected, root = rate / (1 - BETA1**count), jnp.sqrt(1 - BETA2**count)
    parameters = [
        p - corrected * m / (jnp.sqrt(v) / root + EPS)
        for p, m, v in zip(parameters, means, squares, strict=True)
    ]
    return parameters, means, squares, [count]


def jax_lars(state: State, gradients: Sequence[Any]) -> State:
    jnp = jax_library().numpy
    parameters, velocity = state

    def rate(p: Any, g: Any) -> Any:
        size, slope = jnp.sqrt(jnp.sum(p * p)), jnp.sqrt(jnp.sum(g * g))
        vanishes = (size == 0) | (slope == 0)
        return jnp.where(vanishes, 1, TRUST * size / jnp.where(vanishes, 1, slope + DECAY * size))

    velocity = [
        MOMENTUM * v + rate(p, g) * (g + DECAY * p)
        for p, v, g in zip(parameters, velocity, gradients, strict=True)
    ]
    return [p - v for p, v in zip(parameters, velocity, strict=True)], velocity


JAX_UPDATES: dict[str, Callable[..., State]] = {"Adam": jax_adam, "Lars": jax_lars}


def jax_state(parameters: Sequence[Any], optimizer: str) -> State:
    jnp = jax_library().numpy
    kept = [[jnp.zeros_like(p) for p in parameters] for _ in range(1 + (optimizer == "Adam"))]
    count = [[jnp.float32(0)]] if optimizer == "Adam" else []
    return list(parameters), *kept, *count


def jax_step(optimizer: str) -> Callable[..., tuple[State, Any]]:
    """(state, batch) -> (state, loss), with Adam also (state, batch, rate): not yet compiled."""
    jax, update = jax_library(), JAX_UPDATES[optimizer]
    value_and_grad = jax.value_and_grad(jax_loss(jax))

    def step(state: State, batch: Batch, *rate: Any) -> tuple[State, Any]:
        value, gradients = value_and_grad(state[0], *batch)
        norm = jax.numpy.sqrt(sum(jax.numpy.sum(g * g) for g in gradients))
        scale = jax.numpy.minimum(1.0, CLIP / norm)
        return update(state, [scale * g for g in gradients], *rate), value

    return step


def with_jax(network: Network, optimizer: str) -> Run:
    jax = jax_library()
    parameters, *batch = jax.device_put(data(network))
    state = jax_state(parameters, optimizer)
    compiled = jax.jit(jax_step(optimizer), donate_argnums=0)

    def step() -> Any:
        nonlocal state
        state, value = jax.block_until_ready(compiled(state, tuple(batch)))
        return value

    return steady(step)


# PyTorch


def torch_lars(weights: Sequence[Any]) -> Callable[[], object]:
    """PyTorch has no Lars: this is one over lists of tensors, as its own optimizers are."""
    torch = torch_library()
    velocity = [torch.zeros_like(w) for w in weights]

    def step() -> None:
        gradients = [w.grad for w in weights]
        sizes = torch.stack(torch._foreach_norm(weights))
        slopes = torch.stack(torch._foreach_norm(gradients))
        local = TRUST * sizes / (slopes + DECAY * sizes)
        rates = torch.where((sizes == 0) | (slopes == 0), 1.0, local)
        moves = torch._foreach_add(gradients, weights, alpha=DECAY)
        torch._foreach_mul_(moves, rates.tolist())
        torch._foreach_mul_(velocity, MOMENTUM)
        torch._foreach_add_(velocity, moves)
        torch._foreach_sub_(weights, velocity)

    update: Callable[[], object] = torch.no_grad()(step)
    return update


def torch_adam(weights: Sequence[Any], way: str) -> Callable[[], object]:
    torch = torch_library()
    settings = {"lr": RATE, "betas": (BETA1, BETA2), "eps": EPS, way: True}
    step: Callable[[], object] = torch.optim.Adam(weights, **settings).step
    return step


def with_torch(network: Network, make: Callable[[Sequence[Any]], Callable[[], object]]) -> Run:
    """A step with an optimizer made from the parameters."""
    torch = torch_library()
    arrays, *batch = data(network)
    parameters = torch_tensors(arrays, track=True)
    x, y = torch_tensors(batch)
    loss = loss_with(torch.tanh, torch.nn.functional.cross_entropy)
    update = make(parameters)

    def step() -> Any:
        for p in parameters:
            p.grad = None
        value = loss(parameters, x, y)
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        update()
        return value.detach()

    return steady(step)


# NumPy


def numpy_adam(parameters: Sequence[np.ndarray]) -> Callable[[Sequence[np.ndarray]], None]:
    means, squares = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    count = 0

    def update(gradients: Sequence[np.ndarray]) -> None:
        nonlocal count
        count += 1
        rate, root = RATE / (1 - BETA1**count), np.sqrt(1 - BETA2**count)
        for p, m, v, g in zip(parameters, means, squares, gradients, strict=True):
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            g *= g
            v += (1 - BETA2) * g
            p -= np.float32(rate) * m / (np.sqrt(v) / np.float32(root) + EPS)

    return update


def numpy_lars(parameters: Sequence[np.ndarray]) -> Callable[[Sequence[np.ndarray]], None]:
    velocity = [np.zeros_like(p) for p in parameters]

    def update(gradients: Sequence[np.ndarray]) -> None:
        for p, v, g in zip(parameters, velocity, gradients, strict=True):
            size, slope = (float(np.sqrt(np.vdot(x, x))) for x in (p, g))
            rate = TRUST * size / (slope + DECAY * size) if size and slope else 1.0
            g += DECAY * p
            g *= np.float32(rate)
            v *= MOMENTUM
            v += g
            p -= v

    return update


NUMPY_UPDATES = {"Adam": numpy_adam, "Lars": numpy_lars}


def by_hand(network: Network, optimizer: str) -> Run:
    parameters, x, y = data(network)
    update = NUMPY_UPDATES[optimizer](parameters)

    def step() -> Any:
        value, gradients = numpy_value_and_grad(parameters, x, y)
        norm = np.sqrt(sum(float(np.vdot(g, g)) for g in gradients))
        scale = np.float32(min(1.0, CLIP / norm))
        for g in gradients:
            g *= scale
        update(gradients)
        return value

    return steady(step)
