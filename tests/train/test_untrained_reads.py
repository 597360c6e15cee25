"""Layers that a step was made with, computed with or saved after it has trained a copy."""

import copy
import gc
import io
import pickle
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import CopiedWarning

X = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
Y = X[:, :1] * 2


def loss(m, x, y):
    return wg.mean((m(x) - y) ** 2)


def made(net=None, optimizer=None):
    net = net or wg.nn.Mlp((3, 4, 1), seed=0)
    return net, wg.TrainStep(loss, net, optimizer or wg.optim.SGD(0.1))


def layers():
    return wg.nn.Sequential(wg.nn.Linear(3, 4, seed=1), wg.tanh, wg.nn.Linear(4, 1, seed=2))


LBFGS = wg.optim.LBFGS(max_iter=3, line_search_fn="strong_wolfe")


def search(net, **options):
    return LBFGS.minimize(loss, net, X, Y, **options)


def told(warnings):
    (warning,) = warnings
    assert (warning.category, warning.filename) == (CopiedWarning, __file__)
    return str(warning.message)


@pytest.mark.parametrize("net", [None, layers()], ids=["mlp", "sequential"])
def test_a_network_that_is_called_after_training(net):
    net, step = made(net)
    assert not warned(lambda: [net(X), step(X, Y)])
    text = told(warned(lambda: [net(X), net(X), loss(net, X, Y)]))
    assert "that a step was made with is read here, after training" in text
    assert "Take step.model, or step.bind(f)" in text


def test_the_line_is_that_of_the_call_of_the_loss():
    net, step = made()
    step(X, Y)
    (warning,) = warned(lambda: loss(net, X, Y))
    assert (
        warning.lineno == test_the_line_is_that_of_the_call_of_the_loss.__code__.co_firstlineno + 3
    )


def test_a_run_trains_too():
    net, step = made()
    step.run(X, Y, epochs=2, batch_size=8)
    told(warned(lambda: net(X)))


def test_a_network_that_is_saved_after_training(tmp_path):
    net, step = made()
    assert not warned(lambda: wg.save(tmp_path / "net.safetensors", net))
    step(X, Y)
    told(warned(lambda: wg.save(tmp_path / "net.safetensors", net)))
    assert not warned(lambda: wg.save(tmp_path / "net.safetensors", step.model))


def _dumped_by_joblib(path, net):
    pytest.importorskip("joblib").dump(net, path)


@pytest.mark.parametrize("net", [None, layers], ids=["mlp", "sequential"])
@pytest.mark.parametrize(
    "write",
    [
        lambda path, net: pickle.dump(net, path.open("wb")),
        lambda path, net: pickle.Pickler(path.open("wb")).dump(net),
        lambda path, net: pickle._dump({"net": net}, path.open("wb")),
        _dumped_by_joblib,
    ],
    ids=["pickle", "pickler", "pickle in Python", "joblib"],
)
def test_a_network_that_is_pickled_after_training(net, write, tmp_path):
    net, step = made(net and net())
    path = tmp_path / "net.pickle"
    assert not warned(lambda: write(path, net))
    step.run(X, Y, epochs=2, batch_size=8)
    assert "is read here, after training" in told(warned(lambda: [write(path, net)] * 2))
    assert not warned(lambda: [write(path, x) for x in (step.model, wg.tree.copy(net))])


def test_a_network_that_is_pickled_after_a_search():
    net = layers()
    found = search(net).tree
    assert "that a search began with" in told(warned(lambda: pickle.dump(net, io.BytesIO())))
    assert not warned(lambda: pickle.dump(found, io.BytesIO()))


def test_a_compiled_function_that_has_known_the_network_before_training():
    net, step = made()
    act = wg.compile(lambda m, x: m(x))
    assert not warned(lambda: [act(net, X), act(net, X), step(X, Y), step(X, Y)])
    told(warned(lambda: [act(net, X) for _ in range(3)]))
    assert not warned(lambda: act(step.model, X))


def test_a_compiled_network():
    net, step = made(layers())
    predict = wg.compile(net)
    predict(X)
    step.run(X, Y, epochs=2, batch_size=8)
    told(warned(lambda: [predict(X), predict(X)]))


def test_a_member_of_an_ensemble():
    nets = [wg.nn.Mlp((3, 4, 1), seed=seed) for seed in (3, 4)]
    members = wg.Ensemble(loss, nets, wg.optim.SGD(0.1))
    members(X, Y)
    told(warned(lambda: nets[1](X)))


def test_a_network_whose_step_is_gone():
    def train(net):
        step = wg.TrainStep(loss, net, wg.optim.SGD(0.1))
        step.run(X, Y, epochs=2, batch_size=8)
        return net

    net = train(layers())
    gc.collect()
    told(warned(lambda: net(X)))


