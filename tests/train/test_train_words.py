"""What a training step says where it is given other things than it takes."""

import functools
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.core.words.foreign_names.elsewhere import _DISTRIBUTIONS
from wengert.errors import DTypeError, NonFiniteError, ShapeError, TraceError, UnusedWarning

X = np.ones((4, 3), np.float32)
NETWORK = wg.nn.Linear(3, 2, seed=0)


def loss(m, x):
    return wg.mean(m(x) ** 2)


def difference(m, x, target):
    return wg.mean((m(x) - target(x)) ** 2)


def step_of(loss=loss, optimizer=None):
    return wg.TrainStep(loss, NETWORK, optimizer or wg.optim.SGD(0.1))


def test_a_network_is_not_bound():
    step = step_of()
    for given in (NETWORK, step.model, NETWORK.__call__):
        with pytest.raises(TypeError, match=r"given Linear, a network .*lambda m, x: m\(x\)"):
            step.bind(given)
    assert step.bind(wg.nn.Linear.__call__)(X).shape == (4, 2)


def test_a_generator_that_is_left_at_none():
    sample = step_of().bind(lambda m, x, rng=None: wg.distributions.Normal(m(x), 1.0).sample(rng))
    with pytest.raises(DTypeError, match=r"None was given as the key.*rng without a default"):
        sample(X)


def test_actions_outside_of_the_support():
    def outside(m, x):
        return wg.mean(wg.distributions.TanhNormal(m(x), 1.0).log_prob(1.5))

    with pytest.raises(NonFiniteError, match=r"outside of the support: scale it .* \(-1, 1\)"):
        step_of(outside)(X)


def test_a_network_in_the_place_of_an_array():
    with pytest.raises(DTypeError, match=r"given a Linear as an operand, a network.*in its order"):
        step_of(difference)(wg.tree.copy(NETWORK), X)


def test_the_average_of_a_step_as_its_argument():
    step = step_of(difference, wg.optim.EMA(wg.optim.SGD(0.1)))
    with pytest.raises(ValueError, match="give the loss a parameter averaged"):
        step(X, step.optimizer_states["average"])


def test_networks_for_each_member_in_a_list():
    members = wg.Ensemble(difference, lambda seed: NETWORK, wg.optim.SGD(0.1), members=3)
    networks = [wg.nn.Linear(3, 2, seed=i) for i in range(3)]
    with pytest.raises(ShapeError, match=r"each\(wg.tree.map\(lambda \*x: np.stack\(x\), \*them\)"):
        members(X, wg.train.each(networks))


def test_rows_in_a_list():
    for rows in (list(np.ones((8, 3))), list(np.ones((8, 5)))):
        with pytest.raises(ShapeError, match=r"'x' is a list of 8 arrays.*np.stack"):
            step_of().run(rows, batch_size=8)


def test_functions_of_torch_on_recorded_values():
    """Torch looks for this method, and calls it in the place of its own function."""

    def with_torch(m, x):
        return type(m(x)).__torch_function__(np.mean, (), (m(x),))

    with pytest.raises(TypeError, match=r"torch.mean: given a Tensor of wengert.*Write wg.mean"):
        step_of(with_torch)(X)


@pytest.mark.filterwarnings("ignore::wengert.errors.SizeWarning")  # JAX asks for the rows
def test_functions_of_jax_in_a_loss_are_told_what_to_write():
    jnp = pytest.importorskip("jax.numpy")
    step = wg.TrainStep(lambda w, x: jnp.mean(x @ w), np.ones(3), wg.optim.SGD(0.1))
    with pytest.raises(TraceError, match=r"^jnp\.mean: given a Tensor of wengert.*Write np\.mean"):
        step(np.ones((4, 3)))


@dataclass
class Agent:
    net: Any

    def loss(self, x):
        return wg.mean(self.net(x) ** 2)

    def act(self, x, greedy=True):
        return self.net(x)

    def beside(self, model, x):
        """A method that has a use for the model."""
        return wg.mean(model.net(x) ** 2)


