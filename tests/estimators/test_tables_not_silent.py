"""Tables, categories and weights that an estimator would misread, or refuse in words of others."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from wengert.sklearn import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X.sum(axis=1) > 0).astype(int)
TABLE = pd.DataFrame({"size": X[:, 0], "colour": ["red", "blue"] * 20, "shop": ["p", "q"] * 20})


def network(**options):
    return MLPClassifier((4,), max_iter=2, random_state=0, **options)


@pytest.mark.parametrize("mask", [[False, True], [False] * 4, [True, 1, 2], [True] * 3 + [0]])
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_mask_of_another_length_is_refused(mask, kind):
    with pytest.raises(ValueError, match="for X of 3 columns; a mask has True or False for each"):
        network(categorical_features=kind(mask)).fit(X.round(), Y)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Index, pl.Series])
def test_categories_are_given_in_any_form(kind):
    found = network(categorical_features=kind(["colour", "shop"])).fit(TABLE, Y)
    assert found._columns.categorical == (1, 2)
    found = network(categorical_features=kind([False, True, True])).fit(TABLE, Y)
    assert found._columns.categorical == (1, 2)


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, "much", None])
def test_weights_of_classes_are_numbers_from_0_on(weight):
    with pytest.raises(ValueError, match=r"class_weight is .* for class 1; a weight says how much"):
        network(class_weight={0: 1.0, 1: weight}).fit(X, Y)


def test_weights_of_other_classes_are_refused_as_scikit_learn_does():
    for weights in ({0: 1.0, 7: 2.0}, {"0": 1.0, "1": 2.0}):
        with pytest.raises(ValueError, match=r"the classes are \[0, 1\]. Correct the keys"):
            network(class_weight=weights).fit(X, Y)
    network(class_weight={0: 1, 1: 2, 7: 3}).fit(X, Y)  # a part of the data may lack a class
    found = network(class_weight={1: 2.0}).partial_fit(X, np.zeros(40, int), classes=[0, 1])
    assert found.classes_.tolist() == [0, 1]


def test_weights_of_classes_are_weights_of_their_rows():
    y = np.array(["no", "yes"])[Y]
    weight = np.where(Y, 3.0, 0.5)
    one = network(class_weight={"yes": 3.0, "no": 0.5}).fit(X, y)
    other = network().fit(X, y, sample_weight=weight)
    assert all(map(np.array_equal, one.coefs_, other.coefs_))


def test_names_that_are_numbers_are_compared():
    table = pd.DataFrame(X, columns=[3, 5, 8])
    found = network().fit(table, Y)
    with pytest.raises(ValueError, match="column 0 of X is named 8, and was 3 in training"):
        found.predict(table[[8, 5, 3]])
    with pytest.raises(ValueError, match="column 0 of X is named 2, and was 0 in training"):
        network().fit(pd.DataFrame(X), Y).predict(pd.DataFrame(X)[[2, 1, 0]])
    with pytest.raises(ValueError, match="column 0 of X is named 2, and was 0 in training"):
        network().fit(pd.DataFrame(X), Y).predict(pd.DataFrame(X, columns=[2, 1, 0]))
    for same in (table, X, pd.DataFrame(X)):  # pandas' own names say nothing
        assert np.array_equal(found.predict(same), found.predict(table))


def test_rows_with_new_categories_are_counted():
    found = network().fit(TABLE, Y)
    other = TABLE.assign(
        colour=["green"] * 3 + ["red"] * 37, shop=["p"] * 2 + ["z"] * 2 + ["q"] * 36
    )
    with pytest.warns(UserWarning, match="X has 4 of 40 rows with categories") as caught:
        found.predict(other)
    assert len(caught) == 1
    assert "such as 'green' in column 'colour'" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.predict(TABLE)
        found.predict(other.iloc[:1])


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_categories_are_counted_where_training_had_none(missing):
    some = TABLE.assign(colour=[missing] * 3 + ["red"] * 37)
    found, with_missing = network().fit(TABLE, Y), network().fit(some, Y)
    with pytest.warns(UserWarning, match="X has 3 of 40 rows with a missing category, as in .*col"):
        found.predict(some)
    with pytest.warns(UserWarning, match="X has 40 of 40 rows with a missing category"):
        found.predict(TABLE.assign(colour=[missing] * 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.predict(some.iloc[:1])
        with_missing.predict(some)


def declared(kind, rows=slice(None)):
    cells = np.repeat(["p", "q", "r", "s"], 10)[rows]
    if kind == "pandas":
        dtype = pd.CategoricalDtype(["p", "q", "r", "s"])
        return pd.DataFrame({"size": X[rows, 0], "shop": pd.Categorical(cells, dtype=dtype)})
    shop = pl.Series(cells, dtype=pl.Enum(["p", "q", "r", "s"]))
    return pl.DataFrame({"size": X[rows, 0], "shop": shop})


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_pieces_train_the_categories_that_are_declared(kind):
    y = np.repeat([0.0, 3.0, 6.0, 9.0], 10)
    found = MLPRegressor((8,), random_state=0, learning_rate_init=0.05)
    pieces = [slice(begin, begin + 10) for begin in range(0, 40, 10)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.partial_fit(declared(kind, pieces[0]), y[pieces[0]])
    with pytest.warns(UserWarning, match="without any category of training"):  # it has seen none
        found.predict(declared(kind, pieces[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for piece in pieces * 40:
            found.partial_fit(declared(kind, piece), y[piece])
        assert found.score(declared(kind), y) > 0.9


def test_categories_that_come_late_are_told_with_what_can_be_done():
    begun = MLPRegressor((4,), max_iter=2, warm_start=True).fit(TABLE[:1], X[:1, 0])
    with pytest.warns(UserWarning, match="when training began, .* Declare all categories in the"):
        begun.partial_fit(TABLE, X[:, 0])
    with pytest.warns(UserWarning, match="when training began, .* Declare all categories in the"):
        begun.fit(TABLE, X[:, 0])
    with pytest.warns(UserWarning, match=r"when training began, .* fit anew with such rows"):
        begun.predict(TABLE)


def test_a_fit_has_no_vector_for_what_is_only_declared():
    found = network().fit(declared("pandas", slice(30)), Y[:30])
    assert found._network.tables[0][0] == 4
    with pytest.warns(UserWarning, match="X has 10 of 40 rows with categories"):
        found.predict(declared("pandas"))


def test_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="several columns named 'a'; each needs a name of its own"):
        network().fit(pd.DataFrame(X, columns=["a", "a", "b"]), Y)


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 1), datetime.time(3), pd.Timedelta(1)])
def test_dates_among_objects_are_refused(value):
    table = TABLE.assign(when=pd.Series([None] + [value] * 39, dtype=object))
    with pytest.raises(ValueError, match="X has column 'when' of dtype object, with"):
        network().fit(table, Y)


def test_a_lazy_frame_is_refused():
    with pytest.raises(ValueError, match=r"Pass X.collect\(\)"):
        network().fit(pl.DataFrame({"a": X[:, 0]}).lazy(), Y)


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, object)])
def test_a_class_that_is_missing_is_told(kind):
    y = kind(["no", "yes", None, "yes"] * 10)
    with pytest.raises(ValueError, match="y is None in row 2: its class is missing"):
        network().fit(X, y)
    with pytest.raises(ValueError, match="y is None in row 2: its class is missing"):
        network().partial_fit(X, y, classes=["no", "yes"])


def test_a_solver_and_a_schedule_of_another_name_are_told():
    with pytest.raises(ValueError, match="Write optimizer='adamw'"):
        network(solver="AdamW").fit(X, Y)
    with pytest.raises(ValueError, match=r"solver='Adam' was given; .* Write 'adam'"):
        network(solver="Adam").fit(X, Y)
    with pytest.raises(ValueError, match="schedule='Cosine' was given; it is 'cosine'"):
        network(schedule="Cosine").fit(X, Y)


def test_texts_among_numbers_are_named():
    with pytest.raises(ValueError, match=r"column 'shop' with texts such as 'p'"):
        network(categorical_features=["colour"]).fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"column 'colour' with texts such as 'red'"):
        network(categorical_features=None).fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"column 1 with .* Pass categorical_features=\[1\]"):
        network().fit(TABLE.to_numpy(), Y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        network().fit(np.full_like(X, np.nan), Y)


@pytest.mark.parametrize("columns", [["size"], ["colour"], ["size", "colour"]])
def test_a_table_without_rows_is_told(columns):
    found = MLPRegressor((4,), max_iter=2).fit(TABLE[columns], X[:, 0])
    with pytest.raises(ValueError, match=r"0 sample.* a minimum of 1 is required by MLPRegressor"):
        found.predict(TABLE[columns].iloc[:0])
