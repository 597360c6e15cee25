"""The network of an estimator: what is recorded of it, its first weights, and its losses.

A `NetworkPlan` is all that decides about the program. Numbers that may differ from fit to fit of
one plan (the penalty, weights of rows, learning rates) are arguments of the program, so that a
search over them compiles once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.nn.normalization import BatchNorm, LayerNorm

Array = np.ndarray[Any, Any]
Inputs = Mapping[str, Any]  # "numbers" (rows, columns) and "codes" (rows, categorical columns)
ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "logistic": op.sigmoid,
    "tanh": op.tanh,
    "relu": op.relu,
    "leaky_relu": op.leaky_relu,
    "silu": op.silu,
    "gelu": op.gelu,
}
SOFTMAX, LOGISTIC, IDENTITY, EXP = "softmax", "logistic", "identity", "exp"  # of the outputs
BATCH, LAYER = "batch", "layer"  # kinds of normalization


@dataclass(frozen=True)
class NetworkPlan:
    """Everything about a network that its program depends on."""

    numbers: int  # columns that are numbers
    tables: tuple[tuple[int, int], ...]  # rows and columns of the embedding of each other column
    hidden: tuple[int, ...]
    outputs: int
    activation: str
    output: str  # what is made of the last layer, and with it the loss
    dropout: float
    norm: str | None
    dtype: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the layers, from the inputs to the outputs."""
        width = self.numbers + sum(columns for _, columns in self.tables)
        return (width, *self.hidden, self.outputs)

    def initial(self, random: np.random.RandomState) -> dict[str, Any]:
        """First weights (Glorot and Bengio 2010), drawn as scikit-learn draws them; the first row
        of an embedding, which stands for what is unknown, is 0.
        """
        factor = 2.0 if self.activation == "logistic" else 6.0
        layers = []
        for rows, columns in pairwise(self.sizes):
            bound = math.sqrt(factor / (rows + columns))
            layers.append(
                {
                    "weight": random.uniform(-bound, bound, (rows, columns)).astype(self.dtype),
                    "bias": random.uniform(-bound, bound, columns).astype(self.dtype),
                }
            )
        model: dict[str, Any] = {"layers": layers}
        if self.tables:
            tables = [random.normal(size=shape).astype(self.dtype) for shape in self.tables]
            for table in tables:
                table[0] = 0.0
            model["embeddings"] = tables
        if self.norm is not None:
            kind = BatchNorm if self.norm == BATCH else LayerNorm
            model["norms"] = [kind(size, dtype=self.dtype) for size in self.hidden]
        return model

    def initial_state(self) -> Any:
        """Running statistics, where there are some."""
        if self.norm != BATCH:
            return None
        return [BatchNorm(size, dtype=self.dtype).initial_state() for size in self.hidden]

    def last_layer(
        self, model: Any, inputs: Inputs, state: Any = None, training: bool = False, rng: Any = None
    ) -> tuple[Any, Any]:
        """What the last layer computes, before anything is made of it, and the new statistics."""
        x, statistics = self._first_layer(model, inputs), []
        for i, layer in enumerate(model["layers"]):
            x = x @ layer["weight"] + layer["bias"]
            if i == len(self.hidden):
                break
            if self.norm == BATCH:
                x, new = model["norms"][i](x, state[i], training=training)
                statistics.append(new)
            elif self.norm == LAYER:
                x = model["norms"][i](x)
            x = ACTIVATIONS[self.activation](x)
            if self.dropout and rng is not None:
                x = op.dropout(x, self.dropout, rng)
        return x, statistics

    def _first_layer(self, model: Any, inputs: Inputs) -> Any:
        parts = [inputs["numbers"]] if self.numbers else []
        for i in range(len(self.tables)):
            parts.append(model["embeddings"][i][inputs["codes"][:, i]])
        return parts[0] if len(parts) == 1 else op.concat(parts, axis=1)

    def losses(self, outputs: Any, y: Any) -> Any:
        """The loss of each row, by what the last layer computed."""
        if self.output == SOFTMAX and outputs.shape[1] == 1:  # a single class is always right
            return op.sum(outputs, axis=1) * 0
        if self.output == SOFTMAX:
            return op.cross_entropy(outputs, y, reduction="none")
        if self.output == LOGISTIC:
            return op.sum(op.softplus(outputs) - outputs * y, axis=1)
        if self.output == EXP:  # half the deviance of Poisson's distribution
            return op.sum(op.exp(outputs) - y * outputs + op.xlogy(y, y) - y, axis=1)
        return op.sum((outputs - y) ** 2, axis=1) / 2

    def outcome(self, outputs: Array) -> Array:
        """Probabilities or predictions, by what the last layer computed."""
        if self.output == SOFTMAX:
            return np.asarray(op.softmax(outputs, axis=1))
        if self.output == LOGISTIC:
            return np.asarray(op.sigmoid(outputs))
        return np.exp(outputs) if self.output == EXP else outputs


def penalty(model: Any) -> Any:
    """The sum of the squares of all weights but biases, norms and embeddings."""
    return sum(op.sum(layer["weight"] ** 2) for layer in model["layers"])


def loss_of(plan: NetworkPlan) -> Callable[..., Any]:
    """The loss that is trained: the mean over rows by their weights, and the penalty."""

    def mean(model: Any, outputs: Any, y: Any, weight: Any, alpha: Any) -> Any:
        total = op.sum(weight)
        total = op.where(total > 0, total, 1.0)
        losses = op.sum(plan.losses(outputs, y) * weight)
        return (losses + 0.5 * alpha * penalty(model)) / total

    if plan.norm == BATCH:

        def carrying(
            model: Any, state: Any, inputs: Any, y: Any, weight: Any, alpha: Any, rng: Any = None
        ) -> Any:
            outputs, state = plan.last_layer(model, inputs, state, training=True, rng=rng)
            return mean(model, outputs, y, weight, alpha), state

        return carrying

    if plan.dropout:

        def dropping(
            model: Any, inputs: Any, y: Any, weight: Any, alpha: Any, rng: Any = None
        ) -> Any:
            outputs, _ = plan.last_layer(model, inputs, rng=rng)
            return mean(model, outputs, y, weight, alpha)

        return dropping

    def plain(model: Any, inputs: Any, y: Any, weight: Any, alpha: Any) -> Any:
        outputs, _ = plan.last_layer(model, inputs)
        return mean(model, outputs, y, weight, alpha)

    return plain


def prediction_of(plan: NetworkPlan, averages: bool) -> Callable[..., Any]:
    """What validation is measured by: what the last layer computes, without dropout. It is that of
    the averaged weights where the optimizer `averages` them.
    """
    if averages and plan.norm == BATCH:

        def averaged_with_statistics(model: Any, state: Any, inputs: Any, averaged: Any) -> Any:
            return plan.last_layer(averaged, inputs, state)[0]

        return averaged_with_statistics
    if averages:

        def of_averaged(model: Any, inputs: Any, averaged: Any) -> Any:
            return plan.last_layer(averaged, inputs)[0]

        return of_averaged
    if plan.norm == BATCH:

        def with_statistics(model: Any, state: Any, inputs: Any) -> Any:
            return plan.last_layer(model, inputs, state)[0]

        return with_statistics

    def predict(model: Any, inputs: Any) -> Any:
        return plan.last_layer(model, inputs)[0]

    return predict
