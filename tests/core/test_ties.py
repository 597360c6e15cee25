"""Arrays that stand at several places of a model, or share memory: told, unless on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from core.warned_calls import warned
from wengert.errors import (
    TiedWarning,
)


def stacked(model: Any) -> Any:
    return sum(wg.sum(x) for x in wg.tree.leaves(model))


ACCIDENTS = {
    "arrays": lambda: [np.zeros(3)] * 2,
    "arrays in a dict": lambda: {"layers": [np.zeros(3)] * 2, "b": np.zeros(2)},
    "layers": lambda: [wg.nn.Linear(2, 2)] * 3,
    "dicts": lambda: [{"w": np.zeros(3)}] * 2,
    "lists": lambda: [[np.zeros(3), np.ones(2)]] * 2,
    "inner lists": lambda: [[np.zeros(3)] * 2, np.ones(2)],
    "a layer of a tuple": lambda: wg.nn.Sequential(layer, "tanh", layer),
}
w, layer = np.array([0.5, 1.0, 2.0]), wg.nn.Linear(2, 2, dtype=np.float64)
net = {"l1": layer, "l2": np.ones(2)}
TWINS = {
    "layers": lambda: {"online": layer, "target": layer, "scale": np.ones(1)},
    "networks further inside": lambda: {"actor": w, "critic": {"online": net, "target": net}},
    "another dict of the same arrays": lambda: {"online": net, "target": dict(net)},
}
ON_PURPOSE = {
    "names": lambda: {"embedding": w, "out": w},
    "one array of a layer": lambda: {"first": layer, "second": wg.nn.Linear.of(layer.weight, w)},
    "copies": lambda: {"online": net, "target": wg.tree.copy(net)},
    "a list beside a name": lambda: {"layers": [w, np.ones(2)], "out": w},
    "two places in two lists": lambda: [{"a": w}, {"b": w}],
    "integers": lambda: [np.zeros(3), *[np.zeros(3, int)] * 2],
    "none": lambda: [np.zeros(3) for _ in range(3)],
}
USES = {
    "TrainStep": lambda model: wg.TrainStep(stacked, model, wg.optim.SGD(0.1)),
    "grad": lambda model: wg.grad(stacked)(model),
    "init": lambda model: wg.optim.Adam(0.1).init(model),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ACCIDENTS)
def test_one_array_several_times_in_a_list(name, use):
    (found,) = warned(lambda: USES[use](ACCIDENTS[name]()))
    assert found.category is wg.errors.TiedWarning
    assert found.filename == __file__
    assert "one parameter" in str(found.message)
    of_arrays = name in ("arrays", "arrays in a dict", "inner lists")
    assert ("names in a dict" in str(found.message)) == of_arrays  # where layers are told as well
    assert ("under one name and use it twice" in str(found.message)) != of_arrays


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", TWINS)
def test_one_network_under_two_names(name, use):
    (found,) = warned(lambda: USES[use](TWINS[name]()))
    assert found.category is wg.errors.TiedWarning
    assert found.filename == __file__
    assert "'online' and 'target' have the same" in str(found.message)
    assert "with another seed if both are trained" in str(found.message)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ON_PURPOSE)
def test_ties_on_purpose_are_no_reason_to_warn(name, use):
    assert warned(lambda: USES[use](ON_PURPOSE[name]())) == []


E = np.arange(12, dtype=np.float32).reshape(3, 4)
SHARED = {
    "a transpose": {"emb": E, "out": E.T},
    "overlapping slices": [E[:2], E[1:]],
    "a part": {"all": E, "first": E[0]},
    "a part behind another": {"a": E[:1], "all": E[:2], "last": E[1:]},
}
APART = {
    "rows": [E[:1], E[1:]],
    "columns": [E[:, :1], E[:, 1:]],
    "elements in turn": [E.reshape(-1)[::2], E.reshape(-1)[1::2]],
    "one array under two names": {"emb": E, "out": E},
    "nothing": [E[:0], E],
}


@pytest.mark.parametrize("name", SHARED)
def test_parameters_that_share_memory_are_named(name):
    def make() -> None:
        wg.TrainStep(lambda m: 0.0, SHARED[name], wg.optim.SGD(0.1))

    (found,) = warned(make)
    assert found.category is TiedWarning
    assert found.filename == __file__
    assert "are views of one memory" in str(found.message)


@pytest.mark.parametrize("name", APART)
def test_parameters_that_lie_apart_are_no_reason_to_warn(name):
    assert warned(lambda: wg.TrainStep(lambda m: 0.0, APART[name], wg.optim.SGD(0.1))) == []


def test_a_map_keeps_ties_and_calls_its_function_once_for_each():
    shared, other = np.ones((2, 3)), np.zeros(2)
    model = {"in": shared, "out": shared, "bias": other}
    calls = []
    wide = wg.tree.map(lambda x: calls.append(x) or 2 * x, model)
    assert wide["in"] is wide["out"]
    assert [x is shared for x in calls] == [True, False]
    step = wg.TrainStep(lambda m: wg.sum(m["in"]) - 3 * wg.sum(m["out"]), wide, wg.optim.SGD(0.1))
    step()
    np.testing.assert_array_equal(step.model["in"], step.model["out"])
    np.testing.assert_allclose(step.model["in"], 2.2)


def test_a_map_over_trees_of_which_one_is_not_tied_gives_apart_what_is_apart():
    shared = np.ones(2)
    summed = wg.tree.map(lambda x, y: x + y, [shared, shared], [np.zeros(2), np.ones(2)])
    np.testing.assert_array_equal(summed, [[1, 1], [2, 2]])


def test_numbers_of_numpy_are_never_tied_by_a_map():
    number = np.float64(2)
    drawn = iter([1.0, 2.0])
    assert wg.tree.map(lambda x: x * next(drawn), [number, number]) == [2.0, 4.0]
