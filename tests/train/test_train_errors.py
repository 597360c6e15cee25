"""Bad input: each a clear error, and nothing changed."""

import copy
import pickle
import re

import numpy as np
import pytest

import wengert as wg
from train.models import data, forward, net, squared_error
from wengert.errors import MissingGradient

SHAPE, DTYPE, TRACE = wg.errors.ShapeError, wg.errors.DTypeError, wg.errors.TraceError
OPTIM = wg.errors.OptimError
WORDING = re.compile(r"[\w.]+: .+; .+\. .+\.|.+; .+", re.DOTALL)


def sgd(loss=squared_error, model=None, optimizer=None, **options):
    model = net() if model is None else model
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.1), **options)


MAKING = {
    "loss": (TypeError, lambda: sgd(loss=3)),
    "optimizer": (OPTIM, lambda: sgd(optimizer="adam")),
    "optimizer class": (OPTIM, lambda: sgd(optimizer=wg.optim.Adam)),
    "no optimizers": (OPTIM, lambda: wg.TrainStep(squared_error, net(), {})),
    "key": (OPTIM, lambda: sgd(optimizer={3: wg.optim.SGD(0.1)})),
    "unmatched": (OPTIM, lambda: sgd(optimizer={"*.w": wg.optim.SGD(0.1)})),
    "all frozen": (OPTIM, lambda: sgd(optimizer={"*.w": None, "*.b": None})),
    "none": (OPTIM, lambda: wg.TrainStep(squared_error, net(), None)),
    "no parameters": (OPTIM, lambda: sgd(model={"n": np.arange(3)})),
    "complex": (DTYPE, lambda: sgd(model={"w": np.ones(2, complex)})),
    "half": (DTYPE, lambda: sgd(model={"w": np.ones(2, np.float16)})),
    "accumulate": (ValueError, lambda: sgd(accumulate=0)),
    "accumulate float": (ValueError, lambda: sgd(accumulate=2.0)),
    "nonfinite": (ValueError, lambda: sgd(nonfinite="warn")),
    "threads": (ValueError, lambda: sgd(threads=0)),
    "clip_norm": (ValueError, lambda: sgd(clip_norm=-1.0)),
    "clip_norm nan": (ValueError, lambda: sgd(clip_norm=float("nan"))),
    "clip_value": (ValueError, lambda: sgd(clip_value=0)),
    "seed": (ValueError, lambda: sgd(seed=-1)),
    "seed float": (DTYPE, lambda: sgd(seed=1.5)),
    "state tied": (SHAPE, lambda: sgd(state=[np.zeros(1)] * 2)),
}


@pytest.mark.parametrize("name", MAKING)
def test_refused_when_it_is_made(name):
    kind, make = MAKING[name]
    with pytest.raises(kind) as caught:
        make()
    assert WORDING.fullmatch(str(caught.value))


def test_messages_name_what_is_meant():
    with pytest.raises(OPTIM, match=r"no glob matches the parameter 'layers\.0\.b'"):
        sgd(optimizer={"*.w": wg.optim.SGD(0.1)})
    with pytest.raises(OPTIM, match=r"every parameter is frozen.*'\*\.w', '\*\.b'"):
        sgd(optimizer={"*.w": None, "*.b": None})


