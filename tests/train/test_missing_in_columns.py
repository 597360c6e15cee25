"""Columns of whole numbers of which some are missing, as indices and as labels."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, ShapeError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
N = 12
X = np.linspace(-1, 1, N, dtype=np.float32)
Y = np.zeros(N, np.float32)
NUMBERS = [i % 3 if i % 5 else None for i in range(N)]
CITY = pd.Series(NUMBERS, name="city", dtype="Int64")
COLUMNS = {
    "Int64": CITY,
    "float64": CITY.astype("float64"),
    "polars": pl.Series("city", NUMBERS),
}
FILLED = {
    "Int64": CITY.fillna(3),
    "polars": COLUMNS["polars"].fill_null(3),
}


def of_city(m, x, city, y):
    return wg.mse(m["w"] * x + m["city"][city], y)


def classified(m, x, y):
    return wg.cross_entropy(x[:, None] * m["city"], y)


def made(loss, **options):
    model = {"w": np.float32(1.0), "city": np.zeros(4, np.float32)}
    return wg.TrainStep(loss, model, wg.optim.SGD(0.1), **options)


def members():
    models = [{"w": np.float32(1.0), "city": np.zeros(4, np.float32)} for _ in range(2)]
    return wg.Ensemble(classified, models, wg.optim.SGD([0.1, 0.2]))


def evaluated(step, column):
    return step.evaluate(classified, X, column, batch_size=4)


def notes(kind, call):
    """What is said beside what NumPy says, or in the place of the repair by astype."""
    with pytest.raises(kind, match=r"missing|arrays used as indices") as caught:
        call()
    text = str(caught.value)
    if "arrays used as indices" in text:
        return getattr(caught.value, "__notes__", [])
    return [text] if "astype" not in text else []


@pytest.mark.parametrize("options", [{}, {"compiled": False}], ids=["compiled", "eager"])
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_indices_and_labels(column, options):
    repair = "fill_null(n)" if isinstance(column, pl.Series) else "fillna(n)"
    cases = [
        ("city", IndexError, lambda: made(of_city, **options)(X, column, Y)),
        ("city", IndexError, lambda: made(of_city).run(X, column, Y, batch_size=4)),
        ("y", ShapeError, lambda: made(classified, **options)(X, column)),
        ("y", ShapeError, lambda: made(classified).run(X, column, batch_size=4)),
        (
            "c",
            IndexError,
            lambda: made(classified, **options).bind(lambda m, c: m["city"][c])(column),
        ),
        ("y", ShapeError, lambda: evaluated(made(classified, **options), column)),
        ("y", ShapeError, lambda: evaluated(members(), column)),
    ]
    for name, kind, call in cases:
        (note,) = notes(kind, call)
        assert f"Argument {name!r}, column 'city', has missing values (3 of 12)" in note
        assert repair in note


def test_a_column_of_a_dict():
    def loss(m, x, y):
        return wg.mse(m["w"] * x["a"] + m["city"][x["city"]], y)

    (note,) = notes(IndexError, lambda: made(loss)({"a": X, "city": CITY}, Y))
    assert "column 'city', has missing values" in note


def test_columns_of_objects():
    bools = CITY.map({0: True, 1: False, 2: True}).astype("boolean")
    for column in (bools, CITY.astype(object).where(CITY.notna(), None)):
        with pytest.raises(DTypeError, match="Some are missing: leave their rows out before"):
            made(classified)(X, column)


def test_arrays_that_are_no_columns():
    numbers = CITY.to_numpy(float, na_value=np.nan)
    for kind, call in [
        (IndexError, lambda: made(of_city)(X, numbers, Y)),
        (ShapeError, lambda: made(classified).run(X, numbers, batch_size=4)),
    ]:
        (note,) = notes(kind, call)
        assert "has missing values, NaN (3 of 12). Leave their rows out before" in note


# What is right, or wrong for another reason.


@pytest.mark.parametrize("column", FILLED.values(), ids=FILLED)
def test_columns_without_missing_numbers(column):
    assert np.isfinite(made(of_city)(X, column, Y))
    made(classified).run(X, column, batch_size=4)


def test_features_that_the_loss_fills_itself():
    def loss(m, x, y):
        return wg.mse(m["w"] * wg.where(wg.isnan(x), 0.0, x), y)

    assert np.isfinite(made(loss)(CITY, Y))


def test_other_errors_say_nothing_of_them():
    with pytest.raises(ShapeError) as caught:
        made(lambda m, x, y: wg.mean(x @ m["city"] - y))(CITY, Y)
    assert not getattr(caught.value, "__notes__", [])
