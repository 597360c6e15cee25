"""The estimators of wengert.sklearn: scikit-learn's own checks, its tools, and its results."""

import functools
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier as TheirClassifier
from sklearn.neural_network import MLPRegressor as TheirRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import wengert as wg
from wengert.sklearn import MLPClassifier, MLPRegressor, columns, step_pool, training

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)  # three classes
NUMBERS = np.sin(X[:, 0]) + X[:, 1]
QUICK = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0, "batch_size": 40}
classifier = functools.partial(MLPClassifier, **QUICK)
regressor = functools.partial(MLPRegressor, **QUICK)


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(one.coefs_, two.coefs_, strict=True))


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_scikit_learn_finds_no_fault(kind):
    found = check_estimator(kind(), on_skip=None)
    assert {each["status"] for each in found} <= {"passed", "skipped"}
    assert sum(each["status"] == "passed" for each in found) > 50


# The same as scikit-learn's, where nothing is drawn by chance.


def full_batch(solver, **options):
    return {
        "hidden_layer_sizes": (7,),
        "solver": solver,
        "batch_size": "auto",  # all rows
        "max_iter": 30,
        "learning_rate_init": 0.01,
        "shuffle": False,
        "alpha": 0.1,
        "n_iter_no_change": 100,
        "random_state": 3,
    } | options


EXACT = {"epsilon": 1e-20}  # it stands at another place there
SCALED = {"learning_rate": "invscaling", "activation": "logistic", "momentum": 0.0}


@pytest.mark.parametrize(
    ("solver", "options", "y"),
    [
        pytest.param("sgd", {}, Y, id="three classes"),
        pytest.param("sgd", {"nesterovs_momentum": False, "activation": "tanh"}, Y > 0, id="two"),
        pytest.param("sgd", SCALED, NUMBERS, id="numbers"),
        pytest.param("adam", EXACT, Y, id="three classes with Adam"),
        pytest.param("adam", EXACT, np.abs(NUMBERS), id="counts with Adam"),
        pytest.param("adam", EXACT | {"early_stopping": True}, Y > 0, id="validated"),
    ],
)
def test_scikit_learn_trains_the_same(solver, options, y):
    if y.dtype.kind == "f":
        loss = "poisson" if y.min() >= 0 else "squared_error"
        kinds, options = (MLPRegressor, TheirRegressor), options | {"loss": loss}
    else:
        kinds = MLPClassifier, TheirClassifier
    ours, theirs = (kind(**full_batch(solver, **options)) for kind in kinds)
    ours.set_params(dtype="float64")
    for each in (ours, theirs):
        each.fit(X, y)
    np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-6)
    assert ours.validation_scores_ == theirs.validation_scores_
    for a, b in zip(ours.coefs_, theirs.coefs_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    method = "predict" if y.dtype.kind == "f" else "predict_proba"
    np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-5)


def test_weights_are_repetitions():
    weight = rng.integers(0, 3, 120)
    options = {"batch_size": 400, "hidden_layer_sizes": (8,), "max_iter": 20, "random_state": 0}
    options["dtype"] = "float64"
    one = pytest.warns(UserWarning, match="batch_size=400")
    with one:
        a = MLPClassifier(**options).fit(X, Y, sample_weight=weight)
        b = MLPClassifier(**options).fit(X.repeat(weight, axis=0), Y.repeat(weight))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)


def test_class_weights_are_weights_of_rows():
    a = classifier(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, Y)
    b = classifier().fit(X, Y, sample_weight=np.array([1.0, 2.0, 0.5])[Y])
    assert same(a, b)
    balanced = classifier(class_weight="balanced").fit(X, Y)
    assert not same(balanced, b)


@pytest.mark.parametrize("y", [Y, NUMBERS], ids=["classes", "numbers"])
def test_a_search_over_all_rows_ends_as_low(y):
    kinds = (
        (MLPRegressor, TheirRegressor) if y.dtype.kind == "f" else (MLPClassifier, TheirClassifier)
    )
    options = {"solver": "lbfgs", "hidden_layer_sizes": (), "alpha": 1.0, "random_state": 0}
    ours, theirs = (kind(**options, tol=1e-6).fit(X, y) for kind in kinds)  # a convex problem
    assert theirs.loss_ * (1 - 1e-7) < ours.loss_ < theirs.loss_ * (1 + 1e-9)
    # Both are within 1e-7 of the least loss, whose curvature is alpha / rows at least.
    np.testing.assert_allclose(ours.coefs_[0], theirs.coefs_[0], atol=(2e-7 * 120) ** 0.5)
    assert ours.n_iter_ > 1
    with pytest.raises(ValueError, match="partial_fit"):
        ours.partial_fit(X, y)


