"""What is said of models without arrays, states behind the loss, rows in lists, and frames."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, warned
from wengert.errors import (
    MissingGradient,
    NonFiniteError,
    OptimError,
    ShapeError,
    StackedWarning,
    TraceError,
)

SGD = wg.optim.SGD(0.1)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"T": 1.0}, r"leaf 'T' of the model is the Python number 1.0.*{'T': np\.array\(1\.0\)}"),
        ({"kind": "a", "n": 1, "b": 0.5}, r"leaf 'b' of the model .*{'b': np\.array\(0\.5\)}"),
        ({"net": {"t": 1.0}}, r"leaf 'net\.t' of the model is the Python number 1\.0"),
        (0.5, r"the model is the Python number 0\.5, and there is no array.*np\.array\(x, float\)"),
        ([1.0, 2.0], r"leaf '0' of the model is .*np\.array\(x, float\)"),
        ({"n": np.arange(3)}, r"the model has no float arrays.*astype"),
    ],
)
def test_a_model_of_python_numbers_is_told_which(model, told):
    with pytest.raises(OptimError, match=told):
        wg.TrainStep(lambda m, x: wg.mean(x), model, SGD)


def test_an_estimator_is_no_model():
    pytest.importorskip("sklearn")
    from wengert.sklearn import MLPRegressor

    estimator = MLPRegressor(hidden_layer_sizes=(2,), max_iter=500, tol=1e3).fit(X, Y)
    with pytest.raises(OptimError, match=r"MLPRegressor as the model.*estimator\.coefs_"):
        wg.TrainStep(lambda m, x: wg.mean(x), estimator, SGD)
    model = [*zip(estimator.coefs_, estimator.intercepts_, strict=True)]
    step = wg.TrainStep(lambda m, x: wg.mean((x @ m[0][0] + m[0][1]) @ m[1][0]), model, SGD)
    assert np.isfinite(step(X.astype(np.float32)))


def loss(m, x, y):
    return wg.mean((x @ m - y) ** 2)


def stateful(function, state, **options):
    return wg.TrainStep(function, np.zeros(3), SGD, state=state, **options)


def test_the_loss_comes_before_the_state():
    def swapped(m, state, x, y):
        return state, loss(m, x, y)

    for state in ({"n": np.zeros(2)}, np.zeros(3), [np.zeros(()), np.zeros(())]):
        with pytest.raises(TraceError, match=r"the state first, .*Return \(loss, state\)\."):
            stateful(swapped, state)(X, Y)
    with pytest.raises(TraceError, match=r"Return \(loss, state, aux\)\."):
        stateful(lambda *args: (*swapped(*args), 1.0), np.zeros(2), has_aux=True)(X, Y)
    with pytest.raises(MissingGradient, match=r"Return \(loss, state\), the loss first\."):
        stateful(swapped, np.zeros(()))(X, Y)
    for state in (np.zeros(()), np.zeros(2), {"n": np.zeros(())}):
        assert stateful(lambda m, s, x, y: (loss(m, x, y), s), state)(X, Y) > 0


def test_a_state_behind_the_batch_is_noted():
    def carried(m, x, hidden):
        return wg.mean(x @ m), hidden

    with pytest.raises(Exception, match="matmul") as found:
        stateful(carried, np.zeros((8, 5)))(X)
    assert "the parameter 'hidden' is argument 3" in found.value.__notes__[-1]

    def other(m, state, x, h):
        return wg.mean(x[:, :2] @ m) + wg.sum(h), state

    with pytest.raises(Exception, match="matmul") as found:
        stateful(other, np.zeros(2))(X, Y)
    assert not getattr(found.value, "__notes__", [])


def test_rows_in_a_tuple_are_told_to_be_stacked():
    step = wg.TrainStep(lambda m, x, y: wg.mean(m(x)[:, 0] - y), wg.nn.Linear(3, 1, seed=0), SGD)
    with pytest.raises(TypeError, match=r"tuple of 8 arrays; it takes one\. .*np\.stack\(rows\)"):
        step(*zip(*zip(X, Y, strict=True), strict=True))
    members = [np.zeros(3), np.ones(3), -np.ones(3)]
    (found,) = warned(lambda: wg.Ensemble(loss, members, SGD)([X] * 3, [Y] * 3))
    assert found.category is StackedWarning
    assert "wg.train.each(np.stack(x))" in str(found.message)


def test_a_missing_value_of_a_frame_is_told_by_its_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": pandas.array([1] * 8, "Int64")})
    frame.loc[2, "c"] = pandas.NA
    told = r"is nan at index \(2, 2\), in the column 'c'; .*Fill or drop the missing values"
    with pytest.raises(NonFiniteError, match=told):
        wg.TrainStep(loss, np.zeros(3), SGD)(frame, Y)
    with pytest.raises(NonFiniteError, match=told):
        wg.TrainStep(loss, np.zeros(3), SGD).run(frame, Y, batch_size=4)
    array = frame.to_numpy(float, na_value=np.nan)
    with pytest.raises(NonFiniteError, match=r"at index \(2, 2\); .*Correct the argument"):
        wg.TrainStep(loss, np.zeros(3), SGD)(array, Y)


def _defined(scale):
    """A class as a cell defines it that may be run again."""

    @dataclasses.dataclass
    class Net:
        w: Any

        def __call__(self, x):
            return scale * x @ self.w

    return Net


def test_a_class_that_was_defined_anew_is_told_apart():
    old, new = _defined(1.0), _defined(2.0)
    for wrapped in (lambda net: net, lambda net: {"head": np.ones(1), "nets": [net]}):
        step = wg.TrainStep(lambda m, x: wg.mean(x), wrapped(old(np.ones((2, 1)))), SGD)
        with pytest.raises(ShapeError, match=r"the class Net is another one .* a new TrainStep"):
            step.model = wrapped(new(np.zeros((2, 1))))
        step.model = wrapped(old(np.zeros((2, 1))))
        with pytest.raises(ShapeError, match=r"a tree of the form .* is needed"):
            step.model = {"other": np.ones(2)}


def test_a_state_of_a_class_that_was_defined_anew():
    old, new = _defined(1.0), _defined(2.0)
    step = wg.TrainStep(
        lambda m, x, state: (wg.mean(m * x), state), np.ones(2), SGD, state=old(np.ones(2))
    )
    with pytest.raises(ShapeError, match=r"the state was assigned .* the class Net is another"):
        step.state = new(np.zeros(2))
    step.state = old(np.zeros(2))
