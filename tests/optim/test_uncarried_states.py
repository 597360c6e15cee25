"""A state of an optimizer that a loop does not carry on."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as wg
from wengert.errors import UnusedWarning

GRADS = {"w": np.ones(3), "b": np.ones(())}
TOLD = "one state for the third time.*Write model, state = optimizer.update"
quiet = pytest.mark.filterwarnings("error")


def model():
    return {"w": np.zeros(3), "b": np.zeros(())}


def not_carried(optimizer, weights, state, times):
    for _ in range(times):
        weights, _ = optimizer.update(weights, GRADS, state)
    return weights


@pytest.mark.parametrize("kind", [wg.optim.Adam, wg.optim.RMSProp, wg.optim.Lion])
def test_a_state_that_stays_is_told_once(kind):
    optimizer, weights = kind(0.1), model()
    state = optimizer.init(weights)
    with pytest.warns(UnusedWarning, match=TOLD) as told:
        not_carried(optimizer, weights, state, 9)
    assert len(told) == 1
    assert told[0].filename == __file__


def test_two_models_of_one_optimizer_are_told_apart():
    optimizer, first, second = wg.optim.Adam(0.1), model(), model()
    first_state, second_state = optimizer.init(first), optimizer.init(second)

    def by_turns(first, second, first_state, second_state):
        for _ in range(3):
            first, first_state = optimizer.update(first, GRADS, first_state)
            second, _ = optimizer.update(second, GRADS, second_state)

    with pytest.warns(UnusedWarning, match=TOLD):
        by_turns(first, second, first_state, second_state)


@quiet
def test_a_copy_has_seen_nothing():
    optimizer, weights = wg.optim.Adam(0.1), model()
    state = optimizer.init(weights)
    weights = not_carried(optimizer, weights, state, 2)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        other.update(weights, GRADS, state)[0]


@quiet
def test_a_state_that_is_carried_is_no_reason():
    optimizer, weights = wg.optim.Adam(0.1), model()
    state = optimizer.init(weights)
    for _ in range(9):
        weights, state = optimizer.update(weights, GRADS, state)


@quiet
def test_candidates_of_one_state_are_no_reason():
    optimizer, weights = wg.optim.Adam(0.1), model()
    state = optimizer.init(weights)
    candidates = [
        optimizer.update(weights, {**GRADS, "w": g * np.ones(3)}, state) for g in range(5)
    ]
    assert len(candidates) == 5


@quiet
def test_many_models_that_begin_with_one_state_are_no_reason():
    optimizer, state = wg.optim.Adam(0.1), wg.optim.Adam(0.1).init(model())
    for _ in range(5):
        weights, own = model(), state
        for _ in range(3):
            weights, own = optimizer.update(weights, GRADS, own)


@quiet
def test_moments_that_are_begun_anew_are_no_reason():
    optimizer, weights = wg.optim.Adam(0.1), model()
    state = optimizer.init(weights)
    for _ in range(5):
        own = state
        for _ in range(2):
            weights, own = optimizer.update(weights, GRADS, own)


@quiet
def test_a_state_that_is_written_to_in_place_is_no_reason():
    optimizer, weights = wg.optim.Adam(0.1), model()
    state = optimizer.init(weights)
    for _ in range(5):
        weights, new = optimizer.update(weights, GRADS, state)
        wg.tree.map(lambda live, x: np.copyto(live, x), state, new)


@quiet
def test_an_optimizer_that_keeps_nothing_is_no_reason():
    optimizer, weights = wg.optim.SGD(0.1), model()
    state = optimizer.init(weights)
    not_carried(optimizer, weights, state, 5)


@quiet
def test_a_recorded_update_is_no_reason():
    optimizer = wg.optim.Adam(0.1)
    state = optimizer.init(model())
    wg.compile(lambda weights: not_carried(optimizer, weights, state, 4))(model())
