"""Settings of an optimizer that another one was made around, and has copied."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CopiedWarning

o = wg.optim
GRADS = {"w": np.ones(2)}
EACH_WRAPPER = pytest.mark.parametrize("wrapper", [o.EMA, o.Lookahead])
quiet = pytest.mark.filterwarnings("error::wengert.errors.CopiedWarning")


def by_update(optimizer):
    model = {"w": np.ones(2)}
    return optimizer.update(model, GRADS, optimizer.init(model))[0]["w"]


def by_step(optimizer):
    weights = np.ones(2)
    optimizer.copy().step("w", weights, np.ones(2))  # a copy has nothing to do with the original
    optimizer.step("w", weights := np.ones(2), np.ones(2))
    return weights


def compiled(optimizer):
    model = {"w": np.ones(2)}
    update = wg.compile(lambda m, g, s: optimizer.update(m, g, s)[0])
    return update(model, GRADS, optimizer.init(model))["w"]


def given_scalars(optimizer):
    model = {"w": np.ones(2)}
    update = wg.compile(lambda m, g, s, n: optimizer.update(m, g, s, n)[0])
    return update(model, GRADS, optimizer.init(model), wg.tree.arrays(optimizer.scalars(1)))["w"]


EACH_WAY = pytest.mark.parametrize("way", [by_update, by_step, compiled, given_scalars])


@EACH_WRAPPER
@EACH_WAY
@pytest.mark.parametrize("name", ["lr", "learning_rate"])
def test_a_rate_of_the_original_is_told_once(wrapper, way, name):
    inner = o.SGD(0.1)
    optimizer = wrapper(inner)
    setattr(inner, name, 0.0)
    with pytest.warns(CopiedWarning) as told:
        found = [way(optimizer), way(optimizer)]
    (one,) = told
    assert str(one.message) == (
        f"{wrapper.__name__}: lr of the SGD that it was made with was set to 0.0; it has a copy of "
        "that optimizer, whose lr is 0.1. Set optimizer.optimizer.lr = 0.0, where optimizer is the "
        f"{wrapper.__name__}."
    )
    assert one.filename == __file__
    np.testing.assert_allclose(found, 0.9)


def test_another_setting_and_an_original_two_levels_down():
    inner = o.SGD(0.1, momentum=0.9)
    optimizer = o.EMA(o.Lookahead(inner))
    inner.momentum = 0.5
    with pytest.warns(CopiedWarning, match=r"Set optimizer\.optimizer\.optimizer\.momentum = 0\.5"):
        by_update(optimizer)


@quiet
@EACH_WAY
def test_settings_of_the_copy_and_of_the_wrapper_are_right(way):
    optimizer = o.EMA(o.SGD(0.1))
    optimizer.optimizer.lr = 0.2
    np.testing.assert_allclose(way(optimizer), 0.8)
    optimizer.lr = 0.3
    np.testing.assert_allclose(way(optimizer), 0.7)


@quiet
@EACH_WAY
def test_both_are_set(way):
    inner = o.SGD(0.1)
    optimizer = o.EMA(inner)
    inner.lr = optimizer.lr = 0.2
    way(optimizer)
    optimizer.load_state_dict(optimizer.state_dict())  # it has another copy now
    inner.lr = optimizer.lr = 0.3
    way(optimizer)


@quiet
@EACH_WAY
def test_an_original_of_which_another_one_was_made_since(way):
    inner = o.SGD(0.1)
    first = o.EMA(inner)
    inner.lr = 0.2
    second = o.EMA(inner)
    np.testing.assert_allclose([way(first), way(second)], [[0.9, 0.9], [0.8, 0.8]])
    inner.lr = 0.3
    step = wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(2)}, inner)
    way(first), step(np.ones(2))


@quiet
@pytest.mark.parametrize("use", [by_update, by_step])
def test_an_original_that_updates_arrays_itself(use):
    inner = o.Adam(0.1)
    optimizer = o.EMA(inner)
    inner.lr = 0.2
    use(inner), use(optimizer)


@quiet
def test_copies_and_pickles_have_no_original():
    inner = o.SGD(0.1)
    optimizer = o.EMA(inner)
    inner.lr = 0.2
    by_update(optimizer.copy()), by_update(pickle.loads(pickle.dumps(optimizer)))


def test_a_step_tells_of_it_alone():
    inner = o.SGD(0.1)
    step = wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(2)}, o.EMA(inner))
    inner.lr = 0.2
    with pytest.warns(CopiedWarning, match=r"Set step\.optimizer\.optimizer\.lr = 0\.2") as told:
        [step(np.ones(2)) for _ in range(2)]
    assert len(told) == 1
