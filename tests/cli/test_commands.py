"""The commands as users meet them."""

import csv
import io
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import wengert.cli
from cli.conftest import SMALL, table_rows, write_table
from wengert.cli import ExitCode, main
from wengert.cli.app import run_app
from wengert.cli.datasets.builtin_sets import SETS, read_builtin
from wengert.cli.datasets.data_source import read_data
from wengert.cli.datasets.data_table import Column, DataTable
from wengert.cli.datasets.learning_task import DataChoices, learning_data
from wengert.cli.exit_codes import DataFault
from wengert.cli.looking import doctor
from wengert.cli.running import thread_check, train_run
from wengert.cli.running.live_progress import LiveProgress

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def quiet(_):
    pass


def test_predictions_are_those_of_the_model(command, trained):
    run, data = trained
    code, printed, complaint = command("predict", run, data, "--probabilities")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert len(rows) == 60
    shares = np.array([[float(row["p(no)"]), float(row["p(yes)"])] for row in rows])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    said = [("no", "yes")[i] for i in shares.argmax(axis=1)]
    assert [row["bought"] for row in rows] == said
    right = np.mean([a == b[3] for a, b in zip(said, table_rows(), strict=True)])
    assert f"{right:.2%} of 60 rows are right" in complaint


def test_predictions_of_numbers_have_the_unit_of_the_target(command, regression, tmp_path):
    run, data = regression
    code, _, complaint = command("predict", run, data, "--out", "found.csv")
    assert code == 0
    assert "80 predictions in found.csv" in complaint
    rows = (tmp_path / "found.csv").read_text().splitlines()
    assert rows[0] == "3"
    said, true = np.array(rows[1:], float), np.load(data)[:, 3]
    share = 1 - np.sum((said - true) ** 2) / np.sum((true - true.mean()) ** 2)
    assert f"R² {share:.4f}, mean absolute error {np.mean(np.abs(said - true)):.4g}" in complaint


def test_a_file_of_predictions_is_whole_or_as_before(command, trained, tmp_path):
    run, data = trained
    code, _, complaint = command("predict", run, data, "--out", "nowhere/found.csv")
    assert (code, "cannot be written" in complaint) == (ExitCode.FILES, True)
    if os.path.exists("/dev/full"):
        code, _, complaint = command("predict", run, data, "--out", "/dev/full")
        assert (code, "No space left" in complaint) == (ExitCode.FILES, True)
        assert not os.path.isfile("/dev/full")  # written to, not replaced


def test_inspect_tells_of_a_run(command, trained):
    code, printed, _ = command("inspect", trained[0])
    assert code == 0
    for part in ("classification of 'bought', 2 classes", "3 of 3, finished", "66 parameters"):
        assert part in printed
    assert re.search(r"fingerprint [0-9a-f]{64}", printed)


def test_compare_shows_both_curves(command, trained, regression, tmp_path):
    run, data = trained
    options = ("--target", "bought", *SMALL, "--lr", "0.01", "--out", "other")
    assert command("train", data, *options)[0] == 0
    code, printed, _ = command("compare", run, "other")
    assert code == 0
    assert re.search(r"^lr +0\.002 +0\.01$", printed, re.MULTILINE)
    text = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert text.count('class="l c0"') == text.count('class="l c1"') == 3
    code, _, complaint = command("compare", run, regression[0])
    assert (code, "must be of one task" in complaint) == (ExitCode.USAGE, True)
    code, _, complaint = command("compare", run)
    assert (code, "two or more are needed" in complaint) == (ExitCode.USAGE, True)


def test_doctor(command, monkeypatch):
    monkeypatch.setattr(doctor, "gemm_rate", lambda _: 5e10)
    monkeypatch.setattr(doctor, "bandwidth", lambda: 1e10)
    code, printed, _ = command("doctor")
    assert code == 0
    assert "all is well" in printed
    for part in ("fused multiply-add", "cache", "the same bits on 1 and 2 threads", "50.0 GFLOP/s"):
        assert part in printed

    def fail():
        raise AssertionError("compiled code is wrong")

    monkeypatch.setattr(doctor, "_check_step", fail)
    code, printed, _ = command("doctor")
    assert code == ExitCode.CHECK
    assert "BAD self-test: gradient" in printed


