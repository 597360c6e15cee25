"""What is to be learned from a table: which column is the target, and whether it is a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wengert.cli.datasets.column_kinds import (
    Say,
    as_names,
    as_numbers,
    as_numbers_or_names,
    note_codes,
    note_numbers,
)
from wengert.cli.datasets.data_table import Array, Column, DataTable, listed
from wengert.cli.datasets.preparation import (
    CLASSIFICATION,
    DROP,
    FEW_CATEGORIES,
    FILL,
    REFUSE,
    REGRESSION,
    Preparation,
    TargetColumn,
    fitted_features,
    hint_at_numbers,
    mean_and_scale,
    require_whole,
)
from wengert.cli.datasets.row_numbers import without_row_numbers
from wengert.cli.exit_codes import DataFault

MOST_CLASSES = 20  # of whole numbers: with more of them, they are taken for measurements
USUAL_TARGETS = ("target", "label", "class", "y")
FEWEST_ROWS = 4
_WITH_GAPS = "Add --missing drop to leave such rows out, or --missing fill to take the mean"
_TARGET_WITH_GAPS = "Add --missing drop or --missing fill: both leave out rows without a target"


@dataclass(frozen=True)
class DataChoices:
    """What a user says about the columns."""

    target: str | None = None
    task: str | None = None
    categorical: Sequence[str] = ()
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: str = REFUSE
    validation: float = 0.2
    seed: int = 0


@dataclass(frozen=True, eq=False)
class LearningData:
    """Arrays to train on, arrays that are held out, and how they were made."""

    preparation: Preparation
    why_task: str
    x: Array  # (rows, width)
    y: Array  # (rows,) classes, or (rows, 1) numbers
    held_x: Array
    held_y: Array
    columns: tuple[str, ...]  # of the table, the target and all that were left out among them


def learning_data(table: DataTable, choices: DataChoices, say: Say) -> LearningData:
    """Everything between a table and training. Means and categories come from the rows to train on
    alone.
    """
    if table.doubt:
        say(table.doubt)
    names = tuple(table.names)
    table, target = _chosen_columns(table, choices, say)
    table = without_row_numbers(table, choices.keep, say)
    table, target = _without_gaps(table, target, choices.missing, say)
    task, why = _task(table, target, choices)
    if task == CLASSIFICATION:
        target = as_names(target)
        _require_classes(table, target)
        _note_classes_alike(target, say)
        if choices.task is None and target.name not in choices.categorical:
            _note_numbers_among_classes(target, say)
    else:
        hint = hint_at_numbers(target)
        advice = f"{hint}." if hint else "For classes, add --task classification."
        target = as_numbers(table, target, advice)
        _require_spread(table, target)
    trained, held = split_rows(
        target.cells if task == CLASSIFICATION else None,
        len(table),
        choices.validation,
        choices.seed,
    )
    features = fitted_features([column.taken(trained) for column in table.columns], say)
    if not features:
        raise DataFault(
            f"{table.source}: no column is left to learn from beside the target {target.name!r}."
        )
    preparation = Preparation(features, _fitted_target(task, target, trained), choices.missing)
    quiet = _unsaid
    encoded = preparation.target.encoded(table, target)
    inputs = preparation.inputs(table, quiet)
    return LearningData(
        preparation, why, inputs[trained], encoded[trained], inputs[held], encoded[held], names
    )


def _unsaid(_: str) -> None:
    """Say nothing: that only held-out rows have some category is no news."""


def _chosen_columns(table: DataTable, choices: DataChoices, say: Say) -> tuple[DataTable, Column]:
    """The features, each as numbers or names, and the target."""
    target = table.column(_target_name(table, choices), "the target")
    for name in ("ignore", "categorical", "keep"):
        for column in getattr(choices, name):
            _require_column(table, column, f"--{name}")
    _require_no_contradiction(table, target.name, choices)
    as_classes = [target.name] if choices.task == CLASSIFICATION else []
    for column in table.columns:
        if column.name not in (*choices.categorical, *choices.ignore, *as_classes):
            note_codes(column, say)
            note_numbers(column, say)
    table = table.without([target.name, *choices.ignore])
    if not table.columns:
        raise DataFault(
            f"{table.source}: has no column beside the target {target.name!r}; there is nothing to "
            "learn from."
        )
    features = [table.column(name, "a feature") for name in table.names]
    columns = tuple(
        as_names(column)
        if column.name in choices.categorical
        else as_numbers_or_names(table, column)
        for column in features
    )
    return replace(table, columns=columns), target


def _require_no_contradiction(table: DataTable, target: str, choices: DataChoices) -> None:
    """Refuse flags that say two things of one column."""
    pairs = {
        ("--ignore", "--keep"): {*choices.ignore} & {*choices.keep},
        ("--ignore", "--target"): {*choices.ignore} & {target},
    }
    for (one, other), both in pairs.items():
        if both:
            raise DataFault(
                f"{table.source}: {one} and {other} both name {min(both)!r}. Take one away."
            )
    if choices.task == REGRESSION and target in choices.categorical:
        raise DataFault(
            f"{table.source}: --categorical names the target {target!r}, and --task regression "
            "takes it for a number. Take one away."
        )


def _require_column(table: DataTable, name: str, flag: str) -> None:
    parts = [part.strip() for part in name.split(",")]
    if name not in table.names and len(parts) > 1 and {*parts} <= {*table.names}:
        repeated = " ".join(f"{flag} {part!r}" for part in parts)
        raise DataFault(
            f"{table.source}: {flag} {name!r} is not a column; the flag takes one column, and may "
            f"be given several times. Write {repeated}."
        )
    table.require_name(name, flag)


def _target_name(table: DataTable, choices: DataChoices) -> str:
    if choices.target is not None:
        return choices.target
    names = [name for name in table.names if name not in choices.ignore] or table.names
    usual = [name for name in names if name.lower() in USUAL_TARGETS]
    if len(usual) == 1:
        return usual[0]
    raise DataFault(
        f"{table.source}: which column is to be predicted? There are {listed(names)}. Say it: "
        f"--target {names[-1]!r}.{table.doubt_in_error}"
    )


def _without_gaps(
    table: DataTable, target: Column, missing: str, say: Say
) -> tuple[DataTable, Column]:
    """Deal with missing cells as the user wishes; a row without a target teaches nothing."""
    if target.missing.all():
        raise DataFault(
            f"{table.source}: target {target.name!r} is empty or NaN in all {len(table)} rows; "
            "there is nothing to learn. Give another --target."
        )
    if missing == REFUSE:
        require_whole(table, target, _TARGET_WITH_GAPS)
        for column in table.columns:
            _require_some(table, column)
            require_whole(table, column, _WITH_GAPS)
        return table, target
    gaps = target.missing.copy()
    if missing == DROP:
        for column in table.columns:
            _require_some(table, column)
            gaps |= column.missing
    if gaps.all():
        raise DataFault(
            f"{table.source}: every row has a missing cell; nothing is left without them. "
            f"Try --missing {FILL}, or leave out columns that are mostly empty with --ignore."
        )
    if gaps.any():
        say(f"{int(gaps.sum())} of {len(table)} rows have missing cells and are left out")
        rows = np.flatnonzero(~gaps)
        table, target = table.taken(rows), target.taken(rows)
    return table, target


def _require_some(table: DataTable, column: Column) -> None:
    """Refuse a column that is wholly empty: it has no mean, and without its rows none are left."""
    if column.missing.all():
        raise DataFault(
            f"{table.source}: column {column.name!r} is empty or NaN in all {len(table)} rows; it "
            f"tells nothing. Leave it out: --ignore {column.name!r}."
        )


def _task(table: DataTable, target: Column, choices: DataChoices) -> tuple[str, str]:
    """The task, and why it is that."""
    if choices.task is not None:
        return choices.task, "as asked"
    if target.name in choices.categorical:
        return CLASSIFICATION, "--categorical names the target"
    column = as_numbers_or_names(table, target)
    if column.is_text:
        return CLASSIFICATION, "the target is text"
    values = np.unique(column.cells)
    whole = bool((values == np.round(values)).all())
    if whole and len(values) <= MOST_CLASSES:
        count = len(set(as_names(target).cells))  # 1 and 01 are two of them
        return (
            CLASSIFICATION,
            f"the target has {count} different whole numbers; --task regression for a number",
        )
    kind = "whole numbers" if whole else "numbers"
    return REGRESSION, f"the target has {len(values)} different {kind}"


def _require_classes(table: DataTable, target: Column) -> None:
    classes = sorted(set(target.cells))
    if len(classes) < 2:
        raise DataFault(
            f"{table.source}: target {target.name!r} is {classes[0]!r} in all {len(table)} rows; "
            "two classes are needed to tell apart. Give rows of another class, or another --target."
        )
    if 2 * len(classes) > len(table):
        hint = hint_at_numbers(target)
        repair = f"{hint}." if hint else "Is it the right --target, or --task regression?"
        raise DataFault(
            f"{table.source}: target {target.name!r} has {len(classes)} classes in {len(table)} "
            f"rows; a class needs several rows to be learned. {repair}"
        )


def _note_classes_alike(target: Column, say: Say) -> None:
    """Tell of classes that differ by case or spaces alone, as Yes and yes."""
    alike: dict[str, list[str]] = {}
    for name in sorted(set(target.cells)):
        alike.setdefault("".join(name.lower().split()), []).append(name)
    pairs = [" and ".join(map(repr, names)) for names in alike.values() if len(names) > 1]
    if pairs:
        say(
            f"target {target.name!r} has classes that differ by case or spaces alone, and are "
            f"learned as different ones: {'; '.join(pairs[:3])}. Write them alike if they are one"
        )


def _note_numbers_among_classes(target: Column, say: Say) -> None:
    """Tell of many classes that look like numbers with a sign or a unit."""
    count, hint = len(set(target.cells)), hint_at_numbers(target)
    if count > FEW_CATEGORIES and hint:
        say(f"target {target.name!r} has {count} classes. {hint}, and it is predicted as a number")


def _require_spread(table: DataTable, target: Column) -> None:
    if (target.cells == target.cells[0]).all():
        raise DataFault(
            f"{table.source}: target {target.name!r} is {target.cells[0]:g} in all {len(table)} "
            "rows; there is nothing to learn. Give another --target."
        )


def split_rows(
    classes: Array | None, count: int, validation: float, seed: int
) -> tuple[Array, Array]:
    """Numbers of the rows to train on, and of those that are held out: of each class alike."""
    if count < FEWEST_ROWS:
        raise DataFault(
            f"the data has {count} rows; {FEWEST_ROWS} are needed at least, to learn from some and "
            "to judge by others."
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    if classes is None:
        held = order[: min(max(round(validation * count), 1), count - 1)]
    else:
        parts = [order[classes[order] == name] for name in sorted(set(classes))]
        held = np.concatenate([part[: round(validation * len(part))] for part in parts])
        if not len(held):
            held = max(parts, key=len)[:1]
    trained = np.setdiff1d(np.arange(count), held)
    return trained, np.sort(held)


def _fitted_target(task: str, target: Column, trained: Array) -> TargetColumn:
    if task == CLASSIFICATION:
        return TargetColumn(target.name, tuple(_in_order(set(target.cells))))
    return TargetColumn(target.name, (), *mean_and_scale(target.cells[trained]))


def _in_order(names: set[str]) -> list[str]:
    """Sorted, numbers by their size."""
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)
