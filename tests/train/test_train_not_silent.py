"""What a training step would do otherwise than meant, and says."""

import gc
import warnings
import weakref
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from wengert.errors import (
    BatchNormWarning,
    CheckpointError,
    CheckpointWarning,
    CopiedWarning,
    DropoutWarning,
    LogitsWarning,
    NonFiniteError,
    PairedRowsWarning,
    ScannedRowsWarning,
    ScheduleWarning,
    UnreachedWarning,
    UntrainedWarning,
    WengertWarning,
)

X = np.random.default_rng(0).standard_normal((8, 3))
Y = X @ np.array([1.0, -2.0, 0.5])


def warned(call):
    """Our warnings in a call, however often they were shown before."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [each for each in found if issubclass(each.category, WengertWarning)]


def stepped(loss, model, *batch, **options):
    return lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.01), **options)(*batch)


# Python floats in a model.


@dataclass
class Layer:
    w: np.ndarray
    eps: float = 1e-5
    betas: tuple = (0.9, 0.99)
    extra: dict | None = None


Pair = namedtuple("Pair", "w rate")
W = np.ones(3, np.float32)


def total(model, x):
    return sum(wg.sum(leaf) for leaf in wg.tree.leaves(model)) * wg.mean(x)


@pytest.mark.parametrize(
    ("model", "path"),
    [({"w": W, "scale": 1.5}, "scale"), ([W, 1.5], "1"), ({"a": [{"w": W, "b": 1.5}]}, "a.0.b")],
)
def test_a_python_float_among_parameters_is_named(model, path):
    (found,) = warned(lambda: wg.TrainStep(total, model, wg.optim.SGD(0.1)))
    assert found.category is UntrainedWarning
    assert found.filename == __file__
    assert f"leaf {path!r} of the model is the Python float 1.5" in str(found.message)
    assert "np.float32(1.5)" in str(found.message)


def test_several_floats_are_counted():
    model = {"w": W, "b": 0.0, "scale": 1.5, "shift": 2.5}
    (found,) = warned(lambda: wg.TrainStep(total, model, wg.optim.SGD(0.1)))
    assert "'b' of the model is the Python float 0.0; so are 2 more" in str(found.message)


SETTINGS = {
    "a field": Layer(W),
    "fields in a list": [Layer(W), Layer(W.copy())],
    "a dict in a field": Layer(W, extra={"rate": 0.5}),
    "a named tuple": {"pair": Pair(W, 0.5)},
    "a tuple": {"w": W, "betas": (0.9, 0.99)},
    "counts and texts": {"w": W, "heads": 4, "kind": "gelu", "causal": True, "none": None},
    "numbers of NumPy's": {"w": W, "scale": np.float32(1.5)},
}


@pytest.mark.parametrize("model", SETTINGS)
def test_settings_are_no_reason_to_warn(model):
    assert warned(lambda: wg.TrainStep(total, SETTINGS[model], wg.optim.SGD(0.1))) == []


def test_a_number_of_numpys_is_trained():
    step = wg.TrainStep(total, {"w": W, "scale": np.float32(1.5)}, wg.optim.SGD(0.1))
    step(np.ones(2, np.float32))
    assert step.model["scale"] == pytest.approx(1.4)


# Integers in a model.

MU = {"mu": np.zeros(2, int), "scale": np.ones(2)}


@pytest.mark.parametrize(
    "loss",
    [
        lambda m, x: wg.mean((x - m["mu"]) ** 2 * m["scale"]),
        lambda m, x: wg.mean(m["scale"] * m["mu"]) + wg.mean(x),
        lambda m, x: wg.mean((x @ m["mu"][:, None]) * m["scale"]),
    ],
)
def test_integers_that_a_loss_uses_as_floats_are_named(loss):
    (found,) = warned(stepped(loss, MU, np.ones((3, 2))))
    assert found.category is UntrainedWarning
    assert found.filename == __file__
    assert "leaf 'mu' of the model is an array of int64" in str(found.message)
    assert "np.float64 to train it" in str(found.message)


def test_integers_that_are_data_are_no_reason_to_warn():
    def loss(m, x):
        chosen = x[:, m["mu"]] * wg.where(m["mu"] > 1, 0.5, m["scale"])
        return wg.mean(chosen) * wg.mean(m["mu"].astype(np.float64)) / (1 + wg.max(m["mu"]))

    assert warned(stepped(loss, MU, np.ones((3, 2)))) == []


# Pairs of rows.

COLUMN = {"w": np.ones((3, 1)), "b": np.zeros(1)}


def predicted(model, x):
    return wg.tanh(x @ model["w"] + model["b"])


def squared_distances(a, b):
    return wg.sum(a * a, axis=1, keepdims=True) + wg.sum(b * b, axis=1) - 2 * a @ b.T


PAIRED = {
    "predictions are a column": (
        lambda m, x, y: wg.mean((predicted(m, x) - y) ** 2),
        COLUMN,
        (X, Y),
    ),
    "in NumPy": (lambda m, x, y: np.mean(np.abs(y - x @ m["w"])), COLUMN, (X, Y)),
    "targets are a column": (lambda w, x, y: wg.mean((x @ w - y) ** 2), W, (X, Y[:, None])),
    "layers": (
        lambda m, x, y: wg.mean((m(x) - y) ** 2),
        wg.nn.Sequential(wg.nn.Linear(3, 4), wg.tanh, wg.nn.Linear(4, 1)),
        (X, Y),
    ),
    "one action of each row": (
        lambda m, x, a, y: wg.mean((wg.take_along_axis(x @ m, a[:, None], axis=1) - y) ** 2),
        np.ones((3, 2)),
        (X, np.zeros(8, int), Y),
    ),
    "a sum that keeps its axis": (
        lambda w, x, y: wg.mean((wg.sum(x * w, axis=1, keepdims=True) - y) ** 2),
        W,
        (X, Y),
    ),
    "the first column": (
        lambda m, x, y: wg.mean(wg.abs((x @ m)[:, :1] - y)),
        np.ones((3, 2)),
        (X, Y),
    ),
    "a logarithm on the way": (
        lambda m, x, y: -wg.mean(y * wg.log(wg.sigmoid(x @ m["w"]))),
        COLUMN,
        (X, Y),
    ),
}
NOT_PAIRED = {
    "both are rows": (lambda m, x, y: wg.mean((predicted(m, x)[:, 0] - y) ** 2), COLUMN, (X, Y)),
    "both are columns": (lambda m, x, y: wg.mean((x @ m["w"] - y) ** 2), COLUMN, (X, Y[:, None])),
    "pairs on purpose": (
        lambda w, x, y: wg.mean(wg.exp(-(((x @ w)[:, None] - y) ** 2))),
        W,
        (X, Y),
    ),
    "squared distances of two sets of points": (
        lambda m, x, y: wg.mean(wg.exp(-squared_distances(x @ m, y))),
        np.ones((3, 2)),
        (X, X[:, :2]),
    ),
    "pairs of one thing": (lambda w, x: wg.mean(wg.abs((x @ w)[:, None] - x @ w)), W, (X,)),
    "pairs of data": (
        lambda w, x, y: wg.mean(x @ w) * wg.mean(wg.abs(y[:, None] - y)),
        W,
        (X, Y),
    ),
    "pairs that are used as a matrix": (
        lambda m, x, y: wg.sum(((x @ m["w"] - y) ** 2) @ y),
        COLUMN,
        (X, Y),
    ),
    "a column and a bias": (lambda m, x: wg.mean((x @ m["w"] + m["b"]) ** 2), COLUMN, (X,)),
    "as many rows by chance": (
        lambda m, x, y: wg.mean((x @ m["w"] - y[0]) ** 2),
        COLUMN,
        (X, np.ones((8, 8))),
    ),
}


@pytest.mark.parametrize("case", PAIRED)
def test_rows_that_are_paired_are_named(case):
    loss, model, batch = PAIRED[case]
    (found,) = warned(stepped(loss, model, *batch))
    assert found.category is PairedRowsWarning
    assert found.filename == __file__
    assert "given shapes (n, 1) and (n,)" in str(found.message)


@pytest.mark.parametrize("case", NOT_PAIRED)
def test_other_shapes_are_no_reason_to_warn(case):
    loss, model, batch = NOT_PAIRED[case]
    assert warned(stepped(loss, model, *batch)) == []


# What learners of reinforcement get wrong: rewards of another shape than values of states.

Q = np.random.default_rng(1).standard_normal((3, 2))
ACTIONS = np.arange(8) % 2
TARGET = wg.nn.Linear.of(Q.T.copy())


def column_of(q, actions):
    return wg.take_along_axis(q, actions[:, None], axis=1)


def td_error(m, target, s, a, r, s2, done):
    wanted = r + 0.99 * wg.max(target(s2), axis=1) * (1 - done)
    return wg.mean((column_of(s @ m, a)[:, 0] - wanted) ** 2)


def td_error_of_state(m, state, s, a, r, s2):
    wanted = r + 0.99 * wg.max(s2 @ state, axis=1)
    return wg.mean((column_of(s @ m, a) - wanted) ** 2), state


def td_error_of_average(m, s, a, r, s2, averaged):
    return wg.mean((column_of(s @ m, a) - (r + 0.99 * wg.max(s2 @ averaged, axis=1))) ** 2)


def td_error_of_model(m, s, a, r, s2):
    wanted = r + 0.99 * wg.stop_gradient(wg.max(s2 @ m, axis=1))
    return wg.mean((column_of(s @ m, a) - wanted) ** 2)


def actor_loss(m, s):
    logp = wg.sum(wg.log_softmax(s @ m["actor"]), axis=1)
    return wg.mean(0.2 * logp - wg.minimum(s @ m["w"], s @ m["v"]))


def differences(m, s):
    p = s @ m[:, :1]
    return wg.mean(wg.abs(p - p[:, 0]))


LEARNERS = {
    "rewards and ends are columns": (
        td_error,
        (TARGET, X, ACTIONS, Y[:, None], X, np.ones((8, 1))),
    ),
    "rewards are a column": (td_error, (TARGET, X, ACTIONS, Y[:, None], X, np.ones(8))),
    "other weights are the first argument": (
        lambda m, target, s, r: wg.mean((wg.sum(s @ (m + target), axis=1, keepdims=True) - r) ** 2),
        (Q, X, Y),
    ),
    "a target in the state": (td_error_of_state, (X, ACTIONS, Y, X)),
    "an averaged target": (td_error_of_average, (X, ACTIONS, Y, X)),
    "the model is the target": (td_error_of_model, (X, ACTIONS, Y, X)),
    "actor and critics in one model": (actor_loss, (X,)),
    "every action of every row": (
        lambda m, s, a, r: wg.mean(((s @ m)[:, a] - r) ** 2),
        (X, ACTIONS, Y),
    ),
    "actions are a column": (
        lambda m, s, a, r: -wg.mean(wg.distributions.Categorical(s @ m).log_prob(a) * r),
        (X, ACTIONS[:, None], Y),
    ),
}
RIGHT_LEARNERS = {
    "rewards and ends are rows": (td_error, (TARGET, X, ACTIONS, Y, X, np.ones(8))),
    "actions are rows": (LEARNERS["actions are a column"][0], (X, ACTIONS, Y)),
    "all actions for all rows": (
        lambda m, s, a: -wg.mean(wg.distributions.Categorical(s @ m).log_prob(a[:, None])),
        (X, ACTIONS),
    ),
    "other rows as wrong answers": (
        lambda m, s, a: wg.cross_entropy((s @ m)[:, a], wg.arange(s.shape[0])),
        (X, ACTIONS),
    ),
    "scores of all pairs": (
        lambda m, s: wg.mean(wg.softmax(s @ m[:, :1] + s @ m[:, 1], axis=1) @ s),
        (X,),
    ),
    "differences of one thing": (
        differences,
        (X,),
    ),
    "differences that are written": (
        lambda m, s: wg.mean(wg.abs((s @ m[:, 0])[:, None] - (s @ m[:, 1])[None, :])),
        (X,),
    ),
    "a kernel": (
        lambda m, s: wg.mean(wg.exp(-squared_distances(s @ m, s @ m))),
        (X,),
    ),
}


def learned(loss, batch):
    model = {"actor": Q, **COLUMN, "v": np.ones((3, 1))} if loss is actor_loss else Q
    optimizer = wg.optim.SGD(0.01)
    if loss is td_error_of_average:
        optimizer = wg.optim.EMA(optimizer)
    options = {"state": Q.copy()} if loss is td_error_of_state else {}
    return lambda: wg.TrainStep(loss, model, optimizer, **options)(*batch)


@pytest.mark.parametrize("case", LEARNERS)
def test_rows_that_a_learner_pairs_are_named(case):
    (found,) = warned(learned(*LEARNERS[case]))
    assert found.category is PairedRowsWarning
    assert found.filename == __file__
    assert "each pair of rows" in str(found.message)


@pytest.mark.parametrize("case", RIGHT_LEARNERS)
def test_learners_with_one_shape_or_with_pairs_on_purpose_are_let_pass(case):
    assert warned(learned(*RIGHT_LEARNERS[case])) == []


def test_paired_rows_are_looked_for_once_for_each_program():
    loss, model, batch = PAIRED["predictions are a column"]
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    assert len(warned(lambda: step(*batch))) == 1
    assert warned(lambda: [step(*batch), step(X[:4], Y[:4])]) == []


def test_paired_rows_are_named_where_a_loss_is_evaluated():
    loss, model, batch = PAIRED["predictions are a column"]
    step = wg.TrainStep(lambda m, x, y: wg.mean(predicted(m, x)), model, wg.optim.SGD(0.01))
    (found,) = warned(lambda: step.evaluate(loss, *batch, batch_size=4))
    assert found.category is PairedRowsWarning
    assert "in TrainStep.evaluate" in str(found.message)


def test_a_long_loss_is_looked_through_at_once():
    """Each node is read twice: a walk over all ways would take for ever."""

    def loss(m, x, y):
        found = x @ m["w"]
        for _ in range(60):
            found = found + found * 0.5
        return wg.mean((found - y) ** 2)

    (found,) = warned(stepped(loss, COLUMN, X, Y, nonfinite="ignore"))
    assert found.category is PairedRowsWarning


# Rows that are scanned.

SEQUENCES = np.random.default_rng(2).standard_normal((8, 5, 3))  # (batch, time, in)
FLOAT = {"dtype": np.float64, "seed": 0}


def last_time(m, x, y):
    hs, _ = m[0](x)
    return wg.mean((m[1](hs[:, -1])[:, 0] - y) ** 2)


def mean_of_times(m, x, y):
    return wg.mean((m[1](wg.mean(m[0](x)[0], axis=1))[:, 0] - y) ** 2)


def last_state(m, x, y):
    hs, _ = m[0](x)
    return wg.mean((m[1](hs[-1])[:, 0] - y) ** 2)


def all_times(m, x, y):
    return wg.mean((m[1](m[0](x)[0])[..., 0] - y) ** 2)


def recurrent(kind, loss, *batch):
    model = [kind(3, 2, **FLOAT), wg.nn.Linear(2, 1, **FLOAT)]
    return stepped(loss, model, *batch)


@pytest.mark.parametrize("kind", [wg.nn.GRU, wg.nn.LSTM, wg.nn.RNN])
def test_a_recurrent_layer_that_goes_from_row_to_row_is_named(kind):
    (found,) = warned(recurrent(kind, last_time, SEQUENCES, Y))
    assert found.category is ScannedRowsWarning
    assert found.lineno == last_time.__code__.co_firstlineno + 1
    assert f"{kind.__name__}: given xs of shape (n, 5, in)" in str(found.message)
    assert "layer(wg.swapaxes(xs, 0, 1))" in str(found.message)


def test_rows_are_known_by_targets_that_have_no_time():
    (found,) = warned(recurrent(wg.nn.GRU, mean_of_times, SEQUENCES, Y))
    assert found.category is ScannedRowsWarning


@pytest.mark.parametrize(
    ("loss", "batch"),
    [
        (last_state, (SEQUENCES.swapaxes(0, 1), Y)),  # a time first
        (last_state, (np.ones((8, 8, 3)), Y)),  # as many times as rows
        (all_times, (SEQUENCES, np.ones((8, 5)))),  # with a target for each time
        (lambda m, x, y: last_state(m, wg.swapaxes(x, 0, 1), y), (SEQUENCES, Y)),
    ],
)
def test_sequences_with_time_first_are_let_pass(loss, batch):
    assert warned(recurrent(wg.nn.GRU, loss, *batch)) == []


# The state of a loss in another place than the second.


@pytest.mark.parametrize("state", [np.zeros((), np.float32), np.zeros(3, np.float32)])
def test_a_loss_whose_state_is_not_its_second_argument_is_told_so(state):
    def loss(w, x, y, state):
        return wg.mean((x @ w - y) ** 2), state + 1

    with pytest.raises(wg.errors.ShapeError) as caught:
        stepped(loss, W, X, Y, state=state)()
    (note,) = caught.value.__notes__
    assert "second argument of a loss, here 'x', and the parameter 'state' is argument 4" in note


def test_a_batch_argument_may_be_called_state():
    def loss(w, kept, state):
        return wg.mean(state @ w), kept + 1

    assert warned(stepped(loss, W, X, state=np.float32(0))) == []


# Errors inside runs.


def logarithm(w, x):
    return wg.mean(wg.log(x @ w))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("value", [-1.0, np.nan])
@pytest.mark.parametrize("compiled", [True, False])
def test_an_error_in_a_run_names_the_row_of_the_data(seed, value, compiled):
    data = np.ones((40, 3))
    step = wg.TrainStep(logarithm, np.ones(3), wg.optim.SGD(0.0), compiled=compiled)
    step.run(data, batch_size=8, shuffle_seed=seed)
    data[23] = value
    taken = []
    with pytest.raises(NonFiniteError) as caught:
        step.run(data, batch_size=8, epochs=2, shuffle_seed=seed)
    taken = step.state_dict()["unfinished"]["epoch"]["batches"]
    error = caught.value
    assert error.row == (7 if seed is None else error.row)
    assert 0 <= error.row < 8
    assert error.__notes__ == [
        f"In epoch 1, batch {taken} of 5, both from 0: row {error.row} of the batch is row 23 of "
        "the data."
    ]


@pytest.mark.parametrize("seed", [None, 3])
def test_an_error_of_no_row_names_the_rows_of_the_batch(seed):
    data = np.concatenate([np.ones(8), -np.ones(4)])
    step = wg.TrainStep(
        lambda w, x: wg.log(wg.mean(x * w)), np.ones(()), wg.optim.SGD(0.0), nonfinite="raise"
    )
    with pytest.raises(NonFiniteError) as caught:
        step.run(data[::-1].copy(), batch_size=4, shuffle_seed=seed)
    (note,) = caught.value.__notes__
    assert caught.value.row is None
    if seed is None:
        assert note.endswith("batch 0 of 3, both from 0: the batch has rows 0 to 3 of the data.")
    else:
        assert "the batch has rows [" in note


def test_an_error_of_a_parameter_has_no_row():
    step = wg.TrainStep(logarithm, np.ones(3), wg.optim.SGD(0.0))
    step.model[1] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        step(np.ones((3, 3)))
    assert caught.value.row is None


# Dropout in evaluation.


def dropped(w, x, rng):
    return wg.mean(wg.dropout(x, 0.5, rng) @ w)


def dropped_in_training(w, x, rng=None):
    return wg.mean(wg.dropout(x, 0.5, rng) @ w)


def noisy(w, x, rng):
    return wg.mean((x + rng.normal(x.shape)) @ w)


def test_a_loss_that_drops_in_evaluation_is_named():
    step = wg.TrainStep(dropped, np.ones(3), wg.optim.SGD(0.1))
    (found,) = warned(lambda: step.evaluate(dropped, X, batch_size=4))
    assert found.category is DropoutWarning
    assert "rng=None" in str(found.message)
    assert found.lineno == dropped.__code__.co_firstlineno + 1


@pytest.mark.parametrize("loss", [dropped_in_training, noisy])
def test_evaluation_without_dropout_is_no_reason_to_warn(loss):
    step = wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.0))
    step(X)
    assert warned(lambda: step.evaluate(loss, X, batch_size=4)) == []


def test_the_repair_evaluates_without_dropout():
    step = wg.TrainStep(dropped_in_training, np.ones(3), wg.optim.SGD(0.0))
    assert step.evaluate(dropped_in_training, X, batch_size=4) == pytest.approx(np.mean(X.sum(1)))
    assert step(X) != pytest.approx(np.mean(X.sum(1)))


def test_another_function_that_drops_is_what_was_asked_for():
    step = wg.TrainStep(dropped, np.ones(3), wg.optim.SGD(0.1))
    several = lambda w, x, rng: dropped(w, x, rng)  # noqa: E731
    assert warned(lambda: step.evaluate(several, X, batch_size=4)) == []


# The optimizer that a step was made with.


def squares(w, x):
    return wg.mean((x @ w) ** 2)


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


# Probabilities where logits are meant.


LOGITS = {
    "softmax": lambda w, x, y: wg.cross_entropy(wg.softmax(x @ w), y),
    "sigmoid": lambda w, x, y: wg.bce_with_logits(wg.sigmoid(x @ w)[:, 0], y),
}


@pytest.mark.parametrize("name", LOGITS)
def test_probabilities_in_the_place_of_logits_are_named(name):
    batch = (X, (Y > 0).astype(int))
    (found,) = warned(stepped(LOGITS[name], np.ones((3, 2)), *batch))
    assert found.category is LogitsWarning
    assert found.filename == __file__
    assert f"Pass what goes into the {name}." in str(found.message)
    compiled = wg.compile(wg.value_and_grad(LOGITS[name]))
    assert [each.category for each in warned(lambda: compiled(np.ones((3, 2)), *batch))] == [
        LogitsWarning
    ]


def test_logits_and_targets_that_are_probabilities_are_let_pass():
    def distilled(w, x, teacher):
        target = wg.softmax(x @ teacher)
        return wg.cross_entropy(wg.log_softmax(x @ w), target) + wg.cross_entropy(x @ w, target)

    assert warned(stepped(distilled, np.ones((3, 2)), X, np.eye(3, 2))) == []


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (lambda w, x, y: wg.cross_entropy(y, wg.softmax(x @ w)), np.eye(2)[np.arange(8) % 2]),
        (lambda w, x, y: wg.bce_with_logits(y, wg.sigmoid(x @ w)[:, 0]), np.ones(8)),
    ],
)
def test_swapped_logits_and_targets_are_named(loss, targets):
    (found,) = warned(stepped(loss, np.ones((3, 2)), X, targets))
    assert found.category is LogitsWarning
    assert found.filename == __file__
    assert "logits come first" in str(found.message)


# Functions of a model, of which files keep the names.


def network(activation):
    return wg.nn.Sequential(wg.nn.Linear(3, 2, seed=0), activation, wg.nn.Linear(2, 1, seed=1))


def test_a_file_of_a_network_with_another_activation_is_named(tmp_path):
    path = tmp_path / "net.safetensors"
    wg.save(path, network("relu"))
    assert warned(lambda: wg.load(path, like=network("relu"))) == []
    assert warned(lambda: wg.load(path, like=network(lambda x: wg.relu(x)))) == []
    for other in ("tanh", wg.tanh):
        (found,) = warned(lambda other=other: wg.load(path, like=network(other)))
        assert found.category is CheckpointWarning
        assert "with the function 'relu' at layers.1, and `like` has 'tanh'" in str(found.message)


def test_a_state_of_a_network_with_another_activation_is_refused(tmp_path):
    path = tmp_path / "step.safetensors"

    def step(activation):
        return wg.TrainStep(lambda m, x: wg.mean(m(x)), network(activation), wg.optim.SGD(0.1))

    step("relu").save(path)
    step("relu").load(path)
    step(lambda x: wg.relu(x)).save(tmp_path / "nameless.safetensors")
    step("tanh").load(tmp_path / "nameless.safetensors")
    with pytest.raises(CheckpointError, match="a model with 'relu' at"):
        step("tanh").load(path)


# Layers from outside.


@dataclass
class Encoder:
    w: np.ndarray

    def __call__(self, x):
        return x @ self.w


HEAD = wg.nn.Linear(4, 1, dtype=np.float64)
OUTSIDE = {
    "a layer": wg.nn.Linear(3, 4, dtype=np.float64),
    "several": wg.nn.Sequential(wg.nn.Linear(3, 4, dtype=np.float64), "tanh"),
    "a dataclass": Encoder(np.ones((3, 4))),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_layer_that_is_not_in_the_model_is_named(name):
    enc = OUTSIDE[name]

    def loss(head, x, y):
        return wg.mean((head(np.tanh(enc(x)))[:, 0] - y) ** 2)

    (found,) = warned(stepped(loss, HEAD, X, Y))
    assert (found.category, found.filename) == (UntrainedWarning, __file__)
    assert f"the loss calls enc, a {type(enc).__name__} from outside" in str(found.message)

    def mended(model, x, y):
        return wg.mean((model["head"](np.tanh(model["enc"](x)))[:, 0] - y) ** 2)

    model = {"enc": enc, "head": HEAD}
    optimizer = {"enc.*": None, "*": wg.optim.SGD(0.1)}
    assert warned(lambda: wg.TrainStep(mended, model, optimizer)(X, Y)) == []


def test_statistics_and_target_networks_are_no_layers_that_were_forgotten():
    @dataclass
    class Statistics:
        mean: np.ndarray

    mean, held = X.mean(0), Statistics(X.mean(0))
    model = {"net": wg.nn.Linear(3, 1, dtype=np.float64), "scale": np.ones(1)}
    target = wg.tree.copy(model["net"])

    def loss(model, x, y):
        x = (x - mean) - held.mean
        return wg.mean((model["net"](x) * model["scale"] - target(x)) ** 2)

    assert warned(stepped(loss, model, X, Y)) == []


# Gradients of 0.


def test_gradients_that_are_all_zero_from_the_first_call_on_are_named():
    def surrogate(w, x, y):
        logp = x @ w
        return -wg.mean(wg.exp(logp - logp) * y)

    step = wg.TrainStep(surrogate, np.ones(3), wg.optim.SGD(0.1))
    (found,) = warned(lambda: [step(X, Y) for _ in range(5)])
    assert (found.category, found.filename) == (UnreachedWarning, __file__)
    assert "the gradient of every parameter was 0 in the first 3 calls" in str(found.message)


def test_gradients_that_are_zero_once_or_at_a_minimum_are_no_reason_to_warn():
    def loss(w, x, y):
        return wg.mean((x @ w - y) ** 2)

    fitted = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(0.1))
    assert warned(lambda: [fitted(X, 0 * Y) for _ in range(5)]) == []
    masked = wg.TrainStep(lambda w, x, m: 1 + wg.sum(x @ w) * m, np.ones(3), wg.optim.SGD(0.0))
    assert warned(lambda: [masked(X, float(i > 1)) for i in range(5)]) == []
    frozen = wg.TrainStep(loss, np.ones(3), {"*": wg.optim.SGD(0.0)}, accumulate=2)
    assert warned(lambda: [frozen(X, Y) for _ in range(5)]) == []
