"""Soft actor-critic swings a pendulum up and holds it there: `make demo EXAMPLE=sac`.

Two critics, the smaller of whose slow copies is believed; an actor that earns for being random; and
a temperature, learned, that says how much. All three learn in one native call, each by its own part
of one loss: `stop_gradient` keeps the parts apart. Haarnoja et al. 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from environments import Pendulum, mean_return
from learning_runs import Replay, Run, curve, parts_of, report, run_program, setting

import wengert as wg
from wengert.distributions import TanhNormal

DISCOUNT = 0.99
AVERAGE = 0.995  # of the old weights in the slow copies of the critics, at every update
ENTROPY = -float(Pendulum.actions)  # what the temperature steers towards


@dataclass(frozen=True)
class Settings:
    seed: int = setting(0, "of weights, actions, environments and minibatches")
    environments: int = setting(4, "that are acted in at once")
    steps: int = setting(12_000, "in all environments together, with an update for each")
    first: int = setting(500, "steps at random, before anything is learned")
    batch: int = setting(128, "steps of a minibatch")
    width: int = setting(64, "units of the two hidden layers")
    rate: float = setting(2e-3, "the learning rate")


@dataclass
class Agent:
    actor: wg.nn.Mlp
    critics: list[wg.nn.Mlp]
    log_temperature: Any


def new_agent(settings: Settings) -> Agent:
    rng = np.random.default_rng(settings.seed)
    hidden, size = (settings.width, settings.width), Pendulum.observations
    actor = wg.nn.Mlp((size, *hidden, 2 * Pendulum.actions), "relu", seed=rng)
    sizes = (size + Pendulum.actions, *hidden, 1)
    critics = [wg.nn.Mlp(sizes, "relu", seed=rng) for _ in range(2)]
    return Agent(actor, critics, np.zeros((), np.float32))


def policy(actor: wg.nn.Mlp, seen: Any) -> TanhNormal:
    mean, log_std = wg.split(actor(seen), 2, axis=-1)
    return TanhNormal(mean, wg.exp(wg.clip(log_std, -5.0, 2.0)))


def act(actor: wg.nn.Mlp, seen: Any, rng: Any) -> tuple[Any, Any]:
    """An action, and the logarithm of its density."""
    action, log_prob = policy(actor, seen).sample_and_log_prob(rng)
    return action, wg.sum(log_prob, axis=-1)


def values(critics: list[wg.nn.Mlp], seen: Any, action: Any) -> list[Any]:
    given = wg.concat([seen, action], axis=-1)
    return [critic(given)[..., 0] for critic in critics]


def loss(agent: Agent, averaged: Agent, rows: Any, rng: Any) -> Any:
    seen, action, reward, ended, reached = parts_of(rows, Pendulum)
    temperature = wg.exp(agent.log_temperature)

    following, log_prob = act(agent.actor, reached, rng)
    worth = wg.minimum(*values(averaged.critics, reached, following)) - temperature * log_prob
    target = wg.stop_gradient(reward + DISCOUNT * (1 - ended) * worth)
    critic_loss = sum(wg.mean((q - target) ** 2) for q in values(agent.critics, seen, action))

    fixed = wg.tree.map(wg.stop_gradient, agent.critics)
    action, log_prob = act(agent.actor, seen, rng)
    regret = wg.stop_gradient(temperature) * log_prob - wg.minimum(*values(fixed, seen, action))

    too_certain = wg.stop_gradient(wg.mean(log_prob) + ENTROPY)
    return critic_loss + wg.mean(regret) - temperature * too_certain


def train(settings: Settings) -> Run:
    world = Pendulum(settings.environments, settings.seed)
    replay = Replay(settings.steps, world, Pendulum.actions)
    critics = wg.optim.EMA(wg.optim.Adam(settings.rate), decay=AVERAGE)
    step = wg.TrainStep(
        loss,
        new_agent(settings),
        {"critics.*": critics, "*": wg.optim.Adam(settings.rate)},
        seed=settings.seed,
    )
    explore = step.bind(lambda agent, seen, rng: act(agent.actor, seen, rng)[0])
    best = step.bind(lambda agent, seen: wg.tanh(policy(agent.actor, seen).mean))
    updates = 0
    while world.steps < settings.steps:
        seen = world.observation
        if world.steps < settings.first:
            action = world.rng.uniform(-1, 1, (world.count, Pendulum.actions))
        else:
            action = explore(seen)
        replay.add(seen, action, world.step(action))
        report(world, settings.steps, episodes=20)
        if world.steps >= settings.first:
            for _ in range(world.count):
                step(replay.sample(settings.batch))
                updates += 1
    learned = mean_return(Pendulum(100, seed=settings.seed + 1000), best)
    return Run(*curve(world, 20), learned, updates, step.fingerprint())


def main() -> None:
    run_program(train, Settings, "SAC on Pendulum", -200, (-1600, 0))


if __name__ == "__main__":
    main()
