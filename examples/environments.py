"""CartPole and Pendulum, many at once, in NumPy: where the examples of reinforcement learning act.

The equations of motion, the limits and the rewards are those of the control problems of these names
that everybody trains on: the pole of Barto, Sutton and Anderson (1983), and the pendulum that is
swung up. An episode that is over begins anew by itself; `Reached.observation` is where it ended.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Reached(NamedTuple):
    """Where one step of all environments led, before any of them began anew."""

    observation: Array  # (count, observations)
    reward: Array  # (count,)
    ended: Array  # (count,) 1 where nothing follows, else 0
    over: Array  # (count,) 1 where it ended, or ran out of time and would have gone on


class Environments(ABC):
    """So many environments of one kind; `observation` is where they are now."""

    observations: int  # numbers that are seen of each
    actions: int  # that there are to choose from, or numbers of which one consists
    limit: int  # steps of an episode at most

    def __init__(self, count: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count, self.steps = count, 0  # environments, and steps of all of them together
        self.returns: list[float] = []  # of the episodes that are over
        self.over_at: list[int] = []  # and when they were, in steps of all of them together
        self.latest = np.zeros(count)  # the return of the last episode that is over, in each
        self._state = self.start(count)
        self._age, self._return = np.zeros(count, int), np.zeros(count)
        self.observation = self.seen(self._state)

    def step(self, action: Array) -> Reached:
        self._state, reward, ended = self.moved(self._state, action)
        self.steps += self.count
        self._age += 1
        self._return += reward
        over = ended | (self._age == self.limit)
        reached = self.observation = self.seen(self._state)
        if over.any():
            self.latest[over] = self._return[over]
            returns = self._return[over].tolist()
            self.returns += returns
            self.over_at += [self.steps] * len(returns)
            self._age[over] = self._return[over] = 0
            self._state[over] = self.start(len(returns))
            self.observation = self.seen(self._state)
        return Reached(reached, *(each.astype(np.float32) for each in (reward, ended, over)))

    @abstractmethod
    def start(self, count: int) -> Array:
        """Random states in which episodes begin, (count, numbers of a state)."""

    @abstractmethod
    def moved(self, state: Array, action: Array) -> tuple[Array, Array, Array]:
        """The state that follows, the reward, and whether it is an end."""

    @abstractmethod
    def seen(self, state: Array) -> Array:
        """What is seen of a state, (count, observations), as float32."""


def mean_return(world: Environments, act: Callable[[Array], Array]) -> float:
    """Of one episode in each of new environments."""
    return float(episode_returns(world, act).mean())


def episode_returns(world: Environments, act: Callable[[Array], Array]) -> Array:
    """The return of one episode in each of new environments."""
    total, going = np.zeros(world.count), np.ones(world.count)
    for _ in range(world.limit):
        reached = world.step(act(world.observation))
        total += going * reached.reward
        going *= 1 - reached.over
        if not going.any():
            break
    return total


class CartPole(Environments):
    """A pole stands on a cart that is pushed to the left (0) or to the right (1). Every step before
    it falls or leaves the track is worth 1, so a return is 500 at most.
    """

    observations, actions, limit = 4, 2, 500
    GRAVITY, CART, POLE, HALF_LENGTH, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    FARTHEST, STEEPEST = 2.4, np.deg2rad(12)

    def start(self, count: int) -> Array:
        return self.rng.uniform(-0.05, 0.05, (count, 4))

    def moved(self, state: Array, action: Array) -> tuple[Array, Array, Array]:
        _, speed, angle, turning = state.T
        sin, cos, mass = np.sin(angle), np.cos(angle), self.CART + self.POLE
        force = np.where(action == 1, self.FORCE, -self.FORCE)
        push = (force + self.POLE * self.HALF_LENGTH * turning**2 * sin) / mass
        inertia = self.HALF_LENGTH * (4 / 3 - self.POLE * cos**2 / mass)
        turn = (self.GRAVITY * sin - cos * push) / inertia
        speed_up = push - self.POLE * self.HALF_LENGTH * turn * cos / mass
        state = state + self.SECONDS * np.stack([speed, speed_up, turning, turn], axis=1)
        ended = (np.abs(state[:, 0]) > self.FARTHEST) | (np.abs(state[:, 2]) > self.STEEPEST)
        return state, np.ones(len(state)), ended

    def seen(self, state: Array) -> Array:
        return state.astype(np.float32)


class Pendulum(Environments):
    """A pendulum is swung up and held there, by a torque too weak to lift it at once. An action is
    one number from -1 to 1. Each step loses the squares of the angle from upright, of the speed and
    of the torque, and none is the end: -150 is a good return, that of random actions is -1200.
    """

    observations, actions, limit = 3, 1, 200
    GRAVITY, MASS, LENGTH, TORQUE, FASTEST, SECONDS = 10.0, 1.0, 1.0, 2.0, 8.0, 0.05

    def start(self, count: int) -> Array:
        return self.rng.uniform([-np.pi, -1.0], [np.pi, 1.0], (count, 2))

    def moved(self, state: Array, action: Array) -> tuple[Array, Array, Array]:
        angle, speed = state.T  # an angle of 0 is upright
        torque = self.TORQUE * np.clip(action[:, 0], -1, 1)
        away = (angle + np.pi) % (2 * np.pi) - np.pi
        lost = away**2 + 0.1 * speed**2 + 0.001 * torque**2
        falling = 1.5 * self.GRAVITY / self.LENGTH * np.sin(angle)
        speed = speed + self.SECONDS * (falling + 3 * torque / (self.MASS * self.LENGTH**2))
        speed = np.clip(speed, -self.FASTEST, self.FASTEST)
        state = np.stack([angle + self.SECONDS * speed, speed], axis=1)
        return state, -lost, np.zeros(len(state), bool)

    def seen(self, state: Array) -> Array:
        angle, speed = state.T
        return np.stack([np.cos(angle), np.sin(angle), speed], axis=1).astype(np.float32)
