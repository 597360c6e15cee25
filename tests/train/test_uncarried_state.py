"""States that a loss computes anew and returns as they came, and keys that are drawn under again
and again: they are told; what is merely read is not.
"""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import BatchNormWarning, FrozenValueWarning, RandomnessWarning

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((8, 4)).astype(np.float32)
TIMES = RNG.standard_normal((7, 4, 3)).astype(np.float32)
KEY = wg.random.key(0)


def told(loss, model, state, *batch, calls=1, **options):
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01), state=state, **options)

    def call():
        for i in range(calls):
            step(*(x(i) if callable(x) else x for x in batch))

    return warned(call)


# What is not carried.


@pytest.mark.parametrize("returns_new", [False, True])
@pytest.mark.parametrize("layer", [wg.nn.GRU(3, 6), wg.nn.LSTM(3, 6), wg.nn.RNN(3, 6)])
def test_the_first_state_of_a_recurrent_layer_that_is_returned(layer, returns_new):
    def loss(m, state, x):
        outputs, new = m(x, state)
        return wg.mean(outputs**2), new if returns_new else state

    found = told(loss, layer, layer.initial_state(4), TIMES)
    assert [each.category for each in found] == [FrozenValueWarning] * (not returns_new)
    assert all("of the old one and of the batch, and returns" in str(x.message) for x in found)
    assert all(x.filename == __file__ for x in found)


UPDATES = {
    "average": lambda mean, new: 0.9 * mean + 0.1 * new,
    "step": lambda mean, new: mean + 0.1 * (new - mean),
    "step back": lambda mean, new: mean - 0.1 * (mean - new),
    "sum": lambda mean, new: mean + new,
    "largest": lambda mean, new: wg.maximum(mean, new),
}


@pytest.mark.parametrize("how", UPDATES)
@pytest.mark.parametrize("returned", ["old", "new", "in aux"])
def test_running_statistics_that_are_computed_and_not_returned(how, returned):
    def loss(m, state, x):
        new = UPDATES[how](state["mean"], wg.mean(x, axis=0))
        # What nothing reads is told in any case.
        used = new if how in ("average", "step", "step back") else state["mean"]
        value = wg.mean(m(x - used) ** 2)
        after = {"mean": new if returned == "new" else state["mean"]}
        return (value, after, new) if returned == "in aux" else (value, after)

    state = {"mean": np.zeros(4, np.float32)}
    found = told(loss, wg.nn.Linear(4, 1), state, ROWS, has_aux=returned == "in aux")
    assert [each.category for each in found] == [FrozenValueWarning] * (returned == "old")
    assert all("new value for leaf 'mean' of the state" in str(x.message) for x in found)


@pytest.mark.parametrize("returns_new", [False, True])
def test_a_cell_and_a_scan_that_are_written_by_hand(returns_new):
    model = {"u": np.ones((6, 6), np.float32), "w": np.ones((3, 6), np.float32)}

    def cell(m, h, x):
        new = wg.tanh(x @ m["w"] + h @ m["u"])
        return wg.mean(new**2), new if returns_new else h

    def scanned(m, h, x):
        def body(h, x):
            h = wg.tanh(x @ m["w"] + h @ m["u"])
            return h, h

        last, all_of_them = wg.scan(body, h, x)
        return wg.mean(all_of_them**2), last if returns_new else h

    state = np.zeros((4, 6), np.float32)
    for loss, x in ((cell, TIMES[0]), (scanned, TIMES)):
        found = told(loss, model, state, x)
        assert [each.category for each in found] == [FrozenValueWarning] * (not returns_new)


# What is merely read.


READS = {
    "compared": lambda b, state: (b - state["c"]) ** 2,
    "weighed": lambda b, state: b * state["c"],
    "divergence": lambda b, state: wg.exp(b) * (b - wg.log(state["c"])),
    "scaled back": lambda b, state: b * state["c"] + state["d"],
    "normalized": lambda b, state: (b - state["c"]) / state["d"],
}


@pytest.mark.parametrize("how", READS)
def test_constants_in_a_state_are_let_pass(how):
    def loss(m, state, x):
        return wg.mean(READS[how](wg.mean(m(x), axis=0), state)), state

    state = {"c": np.ones(4, np.float32), "d": np.full(4, 2, np.float32)}
    assert not told(loss, wg.nn.Linear(4, 4), state, ROWS)


