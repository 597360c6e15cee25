"""Layers that a loss calls and that are not in the model: those that were forgotten are named,
those that are to stay as they are are not.
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.distributions import Categorical
from wengert.errors import UntrainedWarning

ROWS = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
LABELS = np.arange(6) % 3


def linear(*sizes):
    return wg.nn.Linear(*(sizes or (4, 4)))


def told(loss, model, *batch):
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    return warned(lambda: step(*(batch or (ROWS, LABELS))))


# What was forgotten.


def test_a_layer_of_the_form_of_another_one_is_named():
    second = linear()

    def loss(m, x, y):
        return wg.cross_entropy(m["head"](wg.relu(second(wg.relu(m["first"](x))))), y)

    (warning,) = told(loss, {"first": linear(), "head": linear(4, 3)})
    assert (warning.category, warning.filename) == (UntrainedWarning, __file__)
    assert "the loss calls second, a Linear from outside of the model" in str(warning.message)


def test_a_recurrent_layer_of_the_form_of_another_one_is_named():
    second = wg.nn.LSTM(4, 4)

    def loss(m, x, y):
        states, _ = second(m["first"](wg.swapaxes(x, 0, 1))[0])
        return wg.cross_entropy(m["head"](states.mean(0)), y)

    rows = np.stack([ROWS, ROWS], axis=1)
    (warning,) = told(loss, {"first": wg.nn.LSTM(4, 4), "head": linear(4, 3)}, rows, LABELS)
    assert "the loss calls second, an LSTM from outside" in str(warning.message)


def test_a_critic_that_another_step_trains_is_to_be_an_argument():
    critic = linear(4, 1)
    critic_step = wg.TrainStep(lambda m, x: wg.mean(m(x)), critic, wg.optim.SGD(0.01))
    (warning,) = told(lambda m, x: -wg.mean(critic(m(x))), linear(), ROWS)
    assert warning.category is UntrainedWarning
    assert "another step was made with it, and trains a copy. Give the loss" in str(warning.message)
    assert "loss(model, critic, …), and pass the live one: step(other" in str(warning.message)
    right = wg.TrainStep(lambda m, critic, x: -wg.mean(critic(m(x))), linear(), wg.optim.SGD(0.01))
    assert not warned(lambda: right(critic_step.model, ROWS))


def test_a_network_is_named_and_not_a_part_of_it():
    @dataclass
    class Block:
        norm: wg.nn.LayerNorm
        inner: wg.nn.Linear

        def __call__(self, x):
            return x + self.inner(self.norm(x))

    second = Block(wg.nn.LayerNorm(4), linear())

    def loss(m, x, y):
        return wg.cross_entropy(m["head"](second(m["first"](x))), y)

    model = {"first": Block(wg.nn.LayerNorm(4), linear()), "head": linear(4, 3)}
    (warning,) = told(loss, model)
    assert "the loss calls second, a Block from outside" in str(warning.message)
    assert "its 4 arrays" in str(warning.message)


def test_a_layer_that_the_loss_makes_is_named():
    def loss(m, x, y):
        return wg.cross_entropy(linear(4, 3)(wg.relu(m(x))), y)

    (warning,) = told(loss, linear())
    assert warning.category is UntrainedWarning
    assert "the loss makes a Linear itself" in str(warning.message)


def test_a_layer_that_is_the_default_of_a_parameter_is_named():
    def network(m, x, head=linear(4, 3)):  # noqa: B008
        return head(wg.relu(m(x)))

    (warning,) = told(lambda m, x, y: wg.cross_entropy(network(m, x), y), linear())
    assert "the loss calls a Linear that is not in the model" in str(warning.message)


def test_an_ensemble_names_a_layer_that_was_forgotten():
    second = linear()

    def loss(m, x, y):
        return wg.cross_entropy(m["head"](wg.relu(second(wg.relu(m["first"](x))))), y)

    def model():
        return {"first": linear(), "head": linear(4, 3)}

    ensemble = wg.Ensemble(loss, [model(), model()], wg.optim.SGD(0.01))
    (warning,) = warned(lambda: ensemble(ROWS, LABELS))
    assert "the loss calls second" in str(warning.message)


CRITIC = wg.nn.Linear(4, 1, seed=1)
FIELD = wg.nn.Sequential(wg.nn.Linear(1, 8, seed=1), "tanh", wg.nn.Linear(8, 1, seed=2))
REWARDS = ROWS[:, 0] + 1


def policy_gradient(pi, s, value, r):
    return Categorical(pi(s)).log_prob(LABELS) * wg.stop_gradient(r - value)


def solved(p, x, y):
    def u(x):
        return FIELD(x[None])[0]

    values, slopes = wg.vmap(u)(x), wg.vmap(wg.grad(u))(x)
    return wg.mean((slopes + p["k"] * values) ** 2) + wg.mean((values - y) ** 2)


def of_critic(value_loss):
    """The loss of an actor, and one of its critic, which is not in the model."""

    def loss(pi, s, r):
        value = CRITIC(s)[:, 0]
        return -wg.mean(policy_gradient(pi, s, value, r)) + 0.5 * value_loss(value, r)

    return loss


def of_each_row(pi, s, r):
    value = CRITIC(s)[:, 0]
    return wg.mean((value - r) ** 2 / 2 - policy_gradient(pi, s, value, r))


COMPARED = {
    "differences": ("CRITIC", of_critic(lambda v, r: wg.mean((v - r) ** 2)), linear(4, 3)),
    "mse": ("CRITIC", of_critic(wg.mse), linear(4, 3)),
    "of each row": ("CRITIC", of_each_row, linear(4, 3)),
    "an inverse problem": ("FIELD", solved, {"k": np.ones((), np.float32)}),
    "a twin": (
        "CRITIC",
        lambda m, s, r: wg.mse(m(s)[:, 0], r) + wg.mse(CRITIC(s)[:, 0], r),
        linear(4, 1),
    ),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_layer_that_a_summand_compares_with_data_is_named(name):
    layer, loss, model = COMPARED[name]
    x = ROWS[:, 1] if layer == "FIELD" else ROWS
    (warning,) = told(loss, model, x, REWARDS)
    assert warning.category is UntrainedWarning
    assert f"the loss calls {layer}, a" in str(warning.message)


SECOND, GATE, CONTEXT = linear(), wg.nn.Linear(4, 4), wg.nn.Embedding(9, 4)
POSITIONS = wg.nn.PositionalEmbedding(6, 4)
QUERIES, KEYS = linear(), linear()


def by_attention(m, x):
    weights = wg.softmax(QUERIES(x) @ KEYS(x).T)
    return m["head"](weights @ m["net"](x))


JOINED = {  # what a forgotten layer gives meets values of the model, and goes on with them
    "a sum": ("SECOND", lambda m, x: m["head"](wg.relu(m["net"](x) + SECOND(x)))),
    "a product": ("GATE", lambda m, x: m["head"](m["net"](x) * wg.sigmoid(GATE(x)))),
    "side by side": ("SECOND", lambda m, x: m["wide"](wg.concat([m["net"](x), SECOND(x)], axis=1))),
    "an attention": ("KEYS|QUERIES", by_attention),
    "a table": ("an Embedding", lambda m, x: m["head"](m["net"](x) + CONTEXT(LABELS))),
    "positions": ("POSITIONS", lambda m, x: m["head"](POSITIONS(m["net"](x)))),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_layer_whose_results_meet_those_of_the_model_on_the_way_is_named(name):
    layer, logits = JOINED[name]
    model = {"net": linear(), "head": linear(4, 3), "wide": linear(8, 3)}
    (warning,) = told(lambda m, x, y: wg.cross_entropy(logits(m, x), y), model)
    assert warning.category is UntrainedWarning
    assert re.search(f"the loss calls ({layer})", str(warning.message))


# What is to stay as it is.


def frozen_copy(layer):
    """The layer as it is after some training."""
    return wg.tree.map(lambda x: x + 0.1, layer)


TARGET, RANDOM = linear(), linear()  # RANDOM has its first weights, and stays there
TEACHER = wg.nn.Sequential(linear(4, 5), "tanh", linear(5, 4))
TRAINED, TRAINED_HEAD = frozen_copy(linear()), frozen_copy(linear(4, 3))
START = wg.tree.copy(TARGET)
DOWN = np.full((2, 4), 0.1, np.float32)


def adapted(m, x):
    """LoRA: two layers that stay as they are, and what is trained beside them."""
    for each in m["lora"]:
        x = wg.tanh(TRAINED(x) + x @ each["down"].T @ each["up"].T)
    return m["head"](x)


def pulled_to_start(m, x, y):
    pairs = zip(wg.tree.leaves(m["net"]), wg.tree.leaves(START), strict=True)
    return wg.cross_entropy(m["head"](m["net"](x)), y) + sum(wg.mse(p, q) for p, q in pairs)


NET = {"net": linear(), "head": linear(4, 3)}
LORA = {
    "lora": [{"down": DOWN.copy(), "up": DOWN.T.copy()} for _ in range(2)],
    "head": linear(4, 3),
}
RIGHT = {
    "a target network": (lambda m, x, y: wg.mse(m(x), TARGET(x)), linear()),
    "a target of the next state": (
        lambda m, x, y: wg.mse(
            wg.take_along_axis(m(x), y[:, None], 1),
            0.9 * wg.take_along_axis(TARGET(x), wg.argmax(m(x), 1)[:, None], 1),
        ),
        linear(),
    ),
    "a target behind stop_gradient": (
        lambda m, x, y: wg.mse(m["net"](x), wg.stop_gradient(TARGET(m["net"](x)))),
        {"net": linear()},
    ),
    "a random network to predict": (lambda m, x, y: wg.mse(m(x), RANDOM(x)), linear()),
    "a larger teacher": (
        lambda m, x, y: wg.mean(
            -wg.softmax(TEACHER(x) / 2) * wg.log_softmax(m["net"](x) * m["scale"])
        ),
        {"net": linear(), "scale": np.ones(1, np.float32)},
    ),
    "features behind stop_gradient": (
        lambda m, x, y: wg.cross_entropy(m(wg.stop_gradient(TEACHER(x))), y),
        linear(4, 3),
    ),
    "features behind stop_gradient, beside others": (
        lambda m, x, y: wg.cross_entropy(m["head"](m["net"](x) + wg.stop_gradient(TEACHER(x))), y),
        {"net": linear(), "head": linear(4, 3)},
    ),
    "features that were trained before, beside others": (
        lambda m, x, y: wg.cross_entropy(m["head"](m["net"](x) + TRAINED(x)), y),
        {"net": linear(), "head": linear(4, 3)},
    ),
    "a network that the model corrects": (
        lambda m, x, y: wg.mse(m(x) + TEACHER(x), x),
        linear(),
    ),
    "a part that was trained before": (
        lambda m, x, y: wg.cross_entropy(m(wg.relu(TRAINED(x))), y),
        linear(4, 3),
    ),
    "a head that was trained before": (
        lambda m, x, y: wg.cross_entropy(TRAINED_HEAD(wg.relu(m(x))), y),
        linear(),
    ),
    "a middle that was trained before": (
        lambda m, x, y: wg.cross_entropy(m["head"](TRAINED(m["net"](x))), y),
        NET,
    ),
    "adapters": (lambda m, x, y: wg.cross_entropy(adapted(m, x), y), LORA),
    "weights to stay near": (pulled_to_start, NET),
    "a layer without weights": (
        lambda m, x, y: wg.cross_entropy(m["head"](wg.nn.LayerNorm(4)(m["net"](x))), y),
        NET,
    ),
    "the entropy of a teacher": (
        lambda m, x, y: (
            wg.mean(wg.softmax(TEACHER(x)) * wg.log_softmax(TEACHER(x)))
            - wg.mean(wg.softmax(TEACHER(x)) * wg.log_softmax(m(x)))
        ),
        linear(),
    ),
    "a reward model and what it is compared with": (
        lambda m, x, y: wg.mean(Categorical(m(x)).log_prob(y) * (TEACHER(x)[:, 0] - x[:, 0])),
        linear(4, 3),
    ),
    "what a reference gives": (
        lambda m, x, y: wg.mean(
            Categorical(m(x)).log_prob(y) - Categorical(TEACHER(x)).log_prob(y)
        ),
        linear(4, 3),
    ),
    "a target with a reward": (
        lambda m, x, y: wg.mean((m(x)[:, 0] - (x[:, 0] - 0.9 * TEACHER(x)[:, 0])) ** 2),
        linear(4, 1),
    ),
    "a value that was trained before": (
        lambda m, x, y: wg.cross_entropy(m(x), y) + wg.mse(TRAINED(x), x),
        linear(4, 3),
    ),
    "weights that are computed": (
        lambda m, x, y: wg.cross_entropy(wg.nn.Linear.of(m["head"].weight)(m["net"](x)), y),
        NET,
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_layers_that_are_to_stay_as_they_are_are_no_reason_to_warn(name):
    assert told(*RIGHT[name]) == []
