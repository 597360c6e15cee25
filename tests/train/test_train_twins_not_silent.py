"""Two parts of one model that are trained alike, and layers that train where they are bound."""

import numpy as np

import wengert as wg
from train.warned_steps import X, Y, warned
from wengert.errors import AlikeWarning, BatchNormWarning


def critics(*seeds):
    draws = [np.random.default_rng(seed).normal(size=(3, 4)) for seed in seeds]
    return [{"w": w, "v": np.ones(4) / 4} for w in draws]


def value(critic, x):
    return wg.tanh(x @ critic["w"]) @ critic["v"]


def both(model, x, y):
    return sum(wg.mean((value(critic, x) - y) ** 2) for critic in model)


def trained(loss, model, run=False, **options):
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1), compiled=False, **options)
    if run:
        return warned(lambda: step.run(X, Y, batch_size=4, epochs=2))
    return warned(lambda: [step(X, Y) for _ in range(3)])


def test_critics_that_begin_alike_and_stay_alike_are_told_once():
    for options in ({}, {"accumulate": 2}, {"run": True}):
        (found,) = trained(both, critics(5, 5), **options)
        assert found.category is AlikeWarning
        assert "'0.w' and '1.w'" in str(found.message)


def test_others_are_let_be():
    def beside(model, x, y):
        return wg.mean((value(model[0], x) - wg.stop_gradient(value(model[1], x)) - y) ** 2)

    def in_turn(model, x, y):
        return wg.mean((wg.tanh(x @ model[0]) @ model[1] - y[:, None]) ** 2)

    assert not trained(both, critics(5, 6))
    assert not [each for each in trained(beside, critics(5, 5)) if each.category is AlikeWarning]
    square = np.random.default_rng(0).normal(size=(3, 3))
    assert not trained(in_turn, [square, square.copy()])
    assert not trained(both, [{"w": np.eye(3), "v": np.ones(3)} for _ in range(2)])


def test_steps_that_are_compared_with_each_other_are_let_be():
    def single(model, x, y):
        return wg.mean((value(model, x) - y) ** 2)

    (model,) = critics(5)
    others = [critics(5)[0], model, model]  # of the same seed, and the same one
    options = [{}, {}, {"seed": 1}, {"threads": 1}]
    steps = [
        wg.TrainStep(single, each, wg.optim.SGD(0.1), compiled=False, **more)
        for each, more in zip([model, *others], options, strict=True)
    ]
    rows = np.random.default_rng(0).integers(len(X), size=(4, len(X)))
    assert not warned(lambda: [step(X, Y) for _ in range(3) for step in steps])
    pairs = [*zip(steps, rows, strict=True)]  # each with rows of its own
    assert not warned(lambda: [step(X[i], Y[i]) for _ in range(3) for step, i in pairs])


def test_a_batch_norm_that_trains_in_bind_and_drops_its_state_is_told():
    norm = wg.nn.BatchNorm(3, dtype=np.float64)
    state = norm.initial_state()

    def loss(model, state, x):
        y, state = model(x, state, training=True)
        return wg.sum(y**3), state

    def called(f):
        step = wg.TrainStep(loss, norm, wg.optim.SGD(0.1), state=state)
        return [each.category for each in warned(lambda: step.bind(f)(step.state, X))]

    assert called(lambda m, s, x: m(x, s, training=True)[0]) == [BatchNormWarning]
    assert called(lambda m, s, x: m(x, s, training=False)[0]) == []
    assert called(lambda m, s, x: m(x, s, training=True)) == []
