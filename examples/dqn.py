"""Deep Q-learning on CartPole: `make demo EXAMPLE=dqn`.

A network says what each action is worth; most of the time the best one is taken. It learns from
steps of a replay, towards the reward and what a copy of it says of the state that was reached. The
copy is carried by the step and renewed now and then, all in one native call. Mnih et al. 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from environments import CartPole, mean_return
from learning_runs import Replay, Run, parts_of, report, run_program, setting

import wengert as wg

DISCOUNT = 0.99
RENEWED = 50  # updates after which the copy is renewed
UPDATES = 2  # after every step of all environments


@dataclass(frozen=True)
class Settings:
    seed: int = setting(0, "of weights, actions, environments and minibatches")
    environments: int = setting(8, "that are acted in at once")
    steps: int = setting(60_000, "in all environments together")
    first: int = setting(1_000, "steps before anything is learned")
    replay: int = setting(10_000, "steps that are remembered")
    batch: int = setting(128, "steps of a minibatch")
    width: int = setting(128, "units of the two hidden layers")
    rate: float = setting(3e-3, "the first learning rate, which falls to 0 in a straight line")


def loss(network: Any, state: dict[str, Any], rows: Any) -> tuple[Any, dict[str, Any]]:
    seen, action, reward, ended, reached = parts_of(rows, CartPole)
    copy, updates = state["copy"], state["updates"] + 1
    taken = wg.take_along_axis(network(seen), action.astype(int), axis=1)[:, 0]
    target = reward + DISCOUNT * (1 - ended) * wg.max(copy(reached), axis=1)
    renew = updates % RENEWED == 0
    copy = wg.tree.map(lambda new, old: wg.where(renew, new, old), network, copy)
    return wg.mean((taken - target) ** 2), {"copy": copy, "updates": updates}


def best(network: Any, seen: Any) -> Any:
    return wg.argmax(network(seen), axis=-1)


def explore(network: Any, seen: Any, share: Any, rng: Any) -> Any:
    """The best action, but for a share of random ones."""
    action = best(network, seen)
    any_one = rng.randint(action.shape, 0, CartPole.actions)
    return wg.where(rng.bernoulli(share, action.shape), any_one, action)


def train(settings: Settings) -> Run:
    world = CartPole(settings.environments, settings.seed)
    replay = Replay(settings.replay, world, action_numbers=1)
    sizes = (CartPole.observations, settings.width, settings.width, CartPole.actions)
    network = wg.nn.Mlp(sizes, "relu", seed=settings.seed)
    updates = UPDATES * (settings.steps - settings.first) // settings.environments
    step = wg.TrainStep(
        loss,
        network,
        wg.optim.Adam(wg.optim.Polynomial(settings.rate, updates + UPDATES)),
        state={"copy": network, "updates": np.array(0)},
        seed=settings.seed,
    )
    act, greedy = step.bind(explore), step.bind(best)
    steps: list[float] = []
    returns: list[float] = []
    kept = network
    while world.steps < settings.steps:
        seen = world.observation
        action = act(seen, max(0.05, 1 - 3 * world.steps / settings.steps))
        replay.add(seen, action, world.step(action))
        if world.steps >= settings.first:
            for _ in range(UPDATES):
                step(replay.sample(settings.batch))
        if report(world, settings.steps, times=20):
            steps.append(world.steps)
            returns.append(mean_return(CartPole(50, settings.seed + world.steps), greedy))
            if returns[-1] == max(returns):
                kept = wg.tree.copy(step.model)  # it may get worse again: the best is kept
    step.model = kept
    learned = mean_return(CartPole(100, settings.seed + 1000), greedy)
    return Run(steps, returns, learned, int(step.state["updates"]), step.fingerprint())


def main() -> None:
    run_program(train, Settings, "DQN on CartPole", 475, (0, 500))


if __name__ == "__main__":
    main()
