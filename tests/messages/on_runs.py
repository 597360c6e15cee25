"""Batches, states and results that a training step cannot use, met while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.train import guard

X, Y = np.ones((4, 3)), np.ones(4)


class _DataSet:
    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, i: int) -> Any:
        return X[i], Y[i]


def loss(w: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ w - y) ** 2)


def step(function: Callable[..., Any] = loss, **options: Any) -> wg.TrainStep:
    return wg.TrainStep(function, np.ones(3), wg.optim.SGD(0.1), **options)


def evaluated(function: Callable[..., Any], batch_size: int = 2) -> Any:
    return step().evaluate(function, X, batch_size=batch_size)


def called_by_its_loss() -> Any:
    made: list[wg.TrainStep] = []

    def nested(w: Any, x: Any, y: Any) -> Any:
        return made[0](x, y)

    made.append(step(nested))
    return made[0](X, Y)


def called_while_it_is_read() -> Any:
    made = step()
    return made.evaluate(lambda w, x: made(X, Y), X, batch_size=4)


def after_a_fork() -> Any:
    """What a child says that was forked while another thread was inside a step."""
    made = step()
    made._engine.guard.pending = guard._refuse_half
    return made(X, Y)


CASES: dict[str, Callable[[], Any]] = {
    "TrainStep.evaluate: a state that is missing": lambda: step(
        lambda w, h, x: (wg.sum(w * x), h), state=0.0
    ).evaluate(lambda w, h, x: wg.mean(h * x), X, batch_size=2),
    "TrainStep: an empty batch": lambda: step()(X[:0], Y[:0]),
    "TrainStep: gradients whose norm is beyond all floats": lambda: step(
        lambda w, x: wg.sum(w * x), clip_norm=1.0
    )(np.array([1.5e308, 0.0, -1.5e308])),
    "TrainStep: called by its own loss": called_by_its_loss,
    "TrainStep: after a fork in the middle of a step": after_a_fork,
    "TrainStep: called by a function it evaluates": called_while_it_is_read,
    "TrainStep: masked elements": lambda: step()(np.ma.masked_greater(X, 0), Y),
    "TrainStep: a matrix": lambda: step()(np.matrix(X), Y),
    "TrainStep.run: masked elements": lambda: step().run(
        np.ma.masked_greater(X, 0), Y, batch_size=2
    ),
    "TrainStep: masked parameters": lambda: setattr(
        step(), "model", np.ma.masked_greater(np.ones(3), 0)
    ),
    "TrainStep: a state whose dtype changes": lambda: step(
        lambda w, state, x: (wg.sum(w), state.astype(np.float32)), state=np.zeros(2)
    )(X),
    "TrainStep: a batch argument that the loss has not": lambda: step()(X, z=Y),
    "TrainStep: a batch argument twice": lambda: step()(X, Y, x=X),
    "TrainStep: a batch argument that is missing": lambda: step()(y=Y),
    "TrainStep.run: a generator of batches": lambda: step().run(
        (batch for batch in [(X, Y)]), batch_size=2
    ),
    "TrainStep.run: a data set": lambda: step().run(_DataSet(), batch_size=2),
    "TrainStep.evaluate: an iterator of batches": lambda: step().evaluate(
        loss, iter([(X, Y)]), batch_size=2
    ),
    "TrainStep.evaluate: a metric of values that are recorded": lambda: step().evaluate(
        lambda w, x, y: wg.train.metrics.mse(y, x @ w), X, Y, batch_size=2
    ),
    "TrainStep.run: data of objects": lambda: step().run(np.array([None] * 4), Y, batch_size=2),
    "TrainStep.run: data of rows that differ": lambda: step().run(
        np.array([Y, Y[:2]], dtype=object), batch_size=2
    ),
    "TrainStep.run: a model among the data": lambda: step(lambda w, t, x: wg.sum(w)).run(
        wg.nn.Mlp((3, 4, 2), seed=0), np.ones((6, 3)), batch_size=2
    ),
    "TrainStep.run: aux": lambda: step().run(X, Y, batch_size=2, aux="first"),
    "TrainStep.run: an array that the loss has not": lambda: step().run(X, z=Y, batch_size=2),
    "TrainStep.run: an array that is missing": lambda: step().run(y=Y, batch_size=2),
    "TrainStep.bind: a generator by position": lambda: step().bind(lambda w, x, rng: x)(X, 1),
    "TrainStep.run: a key among the data": lambda: step().run(
        np.resize(X, (8, 2)), wg.random.key(0), batch_size=2
    ),
    "TrainStep.run: means among the data": lambda: step().run(
        np.resize(X, (8, 2)), X.mean(axis=0), batch_size=2
    ),
    "TrainStep.run: times among the data": lambda: step().run(
        np.resize(X, (8, 5)), np.arange(5.0), batch_size=2
    ),
    "TrainStep.bind: a static argument that the function has not": lambda: step().bind(
        lambda w, x, n: x, static="k"
    ),
    "TrainStep.bind: an argument by name alone": lambda: step().bind(lambda w, x, *, n=2: x * n)(
        X, n=3
    ),
    "TrainStep.bind: an argument that the function has not": lambda: step().bind(
        lambda w, x, rng: x
    )(X, rng=1),
    "TrainStep: averages that no optimizer keeps": lambda: step(lambda w, averaged, x: wg.sum(w)),
    "TrainStep.evaluate: a result per row": lambda: evaluated(lambda w, x: x @ w),
    "TrainStep.evaluate: a result per row, in a tree": lambda: evaluated(
        lambda w, x: {"scores": [wg.matrix_transpose(x)]}, 3
    ),
}
