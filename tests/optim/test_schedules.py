"""Schedules against torch's schedulers (golden file), against formulas, and at their borders."""

import math
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.errors import OptimError
from wengert.optim import (
    Chain,
    Constant,
    Cosine,
    CosineRestarts,
    Cyclic,
    Exponential,
    Lambda,
    LinearWarmup,
    MultiStep,
    OneCycle,
    Polynomial,
    ReduceOnPlateau,
    Schedule,
    StepDecay,
    warmup_then,
)

STEPS = 10_000
GOLDEN = np.load(Path(__file__).parent / "golden" / "torch_schedules.npz")
RATE = 0.1

# The name of a series in the golden file → our schedule. make_torch_schedules.py has theirs.
OURS = {
    "step": StepDecay(RATE, step_size=999, gamma=0.7),
    "multi_step": MultiStep(RATE, milestones=[15, 2500, 2501, 9000], gamma=0.3),
    "exponential": Exponential(RATE, gamma=0.9995),
    "rising": Exponential(RATE, gamma=1.0005),
    "cosine": Cosine(RATE, total_steps=STEPS, min_lr=0.001),
    "restarts": CosineRestarts(RATE, period=1000, min_lr=0.001),
    "growing_restarts": CosineRestarts(RATE, period=10, growth=2),
    "warmup": LinearWarmup(RATE, total_steps=3000, start_factor=0.01),
    "warmup_default": LinearWarmup(RATE, total_steps=7000),
    "polynomial": Polynomial(RATE, total_steps=9000, power=2.5),
    "linear": Polynomial(RATE, total_steps=4000),
    "one_cycle": OneCycle(RATE, total_steps=STEPS),
    "one_cycle_linear": OneCycle(
        RATE, total_steps=STEPS, pct_start=0.4, anneal_strategy="linear", div_factor=10
    ),
    "three_phases": OneCycle(RATE, total_steps=STEPS, three_phase=True, final_div_factor=100),
    "cyclic": Cyclic(0.01, RATE),
    "cyclic_halving": Cyclic(0.01, RATE, step_size_up=500, step_size_down=499, mode="triangular2"),
    "cyclic_exponential": Cyclic(0.01, RATE, step_size_up=300, mode="exp_range", gamma=0.9997),
    "lambda": Lambda(RATE, lambda index: 1 / (1 + index / 100)),
    "sequence": Chain(
        [LinearWarmup(RATE, 15, 0.1), Cosine(RATE, 6000), Exponential(RATE, 0.99)], [15, 3000]
    ),
}

# torch updates most rates from the last one, so its errors grow with the updates: by 10,000 they
# reach some 1e-12. The formulas below are held to rounding.
TORCH_ERROR = 3e-12


@pytest.mark.parametrize("name", OURS)
def test_rates_agree_with_torch(name):
    kept = GOLDEN["kept"]
    rates = OURS[name].table(0, STEPS)[kept]
    theirs = GOLDEN[name]
    worst = np.max(np.abs(rates - theirs) / np.maximum(np.abs(theirs), RATE))
    assert worst < TORCH_ERROR, (worst, kept[np.argmax(np.abs(rates - theirs))])
    assert len(np.unique(theirs)) > 3  # a series that never moves would prove nothing


