"""Runs over data: batches, shuffles, epochs, evaluation and bound functions."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from train.models import data, distance, forward, net, squared_error
from train.test_train_options import noisy
from wengert.train.runs.row_orders import shuffled

SGD = wg.optim.SGD(0.1)


def make(loss=squared_error, **options):
    return wg.TrainStep(loss, net(), wg.optim.Adam(0.01), **options)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_run_equals_its_steps(drop_last, accumulate):
    x, y = data(rows=10)
    run, steps = make(noisy, accumulate=accumulate), make(noisy, accumulate=accumulate)
    history = run.run(x, y, batch_size=4, epochs=2, drop_last=drop_last)
    losses, norms = [], []
    for _ in range(2):
        for begin in range(0, 8 if drop_last else 10, 4):
            losses.append(steps(x[begin : begin + 4], y[begin : begin + 4]))
            norms.append(steps.last.grad_norm)
    assert run.fingerprint() == steps.fingerprint()
    np.testing.assert_array_equal(history.loss, losses)
    np.testing.assert_array_equal(history.grad_norm, norms)
    assert len(history) == len(losses)
    assert run.epoch == 2


def test_a_shuffled_epoch_has_every_row_once():
    seen = []

    def loss(w, x):
        return wg.sum(w - wg.stop_gradient(w)) + wg.sum(x)

    x = 2.0 ** np.arange(10)
    step = wg.TrainStep(loss, np.zeros(1), wg.optim.SGD(0.0))
    for epoch in step.epochs(x, batch_size=1, epochs=2, shuffle_seed=1):
        assert sorted(epoch.history.loss) == sorted(x)
        seen.append(list(epoch.history.loss))
    assert seen[0] != seen[1]
    assert seen[0] != list(x)


def test_the_order_depends_on_seed_and_epoch_alone():
    x, y = data(rows=12)
    one, two, other = make(), make(), make()
    a = one.run(x, y, batch_size=4, epochs=3, shuffle_seed=5)
    two.run(x, y, batch_size=4, epochs=1, shuffle_seed=5)
    b = two.run(x, y, batch_size=4, epochs=2, shuffle_seed=5)
    np.testing.assert_array_equal(a.loss[3:], b.loss)
    assert one.fingerprint() == two.fingerprint()
    c = other.run(x, y, batch_size=4, epochs=3, shuffle_seed=6)
    assert not np.array_equal(a.loss, c.loss)


def test_gathered_batches_keep_rows_together():
    x = np.arange(20.0).reshape(10, 2)
    labels = np.arange(10)

    def loss(w, batch):
        gap = batch["x"][:, 0] / 2 - batch["label"]
        return wg.sum(w) * 0.0 + wg.sum(gap**2)

    step = wg.TrainStep(loss, np.zeros(1), wg.optim.SGD(0.0))
    batch = {"x": x, "label": labels}
    history = step.run(batch, batch_size=3, epochs=2, shuffle_seed=0)
    np.testing.assert_array_equal(history.loss, np.zeros(8))


def test_epochs_can_be_left():
    x, y = data(rows=8)
    step = make()
    for epoch in step.epochs(x, y, batch_size=4, epochs=100):
        assert epoch.loss == pytest.approx(np.mean(epoch.history.loss))
        if epoch.index == 2:
            break
    assert step.epoch == 3
    assert step.last.index == 5


def test_a_run_lowers_the_loss():
    x, y = data(rows=32)
    history = make().run(x, y, batch_size=8, epochs=50, shuffle_seed=0)
    assert history.loss[-4:].mean() < 0.7 * history.loss[:4].mean()
    assert repr(history).startswith("History(200 steps")


def test_runs_take_live_parameters_of_other_steps_whole():
    def loss(w, x, other):
        return wg.mean((x @ w - x @ other) ** 2)

    teacher = wg.TrainStep(lambda w, x: wg.sum(w), np.arange(3.0), wg.optim.SGD(0.0))
    student = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(0.3))
    x = np.random.default_rng(0).normal(size=(30, 3))
    student.run(x, teacher.model, batch_size=10, epochs=60, shuffle_seed=0)
    np.testing.assert_allclose(student.model, np.arange(3.0), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "weight", [2.5, np.float32(2.5), np.float64(2.5), np.array(2.5), np.array(2.5, ">f8")]
)
def test_runs_take_numbers_without_axes_whole(weight, dtype):
    def loss(m, x, y, weight):
        return weight * squared_error(m, x, y)

    x, y = data(rows=22, dtype=dtype)
    run, steps = (wg.TrainStep(loss, net(dtype=dtype), wg.optim.SGD(0.1)) for _ in range(2))
    for seed in (None, 3):
        run.run(x, y, weight, batch_size=3, epochs=2, shuffle_seed=seed)
        for _ in range(2):
            order = np.arange(22) if seed is None else shuffled(22, seed, steps.epoch)
            for begin in range(0, 22, 3):
                rows = order[begin : begin + 3]
                steps(x[rows], y[rows], weight)
            steps.epoch += 1
    for a, b in zip(wg.tree.leaves(run.model), wg.tree.leaves(steps.model), strict=True):
        np.testing.assert_array_equal(a, b)
    found = run.evaluate(loss, x, y, weight, batch_size=4)
    assert found == pytest.approx(2.5 * float(squared_error(run.model, x, y)), rel=1e-5)


def test_a_number_without_axes_is_that_of_its_run():
    def loss(w, x, k):
        return wg.sum(w - wg.stop_gradient(w)) + k * wg.mean(x)

    step = wg.TrainStep(loss, np.ones(1), SGD)
    for k in (1.0, 2.0, 3.0):
        history = step.run(np.ones((12, 1)), np.float64(k), batch_size=2)
        np.testing.assert_array_equal(history.loss, np.full(6, k))


def test_runs_take_arrays_of_other_libraries():
    x, y = data(rows=10, dtype=np.float32)
    one, two = (wg.TrainStep(squared_error, net(dtype=np.float32), SGD) for _ in range(2))
    theirs = one.run(jnp.asarray(x), jnp.asarray(y), batch_size=4, shuffle_seed=0)
    ours = two.run(x, y, batch_size=4, shuffle_seed=0)
    np.testing.assert_array_equal(theirs.loss, ours.loss)
    assert one.fingerprint() == two.fingerprint()
    found = one.evaluate(squared_error, jnp.asarray(x), jnp.asarray(y), batch_size=4)
    assert found == one.evaluate(squared_error, x, y, batch_size=4)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_generator_that_a_partial_has_fixed_is_not_passed(compiled):
    seen = []

    def loss(w, x, rng=3, scale=1.0):
        seen.append(rng)
        return wg.mean(x @ w) * scale

    x = np.ones((4, 2))
    for fixed in (
        partial(loss, rng=None),
        partial(partial(loss, rng=None), scale=2.0),
        partial(loss, scale=2.0, rng=None),
    ):
        seen.clear()
        wg.TrainStep(fixed, np.ones(2), SGD, compiled=compiled)(x)
        assert set(seen) == {None}
    seen.clear()
    wg.TrainStep(partial(loss, scale=2.0), np.ones(2), SGD, compiled=compiled)(x)
    assert {type(rng).__name__ for rng in seen} == {"Generator"}


def test_evaluate_weights_by_rows():
    x, y = data(rows=10)
    step = make()

    def measures(model, x, y):
        error = forward(model, x) - y
        return {"loss": wg.mean(error**2), "bias": wg.mean(error, axis=0)}

    before = step.fingerprint()
    found = step.evaluate(measures, x, y, batch_size=4)
    expected = measures(step.model, x, y)
    assert found["loss"] == pytest.approx(float(expected["loss"]), rel=1e-12)
    np.testing.assert_allclose(found["bias"], expected["bias"], rtol=1e-10)
    assert step.fingerprint() == before


def test_evaluating_in_a_loop_compiles_once():
    traces = []
    x, y = data(rows=10)
    step = make()
    for _ in range(4):
        step.evaluate(
            lambda m, x, y: traces.append(1) or squared_error(m, x, y), x, y, batch_size=4
        )
    assert len(traces) == 1
    scales = [
        step.evaluate(lambda m, x, y, k=k: k * squared_error(m, x, y), x, y, batch_size=4)
        for k in (1.0, 2.0)
    ]
    assert scales[1] == pytest.approx(2 * scales[0])


def test_strided_data():
    x, y = data(rows=10)
    run, steps = make(), make()
    wide = np.repeat(x, 2, axis=1)[:, ::2]
    run.run(wide, y.astype(">f8"), batch_size=4)
    steps.run(x, y, batch_size=4)
    assert run.fingerprint() == steps.fingerprint()


def test_evaluating_data_of_two_shapes_in_turn():
    """What is known of the shapes of results is that of the program that computed them."""
    step = wg.TrainStep(lambda w, x: wg.mean(x) * w, np.ones(()), wg.optim.SGD(0.1))

    def means(w, x):
        return wg.mean(x, axis=0) * w

    for _ in range(3):
        for width in (2, 3):
            found = step.evaluate(means, np.ones((8, width)), batch_size=4)
            np.testing.assert_array_equal(found, np.ones(width))


def test_bound_functions_see_the_live_parameters():
    x, y = data()
    step = make()
    act = step.bind(forward)
    for _ in range(3):
        np.testing.assert_allclose(act(x), forward(step.model, x), rtol=1e-12)
        np.testing.assert_allclose(act(x[0]), forward(step.model, x[0]), rtol=1e-12)
        step(x, y)
    with wg.eager():
        np.testing.assert_allclose(act(x), forward(step.model, x), rtol=1e-12)


def test_bound_functions_do_not_compile_again():
    traces = []

    def counted(model, x):
        traces.append(x.shape)
        return forward(model, x)

    x, y = data()
    step = make()
    act = step.bind(counted)
    for rows in (8, 5, 3, 8):
        act(x[:rows])
        step(x, y)
    assert len(traces) == 1


@pytest.mark.parametrize("kind", ["lambda", "method", "partial"])
def test_a_function_that_is_bound_anew_is_recorded_once(kind):
    class Model:
        def __init__(self):
            self.step, self.traces = make(), []

        def forward(self, model, x, factor=1.0):
            self.traces.append(x.shape)
            return forward(model, x) * factor

        def predict(self, x):
            made = {
                "lambda": lambda model, x: self.forward(model, x),
                "method": self.forward,
                "partial": partial(self.forward, factor=1.0),
            }
            return self.step.bind(made[kind])(x)

    x, _ = data()
    model = Model()
    for rows in (8, 5, 3, 8, 8, 8):
        np.testing.assert_allclose(model.predict(x[:rows]), forward(model.step.model, x[:rows]))
    assert len(model.traces) == 1


def test_functions_that_share_a_program_keep_their_own_variables():
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1))

    def scaled(by):
        def change(value):
            nonlocal by
            by = value

        return lambda w, x: wg.mean(x @ w) * by, change

    (f, change_f), (g, change_g) = scaled(2.0), scaled(2.0)
    one, other = step.bind(f), step.bind(g)
    x = np.ones((1, 2))
    assert one(x) == other(x) == 4.0
    change_f(5.0)
    assert (one(x), other(x)) == (10.0, 4.0)
    change_g(3.0)
    assert (one(x), other(x)) == (10.0, 6.0)
    assert step.evaluate(scaled(2.0)[0], x, batch_size=1) == 4.0
    assert step.bind(scaled(5.0)[0])(x) == 10.0


def test_other_open_sizes_are_another_program():
    step = wg.TrainStep(lambda w, x: wg.mean(x) * w, np.ones(()), wg.optim.SGD(0.1))

    def total(w, x):
        return wg.sum(x) * w

    closed, opened = step.bind(total), step.bind(total, dims={"x": {1: wg.Dim("n")}})
    assert closed is not opened
    assert closed is step.bind(total)
    assert opened(np.ones((2, 3))) == closed(np.ones((2, 3))) == 6.0


def test_what_a_bound_function_returns_is_ours():
    step = make()
    weights = step.bind(lambda model: model.layers[0].w)
    taken = weights()
    before = taken.copy()
    step(*data())
    np.testing.assert_array_equal(taken, before)
    taken[...] = 0.0
    assert np.any(step.model.layers[0].w != 0)


def test_bound_functions_cast_and_take_trees():
    step = wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.SGD(0.1))
    act = step.bind(lambda model, batch: {"out": forward(model, batch["x"]), "n": 3})
    found = act({"x": data()[0]})
    assert found["out"].dtype == np.float32
    assert found["n"] == 3
    assert distance(found["out"], forward(step.model, data(dtype=np.float32)[0])) < 1e-5


def test_a_run_with_skipped_steps():
    x, y = data(rows=8)
    x[5] = np.nan
    step = make(nonfinite="skip")
    history = step.run(x, y, batch_size=4)
    assert history.skipped.tolist() == [False, True]
    assert np.isnan(history.loss[1])


def test_functions_that_are_made_in_a_loop_are_told_apart():
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.SGD(0.1))
    found = []
    for number in (1.0, 2.0, 3.0):

        def scaled(w, x, *, scale=number):
            return scale * wg.mean(x)

        found.append(step.evaluate(scaled, np.ones((4, 2)), batch_size=2))
    assert found == [1.0, 2.0, 3.0]

    def early(w, x):
        return wg.mean(x) if True else later

    assert step.evaluate(early, np.ones((4, 2)), batch_size=2) == 1.0
    later = None


@pytest.mark.parametrize("several", [False, True])
def test_a_run_of_no_epochs_does_nothing(several):
    optimizer = {"*": wg.optim.Adam(0.01)} if several else wg.optim.Adam(0.01)
    step = wg.TrainStep(squared_error, net(), optimizer)
    step.run(*data(), batch_size=4)
    before = step.fingerprint()
    history = step.run(*data(), batch_size=4, epochs=0)
    assert len(history) == 0
    rates = history.learning_rate["*"] if several else history.learning_rate
    assert rates.shape == history.loss.shape == history.skipped.shape == (0,)
    assert list(step.epochs(*data(), batch_size=4, epochs=0)) == []
    assert step.fingerprint() == before
    assert step.epoch == 1


def test_epochs_that_no_loop_goes_through_train_nothing_and_say_so():
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1))
    with pytest.warns(wg.errors.UnusedWarning, match="given 3 epochs, and no loop") as found:
        step.epochs(np.ones((4, 2)), batch_size=2, epochs=3)
    assert found[0].filename == __file__
    assert step.epoch == 0


@pytest.mark.filterwarnings("error")
def test_epochs_that_were_begun_are_no_reason_to_warn():
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1))
    for _ in step.epochs(np.ones((4, 2)), batch_size=2, epochs=3):
        break
    next(step.epochs(np.ones((4, 2)), batch_size=2))
    assert list(step.epochs(np.ones((4, 2)), batch_size=2, epochs=0)) == []
    step.epochs(np.ones((4, 2)), batch_size=2, epochs=0)
    assert step.epoch == 2


def test_skipped_steps_are_counted_and_no_part_of_the_mean():
    step = wg.TrainStep(
        lambda w, x: wg.mean(x * w), np.ones(()), wg.optim.SGD(0.0), nonfinite="skip"
    )
    rows = np.array([1.0, 3.0, np.nan, 0.0, 5.0, 5.0])
    (epoch,) = step.epochs(rows, batch_size=2)
    assert epoch.loss == 3.5  # of 2, nan and 5
    assert epoch.skipped == 1
    assert repr(epoch) == "Epoch(0: 3 steps, 1 skipped, loss 3.5)"
    (epoch,) = step.epochs(rows[2:4], batch_size=2)
    assert np.isnan(epoch.loss)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("has_aux", [True, False])
def test_the_loss_of_a_step_with_state_can_be_evaluated(compiled, has_aux):
    def loss(w, state, x, y):
        value = wg.mean((x * w - y - state) ** 2)
        return (value, state + 1.0, {"y": wg.mean(y)}) if has_aux else (value, state + 1.0)

    step = wg.TrainStep(
        loss, np.ones(()), wg.optim.SGD(0.0), state=2.0, has_aux=has_aux, compiled=compiled
    )
    x, y = np.arange(5.0), np.ones(5)
    expected = np.mean((x - y - 2.0) ** 2)
    for found in (
        step.evaluate(loss, x, y, batch_size=2),
        step.evaluate(loss, x=x, y=y, batch_size=9),
    ):
        value, aux = found if has_aux else (found, {"y": 1.0})
        assert np.isclose(value, expected)
        assert aux == {"y": 1.0}
    assert step.state == 2.0
    assert len(step._evaluated._known) == 1  # not a function of its own for each evaluation
    other = lambda w, h, x: wg.mean(h * x)  # noqa: E731
    assert step.evaluate(other, step.state, x, batch_size=2) == 4.0
    with pytest.raises(TypeError, match=r"given 1 array for .* h, x; .*Pass step.state for h"):
        step.evaluate(other, x, batch_size=2)


def test_a_batch_larger_than_the_data_is_one_smaller_batch_of_an_evaluation():
    step = wg.TrainStep(lambda w, x: wg.mean(x * w), np.ones(()), wg.optim.SGD(0.0))
    assert step.evaluate(lambda w, x: wg.mean(x), np.arange(5.0), batch_size=64) == 2.0
    with pytest.raises(wg.errors.ShapeError, match=r"batch_size=min\(64, len\(x\)\)"):
        step.run(np.arange(5.0), batch_size=64)
