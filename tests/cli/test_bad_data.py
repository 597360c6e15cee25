"""Bad data gets a message that says what and where, a non-zero exit, and leaves nothing behind."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest

from cli.conftest import EVIL, HEAD, SMALL, table_rows, write_table
from wengert.cli import ExitCode
from wengert.cli.datasets import data_source
from wengert.cli.datasets.data_table import Column, DataTable, texts
from wengert.cli.datasets.learning_task import DataChoices, learning_data
from wengert.cli.datasets.preparation import fitted_features


def changed(row, column, cell):
    rows = table_rows()
    rows[row][column] = cell
    return rows


BAD_TABLES = {
    "empty cell": (changed(10, 0, ""), f"shop.csv:12: column '{EVIL}': the cell is empty or NaN"),
    "NaN": (changed(10, 2, "NaN"), "shop.csv:12: column 'size': the cell is empty or NaN"),
    "empty category": (changed(3, 1, ""), "shop.csv:5: column 'colour': the cell is empty"),
    "empty target": (changed(3, 3, ""), "shop.csv:5: column 'bought': the cell is empty"),
    "text in numbers": (
        changed(10, 2, "abc"),
        "shop.csv:12: column 'size': 'abc' is not a number; 59 of the 60 cells",
    ),
    "decimal comma": (changed(10, 2, "3,5"), "'3,5' is not a number; 59 of the 60 cells of"),
    "empty column": (
        [[*row[:2], "", row[3]] for row in table_rows()],
        "column 'size' is empty or NaN in all 60 rows; it tells nothing. Leave it out: "
        "--ignore 'size'",
    ),
    "target with a gap": (
        changed(3, 3, ""),
        "Add --missing drop or --missing fill: both leave out rows without a target",
    ),
    "empty target in all rows": (
        [[*row[:3], ""] for row in table_rows()],
        "target 'bought' is empty or NaN in all 60 rows",
    ),
    "infinite": (changed(10, 2, "inf"), "shop.csv:12: column 'size': is infinite"),
    "one class": (
        [[*row[:3], "yes"] for row in table_rows()],
        "target 'bought' is 'yes' in all 60 rows; two classes are needed",
    ),
    "short row": (
        [*table_rows(10), ["1", "red"]],
        "shop.csv:12: has 2 cells where the header has 4",
    ),
    "no rows": ([], "and no rows below it"),
    "a class per row": (
        [[*row[:3], f"name {i}"] for i, row in enumerate(table_rows())],
        "target 'bought' has 60 classes in 60 rows",
    ),
    "few rows": (table_rows(2), "classes in 2 rows"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_is_refused(command, tmp_path, rows, message):
    write_table(tmp_path / "shop.csv", rows)
    code, _, complaint = command("train", "shop.csv", "--target", "bought", *SMALL)
    assert code == ExitCode.DATA
    assert message in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]


def test_classes_that_differ_by_case_or_spaces_are_told():
    def said(classes):
        columns = (Column("x", np.arange(8) / 3), Column("y", texts(classes)))
        told = []
        learning_data(DataTable("a.csv", columns, np.arange(8)), DataChoices("y"), told.append)
        return " ".join(told)

    assert "'Yes' and 'yes '" in said(["Yes", "yes ", "no", "no"] * 2)
    assert "case" not in said(["yes", "no"] * 4)


BAD_FILES = {
    "empty": ("a.csv", b"", "a.csv: is empty (0 bytes)"),
    "binary": ("a.csv", bytes(range(256)), "a.csv: is no text: byte 0 is 0"),
    "latin1": ("a.csv", b"a,y\ncaf\xe9,1\n", "a.csv:2: byte 7 (0xe9) is not UTF-8"),
    "semicolons": ("a.csv", b"a;b;y\n1;2;3\n", "it looks as if a semicolon separated them. Add"),
    "tabs": ("a.csv", b"a\tb\ty\n1\t2\t3\n", "Add --delimiter tab"),
    "no header": ("a.csv", b"1,2\n3,4\n", "a.csv:1: the first line is all numbers"),
    "no name": ("a.csv", b"a,,y\n1,2,3\n", "a.csv:1: column 2 of 3 has no name. Name it in"),
    "pandas' index": (
        "a.csv",
        b",a,y\n0,2,3\n",
        "write the file with df.to_csv(path, index=False)",
    ),
    "same names": ("a.csv", b"a,a,y\n1,2,3\n", "several columns are named 'a'"),
    "open quote": ("a.csv", b'a,y\n"1,2\n', "a quote that opens a cell must be closed"),
    "thousands": ("a.csv", b'a,y\n"1,500",2\n"2,500",3\n', "Write 1500, or 1.500"),
    "decimal commas": ("a.csv", b'a,y\n"1,5",2\n"2,5",3\n', "'1,5' has a decimal comma"),
    "not NumPy's": ("a.npy", b"hello there", "a.npy: does not begin as NumPy's files do"),
    "empty npz": ("a.npz", b"", "a.npz: is empty (0 bytes)"),
    "cut off": ("a.npz", b"PK\x03\x04", "a.npz: cannot be read as NumPy's .npz"),
    "unknown ending": ("a.foo", b"a,y\n1,2\n", "its ending '.foo' is not known"),
    "empty lines": ("a.csv", b"\n,,\n", "has no line with anything in it"),
    "another row": ("a.csv", b"a,y\n1;2\n", "It looks as if a semicolon separated its cells"),
    "a comma in a header of semicolons": (
        "a.csv",
        b"a;y;note, free\n1,5;2;x, y, z\n1,5;3;x\n",
        "If a semicolon separates cells, all lines have as many of them. Add --delimiter ';'",
    ),
    "gzip": ("a.csv.gz", gzip.compress(b"a,y\n1,2\n"), "is compressed (gzip)"),
    "gzip, named as text": ("a.csv", gzip.compress(b"a,y\n1,2\n"), "Unpack it first, with gunzip"),
    "bzip2": ("a.csv.bz2", bz2.compress(b"a,y\n1,2\n"), "is compressed (bzip2)"),
    "xz": ("a.csv.xz", lzma.compress(b"a,y\n1,2\n"), "is compressed (xz)"),
    "zip": ("a.zip", b"PK\x03\x04...", "is compressed (zip)"),
    "zstd": ("a.csv.zst", b"\x28\xb5\x2f\xfd...", "is compressed (zstd)"),
    "only a target": ("a.csv", b"y\n1\n2\n", "has no column beside the target 'y'"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_is_refused(command, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    code, _, complaint = command("train", name, "--target", "y")
    assert code == ExitCode.DATA
    assert message in complaint
    assert [path.name for path in tmp_path.iterdir()] == [name]


BAD_ARRAYS = {
    "one axis": ({"": np.ones(5)}, "two axes, rows and columns, are needed"),
    "a number": ({"x": np.ones(()), "y": np.ones(4)}, "array 'x' has shape ()"),
    "lengths": ({"x": np.ones((5, 2)), "y": np.ones(4)}, "'x' has 5, 'y' has 4"),
    "no rows": ({"x": np.ones((0, 2)), "y": np.ones(0)}, "has no rows"),
    "complex": ({"x": np.ones((8, 2), complex), "y": np.ones(8)}, "'x[0]' has dtype complex128"),
    "objects": ({"": np.array([[1, "a"], [None, 2]], object)}, "arrays of Python objects"),
    "constant": (
        {"x": np.ones((8, 2)), "y": np.arange(8.0) / 3},
        "no column is left to learn from",
    ),
    "same number": ({"x": np.arange(8.0), "y": np.full(8, 2.5)}, "is 2.5 in all 8 rows"),
    "empty zip": ({}, "has no arrays"),
    "dates": ({"x": np.arange(8).astype("M8[D]"), "y": np.arange(8)}, "'x' has dtype datetime64"),
    "NaN": (
        {"x": np.array([1.0, np.nan, 3.0, 4.0]), "y": np.arange(4) / 2},
        "a.npz, row 1: column",
    ),
    "3 rows": ({"x": np.arange(3.0), "y": np.arange(3) / 2}, "the data has 3 rows; 4 are needed"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_arrays_are_refused(command, tmp_path, arrays, message):
    if "" in arrays:
        name = "a.npy"
        np.save(tmp_path / name, arrays[""])
    else:
        name = "a.npz"
        np.savez(tmp_path / name, **arrays)
    code, _, complaint = command("train", name)
    assert code == ExitCode.DATA
    assert message in complaint


def test_what_is_not_there_is_named(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    for arguments, message in [
        (["nowhere.csv"], "nowhere.csv: there is no such file"),
        (["digit"], "is no file and no built-in set"),
        (["digit"], "Did you mean digits?"),
        (["."], ".: is a folder; a file is needed"),
        (["shop.csv"], "which column is to be predicted? There are"),
        (["shop.csv", "--target", "bougt"], "'bougt' is not a column"),
        (["shop.csv", "--target", "bougt"], "Did you mean 'bought'?"),
        (["shop.csv", "--target", "bought", "--ignore", "x"], "--ignore 'x' is not a column"),
        (
            ["shop.csv", "--target", "bought", "--ignore", "colour,size"],
            "Write --ignore 'colour' --ignore 'size'.",
        ),
        (
            ["shop.csv", "--target", "bought", "--ignore", "size", "--keep", "size"],
            "--ignore and --keep both name 'size'",
        ),
    ]:
        code, _, complaint = command("train", *arguments)
        assert (code, message in complaint) == (ExitCode.DATA, True), complaint


def test_other_columns_at_predict_are_named(command, tmp_path, trained):
    run, _ = trained
    write_table(tmp_path / "other.csv", [["red", "1"]], ("colour", "sizes"))
    code, _, complaint = command("predict", run, "other.csv")
    assert code == ExitCode.DATA
    assert f"has no column '{EVIL}', 'size'" in complaint
    assert "It has 'sizes', which the model does not know" in complaint

    write_table(tmp_path / "text.csv", changed(4, 2, "large"))
    code, _, complaint = command("predict", run, "text.csv")
    assert code == ExitCode.DATA
    assert "text.csv:6: column 'size': 'large' is not a number" in complaint

    write_table(tmp_path / "gap.csv", changed(4, 2, ""))
    code, printed, complaint = command("predict", run, "gap.csv")
    assert (code, printed) == (ExitCode.DATA, "")
    assert "gap.csv:6: column 'size': the cell is empty" in complaint


def test_a_category_that_is_new_is_told(command, tmp_path, trained):
    write_table(tmp_path / "new.csv", [["1", "purple", "2"]], HEAD[:3])
    code, printed, complaint = command("predict", trained[0], "new.csv")
    assert (code, printed.splitlines()[0]) == (0, "bought")
    assert "column 'colour': 'purple' was not there in training" in complaint


@pytest.mark.parametrize("way", ["drop", "fill"])
def test_missing_cells_can_be_dealt_with(command, tmp_path, way):
    rows = changed(10, 0, "")
    rows[3][1] = ""
    rows[5][3] = ""
    write_table(tmp_path / "shop.csv", rows)
    options = ("--target", "bought", *SMALL, "--missing", way, "--out", "run")
    code, printed, _ = command("train", "shop.csv", *options)
    assert code == 0
    left_out = 3 if way == "drop" else 1  # a row without a target teaches nothing
    assert f"{left_out} of 60 rows have missing cells and are left out" in printed
    code, printed, _ = command("predict", "run", "shop.csv")
    assert code == (ExitCode.DATA if way == "drop" else 0)
    if way == "fill":
        assert len(printed.splitlines()) == 61


def test_a_package_that_is_missing_is_named(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for data, package in [("digits", "pip install 'wengert[cli]'"), ("a.parquet", "pyarrow")]:
        code, _, complaint = command("train", data)
        assert (code, package in complaint) == (ExitCode.PACKAGE, True)


def test_parquet_is_refused(command, tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else")
    parquet.write_table(arrow.table({"y": arrow.array([], arrow.int64())}), "rows.parquet")
    lists = arrow.table({"x": [[1], [2]], "y": [1, 2]})
    parquet.write_table(lists, "lists.parquet")
    parquet.write_table(arrow.table([[1], [2]], names=["x", "x"]), "twice.parquet")
    for name, message in [
        ("empty", "is empty (0 bytes)"),
        ("damaged", "cannot be read as Parquet"),
        ("rows", "has 0 rows and 1 columns"),
        ("lists", "column 'x' has type list<"),
        ("twice", "several columns are named 'x'"),
    ]:
        code, _, complaint = command("train", f"{name}.parquet")
        assert (code, message in complaint) == (ExitCode.DATA, True), complaint


def test_every_row_with_a_gap_leaves_nothing(command, tmp_path):
    write_table(tmp_path / "a.csv", [["", "1"], ["2", ""]] * 5, ("x", "y"))
    code, _, complaint = command("train", "a.csv", "--missing", "drop")
    assert (code, "every row has a missing cell" in complaint) == (ExitCode.DATA, True)


def test_a_file_that_must_not_be_read_is_told(command, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")

    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(data_source, "_require_file", denied)
    code, _, complaint = command("train", "a.csv")
    assert (code, "a.csv: cannot be read (Permission denied)" in complaint) == (ExitCode.DATA, True)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("${}.25", "such as '$10.25': write them without it, 10.25,"),
        ("{}.25 €", "such as '10.25 €': write them without it, 10.25,"),
        ("{}%", "such as '10%': write them without it, 10,"),
        ("-${}", "such as '-$10': write them without it, -10,"),
        ("3,2{}.5", "such as '3,210.5': write them without it, 3210.5,"),
        ("0.1{} kg", "such as '0.110 kg': write them without it, 0.110,"),
        ("{}°C", "such as '10°C': write them without it, 10,"),
        ("name {}", None),
    ],
)
def test_numbers_with_a_sign_are_told_from_names(written, said):
    cells = texts(written.format(i) for i in range(10, 50))
    heard = []
    fitted_features([Column("price", cells)], heard.append)
    assert len(heard) == 1
    assert "it is left out" in heard[0]
    assert ("look like numbers with a" in heard[0]) == (said is not None)
    assert said is None or said in heard[0]


def test_dates_are_told_from_names():
    heard = []
    cells = texts(f"2024-{1 + i // 20:02}-{1 + i % 19:02}" for i in range(60))
    fitted_features([Column("day", cells)], heard.append)
    assert "it is left out. Its texts look like dates, such as '2024-01-01'" in heard[0]
    assert "the day of the year" in heard[0]


@pytest.mark.parametrize("task", [(), ("--task", "regression")])
def test_a_target_with_a_sign_is_told_how_to_be_written(task, command, tmp_path):
    rows = "".join(f'{i / 7:.3f},"$57,{600 + i}.5"\n' for i in range(40))
    (tmp_path / "a.csv").write_text("z,price\n" + rows)
    code, _, complaint = command("train", "a.csv", "--target", "price", *task)
    assert code == ExitCode.DATA
    assert "a sign, such as '$57,600.5': write them without it, 57600.5." in " ".join(
        complaint.split()
    )
    assert "--task" not in complaint


def test_many_classes_that_look_like_numbers_are_told():
    cells = texts(f"{i % 40} kg" for i in range(120))
    numbers = Column("z", np.linspace(0, 1, 120) ** 2)
    heard = []
    table = DataTable("a.csv", (numbers, Column("mass", cells)))
    learning_data(table, DataChoices(target="mass"), heard.append)
    assert any(
        "with a unit, such as '0 kg': write them without it, 0, and it is" in x for x in heard
    )
