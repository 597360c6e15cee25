"""Unreached: parameters that a loss computes with and no gradient comes back to, as behind a
stop_gradient in the wrong place, an argmax or a comparison.

A parameter that the loss does not use at all is another thing: models have parts that one of their
losses has no use for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning, UnusedWarning
from wengert.interpret.mistakes.used_values import used_by
from wengert.train.segments import ModelParameter

SHOWN = 3  # so many paths are named


def paths_used_by(
    results: Sequence[Value], leaves: Sequence[Value], parameters: Sequence[ModelParameter]
) -> list[str]:
    """The paths of parameters, whose values are among the leaves of a model, that results were
    computed from.
    """
    used = used_by(results, [leaves[parameter.place] for parameter in parameters])
    return [parameter.path for parameter, u in zip(parameters, used, strict=True) if u]


def warn_of_unreached(paths: Sequence[str], trained: Sequence[str]) -> None:
    """Warn of parameters that are used and not trained, given the paths of all that should be."""
    names = ", ".join(map(repr, paths[:SHOWN]))
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    globs = _globs(paths, trained)
    frozen = ", ".join(f"{glob!r}: None" for glob in globs[:SHOWN])
    rest = ", …" if len(globs) > SHOWN else ""
    warn_user(
        f"TrainStep: the loss computes with {names}{more}, and no gradient comes back from there: "
        "no training changes it. Look for a wg.stop_gradient around too much, an argmax, a "
        "comparison or a conversion to integers on the way. If it shall stay what it is, freeze "
        f"it: {{{frozen}{rest}, '*': optimizer}}.",
        UnreachedWarning,
    )


def warn_of_no_grad(line: Line | None) -> None:
    """Warn of a line inside of torch.no_grad() that gradients go through, if there is one."""
    if line is not None:
        warn_user(
            f"TrainStep: the loss computes with the model inside of torch.no_grad() ({line}), and "
            "gradients go through that; torch's modes are for its own tensors. Write "
            "wg.stop_gradient(x) around what is not to be differentiated.",
            UnusedWarning,
        )


def _globs(paths: Sequence[str], trained: Sequence[str]) -> list[str]:
    """What a dict of optimizers calls all of these parameters, and no other one that is trained: as
    few globs as there can be.
    """
    others = set(trained) - set(paths)
    return list(dict.fromkeys(_widest_glob(path, others) for path in paths))


def _widest_glob(path: str, others: Collection[str]) -> str:
    parts = path.split(".")
    for depth in range(1, len(parts)):
        prefix = ".".join(parts[:depth]) + "."
        if not any(other.startswith(prefix) for other in others):
            return f"{prefix}*"
    return path
