"""Rows that a training step pairs, or goes along, otherwise than meant: it says so."""

from functools import partial

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import W, X, Y, stepped, warned
from wengert.api.pairs.pairs_of_rows import warn_of_pairs_in_data
from wengert.errors import FirstRowWarning, PairedRowsWarning, SummedRowsWarning

# Pairs of rows.

COLUMN = {"w": np.ones((3, 1)), "b": np.zeros(1)}


def predicted(model, x):
    return wg.tanh(x @ model["w"] + model["b"])


def squared_distances(a, b):
    return wg.sum(a * a, axis=1, keepdims=True) + wg.sum(b * b, axis=1) - 2 * a @ b.T


PAIRED = {
    "predictions are a column": (
        lambda m, x, y: wg.mean((predicted(m, x) - y) ** 2),
        COLUMN,
        (X, Y),
    ),
    "in NumPy": (lambda m, x, y: np.mean(np.abs(y - x @ m["w"])), COLUMN, (X, Y)),
    "targets are a column": (lambda w, x, y: wg.mean((x @ w - y) ** 2), W, (X, Y[:, None])),
    "layers": (
        lambda m, x, y: wg.mean((m(x) - y) ** 2),
        wg.nn.Sequential(wg.nn.Linear(3, 4), wg.tanh, wg.nn.Linear(4, 1)),
        (X, Y),
    ),
    "one action of each row": (
        lambda m, x, a, y: wg.mean((wg.take_along_axis(x @ m, a[:, None], axis=1) - y) ** 2),
        np.ones((3, 2)),
        (X, np.zeros(8, int), Y),
    ),
    "a sum that keeps its axis": (
        lambda w, x, y: wg.mean((wg.sum(x * w, axis=1, keepdims=True) - y) ** 2),
        W,
        (X, Y),
    ),
    "the first column": (
        lambda m, x, y: wg.mean(wg.abs((x @ m)[:, :1] - y)),
        np.ones((3, 2)),
        (X, Y),
    ),
    "a logarithm on the way": (
        lambda m, x, y: -wg.mean(y * wg.log(wg.sigmoid(x @ m["w"]))),
        COLUMN,
        (X, Y),
    ),
    "in a checkpoint": (
        lambda m, x, y: wg.checkpoint(lambda m: wg.mean((predicted(m, x) - y) ** 2))(m),
        COLUMN,
        (X, Y),
    ),
    "between checkpoints": (
        lambda m, x, y: wg.mean((wg.checkpoint(predicted)(m, x) - y) ** 2),
        COLUMN,
        (X, Y),
    ),
    "in a branch": (
        lambda m, x, y: wg.cond(
            wg.sum(y) > 0,
            lambda: wg.mean((predicted(m, x) - y) ** 2),
            lambda: wg.mean(predicted(m, x)),
        ),
        COLUMN,
        (X, Y),
    ),
}
BY_TURNS = {
    "a sum of each row": lambda m, x, y: wg.mean(wg.sum((predicted(m, x) - y) ** 2, axis=-1)),
    "a sum over rows": lambda m, x, y: wg.sum(wg.mean((predicted(m, x) - y) ** 2, axis=0)),
    "the largest": lambda m, x, y: wg.mean(wg.max(wg.abs(predicted(m, x) - y), axis=1)),
    "a length": lambda m, x, y: wg.mean(wg.sqrt(wg.sum((x @ m["w"] - y) ** 2, 1))),
    "a normal distribution": lambda m, x, y: (
        -wg.mean(wg.distributions.Normal(predicted(m, x), 1.0).log_prob(y).sum(-1) * y)
    ),
    "a squashed one": lambda m, x, y: (
        -wg.mean(wg.distributions.TanhNormal(predicted(m, x), 1.0).log_prob(wg.tanh(y)).sum(-1))
    ),
    "two outcomes": lambda m, x, y: (
        -wg.mean(wg.distributions.Bernoulli(predicted(m, x)).log_prob(y > 0).sum(-1))
    ),
}
PAIRED |= {name: (loss, COLUMN, (X, Y)) for name, loss in BY_TURNS.items()}
NOT_PAIRED = {
    "both are rows": (lambda m, x, y: wg.mean((predicted(m, x)[:, 0] - y) ** 2), COLUMN, (X, Y)),
    "both are columns": (lambda m, x, y: wg.mean((x @ m["w"] - y) ** 2), COLUMN, (X, Y[:, None])),
    "pairs on purpose": (
        lambda w, x, y: wg.mean(wg.exp(-(((x @ w)[:, None] - y) ** 2))),
        W,
        (X, Y),
    ),
    "squared distances of two sets of points": (
        lambda m, x, y: wg.mean(wg.exp(-squared_distances(x @ m, y))),
        np.ones((3, 2)),
        (X, X[:, :2]),
    ),
    "pairs of one thing": (lambda w, x: wg.mean(wg.abs((x @ w)[:, None] - x @ w)), W, (X,)),
    "pairs of data": (
        lambda w, x, y: wg.mean(x @ w) * wg.mean(wg.abs(y[:, None] - y)),
        W,
        (X, Y),
    ),
    "pairs on purpose, of which each row has a sum": (
        lambda m, x, y: wg.mean(wg.sum(wg.abs(predicted(m, x) - y[None, :]), axis=1)),
        COLUMN,
        (X, Y),
    ),
    "a density of all predictions at each target": (
        lambda m, x, y: -wg.mean(wg.logsumexp(-((predicted(m, x) - y) ** 2), axis=0)),
        COLUMN,
        (X, Y),
    ),
    "weights of all rows for each row": (
        lambda m, x, y: wg.mean(wg.sum(wg.softmax(predicted(m, x) * y, axis=1) * x[:, 0], axis=1)),
        COLUMN,
        (X, Y),
    ),
    "weights that are divided by their sum": (
        lambda m, x, y: wg.mean(
            wg.max(
                wg.exp(predicted(m, x) * y)
                / wg.sum(wg.exp(predicted(m, x) * y), axis=1, keepdims=True),
                axis=1,
            )
        ),
        COLUMN,
        (X, Y),
    ),
    "distributions of several actions": (
        lambda m, x, y: -wg.mean(wg.distributions.Normal(x @ m["w"], 1.0).log_prob(x).sum(-1) * y),
        COLUMN,
        (X, Y),
    ),
    "pairs that are used as a matrix": (
        lambda m, x, y: wg.sum(((x @ m["w"] - y) ** 2) @ y),
        COLUMN,
        (X, Y),
    ),
    "a column and a row in different branches": (
        lambda m, x, y: wg.cond(
            wg.sum(y) > 0, lambda: wg.mean(x @ m["w"]), lambda: wg.mean(y) * wg.sum(m["w"])
        ),
        COLUMN,
        (X, Y),
    ),
    "a column and a bias": (lambda m, x: wg.mean((x @ m["w"] + m["b"]) ** 2), COLUMN, (X,)),
    "as many rows by chance": (
        lambda m, x, y: wg.mean((x @ m["w"] - y[0]) ** 2),
        COLUMN,
        (X, np.ones((8, 8))),
    ),
}


