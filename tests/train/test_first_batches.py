"""What the first batch of its kind shows: rows in different orders, and numbers that a model of
float32 rounds away.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg

SECONDS = 10.0 * np.arange(64)
rng = np.random.default_rng(0)


def loss(w, x):
    return np.mean((w * x) ** 2)


def step(dtype=np.float32, **options):
    return wg.TrainStep(loss, np.ones((), dtype), wg.optim.SGD(0.0), compiled=False, **options)


ROUNDED = {
    "Unix times": SECONDS + 1.7e9,
    "Julian dates": 2.45e6 + 300 * rng.random(64),
    "one column of a table": np.stack([SECONDS, SECONDS + 1.7e9], axis=1),
    "Modified Julian Dates, a minute apart": 59000 + np.arange(200) / 1440,
    "the same, for days": 59000 + np.arange(4000) / 1440,
    "the same, shuffled": 59000 + rng.permutation(200) / 1440,
    "Unix times, a thousandth of a second apart": 1.7e9 + 1e-3 * np.arange(60),
    "the same, of a few": 1.7e9 + 1e-3 * np.arange(4),
    "a millionth of a second apart": 1.7e9 + 1e-6 * np.arange(20),
    "Julian dates, a twentieth of a second apart": 2459000.5 + np.arange(60) / 20 / 86400,
    "wavelengths": 656.28 + 1e-5 * np.arange(200),
    "latitudes, a metre apart": 47.1 + 1e-6 * np.arange(200),
}
KEPT = {
    "small numbers": 1.0 + 1e-9 * rng.random(64),
    "standardised": rng.normal(size=(512, 40)),
    "two rows near each other": np.array([0.3, 0.300001]),
    "temperatures in Kelvin": 293.15 + rng.normal(size=512),
    "years": 2000 + np.arange(300) / 12,
    "prices in cents": 19.99 + rng.integers(0, 500, 512) / 100,
    "sorted numbers": np.sort(rng.random(512)),
    "a constant, computed in float32": 1.0 + 1e-7 * rng.normal(size=512),
    "sums that are the same but for rounding": 1.7e9 * (1 + 3e-16 * rng.integers(-50, 50, 512)),
    "products that are the same but for rounding": (1.7e9 * SECONDS[1:]) / SECONDS[1:],
    "whole numbers": 2.45e6 + np.arange(64.0),
    "far apart": 1e9 * rng.random(64),
    "all the same": np.full(64, 1.7e9 + 1),
    "float32": (SECONDS + 1.7e9).astype(np.float32),
    "not finite": np.array([1.7e9, np.nan, np.inf]),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_differences_that_are_rounded_away_are_told(case):
    with pytest.warns(wg.errors.RoundingWarning, match="'x' has numbers up to .* Subtract"):
        step()(ROUNDED[case])


def test_in_runs_and_bound_functions():
    x = ROUNDED["Unix times"]
    with pytest.warns(wg.errors.RoundingWarning):
        step().run(x, batch_size=32, epochs=1)
    with pytest.warns(wg.errors.RoundingWarning, match=r"TrainStep\.bind: 't'"):
        step().bind(lambda w, t: w * t)(x)


@pytest.mark.parametrize("case", KEPT)
def test_other_numbers_are_no_reason_to_warn(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.RoundingWarning)
        step(nonfinite="ignore")(KEPT[case])
        step(np.float64)(ROUNDED["Unix times"])


def step_of_pairs():
    return wg.TrainStep(
        lambda w, x, y: np.mean((w * x - y) ** 2), np.ones(()), wg.optim.SGD(0.0), compiled=False
    )


def test_rows_in_different_orders_are_told_in_calls():
    pd = pytest.importorskip("pandas")
    x = pd.Series(np.arange(4.0), index=[7, 1, 5, 3])
    made = step_of_pairs()
    said = r"TrainStep: .* so row 7 goes with row 3.* y\.loc\[x\.index\]; .* y\.to_numpy\(\)"
    with pytest.warns(wg.errors.RowOrderWarning, match=said):
        made(x, x.iloc[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.RowOrderWarning)
        made(x, x.iloc[::-1])  # the first call is enough
        made(x, x)


@pytest.mark.parametrize("case", ["repeated", "counted", "counted, of y"])
def test_labels_that_name_no_rows_are_no_reason_to_warn(case):
    pd = pytest.importorskip("pandas")
    labels = [3, 1, 0, 1] if case == "repeated" else [3, 1, 0, 2]
    x, y = pd.Series(np.arange(4.0), index=labels), pd.Series(np.arange(4.0))
    if case == "repeated":
        y = x.iloc[::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.RowOrderWarning)
        step_of_pairs()(*((y, x) if case == "counted" else (x, y)))


def test_columns_of_texts_and_dates_are_named_in_calls_as_in_runs():
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2024", periods=3)
    made = step(np.float64)
    for call in (made, lambda x: made.run(x, batch_size=3)):
        with pytest.raises(wg.errors.DTypeError, match="column 'city' of x holds texts, such as"):
            call(pd.DataFrame({"city": ["a", "b", "c"]}))
        with pytest.raises(wg.errors.DTypeError, match=r"column 'day' of x has .*day of the year"):
            call(pd.DataFrame({"day": days}))
        for x in (pd.Series(days), days.to_numpy()):
            with pytest.raises(wg.errors.DTypeError, match=r"\(x - x\.min\(\)\) / np\.timedelta64"):
                call(x)
            call(np.asarray((x - x.min()) / np.timedelta64(1, "D")))  # as it says
        with pytest.raises(wg.errors.DTypeError, match=r"Divide it by np\.timedelta64"):
            call(np.diff(days.to_numpy()).repeat(2)[:3])
