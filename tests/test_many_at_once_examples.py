"""The examples of many models and many examples at once: they run, learn, and draw."""

import importlib
import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import wengert as wg

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def as_a_script(monkeypatch, tmp_path):
    """Examples import each other, and write below the current folder."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(monkeypatch, capsys):
    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out, ElementTree.parse(f"build/{name}.svg")

    return run


def test_deep_ensemble(run):
    text, picture = run("deep_ensemble", "--members", "5", "--epochs", "100")
    inside = float(re.search(r"([\d.]+)% of 4,000 new measurements", text)[1])
    assert 84 < inside < 97
    assert float(re.search(r"nothing was measured: ([\d.]+) times", text)[1]) > 2
    assert len(picture.findall(f"{SVG}polyline")) == 6
    assert len(picture.findall(f"{SVG}circle")) >= 150  # measurements


def test_sweep_of_digits(run):
    text, picture = run("sweep_digits", "--rates", "3", "--seeds", "2", "--epochs", "3")
    assert "6 runs of 69 steps" in text
    found = [float(x) for x in re.findall(r"rate .*: *([\d.]+)%,", text)]
    assert len(found) == 3
    assert found[1] > 90  # a rate of 0.01
    assert found[1] > max(found[0], found[2])
    assert len(picture.findall(f"{SVG}rect")) == 1 + 6


def test_private_training(run):
    text, picture = run("private_sgd", "--epochs", "2")
    found = [float(x) for x in re.findall(r"([\d.]+)% of the held-out", text)]
    assert found[0] > 70  # without noise
    assert found[0] > found[-1] + 20
    assert len(picture.findall(f"{SVG}polyline")) == 4


def test_gradients_are_clipped_by_example():
    example = importlib.import_module("private_sgd")
    model = wg.nn.Mlp((64, 4, 10), "tanh", seed=0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 64)).astype(np.float32), rng.integers(10, size=6)
    total = [np.zeros(w.shape) for w in wg.tree.leaves(model)]
    for i in range(6):
        leaves = wg.tree.leaves(wg.grad(example.loss)(model, x[i : i + 1], y[i : i + 1]))
        norm = np.sqrt(sum(float(np.sum(g.astype(np.float64) ** 2)) for g in leaves))
        assert norm > 0.5
        total = [t + g * min(1.0, 0.5 / norm) for t, g in zip(total, leaves, strict=True)]
    found = wg.tree.leaves(example.clipped_sum(model, x, y, 0.5))
    for a, b in zip(found, total, strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6)
