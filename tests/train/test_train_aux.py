"""Aux of runs: the bits that single calls return, of every step or of the last one."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from train.models import data, forward, net
from train.test_run_natively import Python
from wengert.runtime import native_runs
from wengert.train.runs import auxes
from wengert.train.runs.row_orders import shuffled


@dataclass
class Seen:
    mean: Any
    weights: Any
    count: Any
    name: str = "seen"  # static


def loss(model, x, y, rng):
    out = forward(model, wg.dropout(x, 0.25, rng))
    value = wg.mean((out - y) ** 2)
    return value, Seen(wg.mean(out, axis=0), model.layers[0].w, [wg.sum(x > 0), 7])


def make(function=loss, **options):
    options = {"has_aux": True, "seed": 5} | options
    return wg.TrainStep(function, net(), wg.optim.Adam(0.01), **options)


def by_steps(step, arrays, size, epochs, seed, drop_last=False):
    """The aux of each call, made one by one."""
    found, rows = [], len(arrays[0])
    for _ in range(epochs):
        order = shuffled(rows, seed, step.epoch)
        order = np.arange(rows) if order is None else order
        for begin in range(0, rows - size + 1 if drop_last else rows, size):
            chosen = order[begin : begin + size]
            found.append(step(*(x[chosen] for x in arrays))[1])
        step.epoch += 1
    return found


def require_same(found, expected):
    """Equal trees with equal bits."""
    leaves, structure = wg.tree.flatten(found)
    others, other = wg.tree.flatten(expected)
    assert structure == other
    for x, y in zip(leaves, others, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert x.tobytes() == y.tobytes()


def stacked(trees):
    return wg.tree.map(lambda *xs: np.stack(xs), *trees)


@pytest.fixture
def python(monkeypatch):
    return Python(monkeypatch)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("seed", [None, 2])
def test_a_run_has_the_aux_of_every_step(compiled, accumulate, seed, python):
    options = {"compiled": compiled, "accumulate": accumulate}
    x, y = data(rows=46)
    expected = by_steps(make(**options), (x, y), 4, 2, seed)
    python.steps = 0
    history = make(**options).run(x, y, batch_size=4, epochs=2, shuffle_seed=seed)
    assert len(history) == len(expected) == 24
    require_same(history.aux, stacked(expected))
    assert history.aux.mean.shape == (24, 2)
    assert history.aux.name == "seen"
    if compiled:
        assert python.steps <= accumulate + 2  # the others are taken in machine code
    last = make(**options).run(x, y, batch_size=4, epochs=2, shuffle_seed=seed, aux="last")
    require_same(last.aux, expected[-1])
    np.testing.assert_array_equal(last.loss, history.loss)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("aux", ["all", "last"])
def test_so_has_an_epoch(compiled, aux):
    x, y = data(rows=24)
    expected = by_steps(make(compiled=compiled), (x, y), 4, 3, 0)
    found = list(
        make(compiled=compiled).epochs(x, y, batch_size=4, epochs=3, shuffle_seed=0, aux=aux)
    )
    for k, epoch in enumerate(found):
        own = expected[6 * k : 6 * k + 6]
        require_same(epoch.aux, own[-1] if aux == "last" else stacked(own))
        assert epoch.history.aux is epoch.aux


@pytest.mark.parametrize("limit", [0, 10**9])
@pytest.mark.parametrize("room", [1, 1000, 2**26])
def test_wherever_the_loop_stops(limit, room, monkeypatch):
    monkeypatch.setattr(native_runs, "LIMIT", limit)
    monkeypatch.setattr(auxes, "ROOM", room)
    x, y = data(rows=40)
    expected = by_steps(make(), (x, y), 4, 2, 1)
    require_same(make().run(x, y, batch_size=4, epochs=2, shuffle_seed=1).aux, stacked(expected))
    last = make().run(x, y, batch_size=4, epochs=2, shuffle_seed=1, aux="last")
    require_same(last.aux, expected[-1])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
def test_a_leaf_whose_shape_follows_the_batch_is_a_list(compiled, drop_last):
    def rows(model, x, y):
        out = forward(model, x)
        return wg.mean((out - y) ** 2), {"out": out, "mean": wg.mean(out)}

    x, y = data(rows=42)
    expected = by_steps(make(rows, compiled=compiled), (x, y), 4, 2, None, drop_last)
    step = make(rows, compiled=compiled)
    found = step.run(x, y, batch_size=4, epochs=2, drop_last=drop_last).aux
    require_same(found["mean"], np.stack([each["mean"] for each in expected]))
    outs = [each["out"] for each in expected]
    assert isinstance(found["out"], np.ndarray if drop_last else list)
    require_same(list(found["out"]), outs)
    require_same(
        make(rows, compiled=compiled).run(x, y, batch_size=4, epochs=2, aux="last").aux,
        by_steps(make(rows, compiled=compiled), (x, y), 4, 2, None)[-1],
    )


def test_aux_of_another_form_for_the_last_batch_is_a_list_of_trees():
    def two(model, x, y):
        value = wg.mean((forward(model, x) - y) ** 2)
        return value, ({"full": value} if len(x) == 4 else (value, value))

    x, y = data(rows=18)
    expected = by_steps(make(two, compiled=False), (x, y), 4, 1, None)
    found = make(two, compiled=False).run(x, y, batch_size=4).aux
    assert isinstance(found, list)
    require_same(found, expected)
    assert isinstance(found[-1], tuple)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("aux", ["all", "last"])
def test_steps_that_are_skipped_have_theirs(compiled, accumulate, aux):
    def mean(model, x, y):
        out = forward(model, x)
        return wg.mean((out - y) ** 2), {"x": wg.mean(x), "out": wg.sum(out)}

    x, y = data(rows=48)
    x[13], x[30], x[47] = np.nan, np.inf, np.nan
    options = {"nonfinite": "skip", "compiled": compiled, "accumulate": accumulate}
    expected = by_steps(make(mean, **options), (x, y), 4, 1, None)
    history = make(mean, **options).run(x, y, batch_size=4, aux=aux)
    assert list(np.flatnonzero(history.skipped)) == [3, 7, 11]
    require_same(history.aux, expected[-1] if aux == "last" else stacked(expected))
    assert np.isnan(history.aux["x"]).sum() == (2 if aux == "all" else 1)


def test_what_was_kept_is_the_users(python):
    """Later steps do not write to it, and it is no live array."""
    x, y = data(rows=40)
    step = make()
    first = step.run(x, y, batch_size=4)
    kept = wg.tree.copy(first.aux)
    again = step.run(x, y, batch_size=4)
    require_same(first.aux, kept)
    assert not np.array_equal(first.aux.weights, again.aux.weights)
    assert not np.may_share_memory(again.aux.weights, step.model.layers[0].w)
    assert again.aux.weights.flags.writeable


def test_an_epoch_that_goes_on_has_the_aux_of_its_steps():
    x, y = data(rows=400)
    expected = by_steps(make(), (x, y), 40, 1, 3)
    step, broken = make(), data(rows=400)[0]
    order = shuffled(400, 3, 0)
    wrong = next(row for row in order[250:] if row % 6)  # none of those that data are known by
    broken[wrong] = np.nan
    with pytest.raises(wg.errors.NonFiniteError):
        step.run(broken, y, batch_size=40, shuffle_seed=3)
    require_same(step.run(x, y, batch_size=40, shuffle_seed=3).aux, stacked(expected[6:]))


def test_without_aux_there_is_none(python):
    step = wg.TrainStep(lambda w, x: wg.mean((x - w) ** 2), np.zeros(1), wg.optim.SGD(0.5))
    history = step.run(np.ones((40, 1)), batch_size=4)
    assert history.aux is None
    assert python.steps == 1
    (epoch,) = step.epochs(np.ones((40, 1)), batch_size=4, aux="last")
    assert epoch.aux is None


def test_aux_without_arrays():
    step = wg.TrainStep(
        lambda w, x: (wg.mean((x - w) ** 2), ("name", None)),
        np.zeros(1),
        wg.optim.SGD(0.5),
        has_aux=True,
    )
    assert step.run(np.ones((40, 1)), batch_size=4).aux == ("name", None)


def test_another_word_for_aux_is_refused_before_anything_is_done():
    x, y = data(rows=8)
    step = make()
    for by in (step.run, step.epochs):
        with pytest.raises(ValueError, match=r"aux='first' was given; it is one of all, last"):
            by(x, y, batch_size=4, aux="first")
    assert step.last is None


@pytest.mark.filterwarnings("ignore::wengert.errors.FrozenValueWarning")  # an iterator, on purpose
def test_programs_whose_aux_differs_are_not_run_in_one_loop(python):
    """The aux of a loss that is recorded once for calls that accumulate, and again for others."""
    recorded = itertools.count()

    def other(model, x, y):
        value = wg.mean((forward(model, x) - y) ** 2)
        return value, (value if next(recorded) else wg.sum(x, axis=0))

    x, y = data(rows=40)
    found = make(other, accumulate=2).run(x, y, batch_size=4).aux
    assert isinstance(found, list)
    assert [each.shape for each in found] == [(3,), ()] * 5
    assert python.steps == 10
