"""Groups: which optimizer updates which parameter, by globs on their paths."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from wengert.core.trees.same import same
from wengert.core.words.named_dict import missing_key
from wengert.core.words.warn import warn_user
from wengert.errors import GroupWarning, OptimError, UnreachedWarning
from wengert.optim.exclusion import closest_path, excludes
from wengert.optim.lifecycle.member_optimizers import MemberOptimizers
from wengert.optim.lifecycle.saving import fixed_of, names_of, numbers_of
from wengert.optim.optimizer import Optimizer
from wengert.optim.quasi_newton.lbfgs import LBFGS
from wengert.runtime.outside.users_code import is_users

EVERYTHING = "*"
_OWN = "wengert.optim."  # the modules of optimizers that are part of Wengert


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
        if isinstance(each, MemberOptimizers):
            raise OptimError(
                f"TrainStep: given {len(each)} optimizers, {each!r}; a step has one, and settings "
                "with several entries are for the members of an ensemble. Write wg.Ensemble, or "
                "pass one number."
            )
        if each is not None and not isinstance(each, Optimizer):
            repair = "Write wg.optim.Adam(1e-3)"
            if isinstance(each, LBFGS) or each is LBFGS:
                repair += ", or search.minimize(loss, model, x, y) with search = wg.optim.LBFGS(…)"
            raise OptimError(
                f"TrainStep: given {_name(each)} as the optimizer; it must be one of "
                "wg.optim that has a rule, None to freeze, or a dict from globs to these. "
                f"{repair}."
            )
    return [Group(glob, None if each is None else _own(each)) for glob, each in given.items()]


def warn_of_decay(optimizer: Optimizer, path: str) -> bool:
    """Warn that a parameter which no gradient reaches shrinks all the same, if it does."""
    inner: Any = optimizer
    while not hasattr(inner, "weight_decay") and isinstance(
        getattr(inner, "optimizer", None), Optimizer
    ):
        inner = inner.optimizer
    decay = getattr(inner, "weight_decay", 0)
    shrinks = bool(decay) and not excludes(getattr(inner, "exclude", None), path)
    if shrinks:
        warn_user(
            f"TrainStep: no gradient reaches {path!r}, and weight_decay={decay:g} of "
            f"{type(inner).__name__} makes it smaller in every update; torch leaves such "
            f"parameters alone. Freeze it, {{{path!r}: None, '*': optimizer}}, or give it an "
            "optimizer without decay.",
            UnreachedWarning,
        )
    return shrinks


def users_rules(groups: Iterable[Group]) -> Iterator[Any]:
    """The rules that users have written, also of optimizers inside of others."""
    for group in groups:
        for each in parts_of(group.optimizer):
            if is_users(each.rule):
                yield each.rule


def has_users_initial(optimizer: Optimizer) -> bool:
    """Whether an optimizer, or one inside it, says itself what its states begin as. Those that are
    part of Wengert do so for each element by itself.
    """
    return any(not each.initial.__module__.startswith(_OWN) for each in parts_of(optimizer))


def parts_of(optimizer: Optimizer | None) -> Iterator[Optimizer]:
    """An optimizer, if there is one, and those inside it."""
    pending = [] if optimizer is None else [optimizer]
    while pending:
        each = pending.pop()
        yield each
        pending += [x for x in vars(each).values() if isinstance(x, Optimizer)]


def require_same_rules(first: Sequence[Group], other: Sequence[Group]) -> None:
    """Refuse optimizers that the programs of the first ones do not compute: of another kind, with
    other fixed settings or other states, or with a rule of the user's that reads other numbers.
    """
    if [group.glob for group in first] != [group.glob for group in other]:
        raise OptimError(
            f"Ensemble: its optimizers are for the globs {', '.join(g.glob for g in other)}; those "
            f"of member 0 for {', '.join(g.glob for g in first)}, and all members share one "
            "program. Use the same globs in the same order."
        )
    for one, another in zip(first, other, strict=True):
        a, b = one.optimizer, another.optimizer
        if a is not b and (a is None or b is None or not _same_rule(a, b)):
            raise OptimError(
                f"Ensemble: its optimizer is {b!r}; that of member 0 is {a!r}, whose rule is "
                "another, and all members share one program. Let them differ in numbers that the "
                "rule takes at run time, such as the learning rate, or make an ensemble of each."
            )


def _same_rule(a: Optimizer, b: Optimizer) -> bool:
    if _has_same_settings(a, b):
        return True
    if type(a) is not type(b) or fixed_of(a) != fixed_of(b) or a.keeps != b.keeps:
        return False
    functions = [
        (getattr(a, name), getattr(b, name)) for name in names_of(a) if name != a.rate_name
    ]
    if not all(same(x, y) for x, y in functions if callable(x)):
        return False
    # A rule of the user's may read its numbers as constants.
    users = any(True for _ in users_rules([Group(EVERYTHING, a)]))
    return list(a.scalars(1)) == list(b.scalars(1)) and not (
        users and numbers_of(a) != numbers_of(b)
    )


def _has_same_settings(a: Optimizer, b: Optimizer) -> bool:
    """Whether two optimizers of one kind, which is part of Wengert, differ in their rate at most.
    That is soon known; most members of an ensemble do.
    """
    if type(a) is not type(b) or not type(a).__module__.startswith(_OWN):
        return False
    names = [name for name in names_of(a) if name != a.rate_name]
    return all(same(getattr(a, name), getattr(b, name)) for name in names)


def _refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(
        "TrainStep.optimizer: the dict of optimizers was changed; which one a parameter has, or "
        "that it is frozen, is part of the step. Set a setting of one of them, as in "
        "step.optimizer['*'].learning_rate = 1e-4, or make a new step."
    )


class Optimizers(dict[str, Optimizer | None]):
    """The optimizers of a step by their globs: a dict that can only be read."""

    def __init__(self, groups: Iterable[Group]) -> None:
        super().__init__({group.glob: group.optimizer for group in groups})

    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[dict[str, Optimizer | None]]]:
        """A copy is a plain dict."""
        return dict, (dict(self),)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse a setting of the dict, which has none: nothing would come of it."""
        glob = next((glob for glob, each in self.items() if each is not None), EVERYTHING)
        raise AttributeError(
            f"TrainStep.optimizer: {name} was set; it is a dict of optimizers, for "
            f"{', '.join(map(repr, self))}, each with settings of its own. Write "
            f"step.optimizer[{glob!r}].{name} = ….",
            name=name,
            obj=self,
        )

    def __missing__(self, key: Any) -> NoReturn:
        raise missing_key("TrainStep.optimizer", key, self)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def _name(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def _own(optimizer: Optimizer) -> Optimizer:
    """A copy for this step, without the state of other parameters."""
    own = optimizer.copy()
    own.clear_state()
    return own


def _matches(glob: str, path: str, known: Collection[str]) -> bool:
    """Whether a glob takes a path. One that is itself a path of the model, of all that are known,
    takes that one: `a[0]` as a glob would be a0.
    """
    return path == glob if glob in known else fnmatch.fnmatchcase(path, glob)


def group_of(groups: Sequence[Group], paths: Sequence[str], known: Collection[str]) -> int:
    """The number of the group that a parameter belongs to: of the first glob that matches. A tied
    parameter has several paths; any of them counts. All paths of the model are `known`.
    """
    for number, group in enumerate(groups):
        if any(_matches(group.glob, path, known) for path in paths):
            return number
    names = ", ".join(repr(group.glob) for group in groups)
    raise OptimError(
        f"TrainStep: no glob matches the parameter {paths[0]!r}; every parameter needs an "
        f"optimizer or None, and the globs are {names}. Add '*' as the last one."
    )


def require_matching(groups: Sequence[Group], leaves: Sequence[Sequence[str]]) -> None:
    """Refuse a glob that matches no path of the model, given the paths of each of its arrays."""
    paths = [path for names in leaves for path in names]
    for group in groups:
        if not any(_matches(group.glob, path, paths) for path in paths):
            raise OptimError(
                f"TrainStep: the glob {group.glob!r} matches no path of the model; "
                f"{closest_path(group.glob, paths)}. Correct it, or leave it out."
            )


def require_useful(
    groups: Sequence[Group], leaves: Sequence[Sequence[str]], taken: Collection[int]
) -> None:
    """Warn of a glob that takes no parameter, because globs before it take all that it matches.
    `taken` are the numbers of the groups that have parameters.
    """
    paths = [path for names in leaves for path in names]
    for number, group in enumerate(groups):
        if number not in taken and group.glob != EVERYTHING:
            matched = [
                names for names in leaves if any(_matches(group.glob, x, paths) for x in names)
            ]
            first = [_first_match(groups[:number], names, paths) for names in matched]
            if None not in first:
                tie = tie_told(zip(matched, first, strict=True), paths)
                warn_user(
                    f"TrainStep: the glob {group.glob!r} takes no parameter; globs before it, such "
                    f"as {first[0]!r}, take all it matches, and the first that matches counts."
                    f"{tie} Put it before them, or leave it out.",
                    GroupWarning,
                )
        if group.optimizer is not None:
            group.optimizer.require_paths(paths)


def _first_match(
    groups: Sequence[Group], names: Sequence[str], known: Collection[str]
) -> str | None:
    """The first glob that takes an array, which has these paths."""
    matching = (g.glob for g in groups if any(_matches(g.glob, path, known) for path in names))
    return next(matching, None)


def tie_told(taken: Iterable[tuple[Sequence[str], str | None]], known: Collection[str]) -> str:
    """A sentence about the first array that a glob takes by some of its paths and not by others,
    given the paths of each array and the glob that takes it; nothing where there is none.
    """
    for names, glob in taken:
        here = [path for path in names if _matches(glob or EVERYTHING, path, known)]
        others = [path for path in names if path not in here]
        if here and others:
            return (
                f" {others[0]!r} is tied to {here[0]!r}: one array, and so one parameter, at both "
                f"paths, which {glob!r} takes."
            )
    return ""


def own_optimizers(given: Any, groups: Sequence[Group]) -> list[tuple[str, Any, Any]]:
    """The optimizers that were given, with the step's own copies and what reaches these."""
    if not isinstance(given, Mapping):
        return [("step.optimizer", given, groups[0].optimizer)]
    pairs = zip(given.values(), groups, strict=True)
    return [
        (f"step.optimizer[{group.glob!r}]", each, group.optimizer)
        for each, group in pairs
        if each is not None
    ]
