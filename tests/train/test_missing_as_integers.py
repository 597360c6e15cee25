"""Missing labels and categories that a program makes integers of: NaN would be class 0."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TargetsWarning, WengertWarning

N = 60
X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
Y = (np.arange(N) % 3).astype(np.float32)
Y[-1] = np.nan  # in the last batch alone
TABLE = np.column_stack([X, Y])
THERE = ~np.isnan(Y)
TOLD = r"astype: floats with NaN were given in '(y|d\.y|table)', and become integers; NaN is 0"


def loss(m, x, y):
    return wg.cross_entropy(m(x), y.astype(int))


def of_table(m, table):
    return wg.cross_entropy(m(np.nan_to_num(table[:, :3])), table[:, 3].astype(np.int32))


def of_dict(m, d):
    return loss(m, d["x"], d["y"].reshape(-1))


def losses(m, x, y):
    return wg.cross_entropy(m(x), y.astype(int), reduction="none")


def made(function):
    return wg.TrainStep(function, wg.nn.Linear(3, 3), wg.optim.SGD(0.1))


def members():
    return wg.Ensemble(loss, [wg.nn.Linear(3, 3) for _ in range(2)], wg.optim.SGD([0.1, 0.2]))


CALLS = {
    "step": lambda: made(loss)(X, Y),
    "run": lambda: made(loss).run(X, Y, batch_size=10),
    "shuffled": lambda: made(loss).run(X, Y, batch_size=10, shuffle_seed=0),
    "fit": lambda: wg.train.fit(made(loss), (X, Y), epochs=1, batch_size=10, progress=False),
    "evaluate": lambda: made(loss).evaluate(loss, X, Y, batch_size=10),
    "ensemble": lambda: members().run(X, Y, batch_size=10),
    "bind": lambda: made(loss).bind(lambda m, y: y.astype(int))(Y),
    "dict": lambda: made(of_dict).run({"x": X, "y": Y[:, None]}, batch_size=10),
    "column": lambda: made(of_table).run(TABLE, batch_size=10),
    "compile": lambda: wg.compile(lambda y: wg.sum(wg.astype(y[1:], np.int32)))(Y),
    "gradient": lambda: wg.compile(wg.grad(lambda w, y: w * wg.sum(y.astype(int))))(1.0, Y),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_missing_values_that_become_integers_are_told(call):
    with pytest.warns(TargetsWarning, match=TOLD) as caught:
        call()
    assert caught[0].filename == __file__


# Programs that mean it, or fill what is missing.


def hidden(m, x, y):
    known = ~wg.isnan(y)
    return wg.sum(wg.where(known, losses(m, x, y), 0.0)) / wg.sum(known)


def hidden_by_size(m, x, y):
    return wg.sum(wg.where(y >= 0, losses(m, x, y), 0.0))


def hidden_by_an_argument(m, x, y, known):
    return wg.sum(losses(m, x, y) * known)


def filled(m, x, y):
    return wg.cross_entropy(m(x), wg.where(wg.isnan(y), 0, y).astype(int))


def filled_by_numpy(m, x, y):
    return wg.cross_entropy(m(x), np.nan_to_num(y).astype(int))


def filled_after(m, x, y):
    return wg.cross_entropy(m(x), wg.where(wg.isnan(y), 2, y.astype(int)))


def in_a_loop(m, x, y):
    def body(total, row):
        value = wg.cross_entropy(m(row[0]), row[1].astype(int))
        return total + wg.where(wg.isnan(row[1]), 0.0, value), None

    return wg.scan(body, np.float32(0), (x, y))[0]


def in_vmap(m, x, y):
    def one(x, y):
        return wg.where(wg.isnan(y), 0.0, wg.cross_entropy(m(x), y.astype(int)))

    return wg.mean(wg.vmap(one)(x, y))


OTHER_COLUMNS = np.column_stack([X, np.nan_to_num(Y)])
OTHER_COLUMNS[::7, 0] = np.nan
RIGHT = {
    "no NaN": lambda: made(loss).run(X[THERE], Y[THERE], batch_size=10),
    "hidden": lambda: made(hidden).run(X, Y, batch_size=10),
    "by size": lambda: made(hidden_by_size).run(X, Y, batch_size=10),
    "by an argument": lambda: made(hidden_by_an_argument).run(X, Y, THERE, batch_size=10),
    "by floats": lambda: made(hidden_by_an_argument)(X, Y, THERE.astype(np.float32)),
    "filled": lambda: made(filled).run(X, Y, batch_size=10),
    "filled by NumPy": lambda: made(filled_by_numpy).run(X, Y, batch_size=10),
    "filled after": lambda: made(filled_after).run(X, Y, batch_size=10),
    "in a loop": lambda: made(in_a_loop)(X, Y),
    "in vmap": lambda: made(in_vmap)(X, Y),
    "other columns": lambda: made(of_table).run(OTHER_COLUMNS, batch_size=10),
    "bools": lambda: wg.compile(lambda y: wg.sum(y.astype(bool)))(Y),
}


@pytest.mark.parametrize("call", RIGHT.values(), ids=RIGHT)
def test_right_programs_are_let_pass(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WengertWarning)
        call()
