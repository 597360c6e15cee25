"""Weights by torch's names: models with the layers of torch compute what torch computed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError

RECORDED = json.loads(Path(__file__).with_name("torch_outputs.json").read_text(encoding="utf-8"))
nn = wg.nn


MODELS = {
    "linear": lambda: nn.Sequential(nn.Linear(3, 4), "tanh", nn.Linear(4, 2)),
    "conv1d": lambda: nn.Conv1d(2, 3, 3, padding=2, dilation=2),
    "conv2d": lambda: nn.Conv2d(2, 3, 3, stride=2, padding=1),
    "conv2d in groups": lambda: nn.Conv2d(4, 6, (3, 1), groups=2, bias=False),
    "conv3d": lambda: nn.Conv3d(1, 2, 2),
    "conv_transpose1d": lambda: nn.ConvTranspose1d(2, 3, 4, stride=3, padding=1),
    "conv_transpose2d": lambda: nn.ConvTranspose2d(
        4, 2, 3, stride=2, padding=1, output_padding=1, groups=2
    ),
    "layer_norm": lambda: nn.LayerNorm((2, 3)),
    "rms_norm": lambda: nn.RMSNorm(5),
    "group_norm": lambda: nn.GroupNorm(2, 4),
    "instance_norm": lambda: nn.InstanceNorm(3),
    "batch_norm": lambda: nn.BatchNorm(3, axis=1),
    "convnet": lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        "relu",
        nn.MaxPool(2),
        nn.Conv2d(3, 4, 3, padding="same"),
        nn.GroupNorm(2, 4),
        nn.MeanPool(2, stride=1, padding=1),
        nn.AdaptiveMeanPool(2),
        nn.Flatten(),
        nn.Linear(16, 2),
    ),
}


def outputs_and_last(layer, x):
    hs, last = layer(x)
    return np.concatenate([hs, *(np.asarray(each)[None] for each in wg.tree.leaves(last))])


MASK = np.arange(25.0, dtype=np.float32).reshape(5, 5) / 10
SEQUENCES = {  # models, and how they are called
    "rnn": (nn.RNN(3, 4), lambda layer, x: layer(x)[0]),
    "rnn with relu": (nn.RNN(3, 4, activation="relu"), lambda layer, x: layer(x)[0]),
    "lstm": ({"layer": nn.LSTM(3, 4)}, lambda m, x: outputs_and_last(m["layer"], x)),
    "gru": ({"layer": nn.GRU(3, 4)}, lambda m, x: outputs_and_last(m["layer"], x)),
    "gru of one sequence": (
        {"layer": nn.GRU(2, 3)},
        lambda m, x: outputs_and_last(m["layer"], x[:, 0])[:, None],
    ),
    "bidirectional lstm": (
        nn.Bidirectional(nn.LSTM(3, 2), nn.LSTM(3, 2)),
        lambda layer, x: layer(x)[0],
    ),
    "attention": ({"layer": nn.MultiheadAttention(6, 2)}, lambda m, x: m["layer"](x)),
    "causal attention": (
        {"layer": nn.MultiheadAttention(6, 2, causal=True)},
        lambda m, x: m["layer"](x),
    ),
    "attention with a mask": (
        {"layer": nn.MultiheadAttention(6, 2)},
        lambda m, x: m["layer"](x, MASK),
    ),
}


def recorded(name):
    found = RECORDED["models"][name]
    tensors = {key: np.asarray(x, np.float32) for key, x in found["tensors"].items()}
    return tensors, np.asarray(found["x"], np.float32), np.asarray(found["y"], np.float32)


def test_all_that_was_recorded_is_compared():
    assert MODELS.keys() | SEQUENCES.keys() == RECORDED["models"].keys()


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_torch(name):
    tensors, x, y = recorded(name)
    model = wg.nn.from_torch_names(MODELS[name](), tensors)
    if name == "batch_norm":
        found, _ = model(x, wg.nn.running_statistics(tensors), training=False)
    else:
        found = model(x)
    np.testing.assert_allclose(found, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", SEQUENCES)
def test_outputs_of_sequences_are_those_of_torch(name):
    tensors, x, y = recorded(name)
    model, call = SEQUENCES[name]
    found = call(wg.nn.from_torch_names(model, tensors), x)
    np.testing.assert_allclose(found, y, rtol=2e-5, atol=2e-6)


def test_fields_of_a_model_are_names():
    tensors, x, y = recorded("conv2d")
    inside = {"first": {"conv": MODELS["conv2d"]()}, "rest": [nn.Linear(2, 2)]}
    named = {f"first.conv.{key}": x for key, x in tensors.items()}
    named |= {"rest.0.weight": np.ones((2, 2)), "rest.0.bias": np.ones(2)}
    model = wg.nn.from_torch_names(inside, named)
    np.testing.assert_allclose(model["first"]["conv"](x), y, rtol=2e-5, atol=2e-6)
    assert model["rest"][0].bias.dtype == np.float32  # that of the model


def test_arrays_are_copied():
    tensors = {"weight": np.ones((2, 3), np.float32), "bias": np.zeros(2, np.float32)}
    model = wg.nn.from_torch_names(nn.Linear(3, 2), tensors)
    tensors["weight"][:] = 5
    assert (model.weight == 1).all()


def test_names_that_do_not_fit_are_told():
    tensors = {"weigth": np.ones((2, 3)), "bias": np.zeros(2)}
    with pytest.raises(
        ValueError, match="there is no weight and the model has no place for weigth"
    ):
        wg.nn.from_torch_names(nn.Linear(3, 2), tensors)
    with pytest.raises(ShapeError, match=r"bias has shape \(3,\); the model has \(2,\)"):
        wg.nn.from_torch_names(nn.Linear(3, 2), {"weight": np.ones((2, 3)), "bias": np.zeros(3)})
    with pytest.raises(TypeError, match="must be a dictionary of arrays by name"):
        wg.nn.from_torch_names(nn.Linear(3, 2), [np.ones(2)])
    with pytest.raises(ValueError, match=r"running statistics are there for a\.bn"):
        wg.nn.running_statistics({"a.bn.running_mean": 0, "a.bn.running_var": 1}, "bn")


def test_what_is_counted_belongs_to_a_batch_norm_only():
    tensors, _, _ = recorded("batch_norm")
    with pytest.raises(ValueError, match="no place for running_mean"):
        wg.nn.from_torch_names(nn.InstanceNorm(3), tensors)


@dataclass
class Tied:
    embedding: nn.Embedding
    head: nn.Linear


def tied():
    embedding = nn.Embedding(5, 4)
    return Tied(embedding, nn.Linear.of(embedding.weight))


def test_what_is_tied_stays_tied():
    weight = np.arange(20.0).reshape(5, 4)
    both = {"embedding.weight": weight, "head.weight": weight.copy()}
    for given in (both, *({name: both[name]} for name in both)):
        model = wg.nn.from_torch_names(tied(), given)
        assert model.embedding.weight is model.head.weight
        np.testing.assert_array_equal(model.head.weight, weight)
        assert not np.shares_memory(model.head.weight, weight)
    with pytest.raises(ValueError, match=r"embedding\.weight and head\.weight differ; .* tied"):
        wg.nn.from_torch_names(tied(), both | {"head.weight": weight + 1})
    with pytest.raises(ShapeError, match=r"head\.weight has shape \(4, 5\)"):
        wg.nn.from_torch_names(tied(), both | {"head.weight": weight.T})
    with pytest.raises(ValueError, match=r"there is no embedding\.weight;"):
        wg.nn.from_torch_names(tied(), {})


def test_the_likeliest_pair_of_names_is_asked_about():
    model = {"attention_norm": nn.LayerNorm(4), "attention": nn.MultiheadAttention(4, 2)}
    fitting = dict.fromkeys(("attention_norm.weight", "attention_norm.bias"), np.ones(4))
    parts = {"in_proj_weight": (12, 4), "in_proj_bias": (12,), "out_proj.weight": (4, 4)}
    parts |= {"out_proj.bias": (4,)}
    given = {f"self_attn.{name}": np.ones(shape) for name, shape in parts.items()}
    for known in (fitting, {}):
        with pytest.raises(ValueError, match=r"Is self_attn\.(\S+) meant for attention\.\1\?"):
            wg.nn.from_torch_names(model, given | known)
