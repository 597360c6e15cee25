"""The network of a run: layers, loss, optimizer, all as the settings say."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import optim
from wengert.cli.datasets.preparation import CLASSIFICATION, Preparation
from wengert.cli.exit_codes import UsageFault
from wengert.cli.train_settings import OPTIMIZERS, TrainSettings
from wengert.core.table import op
from wengert.core.types import Value
from wengert.nn.dropout import Dropout
from wengert.nn.linear import Linear
from wengert.nn.sequential import Sequential
from wengert.train.ranked.ranks import ALONE
from wengert.train.step import TrainStep

Array = np.ndarray[Any, Any]
_ROWS_AT_ONCE = 4096  # of predictions
_RELU_LIKE = ("relu", "leaky_relu", "silu", "gelu")


def make_model(preparation: Preparation, settings: TrainSettings) -> Sequential:
    """Linear layers with activations between them, and dropout behind each activation."""
    sizes = (preparation.width, *settings.layers, preparation.outputs)
    layers: list[Any] = []
    init = "he_uniform" if settings.activation in _RELU_LIKE else "xavier_uniform"
    rng = np.random.default_rng(settings.seed)
    for i, (size, following) in enumerate(itertools.pairwise(sizes)):
        is_last = i == len(settings.layers)
        layers.append(Linear(size, following, init="xavier_uniform" if is_last else init, seed=rng))
        if not is_last:
            layers.append(settings.activation)
            if settings.dropout:
                layers.append(Dropout(settings.dropout))
    return Sequential(*layers)


def class_loss(model: Any, x: Value, y: Value, rng: Any = None) -> Value:
    return op.cross_entropy(model(x, rng), y)


def number_loss(model: Any, x: Value, y: Value, rng: Any = None) -> Value:
    return op.mse(model(x, rng), y)


def outputs(model: Any, x: Value) -> Value:
    """Logits, or standardised numbers of shape (rows, 1)."""
    return model(x)


def make_step(
    preparation: Preparation, settings: TrainSettings, rows: int, threads: int | None = None
) -> TrainStep:
    """A step that has not been called. `rows` is how many there are to train on."""
    return TrainStep(
        class_loss if preparation.target.task == CLASSIFICATION else number_loss,
        make_model(preparation, settings),
        _make_optimizer(settings, -(-rows // settings.batch_size)),
        clip_norm=settings.clip,
        seed=settings.seed,
        threads=settings.threads if threads is None else threads,
        ranks=ALONE,
    )


def _make_optimizer(settings: TrainSettings, steps: int) -> Any:
    """The optimizer with its schedule; `steps` is the number of updates of an epoch."""
    kind = getattr(optim, OPTIMIZERS[settings.optimizer])
    given: dict[str, float] = {}
    if settings.momentum is not None:
        if settings.optimizer not in ("sgd", "rmsprop", "lars"):
            raise UsageFault(
                f"--momentum: given {settings.momentum:g} with --optimizer {settings.optimizer}, "
                "which has none; it belongs to sgd, rmsprop and lars. Leave it out."
            )
        given["momentum"] = settings.momentum
    if settings.weight_decay is not None:
        given["weight_decay"] = settings.weight_decay
    return kind(_schedule(settings, steps), **given)


def _schedule(settings: TrainSettings, steps: int) -> Any:
    warmup = round(settings.warmup * steps)
    total = settings.epochs * steps - warmup
    if total < 1:
        raise UsageFault(
            f"--warmup: given {settings.warmup:g} epochs of {settings.epochs}; training must go on "
            "behind it. Give fewer."
        )
    if settings.schedule == "constant" and not warmup:
        return settings.lr
    makers: dict[str, Callable[[float], optim.Schedule]] = {
        "constant": optim.Constant,
        "cosine": lambda lr: optim.Cosine(lr, total),
        "linear": lambda lr: optim.Polynomial(lr, total),
        "exponential": lambda lr: optim.Exponential(lr, 0.01 ** (1 / total)),
        "onecycle": lambda lr: optim.OneCycle(lr, total),
    }
    schedule = makers[settings.schedule](settings.lr)
    return optim.warmup_then(schedule, warmup) if warmup else schedule


class Predictor:
    """A model on inputs of any number of rows, with the live parameters of a step."""

    def __init__(self, step: TrainStep, preparation: Preparation) -> None:
        self._outputs = step.bind(outputs)
        self.target = preparation.target

    def outputs(self, x: Array) -> Array:
        parts = [self._outputs(x[i : i + _ROWS_AT_ONCE]) for i in range(0, len(x), _ROWS_AT_ONCE)]
        return np.concatenate(parts)

    def probabilities(self, x: Array) -> Array:
        """Of each class, (rows, classes), in float64."""
        logits = self.outputs(x).astype(np.float64)
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Array = raised / raised.sum(axis=1, keepdims=True)
        return probabilities

    def numbers(self, x: Array) -> Array:
        """Of a regression, in the unit of the target."""
        standardised: Array = self.outputs(x)[:, 0].astype(np.float64)
        return standardised * self.target.scale + self.target.mean