def test_the_check_of_threads(command, tmp_path, monkeypatch):
    write_table(tmp_path / "shop.csv", table_rows())
    options = ("train", "shop.csv", "--target", "bought", *SMALL, "--deterministic-check")
    code, printed, _ = command(*options, "--out", "run")
    assert code == 0
    assert "same bits on 1 and 2 threads after 3 steps" in printed
    make = thread_check.make_step

    def other_bits(preparation, settings, rows, threads):
        step = make(preparation, settings, rows, threads)
        if threads > 1:
            step.model[0].weight[0, 0] += 1e-6
        return step

    monkeypatch.setattr(thread_check, "make_step", other_bits)
    code, _, complaint = command(*options, "--out", "other")
    assert code == ExitCode.CHECK
    assert "they must be equal" in complaint
    assert not (tmp_path / "other.unfinished").exists()


def test_numbers_that_are_not_finite_are_told(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    options = ("--target", "bought", *SMALL, "--lr", "1e30", "--optimizer", "sgd")
    code, _, complaint = command("train", "shop.csv", *options, "--epochs", "20")
    assert code == ExitCode.NONFINITE
    assert "all numbers must be finite. A lower --lr than 1e+30" in complaint
    assert "nonfinite=" not in complaint  # there is no such flag
    assert ".py" not in complaint
    assert [path.name for path in (tmp_path / "runs").iterdir()] == []


def test_predict_with_the_run_behind_the_data_says_so(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    assert command("train", "shop.csv", "--target", "bought", *SMALL, "--out", "run")[0] == 0
    for data in ("shop.csv", "wine"):
        code, _, complaint = command("predict", data, "run")
        assert code == ExitCode.USAGE
        assert f"Write `wengert predict run {data}`." in complaint


def test_early_stopping(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    options = ("--target", "bought", *SMALL, "--epochs", "60", "--lr", "0.5", "--patience", "2")
    code, printed, _ = command("train", "shop.csv", *options, "--out", "run")
    assert code == 0
    assert "stopped early: validation_loss was no better for 2 epochs" in printed
    best, last = map(int, re.search(r"best epoch: (\d+) of (\d+)", printed).groups())
    assert last == best + 2


def test_lines_in_a_pipe_and_a_bar_on_a_terminal(command, tmp_path, monkeypatch):
    write_table(tmp_path / "shop.csv", table_rows())
    options = ("train", "shop.csv", "--target", "bought", *SMALL)
    _, printed, _ = command(*options, "--out", "piped")
    assert "\x1b" not in printed
    lines = [line for line in printed.splitlines() if line.startswith("epoch")]
    assert len(lines) == 3
    assert re.match(
        r"epoch 3/3  loss \S+  held-out \S+  accuracy \S+  \S+ rows/s  0:00 left", lines[2]
    )

    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr("wengert.cli.app.Console", lambda **_: console)
    _, printed, _ = command(*options, "--out", "live")
    assert "epoch" not in printed.replace("best epoch", "")
    assert "recording and compiling" in shown.getvalue()
    assert "epoch 3/3" in shown.getvalue()
    assert "accuracy" in shown.getvalue()
    assert LiveProgress(console, 3, "accuracy") is not None


@pytest.mark.parametrize("name", SETS)
def test_built_in_sets(name):
    table = read_builtin(name)
    data = learning_data(table, DataChoices(), quiet)
    rows = int(re.search(r"\d+", SETS[name])[0])
    assert len(table) == len(data.x) + len(data.held_x) == rows
    assert abs(float(data.x.mean())) < 0.01
    is_number = name in ("diabetes", "housing")
    assert data.preparation.target.task == ("regression" if is_number else "classification")


def test_kinds_of_files_hold_the_same_table(tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    rows = table_rows()
    write_table(tmp_path / "a.csv", rows)
    write_table(tmp_path / "a.tsv", rows, delimiter="\t")
    columns = {name: [row[i] for row in rows] for i, name in enumerate("abcd")}
    columns["a"], columns["c"] = map(float, columns["a"]), map(float, columns["c"])
    parquet.write_table(
        arrow.table({k: list(v) for k, v in columns.items()}), tmp_path / "a.parquet"
    )
    found = []
    for name, target in (("a.csv", "bought"), ("a.tsv", "bought"), ("a.parquet", "d")):
        table = read_data(str(tmp_path / name))
        found.append(learning_data(table, DataChoices(target=target), quiet))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].x, other.x)
        np.testing.assert_array_equal(found[0].y, other.y)


def test_what_pandas_adds_to_a_parquet_file_is_not_learned_from(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40) % 7, "when": pd.date_range("2026", periods=40)})
    frame["y"] = frame.a * 2.0
    path = tmp_path / "a.parquet"
    frame[::2].to_parquet(path)  # rows were left out: pandas writes its index as a column
    choices = DataChoices(target="y", ignore=("when",))
    found = learning_data(read_data(str(path)), choices, quiet)
    assert [feature.name for feature in found.preparation.features] == ["a"]
    with pytest.raises(DataFault, match=r"column 'when' has type timestamp.*--ignore 'when'"):
        learning_data(read_data(str(path)), DataChoices(target="y"), quiet)