def test_a_network_in_a_compiled_derivative_by_something_else():
    net, step = made(layers())
    by_inputs = wg.compile(wg.grad(lambda x: wg.sum(net(x))))
    assert not warned(lambda: [by_inputs(X), step(X, Y), step(X, Y)])
    told(warned(lambda: [by_inputs(X) for _ in range(3)]))
    net, step = made(layers())
    step(X, Y)
    told(warned(lambda: wg.compile(wg.grad(lambda x: wg.sum(net(x))))(X)))


def test_a_search_that_begins_with_what_a_step_was_made_with():
    net, step = made()
    assert not warned(lambda: [search(net), step(X, Y)])
    assert "that a step was made with is read here" in told(warned(lambda: search(net)))
    assert not warned(lambda: search(step.model))


@pytest.mark.parametrize("compiled", [True, False])
def test_a_network_that_is_called_after_a_search(compiled):
    net = layers()
    assert not warned(lambda: [net(X), search(net, compiled=compiled)])
    text = told(warned(lambda: [net(X), net(X), loss(net, X, Y)]))
    assert "leaf 'layers.0.weight' of the tree that a search began with is read here" in text
    assert "net = search.minimize(…).tree" in text


def test_a_network_that_is_saved_or_compiled_after_a_search(tmp_path):
    net = layers()
    found = search(net).tree
    told(warned(lambda: wg.save(tmp_path / "net.safetensors", net)))
    assert not warned(lambda: wg.save(tmp_path / "net.safetensors", found))
    search(net)
    told(warned(lambda: wg.compile(net)(X)))


# What may be read.


def test_what_a_search_found_and_what_was_copied():
    net = layers()
    before = wg.tree.copy(net)
    found = search(net).tree
    assert not warned(lambda: [found(X), before(X), wg.tree.copy(net)])


def test_searches_with_one_start():
    net = layers()

    def near(n, old, x, y):
        return loss(n, x, y) + wg.sum((n[0].weight - old[0].weight) ** 2)

    def near_the_start(n, x, y):
        return near(n, net, x, y)

    searches = [(loss, X, Y), (loss, X, -Y), (near_the_start, X, Y), (near, net, X, Y)]
    for each in (*searches, *searches):
        assert not warned(lambda each=each: LBFGS.minimize(each[0], net, *each[1:]))


def test_a_search_that_has_found_nothing():
    net = layers()
    found = wg.optim.LBFGS(lr=0.0, max_iter=1).minimize(loss, net, X, Y)
    assert not warned(lambda: net(X) - found.tree(X))


def test_a_derivative_by_the_network_itself():
    net, step = made()
    step(X, Y)
    assert not warned(lambda: wg.compile(wg.grad(loss))(net, X, Y))


def test_what_was_trained_and_what_was_copied():
    net, step = made()
    before = wg.tree.copy(net)
    step(X, Y)
    assert not warned(lambda: [step.model(X), step.bind(lambda m, x: m(x))(X), before(X)])


def test_copies_that_steps_are_made_with():
    """As in a cross-validation, here or in other processes."""
    net, step = made(layers())
    step.run(X, Y, epochs=2, batch_size=8)

    def folds():
        by_pickle = [pickle.loads(pickle.dumps(net)), pickle.loads(pickle._dumps(net))]
        in_processes = pickle.loads(ForkingPickler.dumps(net))
        for same in (copy.deepcopy(net), copy.copy(net), in_processes, *by_pickle):
            each = wg.TrainStep(loss, wg.tree.copy(same), wg.optim.SGD(0.1))
            each.run(X, Y, epochs=1, batch_size=8)
            each.model(X)

    assert not warned(folds)


def test_a_step_that_has_trained_nothing():
    net, step = made(optimizer=wg.optim.SGD(0.0))
    step(X, Y)
    assert not warned(lambda: net(X))


def test_a_frozen_part():
    net = {"body": wg.nn.Linear(3, 3, seed=5), "head": wg.nn.Linear(3, 1, seed=6)}
    step = wg.TrainStep(
        lambda m, x, y: loss(lambda x: m["head"](m["body"](x)), x, y),
        net,
        {"body.*": None, "*": wg.optim.SGD(0.1)},
    )
    step(X, Y)
    assert not warned(lambda: net["body"](X))
    told(warned(lambda: net["head"](X)))


def test_a_reference_that_the_step_is_called_with():
    net = wg.nn.Mlp((3, 4, 1), seed=7)
    step = wg.TrainStep(lambda m, old, x: loss(m, x, 1 + old(x)), net, wg.optim.SGD(0.1))
    assert not warned(lambda: [step(net, X), step(net, X), net(X)])


def test_numbers_that_nobody_has_drawn():
    theta = {"a": np.ones(3, np.float32)}
    step = wg.TrainStep(lambda m, x: wg.mean(wg.exp(x) * m["a"]), theta, wg.optim.SGD(0.1))
    step(X)
    assert not warned(lambda: wg.mean(wg.multiply(wg.exp(X), theta["a"])))
