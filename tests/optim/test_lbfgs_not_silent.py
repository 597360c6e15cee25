"""What a search of L-BFGS does not change, or does not give: it says so, and right programs hear
nothing.
"""

import numpy as np
import pytest
from train.warned_steps import warned

import wengert as wg
from wengert.errors import (
    DropoutWarning,
    NonFiniteError,
    UnreachedWarning,
    UntrainedWarning,
    UnusedWarning,
)
from wengert.optim.quasi_newton import handed_back

T = np.arange(12) * 0.5
Y = (T > 3) * 1.0
ENCODER, OTHER = wg.nn.Linear(2, 3, seed=0), wg.nn.Linear(3, 1, seed=2)
POINTS = np.random.default_rng(0).standard_normal((8, 2)).astype(np.float32)


def searching():
    return wg.optim.LBFGS(max_iter=3, max_eval=40, line_search_fn="strong_wolfe")


def told(function, tree, *args, **options):
    """The kinds of what a search says, and the texts."""
    said = warned(lambda: searching().minimize(function, tree, *args, **options))
    return [each.category for each in said], " ".join(str(each.message) for each in said)


def line(p):
    return np.sum((p["slope"] * T + p["offset"] - Y) ** 2)


def change_point(p):
    return np.sum((np.where(p["t0"] < T, p["h"], 0.0) - Y) ** 2)


def smooth_point(p):
    return np.sum((p["h"] * wg.sigmoid((T - p["t0"]) / 0.5) - Y) ** 2)


def picked(p):
    return np.sum((p["h"][p["classes"]] - 1.0) ** 2) + np.sum(p["classes"].astype(np.float64))


def test_integers_that_the_function_uses_as_floats_are_named():
    kinds, text = told(line, {"slope": np.array(1.0), "offset": np.array(5)})
    assert kinds == [UntrainedWarning]
    assert "leaf 'offset' of the tree is an array of int64" in text
    assert told(line, {"slope": np.array(1.0), "offset": np.array(5.0)}) == ([], "")
    assert told(picked, {"h": np.zeros(2), "classes": np.array([0, 1, 1])}) == ([], "")


def test_parameters_that_no_gradient_comes_back_from_are_named():
    point = {"t0": np.array(5.0), "h": np.array(0.5)}
    kinds, text = told(change_point, point)
    assert kinds == [UnreachedWarning]
    assert "computes with 't0'" in text
    assert told(smooth_point, point) == ([], "")
    unused = {**point, "of another function": np.zeros(2)}
    assert told(smooth_point, unused) == ([], "")


def test_a_layer_from_outside_is_named_where_layers_are_fitted():
    def loss(head, x):
        return wg.mean((head(np.tanh(ENCODER(x))) - 1) ** 2)

    def given(head, encoder, x):
        return wg.mean((head(np.tanh(encoder(x))) - 1) ** 2)

    def towards(head, x):
        return wg.mean((head(x) - OTHER(x)) ** 2)

    def design(x):
        return wg.sum(ENCODER(x) ** 2)

    kinds, text = told(loss, wg.nn.Linear(3, 1, seed=1), POINTS)
    assert kinds == [UntrainedWarning]
    assert "calls ENCODER, a Linear from outside of the tree; its 2 arrays are" in text
    assert told(given, wg.nn.Linear(3, 1, seed=1), ENCODER, POINTS) == ([], "")
    assert told(towards, wg.nn.Linear(3, 1, seed=1), POINTS[:, [0, 1, 1]]) == ([], "")  # a target
    assert told(design, POINTS) == ([], "")  # the inputs of a finished network are searched for


START = {"w": np.array([1.0, -2.0]), "b": np.array([0.5])}
NET = wg.nn.Linear(2, 1, seed=3)
DATA = POINTS.astype(np.float64)


def fitted(p, x):
    return wg.mean((x @ p["w"] + p["b"] - 1.0) ** 2)


READ = {
    "all of it": lambda p, x: fitted(START, x),
    "beside a penalty": lambda p, x: fitted(START, x) + wg.sum(p["w"] ** 2) + wg.sum(p["b"] ** 2),
    "one leaf": lambda p, x: fitted({"w": START["w"], "b": p["b"]}, x),
    "a part of one": lambda p, x: fitted({"w": START["w"][:1], "b": p["b"]}, x[:, :1]),
}


