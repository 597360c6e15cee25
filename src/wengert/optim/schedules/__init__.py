"""Learning rates that change while training goes on: every schedule by name.

A schedule is called with the index of an update, from 0, and returns its learning rate. Pass one to
an optimizer in place of a number: `wg.optim.SGD(wg.optim.Cosine(0.1, total_steps=1000))`.
"""

from wengert.optim.schedules.schedules_base import Schedule
from wengert.optim.schedules.schedules_joined import Chain, ReduceOnPlateau, warmup_then
from wengert.optim.schedules.schedules_rates import (
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
    StepDecay,
)

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
