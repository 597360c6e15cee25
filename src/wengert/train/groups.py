"""Groups: which optimizer updates which parameter, by globs on their paths."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.errors import OptimError
from wengert.optim.optimizer import Optimizer

EVERYTHING = "*"


@dataclass
class Group:
    """Parameters that share an optimizer; None freezes them."""

    glob: str
    optimizer: Optimizer | None  # the step's own copy; None where the group is frozen

    @property
    def trainer(self) -> Optimizer:
        """The optimizer of a group that is not frozen."""
        assert self.optimizer is not None
        return self.optimizer

    @property
    def frozen(self) -> bool:
        return self.optimizer is None


def make_groups(optimizer: Any) -> list[Group]:
    """One group per glob, each with a copy of its optimizer."""
    given = optimizer if isinstance(optimizer, Mapping) else {EVERYTHING: optimizer}
    if not given:
        raise OptimError(
            "TrainStep: given an empty dict of optimizers; it maps globs on paths to optimizers. "
            "Write {'*': wg.optim.Adam(1e-3)}."
        )
    for glob, each in given.items():
        if not isinstance(glob, str):
            raise OptimError(
                f"TrainStep: the dict of optimizers has the key {glob!r}; its keys are globs on "
                "paths such as 'encoder.*'. Write a string."
            )
        if each is not None and not isinstance(each, Optimizer):
            raise OptimError(
                f"TrainStep: given {_name(each)} as the optimizer; it must be one of "
                "wg.optim that has a rule, None to freeze, or a dict from globs to these. Write "
                "wg.optim.Adam(1e-3)."
            )
    return [Group(glob, None if each is None else _own(each)) for glob, each in given.items()]


def _name(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def _own(optimizer: Optimizer) -> Optimizer:
    """A copy without the state of other parameters."""
    own = optimizer.copy()
    own.clear_state()
    return own


def group_of(groups: Sequence[Group], paths: Sequence[str]) -> int:
    """The number of the group that a parameter belongs to: of the first glob that matches. A tied
    parameter has several paths; any of them counts.
    """
    for number, group in enumerate(groups):
        if any(fnmatch.fnmatchcase(path, group.glob) for path in paths):
            return number
    names = ", ".join(repr(group.glob) for group in groups)
    raise OptimError(
        f"TrainStep: no glob matches the parameter {paths[0]!r}; every parameter needs an "
        f"optimizer or None, and the globs are {names}. Add '*' as the last one."
    )
