"""Models that are loaded under the name of the one that a step was made with: the step has a copy
of that, and goes on with its numbers.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, warned
from wengert.errors import CopiedWarning, UnusedWarning


def loss(m, x, y):
    return wg.mean((m(x)[:, 0] - y) ** 2)


def net(seed=0):
    return wg.nn.Linear(3, 1, dtype=np.float64, seed=seed)


def step_of(model, f=loss):
    return wg.TrainStep(f, model, wg.optim.SGD(0.1), compiled=False)


@pytest.fixture
def path(tmp_path):
    wg.save(tmp_path / "net.safetensors", net(1))
    return tmp_path / "net.safetensors"


def torch_tensors():
    return {"weight": np.ones((1, 3)), "bias": np.zeros(1)}


def saved(step):
    with TemporaryDirectory() as folder:
        step.save(Path(folder) / "step.safetensors")


TRAINING = {
    "calls": lambda step: [step(X, Y) for _ in range(4)],
    "run": lambda step: step.run(X, Y, batch_size=4),
    "epochs": lambda step: list(step.epochs(X, Y, batch_size=4)),
    "fit": lambda step: wg.train.fit(step, (X, Y), epochs=1, batch_size=4, progress=False),
}
USING = TRAINING | {
    "evaluate": lambda step: step.evaluate(loss, X, Y, batch_size=4),
    "bind": lambda step: step.bind(lambda m, x: m(x)),
    "save": saved,
}


@pytest.mark.parametrize("train", USING.values(), ids=USING)
def test_a_model_that_is_loaded_after_the_step_was_made_is_told(train, path):
    model = net()
    step = step_of(model)
    model = wg.load(path, like=model)
    found = warned(lambda: [train(step), train(step)])
    assert [each.category for each in found] == [CopiedWarning]
    text = str(found[0].message)
    assert "model = wg.load(path, like=model) gave a new model after the step was made" in text
    assert "Write step.model = wg.load(path, like=step.model)" in text
    assert found[0].filename == __file__


def test_weights_of_torch_and_attributes_are_told(path):
    agent = SimpleNamespace(model=net())
    step = step_of(agent.model)
    agent.model = wg.nn.from_torch_names(agent.model, torch_tensors())
    (found,) = warned(lambda: step(X, Y))
    text = str(found.message)
    assert "agent.model = wg.nn.from_torch_names(agent.model, tensors) gave a new model" in text
    assert "Write step.model = wg.nn.from_torch_names(step.model, tensors)" in text


def test_a_variable_of_the_module_is_told(path):
    there = {"wg": wg, "path": path, "model": net()}
    step = step_of(there["model"])
    exec(compile("model = wg.load(path, like=model)", "program.py", "exec"), there)
    assert len(warned(lambda: step(X, Y))) == 1


# Without like.


def loss_of_dict(m, x, y):
    return wg.mean((x @ m["w"] + m["b"] - y) ** 2)


def params(value=0.0):
    return {"w": np.full(3, value), "b": np.zeros(())}


@pytest.fixture
def path_of_dict(tmp_path):
    wg.save(tmp_path / "params.safetensors", params(1.0))
    return tmp_path / "params.safetensors"


@pytest.mark.parametrize("train", TRAINING.values(), ids=TRAINING)
def test_a_dict_that_is_loaded_after_the_step_was_made_is_told(train, path_of_dict):
    p = params()
    step = step_of(p, loss_of_dict)
    p = wg.load(path_of_dict)
    found = warned(lambda: [train(step), train(step)])
    assert [each.category for each in found] == [CopiedWarning]
    text = str(found[0].message)
    assert "p = wg.load(path) gave a new model after the step was made" in text
    assert "Write step.model = wg.load(path, like=step.model)" in text
    assert p["w"][0] == 1.0


def test_an_attribute_that_is_loaded_without_like_is_told(path):
    agent = SimpleNamespace(model=net())
    step = step_of(agent.model)
    agent.model = wg.load(path)
    (found,) = warned(lambda: step(X, Y))
    assert "agent.model = wg.load(path) gave a new model" in str(found.message)


def dict_of_another_name(p, step, path):
    best = wg.load(path)
    return step, p, best


def dict_of_other_shapes(p, step, path):
    wg.save(path, {"rows": np.ones((4, 2))})
    p = wg.load(path)
    return step, p


def dict_that_is_assigned(p, step, path):
    p = wg.load(path)
    step.model = p
    return step, p


def dict_of_a_new_step(p, step, path):
    p = wg.load(path)
    return step, step_of(p, loss_of_dict)


def dict_of_a_trained_step(p, step, path):
    step(X, Y)
    p = wg.load(path)
    return step, p


def dict_of_a_name_that_held_something_else(p, step, path):
    q, r = object(), params()
    q = wg.load(path)
    r = wg.load(path)
    return step, p, q, r


@pytest.mark.parametrize(
    "use",
    [
        dict_of_another_name,
        dict_of_other_shapes,
        dict_that_is_assigned,
        dict_of_a_new_step,
        dict_of_a_trained_step,
        dict_of_a_name_that_held_something_else,
    ],
    ids=lambda f: f.__name__,
)
def test_a_dict_that_is_loaded_for_another_use_is_let_be(use, path_of_dict):
    def program():
        p = params()
        used = use(p, step_of(p, loss_of_dict), path_of_dict)
        for step in (each for each in used if isinstance(each, wg.TrainStep)):
            step(X, Y)
            step.run(X, Y, batch_size=4)

    assert warned(program) == []


def another_name(model, step, path):
    teacher = wg.load(path, like=model)
    return step, model, teacher


def a_new_step(model, step, path):
    model = wg.load(path, like=model)
    return step, step_of(model)


def both_are_trained(model, step, path):
    model = wg.load(path, like=model)
    return step, step_of(model), model


def assigned(model, step, path):
    model = wg.load(path, like=model)
    step.model = model
    return step, model


def written(model, step, path):
    model = wg.load(path, like=model)
    step.model.weight[...], step.model.bias[...] = model.weight, model.bias
    return step, model


def loaded_into_the_step(model, step, path):
    step.model = wg.load(path, like=step.model)
    return (step,)


def evaluated_itself(model, step, path):
    model = wg.load(path, like=model)
    step.evaluate(lambda _, m, x, y: loss(m, x, y), model, X, Y, batch_size=4)
    return (model,)


def trained_before(model, step, path):
    step(X, Y)
    model = wg.load(path, like=model)
    return step, model


def in_a_turn_of_a_loop(model, step, path):
    for _ in range(2):
        model = wg.load(path, like=model)
        step = step_of(model)
        step(X, Y)
    return (step,)


def of_another_model(model, step, path):
    other = net(3)
    other = wg.load(path, like=other)
    return step, other, model


@pytest.mark.parametrize(
    "use",
    [
        another_name,
        a_new_step,
        both_are_trained,
        assigned,
        written,
        loaded_into_the_step,
        evaluated_itself,
        trained_before,
        in_a_turn_of_a_loop,
        of_another_model,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_loaded_for_another_use_is_let_be(use, path):
    def program():
        model = net()
        used = use(model, step_of(model), path)
        for step in (each for each in used if isinstance(each, wg.TrainStep)):
            step(X, Y)
            step.run(X, Y, batch_size=4)

    assert warned(program) == []


def test_an_argument_of_the_call_is_let_be(path):
    model = net()
    step = step_of(model, lambda m, teacher, x: wg.mean((m(x) - teacher(x)) ** 2))
    model = wg.load(path, like=model)
    assert warned(lambda: [step(model, X), step(model, X)]) == []


@pytest.mark.parametrize("has_step", [False, True])
def test_a_result_that_is_dropped_names_the_step_if_there_is_one(has_step, path):
    model = net()
    step = step_of(model) if has_step else None

    def load():
        wg.load(path, like=model)

    def fill():
        wg.nn.from_torch_names(model, torch_tensors())

    texts = [str(each.message) for each in warned(load) + warned(fill)]
    name = "model" if step is None else "step.model"
    assert texts[0].endswith(f"Write {name} = wg.load(path, like={name}).")
    assert texts[1].endswith(f"Write {name} = wg.nn.from_torch_names({name}, tensors).")
    assert {each.category for each in warned(load)} == {UnusedWarning}
