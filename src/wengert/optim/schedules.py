"""Learning rates that change while training goes on: every schedule by name.

A schedule is called with the index of an update, from 0, and returns its learning rate. Pass one to
an optimizer in place of a number: `wg.optim.SGD(wg.optim.Cosine(0.1, total_steps=1000))`.
"""

from wengert.optim.schedules_base import Schedule
from wengert.optim.schedules_chain import Chain, warmup_then
from wengert.optim.schedules_cycle import CosineRestarts, Cyclic, OneCycle
from wengert.optim.schedules_decay import (
    Constant,
    Cosine,
    Exponential,
    Lambda,
    LinearWarmup,
    MultiStep,
    Polynomial,
    StepDecay,
)
from wengert.optim.schedules_plateau import ReduceOnPlateau

__all__ = [
    "Chain",
    "Constant",
    "Cosine",
    "CosineRestarts",
    "Cyclic",
    "Exponential",
    "Lambda",
    "LinearWarmup",
    "MultiStep",
    "OneCycle",
    "Polynomial",
    "ReduceOnPlateau",
    "Schedule",
    "StepDecay",
    "warmup_then",
]
