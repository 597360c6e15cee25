"""What NumPy warns of inside a transformation is warned of at the user's line."""

import inspect
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
