"""Copies and saved state of every optimizer go on with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY, trained
from wengert.errors import OptimError

o = wg.optim
EACH = pytest.mark.parametrize("name", EVERY)


@EACH
def test_copies_go_on_alone(name):
    optimizer = EVERY[name]()
    weights = trained(optimizer)
    twin, its = optimizer.copy(), weights.copy()
    np.testing.assert_array_equal(trained(twin, 3, its), trained(optimizer, 3, weights))
    before = weights.copy()
    trained(twin, 3, its)
    twin.learning_rate = 0.0
    trained(optimizer, 1, weights)
    assert not np.array_equal(weights, before)
    assert optimizer.learning_rate != 0


@EACH
def test_cleared_state_is_a_new_beginning(name):
    optimizer = EVERY[name]()
    expected = trained(optimizer)
    optimizer.clear_state()
    np.testing.assert_array_equal(trained(optimizer), expected)


def flattened(state, path=()):
    for key, value in state.items():
        if isinstance(value, dict):
            yield from flattened(value, (*path, key))
        else:
            yield (*path, key), value


@EACH
def test_saved_state_goes_on_with_the_same_bits(name):
    optimizer = EVERY[name]()
    weights = trained(optimizer)
    optimizer.learning_rate = 0.07
    state = optimizer.state_dict()
    for path, value in flattened(state):
        numbers = value if isinstance(value, tuple) else (value,)
        assert all(isinstance(x, int | float | np.ndarray) for x in numbers), path
    expected = trained(optimizer, 5, weights.copy())  # must not change what was saved
    other = EVERY[name]()
    other.load_state_dict(state)
    np.testing.assert_array_equal(trained(other, 5, weights.copy()), expected)
    assert other.learning_rate == 0.07
    trained(other, 5, weights.copy())
    third = EVERY[name]()
    third.load_state_dict(state)
    np.testing.assert_array_equal(trained(third, 5, weights.copy()), expected)


@EACH
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(name):
    optimizer = EVERY[name]()
    weights = trained(optimizer)
    good, text = optimizer.state_dict(), repr(optimizer)
    other = o.SGD(0.1) if "SGD momentum" not in name else o.Adam(0.1)
    trained(other)
    kept = good["parameters"]["w"]
    bad = [
        None,
        {},
        {"settings": {}, "parameters": {}},
        good | {"settings": good["settings"] | {"surprise": 1.0}},
        good | {"parameters": {"w": kept | {"surprise": np.ones(3)}}},
        good | {"parameters": {"w": kept | {"count": -1}}},
        good | {"parameters": {"w": kept | {"count": 1.5}}},
        good | {"parameters": 3},
        good | {"learning_rate": -1.0},
    ]
    if name != "SGD":
        bad.append(other.state_dict())
    bad += [
        good | {"parameters": {"w": kept | {array: np.ones(4, int)}}}
        for array in kept
        if array != "count"
    ]
    for state in bad:
        with pytest.raises(OptimError):
            optimizer.load_state_dict(state)
        assert repr(optimizer) == text
    twin = EVERY[name]()
    twin.load_state_dict(good)
    np.testing.assert_array_equal(
        trained(twin, 2, weights.copy()), trained(optimizer, 2, weights.copy())
    )


def test_a_schedule_is_saved_with_what_it_knows():
    def make():
        return o.SGD(o.ReduceOnPlateau(1.0, factor=0.5, patience=0), momentum=0.9)

    optimizer = make()
    for loss in (3.0, 3.0, 3.0):
        optimizer.lr.observe(loss)
    assert optimizer.learning_rate == 0.25
    other = make()
    other.load_state_dict(optimizer.state_dict())
    assert other.learning_rate == 0.25
    twin = other.copy()
    twin.lr.observe(3.0)
    assert (twin.learning_rate, other.learning_rate) == (0.125, 0.25)
    with pytest.raises(OptimError, match="saved with a schedule"):
        o.SGD(0.1, momentum=0.9).load_state_dict(optimizer.state_dict())
    other.load_state_dict(o.SGD(0.1, momentum=0.9).state_dict())
    assert other.learning_rate == 0.1  # the schedule had been replaced by a number


def test_settings_that_need_other_state_are_not_loaded():
    optimizer = o.SGD(0.1)
    with pytest.raises(OptimError, match="keeps none"):
        optimizer.load_state_dict(o.SGD(0.1, momentum=0.9).state_dict())
    assert optimizer.momentum == 0
