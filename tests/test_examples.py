"""The examples run, learn, draw, and say what is missing; docs/lars.md tells the truth of one."""

import importlib
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from example_runs import ROOT, SVG, as_a_script, points, run

__all__ = ["as_a_script"]  # a fixture of every test here


def run_digits(monkeypatch, *arguments):
    run(monkeypatch, "digits", "--threads", "1", *arguments)


def fingerprint(text):
    return re.search(r"^fingerprint ([0-9a-f]{64})$", text, re.MULTILINE)[1]


def test_digits_learns(monkeypatch, capsys):
    run_digits(monkeypatch, "--epochs", "8")
    text = capsys.readouterr().out
    epochs = [line for line in text.splitlines() if line.startswith("epoch")]
    losses = [float(re.search(r"loss (\S+)", line)[1]) for line in epochs]
    assert len(epochs) == 8
    assert losses[-1] < losses[0] / 5
    final = re.search(r"(\S+)% of the held-out digits are right; ([\d,]+) samples per second", text)
    assert float(final[1]) > 95
    assert "\r" not in text

    run_digits(monkeypatch, "--epochs", "8")
    assert fingerprint(capsys.readouterr().out) == fingerprint(text)
    run_digits(monkeypatch, "--epochs", "8", "--seed", "1")
    assert fingerprint(capsys.readouterr().out) != fingerprint(text)


def test_the_convnet_reads_99_of_100_digits(monkeypatch, capsys):
    run(monkeypatch, "convnet", "--threads", "1")
    text = capsys.readouterr().out
    assert float(re.search(r"(\S+)% of the held-out digits are right", text)[1]) >= 99
    fingerprint(text)


def test_digits_draws_its_curves(monkeypatch, capsys, tmp_path):
    run_digits(monkeypatch, "--epochs", "3", "--batch", "100", "--picture", "new/curves.svg")
    assert "curves in new/curves.svg" in capsys.readouterr().out
    picture = ElementTree.parse(tmp_path / "new" / "curves.svg")
    steps, means, accuracies = map(points, picture.iter(f"{SVG}polyline"))
    assert len(steps) == 3 * 15
    assert len(means) == len(accuracies) == 3
    assert steps[-1, 1] > steps[0, 1]  # downwards: the loss falls
    assert accuracies[-1, 1] < accuracies[0, 1]


def test_digits_shows_one_line_of_progress_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run_digits(monkeypatch, "--epochs", "5")
    (line,) = [line for line in capsys.readouterr().out.split("\n") if "epoch" in line]
    assert line.startswith("\repoch   0  [........................]  recording and compiling")
    assert "\repoch   5  [########################]  loss" in line


def test_digits_prints_where_blocks_cannot_be(monkeypatch, capsys):
    digits = importlib.import_module("digits")
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert digits.sparkline(values) == "▁▂▃▅▆▇█"
    monkeypatch.setattr(digits, "can_print", lambda text: False)
    assert digits.sparkline(values) == "_.-=+*#"
    assert digits.sparkline(np.ones(3)) == "___"


def test_examples_name_the_command_that_installs_their_data(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # as if it were not installed
    for name in ("convnet", "digits", "lars"):
        with pytest.raises(SystemExit, match=re.escape("pip install 'wengert[demo]'")):
            run(monkeypatch, name)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("digits", ["--epochs", "0"], "--epochs 0 was given; it must be finite, and at least 1"),
        ("digits", ["--rate", "nan"], "--rate nan was given"),
        ("digits", ["--seed", "-1"], "--seed -1 was given"),
        ("convnet", ["--width", "0"], "--width 0 was given; it must be at least 1"),
        ("lars", ["--seeds", "1"], "--seeds 1 was given; at least 2 is needed"),
        ("lars", ["--momentum", "1"], "momentum=1.0 was given"),
    ],
)
def test_examples_refuse(monkeypatch, capsys, name, arguments, message):
    with pytest.raises(SystemExit):
        run(monkeypatch, name, *arguments)
    assert message in capsys.readouterr().err


def test_digits_refuses_a_batch_that_is_too_large(monkeypatch):
    with pytest.raises(SystemExit, match="there are 1437 digits to learn from"):
        run_digits(monkeypatch, "--batch", "1438")