# Tools of scikit-learn.


def test_a_search_in_two_processes():
    search = GridSearchCV(classifier(), {"alpha": [1e-4, 1.0]}, cv=2, n_jobs=2).fit(X, Y)
    alone = GridSearchCV(classifier(), {"alpha": [1e-4, 1.0]}, cv=2).fit(X, Y)
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(search.cv_results_[key], alone.cv_results_[key])
    assert same(search.best_estimator_, alone.best_estimator_)


def test_pipelines_and_calibration():
    names = np.array(["a", "b", "c"])[Y]
    encoded = ColumnTransformer([("one", OneHotEncoder(), [3])], remainder=StandardScaler())
    rounded = np.column_stack([X[:, :3], np.round(X[:, 3])])
    pipeline = make_pipeline(encoded, classifier()).fit(rounded, names)
    assert set(pipeline.predict(rounded)) <= set("abc")
    assert len(cross_val_score(make_pipeline(StandardScaler(), regressor()), X, NUMBERS, cv=2)) == 2
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(X, Y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices_are_the_same_numbers(kind):
    few = np.where(np.abs(X) > 1, X, 0.0)
    a, b = classifier().fit(few, Y), classifier().fit(kind(few), Y)
    assert same(a, b)
    np.testing.assert_array_equal(a.predict_proba(few), b.predict_proba(kind(few)))


def test_float32_stays_float32():
    found = regressor().fit(X.astype(np.float32), NUMBERS)
    assert found.coefs_[0].dtype == found.predict(X.astype(np.float32)).dtype == np.float32
    assert found.predict(X).dtype == np.float64
    assert regressor(dtype="float32").fit(X, NUMBERS).predict(X).dtype == np.float32


def test_what_is_computed_with(monkeypatch):
    """Float32, unless numbers are few, it could not tell them apart, or float64 is asked for."""
    monkeypatch.setattr("wengert.sklearn.estimator.SOME", X.size)
    found, few = classifier().fit(X, Y), classifier().fit(X[1:], Y[1:])
    exact = classifier(dtype="float64").fit(X, Y)
    kinds = [each.coefs_[0].dtype for each in (found, few, exact)]
    assert kinds == [np.float32, np.float64, np.float64]
    shown = found.predict_proba(X)
    assert shown.dtype == np.float64
    np.testing.assert_allclose(shown.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(shown, exact.predict_proba(X), atol=1e-5)
    assert regressor(solver="lbfgs").fit(X, NUMBERS).coefs_[0].dtype == np.float64
    times = sparse.csr_matrix(X * 86400 + 1.7e9)
    for numbers, is_fine in (
        (X * 1e6, True),
        (np.full((3, 1), 1.7e9), True),
        (np.zeros((3, 1)), True),
        (times, False),
        (times.toarray(), False),
        (X * 1e16, False),
    ):
        assert columns.is_coarse(numbers) is not is_fine
    assert regressor().fit(X, NUMBERS + 1e7).coefs_[0].dtype == np.float64


# Epochs that are taken at once.


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"max_iter": 60, "tol": 1e-2, "n_iter_no_change": 3}, id="stops"),
        pytest.param({"max_iter": 7, "n_iter_no_change": np.inf}, id="never stops"),
        pytest.param(
            {"solver": "sgd", "learning_rate": "adaptive", "n_iter_no_change": 1, "max_iter": 40},
            id="adaptive",
        ),
    ],
)
def test_epochs_at_once_are_epochs_one_by_one(monkeypatch, options):
    options = QUICK | {"tol": 1e-3, "learning_rate_init": 0.05} | options
    with monkeypatch.context() as patched:
        patched.setattr("wengert.sklearn.plateau.Plateau.epochs_ahead", lambda self: 1)
        single = MLPRegressor(**options).fit(X, NUMBERS)
    together = MLPRegressor(**options).fit(X, NUMBERS)
    assert same(single, together)
    assert single.loss_curve_ == together.loss_curve_
    assert single.n_iter_ == together.n_iter_
    np.testing.assert_array_equal(single.history_.loss, together.history_.loss)
    for name in ("epoch", "loss", "learning_rate"):
        np.testing.assert_array_equal(single.history_.epochs[name], together.history_.epochs[name])


