"""Layers without a seed: they differ from one another, and repeat from run to run."""

from __future__ import annotations

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wengert as wg
from wengert.nn.init import INITIALISERS

from .shown_images import IMAGE_MAKERS

MAKERS = {
    "Linear": lambda **seed: wg.nn.Linear(4, 4, **seed).weight,
    "Linear, init of its own": lambda **seed: (
        wg.nn.Linear(
            4,
            4,
            init=lambda shape, seed, dtype: np.random.default_rng(seed).normal(size=shape),
            **seed,
        ).weight
    ),
    "Embedding": lambda **seed: wg.nn.Embedding(4, 4, **seed).weight,
    "GRU": lambda **seed: wg.nn.GRU(4, 4, **seed).input_weight,
    "LSTM": lambda **seed: wg.nn.LSTM(4, 4, **seed).input_weight,
    "RNN": lambda **seed: wg.nn.RNN(4, 4, **seed).input_weight,
    "MultiheadAttention": lambda **seed: wg.nn.MultiheadAttention(4, 2, **seed).project_in.weight,
    "TransformerBlock": lambda **seed: wg.nn.TransformerBlock(4, 2, **seed).up.weight,
    "PositionalEmbedding": lambda **seed: wg.nn.PositionalEmbedding(4, 4, **seed).weight,
    "S4D": lambda **seed: wg.nn.S4D(4, states=4, **seed).c_real,
    "Mamba": lambda **seed: wg.nn.Mamba(4, **seed).conv_weight,
    "Mlp": lambda **seed: wg.nn.Mlp((4, 4), **seed).weights(0),
    **IMAGE_MAKERS,
} | {
    f"init.{name}": lambda f=f, **seed: f((4, 4), **seed)
    for name, f in INITIALISERS.items()
    if name != "zeros"
}


def test_every_constructor_that_takes_a_seed_is_here():
    takes = {
        name
        for name in wg.nn.__all__
        if inspect.isclass(getattr(wg.nn, name))
        and "seed" in inspect.signature(getattr(wg.nn, name)).parameters
    }
    assert takes == {name.partition(",")[0] for name in MAKERS if not name.startswith("init.")}


@pytest.mark.parametrize("name", MAKERS)
def test_two_made_without_a_seed_differ(name):
    make = MAKERS[name]
    assert not np.array_equal(make(), make())


@pytest.mark.parametrize("name", MAKERS)
def test_they_repeat_after_the_same_seed_of_the_process(name):
    make = MAKERS[name]
    wg.nn.seed(3)
    first = [make() for _ in range(3)]
    wg.nn.seed(3)
    again = [make() for _ in range(3)]
    wg.nn.seed(4)
    others = [make() for _ in range(3)]
    assert np.array_equal(first, again)
    assert not any(np.array_equal(a, b) for a in first for b in others)


@pytest.mark.parametrize("name", MAKERS)
def test_none_equals_one_with_a_small_seed(name):
    make = MAKERS[name]
    without = [make() for _ in range(3)]
    assert not any(np.array_equal(x, make(seed=seed)) for x in without for seed in range(4))


@pytest.mark.parametrize("name", MAKERS)
def test_a_given_seed_neither_reads_nor_moves_the_count(name):
    make = MAKERS[name]
    first = make(seed=5)
    alone = make()
    wg.nn.seed()
    assert np.array_equal(first, make(seed=5))
    assert np.array_equal(alone, make())


def test_the_bits_of_a_given_seed_are_those_of_numpys_generator():
    bound = np.sqrt(6 / 8)
    expected = np.random.default_rng(0).uniform(-bound, bound, (4, 4)).astype(np.float32)
    assert np.allclose(wg.nn.Linear(4, 4, seed=0).weight, expected, rtol=1e-6)
    rng = np.random.default_rng(0)
    layers = [wg.nn.Linear(4, 4, seed=rng).weight for _ in range(2)]
    assert np.array_equal(layers[0], wg.nn.Linear(4, 4, seed=0).weight)
    assert not np.array_equal(*layers)


def test_a_refused_layer_takes_no_place_in_the_count():
    first = wg.nn.Linear(4, 4).weight
    wg.nn.seed()
    for call in (
        lambda: wg.nn.Linear(4, 0),
        lambda: wg.nn.Linear(4, 4, dtype=int),
        lambda: wg.nn.Linear(4, 4, init="normaal"),
        lambda: wg.nn.init.normal((-1,)),
        lambda: wg.nn.init.orthogonal((4, 4), dtype=int),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert np.array_equal(first, wg.nn.Linear(4, 4).weight)


def test_another_process_makes_the_same_layers():
    program = "import wengert as wg; print([wg.nn.Linear(2, 2).weight.tolist() for _ in range(2)])"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.strip() == str([wg.nn.Linear(2, 2).weight.tolist() for _ in range(2)])


def test_threads_share_the_count_and_no_two_layers_are_equal():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: wg.nn.Linear(2, 2).weight.tobytes(), range(200)))
    wg.nn.seed()
    assert set(found) == {wg.nn.Linear(2, 2).weight.tobytes() for _ in range(200)}
    assert len(set(found)) == 200


@pytest.mark.parametrize("given", [-1, 1.5, "a", True, None])
def test_a_seed_is_a_whole_number(given):
    with pytest.raises(ValueError, match=r"nn\.seed: .* whole number"):
        wg.nn.seed(given)
