"""`dataclasses.replace` of layers, whose constructors take sizes and not their fields."""

import dataclasses

import numpy as np
import pytest

import wengert as wg
from wengert import nn

MADE = {
    "AdaptiveMeanPool": (2,),
    "BatchNorm": (2,),
    "Bidirectional": (nn.GRU(2, 2), nn.GRU(2, 2)),
    **dict.fromkeys([f"Conv{n}d" for n in (1, 2, 3)], (1, 2, 3)),
    **dict.fromkeys([f"ConvTranspose{n}d" for n in (1, 2, 3)], (1, 2, 3)),
    "Dropout": (0.1,),
    "Embedding": (3, 2),
    "Flatten": (),
    "GRU": (2, 2),
    "GroupNorm": (2, 4),
    "InstanceNorm": (2,),
    "LSTM": (2, 2),
    "LayerNorm": (2,),
    "Linear": (2, 2),
    "Mamba": (4,),
    "MaxPool": (2,),
    "MeanPool": (2,),
    "Mlp": ((2, 3, 1),),
    "MultiheadAttention": (4, 2),
    "PositionalEmbedding": (3, 2),
    "RMSNorm": (2,),
    "RNN": (2, 2),
    "Residual": (nn.Linear(2, 2),),
    "S4D": (2,),
    "Sequential": (nn.Linear(2, 2), "relu"),
    "SinusoidalPositions": (4,),
    "TransformerBlock": (4, 2),
}
OTHERS = ("KeyValueCache", "MambaState")  # what layers give


def test_all_layers_are_here():
    found = {name for name in nn.__all__ if dataclasses.is_dataclass(getattr(nn, name))}
    assert found - {*OTHERS} == {*MADE}


@pytest.mark.parametrize("name", MADE)
def test_a_layer_with_nothing_replaced_is_the_same(name):
    layer = getattr(nn, name)(*MADE[name])
    leaves, structure = wg.tree.flatten(layer)
    again, same = wg.tree.flatten(dataclasses.replace(layer))
    assert structure == same
    assert all(x is y for x, y in zip(leaves, again, strict=True))


def test_one_field_is_replaced_and_the_layer_stays_as_it_is():
    layer, bias = nn.Linear(4, 3, seed=0), np.ones(3, np.float32)
    new = dataclasses.replace(layer, bias=bias)
    assert new.bias is bias
    assert new.weight is layer.weight
    assert not layer.bias.any()
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(new(x), layer(x) + 1)
    assert dataclasses.replace(nn.LayerNorm(3), eps=0.5).eps == 0.5


def test_what_is_no_field_is_refused_as_before():
    with pytest.raises(TypeError, match="Linear: no parameter 'width'; it has in_size"):
        dataclasses.replace(nn.Linear(4, 3), width=3)
    with pytest.raises(TypeError, match="Linear: no parameter 'weight'; it has in_size"):
        nn.Linear(weight=np.ones((3, 4)), bias=None)
