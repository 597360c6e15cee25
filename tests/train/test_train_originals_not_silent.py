"""What a training step was made of and has copied: it says so where the original is used on."""

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import Layer, W, X, squares, warned
from wengert.errors import (
    BatchNormWarning,
    CheckpointError,
    CopiedWarning,
    ScheduleWarning,
    UntrainedWarning,
)

# The optimizer that a step was made with.


def test_an_original_that_is_changed_is_named():
    original = wg.optim.SGD(0.5, momentum=0.0)
    step = wg.TrainStep(squares, np.ones(3), original)
    step(X), step(X)
    assert warned(lambda: setattr(original, "lr", 0.25)) == []  # another step may be made with it
    (found,) = warned(lambda: step(X))
    assert found.category is CopiedWarning
    assert found.filename == __file__
    assert "Set step.optimizer.lr = 0.25." in str(found.message)
    assert step.last.learning_rate == 0.5
    assert warned(lambda: step(X)) == []  # once
    original.learning_rate = 0.125
    (found,) = warned(lambda: step.run(X, batch_size=4))
    assert "lr of the SGD that it was made with was set to 0.125" in str(found.message)
    assert warned(lambda: next(step.epochs(X, batch_size=4))) == []


def test_an_original_that_a_loop_changes_is_named_once():
    original = wg.optim.SGD(0.5)
    step = wg.TrainStep(squares, np.ones(3), original, compiled=False)

    def anneal():
        for i in range(5):
            original.lr = 0.5 - 0.1 * i
            step(X)

    (found,) = warned(anneal)
    assert "Set step.optimizer.lr = 0.4." in str(found.message)


def test_an_original_inside_others_is_named():
    inner = wg.optim.EMA(wg.optim.Adam(0.5), 0.9)
    step = wg.TrainStep(squares, np.ones(3), {"*": inner})
    inner.optimizer.betas = (0.5, 0.5)
    (found,) = warned(lambda: step(X))
    assert "Set step.optimizer['*'].optimizer.betas = (0.5, 0.5)." in str(found.message)


def test_no_reason_to_warn_of_originals():
    original = wg.optim.SGD(0.5)
    first = wg.TrainStep(squares, np.ones(3), original)
    first(X)
    original.lr = 0.25
    second = wg.TrainStep(squares, np.ones(3), original)
    assert warned(lambda: second(X)) == []  # one step after the other with one optimizer
    first.optimizer.lr = 0.25
    assert warned(lambda: first(X)) == []  # it was set there, too
    other = original.copy()
    other.lr = 0.75
    assert warned(lambda: [first(X), second(X)]) == []


def test_a_step_that_is_gone_is_not_told():
    original = wg.optim.SGD(0.5)
    step = wg.TrainStep(squares, np.ones(3), original)
    gone = weakref.ref(step._originals)
    del step
    gc.collect()
    assert gone() is None
    original.lr = 0.125


# States of models with other numbers.


@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_state_of_a_model_with_other_numbers_is_refused(through_a_file, tmp_path):
    def made(eps=1e-5, name="gelu"):
        model = {"layer": Layer(W, eps, extra={"name": name, "heads": 4, "causal": True})}
        return wg.TrainStep(lambda m, x: wg.mean(x @ m["layer"].w), model, wg.optim.SGD(0.1))

    step, path = made(), tmp_path / "step.safetensors"
    step(np.ones((2, 3), np.float32))
    step.save(path)
    state = wg.load(path) if through_a_file else step.state_dict()
    again = made()
    again.load_state_dict(state)
    assert again.fingerprint() == step.fingerprint()
    for other, path, value in (
        (made(eps=0.1), "eps", "0.1"),
        (made(name="relu"), "extra.name", "'relu'"),
    ):
        before = other.fingerprint()
        with pytest.raises(CheckpointError, match=rf"at 'layer\.{path}'; here it is {value}"):
            other.load_state_dict(state)
        assert other.fingerprint() == before
    del state["static"]["layer.eps"]
    other = made(eps=0.1)
    other.load_state_dict(state)  # as the message says
    del state["static"]
    other.load_state_dict(state)  # from before there was such a part
    state["static"] = [1.0]
    with pytest.raises(CheckpointError, match="static part to load is list"):
        other.load_state_dict(state)


def test_a_batch_that_does_not_fit_says_which_would():
    step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.1))
    with pytest.raises(
        wg.errors.ShapeError, match=r"batch_size=9 .* for 8 rows.* Choose 8 or less"
    ):
        step.run(X, batch_size=9)


# What a step has copied.


def test_a_loss_that_reads_the_arrays_the_step_was_made_with():
    net = {"enc": np.ones(3), "dec": np.ones(1)}
    outer = net["dec"]

    def made(loss):
        step = wg.TrainStep(loss, net, wg.optim.SGD(0.1))
        return warned(lambda: step(X))

    (found,) = made(lambda m, x: np.mean((x @ m["enc"]) * outer))
    assert found.category is UntrainedWarning
    assert "no gradient reaches 'dec', for the loss reads the array" in str(found.message)
    both = wg.nn.Linear(3, 1, dtype=np.float64)
    step = wg.TrainStep(
        lambda m, x: np.mean(both(x) * m["scale"]),
        {"enc": both, "scale": np.ones(1)},
        wg.optim.SGD(0.1),
    )
    (found,) = warned(lambda: step(X))
    assert "no gradient reaches 'enc.bias' and 1 more, for" in str(found.message)
    # Near where it began is meant, and so is what is not in the model.
    assert not made(lambda m, x: np.mean(x @ m["enc"] * m["dec"]) + np.sum((m["dec"] - outer) ** 2))


