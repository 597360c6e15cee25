"""The examples of science and of sequences, small: what they compute is right, and they run."""

import importlib
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from example_runs import ROOT, SVG, as_a_script, points, run
from scipy.integrate import solve_ivp
from scipy.special import lambertw, logsumexp
from scipy.stats import multivariate_normal

import wengert as wg

__all__ = ["as_a_script"]  # a fixture of every test here


def number_after(words, text):
    return float(re.search(rf"{words}\s*(-?[\d.]+(?:e-?\d+)?)", text)[1])


def curves_of(path):
    return list(map(points, ElementTree.parse(path).iter(f"{SVG}polyline")))


def run_and_read(monkeypatch, capsys, name, *arguments):
    """What the example prints, and the lines of its picture. Without arguments, this must be the
    picture of the page.
    """
    run(monkeypatch, name, *arguments)
    curves = curves_of(f"build/{name}.svg")
    if not arguments:
        for found, shown in zip(
            curves, curves_of(ROOT / "docs" / "examples" / f"{name}.svg"), strict=True
        ):
            np.testing.assert_allclose(found, shown, atol=0.5)  # in pixels
    return capsys.readouterr().out, curves


def test_the_mixture_is_that_of_scipy(monkeypatch, capsys):
    mixture = importlib.import_module("mixture")
    points = mixture.points_of(100, 3)
    model = mixture.start(points, 3) | {"weights": np.array([0.3, -0.5, 0.1])}
    shares = np.exp(model["weights"]) / np.exp(model["weights"]).sum()
    covariance = np.eye(2) * (1 + 1e-6)
    logs = [
        np.log(share) + multivariate_normal.logpdf(points, mean, covariance)
        for share, mean in zip(shares, model["means"], strict=True)
    ]
    expected = logsumexp(logs, axis=0).mean()
    np.testing.assert_allclose(mixture.log_likelihood(model, points), expected, rtol=1e-12)

    text, (*_, values) = run_and_read(monkeypatch, capsys, "mixture")
    fitted = number_after("fitted", text)
    assert fitted > number_after("drew the points", text)
    assert values[-1, 1] < values[0, 1]  # upwards: the likelihood rises


def test_the_residual_of_burgers_equation(monkeypatch):
    burgers = importlib.import_module("burgers")
    t, x = np.meshgrid([0.2, 0.7], [-0.6, 0.1, 0.4])
    step = 1e-3

    def difference(dt, dx):  # of the fourth order
        at = [burgers.exact(t + k * dt, x + k * dx) for k in (-2, -1, 1, 2)]
        return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)

    def second_difference(dx):
        at = [burgers.exact(t, x + k * dx) for k in (-2, -1, 0, 1, 2)]
        return (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * step**2)

    u = burgers.exact(t, x)
    terms = difference(step, 0), u * difference(0, step), -0.02 * second_difference(step)
    np.testing.assert_allclose(sum(terms), 0, atol=1e-5)  # the reference solves the equation

    monkeypatch.setattr(burgers, "solution", lambda _, t, x: np.sin(t) * x**3)
    found = wg.vmap(burgers.residual, in_axes=(None, 0, 0))(None, t.ravel(), x.ravel())
    u, u_t, u_x, u_xx = (f * np.ones(6) for f in by_hand(t.ravel(), x.ravel()))
    np.testing.assert_allclose(found, u_t + u * u_x - 0.02 * u_xx, rtol=1e-12)


def by_hand(t, x):
    """sin(t) x³, and its derivatives."""
    return np.sin(t) * x**3, np.cos(t) * x**3, 3 * np.sin(t) * x**2, 6 * np.sin(t) * x


def test_burgers_learns(monkeypatch, capsys):
    small = ("--steps", "400", "--width", "16", "--points", "128")
    text, curves = run_and_read(monkeypatch, capsys, "burgers", *small)
    losses = [float(each) for each in re.findall(r"residual (\S+)", text)]
    assert losses[-1] < losses[0] / 2
    assert number_after("relative error", text) < 50
    assert len(curves) == 5 + 1  # the exact solution at five times, and the residual


