"""Names that people type from other libraries, in modules, layers, steps and arguments."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.missing import OF_LAYERS, OF_STEPS, REPAIRS
from wengert.errors import MissingAttribute, OptimError

SPACES = {"": wg, "nn": wg.nn, "optim": wg.optim, "random": wg.random, "linalg": wg.linalg}
NAMES = [(space, name) for space, names in REPAIRS.items() for name in names]
x = np.ones((5, 3), np.float32)


def a_model() -> Any:
    return wg.nn.Sequential(wg.nn.Linear(3, 4), "relu", wg.nn.Linear(4, 1))


def loss(model: Any, x: Any) -> Any:
    return wg.mean(model(x) ** 2)


@pytest.mark.parametrize(("space", "name"), NAMES)
def test_a_name_from_elsewhere_is_told_its_name_here(space, name):
    assert not hasattr(SPACES[space], name)
    assert name not in dir(SPACES[space])
    with pytest.raises(MissingAttribute) as found:
        getattr(SPACES[space], name)
    assert str(found.value).endswith(f". {REPAIRS[space][name]}.")


def test_the_names_in_the_repairs_exist():
    tables = [*REPAIRS.values(), OF_LAYERS, OF_STEPS]
    texts = [text for table in tables for text in table.values()]
    written = {each for text in texts for each in re.findall(r"\b(?:wg|np)(?:\.\w+)+", text)}
    assert len(written) > 40
    for each in written:
        eval(each)  # a name of ours or of NumPy's


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "wg.matmull": "wg.matmul",
        "wg.Linear": "wg.nn.Linear",
        "wg.Adam": "wg.optim.Adam",
        "wg.nn.relu": "wg.relu",
        "wg.nn.Linaer": "wg.nn.Linear",
        "wg.optim.RMSprop": "wg.optim.RMSProp",
        "wg.random.unifrom": "wg.random.uniform",
        "wg.linalg.slove": "wg.linalg.solve",
    }.items(),
)
def test_other_names_are_told_the_nearest(written, meant):
    with pytest.raises(AttributeError, match=rf"{re.escape(written)}: .*Write {meant}\.$"):
        eval(written)


def test_python_and_its_tools_are_told_in_pythons_words():
    for thing in (wg, wg.nn, a_model()):
        with pytest.raises(AttributeError, match="has no attribute '_repr_html_'"):
            _ = thing._repr_html_


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "wg.optim.adam": "wg.optim.Adam",
        "wg.optim.sgd": "wg.optim.SGD",
        "wg.nn.linear": "wg.nn.Linear",
    }.items(),
)
def test_a_module_that_is_called_names_the_class(written, meant):
    with pytest.raises(TypeError, match=rf"{written}: .*Write {meant}\("):
        eval(written)(1e-3)


@pytest.mark.parametrize("name", OF_LAYERS)
def test_layers_explain_what_they_have_not(name):
    for layer in (a_model(), wg.nn.Linear(3, 4), wg.nn.GRU(3, 4)):
        assert not hasattr(layer, name)
        with pytest.raises(MissingAttribute, match=re.escape(f". {OF_LAYERS[name]}.")):
            getattr(layer, name)


def test_a_field_that_is_mistyped_is_told_the_right_one():
    with pytest.raises(MissingAttribute, match=r"Linear\.wieght: .*Write weight"):
        _ = wg.nn.Linear(3, 4).wieght


def test_layers_are_copied_and_pickled_as_before():
    model = a_model()
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other(x), model(x))


@pytest.mark.parametrize("name", OF_STEPS)
def test_steps_explain_what_they_have_not(name):
    step = wg.TrainStep(loss, a_model(), wg.optim.SGD(0.1))
    with pytest.raises(MissingAttribute, match=re.escape(f". {OF_STEPS[name]}.")):
        getattr(step, name)


MODELS = {
    "a model and a rate": lambda make: make(a_model(), lr=1e-3),
    "a model and a rate, by position": lambda make: make(a_model(), 1e-3),
    "a model": lambda make: make(a_model()),
    "leaves": lambda make: make(wg.tree.leaves(a_model()), 1e-3),
    "a generator of leaves": lambda make: make((leaf for leaf in wg.tree.leaves(a_model())), 1e-3),
    "a dict": lambda make: make({"w": x}, 1e-3),
}


@pytest.mark.parametrize("make", [wg.optim.Adam, wg.optim.SGD, wg.optim.RMSProp])
@pytest.mark.parametrize("name", MODELS)
def test_an_optimizer_says_that_it_takes_no_parameters(name, make):
    with pytest.raises(
        OptimError, match=rf"{make.__name__}: .*made without parameters.*wg\.optim\.{make.__name__}"
    ):
        MODELS[name](make)


def test_a_schedule_with_arrays_is_a_rate():
    @dataclass
    class Table:
        rates: Any

        def __call__(self, index: int) -> float:
            return float(self.rates[index])

    table = Table(np.array([0.5, 0.25]))
    assert wg.optim.Adam(table).lr is table
    assert wg.optim.Adam(np.float32(0.5)).lr == 0.5


@pytest.mark.parametrize("model", [a_model(), {"w": x}])
def test_a_step_whose_arguments_changed_places_says_so(model):
    with pytest.raises(TypeError, match=r"the loss comes first. Write wg\.TrainStep\(loss, model"):
        wg.TrainStep(model, loss, wg.optim.SGD(0.1))
    with pytest.raises(TypeError, match=r"the optimizer SGD as the model; .*the third"):
        wg.TrainStep(loss, wg.optim.SGD(0.1), model)


@pytest.mark.parametrize("key", ["weight", "ignore_index"])
def test_cross_entropy_shows_how_to_weigh(key):
    with pytest.raises(TypeError, match=rf"no parameter {key!r}.*reduction='none'"):
        wg.cross_entropy(x, np.zeros(5, int), **{key: 1})


def test_schedules_know_the_names_of_their_lengths():
    with pytest.raises(TypeError, match="Write total_steps= instead"):
        wg.optim.Cosine(0.1, T_max=100)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Write min_lr= instead"):
        wg.optim.Cosine(0.1, 100, eta_min=0.1)  # type: ignore[call-arg]
