"""What happens where something is not finite: raise, skip or ignore."""

import numpy as np
import pytest

import wengert as wg
from train.models import data, net, squared_error

X, Y = data()
BAD = X.copy()
BAD[3, 1] = np.nan


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_raise_leaves_everything_as_it_was(compiled, accumulate):
    step = wg.TrainStep(
        squared_error, net(), wg.optim.Adam(0.1), compiled=compiled, accumulate=accumulate
    )
    step(X, Y)
    before = step.fingerprint()
    with pytest.raises(wg.errors.NonFiniteError, match=r"'x' is nan at index \(3, 1\)") as caught:
        step(BAD, Y)
    assert caught.value.parameter == "x"
    assert step.fingerprint() == before
    other = wg.TrainStep(
        squared_error, net(), wg.optim.Adam(0.1), compiled=compiled, accumulate=accumulate
    )
    for _ in range(2):
        other(X, Y)
    step(X, Y)
    assert step.fingerprint() == other.fingerprint()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_skip_goes_on_with_the_next_batch(compiled, accumulate):
    options = {"compiled": compiled, "accumulate": accumulate, "nonfinite": "skip"}
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1), **options)
    other = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.1), **options)
    for batch in ((X, Y), (BAD, Y), (X, Y)):
        loss = step(*batch)
        assert np.isnan(loss) == step.last.skipped == (batch[0] is BAD)
        if not step.last.skipped:
            other(*batch)
    for a, b in zip(wg.tree.leaves(step.model), wg.tree.leaves(other.model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert step.last.index == 2  # it was a call, if not an update


def test_ignore_lets_it_through():
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), nonfinite="ignore", clip_norm=1.0)
    assert np.isnan(step(BAD, Y))
    assert all(np.isnan(leaf).all() for leaf in wg.tree.leaves(step.model.layers[-1]))
    assert not step.last.skipped


def test_an_infinite_gradient_is_not_clipped_into_silence():
    step = wg.TrainStep(
        lambda w, x: wg.sum(wg.sqrt(w) * x), np.array([0.0, 4.0]), wg.optim.SGD(1.0), clip_norm=1.0
    )
    with pytest.raises(wg.errors.NonFiniteError, match=r"sqrt.*backward") as caught:
        step(np.ones(2))
    assert caught.value.phase == "backward"
    ignoring = wg.TrainStep(
        lambda w, x: wg.sum(wg.sqrt(w) * x),
        np.array([0.0, 4.0]),
        wg.optim.SGD(1.0),
        clip_norm=1.0,
        nonfinite="ignore",
    )
    ignoring(np.ones(2))
    np.testing.assert_array_equal(ignoring.model, [-np.inf, 3.75])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda mean, x: wg.distributions.TanhNormal(mean, x), "Normal.sample: std"),
        (lambda mean, x: wg.distributions.Uniform(x, mean - 2), "Uniform.sample: high - low"),
        (lambda mean, x: wg.distributions.Gamma(mean, x), "Gamma.sample: rate"),
    ],
)
def test_a_parameter_of_a_distribution_that_is_not_above_0_is_named(make, named):
    def loss(m, rng):
        drawn = make(m["mean"], m["log_std"]).sample(rng)
        return wg.mean(drawn**2)

    model = {"mean": np.ones(3, np.float32), "log_std": np.float32([0.5, -0.25, 0.5])}
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1))
    with pytest.raises(wg.errors.NonFiniteError, match="must be above 0") as caught:
        step()
    assert str(caught.value).startswith(named)
    assert "constant" not in str(caught.value)


def test_a_parameter_of_a_distribution_that_was_nan_before_is_followed():
    def loss(m, rng):
        return wg.mean(wg.distributions.Normal(0.0, wg.sqrt(m)).sample(rng))

    step = wg.TrainStep(loss, np.float32([1.0, -1.0]), wg.optim.SGD(0.1))
    with pytest.raises(wg.errors.NonFiniteError, match="sqrt: gave nan in the forward pass"):
        step()


