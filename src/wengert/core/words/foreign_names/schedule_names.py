"""What other libraries call schedules of the learning rate, and what to write instead: torch's,
optax's, those of transformers and of Keras.

Names beside one another are of one curve. Of optax's and transformers' warm-ups the length of the
whole, `total`, counts those of the warm-up, which begins at 0 or at `init_value`.
"""

from __future__ import annotations

from collections.abc import Mapping

_AS_LR = ", and pass it as lr"
_COSINE = f"Write wg.optim.Cosine(lr, total_steps){_AS_LR}"
_RESTARTS = f"Write wg.optim.CosineRestarts(lr, period){_AS_LR}"
_POLYNOMIAL = f"Write wg.optim.Polynomial(lr, total_steps, power){_AS_LR}"
_CONSTANT = "Pass the number as lr, or wg.optim.Constant(lr)"
_EXPONENTIAL = (
    f"Write wg.optim.Exponential(lr, decay_rate ** (1 / decay_steps)){_AS_LR}; of a staircase, "
    "wg.optim.StepDecay(lr, decay_steps, decay_rate)"
)
_PIECES = (
    f"Write wg.optim.MultiStep(lr, milestones, gamma){_AS_LR}; of other rates, "
    "wg.optim.Chain([wg.optim.Constant(a), wg.optim.Constant(b)], [milestone])"
)
_LINEAR = (
    "Write wg.optim.LinearWarmup(lr, total_steps), and to go down "
    f"wg.optim.Polynomial(lr, total_steps){_AS_LR}"
)
_ONE_CYCLE = f"Write wg.optim.OneCycle(max_lr, total_steps){_AS_LR}"
_JOINED = f"Write wg.optim.Chain(schedules, milestones){_AS_LR}"
_PRODUCT = f"Write wg.optim.Lambda(lr, function) with their product{_AS_LR}"


def _warmed(schedule: str) -> str:
    """How a schedule is written that begins with a warm-up."""
    return f"Write wg.optim.warmup_then(wg.optim.{schedule}, warmup, start_factor=0.0){_AS_LR}"


_WARMED_COSINE = _warmed("Cosine(lr, total - warmup)")
_WARMED_CONSTANT = _warmed("Constant(lr)")
_WARMED_POLYNOMIAL = _warmed("Polynomial(lr, total - warmup, power)")

THEIR_SCHEDULES: Mapping[str, str] = {
    # torch.optim.lr_scheduler
    "ChainedScheduler": _PRODUCT,
    "ConstantLR": f"Write wg.optim.Constant(lr), or wg.optim.Chain{_AS_LR}",
    "CosineAnnealingLR": _COSINE,
    "CosineAnnealingWarmRestarts": _RESTARTS,
    "CyclicLR": f"Write wg.optim.Cyclic(base_lr, max_lr){_AS_LR}",
    "ExponentialLR": f"Write wg.optim.Exponential(lr, gamma){_AS_LR}",
    "LambdaLR": f"Write wg.optim.Lambda(lr, function){_AS_LR}",
    "LinearLR": _LINEAR,
    "lr_scheduler": f"{_COSINE} of an optimizer",
    "MultiplicativeLR": _PRODUCT,
    "MultiStepLR": f"Write wg.optim.MultiStep(lr, milestones){_AS_LR}",
    "OneCycleLR": _ONE_CYCLE,
    "PolynomialLR": _POLYNOMIAL,
    "ReduceLROnPlateau": f"Write wg.optim.ReduceOnPlateau(lr){_AS_LR}",
    "SequentialLR": _JOINED,
    "StepLR": f"Write wg.optim.StepDecay(lr, step_size){_AS_LR}",
    # optax
    "constant_schedule": _CONSTANT,
    "cosine_decay_schedule": _COSINE,
    "cosine_onecycle_schedule": _ONE_CYCLE,
    "exponential_decay": _EXPONENTIAL,
    "join_schedules": _JOINED,
    "linear_onecycle_schedule": (
        f'Write wg.optim.OneCycle(max_lr, total_steps, anneal_strategy="linear"){_AS_LR}'
    ),
    "linear_schedule": _LINEAR,
    "LinearSchedule": _LINEAR,
    "piecewise_constant_schedule": _PIECES,
    "piecewise_interpolate_schedule": f"Write wg.optim.Lambda(lr, function){_AS_LR}",
    "polynomial_schedule": _POLYNOMIAL,
    "scale_by_schedule": "Pass the schedule as lr: wg.optim.Adam(wg.optim.Cosine(lr, total_steps))",
    "sgdr_schedule": _RESTARTS,
    "warmup_constant_schedule": _WARMED_CONSTANT,
    **dict.fromkeys(
        ("warmup_cosine_decay_schedule", "WarmupCosine", "WarmupCosineSchedule"), _WARMED_COSINE
    ),
    "warmup_exponential_decay_schedule": _warmed("Exponential(lr, gamma)"),
    # transformers
    "get_constant_schedule": _CONSTANT,
    "get_constant_schedule_with_warmup": _WARMED_CONSTANT,
    "get_cosine_schedule_with_warmup": _WARMED_COSINE,
    "get_cosine_with_hard_restarts_schedule_with_warmup": _warmed("CosineRestarts(lr, period)"),
    "get_linear_schedule_with_warmup": _warmed("Polynomial(lr, total - warmup)"),
    "get_polynomial_decay_schedule_with_warmup": _WARMED_POLYNOMIAL,
    "get_scheduler": _WARMED_COSINE,
    # Keras
    "CosineDecay": _COSINE,
    "CosineDecayRestarts": _RESTARTS,
    "ExponentialDecay": _EXPONENTIAL,
    "InverseTimeDecay": (
        f"Write wg.optim.Lambda(lr, lambda index: 1 / (1 + decay_rate * index / decay_steps))"
        f"{_AS_LR}"
    ),
    "LearningRateSchedule": "Subclass wg.optim.Schedule, and define values(indices)",
    "LearningRateScheduler": f"Write wg.optim.Lambda(lr, function){_AS_LR}",
    "PiecewiseConstantDecay": _PIECES,
    "PolynomialDecay": _POLYNOMIAL,
}
