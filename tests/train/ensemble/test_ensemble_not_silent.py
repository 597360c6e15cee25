"""What a run of an ensemble shows when it begins: the numbers of the first batch, as in a run of
a step of its own.
"""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import LogitsWarning, RoundingWarning, TargetsWarning
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
    "loss, out, y", [(binary, 1, SIGNS > 0), (binary, 1, SOFT[:, 0]), (classes, 3, SOFT)]
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
