"""Random numbers inside a scan: they differ from step to step, and are the same in every mode."""

import functools
import random
import warnings

import numpy as np
import pytest

import wengert as wg

KEY = wg.random.key(3)


def draws(key, reverse=False):
    rng = wg.random.Generator(key)
    before = rng.normal((2,))

    def body(c, x):
        return c, (rng.normal((2,)), rng.uniform((2,)))

    _, inside = wg.scan(body, 0.0, np.arange(5.0), reverse=reverse)
    return before, inside, rng.normal((2,))


def nested(key):
    rng = wg.random.Generator(key)

    def outer(c, _):
        return c, wg.scan(lambda d, _: (d, rng.normal(())), 0.0, None, length=3)[1]

    return wg.scan(outer, 0.0, None, length=4)[1]


def repeated(key):
    """What the condition draws differs from what the body draws."""
    rng = wg.random.Generator(key)
    before = rng.normal(())

    def body(state):
        n, drawn, _ = state
        return n + 1, wg.where(np.arange(5) == n, rng.normal(()), drawn), rng.normal(())

    def goes_on(state):
        return (state[0] < 5) & (rng.normal(()) < 100.0)

    _, drawn, last = wg.while_loop(goes_on, body, (0, np.zeros(5, np.float32), 0.0), max_steps=5)
    return before, drawn, last, rng.normal(())


def test_a_loop_that_ends_by_itself_draws_anew():
    before, drawn, last, after = repeated(KEY)
    assert len(np.unique([before, *drawn, last, after])) == 8


def test_the_condition_draws_its_own():
    rng = wg.random.Generator(KEY)
    found = []

    def goes_on(state):
        found.append(rng.normal(()))
        return state < 2

    def body(state):
        found.append(rng.normal(()))
        return state + 1

    with wg.eager():
        wg.while_loop(goes_on, body, 0)
    assert len(np.unique(found)) > 2
    assert len(np.unique([float(x) for x in found[-4:]])) == 4


def test_every_step_and_site_has_its_own():
    before, (normal, uniform), after = draws(KEY)
    numbers = np.concatenate([np.ravel(x) for x in (before, normal, uniform, after)])
    assert len(np.unique(numbers)) == numbers.size
    assert len(np.unique(nested(KEY))) == 12


@pytest.mark.parametrize("function", [draws, nested, repeated])
def test_compiled_and_step_by_step(function):
    expected = wg.tree.leaves(function(KEY))
    compiled = wg.compile(function)
    for found in (compiled(KEY), eagerly(compiled)):
        for a, b in zip(wg.tree.leaves(found), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def eagerly(compiled):
    with wg.eager():
        return compiled(KEY)


def test_the_index_counts_not_the_order():
    np.testing.assert_array_equal(draws(KEY, reverse=True)[1][0], draws(KEY)[1][0])


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    "draw", [lambda: np.random.normal(), random.random, lambda: None], ids=["np", "python", "own"]
)
def test_what_others_draw_in_a_body_is_drawn_once_and_warned_of(draw):
    def body(carry, _):
        drawn = draw()
        return carry + (GENERATOR.normal() if drawn is None else drawn), carry

    with pytest.warns(wg.errors.WengertWarning, match="the same in every step"):
        wg.scan(body, 0.0, None, length=3)


class Noisy:
    """Has a generator, which its methods draw from."""

    def __init__(self):
        self.generator = np.random.default_rng(0)
        self.inside = None

    def draw(self):
        return self.generator.normal()

    def body(self, carry, _):
        return carry + self.generator.normal(), None

    def drawing(self, carry, _):
        return carry + self.draw(), None

    def deeper(self, carry, _):
        return carry + self.inside.draw(), None

    def quiet(self, carry, _):
        return carry + 1.0, None


def _holding(inside):
    holder = Noisy()
    holder.generator, holder.inside = None, inside
    return holder