def test_methods_of_an_object_are_told_the_function_of_the_class():
    agent = Agent(NETWORK)
    told = r"given the method loss of an object of class Agent.*class: Agent\.loss"
    with pytest.raises(TypeError, match=told):
        wg.TrainStep(agent.loss, agent, wg.optim.SGD(0.1))(X)
    step = wg.TrainStep(Agent.loss, agent, wg.optim.SGD(0.1))
    step(X)
    with pytest.raises(TypeError, match=told):
        step.bind(agent.loss)(X)
    with pytest.raises(TypeError, match=told):
        step.evaluate(step.model.loss, X, batch_size=2)
    with pytest.raises(TypeError, match=r"here 'x'\. Pass the .* class: Agent\.act") as caught:
        step.bind(agent.act)(X)  # by its default it takes as many
    assert "given an Agent as an operand" in str(caught.value.__cause__)
    with pytest.raises(DTypeError) as caught:
        step.bind(agent.act)()  # nothing says that the model is not meant
    assert "class: Agent.act" in caught.value.__notes__[-1]
    assert step.bind(Agent.act)(X).shape == (4, 2)
    wg.TrainStep(agent.beside, agent, wg.optim.SGD(0.1))(X)


class Regression:
    """An object with weights of its own, which a step is made with."""

    def __init__(self):
        self.w, self.mean = np.ones(3), np.ones(3)

    def predict(self, x, scale=1.0):
        return wg.sum(x * self.w) * scale

    def loss(self, w, x, scale=None):
        return wg.mean((x - self.mean) @ w) if scale is None else wg.mean(scale * (x @ w))

    def drift(self, w, x, mask=None):
        return wg.mean(mask * (x @ w - x @ self.w) ** 2)


def test_methods_of_an_object_that_has_the_model_are_refused_where_they_do_without_the_step():
    model = Regression()
    step = wg.TrainStep(model.loss, model.w, wg.optim.SGD(0.1))
    step(X)
    told = r"the method predict of an object of class Regression.*m in the place of self\.w"
    with pytest.raises(TypeError, match=told):
        step.bind(model.predict)(X)  # the weights for x, and the rows for the scale
    with pytest.raises(TypeError, match=told):
        step.bind(functools.partial(model.predict))(X)
    with pytest.raises(TypeError, match=told):
        step.evaluate(model.predict, X, batch_size=2)
    with pytest.raises(TypeError, match=told):
        wg.TrainStep(model.predict, model.w, wg.optim.SGD(0.1))(X)
    # Methods that have a use for the model.
    mask = np.array([1.0, 0.0, 1.0, 1.0])
    assert step.bind(model.loss)(X, mask) == pytest.approx(np.mean(mask * (X @ step.model)))
    drift = np.mean(mask * (X @ step.model - X @ model.w) ** 2)
    assert step.bind(model.drift)(X, mask) == pytest.approx(drift)


def test_distributions_of_torch_are_told_those_here():
    distributions = pytest.importorskip("torch").distributions

    def categorical(m, x):
        return wg.mean(distributions.Categorical(logits=m(x)).entropy())

    def normal(m, x):
        return wg.mean(distributions.Normal(m(x), 1.0).entropy())

    for loss, name in ((categorical, "Categorical"), (normal, "Normal")):
        with pytest.raises((AttributeError, TypeError)) as caught:
            step_of(loss)(X)
        text = str(caught.value)
        assert text.startswith(f"torch.distributions.{name}: given a Tensor of wengert")
        assert f"Write wg.distributions.{name}. (test_train_words.py:" in text


def test_the_distributions_of_that_name_exist():
    assert all(hasattr(wg.distributions, name) for name in _DISTRIBUTIONS)


def test_a_rate_in_groups_of_parameters_is_told_its_name():
    with pytest.raises(AttributeError, match=r"write step\.optimizer\.learning_rate = rate"):
        step_of().optimizer.param_groups[0]["lr"] = 0.1


def off(call):
    with sys.modules["torch"].no_grad():
        return call()


def bootstrapped(m, x):
    """A target as it is written for torch."""
    return wg.mean((m(x) - off(lambda: 0.9 * m(x) + 1.0)) ** 2)


def stopped(m, x):
    target = off(lambda: wg.stop_gradient(0.9 * m(x) + 1.0))
    return wg.mean((m(x) - target) ** 2)


def measured(m, x):
    return wg.mean(m(x) ** 2), off(lambda: wg.mean(wg.abs(m(x))))


def test_gradients_through_what_torch_would_not_differentiate_are_told():
    pytest.importorskip("torch")
    (told,) = warned(lambda: step_of(bootstrapped)(X))
    assert told.category is UnusedWarning
    assert "inside of torch.no_grad() (test_train_words.py:" in str(told.message)
    assert "Write wg.stop_gradient(x)" in str(told.message)


