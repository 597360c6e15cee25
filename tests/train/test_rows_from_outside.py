"""Arrays that a loss reads from outside and that have all rows of the data, in runs that shuffle
or cut the rows of their arguments: a step says so.
"""

import warnings

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import ScannedRowsWarning, ShapeError

N, K = 12, 3
DRAWS = np.random.default_rng(0)
X, Y = DRAWS.standard_normal((N, 4)), DRAWS.standard_normal(N)
W, CLASSES = DRAWS.random(N), DRAWS.integers(0, K, N)
TEACHER, SEEN = DRAWS.standard_normal((N, K)), W > 0.5
ATTENDED = DRAWS.random((N, 1, 1, 5)) > 0.3
ATTENDED[..., 0] = True


def model():
    return wg.nn.Linear(4, K, dtype=np.float64, seed=0)


def errors(m, x, y):
    return (m(x)[:, 0] - y) ** 2


def weighted(m, x, y):
    return wg.mean(W * errors(m, x, y))


def weighted_sum(m, x, y):
    return W @ errors(m, x, y)


def weighted_by_letters(m, x, y):
    return wg.einsum("n,n->", W, errors(m, x, y))


def recorded_weights(m, x, y):
    return wg.mean(2.0 * wg.asarray(W) * errors(m, x, y))


def chosen(m, x, y):
    return wg.mean(wg.where(SEEN, errors(m, x, y), 0.0))


def targets(m, x, y):
    return wg.cross_entropy(m(x), CLASSES)


def one_hot_targets(m, x, y):
    return wg.cross_entropy(m(x), wg.one_hot(CLASSES, K, dtype=np.float64))


def numbers(m, x, y):
    return wg.mse(m(x), TEACHER)


def teacher(m, x, y):
    return wg.kl_div(wg.log_softmax(m(x)), wg.softmax(TEACHER))


def looked_up(m, x, y):
    return -wg.mean(wg.log_softmax(m(x))[wg.arange(x.shape[0]), CLASSES])


def looked_up_along(m, x, y):
    return -wg.mean(wg.take_along_axis(wg.log_softmax(m(x)), CLASSES[:, None], axis=1))


def joined(m, x, y):
    return wg.mean(wg.concat([m(x), TEACHER], axis=1) ** 2)


def masked(m, x, y):
    q = wg.broadcast_to(m(x)[:, None, None], (x.shape[0], 1, 5, K))
    return wg.mean((wg.attention(q, q, q, mask=ATTENDED)[:, 0, 0, 0] - y) ** 2)


FROM_OUTSIDE = [
    weighted,
    weighted_sum,
    weighted_by_letters,
    recorded_weights,
    chosen,
    targets,
    one_hot_targets,
    numbers,
    teacher,
    looked_up,
    looked_up_along,
    joined,
    masked,
]


def step_of(loss):
    return wg.TrainStep(loss, model(), wg.optim.SGD(0.01))


def run(loss, seed=0, size=N):
    step = step_of(loss)
    return warned(lambda: step.run(X, Y, batch_size=size, epochs=2, shuffle_seed=seed))


@pytest.mark.parametrize("loss", FROM_OUTSIDE)
def test_rows_from_outside_are_named_in_a_run_that_shuffles_its_arguments(loss):
    (found,) = run(loss)
    assert found.category is ScannedRowsWarning
    first = loss.__code__.co_firstlineno
    assert first < found.lineno <= first + 2
    assert "is read from outside, and keeps its order" in str(found.message)
    assert "Pass it as an argument" in str(found.message)


@pytest.mark.parametrize("loss", FROM_OUTSIDE)
def test_rows_from_outside_are_let_pass_where_rows_keep_their_order(loss):
    assert run(loss, seed=None) == []
    assert warned(lambda: step_of(loss)(X, Y)) == []


