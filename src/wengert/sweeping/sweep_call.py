"""One call of train, wherever it is made: for one setting, or for a group of them."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from wengert.nn.seeding import seeds_anew
from wengert.sweeping.grid import BY, SEED, Settings
from wengert.sweeping.returned import returned
from wengert.train.option_checks import whole

THREADS = "WENGERT_NUM_THREADS"


@dataclass(frozen=True)
class Unit:
    """The settings of one call, by their numbers in the sweep."""

    numbers: tuple[int, ...]
    settings: tuple[Settings, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of one setting; nothing but dictionaries, numbers, strings and arrays."""

    number: int
    tree: dict[str, Any] | None  # what train returned
    seconds: float
    error: str | None = None
    traceback: str | None = None
    together: str | None = None  # what the call for its group raised, if all succeed alone


@dataclass(frozen=True)
class TrainCall:
    """Calls train, and catches what it raises: another setting may do better."""

    train: Callable[..., Any]
    group: tuple[str, ...]  # names of the settings that it takes as lists
    threads: int | None  # for each program that train compiles

    def __call__(self, unit: Unit) -> list[Outcome]:
        with _threads_limited(self.threads):
            outcomes, may_be_well_alone = self._called(unit)
            return self._apart(unit, outcomes[0].error) if may_be_well_alone else outcomes

    def _apart(self, unit: Unit, error: str | None) -> list[Outcome]:
        """Call train for each setting of a group that failed."""
        outcomes = [
            each
            for number, settings in zip(unit.numbers, unit.settings, strict=True)
            for each in self._called(Unit((number,), (settings,)))[0]
        ]
        if any(each.error is not None for each in outcomes):
            return outcomes
        return [replace(each, together=error) for each in outcomes]

    def _called(self, unit: Unit) -> tuple[list[Outcome], bool]:
        """What came of a call; and whether it failed for several settings, some of which may
        succeed alone. Where train returns no list of results, train itself is wrong.
        """
        began, has_list = time.perf_counter(), True
        try:
            arguments = self._arguments(unit.settings)
            with seeds_anew(_first_seed(arguments)):
                value = self.train(**arguments)
            has_list = self._has_list(value, unit)
            values = self._values(value, unit)
            trees = [
                returned(each, settings).as_tree()
                for each, settings in zip(values, unit.settings, strict=True)
            ]
        except (Exception, SystemExit) as error:
            share = (time.perf_counter() - began) / len(unit.numbers)
            failed = Outcome(0, None, share, _in_one_line(error), _lines_of(error))
            outcomes = [replace(failed, number=number) for number in unit.numbers]
            return outcomes, has_list and len(outcomes) > 1
        share = (time.perf_counter() - began) / len(unit.numbers)
        pairs = zip(unit.numbers, trees, strict=True)
        return [Outcome(number, tree, share) for number, tree in pairs], False

    def _arguments(self, settings: Sequence[Settings]) -> Settings:
        together = {name: [each[name] for each in settings] for name in self.group}
        return {**settings[0], **together}

    def _values(self, value: Any, unit: Unit) -> Sequence[Any]:
        """What was returned for each setting of a unit."""
        if not self.group:
            return [value]
        if not self._has_list(value, unit):
            many = len(unit.numbers)
            given = f" of {len(value)}" if isinstance(value, list | tuple) else ""
            raise TypeError(
                f"{BY}: train returned {type(value).__name__}{given} for a group of {many}; it "
                f"returns a list with one result for each value of {', '.join(self.group)}. Return "
                "such a list."
            )
        return list(value)

    def _has_list(self, value: Any, unit: Unit) -> bool:
        is_list = isinstance(value, list | tuple) and len(value) == len(unit.numbers)
        return not self.group or is_list


def _first_seed(arguments: Settings) -> int:
    """What layers without a seed begin with: the same in every setting but for its seed, in
    whatever order and process settings are trained.
    """
    number = whole(arguments.get(SEED))
    return number if number is not None and number >= 0 else 0


@contextmanager
def _threads_limited(threads: int | None) -> Iterator[None]:
    """While programs are compiled that may use so many threads each."""
    before = os.environ.get(THREADS)
    if threads is not None:
        os.environ[THREADS] = str(threads)
    try:
        yield
    finally:
        if threads is not None:
            if before is None:
                os.environ.pop(THREADS, None)
            else:
                os.environ[THREADS] = before


def _in_one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _lines_of(error: BaseException) -> str:
    """The traceback from train on: the frames above it tell the user nothing."""
    return "".join(traceback.format_exception(type(error), error, _below_ours(error.__traceback__)))


def _below_ours(trace: TracebackType | None) -> TracebackType | None:
    return trace.tb_next if trace is not None and trace.tb_next is not None else trace
