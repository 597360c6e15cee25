"""Labels of rows: frames and series of pandas whose rows are paired against what these say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.trees.foreign import foreign_arrays
from wengert.core.words.warn import warn_user
from wengert.errors import RowOrderWarning

FIRST_CALLS = 16  # of which each is looked at
FEWEST_ROWS = 8  # of which most have another label; fewer may be a window, or an example


class _Labelled(NamedTuple):
    """An argument whose index names its rows."""

    name: str
    given: Any

    @property
    def index(self) -> Any:
        return self.given.index


def warn_of_row_order(
    by: str, names: Sequence[str], given: Sequence[Any], are_samples: bool = True
) -> bool:
    """Warn of two frames or series whose rows have the same labels in different orders, or those of
    other rows: rows are paired by place, and their labels say that others belong together. Labels
    that several rows have, or that are only counted, name no rows: a frame that is made of what a
    scaler returns has counted ones, whatever the order of its rows. Unless rows `are_samples`, they
    may be a window of time, and the window behind it. Whether there are such.
    """
    given = [None if _is_list_of_cells(x) else x for x in given]
    foreign = [_Labelled(x.name, x.given) for x in foreign_arrays(names, given)]
    labelled = [x for x in foreign if _is_labelled(x.given) and _names_rows(x.index)]
    told = False
    if len(labelled) < 2:
        return told
    for group, other in _pairs(_grouped(labelled)):
        one, two = group[0], other[0]
        if two.index.isin(one.index).all():
            told = True
            for each in other:
                _warn_of_order(by, one, each)
        elif not _are_alike(group, other) and _are_other_rows(one.index, two.index, are_samples):
            told = True
            _warn_of_rows(by, one, two)
    return told


class RowOrderLooks:
    """Looks at the order of rows in single calls: in the first ones with frames, and then in every
    second, fourth … of these. A loop may begin with rows in order, or with those that are counted.
    """

    def __init__(self) -> None:
        self._calls, self._is_over = 0, False

    def look(self, by: str, names: Sequence[str], given: Sequence[Any]) -> None:
        if self._is_over or all(type(x) is np.ndarray for x in given):
            return
        self._calls += 1
        if self._calls <= FIRST_CALLS or self._calls & (self._calls - 1) == 0:
            self._is_over = warn_of_row_order(by, names, given, are_samples=False)


def _grouped(labelled: Sequence[_Labelled]) -> list[list[_Labelled]]:
    """Arguments with the same labels in the same order together."""
    groups: list[list[_Labelled]] = []
    for x in labelled:
        for group in groups:
            if group[0].index.equals(x.index):
                group.append(x)
                break
        else:
            groups.append([x])
    return groups


def _pairs(
    groups: Sequence[list[_Labelled]],
) -> Iterator[tuple[list[_Labelled], list[_Labelled]]]:
    """Each group with the first one of as many rows."""
    first: dict[int, list[_Labelled]] = {}
    for group in groups:
        before = first.setdefault(len(group[0].index), group)
        if before is not group:
            yield before, group


def _warn_of_order(by: str, one: _Labelled, two: _Labelled) -> None:
    warn_user(
        f"{by}: the indices of {one.name} and {two.name} have the same labels in different "
        f"orders; rows are paired by place, so {_first_pair(one.index, two.index)}. "
        f"Write {two.name}.loc[{one.name}.index]; if they belong together by place, pass "
        f"{two.name}.to_numpy().",
        RowOrderWarning,
    )


def _warn_of_rows(by: str, one: _Labelled, two: _Labelled) -> None:
    warn_user(
        f"{by}: the indices of {one.name} and {two.name} have the labels of different rows; rows "
        f"are paired by place, so {_first_pair(one.index, two.index)}. Take the same rows of "
        "both, as train_test_split(X, y) does in one call; if they belong together by place, pass "
        f"{two.name}.to_numpy().",
        RowOrderWarning,
    )


def _first_pair(first: Any, other: Any) -> str:
    place = int((first != other).argmax())
    one, two = first[place : place + 1].tolist()[0], other[place : place + 1].tolist()[0]
    return f"row {one!r} goes with row {two!r}"


def _is_list_of_cells(x: Any) -> bool:
    """Whether it is a list of numbers, texts or rows of them, which may be a long one."""
    return isinstance(x, list) and bool(x) and isinstance(x[0], str | int | float | list)


def _is_labelled(x: Any) -> bool:
    """Whether it is a frame or a series of pandas."""
    return hasattr(getattr(x, "index", None), "equals") and hasattr(x, "iloc")


def _names_rows(index: Any) -> bool:
    """Whether the labels of an index tell its rows apart, and are not just 0 to n - 1 in order."""
    counted = index.dtype.kind in "iu" and bool((index == np.arange(len(index))).all())
    return not counted and bool(index.is_unique)


def _are_alike(group: Sequence[_Labelled], other: Sequence[_Labelled]) -> bool:
    """Whether two groups have the same columns somewhere: two samples of one table, as positive and
    negative examples are, have different rows on purpose.
    """
    return any(_have_same_columns(one.given, two.given) for one in group for two in other)


def _have_same_columns(one: Any, two: Any) -> bool:
    if hasattr(one, "columns") and hasattr(two, "columns"):
        return bool(one.columns.equals(two.columns))
    named = getattr(one, "name", None) is not None  # a series
    return named and not hasattr(two, "columns") and bool(one.name == two.name)


def _are_other_rows(first: Any, other: Any, are_samples: bool) -> bool:
    """Whether most labels of two indices, of the same kind, are those of different rows, and no
    rule leads from the one to the other.
    """
    count = len(first)
    if count < FEWEST_ROWS or first.dtype != other.dtype or list(first.names) != list(other.names):
        return False
    if 2 * np.count_nonzero(first == other) >= count or _agree_in_a_level(first, other):
        return False
    return not (
        _is_shifted(first, other)
        or _follows_in_time(first, other)
        or _is_at_one_distance(first, other, are_samples)
    )


def _agree_in_a_level(first: Any, other: Any) -> bool:
    """Whether labels of several parts have one of them in common, row by row: a person, say, of
    whom the years differ.
    """
    return first.nlevels > 1 and any(
        first.get_level_values(k).equals(other.get_level_values(k)) for k in range(first.nlevels)
    )


def _is_shifted(first: Any, other: Any) -> bool:
    """Whether the labels in common are so many places further in the one than in the other, as in
    x.iloc[:-1] beside y.iloc[1:], of the whole or of each part of it.
    """
    places = first.get_indexer(other)
    common = np.flatnonzero(places >= 0)
    shifts = places[common] - common
    if not len(common) or (shifts != shifts[0]).any():
        return False
    return len(common) == len(first) - abs(int(shifts[0])) or 2 * len(common) >= len(first)


def _follows_in_time(first: Any, other: Any) -> bool:
    """Whether the labels are times, and in order, or always later in the same one of the two."""
    if first.dtype.kind not in "mM" and not str(first.dtype).lower().startswith("period"):
        return False
    if first.is_monotonic_increasing and other.is_monotonic_increasing:
        return True
    return bool((first < other).all() or (first > other).all())


def _is_at_one_distance(first: Any, other: Any, are_samples: bool) -> bool:
    """Whether the labels are numbers with the same difference in all rows, as those of each row and
    of the next one are. Of samples, the last rows of the one come behind the first of the other:
    two parts of a table one behind the other are more likely a slip of the pen.
    """
    if first.dtype.kind not in "iuf":
        return False
    one, two = first.to_numpy(), other.to_numpy()
    if (two - one != two[0] - one[0]).any():
        return False
    return not are_samples or bool(one.min() <= two.max() and two.min() <= one.max())