@pytest.mark.parametrize("way", READ)
def test_a_function_that_reads_the_start_is_told(way):
    kinds, text = told(READ[way], START, DATA)
    assert kinds == [UntrainedWarning]
    more = " and 1 more" if way in ("all of it", "beside a penalty") else ""
    assert f"the function reads leaf 'w' of the tree{more} that the search begins with" in text


def test_a_network_that_is_read_in_the_place_of_the_argument_is_told():
    kinds, text = told(lambda net, x: wg.mean((NET(x) - 1) ** 2), NET, POINTS)
    assert kinds == [UntrainedWarning]
    assert "the function reads leaf 'weight' of the tree and 1 more that the search" in text


COMPARED = {
    "a penalty of the distance": lambda p, x: (
        fitted(p, x) + wg.sum((p["w"] - START["w"]) ** 2) + wg.sum((p["b"] - START["b"]) ** 2)
    ),
    "the distance alone": lambda p, x: wg.sum((p["w"] - START["w"]) ** 2) + wg.sum(p["b"] ** 2),
    "results of both": lambda p, x: wg.mean((fitted(p, x) - 0.5 * fitted(START, x)) ** 2),
    "an improvement": lambda p, x: fitted(p, x) - fitted(START, x),
    "a linear model around it": lambda p, x: (
        wg.sum(p["w"] * (x.T @ (x @ START["w"]))) + wg.sum((p["w"] - START["w"]) ** 2)
    ),
    "weights of a penalty": lambda p, x: (
        wg.sum((x @ START["w"]) ** 2) * wg.sum(p["w"] ** 2) + wg.sum(p["b"] ** 2)
    ),
}


@pytest.mark.parametrize("way", COMPARED)
def test_a_function_that_compares_with_the_start_is_let_pass(way):
    assert told(COMPARED[way], START, DATA) == ([], "")


@pytest.mark.parametrize("start", [np.zeros(2), np.ones(2), np.array(1.0)])
def test_a_start_of_equal_numbers_may_be_compared_with(start):
    assert told(lambda p: wg.sum((p - start) ** 2) + wg.sum(p**4 - p), start) == ([], "")
    assert told(lambda p: wg.sum((p * (start + p)) ** 2) + wg.sum(p), start) == ([], "")


def test_a_start_that_is_a_part_of_the_data_or_an_argument_is_let_pass():
    rows = POINTS.copy()

    def nearest(centres, x):
        return wg.sum(wg.min(wg.sum((rows[:, None] - centres) ** 2, axis=2), axis=1)) + x

    assert told(nearest, rows[:3], 0.0) == ([], "")
    assert told(lambda p, s, x: fitted(p | {"w": s["w"]}, x), START, START, DATA) == ([], "")


def test_a_dropout_without_a_generator_is_told():
    def loss(net, x):
        return wg.mean(wg.dropout(net(x), 0.5) ** 2)

    def drawing(net, x):
        drawn = wg.random.Generator(wg.random.key(0))
        return wg.mean(wg.dropout(net(x), 0.5, drawn) ** 2)

    assert told(loss, ENCODER, POINTS)[0] == [DropoutWarning]
    assert told(drawing, ENCODER, POINTS) == ([], "")


def square(a):
    return wg.sum((a - 3) ** 2)


def dropped(search, start):
    search.minimize(square, start)


def dropped_at_once(_, start):
    wg.optim.LBFGS().minimize(square, start)


def warmed_up(search, start):
    search.minimize(square, start)
    return search.minimize(square, start).tree


def tried(search, start):
    try:
        search.minimize(square, start)
    except NonFiniteError:
        return


def test_a_result_that_nothing_reads_is_told():
    search, start = searching(), np.zeros(1)
    for call in (dropped, dropped_at_once):
        (said,) = warned(lambda call=call: call(search, start))
        assert said.category is UnusedWarning
        assert "Write tree = search.minimize(…).tree" in str(said.message)
    for call in (warmed_up, tried):
        assert warned(lambda call=call: call(search, start)) == []


def test_estimators_read_what_they_search_for():
    x, y = np.linspace(0, 1, 20)[:, None], np.linspace(0, 2, 20)

    def fitted():
        model = wg.sklearn.MLPRegressor((2,), solver="lbfgs", max_iter=2)
        model.fit(x, y)

    assert [each for each in warned(fitted) if each.category is UnusedWarning] == []


def lennard_jones(r, unit):
    return unit * (r[0] ** -12 - r[0] ** -6)


