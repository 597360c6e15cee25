"""Bad input to special functions, NumPy's and SciPy's names, draws and distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

import wengert as wg
from wengert.distributions import (
    Categorical,
    Gamma,
    MultivariateNormal,
    Normal,
    TanhNormal,
    Uniform,
)

line, square = np.ones(3), np.ones((3, 3))
key = wg.random.key(0)
windows = np.lib.stride_tricks.sliding_window_view


def traced(function: Callable[..., Any], *args: Any) -> Any:
    return wg.trace(function, *(args or (line,)))


def _import_kl_divergence() -> None:
    from wengert.distributions import kl_divergence  # type: ignore[attr-defined]  # noqa: F401


SPECIAL: dict[str, Callable[[], Any]] = {
    "multigammaln: half a size": lambda: wg.multigammaln(3.0, 1.5),
    "jn: half an order": lambda: wg.jn(0.5, 3.0),
    "logsumexp: weights": lambda: wg.logsumexp(np.ones(3), b=np.ones(3)),
    "odeint: slopes that are NaN": lambda: wg.odeint(lambda y, t: y * np.nan, 1.0, [0.0, 1.0]),
    "odeint: one time": lambda: wg.odeint(lambda y, t: -y, 1.0, 3.0),
    "odeint: times that rise and fall": lambda: wg.odeint(lambda y, t: -y, 1.0, [0.0, 1.0, 0.5]),
    "odeint: solve_ivp's order": lambda: wg.odeint(lambda t, y: -y, (0.0, 3.0), [1.0, 3.0, 2.0]),
    "odeint: tfirst": lambda: wg.odeint(lambda t, y: -y, line, [0.0, 1.0], tfirst=True),
    "odeint: a slope of another shape": lambda: wg.odeint(lambda y, t: y[0], line, [0.0, 1.0]),
    "odeint: a tree": lambda: wg.odeint(lambda y, t: y, {"a": line}, [0.0, 1.0]),
    "odeint: no function": lambda: wg.odeint(line, lambda y, t: y, line),
    "odeint: args that are no tuple": lambda: wg.odeint(lambda y, t, a: -y, 1.0, line, 3.0),
    "odeint: a branch on the time": lambda: wg.odeint(
        lambda y, t: y if t > 0.5 else -y, line, [0.0, 1.0]
    ),
    "odeint: an iterator that ends": lambda: wg.odeint(
        lambda y, t: -y * next(iter([])), line, [0.0, 1.0]
    ),
    "odeint: rtol 0": lambda: wg.odeint(lambda y, t: -y, 1.0, line, rtol=0),
    "solve_banded: no pair": lambda: wg.linalg.solve_banded(1, np.ones((3, 3)), line),
    "solve_banded: diagonals that are missing": lambda: wg.linalg.solve_banded(
        (1, 1), np.ones((2, 3)), line
    ),
    "solve_banded: too few rows": lambda: wg.linalg.solve_banded((1, 1), np.ones((3, 4)), line),
    "solve_banded: singular": lambda: wg.linalg.solve_banded((1, 1), np.zeros((3, 3)), line),
    "solve_sylvester: shapes": lambda: wg.linalg.solve_sylvester(
        np.eye(2), np.eye(3), np.ones((3, 2))
    ),
    "solve_sylvester: too many unknowns": lambda: wg.linalg.solve_sylvester(
        np.eye(65), np.eye(65), np.ones((65, 65))
    ),
    "sqrtm: an eigenvalue below 0": lambda: wg.linalg.sqrtm(np.diag([1.0, -2.0])),
    "ive_slope: 0 times": lambda: wg.op.ive_slope(1.0, 1.0, times=0),
    "ive: an order below 0": lambda: wg.ive(-0.5, 1.0),
    "gammainc_slope: order 0": lambda: wg.op.gammainc_slope(1.0, 1.0, order=0),
    "betainc_slope: order 0": lambda: wg.op.betainc_slope(1.0, 1.0, 0.5, by_a=0, by_b=0),
    "gammainc: shapes that do not broadcast": lambda: wg.gammainc(np.ones(2), line),
}
NAMES: dict[str, Callable[[], Any]] = {
    "bincount: floats": lambda: wg.bincount(line),
    "bincount: no length, traced": lambda: traced(wg.bincount, np.arange(3)),
    "np.histogram: no range, traced": lambda: traced(lambda x: np.histogram(x)[0]),
    "interp: points of two lengths": lambda: wg.interp(0.5, np.arange(3.0), np.arange(2.0)),
    "np.gradient: two spacings for one axis, traced": lambda: traced(
        lambda x: np.gradient(x, 1.0, 2.0)
    ),
    "np.gradient: one element, traced": lambda: traced(lambda x: np.gradient(x[:1])),
    "np.rot90: a vector, traced": lambda: traced(lambda x: np.rot90(x)),
    "np.partition: a place that is not there, traced": lambda: traced(lambda x: np.partition(x, 9)),
    "random.Generator: a seed": lambda: wg.random.Generator(3),
    "np.piecewise: too many functions, traced": lambda: traced(
        lambda x: np.piecewise(x, [x > 0], [1, 2, 3])
    ),
    "np.sliding_window_view: a window that is too long, traced": lambda: traced(
        lambda x: windows(x, 4)
    ),
    "quantile: beyond 1": lambda: wg.quantile(line, 1.5),
    "quantile: an unknown method": lambda: wg.quantile(line, 0.5, method="weibull"),
    "quantile: q is traced": lambda: traced(lambda x: wg.quantile(line, x)),
    "np.nanquantile: an unknown method, traced": lambda: traced(
        lambda x: np.nanquantile(x, 0.5, method="weibull")
    ),
    "linalg.solve_triangular: an unknown trans": lambda: wg.linalg.solve_triangular(
        square, line, trans=2
    ),
    "linalg.cho_solve: no pair": lambda: wg.linalg.cho_solve(3, line),
    "scipy.optimize: code in C that goes on after an error": lambda: wg.grad(
        lambda a: scipy.optimize.brentq(lambda x: x * x - a, 0.0, 2.0)
    )(1.5),
    "scipy.linalg: a function over batches, traced": lambda: traced(
        lambda x: scipy.linalg.cholesky(x), square
    ),
}
DRAWS: dict[str, Callable[[], Any]] = {
    "random.split: no keys": lambda: wg.random.split(key, 0),
    "random.categorical: one number": lambda: wg.random.categorical(key, 1.0),
    "random.gamma: a negative shape": lambda: wg.random.gamma(key, -1.0),
    "random.gamma: a shape that is too small": lambda: wg.random.gamma(key, line, (1,)),
    "random.dirichlet: one number": lambda: wg.random.dirichlet(key, 1.0),
    "random.poisson: a negative rate": lambda: wg.random.poisson(key, -1.0),
    "random.truncated_normal: low above high": lambda: wg.random.truncated_normal(key, 2.0, 1.0),
    "random.choice: more than there are": lambda: wg.random.choice(key, 3, (4,), replace=False),
    "random.choice: of none": lambda: wg.random.choice(key, 0),
    "random.fold_in: a generator": lambda: wg.random.fold_in(wg.random.Generator(key), 3),
    "random.choice: a float": lambda: wg.random.choice(key, 3.5),
    "random.choice: a negative probability": lambda: wg.random.choice(key, 2, p=[-0.5, 1.5]),
    "random.choice: weights": lambda: wg.random.choice(key, 2, p=[1.0, 2.0]),
    "random.choice: more than can be drawn": lambda: wg.random.choice(
        key, 3, (2,), replace=False, p=[1.0, 0.0, 0.0]
    ),
    "random.categorical: NaN": lambda: wg.random.categorical(key, np.array([0.0, np.nan])),
    "random.categorical: no class, compiled": lambda: wg.compile(
        lambda x: wg.random.categorical(key, x)
    )(np.full(3, -np.inf)),
    "random.choice: a negative probability, compiled": lambda: wg.compile(
        lambda p: wg.random.choice(key, 2, p=p)
    )(np.array([-0.5, 1.5])),
    "random.bernoulli: NaN, compiled": lambda: wg.compile(
        lambda p: wg.random.bernoulli(key, p, (3,))
    )(np.array(np.nan)),
    "random.choice: too few probabilities": lambda: wg.random.choice(key, 3, p=np.ones(2)),
}
DISTRIBUTIONS: dict[str, Callable[[], Any]] = {
    "distributions.Normal: a negative deviation": lambda: Normal(0.0, -1.0),
    "distributions.Normal: a negative deviation in an array": lambda: Normal(
        0.0, np.array([1.0, -1.0])
    ),
    "distributions.Normal: a parameter of others": lambda: Normal(loc=0.0),  # type: ignore[call-arg]
    "distributions.Normal: an attribute of others": lambda: Normal().rsample,  # type: ignore[attr-defined]
    "distributions.Categorical: a negative class": lambda: Categorical(line).log_prob(-1),
    "distributions.Categorical: one number": lambda: Categorical(0.5).log_prob(0),
    "distributions.MultivariateNormal: deviations": lambda: MultivariateNormal(
        np.zeros(2), np.ones(2)
    ),
    "distributions.MultivariateNormal: a negative diagonal": lambda: MultivariateNormal(
        np.zeros(2), -np.eye(2)
    ),
    "distributions.MultivariateNormal: a covariance": lambda: MultivariateNormal(
        np.zeros(2), np.ones((2, 2))
    ),
    "distributions: a name of others, imported": _import_kl_divergence,
    "tanh: a model": lambda: wg.tanh(wg.nn.Linear(3, 2)),
    "distributions.Uniform: low above high": lambda: Uniform(1.0, 0.0),
    "distributions.TanhNormal: its entropy": lambda: TanhNormal().entropy(),
    "distributions.Categorical: floats as classes": lambda: Categorical(line).log_prob(line),
    "distributions.MultivariateNormal: a factor that does not fit": lambda: MultivariateNormal(
        line, np.eye(2)
    ).log_prob(line),
    "distributions.kl: of two kinds": lambda: wg.distributions.kl(Normal(), Gamma(1.0)),
}


CASES = SPECIAL | NAMES | DRAWS | DISTRIBUTIONS
