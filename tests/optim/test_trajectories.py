"""200 steps on three problems: against torch, against optax, and against the formulas."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import optax
import pytest

import wengert as wg
from optim.problems import PROBLEMS, distance, trajectory
from optim.torch_cases import CASES

GOLDEN = json.loads((Path(__file__).parent / "golden" / "torch.json").read_text(encoding="utf-8"))
TOLERANCE = 1e-10
EACH_PROBLEM = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def ours(problem, optimizer):
    """The trajectory of steps in place."""

    def update(parameters, gradients):
        for name, weights in parameters.items():
            optimizer.step(name, weights, gradients[name])
        return parameters

    return trajectory(problem, update)


def by_optax(problem, transformation):
    state = [transformation.init(problem.start)]

    @jax.jit
    def step(gradients, state, parameters):
        moves, state = transformation.update(gradients, state, parameters)
        return optax.apply_updates(parameters, moves), state

    def update(parameters, gradients):
        moved, state[0] = step(gradients, state[0], parameters)
        return {name: np.asarray(x) for name, x in moved.items()}

    return trajectory(problem, update)


def moved(found, problem):
    """How far a trajectory has come; one that stands still proves nothing."""
    return distance(found[-1:], [problem.start])


@pytest.mark.parametrize("case", CASES)
@EACH_PROBLEM
def test_torch(problem, case):
    name = next(key for key, each in PROBLEMS.items() if each is problem)
    kind, settings = CASES[case]
    golden = [
        {key: np.reshape(x, problem.start[key].shape) for key, x in point.items()}
        for point in GOLDEN["trajectories"][case][name]
    ]
    found = ours(problem, getattr(wg.optim, kind)(**settings))
    assert moved(found, problem) > 0.1
    assert distance(found, golden) < TOLERANCE


def test_the_golden_trajectories_are_of_the_torch_we_name_and_of_every_case():
    assert GOLDEN["torch"] == "2.13.0"
    assert list(GOLDEN["trajectories"]) == list(CASES)


rates = wg.optim.Cosine(0.05, total_steps=200)


def jax_rates(step):
    return 0.05 * 0.5 * (1 + jax.numpy.cos(np.pi * step / 200))


OPTAX = {
    "lamb": (wg.optim.Lamb(0.004), optax.lamb(0.004)),
    "lamb decay": (
        wg.optim.Lamb(0.002, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1),
        optax.lamb(0.002, b1=0.8, b2=0.95, eps=1e-4, weight_decay=0.1),
    ),
    "lion": (wg.optim.Lion(0.01), optax.lion(0.01, weight_decay=0.0)),
    "lion decay": (
        wg.optim.Lion(0.01, betas=(0.8, 0.9), weight_decay=0.1),
        optax.lion(0.01, b1=0.8, b2=0.9, weight_decay=0.1),
    ),
    "lars": (
        wg.optim.Lars(1.0, momentum=0.9, variant="optax"),
        optax.lars(1.0, momentum=0.9),
    ),
    "lars decay": (
        wg.optim.Lars(
            0.5, momentum=0.8, weight_decay=0.1, trust_coefficient=0.01, eps=0.1, variant="optax"
        ),
        optax.lars(0.5, momentum=0.8, weight_decay=0.1, trust_coefficient=0.01, eps=0.1),
    ),
    "lars nesterov": (
        wg.optim.Lars(1.0, momentum=0.9, nesterov=True, variant="optax"),
        optax.lars(1.0, momentum=0.9, nesterov=True),
    ),
    "lars schedule": (
        wg.optim.Lars(rates, 0.9, trust_coefficient=0.02, variant="optax"),
        optax.lars(jax_rates, momentum=0.9, trust_coefficient=0.02),
    ),
    "sgd": (wg.optim.SGD(0.05), optax.sgd(0.05)),
    "sgd momentum": (wg.optim.SGD(0.01, momentum=0.9), optax.sgd(0.01, momentum=0.9)),
    "sgd nesterov": (
        wg.optim.SGD(0.01, momentum=0.9, nesterov=True),
        optax.sgd(0.01, momentum=0.9, nesterov=True),
    ),
    "adam": (wg.optim.Adam(0.03), optax.adam(0.03)),
    "adam schedule": (wg.optim.Adam(rates), optax.adam(jax_rates)),
    "adamw": (wg.optim.AdamW(0.03, weight_decay=0.3), optax.adamw(0.03, weight_decay=0.3)),
    "radam": (wg.optim.RAdam(0.03, eps=0.0), optax.radam(0.03, eps=0.0)),
}


@pytest.mark.parametrize("case", OPTAX)
@EACH_PROBLEM
def test_optax(problem, case):
    optimizer, transformation = OPTAX[case]
    found = ours(problem, optimizer.copy())
    assert moved(found, problem) > 0.1
    assert distance(found, by_optax(problem, transformation)) < TOLERANCE
