"""What an optimizer is given and cannot use: refused, with nothing changed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY
from wengert.errors import MissingGradient, OptimError

o = wg.optim
EACH = pytest.mark.parametrize("name", EVERY)


@pytest.mark.parametrize("value", [-1.0, np.nan, "fast", None])
def test_a_schedule_that_gives_no_rate_is_refused_when_it_does(value):
    optimizer = o.SGD(lambda step: 0.1 if step < 1 else value, momentum=0.9)
    weights = np.ones(2)
    optimizer.step("w", weights, np.ones(2))
    before = weights.copy()
    with pytest.raises(OptimError, match=r"lr\(1\)"):
        optimizer.step("w", weights, np.ones(2))
    np.testing.assert_array_equal(weights, before)
    assert optimizer.state_dict()["parameters"]["w"]["count"] == 1


BAD_STEPS = {
    "shape": lambda w: ("w", w, np.ones(4)),
    "broadcast": lambda w: ("w", w, np.ones(())),
    "complex": lambda w: ("w", w, np.ones(3, complex)),
    "text": lambda w: ("w", w, np.array(["a", "b", "c"])),
    "none": lambda w: ("w", w, None),
    "list weights": lambda w: ("w", [1.0, 1.0, 1.0], np.ones(3)),
    "integer weights": lambda w: ("w", np.ones(3, int), np.ones(3)),
    "half weights": lambda w: ("w", np.ones(3, np.float16), np.ones(3)),
    "read-only": lambda w: ("w", np.broadcast_to(1.0, (3,)), np.ones(3)),
    "no hash": lambda w: (["w"], w, np.ones(3)),
    "other shape": lambda w: ("w", np.ones(5), np.ones(5)),
    "other dtype": lambda w: ("w", np.ones(3, np.float32), np.ones(3)),
}


@pytest.mark.parametrize("case", BAD_STEPS)
@pytest.mark.parametrize("name", ["SGD momentum", "Lars", "Adam", "Lookahead"])
def test_a_bad_step_changes_nothing(name, case):
    optimizer, weights = EVERY[name](), np.ones(3)
    optimizer.step("w", weights, np.ones(3))
    before, kept = weights.copy(), optimizer.state_dict()
    parameter_id, given, grad = BAD_STEPS[case](weights)
    with pytest.raises(OptimError, match=f"{type(optimizer).__name__}: "):
        optimizer.step(parameter_id, given, grad)
    np.testing.assert_array_equal(weights, before)
    now = optimizer.state_dict()
    assert list(now["parameters"]) == ["w"]
    for key, value in kept["parameters"]["w"].items():
        np.testing.assert_array_equal(now["parameters"]["w"][key], value)


def test_lars_calls_its_rate_as_its_constructor_does():
    with pytest.raises(OptimError, match=r"^Lars: base_lr=-1 was given"):
        wg.optim.Lars(-1)
    with pytest.raises(OptimError, match=r"^Lars: base_lr\(2\)=-1 was given"):
        wg.optim.Lars(lambda index: -1 if index == 2 else 0.1).scalars(3)


def test_a_bad_policy_is_refused():
    with pytest.raises(OptimError, match="raise, skip, ignore"):
        o.SGD(0.1).step("w", np.ones(2), np.ones(2), nonfinite="stop")


def test_gradients_may_be_lists_and_of_other_dtypes():
    weights = np.ones(2, np.float32)
    o.SGD(0.5).step(0, weights, [1, 2])
    o.SGD(0.5).step(0, weights, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(weights, np.float32([0, -1]))
    assert weights.dtype == np.float32


class TestGraphNodes:
    def graph(self):
        g = wg.Graph()
        x, w = g.input(np.ones(2), name="x"), g.parameter(np.ones(2), name="w")
        return g, x, w, g.sum(g.mul(x, w))

    @EACH
    def test_what_is_no_parameter_is_refused(self, name):
        g, x, w, loss = self.graph()
        g.backward(loss)
        for node in (x, loss, g.input({"a": np.ones(2)}, name="tree")):
            with pytest.raises(OptimError, match="only parameters are trained"):
                EVERY[name]().step_graph_node(g, node)
        np.testing.assert_array_equal(g.value(w), 1)

    @EACH
    def test_a_missing_gradient(self, name):
        g, _, w, _ = self.graph()
        optimizer = EVERY[name]()
        with pytest.raises(MissingGradient, match="'w' has no gradient"):
            optimizer.step_graph_node(g, w)
        assert optimizer.state_dict()["parameters"] == {}

    def test_what_is_no_graph_is_refused(self):
        with pytest.raises(OptimError, match=r"works on a wg\.Graph"):
            o.SGD(0.1).step_graph_node({"w": 1}, 0)

    def test_integers_in_a_tree_are_data(self):
        g = wg.Graph()
        tree = g.parameter({"w": np.ones(2), "n": np.array([1, 2])}, name="t")
        g.backward(g.sum(g.struct_field(tree, "w")))
        o.SGD(0.5).step_graph_node(g, tree)
        np.testing.assert_array_equal(g.value(tree)["w"], 0.5)
        np.testing.assert_array_equal(g.value(tree)["n"], [1, 2])


class TestTrees:
    @property
    def model(self):
        return {"w": np.ones((2, 3)), "layers": [{"b": np.zeros(3)}]}

    def test_a_missing_gradient_is_named(self):
        optimizer = o.Adam(0.1)
        state = optimizer.init(self.model)
        for grads in ({"w": np.ones((2, 3))}, {"w": np.ones((2, 3)), "layers": [{"b": None}]}):
            with pytest.raises(MissingGradient, match=r"no array for 'layers\.0\.b'"):
                optimizer.update(self.model, grads, state)

    def test_a_gradient_of_another_shape_is_named(self):
        optimizer = o.Adam(0.1)
        grads = {"w": np.ones((3, 2)), "layers": [{"b": np.zeros(3)}]}
        with pytest.raises(OptimError, match="gradient of 'w' has shape"):
            optimizer.update(self.model, grads, optimizer.init(self.model))

    def test_the_state_of_another_tree_or_optimizer_is_refused(self):
        optimizer = o.Adam(0.1)
        for state in (
            optimizer.init({"w": np.ones((2, 3))}),
            o.SGD(0.1).init(self.model),
            {"count": np.array(0)},
            3,
            optimizer.init({"w": np.ones(3), "layers": [{"b": np.zeros(3)}]}),
        ):
            with pytest.raises(OptimError):
                optimizer.update(self.model, self.model, state)

    def test_two_leaves_of_one_path_are_refused(self):
        with pytest.raises(OptimError, match=r"path 'a\.b' was given twice"):
            o.SGD(0.1).init({"a.b": np.ones(2), "a": {"b": np.ones(2)}})

    def test_half_precision_is_refused(self):
        with pytest.raises(wg.errors.DTypeError, match="float16"):
            o.SGD(0.1).init({"w": np.ones(2, np.float16)})

    def test_a_rule_sees_the_path(self):
        optimizer = o.Lars(1.0, exclude=lambda path: path == "layers.0.b")
        grads = {"w": np.ones((2, 3)), "layers": [{"b": np.ones(3)}]}
        new, _ = optimizer.update(self.model, grads, optimizer.init(self.model))
        np.testing.assert_allclose(new["layers"][0]["b"], -1.0)
        np.testing.assert_allclose(new["w"], 1 - 0.001)

    def test_averages_as_a_tree(self):
        optimizer = o.EMA(o.SGD(1.0), decay=0.75)
        state = optimizer.init(self.model)
        grads = {"w": np.full((2, 3), 4.0), "layers": [{"b": np.full(3, 4.0)}]}
        new, state = optimizer.update(self.model, grads, state)
        averages = optimizer.averaged(new, state)
        np.testing.assert_array_equal(averages["w"], 0.75 * 1 + 0.25 * -3)
        np.testing.assert_array_equal(averages["layers"][0]["b"], -1)
        model = wg.tree.copy(self.model)
        with pytest.raises(OptimError, match="average of 'w'"):
            optimizer.averaged(model)
        optimizer.step("w", model["w"], grads["w"])
        optimizer.step("layers.0.b", model["layers"][0]["b"], grads["layers"][0]["b"])
        np.testing.assert_array_equal(optimizer.averaged(model)["w"], averages["w"])


def test_a_function_that_gives_no_rate():
    schedule = wg.optim.Lambda(0.1, lambda index: "a")
    for use in (lambda: schedule(3), lambda: schedule.table(3, 2)):
        with pytest.raises(wg.errors.OptimError, match=r"update 3 raised ValueError"):
            use()


MODEL, GRADS = {"w": np.ones(2)}, {"w": np.full(2, 3.0)}
RIGHT = r"model, state = optimizer\.update\(model, grads, state\)"


@pytest.mark.parametrize(
    "call",
    [
        lambda adam, state: adam.step(),
        lambda adam, state: adam.step(MODEL, GRADS),
        lambda adam, state: adam.update(),
        lambda adam, state: adam.update(MODEL, GRADS),
        lambda adam, state: adam.update(GRADS, state, MODEL),
        lambda adam, state: adam.update(GRADS, state, params=MODEL),
        lambda adam, state: adam.update(state, GRADS, MODEL),
    ],
    ids=["torch", "trees", "nothing", "no state", "optax", "optax by name", "state first"],
)
def test_calls_of_other_libraries_are_told_the_order(call):
    adam = o.Adam(0.1)
    with pytest.raises((TypeError, OptimError), match=RIGHT):
        call(adam, adam.init(MODEL))


def test_schedules_are_told_what_to_write():
    with pytest.raises(AttributeError, match=r"StepDecay\.step: .* Leave it out"):
        o.StepDecay(0.1, step_size=3).step()
    with pytest.raises(AttributeError, match=r"Cosine\.get_last_lr: .* Write schedule\(index\)"):
        o.Cosine(0.1, total_steps=3).get_last_lr()


@dataclass
class Table:
    """A schedule of the user's."""

    rates: np.ndarray

    def __call__(self, index):
        return self.rates[index]


