"""Random numbers: the published generator, the right distributions, independent sites."""

import random
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.core.types import ArrayType
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat
from wengert.ops.random import philox

KEY = wg.random.key(2024)

# Counter, key and result of philox4x32-10, from the known-answer file of Random123.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0"),
]
RESULTS = [
    "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    "408f276d 41c83b0e a20bc7c6 6d5451fd",
    "d16cfe09 94fdcceb 5001e420 24126ea1",
]


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("given", "result"), list(zip(KNOWN_ANSWERS, RESULTS, strict=True)))
def test_philox_gives_the_published_answers(given, result):
    counter, key = map(words, given)
    assert [int(word) for word in philox(counter, key)] == words(result)
    several = philox([np.full(3, word) for word in counter], key)
    assert [word.tolist() for word in several] == [[word] * 3 for word in words(result)]


def test_bits_are_the_words_of_consecutive_blocks():
    found = wg.random.random_bits(KEY, (3, 5))
    expected = np.stack(philox([np.arange(4), 0, 0, 0], KEY), axis=1).ravel()[:15]
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found.ravel(), expected)
    wide = wg.random.random_bits(KEY, (7,), np.uint64)
    low, high = expected[0:14:2].astype(np.uint64), expected[1:14:2].astype(np.uint64)
    np.testing.assert_array_equal(wide, low | high << np.uint64(32))


def test_an_element_depends_on_key_and_position_only():
    draws = (wg.random.random_bits, wg.random.uniform, wg.random.normal)
    for draw in draws:
        np.testing.assert_array_equal(draw(KEY, (5, 3))[:2], draw(KEY, (2, 3)))
    assert wg.random.normal(KEY, (0, 3)).shape == (0, 3)
    assert wg.random.normal(KEY).shape == ()


def test_a_traced_draw_repeats_for_any_size():
    rows, types = wg.Dim("rows"), ArrayType((2,), np.dtype("uint32"))
    x = ArrayType((rows, 2), np.dtype("float32"))
    graph, _ = trace_flat(lambda k, x: [x + wg.random.normal(k, x.shape)], [types, x], ["k", "x"])
    for count in (1, 4):
        (found,) = replay(graph, [KEY, np.zeros((count, 2), np.float32)])
        np.testing.assert_array_equal(found, wg.random.normal(KEY, (count, 2)))


# Keys.


def test_keys_of_seeds():
    assert wg.random.key(2**64 - 1).tolist() == [2**32 - 1, 2**32 - 1]
    assert wg.random.key(np.int64(7)).tolist() == [7, 0]
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match=r"key: seed .* was given; it must lie between 0"):
            wg.random.key(seed)
    with pytest.raises(wg.errors.DTypeError, match=r"key: seed 1\.5 was given"):
        wg.random.key(1.5)


def test_folded_keys_differ_and_never_equal_a_draw_of_the_parent():
    keys = {tuple(wg.random.fold_in(KEY, n).tolist()) for n in [*range(1000), -1, 2**63]}
    assert len(keys) == 1002
    drawn = wg.random.random_bits(KEY, (1000, 2))
    assert not keys & {tuple(pair.tolist()) for pair in drawn}


