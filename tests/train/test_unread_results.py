"""Searches that began with the weights of a step, and whose result nobody takes."""

import copy
import pickle
import sys

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import CopiedWarning

X = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
Y = X[:, :1] * 2
SEARCH = wg.optim.LBFGS(max_iter=3, line_search_fn="strong_wolfe")


@pytest.fixture(autouse=True)
def program_of_a_file(monkeypatch):
    """Let the program be one of a file, as it is not in the processes that share the tests."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)


def loss(m, x, y):
    return wg.mean((m(x) - y) ** 2)


def made():
    net = wg.nn.Sequential(wg.nn.Linear(3, 4, seed=1), wg.tanh, wg.nn.Linear(4, 1, seed=2))
    step = wg.TrainStep(loss, net, wg.optim.SGD(0.1))
    step(X, Y)
    return step


def searched(step):
    return SEARCH.minimize(loss, step.model, X, Y)


def evaluate(step):
    return step.evaluate(loss, X, Y, batch_size=16)


def weights_of(result):
    return result.tree


@pytest.mark.parametrize(
    "use",
    [
        evaluate,
        lambda step: step.bind(lambda m, x: m(x))(X),
        lambda step: step.state_dict(),
        lambda step: step.run(X, Y, batch_size=8),
        lambda step: [*step.epochs(X, Y, batch_size=8)],
        lambda step: step.model(X),
        lambda step: loss(step.model, X, Y),
        lambda step: step(X, Y),
    ],
    ids=["evaluate", "bind", "state_dict", "run", "epochs", "model", "loss", "call"],
)
def test_a_step_that_goes_on_with_the_weights_from_before(use):
    step = made()
    result = searched(step)
    assert (result.converged, result.value > 0, "tree=" in repr(result)) == (False, True, True)
    (warning,) = warned(lambda: [use(step), use(step)])
    assert (warning.category, warning.filename) == (CopiedWarning, __file__)
    assert "a search began with step.model, and nothing has read the tree" in str(warning.message)
    assert "Write step.model = search.minimize(…).tree, or begin with" in str(warning.message)


def test_a_file(tmp_path):
    step = made()
    result = searched(step)
    (warning,) = warned(lambda: step.save(tmp_path / "step.safetensors"))
    assert warning.category is CopiedWarning
    assert result.value > 0
    again = searched(step)
    (warning,) = warned(lambda: wg.save(tmp_path / "model.safetensors", step.model))
    assert warning.category is CopiedWarning
    assert again.value == result.value


def test_a_look_at_the_model_after_the_search():
    step = made()

    def polished():
        result = SEARCH.minimize(loss, step.model, X, Y)
        return result.value, loss(step.model, X, Y)

    (warning,) = warned(polished)
    assert (warning.category, warning.filename) == (CopiedWarning, __file__)
    assert str(warning.message).startswith("TrainStep.model: a search began with step.model")


def test_a_program_that_uses_functions_of_trees():
    step = made()

    def polished():
        wg.tree.leaves(step.model)
        return searched(step)

    result = polished()
    (warning,) = warned(lambda: evaluate(step))
    assert result.value > 0
    assert warning.category is CopiedWarning


# What is right.


@pytest.mark.parametrize(
    "read",
    [weights_of, vars, wg.tree.leaves, copy.copy, copy.deepcopy, pickle.dumps],
    ids=["tree", "vars", "leaves", "copy", "deepcopy", "pickle"],
)
def test_results_that_are_read(read):
    step = made()
    result = searched(step)
    read(result)
    assert not warned(lambda: evaluate(step))
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    assert again.value == result.value


def test_weights_that_are_assigned():
    step = made()
    step.model = weights_of(searched(step))
    assert not warned(lambda: evaluate(step))


def test_a_step_that_has_other_weights_by_now():
    step = made()
    before = wg.tree.copy(step.model)
    step(X, Y)
    result = searched(step)
    step.model = before
    assert not warned(lambda: evaluate(step))
    assert result.value > 0


def test_what_the_step_gives_before_the_tree_is_read():
    step = made()
    result = searched(step)
    before = warned(lambda: evaluate(step))
    assert not before
    assert result.tree is not None


def test_searches_that_begin_elsewhere():
    step, other = made(), made()
    copied = SEARCH.minimize(loss, wg.tree.copy(step.model), X, Y)
    result = searched(other)
    assert not warned(lambda: evaluate(step))
    assert copied.value == result.value


def test_searches_that_are_compared():
    step = made()

    def values():
        found = [SEARCH.minimize(loss, step.model, X, Y), SEARCH.minimize(loss, step.model, X, Y)]
        for most in (1, 2):
            start = step.model
            found.append(wg.optim.LBFGS(max_iter=most).minimize(loss, start, X, Y))
        return [each.value for each in found]

    assert not warned(values)


def test_a_look_at_the_model_before_the_tree_is_read():
    step = made()

    def polished():
        result = searched(step)
        before = loss(step.model, X, Y)
        step.model = result.tree
        return before, loss(step.model, X, Y), step(X, Y)

    assert not warned(polished)


def test_a_session_of_python(monkeypatch):
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    step = made()
    result = searched(step)
    assert not warned(lambda: loss(step.model, X, Y))
    (warning,) = warned(lambda: evaluate(step))
    assert warning.category is CopiedWarning
    assert result.value > 0


def test_a_result_that_is_gone():
    step = made()
    assert searched(step).value > 0
    assert not warned(lambda: evaluate(step))


def test_a_search_that_has_found_nothing():
    step = made()
    result = wg.optim.LBFGS(lr=0.0, max_iter=1).minimize(loss, step.model, X, Y)
    assert not warned(lambda: evaluate(step))
    assert result.value > 0
