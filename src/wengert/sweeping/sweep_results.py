"""The results of a sweep: one run for each setting, and all of them as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.core.words.foreign_names.repairs_of_objects import OF_SWEEPS
from wengert.sweeping.grid import SEED, identity, shown
from wengert.train.metrics import BY_NAME, better_direction

MODES: Mapping[str, Callable[..., Any]] = {"min": min, "max": max}
SECONDS, ERROR = "seconds", "error"
_PARTS = ("validation_", "val_", "valid_", "test_", "train_", "mean_", "final_", "best_")
_ROWS = 60  # of a table that is printed


@dataclass(frozen=True)
class SweepRun:
    """One call of train, for one setting: what it was given, and what came of it."""

    settings: Mapping[str, Any]
    metrics: Mapping[str, Any] = field(default_factory=dict)  # numbers and words that it returned
    kept: Mapping[str, Any] = field(default_factory=dict, repr=False)  # arrays, trees, histories
    seconds: float = math.nan  # that the call took; of a group, its share
    error: str | None = None  # what was raised instead, in one line
    traceback: str | None = field(default=None, repr=False)  # and where, with all its lines
    resumed: bool = field(default=False, repr=False)  # whether it was read from the folder

    def __getitem__(self, name: str) -> Any:
        """A result, or a setting, by its name."""
        for place in (self.metrics, self.kept, self.settings):
            if name in place:
                return place[name]
        known = [*self.metrics, *self.kept, *self.settings]
        meant = nearest(name, known, ALIKE)
        repair = f"Write {meant!r}" if meant else "Choose one of these"
        raise KeyError(
            f"SweepRun: no {name!r}; there is {', '.join(known) or 'nothing'}. {repair}."
        )

    def record(self) -> dict[str, Any]:
        """Settings, results and seconds as one row of a table."""
        row = {**self.settings, SECONDS: self.seconds, **self.metrics}
        row[SECONDS] = row.pop(SECONDS)  # the last column, whoever measured it
        return row if self.error is None else {**row, ERROR: self.error}


@worded_methods("best", "mean_over")
class SweepResults(Explained, Sequence[SweepRun]):
    """The runs of a sweep in the order of its grid. Those that failed are among them."""

    _repairs = OF_SWEEPS
    _nature = "the results of a sweep are its runs, in order"

    def __init__(self, runs: Sequence[SweepRun]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> SweepRun: ...
    @overload
    def __getitem__(self, index: slice) -> SweepResults: ...
    def __getitem__(self, index: int | slice) -> SweepRun | SweepResults:
        chosen = self._runs[index]
        return SweepResults(chosen) if isinstance(chosen, tuple) else chosen

    def __iter__(self) -> Iterator[SweepRun]:
        return iter(self._runs)

    @property
    def failed(self) -> SweepResults:
        """The runs in which train raised something."""
        return SweepResults([run for run in self._runs if run.error is not None])

    def records(self) -> list[dict[str, Any]]:
        """One dict per run: its settings, what train returned, and seconds."""
        return [run.record() for run in self._runs]

    def to_pandas(self) -> Any:
        """The records as a pandas DataFrame."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "SweepResults.to_pandas: pandas is not installed; a DataFrame is made with it. Run "
                "pip install pandas, or use records().",
                name=error.name,
            ) from None
        return pandas.DataFrame(self.records())

    def best(self, metric: str, mode: str | None = None) -> SweepRun:
        """The run with the best value of a metric, which is never NaN. `mode`, "min" or "max", has
        to be given for metrics of your own; of losses, errors, and the metrics of wg.train.metrics
        it is known.
        """
        known = [run for run in self._runs if _is_number(run.metrics.get(metric))]
        if not known:
            measured = self._measured()
            meant = nearest(metric, measured, ALIKE)
            repair = f"Write {meant!r}" if meant else "Choose one, or look at .failed"
            reason = f"there is {', '.join(measured) or 'none of any name'}"
            if any(metric in run.metrics for run in self._runs):
                reason, repair = "it is NaN, or no number, in all runs", "Try other settings"
            raise ValueError(
                f"SweepResults.best: no run has a number for {metric!r}; {reason}. {repair}."
            )
        better = MODES[self._mode(metric, mode)]
        best: SweepRun = better(known, key=lambda run: run.metrics[metric])
        return best

    def _mode(self, metric: str, mode: str | None) -> str:
        if mode is None:
            mode = _direction(metric)
        if mode is None:
            raise ValueError(
                f"SweepResults.best: metric={metric!r} was given without mode; whether more or "
                'less of it is better is not known. Pass mode="max" or mode="min".'
            )
        if mode not in MODES:
            raise ValueError(
                f"SweepResults.best: mode={mode!r} was given; it is min or max. Choose one."
            )
        return mode

    def _measured(self) -> list[str]:
        """The names of everything that some run has a number for."""
        numbers = (each for run in self._runs for each in run.metrics.items())
        return list(dict.fromkeys(name for name, value in numbers if _is_number(value)))

    def seeds_change_nothing(self) -> bool:
        """Whether all runs that differ in their seed only have the same numbers, of which some have
        so many digits that this is no chance.
        """
        groups: dict[Any, list[SweepRun]] = {}
        for run in self._runs:
            if run.error is None:
                others = {key: x for key, x in run.settings.items() if key != SEED}
                groups.setdefault(identity(others), []).append(run)
        several = [runs for runs in groups.values() if len(runs) > 1]
        numbers = [[_numbers(run) for run in runs] for runs in several]
        return bool(several) and all(
            any(map(_has_many_digits, first.values())) and all(each == first for each in others)
            for first, *others in numbers
        )

    def mean_over(self, name: str = SEED) -> list[dict[str, Any]]:
        """One record for all runs that differ in one setting only, the seed: the mean of each
        number, and under its name with `_std` the standard deviation (with n - 1). Runs that failed
        are left out; `runs` says how many were counted.
        """
        if not any(name in run.settings for run in self._runs):
            raise ValueError(
                f"SweepResults.mean_over: no setting is called {name!r}; the mean is taken over "
                "one setting. Pass its name, or run the sweep with seeds=3."
            )
        alike: dict[str, list[SweepRun]] = {}
        for run in self._runs:
            alike.setdefault(identity(_without(run.settings, name)), []).append(run)
        return [_mean(runs, name) for runs in alike.values()]

    def __repr__(self) -> str:
        failed = len(self.failed)
        many = "1 run" if len(self) == 1 else f"{len(self)} runs"
        head = f"SweepResults({many}{f', {failed} failed' if failed else ''})"
        rows = self.records()[:_ROWS]
        more = [f"... {len(self) - _ROWS} more"] if len(self) > _ROWS else []
        return "\n".join([head, *_lines(rows), *more])


