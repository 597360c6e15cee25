"""Python floats beside the arrays of a differentiated argument, whose derivative is 0: told where
the function computes with them, and nowhere else.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from train.warned_steps import warned

import wengert as wg
from wengert.errors import UntrainedWarning

X = np.random.default_rng(0).standard_normal((6, 3))
W = np.array([1.0, 2.0, 3.0])
TRANSFORMATIONS = {
    "grad": wg.grad,
    "value_and_grad": wg.value_and_grad,
    "jacobian": wg.jacobian,
    "hessian": wg.hessian,
    "compiled": lambda f: wg.compile(wg.grad(f)),
    "compiled hessian": lambda f: wg.compile(wg.hessian(f)),
}


def losses():
    """Functions that are new to the library, as those of a user's program are."""
    namespace = {"np": np, "wg": wg, "X": X}
    exec(  # each of code of its own: a function is looked at once
        "def by_name(p): return np.mean((X @ p['w'] + p['b']) ** 2)\n"
        "def by_place(p): return np.mean((X @ p[0] + p[1]) ** 2)\n"
        "def by_data(p, x): return np.mean((x * p['b'] @ p['w']) ** 2)\n"
        "def setting(p): return np.mean((X @ p['w']) ** (2 if p['b'] > 0.5 else 4)) + 0.25\n"
        "def unused(p): return np.mean((X @ p['w']) ** 2) + 0.25\n"
        "def field(p): return np.mean((X @ p.w + p.eps) ** 2)\n",
        namespace,
    )
    return namespace


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_a_float_that_the_function_computes_with_is_named_once(name):
    loss = losses()["by_name"]
    call = TRANSFORMATIONS[name](loss)
    (said,) = warned(lambda: [call({"w": W, "b": 0.5}), call({"w": W, "b": 0.5})])
    assert said.category is UntrainedWarning
    assert "leaf 'b' of the argument is the Python float 0.5" in str(said.message)
    assert "Write np.float64(0.5) to differentiate by it" in str(said.message)


def test_floats_in_lists_and_tuples_and_beside_data():
    for pair in ([W, 0.5], (W, 0.5)):
        (said,) = warned(lambda pair=pair: wg.grad(losses()["by_place"])(pair))
        assert "leaf '1' of" in str(said.message)
    gradient = wg.compile(wg.grad(losses()["by_data"]))
    (said,) = warned(lambda: gradient({"w": W, "b": 0.5}, X))
    assert "leaf 'b' of" in str(said.message)


@dataclass
class Layer:
    w: np.ndarray
    eps: float


@pytest.mark.parametrize("transform", TRANSFORMATIONS.values())
def test_settings_and_variables_are_let_pass(transform):
    for name, argument in (
        ("setting", {"w": W, "b": 0.25}),
        ("unused", {"w": W, "b": 0.25}),
        ("field", Layer(W, 0.25)),
        ("by_name", {"w": W, "b": np.float64(0.25)}),
        ("by_name", {"w": W, "b": 1}),
    ):
        assert warned(lambda name=name, x=argument: transform(losses()[name])(x)) == []


def test_searches_say_it_once_and_results_are_as_before():
    loss, start = losses()["by_name"], {"w": W, "b": 0.5}
    for compiled in (True, False):
        search = wg.optim.LBFGS(max_iter=2)
        said = warned(lambda c=compiled, s=search: s.minimize(loss, start, compiled=c))
        assert [each.category for each in said] == [UntrainedWarning]
    with pytest.warns(UntrainedWarning, match="computes with it"):
        first = wg.grad(loss)(start)
    again = wg.grad(loss)(start)
    assert first["b"] == again["b"] == 0.0
    assert first["w"].tobytes() == again["w"].tobytes()
