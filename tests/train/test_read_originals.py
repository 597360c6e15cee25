"""Functions that are bound or evaluated and read the model that the step was made with."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, warned
from wengert.errors import UntrainedWarning


def loss(m, x, y):
    return wg.mean((x @ m["w"] * m["s"] - y) ** 2)


def made():
    return {"w": np.ones(3), "s": np.ones(1)}


def stepped(model, loss=loss, optimizer=None):
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.01))


def told(warnings):
    (warning,) = warnings
    assert (warning.category, warning.filename) == (UntrainedWarning, __file__)
    return str(warning.message)


# What never sees training.


def test_a_bound_function_is_named_once():
    model = made()
    step = stepped(model)
    predict = step.bind(lambda m, x: x @ model["w"] * model["s"])
    text = told(warned(lambda: [predict(X), step(X, Y), predict(X), predict(X[0])]))
    assert "TrainStep.bind: the function reads leaf 'w' of the model and 1 more that the" in text


def test_an_evaluated_function_is_named_where_it_is_written():
    model = made()
    step = stepped(model)
    step(X, Y)
    written = lambda m, x, y: loss(model, x, y)  # noqa: E731
    (warning,) = warned(lambda: step.evaluate(written, X, Y, batch_size=8))
    assert "TrainStep.evaluate: the function reads leaf 'w'" in str(warning.message)
    assert warning.lineno == written.__code__.co_firstlineno


def test_one_part_of_the_model():
    model = made()
    w = model["w"]
    text = told(warned(lambda: stepped(model).bind(lambda m, x: x[:, :2] @ w[:2] * m["s"])(X)))
    assert "reads leaf 'w' of the model that the step was made with" in text


def test_functions_of_a_fit():
    model = made()

    def fit():
        wg.train.fit(
            stepped(model),
            (X, Y),
            epochs=1,
            batch_size=4,
            validation=0.5,
            metrics=["mae"],
            predict=lambda m, x: x @ model["w"] * model["s"],
            validation_loss=lambda m, x, y: loss(model, x, y),
            progress=False,
        )

    kinds = [each.category for each in warned(fit)]
    assert kinds.count(UntrainedWarning) == 2


def test_a_member_of_an_ensemble():
    models = [made(), {"w": np.zeros(3), "s": np.ones(1)}]
    ensemble = wg.Ensemble(loss, models, wg.optim.SGD(0.01))
    assert "leaf 'w'" in told(
        warned(lambda: ensemble.bind(lambda m, x: x @ models[1]["w"] * models[1]["s"])(X))
    )
    assert not warned(lambda: ensemble.bind(lambda m, x: x @ (m["w"] - models[1]["w"]))(X))


# What is meant.


def test_functions_that_compare():
    model = made()
    step = stepped(model)
    drift = step.bind(lambda m: wg.sum((m["w"] - model["w"]) ** 2))
    both = step.bind(lambda m, x: x @ m["w"] - x @ model["w"] * model["s"])
    given = step.bind(lambda m, other, x: x @ other["w"] * other["s"])
    slope = step.bind(lambda m, x: wg.grad(lambda p: wg.sum(x @ p["w"] * (x @ model["w"])))(m))
    assert not warned(lambda: [drift(), both(X), given(model, X), slope(X), step(X, Y)])
    assert not warned(step.bind(lambda m: {"now": m, "then": model}))


def test_averages_that_are_compared():
    model = made()
    step = stepped(model, optimizer=wg.optim.EMA(wg.optim.SGD(0.01)))
    drift = step.bind(lambda m, averaged: wg.sum((averaged["w"] - model["w"]) ** 2))
    assert not warned(drift)


def test_what_is_frozen():
    model = made()
    step = stepped(model, optimizer={"w": None, "*": wg.optim.SGD(0.01)})
    assert not warned(lambda: step.bind(lambda m, x: x @ model["w"] * m["s"])(X))


def test_a_reference_that_the_loss_reads_too():
    model = made()

    def near(m, x, y):
        return loss(m, x, y) + wg.sum((m["w"] - model["w"]) ** 2)

    step = stepped(model, near)
    assert not warned(lambda: step.bind(lambda m, x: x @ model["w"])(X))


def test_arrays_with_a_use_of_their_own():
    rows = X.copy()
    points = stepped({"z": rows[:2], "w": np.ones(3)}, lambda m, x: wg.sum(m["z"] @ m["w"]))
    assert not warned(lambda: points.bind(lambda m, x: rows @ x)(X[0]))  # z is a part of the data
    other = made()
    steps = stepped(other), stepped(made())
    assert not warned(lambda: steps[1].bind(lambda m, x: x @ other["w"] * other["s"])(X))


@pytest.mark.filterwarnings("ignore::wengert.errors.CopiedWarning")
def test_a_target_that_is_written_to():
    model = made()
    step = stepped(model)
    step(X, Y)
    model["w"][...] = step.model["w"]
    model["s"][...] = step.model["s"]
    assert not warned(lambda: step.bind(lambda m, x: x @ model["w"] * model["s"])(X))