@pytest.mark.parametrize(
    ("model", "loss", "name"),
    [
        (np.zeros(2, np.float32), lambda weights, y: wg.sum(y / weights), "weights"),
        (
            {"a": np.ones(2, np.float32), "b": np.zeros(2, np.float32)},
            lambda m, y: wg.sum(y / m["b"] + m["a"]),
            "b",
        ),
    ],
)
def test_an_operand_that_is_a_parameter_has_its_name(model, loss, name):
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1))
    with pytest.raises(wg.errors.NonFiniteError, match=rf"y \('{name}'\) is 0"):
        step(np.ones(2, np.float32))


def test_the_error_names_op_line_and_parameter():
    def loss(m, x):
        return wg.sum(np.log(m["a"] * x)) + wg.sum(m["b"])

    model = {"b": np.ones(3), "a": np.array([[1.0, 1.0], [1.0, -1.0]])}
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1))
    with pytest.raises(
        wg.errors.NonFiniteError, match="log: gave nan in the forward pass"
    ) as caught:
        step(np.ones(2))
    assert "the loss must be finite" in str(caught.value)
    assert caught.value.file.endswith("test_train_nonfinite.py")
    model["a"][1, 1] = 0.0
    step = wg.TrainStep(lambda m, x: wg.sum(np.sqrt(m["a"] * x)), model, wg.optim.SGD(0.1))
    with pytest.raises(wg.errors.NonFiniteError, match="the gradient of 'a'") as caught:
        step(np.ones(2))
    assert caught.value.parameter == "a"
    assert caught.value.result_index == (1, 1)


def test_an_update_that_overflows():
    model = {"b": np.zeros(2, np.float32), "w": np.zeros((2, 2), np.float32)}

    def loss(m, x):
        return wg.sum(m["w"] * x) + wg.sum(m["b"])

    step = wg.TrainStep(loss, model, wg.optim.SGD(1e30))
    before = step.fingerprint()
    with pytest.raises(wg.errors.NonFiniteError, match=r"update.*the new value of 'w'") as caught:
        step(np.full((2, 2), 1e10))
    assert caught.value.phase == "update"
    assert step.fingerprint() == before


@pytest.mark.parametrize("options", [{}, {"clip_norm": 1.0}, {"clip_value": 1.0}])
@pytest.mark.parametrize("compiled", [True, False])
def test_finite_gradients_whose_norm_overflows(options, compiled):
    model = {"a": np.zeros(2), "b": np.zeros(2)}
    step = wg.TrainStep(
        lambda m, x: wg.sum(m["a"] * x) + wg.sum(m["b"] * x),
        model,
        wg.optim.SGD(1e-300),
        compiled=compiled,
        **options,
    )
    with pytest.raises(
        wg.errors.NonFiniteError,
        match=r"the norm of all gradients together is above the largest float, 1\.798e\+308",
    ):
        step(np.full(2, 1e308))
    with pytest.raises(wg.errors.NonFiniteError, match="'x' is inf"):
        step(np.array([1e308, np.inf]))
    assert step(np.full(2, 1e307)) == 0.0


def test_a_branch_on_values_op_by_op():
    def loss(w, x):
        total = wg.sum(w * x)
        return total if total > 0 else total * wg.log(wg.sum(x))

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), compiled=False)
    assert step(np.ones(2)) == 2.0
    with pytest.raises(wg.errors.NonFiniteError, match="not finite"):
        step(-np.ones(2))


def test_aux_and_state_are_looked_at():
    def loss(w, state, x):
        return wg.sum(w * x), state / wg.sum(x), wg.log(wg.sum(x) + 1.0)

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), state=np.ones(()), has_aux=True)
    with pytest.raises(wg.errors.NonFiniteError, match="the state"):
        step(np.array([1.0, -1.0]))
    with pytest.raises(wg.errors.NonFiniteError, match="aux"):
        step(np.array([1.0, -2.0]))
    assert step.state == 1.0