FORMULAS = {
    "step": lambda i: RATE * 0.7 ** (i // 999),
    "multi_step": lambda i: RATE * 0.3 ** sum(i >= m for m in (15, 2500, 2501, 9000)),
    "exponential": lambda i: RATE * 0.9995**i,
    "rising": lambda i: RATE * 1.0005**i,
    "cosine": lambda i: 0.001 + (RATE - 0.001) * math.cos(math.pi * i / STEPS / 2) ** 2,
    "restarts": lambda i: 0.001 + (RATE - 0.001) * math.cos(math.pi * (i % 1000) / 2000) ** 2,
    "warmup": lambda i: RATE * min(1, 0.01 + 0.99 * i / 3000),
    "warmup_default": lambda i: RATE * min(1, 1 / 3 + 2 / 3 * i / 7000),
    "polynomial": lambda i: RATE * max(0, 1 - i / 9000) ** 2.5,
    "linear": lambda i: RATE * max(0, 4000 - i) / 4000,
    "one_cycle_linear": lambda i: (
        0.01 + 0.09 * i / 3999
        if i <= 3999
        else RATE + (0.01 / 1e4 - RATE) * (i - 3999) / (STEPS - 1 - 3999)
    ),
    "cyclic": lambda i: 0.01 + 0.09 * (1 - abs(i % 4000 - 2000) / 2000),
    "lambda": lambda i: RATE * 100 / (100 + i),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_rates_are_the_formula(name):
    expected = np.array([FORMULAS[name](i) for i in range(STEPS)])
    np.testing.assert_allclose(OURS[name].table(0, STEPS), expected, rtol=1e-14, atol=2e-16)


def test_growing_restarts_are_the_formula():
    expected = []
    length = 10
    while len(expected) < STEPS:
        expected += [RATE * math.cos(math.pi * i / length / 2) ** 2 for i in range(length)]
        length *= 2
    rates = OURS["growing_restarts"].table(0, STEPS)
    np.testing.assert_allclose(rates, expected[:STEPS], rtol=1e-14, atol=2e-16)


@pytest.mark.parametrize("name", OURS)
def test_a_call_and_the_table_give_the_same_bits(name):
    schedule = OURS[name]
    whole = schedule.table(0, STEPS)
    assert whole.dtype == np.float64
    assert whole.shape == (STEPS,)
    for index in (*range(20), 998, 999, 2999, 3000, 3001, 7000, 9999):
        assert schedule(index) == whole[index] == schedule.table(index, 1)[0]
        assert type(schedule(index)) is float
    np.testing.assert_array_equal(schedule.table(2990, 30), whole[2990:3020])
    assert schedule.table(5, 0).shape == (0,)
    assert schedule(np.int64(17)) == whole[17]


@pytest.mark.parametrize(
    ("schedule", "points"),
    [
        (Constant(0.3), {0: 0.3, 10**9: 0.3}),
        (StepDecay(1.0, 10, 0.5), {0: 1, 9: 1, 10: 0.5, 19: 0.5, 20: 0.25, 10**6: 0}),
        (StepDecay(1.0, 1, 0.0), {0: 1, 1: 0}),
        (MultiStep(1.0, (1,), 0.5), {0: 1, 1: 0.5, 10**9: 0.5}),
        (MultiStep(1.0, (), 0.5), {0: 1, 10**9: 1}),
        (Exponential(1.0, 0.5), {0: 1, 1: 0.5, 10**5: 0}),
        (Cosine(1.0, 4, 0.2), {0: 1, 2: 0.6, 4: 0.2, 5: 0.2, 8: 0.2, 10**9: 0.2}),
        (Cosine(1.0, 1), {0: 1, 1: 0}),
        (CosineRestarts(1.0, 4, min_lr=0.2), {0: 1, 2: 0.6, 4: 1, 6: 0.6, 4 * 10**9: 1}),
        (CosineRestarts(1.0, 1), {0: 1, 1: 1, 2: 1}),
        (CosineRestarts(1.0, 2, 3), {0: 1, 1: 0.5, 2: 1, 5: 0.5, 8: 1, 17: 0.5, 26: 1}),
        (LinearWarmup(1.0, 4, 0.0), {0: 0, 1: 0.25, 3: 0.75, 4: 1, 10**9: 1}),
        (LinearWarmup(1.0, 1, 0.5), {0: 0.5, 1: 1}),
        (Polynomial(1.0, 4, 2.0, 0.2), {0: 1, 2: 0.4, 4: 0.2, 10**9: 0.2}),
        (OneCycle(1.0, 11, 0.5), {0: 0.04, 10: 4e-6, 11: 4e-6, 10**9: 4e-6}),
        (OneCycle(1.0, 10, 0.3), {0: 0.04, 2: 1, 9: 4e-6}),
        (OneCycle(1.0, 10, 0.0), {0: 1, 9: 4e-6}),  # no rise
        (OneCycle(1.0, 10, 1.0), {0: 0.04, 9: 1, 10: 4e-6}),  # the fall has no room
        (OneCycle(1.0, 10, 0.1), {0: 1, 9: 4e-6}),  # torch divides by zero
        (OneCycle(1.0, 10, 0.3, three_phase=True), {0: 0.04, 2: 1, 4: 0.04, 9: 4e-6, 20: 4e-6}),
        (OneCycle(1.0, 1), {0: 4e-6, 5: 4e-6}),
        (Cyclic(0.0, 1.0, 4, 2), {0: 0, 2: 0.5, 4: 1, 5: 0.5, 6: 0, 6 * 10**9 + 4: 1}),
        (Cyclic(0.0, 1.0, 2, mode="triangular2"), {2: 1, 6: 0.5, 10: 0.25, 10**7 + 2: 0}),
        (Cyclic(0.0, 1.0, 2, mode="exp_range", gamma=0.5), {2: 0.25, 6: 2**-6}),
        (Cyclic(1.0, 0.5, 2), {0: 1, 2: 0.5, 4: 1}),  # downwards first
        (Lambda(0.5, lambda index: index), {0: 0, 7: 3.5}),
        (Chain([Constant(0.1), Constant(0.2), Exponential(1.0, 0.5)], [2, 3]),
         {0: 0.1, 1: 0.1, 2: 0.2, 3: 1, 5: 0.25}),
        (Chain([Cosine(1.0, 2)], []), {0: 1, 1: 0.5, 2: 0}),
    ],
)  # fmt: skip
def test_borders(schedule, points):
    for index, rate in points.items():
        assert schedule(index) == pytest.approx(rate, rel=1e-14, abs=1e-16), index


def test_warmup_then_rises_to_the_first_rate_and_begins_anew():
    target = Cosine(0.4, 100)
    schedule = warmup_then(target, steps=10, start_factor=0.1)
    assert schedule(0) == 0.4 * 0.1
    assert schedule(10) == 0.4 == target(0)
    np.testing.assert_array_equal(schedule.table(10, 120), target.table(0, 120))
    assert np.all(np.diff(schedule.table(0, 11)) > 0)
    assert warmup_then(0.2, 4) == Chain([LinearWarmup(0.2, 4), Constant(0.2)], [4])


def test_chains_nest():
    inner = warmup_then(Exponential(1.0, 0.5), 2, start_factor=0.5)
    outer = Chain([Constant(3.0), inner], [3])
    np.testing.assert_array_equal(outer.table(0, 7), [3, 3, 3, 0.5, 0.75, 1, 0.5])
    np.testing.assert_array_equal(outer.table(4, 3), [0.75, 1, 0.5])


def test_where_schedules_end():
    cosine = wg.optim.Cosine(1.0, 5, min_lr=0.1)
    chain = wg.optim.warmup_then(cosine, 3)
    assert [each.ends_at() for each in (cosine, chain, wg.optim.MultiStep(1.0, (2, 4)))] == [
        5,
        8,
        4,
    ]
    assert wg.optim.Exponential(1.0, 0.5).ends_at() is None
    assert wg.optim.Chain([cosine, wg.optim.Exponential(1.0, 0.5)], [5]).ends_at() is None
    for each in (cosine, chain, wg.optim.OneCycle(1.0, 9), wg.optim.MultiStep(1.0, ())):
        assert len(set(each.table(each.ends_at(), 20))) == 1


def test_equality_and_repr():
    assert Cosine(0.1, 100) == Cosine(np.float64(0.1), np.int32(100))
    assert hash(Cosine(0.1, 100)) == hash(Cosine(0.1, 100))
    assert Cosine(0.1, 100) != Cosine(0.1, 101)
    assert Cosine(0.1, 100) != LinearWarmup(0.1, 100)
    for schedule in (s for name, s in OURS.items() if name != "lambda"):
        assert eval(repr(schedule), vars(wg.optim)) == schedule
    with pytest.raises(AttributeError):
        Cosine(0.1, 100).lr = 0.2


NAN, INF = math.nan, math.inf
REFUSED = [
    *[lambda bad=bad: Constant(bad) for bad in (-0.1, NAN, INF, "0.1", None, True, 1j, [0.1])],
    lambda: Constant(10**400),
    lambda: StepDecay(0.1, 0),
    lambda: StepDecay(0.1, 2.0),
    lambda: StepDecay(0.1, True),
    lambda: StepDecay(0.1, 2, -1.0),
    lambda: MultiStep(0.1, 5),
    lambda: MultiStep(0.1, "56"),
    lambda: MultiStep(0.1, [3, 2]),
    lambda: MultiStep(0.1, [3, 3]),
    lambda: MultiStep(0.1, [0, 3]),
    lambda: MultiStep(0.1, [1.5]),
    lambda: Exponential(0.1, NAN),
    lambda: Cosine(0.1, 0),
    lambda: Cosine(0.1, 10, -0.1),
    lambda: CosineRestarts(0.1, 0),
    lambda: CosineRestarts(0.1, 1, 0),
    lambda: CosineRestarts(0.1, 1, 1.5),
    lambda: LinearWarmup(0.1, 0),
    lambda: LinearWarmup(0.1, 5, 1.1),
    lambda: LinearWarmup(0.1, 5, -0.1),
    lambda: Polynomial(0.1, 5, 0.0),
    lambda: Polynomial(0.1, -5),
    lambda: OneCycle(0.1, 0),
    lambda: OneCycle(0.1, 5, 1.5),
    lambda: OneCycle(0.1, 5, anneal_strategy="cosine"),
    lambda: OneCycle(0.1, 5, div_factor=0),
    lambda: OneCycle(0.1, 5, final_div_factor=INF),
    lambda: OneCycle(0.1, 5, three_phase=1),
    lambda: Cyclic(0.1, -1.0),
    lambda: Cyclic(0.1, 1.0, 0),
    lambda: Cyclic(0.1, 1.0, 5, 0),
    lambda: Cyclic(0.1, 1.0, mode="square"),
    lambda: ReduceOnPlateau(0.1, factor=1.0),
    lambda: ReduceOnPlateau(0.1, factor=-0.5),
    lambda: ReduceOnPlateau(0.1, mode="least"),
    lambda: ReduceOnPlateau(0.1, patience=-1),
    lambda: ReduceOnPlateau(0.1, threshold_mode="relative"),
    lambda: ReduceOnPlateau(0.1, cooldown=1.5),
    lambda: ReduceOnPlateau(0.1).observe("low"),
    lambda: ReduceOnPlateau(0.1).observe(np.ones(3)),
    lambda: Lambda(0.1, 0.5),
    lambda: Chain([], []),
    lambda: Chain([Constant(0.1)], [3]),
    lambda: Chain([Constant(0.1), Constant(0.1)], []),
    lambda: Chain([Constant(0.1), Constant(0.1), Constant(0.1)], [3, 3]),
    lambda: Chain([Constant(0.1), 0.1], [3]),
    lambda: Chain(Constant(0.1), [3]),
    lambda: warmup_then(-1.0, 5),
    lambda: warmup_then(Constant(0.1), 0),
    lambda: Constant(0.1)(-1),
    lambda: Constant(0.1)(0.5),
    lambda: Constant(0.1)(None),
    lambda: Constant(0.1).table(-1, 5),
    lambda: Constant(0.1).table(0, -5),
    lambda: Constant(0.1).table(0, 2.5),
    lambda: Exponential(0.1, 2.0)(5000),  # beyond the floats
    lambda: Exponential(0.1, 2.0).table(0, 5000),
    lambda: Exponential(1e308, 1.1)(10),
    lambda: Exponential(1e308, 1.1).table(0, 10),
    lambda: Lambda(0.1, lambda index: NAN)(0),
    lambda: Lambda(0.1, lambda index: -1)(0),
    lambda: Lambda(0.1, lambda index: -1).table(0, 3),
    lambda: Lambda(0.1, lambda index: None)(0),
]


@pytest.mark.parametrize("make", REFUSED)
def test_bad_numbers_are_refused_in_one_form(make):
    with pytest.raises(OptimError) as caught:
        make()
    message = str(caught.value)
    head, _, rest = message.partition(": ")
    assert head.split(".")[0] in wg.optim.schedules.__all__, message
    assert "; " in rest, message  # what was given; what is needed
    assert message.endswith("."), message
    assert ". " in rest, message  # what to do


def test_a_refusal_names_the_field_and_the_value():
    with pytest.raises(OptimError, match=r"^Cosine: total_steps=0 was given; it must be a whole"):
        Cosine(0.1, 0)
    with pytest.raises(OptimError, match=r"^Lambda: the rate of update 3 is -0\.1; it must be fin"):
        Lambda(0.1, lambda index: 1 - 2 * (index == 3)).table(0, 10)


def test_a_schedule_of_ones_own_needs_values_only():
    class Sawtooth(Schedule):
        def values(self, indices):
            return [0.1 * (index % 3) for index in indices]

    assert Sawtooth()(4) == 0.1
    np.testing.assert_allclose(Sawtooth().table(3, 3), [0, 0.1, 0.2])
    assert Sawtooth().state_dict() == {}
    assert Chain([Constant(1.0), Sawtooth()], [2])(4) == 0.2
