"""What NumPy warns of is warned of at the user's line, inside a transformation and outside."""

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import wengert as wg


def logarithm(x):
    return np.sum(np.log(x))


def line_of(f):
    """The last line of a function, which computes."""
    lines, first = inspect.getsourcelines(f)
    return first + len(lines) - 1


def noticed(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [(each.filename, each.lineno, str(each.message)) for each in found]


ZERO = np.array([0.0, 1.0])
CALLS = {
    "grad": lambda: wg.grad(logarithm)(ZERO),
    "vjp": lambda: wg.vjp(logarithm, ZERO),
    "jvp": lambda: wg.jvp(logarithm, (ZERO,), (ZERO,)),
    "hessian": lambda: wg.hessian(logarithm)(np.array([0.0])),
    "vmap": lambda: wg.vmap(logarithm)(np.zeros((1, 2))),
    "eager": lambda: eagerly(wg.compile(logarithm), ZERO),
}


def eagerly(f, x):
    with wg.eager():
        return f(x)


@pytest.mark.parametrize("name", CALLS)
def test_a_division_by_zero_is_told_at_the_line_that_computes(name):
    found = noticed(CALLS[name])
    named = "np.log(x)" if name == "eager" else "log"  # there NumPy is called by the user's line
    assert (__file__, line_of(logarithm), f"divide by zero encountered in {named}") in found
    assert all(file == __file__ for file, _, _ in found)


def test_what_the_user_told_numpy_holds():
    with np.errstate(divide="ignore"):
        assert noticed(CALLS["grad"]) == []
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        CALLS["grad"]()
    before = np.geterr()
    CALLS["grad"]()
    assert np.geterr() == before


def test_a_filter_that_makes_errors_of_warnings_holds():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
            CALLS["grad"]()
    assert noticed(CALLS["grad"])


# In a process of its own: pytest forgets the filters of what it imports.
PLAIN = """
import warnings, numpy as np, wengert as wg
x = np.array([0.0, -1.0])
found = []
warnings.showwarning = lambda text, kind, file, line, *_: found.append(f"{line}: {text}")
wg.log(x)
wg.log(x)
wg.mean(np.zeros(0))
wg.std(np.zeros(0))
wg.log_softmax(np.array([np.inf, 1.0]))
for _ in range(2): wg.divide(1.0, x)
with np.errstate(all="ignore"): wg.log(x)
wg.compile(lambda x: x + wg.exp(np.array(1e4)))(x)
wg.random.choice(wg.random.key(0), 2, (2,), p=np.array([0.0, 1.0]))
warnings.simplefilter("ignore")
wg.exp(1e4)
warnings.resetwarnings()
wg.exp(1e4)
print("\\n".join(found))
"""


def test_outside_of_transformations_too_and_once_for_each_line():
    run = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    *told, last = run.stdout.splitlines()
    assert told == [
        "6: divide by zero encountered in log",
        "6: invalid value encountered in log",
        "7: divide by zero encountered in log",
        "7: invalid value encountered in log",
        "8: invalid value encountered in mean",
        "9: invalid value encountered in mean",
        "9: invalid value encountered in divide",
        "10: invalid value encountered in log_softmax",
        "11: divide by zero encountered in divide",
        "13: overflow encountered in exp",
    ]
    assert last.endswith("overflow encountered in exp")  # without filters of ours, NumPy's place


def energy(x):
    """Of pairs of points, where a mask hides the distance of each to itself."""
    squares = np.sum((x[:, None] - x[None]) ** 2, -1)
    with np.errstate(all="ignore"):
        repelled = 1 / squares**6 - 1 / squares**3
    return np.sum(np.where(np.eye(2, dtype=bool), 0, repelled))


@pytest.mark.parametrize("derivative", [wg.grad, wg.hessian, lambda f: wg.jacfwd(wg.grad(f))])
def test_derivatives_of_what_is_masked_are_no_reason_to_warn(derivative):
    assert noticed(lambda: derivative(energy)(np.array([[0.0, 1.0], [2.0, 0.5]]))) == []
