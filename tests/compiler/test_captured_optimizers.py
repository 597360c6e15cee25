"""Optimizers that a compiled function reads from outside: it is recorded again where a setting that
it has read is another one, and only there.
"""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import wengert as wg
from compiler.captured import counted
from wengert.errors import OptimError, ProgramsWarning, SizeWarning, WengertWarning

W, G = np.array([1.0, -2.0]), np.array([0.5, 3.0])
RATES = [0.4, 0.3, 0.2, 0.1, 0.05]


class SignDescent(wg.optim.Optimizer):
    """An optimizer of the user's."""

    def rule(self, weights, grad, state, s, path=None):
        return weights - s["lr"] * wg.sign(grad), state


class ScaledGradient(wg.optim.SGD):
    """One whose rule reads a setting itself, beside the numbers that it is given."""

    def rule(self, weights, grad, state, s, path=None):
        return super().rule(weights, grad * self.weight_decay, state, s, path)


KINDS = {
    "SGD": lambda: wg.optim.SGD(0.5, momentum=0.9),
    "Adam": lambda: wg.optim.Adam(0.5),
    "AdamW": lambda: wg.optim.AdamW(0.5, weight_decay=0.1),
    "Lars": lambda: wg.optim.Lars(0.5),
    "EMA": lambda: wg.optim.EMA(wg.optim.SGD(0.5)),
    "Lookahead of EMA": lambda: wg.optim.Lookahead(wg.optim.EMA(wg.optim.Adam(0.5))),
    "own": lambda: SignDescent(0.5),
    "RMSProp": lambda: wg.optim.RMSProp(0.5),
}


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", WengertWarning)
        yield


