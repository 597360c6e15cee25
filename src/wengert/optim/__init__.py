"""Optimizers, learning-rate schedules, and clipping of gradients.

Every optimizer is one rule that works in place on arrays (`step`), on nodes of a graph
(`step_graph_node`), over trees (`init`, `update`) and inside a compiled training step.
"""

from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.optim import schedules
from wengert.optim.adam import Adam, AdamW
from wengert.optim.clip import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from wengert.optim.lamb import Lamb
from wengert.optim.lars import Lars
from wengert.optim.lion import Lion
from wengert.optim.optimizer import Optimizer
from wengert.optim.protocols import LearningRate, StepOptimizer
from wengert.optim.quasi_newton.lbfgs import LBFGS
from wengert.optim.radam import RAdam
from wengert.optim.rmsprop import Adagrad, RMSProp
from wengert.optim.schedules import (
    Chain,
    Constant,
    Cosine,
    CosineRestarts,
    Cyclic,
    Exponential,
    Lambda,
    LinearWarmup,
    MultiStep,
    OneCycle,
    Polynomial,
    ReduceOnPlateau,
    Schedule,
    StepDecay,
    warmup_then,
)
from wengert.optim.sgd import SGD
from wengert.optim.wrapping import EMA, Lookahead

__all__ = [
    "EMA",
    "LBFGS",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Chain",
    "Constant",
    "Cosine",
    "CosineRestarts",
    "Cyclic",
    "Exponential",
    "Lamb",
    "Lambda",
    "Lars",
    "LearningRate",
    "LinearWarmup",
    "Lion",
    "Lookahead",
    "MultiStep",
    "OneCycle",
    "Optimizer",
    "Polynomial",
    "RAdam",
    "RMSProp",
    "ReduceOnPlateau",
    "Schedule",
    "StepDecay",
    "StepOptimizer",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "global_norm",
    "schedules",
    "warmup_then",
]

explain_missing_names(globals())
del explain_missing_names
