"""After an error in training everything is as it was: optimizers, steps, gradients and files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import NonFiniteError, WengertError

o = wg.optim
X, Y = np.arange(12.0).reshape(4, 3) / 10, np.arange(4.0)
NAN = np.array([1.0, np.nan, 1.0])
REFUSED = (WengertError, ValueError, TypeError, IndexError)


def bits(tree: Any) -> str:
    """Everything that stands in a state, with every bit of its arrays."""
    if isinstance(tree, dict):
        return str({key: bits(value) for key, value in tree.items()})
    if isinstance(tree, np.ndarray):
        return f"{tree.dtype}{tree.shape}{tree.tobytes().hex()}"
    return repr(tree)


# Optimizers.


def stepped(optimizer: Any) -> tuple[Any, Any]:
    weights = np.ones(3)
    for grad in (np.arange(3.0), np.ones(3)):
        optimizer.step("w", weights, grad)
    return optimizer, weights


def changed(optimizer: Any, **changes: Any) -> Any:
    return copy.deepcopy(optimizer.state_dict()) | changes


OPTIMIZER: dict[str, Callable[[Any, Any], Any]] = {
    "shape": lambda x, w: x.step("w", w, np.ones(4)),
    "gradient": lambda x, w: x.step("w", w, NAN),
    "update": lambda x, w: x.step("w", w, np.full(3, 1e308)),
    "policy": lambda x, w: x.step("w", w, np.ones(3), nonfinite="stop"),
    "other weights": lambda x, w: x.step("w", np.ones(4), np.ones(4)),
    "rate": lambda x, w: setattr(x, "lr", -1.0),
    "learning rate": lambda x, w: setattr(x, "learning_rate", "fast"),
    "setting": lambda x, w: setattr(x, "weight_decay", -1.0),
    "no state": lambda x, w: x.load_state_dict(None),
    "state of a count": lambda x, w: x.load_state_dict(
        changed(x, parameters={"v": {}, "w": {"count": -1}})
    ),
    "state of a rate": lambda x, w: x.load_state_dict(changed(x, learning_rate=-1.0)),
    "state of another optimizer": lambda x, w: x.load_state_dict(o.Lion(0.5).state_dict()),
}


@pytest.mark.parametrize("name", OPTIMIZER)
@pytest.mark.parametrize(
    "make",
    [lambda: o.Adam(10.0, weight_decay=0.1), lambda: o.SGD(10.0, momentum=0.9, weight_decay=0.1)],
    ids=["Adam", "SGD"],
)
def test_an_optimizer_stays_as_it_was(make, name):
    optimizer, weights = stepped(make())
    before = bits(optimizer.state_dict()), repr(optimizer), weights.copy()
    with pytest.raises(REFUSED), np.errstate(all="ignore"):
        OPTIMIZER[name](optimizer, weights)
    assert (bits(optimizer.state_dict()), repr(optimizer)) == before[:2]
    np.testing.assert_array_equal(weights, before[2])


@pytest.mark.parametrize("make", [o.SGD, o.LBFGS])
def test_neither_optimizer_nor_schedule_takes_a_part_of_a_bad_state(make):
    optimizer = make(o.Chain([o.ReduceOnPlateau(0.5), o.ReduceOnPlateau(0.25)], [5]))
    before = bits(optimizer.state_dict())
    bad = copy.deepcopy(optimizer.state_dict())
    bad["schedule"]["0"]["rate"] = 0.125  # this one would do
    bad["schedule"]["1"]["best"] = np.nan
    with pytest.raises(REFUSED):
        optimizer.load_state_dict(bad)
    assert bits(optimizer.state_dict()) == before


def test_of_a_tree_in_a_graph_all_parameters_are_updated_or_none():
    g = wg.Graph()
    pair = g.parameter({"a": np.ones(2), "b": np.zeros(2)}, name="pair")
    a, b = g.struct_field(pair, "a"), g.struct_field(pair, "b")
    g.backward(g.sum(g.add(a, g.sqrt(b))))  # infinite for b alone
    optimizer = o.SGD(0.5, momentum=0.9)
    with pytest.raises(NonFiniteError):
        optimizer.step_graph_node(g, pair)
    np.testing.assert_array_equal(g.value(pair)["a"], 1)
    assert optimizer.state_dict()["parameters"] == {}


@pytest.mark.parametrize(
    "bad",
    [
        lambda w: 1.0,
        lambda w: (1.0, np.ones(5)),
        lambda w: (np.nan, w),
        lambda w: (w.shape[9], w),
    ],
)
def test_a_search_that_is_refused_goes_on_as_if_it_had_not_been(bad):
    def bowl(w):
        return wg.sum((w - 3.0) ** 4)

    search, w = o.LBFGS(max_iter=2), np.ones(3)
    search.step(wg.value_and_grad(bowl), w)
    before = bits(search.state_dict()), w.copy()
    with pytest.raises(REFUSED):
        search.step(bad, w)
    assert bits(search.state_dict()) == before[0]
    np.testing.assert_array_equal(w, before[1])


# Training steps.


def loss(model: Any, state: Any, x: Any, y: Any) -> Any:
    error = x @ model["w"] + model["b"] - y
    return wg.mean(error * error), {"seen": state["seen"] + wg.mean(x)}


def made() -> wg.TrainStep:
    step = wg.TrainStep(
        loss,
        {"w": np.ones(3), "b": np.zeros(())},
        o.Adam(o.ReduceOnPlateau(0.1)),
        accumulate=2,
        state={"seen": np.zeros(())},
    )
    for _ in range(3):
        step(X, Y)
    return step


def loaded(step: Any, change: Callable[[Any], Any]) -> None:
    state = step.state_dict()
    for x in state["arrays"]["model"].values():
        x[...] = 7.0  # what a load that stops half-way would leave
    change(state)
    step.load_state_dict(state)


STEP: dict[str, Callable[[Any], Any]] = {
    "a batch of another size": lambda step: step(X, Y[:3]),
    "a batch of another dtype": lambda step: step(X, Y.astype(int)),
    "a batch that is not finite": lambda step: step(X * np.nan, Y),
    "a batch too many": lambda step: step(X, Y, Y),
    "a run": lambda step: step.run(X, Y, batch_size=9),
    "a run that meets a NaN": lambda step: step.run(X[:2] * np.nan, Y[:2], batch_size=2),
    "the model": lambda step: setattr(step, "model", {"w": np.zeros(3), "b": np.zeros(2)}),
    "the state": lambda step: setattr(step, "state", {"seen": np.zeros(2)}),
    "an array of the model": lambda step: loaded(
        step, lambda state: state["arrays"]["model"].update(b=np.zeros(2))
    ),
    "an array of the optimizer": lambda step: loaded(
        step, lambda state: state["arrays"]["optimizer mean"].pop("w")
    ),
    "a count": lambda step: loaded(step, lambda state: state["counts"].update(updates="many")),
    "the settings": lambda step: loaded(step, lambda state: state["settings"].clear()),
    "the schedule": lambda step: loaded(
        step, lambda state: state["settings"]["*"]["schedule"].update(best=np.nan)
    ),
}


@pytest.mark.parametrize("name", STEP)
def test_a_step_goes_on_as_if_nothing_had_been_refused(name):
    step, twin = made(), made()
    with pytest.raises(REFUSED):
        STEP[name](step)
    assert bits(step.state_dict()) == bits(twin.state_dict())
    assert step.fingerprint() == twin.fingerprint()
    for _ in range(2):
        assert step(X, Y) == twin(X, Y)
    assert bits(step.state_dict()) == bits(twin.state_dict())


# Gradients of an Mlp.


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda g, mlp: g.scale_params(np.inf),
    "scale beyond the dtype": lambda g, mlp: g.scale_params(1e39),
    "bound": lambda g, mlp: g.clip_global_norm_params(0.0),
    "policy": lambda g, mlp: g.clip_global_norm_params(1.0, "skip"),
    "copy": lambda g, mlp: g.copy_from(wg.nn.Mlp((3, 5, 2)).gradients()),
    "input": lambda g, mlp: mlp.backward(np.ones(4), g.scratch, g),
    "scratch": lambda g, mlp: mlp.backward(np.ones(3), mlp.scratch(5), g),
    "another model": lambda g, mlp: wg.nn.Mlp((3, 5, 2)).backward(np.ones(3), g.scratch, g),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_an_mlp_stay(name):
    mlp = wg.nn.Mlp((3, 4, 2))
    scratch, grads = mlp.scratch(), mlp.gradients()
    x = np.array([1.0, -2.0, 0.5], np.float32)
    grads.d_output[...] = mlp.forward(x, scratch)
    mlp.backward(x, scratch, grads)
    before = [y.copy() for y in (grads.params, grads.d_input, grads.d_output, scratch.output)]
    with pytest.raises(REFUSED):
        GRADIENTS[name](grads, mlp)
    for now, old in zip(
        (grads.params, grads.d_input, grads.d_output, scratch.output), before, strict=True
    ):
        np.testing.assert_array_equal(now, old)
    mlp.backward(x, scratch, grads, accumulate=True)
    np.testing.assert_array_equal(grads.params, 2 * before[0])


def test_gradients_that_are_not_finite_are_not_scaled():
    grads = wg.nn.Mlp((3, 2)).gradients()
    grads.params[...] = [*range(7), np.inf]
    before = grads.params.copy()
    with pytest.raises(NonFiniteError):
        grads.clip_global_norm_params(1.0)
    np.testing.assert_array_equal(grads.params, before)


# Files.


@pytest.mark.parametrize("tree", [{"w": X, "v": X * 1j}, {"w": X, "s": {1}}, {frozenset(): X}])
def test_a_tree_that_cannot_be_saved_leaves_the_old_file(tmp_path, tree):
    path = tmp_path / "model.safetensors"
    wg.save(path, {"w": Y})
    with pytest.raises(REFUSED):
        wg.save(path, tree)
    np.testing.assert_array_equal(wg.load(path)["w"], Y)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
