"""The learners of PPO and SAC in each library: one formula of the loss, on the same minibatches.

PPO as on CartPole, from 2048 steps in minibatches of 256, four times. SAC as on Pendulum: two
critics, their averages, the actor and the temperature learn at once, from 128 steps of a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log, pi
from typing import Any, NamedTuple

import numpy as np

from benchmarks.case import Run
from benchmarks.peers import torch_library, torch_tensors
from benchmarks.training import FIRST

RATE, EPS, DISCOUNT, AVERAGE = 1e-3, 1e-5, 0.99, 0.995
CLIP, NORM = 0.2, 0.5
REPLAY = 20_000
SEEN, ACTED = 3, 1  # numbers of an observation and of an action of a pendulum


class Learning(NamedTuple):
    """The width of both hidden layers, and how much is learned from."""

    width: int
    batch: int
    rows: int = 2048  # steps that PPO learns from at once
    epochs: int = 4


class Library(NamedTuple):
    """What the losses are written with."""

    linear: Callable[..., Any]  # of x, weight and bias
    tanh: Callable[..., Any]
    relu: Callable[..., Any]
    exp: Callable[..., Any]
    log_softmax: Callable[..., Any]  # along the last axis
    softplus: Callable[..., Any]
    chosen: Callable[..., Any]  # of every row, the element of this index
    joined: Callable[..., Any]  # along the last axis
    clip: Callable[..., Any]
    minimum: Callable[..., Any]
    mean: Callable[..., Any]
    deviation: Callable[..., Any]
    fixed: Callable[..., Any]  # not differentiated


def our_library() -> Library:
    import wengert as wg

    return Library(
        lambda x, w, b: x @ w + b,
        wg.tanh,
        wg.relu,
        wg.exp,
        wg.log_softmax,
        wg.softplus,
        lambda x, i: wg.take_along_axis(x, i[:, None], axis=1)[:, 0],
        lambda x, y: wg.concat([x, y], axis=-1),
        wg.clip,
        wg.minimum,
        wg.mean,
        wg.std,
        wg.stop_gradient,
    )


def torch_functions() -> Library:
    torch = torch_library()
    return Library(
        lambda x, w, b: torch.addmm(b, x, w),
        torch.tanh,
        torch.relu,
        torch.exp,
        lambda x: torch.log_softmax(x, dim=-1),
        torch.nn.functional.softplus,
        lambda x, i: torch.gather(x, 1, i[:, None])[:, 0],
        lambda x, y: torch.cat([x, y], dim=-1),
        torch.clamp,
        torch.minimum,
        torch.mean,
        lambda x: torch.std(x, correction=0),
        lambda x: x.detach(),
    )


def weights(sizes: Sequence[int], seed: int) -> list[np.ndarray]:
    """Weights and biases in turns."""
    rng = np.random.default_rng(seed)
    arrays: list[np.ndarray] = []
    for i, o in pairwise(sizes):
        arrays += [
            (rng.standard_normal((i, o)) / i**0.5).astype(np.float32),
            np.zeros(o, np.float32),
        ]
    return arrays


def network(library: Library, activation: str, parameters: Sequence[Any], x: Any) -> Any:
    between = getattr(library, activation)
    for i in range(0, len(parameters) - 2, 2):
        x = between(library.linear(x, parameters[i], parameters[i + 1]))
    return library.linear(x, parameters[-2], parameters[-1])


# PPO


def ppo_model(learning: Learning) -> dict[str, list[np.ndarray]]:
    hidden = learning.width, learning.width
    return {"policy": weights((4, *hidden, 2), 0), "critic": weights((4, *hidden, 1), 1)}


def ppo_data(learning: Learning) -> list[np.ndarray]:
    """Observations, actions, the logarithms of their probabilities, advantages and targets."""
    rng = np.random.default_rng(2)
    seen = rng.standard_normal((learning.rows, 4)).astype(np.float32)
    numbers = [rng.standard_normal(learning.rows).astype(np.float32) for _ in range(3)]
    return [seen, rng.integers(0, 2, learning.rows), numbers[0] * 0.1 - 0.7, *numbers[1:]]


def ppo_loss(library: Library) -> Callable[..., Any]:
    def loss(model: Any, seen: Any, action: Any, before: Any, advantage: Any, target: Any) -> Any:
        log_probs = library.log_softmax(network(library, "tanh", model["policy"], seen))
        ratio = library.exp(library.chosen(log_probs, action) - before)
        advantage = (advantage - library.mean(advantage)) / (library.deviation(advantage) + 1e-8)
        clipped = library.clip(ratio, 1 - CLIP, 1 + CLIP)
        gain = library.mean(library.minimum(ratio * advantage, clipped * advantage))
        value = network(library, "tanh", model["critic"], seen)[:, 0]
        entropy = library.mean((library.exp(log_probs) * log_probs).sum(-1))
        return 0.25 * library.mean((value - target) ** 2) - gain + 0.01 * entropy

    return loss


def our_ppo(learning: Learning) -> Run:
    """What a round learns, as one call."""
    import wengert as wg

    step = wg.TrainStep(
        ppo_loss(our_library()),
        ppo_model(learning),
        wg.optim.Adam(RATE, eps=EPS),
        clip_norm=NORM,
    )
    data = ppo_data(learning)
    first = [step(*(x[at] for x in data)) for at in first_minibatches(learning)]

    def run() -> list[float]:
        step.run(*data, batch_size=learning.batch, epochs=learning.epochs, shuffle_seed=0)
        return first

    return run


def torch_ppo(learning: Learning, way: str) -> Run:
    torch = torch_library()
    model = {name: torch_tensors(each, track=True) for name, each in ppo_model(learning).items()}
    parameters = [x for each in model.values() for x in each]
    data, loss = torch_tensors(ppo_data(learning)), ppo_loss(torch_functions())
    optimizer = torch.optim.Adam(parameters, lr=RATE, eps=EPS, **{way: True})

    def update(rows: Any) -> Any:
        optimizer.zero_grad()
        value = loss(model, *(x[rows] for x in data))
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, NORM)
        optimizer.step()
        return value.detach()

    first = [float(update(at)) for at in first_minibatches(learning)]

    def run() -> list[float]:
        for _ in range(learning.epochs):
            order = torch.randperm(learning.rows)
            for begin in range(0, learning.rows, learning.batch):
                update(order[begin : begin + learning.batch])
        return first

    return run


def first_minibatches(learning: Learning) -> list[slice]:
    size = learning.batch
    return [slice(size * i, size * (i + 1)) for i in range(min(FIRST, learning.rows // size))]


# SAC


def sac_model(learning: Learning) -> dict[str, Any]:
    hidden = learning.width, learning.width
    critics = [weights((SEEN + ACTED, *hidden, 1), seed) for seed in (1, 2)]
    actor = weights((SEEN, *hidden, 2 * ACTED), 0)
    return {"actor": actor, "critics": critics, "log_temperature": np.zeros((), np.float32)}


def sac_replay() -> np.ndarray:
    """Rows of what was seen, done, earned and reached, and whether it was the end."""
    rng = np.random.default_rng(3)
    return rng.standard_normal((REPLAY, 2 * SEEN + ACTED + 2)).astype(np.float32)


def first_noise(learning: Learning) -> list[np.ndarray]:
    shape = FIRST, 2, learning.batch, ACTED
    return list(np.random.default_rng(4).standard_normal(shape).astype(np.float32))


def sac_loss(library: Library) -> Callable[..., Any]:
    def act(actor: Any, seen: Any, noise: Any) -> tuple[Any, Any]:
        """An action, the tanh of a normal number, and the logarithm of its density."""
        outputs = network(library, "relu", actor, seen)
        log_std = library.clip(outputs[:, ACTED:], -5.0, 2.0)
        normal = outputs[:, :ACTED] + library.exp(log_std) * noise
        squeezed = 2 * (log(2) - normal - library.softplus(-2 * normal))
        log_prob = -0.5 * noise**2 - log_std - 0.5 * log(2 * pi) - squeezed
        return library.tanh(normal), log_prob.sum(-1)

    def values(critics: Any, seen: Any, action: Any) -> list[Any]:
        given = library.joined(seen, action)
        return [network(library, "relu", each, given)[:, 0] for each in critics]

    def loss(model: Any, averaged_critics: Any, rows: Any, noise: Any) -> Any:
        seen, action, reward = rows[:, :SEEN], rows[:, SEEN : SEEN + ACTED], rows[:, SEEN + ACTED]
        reached, ended = rows[:, -SEEN - 1 : -1], rows[:, -1]
        temperature = library.exp(model["log_temperature"])
        following, log_prob = act(library_fixed(model["actor"]), reached, noise[0])
        least = library.minimum(*values(averaged_critics, reached, following))
        worth = least - library.fixed(temperature) * log_prob
        target = library.fixed(reward + DISCOUNT * (1 - ended) * worth)
        errors = [library.mean((q - target) ** 2) for q in values(model["critics"], seen, action)]
        drawn, log_prob = act(model["actor"], seen, noise[1])
        critics = [library_fixed(each) for each in model["critics"]]
        least = library.minimum(*values(critics, seen, drawn))
        regret = library.mean(library.fixed(temperature) * log_prob - least)
        too_certain = library.fixed(library.mean(log_prob)) - ACTED
        return errors[0] + errors[1] + regret - temperature * too_certain

    def library_fixed(parameters: Sequence[Any]) -> list[Any]:
        return [library.fixed(each) for each in parameters]

    return loss


def our_sac(learning: Learning) -> Run:
    """One update: rows of the replay, then everything that learns from them."""
    import wengert as wg

    loss, size = sac_loss(our_library()), learning.batch

    def with_noise(model: Any, averaged: Any, rows: Any, noise: Any) -> Any:
        return loss(model, averaged["critics"], rows, noise)

    def with_draws(model: Any, averaged: Any, rows: Any, rng: Any) -> Any:
        return loss(model, averaged["critics"], rows, rng.normal((2, size, ACTED)))

    def new(function: Callable[..., Any]) -> wg.TrainStep:
        adam = wg.optim.Adam(RATE)
        kinds = {"critics.*": wg.optim.EMA(adam, decay=AVERAGE), "*": adam}
        return wg.TrainStep(function, sac_model(learning), kinds)

    given, step, replay = new(with_noise), new(with_draws), sac_replay()
    first = [
        given(replay[at], noise)
        for at, noise in zip(first_minibatches(learning), first_noise(learning), strict=True)
    ]
    rng = np.random.default_rng(5)

    def run() -> list[float]:
        step(replay[rng.integers(REPLAY, size=size)])
        return first

    return run


def torch_sac(learning: Learning, way: str) -> Run:
    torch, loss = torch_library(), sac_loss(torch_functions())
    given, size = sac_model(learning), learning.batch
    critics = [torch_tensors(each, track=True) for each in given["critics"]]
    averages = [[x.detach().clone() for x in each] for each in critics]
    model = {
        "actor": torch_tensors(given["actor"], track=True),
        "critics": critics,
        "log_temperature": torch.tensor(given["log_temperature"], requires_grad=True),
    }
    learned, slow = [x for each in critics for x in each], [x for each in averages for x in each]
    parameters = [*learned, *model["actor"], model["log_temperature"]]
    optimizer = torch.optim.Adam(parameters, lr=RATE, **{way: True})
    (replay,) = torch_tensors([sac_replay()])

    def update(rows: Any, noise: Any) -> Any:
        optimizer.zero_grad()
        value = loss(model, averages, rows, noise)
        value.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(slow, learned, 1 - AVERAGE)
        return value.detach()

    noises = torch_tensors(first_noise(learning))
    first = [
        float(update(replay[at], noise))
        for at, noise in zip(first_minibatches(learning), noises, strict=True)
    ]

    def run() -> list[float]:
        rows = torch.randint(REPLAY, (size,))
        update(replay[rows], torch.randn(2, size, ACTED))
        return first

    return run
