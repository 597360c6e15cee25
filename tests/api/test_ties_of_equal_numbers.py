"""One array of equal numbers under two names: an accident that is told. Ties on purpose are not."""

from dataclasses import dataclass

import numpy as np
import pytest
from train.warned_steps import warned

import wengert as wg
from wengert.errors import TiedWarning

Z = np.zeros(2)
DRAWN = np.random.default_rng(0).standard_normal((2, 2))


@dataclass
class Pair:
    mu: object
    log_sigma: object


def loss(m):
    m = Pair(**m) if isinstance(m, dict) else m
    return wg.sum((m.mu - 3.0) ** 2 * wg.exp(m.log_sigma))


def told(call):
    return [each for each in warned(call) if each.category is TiedWarning]


WAYS = {
    "grad": lambda f, m: wg.grad(f)(m),
    "compiled": lambda f, m: wg.compile(wg.grad(f))(m),
    "step": lambda f, m: wg.TrainStep(f, m, wg.optim.SGD(0.01))(),
    "search": lambda f, m: wg.optim.LBFGS(max_iter=1).minimize(f, m),
    "rule": lambda f, m: wg.optim.Adam(0.1).init(m),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_equal_numbers_under_two_names_are_told(way):
    for model in ({"mu": Z, "log_sigma": Z}, Pair(Z, Z), dict.fromkeys(Pair.__annotations__, Z)):
        (said,) = told(lambda m=model: way(loss, m))
        assert "numbers are all 0.0, stands at 'mu' and at 'log_sigma'" in str(said.message)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_ties_on_purpose_and_arrays_of_their_own_are_let_pass(way):
    layer = wg.nn.Linear(2, 2, seed=0, dtype=np.float64)  # its bias is all 0

    def both(m):
        return wg.sum(m.mu(Z[None]) + m.log_sigma(np.ones((1, 2))))

    for model in ({"mu": Z, "log_sigma": Z.copy()}, {"mu": DRAWN, "log_sigma": DRAWN}):
        assert told(lambda m=model: way(loss, m)) == []
    if way is not WAYS["search"]:  # which would be at the end of an unbounded function
        assert told(lambda: way(both, Pair(layer, layer))) == []
