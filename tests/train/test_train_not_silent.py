"""What a training step would do otherwise than meant, and says."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import Layer, Pair, W, X, Y, squares, stepped, warned
from wengert.core.words.articles import a_kind
from wengert.errors import (
    CheckpointError,
    CheckpointWarning,
    DropoutWarning,
    LogitsWarning,
    NonFiniteError,
    TargetsWarning,
    UnreachedWarning,
    UntrainedWarning,
)

# Python floats in a model.


def total(model, x):
    return sum(wg.sum(leaf) for leaf in wg.tree.leaves(model)) * wg.mean(x)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ({"w": W, "scale": 1.5}, "scale"),
        ([W, 1.5], "1"),
        ({"a": [{"w": W, "b": 1.5}]}, "a.0.b"),
        (Pair(W, 1.5), "rate"),
    ],
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


DRAWN = {
    "Categorical": lambda w, x, y, rng: (
        -wg.mean(wg.distributions.Categorical(wg.softmax(x @ w)).log_prob(y))
    ),
    "Bernoulli": lambda w, x, y, rng: (
        -wg.mean(wg.distributions.Bernoulli(wg.sigmoid(x @ w)[:, 0]).log_prob(y))
    ),
    "categorical": lambda w, x, y, rng: wg.mean(
        x @ w * rng.categorical(wg.softmax(x @ w))[:, None]
    ),
}


def test_probabilities_that_are_only_drawn_from_or_compared_are_named():
    step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.1))
    categorical, kl = wg.distributions.Categorical, wg.distributions.kl

    def drawn(w, x, rng):
        return categorical(wg.softmax(x * w)).sample(rng)

    def compared(w, x):
        return kl(categorical(wg.softmax(x * w)), categorical(x))

    for f in (drawn, compared):
        (found,) = warned(lambda f=f: step.bind(f)(X))
        assert found.category is LogitsWarning
        assert str(found.message).startswith("Categorical: given what softmax made")


@pytest.mark.parametrize("name", DRAWN)
def test_probabilities_in_the_place_of_logits_of_a_distribution_are_named(name):
    batch = (X, (Y > 0).astype(int))
    found = warned(stepped(DRAWN[name], np.ones((3, 2)), *batch))
    assert [each.category for each in found] == [LogitsWarning]
    assert found[0].filename == __file__
    assert str(found[0].message).startswith(f"{name}: given what s")


def own_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


P = own_softmax(X)
WRITTEN_OUT = {
    "as usual": own_softmax,
    "written twice": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1)[:, None],
    "by logarithms": lambda x: np.exp(x - wg.logsumexp(x, axis=1, keepdims=True)),
    "of a log_softmax": lambda x: wg.exp(wg.log_softmax(x)),
}


def probabilities_drawn(x):
    return wg.random.categorical(wg.random.key(0), x)


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_a_softmax_of_the_users_is_known_by_its_formula(name):
    @wg.compile
    def both(x):
        p = WRITTEN_OUT[name](x)
        logits = wg.distributions.Categorical(x / wg.sum(x * x, axis=1, keepdims=True))
        return wg.distributions.Categorical(p[:2]).entropy(), logits.entropy()

    (found,) = warned(lambda: both(X))
    assert found.category is LogitsWarning
    assert "add up to 1 by their formula" in str(found.message)
    assert found.filename == __file__


PROBABLE = {
    "drawn": lambda: probabilities_drawn(P),
    "a distribution": lambda: wg.distributions.Categorical(P.tolist()).sample(wg.random.key(0)),
    "differentiated": lambda: wg.grad(lambda x: wg.cross_entropy(x, np.zeros(8, int)))(P),
    "in a vmap": lambda: wg.vmap(lambda x: wg.distributions.Categorical(x).entropy())(P),
    "an argument": lambda: wg.compile(probabilities_drawn)(P),
    "along axis 0": lambda: wg.random.categorical(wg.random.key(0), P.T, axis=0),
}


@pytest.mark.parametrize("name", PROBABLE)
def test_rows_that_add_up_to_1_are_probabilities(name):
    (found,) = warned(PROBABLE[name])
    assert found.category is LogitsWarning
    assert "add up to 1 in each row" in str(found.message)
    assert ("in 'x'" in str(found.message)) == (name == "an argument")


MEANT = {
    "logarithms": np.log(P),
    "rows of 0 and 1": np.eye(3),
    "zeros": np.zeros((2, 3)),
    "alike in each row": np.array([[1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]]),
    "one row of several": np.concatenate([P, np.ones((1, 3))]),
    "numbers above 0": np.abs(X),
    "masked": np.where(P > 0.2, P, -np.inf),
}


def test_logits_are_not_taken_for_probabilities():
    compiled = wg.compile(probabilities_drawn)
    for name, logits in MEANT.items():
        for draw in (compiled, probabilities_drawn):
            found = warned(lambda draw=draw, logits=logits: draw(logits))
            assert LogitsWarning not in [each.category for each in found], name


def test_one_logit_of_a_cross_entropy_is_named():
    def loss(w, x, y):
        return wg.cross_entropy(x @ w, y[:, None])

    (found,) = warned(stepped(loss, np.ones((3, 1)), X, (Y > 0).astype(float)))
    assert found.category is LogitsWarning
    assert found.filename == __file__
    assert "wg.bce_with_logits(logits, targets)" in str(found.message)


def test_a_warning_that_is_made_an_error_stays_what_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LogitsWarning):
            wg.cross_entropy(np.ones((3, 1)), np.ones((3, 1)))


def test_float_targets_of_classes_that_are_no_probabilities_are_named():
    def loss(w, x, y):
        return wg.cross_entropy(x @ w, y)

    y = np.eye(2)[np.arange(8) % 2]
    assert warned(stepped(loss, np.ones((3, 2)), X, y)) == []
    for call in (stepped(loss, np.ones((3, 2)), X, 3 * y), lambda: loss(np.ones((3, 2)), X, 3 * y)):
        (found,) = warned(call)
        assert found.category is TargetsWarning
        assert found.filename == __file__
        assert "float targets from 0 to 3 were given" in str(found.message)


def test_logits_and_targets_that_are_probabilities_are_let_pass():
    def distilled(w, x, teacher):
        target = wg.softmax(x @ teacher)
        return wg.cross_entropy(wg.log_softmax(x @ w), target) + wg.cross_entropy(x @ w, target)

    assert warned(stepped(distilled, np.ones((3, 2)), X, np.eye(3, 2))) == []


@pytest.mark.parametrize(
    ("loss", "targets", "applied"),
    [
        (
            lambda w, x, y: wg.cross_entropy(y, wg.softmax(x @ w)),
            np.eye(2)[np.arange(8) % 2],
            "softmax",
        ),
        (lambda w, x, y: wg.bce_with_logits(y, wg.sigmoid(x @ w)[:, 0]), np.ones(8), "sigmoid"),
    ],
)
def test_swapped_logits_and_targets_are_named(loss, targets, applied):
    (found,) = warned(stepped(loss, np.ones((3, 2)), X, targets))
    assert found.category is LogitsWarning
    assert found.filename == __file__
    assert "logits come first" in str(found.message)
    assert str(found.message).endswith(f"without a {applied}.")


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
    assert f"the loss calls enc, {a_kind(enc)} from outside" in str(found.message)

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
    step = wg.TrainStep(cancelled, np.ones(3), wg.optim.SGD(0.1))
    (found,) = warned(lambda: [step(X, Y) for _ in range(5)])
    assert (found.category, found.filename) == (UnreachedWarning, __file__)
    assert "the gradient of every parameter was 0 in the first 3 calls" in str(found.message)


@pytest.mark.parametrize(
    "way",
    [
        lambda step, y: [step(X, y) for _ in range(4)],
        lambda step, y: step.run(X, y, batch_size=4, epochs=3),
    ],
)
def test_rewards_of_zero_are_no_reason_to_warn(way):
    def loss(w, x, reward):
        chosen = wg.distributions.Categorical(x @ w)
        return -wg.mean(chosen.log_prob(0) * reward) - 0.01 * wg.mean(chosen.entropy())

    step = wg.TrainStep(loss, np.zeros((3, 2)), wg.optim.SGD(0.1))
    assert warned(lambda: way(step, np.zeros(8))) == []


def cancelled(w, x, y):
    logp = x @ w
    return -wg.mean(wg.exp(logp - logp) * y)


def trained(way, ensemble=False):
    """What trains by several steps, or by an epoch that has some."""
    options = {"compiled": False}
    if ensemble:
        step = wg.Ensemble(cancelled, [np.ones(3), np.zeros(3)], wg.optim.SGD(0.1), **options)
    else:
        step = wg.TrainStep(cancelled, np.ones(3), wg.optim.SGD(0.1), **options)
    return {
        "calls": lambda: [step(X, Y) for _ in range(5)],
        "run": lambda: step.run(X, Y, batch_size=4, epochs=3),
        "short runs": lambda: [step.run(X, Y, batch_size=4) for _ in range(3)],
        "epochs": lambda: [*step.epochs(X, Y, batch_size=4, epochs=3)],
        "fit": lambda: wg.train.fit(step, (X, Y), batch_size=4, epochs=3, progress=False),
    }[way]


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("way", ["calls", "run", "short runs", "epochs"])
def test_gradients_that_are_all_zero_are_named_whichever_way_is_trained(way, ensemble):
    (found,) = warned(trained(way, ensemble))
    assert (found.category, found.filename) == (UnreachedWarning, __file__)
    name = "Ensemble" if ensemble else "TrainStep"
    by = name if way == "calls" else f"{name}.{way.removeprefix('short ').replace('runs', 'run')}"
    assert str(found.message).startswith(f"{by}: the gradient of every parameter was 0")


def test_gradients_that_are_all_zero_are_named_by_fit():
    assert [each.category for each in warned(trained("fit"))] == [UnreachedWarning]


def test_gradients_that_are_zero_once_or_at_a_minimum_are_no_reason_to_warn():
    def loss(w, x, y):
        return wg.mean((x @ w - y) ** 2)

    fitted = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(0.1))
    assert warned(lambda: [fitted(X, 0 * Y) for _ in range(5)]) == []
    masked = wg.TrainStep(lambda w, x, m: 1 + wg.sum(x @ w) * m, np.ones(3), wg.optim.SGD(0.0))
    assert warned(lambda: [masked(X, float(i > 1)) for i in range(5)]) == []
    frozen = wg.TrainStep(loss, np.ones(3), {"*": wg.optim.SGD(0.0)}, accumulate=2)
    assert warned(lambda: [frozen(X, Y) for _ in range(5)]) == []