@pytest.mark.parametrize("case", PAIRED)
def test_rows_that_are_paired_are_named(case):
    loss, model, batch = PAIRED[case]
    (found,) = warned(stepped(loss, model, *batch))
    assert found.category is PairedRowsWarning
    assert found.filename == __file__
    assert "given shapes (n, 1) and (n,)" in str(found.message)


@pytest.mark.parametrize("case", NOT_PAIRED)
def test_other_shapes_are_no_reason_to_warn(case):
    loss, model, batch = NOT_PAIRED[case]
    assert warned(stepped(loss, model, *batch)) == []


# What learners of reinforcement get wrong: rewards of another shape than values of states.

Q = np.random.default_rng(1).standard_normal((3, 2))
ACTIONS = np.arange(8) % 2
TARGET = wg.nn.Linear.of(Q.T.copy())


def column_of(q, actions):
    return wg.take_along_axis(q, actions[:, None], axis=1)


def td_error(m, target, s, a, r, s2, done):
    wanted = r + 0.99 * wg.max(target(s2), axis=1) * (1 - done)
    return wg.mean((column_of(s @ m, a)[:, 0] - wanted) ** 2)


def td_error_of_state(m, state, s, a, r, s2):
    wanted = r + 0.99 * wg.max(s2 @ state, axis=1)
    return wg.mean((column_of(s @ m, a) - wanted) ** 2), state


