"""Learning rates that are the user's own code: the step asks the very same object, at every
update.
"""

import copy
import functools
import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import wengert as wg
from wengert.optim.schedules.held_rates import is_known_ahead

X = np.ones((4, 3))


def product(w, x):
    return wg.mean(w * x)


class Agent:
    """What a rate reads, and much else that no step may copy."""

    def __init__(self):
        self.rate_now, self.lock = 0.1, threading.Lock()

    def rate(self, _index):
        return self.rate_now

    __call__ = rate


class OwnSchedule(wg.optim.Schedule):
    def __init__(self, agent):
        self.agent = agent

    def values(self, indices):
        return [self.agent.rate_now] * len(indices)


RATES = {
    "function": lambda agent: lambda index: agent.rate_now,
    "bound method": lambda agent: agent.rate,
    "callable object": lambda agent: agent,
    "partial": lambda agent: functools.partial(Agent.rate, agent),
    "Lambda": lambda agent: wg.optim.Lambda(1.0, agent.rate),
    "schedule": OwnSchedule,
    "Chain": lambda agent: wg.optim.Chain([wg.optim.Constant(0.1), OwnSchedule(agent)], [1]),
}
WAYS = {
    "SGD": wg.optim.SGD,
    "EMA": lambda rate: wg.optim.EMA(wg.optim.SGD(rate)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", RATES)
def test_what_a_rate_reads_arrives_at_the_next_update(kind, way):
    agent = Agent()
    step = wg.TrainStep(product, np.ones(3), WAYS[way](RATES[kind](agent)))
    step(X), step(X)
    agent.rate_now = 0.5
    step(X)
    assert step.last.learning_rate == step.optimizer.learning_rate == 0.5
    agent.rate_now = 0.25
    assert step.run(X, batch_size=2).learning_rate.tolist() == [0.25, 0.25]
    seen = []
    for _ in step.epochs(X, batch_size=2, epochs=2):
        seen.append(step.last.learning_rate)
        agent.rate_now /= 2
    assert seen == [0.25, 0.125]


@pytest.mark.parametrize("kind", ["bound method", "Lambda", "schedule"])
def test_what_a_rate_reads_arrives_in_an_ensemble(kind):
    agent = Agent()
    made = wg.Ensemble(product, [np.ones(3), np.zeros(3)], wg.optim.SGD(RATES[kind](agent)))
    made(X), made(X)
    agent.rate_now = 0.5
    made(X)
    assert made.last.learning_rate.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("kind", RATES)
def test_a_copy_of_an_optimizer_asks_the_same_rate(kind):
    agent = Agent()
    for optimizer in (wg.optim.Adam(RATES[kind](agent)), wg.optim.LBFGS(RATES[kind](agent))):
        agent.rate_now = 0.1
        twins = optimizer.copy(), copy.deepcopy(optimizer)
        agent.rate_now = 0.5
        first = 0.1 if kind == "Chain" else 0.5
        assert [each.learning_rate for each in twins] == [first, first]


def test_a_method_of_the_optimizer_itself_is_bound_to_its_copy():
    class Own(wg.optim.SGD):
        def __init__(self):
            self.wanted = 0.1
            super().__init__(self.wanted_rate)

        def wanted_rate(self, index):
            return self.wanted

    optimizer = Own()
    twin = optimizer.copy()
    twin.wanted = 0.5
    assert (optimizer.learning_rate, twin.learning_rate) == (0.1, 0.5)


def test_a_state_that_is_refused_leaves_the_users_schedule_alone():
    class Own:
        seen = 0

        def __call__(self, index):
            return 0.1

        def state_dict(self):
            return {"seen": self.seen}

        def load_state_dict(self, state):
            self.seen = state["seen"]

    def made(rates):
        model = [np.ones(3), np.ones(3)]
        optimizers = {f"[{i}]": wg.optim.SGD(rate) for i, rate in enumerate(rates)}
        return wg.TrainStep(lambda m, x: product(m[0] + m[1], x), model, optimizers)

    saved = Own()
    saved.seen = 7
    state = made([saved, saved]).state_dict()
    del state["settings"]["[1]"]["schedule"]["seen"]
    rates = [Own(), Own()]
    with pytest.raises(wg.errors.CheckpointError):
        made(rates).load_state_dict(state)
    assert [each.seen for each in rates] == [0, 0]


def test_rates_that_read_nothing_are_known_ahead():
    """So that a call costs what it costs with a number."""
    steps = 100
    ahead = [
        0.1,
        wg.optim.Cosine(0.1, 10),
        wg.optim.warmup_then(wg.optim.Cosine(0.1, 10), 5),
        wg.optim.Lambda(0.1, lambda index: 0.99**index),
        wg.optim.Lambda(0.1, lambda index: min(1, math.cos(index) ** 2)),
    ]
    assert all(is_known_ahead(each) for each in ahead)
    box = SimpleNamespace(k=1.0)
    asked = [
        wg.optim.Lambda(0.1, lambda index: index / steps),
        wg.optim.Lambda(0.1, lambda index, box=box: box.k),
        wg.optim.Lambda(0.1, lambda index: sum(X[0, 0] for _ in range(1))),
        wg.optim.ReduceOnPlateau(0.1),
        OwnSchedule(Agent()),
        wg.optim.Lambda(0.1, lambda index: wanted(index)),
        lambda index: 0.1,
    ]
    assert not any(is_known_ahead(each) for each in asked)


def wanted(index):
    return index
