"""What a training step does with rows, times and statistics otherwise than meant: it says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import stepped, warned
from wengert.errors import (
    BatchNormWarning,
    FirstRowWarning,
    LogitsWarning,
    PairedRowsWarning,
    ScannedRowsWarning,
    SizeWarning,
)

nn = wg.nn
RNG = np.random.default_rng(0)


def drawn(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ran(loss, model, *data, **options):
    return lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.01)).run(*data, **options)


# Rows that meet columns, since there are as many.


def weighted(m, x, y, w):
    return wg.mean((m(x) - y) ** 2 * w)


def masked(m, x, real):
    return wg.mean(m(x, mask=real) ** 2)


def scaled(m, x, mean, std):
    return wg.mean(m((x - mean) / std) ** 2)


ATTENTION = nn.MultiheadAttention(8, 2, seed=0)
MIXED = {
    "weights of rows": stepped(weighted, nn.Linear(4, 8), drawn(8, 4), drawn(8, 8), drawn(8)),
    "weights of rows in a run": ran(
        weighted, nn.Linear(4, 8), drawn(32, 4), drawn(32, 8), drawn(32), batch_size=8
    ),
    "real keys of rows in a run": ran(
        masked, ATTENTION, drawn(30, 6, 8), drawn(30, 6) > 0, batch_size=6
    ),
    "real keys of rows": stepped(
        masked, ATTENTION, drawn(5, 5, 8), np.arange(5) < np.array([[5], [3], [2], [4], [1]])
    ),
    "keys made of lengths": stepped(
        lambda m, x, n: masked(m, x, np.arange(5) < n[:, None]),
        ATTENTION,
        drawn(5, 5, 8),
        np.array([5, 3, 2, 4, 1]),
    ),
    "a mask of each row, as many as heads": stepped(
        masked, ATTENTION, drawn(2, 5, 8), drawn(2, 5, 5)
    ),
    "two arrays in a run": ran(
        lambda m, x, w: wg.mean(m(x) * w), nn.Linear(4, 8), drawn(16, 4), drawn(16), batch_size=8
    ),
}


@pytest.mark.parametrize("case", MIXED)
def test_rows_that_meet_columns_are_told(case):
    found = warned(MIXED[case])
    assert [each.category for each in found] == [SizeWarning]
    assert "as many rows as columns" in str(found[0].message)
    assert found[0].filename == __file__


UNMIXED = {
    "a mean of columns": stepped(scaled, nn.Linear(8, 8), drawn(8, 8), drawn(8), drawn(8)),
    "a causal mask": stepped(masked, ATTENTION, drawn(6, 6, 8), np.tri(6) > 0),
    "a mask of times": stepped(masked, ATTENTION, drawn(6, 6, 8), drawn(6, 6) > 0),
    "weights of rows": stepped(
        lambda m, x, y, w: weighted(m, x, y, w[:, None]),
        nn.Linear(4, 8),
        drawn(8, 4),
        drawn(8, 8),
        drawn(8),
    ),
    "weights of fewer rows": stepped(
        lambda m, x, y, w: wg.mean(wg.mean((m(x) - y) ** 2, axis=1) * w),
        nn.Linear(4, 8),
        drawn(8, 4),
        drawn(8, 8),
        drawn(8),
    ),
    "a carried state of the batch": lambda: wg.TrainStep(
        lambda m, h, x, y: (wg.mean((m(x) + h - y) ** 2), h * 0.5),
        nn.Linear(4, 8),
        wg.optim.SGD(0.01),
        state=drawn(8, 8),
    ).run(drawn(16, 4), drawn(16, 8), batch_size=8),
}


@pytest.mark.parametrize("case", UNMIXED)
def test_rows_that_meet_rows_are_not_told(case):
    assert not warned(UNMIXED[case])


# Running statistics.


def normed(layer, x, state):
    return layer(x, state, training=True)


FIRST, SECOND, LINEAR = nn.BatchNorm(4), nn.BatchNorm(4), nn.Linear(3, 4, seed=0)


def one_state(m, state, x):
    y, state = normed(m["first"], m["linear"](x), state)
    y, state = normed(m["second"], y, state)
    return wg.mean(y**3), state


def two_states(m, state, x):
    y, first = normed(m["first"], m["linear"](x), state[0])
    y, second = normed(m["second"], y, state[1])
    return wg.mean(y**3), (first, second)


def one_layer_twice(m, state, x):
    y, state = normed(m["first"], m["linear"](x), state)
    z, state = normed(m["first"], m["linear"](-x), state)
    return wg.mean(y * m["second"].scale * z), state


NET = {"linear": LINEAR, "first": FIRST, "second": SECOND}
STATE = FIRST.initial_state()


def test_a_state_that_goes_through_two_layers_is_told():
    found = warned(stepped(one_state, NET, drawn(5, 3), state=STATE))
    assert [each.category for each in found] == [BatchNormWarning]
    assert "of another layer" in str(found[0].message)


def test_a_state_of_each_layer_and_one_of_a_layer_that_is_used_twice_are_not_told():
    pair = (STATE, SECOND.initial_state())
    assert not warned(stepped(two_states, NET, drawn(5, 3), state=pair))
    assert not warned(stepped(one_layer_twice, NET, drawn(5, 3), state=STATE))


def test_statistics_in_the_model_that_stay_as_they_are_are_told():
    def loss(m, x):
        return wg.mean(normed(m["norm"], m["linear"](x), m["stats"])[0] ** 3)

    model = {"linear": LINEAR, "norm": FIRST, "stats": STATE}
    (found,) = warned(stepped(loss, model, drawn(5, 3)))
    assert found.category is BatchNormWarning
    assert "is not what the loss" in str(found.message)


# All rows at the time of each.

GRU, LAST = nn.GRU(3, 4, seed=0), nn.Linear(4, 1, seed=1)


def last_of_all(m, x, lengths, y):
    hs, _ = m[0](wg.swapaxes(x, 0, 1))
    return wg.mean((m[1](hs[lengths - 1])[..., 0] - y) ** 2)


def last_of_each(m, x, lengths, y):
    hs, _ = m[0](wg.swapaxes(x, 0, 1))
    rows = wg.arange(hs.shape[1])
    return wg.mean((m[1](hs[lengths - 1, rows])[..., 0] - y) ** 2)


def diagonal_of_all(m, x, lengths, y):
    hs, _ = m[0](wg.swapaxes(x, 0, 1))
    found = wg.einsum("iih->ih", hs[lengths - 1])
    return wg.mean((m[1](found)[..., 0] - y) ** 2)


SEQUENCES = (drawn(7, 10, 3), np.arange(1, 8), drawn(7))


def test_all_rows_at_the_time_of_each_are_told():
    (found,) = warned(stepped(last_of_all, (GRU, LAST), *SEQUENCES))
    assert found.category is PairedRowsWarning
    assert "wg.arange(x.shape[1])" in str(found.message)


@pytest.mark.parametrize("loss", [last_of_each, diagonal_of_all])
def test_each_row_at_its_time_is_not_told(loss):
    assert not warned(stepped(loss, (GRU, LAST), *SEQUENCES))


# A softmax of one number.

SCORED = {"score": nn.Linear(8, 1, seed=0), "out": nn.Linear(8, 3, seed=1)}
WORDS = (drawn(6, 5, 8), np.arange(6) % 3)


def pooled(axis, m, x, y):
    weights = wg.softmax(m["score"](x), axis=axis)
    return wg.cross_entropy(m["out"](wg.sum(weights * x, axis=1)), y)


def test_a_softmax_along_the_only_output_of_a_layer_is_told():
    def loss(m, x, y):
        return pooled(-1, m, x, y)

    differentiated = wg.compile(wg.value_and_grad(loss))
    for call in (stepped(loss, SCORED, *WORDS), lambda: differentiated(SCORED, *WORDS)):
        (found,) = warned(call)
        assert found.category is LogitsWarning
        assert "the only output of a layer" in str(found.message)


def test_a_softmax_along_times_is_not_told_even_if_there_is_one():
    def loss(m, x, y):
        return pooled(1, m, x, y)

    def attending(m, x, y):
        scores = m["out"](x) @ wg.swapaxes(m["out"](x), 1, 2)
        return wg.mean(wg.softmax(scores) * m["score"](x))

    assert not warned(stepped(loss, SCORED, *WORDS))
    one = (drawn(6, 1, 8), np.arange(6) % 3)
    assert not warned(stepped(loss, SCORED, *one))
    assert not warned(stepped(attending, SCORED, *one))


# Rows in the place of times.


def swapped(m, x):
    return wg.mean(m(wg.swapaxes(x, 0, 1)) ** 2)


LAYERS = {
    "attention": nn.MultiheadAttention(8, 2, seed=0),
    "block": nn.TransformerBlock(8, 2, seed=0),
    "mamba": nn.Mamba(8, seed=0),
    "s4d": nn.S4D(8, seed=0),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_go_along_the_rows_of_a_run_are_told(name):
    (found,) = warned(ran(swapped, LAYERS[name], drawn(8, 5, 8), batch_size=4))
    assert found.category is ScannedRowsWarning
    assert "leave out the swapaxes" in str(found.message)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_go_along_times_are_not_told(name):
    layer = LAYERS[name]
    times_first = drawn(5, 4, 8)  # in a call, axis 0 may be time
    assert not warned(ran(lambda m, x: wg.mean(m(x) ** 2), layer, drawn(8, 5, 8), batch_size=4))
    assert not warned(stepped(swapped, layer, times_first))


def test_attention_between_rows_beside_that_between_times_is_not_told():
    def loss(m, x):
        return wg.mean(m(wg.swapaxes(m(x), 0, 1)) ** 2)

    assert not warned(ran(loss, LAYERS["attention"], drawn(8, 5, 8), batch_size=4))


def test_a_bound_function_that_scans_rows_is_told():
    step = wg.TrainStep(
        lambda m, x: wg.mean(m[0](wg.swapaxes(x, 0, 1))[0] ** 2), (GRU, LAST), wg.optim.SGD(0.01)
    )
    wrong = step.bind(lambda m, x: m[1](m[0](x)[0][:, -1]))
    right = step.bind(lambda m, x: m[1](m[0](wg.swapaxes(x, 0, 1))[0][-1]))
    alone = step.bind(lambda m, xs, times: m[1](m[0](xs)[0])[:, :, 0] * times[:, None])
    (found,) = warned(lambda: wrong(drawn(7, 5, 3)))
    assert found.category is ScannedRowsWarning
    assert "TrainStep.bind" in str(found.message)
    assert not warned(lambda: right(drawn(7, 5, 3)))
    assert not warned(lambda: alone(drawn(7, 5, 3), drawn(7)))


# The first row of what a layer gives, where PyTorch's gives a pair.


def residual(add):
    def loss(m, x, y):
        return wg.cross_entropy(m["out"](add(m["layer"], x)), y)

    return loss


def with_layer(name):
    return {"layer": wg.tree.copy(LAYERS[name]), "out": nn.Linear(8, 3, seed=1)}


TOKENS = (drawn(8, 5, 8), np.arange(40).reshape(8, 5) % 3)
SHUFFLED = {"batch_size": 4, "shuffle_seed": 0}


def first_row(layer, x):
    return x + layer(x)[0]


def first_row_before(layer, x):
    return 0.5 * layer(wg.layer_norm(x))[0] + x


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("add", [first_row, first_row_before])
def test_the_first_row_of_a_layer_that_is_added_to_all_rows_is_told(name, add):
    ways = [ran(residual(add), with_layer(name), *TOKENS, **SHUFFLED)]
    ways += [ran(residual(add), with_layer(name), *TOKENS, batch_size=4)]
    for way in (*ways, stepped(residual(add), with_layer(name), *TOKENS)):
        (found,) = warned(way)
        assert found.category is FirstRowWarning
        assert found.lineno == add.__code__.co_firstlineno + 1
        assert "leave out [0]" in str(found.message)


def beside_the_others(layer, x):
    h = layer(x)
    return x + h + h[0]


@pytest.mark.parametrize(
    "add",
    [
        lambda layer, x: x + layer(x),
        lambda layer, x: x - layer(x)[0],  # an anchor
        lambda layer, x: x + layer(x)[:, :1],  # the first time of each row
        lambda layer, x: x + layer(x[0]),
        lambda layer, x: x + layer(wg.ones(x.shape, x.dtype))[0],  # the same for all rows
        beside_the_others,
    ],
)
def test_what_else_is_added_to_all_rows_is_not_told(add):
    assert not warned(ran(residual(add), with_layer("attention"), *TOKENS, **SHUFFLED))
    assert not warned(stepped(residual(add), with_layer("attention"), *TOKENS))


def test_the_first_time_that_is_added_to_all_times_is_not_told():
    def loss(m, x, y):
        hs, _ = m["layer"](x)  # (time, batch, size)
        return wg.cross_entropy(m["out"](x + hs[0]), y)

    model = {"layer": nn.GRU(8, 8, seed=0), "out": nn.Linear(8, 3, seed=1)}
    assert not warned(stepped(loss, model, *TOKENS))


def test_the_first_point_of_one_set_is_not_told():
    def loss(m, x, y):
        return wg.cross_entropy(m["out"](x + m["layer"](x)[0]), y)

    assert not warned(stepped(loss, with_layer("attention"), drawn(5, 8), np.arange(5) % 3))


def test_the_last_row_of_a_batch_that_comes_first_is_told_with_its_repair():
    def loss(m, x, y):
        return wg.mean((m["out"](wg.mean(m["layer"](x)[-1], axis=0))[0] - y) ** 2)

    (found,) = warned(ran(loss, with_layer("block"), TOKENS[0], drawn(8), **SHUFFLED))
    assert found.category is FirstRowWarning
    assert "of (batch, time, size), x[:, -1] is one time of every row" in str(found.message)