# Going on.


def test_partial_fits_are_epochs_of_one_training():
    whole = classifier(n_iter_no_change=np.inf, max_iter=3).fit(X, Y)
    parts = classifier(n_iter_no_change=np.inf)
    for _ in range(3):
        parts.partial_fit(X, Y, classes=[0, 1, 2])
    assert same(whole, parts)
    assert parts.loss_curve_ == whole.loss_curve_
    assert parts.n_iter_ == 3


def test_a_pickled_network_goes_on_with_the_same_bits():
    one = classifier(dropout=0.2, norm="batch").partial_fit(X, Y, classes=[0, 1, 2])
    text = pickle.dumps(one)
    assert b"safetensors" in text
    two = pickle.loads(text)
    for each in (one, two):
        each.partial_fit(X, Y)
    assert same(one, two)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_warm_start_goes_on_with_the_weights():
    one = regressor(warm_start=True).fit(X, NUMBERS)
    first = one.coefs_[0].copy()
    one.fit(X, NUMBERS)
    assert len(one.loss_curve_) == 10
    assert not np.array_equal(one.coefs_[0], first)
    assert one.loss_curve_[5] < one.loss_curve_[0]
    with pytest.raises(ValueError, match="classes"):
        classifier(warm_start=True).fit(X, Y).fit(X, np.zeros(120))


def test_steps_are_used_again_and_leave_no_trace():
    step_pool._idle.clear()
    first = classifier(alpha=0.5, clip_norm=0.1).fit(X, Y)
    assert len(step_pool._idle) == 1
    other = classifier(alpha=0.1, clip_norm=5.0, random_state=4).fit(X, Y)
    again = classifier(alpha=0.5, clip_norm=0.1).fit(X, Y)
    assert len(step_pool._idle) == 1  # the same step
    assert same(first, again)
    assert not same(first, other)


def test_steps_that_nobody_needs_are_forgotten(monkeypatch):
    monkeypatch.setattr(step_pool, "MOST", 1)
    step_pool._idle.clear()
    for size in (2, 3):
        regressor(hidden_layer_sizes=size).fit(X, NUMBERS)
    assert [plan.network.hidden for plan in step_pool._idle] == [(3,)]


# Stopping.


def test_the_best_weights_are_restored():
    options = {"early_stopping": True, "max_iter": 40, "learning_rate_init": 0.3}
    found = classifier(n_iter_no_change=4, **options).fit(X, Y)
    scores = found.validation_scores_
    assert len(scores) == len(found.loss_curve_) == found.n_iter_ < 40
    assert found.best_validation_score_ == max(scores) == scores[found.history_.best_epoch]
    assert len(scores) - 1 - scores.index(max(scores)) > 4 or min(scores[-5:]) < max(scores)
    best = scores.index(max(scores)) + 1
    short = clone(found).set_params(max_iter=best).fit(X, Y)
    assert same(found, short)


def test_a_plateau_ends_training_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = regressor(tol=1e9, n_iter_no_change=2, max_iter=50).fit(X, NUMBERS)
    assert found.n_iter_ == 4  # the first epoch is better than none
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        regressor().fit(X, NUMBERS)


def test_an_adaptive_rate_becomes_smaller():
    seen = []
    found = regressor(
        solver="sgd", learning_rate="adaptive", tol=1e9, n_iter_no_change=1, max_iter=99
    ).fit(X, NUMBERS)
    seen = found.history_.epochs["learning_rate"]
    assert seen[0] == 0.001
    assert seen[-1] == pytest.approx(0.001 / 5**5)
    assert found.n_iter_ < 99