def td_error_of_average(m, s, a, r, s2, averaged):
    return wg.mean((column_of(s @ m, a) - (r + 0.99 * wg.max(s2 @ averaged, axis=1))) ** 2)


def td_error_of_model(m, s, a, r, s2):
    wanted = r + 0.99 * wg.stop_gradient(wg.max(s2 @ m, axis=1))
    return wg.mean((column_of(s @ m, a) - wanted) ** 2)


def actor_loss(m, s):
    logp = wg.sum(wg.log_softmax(s @ m["actor"]), axis=1)
    return wg.mean(0.2 * logp - wg.minimum(s @ m["w"], s @ m["v"]))


def differences(m, s):
    p = s @ m[:, :1]
    return wg.mean(wg.abs(p - p[:, 0]))


LEARNERS = {
    "rewards and ends are columns": (
        td_error,
        (TARGET, X, ACTIONS, Y[:, None], X, np.ones((8, 1))),
    ),
    "rewards are a column": (td_error, (TARGET, X, ACTIONS, Y[:, None], X, np.ones(8))),
    "other weights are the first argument": (
        lambda m, target, s, r: wg.mean((wg.sum(s @ (m + target), axis=1, keepdims=True) - r) ** 2),
        (Q, X, Y),
    ),
    "a target in the state": (td_error_of_state, (X, ACTIONS, Y, X)),
    "an averaged target": (td_error_of_average, (X, ACTIONS, Y, X)),
    "the model is the target": (td_error_of_model, (X, ACTIONS, Y, X)),
    "actor and critics in one model": (actor_loss, (X,)),
    "every action of every row": (
        lambda m, s, a, r: wg.mean(((s @ m)[:, a] - r) ** 2),
        (X, ACTIONS, Y),
    ),
    "actions are a column": (
        lambda m, s, a, r: -wg.mean(wg.distributions.Categorical(s @ m).log_prob(a) * r),
        (X, ACTIONS[:, None], Y),
    ),
}
RIGHT_LEARNERS = {
    "rewards and ends are rows": (td_error, (TARGET, X, ACTIONS, Y, X, np.ones(8))),
    "actions are rows": (LEARNERS["actions are a column"][0], (X, ACTIONS, Y)),
    "all actions for all rows": (
        lambda m, s, a: -wg.mean(wg.distributions.Categorical(s @ m).log_prob(a[:, None])),
        (X, ACTIONS),
    ),
    "other rows as wrong answers": (
        lambda m, s, a: wg.cross_entropy((s @ m)[:, a], wg.arange(s.shape[0])),
        (X, ACTIONS),
    ),
    "scores of all pairs": (
        lambda m, s: wg.mean(wg.softmax(s @ m[:, :1] + s @ m[:, 1], axis=1) @ s),
        (X,),
    ),
    "differences of one thing": (
        differences,
        (X,),
    ),
    "differences that are written": (
        lambda m, s: wg.mean(wg.abs((s @ m[:, 0])[:, None] - (s @ m[:, 1])[None, :])),
        (X,),
    ),
    "a kernel": (
        lambda m, s: wg.mean(wg.exp(-squared_distances(s @ m, s @ m))),
        (X,),
    ),
}


def learned(loss, batch):
    model = {"actor": Q, **COLUMN, "v": np.ones((3, 1))} if loss is actor_loss else Q
    optimizer = wg.optim.SGD(0.01)
    if loss is td_error_of_average:
        optimizer = wg.optim.EMA(optimizer)
    options = {"state": Q.copy()} if loss is td_error_of_state else {}
    return lambda: wg.TrainStep(loss, model, optimizer, **options)(*batch)


