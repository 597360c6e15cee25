"""summary: a table of a model's arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import wengert as wg
from nn.shown_sequences import SEQUENCES

from .shown_images import SHOWN_IMAGES


def test_a_table_with_totals():
    text = wg.nn.summary(wg.nn.Sequential(wg.nn.Linear(1000, 20), "relu", wg.nn.LayerNorm((2, 10))))
    assert text == "\n".join(
        [
            "path             shape      dtype     count",
            "layers.0.weight  20 × 1000  float32  20,000",
            "layers.0.bias    20         float32      20",
            "layers.2.scale   2 × 10     float32      20",
            "layers.2.shift   2 × 10     float32      20",
            "20,060 parameters, 80,240 bytes",
        ]
    )


def test_tied_arrays_count_once_and_data_apart():
    shared = np.zeros((3, 2))
    model = {
        "in": shared,
        "out": {"w": shared},
        "steps": np.zeros((), np.int64),
        "t": np.float32(2),
    }
    lines = wg.nn.summary(model).splitlines()
    assert lines[1:] == [
        "in     3 × 2   float64      6",
        "out.w  3 × 2   float64         tied to in",
        "steps  scalar  int64        1  data",
        "t      scalar  float32      1",
        "7 parameters, 52 bytes; 1 of data, 8 bytes",
    ]


def test_nothing():
    assert wg.nn.summary(wg.nn.Dropout(0.5)).splitlines()[-1] == "0 parameters, 0 bytes"


def test_the_live_model_of_a_training_step_is_a_model():
    mlp = wg.nn.Mlp((3, 4, 2))
    again = wg.tree.map(lambda x: x, mlp)
    assert wg.nn.summary(again) == wg.nn.summary(mlp)


SHOWN = {
    "Linear": (wg.nn.Linear(3, 2), "Linear(weight=float32[2, 3], bias=float32[2])"),
    "without a bias": (wg.nn.Linear(3, 2, bias=False), "Linear(weight=float32[2, 3], bias=None)"),
    "Embedding": (wg.nn.Embedding(5, 2), "Embedding(weight=float32[5, 2])"),
    "GRU": (
        wg.nn.GRU(3, 2),
        "GRU(input_weight=float32[6, 3], hidden_weight=float32[6, 2], "
        "input_bias=float32[6], hidden_bias=float32[6])",
    ),
    "LayerNorm": (wg.nn.LayerNorm(2), "LayerNorm(scale=float32[2], shift=float32[2], eps=1e-05)"),
    "BatchNorm": (
        wg.nn.BatchNorm(2, dtype=np.float64),
        "BatchNorm(scale=float64[2], shift=float64[2], momentum=0.1, eps=1e-05, axis=-1)",
    ),
    "Dropout": (wg.nn.Dropout(0.5), "Dropout(rate=0.5)"),
    "Mlp": (wg.nn.Mlp((3, 2)), "Mlp(3-2, tanh, identity, float32, 8 parameters)"),
    "Sequential": (
        wg.nn.Sequential(
            wg.nn.Linear(3, 2), "relu", np.tanh, wg.nn.Sequential(wg.nn.Dropout(0.5)), abs
        ),
        "Sequential(\n"
        "  0: Linear(weight=float32[2, 3], bias=float32[2])  # 8 parameters\n"
        "  1: relu\n"
        "  2: tanh\n"
        "  3: Sequential(\n"
        "    0: Dropout(rate=0.5)\n"
        "  )\n"
        "  4: abs\n"
        ")  # 8 parameters",
    ),
    "nothing": (wg.nn.Sequential(), "Sequential()"),
    **SHOWN_IMAGES,
}


SHOWN |= SEQUENCES


@pytest.mark.parametrize("name", SHOWN)
def test_a_layer_prints_shapes_and_no_weights(name):
    layer, text = SHOWN[name]
    assert repr(layer) == text
    assert str(wg.tree.map(lambda x: x, layer)) == text


def test_every_layer_is_shown_here():
    layers = {name for name in wg.nn.__all__ if dataclasses.is_dataclass(getattr(wg.nn, name))}
    assert layers <= SHOWN.keys()


def test_a_traced_layer_prints_too():
    seen = []
    wg.compile(lambda layer: seen.append(repr(layer)) or layer.weight)(wg.nn.Linear(3, 2))
    assert seen[0] == "Linear(weight=float32[2, 3], bias=float32[2])"


def test_a_tied_array_counts_once_and_what_is_no_tree_not_at_all():
    tied = wg.nn.Linear(3, 2)
    assert repr(wg.nn.Sequential(tied, tied)).endswith(")  # 8 parameters")

    class Scaled:
        def __init__(self):
            self.w = np.ones(3)

        def __call__(self, x):
            return x * self.w

    shown = repr(wg.nn.Sequential(wg.nn.Linear(3, 2), Scaled()))
    assert shown.endswith("\n)")
    assert "# 8 parameters" in shown
