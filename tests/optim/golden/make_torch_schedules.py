"""Writes torch_schedules.npz: learning rates of torch.optim.lr_scheduler over 10,000 updates.

Run it with torch installed: `python tests/optim/golden/make_torch_schedules.py`. Every scheduler
runs all 10,000 updates; the file keeps the first and last 100 rates, every 16th, and those around
the places where something changes.
"""

from pathlib import Path

import numpy as np
import torch
from torch.optim import lr_scheduler as theirs

STEPS = 10_000
PATH = Path(__file__).with_name("torch_schedules.npz")
BORDERS = (15, 310, 999, 2500, 2501, 3000, 4000, 5998, 6000, 7000, 9000)
KEPT = np.unique(
    np.concatenate(
        [np.arange(100), np.arange(STEPS - 100, STEPS), np.arange(0, STEPS, 16)]
        + [np.arange(border - 3, border + 4) for border in BORDERS]
    )
)

# Name → the scheduler; the test of the same name has ours.
SCHEDULERS = {
    "step": lambda o: theirs.StepLR(o, step_size=999, gamma=0.7),
    "multi_step": lambda o: theirs.MultiStepLR(o, milestones=[15, 2500, 2501, 9000], gamma=0.3),
    "exponential": lambda o: theirs.ExponentialLR(o, gamma=0.9995),
    "rising": lambda o: theirs.ExponentialLR(o, gamma=1.0005),
    "cosine": lambda o: theirs.CosineAnnealingLR(o, T_max=STEPS, eta_min=0.001),
    "restarts": lambda o: theirs.CosineAnnealingWarmRestarts(o, T_0=1000, eta_min=0.001),
    "growing_restarts": lambda o: theirs.CosineAnnealingWarmRestarts(o, T_0=10, T_mult=2),
    "warmup": lambda o: theirs.LinearLR(o, start_factor=0.01, total_iters=3000),
    "warmup_default": lambda o: theirs.LinearLR(o, total_iters=7000),
    "polynomial": lambda o: theirs.PolynomialLR(o, total_iters=9000, power=2.5),
    "linear": lambda o: theirs.PolynomialLR(o, total_iters=4000),
    "one_cycle": lambda o: theirs.OneCycleLR(o, max_lr=0.1, total_steps=STEPS),
    "one_cycle_linear": lambda o: theirs.OneCycleLR(
        o, max_lr=0.1, total_steps=STEPS, pct_start=0.4, anneal_strategy="linear", div_factor=10.0
    ),
    "three_phases": lambda o: theirs.OneCycleLR(
        o, max_lr=0.1, total_steps=STEPS, three_phase=True, final_div_factor=100.0
    ),
    "cyclic": lambda o: theirs.CyclicLR(o, base_lr=0.01, max_lr=0.1),
    "cyclic_halving": lambda o: theirs.CyclicLR(
        o, base_lr=0.01, max_lr=0.1, step_size_up=500, step_size_down=499, mode="triangular2"
    ),
    "cyclic_exponential": lambda o: theirs.CyclicLR(
        o, base_lr=0.01, max_lr=0.1, step_size_up=300, mode="exp_range", gamma=0.9997
    ),
    "lambda": lambda o: theirs.LambdaLR(o, lambda index: 1 / (1 + index / 100)),
    "sequence": lambda o: theirs.SequentialLR(
        o,
        [
            theirs.LinearLR(o, start_factor=0.1, total_iters=15),
            theirs.CosineAnnealingLR(o, T_max=6000),
            theirs.ExponentialLR(o, gamma=0.99),
        ],
        milestones=[15, 3000],
    ),
}


def optimizer() -> torch.optim.Optimizer:
    weights = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    return torch.optim.SGD([weights], lr=0.1, momentum=0.9)


def rates(name: str) -> np.ndarray:
    """The learning rate of every update: the scheduler steps after the optimizer."""
    sgd = optimizer()
    scheduler = SCHEDULERS[name](sgd)
    found = []
    for _ in range(STEPS):
        found.append(float(sgd.param_groups[0]["lr"]))
        sgd.step()
        scheduler.step()
    return np.array(found)


def metrics() -> np.ndarray:
    """Something like validation losses: falling, noisy, with plateaus, always above zero."""
    noise = np.random.default_rng(3).normal(0, 0.02, STEPS)
    level = 1 + np.maximum(0, 1 - np.arange(STEPS) / 4000) ** 2
    return np.round(level + noise, 3)


def plateau(**options: object) -> np.ndarray:
    """The learning rate after every observation."""
    sgd = optimizer()
    scheduler = theirs.ReduceLROnPlateau(sgd, **options)
    sign = -1.0 if options.get("mode") == "max" else 1.0
    found = []
    for metric in metrics():
        scheduler.step(10 + sign * metric)
        found.append(float(sgd.param_groups[0]["lr"]))
    return np.array(found)


PLATEAUS = {
    "plateau": {"factor": 0.7, "patience": 40, "eps": 0.0},
    "plateau_absolute": {
        "factor": 0.9,
        "patience": 5,
        "threshold_mode": "abs",
        "threshold": 0.01,
        "cooldown": 60,
        "min_lr": 0.0005,
    },
    "plateau_max": {"mode": "max", "factor": 0.5, "patience": 100, "cooldown": 3},
}


if __name__ == "__main__":
    series = {name: rates(name) for name in SCHEDULERS}
    series |= {name: plateau(**options) for name, options in PLATEAUS.items()}
    kept = {name: values[KEPT] for name, values in series.items()}
    np.savez_compressed(PATH, kept=KEPT.astype(np.int16), metrics=metrics(), **kept)