@pytest.mark.parametrize("case", LEARNERS)
def test_rows_that_a_learner_pairs_are_named(case):
    (found,) = warned(learned(*LEARNERS[case]))
    assert found.category is PairedRowsWarning
    assert found.filename == __file__
    assert "each pair of rows" in str(found.message)


@pytest.mark.parametrize("case", RIGHT_LEARNERS)
def test_learners_with_one_shape_or_with_pairs_on_purpose_are_let_pass(case):
    assert warned(learned(*RIGHT_LEARNERS[case])) == []


def seen_in_data(case):
    loss, model, batch = case
    graph = wg.trace(wg.value_and_grad(loss), model, *batch)
    own = [str(graph.nodes[graph.inputs[0]].params["name"]).partition(".")[0]]
    return [each.category for each in warned(lambda: warn_of_pairs_in_data(graph, own, "here"))]


@pytest.mark.parametrize("case", PAIRED)
def test_rows_of_data_with_known_sizes_that_are_paired_are_named(case):
    assert seen_in_data(PAIRED[case]) == [PairedRowsWarning]


@pytest.mark.parametrize("case", NOT_PAIRED)
def test_other_shapes_of_data_with_known_sizes_are_no_reason_to_warn(case):
    assert seen_in_data(NOT_PAIRED[case]) == []


def test_paired_rows_are_named_where_a_function_is_minimised():
    compiled = wg.compile(wg.value_and_grad(lambda w, x, y: wg.mean((x @ w - y) ** 2)))
    (found,) = warned(lambda: [compiled(np.ones((3, 1)), X, Y), compiled(np.zeros((3, 1)), X, Y)])
    assert (found.category, found.filename) == (PairedRowsWarning, __file__)
    search = wg.optim.LBFGS(max_iter=2)
    paired = warned(lambda: search.minimize(lambda w: wg.mean((X @ w - Y) ** 2), np.ones((3, 1))))
    assert [each.category for each in paired] == [PairedRowsWarning]
    assert not warned(lambda: search.minimize(lambda w: wg.mean((X @ w - Y) ** 2), np.ones(3)))


def test_paired_rows_that_are_ravelled_for_a_jacobian_are_named():
    def told(residuals):
        compiled = wg.compile(wg.jacobian(residuals))
        return [each.category for each in warned(lambda: compiled(w, X, Y))]

    w = np.ones((3, 1))
    assert told(lambda w, x, y: wg.tanh(x @ w - y).ravel()) == [PairedRowsWarning]
    assert told(lambda w, x, y: (x @ w - y[:, None]).ravel()) == []
    assert told(lambda w, x, y: ((x @ w)[:, :, None] - y[None, None, :]).ravel()) == []


@pytest.mark.parametrize("columns", ["predictions", "targets"])
def test_metrics_of_a_fit_that_pair_rows_are_named(columns):
    is_column = columns == "predictions"

    def predict(w, x):
        return x @ w if is_column else (x @ w)[:, 0]

    def fitted(metric):
        step = wg.TrainStep(
            lambda w, x, y: wg.mean((x @ w - y.reshape(-1, 1)) ** 2),
            np.ones((3, 1)),
            wg.optim.SGD(0.01),
            compiled=False,
        )
        data = X, Y if is_column else Y[:, None]
        options = {"validation": data, "predict": predict, "progress": False}
        return warned(lambda: wg.train.fit(step, data, 2, 8, metrics=metric, **options))

    (found,) = fitted({"error": lambda y, p: np.mean((y - p) ** 2)})
    assert found.category is PairedRowsWarning
    assert "the metric 'error' was given targets of shape" in str(found.message)
    assert not fitted({"error": lambda y, p: np.mean((y.ravel() - p.ravel()) ** 2)})
    assert not fitted(["mse"])


