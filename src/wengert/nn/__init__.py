"""Layers as plain dataclasses, and an Mlp whose forward and backward allocate nothing.

The float arrays of a layer are its parameters, everything else in it is fixed. Layers are trees
(`wg.tree`) and functions of arrays or Tensors, so they can be traced, differentiated, compiled and
trained like anything that a user writes.
"""

from wengert.core.words.missing import explain_missing_names
from wengert.nn import init
from wengert.nn.dropout import Dropout
from wengert.nn.embedding import Embedding
from wengert.nn.gradients import Gradients
from wengert.nn.linear import Linear
from wengert.nn.mlp import Mlp
from wengert.nn.normalization import BatchNorm, LayerNorm
from wengert.nn.recurrent import GRU
from wengert.nn.scratch import Scratch
from wengert.nn.seeding import seed
from wengert.nn.sequential import Sequential
from wengert.nn.summary import summary

__all__ = [
    "GRU",
    "BatchNorm",
    "Dropout",
    "Embedding",
    "Gradients",
    "LayerNorm",
    "Linear",
    "Mlp",
    "Scratch",
    "Sequential",
    "init",
    "seed",
    "summary",
]

explain_missing_names(globals())
del explain_missing_names
