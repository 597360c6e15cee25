"""Layers of sequences: values and gradients of formulas in JAX, and steps that have the bits of
the whole.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sequence_references as reference
from compiler.running import bits

import wengert as wg
from wengert.errors import DTypeError, ShapeError

FLOAT = {"dtype": np.float64}
SINGLE = {"dtype": np.float32, "seed": 0}


def random(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def shaken(layer: Any, seed: int = 0) -> Any:
    """The layer with other parameters, none of them zero or one."""
    rng = np.random.default_rng(seed)
    return wg.tree.map(lambda x: (x + 0.3 * rng.normal(size=x.shape)).astype(x.dtype), layer)


def first(p: Any, x: Any) -> Any:
    return p(x)[0]


def run(p: Any, x: Any) -> Any:
    return p(x)


def bidirectional(p: Any, xs: Any) -> Any:
    back = reference.lstm(p.backward, xs[::-1])[::-1]
    return jnp.concatenate([reference.lstm(p.forward, xs), back], -1)


def sinusoidal(p: Any, x: Any) -> Any:
    half = p.size // 2
    angle = jnp.arange(x.shape[-2])[:, None] * p.base ** (-jnp.arange(half) / half)
    return x + jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)


CONTEXT = random(2, 4, 8, seed=7)
SEEN = random(5, 4) < 0.5
SEEN[:, 0] = True
nn = wg.nn
# name -> (layer, ours, JAX's, argument)
LAYERS: dict[str, Any] = {
    "rnn": (nn.RNN(3, 4, **FLOAT), first, reference.rnn, random(6, 2, 3)),
    "rnn with relu": (
        nn.RNN(3, 4, activation="relu", **FLOAT),
        first,
        lambda p, x: reference.rnn(p, x, jax.nn.relu),
        random(6, 3),
    ),
    "lstm": (nn.LSTM(3, 4, **FLOAT), first, reference.lstm, random(6, 2, 3)),
    "lstm without a batch": (nn.LSTM(3, 4, **FLOAT), first, reference.lstm, random(6, 3)),
    "bidirectional": (
        nn.Bidirectional(nn.LSTM(3, 4, **FLOAT), nn.LSTM(3, 2, **FLOAT)),
        first,
        bidirectional,
        random(5, 2, 3),
    ),
    "attention": (nn.MultiheadAttention(8, 2, **FLOAT), run, reference.multihead, random(2, 5, 8)),
    "attention that is causal, grouped and turned": (
        nn.MultiheadAttention(16, 4, shared_heads=2, causal=True, rotary=True, bias=False, **FLOAT),
        run,
        reference.multihead,
        random(5, 16),
    ),
    "attention to a context": (
        nn.MultiheadAttention(8, 2, **FLOAT),
        lambda p, x: p(x, SEEN, CONTEXT),
        lambda p, x: reference.multihead(p, x, SEEN, CONTEXT),
        random(2, 5, 8),
    ),
    "transformer block": (
        nn.TransformerBlock(8, 2, hidden=12, causal=True, **FLOAT),
        run,
        reference.transformer_block,
        random(2, 5, 8),
    ),
    "s4d": (nn.S4D(3, states=4, **FLOAT), run, reference.s4d, random(2, 6, 3)),
    "mamba": (nn.Mamba(4, states=3, **FLOAT), run, reference.mamba, random(2, 6, 4)),
    "learned positions": (
        nn.PositionalEmbedding(9, 4, **FLOAT),
        run,
        lambda p, x: x + p.weight[: x.shape[-2]],
        random(2, 5, 4),
    ),
    "sinusoidal positions": (
        nn.Sequential(nn.SinusoidalPositions(4), nn.Linear(4, 2, **FLOAT)),
        run,
        lambda p, x: reference.linear(p[1], sinusoidal(p[0], x)),
        random(2, 5, 4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_the_formula_in_jax(name):
    layer, ours, theirs, x = LAYERS[name]
    leaves, structure = wg.tree.flatten(shaken(layer))
    found = ours(shaken(layer), x)
    g = random(*found.shape, seed=9)

    def loss(leaves: Any, x: Any) -> Any:
        expected = theirs(wg.tree.unflatten(structure, leaves), x)
        return jnp.sum(expected * g), expected

    by = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))
    expected, value = by(leaves, x)
    np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-10)

    def ours_by(leaves: Any, x: Any) -> Any:
        def loss(leaves: Any, x: Any) -> Any:
            return wg.sum(ours(wg.tree.unflatten(structure, leaves), x) * g)

        return wg.grad(loss, argnums=(0, 1))(leaves, x)

    for gradient in (ours_by(leaves, x), wg.compile(ours_by)(leaves, x)):
        pairs = zip(wg.tree.leaves(gradient), jax.tree.leaves(expected), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_trees_that_are_shown_and_copied(name):
    layer = LAYERS[name][0]
    for other in (wg.tree.copy(layer), copy.deepcopy(layer)):
        assert type(other) is type(layer)
        assert repr(other) == repr(layer)
    assert all(x.flags.c_contiguous for x in wg.tree.leaves(layer))  # else every call copies
    assert repr(layer).startswith(type(layer).__name__ + "(")


# Steps.

RECURRENT = {
    "rnn": (nn.RNN(3, 4), np.zeros((2, 4), np.float32)),
    "gru": (nn.GRU(3, 4), np.zeros((2, 4), np.float32)),
    "lstm": (nn.LSTM(3, 4), (np.zeros((2, 4), np.float32),) * 2),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_steps_of_recurrent_layers_have_the_bits_of_the_whole(name):
    layer, state = RECURRENT[name]
    layer, xs = shaken(layer), random(9, 2, 3).astype(np.float32)
    hs, last = wg.compile(lambda p, xs: p(xs))(layer, xs)
    step = wg.compile(lambda p, x, state: p.step(x, state))
    for x, h in zip(xs, hs, strict=True):
        state = step(layer, x, state)
        assert bits(wg.tree.leaves(state)[0]) == bits(h)
    assert bits(state) == bits(last)
    again, _ = wg.compile(lambda p, xs, state: p(xs, state))(layer, xs, state)
    assert bits(again) != bits(hs)


NEAR = {  # layers, and lengths at which they are looked at in one program
    "rnn": (nn.RNN(3, 4, **SINGLE), (1, 2, 3, 17, 1000, 4096)),
    "gru": (nn.GRU(3, 4, **SINGLE), (1, 2, 3, 17, 1000, 4096)),
    "lstm": (nn.LSTM(3, 4, **SINGLE), (1, 2, 3, 17, 1000, 4096)),
    "s4d": (nn.S4D(3, states=4, **SINGLE), (17,)),
    "s4d that is long": (nn.S4D(3, states=4, **SINGLE), (1000,)),
    "mamba": (nn.Mamba(4, states=3, **SINGLE), (1000,)),
}


@pytest.mark.parametrize("name", NEAR)
def test_float32_is_near_float64(name):
    """Of an array, values and gradients are as near as 1e-5 of its largest number: the roundings of
    each step fade as states do. S4D begins with states that fade over up to 2000 steps, and the
    rounding of a decay counts as often.
    """
    layer, lengths = NEAR[name]
    limit = 1e-5
    if name == "s4d that is long":
        limit = 6e-8 * (1 / np.exp(layer.log_width[:, None] + layer.log_decay)).max()

    def loss(p: Any, x: Any, weights: Any) -> Any:
        y = wg.tree.leaves(p(x))[0]
        return wg.sum(y * weights), y

    opened = {each: {0: wg.Dim("time")} for each in ("x", "weights")} if len(lengths) > 1 else None
    compiled = wg.compile(wg.value_and_grad(loss, argnums=(0, 1), has_aux=True), dims=opened)
    for time in lengths:
        x = random(time, 4 if name == "mamba" else 3).astype(np.float32)
        results = []
        for dtype in (np.float32, np.float64):
            given = wg.tree.map(lambda w, dtype=dtype: w.astype(dtype), layer)
            weights = np.cos(np.arange(time))[:, None].astype(dtype)
            (_, y), gradients = compiled(given, x.astype(dtype), weights)
            results.append([y, *wg.tree.leaves(gradients)])
        for single, double in zip(*results, strict=True):
            assert single.dtype == np.float32
            assert np.abs(single - double).max() <= limit * np.abs(double).max(), time


STREAMING = {
    "attention": (
        nn.MultiheadAttention(8, 4, shared_heads=2, causal=True, rotary=True),
        lambda p: p.cache(150, batch=2),
    ),
    "transformer block": (
        nn.TransformerBlock(8, 2, causal=True),
        lambda p: p.cache(150, batch=(2,)),
    ),
    "s4d": (nn.S4D(8, states=4), lambda p: p.initial_state(2)),
    "mamba": (nn.Mamba(8, states=4), lambda p: p.initial_state(2)),
}


@pytest.mark.parametrize("name", STREAMING)
def test_streams_have_the_bits_of_the_whole(name):
    layer, begin = STREAMING[name]
    layer, x = shaken(layer), random(2, 140, 8).astype(np.float32)
    whole = wg.compile(lambda p, x: p(x))(layer, x)
    state = begin(layer)
    many, state = wg.compile(lambda p, x, state: p.extend(x, state))(layer, x[:, :137], state)
    assert bits(many) == bits(np.ascontiguousarray(whole[:, :137]))
    step = wg.compile(lambda p, x, state: p.step(x, state))
    for t in range(137, 140):
        y, state = step(layer, x[:, t], state)
        assert bits(y) == bits(np.ascontiguousarray(whole[:, t]))
    alone = wg.compile(lambda p, x: p(x))(layer, x[1])
    assert bits(alone) == bits(whole[1])
    assert all(leaf.dtype in (np.float32, np.int64) for leaf in wg.tree.leaves((state, layer)))


def test_a_full_cache_is_an_error():
    layer = nn.MultiheadAttention(4, 1, causal=True)
    x, cache = np.ones(4, np.float32), layer.cache(2)
    told = (r"a cache of 2, of which 2 are taken", r"position 2 was given for a cache of 2")
    for step, words in zip((layer.step, wg.compile(layer.step)), told, strict=True):
        cache = layer.cache(2)
        for _ in range(2):
            _, cache = step(x, cache)
        with pytest.raises(IndexError, match=words):
            step(x, cache)
    with pytest.raises(ValueError, match=r"only a causal one .* causal=True"):
        nn.MultiheadAttention(4, 1).step(x, cache)


# Names of torch.


def test_weights_by_the_names_of_torch():
    """torch stacks the gates of an LSTM as i, f, g, o, and those of a GRU as r, z, n."""
    rows = {"weight_ih_l0": 3, "weight_hh_l0": 2}
    for layer, gates in ((nn.RNN(3, 2, **FLOAT), 1), (nn.GRU(3, 2, **FLOAT), 3)):
        tensors = {name: random(2 * gates, width) for name, width in rows.items()}
        tensors |= {name: random(2 * gates) for name in ("bias_ih_l0", "bias_hh_l0")}
        found = wg.nn.from_torch_names(
            {"cell": layer}, {f"cell.{k}": x for k, x in tensors.items()}
        )
        assert np.array_equal(found["cell"].hidden_weight, tensors["weight_hh_l0"])
    tensors = {name: random(8, width) for name, width in rows.items()}
    tensors |= {name: random(8) for name in ("bias_ih_l0", "bias_hh_l0")}
    lstm = wg.nn.from_torch_names(nn.LSTM(3, 2, **FLOAT), tensors)
    np.testing.assert_allclose(lstm(random(4, 3))[0], reference.lstm(lstm, random(4, 3)))
    tensors = {"in_proj_weight": random(12, 4), "in_proj_bias": random(12)}
    tensors |= {"out_proj.weight": random(4, 4), "out_proj.bias": random(4)}
    attention = wg.nn.from_torch_names(
        [nn.MultiheadAttention(4, 2, **FLOAT)], {f"0.{name}": x for name, x in tensors.items()}
    )[0]
    assert np.array_equal(attention.project_in.weight, tensors["in_proj_weight"])
    assert np.array_equal(attention.project_out.bias, tensors["out_proj.bias"])


# Smaller things.


def test_turned_products_depend_on_distances():
    q, k = random(1, 6), random(1, 6, seed=2)
    found = [nn.rotary(q, a) @ nn.rotary(k, b).T for a, b in ((0, 3), (100, 103), (7, 10))]
    np.testing.assert_allclose(found[1:], found[:1] * 2, rtol=1e-12)
    np.testing.assert_allclose(nn.rotary(np.tile(q, (5, 1))), reference.rotary(np.tile(q, (5, 1))))


def test_dropout_of_a_block_needs_a_generator():
    block = nn.TransformerBlock(8, 2, dropout=0.5)
    x = random(3, 8).astype(np.float32)
    one, two = (block(x, rng=wg.random.Generator(wg.random.key(k))) for k in (0, 1))
    assert not np.array_equal(one, two)
    assert np.array_equal(block(x), nn.Sequential(block)(x))


def test_seeds_and_sizes_of_first_values():
    for make in (
        lambda **seed: nn.RNN(4, 4, **seed),
        lambda **seed: nn.LSTM(4, 4, **seed),
        lambda **seed: nn.MultiheadAttention(4, 2, **seed),
        lambda **seed: nn.TransformerBlock(4, 2, **seed),
        lambda **seed: nn.S4D(4, states=4, **seed),
        lambda **seed: nn.Mamba(4, **seed),
        lambda **seed: nn.PositionalEmbedding(4, 4, **seed),
    ):
        assert bits(wg.tree.leaves(make(seed=3))) == bits(wg.tree.leaves(make(seed=3)))
        assert bits(wg.tree.leaves(make())) != bits(wg.tree.leaves(make()))
    lstm = nn.LSTM(3, 4, **FLOAT)
    for gate in np.split(lstm.hidden_weight, 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(4), atol=1e-12)
    assert np.array_equal(lstm.input_bias, [0] * 4 + [1] * 4 + [0] * 8)
    widths = np.log1p(np.exp(nn.Mamba(8, **FLOAT).project_delta.bias))
    assert widths.min() >= 1e-3
    assert widths.max() <= 1e-1


def test_training_a_block():
    """One program for every size of batch."""
    model = {"block": nn.TransformerBlock(8, 2, causal=True), "out": nn.Linear(8, 1)}

    def loss(model: Any, x: Any) -> Any:
        return wg.mean((model["out"](model["block"](x)) - wg.cumsum(x[..., :1], axis=1)) ** 2)

    step = wg.TrainStep(loss, model, wg.optim.Adam(1e-2), seed=0)
    x = random(16, 6, 8).astype(np.float32)
    losses = [step(x) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    step(x[:3])


def test_what_is_refused():
    x = np.ones((2, 5, 8), np.float32)
    cases: dict[str, Any] = {
        r"RNN: activation='gelu'": lambda: nn.RNN(3, 4, activation="gelu"),
        r"LSTM: in_size=0": lambda: nn.LSTM(0, 4),
        r"MultiheadAttention: size=8 and heads=3": lambda: nn.MultiheadAttention(8, 3),
        r"heads=4 and shared_heads=3": lambda: nn.MultiheadAttention(8, 4, shared_heads=3),
        r"even count": lambda: nn.MultiheadAttention(6, 2, rotary=True),
        r"S4D: states=3": lambda: nn.S4D(4, states=3),
        r"SinusoidalPositions: size=3": lambda: nn.SinusoidalPositions(3),
        r"TransformerBlock: activation='swish'": lambda: nn.TransformerBlock(
            8, 2, activation="swish"
        ),
    }
    for words, call in cases.items():
        with pytest.raises(ValueError, match=words):
            call()
    shapes: dict[str, Any] = {
        r"LSTM: xs has shape \(3,\)": lambda: nn.LSTM(3, 4)(np.ones(3)),
        r"LSTM: memory has shape \(1, 4\)": lambda: nn.LSTM(3, 4)(
            np.ones((5, 3)), (np.ones(4), np.ones((1, 4)))
        ),
        r"LSTM: the state is ndarray": lambda: nn.LSTM(3, 4).step(np.ones(3), np.ones(4)),
        r"RNN: h has shape \(5,\)": lambda: nn.RNN(3, 4)(np.ones((5, 3)), np.ones(5)),
        r"MultiheadAttention: x has shape \(2, 5, 8\)": lambda: nn.MultiheadAttention(4, 2)(x),
        r"Mamba: x has shape \(8,\)": lambda: nn.Mamba(8)(x[0, 0]),
        r"S4D: x has shape": lambda: nn.S4D(4)(x),
        r"rotary: x has shape": lambda: nn.rotary(np.ones((2, 3))),
    }
    for words, call in shapes.items():
        with pytest.raises(ShapeError, match=words):
            call()
    with pytest.raises(TypeError, match=r"Bidirectional: forward is int"):
        nn.Bidirectional(3, nn.GRU(3, 4))


@pytest.mark.parametrize("kind", [wg.nn.RNN, wg.nn.GRU, wg.nn.LSTM])
def test_recurrent_layers_step_from_their_initial_state(kind):
    layer = kind(3, 5, seed=0, dtype=np.float64)
    xs = np.random.default_rng(0).normal(size=(4, 2, 3))
    hs, _ = layer(xs)
    state = layer.initial_state(2)
    for x, h in zip(xs, hs, strict=True):
        state = layer.step(x, state)
        np.testing.assert_allclose(state[0] if kind is wg.nn.LSTM else state, h, rtol=1e-12)
    alone = layer.step(xs[0, 0], layer.initial_state())
    np.testing.assert_allclose(alone[0] if kind is wg.nn.LSTM else alone, hs[0, 0], rtol=1e-12)
    with pytest.raises((TypeError, ValueError), match=rf"{kind.__name__}\.initial_state: "):
        layer.initial_state("two")


@pytest.mark.parametrize(
    "layer", [nn.PositionalEmbedding(9, 4, **FLOAT), nn.SinusoidalPositions(4)], ids=str
)
def test_a_step_of_positions_has_one_position_for_the_batch(layer):
    """Every row of x stands at t; all bits are those of the whole sequence."""
    x = random(3, 6, 4)
    whole = wg.compile(lambda p, x: p(x))(layer, x)
    step = wg.compile(lambda p, x, t: p.step(x, t))
    for t in range(6):
        assert np.array_equal(step(layer, x[:, t], np.int64(t)), whole[:, t])
    assert np.array_equal(layer.step(x[:, 4], 4), layer(x)[:, 4])
    assert np.array_equal(layer.step(x[1, 4], 4), layer(x)[1, 4])
    each = layer.step(x[:, 4], np.array([0, 5, 2]))
    assert np.array_equal(each, layer(np.stack([x[:, 4]] * 6, 1))[np.arange(3), [0, 5, 2]])
    with pytest.raises(ShapeError, match=r"step: t has shape \(2,\) and x \(3, 4\)"):
        layer.step(x[:, 4], np.arange(2))
    with pytest.raises(DTypeError, match="step: t has dtype float64"):
        layer.step(x[:, 4], 4.0)


def test_a_start_that_is_an_argument_has_one_program():
    """Of all starts, as a number of Python or an array; a program refuses what has no row."""
    layer, x = nn.PositionalEmbedding(9, 4, **FLOAT), random(3, 4, 4)
    f = wg.compile(lambda p, x, start: p(x, start=start))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in range(6):
            assert np.array_equal(f(layer, x, start), layer(x, start=start))
            assert np.array_equal(f(layer, x, start), layer(x, start=np.array(start)))
    assert len(f.programs) == 1
    for start in (6, -1):
        with pytest.raises(IndexError, match="for a table of 9 rows"):
            f(layer, x, start)


def test_positions_without_a_row_are_named():
    layer = nn.PositionalEmbedding(5, 4)
    told = "PositionalEmbedding: positions 2 to 7 were given to a layer of count=5"
    for call in (layer, wg.compile(lambda x, start: layer(x, start), static="start")):
        with pytest.raises(IndexError, match=told):
            call(np.ones((2, 6, 4), np.float32), start=2)
    with pytest.raises(IndexError, match=r"positions 5 to 5 .*PositionalEmbedding\(6, 4\)"):
        layer.step(np.ones((2, 4), np.float32), 5)
    with pytest.raises(IndexError, match="position -1 was given; positions count from 0"):
        layer.step(np.ones((2, 4), np.float32), -1)


def test_attention_that_is_called_as_in_pytorch_is_told_what_to_write():
    layer, x, y = nn.MultiheadAttention(4, 2), *random(2, 3, 5, 4)
    for call in (
        lambda: layer(x, x, x),
        lambda: layer(x, x),
        lambda: layer(x, y, y),
        lambda: layer(x, y, y + 1),
        lambda: wg.compile(lambda x: layer(x, x, x))(x),
    ):
        with pytest.raises(ShapeError, match=r"it takes one x.*layer\(x, context=keys\)"):
            call()
    for wrong, told in {
        "key_padding_mask": r"mask=~key_padding_mask\[:, None, None, :\]: bools are true where a",
        "attn_mask": "mask=~attn_mask: bools are true where a query may look",
        "key": r"It takes one x: layer\(x\)",
        "is_causal": "causal=True",
    }.items():
        with pytest.raises(TypeError, match=f"no parameter '{wrong}'.*{told}"):
            layer(x, **{wrong: y})
    seen = np.ones((3, 1, 1, 5), bool)
    assert layer(x, seen, x).shape == x.shape


@pytest.mark.parametrize(
    ("x", "rows", "of_batch"),
    [
        ((3, 5, 4), (3, 7, 4), False),
        ((3, 5, 4), (3, 5, 4), False),
        ((5, 4), (7, 4), False),
        ((3, 4, 4), (3, 7, 4), False),
        ((3, 4, 4), (3, 4, 4), True),
    ],
)
def test_rows_in_the_place_of_a_mask_are_told_the_context(x, rows, of_batch):
    layer = nn.MultiheadAttention(4, 2)
    for call in (layer, wg.compile(lambda x, rows: layer(x, rows))):
        with pytest.raises(ShapeError, match=r"layer\(x, context=rows\)") as told:
            call(random(*x), random(*rows))
        assert ("mask[:, None]" in str(told.value)) == of_batch


@pytest.mark.parametrize("mask", [(4, 4), (1, 4), (1, 4, 4), (2, 4, 4), (3, 1, 4, 4)])
def test_floats_that_fit_as_a_mask_are_one(mask):
    layer, x = nn.MultiheadAttention(4, 2), random(3, 4, 4)
    assert layer(x, random(*mask)).shape == x.shape
    assert layer(random(3, 6, 4), random(6, 4), x).shape == (3, 6, 4)  # of four keys


def test_the_state_of_an_lstm_is_no_input_of_a_linear_layer():
    lstm, head, xs = nn.LSTM(3, 4), nn.Linear(4, 1), random(5, 2, 3)
    for read in (lambda xs: head(lstm(xs)[1]), lambda xs: head([*lstm(xs)[1]])):
        for call in (read, wg.compile(read)):
            with pytest.raises(TypeError, match=r"Linear: given a \w+ of 2 arrays.*state\[0\]"):
                call(xs)
    assert head([[1.0] * 4] * 3).shape == (3, 1)


def test_a_mask_of_rows_that_lies_along_the_heads_is_told():
    layer = wg.nn.MultiheadAttention(8, 4, seed=0)
    real = np.arange(5) < np.array([5, 3, 2, 1])[:, None]  # (batch, time), as many rows as heads
    x = np.ones((4, 5, 8), np.float32)
    with pytest.warns(
        wg.errors.MaskWarning, match=r"\(4, 1, 5\) for 4 rows and 4 heads.*\[:, None"
    ):
        layer(x, mask=real[:, None, :])
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.MaskWarning)
        layer(x, mask=real[:, None, None, :])
        layer(x, mask=np.ones((5, 5), bool))
        layer(x[:1], mask=real[:, None, :])  # one row: of each head


def test_masks_of_queries_and_keys_of_rows_that_lie_along_the_heads_are_told():
    layer = wg.nn.MultiheadAttention(8, 4, seed=0)
    real = np.arange(5) < np.array([5, 3, 2, 1])[:, None]
    x, ordered = np.ones((4, 5, 8), np.float32), np.tril(np.ones((5, 5), bool))
    for mask in (real[:, None] & ordered, np.where(real, 0, -np.inf)[:, None], real[:, None, ::-1]):
        with pytest.warns(wg.errors.MaskWarning, match=r"4 rows and 4 heads.*\[:, None"):
            layer(x, mask=mask)
        with pytest.warns(wg.errors.MaskWarning, match=r"4 rows and 4 heads.*\[:, None"):
            wg.compile(lambda x, mask: layer(x, mask=mask))(x, mask)
    with pytest.warns(wg.errors.MaskWarning, match="4 rows and 4 heads"):
        wg.compile(lambda x, n: layer(x, mask=(wg.arange(5) < n[:, None])[:, None]))(
            x, np.array([5, 3, 2, 1])
        )


def test_masks_and_biases_of_heads_are_not_told():
    layer = wg.nn.MultiheadAttention(8, 4, seed=0)
    x, far = np.ones((4, 5, 8), np.float32), np.arange(5) - np.arange(5)[:, None]
    slopes = 2.0 ** -np.arange(1, 5)[:, None, None]
    windows = np.abs(far) <= np.arange(4)[:, None, None]
    for mask in (slopes * far, slopes * far[:1], windows, np.ones((4, 1, 5), bool)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", wg.errors.MaskWarning)
            layer(x, mask=mask)
            wg.compile(lambda x, mask: layer(x, mask=mask))(x, mask)


BEGINNINGS: dict[str, Any] = {
    "RNN": (
        wg.nn.RNN(4, 8, seed=0),
        lambda m, x: m(wg.moveaxis(x, 1, 0), m.initial_state(x.shape[0])),
    ),
    "GRU": (wg.nn.GRU(4, 8, seed=0), lambda m, x: m.step(x[:, 0], m.initial_state(x.shape[0]))),
    "LSTM": (wg.nn.LSTM(4, 8, seed=0), lambda m, x: m.step(x[:, 0], m.initial_state(x.shape[0]))),
    "Mamba": (wg.nn.Mamba(4, seed=0), lambda m, x: m.extend(x, m.initial_state(x.shape[0]))),
    "S4D": (wg.nn.S4D(4, seed=0), lambda m, x: m.extend(x, m.initial_state(x.shape[:1]))),
    "TransformerBlock": (
        wg.nn.TransformerBlock(4, heads=2, causal=True, seed=0),
        lambda m, x: m.extend(x, m.cache(9, batch=x.shape[0])),
    ),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_what_layers_begin_with_leaves_the_batch_size_open(name: str):
    layer, outputs = BEGINNINGS[name]
    recorded = []

    def loss(m: Any, x: Any) -> Any:
        recorded.append(x.shape[0])
        return wg.mean(outputs(m, x)[0] ** 2)

    step = wg.TrainStep(loss, layer, wg.optim.SGD(0.0))
    for rows in (4, 1, 7):
        x = random(rows, 6, 4).astype(np.float32)
        np.testing.assert_allclose(step(x), loss(layer, x), rtol=1e-5)
    assert [isinstance(size, int) for size in recorded] == [False, True, True, True]


def test_what_layers_begin_with_are_arrays_outside_of_recordings():
    assert type(wg.nn.GRU(2, 3, seed=0).initial_state((2, 4))) is np.ndarray
    assert type(wg.nn.MultiheadAttention(4, heads=2, seed=0).cache(5, batch=2).keys) is np.ndarray
    with pytest.raises(ShapeError, match="shape=-1 was given"):
        wg.nn.GRU(2, 3, seed=0).initial_state(-1)