def test_paired_rows_are_looked_for_once_for_each_program():
    loss, model, batch = PAIRED["predictions are a column"]
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    assert len(warned(lambda: step(*batch))) == 1
    assert warned(lambda: [step(*batch), step(X[:4], Y[:4])]) == []


def test_paired_rows_are_named_where_a_loss_is_evaluated():
    loss, model, batch = PAIRED["predictions are a column"]
    step = wg.TrainStep(lambda m, x, y: wg.mean(predicted(m, x)), model, wg.optim.SGD(0.01))
    (found,) = warned(lambda: step.evaluate(loss, *batch, batch_size=4))
    assert found.category is PairedRowsWarning
    assert "in TrainStep.evaluate" in str(found.message)


def test_a_long_loss_is_looked_through_at_once():
    """Each node is read twice: a walk over all ways would take for ever."""

    def loss(m, x, y):
        found = x @ m["w"]
        for _ in range(60):
            found = found + found * 0.5
        return wg.mean((found - y) ** 2)

    (found,) = warned(stepped(loss, COLUMN, X, Y, nonfinite="ignore"))
    assert found.category is PairedRowsWarning


def test_sums_over_rows_that_are_evaluated_in_several_batches_are_told():
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), np.ones(3), wg.optim.SGD(0.1))

    def told(f, size=4):
        call = warned(lambda: step.evaluate(f, X, Y, batch_size=size))
        return [each.category for each in call]

    def weighted(w, x, y):
        weights = wg.exp(y)
        return wg.sum(weights / wg.sum(weights) * (x @ w))

    for f in (
        lambda w, x, y: wg.sum((x @ w - y) ** 2),
        lambda w, x, y: {"hits": ((x @ w > 0) == (y > 0)).sum()},
        lambda w, x, y: 0.5 * ((x @ w - y) @ (x @ w - y)) + 0.1 * wg.sum(w**2),
        lambda w, x, y: wg.cross_entropy(x * w, wg.astype(y > 0, int), reduction="sum"),
        lambda w, x, y: wg.bce_with_logits(x @ w, y > 0, reduction="sum") / wg.exp(w[0]),
        lambda w, x, y: -wg.sum(wg.log_softmax(x * w)[:, 0]) / 2,
        lambda w, x, y: wg.sum((x * w).reshape(-1) ** 2) / 0.3**2,
        lambda w, x, y: np.ravel(x * w) @ np.ravel(x),
        lambda w, x, y: wg.count_nonzero(wg.sum(x * w, axis=1) > y),
    ):
        assert told(f, size=8) == []
        assert told(f) == [SummedRowsWarning]
        assert told(f) == []
    for f in (
        lambda w, x, y: wg.mean((x @ w - y) ** 2) + wg.sum(w**2),
        lambda w, x, y: wg.sum((x @ w - y) ** 2) / x.shape[0],
        lambda w, x, y: wg.sum((x @ w - y) ** 2) / 4,
        lambda w, x, y: wg.mean(wg.sum(x * w, axis=1)),
        lambda w, x, y: (
            wg.cross_entropy(x * w, wg.astype(y > 0, int), reduction="sum") / x.shape[0]
        ),
        lambda w, x, y: wg.sum(wg.softmax(x @ w, axis=0) * y),
        lambda w, x, y: wg.sum((x * w).reshape(-1) ** 2) / (4 * 3),
        lambda w, x, y: -wg.sum(wg.diagonal(wg.log_softmax(x @ x.T))) / x.shape[0],
        weighted,
    ):
        assert told(f) == []
    by_hand = lambda w, x, y: wg.sum((x @ w - y) ** 2) / 4  # noqa: E731
    assert (told(by_hand), told(by_hand, size=3)) == ([], [SummedRowsWarning])


PARTS_OF_FOUR = slice(4), slice(2), slice(2, 4)


