"""An LSTM forecasts a chaotic series: `make demo EXAMPLE=forecast`.

The series of Mackey and Glass (1977), a model of blood cells, follows a rule but never repeats. An
`wg.nn.LSTM` learns to say the next value from those before. Then it goes on by itself: `layer.step`
takes what it said as the next input, one step at a time, with the state it has. An autoregression
by least squares on as many values is what it has to beat.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from command import read_options
from numpy.lib.stride_tricks import sliding_window_view
from picture import (
    BLUE,
    GRAY,
    ORANGE,
    Array,
    Curve,
    Panel,
    axis_around,
    draw,
    linear_axis,
    save,
)

import wengert as wg

WINDOW, AHEAD = 64, 80  # values to read, and to forecast


def mackey_glass(count: int, seed: int) -> Array:
    """x' = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x, every third time, standardised."""
    x = list(0.9 + 0.2 * np.random.default_rng(seed).uniform(size=170))
    for _ in range(30 * (count + 100)):
        x.append(x[-1] + 0.1 * (0.2 * x[-170] / (1 + x[-170] ** 10) - 0.1 * x[-1]))
    kept = np.array(x[-30 * count :: 30])
    return ((kept - kept.mean()) / kept.std()).astype(np.float32)


@dataclass
class Forecaster:
    lstm: wg.nn.LSTM
    out: wg.nn.Linear

    def __call__(self, series: Any) -> Any:
        """What follows each value of a series (batch, time), said at its time."""
        hidden, _ = self.lstm(series.T[:, :, None])  # time is axis 0 of an LSTM
        return self.out(hidden)[:, :, 0].T

    def go_on(self, series: Any) -> Any:
        """The next AHEAD values of a series (batch, time), each from the one said before it."""
        hidden, state = self.lstm(series.T[:, :, None])

        def advance(carry: Any, _: Any) -> tuple[Any, Any]:
            said, state = carry
            state = self.lstm.step(said, state)
            following = self.out(state[0])
            return (following, state), said[:, 0]

        first = self.out(hidden[-1])
        return wg.scan(advance, (first, state), length=AHEAD)[1].T


def loss(model: Forecaster, windows: Any) -> Any:
    """One step ahead, at all times of windows (batch, WINDOW + 1) but the first few."""
    return wg.mse(model(windows[:, :-1])[:, 16:], windows[:, 17:])


def autoregression(series: Array, given: Array) -> Array:
    """The next AHEAD values of what is given, each a weighted sum of the WINDOW before it."""

    def columns(windows: Array) -> Array:
        return np.column_stack([windows, np.ones(len(windows))])

    windows = sliding_window_view(series, WINDOW + 1)
    weights = np.linalg.lstsq(columns(windows[:, :-1]), windows[:, -1], rcond=None)[0]
    values = given
    for _ in range(AHEAD):
        values = np.column_stack([values, columns(values[:, -WINDOW:]) @ weights])
    return values[:, WINDOW:]


def main() -> None:
    options = read_options(__doc__, "forecast", {"values": 200}, epochs=30, hidden=32, values=2400)
    series = mackey_glass(options.values + 600, options.seed)
    past, future = series[: options.values], series[options.values :]
    windows = sliding_window_view(past, WINDOW + 1)
    wg.nn.seed(options.seed)
    model = Forecaster(wg.nn.LSTM(1, options.hidden), wg.nn.Linear(options.hidden, 1))
    updates = options.epochs * -(-len(windows) // 64)
    step = wg.TrainStep(loss, model, wg.optim.Adam(wg.optim.Cosine(1e-2, updates)), clip_norm=1.0)
    began = time.perf_counter()
    for epoch in step.epochs(windows, batch_size=64, epochs=options.epochs, shuffle_seed=0):
        if epoch.index == 0 or (epoch.index + 1) % max(options.epochs // 6, 1) == 0:
            seconds = time.perf_counter() - began
            error = epoch.loss**0.5
            print(f"epoch {epoch.index + 1:3}  error one step ahead {error:.4f}  {seconds:4.1f} s")

    tested = sliding_window_view(future, WINDOW + AHEAD)
    given, true = tested[:, :WINDOW], tested[:, WINDOW:]
    forecasts = {
        "autoregression": autoregression(past, given),
        "LSTM": step.bind(Forecaster.go_on)(given),
    }
    errors = {name: np.sqrt(np.mean((f - true) ** 2, axis=0)) for name, f in forecasts.items()}
    print("error of a forecast, in standard deviations of the series")
    for name, error in errors.items():
        told = "  ".join(f"{error[n - 1]:.3f} at {n}" for n in (1, 10, 40, AHEAD))
        print(f"{name:15} {told}")
    save(
        picture(given[0], true[0], {n: f[0] for n, f in forecasts.items()}, errors), options.picture
    )


def picture(
    given: Array, true: Array, forecasts: dict[str, Array], errors: dict[str, Array]
) -> str:
    colors = {"autoregression": ORANGE, "LSTM": BLUE}
    ahead = np.arange(1, AHEAD + 1)
    whole = np.concatenate([given, true])
    told = Curve("series", GRAY, np.arange(1 - WINDOW, AHEAD + 1), whole, width=3)
    said = [Curve(name, colors[name], ahead, y) for name, y in forecasts.items()]
    axes = linear_axis("steps ahead", -WINDOW, AHEAD), axis_around("", whole)
    one = Panel("One forecast", *axes, [told, *said])
    curves = [Curve(name, colors[name], ahead, y) for name, y in errors.items()]
    highest = max(error.max() for error in errors.values())
    axes = linear_axis("steps ahead", 0, AHEAD), linear_axis("root mean square", 0, 1.4 * highest)
    return draw([one, Panel("Error of all forecasts", *axes, curves, "upper left")], height=270)


if __name__ == "__main__":
    main()
