"""A deep ensemble with calibrated uncertainty: `make demo EXAMPLE=deep_ensemble`.

Sixteen networks learn the mean and the variance of noisy measurements, each from its own weights
and its own bootstrap of the rows, all in one native call. What each says of the noise and how far
they disagree add up to a band: it is wide where the noise is, and where there were no data.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from picture import BLUE, GREEN, ORANGE, PALE_BLUE, Array, Curve, Panel, draw, linear_axis

import wengert as wg

NORMAL_90 = 1.6448536269514722  # 90 % of a normal distribution lie within so many deviations
BATCH = 64
GAP = (0.6, 1.6)  # where nothing is measured


class Prediction(NamedTuple):
    """What an ensemble says of some places."""

    mean: Array
    noise: Array  # the deviation that the members expect of measurements
    doubt: Array  # how far the members disagree

    @property
    def deviation(self) -> Array:
        """Of a measurement there: noise and doubt together."""
        return np.hypot(self.noise, self.doubt)


def truth(x: Array) -> tuple[Array, Array]:
    """The mean and the deviation of measurements at x."""
    return np.sin(2.5 * x) + 0.3 * x, 0.05 + 0.25 / (1 + np.exp(-3 * x))


def measure(count: int, seed: int, gap: bool = True) -> tuple[Array, Array]:
    """So many noisy measurements between -3 and 3."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=4 * count)
    x = x[(x < GAP[0]) | (x > GAP[1])][:count] if gap else x[:count]
    mean, deviation = truth(x)
    y = mean + deviation * rng.normal(size=count)
    return x[:, None].astype(np.float32), y[:, None].astype(np.float32)


def new_model(seed: int) -> wg.nn.Mlp:
    return wg.nn.Mlp((1, 64, 64, 2), "tanh", seed=seed)


def predicted(model: wg.nn.Mlp, x: Any) -> tuple[Any, Any]:
    """The mean and the variance of measurements at x, as one member sees them."""
    outputs = model(x)
    return outputs[:, :1], wg.softplus(outputs[:, 1:]) + 1e-4


def loss(model: wg.nn.Mlp, x: Any, y: Any) -> Any:
    """How surprised a member is by measurements: the negative logarithm of their density."""
    mean, variance = predicted(model, x)
    return wg.mean(0.5 * wg.log(variance) + 0.5 * (y - mean) ** 2 / variance)


def predict(ensemble: wg.Ensemble, x: Array) -> Prediction:
    """The mixture of all members."""
    means, variances = ensemble.bind(predicted)(x)
    return Prediction(
        means.mean(axis=0)[:, 0], np.sqrt(variances.mean(axis=0)[:, 0]), means.std(axis=0)[:, 0]
    )


def coverage(prediction: Prediction, y: Array) -> float:
    """How many measurements lie in the band that should hold 90 % of them."""
    return float(np.mean(np.abs(y[:, 0] - prediction.mean) <= NORMAL_90 * prediction.deviation))


def picture(prediction: Prediction, at: Array, x: Array, y: Array) -> str:
    places = at[:, 0]
    y_axis = linear_axis("measurement", -5, 3)
    bands = Panel(
        "What the ensemble expects: the band should hold 90 % of all measurements",
        linear_axis("x", -3.5, 3.5),
        y_axis,
        [
            Curve(
                "90 % band", PALE_BLUE, places, prediction.mean, NORMAL_90 * prediction.deviation
            ),
            Curve("mean of the members", BLUE, places, prediction.mean),
            Curve("truth", GREEN, places, truth(places)[0], width=1.2),
            Curve("measurements", ORANGE, x[:150, 0], y[:150, 0], dots=True, width=0),
        ],
    )
    parts = Panel(
        "Noise is in the data; doubt is where there were none",
        linear_axis("x", -3.5, 3.5),
        linear_axis("deviation", 0, max(0.6, math.ceil(10 * float(prediction.doubt.max())) / 10)),
        [
            Curve("noise, as the members see it", BLUE, places, prediction.noise),
            Curve("doubt: how far they disagree", ORANGE, places, prediction.doubt),
            Curve("true noise", GREEN, places, truth(places)[1], width=1.2),
        ],
    )
    return draw([bands, parts])


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a deep ensemble, and draw what it knows and what it does not.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--members", type=int, default=16, metavar="N", help="networks")
    add("--epochs", type=int, default=400, metavar="N", help="passes over the data")
    add("--picture", type=Path, default="build/deep_ensemble.svg", metavar="FILE")
    options = parser.parse_args()
    if options.members < 2 or options.epochs < 1:
        parser.error("--members must be at least 2, and --epochs at least 1")
    return options


def main() -> None:
    options = read_options()
    x, y = measure(512, seed=0)
    steps = options.epochs * len(x) // BATCH
    optimizer = wg.optim.Adam(wg.optim.Cosine(1e-2, steps))
    ensemble = wg.Ensemble(loss, new_model, optimizer, members=options.members, clip_norm=1.0)
    history = ensemble.run(
        x,
        y,
        batch_size=BATCH,
        epochs=options.epochs,
        shuffle_seed=ensemble.seeds,
        bootstrap=True,
    )
    print(f"{len(ensemble)} members, {len(history)} steps each, in one call")
    held_x, held_y = measure(4000, seed=1)
    inside = coverage(predict(ensemble, held_x), held_y)
    gap = np.linspace(*GAP, 50, dtype=np.float32)[:, None]
    doubt_inside = float(np.median(predict(ensemble, held_x).doubt))
    doubt_in_gap = float(np.median(predict(ensemble, gap).doubt))
    print(f"{inside:.1%} of 4,000 new measurements lie in the band that should hold 90 %")
    print(f"doubt where nothing was measured: {doubt_in_gap / doubt_inside:.1f} times the usual")
    at = np.linspace(-3.5, 3.5, 500, dtype=np.float32)[:, None]
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture(predict(ensemble, at), at, x, y), encoding="utf-8")
    print(f"picture in {options.picture}")


if __name__ == "__main__":
    main()