def test_digits_names_what_diverged(monkeypatch):
    with pytest.raises(SystemExit, match=r"(?s)must be finite.*A lower --rate may help\."):
        run_digits(monkeypatch, "--rate", "1e20")


def experiment_rows():
    """The first table of results in docs/lars.md: lists of cells, by the first."""
    page = (ROOT / "docs" / "lars.md").read_text(encoding="utf-8")
    table = re.search(r"^\| batch \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {batch: cells for batch, *cells in rows}


def test_the_page_tells_the_results_of_the_experiment():
    """Its last row, run again at the rates that were chosen: the same to the last digit."""
    lars = importlib.import_module("lars")
    samples = lars.load()
    updates, *cells, lead = experiment_rows()["all 1257"]
    experiment = lars.Experiment(30, 5, lars.ways())
    assert updates == str(experiment.updates(lars.ROWS))
    for way, cell in zip(experiment.ways, cells, strict=True):
        rate = float(re.search(r"\((\S+)\)", cell)[1])
        assert rate in way.rates
        trainer = lars.Trainer(way, experiment.epochs)
        runs = [trainer.run(samples, seed, lars.ROWS, rate) for seed in range(experiment.seeds)]
        tests = 100 * np.array([run.test for run in runs])
        found = experiment.cells[way.name, lars.ROWS] = lars.Cell(rate, False, tests)
        assert str(found) == cell
    assert experiment.lead(lars.ROWS) == lead


def test_the_plot_shows_the_table():
    root = ElementTree.parse(ROOT / "docs" / "lars.svg").getroot()
    ticks = [(float(t.get("y")) - 4, float(t.text)) for t in root if t.get("text-anchor") == "end"]
    slope, base = np.polyfit(*np.transpose(ticks), 1)  # from pixels to percent
    shown = [base + slope * points(curve)[:, 1] for curve in root.iter(f"{SVG}polyline")]
    told = [[float(cell.split()[0]) for cell in cells[1:4]] for cells in experiment_rows().values()]
    np.testing.assert_allclose(shown, np.transpose(told), atol=0.06)


def test_the_experiment_runs(monkeypatch, capsys):
    lars = importlib.import_module("lars")
    monkeypatch.setattr(lars, "BATCHES", (1024, lars.ROWS))
    texts = []
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["lars.py", "--epochs", "1", "--seeds", "2"])
        lars.main()
        texts.append(capsys.readouterr().out)
    assert "\n162 steps in" in texts[0]  # 3 ways × 9 rates × 2 seeds × (2 + 1 updates)
    prints = [re.search(r"fingerprint of all runs (\S+)", text)[1] for text in texts]
    assert prints[0] == prints[1]
    ElementTree.parse("build/lars.svg")


def test_tuning_takes_the_best_on_validation_data():
    lars = importlib.import_module("lars")
    runs = {
        0.1: [lars.Outcome(0.9, 0.5, ""), lars.Outcome(0.7, 0.7, "")],
        0.2: [lars.Outcome(0.8, 0.6, ""), lars.Outcome(0.8, 0.8, "")],
        0.4: [lars.Outcome(0.7, 0.9, ""), lars.Outcome(0.7, 0.9, "")],
    }
    assert str(lars.tune(runs)) == "60.0 ± 14.1 (0.1, edge of the grid)"  # of equals, the lowest
    runs[0.2][0] = lars.Outcome(0.9, 0.6, "")
    assert str(lars.tune(runs)) == "70.0 ± 14.1 (0.2)"


@pytest.mark.parametrize("layers", ["attention", "mamba"])
def test_characters_learns_and_writes(monkeypatch, capsys, layers):
    options = ("--layers", layers, "--depth", "1", "--steps", "8", "--characters", "20")
    run(monkeypatch, "characters", "--threads", "1", *options)
    text = capsys.readouterr().out
    losses = [float(each) for each in re.findall(r"loss (\S+)", text)]
    assert losses[-1] < 0.8 * losses[0]
    assert "The statement " in text
    assert re.search(r"characters per second$", text, re.MULTILINE)
