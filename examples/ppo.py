"""Proximal policy optimisation on CartPole, to a mean return above 475: `make demo EXAMPLE=ppo`.

A round is: act for a while in several environments; estimate by how much each action did better
than the critic had expected; then learn from these steps, in minibatches and for a few epochs, in
one native call. Schulman et al. 2017, with the advantages of Schulman et al. 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from environments import CartPole, mean_return
from learning_runs import Run, curve, report, run_program, setting

import wengert as wg
from wengert.distributions import Categorical

DISCOUNT, TRACE = 0.99, 0.95  # of rewards to come; of how far later surprises count for an action
CLIP, ENTROPY, VALUE = 0.2, 0.01, 0.5


@dataclass(frozen=True)
class Settings:
    seed: int = setting(0, "of weights, actions, environments and the order of minibatches")
    environments: int = setting(16, "that are acted in at once")
    horizon: int = setting(128, "steps of a round in each of them")
    rounds: int = setting(80, "of acting and learning")
    epochs: int = setting(4, "in which the steps of a round are learned from")
    batch: int = setting(256, "steps of a minibatch")
    width: int = setting(64, "units of the two hidden layers")
    rate: float = setting(2.5e-3, "the first learning rate, which falls to 0 in a straight line")


@dataclass
class Agent:
    policy: wg.nn.Mlp
    critic: wg.nn.Mlp


def new_agent(settings: Settings) -> Agent:
    sizes = (CartPole.observations, settings.width, settings.width)
    rng = np.random.default_rng(settings.seed)
    policy = wg.nn.Mlp((*sizes, CartPole.actions), init="orthogonal", seed=rng)
    policy.weights(2)[...] *= 0.01  # at first all actions are about equally likely
    return Agent(policy, wg.nn.Mlp((*sizes, 1), init="orthogonal", seed=rng))


def loss(agent: Agent, seen: Any, action: Any, log_prob: Any, advantage: Any, target: Any) -> Any:
    policy = Categorical(agent.policy(seen))
    ratio = wg.exp(policy.log_prob(action) - log_prob)
    advantage = (advantage - wg.mean(advantage)) / (wg.std(advantage) + 1e-8)
    gain = wg.minimum(ratio * advantage, wg.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage)
    error = 0.5 * (agent.critic(seen)[:, 0] - target) ** 2
    return wg.mean(VALUE * error - gain - ENTROPY * policy.entropy())


def explore(agent: Agent, seen: Any, rng: Any) -> Any:
    policy = Categorical(agent.policy(seen))
    action = policy.sample(rng)
    return action, policy.log_prob(action)


def best(agent: Agent, seen: Any) -> Any:
    return wg.argmax(agent.policy(seen), axis=-1)


def estimate(agent: Agent, seen: Any, reached: Any, reward: Any, ended: Any, over: Any) -> Any:
    """Advantages, and targets of the critic, of rollouts (steps, environments, …)."""
    value = agent.critic(seen)[..., 0]
    surprise = reward + DISCOUNT * (1 - ended) * agent.critic(reached)[..., 0] - value
    advantage = wg.linear_recurrence(DISCOUNT * TRACE * (1 - over), surprise, reverse=True)
    return advantage, advantage + value


def rollout(world: CartPole, act: Any, settings: Settings) -> list[Any]:
    """What was seen, done, reached …, each (steps, environments, …)."""
    steps = []
    for _ in range(settings.horizon):
        seen = world.observation
        action, log_prob = act(seen)
        steps.append((seen, action, log_prob, *world.step(action)))
        report(world, settings.rounds * settings.horizon * settings.environments)
    return [np.stack(each) for each in zip(*steps, strict=True)]


def learn(step: wg.TrainStep, settings: Settings, *data: Any) -> None:
    step.run(
        *(each.reshape(-1, *each.shape[2:]) for each in data),
        batch_size=settings.batch,
        epochs=settings.epochs,
        shuffle_seed=settings.seed,
    )


def train(settings: Settings) -> Run:
    world = CartPole(settings.environments, settings.seed)
    minibatches = -(-settings.environments * settings.horizon // settings.batch)
    updates = settings.rounds * settings.epochs * minibatches
    step = wg.TrainStep(
        loss,
        new_agent(settings),
        wg.optim.Adam(wg.optim.Polynomial(settings.rate, updates), eps=1e-5),
        clip_norm=0.5,
        seed=settings.seed,
    )
    act, judge = step.bind(explore), step.bind(estimate)
    for _ in range(settings.rounds):
        seen, action, log_prob, *reached = rollout(world, act, settings)
        advantage, target = judge(seen, *reached)
        learn(step, settings, seen, action, log_prob, advantage, target)
    learned = mean_return(CartPole(100, seed=settings.seed + 1000), step.bind(best))
    return Run(*curve(world, 100), learned, updates, step.fingerprint())


def main() -> None:
    run_program(train, Settings, "PPO on CartPole", 475, (0, 500))


if __name__ == "__main__":
    main()
