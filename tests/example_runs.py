"""How the examples are run by tests: as scripts, in a folder of their own."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def as_a_script(monkeypatch, tmp_path):
    """Examples import each other, and write below the current folder."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)


def run(monkeypatch, name, *arguments):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def points(curve):
    """Where a curve's points lie, in pixels."""
    return np.array([pair.split(",") for pair in curve.get("points").split()], float)