def test_a_number_may_be_folded_in_at_run_time():
    types = [ArrayType((2,), np.dtype("uint32")), ArrayType((), np.dtype("int32"))]
    graph, _ = trace_flat(lambda k, n: [wg.random.fold_in(k, n)], types, ["k", "n"])
    for n in (5, -3):
        (found,) = replay(graph, [KEY, np.int32(n)])
        np.testing.assert_array_equal(found, wg.random.fold_in(KEY, n))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: wg.random.normal(0, (3,)),
            "normal: 0 was given as the key; a key is two uint32 numbers",
        ),
        (
            lambda: wg.random.uniform((3,)),
            "uniform: (3,) was given as the key; a key is two uint32 numbers",
        ),
        (
            lambda: wg.random.normal(np.random.default_rng(0), (3,)),
            "normal: a generator of numpy (Generator) was given as the key; a key is two uint32",
        ),
        (
            lambda: wg.distributions.Categorical(np.zeros(2)).sample(random.Random(0)),
            "categorical: a generator of random (Random) was given as the key",
        ),
        (
            lambda: wg.random.Generator(np.random.RandomState(0)),
            "Generator: a generator of numpy (RandomState) was given as the key",
        ),
        (lambda: wg.random.uniform(np.zeros(2)), "uniform: an array of float64, (2,), was given"),
        (lambda: wg.random.categorical(np.zeros((2, 3))), "categorical: an array of float64, (2,"),
        (lambda: wg.random.gamma(np.ones(3)), "gamma: an array of float64, (3,), was given as the"),
        (lambda: wg.random.fold_in(KEY, 1.5), "fold_in: given a number of dtype float64"),
        (
            lambda: wg.random.fold_in(KEY, [1, 2]),
            "fold_in: given a number of dtype int64 and shape",
        ),
        (lambda: wg.random.normal(KEY, (-1,)), "random_bits: shape (-1,) was given"),
        (lambda: wg.random.normal(KEY, (2,), np.int32), "normal: dtype int32 was given"),
        (lambda: wg.random.random_bits(KEY, (2,), np.int8), "random_bits: dtype int8 was given"),
        (lambda: wg.random.uniform(KEY, (2,), low=1, high=1), "uniform: low=1 and high=1 were"),
        (lambda: wg.random.bernoulli(KEY, 1.5), "bernoulli: p=1.5 was given"),
        (lambda: wg.random.randint(KEY, (2,), 0, 300, np.uint8), "randint: low=0, high=300 and"),
    ],
)
def test_refusals_are_worded(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value).startswith(message)


# Distributions. The tolerances are five standard errors, and the draws are fixed.


COUNT = 200_000


def standard_error(spread):
    return 5 * spread / np.sqrt(COUNT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_fills_its_interval(dtype):
    x = wg.random.uniform(KEY, (COUNT,), dtype)
    assert x.dtype == dtype
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 1 / 2) < standard_error(np.sqrt(1 / 12))
    assert abs(x.var() - 1 / 12) < standard_error(np.sqrt(1 / 180))
    counts = np.bincount((x * 64).astype(int), minlength=64)
    assert ((counts - COUNT / 64) ** 2 / (COUNT / 64)).sum() < 63 + 5 * np.sqrt(2 * 63)


def test_uniform_uses_every_bit_of_the_mantissa():
    x32 = wg.random.uniform(KEY, (1000,))
    x64 = wg.random.uniform(KEY, (1000,), np.float64)
    assert (x32 * 2.0**24 % 1 == 0).all()
    assert (x64 * 2.0**53 % 1 == 0).all()
    assert (x32 * 2.0**24 % 2 == 1).any()
    assert (x64 * 2.0**53 % 2 == 1).any()