def same(a, b):
    for x, y in zip(wg.tree.leaves(a), wg.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_that_is_passed_in_may_change_in_every_call(kind):
    optimizer = KINDS[kind]()
    f, calls = counted(lambda w, g, state, s: optimizer.update(w, g, state, s))
    update, state = wg.compile(f), optimizer.init(W)
    for i, rate in enumerate(RATES):
        optimizer.learning_rate = rate
        now = update(W, G, state, wg.tree.arrays(optimizer.scalars(i + 1)))
        same(now[0], optimizer.update(W, G, state, optimizer.scalars(i + 1))[0])
    assert len(calls) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_that_an_update_reads_is_that_of_now(kind):
    optimizer = KINDS[kind]()
    f, calls = counted(lambda w, g, state: optimizer.update(w, g, state))
    update, state = wg.compile(f), optimizer.init(W)
    for rate in (0.5, 0.25, 0.25, 0.5):
        optimizer.learning_rate = rate
        same(update(W, G, state), optimizer.update(W, G, state))
    assert len(calls) == 2


def test_an_optimizer_that_is_an_argument():
    optimizer = wg.optim.Adam(0.5)
    f, calls = counted(lambda optimizer, w, g, state, s: optimizer.update(w, g, state, s)[0])
    update, state = wg.compile(f), optimizer.init(W)
    for i, rate in enumerate(RATES):
        optimizer.learning_rate = rate
        update(optimizer, W, G, state, wg.tree.arrays(optimizer.scalars(i + 1)))
    assert len(calls) == 1


def test_other_settings_that_are_passed_in():
    optimizer = wg.optim.AdamW(0.5)
    f, calls = counted(lambda w, g, state, s: optimizer.update(w, g, state, s)[0])
    update, state = wg.compile(f), optimizer.init(W)
    for i, decay in enumerate(RATES):
        optimizer.weight_decay, optimizer.betas = decay, (0.9, 1 - decay)
        scalars = optimizer.scalars(i + 1)
        now = update(W, G, state, wg.tree.arrays(scalars))
        same(now, optimizer.update(W, G, state, scalars)[0])
    assert len(calls) == 1


def test_a_setting_that_a_rule_of_the_users_reads_is_that_of_now():
    optimizer = ScaledGradient(0.5, weight_decay=0.1)
    update = wg.compile(lambda w, g, state, s: optimizer.update(w, g, state, s)[0])
    state = optimizer.init(W)
    for decay in (0.1, 0.7):
        optimizer.weight_decay = decay
        scalars = optimizer.scalars(1)
        now = update(W, G, state, wg.tree.arrays(scalars))
        same(now, optimizer.update(W, G, state, scalars)[0])


def test_a_schedule_that_is_shown_a_metric():
    optimizer = wg.optim.SGD(wg.optim.ReduceOnPlateau(0.5, patience=0))
    f, calls = counted(lambda w, g, state, s: optimizer.update(w, g, state, s)[0])
    update, state = wg.compile(f), optimizer.init(W)
    for i in range(5):
        optimizer.lr.observe(1.0)
        now = update(W, G, state, wg.tree.arrays(optimizer.scalars(i + 1)))
        same(now, W - optimizer.learning_rate * G)
    assert len(calls) == 1
    assert optimizer.learning_rate < 0.5


@wg.compile
def stepped(g):
    return shared.update(W, g, shared.init(W))[0]


shared = wg.optim.SGD(0.5)

READ = {
    "by its name": lambda g: shared.learning_rate,
    "by its short name": lambda g: shared.lr,
    "by its own name": lambda g: shared._rate,
    "by a text": lambda g: getattr(shared, "learning_" + "rate"),
    "in all it has": lambda g: vars(shared)["_rate"],
    "in a copy": lambda g: shared.copy().learning_rate,
    "in a deep copy": lambda g: copy.deepcopy(shared).learning_rate,
    "in a shallow copy": lambda g: copy.copy(shared).learning_rate,
    "in an optimizer around it": lambda g: wg.optim.EMA(shared).learning_rate,
    "by a program": lambda g: stepped(np.ones(2)),
    "by an update without numbers": lambda g: shared.update(W, g, shared.init(W))[0],
}


@pytest.mark.parametrize("way", READ)
def test_a_rate_that_is_read_beside_is_that_of_now(way):
    read = READ[way]  # alone: what the others name could be read, too
    f = wg.compile(lambda w, g, state, s: shared.update(w, g, state, s)[0] * read(g))
    scalars = wg.tree.arrays(wg.optim.SGD(1.0).scalars(1))
    for rate in (0.5, 0.25):
        shared.learning_rate = rate
        stepped(np.ones(2))  # has a program before `f` is recorded
        same(f(W, G, shared.init(W), scalars), (W - G) * read(G))


def third(update, turns):
    """The warning of a third program."""
    with pytest.warns(ProgramsWarning) as caught:
        list(map(update, turns))
    return str(caught[0].message)


def test_a_rate_that_makes_programs_is_told_how_to_pass_it():
    optimizer = wg.optim.Adam(0.5)
    around = wg.optim.EMA(wg.optim.Adam(0.5))
    plain = wg.compile(lambda w, g, state: optimizer.update(w, g, state)[0])
    averaged = wg.compile(lambda w, g, state: around.update(w, g, state)[0])
    given = wg.compile(lambda optimizer, w, g, state: optimizer.update(w, g, state)[0])

    def call(rate):
        optimizer.learning_rate = rate
        plain(W, G, optimizer.init(W))

    text = third(call, RATES[:3])
    assert "'optimizer.learning_rate', which it reads from outside, is 0.2 and was 0.3" in text
    assert (
        "Pass wg.tree.arrays(optimizer.scalars(count)) into the function, and on as the fourth "
        "argument of optimizer.update, or use a wg.TrainStep." in text
    )

    def call_around(rate):
        around.learning_rate = rate
        averaged(W, G, around.init(W))

    text = third(call_around, RATES[:3])
    assert "'around.optimizer.learning_rate'" in text
    assert "Pass wg.tree.arrays(around.scalars(count)) into" in text

    def call_given(rate):
        optimizer.learning_rate = rate
        given(optimizer, W, G, optimizer.init(W))

    text = third(call_given, RATES[:3])
    assert "'Adam.learning_rate'" in text
    assert "Pass wg.tree.arrays(optimizer.scalars(count)) into" in text


def test_a_rate_that_is_an_argument_is_told_how_to_pass_it():
    state = wg.optim.Adam(0.5).init(W)
    update = wg.compile(lambda w, g, state, lr: wg.optim.Adam(lr).update(w, g, state)[0])
    outside = (
        r"Make the optimizer outside, set its numbers there, and pass "
        r"wg\.tree\.arrays\(optimizer\.scalars\(count\)\) into the function, and on as the fourth "
        r"argument of optimizer\.update, or use a wg\.TrainStep\. \("
    )
    with pytest.warns(SizeWarning, match=f"value of lr .* {outside}"):
        update(W, G, state, 0.5)
    assert "Make the optimizer outside" in third(lambda x: update(W, G, state, x), RATES[:2])
    with pytest.raises(OptimError, match=r"known at call time only.*Make the optimizer outside"):
        update(W, G, state, np.array(0.5))