def test_what_the_body_of_a_loop_reads_is_let_pass():
    def loss(m, mean, x):
        def body(h, x):
            h = wg.tanh(m["a"] * h + x - mean)
            return h, h

        return wg.mean(wg.scan(body, wg.zeros(4, np.float32), x)[1] ** 2), mean

    assert not told(loss, {"a": np.ones(4, np.float32)}, np.ones(4, np.float32), ROWS)


@pytest.mark.parametrize("training", [False, True])
def test_a_batch_norm_is_told_in_its_own_words(training):
    def loss(m, state, x):
        y, _ = m["norm"](x, state, training=training)
        return wg.mean(m["out"](y) ** 2), state

    model = {"norm": wg.nn.BatchNorm(4), "out": wg.nn.Linear(4, 1)}
    pretrained = {"mean": np.ones(4, np.float32), "var": np.full(4, 3, np.float32)}
    found = told(loss, model, pretrained, ROWS)
    assert [each.category for each in found] == [BatchNormWarning] * training


# Keys.


def noisy(p, x, key):
    return wg.mean((p - x - wg.random.normal(key, x.shape, np.float64)) ** 2)


KEYS_IN_STATES = {
    "returned": (lambda s: s["key"], lambda s: s),
    "half of it": (lambda s: wg.random.split(s["key"])[0], lambda s: s),
    "split": (
        lambda s: wg.random.split(s["key"])[0],
        lambda s: {**s, "key": wg.random.split(s["key"])[1]},
    ),
    "counted": (
        lambda s: wg.random.fold_in(s["key"], s["t"]),
        lambda s: {**s, "t": s["t"] + 1},
    ),
}


@pytest.mark.parametrize("how", KEYS_IN_STATES)
def test_a_key_of_the_state_that_is_returned_as_it_came(how):
    drawn, after = KEYS_IN_STATES[how]
    state = {"key": KEY, "t": np.array(0)}
    found = told(
        lambda p, s, x: (noisy(p, x, drawn(s)), after(s)), np.array(0.0), state, np.ones(4)
    )
    is_wrong = how in ("returned", "half of it")
    assert [each.category for each in found] == [RandomnessWarning] * is_wrong
    assert all("leaf 'key' of the state, a random key" in str(x.message) for x in found)


def test_a_key_that_is_the_same_in_the_first_calls():
    (found,) = told(noisy, np.array(0.0), None, np.ones(4), KEY, calls=6)
    assert found.category is RandomnessWarning
    assert "argument 2 of the call, a random key, was the same" in str(found.message)
    (again,) = told(
        lambda p, batch: wg.mean(
            (p - wg.random.Generator(batch["key"]).normal((3,), np.float64)) ** 2
        ),
        np.array(0.0),
        None,
        lambda _: {"key": wg.random.key(3)},
        calls=3,
    )
    assert "argument 1 of the call" in str(again.message)
    assert not told(noisy, np.array(0.0), None, np.ones(4), KEY, calls=2)


def test_keys_that_differ_are_let_pass():
    other = [np.array(0.0), None, np.ones(4)]
    assert not told(noisy, *other, lambda i: wg.random.fold_in(KEY, i), calls=5)
    assert not told(noisy, *other, lambda i: wg.random.fold_in(KEY, max(i, 1)), calls=5)

    def folded(p, x, key, i):
        return noisy(p, x, wg.random.fold_in(key, i))

    assert not told(folded, *other, KEY, lambda i: np.array(i), calls=5)


def test_one_key_for_bound_and_compiled_functions_is_let_pass():
    step = wg.TrainStep(lambda p, x: wg.mean((p - x) ** 2), np.array(0.0), wg.optim.SGD(0.1))
    bound, compiled = step.bind(noisy), wg.compile(noisy)
    assert not warned(lambda: [bound(np.ones(4), KEY) for _ in range(5)])
    assert not warned(lambda: [compiled(0.0, np.ones(4), KEY) for _ in range(5)])


def test_unsigned_integers_that_are_no_keys_are_let_pass():
    def loss(p, x, i):
        return wg.mean((p - x[i]) ** 2)

    assert not told(loss, np.array(0.0), None, np.ones(4), np.array([0, 1], np.uint32), calls=5)
