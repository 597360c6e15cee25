"""Functions with rules of their own: numbers among their arguments, and what goes wrong in them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError


def _scaled():
    @wg.custom_vjp
    def scaled(x, n):
        return x * n

    scaled.defvjp(lambda x, n: (x * n, (x, {"n": n})), lambda kept, g: (7 * g * kept[1]["n"], None))
    return scaled


def test_a_python_number_is_an_argument_of_a_compiled_rule():
    f = _scaled()
    x = np.array([3.0, 4.0], np.float32)
    np.testing.assert_array_equal(wg.compile(f)(x, 3.0), 3 * x)
    slope = wg.compile(wg.grad(lambda x, n: np.sum(f(x, n))))
    for n in (3.0, 4.0):  # one program
        found = slope(x, n)
        np.testing.assert_array_equal(found, [7 * n, 7 * n])
        assert found.dtype == np.float32
    assert f(x, 3.0).dtype == wg.compile(f)(x, 3.0).dtype == np.float32


def test_a_number_in_a_tree_computed_or_needed_by_python():
    f = _scaled()

    @wg.custom_vjp
    def of_tree(p):
        return p["w"] * p["n"] if p["n"] > 2 else p["w"]

    of_tree.defvjp(lambda p: (of_tree.function(p), p), lambda p, g: ({"w": g * p["n"]},))
    each = wg.compile(lambda w, n: wg.vmap(lambda v: f(v, n + 1))(w))
    np.testing.assert_array_equal(each(np.ones(2), 2), [3.0, 3.0])
    slope = wg.compile(wg.grad(lambda w, n: np.sum(of_tree({"w": w, "n": n}))))
    with pytest.warns(wg.errors.SizeWarning, match="the value of n"):
        np.testing.assert_array_equal(slope(np.ones(2), 3.0), [3.0, 3.0])
    np.testing.assert_array_equal(slope(np.ones(2), 1.0), [1.0, 1.0])


def test_a_number_in_the_loss_of_a_step():
    f = _scaled()
    step = wg.TrainStep(lambda w, n: np.sum(f(w, n)), np.ones(2), wg.optim.SGD(0.5))
    step(2.0)
    np.testing.assert_array_equal(step.model, [-6.0, -6.0])


def _with_forward(forward):
    f = wg.custom_vjp(lambda x: wg.sum(x * 2))
    f.defvjp(forward, lambda _, g: (g,))
    return f


@pytest.mark.parametrize("way", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_errors_of_a_forward_rule_come_through(way):
    of_two = way(wg.grad(_with_forward(lambda x, k: (x * k, k))))
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'k'"):
        of_two(np.ones(3))
    misfit = way(wg.grad(_with_forward(lambda x: (wg.sum(x @ np.ones((2, 2))), None))))
    with pytest.raises(wg.errors.ShapeError, match=r"matmul: .*\(3,\)"):
        misfit(np.ones(3))


def test_errors_behind_a_branch_of_a_rule_come_through():
    def forward(x):
        if x[0] > 0:
            raise ValueError("mine")
        return wg.sum(x), None

    with pytest.raises(ValueError, match=r"^mine$"):
        wg.grad(_with_forward(forward))(np.ones(3))


def test_a_call_by_name_says_by_position():
    with pytest.raises(TypeError, match=r"scaled: given n by name; .* by position"):
        _scaled()(np.ones(2), n=3.0)


def test_a_check_of_both_modes_names_the_one_there_is():
    f = wg.custom_vjp(lambda x: wg.sum(x**3))
    f.defvjp(lambda x: (wg.sum(x**3), x), lambda x, g: (3 * x**2 * g,))
    with pytest.raises(wg.errors.NotDifferentiable, match=r"modes=\['rev'\] of wg.check_grads"):
        wg.check_grads(f, [np.ones(2)])
    wg.check_grads(f, [np.ones(2)], modes=["rev"])


@dataclasses.dataclass
class Pair:
    a: np.ndarray
    b: np.ndarray


def _weighted(backward, a="a", b="b", get=lambda m, key: m[key]):
    """a + 2 b, with this backward rule."""

    def value(m):
        return wg.sum(get(m, a)) + 2 * wg.sum(get(m, b))

    weighted = wg.custom_vjp(value)
    weighted.defvjp(lambda m: (value(m), None), backward)
    return weighted


ONE = np.ones(2)


def test_cotangents_are_matched_by_key():
    f = _weighted(lambda _, g: ({"b": 2 * g * ONE, "a": g * ONE},))
    model = {"a": ONE, "b": np.ones(2)}
    for gradient in (wg.grad(f), wg.compile(wg.grad(f))):
        found = gradient(model)
        assert list(found) == ["a", "b"]
        np.testing.assert_array_equal(found["a"], ONE)
        np.testing.assert_array_equal(found["b"], 2 * ONE)
    step = wg.TrainStep(lambda m, x: f(m) + 0 * wg.sum(x), model, wg.optim.SGD(1.0))
    step(ONE)
    np.testing.assert_array_equal(step.model["b"], -ONE)


def test_a_part_of_a_cotangent_may_be_none():
    f = _weighted(lambda _, g: ({"b": None, "a": g * ONE},))
    found = wg.grad(f)({"a": ONE, "b": np.ones(2), "rate": 3.0})
    np.testing.assert_array_equal(found["a"], ONE)
    np.testing.assert_array_equal(found["b"], 0 * ONE)


@pytest.mark.parametrize(
    ("returned", "model", "get"),
    [
        (lambda g: {"x": g, "y": g}, {"a": ONE, "b": np.ones(2)}, dict.__getitem__),
        (lambda g: {"a": g}, {"a": ONE, "b": np.ones(2)}, dict.__getitem__),
        (lambda g: {"a": g, "b": g, "c": g}, {"a": ONE, "b": np.ones(2)}, dict.__getitem__),
        (lambda g: [g, g], {"a": ONE, "b": np.ones(2)}, dict.__getitem__),
        (lambda g: g, {"a": ONE, "b": np.ones(2)}, dict.__getitem__),
        (lambda g: {"a": g, "b": g}, Pair(ONE, np.ones(2)), getattr),
    ],
    ids=["other names", "one missing", "one too many", "a list", "an array", "for a dataclass"],
)
def test_cotangents_of_another_form_are_refused(returned, model, get):
    f = _weighted(lambda _, g: (returned(g * ONE),), get=get)
    with pytest.raises(ShapeError, match="a tree like its argument, with the same keys"):
        wg.grad(f)(model)
