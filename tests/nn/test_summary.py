"""summary: a table of a model's arrays."""

from __future__ import annotations

import numpy as np

import wengert as wg


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
