"""What is said to those who write a schedule by its name elsewhere gives the rates of that one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert.core.words.foreign_names.schedule_names import THEIR_SCHEDULES

optax = pytest.importorskip("optax")
o = wg.optim
LR, TOTAL, WARMUP = 0.3, 20, 5

# By the name elsewhere: how it is made there, and what we say to write.
PAIRS: dict[str, tuple[Callable[[], Callable[[int], float]], str]] = {
    "constant_schedule": (lambda: optax.constant_schedule(LR), "wg.optim.Constant(lr)"),
    "cosine_decay_schedule": (
        lambda: optax.cosine_decay_schedule(LR, TOTAL),
        "wg.optim.Cosine(lr, total_steps)",
    ),
    "exponential_decay": (
        lambda: optax.exponential_decay(LR, 4, 0.5),
        "wg.optim.Exponential(lr, decay_rate ** (1 / decay_steps))",
    ),
    "linear_schedule": (
        lambda: optax.linear_schedule(LR, 0.0, TOTAL),
        "wg.optim.Polynomial(lr, total_steps)",
    ),
    "piecewise_constant_schedule": (
        lambda: optax.piecewise_constant_schedule(LR, {3: 0.1, 7: 0.1}),
        "wg.optim.MultiStep(lr, milestones, gamma)",
    ),
    "polynomial_schedule": (
        lambda: optax.polynomial_schedule(LR, 0.0, 2, TOTAL),
        "wg.optim.Polynomial(lr, total_steps, power)",
    ),
    "warmup_constant_schedule": (
        lambda: optax.warmup_constant_schedule(0.0, LR, WARMUP),
        "wg.optim.warmup_then(wg.optim.Constant(lr), warmup, start_factor=0.0)",
    ),
    "warmup_cosine_decay_schedule": (
        lambda: optax.warmup_cosine_decay_schedule(0.0, LR, WARMUP, TOTAL),
        "wg.optim.warmup_then(wg.optim.Cosine(lr, total - warmup), warmup, start_factor=0.0)",
    ),
}
NUMBERS = {
    "lr": LR,
    "total": TOTAL,
    "total_steps": TOTAL,
    "warmup": WARMUP,
    "power": 2,
    "decay_rate": 0.5,
    "decay_steps": 4,
    "milestones": (3, 7),
    "gamma": 0.1,
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_said_to_write_has_the_rates_of_that_schedule(name):
    theirs, written = PAIRS[name]
    assert written in THEIR_SCHEDULES[name]
    ours = eval(written, {"wg": wg}, NUMBERS)
    np.testing.assert_allclose(
        [ours(i) for i in range(TOTAL + 2)],
        [float(theirs()(i)) for i in range(TOTAL + 2)],
        rtol=1e-5,
        atol=1e-7,
    )


@pytest.mark.parametrize("name", [name for name in dir(optax) if name.endswith("_schedule")])
def test_every_schedule_of_optax_is_known(name):
    with pytest.raises(wg.errors.MissingAttribute, match=r"wg\.optim\.[A-Zw]\w+"):
        getattr(o, name)
    assert name in THEIR_SCHEDULES


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: o.Cosine(init_value=0.1, decay_steps=9), "Write lr="),  # type: ignore[call-arg]
        (lambda: o.Cosine(0.1, decay_steps=9), "Write total_steps="),  # type: ignore[call-arg]
        (lambda: o.Polynomial(0.1, 9, end_value=0.0), "Write min_lr="),  # type: ignore[call-arg]
        (lambda: o.warmup_then(0.1, warmup_steps=9), "Write steps="),  # type: ignore[call-arg]
    ],
)
def test_parameters_of_optax_are_told_ours(make, meant):
    with pytest.raises(TypeError, match=meant):
        make()
