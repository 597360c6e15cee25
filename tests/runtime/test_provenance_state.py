"""raise and skip leave every bit of donated arrays as it was, at whatever step it happens."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import NonFiniteError


def fingerprint(tree: Any) -> str:
    return hashlib.sha256(b"".join(x.tobytes() for x in wg.tree.leaves(tree))).hexdigest()


def loss(p: Any, x: Any) -> Any:
    return wg.mean(wg.square(wg.sqrt(wg.abs(x @ p["w"])) + p["b"]))


def train(state: Any, x: Any) -> Any:
    value, grads = wg.value_and_grad(loss)(state["p"], x)
    momentum = wg.tree.map(lambda m, g: 0.9 * m + g, state["m"], grads)
    p = wg.tree.map(lambda p, m: p - 0.01 * m, state["p"], momentum)
    return {"p": p, "m": momentum, "count": state["count"] + 1}, value


def started(dtype: Any) -> Any:
    random = np.random.default_rng(5)
    p = {"w": random.normal(size=(4, 3)).astype(dtype), "b": np.ones(3, dtype)}
    return {"p": p, "m": wg.tree.map(np.zeros_like, p), "count": np.array(0)}


def run(nonfinite: str, dtype: Any, bad: set[int]) -> Any:
    """40 steps, some of them with a batch whose gradient (a row of zeros) or loss is not finite."""
    random = np.random.default_rng(6)
    state, step = started(dtype), wg.compile(train, donate="state", nonfinite=nonfinite)
    for turn in range(40):
        x = random.normal(size=(8, 4)).astype(dtype)
        before = fingerprint(state)
        if turn not in bad:
            step(state, x)
            assert fingerprint(state) != before
            continue
        x[turn % 8] = np.inf if turn % 2 else 0.0
        if nonfinite == "raise":
            with pytest.raises(NonFiniteError):
                step(state, x)
        else:
            assert step(state, x)[0]["p"]["w"] is state["p"]["w"]
        assert fingerprint(state) == before
    return state


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_bad_steps_leave_no_trace(nonfinite, dtype):
    bad = set(np.random.default_rng(7).choice(40, 6, replace=False).tolist())
    state = run(nonfinite, dtype, bad)
    assert state["count"] == 40 - len(bad)
    assert fingerprint(state) == fingerprint(run("skip", dtype, bad))


def test_what_the_bad_steps_say():
    step = wg.compile(train, donate="state", nonfinite="raise")
    x = np.ones((8, 4))
    x[3] = 0.0
    state = started(np.float64)
    with pytest.raises(NonFiniteError) as caught:
        step(state, x)
    assert caught.value.parameter == "state.p.w"
    assert "state.p.w" in str(caught.value)
    assert (caught.value.of, caught.value.phase) == ("sqrt", "backward")
