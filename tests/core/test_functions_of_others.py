"""Functions of NumPy and SciPy that no Tensor goes through: the error names the function that was
called, and what to write instead, which computes the same.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import wengert as wg
from wengert.core.words.foreign_names.elsewhere import instead_of_torch, torch_function
from wengert.errors import MissingAttribute, TraceError

X = np.array([0.5, 1.0, 2.0])
BINS = np.array([0.0, 0.7, 1.5])
SQUARE = np.diag(X) + 0.1

WRITTEN = {
    "np.vectorize": lambda x: np.vectorize(lambda a: a * a)(x),
    "np.polynomial.Polynomial": lambda x: np.polynomial.Polynomial([1.0, 2.0])(x),
    "np.digitize": lambda x: np.digitize(x, BINS),
    "np.apply_along_axis": lambda x: np.apply_along_axis(np.sum, 0, x),
    "np.linalg.cond": lambda x: np.linalg.cond(x * SQUARE),
    "np.unique": lambda x: np.unique(x),
    "scipy.integrate.trapezoid": lambda x: scipy.integrate.trapezoid(x, X),
    "scipy.integrate.cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x, X),
    "scipy.integrate.solve_ivp": lambda x: scipy.integrate.solve_ivp(lambda _, y: -y, (0, 1), x).y,
    "scipy.linalg.cho_factor": lambda x: scipy.linalg.cho_factor(x * SQUARE)[0],
    "scipy.special.huber": lambda x: scipy.special.huber(0.8, x),
    "scipy.special.pseudo_huber": lambda x: scipy.special.pseudo_huber(0.8, x),
    "scipy.special.spherical_jn": lambda x: scipy.special.spherical_jn(1, x),
    "scipy.stats.norm.logpdf": lambda x: scipy.stats.norm.logpdf(x, 1.0, 2.0),
    "scipy.stats.norm.pdf": lambda x: scipy.stats.norm(1.0, 2.0).pdf(x),
    "scipy.stats.gamma.cdf": lambda x: scipy.stats.gamma.cdf(x, 2.0),
    "scipy.stats.cauchy.logpdf": lambda x: scipy.stats.cauchy.logpdf(x),
    "scipy.stats.zscore": lambda x: scipy.stats.zscore(x),
}
INSTEAD = {
    "np.vectorize": "wg.vmap(f)(x)",
    "np.polynomial.Polynomial": "np.polyval(c[::-1], x)",
    "np.digitize": 'wg.searchsorted(bins, x, side="right")',
    "np.apply_along_axis": "wg.vmap(f)(x)",
    "np.linalg.cond": "wg.linalg.svdvals(x)",
    "scipy.integrate.trapezoid": "np.trapezoid",
    "scipy.integrate.cumulative_trapezoid": "wg.cumulative_sum",
    "scipy.integrate.solve_ivp": "wg.odeint(f, y0, times)",
    "scipy.linalg.cho_factor": "wg.linalg.cho_solve((factor, True), b)",
    "scipy.special.huber": "wg.where(wg.abs(r) <= delta",
    "scipy.special.pseudo_huber": "delta**2 * (wg.sqrt(1",
    "scipy.stats.norm.logpdf": "wg.distributions.Normal(mean, std).log_prob(x)",
    "scipy.stats.norm.pdf": "wg.exp(wg.distributions.Normal(mean, std).log_prob(x))",
    "scipy.stats.gamma.cdf": "wg.distributions.Gamma(a, rate).cdf(x)",
    "scipy.stats.cauchy.logpdf": "its density with the functions of wg",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_function_is_named_with_what_to_write_instead(name):
    with pytest.raises(TraceError) as found:
        wg.grad(lambda x: wg.sum(WRITTEN[name](x)))(X)
    assert str(found.value).startswith(f"{name}: given a Tensor")
    if name == "np.unique":
        assert "How many numbers differ is known only when the program runs" in str(found.value)
        return
    assert f"Write {INSTEAD.get(name, 'it with the functions of wg')}" in str(found.value).replace(
        "Write s = ", "Write "
    ).replace("Write factor = wg.linalg.cholesky(x), and ", "Write ")


def huber(r, delta):
    return wg.where(wg.abs(r) <= delta, r**2 / 2, delta * (wg.abs(r) - delta / 2))


def inverse(x):
    return wg.linalg.cho_solve((wg.linalg.cholesky(x), True), np.eye(3))


@pytest.mark.parametrize(
    ("instead", "written"),
    [
        (np.polyval(np.array([1.0, 2.0])[::-1], X), WRITTEN["np.polynomial.Polynomial"](X)),
        (wg.searchsorted(BINS, X, side="right"), WRITTEN["np.digitize"](X)),
        (wg.vmap(wg.sum)(SQUARE), np.apply_along_axis(np.sum, 1, SQUARE)),
        (
            wg.cumulative_sum((X[1:] + X[:-1]) / 2 * np.diff(X)),
            WRITTEN["scipy.integrate.cumulative_trapezoid"](X),
        ),
        (inverse(SQUARE), np.linalg.inv(SQUARE)),
        (huber(X, 0.8), WRITTEN["scipy.special.huber"](X)),
        (
            0.8**2 * (wg.sqrt(1 + (X / 0.8) ** 2) - 1),
            WRITTEN["scipy.special.pseudo_huber"](X),
        ),
        (wg.distributions.Normal(1.0, 2.0).log_prob(X), WRITTEN["scipy.stats.norm.logpdf"](X)),
        (wg.distributions.Gamma(2.0, 1.0).cdf(X), WRITTEN["scipy.stats.gamma.cdf"](X)),
    ],
)
def test_what_is_written_instead_computes_the_same(instead, written):
    np.testing.assert_allclose(instead, written, rtol=1e-12)


def _root(a):
    return scipy.optimize.brentq(lambda t: t**3 - a, 0.0, 5.0)


@pytest.mark.parametrize("way", [wg.grad, wg.compile, wg.vmap])
def test_a_search_of_scipy_is_named_where_it_asks_for_numbers(way):
    with pytest.raises(TraceError) as found:
        way(_root)(np.ones(2) if way is wg.vmap else np.array(2.0))
    assert str(found.value).startswith("scipy.optimize.brentq: given a Tensor")
    assert "wg.while_loop" in str(found.value)


def test_a_branch_of_a_function_that_scipy_calls_is_the_users():
    def f(a):
        return scipy.optimize.brentq(lambda t: t if a > 0 else -t, -1.0, 5.0)

    with pytest.raises(TraceError, match=r"^bool: .*wg\.where"):
        wg.compile(f)(np.array(2.0))


def test_an_item_of_a_list_is_told_to_be_stacked_and_sizes_are_not():
    layers = [wg.nn.Linear(3, 3, seed=i) for i in range(3)]
    x = np.array([0.0, 2.0, 1.0], np.float32)
    for items in (layers, tuple(layers), wg.nn.Sequential(*layers)):
        with pytest.raises(TraceError, match=r"wg\.stack\(\[f\(x\) for f in layers\]\)\[i\]"):
            wg.compile(lambda x, items=items: items[wg.argmax(x)](x))(x)
    stacked = wg.compile(lambda x: wg.stack([f(x) for f in layers])[wg.argmax(x)])
    np.testing.assert_allclose(stacked(x), layers[1](x), rtol=1e-6)
    taken = wg.compile(lambda x: wg.take(wg.stack([1.0, 2.0, 3.0]), wg.argmax(x), axis=0))
    assert taken(x) == 2.0
    for f in (lambda x: layers[: wg.argmax(x)], lambda x: wg.zeros(wg.argmax(x))):
        with pytest.raises(TraceError, match="keep sizes plain numbers"):
            wg.compile(f)(x)


UNIQUE = {
    "wg.unique": lambda x: wg.unique(x),
    "np.unique": lambda x: np.unique(x, return_inverse=True)[1],
    "Tensor.unique": lambda x: x.unique(),
    "unique_all": lambda x: wg.unique_values(x),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_whichever_name_the_different_numbers_have(name):
    with pytest.raises((TraceError, MissingAttribute)) as found:
        wg.compile(UNIQUE[name])(X)
    text = str(found.value)
    assert text.startswith(f"{name}: ")
    assert "ow many numbers differ is known only when the program runs" in text
    assert "utside" in text
    assert "wg.sort" in text


def test_the_different_numbers_of_what_is_known_are_found():
    assert wg.compile(lambda x: x * len(np.unique(BINS)))(X)[1] == 3.0
    np.testing.assert_array_equal(wg.unique_values(BINS), BINS)


def test_a_method_of_scikit_learn_is_called_as_the_user_wrote_it():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    linear_model = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    rows = np.random.default_rng(0).normal(size=(20, 3))
    scaler = preprocessing.StandardScaler().fit(rows)
    line = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    line.fit(rows, rows[:, 0])

    class Own(preprocessing.StandardScaler):
        pass

    own = Own().fit(rows)
    calls = {
        "sklearn.preprocessing.StandardScaler.fit": lambda x: scaler.fit(x),
        "sklearn.preprocessing.StandardScaler.transform": lambda x: scaler.transform(x),
        "sklearn.preprocessing.StandardScaler.fit_transform": lambda x: scaler.fit_transform(x),
        "sklearn.preprocessing.scale": lambda x: preprocessing.scale(x),
        "sklearn.linear_model.Ridge.predict": lambda x: line[-1].predict(x),
        "sklearn.pipeline.Pipeline.predict": lambda x: line.predict(x),
        "Own.transform": lambda x: own.transform(x),
    }
    for name, function in calls.items():
        for way in (wg.compile, lambda f: wg.grad(lambda x: wg.sum(f(x)))):
            with pytest.raises(TraceError, match=rf"(\S*\.)?{name}: given a Tensor"):
                way(function)(rows)


def test_a_class_of_pandas_is_called_by_its_name():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TraceError, match=r"^pandas\.\S*DataFrame: given a Tensor that is traced"):
        wg.compile(lambda x: pandas.DataFrame(x))(SQUARE)


# Functions of torch, which calls `__torch_function__` in the place of its own.


def _of_torch(name):
    """A function of torch's name, as torch gives it."""

    def function():
        pass

    function.__name__ = name
    return function


