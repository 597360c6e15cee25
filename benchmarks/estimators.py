"""The estimators of wengert.sklearn beside scikit-learn's, with the same settings and seeds.

    python -m benchmarks.estimators [--quick] [--float32] [--cpu]

Both take turns, fit by fit. A row says how good each is on rows that it has not seen, as a mean
over seeds with its standard error, by how many standard errors of their difference they lie apart,
and how long a fit takes (the median over seeds). "First" is the first fit of a process that finds
its program in the cache on disk; "cold" one that finds nothing. With `--cpu` everything runs on
one thread, and its time on the CPU is measured: less exact, but possible beside other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SEEDS = range(5)
QUICK = "--quick"


@dataclass(frozen=True)
class Setting:
    """A data set, and how a network is trained on it."""

    name: str
    data: Callable[[], tuple[Any, Any]]
    kind: str
    options: dict[str, Any]


def settings(quick: bool) -> list[Setting]:
    from sklearn import datasets

    rows = 2000 if quick else 20_000
    chosen = []
    for name, data, kind, epochs in (
        ("digits", datasets.load_digits, "MLPClassifier", 200),
        ("breast cancer", datasets.load_breast_cancer, "MLPClassifier", 200),
        ("diabetes", datasets.load_diabetes, "MLPRegressor", 200),
    ):
        options = {"max_iter": 5 if quick else epochs}
        for more in ({}, {"early_stopping": True}):
            label = name + ", early stopping" * bool(more)
            chosen.append(
                Setting(label, lambda data=data: data(return_X_y=True), kind, options | more)
            )

    def synthetic() -> tuple[Any, Any]:
        return datasets.make_classification(  # type: ignore[no-any-return]
            rows, 50, n_informative=20, n_classes=5, flip_y=0.05, random_state=0
        )

    for name, hidden in (("", (100,)), (", 256-256", (256, 256))):
        options = {"max_iter": 2 if quick else 20, "hidden_layer_sizes": hidden}
        chosen.append(
            Setting(f"synthetic {rows:,} × 50{name}", synthetic, "MLPClassifier", options)
        )
    return chosen


@dataclass(frozen=True)
class Outcome:
    """What five fits came to."""

    scores: list[float]
    seconds: list[float]

    @property
    def score(self) -> float:
        return statistics.mean(self.scores)

    @property
    def error(self) -> float:
        return statistics.stdev(self.scores) / len(self.scores) ** 0.5


def compared(
    setting: Setting, more: dict[str, Any], clock: Callable[[], float]
) -> tuple[Outcome, Outcome]:
    """Theirs and ours, seed by seed in turn."""
    from sklearn import neural_network
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    import wengert.sklearn

    x, y = setting.data()
    theirs, ours = Outcome([], []), Outcome([], [])
    warm = getattr(wengert.sklearn, setting.kind)(**setting.options, **more, random_state=99)
    for seed in (-1, *SEEDS):
        parts = train_test_split(x, y, test_size=0.25, random_state=max(seed, 0))
        scale = StandardScaler().fit(parts[0])
        trained, unseen = scale.transform(parts[0]), scale.transform(parts[1])
        if seed < 0:
            warm.fit(trained, parts[2])
            continue
        for outcome, package, options in (
            (theirs, neural_network, {}),
            (ours, wengert.sklearn, more),
        ):
            network = getattr(package, setting.kind)(
                **setting.options, **options, random_state=seed
            )
            begin = clock()
            network.fit(trained, parts[2])
            outcome.seconds.append(clock() - begin)
            outcome.scores.append(network.score(unseen, parts[3]))
    return theirs, ours


FIRST = """
import time, warnings
warnings.simplefilter("ignore")
from benchmarks.estimators import settings
import wengert.sklearn
setting = settings({quick})[{place}]
x, y = setting.data()
x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
network = getattr(wengert.sklearn, setting.kind)(**setting.options, **{more}, random_state=0)
begin = time.{clock}()
network.fit(x, y)
print(time.{clock}() - begin)
"""


def first_fits(
    place: int, quick: bool, more: dict[str, Any], clock: Callable[[], float]
) -> tuple[float, float]:
    """Seconds of the first fit of a process: with an empty cache, and with one that knows it."""
    with tempfile.TemporaryDirectory() as cache:
        program = FIRST.format(quick=quick, place=place, more=more, clock=clock.__name__)
        environment = os.environ | {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": cache}
        cold, warm = (
            subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, check=True
            )
            for _ in range(2)
        )
    return float(cold.stdout), float(warm.stdout)


def row(
    setting: Setting, place: int, quick: bool, more: dict[str, Any], clock: Callable[[], float]
) -> str:
    theirs, ours = compared(setting, more, clock)
    spread = float(np.hypot(theirs.error, ours.error))
    apart = (ours.score - theirs.score) / spread if spread else 0.0
    times = [statistics.median(each.seconds) for each in (theirs, ours)]
    cold, first = first_fits(place, quick, more, clock)
    return (
        f"| {setting.name} | {theirs.score:.4f} ± {theirs.error:.4f} | "
        f"{ours.score:.4f} ± {ours.error:.4f} | {apart:+.1f} | {times[0] * 1e3:,.0f} ms | "
        f"{times[1] * 1e3:,.0f} ms | {times[0] / times[1]:.1f} × | {first * 1e3:,.0f} ms | "
        f"{cold * 1e3:,.0f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(QUICK, action="store_true", help="few epochs: only that it runs")
    parser.add_argument("--float32", action="store_true", help="ours with dtype='float32'")
    parser.add_argument("--cpu", action="store_true", help="time on the CPU, with one thread")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    more: dict[str, Any] = {"dtype": "float32"} if given.float32 else {}
    clock = time.perf_counter
    if given.cpu:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
        more["threads"], clock = 1, time.process_time
    print("| data | scikit-learn | Wengert | apart by | scikit-learn | Wengert | | first | cold |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for place, setting in enumerate(settings(given.quick)):
        print(row(setting, place, given.quick, more, clock), flush=True)


if __name__ == "__main__":
    main()