@pytest.mark.parametrize("loss", FROM_OUTSIDE)
def test_batches_that_do_not_fit_all_rows_from_outside_are_told_why(loss):
    with pytest.raises(ShapeError) as caught:
        run(loss, seed=None, size=4)
    (note,) = caught.value.__notes__
    assert f"is read from outside, and has all {N} rows of the data" in note
    assert "pass it as an argument" in note


def test_rows_from_outside_are_named_in_a_fit_which_shuffles():
    step = step_of(weighted)
    (found,) = warned(lambda: wg.train.fit(step, (X, Y), batch_size=N, epochs=2, progress=False))
    assert found.category is ScannedRowsWarning
    step, options = step_of(weighted), {"shuffle_seed": None, "progress": False}
    assert warned(lambda: wg.train.fit(step, (X, Y), batch_size=N, epochs=2, **options)) == []


def test_rows_from_outside_are_named_in_a_run_after_calls_in_their_order():
    step = step_of(weighted)
    assert warned(lambda: step(X, Y)) == []
    (found,) = warned(lambda: step.run(X, Y, batch_size=N, shuffle_seed=0))
    assert found.category is ScannedRowsWarning
    assert warned(lambda: step.run(X, Y, batch_size=N, shuffle_seed=0)) == []


def test_rows_from_outside_are_named_in_the_run_of_an_ensemble():
    steps = wg.Ensemble(weighted, [model(), model()], wg.optim.SGD(0.01))
    found = warned(lambda: steps.run(X, Y, batch_size=N, epochs=2, shuffle_seed=0))
    assert ScannedRowsWarning in [each.category for each in found]


SQUARE, SCALES = np.ones((N, N)), np.linspace(0.5, 1.5, N)


def counted_classes(m, x, y):
    rows = np.arange(N)
    return -wg.mean(wg.log_softmax(m(x))[rows, wg.argmax(x[:, :K], axis=1)])


def contrast(m, x, y):
    z = m(x)
    return wg.cross_entropy(z @ z.T, np.arange(N)) + wg.mean(np.eye(N) * (z @ z.T))


def alike(m, x, y):
    return wg.mean(np.full(N, 1 / N) * errors(m, x, y)) + np.full(N, 1 / N) @ y


def by_rank(m, x, y):
    return wg.mean(SCALES * wg.sort(errors(m, x, y)))


def by_rank_of_another(m, x, y):
    return wg.mean(SCALES * errors(m, x, y)[wg.argsort(y)])


def first_state(m, x, y):
    hs, _ = wg.scan(lambda h, t: (0.5 * h + t,) * 2, np.zeros((N, K)), m(x)[None])
    return wg.mean(hs**2)


def of_columns(m, x, y):
    wide = wg.broadcast_to(m(x)[:, :1], (x.shape[0], N))
    return wg.mean(wide * SCALES) + wg.mean(y[:, None] - SCALES)


def as_argument(m, x, y):
    return wg.mean(x[:, 0] * errors(m, x, y))


@pytest.mark.parametrize(
    "loss",
    [
        counted_classes,
        contrast,
        alike,
        by_rank,
        by_rank_of_another,
        first_state,
        of_columns,
        as_argument,
    ],
)
def test_constants_that_do_not_go_with_rows_are_let_pass(loss):
    assert run(loss) == []


def test_a_constant_with_the_rows_of_a_batch_is_let_pass_where_data_have_more():
    step = step_of(lambda m, x, y: wg.mean(np.linspace(0, 1, 4) * errors(m, x, y)))
    assert warned(lambda: step.run(X, Y, batch_size=4, epochs=2, shuffle_seed=0)) == []


def test_another_misfit_in_a_run_is_not_about_rows_from_outside():
    def loss(m, x, y):
        return wg.mean(m(x) * np.linspace(0, 1, 5))

    with warnings.catch_warnings(), pytest.raises(ShapeError) as caught:
        step_of(loss).run(X, Y, batch_size=4)
    assert not getattr(caught.value, "__notes__", [])