def test_predators_and_prey(monkeypatch, capsys):
    predators = importlib.import_module("predators")

    def change(_, counts):
        return [float(each) for each in predators.change(predators.TRUTH["rates"], counts)]

    expected = solve_ivp(change, (0, 10), predators.TRUTH["first"], rtol=1e-10, atol=1e-10)
    found = predators.solve(predators.TRUTH, 200)
    np.testing.assert_allclose(found[-1], expected.y[:, -1], rtol=1e-5)

    text, _ = run_and_read(monkeypatch, capsys, "predators")
    rates = re.search(r"found  rates \[(.*?)\]", text)[1].split()
    np.testing.assert_allclose(np.array(rates, float), predators.TRUTH["rates"], rtol=0.1)


def test_the_gaussian_process_is_that_of_scipy(monkeypatch, capsys):
    process = importlib.import_module("gaussian_process")
    t, logs = np.linspace(0, 3, 12), np.log([0.7, 0.9, 0.5, 0.8, 0.3])
    y = process.truth(t)
    covariance = process.noisy_covariance(logs, t)
    expected = -multivariate_normal.logpdf(y, np.zeros(12), covariance)
    np.testing.assert_allclose(process.misfit(logs, t, y), expected, rtol=1e-10)

    text, _ = run_and_read(monkeypatch, capsys, "gaussian_process", "--points", "60")
    assert 0.15 < number_after("noise ", text) < 0.5
    assert number_after("standard deviations at", text) > 70


def test_the_kalman_filter_is_one_large_gaussian(monkeypatch, capsys):
    kalman = importlib.import_module("kalman")
    there = np.array([True, True, False, True, False, True, True])
    count, wander, noise = len(there), 0.4, 0.8
    _, measured, _ = kalman.simulate(count, 0)
    # All positions are weighted sums of the first position and velocity and of the pushes.
    state, rows = np.eye(2, 2 + count), []
    for t in range(count):
        state = kalman.MOVE @ state
        state[:, 2 + t] += 1
        rows.append(state[0])
    rows, variances = np.array(rows), np.array([100.0, 1.0] + [wander**2] * count)
    covariance = rows * variances @ rows.T
    seen = covariance[np.ix_(there, there)] + noise**2 * np.eye(there.sum())
    given = np.log([wander, noise]), measured, there
    expected = -multivariate_normal.logpdf(measured[there], np.zeros(there.sum()), seen)
    np.testing.assert_allclose(kalman.misfit(*given), expected, rtol=1e-10)

    across = np.linalg.solve(seen, covariance[there])
    means, deviations = kalman.smoothed(*given)
    np.testing.assert_allclose(means, across.T @ measured[there], rtol=1e-8)
    left = np.diagonal(covariance) - np.sum(covariance[there] * across, axis=0)
    np.testing.assert_allclose(deviations, np.sqrt(left), rtol=1e-8)

    text, _ = run_and_read(monkeypatch, capsys, "kalman")
    assert 4 < number_after("noise", text) < 8


def test_hmc_agrees_with_laplace(monkeypatch, capsys):
    hmc = importlib.import_module("hmc")
    x, y = hmc.data_of(150, 1)
    mode, _ = hmc.laplace(x, y)
    np.testing.assert_allclose(wg.grad(hmc.energy)(mode, x, y), 0, atol=1e-10)

    text, _ = run_and_read(monkeypatch, capsys, "hmc")
    rows = re.findall(r"(-?[\d.]+) ± ([\d.]+) +(-?[\d.]+) ± ([\d.]+)", text)
    means, deviations, modes, spreads = np.array(rows, float).T
    assert np.all(np.abs(means - modes) < 0.3 * spreads)
    np.testing.assert_allclose(deviations, spreads, rtol=0.15)
    assert number_after("R-hat", text) < 1.02


