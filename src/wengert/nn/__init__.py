"""Layers as plain dataclasses, and an Mlp whose forward and backward allocate nothing.

The float arrays of a layer are its parameters, everything else in it is fixed. Layers are trees
(`wg.tree`) and functions of arrays or Tensors, so they can be traced, differentiated, compiled and
trained like anything that a user writes.
"""

from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.nn import init
from wengert.nn.dropout import Dropout
from wengert.nn.embedding import Embedding
from wengert.nn.images.channel_norms import GroupNorm, InstanceNorm
from wengert.nn.images.conv_layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from wengert.nn.images.pooling_layers import AdaptiveMeanPool, Flatten, MaxPool, MeanPool
from wengert.nn.linear import Linear
from wengert.nn.normalization import BatchNorm, LayerNorm, RMSNorm
from wengert.nn.perceptron.gradients import Gradients
from wengert.nn.perceptron.mlp import Mlp
from wengert.nn.perceptron.scratch import Scratch
from wengert.nn.residual import Residual
from wengert.nn.seeding import seed
from wengert.nn.sequences.bidirectional import Bidirectional
from wengert.nn.sequences.mamba import Mamba, MambaState
from wengert.nn.sequences.multihead import KeyValueCache, MultiheadAttention
from wengert.nn.sequences.positional import PositionalEmbedding, SinusoidalPositions, rotary
from wengert.nn.sequences.recurrent import GRU
from wengert.nn.sequences.rnn import LSTM, RNN
from wengert.nn.sequences.s4d import S4D
from wengert.nn.sequences.transformer import TransformerBlock
from wengert.nn.sequential import Sequential
from wengert.nn.summary import summary
from wengert.nn.torch_names import from_torch_names, running_statistics

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "S4D",
    "AdaptiveMeanPool",
    "BatchNorm",
    "Bidirectional",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Embedding",
    "Flatten",
    "Gradients",
    "GroupNorm",
    "InstanceNorm",
    "KeyValueCache",
    "LayerNorm",
    "Linear",
    "Mamba",
    "MambaState",
    "MaxPool",
    "MeanPool",
    "Mlp",
    "MultiheadAttention",
    "PositionalEmbedding",
    "RMSNorm",
    "Residual",
    "Scratch",
    "Sequential",
    "SinusoidalPositions",
    "TransformerBlock",
    "from_torch_names",
    "init",
    "rotary",
    "running_statistics",
    "seed",
    "summary",
]

explain_missing_names(globals())
del explain_missing_names
