"""What becomes of pairs of rows, (n, 1) beside (n,) or a product of matrices: losses that reduce
them by mistake are told, and losses that are about pairs are let pass.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from api.told_pairs import told
from wengert.errors import PairedRowsWarning

rng = np.random.default_rng(0)
n = 8
SLOPE, TIMES = np.array(0.5), np.linspace(0, 5, n)[:, None]
y = np.sin(TIMES[:, 0])


# Residuals (n, n) that were meant to be (n,).

REDUCED = {
    "median": lambda r: np.median(np.abs(r)),
    "quantile": lambda r: np.quantile(r**2, 0.9),
    "sum(sum())": lambda r: sum(sum(r**2)),
    "einsum": lambda r: np.einsum("ij,ij", r, r),
    "tensordot": lambda r: np.tensordot(r, r, 2),
    "trapezoid": lambda r: np.sum(np.trapezoid(r**2, axis=0)),
    "hstack": lambda r: np.sum(np.hstack(list(r)) ** 2),
}


@pytest.mark.parametrize("case", REDUCED)
def test_pairs_are_named_whatever_reduces_them(case):
    (text,) = told(lambda m, x, y: REDUCED[case](m * x - y), SLOPE, TIMES, y)
    assert text.startswith("subtract: given shapes (n, 1) and (n,)")
    assert not told(lambda m, x, y: REDUCED[case](m * x[None, :, 0] - y[None]), SLOPE, TIMES, y)


# Losses that are about pairs.


def squares(m, x, y):
    return (m * x - y) ** 2


def energy_distance(m, x, y):
    p = m * x
    own = wg.mean(wg.abs(p - p.T)) + wg.mean(wg.abs(y[:, None] - y))
    return 2 * wg.mean(wg.abs(p - y)) - own


def discrepancy(m, x, y):
    p = m * x

    def kernel(differences):
        return wg.mean(wg.exp(-(differences**2)))

    return kernel(p - p.T) + kernel(y[:, None] - y[None, :]) - 2 * kernel(p - y)


KERNELS = {
    "Gauss": lambda a, b: wg.exp(-0.5 * ((a - b) / 0.7) ** 2),
    "Laplace": lambda a, b: wg.exp(-wg.abs(a - b)),
    "Cauchy": lambda a, b: 1 / (1 + (a - b) ** 2),
    "inverse root": lambda a, b: (1 + (a - b) ** 2) ** -0.5,
    "several widths": lambda a, b: sum(wg.exp(-((a - b) ** 2) / width) for width in (0.1, 1.0)),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_discrepancies_of_two_samples_of_the_model_are_let_pass(kernel):
    """The second sample is computed anew, so that nothing is paired with itself."""

    def loss(m, x, y):
        def sample():
            return wg.tanh(m * x)

        own = wg.mean(kernel(sample(), sample()[:, 0]))
        return own - 2 * wg.mean(kernel(sample(), y))

    assert told(loss, SLOPE, TIMES, y) == []


OF_DIFFERENCES = {
    "likelihood": lambda m, x, y: -wg.mean(wg.log(wg.exp(-0.5 * (y - m * x) ** 2) + 1e-6)),
    "Cauchy's likelihood": lambda m, x, y: -wg.mean(wg.log(1 / (1 + (y - m * x) ** 2))),
    "correntropy": lambda m, x, y: -wg.mean(wg.exp(-((y - m * x) ** 2))),
    "Geman and McClure": lambda m, x, y: wg.mean((y - m * x) ** 2 / (1 + (y - m * x) ** 2)),
    "weights": lambda m, x, y: wg.mean((y - m * x) ** 2 / wg.stop_gradient(1 + (y - m * x) ** 2)),
    "beside a discrepancy": lambda m, x, y: (
        wg.mean(wg.exp(-((m * x - wg.tanh(m * x[:, 0])) ** 2))) + wg.mean((y - m * x) ** 2)
    ),
}


@pytest.mark.parametrize("loss", OF_DIFFERENCES.values(), ids=OF_DIFFERENCES)
def test_kernels_of_differences_that_were_meant_for_each_row_are_named(loss):
    assert any("given shapes (n, 1) and (n,)" in text for text in told(loss, SLOPE, TIMES, y))


def soft_assignment(m, x, y):
    cost = squares(m, x, y)
    return wg.sum(wg.softmax(-cost, axis=1) * cost)


def transport(m, x, y):
    cost = squares(m, x, y)
    kernel, u, v = wg.exp(-cost), wg.ones(n), wg.ones(n)
    for _ in range(2):
        u = 1 / (kernel @ v)
        v = 1 / (kernel.T @ u)
    return wg.sum(u[:, None] * kernel * v * cost)


def kernel_regression(m, x, y):
    weights = wg.exp(-squares(m, x, y))
    return wg.mean((wg.sum(weights * y, axis=1) / wg.sum(weights, axis=1) - y) ** 2)


def chamfer(m, x, y):
    d = squares(m, x, y)
    return wg.mean(np.min(d, axis=1)) + wg.mean(np.min(d, axis=0))


def ranking(m, x, y):
    p = m * x[:, 0]
    return wg.mean(wg.softplus(-(p[:, None] - p[None, :]) * wg.sign(y[:, None] - y[None, :])))


ABOUT_PAIRS = {
    "Chamfer": chamfer,
    "nearest": lambda m, x, y: wg.mean(wg.min(squares(m, x, y), axis=1)),
    "Hausdorff": lambda m, x, y: wg.max(wg.min(squares(m, x, y), axis=0)),
    "likest": lambda m, x, y: -wg.mean(wg.max(m * x * y, 0)) - wg.mean(wg.max(m * x * y, 1)),
    "energy distance": energy_distance,
    "maximum mean discrepancy": discrepancy,
    "soft assignment": soft_assignment,
    "optimal transport": transport,
    "optimal transport, sorted": lambda m, x, y: wg.mean((wg.sort(m * x[:, 0]) - wg.sort(y)) ** 2),
    "kernel regression": kernel_regression,
    "density": lambda m, x, y: -wg.mean(wg.log(wg.mean(wg.exp(-squares(m, x, y)), axis=0))),
    "diagonal": lambda m, x, y: wg.sum(wg.diagonal(squares(m, x, y))),
    "ranking": ranking,
    "process": lambda m, x, y: y @ wg.linalg.solve(wg.exp(-m * (x - x.T) ** 2) + wg.eye(n), y),
}


@pytest.mark.parametrize("case", ABOUT_PAIRS)
def test_losses_about_pairs_are_let_pass(case):
    assert told(ABOUT_PAIRS[case], SLOPE, TIMES, y) == []


# Products of matrices, (n, n), that were meant to be products of each row.

TABLES = {"p": np.ones((5, 4)), "q": np.ones((6, 4)), "b": np.zeros(5), "c": np.zeros(6)}
TABLES |= {"v": np.ones((3, 4)), "w": np.ones((2, 4))}
DATA = {"u": np.arange(n) % 5, "i": np.arange(n) % 6, "r": y, "often": -y, "kind": np.arange(n) % 2}
DATA |= {"x": rng.standard_normal((n, 3)), "z": rng.standard_normal((n, 2))}


def users(m, d):
    return m["p"][d["u"]]


def items(m, d):
    return m["q"][d["i"]]


def products(m, d):
    return users(m, d) @ items(m, d).T


def towers(m, d):
    return wg.tanh(d["x"] @ m["v"]), wg.tanh(d["z"] @ m["w"])


def of_towers(m, d):
    a, b = towers(m, d)
    return a @ b.T


FOR_EACH_ROW = {
    "factors": lambda m, d: wg.mean((products(m, d) - d["r"]) ** 2),
    "einsum": lambda m, d: wg.mean(
        (wg.einsum("ik,jk->ij", users(m, d), items(m, d)) - d["r"]) ** 2
    ),
    "biases": lambda m, d: wg.mean(
        (products(m, d) + m["b"][d["u"]] + m["c"][d["i"]] - d["r"]) ** 2
    ),
    "signs": lambda m, d: wg.mean(d["r"] * wg.softplus(-products(m, d))),
    "towers": lambda m, d: wg.mean(wg.abs(d["r"] - of_towers(m, d))),
    "a sum along one axis": lambda m, d: wg.mean((wg.sum(products(m, d), axis=1) - d["r"]) ** 2),
    "weights": lambda m, d: wg.mean(wg.exp(d["often"]) * (products(m, d) - d["r"]) ** 2),
}


@pytest.mark.parametrize("case", FOR_EACH_ROW)
def test_products_of_all_pairs_in_the_place_of_those_of_each_row_are_named(case):
    (text,) = told(FOR_EACH_ROW[case], TABLES, DATA)
    assert "wg.sum(a * b, axis=1)" in text


def test_a_step_names_products_of_all_pairs():
    tables, data = {k: TABLES[k] for k in "pq"}, {k: DATA[k] for k in "uir"}
    step = wg.TrainStep(FOR_EACH_ROW["factors"], tables, wg.optim.SGD(0.1))
    with pytest.warns(PairedRowsWarning, match="product of matrices") as caught:
        step(data)
    assert [each.filename for each in caught] == [__file__]


def by_hand(m, d):
    a, b = towers(m, d)
    right = wg.sum(a * b, axis=1)
    return -wg.mean(right - wg.log(wg.sum(wg.exp(a @ b.T - d["often"]), axis=1)))


def information(m, d):
    a, b = towers(m, d)
    return wg.log(wg.mean(wg.exp(a @ b.T - d["often"]))) - wg.mean(wg.sum(a * b, axis=1))


def alike(m, d):
    labels = wg.where(d["kind"][:, None] == d["kind"], 1.0, -1.0)
    return wg.mean(wg.exp(d["r"]) * wg.softplus(-labels * of_towers(m, d)))


def distances(m, d):
    a, b = towers(m, d)
    return wg.mean(wg.sum(a * a, axis=1, keepdims=True) - 2 * a @ b.T + wg.sum(b * b, axis=1))


def gram(m, d):
    a, _ = towers(m, d)
    return a @ a.T


def better(m, d):
    a, b = towers(m, d)
    right = wg.sum(a * b, axis=1)
    return wg.mean(wg.softplus(a @ b.T - right[:, None]) * wg.exp(d["r"]))


def attended(m, d):
    weights = wg.softmax(of_towers(m, d) + d["often"])
    return wg.mean((weights @ d["r"] - d["r"]) ** 2)


MEANT = {
    "each row": lambda m, d: wg.mean((wg.sum(users(m, d) * items(m, d), axis=1) - d["r"]) ** 2),
    "in-batch softmax": lambda m, d: wg.cross_entropy(products(m, d) - d["often"], wg.arange(n)),
    "its diagonal": lambda m, d: -wg.mean(wg.diagonal(wg.log_softmax(products(m, d) - d["often"]))),
    "ones on the diagonal": lambda m, d: (
        -wg.sum(wg.eye(n) * wg.log_softmax(products(m, d) - d["often"]))
    ),
    "by hand": by_hand,
    "mutual information": information,
    "two outcomes": lambda m, d: wg.mean(
        wg.softplus((1 - 2 * wg.eye(n)) * (of_towers(m, d) - d["often"]))
    ),
    "labels of pairs": alike,
    "squared distances": distances,
    "Gram": lambda m, d: wg.mean(gram(m, d) * d["r"] * d["r"][:, None]),
    "process": lambda m, d: d["r"] @ wg.linalg.solve(gram(m, d) + wg.eye(n) * d["r"] ** 2, d["r"]),
    "better than others": better,
    "attention": attended,
    "attention without softmax": lambda m, d: wg.mean((of_towers(m, d) * d["often"]) @ d["z"]),
    "written": lambda m, d: wg.mean((products(m, d) - d["r"][None, :]) ** 2),
    "how often an item is drawn": lambda m, d: wg.mean(
        wg.softplus(products(m, d) - wg.log(1.0 + d["i"]))
    ),
}


@pytest.mark.parametrize("case", MEANT)
def test_products_of_all_pairs_that_are_meant_are_let_pass(case):
    assert told(MEANT[case], TABLES, DATA) == []
