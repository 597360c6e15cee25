"""Columns (n, 1) that rows read from a table, or that are products with the rows in columns, beside
(n,): pairs of rows that are told, and those that are meant.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
from api.told_pairs import told
from wengert.errors import PairedRowsWarning

rng = np.random.default_rng(0)
n = 8
MODEL = {
    "p": rng.standard_normal((5, 4)),
    "q": rng.standard_normal((6, 4)),
    "b": rng.standard_normal((5, 1)),
    "c": rng.standard_normal((6, 1)),
    "embedded": wg.nn.Embedding(5, 1, dtype=np.float64),
    "w": rng.standard_normal((1, 3)),
    "bias": np.zeros((1, 1)),
}
DATA = {
    "u": np.arange(n) % 5,
    "i": np.arange(n) % 6,
    "r": rng.standard_normal(n),
    "x": rng.standard_normal((n, 3)),
    "column": rng.standard_normal((n, 1)),
}


def squares(errors):
    return wg.mean(errors**2)


def factors(m, d):
    return wg.sum(m["p"][d["u"]] * m["q"][d["i"]], axis=1)


def products(m, d):
    return m["p"][d["u"]] @ m["q"][d["i"]].T


def lying(m, d):
    return wg.tanh(m["w"] @ d["x"].T + m["bias"])


def logits(m, d):
    return wg.softplus(m["b"][d["u"]]) - d["r"] * m["b"][d["u"]]


TOLD = {
    "effects of groups": lambda m, d: squares(m["b"][d["u"]] - d["r"]),
    "take": lambda m, d: squares(wg.take(m["b"], d["u"], axis=0) - d["r"]),
    "an embedding": lambda m, d: squares(m["embedded"](d["u"]) - d["r"]),
    "computed with": lambda m, d: squares(wg.exp(wg.tanh(m["b"])[d["u"]]) - d["r"]),
    "biases of factors": lambda m, d: squares(
        factors(m, d) + m["embedded"](d["u"]) + m["c"][d["i"]] - d["r"]
    ),
    "logits": lambda m, d: wg.mean(logits(m, d)),
    "beside a column of products": lambda m, d: squares(
        m["b"][d["u"]] + d["x"] @ m["w"].T - d["r"]
    ),
    "summed by turns": lambda m, d: wg.mean(wg.sum((m["b"][d["u"]] - d["r"]) ** 2, axis=1)),
    "turned": lambda m, d: squares(lying(m, d).T - d["r"]),
    "a row beside a column": lambda m, d: squares(lying(m, d) - d["column"]),
}


@pytest.mark.parametrize("case", TOLD)
def test_pairs_are_named(case):
    (text,) = told(TOLD[case], MODEL, DATA)
    row, part = ("(1, n)", ".T") if "row beside" in case else ("(n,)", "[:, 0]")
    assert f"given shapes (n, 1) and {row} here" in text
    assert f"prediction{part};" in text


def corrected(m, d):
    scores = m["b"][d["u"]] - d["r"] + products(m, d)
    return wg.mean(wg.softplus((1 - 2 * wg.eye(n)) * scores))


def latent_distances(m, d):
    apart = m["p"][d["u"]][:, None] - m["q"][d["i"]][None]
    scores = m["b"][d["u"]] + m["c"][d["i"]][:, 0] - wg.sum(apart**2, axis=-1)
    return wg.mean(wg.softplus((1 - 2 * wg.eye(n)) * scores))


def labelled(m, d):
    alike = wg.where(d["u"][:, None] == d["u"], 1.0, -1.0)
    return wg.mean(wg.softplus(-alike * (m["c"][d["i"]] * d["r"])))


def at_risk(m, d):
    later = wg.where(d["r"][:, None] <= d["r"], 1.0, 0.0)
    risk = m["b"][d["u"]][:, 0]
    return wg.mean(wg.log(wg.sum(later * wg.exp(risk), axis=1)) - risk)


def energy_distance(m, d):
    p, y = lying(m, d), d["column"]
    own = wg.mean(wg.abs(p - p.T)) + wg.mean(wg.abs(y - y.T))
    return 2 * wg.mean(wg.abs(p - y)) - own


MEANT = {
    "one shape": lambda m, d: squares(
        factors(m, d) + m["b"][d["u"], 0] + m["embedded"](d["u"])[:, 0] - d["r"]
    ),
    "columns": lambda m, d: squares(m["b"][d["u"]] + m["c"][d["i"]] - d["column"]),
    "written": lambda m, d: squares(m["b"][d["u"]] - d["r"][None, :]),
    "written otherwise": lambda m, d: squares(m["b"][d["u"]][:, 0][:, None] - d["r"]),
    "in-batch negatives with a bias of the item": lambda m, d: wg.cross_entropy(
        products(m, d) + m["c"][d["i"]].T, wg.arange(n)
    ),
    "the same by hand": lambda m, d: wg.cross_entropy(
        products(m, d) + m["c"][d["i"]][:, 0][None, :], wg.arange(n)
    ),
    "both biases first": lambda m, d: wg.cross_entropy(
        m["b"][d["u"]] + m["c"][d["i"]][:, 0] + products(m, d), wg.arange(n)
    ),
    "how often an item is drawn": corrected,
    "latent distances": latent_distances,
    "labels of pairs": labelled,
    "proportional hazards": at_risk,
    "winners beside losers": lambda m, d: wg.mean(
        wg.softplus(wg.tanh(m["b"][d["u"]]) - wg.tanh(m["b"][d["i"] % 5][:, 0]))
    ),
    "differences of one thing": lambda m, d: squares(
        m["embedded"](d["u"]) - m["embedded"](d["u"])[:, 0]
    ),
    "differences, turned": lambda m, d: squares(m["b"][d["u"]] - m["b"][d["u"]].T),
    "a softmax": lambda m, d: wg.mean(wg.softmax(m["b"][d["u"]] * d["r"], axis=1) @ d["r"]),
    "the nearest": lambda m, d: wg.mean(wg.min((m["b"][d["u"]] - d["r"]) ** 2, axis=0)),
    "rows (1, n)": lambda m, d: squares(lying(m, d) - d["r"]),
    "turned columns": lambda m, d: squares(lying(m, d).T - d["column"]),
    "a row beside a written column": lambda m, d: squares(lying(m, d) - d["r"][:, None]),
    "a row that is written": lambda m, d: squares(lying(m, d)[0][None, :] - d["column"]),
    "the nearest of a row (1, n)": lambda m, d: wg.mean(
        wg.min((lying(m, d) - d["column"]) ** 2, axis=1)
    ),
    "a form of a column with itself": lambda m, d: wg.mean(
        d["column"] * (m["bias"] @ d["column"].T)
    ),
    "energy distance": energy_distance,
}


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_let_pass(case):
    assert told(MEANT[case], MODEL, DATA) == []


def test_a_step_names_pairs_of_a_table_in_its_loss_and_in_what_gives_single_numbers():
    u, r = DATA["u"], DATA["r"]

    def loss(b, u, r):
        return squares(b[u] - r)

    step = wg.TrainStep(loss, MODEL["b"], wg.optim.SGD(0.1))
    with pytest.warns(PairedRowsWarning, match="in the loss of a TrainStep") as caught:
        step(u, r)
    assert [each.filename for each in caught] == [__file__]
    with pytest.warns(PairedRowsWarning, match="in TrainStep.bind") as caught:
        step.bind(lambda b, u, r: {"error": loss(b, u, r), "mean": wg.mean(r)})(u, r)
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step.bind(lambda b, u, r: b[u] - r)(u, r).shape == (n, n)
        step.bind(lambda b, u, r: (b[u], squares(b[u] - r)))(u, r)
        step.bind(lambda b, u, r: squares(b[u, 0] - r))(u, r)
        step.bind(lambda b, u, r: wg.mean(wg.min((b[u] - r) ** 2, axis=0)))(u, r)
