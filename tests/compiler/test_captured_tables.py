"""Tables of other libraries that a recorded function reads from outside."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CaptureWarning, TraceError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NUMBERS = [1.0, 2.0, 3.0]


def series():
    return pd.Series(NUMBERS)


def frame():
    texts = {"city": ["x", "y", None], "b": pd.array([1, None, 3], dtype="Int64")}
    return pd.DataFrame({"a": NUMBERS, **texts})


READ = {
    "SERIES": (series, lambda x: lambda w: w * float(x.mean())),
    "FRAME": (frame, lambda x: lambda w: wg.sum(w * x["a"].to_numpy(copy=True))),
    "attribute": (frame, lambda x: lambda w: wg.sum(w * x.a.to_numpy(copy=True))),
    "all of it": (
        lambda: frame()[["a"]],
        lambda x: lambda w: wg.sum(w * x.to_numpy(copy=True)),
    ),
    "texts": (
        frame,
        lambda x: lambda w: w * float((x["city"] == "x").sum() + x["a"].sum()),
    ),
}


def called(f):
    """Call a function until arrays and tables were looked at."""
    for _ in range(4):
        f(2.0)


def first_set(x):
    """Set the first number of a table of pandas."""
    if isinstance(x, pd.Series):
        x.iloc[0] = 10.0
    else:
        x.loc[0, "a"] = 10.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", READ)
def test_a_table_that_stays_as_it_is(name):
    make, reading = READ[name]
    table = make()
    f = wg.compile(reading(table))
    assert len({float(f(2.0)) for _ in range(20)}) == 1
    assert len(f.programs) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", READ)
def test_a_table_that_is_changed(name):
    make, reading = READ[name]
    table = make()
    f = wg.compile(reading(table))
    f(2.0)
    f(2.0)
    first_set(table)
    with pytest.raises(TraceError, match="table 'x' was changed after the function that uses it"):
        called(f)


def test_texts_that_are_changed():
    table = frame()
    f = wg.compile(lambda w: w * float((table["city"] == "x").sum()))
    f(2.0)
    table.loc[1, "city"] = "x"
    with pytest.raises(TraceError, match="table 'table' was changed"):
        f(2.0)


def test_a_frame_of_polars_that_is_changed():
    table = pl.DataFrame({"a": NUMBERS, "city": ["x", "y", None]})
    f = wg.compile(lambda w: wg.sum(w * table["a"].to_numpy()))
    assert f(2.0) == f(2.0) == 12.0
    table.replace_column(0, pl.Series("a", [5.0, 2.0, 3.0]))
    with pytest.raises(TraceError, match="table 'table' was changed"):
        called(f)


@pytest.mark.filterwarnings("error")
def test_a_column_that_the_function_does_not_read():
    table = frame()
    f = wg.compile(lambda w: wg.sum(w * table["a"].to_numpy(copy=True)))
    assert f(2.0) == 12.0
    table["prediction"] = 1.0
    assert f(2.0) == 12.0
    table["b"] = 0.0
    assert [f(2.0) for _ in range(8)] == [12.0] * 8


def test_a_column_that_is_added_to_a_whole_frame():
    table = frame()[["a"]]
    f = wg.compile(lambda w: wg.sum(w * table.to_numpy(copy=True)))
    f(2.0)
    table["c"] = 1.0
    with pytest.raises(TraceError, match="table 'table' was changed"):
        f(2.0)


@pytest.mark.filterwarnings("error")
def test_another_table():
    data = SimpleNamespace(frame=frame())
    f = wg.compile(lambda w: wg.sum(w * data.frame["a"].to_numpy(copy=True)))
    assert f(2.0) == 12.0
    data.frame = frame().assign(a=[2.0, 4.0, 6.0])
    gc.collect()
    assert f(2.0) == 24.0


def made(table):
    return wg.TrainStep(
        lambda w, x: wg.sum((w - float(table.mean())) * x), np.ones(2), wg.optim.SGD(0.1)
    )


def members(table):
    return wg.Ensemble(
        lambda w, x: wg.sum((w - float(table.mean())) * x),
        [np.ones(2), np.zeros(2)],
        wg.optim.SGD(0.1),
    )


@pytest.mark.parametrize("table", [series, lambda: np.array(NUMBERS)], ids=["series", "array"])
@pytest.mark.parametrize("step", [made, members])
def test_runs_look_too(step, table):
    """Of an array, too, of which NumPy has made a number, so that it is no constant itself."""
    data = table()
    made = step(data)
    for _ in range(3):
        made.run(np.ones((8, 2)), batch_size=2)
    if isinstance(data, np.ndarray):
        data[0] = 10.0
    else:
        first_set(data)
    with pytest.raises(TraceError, match=r"(table|array) 'table' was changed"):
        made.run(np.ones((8, 2)), batch_size=2)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": NUMBERS, "lists": [[1], [2], [3]]},
        {"a": np.ones(100_001), "texts": np.full(100_001, "x", object)},
    ],
    ids=["lists", "many texts"],
)
def test_a_table_that_cannot_be_compared_is_named(columns):
    table = pd.DataFrame(columns)
    with pytest.warns(CaptureWarning, match="reads 'table', a DataFrame, from outside") as found:
        wg.compile(lambda w: wg.sum(w * table["a"].to_numpy(copy=True)))(2.0)
    assert [each.filename for each in found] == [__file__]


@pytest.mark.filterwarnings("error")
def test_arrays_of_a_table_are_arguments():
    assert wg.compile(lambda w, a: wg.sum(w * a))(2.0, frame()["a"].to_numpy()) == 12.0