def test_uniform_never_reaches_its_upper_end():
    """From 1 to 2 float32 has half the numbers it has from 0 to 1: the largest would round to 2."""
    x = wg.random.uniform(KEY, (2**21,), low=1.0, high=1.0 + 2.0**-20)
    assert set(np.unique(x)) == {np.float32(1 + k * 2.0**-23) for k in range(8)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_has_its_moments(dtype):
    x = wg.random.normal(KEY, (COUNT,), dtype)
    assert x.dtype == dtype
    assert np.isfinite(x).all()
    assert abs(x.mean()) < standard_error(1)
    assert abs((x**2).mean() - 1) < standard_error(np.sqrt(2))
    assert abs((x**3).mean()) < standard_error(np.sqrt(15))
    assert abs((x**4).mean() - 3) < standard_error(np.sqrt(96))
    assert abs((x > 2).mean() - 0.0227501) < standard_error(0.15)
    assert 4 < np.abs(x).max() < 6.7


def test_bernoulli_has_its_probability():
    p = np.array([0.0, 0.1, 0.5, 1.0])
    x = wg.random.bernoulli(KEY, p, (COUNT, 4))
    assert x.dtype == bool
    assert (np.abs(x.mean(axis=0) - p) <= standard_error(np.sqrt(p * (1 - p)))).all()
    assert wg.random.bernoulli(KEY, 0.5).shape == ()
    assert wg.random.bernoulli(KEY, p).shape == (4,)


def test_randint_is_even_and_keeps_its_dtype():
    x = wg.random.randint(KEY, (COUNT,), -3, 4, np.int8)
    assert x.dtype == np.int8
    counts = np.bincount(x + 3, minlength=7)
    assert ((counts - COUNT / 7) ** 2 / (COUNT / 7)).sum() < 6 + 5 * np.sqrt(12)
    extreme = wg.random.randint(KEY, (100,), -(2**63), 2**63)
    assert extreme.min() < -(2**60)
    assert extreme.max() > 2**60
    high = wg.random.randint(KEY, (100,), 2**64 - 2, 2**64, np.uint64)
    assert set(high.tolist()) == {2**64 - 2, 2**64 - 1}
    assert wg.random.randint(KEY, (), -5, -4) == -5


def test_permutation_is_one_and_every_one_comes_up():
    assert sorted(wg.random.permutation(KEY, 100)) == list(range(100))
    seen = {tuple(wg.random.permutation(wg.random.fold_in(KEY, n), 3)) for n in range(100)}
    assert len(seen) == 6


# Sites.


def test_sites_of_a_generator_are_independent():
    rng = wg.random.Generator(KEY)
    draws = np.stack([rng.normal((COUNT,), np.float64) for _ in range(4)])
    assert np.abs(np.corrcoef(draws) - np.eye(4)).max() < standard_error(1)
    again = wg.random.Generator(KEY)
    np.testing.assert_array_equal(draws[0], again.normal((COUNT,), np.float64))


def test_streams_seeds_and_neighbours_are_independent():
    columns = [
        wg.random.normal(KEY, (COUNT,)),
        np.roll(wg.random.normal(KEY, (COUNT,)), 1),
        wg.random.normal(wg.random.key(2025), (COUNT,)),
        wg.random.normal(wg.random.fold_in(KEY, 0), (COUNT,)),
        wg.random.uniform(KEY, (COUNT,)),
        wg.random.random_bits(KEY, (COUNT,), stream=1) / 2.0**32,
    ]
    correlation = np.corrcoef(np.stack(columns))
    correlation[0, 4] = correlation[4, 0] = 0  # one key, drawn from twice: these do depend
    assert np.abs(correlation - np.eye(6)).max() < standard_error(1)


def test_a_generator_counts_its_sites():
    rng = wg.random.Generator(KEY)
    rng.bits((2,))
    rng.uniform((2,), low=-1.0, high=1.0)
    rng.bernoulli(0.3, (2,))
    rng.randint((2,), 0, 5)
    rng.permutation(3)
    assert rng.sites == 5
    assert "sites=5" in repr(rng)
    child = rng.fold_in(3)
    assert child.sites == 0
    expected = wg.random.fold_in(wg.random.fold_in(wg.random.fold_in(KEY, -1), 3), 0)
    np.testing.assert_array_equal(child.next_key(), expected)


def test_sites_are_numbered_when_a_program_is_traced():
    def f(key):
        rng = wg.random.Generator(key)
        return [rng.normal((3,)), rng.normal((3,))]

    graph, _ = trace_flat(f, [ArrayType((2,), np.dtype("uint32"))], ["key"])
    for key in (KEY, wg.random.key(1)):
        first, second = replay(graph, [key])
        np.testing.assert_array_equal(first, f(key)[0])
        np.testing.assert_array_equal(second, f(key)[1])
        assert (first != second).all()


def test_no_gradient_flows_through_a_draw():
    def f(p):
        return wg.sum(wg.where(wg.random.bernoulli(KEY, p, (10,)), 1.0, 0.0) * 1.0 + p * 0.0)

    assert wg.grad(f)(np.array(0.5)) == 0


def test_a_seed_that_is_an_argument_gives_the_key_that_it_has_outside():
    keyed = wg.compile(lambda seed: wg.random.key(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (0, 7, 2**32 + 5, 2**63 - 1):
            assert (keyed(seed) == wg.random.key(seed)).all()
            assert (keyed(np.asarray(seed)) == wg.random.key(seed)).all()


def test_a_step_draws_anew_for_each_seed_that_it_is_given():
    def loss(w, seed):
        return wg.sum(w * wg.random.normal(wg.random.key(seed), (3,)))

    step = wg.TrainStep(loss, np.ones(3, np.float32), wg.optim.SGD(0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(1) != step(2)
        assert step(1) == step(1)
