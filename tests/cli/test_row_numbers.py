"""Columns that number the rows are left out of training, which is said."""

import numpy as np
import pytest

from cli.conftest import table_rows, write_table
from wengert.cli.datasets.data_table import Column, DataTable
from wengert.cli.datasets.learning_task import DataChoices, learning_data
from wengert.cli.datasets.row_numbers import without_row_numbers
from wengert.cli.train_settings import TrainSettings

MANY = np.arange(60.0)
SHUFFLED = np.random.default_rng(0).permutation(MANY)
MEASURED = np.random.default_rng(1).normal(size=60)


def kept(name, cells, keep=()):
    """The columns that stay of one and a measurement, and what is said."""
    said = []
    table = DataTable("a.csv", (Column(name, cells), Column("size", MEASURED[: len(cells)])))
    return without_row_numbers(table, keep, said.append).names, said


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("number", MANY, "numbers the rows, from 0 to 59"),
        ("number", SHUFFLED + 1001, "numbers the rows, from 1001 to 1060"),
        ("customer_id", 7 * SHUFFLED, "is named like an id"),
        ("PassengerId", 3 * MANY[:5], "is named like an id"),
        ("Unnamed: 0", 2 * MANY, "is named like an id"),
        ("ID", -2 * MANY, "is named like an id"),
    ],
)
def test_a_number_of_each_row_is_left_out(name, cells, why):
    names, (said,) = kept(name, cells)
    assert names == ["size"]
    assert f"column {name!r} {why}" in said
    assert f"--keep {name!r}" in said
    assert kept(name, cells, [name]) == ([name, "size"], [])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("number", 2 * MANY),  # not every number of a range
        ("number", MANY[:5]),  # few rows
        ("number", np.floor(MANY / 2)),
        ("number", MANY + 0.5),
        ("year", 1960 + MANY),
        ("customer_id", np.floor(MANY / 2)),  # a customer has several rows
        ("humid", 2 * MANY),
        ("width", 2 * MANY),
    ],
)
def test_a_measurement_stays(name, cells):
    assert kept(name, cells) == ([name, "size"], [])


def test_where_there_is_no_other_column_it_is_learned_from():
    table = DataTable("a.npz", (Column("x", MANY), Column("y", MEASURED)))
    found = learning_data(table, DataChoices(target="y"), lambda text: pytest.fail(text))
    assert [feature.name for feature in found.preparation.features] == ["x"]


def test_training_says_so_and_predicting_needs_no_such_column(command, tmp_path):
    rows = [[i, *row] for i, row in enumerate(table_rows())]
    write_table(tmp_path / "a.csv", rows, ("id", "number", "colour", "size", "bought"))
    small = ("--layers", "none", "--epochs", "1", "--threads", "1", "--target", "bought")
    code, printed, _ = command("train", "a.csv", *small, "--out", "run")
    assert code == 0
    assert "column 'id' numbers the rows, from 0 to 59; it is left out" in printed
    assert "3 columns (2 of numbers and 1 of categories)" in printed
    write_table(tmp_path / "b.csv", table_rows(), ("number", "colour", "size", "bought"))
    assert command("predict", "run", "b.csv")[0] == 0


def test_a_column_to_keep_is_a_setting():
    rows = [[i, *row] for i, row in enumerate(table_rows())]
    names = ("id", "number", "colour", "size", "bought")
    columns = [
        Column(n, np.array(c, object).astype(str).astype(object), read_as_text=True)
        for n, c in zip(names, zip(*rows, strict=True), strict=True)
    ]
    choices = TrainSettings(target="bought", keep=("id",)).choices()
    found = learning_data(DataTable("a.csv", tuple(columns)), choices, lambda _: None)
    assert found.preparation.features[0].name == "id"