def test_results_that_are_no_means_over_rows_are_told_where_batches_show_it():
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), np.ones(3), wg.optim.SGD(0.1))

    def told(f, size=4, x=X):
        call = warned(lambda: step.evaluate(f, x, Y, batch_size=size))
        assert all(each.category is SummedRowsWarning for each in call)
        return " ".join(str(each.message) for each in call)

    def errors(w, x, y):
        return (x @ w - y) ** 2

    root = lambda w, x, y: wg.sqrt(wg.mse(x @ w, y))  # noqa: E731
    some = np.linspace(0, 7, 4).astype(int)
    whole, *halves = (root(np.ones(3), X[some[part]], Y[some[part]]) for part in PARTS_OF_FOUR)
    for f, what, repair in (
        (root, "computes sqrt of a mean", "Return the mean, and compute sqrt of what"),
        (lambda w, x, y: 2 * wg.exp(wg.mean(errors(w, x, y))) + 1, "computes exp", "Return"),
        (lambda w, x, y: wg.mean(errors(w, x, y)) ** 0.5, "computes power", "Return"),
        (lambda w, x, y: wg.max(errors(w, x, y)), "takes the max over", "Call step.bind"),
        (lambda w, x, y: {"r": wg.std(x @ w)}, "takes std over", "Return means"),
        (
            lambda w, x, y: 1 - wg.sum(errors(w, x, y)) / wg.sum((y - wg.mean(y)) ** 2),
            "divides by a sum or a mean",
            "divide what evaluate gives",
        ),
        (lambda w, x, y: wg.sum(x @ w * (y > -1)) / wg.sum(y > -1), "divides", "Return both"),
        (lambda w, x, y: np.average(errors(w, x, y), weights=x[:, 0] ** 2), "divides", "both"),
    ):
        assert told(f, size=8) == ""
        text = told(f)
        assert what in text
        assert repair in text
        assert told(f) == ""
    again = told(lambda w, x, y: wg.sqrt(wg.mse(x @ w, y)))
    assert f"it is {whole:.6g} for 4 of the rows, and {sum(halves) / 2:.6g} in the mean" in again
    for f in (
        lambda w, x, y: wg.mean(wg.exp(y) * errors(w, x, y)),
        lambda w, x, y: wg.mean(errors(w, x, y) / (1 + y**2)) / 2 + wg.sqrt(wg.sum(w**2)),
        lambda w, x, y: wg.mean(wg.sqrt(errors(w, x, y)) + wg.max(x, axis=1)),
        lambda w, x, y: -wg.mean(wg.log(wg.sigmoid(x @ w))) * wg.exp(w[0]) / x.shape[0] ** 0,
        lambda w, x, y: -wg.mean(wg.distributions.Normal(x @ w, wg.exp(w[0])).log_prob(y)),
        lambda w, x, y: wg.mean(wg.linalg.norm(x, axis=1)) / wg.sqrt(w[0]),
        lambda w, x, y: wg.sum(errors(w, x, y) * y**0) / wg.sum(y**0),  # weights are all the same
        lambda w, x, y: wg.cross_entropy(x * w, wg.astype(y > 0, int)),
    ):
        assert told(f) == ""


def test_results_that_are_no_means_are_told_in_later_evaluations_that_first_show_it():
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), np.zeros(3), wg.optim.SGD(0.1))

    def told(f, y, size=4):
        call = warned(lambda: step.evaluate(f, X.astype(">f8"), y, batch_size=size))
        return [each.category for each in call]

    root = lambda w, x, y: wg.sqrt(wg.mse(x @ w, y))  # noqa: E731
    assert told(root, np.ones(8)) == []  # the same in all batches, as nothing was trained
    assert told(root, Y, size=8) == []  # one batch
    assert told(root, np.ones(8)) == []
    assert told(root, Y) == [SummedRowsWarning]
    assert told(root, Y) == []
    # Batches of one row have no halves; two of them have.
    assert told(lambda w, x, y: np.sqrt(wg.mse(x @ w, y)), Y, size=1) == [SummedRowsWarning]


