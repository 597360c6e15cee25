"""L-BFGS: torch's trajectories (golden file), minima that are known, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from optim.lbfgs_problems import CASES, KEPT, PROBLEMS, STEPS
from wengert.errors import MissingGradient, NonFiniteError, OptimError, UntrainedWarning
from wengert.optim import LBFGS

PATH = Path(__file__).parent / "golden" / "torch_lbfgs.json"
GOLDEN = json.loads(PATH.read_text(encoding="utf-8"))["trajectories"]
TOLERANCE = 1e-10


def copied(tree):
    return {name: np.array(x) for name, x in tree.items()}


def joined(tree):
    return np.concatenate([np.ravel(x) for x in tree.values()])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def searching(**settings: Any) -> LBFGS:
    return LBFGS(**{"max_iter": 200, "line_search_fn": "strong_wolfe", **settings})


# torch.


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("case", CASES)
def test_200_steps_agree_with_torch(case, name):
    problem, optimizer = PROBLEMS[name], LBFGS(**CASES[case])
    weights, found, values = copied(problem.start), [], []
    for step in range(1, STEPS + 1):
        values.append(optimizer.step(problem.value_and_grad, weights).value)
        if step in KEPT:
            found.append(joined(weights))
    np.testing.assert_allclose(found, GOLDEN[case][name], rtol=TOLERANCE, atol=TOLERANCE)
    assert values[-1] < 0.9 * problem.value_and_grad(problem.start)[0]


def test_defaults_are_those_of_torch():
    made = LBFGS()
    assert (made.lr, made.max_iter, made.max_eval) == (1.0, 20, None)
    assert (made.tolerance_grad, made.tolerance_change) == (1e-7, 1e-9)
    assert (made.history_size, made.line_search_fn) == (100, None)


# Minima.


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [2, 5, 30])
def test_rosenbrock_converges(size, compiled):
    start = np.resize([-1.2, 1.0], size)
    result = searching(max_iter=500).minimize(rosenbrock, start, compiled=compiled)
    assert result.converged, result.message
    if result.tree[0] > 0:  # from size 4 on there is a second minimum, with a value below 4
        np.testing.assert_allclose(result.tree, 1.0, atol=1e-4)
    assert result.value < (1e-8 if size == 2 else 4.0)
    assert result.evaluations < 20 * size + 80
    assert result.value == pytest.approx(float(rosenbrock(result.tree)), rel=1e-12, abs=1e-20)
    gradient = wg.grad(rosenbrock)(result.tree)
    assert result.grad_norm == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-6, abs=1e-12)
    np.testing.assert_array_equal(start, np.resize([-1.2, 1.0], size))


@pytest.mark.parametrize("name", PROBLEMS)
def test_minima_are_those_of_scipy(name):
    problem = PROBLEMS[name]
    shapes = {key: np.shape(x) for key, x in problem.start.items()}

    def flat(x):
        parts = np.split(x, np.cumsum([math.prod(s) for s in shapes.values()])[:-1])
        tree = {k: p.reshape(s) for (k, s), p in zip(shapes.items(), parts, strict=True)}
        value, gradients = problem.value_and_grad(tree)
        return value, joined(gradients)

    # All above zero: a valley of four variables has a second minimum below.
    weights = {key: np.array(np.abs(x)) for key, x in problem.start.items()}
    best = scipy.optimize.minimize(flat, joined(weights), jac=True, method="L-BFGS-B")
    result = searching(tolerance_change=0.0).step(problem.value_and_grad, weights)
    assert result.value == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(joined(weights), best.x, atol=2e-2)
    assert result.evaluations < 2 * best.nfev + 10


def test_a_quadratic_is_solved_exactly():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(12, 12))
    matrix, right = root @ root.T + np.eye(12), rng.normal(size=12)

    def loss(x):
        return x @ matrix @ x / 2 - right @ x

    result = searching(tolerance_change=0.0).minimize(loss, np.zeros(12))
    assert result.converged
    assert result.message == "the gradient is within tolerance_grad of zero"
    np.testing.assert_allclose(result.tree, np.linalg.solve(matrix, right), atol=1e-6)
    assert result.iterations < 60


def test_minimize_passes_arguments_on():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(50, 3)), np.array([1.0, -2.0, 0.5])

    def loss(model, x, y):
        return np.mean((x @ model["w"] + model["b"] - y) ** 2)

    result = searching().minimize(loss, {"w": np.zeros(3), "b": np.zeros(())}, x, x @ w + 0.25)
    np.testing.assert_allclose(result.tree["w"], w, atol=1e-4)
    np.testing.assert_allclose(result.tree["b"], 0.25, atol=1e-4)


# Trees.


@dataclass
class Model:
    w: Any
    again: Any
    layers: Any
    steps: Any
    name: str = "model"


def test_trees_ties_data_and_dtypes():
    shared = np.full(2, 3.0)
    model = Model(shared, shared, [np.ones((2, 2), np.float32)], np.array([7]), "kept")

    def loss(m):
        return np.sum((m.w + m.again - 4) ** 2) + np.sum((m.layers[0] - 5) ** 2)

    found = searching().minimize(loss, model, compiled=False).tree
    assert type(found) is Model
    assert found.w is found.again
    np.testing.assert_allclose(found.w, 2.0, atol=1e-6)
    assert found.layers[0].dtype == np.float32
    np.testing.assert_allclose(found.layers[0], 5.0, atol=1e-5)
    assert (found.steps[0], found.name) == (7, "kept")
    np.testing.assert_array_equal(shared, 3.0)
    result = searching().step(wg.value_and_grad(loss), model)
    assert result.tree is model
    assert model.w is shared
    np.testing.assert_allclose(shared, 2.0, atol=1e-6)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_float32_goes_as_far_as_float32_can(search):
    start = np.array([-1.2, 1.0], np.float32)
    settings = {"lr": 1.0 if search else 0.2, "max_iter": 400, "line_search_fn": search}
    result = LBFGS(**settings).minimize(rosenbrock, start)
    assert result.tree.dtype == np.float32
    np.testing.assert_allclose(result.tree, 1.0, atol=3e-3)


def test_views_are_updated_in_place():
    base = np.zeros((4, 6))
    weights = {"w": base[::2, ::3]}
    searching().step(wg.value_and_grad(lambda m: np.sum((m["w"] - 1) ** 2)), weights)
    np.testing.assert_allclose(base[::2, ::3], 1.0, atol=1e-7)
    assert base.sum() == pytest.approx(4)


# State.


def test_resuming_gives_the_same_bits(tmp_path):
    problem = PROBLEMS["robust"]
    settings = {
        "max_iter": 2,
        "max_eval": 20,
        "history_size": 4,
        "line_search_fn": "strong_wolfe",
    }
    whole, straight = LBFGS(**settings), copied(problem.start)
    first, weights = LBFGS(**settings), copied(problem.start)
    for _ in range(5):
        whole.step(problem.value_and_grad, straight)
        first.step(problem.value_and_grad, weights)
    wg.save(tmp_path / "state", {"search": first.state_dict(), "weights": weights})
    saved = wg.load(tmp_path / "state")
    second, twin = LBFGS(), first.copy()
    second.load_state_dict(saved["search"])
    again, copy = saved["weights"], copied(weights)
    for _ in range(5):
        whole.step(problem.value_and_grad, straight)
        second.step(problem.value_and_grad, again)
        twin.step(problem.value_and_grad, copy)
    np.testing.assert_array_equal(joined(again), joined(straight))
    np.testing.assert_array_equal(joined(copy), joined(straight))
    assert second.state_dict()["state"]["iterations"] == 20
    assert repr(second) == repr(whole)


def test_memory_is_limited_and_can_be_cleared():
    problem = PROBLEMS["valley"]
    optimizer, weights = searching(history_size=3, max_iter=10), copied(problem.start)
    optimizer.step(problem.value_and_grad, weights)
    state = optimizer.state_dict()["state"]
    assert state["moves"].shape == state["changes"].shape == (3, 4)
    fresh, other = searching(history_size=3, max_iter=10), copied(problem.start)
    fresh.step(problem.value_and_grad, other)
    optimizer.clear_state()
    again = copied(problem.start)
    optimizer.step(problem.value_and_grad, again)
    np.testing.assert_array_equal(joined(again), joined(other))


def test_a_schedule_is_asked_once_per_step():
    asked = []

    def rate(index):
        asked.append(index)
        return 0.5

    optimizer, weights = LBFGS(rate, max_iter=2), {"x": np.ones(3)}
    for _ in range(3):
        optimizer.step(wg.value_and_grad(lambda m: np.sum(m["x"] ** 4)), weights)
    assert asked == [0, 1, 2]
    plateau = LBFGS(wg.optim.ReduceOnPlateau(0.5, patience=0))
    plateau.lr.observe(1.0)
    plateau.lr.observe(1.0)
    twin = LBFGS(wg.optim.ReduceOnPlateau(0.5, patience=0))
    twin.load_state_dict(plateau.state_dict())
    assert twin.learning_rate == plateau.learning_rate == pytest.approx(0.05)
    before = repr(twin.state_dict())
    for one, other in [
        (LBFGS(), plateau),
        (LBFGS(), optimizer),
        (twin, LBFGS()),
        (twin, optimizer),
    ]:
        with pytest.raises(OptimError, match=r"the state was saved with the (schedule|learning)"):
            one.load_state_dict(other.state_dict())
    assert repr(twin.state_dict()) == before
    twin.learning_rate = 0.25
    assert twin.lr == 0.25
    assert isinstance(twin, wg.optim.LearningRate)


# Values that are not finite, and values that rise.


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_search_backs_away_from_what_is_not_finite(search, compiled):
    # The first steps lead below zero, where the logarithm is NaN.
    def loss(x):
        return np.sum(x - 3 * np.log(x))

    optimizer = LBFGS(20.0, max_iter=100, line_search_fn=search)
    result = optimizer.minimize(loss, np.array([8.0, 10.0]), compiled=compiled)
    assert np.isfinite(result.tree).all()
    assert result.value < float(loss(np.array([8.0, 10.0])))
    if search:
        assert result.converged, result.message
        np.testing.assert_allclose(result.tree, 3.0, atol=1e-3)


def test_minus_infinity_is_no_minimum():
    def loss(x):
        return np.sum(np.where(x > 0.5, (x - 0.4) ** 2, -np.inf))

    result = searching().minimize(loss, np.array([1.0]), compiled=False)
    assert math.isfinite(result.value)
    assert 0.5 < result.tree[0] < 1.0


def test_a_gradient_that_is_not_finite_is_backed_away_from():
    def value_and_grad(tree):  # a value everywhere, a gradient only above 1
        x = tree["x"]
        return float(np.sum(x**2)), {"x": np.where(x > 1, 2 * x, np.nan)}

    weights = {"x": np.array([4.0])}
    result = searching().step(value_and_grad, weights)
    assert 1 < weights["x"][0] < 4
    assert not result.converged
    assert "further along, values or gradients are not finite" in result.message


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_start_that_is_not_finite_is_an_error(bad):
    weights = {"x": np.ones(2)}
    with pytest.raises(NonFiniteError, match=r"^LBFGS\.step: the value is -?(nan|inf) at the"):
        searching().step(lambda w: (bad, {"x": np.ones(2)}), weights)
    with pytest.raises(NonFiniteError, match=r"^LBFGS\.step: the gradient is not finite at the"):
        searching().step(lambda w: (1.0, {"x": np.array([1.0, bad])}), weights)
    np.testing.assert_array_equal(weights["x"], 1.0)


@pytest.mark.parametrize("lr", [0.01, 1.0, 5.0, 1e3, 1e12])
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_minimize_never_returns_something_worse(lr, search):
    start = np.array([-1.2, 1.0, 0.3])
    before = float(rosenbrock(start))
    for steps in (1, 2, 5, 17):
        optimizer = LBFGS(lr, max_iter=steps, line_search_fn=search)
        result = optimizer.minimize(rosenbrock, start, compiled=False)
        assert result.value <= before
        assert result.value == pytest.approx(float(rosenbrock(result.tree)), rel=1e-12)
        assert not result.converged or result.grad_norm < 1


def test_a_step_that_rose_says_so():
    weights = {"x": np.array([-1.2, 1.0])}
    value_and_grad = wg.value_and_grad(lambda m: rosenbrock(m["x"]))
    before = float(value_and_grad(weights)[0])
    result = LBFGS(300.0, max_iter=1).step(value_and_grad, weights)
    assert result.value > before
    assert f"the value rose from {before:.6g} to" in result.message
    assert not result.converged
    lowest = LBFGS(300.0, max_iter=1).minimize(rosenbrock, np.array([-1.2, 1.0]))
    assert "so the lowest is returned" in lowest.message
    np.testing.assert_array_equal(lowest.tree, [-1.2, 1.0])


def test_a_gradient_of_the_wrong_sign_ends_the_search():
    weights = {"x": np.ones(2)}
    result = searching().step(lambda w: (float(np.sum(w["x"])), {"x": -np.ones(2)}), weights)
    assert not result.converged
    assert result.message == "found no lower value along the direction"
    np.testing.assert_array_equal(weights["x"], 1.0)


def test_huge_and_tiny_gradients():
    huge = searching().minimize(lambda x: 1e200 * np.sum(x * x), np.ones(2), compiled=False)
    assert "too large to be squared" in huge.message
    assert not huge.converged
    assert huge.grad_norm == pytest.approx(math.sqrt(8) * 1e200)
    with pytest.warns(wg.errors.UnreachedWarning, match="the start is returned as it is"):
        tiny = searching().minimize(lambda x: 1e-30 * np.sum(x * x), np.ones(2), compiled=False)
    assert tiny.converged
    assert (tiny.iterations, tiny.evaluations) == (0, 1)
    zero = searching().minimize(lambda x: 0.0 * np.sum(x), np.ones(2), compiled=False)
    assert (zero.converged, zero.grad_norm) == (True, 0.0)


def test_limits_are_kept():
    problem = PROBLEMS["valley"]
    for settings, words in (
        ({"max_iter": 3, "max_eval": 50}, "made 3 iterations"),
        ({"max_eval": 7}, "evaluations; max_eval is reached"),
    ):
        weights = copied(problem.start)
        result = searching(**settings).step(problem.value_and_grad, weights)
        assert words in result.message
        assert not result.converged
        assert result.iterations <= 3 or result.evaluations <= 8


# Refusals.


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("lr", -1.0),
        ("lr", math.nan),
        ("lr", "1"),
        ("max_iter", 0),
        ("max_iter", 2.5),
        ("max_eval", 0),
        ("max_eval", True),
        ("tolerance_grad", -1e-9),
        ("tolerance_change", math.inf),
        ("history_size", 0),
        ("line_search_fn", "wolfe"),
        ("line_search_fn", True),
    ],
)
def test_settings_are_checked_when_made_and_when_changed(name, bad):
    with pytest.raises(OptimError, match=rf"^LBFGS: {name}=.* was given; it must be "):
        LBFGS(**{name: bad})
    made = LBFGS()
    before = getattr(made, name)
    with pytest.raises(OptimError):
        setattr(made, name, bad)
    assert getattr(made, name) == before


@pytest.mark.parametrize(
    ("value_and_grad", "weights", "error", "words"),
    [
        (lambda w: 1.0, {"x": np.ones(2)}, OptimError, "the function returned float; it must"),
        (lambda w: (np.ones(2), w), {"x": np.ones(2)}, OptimError, r"a value of shape \(2,\)"),
        (lambda w: (1.0, {}), {"x": np.ones(2)}, MissingGradient, "no array for 'x'"),
        (lambda w: (1.0, {"x": np.ones(3)}), {"x": np.ones(2)}, OptimError, r"shape \(3,\)"),
        (lambda w: (1.0, w), {"x": np.arange(2)}, OptimError, "without float arrays"),
        (lambda w: (1.0, w), {"x": np.ones(0)}, OptimError, "or with empty ones"),
        (lambda w: (1.0, w), {}, OptimError, "without float arrays"),
        (lambda w: (1.0, w), {"x": np.broadcast_to(1.0, 3)}, OptimError, "are read-only"),
        (lambda w: (1.0, w), {"x": np.float64(1.0)}, OptimError, "are a NumPy scalar, float64"),
    ],
)
def test_what_cannot_be_minimised_is_refused(value_and_grad, weights, error, words):
    with pytest.raises(error, match=rf"^LBFGS\.step: .*{words}"):
        LBFGS().step(value_and_grad, weights)


def test_other_weights_are_refused_and_nothing_changes():
    optimizer, weights = searching(), {"x": np.full(3, 2.0)}
    optimizer.step(wg.value_and_grad(lambda m: np.sum(m["x"] ** 4)), weights)
    before = optimizer.state_dict()
    with pytest.raises(OptimError, match="given 4 weights and state for 3"):
        optimizer.step(wg.value_and_grad(lambda m: np.sum(m["x"])), {"x": np.ones(4)})
    assert repr(optimizer.state_dict()) == repr(before)


def test_an_error_in_the_function_changes_nothing():
    calls = []

    def value_and_grad(w):
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("stop")
        return float(np.sum(w["x"] ** 4)), {"x": 4 * w["x"] ** 3}

    optimizer, weights = searching(), {"x": np.full(3, 2.0)}
    with pytest.raises(RuntimeError, match="stop"):
        optimizer.step(value_and_grad, weights)
    np.testing.assert_array_equal(weights["x"], 2.0)
    assert optimizer.state_dict()["state"]["iterations"] == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda s: 3,
        lambda s: {},
        lambda s: {**s, "state": 3},
        lambda s: {**s, "kind": "SGD"},
        lambda s: {**s, "settings": {"lr": 1.0}},
        lambda s: {**s, "settings": {**s["settings"], "momentum": 0.9}},
        lambda s: {**s, "settings": {**s["settings"], "max_iter": -1}},
        lambda s: {**s, "state": {**s["state"], "steps": -1}},
        lambda s: {**s, "state": {**s["state"], "rate": math.nan}},
        lambda s: {**s, "state": {**s["state"], "more": 1}},
        lambda s: {**s, "state": {k: v for k, v in s["state"].items() if k != "moves"}},
        lambda s: {**s, "state": {**s["state"], "moves": np.zeros((9, 4))}},
        lambda s: {**s, "state": {**s["state"], "gradient": np.zeros(5)}},
        lambda s: {**s, "state": {**s["state"], "direction": np.zeros(4, np.float32)}},
    ],
)
def test_a_bad_state_changes_nothing(change):
    problem = PROBLEMS["valley"]
    optimizer = searching(max_iter=5)
    optimizer.step(problem.value_and_grad, copied(problem.start))
    before = repr(optimizer.state_dict())
    other = searching(max_iter=3)
    other.step(problem.value_and_grad, copied(problem.start))
    with pytest.raises(OptimError, match=r"^LBFGS"):
        optimizer.load_state_dict(change(other.state_dict()))
    assert repr(optimizer.state_dict()) == before


def test_a_function_is_recorded_once():
    recorded, target = [], {"at": np.ones(2)}

    def loss(w, scale):
        recorded.append(1)
        return wg.sum((w - target["at"]) ** 2) * scale

    search = searching()
    for begin in (3.0, -2.0, 5.0):
        result = search.minimize(loss, np.full(2, begin), np.array(2.0))
        np.testing.assert_allclose(result.tree, 1.0, atol=1e-6)
    assert len(recorded) == 1
    target["at"] = np.zeros(2)  # what it reads from outside is looked at
    np.testing.assert_allclose(search.minimize(loss, np.ones(2), np.array(2.0)).tree, 0, atol=1e-6)
    assert len(recorded) == 2
    search.copy().minimize(loss, np.ones(2), np.array(2.0))  # of its own
    assert len(recorded) == 3


def test_a_method_is_one_function_and_only_a_few_are_remembered():
    recorded = []

    @dataclass
    class Problem:
        place: float

        def loss(self, w):
            recorded.append(self.place)
            return wg.sum((w - self.place) ** 2)

    search, problems = searching(), [Problem(float(i)) for i in range(6)]
    for each in problems:
        for _ in range(2):
            found = search.minimize(each.loss, np.zeros(1)).tree
            np.testing.assert_allclose(found, each.place, atol=1e-6)
    assert recorded == [each.place for each in problems]
    assert len(search._minimized._known) == 4
    search.minimize(problems[0].loss, np.zeros(1))  # forgotten meanwhile
    assert len(recorded) == 7


@dataclass
class _Line:
    k: float
    b: Any


def test_python_floats_that_are_not_fitted_are_named():
    def distance(p, x, y):
        return np.mean((p["k"] * x + p["b"] - y) ** 2)

    x = np.linspace(0, 1, 9)
    search = LBFGS(max_iter=50, line_search_fn="strong_wolfe")
    start = {"k": 0.5, "b": np.zeros(())}
    with pytest.warns(UntrainedWarning, match=r"LBFGS.minimize: leaf 'k' of the tree"):
        search.minimize(distance, start, x, 3 * x + 1)
    with pytest.warns(UntrainedWarning, match=r"LBFGS.step: leaf 'k' .* np.float64\(0.5\)"):
        search.step(wg.value_and_grad(lambda p: distance(p, x, x)), start)
    with pytest.warns(UntrainedWarning, match="SGD.init: leaf 'k' of the model"):
        wg.optim.SGD(0.1).init(start)
    found = search.minimize(
        lambda p, x, y: np.mean((p.k * x + p.b - y) ** 2), _Line(3.0, np.zeros(())), x, 3 * x + 1
    )
    assert found.tree.b == pytest.approx(1.0)  # a field of a dataclass is a setting


def test_a_gradient_of_zero_at_the_start_is_told():
    with pytest.warns(wg.errors.UnreachedWarning, match="gradient by all weights is exactly 0"):
        found = searching().minimize(lambda w: wg.sum(wg.cos(w)), np.zeros(3), compiled=False)
    assert found.iterations == 0


def of_line(p, t, y):
    return wg.mean((p[0] * t + p[1] - y) ** 2)


def test_series_of_pandas_are_data():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"t": np.arange(5.0), "y": 2 * np.arange(5.0) + 1})
    search = wg.optim.LBFGS(line_search_fn="strong_wolfe")
    found = search.minimize(of_line, np.zeros(2), frame.t, frame.y)
    plain = search.minimize(of_line, np.zeros(2), frame.t.to_numpy(), frame.y.to_numpy())
    np.testing.assert_array_equal(found.tree, plain.tree)
    by_name = search.minimize(lambda p, d: of_line(p, d["t"], d["y"]), np.zeros(2), dict(frame))
    np.testing.assert_array_equal(by_name.tree, plain.tree)


@pytest.mark.filterwarnings("ignore::wengert.errors.UnreachedWarning")
def test_a_search_that_ends_where_it_is_says_of_no_rise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    y = x @ [1.0, 2.0, 3.0] + rng.standard_t(2, size=30)
    search = wg.optim.LBFGS(max_iter=200, line_search_fn="strong_wolfe")
    found = search.minimize(lambda b, x, y: wg.mean(wg.abs(x @ b - y)), np.zeros(3), x, y)
    assert found.message == "found no lower value along the direction"
