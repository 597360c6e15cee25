"""What would go wrong silently on the command line: data lost, flags ignored, rows misread."""

import os
import subprocess
import sys

import numpy as np
import pytest

from cli.conftest import SMALL, table_rows, write_table
from wengert.cli import ExitCode

SHOP = ("--target", "bought", *SMALL)


def rows_of_numbers(count=40):
    return [[i % 7, i % 5, i % 2] for i in range(count)]


def test_predictions_are_not_written_over_data_or_a_run(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    write_table(tmp_path / "new.csv", table_rows(5))
    assert command("train", "shop.csv", *SHOP, "--out", "run")[0] == 0
    (tmp_path / "link.csv").symlink_to("new.csv")
    os.link(tmp_path / "new.csv", tmp_path / "hard.csv")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    for out, message in [
        ("new.csv", "--out: new.csv is the file of data new.csv, which would be lost"),
        ("link.csv", "--out: link.csv is the file of data"),
        ("hard.csv", "--out: hard.csv is the file of data"),
        ("shop.csv", "--out: shop.csv is the file of data shop.csv"),
        ("run/model.safetensors", "is a file of the run, run/model.safetensors"),
        ("run/report.html", "is a file of the run"),
    ]:
        code, _, complaint = command("predict", "run", "new.csv", "--out", out)
        assert (code, message in complaint) == (ExitCode.USAGE, True), complaint
    for out in ("found.parquet", "found.npz"):
        code, _, complaint = command("predict", "run", "new.csv", "--out", out)
        assert (code, "predictions are written as CSV" in complaint) == (ExitCode.USAGE, True)
    (tmp_path / "notes.txt").write_text("mine")
    code, _, complaint = command("compare", "run", "run", "--out", "notes.txt")
    assert (code, "is there already, and its name is" in complaint) == (ExitCode.USAGE, True)
    code, _, complaint = command("train", "shop.csv", *SHOP, "--out", "notes.txt")
    assert (code, "is a file; a run is a new folder" in complaint) == (ExitCode.FILES, True)
    code, _, complaint = command("train", "--resume", ".")
    assert (code, "is the folder that you are in" in complaint) == (ExitCode.FILES, True)
    options = ("--probabilities", "--out", "found.tsv")
    assert command("predict", "run", "new.csv", *options)[0] == 0
    assert (tmp_path / "found.tsv").read_text().startswith("bought\tp(no)\tp(yes)\n")
    code, _, complaint = command("compare", "run", "run", "--out", "run/report.html")
    assert (code, "is a file of the run" in complaint) == (ExitCode.USAGE, True)
    assert {path: path.read_bytes() for path in files} == before
    for _ in range(2):  # other files may be written again
        assert command("predict", "run", "new.csv", "--out", "run/found.csv")[0] == 0


def test_columns_of_arrays_that_training_had_not_are_named(command, tmp_path):
    x = np.array(rows_of_numbers(), float)
    np.savez(tmp_path / "two.npz", x=x[:, :2], y=x[:, 2])
    days = np.arange("2024-01-01", "2024-02-10", dtype="datetime64[D]")
    np.savez(tmp_path / "three.npz", x=x, y=x[:, 2], day=days)
    code, _, complaint = command("train", "three.npz", *SMALL)
    assert (code, "Leave it out with --ignore 'day'" in complaint) == (ExitCode.DATA, True)
    options = ("--task", "regression", *SMALL, "--out", "run")
    assert command("train", "two.npz", *options)[0] == 0
    code, _, complaint = command("predict", "run", "two.npz", "--probabilities")
    assert (code, "predicts numbers, 'y', which" in complaint) == (ExitCode.USAGE, True)
    code, _, told = command("predict", "run", "three.npz")
    assert (code, "has 'x[2]', 'day', which was not there in training" in told) == (0, True)
    assert "was not there in training" not in command("predict", "run", "two.npz")[2]


def test_numbers_that_are_texts_in_a_file_with_types_are_told(command, tmp_path):
    x = np.array(rows_of_numbers(), float)
    texts = np.array([f"{i}.5" for i in range(len(x))])
    np.savez(tmp_path / "texts.npz", a=texts, b=np.tile(["1", "2"], 20), c=x[:, 0], y=x[:, 2])
    code, printed, _ = command("train", "texts.npz", *SMALL)
    assert (code, printed.count("most of them are numbers, such as '0.5'")) == (0, 1)


def test_a_target_of_codes_is_a_class_if_it_is_categorical(command, tmp_path):
    rows = [[i / 7, f"{i % 25:03}"] for i in range(200)]
    write_table(tmp_path / "codes.csv", rows, ("x", "zone"))
    options = ("train", "codes.csv", "--target", "zone", *SMALL)
    code, printed, _ = command(*options)
    assert (code, "add --categorical 'zone'" in printed) == (0, True)
    code, printed, _ = command(*options, "--categorical", "zone")
    assert (code, "task: classification of 'zone' (--categorical names" in printed) == (0, True)
    assert "add --categorical" not in printed
    code, printed, _ = command(*options, "--task", "classification")
    assert (code, "add --categorical" in printed) == (0, False)
    code, _, complaint = command(*options, "--categorical", "zone", "--task", "regression")
    assert (code, "--task regression takes it for a number" in complaint) == (ExitCode.DATA, True)


def test_codes_that_are_equal_as_numbers_are_counted_as_classes(command, tmp_path):
    rows = [[i / 7, ("1", "01")[i % 2]] for i in range(40)]
    write_table(tmp_path / "codes.csv", rows, ("x", "y"))
    code, printed, _ = command("train", "codes.csv", *SMALL)
    assert (code, "the target has 2 different whole numbers" in printed) == (0, True)


@pytest.mark.parametrize(
    ("head", "is_told"),
    [
        (("5.1", "3", "setosa"), True),
        (("7", "3", "setosa"), True),
        (("0", "1", "y"), False),  # as pandas writes numbered columns
        (("2019", "2020", "y"), False),
        (("a", "b", "y"), False),
    ],
)
def test_a_first_line_of_data_is_told(command, tmp_path, head, is_told):
    write_table(tmp_path / "a.csv", rows_of_numbers(), head)
    code, printed, _ = command("train", "a.csv", "--target", head[-1], *SMALL)
    assert (code, "If it is a row of data, add --no-header" in printed) == (0, is_told)
    if head[-1] != "y":
        code, _, complaint = command("train", "a.csv")
        assert (code, "add --no-header." in complaint) == (ExitCode.DATA, True)
    code, _, complaint = command("train", "a.csv", "--target", "nothing")
    assert (code, "add --no-header." in complaint) == (ExitCode.DATA, is_told)


def test_ids_that_floats_cannot_tell_apart_are_told(command, tmp_path):
    rows = [[f"4000000000000001{i % 3:02}", i / 9, i % 2] for i in range(40)]
    write_table(tmp_path / "a.csv", rows, ("acct", "x", "y"))
    code, printed, _ = command("train", "a.csv", *SMALL)
    assert code == 0
    assert "has cells such as '400000000000000100', which have too many digits" in printed
    assert "numbers of so many digits cannot be told apart" in printed
    assert "since every row of training is the same: 'acct'" not in printed
    code, printed, _ = command("train", "a.csv", *SMALL, "--categorical", "acct")
    assert (code, "too many digits" in printed) == (0, False)
    assert "1 of categories" in printed


def test_an_ignored_column_is_no_target(command, tmp_path):
    write_table(tmp_path / "a.csv", rows_of_numbers(), ("a", "b", "label"))
    code, _, complaint = command("train", "a.csv", "--ignore", "label")
    assert (code, "There are 'a', 'b'. Say it" in complaint) == (ExitCode.DATA, True)
    options = ("--ignore", "label", "--target", "label")
    code, _, complaint = command("train", "a.csv", *options)
    assert (code, "--ignore and --target both name 'label'" in complaint) == (ExitCode.DATA, True)


def test_a_run_without_epochs_to_train_is_told(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    assert command("train", "shop.csv", *SHOP, "--out", "run")[0] == 0
    before = (tmp_path / "run" / "config.toml").read_bytes()
    code, _, complaint = command("train", "--resume", "run", "--epochs", "2")
    assert (code, "a run that has 3 epochs already" in complaint) == (ExitCode.USAGE, True)
    code, printed, _ = command("train", "--resume", "run")
    assert (code, "no epoch was left to train: the run has 3" in printed) == (0, True)
    assert (tmp_path / "run" / "config.toml").read_bytes() == before


def test_what_predictions_are_held_against_is_told(command, trained, tmp_path):
    run, data = trained
    _, _, complaint = command("predict", run, data)
    assert "60 rows are right; this is the data of the run, which learned from 48" in complaint
    write_table(tmp_path / "new.csv", table_rows(50))
    _, _, complaint = command("predict", run, "new.csv")
    assert "50 rows are right\n" in complaint
    rows = table_rows(5)
    rows[2][3] = ""
    write_table(tmp_path / "gap.csv", rows)
    code, printed, complaint = command("predict", run, "gap.csv")
    assert (code, len(printed.splitlines())) == (0, 6)
    assert "gap.csv:4: target 'bought' is empty in 1 of 5 rows. How good" in complaint
    rows[2][3] = "maybe"
    write_table(tmp_path / "other.csv", rows)
    code, printed, complaint = command("predict", run, "other.csv")
    assert (code, len(printed.splitlines())) == (0, 6)
    assert "other.csv:4: target 'bought': 'maybe' is none of the classes" in complaint


def test_a_text_in_place_of_the_number_to_predict_is_told(command, regression, tmp_path):
    rows = np.load(regression[1])[:5].astype(str).tolist()
    rows[1][3] = "many"
    rows = [[*row, "z"] for row in rows]
    write_table(tmp_path / "b.csv", rows, ("0", "1", "2", "3", "not all are numbers"))
    code, printed, complaint = command("predict", regression[0], "b.csv")
    assert (code, len(printed.splitlines())) == (0, 6)
    assert "'many' is not a number" in complaint


@pytest.mark.parametrize("first", ["# made by me", "# made by me, on a Monday, in May, by hand"])
def test_a_comment_in_front_is_told(command, tmp_path, first):
    (tmp_path / "a.csv").write_text(f"{first}\na,b,y\n1,2,3\n2,3,4\n")
    code, _, complaint = command("train", "a.csv")
    assert code == ExitCode.DATA
    assert f"a.csv:1: {first!r} looks like a comment" in complaint
    assert "--delimiter" not in complaint


@pytest.mark.parametrize("cell", ["None", "none", "?", "-", "."])
def test_a_mark_of_a_missing_value_is_told(command, tmp_path, cell):
    rows = table_rows()
    rows[10][2] = cell
    write_table(tmp_path / "shop.csv", rows)
    code, _, complaint = command("train", "shop.csv", *SHOP)
    assert code == ExitCode.DATA
    assert f"If {cell!r} says that the value is missing, leave the cell empty" in complaint


def test_a_name_in_other_letters_is_guessed(command):
    code, _, complaint = command("train", "digits", "--optimizer", "AdamW")
    assert (code, "Did you mean adamw?" in complaint) == (ExitCode.USAGE, True)


def test_the_package_is_a_program():
    command = [sys.executable, "-m", "wengert", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("wengert ")
