"""Layers that a search began with and that a program computes with, or saves, after the search:
`minimize` returns a new tree, and leaves what it was given as it is.

As with steps it is told once, of weights as a layer has drawn them. They may begin another search,
or be an argument of one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from wengert.core.words.noticed.watched_arrays import forget_watches, note_reads, watch_reads
from wengert.functions.drawn_weights import drawn_weight
from wengert.optim.lifecycle.original_reads import OriginalReads
from wengert.optim.parameters import leaf_name, leaves_in
from wengert.optim.quasi_newton.lbfgs_problem import Problem
from wengert.optim.quasi_newton.lbfgs_run import RunEnding

_SEARCH = "search"  # who watches


def begin_search(problem: Problem, args: Iterable[Any]) -> None:
    """Note that a search begins, with these arguments behind the tree. Searches may well have a
    start in common, but a step that has trained a copy of it has something to tell.
    """
    start = list(problem.parameters.values())
    others = [x for arg in args for x in leaves_in(arg)]
    forget_watches([*start, *others], _SEARCH)
    note_reads(start)


def end_search(function: Callable[..., Any], problem: Problem, ending: RunEnding) -> None:
    """Note that a search has ended, and watch those weights that it has found others for."""
    before, after = ending.start.x, ending.best.x
    reads: OriginalReads | None = None
    for path, x in problem.parameters.items():
        place = problem.places[path]
        if type(x) is not np.ndarray or drawn_weight(x) is None:
            continue
        if not np.array_equal(before[place], after[place]):
            reads = reads or OriginalReads(function)
            watch_reads(x, _SEARCH, partial(_note_read, reads, weakref.ref(x), path))


def _note_read(reads: OriginalReads, array: weakref.ref[Any], path: str) -> bool:
    """Look at an array that is read; nothing is left to tell of it then."""
    x = array()
    if x is not None and drawn_weight(x) is not None:
        reads.warn(
            f"LBFGS.minimize: {leaf_name(path, 'tree')} that a search began with is read here, "
            "after it; minimize changes no tree, and these are the numbers from before. Take what "
            "it returned: net = search.minimize(…).tree. For the numbers before the search, take "
            "wg.tree.copy(net)."
        )
    return True