def test_a_start_that_is_returned_as_values_are_small_is_told():
    handed_back._results.clear()  # other tests may have come to these places
    kinds, text = told(lennard_jones, np.array([1.3]), 1.6e-19)
    assert kinds == [UnreachedWarning]
    assert "falls to -3.8" in text
    assert "multiply the function by a number such as 1e+20" in text
    assert told(lambda a: 1e-12 * wg.sum((a - 3) ** 2), np.zeros(2))[0] == [UnreachedWarning]
    chosen = wg.optim.LBFGS(tolerance_grad=1e-6)
    assert warned(lambda: chosen.minimize(lennard_jones, np.array([1.3]), 1.6e-19)) == []


def test_a_start_that_is_the_minimum_is_not_told():
    lowest = 2 ** (1 / 6)
    for start in (lowest, lowest + 1e-9, lowest - 1e-3):
        assert told(lennard_jones, np.array([start]), 1.6e-19) == ([], "")
    assert told(square, np.full(2, 3 + 1e-9)) == ([], "")  # its value is 0 but for rounding
    assert told(lambda a: wg.sum(a**4), np.full(2, 1e-3)) == ([], "")
    assert told(lambda a: 1 + 1e-9 * wg.sum(a**2), np.ones(2)) == ([], "")
    separable = POINTS[:, 0], (POINTS[:, 0] > 0).astype(np.float32)
    search, start = wg.optim.LBFGS(max_iter=100, line_search_fn="strong_wolfe"), np.zeros(1)

    def again():
        first = search.minimize(lambda w, x, y: wg.bce_with_logits(w * x, y), start, *separable)
        return search.minimize(lambda w, x, y: wg.bce_with_logits(w * x, y), first.tree, *separable)

    assert warned(again) == []


def distance(a, d):
    return wg.mean((a - d) ** 2)


def decay(p, t, y):
    return wg.mean((p["a"] * np.exp(-t / p["tau"]) - y) ** 2)


SECONDS = np.linspace(0, 50e-9, 100)
COUNTS = 1000 * np.exp(-SECONDS / 5e-9)


def test_an_end_that_is_no_minimum_of_small_weights_is_told():
    handed_back._results.clear()
    for unit in (1e-9, 1e-6):
        for start in (0.0, 1.0, 8.0, -1.0):
            kinds, text = told(distance, np.array(start * unit), np.full(5, 3 * unit))
            assert kinds == [UnreachedWarning]
            assert f"/ 1e{round(np.log10(unit))}, or for a logarithm, and multiply the" in text
    start = {"a": np.array(500.0), "tau": np.array(8e-9)}
    kinds, text = told(decay, start, SECONDS, COUNTS)
    assert kinds == [UnreachedWarning]
    assert "if 'a' alone changes by 0.1" in text
    assert "search for tau / 1e-9, or for a logarithm." in text
    flat = told(
        lambda p, *data: decay({"a": p[0], "tau": p[1]}, *data),
        np.array([500.0, 8e-9]),
        SECONDS,
        COUNTS,
    )
    assert "search for tree[1] / 1e-9" in flat[1]


def test_one_array_under_two_names_is_told_by_the_name_of_the_search():
    zeros = np.zeros(2)
    (said,) = warned(
        lambda: searching().minimize(
            lambda p: wg.sum((p["a"] - 1) ** 2 + (p["b"] - 2) ** 2), {"a": zeros, "b": zeros}
        )
    )
    assert str(said.message).startswith("LBFGS.minimize: one array, whose numbers are all 0.0")


METRES = 3.4e-10


def in_joules(r):
    """The energy of two atoms at these distances, which falls towards 0 as they grow."""
    return 6.6e-21 * wg.sum((METRES / r) ** 12 - (METRES / r) ** 6)


def test_a_start_in_units_of_physics_that_is_returned_is_told():
    handed_back._results.clear()
    for part in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.3):
        kinds, text = told(in_joules, np.array([part * METRES]))
        assert kinds == [UnreachedWarning]
        assert "search for tree[0] / 1e-10, or for a logarithm, and multiply the function" in text
    assert told(in_joules, np.array([2 ** (1 / 6) * METRES])) == ([], "")
    repelled = told(lambda r: 6.6e-21 * wg.sum((METRES / r) ** 12), np.array([0.8 * METRES]))
    assert repelled == ([], "")  # falls for ever