def _without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != name}


def _mean(runs: Sequence[SweepRun], name: str) -> dict[str, Any]:
    done = [run for run in runs if run.error is None]
    means = {**_without(runs[0].settings, name), "runs": len(done)}
    for metric in dict.fromkeys(each for run in done for each in run.metrics):
        values = [run.metrics[metric] for run in done if _is_number(run.metrics.get(metric), True)]
        if len(values) == len(done):
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
            means |= {metric: float(np.mean(values)), f"{metric}_std": spread}
    return means


def _numbers(run: SweepRun) -> dict[str, Any]:
    return {name: x for name, x in run.metrics.items() if _is_number(x)}


def _has_many_digits(x: Any) -> bool:
    return isinstance(x, float) and float(f"{x:.5g}") != x


def _is_number(value: Any, or_nan: bool = False) -> bool:
    return isinstance(value, int | float) and (or_nan or not math.isnan(value))


def _direction(metric: str) -> str | None:
    """Whether less or more of a metric is better, where its name says so."""
    name = metric
    while prefix := next((part for part in _PARTS if name.startswith(part)), None):
        name = name.removeprefix(prefix)
    if name in BY_NAME:
        return better_direction(BY_NAME[name])
    return "min" if name.endswith(("loss", "error", SECONDS)) else None


def _lines(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Records as the lines of a table."""
    names = list(dict.fromkeys(name for record in records for name in record))
    cells = [
        [_cell(record[name]) if name in record else "" for name in names] for record in records
    ]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    return [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [names, *cells]
    ]


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= 60 else f"{value[:57]}..."
    if isinstance(value, float):
        return f"{value:.6g}"
    return shown({"": value})[1:]
