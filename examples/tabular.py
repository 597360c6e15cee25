"""A table with names and numbers, and embeddings for the names: `make demo EXAMPLE=tabular`.

What a flat costs follows from its size and age, and from its town and its kind, which are names.
Each name gets a row of an `wg.nn.Embedding`, which is learned with the rest; a small network reads
the rows beside the numbers. `wg.train.fit` trains it and stops at the best epoch. A linear model on
the same columns, one of them for each name, is what it has to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from command import read_options
from picture import BLUE, GRAY, ORANGE, Array, Curve, Panel, axis_around, draw, linear_axis, save

import wengert as wg

TOWNS, KINDS = 40, 5


class Table(NamedTuple):
    numbers: Array  # (rows, 2): size and age, both standardised
    town: Array  # (rows,), below TOWNS
    kind: Array  # (rows,), below KINDS
    price: Array  # (rows, 1), the logarithm


def make_table(rows: int, rng: np.random.Generator, levels: Array) -> Table:
    """Flats at random. What a square metre costs depends on the town; age counts by kind."""
    numbers = rng.standard_normal((rows, 2))
    town, kind = rng.integers(0, TOWNS, rows), rng.integers(0, KINDS, rows)
    size, age = numbers.T
    price = levels[town] * (1 + 0.5 * np.tanh(size)) - np.sin(1.5 * age) * (kind - 2) / 2
    price = price + 0.1 * rng.standard_normal(rows)
    return Table(numbers.astype(np.float32), town, kind, price[:, None].astype(np.float32))


@dataclass
class Appraiser:
    """Rows for the names, and a network that reads them beside the numbers."""

    town: wg.nn.Embedding
    kind: wg.nn.Embedding
    network: wg.nn.Mlp

    def __call__(self, numbers: Any, town: Any, kind: Any) -> Any:
        return self.network(wg.concat([numbers, self.town(town), self.kind(kind)], axis=1))


def loss(model: Appraiser, numbers: Any, town: Any, kind: Any, price: Any) -> Any:
    return wg.mse(model(numbers, town, kind), price)


def linear_error(train: Table, test: Table) -> float:
    """The error of least squares on the numbers and a column of zeros and ones for each name."""

    def columns(table: Table) -> Array:
        return np.column_stack(
            [table.numbers, np.eye(TOWNS)[table.town], np.eye(KINDS)[table.kind]]
        )

    weights = np.linalg.lstsq(columns(train), train.price, rcond=None)[0]
    return float(np.sqrt(np.mean((columns(test) @ weights - test.price) ** 2)))


def main() -> None:
    options = read_options(__doc__, "tabular", {"rows": 100}, rows=8000, epochs=40)
    rng = np.random.default_rng(options.seed)
    levels = rng.normal(size=TOWNS)  # what a flat costs in each town
    train, test = (make_table(rows, rng, levels) for rows in (options.rows, 2000))
    wg.nn.seed(options.seed)
    model = Appraiser(  # all names are alike at first: rows of zeros
        wg.nn.Embedding(TOWNS, 4, init="zeros"),
        wg.nn.Embedding(KINDS, 2, init="zeros"),
        wg.nn.Mlp((2 + 4 + 2, 64, 64, 1), "silu"),
    )
    print(wg.nn.summary(model))
    step = wg.TrainStep(loss, model, wg.optim.AdamW(3e-3, weight_decay=1e-3))
    history = wg.train.fit(
        step,
        train,
        options.epochs,
        batch_size=64,
        validation=0.2,
        metrics=["rmse"],
        predict=lambda model, numbers, town, kind: model(numbers, town, kind),
        early_stopping=10,
    )
    predicted = step.model(test.numbers, test.town, test.kind)
    error = float(np.sqrt(np.mean((predicted - test.price) ** 2)))
    linear = linear_error(train, test)
    print(f"error on new flats: {error:.3f}; of a linear model {linear:.3f}; of the truth 0.1")
    along = main_direction(step.model.town.weight)
    agreement = abs(np.corrcoef(along, levels)[0, 1])
    print(f"towns lie along what a flat costs there: correlation {agreement:.3f}")
    save(picture(history.epochs["rmse"], linear, along, levels), options.picture)


def main_direction(rows: Array) -> Array:
    """How far each row lies along the direction in which they differ most."""
    centred = rows - rows.mean(axis=0)
    along: Array = centred @ np.linalg.svd(centred)[2][0]
    return along


def picture(errors: Array, linear: float, along: Array, levels: Array) -> str:
    epochs = np.arange(1, len(errors) + 1)
    ends = np.array([0, len(errors)])
    learned = Panel(
        "Error on held-out flats",
        linear_axis("epoch", 0, len(errors)),
        linear_axis("root mean square", 0, 1.6 * max(linear, errors.max())),
        [
            Curve("linear model", ORANGE, ends, [linear, linear], dashed=True),
            Curve("network", BLUE, epochs, errors, dots=True, radius=2),
            Curve("noise", GRAY, ends, [0.1, 0.1], dashed=True),
        ],
        "upper right",
    )
    towns = Panel(
        "What was learned of each town",
        axis_around("what a flat costs there", levels),
        axis_around("along the main direction of its row", along),
        [Curve("", BLUE, levels, along, dots=True, width=0)],
    )
    return draw([learned, towns], height=320, columns=2)


if __name__ == "__main__":
    main()