OF_TORCH = {
    "exp": "Write wg.exp.",
    "logsumexp": "Write wg.logsumexp.",
    "cat": "Write wg.concat([x, y], axis=0).",
    "clamp": "Write wg.clip(x, low, high).",
    "bmm": "Write x @ y.",
    "mse_loss": "Write wg.mse(predictions, targets).",
    "randn_like": "Write rng.normal(x.shape, x.dtype) in a loss with a parameter rng",
    "rand_like": "Write rng.uniform(x.shape, x.dtype) in a loss with a parameter rng",
    "std": "Write wg.std(x, axis, correction=1), which divides by n - 1",
    "linalg_inv": "Write wg.linalg.inv.",
    "fft_rfft": "Write wg.fft.rfft, where",
    "fft_fft": "There are no complex numbers",
    "conv_tbc": "Write it with the functions of wg.",
    "linalg_lstsq_of_later": "Write it with the functions of wg.",
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_functions_of_torch_are_told_ours(name):
    def call(x):
        return type(x).__torch_function__(_of_torch(name), (), (x,))

    with pytest.raises(TypeError) as found:
        wg.grad(call)(X)
    assert str(found.value).startswith(f"torch.{name}: given a Tensor of wengert")
    assert OF_TORCH[name] in str(found.value)


def test_the_function_of_torch_that_has_one_here_is_named():
    inside = "torch.broadcast_tensors"
    assert torch_function("torch.nn.functional.mse_loss", inside).endswith("mse_loss")
    assert torch_function("torch.nn.modules.loss.MSELoss.exp", "torch.mse_loss") == "torch.mse_loss"
    assert torch_function(None, inside) == inside
    assert instead_of_torch("torch.nn.modules.loss.MSELoss.exp") == instead_of_torch(inside)


def test_draws_like_a_tensor_are_told_the_generator_and_not_frames():
    for name, draw in (("randn_like", "normal"), ("rand_like", "uniform")):
        with pytest.raises(MissingAttribute) as found:
            wg.grad(lambda x, name=name: wg.sum(getattr(x, name)()))(X)
        assert f"Write rng.{draw}(x.shape, x.dtype)" in str(found.value)
        assert "frame" not in str(found.value)


# Transforms of complex fields.


def test_the_transform_of_a_pair_that_messages_name():
    rows = np.random.default_rng(0).standard_normal((2, 3, 6))
    re, im = rows
    n = re.shape[-1]
    i = np.arange(n)
    angles = 2 * np.pi * np.outer(i, i) / n
    c, s = np.cos(angles), np.sin(angles)
    expected = np.fft.fft(re + 1j * im)
    np.testing.assert_allclose(re @ c + im @ s, expected.real, atol=1e-12)
    np.testing.assert_allclose(im @ c - re @ s, expected.imag, atol=1e-12)
    back = np.fft.ifft(re + 1j * im)
    np.testing.assert_allclose((re @ c - im @ s) / n, back.real, atol=1e-12)
    np.testing.assert_allclose((im @ c + re @ s) / n, back.imag, atol=1e-12)