def test_the_embeddings_of_the_table(monkeypatch, capsys):
    small = ("--rows", "3000", "--epochs", "12")
    text, (linear, network, *_) = run_and_read(monkeypatch, capsys, "tabular", *small)
    assert number_after("error on new flats:", text) < 0.7 * number_after("linear model", text)
    assert number_after("correlation", text) > 0.9
    assert network[-1, 1] > linear[-1, 1]  # below it: a smaller error


def test_the_op_of_ones_own(monkeypatch, capsys):
    own_op = importlib.import_module("own_op")
    x = np.concatenate([[0.0], np.logspace(-10, 12, 45)])
    for found in (own_op.lambert_w(x), wg.compile(own_op.lambert_w)(x)):
        np.testing.assert_allclose(found, lambertw(x).real, rtol=1e-14)
    single = own_op.lambert_w(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, lambertw(x).real, rtol=1e-6)
    assert wg.grad(own_op.lambert_w)(0.0) == 1.0

    text, _ = run_and_read(monkeypatch, capsys, "own_op")
    found = [number_after(name, text) for name in own_op.NAMES]
    np.testing.assert_allclose(np.log(found), np.log(own_op.TRUTH), atol=1)


def test_the_tones_of_long_signals(monkeypatch, capsys):
    signals = importlib.import_module("long_signals")
    x, rises = signals.make_signals(40, 512, np.random.default_rng(0))
    loudest = []
    for signal in x:  # the pitch before and after the middle of the tone, by a short transform
        power = np.abs([np.fft.rfft(signal[i : i + 64]) for i in range(0, 449, 32)]) ** 2
        middle = np.average(np.arange(len(power)), weights=power.sum(axis=1) ** 4)
        pitch = power[:, 2:9].argmax(axis=1)
        early, late = int(middle - 1), int(middle + 2)
        loudest.append(pitch[min(late, 14)] - pitch[max(early, 0)])
    assert np.mean((np.array(loudest) > 0) == rises) > 0.8

    small = ("--length", "64", "--signals", "64", "--epochs", "2")
    text, (_, _, linear, heard) = run_and_read(monkeypatch, capsys, "long_signals", *small)
    assert "a linear model is right about" in text
    assert len(linear) == 2
    assert len(heard) == 3


def test_the_forecast_goes_on_from_what_it_said(monkeypatch, capsys):
    forecast = importlib.import_module("forecast")
    model = forecast.Forecaster(wg.nn.LSTM(1, 4, seed=0), wg.nn.Linear(4, 1, seed=1))
    series = forecast.mackey_glass(20, 0)[None]
    found = model.go_on(series)
    assert found.shape == (1, forecast.AHEAD)
    for t in range(3):
        whole = model(np.concatenate([series, found[:, :t]], axis=1))
        np.testing.assert_allclose(found[:, t], whole[:, -1], rtol=1e-5)

    small = ("--epochs", "3", "--hidden", "8", "--values", "600")
    text, curves = run_and_read(monkeypatch, capsys, "forecast", *small)
    errors = [float(each) for each in re.findall(r"one step ahead (\S+)", text)]
    assert errors[-1] < 0.7 * errors[0]
    assert len(curves) == 3 + 2


@pytest.mark.parametrize("name", ["gaussian_process", "kalman"])
def test_examples_say_that_scipy_is_missing(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "scipy", None)  # as if it were not installed
    with pytest.raises(SystemExit, match="pip install scipy"):
        run(monkeypatch, name)


@pytest.mark.parametrize(
    ("name", "option", "least"), [("burgers", "steps", 1), ("predators", "steps", 20)]
)
def test_examples_refuse_numbers_that_are_too_small(monkeypatch, capsys, name, option, least):
    with pytest.raises(SystemExit):
        run(monkeypatch, name, f"--{option}", str(least - 1))
    expected = f"--{option} {least - 1} was given; it must be at least {least}"
    assert expected in capsys.readouterr().err
