"""ReduceOnPlateau: torch's decisions (golden file), state, and what torch gets wrong."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from wengert.errors import OptimError
from wengert.optim import Chain, Constant, Cosine, ReduceOnPlateau, warmup_then

GOLDEN = np.load(Path(__file__).parent / "golden" / "torch_schedules.npz")
OURS = {
    "plateau": ReduceOnPlateau(0.1, factor=0.7, patience=40, eps=0.0),
    "plateau_absolute": ReduceOnPlateau(
        0.1,
        factor=0.9,
        patience=5,
        threshold_mode="abs",
        threshold=0.01,
        cooldown=60,
        min_lr=0.0005,
    ),
    "plateau_max": ReduceOnPlateau(0.1, mode="max", factor=0.5, patience=100, cooldown=3),
}


@pytest.mark.parametrize("name", OURS)
def test_rates_agree_with_torch(name):
    schedule = OURS[name].copy()
    sign = -1.0 if schedule.mode == "max" else 1.0
    rates = np.array([schedule.observe(10 + sign * metric) for metric in GOLDEN["metrics"]])
    np.testing.assert_array_equal(rates[GOLDEN["kept"]], GOLDEN[name])
    assert len(np.unique(GOLDEN[name])) > 5


def test_the_rate_of_an_update_is_that_of_the_last_observation():
    schedule = ReduceOnPlateau(1.0, factor=0.5, patience=0)
    assert schedule(0) == schedule(10**6) == 1.0
    schedule.observe(1.0)
    assert schedule.observe(1.0) == 0.5
    assert schedule(0) == schedule(7) == 0.5
    np.testing.assert_array_equal(schedule.table(3, 2), [0.5, 0.5])


@pytest.mark.parametrize(("mode", "level"), [("min", -5.0), ("max", -5.0), ("min", 0.0)])
def test_a_plateau_below_zero_is_a_plateau(mode, level):
    # torch compares with best · (1 − threshold), which a constant negative loss always beats.
    schedule = ReduceOnPlateau(1.0, mode=mode, factor=0.5, patience=2)
    rates = [schedule.observe(level) for _ in range(7)]
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]


def test_nan_never_improves_and_infinity_never_ends_it():
    schedule = ReduceOnPlateau(1.0, factor=0.5, patience=1)
    assert [schedule.observe(math.nan) for _ in range(3)] == [1, 0.5, 0.5]
    assert schedule.best == math.inf
    schedule.observe(2.0)
    assert schedule.best == 2.0
    schedule.observe(-math.inf)
    assert [schedule.observe(-math.inf) for _ in range(2)] == [0.5, 0.25]


def test_the_rate_stops_at_its_least():
    schedule = ReduceOnPlateau(1.0, factor=0.1, patience=0, min_lr=0.05)
    assert [schedule.observe(1.0) for _ in range(5)] == [1, 0.1, 0.05, 0.05, 0.05]
    tiny = ReduceOnPlateau(2e-8, factor=0.9, patience=0, eps=1e-8)
    assert [tiny.observe(1.0) for _ in range(3)] == [2e-8] * 3


@pytest.mark.parametrize("cut", [0, 1, 17, 60, 99])
def test_resuming_gives_the_same_rates(cut):
    metrics = GOLDEN["metrics"][:400]
    whole = ReduceOnPlateau(0.1, factor=0.7, patience=3, cooldown=2)
    expected = [whole.observe(metric) for metric in metrics]
    first = ReduceOnPlateau(0.1, factor=0.7, patience=3, cooldown=2)
    for metric in metrics[:cut]:
        first.observe(metric)
    state = json.loads(json.dumps(first.state_dict()))  # only plain numbers
    second = ReduceOnPlateau(0.1, factor=0.7, patience=3, cooldown=2)
    second.load_state_dict(state)
    assert second == first
    assert [second.observe(metric) for metric in metrics[cut:]] == expected[cut:]


def test_a_copy_goes_on_alone():
    one = ReduceOnPlateau(1.0, factor=0.5, patience=1)
    one.observe(1.0)
    one.observe(1.0)
    two = one.copy()
    assert two == one
    assert two.observe(1.0) == 0.5
    assert one(0) == 1.0
    assert one.bad_count == 1
    fixed = Cosine(1.0, 5)
    assert fixed.copy() is fixed


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"rate": 0.1},
        {"rate": -1.0, "best": 1.0, "bad_count": 0, "cooldown_left": 0},
        {"rate": 0.1, "best": math.nan, "bad_count": 0, "cooldown_left": 0},
        {"rate": 0.1, "best": "low", "bad_count": 0, "cooldown_left": 0},
        {"rate": 0.1, "best": 1.0, "bad_count": -1, "cooldown_left": 0},
        {"rate": 0.1, "best": 1.0, "bad_count": 0, "cooldown_left": 0.5},
        {"rate": 0.1, "best": 1.0, "bad_count": 0, "cooldown_left": 0, "more": 1},
    ],
)
def test_a_bad_state_changes_nothing(broken):
    schedule = ReduceOnPlateau(1.0)
    schedule.observe(3.0)
    before = schedule.state_dict()
    with pytest.raises(OptimError, match=r"^ReduceOnPlateau\.load_state_dict: "):
        schedule.load_state_dict(broken)
    assert schedule.state_dict() == before


def test_a_chain_carries_the_state_of_its_members():
    chain = warmup_then(ReduceOnPlateau(1.0, factor=0.5, patience=0), steps=3)
    plateau = chain.schedules[1]
    plateau.observe(1.0)
    plateau.observe(1.0)
    assert chain(2) < 1
    assert chain(3) == 0.5
    state = chain.state_dict()
    assert list(state) == ["1"]
    fresh = warmup_then(ReduceOnPlateau(1.0, factor=0.5, patience=0), steps=3)
    fresh.load_state_dict(state)
    assert fresh == chain
    twin = chain.copy()
    twin.schedules[1].observe(1.0)
    assert (twin(3), chain(3)) == (0.25, 0.5)


def test_a_state_that_does_not_fit_a_chain_changes_nothing():
    good, bad = {**ReduceOnPlateau(0.3).state_dict()}, {"rate": 1.0}
    chain = Chain([ReduceOnPlateau(1.0), Constant(0.1), ReduceOnPlateau(1.0)], [5, 6])
    for state in ({"0": good}, {"0": good, "1": good}, {"0": good, "2": bad}):
        with pytest.raises(OptimError):
            chain.load_state_dict(state)
        assert chain(0) == chain(6) == 1.0
    with pytest.raises(OptimError, match="a dictionary with nothing in it is needed"):
        Cosine(1.0, 5).load_state_dict(good)