def test_texts_that_could_be_numbers_or_codes_are_told(tmp_path):
    rows = [[f"{i:05d}", f"{i % 20}%", f"{i % 3}_{i % 5}", str(2.5 * i)] for i in range(160)]
    write_table(tmp_path / "a.csv", rows, ("zip", "share", "code", "y"))
    said = []
    data = learning_data(
        read_data(str(tmp_path / "a.csv")), DataChoices(keep=("zip",)), said.append
    )
    kinds = {feature.name: feature.kind for feature in data.preparation.features}
    assert kinds == {"zip": "number", "share": "category", "code": "category"}
    assert any("'00000', which are read as numbers" in each for each in said)
    assert any("'share' has 20 categories" in each and "'0%'" in each for each in said)


def test_means_come_from_the_rows_to_train_on():
    data = learning_data(read_builtin("housing"), DataChoices(), quiet)
    np.testing.assert_allclose(data.x.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(data.x.std(axis=0), 1, atol=1e-4)
    assert np.abs(data.held_x.mean(axis=0)).max() > 1e-3


def test_held_out_rows_have_all_classes_alike():
    data = learning_data(read_builtin("wine"), DataChoices(validation=0.25), quiet)
    all_of_them = np.bincount(np.concatenate([data.y, data.held_y]))
    np.testing.assert_allclose(np.bincount(data.held_y) / all_of_them, 0.25, atol=0.02)


def test_columns_can_be_named_categorical_and_ignored(command, tmp_path):
    rows = [[str(i % 3), row[0], str(i), row[3]] for i, row in enumerate(table_rows())]
    write_table(tmp_path / "a.csv", rows, ("kind", "x", "number", "y"))
    options = (*SMALL, "--categorical", "kind", "--ignore", "number", "--out", "run")
    code, printed, _ = command("train", "a.csv", *options)
    assert code == 0
    assert "2 columns (1 of numbers and 1 of categories) become 4 inputs" in printed


def test_columns_that_say_nothing_are_left_out_and_told(command, tmp_path):
    rows = [[*row, "same", f"id-{i}"] for i, row in enumerate(table_rows())]
    write_table(tmp_path / "a.csv", rows, ("a", "b", "c", "y", "constant", "name"))
    code, printed, _ = command("train", "a.csv", *SMALL, "--out", "run")
    assert code == 0
    assert "left out, since every row of training is the same: 'constant'" in printed
    assert re.search(r"column 'name' has \d+ different texts in \d+ rows", printed)


def test_help_has_examples_and_codes(command):
    code, printed, _ = command("train", "--help")
    assert code == 0
    assert "wengert train digits" in printed
    assert "--deterministic-check" in printed
    code, printed, _ = command("--help")
    assert "130 interrupted and saved" in " ".join(printed.split())
    assert command("--version")[1].startswith("wengert ")
    assert command("tain")[0] == ExitCode.USAGE
    assert command("train", "--nonsense")[0] == ExitCode.USAGE


def test_the_page_has_every_exit_code_and_flag(command):
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", text, re.MULTILINE))
    assert sorted(map(int, rows)) == sorted(ExitCode)
    _, printed, _ = command("train", "--help")
    for flag in set(re.findall(r"--[a-z]+(?:-[a-z]+)*", printed)):
        if flag not in ("--help", "--install-completion", "--show-completion"):
            assert f"`{flag}" in text, flag


def test_without_its_packages_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(wengert.cli, "_MISSING", ["typer"])
    assert main([]) == ExitCode.PACKAGE
    assert "pip install 'wengert[cli]'" in capsys.readouterr().err


def test_the_library_does_not_import_the_packages_of_the_command_line():
    program = (
        "import sys, wengert as wg; wg.TrainStep, wg.nn, wg.optim, wg.train;"
        "print({'typer', 'rich', 'sklearn', 'wengert.cli'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "set()"


def test_interrupts_elsewhere_have_their_code(command, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_run, "read_data", interrupted)
    code, _, complaint = command("train", "wine")
    assert (code, "interrupted" in complaint) == (ExitCode.INTERRUPTED, True)


def test_the_entry_point_is_installed():
    name = Path(sysconfig.get_path("scripts")) / "wengert"
    if not name.exists():
        pytest.skip("the package is not installed here")
    done = subprocess.run([name, "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"wengert ")
    assert callable(run_app)


def test_the_demo_ends_as_the_readme_says(command):
    code, printed, _ = command("train", "digits")
    assert code == 0
    for page in (PAGE, PAGE.parents[1] / "README.md"):
        text = page.read_text(encoding="utf-8")
        (result,) = re.findall(r"^    (best epoch: .* are right; always .*)$", text, re.MULTILINE)
        assert result in printed
        for found in re.findall(r"^    (fingerprint: [0-9a-f]+)…$", text, re.MULTILINE):
            assert found in printed
        assert "report: runs/digits-1/report.html" in printed
        assert "report: runs/digits-1/report.html" in text


def test_predictions_are_read_as_in_training(command, tmp_path):
    write_table(tmp_path / "a.csv", table_rows(), table_rows()[0], delimiter=";")
    options = ("--target", "column 4", "--delimiter", ";", "--no-header", *SMALL, "--out", "run")
    assert command("train", "a.csv", *options)[0] == 0
    code, printed, _ = command("predict", "run", "a.csv")
    assert (code, len(printed.splitlines())) == (0, 62)


def test_shells_complete_commands_flags_and_data(command, tmp_path, monkeypatch):
    for name in ("dinner.csv", "dinner.txt", "notes.md"):
        (tmp_path / name).touch()
    (tmp_path / "dishes").mkdir()
    monkeypatch.setenv("_WENGERT_COMPLETE", "complete_bash")
    for words, number, expected in [
        ("wengert tr", 1, ["train"]),
        ("wengert train --dete", 2, ["--deterministic-check"]),
        ("wengert train di", 2, ["digits", "diabetes", "dinner.csv", "dishes/"]),
    ]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(number))
        code, printed, _ = command()
        assert (code, printed.split()) == (0, expected)


def test_letters_that_cannot_be_shown_are_no_error(regression):
    command = [sys.executable, "-m", "wengert.cli", "predict", *map(str, regression)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=ascii_only)
    assert b"note: R? 0." in done.stderr or b"note: R? -" in done.stderr


def test_huge_numbers_are_standardised():
    rows = np.array([1e300, -1e300, 5e299, 0.0, 1e298, 3e299, 2e299, -7e299])
    table = DataTable("huge", (Column("x", rows), Column("y", rows[::-1])))
    data = learning_data(table, DataChoices(target="y", task="regression"), quiet)
    assert np.isfinite(data.x).all()
    assert np.isfinite(data.y).all()
    assert float(data.y.std()) == pytest.approx(1, abs=1e-5)


def test_one_of_several_processes_says_that_each_trains_everything(command, tmp_path, monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "0")
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    _, printed, _ = command("train", "data.csv", "--target", "missing")
    assert "this is rank 0 of 2 (PMI_SIZE=2): each process trains everything" in printed
