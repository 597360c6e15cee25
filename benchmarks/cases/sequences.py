"""Layers for sequences: whole training steps with Adam, value and gradient of the selective scan,
and one word of a transformer through its cache.
"""

from __future__ import annotations

from functools import partial

from benchmarks import case as it
from benchmarks.case import OURS, Case, Times
from benchmarks.layers import recurrent_layers, state_spaces, transformers
from benchmarks.layers.recurrent_layers import Recurrent
from benchmarks.layers.state_spaces import MambaSizes, S4DSizes, Selective
from benchmarks.layers.transformers import Stack


def recurrent_case(model: Recurrent) -> Case:
    return Case(
        model.layer,
        f"training step of a {model}",
        {
            OURS: it.ours(partial(recurrent_layers.ours, model)),
            "JAX lax.scan": it.jax(partial(recurrent_layers.in_jax, model)),
            "torch": it.torch(partial(recurrent_layers.in_torch, model)),
        },
        (Times(2),),
        weight=2,
    )


def attention_case(stack: Stack) -> Case:
    return Case(
        "attention block",
        f"training step of norm, causal attention and sum, {stack}",
        {
            OURS: it.ours(partial(transformers.our_attention, stack)),
            "JAX jit": it.jax(partial(transformers.attention_in_jax, stack)),
            "torch": it.torch(partial(transformers.attention_in_torch, stack)),
        },
        (Times(1.3),),
        weight=2,
    )


def transformer_case(stack: Stack) -> Case:
    return Case(
        "transformer",
        f"training step of a transformer of {stack.layers} layers, {stack}",
        {
            OURS: it.ours(partial(transformers.ours, stack)),
            "JAX jit": it.jax(partial(transformers.in_jax, stack)),
            "torch": it.torch(partial(transformers.in_torch, stack)),
        },
        (Times(1.1),),
        weight=4,
    )


def generation_case(stack: Stack) -> Case:
    return Case(
        f"transformer of {stack.width}, one word",
        f"word {stack.length} of a text by a transformer of {stack.layers} layers, {stack.width} "
        "wide, through the cache",
        {
            OURS: it.ours(partial(transformers.our_word, stack)),
            "torch": it.torch(partial(transformers.word_in_torch, stack)),
        },
        (Times(5),),
    )


def selective_case(sizes: Selective) -> Case:
    return Case(
        "selective scan",
        f"value and gradient of a selective scan of {sizes}",
        {
            OURS: it.ours(partial(state_spaces.our_scan, sizes)),
            "JAX lax.scan": it.jax(partial(state_spaces.scan_in_jax, sizes, False)),
            "JAX associative_scan": it.jax(partial(state_spaces.scan_in_jax, sizes, True)),
            "torch loop": it.torch(partial(state_spaces.scan_in_torch, sizes)),
        },
        (Times(5),),
        weight=2,
    )


def mamba_case(sizes: MambaSizes) -> Case:
    return Case(
        "Mamba",
        f"training step of a block of Mamba, {sizes}",
        {
            OURS: it.ours(partial(state_spaces.our_mamba, sizes)),
            "JAX lax.scan": it.jax(partial(state_spaces.mamba_in_jax, sizes, False)),
            "JAX associative_scan": it.jax(partial(state_spaces.mamba_in_jax, sizes, True)),
            "torch loop": it.torch(partial(state_spaces.mamba_in_torch, sizes)),
        },
        (Times(3),),
        weight=2,
    )


def s4d_case(sizes: S4DSizes) -> Case:
    return Case(
        "S4D",
        f"training step of an S4D layer, {sizes}",
        {
            OURS: it.ours(partial(state_spaces.our_s4d, sizes)),
            "JAX fft": it.jax(partial(state_spaces.s4d_in_jax, sizes)),
            "torch fft": it.torch(partial(state_spaces.s4d_in_torch, sizes)),
        },
        (Times(3),),
        weight=2,
    )


CASES = (
    recurrent_case(Recurrent("LSTM")),
    recurrent_case(Recurrent("GRU")),
    attention_case(Stack(0, 128, 4, 0, 128, 8)),
    transformer_case(Stack()),
    generation_case(Stack(4, 64, 4, 100, 64)),
    generation_case(Stack()),
    selective_case(Selective()),
    mamba_case(MambaSizes()),
    s4d_case(S4DSizes()),
)