@dataclass
class Stack:
    """A model of the user's, which can be called, too."""

    parts: list

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x


@dataclass
class Affine:
    w: np.ndarray

    def __call__(self, x):
        return x @ self.w


@pytest.mark.parametrize(
    "model", [Affine(np.ones((2, 2))), Stack([wg.nn.Linear(2, 2)]), Stack([{"a": np.eye(2)}])]
)
def test_a_model_that_can_be_called_is_no_schedule(model):
    with pytest.raises(OptimError, match="optimizer is made without parameters"):
        o.Adam(model)


def test_a_schedule_with_a_table_is_one():
    assert o.SGD(Table(np.array([0.5, 0.25]))).learning_rate == 0.5


def test_a_rate_that_is_multiplied_says_what_ends_a_schedule():
    optimizer = o.SGD(o.Cosine(0.1, 10))
    with pytest.raises(TypeError, match="which ends the schedule"):
        optimizer.lr *= 0.1
    optimizer.learning_rate *= 0.5
    assert optimizer.lr == 0.05


def test_what_an_update_returns_under_one_name_is_told_to_be_unpacked():
    optimizer, model = wg.optim.Adam(0.1), {"w": np.ones(3)}
    gradients = wg.grad(lambda p: wg.sum(p["w"] ** 2))
    state = optimizer.init(model)
    pair = optimizer.update(model, gradients(model), state)
    unpacked = r"rite model, state = optimizer\.update\(model, grads, state\)"
    with pytest.raises(OptimError, match=rf"\(model, state\) as state; an update .* W{unpacked}"):
        optimizer.update(model, gradients(model), pair)
    with pytest.raises(OptimError, match=rf"\(model, state\) as model; an update .* W{unpacked}"):
        optimizer.update(pair, gradients(model), state)
    for call in (gradients, wg.compile(lambda p: wg.sum(p["w"]))):
        with pytest.raises(TypeError) as caught:
            call(pair)
        assert re.search(
            rf"given a tuple \(model, state\).*w{unpacked}", caught.value.__notes__[-1]
        )
    with pytest.raises(wg.errors.TraceError) as caught:
        wg.compile(lambda p: wg.mean(np.ones((2, 3)) @ p))((np.ones(3), state))
    assert "(model, state)" in caught.value.__notes__[-1]