def test_ctrl_c_keeps_what_was_trained(monkeypatch):
    def interrupted(record, call=training.Plateau.__call__):
        call(plateau[0], record)
        if record.number == 2:
            raise KeyboardInterrupt

    plateau = []

    class Interrupted(training.Plateau):
        def __call__(self, record):
            plateau[:] = [self]
            return interrupted(record)

    monkeypatch.setattr("wengert.sklearn.estimator.Plateau", Interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        found = regressor().fit(X, NUMBERS)
    assert found.n_iter_ == len(found.loss_curve_) == 2
    assert found.predict(X).shape == (120,)


# What is ours.


def test_optimizers_by_name_and_as_objects():
    by_name = regressor(optimizer="AdamW", learning_rate_init=0.01).fit(X, NUMBERS)
    given = regressor(optimizer=wg.optim.AdamW(0.01)).fit(X, NUMBERS)
    assert same(by_name, given)
    rates = regressor(schedule="cosine").fit(X, NUMBERS).history_.learning_rate
    assert np.all(np.diff(rates) < 0)
    steps = regressor(schedule=wg.optim.StepDecay(0.1, 3, 0.5)).fit(X, NUMBERS)
    assert steps.history_.learning_rate[:4].tolist() == [0.1, 0.1, 0.1, 0.05]


def test_a_schedule_by_name_is_each_estimators_own():
    for rate, epochs in ((0.01, 3), (0.02, 5)):  # the second would find the step of the first
        found = regressor(schedule="cosine", learning_rate_init=rate, max_iter=epochs)
        rates = found.fit(X, NUMBERS).history_.learning_rate
        assert rates[0] == pytest.approx(rate)
        assert rates[-1] > 0
    parts = regressor(schedule="cosine", learning_rate_init=0.01, max_iter=4, batch_size=60)
    middle = [parts.partial_fit(X, NUMBERS).history_.learning_rate[0] for _ in range(4)]
    np.testing.assert_allclose(middle, 0.01 * (1 + np.cos(np.pi * np.arange(4) / 4)) / 2)


def test_averaged_weights_are_those_that_predict():
    plain = regressor(optimizer=wg.optim.Adam(0.01)).fit(X, NUMBERS)
    other = wg.optim.EMA(wg.optim.Adam(0.01), decay=0.9)
    averaged = regressor(optimizer=other).fit(X, NUMBERS)
    assert not np.array_equal(plain.predict(X), averaged.predict(X))
    nothing_new = wg.optim.EMA(wg.optim.Adam(0.01), decay=0.0)  # the average is the last weights
    assert same(plain, regressor(optimizer=nothing_new).fit(X, NUMBERS))
    slow = wg.optim.EMA(wg.optim.Adam(0.01), decay=0.99999)  # stays at the first weights
    scores = [
        regressor(optimizer=each, early_stopping=True).fit(X, NUMBERS).validation_scores_
        for each in (slow, wg.optim.Adam(0.01))
    ]
    assert np.ptp(scores[0]) < 0.01 < np.ptp(scores[1])


def test_rows_of_weight_0_are_not_in_the_statistics_of_batches():
    far = np.concatenate([X, X + 100])
    weight = np.repeat([1.0, 0.0], len(X))
    found = regressor(norm="batch").fit(far, np.tile(NUMBERS, 2), weight)
    assert same(found, regressor(norm="batch").fit(X, NUMBERS))


def test_masked_elements_are_refused():
    hidden = np.ma.masked_greater(X, 2.0)
    for x, y in ((hidden, NUMBERS), (X, np.ma.masked_less(NUMBERS, 0.0))):
        with pytest.raises(ValueError, match=r"has masked elements.*filled"):
            regressor().fit(x, y)
    with pytest.raises(ValueError, match="X has masked elements"):
        regressor().fit(X, NUMBERS).predict(hidden)


def test_a_score_of_rows_in_another_order_warns():
    labels = [f"row {i}" for i in range(len(X))]
    frame, series = pd.DataFrame(X, index=labels), pd.Series(NUMBERS, index=labels)
    found = regressor().fit(frame, series)
    with pytest.warns(wg.errors.RowOrderWarning, match=r"y\.loc\[X\.index\]"):
        found.score(frame[::-1], series)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_norms_and_dropout(norm):
    found = classifier(norm=norm, dropout=0.3, early_stopping=True).fit(X[:81], Y[:81])
    assert found.predict(X).shape == (120,)
    again = clone(found).fit(X[:81], Y[:81])
    assert same(found, again)
    np.testing.assert_array_equal(found.predict_proba(X), again.predict_proba(X))
    one = found.predict_proba(X[:1])  # no other row is looked at
    np.testing.assert_allclose(one, found.predict_proba(X)[:1], rtol=1e-12)


def test_several_labels_and_several_numbers():
    labels = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    found = classifier(max_iter=60, learning_rate_init=0.05).fit(X, labels)
    assert found.score(X, labels) > 0.8
    assert found.predict_proba(X).shape == (120, 2)
    both = np.column_stack([NUMBERS, -NUMBERS])
    assert regressor(early_stopping=True).fit(X, both).predict(X).shape == (120, 2)


def test_progress_is_shown(capsys):
    regressor(verbose=True, max_iter=2).fit(X, NUMBERS)
    assert "epoch 2/2" in capsys.readouterr().err


def test_there_is_nothing_to_see_before_a_fit():
    with pytest.raises(NotFittedError):
        classifier().predict(X)
    assert not hasattr(classifier(), "coefs_")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"activation": "rel"}, "Write 'relu'"),
        ({"solver": "lbfgs", "dropout": 0.5, "norm": "batch"}, "dropout=0.5, norm='batch'"),
        ({"alpha": -1}, "alpha=-1"),
        ({"batch_size": 0}, "at least 1, or 'auto'"),
        ({"hidden_layer_sizes": (0,)}, "above 0"),
        ({"optimizer": "adm"}, "Write 'adam'"),
        ({"optimizer": 3}, "wg.optim"),
        ({"optimizer": wg.optim.Adam(), "schedule": "cosine"}, "beside the optimizer"),
        ({"schedule": "cosine", "learning_rate": "invscaling"}, "both would change the rate"),
        (
            {"schedule": wg.optim.Cosine(0.1, 9), "learning_rate_init": 0.2},
            "which has its rate itself",
        ),
        ({"categorical_features": ["a"]}, "no names of columns"),
        ({"categorical_features": [9]}, "0 to 3"),
        ({"categorical_features": "all"}, "from_dtype"),
        ({"validation_fraction": 0.001, "early_stopping": True}, "is one row"),
        ({"max_iter": True}, "max_iter=True"),
    ],
    ids=lambda x: "-".join(map(str, x)) if isinstance(x, dict) else "",
)
def test_refusals(options, said):
    with pytest.raises(ValueError, match=said):
        regressor(**options).fit(X, NUMBERS)