X, Y = data()
CALLS = {
    "rows": (SHAPE, squared_error, {}, lambda step: step(X, Y[:7]), r"\(8, 2\).*\(7, 2\)"),
    "columns": (SHAPE, squared_error, {}, lambda step: step(X[:, :2], Y), r"\(8, 2\)"),
    "not scalar": (
        SHAPE,
        lambda m, x, y: wg.mean((forward(m, x) - y) ** 2, axis=0),
        {},
        lambda step: step(X, Y),
        r"the loss returned shape \(2,\)",
    ),
    "integer": (
        DTYPE,
        lambda m, x, y: wg.sum(x > 0),
        {},
        lambda step: step(X, Y),
        "dtype int64",
    ),
    "none": (TRACE, lambda m, x, y: None, {}, lambda step: step(X, Y), "NoneType"),
    "aux": (
        TRACE,
        lambda m, x, y: (squared_error(m, x, y), 1.0),
        {},
        lambda step: step(X, Y),
        "has_aux=True",
    ),
    "no aux": (TRACE, squared_error, {"has_aux": True}, lambda step: step(X, Y), "one array"),
    "no state": (
        TRACE,
        lambda m, s, x, y: squared_error(m, x, y),
        {"state": np.zeros(2)},
        lambda step: step(X, Y),
        r"\(loss, state\)",
    ),
    "state form": (
        TRACE,
        lambda m, s, x, y: (squared_error(m, x, y), s["n"][:1]),
        {"state": {"n": np.zeros(2)}},
        lambda step: step(X, Y),
        "goes in as .*n.* and comes out",
    ),
    "state leaf": (
        SHAPE,
        lambda m, s, x, y: (squared_error(m, x, y), {"n": s["n"][:1]}),
        {"state": {"n": np.zeros(2)}},
        lambda step: step(X, Y),
        r"'n' of the state goes in as float64\(2,\) and comes out as float64\(1,\)",
    ),
    "state dtype": (
        DTYPE,
        lambda m, s, x, y: (squared_error(m, x, y), s + 0.5),
        {"state": np.zeros(2, np.int64)},
        lambda step: step(X, Y),
        "int64.*float64",
    ),
    "dtype": (
        DTYPE,
        squared_error,
        {},
        lambda step: (step(X, Y), step(X, Y.astype(np.int64))),
        "'y' has dtype int64; it had float64",
    ),
    "uncast": (
        DTYPE,
        squared_error,
        {"cast": False},
        lambda step: (step(X, Y), step(X.astype(np.float32), Y)),
        "'x' has dtype float32; it had float64",
    ),
    "lists": (TRACE, squared_error, {}, lambda step: step(X.tolist(), Y), "np.array"),
    "complex": (DTYPE, squared_error, {}, lambda step: step(X * 1j, Y), "complex128"),
    "own model": (
        ValueError,
        lambda m, x: wg.sum(m.layers[0].w * x.layers[0].w),
        {},
        lambda step: step(step.model),
        "live array of this step",
    ),
    "too few": (TypeError, squared_error, {}, lambda step: step(X), "given x, and no y"),
    "rows of data": (
        SHAPE,
        squared_error,
        {},
        lambda step: step.run(X, Y[:7], batch_size=4),
        "x: 8, y: 7",
    ),
    "empty data": (
        SHAPE,
        squared_error,
        {},
        lambda step: step.run(X[:0], Y[:0], batch_size=4),
        "empty",
    ),
    "empty batch": (
        SHAPE,
        squared_error,
        {},
        lambda step: step(X[:0], Y[:0]),
        "the batch is empty; at least one row is needed",
    ),
    "empty batch op by op": (
        SHAPE,
        squared_error,
        {"compiled": False},
        lambda step: step(X[:0], Y[:0]),
        "the batch is empty; at least one row is needed",
    ),
    "only scalars": (
        SHAPE,
        squared_error,
        {},
        lambda step: step.run(np.float64(1), batch_size=4),
        "no arrays with rows",
    ),
    "no data": (SHAPE, squared_error, {}, lambda step: step.run(batch_size=4), "no arrays"),
    "large batch": (
        SHAPE,
        squared_error,
        {},
        lambda step: step.run(X, Y, batch_size=9),
        "for 8 rows",
    ),
    "batch size": (ValueError, squared_error, {}, lambda step: step.run(X, Y, batch_size=0), "0"),
    "epochs": (
        ValueError,
        squared_error,
        {},
        lambda step: step.run(X, Y, batch_size=4, epochs=-1),
        "at least 0",
    ),
    "shuffle": (
        ValueError,
        squared_error,
        {},
        lambda step: step.epochs(X, Y, batch_size=4, shuffle_seed=-1),
        "-1",
    ),
    "evaluate": (
        SHAPE,
        squared_error,
        {},
        lambda step: step.evaluate(squared_error, X, Y[:7], batch_size=4),
        "y: 7",
    ),
    "assigned tree": (
        SHAPE,
        squared_error,
        {},
        lambda step: setattr(step, "model", net((3, 5, 5, 2))),
        "form",
    ),
    "assigned shape": (
        SHAPE,
        squared_error,
        {},
        lambda step: setattr(step, "model", net((3, 6, 2))),
        r"'layers\.0\.w'.*\(3, 6\)",
    ),
    "assigned state": (
        SHAPE,
        squared_error,
        {},
        lambda step: setattr(step, "state", np.zeros(2)),
        "state",
    ),
    "index": (
        IndexError,
        lambda m, x, y: wg.sum(wg.take(forward(m, x), y, axis=0)),
        {},
        lambda step: step(X, np.array([0, 8])),
        "8",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_refused_when_it_is_called(name):
    kind, loss, options, call, pattern = CALLS[name]
    step = sgd(loss, **options)
    if name in ("dtype", "uncast"):
        before = None
    else:
        before = step.fingerprint()
    with pytest.raises(kind) as caught:
        call(step)
    if pattern is not None:
        assert re.search(pattern, str(caught.value)), str(caught.value)
    if before is not None:
        assert step.fingerprint() == before
        assert step.last is None


def test_ties_that_a_step_has_not_are_told_where_they_are_assigned():
    def step_with(optimizer):
        model = {name: np.arange(2.0) + i for i, name in enumerate("abcd")}
        return wg.TrainStep(lambda m: sum(wg.sum(x) for x in m.values()), model, optimizer)

    step = step_with(wg.optim.SGD(0.1))
    x, y = np.arange(2.0), np.arange(2.0) + 5
    with pytest.warns(wg.errors.TiedWarning, match=r"one array at 'a' and at 'c'; .* a new step"):
        step.model = {"a": x, "b": y, "c": x, "d": y + 1}
    step.model = {"a": x, "b": y, "c": x, "d": y}  # one network is copied to another
    step.model = {"a": np.zeros(2), "b": y, "c": x, "d": x + 1}
    zeros = np.zeros(2)
    step.model = {"a": zeros, "b": y, "c": zeros, "d": x}
    frozen = step_with({"c": None, "*": wg.optim.SGD(0.1)})
    frozen.model = {"a": x, "b": y, "c": x, "d": y + 1}


def test_tied_parameters_cannot_be_assigned_different_values():
    shared = np.array([1.0, 2.0])
    step = sgd(lambda m, x: wg.sum(m["a"] * x), {"a": shared, "b": shared})
    with pytest.raises(SHAPE, match="tied paths a, b"):
        step.model = {"a": np.ones(2), "b": np.zeros(2)}
    np.testing.assert_array_equal(step.model["a"], [1.0, 2.0])


@pytest.mark.parametrize("compiled", [True, False])
def test_an_empty_batch_may_give_finite_numbers(compiled):
    step = sgd(lambda w, x: wg.sum(w) + wg.sum(x), np.ones(2), compiled=compiled)
    assert step(np.ones((0, 2))) == 2.0
    np.testing.assert_allclose(step.model, [0.9, 0.9])


# What evaluate refuses.


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("batch_size", [3, 4, 8])  # with a smaller batch, several equal ones, one
@pytest.mark.filterwarnings("ignore::wengert.errors.SizeWarning")  # of the last one
def test_evaluate_refuses_results_with_an_axis_of_the_batch(compiled, batch_size):
    step = sgd(compiled=compiled)
    for f, words in (
        (forward, r"shape \(\d, 2\) for a batch of \d; it must return means .* axis 0\."),
        (lambda m, x: {"a": wg.sum(x), "b": wg.sum(x, 1)}, r"shape \(\d,\) at 'b' for a batch"),
        (lambda m, x: forward(m, x).T / x.shape[0], r"shape \(2, \d\) .* over axis 1\."),
        (lambda m, x: forward(m, x)[: len(x) - 1], r"shape \(\d, 2\) "),  # of one size
    ):
        with pytest.raises(SHAPE, match=words):
            step.evaluate(f, X, batch_size=batch_size)
    with wg.eager(), pytest.raises(SHAPE, match="axis 0"):
        step.evaluate(forward, X, batch_size=batch_size)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("rows", [2, 3, 8])
def test_evaluate_takes_results_that_are_as_long_as_the_batch_by_chance(compiled, rows):
    step = sgd(compiled=compiled)

    def classes(m, x):
        return {"class": wg.mean(forward(m, x), axis=0), "moment": x.T @ x / x.shape[0]}

    def of_this_size(m, x):
        return wg.reshape(wg.mean(forward(m, wg.reshape(x, (rows, 3))), 0), (2,))

    data = X[: len(X) // rows * rows]
    found = step.evaluate(classes, data, batch_size=rows)
    np.testing.assert_allclose(found["class"], forward(step.model, data).mean(axis=0))
    np.testing.assert_allclose(found["moment"], data.T @ data / len(data))
    found = step.evaluate(of_this_size, data, batch_size=rows)
    np.testing.assert_allclose(found, forward(step.model, data).mean(axis=0))


OUTSIDE = np.ones(2)
UNTRAINED = {
    "a model from outside": lambda w, x: wg.mean((x @ OUTSIDE) ** 2),
    "argmax": lambda w, x: wg.mean((wg.argmax(x * w, axis=1) == 0).astype(np.float64)),
    "a comparison": lambda w, x: wg.mean((x @ w > 0).astype(np.float64)),
    "stop_gradient": lambda w, x: wg.mean(wg.stop_gradient(x @ w) ** 2),
    "a constant": lambda w, x: 1.0,
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", UNTRAINED)
def test_a_loss_that_no_parameter_reaches_is_refused(name, compiled):
    step = wg.TrainStep(UNTRAINED[name], np.ones(2), wg.optim.SGD(0.1), compiled=compiled)
    for call in (
        lambda: step(np.ones((3, 2))),
        lambda: step.run(np.ones((3, 2)), batch_size=3),
    ):
        with pytest.raises(MissingGradient, match="no gradient reaches any trained parameter"):
            call()
    assert step.last is None


@pytest.mark.parametrize("compiled", [True, False])
def test_a_loss_that_reaches_frozen_parameters_alone_is_refused(compiled):
    model = {"w": np.ones(2), "b": np.ones(())}
    step = wg.TrainStep(
        lambda m, x: wg.mean(x @ m["w"]),
        model,
        {"w": None, "*": wg.optim.SGD(0.1)},
        compiled=compiled,
    )
    with pytest.raises(MissingGradient, match="no gradient reaches any trained parameter"):
        step(np.ones((3, 2)))


# States of optimizers, by name.


def test_a_state_that_no_optimizer_keeps_is_told_by_the_nearest_name(tmp_path):
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(3), wg.optim.Adam(0.1))
    states = step.optimizer_states
    with pytest.raises(KeyError, match=r"optimizer_states: given 'maen'; there is 'mean', .*mean"):
        states["maen"]
    with pytest.raises(KeyError, match="Choose one of these"):
        states[0]
    plain = {name: wg.tree.copy(state) for name, state in states.items()}
    added = wg.tree.map(np.add, states, plain)  # it is a dict like any other
    assert type(added) is dict
    assert [*wg.tree.map(np.add, plain, states)] == [*states]
    assert len(wg.tree.leaves((states, [states]))) == 2 * len(states)
    assert "nothing" not in states
    assert states.get("nothing") is None
    assert wg.compile(lambda states: states["mean"] + 1.0)(states).tolist() == [1.0] * 3
    assert step.bind(lambda w, states: w + states["mean"])(states).tolist() == [1.0] * 3
    wg.save(tmp_path / "states", states)
    assert [*wg.load(tmp_path / "states")] == [*states]
    assert [*copy.deepcopy(states)] == [*pickle.loads(pickle.dumps(states))] == [*states]
    two = wg.TrainStep(squared_error, net(), {"*.b": None, "*": wg.optim.SGD(0.1)})
    with pytest.raises(
        KeyError, match=r"TrainStep\.optimizer: given '\*\.w'; there is '\*\.b', '\*'"
    ):
        two.optimizer["*.w"]
    plain_step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(3), wg.optim.SGD(0.1))
    with pytest.raises(KeyError, match="given 'mean'; there is nothing"):
        plain_step.optimizer_states["mean"]