def test_results_that_are_no_means_are_told_where_halves_agree_by_chance():
    def precision(w, x, y):
        said = x @ w > 0
        return wg.sum(said * y) / wg.sum(said)

    def told(f, size=4):
        step = wg.TrainStep(lambda w, x, y: wg.mse(x @ w, y), np.ones(3), wg.optim.SGD(0.1))
        call = warned(lambda: step.evaluate(f, x, y, batch_size=size))
        return [each.category for each in call]

    x, y = np.ones((8, 3)), np.array([1.0, 1, 0, 1, 1, 1, 1, 0])
    x[[1, 6]] = -1  # not said to be positive; rows 0, 2, 4 and 7 are, of which each half has one
    assert told(precision) == [SummedRowsWarning]
    assert told(lambda w, x, y: wg.mean((x @ w > 0) * y)) == []
    assert told(precision, size=8) == []


def test_results_that_may_be_no_means_are_tried_in_few_of_many_evaluations(capsys):
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), np.zeros(3), wg.optim.SGD(0.1))
    tried = []
    for number in range(1, 20):
        step.evaluate(
            lambda w, x, y: wg.sqrt(wg.debug(wg.mse(x @ w, y))), X, np.ones(8), batch_size=4
        )
        calls = "".join(capsys.readouterr()).count("debug")
        assert calls in (2, 8)  # its two batches, and twice some rows with their halves
        tried += [number] * (calls == 8)
    assert tried == [1, 2, 3, 4, 8, 16]


def test_the_first_row_of_the_maxima_of_all_rows_is_named():
    def told(best):
        def loss(w, x, y):
            q = x @ w
            return wg.mean((q[:, 0] - y - wg.stop_gradient(best(q))) ** 2)

        return [each.category for each in warned(stepped(loss, np.ones((3, 2)), X, Y))]

    assert told(lambda q: q.max(1)[0]) == [FirstRowWarning]
    assert told(lambda q: q.min(axis=-1)[0] + 1) == [FirstRowWarning]
    assert told(lambda q: q.max(1)) == []
    assert told(lambda q: q.max(1) - q.max(1)[0]) == []
    assert told(lambda q: q.max(0)[0] + q[0].max() + q.max(1)[1:].sum()) == []


def test_states_of_one_row_at_the_times_of_all_rows_are_named():
    def told(last):
        def loss(w, x, n):  # x: (rows, time)
            states = wg.tanh(x[:, :, None] * w)
            return wg.mean(last(states, n) ** 2)

        return warned(stepped(loss, W, X, np.arange(8) % 3))

    (found,) = told(lambda s, n: wg.swapaxes(s, 0, 1)[n][:, 0])
    assert found.category is FirstRowWarning
    assert "Write x[index, wg.arange(index.shape[0])]" in str(found.message)
    (found,) = told(lambda s, n: s[:, n][-1])
    assert "Write x[wg.arange(index.shape[0]), index]" in str(found.message)
    assert told(lambda s, n: wg.swapaxes(s, 0, 1)[n, wg.arange(n.shape[0])]) == []
    assert told(lambda s, n: s[0][n]) == []  # the times of the first row are meant


@pytest.mark.parametrize("name", ["max", "min"])
def test_values_and_indices_that_are_unpacked_as_in_pytorch(name):
    def loss(w, x):
        value, _index = getattr(x * w, name)(1)
        return wg.mean(value)

    told = rf"wg.{name} gives the values alone: .* and index = wg.arg{name}\(x, axis\)"
    for rows in (1, 5):
        w, x = np.ones(3), np.ones((rows, 3))
        step = wg.TrainStep(loss, w, wg.optim.SGD(0.1))
        for call in (step, partial(wg.compile(loss), w)):
            with pytest.raises(ValueError, match=told):
                call(x)


def test_rows_that_are_unpacked_into_other_names_are_told_nothing_of_pytorch():
    def loss(w, x):
        _first, _second = 2.0 * wg.max(x * w, 1)
        return wg.mean(w)

    with pytest.raises(ValueError, match="too many values to unpack") as told:
        wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.1))(np.ones((5, 3)))
    assert "PyTorch" not in str(told.value)
