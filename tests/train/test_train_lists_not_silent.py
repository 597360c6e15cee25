"""Lists of rows that a training step joins and pairs: it says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, stepped, warned
from wengert.errors import PairedRowsWarning

COLUMN = np.ones((3, 1))
ROWS = [np.array([y]) for y in Y]  # collected of calls with one row each
NUMBERS = [np.asarray(y) for y in Y]


def rows_less(m, x, y):
    return wg.mean(((x @ m)[:, 0] - y) ** 2)


def column_less(m, x, y):
    return wg.mean((x @ m - wg.stack(y)) ** 2)


@pytest.mark.parametrize(("loss", "rows"), [(rows_less, ROWS), (column_less, NUMBERS)])
def test_a_list_of_rows_that_is_paired_is_named(loss, rows):
    (found,) = warned(stepped(loss, COLUMN, X, rows))
    assert (found.category, found.filename) == (PairedRowsWarning, __file__)
    assert "'y' is a list of 8 arrays of one number" in str(found.message)


@pytest.mark.parametrize(
    ("loss", "batch"),
    [
        (rows_less, (X, NUMBERS)),
        (column_less, (X, ROWS)),
        (rows_less, (X[:5], ROWS)),  # by chance no rows: there are others
    ],
)
def test_lists_that_fit_are_let_pass(loss, batch):
    assert warned(stepped(loss, COLUMN, *batch)) == []
