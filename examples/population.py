"""Population-based training of PPO on CartPole: `make demo EXAMPLE=population`.

Sixteen agents learn at once as one ensemble, each with its own learning rate; most of these rates
are far too small or far too large. Every few rounds the worst agents go on as copies of the best
ones, with rates a little beside theirs: so rates are found while agents learn. Jaderberg et al.
2017; and, beside it, agents that stay alone, and agents that change places along a ladder of rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import ppo
from command import read_options
from environments import CartPole, episode_returns
from picture import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    PALE_BLUE,
    Array,
    Curve,
    Panel,
    draw,
    linear_axis,
    log_axis,
    save,
)

import wengert as wg

SLOWEST, FASTEST = 1e-6, 1.0  # learning rates at first
REPLACED = 4  # one of so many goes on as a copy
EPISODES = 20  # of each agent, at the end
Meeting = Callable[[wg.Ensemble, Array, np.random.Generator], None]


class Training(NamedTuple):
    """How a population has learned."""

    returns: Array  # (rounds, members): of the last episodes
    rates: Array  # (rounds, members): the learning rates
    learned: Array  # (members,): the mean return of new episodes, at the end


def stay_alone(_ensemble: wg.Ensemble, _returns: Array, _rng: np.random.Generator) -> None:
    """Nobody learns from others."""


def copy_the_best(ensemble: wg.Ensemble, returns: Array, rng: np.random.Generator) -> None:
    """The worst go on from where the best are, each with half or twice the rate."""
    order = ensemble.best(returns, count=len(ensemble), largest=True)
    count = max(1, len(ensemble) // REPLACED)
    for good, bad in zip(order[:count], order[-count:], strict=True):
        ensemble.replace(bad, by=good)
        rate = ensemble.members[good].optimizer.learning_rate
        ensemble.members[bad].optimizer.learning_rate = rate * rng.choice([0.5, 2.0])


def change_places(ensemble: wg.Ensemble, returns: Array, rng: np.random.Generator) -> None:
    """Rates stay, in ascending order; of two neighbours the better one goes where it is slower."""
    for i in range(int(rng.integers(2)), len(ensemble) - 1, 2):
        if returns[i + 1] > returns[i]:
            ensemble.exchange(i, i + 1)


MEETINGS: dict[str, tuple[Meeting, str]] = {
    "each alone": (stay_alone, GRAY),
    "neighbours change places": (change_places, GREEN),
    "copies of the best": (copy_the_best, BLUE),
}


def new_population(members: int, settings: ppo.Settings) -> wg.Ensemble:
    rates = np.geomspace(SLOWEST, FASTEST, members)
    return wg.Ensemble(
        ppo.loss,
        lambda seed: ppo.new_agent(replace(settings, seed=seed)),
        wg.optim.Adam(rates, eps=1e-5),
        seeds=range(settings.seed, settings.seed + members),
        clip_norm=0.5,
        nonfinite="skip",
    )


def rollout(world: CartPole, act: Any, members: int, horizon: int) -> list[Array]:
    """What was seen, done, reached …, each (members, steps, environments, …)."""
    steps = []
    for _ in range(horizon):
        seen = world.observation.reshape(members, -1, CartPole.observations)
        action, log_prob = act(wg.train.each(seen))
        reached = world.step(action.reshape(-1))
        parts = [each.reshape(members, -1, *each.shape[1:]) for each in reached]
        steps.append((seen, action, log_prob, *parts))
    return [np.stack(each, axis=1) for each in zip(*steps, strict=True)]


def learn_round(
    ensemble: wg.Ensemble, world: CartPole, act: Any, judge: Any, settings: ppo.Settings
) -> Array:
    """Act for a while, and learn from it, all members at once. The returns of their last episodes,
    on average.
    """
    data = rollout(world, act, len(ensemble), settings.horizon)
    seen, action, log_prob, observation, reward, ended, over = data
    advantage, target = judge(*map(wg.train.each, (seen, observation, reward, ended, over)))
    learned = [seen, action, log_prob, advantage, target]
    ensemble.run(
        *(wg.train.each(x.reshape(len(ensemble), -1, *x.shape[3:])) for x in learned),
        batch_size=settings.batch,
        epochs=settings.epochs,
        shuffle_seed=ensemble.seeds,
    )
    return world.latest.reshape(len(ensemble), -1).mean(axis=1)


def train(members: int, every: int, settings: ppo.Settings, meet: Meeting) -> Training:
    """Let a population learn; its members meet after `every` so many rounds."""
    ensemble = new_population(members, settings)
    world = CartPole(members * settings.environments, settings.seed)
    act, judge = ensemble.bind(ppo.explore), ensemble.bind(ppo.estimate)
    rng = np.random.default_rng(settings.seed)
    returns: list[Array] = []
    rates: list[Sequence[float]] = []
    for number in range(1, settings.rounds + 1):
        rates.append([step.optimizer.learning_rate for step in ensemble.members])
        returns.append(learn_round(ensemble, world, act, judge, settings))
        if number % every == 0 and number < settings.rounds:
            meet(ensemble, returns[-1], rng)
    return Training(np.array(returns), np.array(rates), learned_returns(ensemble, settings.seed))


def learned_returns(ensemble: wg.Ensemble, seed: int) -> Array:
    """The mean return of new episodes, for each member."""
    members, act = len(ensemble), ensemble.bind(ppo.best)

    def act_in_all(seen: Array) -> Array:
        actions: Array = act(wg.train.each(seen.reshape(members, -1, CartPole.observations)))
        return actions.reshape(-1)

    returns = episode_returns(CartPole(members * EPISODES, seed + 1000), act_in_all)
    return returns.reshape(members, EPISODES).mean(axis=1)


def picture(runs: dict[str, Training]) -> str:
    copied = runs["copies of the best"]
    rounds = np.arange(1, len(copied.rates) + 1)
    across = partial(linear_axis, "round", 1, len(rounds))
    means = [
        Curve(name, MEETINGS[name][1], rounds, run.returns.mean(axis=1))
        for name, run in runs.items()
    ]
    names = ["each of the agents", *[""] * (copied.rates.shape[1] - 1)]
    rates = [
        Curve(name, PALE_BLUE, rounds, each, width=1.2)
        for name, each in zip(names, copied.rates.T, strict=True)
    ]
    best = copied.rates[rounds - 1, copied.returns.argmax(axis=1)]
    rates.append(Curve("the best one of each round", ORANGE, rounds, best, dots=True, width=0))
    lowest, highest = float(copied.rates.min()), float(copied.rates.max())
    return draw(
        [
            Panel(
                "Mean return of the whole population",
                across(),
                linear_axis("mean return", 0, CartPole.limit),
                means,
                corner="upper left",
            ),
            Panel(
                "Learning rates, where the worst become copies of the best",
                across(),
                log_axis("learning rate", lowest, highest),
                rates,
                corner="upper right",
            ),
        ]
    )


def main() -> None:
    counts = {"members": 16, "rounds": 60, "every": 4, "environments": 8, "horizon": 128}
    options = read_options(__doc__, "population", {"members": 2}, **counts)
    settings = ppo.Settings(
        seed=options.seed,
        environments=options.environments,
        horizon=options.horizon,
        rounds=options.rounds,
        batch=min(128, options.environments * options.horizon),
        width=32,
    )
    runs = {}
    for name, (meet, _) in MEETINGS.items():
        run = runs[name] = train(options.members, options.every, settings, meet)
        good = int((run.learned >= 475).sum())
        print(
            f"{name}: mean return {run.learned.mean():.1f} of new episodes, "
            f"{good} of {len(run.learned)} agents above 475",
            flush=True,
        )
    save(picture(runs), options.picture)


if __name__ == "__main__":
    main()