def noise():
    return GENERATOR.normal()


def _of_default(carry, _, generator=np.random.default_rng(0)):  # noqa: B008 (what is told)
    return carry + generator.normal(), None


class DrawingByAClass:
    generator = np.random.default_rng(0)

    def body(self, carry, _):
        return carry + self.generator.normal(), None


def _of_partial(generator, carry, _):
    return carry + generator.normal(), None


DRAW = np.random.default_rng(0).normal
KEPT = {"generator": random.Random(0)}
REACHED = {
    "an attribute of a class": DrawingByAClass().body,
    "a method of its own": lambda carry, _: (carry + DRAW(), None),
    "a partial function": functools.partial(_of_partial, np.random.default_rng(0)),
    "an attribute": Noisy().body,
    "a method": Noisy().drawing,
    "an attribute of an attribute": _holding(Noisy()).deeper,
    "a function": lambda carry, _: (carry + noise(), None),
    "a default": _of_default,
    "a dict": lambda carry, _: (carry + KEPT["generator"].random(), None),
}


@pytest.mark.parametrize("body", REACHED.values(), ids=REACHED)
def test_a_generator_that_a_body_reaches_is_warned_of(body):
    def loop(carry):
        return wg.scan(body, carry, None, length=3)[0]

    with pytest.warns(wg.errors.RandomnessWarning, match="was used in the body") as told:
        loop(0.0)
    assert len(told) == 1
    with pytest.warns(wg.errors.RandomnessWarning, match="was used in the body"):
        wg.grad(loop)(1.0)


def test_a_body_beside_a_generator_is_not_warned_of():
    noisy = Noisy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.scan(noisy.quiet, noisy.draw(), None, length=3)
        wg.scan(lambda carry, x: (carry + x, None), noise(), GENERATOR.normal(size=3))
        with wg.eager():  # where each step draws
            wg.scan(noisy.body, 0.0, None, length=3)


class Reservoir:
    """Draws its weights when they are first needed."""

    def __init__(self):
        self.generator, self.weights = np.random.default_rng(0), None

    def body(self, carry, x):
        if self.weights is None:
            self.weights = self.generator.normal(size=(2, 2))
        return wg.tanh(self.weights @ carry) + x, None


def test_weights_that_a_body_draws_once_and_keeps_are_let_pass():
    reservoir, xs = Reservoir(), np.arange(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = wg.scan(reservoir.body, np.ones(2), xs)[0]
    expected = np.ones(2)
    for x in xs:
        expected = np.tanh(reservoir.weights @ expected) + x
    np.testing.assert_allclose(given, expected, rtol=1e-12)


def test_to_look_a_second_time_leaves_generators_where_they_were():
    generator, other = np.random.default_rng(3), np.random.default_rng(3)
    with pytest.warns(wg.errors.RandomnessWarning):
        wg.scan(lambda carry, x: (carry + generator.normal(), None), 0.0, np.zeros(3))
    other.normal()
    assert generator.normal() == other.normal()


def test_a_body_that_draws_nothing_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = GENERATOR.normal(size=3)
        wg.scan(lambda carry, x: (carry + x, carry), 0.0, drawn)


def test_a_generator_of_a_number_shares_no_draws_with_loops():
    rng = wg.random.Generator(KEY)
    own = rng.fold_in(0)
    _, inside = wg.scan(lambda c, _: (c, rng.normal((3,))), 0.0, None, length=2)
    assert not np.intersect1d(own.normal((3,)), inside).size
    rng, own = wg.random.Generator(KEY), np.stack([own.normal() for _ in range(3)])
    each = wg.vmap(lambda x: x + rng.normal())(np.zeros(3, np.float32))
    assert not np.intersect1d(own, each).size
    rng = wg.random.Generator(KEY)
    folded = wg.random.fold_in(rng.next_key(), 0)
    assert (folded != rng.fold_in(0).next_key()).any()
