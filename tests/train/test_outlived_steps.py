"""Functions that are bound to a step that is gone, while another one trains a copy of its model."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import CopiedWarning
from wengert.train.mistakes import outlived_steps

X, Y = np.eye(4, dtype=np.float32), np.arange(4, dtype=np.float32)


def loss(m, x, y):
    return wg.mean((m(x)[:, 0] - y) ** 2)


def policy(m, x):
    return m(x)[:, 0]


def made(model=None, optimizer=None):
    model = wg.nn.Linear(4, 1, seed=0) if model is None else model
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.1))


class Trainer:
    """A step, and a function that is bound to it; the step may be made anew."""

    def __init__(self, calls=3):
        self.step = made()
        self.act = self.step.bind(policy)
        for _ in range(calls):
            self.step(X, Y)
            self.act(X)

    def make_second_stage(self):
        self.step = made(self.step.model, wg.optim.Adam(0.1))


def told(calls):
    (found,) = warned(calls)
    assert (found.category, found.filename) == (CopiedWarning, __file__)
    return str(found.message)


@pytest.mark.parametrize("acts_first", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
def test_a_second_stage_whose_function_is_not_bound_again(acts_first, calls):
    trainer = Trainer(calls)
    trainer.make_second_stage()
    before = policy(wg.tree.copy(trainer.step.model), X)

    def train():
        for _ in range(20):
            if acts_first:
                trainer.act(X)
            trainer.step(X, Y)
            if not acts_first:
                trainer.act(X)

    text = told(train)
    assert text.startswith("TrainStep.bind: policy is bound to a step that is gone")
    assert "Bind it again, bound = step.bind(…)" in text
    np.testing.assert_allclose(trainer.act(X), before, rtol=1e-5)


def test_it_is_told_where_the_second_stage_is_a_run():
    trainer = Trainer()
    trainer.make_second_stage()
    assert not warned(lambda: trainer.act(X))  # nothing is trained yet
    trainer.step.run(X, Y, batch_size=2, epochs=2)
    assert "bound to a step that is gone" in told(lambda: [trainer.act(X), trainer.act(X)])


def test_a_function_of_random_numbers():
    step = made()
    act = step.bind(lambda m, x, rng: policy(m, x) + rng.normal((4,)))
    step(X, Y)
    act(X)
    step = made(step.model)
    assert "bound to a step that is gone" in told(lambda: [(step(X, Y), act(X)) for _ in range(9)])


def test_functions_bound_again_are_right():
    trainer = Trainer()
    trainer.make_second_stage()
    trainer.act = trainer.step.bind(policy)
    assert not warned(lambda: [(trainer.step(X, Y), trainer.act(X)) for _ in range(9)])


def test_a_reference_whose_step_is_kept():
    first = Trainer()
    second = made(first.step.model)
    assert not warned(lambda: [second(X, Y - first.act(X)) for _ in range(9)])


def test_a_baseline_of_a_step_that_was_never_called():
    trainer = Trainer(calls=0)
    trainer.make_second_stage()
    assert not warned(lambda: [(trainer.step(X, Y), trainer.act(X)) for _ in range(9)])


def test_a_teacher_that_is_bound_after_its_training():
    trainer = Trainer()
    teacher = trainer.step.bind(policy)
    trainer.make_second_stage()
    assert not warned(lambda: [trainer.step(X, teacher(X)) for _ in range(9)])


def test_opponents_of_earlier_generations():
    step, league = made(), []

    def play():
        nonlocal step
        for _ in range(3):
            step = made(step.model)
            league.append(step.bind(policy))
            for _ in range(4):
                step(X, Y)
                [each(X) for each in league]

    assert not warned(play)


def test_functions_of_a_part_that_the_second_stage_leaves_as_it_is():
    def head(m, x, y):
        return wg.mean((m["head"](m["body"](x))[:, 0] - y) ** 2)

    model = {"body": wg.nn.Linear(4, 3, seed=0), "head": wg.nn.Linear(3, 1, seed=1)}
    step = wg.TrainStep(head, model, wg.optim.SGD(0.1))
    features = step.bind(lambda m, x: m["body"](x))
    step(X, Y), features(X)
    step = wg.TrainStep(head, step.model, {"body.*": None, "*": wg.optim.SGD(0.1)})
    assert not warned(lambda: [(step(X, Y), features(X)) for _ in range(9)])
    step(X, Y)
    # Another head is for something else, and what was bound has the first one.
    other = {"body": step.model["body"], "head": wg.nn.Linear(3, 1, seed=2)}
    predict = step.bind(lambda m, x: m["head"](m["body"](x)))
    step(X, Y), predict(X)
    step = wg.TrainStep(head, other, wg.optim.SGD(0.1))
    assert not warned(lambda: [(step(X, Y), predict(X)) for _ in range(9)])


def test_a_copy_of_the_model_and_weights_that_are_written_back_are_let_pass():
    trainer = Trainer()
    first = trainer.step.model
    trainer.step = made(wg.tree.copy(first))
    assert not warned(lambda: [(trainer.step(X, Y), trainer.act(X)) for _ in range(9)])
    trainer = Trainer()
    first = trainer.step.model
    trainer.step = made(first)

    def train():
        for _ in range(9):
            trainer.step(X, Y)
            now = trainer.step.model
            first.weight[...], first.bias[...] = now.weight, now.bias
            trainer.act(X)

    assert not warned(train)


def test_a_function_that_outlives_its_step_alone():
    def trained():
        step = made()
        predict = step.bind(policy)
        step(X, Y)
        return predict

    predict = trained()
    assert not warned(lambda: [predict(X) for _ in range(9)])


@pytest.mark.parametrize("is_in_a_cycle", [False, True])
def test_a_first_stage_that_was_gone_before_the_second_one_was_made(is_in_a_cycle, monkeypatch):
    monkeypatch.setattr(outlived_steps, "_turns", iter(range(1)))

    def clone():
        trainer = Trainer()
        if is_in_a_cycle:
            trainer.itself = trainer
        return trainer.act, trainer.step.model

    baseline, cloned = clone()
    step = made(cloned)
    assert not warned(lambda: [(step(X, Y), baseline(X)) for _ in range(9)])


def test_a_second_stage_is_told_however_often_garbage_was_collected(monkeypatch):
    monkeypatch.setattr(outlived_steps, "_turns", iter(()))
    monkeypatch.setattr(outlived_steps.gc, "collect", lambda: pytest.fail("it is slow"))
    trainer = Trainer()
    trainer.make_second_stage()
    trainer.step(X, Y)
    assert "bound to a step that is gone" in told(lambda: trainer.act(X))
