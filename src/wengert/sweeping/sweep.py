"""wg.sweep: train for each of many settings, and have all results in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from wengert.core.words.arguments import worded
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.core.words.warn import warn_user
from wengert.errors import SweepError, SweepWarning
from wengert.sweeping.grid import BY, Settings, grouped, require_taken, settings_of, shown
from wengert.sweeping.returned import Returned
from wengert.sweeping.sweep_backends import BACKENDS, shares
from wengert.sweeping.sweep_call import Outcome, TrainCall, Unit
from wengert.sweeping.sweep_folder import ANYWAY, SweepFolder
from wengert.sweeping.sweep_progress import SweepProgress
from wengert.sweeping.sweep_results import SweepResults, SweepRun
from wengert.sweeping.train_identity import train_identity
from wengert.train.option_checks import whole

Grid = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
_SHOWN = 3  # failures that a warning tells of


@worded
def sweep(
    train: Callable[..., Any],
    grid: Grid,
    backend: str = "serial",
    *,
    workers: int | None = None,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool | str = True,
    seeds: int | Iterable[int] | None = None,
    group: str | Iterable[str] | None = None,
    progress: bool = True,
) -> SweepResults:
    """Call `train(**settings)` for every setting of a grid, and return all results.

    `grid` is a dict of lists, of which every combination is taken, or a list of dicts. `train`
    returns a dict of results by name, a number, or a `History`. Numbers and words are columns of
    the table; arrays and trees are kept beside it, a `TrainStep` as its `state_dict`. A setting for
    which train raises something is reported, and the others go on.

    `backend` is where: "serial" in this process, "joblib" on the cores of this machine, "ray" on a
    Ray cluster, or on this machine where none is connected. `workers` run at once, and each has
    `threads`; by default the cores are divided between them.

    `folder` keeps each result when it is finished. The same call goes on with what is missing;
    `resume=False` begins anew, and `resume="anyway"` keeps the results of a train function that was
    changed meanwhile. `seeds`, a number or a list, runs every setting once with each `seed`. With
    `group`, the name of a setting or several, one call of train is given all values of it that the
    other settings have in common, as a list, and returns a list of results.

    >>> def train(lr, steps):
    ...     step = wg.TrainStep(lambda w: (w - 3.0) ** 2, np.zeros(()), wg.optim.SGD(lr))
    ...     for _ in range(steps):
    ...         loss = step()
    ...     return {"loss": loss, "step": step}
    >>> results = wg.sweep(train, {"lr": [0.1, 0.4], "steps": [5]}, progress=False)
    >>> results.best("loss").settings
    {'lr': 0.4, 'steps': 5}
    """
    _require_backend(backend)
    _require_count("workers", workers)
    _require_count("threads", threads)
    _require_processes(backend, workers)
    if resume not in (True, False, ANYWAY):
        raise ValueError(
            f"{BY}: resume={resume!r} was given; it is True, False or {ANYWAY!r}. Choose one."
        )
    settings = settings_of(grid, seeds)
    require_taken(train, settings)
    names, _ = grouped(dict(enumerate(settings)), group)
    saved = None if folder is None else SweepFolder(folder, resume, train_identity(train))
    try:
        finished = {} if saved is None else saved.finished(settings)
        left = {n: each for n, each in enumerate(settings) if n not in finished}
        units = [
            Unit(tuple(numbers), tuple(settings[n] for n in numbers))
            for numbers in grouped(left, names)[1]
        ]
        given = shares(backend, workers, threads, len(units))
        outcomes = BACKENDS[backend](units, TrainCall(train, names, given.threads), given)
        runs = _collected(outcomes, settings, finished, saved, progress)
    finally:
        if saved is not None:
            try:
                saved.note_changes(train_identity(train))
            finally:
                saved.close()
    results = _reported(SweepResults([runs[number] for number in range(len(settings))]))
    if seeds is not None and results.seeds_change_nothing():
        warn_user(
            f"{BY}: train returned the same numbers for every seed, to the last bit; seeds= asks "
            "for runs that differ, and their standard deviation is 0. Use the setting seed in "
            "train: wg.nn.Mlp(…, seed=seed), TrainStep(…, seed=seed), shuffle_seed=seed.",
            SweepWarning,
        )
    return results


def _collected(
    outcomes: Iterator[Outcome],
    settings: Sequence[Settings],
    finished: Mapping[int, SweepRun],
    saved: SweepFolder | None,
    progress: bool,
) -> dict[int, SweepRun]:
    """All runs by number, each kept and shown when it comes."""
    runs = dict(finished)
    apart: dict[int, str] = {}  # settings whose group failed for no fault of theirs
    line = SweepProgress(len(settings), len(finished)) if progress else None
    try:
        with closing(outcomes):  # type: ignore[type-var]
            for outcome in outcomes:
                each = settings[outcome.number]
                if saved is not None:
                    saved.keep(each, outcome)
                runs[outcome.number] = run = _run(each, outcome)
                if outcome.together is not None:
                    apart[outcome.number] = outcome.together
                if line is not None:
                    line(run)
    except BaseException as error:
        error.add_note(_note_of_interruption(runs, len(settings), saved))
        raise
    finally:
        if line is not None:
            line.close()
    if apart:
        warn_user(
            f"{BY}: train raised {next(iter(apart.values()))} for a group, and nothing for each of "
            f"its settings alone; {len(apart)} settings were called one by one, which takes "
            "longer. Call train by hand with lists of several values, and mend it.",
            SweepWarning,
        )
    return runs


def _run(settings: Settings, outcome: Outcome) -> SweepRun:
    parts = Returned({}, {}) if outcome.tree is None else Returned.of_tree(outcome.tree)
    return SweepRun(
        settings, parts.metrics, parts.kept, outcome.seconds, outcome.error, outcome.traceback
    )


def _note_of_interruption(
    runs: Mapping[int, SweepRun], total: int, saved: SweepFolder | None
) -> str:
    done = sum(run.error is None for run in runs.values())
    text = f"{BY}: {done} of {total} settings were finished."
    if saved is None:
        return f"{text} With folder= they are kept, and the same call goes on."
    return f"{text} The same call goes on from {str(saved.path)!r}."


def _reported(results: SweepResults) -> SweepResults:
    """The results, with a word about those that failed."""
    failed = results.failed
    if not failed:
        return results
    told = [f"{shown(run.settings)}: {run.error}" for run in failed[:_SHOWN]]
    more = f" … and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    if len(failed) == len(results):
        error = SweepError(
            f"{BY}: train failed for all {len(results)} settings ({told[0]}); one of them must "
            "succeed. Call train by hand with these settings, and mend it."
        )
        error.add_note(failed[0].traceback or "")
        raise error
    warn_user(
        f"{BY}: train failed for {len(failed)} of {len(results)} settings ({'; '.join(told)}"
        f"{more}); the others are in the table. Look at results.failed[0].traceback.",
        SweepWarning,
    )
    return results


def _require_backend(backend: Any) -> None:
    if not isinstance(backend, str) or backend not in BACKENDS:
        meant = nearest(backend, BACKENDS, ALIKE) if isinstance(backend, str) else None
        repair = f"Write {meant!r}" if meant else "Choose one"
        raise ValueError(
            f"{BY}: backend={backend!r} was given; it is {', '.join(BACKENDS)}. {repair}."
        )


def _require_count(name: str, value: Any) -> None:
    number = whole(value)
    if value is not None and (number is None or number < 1):
        raise ValueError(
            f"{BY}: {name}={value!r} was given; it is a whole number, at least 1, or None. Choose "
            "one."
        )


def _require_processes(backend: str, workers: int | None) -> None:
    """Refuse workers where all settings run in this process, one after the other."""
    if backend == "serial" and (workers or 1) > 1:
        others = " or ".join(f'backend="{each}"' for each in BACKENDS if each != backend)
        raise ValueError(
            f'{BY}: workers={workers} was given with backend="{backend}", the default, which runs '
            "one setting after the other in this process; workers are processes of the other "
            f"backends. Pass {others}, or leave workers out."
        )
