"""Checkpoints: everything a step needs to go on as if it had never stopped, as one tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import CheckpointError, OptimError
from wengert.train.engine import Engine
from wengert.train.storage import Array

PARTS = ("arrays", "counts", "settings", "limits")
BY = "TrainStep.load_state_dict"  # how errors begin
COUNTS = ("calls", "updates", "phase", "epoch", "shuffled", "seed")


class Checkpoint:
    """The state of a step by name. Arrays are named by what they are and the path they belong to;
    what is named decides the future, and is what a fingerprint looks at.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def _arrays(self) -> dict[str, dict[str, Array]]:
        """Live arrays: parameters and data, states of optimizers, carried state, gradients."""
        storage = self._engine.plan.storage
        found: dict[str, dict[str, Array]] = {
            "model": {storage.paths[i][0]: x for i, x in enumerate(storage.leaves)}  # type: ignore[misc]
        }
        for segment in storage.trained:
            for name, flat in segment.states.items():
                into = found.setdefault(f"optimizer {name}", {})
                into |= {p.path: p.view(flat) for p in segment.parameters}
        plan = self._engine.plan
        if plan.carried is not None:
            paths = tree.paths(tree.unflatten(plan.carried, self._engine.carried))
            found["state"] = dict(zip(paths, self._engine.carried, strict=True))
        if plan.accumulate > 1:
            found["gradients"] = {
                p.path: p.view(segment.gradients)
                for segment in storage.trained
                for p in segment.parameters
            }
        return found

    def _counts(self) -> dict[str, int]:
        engine = self._engine
        return {
            "calls": engine.calls,
            "updates": engine.updates,
            "phase": int(engine.phase[0]),
            "epoch": engine.epoch,
            "shuffled": int(engine.shuffled),
            "seed": int(engine.seed),
        }

    def parts(self) -> dict[str, Any]:
        """Everything by name, for a fingerprint."""
        named = self._arrays()
        if not self._counts()["phase"]:  # the next call does not look at them
            named.pop("gradients", None)
        found: dict[str, Any] = {
            f"{kind} {path}": x for kind, arrays in named.items() for path, x in arrays.items()
        }
        counts = self._counts()
        if not self._engine.plan.wants_rng:
            counts.pop("seed")
        if not self._engine.shuffled:  # no order of rows has depended on it
            counts.pop("epoch")
        return found | counts

    def state_dict(self) -> dict[str, Any]:
        """Copies of all arrays, counts, the settings of the optimizers by glob, and the limits of
        clipping.
        """
        arrays = {
            kind: {path: np.array(x) for path, x in found.items()}
            for kind, found in self._arrays().items()
        }
        groups = [group for group in self._engine.plan.groups if group.optimizer is not None]
        settings = {group.glob: group.optimizer.state_dict() for group in groups}  # type: ignore[union-attr]
        return {
            "arrays": arrays,
            "counts": self._counts(),
            "settings": settings,
            "limits": dict(self._engine.limits),
        }

    def load(self, given: Any) -> None:
        """Go on from what `state_dict` gave; refused, with nothing changed, where it is of another
        model or of other options.
        """
        _require_names("state", given, PARTS)
        own = self._arrays()
        _require_names("arrays", given["arrays"], tuple(own))
        _require_names("counts", given["counts"], COUNTS)
        for kind, arrays in own.items():
            _require_arrays(kind, given["arrays"][kind], arrays)
        groups = [group for group in self._engine.plan.groups if group.optimizer is not None]
        _require_names("settings", given["settings"], tuple(group.glob for group in groups))
        counts = {name: _count(name, given["counts"][name]) for name in COUNTS}
        _require_names("limits", given["limits"], tuple(self._engine.limits))
        limits = {name: _limit(name, value) for name, value in given["limits"].items()}
        for group in groups:
            _try_settings(group.optimizer, given["settings"][group.glob])
        for group in groups:
            group.optimizer.load_state_dict(given["settings"][group.glob])  # type: ignore[union-attr]
        for kind, arrays in own.items():
            for path, x in arrays.items():
                x[...] = given["arrays"][kind][path]
        self._set_counts(counts)
        self._engine.set_limits(limits)
        self._engine.measure_states()

    def _set_counts(self, counts: Mapping[str, int]) -> None:
        engine = self._engine
        engine.counter[0] = counts["calls"]
        engine.updates, engine.epoch = counts["updates"], counts["epoch"]
        engine.shuffled = bool(counts["shuffled"])
        engine.set_phase(counts["phase"] % engine.plan.accumulate)
        engine.set_seed(counts["seed"])
        engine.scalars.forget()


def _try_settings(optimizer: Any, settings: Any) -> None:
    """Load settings into a copy, so that the real thing does not fail half-way."""
    try:
        optimizer.copy().load_state_dict(settings)
    except OptimError as error:
        raise CheckpointError(
            f"{BY}: the settings of {type(optimizer).__name__} cannot be loaded ({error}); "
            "a state of the same optimizers is needed. Make the step as it was when it was saved."
        ) from error


def _count(name: str, value: Any) -> int:
    found = np.asarray(value)
    if found.ndim or found.dtype.kind not in "iu" or found < 0:
        raise CheckpointError(
            f"{BY}: the state has {name}={value!r}; it is a whole number, 0 or more. Pass what "
            "state_dict returned."
        )
    return int(found)


def _limit(name: str, value: Any) -> float:
    found = np.asarray(value)
    if found.ndim or found.dtype.kind not in "fiu" or not found > 0:
        raise CheckpointError(
            f"{BY}: the state has {name}={value!r}; it is a number above 0. Pass what state_dict "
            "returned."
        )
    return float(found)


def _require_names(what: str, given: Any, wanted: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise CheckpointError(
            f"{BY}: the {what} to load is {type(given).__name__}; a dictionary with "
            f"{', '.join(wanted)} is needed. Pass what state_dict returned."
        )
    missing = [name for name in wanted if name not in given]
    unknown = [str(name) for name in given if name not in wanted]
    if missing or unknown:
        raise CheckpointError(
            f"{BY}: given {what} {_difference(missing, unknown)}; a state of the same model and "
            "options is needed. Load it into a step like the one it was taken from."
        )


def _difference(missing: list[str], unknown: list[str]) -> str:
    parts = [
        f"{what} {_listed(names)}"
        for what, names in (("without", missing), ("with", unknown))
        if names
    ]
    return " and ".join(parts)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def _require_arrays(kind: str, given: Any, own: Mapping[str, Array]) -> None:
    _require_names(f"{kind} arrays", given, tuple(own))
    for path, x in own.items():
        value = np.asarray(given[path])
        if value.shape != x.shape or value.dtype != x.dtype:
            raise CheckpointError(
                f"{BY}: {path!r} of the {kind} to load is {value.dtype}{value.shape}; it is "
                f"{x.dtype}{x.shape} here. Load it into a step with the same model."
            )
