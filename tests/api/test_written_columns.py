"""One side with an axis that was added inside the loss, `y[:, None]`, beside (n,): pairs of rows
that are told, and those that are meant.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from api.told_pairs import told
from wengert.errors import PairedRowsWarning

rng = np.random.default_rng(0)
n = 8
MODEL = {"w": rng.standard_normal((3, 1)), "q": rng.standard_normal((3, 2)), "k": np.array(0.5)}
DATA = {
    "x": rng.standard_normal((n, 3)),
    "next": rng.standard_normal((n, 3)),
    "a": np.arange(n) % 2,
    "y": rng.standard_normal(n),
    "t": rng.standard_normal(n),
    "target": wg.nn.Linear(3, 2, seed=0, dtype=np.float64),
}


def predicted(m, d):
    return wg.tanh(d["x"] @ m["w"])[:, 0]


def squares(errors):
    return wg.mean(errors**2)


def huber(errors):
    size = wg.abs(errors)
    return wg.mean(wg.where(size < 1.0, 0.5 * errors * errors, size - 0.5))


def chosen(m, d):
    return wg.take_along_axis(d["x"] @ m["q"], d["a"][:, None], axis=1)[:, 0]


def log_probability(m, d):
    return wg.take_along_axis(wg.log_softmax(d["x"] @ m["q"]), d["a"][:, None], axis=1)[:, 0]


def td_error(m, d):
    best = wg.max(d["target"](d["next"]), axis=1, keepdims=True)
    return squares(chosen(m, d) - (d["y"][:, None] + 0.99 * best))


TOLD = {
    "None": lambda m, d: squares(predicted(m, d) - d["y"][:, None]),
    "newaxis": lambda m, d: squares(d["y"][:, np.newaxis] - predicted(m, d)),
    "reshape": lambda m, d: squares(predicted(m, d) - d["y"].reshape(-1, 1)),
    "expand_dims": lambda m, d: squares(predicted(m, d) - wg.expand_dims(d["y"], axis=1)),
    "NumPy's": lambda m, d: wg.sum((predicted(m, d) - np.expand_dims(d["y"], 1)) ** 2) / n,
    "computed with": lambda m, d: wg.mean(wg.abs(predicted(m, d) - 0.5 * d["y"][:, None])),
    "predictions": lambda m, d: squares((d["x"] @ m["w"][:, 0])[:, None] - d["y"]),
    "Huber": lambda m, d: huber(predicted(m, d) - d["y"][:, None]),
    "weights": lambda m, d: wg.mean(d["t"] * wg.square(predicted(m, d) - d["y"][:, None])),
    "products": lambda m, d: -wg.mean(log_probability(m, d) * d["y"][:, None]),
    "a density": lambda m, d: (
        -wg.mean(wg.distributions.Normal(predicted(m, d), wg.exp(m["k"])).log_prob(d["y"][:, None]))
    ),
    "cut rows": lambda m, d: squares(predicted(m, d)[:-1] - d["y"][1:, None]),
    "an error of times": td_error,
    "an advantage": lambda m, d: (
        -wg.mean(log_probability(m, d) * wg.stop_gradient(d["y"][:, None] - d["x"] @ m["w"]))
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_pairs_are_named(case):
    (text,) = told(TOLD[case], MODEL, DATA)
    assert "given shapes (n, 1) and (n,) here" in text
    added = "without the axis that was added" in text
    assert added or "prediction[:, 0];" in text


def quantiles(m, d):
    errors = d["y"][:, None] - m["k"] * wg.tanh(d["t"])
    return wg.mean(wg.maximum(d["t"] * errors, (d["t"] - 1) * errors))


def quantiles_by_sign(m, d):
    errors = d["y"][:, None] - m["k"] * wg.tanh(d["t"])
    return wg.mean(wg.abs(d["t"] - (errors < 0)) * errors**2)


def energy_distance(m, d):
    p, y = predicted(m, d), d["y"]
    own = wg.mean(wg.abs(p[:, None] - p)) + wg.mean(wg.abs(y[:, None] - y))
    return 2 * wg.mean(wg.abs(p[:, None] - y)) - own


def energy_distance_of_two_samples(m, d):
    p, again, y = predicted(m, d), wg.tanh(d["next"] @ m["w"])[:, 0], d["y"]
    return 2 * wg.mean(wg.abs(y[:, None] - p)) - wg.mean(wg.abs(p[:, None] - again))


def discrepancy(m, d):
    def kernel(a, b):
        return wg.mean(wg.exp(-0.5 * (a[:, None] - b) ** 2))

    p, y = predicted(m, d), d["y"]
    return kernel(p, p) - 2 * kernel(y, p) + kernel(y, y)


def ranking(m, d):
    p, y = predicted(m, d), d["y"]
    return wg.mean(wg.softplus(-(p[:, None] - p) * wg.sign(y[:, None] - y)))


def attention(m, d):
    weights = wg.softmax(d["y"][:, None] * predicted(m, d), axis=1)
    return squares(weights @ d["t"] - d["y"])


MEANT = {
    "one shape": lambda m, d: squares(predicted(m, d) - d["y"]),
    "columns": lambda m, d: squares(d["x"] @ m["w"] - d["y"][:, None]),
    "written": lambda m, d: wg.mean(wg.abs(predicted(m, d)[None, :] - d["y"][:, None])),
    "taken away and written": lambda m, d: wg.mean(wg.abs(predicted(m, d)[:, None] - d["y"])),
    "of the same data": lambda m, d: squares(m["k"] * d["y"][:, None] - d["y"]),
    "of data alone": lambda m, d: m["k"] * squares(d["y"][:, None] - d["t"]),
    "a grid": lambda m, d: wg.mean(wg.sin(d["y"][:, None] - m["k"] * d["t"])),
    "a kernel": lambda m, d: wg.mean(wg.exp(-((d["y"][:, None] - predicted(m, d)) ** 2))),
    "the nearest": lambda m, d: wg.mean(wg.min((d["y"][:, None] - predicted(m, d)) ** 2, axis=1)),
    "a logsumexp": lambda m, d: wg.mean(
        wg.logsumexp(-((d["y"][:, None] - predicted(m, d)) ** 2), axis=1)
    ),
    "an outer product": lambda m, d: wg.mean((d["y"][:, None] * predicted(m, d)) @ d["x"]),
    "others are left out": lambda m, d: wg.mean(
        (1 - wg.eye(n)) * wg.abs(d["y"][:, None] - predicted(m, d))
    ),
    "quantiles": quantiles,
    "quantiles by sign": quantiles_by_sign,
    "energy distance": energy_distance,
    "energy distance of two samples": energy_distance_of_two_samples,
    "maximum mean discrepancy": discrepancy,
    "ranking": ranking,
    "attention": attention,
}


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_let_pass(case):
    assert told(MEANT[case], MODEL, DATA) == []


def test_calls_and_runs_of_a_step_name_them():
    x, y = DATA["x"], DATA["y"]

    def step():
        return wg.TrainStep(
            lambda w, x, y: squares((x @ w)[:, 0] - y[:, None]), MODEL["w"], wg.optim.SGD(0.1)
        )

    for train in (lambda: step()(x, y), lambda: step().run(x, y, batch_size=4)):
        with pytest.warns(PairedRowsWarning, match="in the loss of a TrainStep") as caught:
            train()
        assert [each.filename for each in caught] == [__file__]
