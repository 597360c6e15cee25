"""All cases, by group: a group is a module in `benchmarks/cases` with a tuple CASES."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache

from benchmarks.case import Case

# In the order in which they are measured and shown.
GROUPS = (
    "steps",
    "ensembles",
    "reinforcement",
    "mlp",
    "gemm",
    "elementwise",
    "reductions",
    "rows",
    "scans",
    "images",
    "sequences",
    "optimizers",
    "tape",
    "compiling",
    "calls",
    "matrices",
)


@cache
def cases_of(group: str) -> tuple[Case, ...]:
    cases: tuple[Case, ...] = importlib.import_module(f"benchmarks.cases.{group}").CASES
    return cases


@cache
def all_cases() -> dict[str, tuple[str, Case]]:
    """By name: the group, and the case."""
    by_name: dict[str, tuple[str, Case]] = {}
    for group in GROUPS:
        for case in cases_of(group):
            assert case.name not in by_name, f"two cases are called {case.name!r}"
            by_name[case.name] = group, case
    return by_name


def case_named(name: str) -> Case:
    return all_cases()[name][1]


def chosen(words: Sequence[str]) -> list[Case]:
    """The cases of the groups named, the cases named, and those whose names begin with a word that
    names neither; all where there is no word. ValueError for a word that begins no name.
    """
    by_name: dict[str, Case] = {}
    for word in words or GROUPS:
        if word in GROUPS:
            named = list(cases_of(word))
        elif word in all_cases():
            named = [case_named(word)]
        else:
            named = [case for name, (_, case) in all_cases().items() if name.startswith(word)]
        if not named:
            raise ValueError(
                f"no case begins with {word!r}; the groups are {', '.join(GROUPS)}, and "
                f"--list prints every case."
            )
        by_name |= {case.name: case for case in named}
    return list(by_name.values())
