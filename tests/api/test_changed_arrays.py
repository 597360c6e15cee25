"""Arrays that are written into after they were used: gradients read what was in them then."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ChangedArray


def delayed(w, unused=None):
    """A delay line: one buffer, which every use sees with other elements."""
    window, total = np.zeros(3), 0.0
    for x in (1.0, 2.0, 3.0):
        window[1:] = window[:-1]
        window[0] = x
        total = total + np.sum(w * window)
    return total + 0.0 * np.sum(w if unused is None else unused)


def picked(w):
    """An array of indices that is filled again."""
    places, total = np.zeros(2, int), 0.0
    for i in range(2):
        places[:] = i, i + 1
        total = total + (i + 1.0) * np.sum(w[places])
    return total


def scanned(w):
    rows, total = np.ones((2, 3)), 0.0
    for _ in range(2):
        total = total + wg.scan(lambda c, row: (c + np.sum(w * row), None), 0.0, rows)[0]
        rows *= 10
    return total


GRADIENTS = {delayed: [6.0, 3.0, 1.0], picked: [1.0, 3.0, 2.0], scanned: [22.0, 22.0, 22.0]}


@pytest.mark.parametrize("f", GRADIENTS, ids=lambda f: f.__name__)
def test_each_use_counts_as_it_was(f):
    w = np.ones(3)
    for gradient in (wg.grad(f), wg.compile(wg.grad(f)), wg.jacrev(f)):
        np.testing.assert_array_equal(gradient(w), GRADIENTS[f])


def test_in_a_step_and_in_derivatives_of_derivatives():
    step = wg.TrainStep(delayed, np.ones(3), wg.optim.SGD(0.1))
    step(np.ones(3))
    np.testing.assert_array_equal(step.gradients, [6.0, 3.0, 1.0])

    def cubed(w):
        return delayed(w) ** 3

    line = np.array([6.0, 3.0, 1.0])
    expected = 6 * delayed(np.ones(3)) * np.outer(line, line)
    np.testing.assert_allclose(wg.hessian(cubed)(np.ones(3)), expected, rtol=1e-13)


def test_a_pullback_keeps_the_arguments():
    x = np.ones(2)
    _, pullback = wg.vjp(lambda x: x * x, x)
    x += 1.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [2.0, 2.0])


def test_a_large_array_is_not_copied_but_refused_if_it_changed():
    x = np.ones((600, 600))

    def loss(w, change):
        total = np.sum(w * x)
        if change:
            x[...] = 0.0
        return total

    np.testing.assert_array_equal(wg.grad(loss)(2.0, False), 360_000.0)
    with pytest.raises(ChangedArray, match=r"multiply: an array of shape \(600, 600\)"):
        wg.grad(loss)(2.0, True)


@pytest.mark.parametrize("argnums", [(0, 0), (1, -1)])
@pytest.mark.parametrize("of", [wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian])
def test_an_argument_is_named_once(of, argnums):
    with pytest.raises(ValueError, match="name each of them once"):
        of(lambda a, b: np.sum(a * b), argnums=argnums)(np.ones(2), np.ones(2))
