"""Axes of batch arguments that are left open beside axis 0."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import RandomnessWarning, ShapeError, SizeWarning

TIME = wg.Dim("time")


def count_of(function):
    calls = []

    def counted(*args):
        calls.append(len(args))
        return function(*args)

    counted.__signature__ = inspect.signature(function)
    return counted, calls


def loss(w, x, y):
    return wg.mean((wg.sum(x * w, axis=-1) - y) ** 2)


@pytest.mark.parametrize("axis", [1, -2])
def test_a_step_for_any_length(axis):
    counted, calls = count_of(loss)
    step = wg.TrainStep(
        counted, np.ones(2), wg.optim.SGD(0.1), dims={"x": {axis: TIME}, "y": {1: TIME}}
    )
    plain = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), compiled=False)
    rng = np.random.default_rng(0)
    for rows, time in ((3, 5), (3, 6), (4, 7), (2, 2)):
        x, y = rng.standard_normal((rows, time, 2)), rng.standard_normal((rows, time))
        np.testing.assert_allclose(step(x, y), plain(x, y), rtol=1e-12)
    assert len(calls) == 1
    step.run(np.ones((32, 9, 2)), np.ones((32, 9)), batch_size=4)
    assert len(calls) == 1


def test_a_bound_function_for_any_length():
    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1))
    counted, calls = count_of(lambda w, x: wg.sum(x["a"] * w, axis=1))
    bound = step.bind(counted, dims={"x.a": {1: TIME}})
    for rows, time in ((3, 5), (4, 6), (4, 7)):
        assert np.array_equal(bound({"a": np.ones((rows, time, 2))}), np.full((rows, 2), time))
    assert len(calls) == 1


def test_medians_and_quantiles_of_a_batch_leave_its_size_open():
    def trimmed(w, x, y):
        errors = wg.abs(x @ w - y)
        kept = errors <= wg.quantile(wg.stop_gradient(errors), 0.8)
        return wg.sum(wg.where(kept, errors**2, 0)) / wg.sum(kept)

    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.normal(size=3)
    step = wg.TrainStep(trimmed, w, wg.optim.SGD(0.0))
    middle = step.bind(lambda w, x, y: wg.median(wg.abs(x @ w - y)))
    for rows in (30, 20, 7, 1):
        errors = np.abs(x[:rows] @ w - y[:rows])
        kept = errors <= np.quantile(errors, 0.8)
        np.testing.assert_allclose(step(x[:rows], y[:rows]), np.mean(errors[kept] ** 2))
        np.testing.assert_allclose(middle(x[:rows], y[:rows]), np.median(errors))


def test_an_axis_0_of_its_own():
    counted, calls = count_of(lambda w, x, y: wg.mean(x) + wg.mean(y) * wg.sum(w))
    step = wg.TrainStep(counted, np.ones(2), wg.optim.SGD(0.1), dims={"y": {0: wg.Dim("others")}})
    for rows, others in ((3, 3), (3, 4), (5, 2)):
        step(np.ones((rows, 1)), np.ones((others, 1)))
    assert len(calls) == 1


def test_what_cannot_be_opened_is_refused():
    x = np.ones((2, 3, 2))
    with pytest.raises(TypeError, match="dims"):
        wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), dims={"x": 1})
    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), dims={"z": {1: TIME}})
    with pytest.raises(ShapeError, match="dims names z"):
        step(x, np.ones((2, 3)))
    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), dims={"x": {5: TIME}})
    with pytest.raises(ShapeError, match="axis 5"):
        step(x, np.ones((2, 3)))
    with pytest.raises(TypeError, match=r"TrainStep.bind: dims"):
        step.bind(loss, dims=3)


def test_bound_functions_serve_callers_of_both_precisions():
    step = wg.TrainStep(loss, np.ones(2, np.float32), wg.optim.SGD(0.1))
    bound = step.bind(lambda w, x: x @ w)
    for dtype in (np.float32, np.float64, np.float32, np.float64):
        found = bound(np.ones((3, 2), dtype))
        assert found.dtype == np.float32
        assert found[0] == 2.0


@pytest.mark.filterwarnings("error::wengert.errors.WengertWarning")
@pytest.mark.parametrize("axis", [1, -2])
def test_a_fixed_number_of_rows_leaves_other_axes_open(axis):
    counted, calls = count_of(lambda w, h, x: (wg.mean(((x @ w).sum(1) + h) ** 2), h))
    step = wg.TrainStep(
        counted,
        np.ones((3, 4)),
        wg.optim.SGD(0.01),
        state=np.zeros((8, 4)),
        dims={"x": {axis: TIME}},
    )
    step(np.ones((8, 5, 3)))
    recorded = len(calls)
    for time in (6, 7, 8, 9):
        step(np.ones((8, time, 3)))
    assert len(calls) == recorded


def test_sizes_that_cannot_be_left_open_are_a_warning():
    def fixed(w, x):
        return wg.mean(x @ w + np.ones((5, 1)))

    step = wg.TrainStep(fixed, np.ones((2, 1)), wg.optim.SGD(0.1), dims={"x": {1: TIME}})
    with pytest.warns(SizeWarning, match=r"dims={'x': {1: time}} was given, and the function"):
        step(np.ones((3, 5, 2)))


def test_an_error_of_the_loss_is_about_real_sizes():
    step = wg.TrainStep(
        lambda w, x: wg.mean(x @ w), np.ones((2, 1)), wg.optim.SGD(0.1), dims={"x": {1: TIME}}
    )
    with pytest.raises(ShapeError, match=r"\(3, 5, 4\)"):
        step(np.ones((3, 5, 4)))


FIXED = {
    "key": (
        lambda w, x, key: x @ w + wg.random.uniform(key, (x.shape[0], 2)),
        lambda: (wg.random.key(0),),
    ),
    "mean": (lambda w, x, mean: (x - mean) @ w, lambda: (np.full(3, 0.5),)),
    "matrix": (lambda w, x, other: x @ w + x @ other, lambda: (np.ones((3, 2)),)),
    "two": (
        lambda w, x, mean, key: (x - mean) @ w + wg.random.uniform(key, (x.shape[0], 2)),
        lambda: (np.full(3, 0.5), wg.random.key(0)),
    ),
    "one": (  # that is broadcast, and joined: two sizes have to be numbers at once
        lambda w, x, a, b, v: (
            np.concatenate([x, x @ a + b], axis=1) @ v + wg.sum(x @ w, axis=1, keepdims=True)
        ),
        lambda: (np.ones((3, 1)), np.ones(1), np.ones((4, 1))),
    ),
    "tree": (
        lambda w, x, net: wg.tanh(x @ net["a"] + net["b"]) @ net["c"] + x @ w,
        lambda: ({"a": np.ones((3, 5)), "b": np.ones(5), "c": np.ones((5, 2))},),
    ),
}


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("way", ["bind", "step"])
def test_arguments_of_one_size_do_not_fix_the_others(kind, way):
    f, make_rest = FIXED[kind]
    rest, model = make_rest(), np.arange(6.0).reshape(3, 2) / 8
    step = wg.TrainStep(lambda w, *batch: wg.mean(f(w, *batch)), model, wg.optim.SGD(0.0))
    sizes = (8, 9, 10, 11, 12, 13)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", wg.errors.RandomnessWarning)  # one key for all calls
        if way == "bind":
            bound = step.bind(f)
            for k in sizes:
                x = np.arange(3.0 * k).reshape(k, 3) / 16
                np.testing.assert_allclose(bound(x, *rest), f(model, x, *rest), rtol=1e-12)
        else:
            for k in sizes:
                x = np.arange(3.0 * k).reshape(k, 3) / 16
                np.testing.assert_allclose(step(x, *rest), np.mean(f(model, x, *rest)), rtol=1e-12)


def test_a_program_for_all_sizes_beside_a_key():
    made = []

    def f(w, x, key):
        made.append(x.shape[0])
        return x @ w + wg.random.uniform(key, (x.shape[0], 2))

    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones((3, 2)), wg.optim.SGD(0.0))
    act = step.bind(f)
    act(np.ones((8, 3)), wg.random.key(0))
    known = len(made)
    for k in range(9, 20):
        act(np.ones((k, 3)), wg.random.key(0))
    assert len(made) == known


@pytest.mark.parametrize("way", ["bind", "step", "compile"])
def test_a_size_that_the_function_compares_is_part_of_the_program(way):
    def f(w, x):
        return wg.sum(x * w) if x.shape[0] == 1 else wg.mean(x * w)

    step = wg.TrainStep(f, np.ones(2), wg.optim.SGD(0.0))
    compiled = wg.compile(f, dims={"x": {0: wg.Dim("rows")}})
    calls = {"bind": step.bind(f), "step": step, "compile": lambda x: compiled(np.ones(2), x)}
    call = calls[way]
    with pytest.warns(SizeWarning, match="Python needed the size"):
        assert [float(call(np.ones((n, 2)))) for n in (3, 1, 2)] == [1.0, 2.0, 1.0]


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: np.random.randint(0, 2, size=n),
        lambda n: np.random.choice(2, n),
        lambda n: np.random.choice([0, 1], size=n, p=[0.5, 0.5]),
        lambda n: np.random.default_rng().integers(0, 2, size=n),
        lambda n: np.random.default_rng().choice(2, size=n),
    ],
)
def test_numpy_draws_as_many_numbers_as_there_are_rows(draw):
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.0))
    act = step.bind(lambda w, x: draw(x.shape[0]) + 0 * wg.sum(x @ w))
    with pytest.warns(SizeWarning, match="Python needed the size"), pytest.warns(RandomnessWarning):
        assert act(np.ones((99, 2))).shape == (99,)


def test_a_python_list_is_repeated_as_often_as_there_are_rows():
    step = wg.TrainStep(
        lambda w, x: wg.sum(wg.stack([w] * x.shape[0])), np.ones(2), wg.optim.SGD(0.0)
    )
    with pytest.warns(SizeWarning, match="Python needed the size"):
        assert step(np.ones((3, 1))) == 6.0


def test_a_users_exception_is_his_at_once():
    calls = []

    def loss(w, x):
        calls.append(1)
        raise KeyError("mine")

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.0))
    with pytest.raises(KeyError, match="mine"):
        step(np.ones((3, 2)))
    assert len(calls) == 1


def test_a_dim_may_be_called_as_the_batch_is():
    step = wg.TrainStep(
        lambda w, x: wg.mean(x * w),
        np.ones(()),
        wg.optim.SGD(0.0),
        dims={"x": {1: wg.Dim("batch")}},
    )
    assert step(np.ones((3, 4))) == step(np.ones((5, 2))) == 1.0


def two_layers(sizes):
    """Weights as (out, in), so that an open axis 0 would reach the result."""
    return {
        f"layer{i}": {"w": np.full((n, m), 0.1), "b": np.zeros(n)}
        for i, (m, n) in enumerate(itertools.pairwise(sizes))
    }


def forward(model, x):
    for layer in model.values():
        x = wg.tanh(x @ layer["w"].T + layer["b"])
    return x


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sizes", [[2, 5, 6], [2, 7, 5, 6]])  # of the model's form, and of another
@pytest.mark.parametrize("rows", [5, 4])  # 5 is also the size of a layer
def test_a_target_network_as_an_argument_leaves_the_batch_open(sizes, rows):
    def temporal(q, target, x):
        goal = wg.reshape(forward(target, x), (x.shape[0], 2, 3))
        return wg.mean((wg.reshape(forward(q, x), (x.shape[0], 2, 3)) - goal) ** 2)

    counted, calls = count_of(temporal)
    q, target = two_layers([2, 5, 6]), two_layers(sizes)
    step = wg.TrainStep(counted, q, wg.optim.SGD(0.1))
    step(target, np.ones((rows, 2)))
    known = len(calls)
    for n in (8, 9, 10, 11):
        step(wg.tree.copy(target), np.ones((n, 2)))
    alike_by_chance = rows in sizes and sizes != [2, 5, 6]  # then it is recorded once more
    assert len(calls) - known <= (known if alike_by_chance else 0)


@pytest.mark.filterwarnings("error")
def test_an_actor_among_the_arguments_of_a_critics_step_keeps_its_sizes():
    def temporal(q, target, x):
        out = target["actor"](x)
        return wg.mean((q(wg.concat([x, out[:, :2]], axis=1))[:, 0] + out[:, 2:].sum(1)) ** 2)

    counted, calls = count_of(temporal)
    target = {"actor": wg.nn.Linear(4, 4, seed=0)}
    step = wg.TrainStep(counted, wg.nn.Linear(6, 1, seed=1), wg.optim.SGD(0.1))
    step(target, np.ones((8, 4), np.float32))
    known = len(calls)
    for rows in (8, 4, 9):
        step(wg.tree.copy(target), np.ones((rows, 4), np.float32))
    assert len(calls) == known


def test_a_batch_of_the_models_form_and_another_size_is_open():
    counted, calls = count_of(lambda m, batch: wg.mean(batch["x"] * m["x"]))
    step = wg.TrainStep(counted, {"x": np.ones((4, 2))}, wg.optim.SGD(0.0))
    step({"x": np.ones((1, 4, 2))})
    known = len(calls)
    assert [step({"x": np.ones((n, 4, 2))}) for n in (4, 7)] == [1.0, 1.0]
    assert len(calls) == known


def test_a_mask_made_of_the_number_of_rows_is_told_with_the_first_program():
    def contrasts(w, x):
        z = x * w
        return wg.logsumexp((z @ z.T)[~wg.eye(x.shape[0], dtype=bool)])

    def as_advised(w, x):
        z = x * w
        return wg.logsumexp(wg.where(~wg.eye(x.shape[0], dtype=bool), z @ z.T, -np.inf))

    counted, calls = count_of(as_advised)
    masked, open_step = (
        wg.TrainStep(f, np.ones(2), wg.optim.SGD(0.1)) for f in (contrasts, counted)
    )
    x = np.random.default_rng(0).standard_normal((4, 2))
    with pytest.warns(SizeWarning, match=r"How many elements a mask chooses .* wg.where\(mask, x"):
        value = masked(x)
    np.testing.assert_allclose(open_step(x), value)
    np.testing.assert_allclose(open_step.model, masked.model)
    open_step(x[:3])
    assert len(calls) == 1


PACKAGE = """
import operator

def length(x):
    return operator.index(x.shape[0])

def refused(x):
    length(x)
    raise TypeError("not a valid type")
"""


def test_a_package_that_needs_a_size_is_told_where_it_goes_on(tmp_path):
    package: dict[str, object] = {}
    exec(compile(PACKAGE, str(tmp_path / "site-packages" / "theirs.py"), "exec"), package)
    length, refused = package["length"], package["refused"]
    step = wg.TrainStep(lambda w, x: wg.mean(w * x) * length(x), np.array(1.0), wg.optim.SGD(0.1))
    with pytest.warns(SizeWarning, match=r"Python needed the size batch .* at theirs\.py"):
        step(np.ones(4))
    step = wg.TrainStep(lambda w, x: refused(w * x), np.array(1.0), wg.optim.SGD(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match="not a valid type"):
            step(np.ones(4))
