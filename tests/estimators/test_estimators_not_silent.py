"""What an estimator would do without a word, and most likely is not meant, is told or refused."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import wengert as wg
from wengert.sklearn import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = X[:, 0] > 0
QUICK = {"hidden_layer_sizes": (4,), "max_iter": 2, "random_state": 0}


def begun(**options):
    return MLPClassifier(**QUICK, **options).partial_fit(X, Y, classes=[False, True])


def test_a_rate_that_was_set_acts_on_the_next_partial_fit():
    network = pickle.loads(pickle.dumps(begun()))
    assert network.set_params(learning_rate_init=0.25).partial_fit(X, Y).history_.learning_rate == [
        0.25
    ]
    assert network.partial_fit(X, Y).history_.learning_rate == [0.25]


@pytest.mark.parametrize(
    "changed",
    [
        {"hidden_layer_sizes": (5,)},
        {"activation": "tanh"},
        {"dropout": 0.5},
        {"norm": "layer"},
        {"beta_1": 0.5},
        {"solver": "sgd"},
    ],
)
def test_what_a_network_that_goes_on_cannot_become_is_refused(changed):
    network = begun()
    before = [x.copy() for x in network.coefs_]
    ((name, value),) = changed.items()
    with pytest.raises(ValueError, match=f"{name}=.* was set, and training goes on with the"):
        network.set_params(**changed).partial_fit(X, Y)
    assert all(map(np.array_equal, before, network.coefs_))
    assert getattr(network.fit(X, Y), name) == value


def test_a_warm_start_takes_another_optimizer_and_no_other_network():
    network = MLPRegressor(**QUICK, warm_start=True).fit(X, X[:, 0])
    network.set_params(beta_1=0.5, learning_rate_init=0.1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"made with hidden_layer_sizes=\(4,\)"):
        network.set_params(hidden_layer_sizes=(3,)).fit(X, X[:, 0])


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"sample_weight is -1\.0 in row 2"):
        MLPClassifier(**QUICK).fit(X, Y, sample_weight=[1, 1, -1, *[1] * 57])


def test_classes_in_one_hot_form_are_named():
    with pytest.warns(UserWarning, match=r"pass y\.argmax\(axis=1\)"):
        MLPClassifier(**QUICK).fit(X, np.eye(2)[Y.astype(int)])


def test_parameters_of_other_names_are_told_what_to_write():
    with pytest.raises(TypeError, match=r"no parameter 'lr'; .* Write learning_rate_init= instead"):
        MLPClassifier(lr=0.1)
    with pytest.raises(TypeError, match=r"no parameter 'epochs'; .* Write max_iter= instead"):
        MLPRegressor(epochs=3)


def test_numbers_as_text_and_a_name_for_each_row_are_named():
    pd = pytest.importorskip("pandas")
    network = MLPRegressor(**QUICK)
    for written in ("{:.2f}", "1,{:03.0f}", "{:.0f}%", "2026-01-{:02.0f}"):
        column = [written.format(10 + abs(x)) for x in X[:, 0]]
        with pytest.warns(UserWarning, match="column 'a' of texts that are numbers or dates, such"):
            network.fit(pd.DataFrame({"a": column}), X[:, 0])
    names = pd.DataFrame({"id": [f"row {i}" for i in range(60)], "b": X[:, 1]})
    with pytest.warns(UserWarning, match="column 'id' with another category in each of its 60"):
        network.fit(names, X[:, 0])


def test_whole_numbers_as_text_are_named_where_most_are_different():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    network, target = MLPRegressor(**QUICK), rng.normal(size=400)
    incomes = [str(x) for x in rng.integers(0, 800, 400)]
    table = pd.DataFrame({"a": incomes, "b": target})
    said = r"column 'a' of texts that are whole numbers, such as '\d+', with \d+ different ones in"
    with pytest.warns(UserWarning, match=said):
        network.fit(table, target)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.set_params(categorical_features=["a"]).fit(table, target)  # they are codes
        network.set_params(categorical_features="from_dtype")
        network.fit(table.assign(a=[f"{x:05d}" for x in rng.integers(0, 800, 400)]), target)
        network.fit(table.assign(a=[str(x) for x in rng.integers(1, 50, 400)]), target)


def test_categories_of_another_type_are_named_when_it_predicts():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"k": np.where(Y, "u", "v"), "b": X[:, 1]})
    network = MLPRegressor(**QUICK).fit(table, X[:, 0])
    with pytest.warns(UserWarning, match="column 'k' without any category of training"):
        network.predict(table.assign(k="w"))
    with pytest.warns(UserWarning, match="column 'k' with 1 of type int; training had"):
        network.predict(table.assign(k=1))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_times_are_refused_by_the_name_of_their_column(library):
    frames = pytest.importorskip(library)
    days = np.datetime64("2020-01-01", "us") + np.arange(60).astype("m8[D]")
    table = frames.DataFrame({"day": days, "b": X[:, 1]})
    with pytest.raises(ValueError, match="X has column 'day' of dtype"):
        MLPRegressor(**QUICK).fit(table, X[:, 0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"learning_rate_init": 1e-9, "optimizer": wg.optim.Adam(0.02)},
            "learning_rate_init=1e-09",
        ),
        ({"solver": "sgd", "optimizer": "adam"}, "solver='sgd' was given beside optimizer='adam'"),
        ({"beta_1": 0.5, "optimizer": "lion"}, "beta_1=0.5"),
    ],
)
def test_parameters_that_say_nothing_beside_an_optimizer_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        MLPClassifier(**QUICK, **options).fit(X, Y)


def test_a_column_without_any_category_of_training_is_told():
    colors = np.array([["red"], ["blue"]] * 30, object)
    network = MLPRegressor(**QUICK, categorical_features=[0]).fit(colors, X[:, 0])
    with pytest.warns(UserWarning, match="column 0 without any category of training"):
        network.predict(np.array([["Red"], ["Blue"]], object))


def test_rows_in_different_orders_are_told():
    pandas = pytest.importorskip("pandas")
    labels = [f"row {i}" for i in range(len(X))]
    frame, y = pandas.DataFrame(X, labels, ["a", "b"]), pandas.Series(Y, labels)
    with pytest.warns(wg.errors.RowOrderWarning, match="MLPClassifier: the indices of X and y"):
        MLPClassifier(**QUICK).fit(frame.iloc[::-1], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.RowOrderWarning)
        MLPClassifier(**QUICK).fit(frame.iloc[::-1], y.iloc[::-1])


def test_classes_are_not_balanced_by_the_rows_of_one_call():
    with pytest.raises(ValueError, match=r"class_weight='balanced' in partial_fit.*Pass a dict"):
        begun(class_weight="balanced")
    assert begun(class_weight={False: 1.0, True: 2.0}).n_iter_ == 1


@pytest.mark.parametrize("name", ["coefs_", "intercepts_"])
def test_weights_are_written_into_their_arrays(name):
    network = begun()
    with pytest.raises(AttributeError, match=rf"MLPClassifier\.{name}: .*{name}\[0\]\[\.\.\.\] = "):
        setattr(network, name, [np.zeros(1)])
    getattr(network, name)[0][...] = 0.0
    assert not getattr(network, name)[0].any()


def test_rows_for_validation_are_told_the_share_that_is_held_back():
    told = r"MLPRegressor\(early_stopping=True, validation_fraction=0\.2\)"
    with pytest.raises(TypeError, match=rf"no parameter 'eval_set'.*{told}"):
        MLPRegressor().fit(X, Y, eval_set=(X, Y))
    network = MLPClassifier(**QUICK, early_stopping=True, validation_fraction=0.2).fit(X, y=Y)
    assert len(network.validation_scores_) == 2
