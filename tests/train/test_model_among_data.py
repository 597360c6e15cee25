"""A model that is given to a run among its data."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import ScannedRowsWarning, ShapeError


def _difference(model, target, x, y):
    return wg.mean((model(x) - 0.9 * target(x) - y) ** 2)


@pytest.mark.parametrize("units", [16, 32])
def test_a_target_network_among_the_data_is_told_how_it_is_given(units):
    model, target = wg.nn.Mlp((3, 8, 1)), wg.nn.Mlp((3, units, 1))
    x, y = np.ones((32, 3), np.float32), np.ones((32, 1), np.float32)
    step = wg.TrainStep(_difference, model, wg.optim.SGD(0.1))
    said = "'target', a tree of type Mlp, has 4 arrays of .* rows, like the parameters of a model"
    with pytest.raises(ShapeError, match=said) as found:
        step.run(target, x, y, batch_size=8)
    for way in ("averaged", "wg.optim.EMA", "state=", "single calls"):
        assert way in str(found.value)
    assert np.isfinite(step(target, x, y))  # a single call takes it


def test_a_network_whose_arrays_have_as_many_rows_is_no_data_to_cut():
    model, teacher = wg.nn.Linear(8, 4), wg.nn.Linear(8, 8)
    step = wg.TrainStep(lambda m, t, x: wg.mean(m(t(x)) ** 2), model, wg.optim.SGD(0.1))
    with pytest.raises(ShapeError, match=r"If 't' is a network.*the live model of another step"):
        step.run(teacher, np.ones((32, 8), np.float32), batch_size=8)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"y": (20, 11), "t": (11,)}, "t"),  # times beside series
        ({"t": (11,), "y": (5, 11)}, "t"),  # of which there are more than series
        ({"y": (20, 11, 2), "z": (20,), "t": (11,)}, "t"),
        ({"a": (3, 3), "x": (6,)}, "a"),  # a matrix beside rows
        ({"x": (8, 3), "y": (8,), "s": (1,)}, "s"),
    ],
)
def test_an_array_that_each_batch_needs_whole_is_no_data_to_cut(arrays, told):
    step = wg.TrainStep(lambda w, *_: w**2, np.array(0.5), wg.optim.SGD(0.1))
    made = [np.ones(shape) for shape in arrays.values()]
    names = [*arrays]
    at = names.index(told)
    with pytest.raises(ShapeError, match=rf"If .*{at}.* is no data.*reads from outside.*cut them"):
        step.run(*made, batch_size=2)


@pytest.mark.parametrize("shapes", [((20, 3), (19,)), ((20, 20), (19,)), ((6, 4), (5, 4))])
def test_data_of_which_some_rows_are_missing_are_cut(shapes):
    step = wg.TrainStep(lambda w, x, y: w**2, np.array(0.5), wg.optim.SGD(0.1))
    with pytest.raises(ShapeError, match=r"row of every array. Cut them to one length\.$"):
        step.run(*map(np.ones, shapes), batch_size=2)


def test_parameters_in_a_dict_are_told_from_data_of_different_lengths():
    def loss(w, batch, y):
        return wg.sum(w) * wg.mean(batch["a"]) * wg.mean(y)

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1))
    with pytest.raises(
        ShapeError, match="'batch', a tree of type dict, has 3 arrays of 4, 9 rows, like"
    ):
        step.run({"a": np.ones((9, 4)), "b": np.ones(9), "c": np.ones(4)}, np.ones(8), batch_size=4)
    for rows in (8, 7):
        said = rf"batch.a: {rows}, batch.b: 7, y: 8\).* Cut them to one length"
        with pytest.raises(ShapeError, match=said):
            step.run({"a": np.ones(rows), "b": np.ones(7)}, np.ones(8), batch_size=4)


STATES = np.arange(8)
TABLE = np.random.default_rng(0).normal(size=(8, 2))


def _tabular(q, target, s):
    return wg.mean((q["q"][s, 0] - wg.max(target["q"][s], axis=1)) ** 2)


def test_other_weights_of_the_models_form_are_passed_whole():
    target, model, rate = {"q": TABLE}, {"q": np.zeros((8, 2))}, wg.optim.SGD(4.0)
    steps = [wg.TrainStep(_tabular, model, rate) for _ in range(3)]
    steps[0](target, STATES)
    steps[1].run(target, STATES, batch_size=8, shuffle_seed=0)
    wg.train.fit(steps[2], (target, STATES), 1, batch_size=8, progress=False)
    members = wg.Ensemble(_tabular, [model, {"q": np.ones((8, 2))}], rate)
    each = wg.train.each({"q": np.stack([TABLE, TABLE])})
    members.run(each, STATES, batch_size=8, shuffle_seed=0)
    for step in (*steps, *members.members):
        assert np.allclose(step.model["q"][:, 0], TABLE.max(axis=1))

    def read(q, target, s):
        return wg.mean(target["q"][s % 4, 0])

    mean = TABLE[:4, 0].mean()
    assert np.isclose(steps[0].evaluate(read, target, STATES, batch_size=4), mean)
    for given in (target, each):
        assert np.allclose(members.evaluate(read, given, STATES, batch_size=4), mean)


NORM = {"bn": wg.nn.BatchNorm(8), "out": wg.nn.Linear(8, 1)}
WIDE = np.random.default_rng(1).normal(size=(24, 8)).astype(np.float32)


def _normalized(m, s, x, training):
    h, s = m["bn"](x, s, training=training)
    return m["out"](h)[:, 0], s


def _trained(m, s, x):
    predicted, s = _normalized(m, s, x, True)
    return wg.mse(predicted, x[:, 0]), s


def _held_out(m, s, x):
    return wg.mse(_normalized(m, s, x, False)[0], x[:, 0])


@pytest.mark.parametrize("size", [6, 8, 10, 24])
def test_a_copy_of_the_state_is_evaluated_as_the_state_is(size):
    first = NORM["bn"].initial_state()
    step = wg.TrainStep(_trained, NORM, wg.optim.SGD(0.1), state=first)
    step.run(WIDE, batch_size=8, epochs=2)
    kept, by_hand = wg.tree.copy(step.state), step.bind(_held_out)
    for state in (step.state, kept, first):
        assert np.isclose(
            step.evaluate(_held_out, state, WIDE, batch_size=size), by_hand(state, WIDE), rtol=1e-5
        )
    members = wg.Ensemble(_trained, [NORM, NORM], wg.optim.SGD([0.1, 0.2]), state=first)
    members.run(WIDE, batch_size=8, epochs=2)
    found = members.evaluate(_held_out, kept, WIDE, batch_size=size)
    wanted = [float(each.bind(_held_out)(kept, WIDE)) for each in members.members]
    assert np.allclose(found, wanted, rtol=1e-5)


def test_what_has_the_form_of_the_state_and_the_rows_of_the_data_is_cut():
    def loss(w, state, d):
        return wg.mean((w * d["a"]) ** 2), state

    step = wg.TrainStep(loss, np.float64(1), wg.optim.SGD(0.1), state={"a": np.zeros(8)})
    rows = []

    def seen(w, d, y):
        rows.append(d["a"].shape)
        return wg.mean(d["a"] * y)

    data = {"a": np.arange(8.0)}
    with wg.eager():
        assert np.isclose(step.evaluate(seen, data, np.ones(8), batch_size=4), 3.5)
    assert set(rows) == {(4,)}
    with pytest.raises(ShapeError, match="different numbers of rows"):  # of another dtype
        step.evaluate(seen, {"a": np.arange(8)}, np.ones(12), batch_size=4)


def test_a_table_among_the_rows_that_is_looked_up_by_them_is_named():
    def loss(q, target, s):
        return _tabular({"q": q}, {"q": target}, s)

    step = wg.TrainStep(loss, np.zeros((8, 2)), wg.optim.SGD(4.0))
    step(TABLE, STATES)
    assert warned(lambda: step.run(TABLE, STATES, batch_size=8)) == []
    (found,) = warned(lambda: step.run(TABLE, STATES, batch_size=8, shuffle_seed=0))
    assert found.category is ScannedRowsWarning
    assert "x[i] is not row i of the data" in str(found.message)


def test_rows_of_what_the_model_gives_that_are_taken_by_actions_are_named():
    def loss(w, x, a):
        return wg.mean((x @ w)[a].max(axis=1))

    step = wg.TrainStep(loss, np.eye(2), wg.optim.SGD(0.1))
    (told,) = warned(lambda: step.run(TABLE, STATES % 2, batch_size=4, shuffle_seed=0))
    assert told.category is ScannedRowsWarning
    assert "wg.take_along_axis(x, index[:, None], axis=1)[:, 0]" in str(told.message)


def test_rows_that_are_picked_from_are_let_pass():
    def loss(w, x, a):
        own = (x @ w)[wg.arange(a.shape[0]), a] + wg.take_along_axis(x, a[:, None], axis=1)[:, 0]
        return (
            wg.mean(own) + wg.mean(x[wg.argsort(x[:, 0])]) + wg.mean(wg.take(np.eye(2), a, axis=0))
        )

    step = wg.TrainStep(loss, np.eye(2), wg.optim.SGD(0.1))
    assert warned(lambda: step.run(TABLE, STATES % 2, batch_size=4, shuffle_seed=0)) == []
