"""The examples run, learn, and say what is missing."""

import re
import runpy
import sys
from pathlib import Path

import pytest

DIGITS = str(Path(__file__).resolve().parents[1] / "examples" / "digits.py")


def run_digits(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["digits.py", *arguments])
    runpy.run_path(DIGITS, run_name="__main__")


def test_digits_learns(monkeypatch, capsys):
    run_digits(monkeypatch, "--epochs", "8")
    lines = capsys.readouterr().out.splitlines()
    epochs = [line for line in lines if line.startswith("epoch")]
    losses = [float(re.search(r"loss (\S+)", line)[1]) for line in epochs]
    assert len(epochs) == 8
    assert losses[-1] < losses[0] / 5
    final = re.match(
        r"(\S+)% of the held-out digits are right; [\d,]+ samples per second", lines[-1]
    )
    assert float(final[1]) > 95


def test_digits_names_the_command_that_installs_its_data(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # as if it were not installed
    with pytest.raises(SystemExit, match=re.escape("pip install 'wengert[demo]'")):
        run_digits(monkeypatch)


def test_digits_refuses_no_epochs(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run_digits(monkeypatch, "--epochs", "0")
    assert "at least one is needed" in capsys.readouterr().err