@pytest.mark.parametrize(
    "call",
    [
        lambda: step_of(stopped)(X),
        lambda: wg.TrainStep(measured, NETWORK, wg.optim.SGD(0.1), has_aux=True)(X),
        lambda: off(lambda: step_of(bootstrapped)(X)),
    ],
    ids=["stopped", "only measured", "around the step"],
)
def test_what_is_not_differentiated_or_all_of_a_call_may_stand_in_no_grad(call):
    pytest.importorskip("torch")
    assert warned(call) == []


def pairs(m, x, y):
    return wg.mean((m(x)[:, 0] - y) ** 2)


class Loader:
    """What an own class that gives batches is like."""

    def __iter__(self):
        yield X[:2], X[:2, 0]


def torch_loader():
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(X[:, 0]))
    return torch.utils.data.DataLoader(rows, batch_size=2)


LOADERS = {
    "a generator": lambda: (each for each in Loader()),
    "an iterator": lambda: iter([(X[:2], X[:2, 0])]),
    "a class": Loader,
    "torch's": torch_loader,
}


@pytest.mark.parametrize("made", LOADERS)
def test_loaders_of_batches_are_told_the_loop(made):
    ensemble = wg.Ensemble(pairs, [NETWORK, wg.nn.Linear(3, 2, seed=1)], wg.optim.SGD(0.1))
    for trained, name in ((step_of(pairs), "step"), (ensemble, "ensemble")):
        loop = rf"{{}}: argument 'x' is \w+, .*for x, y in loader: {name}\(x, y\)\."
        with pytest.raises(TypeError, match=loop.format(r"\.run")):
            trained.run(LOADERS[made](), batch_size=2)
        with pytest.raises(TypeError, match=loop.format(r"\.epochs")):
            trained.epochs(LOADERS[made](), batch_size=2)
        with pytest.raises(TypeError, match=rf"g = {name}\.bind\(f\), and for x, y in loader"):
            trained.evaluate(pairs, LOADERS[made](), batch_size=2)


@pytest.mark.parametrize("made", [name for name in LOADERS if name != "a class"])
def test_loaders_beside_arrays_and_in_fits_are_told_the_loop(made):
    with pytest.raises(TypeError, match="for x, y in loader"):
        step_of(pairs).run(LOADERS[made](), X[:, 0], batch_size=2)
    with pytest.raises(TypeError, match="for x, y in loader"):
        wg.train.fit(step_of(pairs), LOADERS[made](), epochs=1, batch_size=2, progress=False)


