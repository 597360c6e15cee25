"""Layers for sequences: whole training steps with Adam, value and gradient of the selective scan,
and one word of a transformer through its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.layers import recurrent_layers, state_spaces, transformers
from benchmarks.layers.recurrent_layers import Recurrent
from benchmarks.layers.state_spaces import MambaSizes, S4DSizes, Selective
from benchmarks.layers.transformers import Stack

LIBRARIES = {OURS: it.ours, "JAX": it.jax, "torch": it.torch}  # by the first word of a label


def layer_case(
    name: str,
    measures: str,
    sizes: Any,
    ways: Mapping[str, Callable[[Any], Run]],  # by label
    goal: float,
    weight: float = 2,
) -> Case:
    contestants = {
        label: LIBRARIES[label.partition(" ")[0]](partial(way, sizes))
        for label, way in ways.items()
    }
    return Case(name, measures, contestants, (Times(goal),), weight=weight)


def recurrent_case(model: Recurrent) -> Case:
    ways = {
        OURS: recurrent_layers.ours,
        "JAX lax.scan": recurrent_layers.in_jax,
        "torch": recurrent_layers.in_torch,
    }
    return layer_case(model.layer, f"training step of a {model}", model, ways, 2)


def attention_case(stack: Stack) -> Case:
    ways = {
        OURS: transformers.our_attention,
        "JAX jit": transformers.attention_in_jax,
        "torch": transformers.attention_in_torch,
    }
    measures = f"training step of norm, causal attention and sum, {stack}"
    return layer_case("attention block", measures, stack, ways, 1.3)


def transformer_case(stack: Stack) -> Case:
    ways = {
        OURS: transformers.ours,
        "JAX jit": transformers.in_jax,
        "torch": transformers.in_torch,
    }
    measures = f"training step of a transformer of {stack.layers} layers, {stack}"
    return layer_case("transformer", measures, stack, ways, 1.1, weight=4)


def generation_case(stack: Stack) -> Case:
    ways = {OURS: transformers.our_word, "torch": transformers.word_in_torch}
    measures = (
        f"word {stack.length} of a text by a transformer of {stack.layers} layers, {stack.width} "
        "wide, through the cache"
    )
    name = f"transformer of {stack.width}, one word"
    return layer_case(name, measures, stack, ways, 5, weight=1)


def selective_case(sizes: Selective) -> Case:
    ways = {
        OURS: state_spaces.our_scan,
        "JAX lax.scan": partial(state_spaces.scan_in_jax, associative=False),
        "JAX associative_scan": partial(state_spaces.scan_in_jax, associative=True),
        "torch loop": state_spaces.scan_in_torch,
    }
    measures = f"value and gradient of a selective scan of {sizes}"
    return layer_case("selective scan", measures, sizes, ways, 5)


def mamba_case(sizes: MambaSizes) -> Case:
    ways = {
        OURS: state_spaces.our_mamba,
        "JAX lax.scan": partial(state_spaces.mamba_in_jax, associative=False),
        "JAX associative_scan": partial(state_spaces.mamba_in_jax, associative=True),
        "torch loop": state_spaces.mamba_in_torch,
    }
    return layer_case("Mamba", f"training step of a block of Mamba, {sizes}", sizes, ways, 3)


def s4d_case(sizes: S4DSizes) -> Case:
    ways = {
        OURS: state_spaces.our_s4d,
        "JAX fft": state_spaces.s4d_in_jax,
        "torch fft": state_spaces.s4d_in_torch,
    }
    return layer_case("S4D", f"training step of an S4D layer, {sizes}", sizes, ways, 3)


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
