"""Tables of pandas and polars, and columns that become embeddings."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from wengert.sklearn import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)
rng = np.random.default_rng(0)
SIZE = rng.normal(size=90)
COLOR = rng.choice(["red", "green", "blue"], 90)
SHOP = rng.choice(["a", "b"], 90)
Y = np.where(COLOR == "red", 3.0, 0.0) + SIZE
OPTIONS = {
    "hidden_layer_sizes": (8,),
    "learning_rate_init": 0.05,
    "max_iter": 80,
    "random_state": 0,
}


def table(kind, rows=slice(None)):
    columns = {"size": SIZE[rows], "color": COLOR[rows], "shop": SHOP[rows]}
    if kind == "array":
        return np.array(list(columns.values()), object).T
    frames = pytest.importorskip(kind, reason=f"{kind} is not installed")
    return frames.DataFrame(columns)


def options(kind):
    return {**OPTIONS, "categorical_features": [1, 2] if kind == "array" else "from_dtype"}


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_texts_become_embeddings(kind):
    network = MLPRegressor(**options(kind)).fit(table(kind), Y)
    assert network.score(table(kind), Y) > 0.95
    assert network._network.tables == ((4, 4), (3, 3))
    reference = MLPRegressor(**options("array")).fit(table("array"), Y)
    np.testing.assert_array_equal(network.predict(table(kind)), reference.predict(table("array")))
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(network.predict(table(kind)), again.predict(table(kind)))


def test_what_is_unknown_is_nothing():
    network = MLPRegressor(**options("array")).fit(table("array"), Y)
    row = table("array", slice(1))
    for value in ("violet", None, np.nan):
        row[0, 1] = value
        assert np.isfinite(network.predict(row)).all()
    table_of_colors = network._state["arrays"]["model"]["embeddings.0"]
    assert not table_of_colors[0].any()  # nothing was missing


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_by_name_and_in_their_place(kind):
    frame = table(kind)
    numbers = frame[["size"]]
    network = MLPClassifier(**OPTIONS).fit(numbers, SHOP)
    assert list(network.feature_names_in_) == ["size"]
    by_name = MLPRegressor(**OPTIONS | {"categorical_features": ["color", "shop"]}).fit(frame, Y)
    by_dtype = MLPRegressor(**OPTIONS).fit(frame, Y)
    np.testing.assert_array_equal(by_name.predict(frame), by_dtype.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        by_name.predict(frame[["color", "shop", "size"]])
    with pytest.raises(ValueError, match="no column of X"):
        MLPRegressor(categorical_features=["colour"]).fit(frame, Y)
    with pytest.raises(ValueError, match=r"texts such as .* not among the categories"):
        MLPRegressor(categorical_features=None).fit(frame, Y)


def test_dtypes_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = table("pandas")
    frame["shop"] = frame["shop"].astype("category")
    frame["mixed"] = pandas.Series(list(SIZE), dtype=object)  # numbers, though objects
    network = MLPRegressor(**OPTIONS).fit(frame, pandas.Series(Y))
    assert network._columns.categorical == (1, 2)
    frame.loc[3, "color"] = None
    with pytest.warns(UserWarning, match="1 of 90 rows with a missing category"):
        assert np.isfinite(network.predict(frame)).all()
