"""Copies and saved state of every optimizer go on with the same bits."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY, trained
from wengert.errors import OptimError
from wengert.optim.settings import Setting, whole

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
        parts = value if isinstance(value, tuple) else (value,)
        plain = int | float | np.ndarray | str | None
        assert all(isinstance(x, plain) for x in parts), path
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
    other = o.Adam(0.1) if "SGD" in name else o.SGD(0.1)
    trained(other)
    kept = good["parameters"]["w"]
    bad = [
        None,
        {},
        {"settings": {}, "parameters": {}},
        {"kind": good["kind"], "settings": {}, "fixed": {}, "parameters": {}},
        good | {"kind": "Nothing"},
        good | {"fixed": good["fixed"] | {"surprise": True}},
        good | {"settings": good["settings"] | {"surprise": 1.0}},
        good | {"parameters": {"w": kept | {"surprise": np.ones(3)}}},
        good | {"parameters": {"w": kept | {"count": -1}}},
        good | {"parameters": {"w": kept | {"count": 1.5}}},
        good | {"parameters": 3},
        good | {"learning_rate": -1.0},
    ]
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


def plateau() -> o.Schedule:
    return o.ReduceOnPlateau(0.1)


RATES: dict[str, Callable[[], o.Rate]] = {
    "number": lambda: 0.1,
    "cosine": lambda: o.Cosine(0.1, 10),
    "plateau": plateau,
    "function": lambda: lambda index: 0.1,
    "cosine after warm-up": lambda: o.warmup_then(o.Cosine(0.1, 10), 3),
    "plateau after warm-up": lambda: o.warmup_then(plateau(), 3),
}


@pytest.mark.parametrize(("saved", "there"), [*itertools.permutations(RATES, 2)])
def test_a_rate_and_each_kind_of_schedule_are_told_apart(saved, there):
    one, other = o.SGD(RATES[saved]()), o.SGD(RATES[there]())
    before = repr(other), repr(other.state_dict())
    with pytest.raises(OptimError, match=r"^SGD\.load_state_dict: the state was saved with the "):
        other.load_state_dict(one.state_dict())
    assert (repr(other), repr(other.state_dict())) == before
    twin = o.SGD(RATES[saved]())
    twin.load_state_dict(one.state_dict())
    assert twin.learning_rate == one.learning_rate


def test_a_rate_that_replaced_a_schedule_is_loaded_where_it_did_so_too():
    optimizer, other = (o.SGD(o.Cosine(0.1, 10)) for _ in range(2))
    optimizer.learning_rate = 0.03
    with pytest.raises(OptimError, match=r"rate 0\.03; this optimizer has the schedule Cosine\."):
        other.load_state_dict(optimizer.state_dict())
    other.learning_rate = 0.0
    other.load_state_dict(optimizer.state_dict())
    assert other.learning_rate == 0.03


class Halved(o.SGD):
    """Keeps what SGD keeps, by the same names."""

    def rule(self, weights, grad, state, s, path=None):
        return super().rule(weights, grad / 2, state, s, path)


class Powered(o.Optimizer):
    """Has a number that its rule is made for."""

    power = Setting(whole, fixed=True)

    def __init__(self, lr=0.1, power=2):
        self.power = power
        super().__init__(lr)

    def rule(self, weights, grad, state, s, path=None):
        return weights - s["lr"] * grad**self.power, state


# Pairs whose states have the same names, shapes and dtypes.
OTHER_RULES: dict[str, tuple[o.Optimizer, o.Optimizer]] = {
    "Adam, AdamW": (o.Adam(0.1), o.AdamW(0.1)),
    "SGD, a subclass": (o.SGD(0.1, momentum=0.9), Halved(0.1, momentum=0.9)),
    "EMA of two": (o.EMA(o.Adam(0.1)), o.EMA(o.AdamW(0.1))),
    "nesterov": (o.SGD(0.1, 0.9), o.SGD(0.1, 0.9, nesterov=True)),
    "clip": (o.Lars(0.1), o.Lars(0.1, clip=True)),
    "variant": (o.Lars(0.1), o.Lars(0.1, variant="optax")),
    "decoupled": (o.RAdam(0.1), o.RAdam(0.1, decoupled_weight_decay=True)),
    "warmup": (o.EMA(o.SGD(0.1)), o.EMA(o.SGD(0.1), warmup=True)),
    "excluding": (o.Lamb(0.1), o.Lamb(0.1, exclude="b*")),
    "excluding others": (o.Lamb(0.1, exclude=["b*"]), o.Lamb(0.1, exclude=["b*", "c"])),
    "excluding by function": (o.Lamb(0.1, exclude="b*"), o.Lamb(0.1, exclude=str.islower)),
    "inside": (o.EMA(o.Lars(0.1)), o.EMA(o.Lars(0.1, exclude="b*"))),
    "a number": (Powered(power=2), Powered(power=3)),
}


@pytest.mark.parametrize("pair", OTHER_RULES)
def test_the_state_of_another_rule_is_refused(pair):
    for one, other in itertools.permutations(each.copy() for each in OTHER_RULES[pair]):
        trained(one)
        trained(other, 2)
        before = repr(other), repr(other.state_dict())
        with pytest.raises(OptimError, match=r"given the state of|was saved with"):
            other.load_state_dict(one.state_dict())
        assert (repr(other), repr(other.state_dict())) == before


def test_numbers_are_taken_over_and_lists_are_as_good_as_tuples():
    optimizer = o.Lamb(0.1, betas=(0.5, 0.6), exclude=["b*", "c"])
    state = json.loads(json.dumps(optimizer.state_dict()))
    other = o.Lamb(0.2, exclude=("b*", "c"))
    other.load_state_dict(state)
    assert repr(other) == repr(optimizer)
    by_function = o.Lamb(0.1, exclude=str.islower)  # of functions only that they are such is known
    by_function.load_state_dict(o.Lamb(0.3, exclude=str.isupper).state_dict())
    assert by_function.exclude is str.islower
    assert by_function.learning_rate == 0.3


def test_settings_that_need_other_state_are_not_loaded():
    optimizer = o.SGD(0.1)
    with pytest.raises(OptimError, match="keeps none"):
        optimizer.load_state_dict(o.SGD(0.1, momentum=0.9).state_dict())
    assert optimizer.momentum == 0