def test_metrics_and_settings_that_reach_the_original_only():
    plateau, inner = wg.optim.ReduceOnPlateau(0.1, patience=0), wg.optim.SGD(0.1)
    step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(plateau))
    step(X)
    plateau.observe(1.0)
    (found,) = warned(lambda: step(X))
    assert "Call step.optimizer.lr.observe(metric)" in str(found.message)
    step.optimizer.lr.observe(1.0)
    assert not warned(lambda: step(X))
    step = wg.TrainStep(squares, np.ones(3), wg.optim.EMA(inner))
    step(X)
    inner.lr = 0.2
    (found,) = warned(lambda: step(X))
    assert "Set step.optimizer.optimizer.lr = 0.2" in str(found.message)


def test_a_plateau_that_nobody_shows_a_metric():
    def made():
        rate = wg.optim.ReduceOnPlateau(0.1)
        return wg.TrainStep(squares, np.ones(3), wg.optim.SGD(rate), compiled=False)

    def epochs(step, observe=lambda loss: None):
        for epoch in step.epochs(X, batch_size=len(X), epochs=12):
            observe(epoch.loss)

    for train in (epochs, lambda step: step.run(X, batch_size=len(X), epochs=12)):
        step = made()
        (found,) = warned(lambda step=step, train=train: [train(step), train(step)])
        assert found.category is ScheduleWarning
        assert "shown no metric in 1" in str(found.message)
    step = made()
    assert not warned(lambda: epochs(step, step.optimizer.lr.observe))


def test_an_original_that_is_shown_a_metric_in_the_loop():
    optimizer = wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1))
    step = wg.TrainStep(squares, np.ones(3), optimizer, compiled=False)

    def train():
        for epoch in step.epochs(X, batch_size=len(X), epochs=1):
            optimizer.lr.observe(epoch.loss)

    (found,) = warned(train)
    assert found.category is CopiedWarning
    assert "Call step.optimizer.lr.observe(metric)" in str(found.message)


@pytest.mark.parametrize("carries", [True, False])
def test_a_batch_norm_that_trains_where_it_is_evaluated(carries):
    norm = wg.nn.BatchNorm(3, dtype=np.float64)
    kept = norm.initial_state()

    def loss(model, state, x):
        y, state = model(x, state, training=True)
        return wg.mean((y - 1) ** 2), state

    def alone(model, x):
        return loss(model, kept, x)[0]

    def measured(model, state, x):
        return wg.mean((model(x, state, training=False)[0] - 1) ** 2)

    step = wg.TrainStep(
        loss if carries else alone,
        norm,
        wg.optim.SGD(0.1),
        state=kept if carries else None,
        compiled=False,
    )
    rows = np.arange(12.0).reshape(4, 3)
    (found,) = warned(lambda: step.evaluate(loss if carries else alone, rows, batch_size=4))
    assert found.category is BatchNormWarning
    assert "training=True" in str(found.message)

    def fit(**options):
        wg.train.fit(step, (rows,), 1, 4, validation=(rows,), progress=False, **options)

    assert [each.category for each in warned(fit)] == [BatchNormWarning]
    if carries:
        assert not warned(lambda: fit(validation_loss=measured))
        assert not warned(lambda: step.evaluate(measured, step.state, rows, batch_size=4))


@pytest.mark.parametrize("kept", ["returned", "computed with", "dropped", "closed over"])
def test_statistics_of_batches_that_a_loss_drops_are_told(kept):
    norm = wg.nn.BatchNorm(3, dtype=np.float64)
    first = norm.initial_state()

    def loss(model, state, x):
        y, new = model(x, state, training=True)
        if kept == "computed with":
            new = wg.tree.map(lambda each: 1.0 * each, new)
        return wg.mean((y - 1) ** 2), state if kept == "dropped" else new

    carries = kept != "closed over"
    step = wg.TrainStep(
        loss if carries else lambda model, x: loss(model, first, x)[0],
        norm,
        wg.optim.SGD(0.1),
        state=first if carries else None,
    )
    found = warned(lambda: step(np.arange(12.0).reshape(4, 3)))
    told = {
        "dropped": "Return it: return value, new_state",
        "closed over": "Carry it: TrainStep(…, state=norm.initial_state())",
    }
    assert [each.category for each in found] == [BatchNormWarning] * (kept in told)
    assert all(told[kept] in str(each.message) for each in found)


@pytest.mark.parametrize(
    "made", ["by the step", "from outside", "trained before", "frozen", "both"]
)
def test_a_batch_norm_that_keeps_its_first_statistics_is_told(made):
    norm = wg.nn.BatchNorm(3, dtype=np.float64)
    model = {"norm": norm, "out": np.ones(3)}
    first = norm.initial_state()
    if made == "trained before":
        first["mean"] += 0.5

    def loss(model, state, x):
        y, same = model["norm"](x, first if made == "from outside" else state, training=False)
        if made == "both":  # as where a prediction with running statistics is a target
            _, same = model["norm"](x, state, training=True)
        return wg.mean((y @ model["out"] - 1) ** 2), same if made != "from outside" else state

    optimizer = {"norm.*": None, "*": wg.optim.SGD(0.1)} if made == "frozen" else wg.optim.SGD(0.1)
    step = wg.TrainStep(loss, model, optimizer, state=first)
    told = warned(lambda: step(np.arange(12.0).reshape(4, 3)))
    assert [each.category for each in told] == [BatchNormWarning] * (
        made in ("by the step", "from outside")
    )
    assert all("called with training=False in the loss" in str(each.message) for each in told)
