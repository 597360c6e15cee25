"""Arrays that a step was made with, and that somebody writes into: the step has copies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CopiedWarning
from wengert.train.mistakes.copied.taken_arrays import SMALL, mark_of

X = np.random.default_rng(0).standard_normal((8, 3))


@dataclass
class Line:
    w: np.ndarray
    b: np.ndarray


def squares(model, x):
    return wg.mean((x @ model.w + model.b - 1.0) ** 2)


def made(**options):
    model = Line(np.ones(3), np.zeros(()))
    return model, wg.TrainStep(squares, model, wg.optim.SGD(0.1), compiled=False, **options)


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in found if each.category is CopiedWarning]


CALLS = {
    "a call": lambda step: step(X),
    "run": lambda step: step.run(X, batch_size=4),
    "epochs": lambda step: next(step.epochs(X, batch_size=4)),
    "fit": lambda step: wg.train.fit(step, X, batch_size=4, epochs=1, progress=False),
    "evaluate": lambda step: step.evaluate(squares, X, batch_size=4),
    "bind": lambda step: step.bind(squares),
    "state_dict": lambda step: step.state_dict(),
    "fingerprint": lambda step: step.fingerprint(),
}


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_written_into_the_given_model_is_told_once(call, before):
    model, step = made()
    for _ in range(before):
        assert not warned(lambda: step(X))
    model.w[:] = 5.0
    (found,) = warned(lambda: CALLS[call](step))
    assert found.startswith("TrainStep: leaf 'w' of the model that it was made with was written to")
    assert "Write into the arrays of step.model" in found
    model.w[:] = 6.0
    assert not warned(lambda: [CALLS[call](step), step(X), step(X)])
    assert not np.any(step.model.w > 2.0)


REPLACED = {
    "an array": (lambda model: setattr(model["line"], "w", np.full(3, 5.0)), "leaf 'w'"),
    "a number": (lambda model: setattr(model["line"], "b", np.float64(5.0)), "leaf 'b'"),
    "another form": (lambda model: setattr(model["line"], "b", None), "the model that"),
}


@pytest.mark.parametrize("what", REPLACED)
def test_what_is_put_in_the_place_of_an_array_is_told(what):
    replace, leaf = REPLACED[what]
    model = {"line": Line(np.ones(3), np.zeros(()))}
    step = wg.TrainStep(
        lambda model, x: squares(model["line"], x), model, wg.optim.SGD(0.1), compiled=False
    )
    assert not warned(lambda: [step(X), step(X)])
    replace(model)
    (found,) = warned(lambda: [step(X), step.run(X, batch_size=8)])
    assert leaf in found
    model["line"].w = None
    assert not warned(lambda: [step(X), step.run(X, batch_size=8)])


def test_arrays_that_are_tied_afterwards_are_told():
    model = {"one": Line(np.ones(3), np.zeros(())), "two": Line(np.zeros(3), np.zeros(()))}
    step = wg.TrainStep(
        lambda model, x: squares(model["one"], x) + squares(model["two"], x),
        model,
        wg.optim.SGD(0.1),
        compiled=False,
    )
    assert not warned(lambda: [step(X), step(X)])
    model["two"].w = model["one"].w
    (found,) = warned(lambda: [step(X), step(X), step(X)])
    assert "leaf 'w' of the model that it was made with was replaced by another one" in found
    assert "To tie the two, make a new step" in found


@dataclass
class Scaled:
    w: np.ndarray
    scale: float = 1.0
    calls: int = 0

    def __call__(self, x):
        return self.scale * (x @ self.w)


def test_a_number_that_the_loss_reads_and_that_is_set_is_told():
    model = Scaled(np.ones(3))
    step = wg.TrainStep(lambda m, x: wg.mean(m(x)), model, wg.optim.SGD(0.1), compiled=False)
    step(X)
    model.calls += 1  # nobody reads it
    assert not warned(lambda: [step(X), step(X)])
    model.scale = 0.5
    (found,) = warned(lambda: [step(X) for _ in range(5)])
    assert "'scale' of the model that it was made with was set to 0.5" in found
    assert "where it is 1.0" in found


def greedy(eps, m, x, draw):
    return wg.where(draw < eps, 0.0, x @ m.w)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_number_that_a_bound_function_reads_and_that_is_set_is_told(compiled):
    model = Scaled(np.ones(3))
    step = wg.TrainStep(lambda m, x: wg.mean(x @ m.w), model, wg.optim.SGD(0.1), compiled=compiled)
    act = step.bind(lambda m, x, draw: greedy(m.calls, m, x, draw))

    def acting():
        for _ in range(5):
            act(X, 0.5)
            step(X)
            model.calls += 1

    (found,) = warned(acting)
    assert "'calls' of the model that it was made with was set to" in found
    assert "an argument of the loss, or of the bound function that reads it" in found


def test_a_number_that_is_an_argument_of_a_bound_function_is_let_be():
    model = Scaled(np.ones(3))
    step = wg.TrainStep(lambda m, x: wg.mean(x @ m.w), model, wg.optim.SGD(0.1), compiled=False)
    act = step.bind(lambda m, x, calls, draw: greedy(calls, m, x, draw))

    def acting():
        for _ in range(5):
            act(X, model.calls, 0.5)
            step(X)
            model.calls += 1

    assert not warned(acting)


def test_a_number_that_a_bound_function_has_read_is_let_be_once_that_is_gone():
    model = Scaled(np.ones(3))
    step = wg.TrainStep(lambda m, x: wg.mean(x @ m.w), model, wg.optim.SGD(0.1), compiled=False)
    step(X)
    model.calls = 2  # before it is bound, and nobody reads it yet
    step(X)
    act = step.bind(lambda m, x: m.calls * (x @ m.w))
    assert not warned(lambda: [(act(X), step(X)) for _ in range(5)])


def dropping():
    layers = wg.nn.Sequential(wg.nn.Linear(3, 2, dtype=np.float64, seed=0), wg.nn.Dropout(0.5))
    return layers, lambda: wg.TrainStep(
        lambda m, x, rng: wg.mean(m(x, rng=rng) ** 2), layers, wg.optim.SGD(0.1), compiled=False
    )


@pytest.mark.parametrize("way", ["set", "replaced"])
def test_a_setting_of_a_layer_that_is_set_is_told(way):
    model, make = dropping()
    step = make()
    step(X)
    if way == "set":
        model[1].rate = 0.0
    else:
        model.layers = (model[0], wg.nn.Dropout(0.0))
    (found,) = warned(lambda: [step(X) for _ in range(5)])
    assert "'layers.1.rate' of the model that it was made with was set to 0.0" in found


@pytest.mark.parametrize("use", ["another step", "average"])
def test_a_setting_of_a_layer_with_another_use_is_let_be(use):
    model, make = dropping()
    step = make()
    step(X)
    model[1].rate = 0.25
    other = make() if use == "another step" else None

    def follow():
        for x, live in zip(wg.tree.leaves(model), wg.tree.leaves(step.model), strict=True):
            if other is None:
                x += 0.5 * (live - x)
        step(X)

    assert not warned(lambda: [follow() for _ in range(5)])


def test_the_line_is_that_of_the_call():
    model, step = made()
    model.b[...] = 3.0
    with pytest.warns(CopiedWarning, match="leaf 'b'") as found:
        step(X)
    assert found[0].filename == __file__


def test_compiled_calls_are_looked_at_now_and_then():
    w = np.ones(3)
    step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), w, wg.optim.SGD(1e-3))
    assert not warned(lambda: [step(X) for _ in range(100)])
    w[1] += 1.0
    found = warned(lambda: [step(X) for _ in range(100)])
    assert [each[:44] for each in found] == ["TrainStep: the model that it was made with w"]


def test_a_state_that_was_given():
    state = {"count": np.zeros(())}
    step = wg.TrainStep(
        lambda w, state, x: (wg.mean(x @ w), {"count": state["count"] + 1}),
        np.ones(3),
        wg.optim.SGD(0.1),
        state=state,
        compiled=False,
    )
    step(X)
    state["count"][...] = 0.5
    (found,) = warned(lambda: step(X))
    assert "leaf 'count' of the state" in found
    assert "step.state" in found


def test_a_member_of_an_ensemble():
    models = [Line(np.full(3, float(i)), np.zeros(())) for i in range(3)]
    ensemble = wg.Ensemble(squares, models, wg.optim.SGD(0.1), compiled=False)
    assert not warned(lambda: [ensemble(X), ensemble(X)])
    models[2].w[0] = 7.0
    assert len(warned(lambda: ensemble.evaluate(squares, X, batch_size=8))) == 1


def follow(model, step):
    """A copy of what was trained, for use elsewhere."""
    step(X)
    model.w[:], model.b[...] = step.model.w, step.model.b
    step(X), step(X), step(X)
    model.w[:], model.b[...] = step.model.w, step.model.b


def assign(model, step):
    step(X)
    model.w[:] = 3.0
    step.model = model


def make_another(model, step):
    model.w[:] = 3.0
    wg.TrainStep(squares, model, wg.optim.SGD(0.1), compiled=False)


def write_the_same(model, step):
    model.w[:] = model.w.copy()


def use_what_was_trained(model, step):
    step(X)
    model.w, model.b = step.model.w, step.model.b.copy()


def replace_for_another(model, step):
    model.w = np.full(3, 3.0)
    wg.TrainStep(squares, model, wg.optim.SGD(0.1), compiled=False)


def count_calls(model, step):
    model.calls = 1


def train_beside(model, step):
    """The same steps in NumPy, to compare with."""
    for _ in range(5):
        g = wg.grad(squares)(model, X)
        step(X)
        model.w[:] -= 0.1 * g.w
        model.b[...] -= 0.1 * g.b


@pytest.mark.parametrize(
    "use",
    [
        follow,
        assign,
        make_another,
        write_the_same,
        use_what_was_trained,
        replace_for_another,
        count_calls,
        train_beside,
    ],
    ids=lambda f: f.__name__,
)
def test_no_reason_to_warn(use):
    model, step = made()
    assert not warned(lambda: [use(model, step), [step(X) for _ in range(20)]])


def test_arrays_that_are_gone():
    w = np.ones(3)
    memory = np.zeros(8)
    memory[:3] = w
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), memory[:3], wg.optim.SGD(0.1), compiled=False)
    memory[:] = 7.0  # the array that was given is no more; the memory has another use
    assert not warned(lambda: step(X))
    assert step._engine.given.is_over


def test_a_target_that_is_an_argument():
    target = np.ones(3)
    step = wg.TrainStep(
        lambda w, target, x: wg.mean((x @ w - x @ target - 1.0) ** 2),
        target,
        wg.optim.SGD(0.1),
        compiled=False,
    )

    def train():
        for _ in range(10):
            step(target, X)
            target[:] = 0.9 * target + 0.1 * step.model

    assert not warned(train)


@pytest.mark.parametrize("size", [3, SMALL, SMALL + 5])
def test_marks(size):
    x = np.zeros(size, np.uint8).reshape(1, -1)
    before = mark_of(x)
    assert mark_of(x.copy()) == before
    for place in (0, size // 2, size - 1):
        x[0, place] = 1
        assert mark_of(x) != before
        x[0, place] = 0
    rows = np.arange(4096.0).reshape(64, 64)
    before = mark_of(rows)
    rows[[3, 40]] = rows[[40, 3]]  # the sum of all is the same
    assert mark_of(rows) != before
    assert mark_of(np.asfortranarray(np.eye(3)[:, ::2])) == mark_of(np.eye(3)[:, ::2].copy())


def test_the_network_of_a_step_may_be_the_target_that_another_one_is_given():
    def loss(w, x):
        return wg.mean((x @ w) ** 2)

    def loss_by(w, x, target):
        return wg.mean((x @ w - x @ target) ** 2)

    x, target = np.ones((4, 3)), np.ones(3)
    online = wg.TrainStep(loss, target, wg.optim.SGD(0.01))
    actor = wg.TrainStep(loss_by, np.zeros(3), wg.optim.SGD(0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(8):
            online(x)
            target += 0.1 * (online.model - target)
            actor(x, target)


@pytest.mark.parametrize("every", [1, 3])
def test_a_target_outside_of_the_loss_may_follow_the_step(every):
    net = {"w": np.random.default_rng(0).standard_normal((3, 4)), "b": np.zeros(4)}

    def loss(m, x, y):
        return wg.mean((x @ m["w"] + m["b"] - y) ** 2)

    step = wg.TrainStep(loss, net, wg.optim.Adam(1e-2), compiled=False)

    def train(written):
        for i in range(10):
            step(X, 1 + 0.9 * (X @ net["w"] + net["b"]))
            for name in ("w", "b") if i % every == every - 1 else ():
                net[name][...] = written(net[name], step.model[name])

    assert not warned(lambda: train(lambda target, own: 0.9 * target + 0.1 * own))
    step = wg.TrainStep(loss, net, wg.optim.Adam(1e-2), compiled=False)
    assert warned(lambda: train(lambda target, own: 0.9 * target))
