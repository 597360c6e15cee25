"""What is told of an ensemble, as of a step of its own: what the numbers of the first batch of a
run show, a schedule that nobody shows a metric, settings of an optimizer that was copied.
"""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import (
    CopiedWarning,
    LogitsWarning,
    RoundingWarning,
    ScheduleWarning,
    TargetsWarning,
)
from wengert.train.runs import data

from ..warned_steps import warned

rng = np.random.default_rng(0)
X = rng.normal(size=(96, 3)).astype(np.float32)
SIGNS = np.sign(X[:, 0])
SOFT = rng.dirichlet(np.ones(3), 96).astype(np.float32)
TIMES = 1.7e9 + 10.0 * np.arange(96)
each = wg.train.each


def binary(net, x, y):
    return wg.bce_with_logits(net(x)[:, 0], y)


def classes(net, x, y):
    return wg.cross_entropy(net(x), y)


def distilled(net, x, teacher):
    pull = wg.cross_entropy(teacher, wg.stop_gradient(wg.softmax(net(x))))
    return pull + wg.mean(net(x) ** 2)


def timed(net, x, t):
    return wg.mean((net(x)[:, 0] - t) ** 2)


@pytest.fixture(autouse=True)
def memory_with_anything_in_it(monkeypatch):
    """Arrays that nobody has written to hold what was there before."""
    aligned = data.aligned_array

    def used(shape, dtype, *make):
        made = aligned(shape, dtype, *make)
        made.view(np.uint8).fill(0x72)  # 4.8e30 as float32
        return made

    monkeypatch.setattr(data, "aligned_array", used)


def ensemble(loss, out=1, **options):
    def model(seed):
        return wg.nn.Linear(3, out, seed=seed)

    return wg.Ensemble(loss, model, wg.optim.SGD(0.0), members=3, **options)


def told(call, kind):
    return [str(each.message) for each in warned(call) if each.category is kind]


def by_epochs(made, *batch, **options):
    for _ in made.epochs(*batch, **options):
        pass


RUNS = {
    "run": lambda made, *batch: made.run(*batch, batch_size=16),
    "a shuffled run": lambda made, *batch: made.run(*batch, batch_size=16, shuffle_seed=0),
    "a bootstrap": lambda made, *batch: made.run(*batch, batch_size=16, bootstrap=True),
    "all rows": lambda made, *batch: made.run(*batch, batch_size=96),
    "a smaller last batch": lambda made, *batch: made.run(*batch, batch_size=36, shuffle_seed=0),
    "epochs": lambda made, *batch: by_epochs(made, *batch, batch_size=16, shuffle_seed=[0, 1, 2]),
    "rows for each": lambda made, *batch: made.run(
        *(each(np.stack([x, x, x])) for x in batch), batch_size=16, shuffle_seed=0
    ),
    "evaluate": lambda made, *batch: made.evaluate(
        made.members[0]._engine.plan.loss, *batch, batch_size=16
    ),
}
TRAINING = [way for way in RUNS if way != "evaluate"]


@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("options", [{}, {"accumulate": 2}], ids=["", "accumulate"])
def test_labels_of_signs_are_told(way, options):
    made = ensemble(binary, **options)
    (message, *_) = told(lambda: RUNS[way](made, X, SIGNS), TargetsWarning)
    assert "targets from -1 to 1 were given in 'y'" in message


@pytest.mark.parametrize("way", TRAINING)
def test_probabilities_as_logits_are_told(way):
    made = ensemble(distilled, 3)
    (message,) = told(lambda: RUNS[way](made, X, SOFT), LogitsWarning)
    assert "given numbers in 'teacher'" in message


@pytest.mark.parametrize("way", TRAINING)
def test_numbers_that_are_rounded_away_are_told(way):
    made = ensemble(timed)
    (message, *_) = told(lambda: RUNS[way](made, X, TIMES), RoundingWarning)
    assert "'t' has numbers up to 1.7e+09" in message


@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize(
    ("loss", "out", "y"), [(binary, 1, SIGNS > 0), (binary, 1, SOFT[:, 0]), (classes, 3, SOFT)]
)
def test_right_programs_are_let_be(way, loss, out, y):
    assert not warned(lambda: RUNS[way](ensemble(loss, out), X, y))


def test_each_member_has_the_steps_that_it_has_alone():
    """The batch that is shown to the recording is no step."""
    made = ensemble(binary)
    alone = wg.TrainStep(binary, wg.nn.Linear(3, 1, seed=1), wg.optim.SGD(0.0), seed=1)
    found = made.run(X, SIGNS > 0, batch_size=36, epochs=3, shuffle_seed=5)
    wanted = alone.run(X, SIGNS > 0, batch_size=36, epochs=3, shuffle_seed=5)
    np.testing.assert_array_equal(found.loss[1], wanted.loss)


def with_rates(rates):
    def model(seed):
        return wg.nn.Linear(3, 1, seed=seed)

    return wg.Ensemble(binary, model, wg.optim.SGD(rates), members=3)


def observed(made, members):
    for epoch in made.epochs(X, SIGNS > 0, batch_size=48, epochs=12):
        for i in members:
            made.members[i].optimizer.lr.observe(epoch.loss[i])


PLATEAU = wg.optim.ReduceOnPlateau(0.1)


@pytest.mark.parametrize(
    "train",
    [
        lambda made: made.run(X, SIGNS > 0, batch_size=48, epochs=12),
        lambda made: observed(made, []),
        lambda made: observed(made, [0, 1]),
    ],
    ids=["run", "epochs", "some members"],
)
def test_a_plateau_that_nobody_shows_a_metric(train):
    made = with_rates(PLATEAU)
    (message,) = told(lambda: [train(made), train(made)], ScheduleWarning)
    assert "shown no metric in 1" in message
    assert "call ensemble.members[i].optimizer.lr.observe(epoch.loss[i])" in message


def test_other_schedules_and_plateaus_that_are_shown_a_metric():
    assert not warned(lambda: observed(with_rates(PLATEAU), range(3)))
    assert not warned(lambda: observed(with_rates(0.1), []))
    few = with_rates(PLATEAU)
    assert not warned(lambda: few.run(X, SIGNS > 0, batch_size=48, epochs=9))


@pytest.mark.parametrize("way", ["call", "run", "epochs"])
def test_an_optimizer_that_was_copied(way):
    optimizer = wg.optim.SGD(0.1)
    made = wg.Ensemble(binary, lambda s: wg.nn.Linear(3, 1, seed=s), optimizer, members=3)
    calls = {
        "call": lambda: made(X, SIGNS > 0),
        "run": lambda: made.run(X, SIGNS > 0, batch_size=48),
        "epochs": lambda: [*made.epochs(X, SIGNS > 0, batch_size=48)],
    }
    optimizer.lr = 0.5
    (message,) = told(calls[way], CopiedWarning)
    assert message.startswith("Ensemble: lr of the SGD that it was made with was set")
    assert message.endswith("Set ensemble.members[i].optimizer.lr = 0.5.")
    for member in made.members:
        member.optimizer.lr = 0.5
    assert not warned(calls[way])


def test_an_optimizer_that_is_set_in_the_body_of_a_loop():
    optimizer = wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1))
    made = wg.Ensemble(binary, lambda s: wg.nn.Linear(3, 1, seed=s), optimizer, members=3)

    def train():
        for epoch in made.epochs(X, SIGNS > 0, batch_size=48):
            optimizer.lr.observe(epoch.loss[0])

    (message,) = told(train, CopiedWarning)
    assert "Call ensemble.members[i].optimizer.lr.observe(metric)" in message