def test_an_end_with_a_large_gradient_is_told():
    t = np.linspace(0, 3, 60)

    def misfit(p):
        return wg.mean((wg.exp(20 * p * t) - wg.exp(t)) ** 2)

    search = wg.optim.LBFGS(max_iter=200, max_eval=400, line_search_fn="strong_wolfe")
    ends = []
    (said,) = warned(lambda: ends.append(search.minimize(misfit, np.array(1.0))))
    assert said.category is UnreachedWarning
    assert "down the gradient, which is 5e+02 at most. Search again from there" in str(said.message)
    assert warned(lambda: ends.append(search.minimize(misfit, ends[0].tree))) == []
    np.testing.assert_allclose(ends[1].tree, 0.05, atol=1e-5)


def test_searches_in_scaled_weights_come_to_the_minimum_and_are_not_told():
    handed_back._results.clear()
    search = wg.optim.LBFGS(max_iter=300, max_eval=2000, line_search_fn="strong_wolfe")

    def scaled(p, t, y):
        return decay({"a": p["a"], "tau": p["tau"] * 1e-9}, t, y)

    def logarithms(p, t, y):
        return decay({name: np.exp(x) for name, x in p.items()}, t, y)

    def come_to():
        fit = search.minimize(scaled, {"a": np.array(500.0), "tau": np.array(8.0)}, SECONDS, COUNTS)
        logs = {"a": np.array(np.log(500.0)), "tau": np.array(np.log(8e-9))}
        other = search.minimize(logarithms, logs, SECONDS, COUNTS)
        assert np.allclose([fit.tree["tau"], 1e9 * np.exp(other.tree["tau"])], 5.0, atol=1e-4)

    assert warned(come_to) == []


def test_an_end_near_the_minimum_is_not_told():
    handed_back._results.clear()
    x = np.random.default_rng(1).standard_normal((40, 3))
    exact, labels = x @ [1.0, 0.0, -2e-3], (x[:, 0] > 0) * 1.0

    def line_through(p, x, y):
        return wg.mean((x @ p["w"] + p["b"] - y) ** 2)

    def ends():
        search = wg.optim.LBFGS(max_iter=300, max_eval=2000, line_search_fn="strong_wolfe")
        for start in (0.0, 1.0):
            model = {"w": np.full(3, start), "b": np.array(start)}
            for y in (exact, exact + 0.1 * x[:, 0] ** 2):
                assert search.minimize(line_through, model, x, y).converged
            # The loss of classes that are easy to tell apart falls for ever.
            for w in (np.full(3, start), np.array([300.0, 1.0, -1.0])):
                search.minimize(lambda w, x, y: wg.bce_with_logits(x @ w, y), w, x, labels)
        search.minimize(lambda w: wg.sum(np.maximum(w, 1.0) ** 2), np.array([3.0, 2.0]))
        return search.minimize(lambda w: wg.sum(w**2), np.full(2, 1e-9))

    assert warned(ends) == []


def of_both(w, x, y):
    return wg.mean((w * x - y) ** 2)


def test_arguments_of_the_function_stand_behind_the_tree():
    for given in ({"args": (T,)}, {"t": T}):
        with pytest.raises(TypeError, match=r"no parameter .*behind the tree: minimize\(function"):
            searching().minimize(square, np.zeros(1), **given)
    said = r"given a tuple of 2 .* takes x, y there; .* behind the tree: minimize\(function"
    for compiled in (True, False):
        with pytest.raises(TypeError, match=said):
            searching().minimize(of_both, np.zeros(1), (T, Y), compiled=compiled)
    found = searching().minimize(of_both, np.zeros(1), T, Y)
    for f in (lambda w, both: of_both(w, *both), lambda w, *both: of_both(w, *both[0])):
        assert searching().minimize(f, np.zeros(1), (T, Y)).value == found.value
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        searching().minimize(of_both, np.zeros(1), T)
    with pytest.raises(TypeError, match="Leave it out: the gradient is derived"):
        searching().minimize(square, np.zeros(1), jac=True)


def test_data_that_are_not_finite_are_named():
    def loss(a, x):
        return wg.mean((a - x["y"]) ** 2)

    with pytest.raises(NonFiniteError, match=r"and argument 'x\.y' is nan at index \(1,\); value"):
        searching().minimize(loss, np.zeros(1), {"y": np.array([1.0, np.nan])})
    with pytest.raises(NonFiniteError, match="Choose other weights"):
        searching().minimize(loss, np.full(1, np.nan), {"y": np.array([1.0, 2.0])})