class Rows:
    """What an own class that gives rows by their numbers is like."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return X[i], X[i, 0]


DATA_SETS = {"a class": Rows, "torch's": lambda: torch_loader().dataset}


@pytest.mark.parametrize("made", DATA_SETS)
def test_data_sets_are_told_to_be_stacked(made):
    data = DATA_SETS[made]()
    ensemble = wg.Ensemble(pairs, [NETWORK, wg.nn.Linear(3, 2, seed=1)], wg.optim.SGD(0.1))
    kind, stacked = type(data).__name__, "map(np.stack, zip(*(data[i] for i in range(len(data)))))"
    told = rf"argument 'x' is {kind}, which gives rows by number; .*{re.escape(stacked)}"
    for trained in (step_of(pairs), ensemble):
        for call in (trained.run, trained.epochs, functools.partial(trained.evaluate, pairs)):
            with pytest.raises(TypeError, match=told):
                call(data, batch_size=2)
    with pytest.raises(TypeError, match=rf"^fit: data is {kind}; .*{re.escape(stacked)}"):
        wg.train.fit(step_of(pairs), data, epochs=1, batch_size=2, progress=False)
    x, y = eval(stacked, {"np": np, "data": data})
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, X[:, 0])


def test_settings_that_can_be_indexed_are_no_data_sets():
    class Weights(Rows):
        def __getitem__(self, i):
            return 2.0

    step = step_of(lambda m, x, weights: wg.mean(m(x) ** 2) * weights[0])
    assert len(step.run(X, Weights(), batch_size=2)) == 2
    assert len(step_of(lambda m, xs: wg.mean(m(xs[0]) ** 2)).run([X, X], batch_size=2)) == 2


def test_settings_that_can_be_iterated_over_are_not_loaders():
    class Weights:
        def __iter__(self):
            return iter((1.0, 2.0))

    step = step_of(lambda m, x, weights: wg.mean(m(x) ** 2) * sum(weights))
    assert len(step.run(X, Weights(), batch_size=2)) == 2


@pytest.mark.parametrize(
    ("given", "kind", "repair"),
    [
        ((X, X[:, 0]), "a tuple of 2", "Write *batch in its place, as in step(*batch)."),
        ([X, X[:, 0]], "a list of 2", "Write *batch in its place, as in step(*batch)."),
        ([(X, X[:, 0])], "a list of 1", "for x, y in batches, as in step(x, y)."),
        ({"x": X, "y": X[:, 0]}, "a dict of 2", "as in step(**batch)."),
        ({"a": X, "b": X[:, 0]}, "a dict of 2", "Write x=batch['a'], y=batch['b'] in its place."),
    ],
)
def test_a_batch_that_is_given_as_one_argument(given, kind, repair):
    told = rf"the loss was given x as {kind}, and no y; a batch is.*{re.escape(repair)}$"
    calls = [lambda: step_of(pairs)(given), lambda: step_of(pairs).check(given)]
    if kind != "a list of 1":
        calls.append(lambda: step_of(pairs).run(given, batch_size=2))
    for call in calls:
        with pytest.raises(TypeError, match=told):
            call()
    told = rf"the function was given x as {kind}, and no y"
    for call in (
        lambda: step_of(pairs).bind(pairs)(given),
        lambda: step_of(pairs).evaluate(pairs, given, batch_size=4),
    ):
        with pytest.raises(TypeError, match=told):
            call()


@pytest.mark.parametrize("given", [(X,), ((X, X, X),), ({"x": X},)])
def test_an_argument_that_is_not_given(given):
    told = r"the loss was given x, and no y; it has no default\. Pass y, or give it a default\."
    with pytest.raises(TypeError, match=told):
        step_of(pairs)(*given)
    with pytest.raises(TypeError, match=r"the loss was given no x; it has no default"):
        step_of(pairs)()


def test_errors_inside_of_a_loss_are_their_own():
    def needs_two(a, b):
        return a + b

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        step_of(lambda m, x: needs_two(m(x)))(X)


def noisy(m, x, key):
    return wg.mean((m(x) + wg.random.normal(key, (4, 2))) ** 2)


def test_a_generator_has_the_name_rng():
    told = r"given x, and no key; a step gives random numbers to a parameter named rng\. Write rng"
    for call in (
        lambda: step_of(noisy)(X),
        lambda: step_of().bind(noisy)(X),
        lambda: step_of().bind(lambda m, x, *, key: noisy(m, x, key))(X),
        lambda: step_of().evaluate(noisy, X, batch_size=4),
    ):
        with pytest.raises(TypeError, match=told):
            call()
    assert np.isfinite(step_of(noisy)(X, wg.random.key(0)))


def test_the_average_has_the_name_averaged():
    told = (
        r"to a parameter named averaged\. Write averaged in the place of target, or pass target\."
    )
    average = wg.optim.EMA(wg.optim.SGD(0.1))
    with pytest.raises(TypeError, match=rf"given x, and no target; .*{told}"):
        step_of(difference, average)(X)
    with pytest.raises(TypeError, match=rf"given target, and no x; .*{told}"):
        step_of(loss, average).bind(lambda m, target, x: m(x) - target(x))(X)
    with pytest.raises(TypeError, match=r"no target; it has no default"):
        step_of(difference)(X)
    given = wg.tree.copy(NETWORK)
    assert np.isfinite(step_of(lambda m, x, target: difference(m, x, target), average)(X, given))


def test_a_loss_whose_first_parameter_is_no_model():
    with pytest.raises(TypeError, match="'Tensor' object is not callable") as found:
        wg.TrainStep(lambda x, m: wg.mean(m(x)), wg.nn.Linear(3, 1), wg.optim.SGD(0.1))(X)
    assert "the first parameter of the loss is the model" in found.value.__notes__[-1]


@pytest.mark.parametrize("name", ["averaged", "ema"])
def test_names_for_the_averaged_model(name):
    def loss(w, x):
        return wg.mean((x @ w) ** 2)

    optimizer = wg.optim.EMA(wg.optim.SGD(0.1))
    step = wg.TrainStep(loss, np.zeros(3), optimizer)
    with pytest.raises(AttributeError, match=r'step\.optimizer_states\["average"\].*averaged\.'):
        getattr(step, name)
    with pytest.raises(AttributeError, match=r'members\[i\]\.optimizer_states\["average"\]'):
        getattr(wg.Ensemble(loss, [np.zeros(3), np.ones(3)], optimizer), name)