def test_refusals_of_data():
    with pytest.raises(ValueError, match="below 0"):
        regressor(loss="poisson").fit(X, -np.abs(NUMBERS))
    with pytest.raises(ValueError, match="was made for"):
        regressor().partial_fit(X, NUMBERS).partial_fit(X, np.ones((120, 2)))
    with pytest.raises(ValueError, match="early_stopping"):
        regressor(early_stopping=True).partial_fit(X, NUMBERS)
    with pytest.raises(ValueError, match="not finite"):
        regressor(learning_rate_init=1e200).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="sparse"):
        regressor(categorical_features=[0]).fit(sparse.csr_matrix(X), NUMBERS)


def test_scikit_learn_is_missing(monkeypatch):
    import wengert.sklearn as package

    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"pip install 'wengert\[sklearn\]'"):
        exec(compile(Path(package.__file__).read_text(), "package", "exec"), {})


@pytest.mark.parametrize(
    ("network", "repair"),
    [
        (
            lambda: MLPRegressor("poisson", (8,)),
            r"='poisson' was .* MLPRegressor\(\(8,\), loss='po",
        ),
        (lambda: MLPRegressor("squared_error"), r"MLPRegressor\(\(64, 32\), loss='squared_error'"),
        (lambda: MLPRegressor("tanh", (8,)), r"MLPRegressor\(\(8,\), activation='tanh'\)"),
        (lambda: MLPClassifier("relu", (8,)), r"MLPClassifier\(\(8,\), activation='relu'\)"),
        (lambda: MLPRegressor(loss=(8,)), r"loss=\(8,\) was .* Write hidden_layer_sizes=\(8,\)"),
    ],
)
def test_parameters_in_the_order_of_scikit_learn_are_told_ours(network, repair):
    with pytest.raises(ValueError, match=repair):
        network().fit(X, Y)
