"""Checkpoints: everything a step needs to go on as if it had never stopped, as one tree."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.trees.same import same
from wengert.errors import CheckpointError, WengertError
from wengert.optim.schedules.held_rates import rehearsed
from wengert.runtime.refusals import require_plain
from wengert.train.checkpoints.mistaken_files import model_given
from wengert.train.engine import Engine
from wengert.train.option_checks import MOST_EPOCHS, whole
from wengert.train.runs.progress import Begun, Progress
from wengert.train.storage import Array, copying

PARTS = ("arrays", "counts", "settings", "limits")
BY = "TrainStep.load_state_dict"  # how errors begin
COUNTS = ("calls", "updates", "phase", "epoch", "shuffled", "seed")
UNFINISHED = "unfinished"  # one more part, of a step in the middle of an epoch or accumulation
STATIC = "static"  # and one of a model that has more than arrays
DRAWS = "draws"  # and one of a step with bound functions that draw: how often they were called
MADE = "made"  # and one of what the optimizers were made with, in words
FIT = "fit"  # and one that `fit` adds to its files, of which a step knows nothing
EPOCH = ("batches", "rows", "batch_size", "shuffle_seed", "data")
MOST = 2**62  # the largest count that is accepted: counting must be able to go on
MOST_SEED = 2**64 - 1


class Checkpoint:
    """The state of a step by name. Arrays are named by what they are and by the path they belong
    to. Whatever decides how training goes on has a name here, and that is what a fingerprint
    covers.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def _arrays(self) -> dict[str, dict[str, Array]]:
        """Live arrays: parameters and data, states of optimizers, carried state, gradients."""
        storage = self._engine.plan.storage
        by_kind: dict[str, dict[str, Array]] = {
            "model": {storage.paths[i][0]: x for i, x in enumerate(storage.leaves)}
        }
        for segment in storage.trained:
            for name, flat in segment.states.items():
                into = by_kind.setdefault(f"optimizer {name}", {})
                into |= {p.path: p.view(flat) for p in segment.parameters}
        plan = self._engine.plan
        if plan.carried is not None:
            paths = tree.paths(tree.unflatten(plan.carried, self._engine.carried))
            by_kind["state"] = dict(zip(paths, self._engine.carried, strict=True))
        if plan.accumulate > 1:
            by_kind["gradients"] = {
                p.path: p.view(segment.gradients)
                for segment in storage.trained
                for p in segment.parameters
            }
        return by_kind

    def _counts(self) -> dict[str, int]:
        engine = self._engine
        return {
            "calls": engine.calls,
            "updates": engine.updates,
            "phase": engine.phase,
            "epoch": engine.progress.epoch,
            "shuffled": int(engine.progress.shuffled),
            "seed": int(engine.seed),
        }

    def _unfinished(self) -> dict[str, Any]:
        """What is unfinished: an accumulation of which some calls have been made, and an epoch."""
        engine = self._engine
        unfinished: dict[str, Any] = {}
        begun = engine.progress.begun
        if engine.phase:
            unfinished["accumulate"] = engine.plan.accumulate
        if begun is not None and engine.calls > begun.calls:
            taken = engine.calls - begun.calls
            values = taken, begun.rows, begun.size, begun.seed, begun.data
            unfinished["epoch"] = dict(zip(EPOCH, values, strict=True))
        return unfinished

    def parts(self) -> dict[str, Any]:
        """Everything by name, for a fingerprint."""
        named = self._arrays()
        if not self._counts()["phase"]:  # the next call does not look at them
            named.pop("gradients", None)
        parts: dict[str, Any] = {
            f"{kind} {path}": x for kind, arrays in named.items() for path, x in arrays.items()
        }
        counts = self._counts()
        if not self._engine.plan.parameters.wants_rng:
            counts.pop("seed")
        if not self._engine.progress.shuffled:  # no order of rows has depended on it
            counts.pop("epoch")
        elif "epoch" in self._unfinished():
            counts["batches"] = self._unfinished()["epoch"]["batches"]
        return parts | counts

    def state_dict(self) -> dict[str, Any]:
        """Copies of all arrays, counts, the settings of the optimizers by glob, and the limits of
        clipping.
        """
        self._engine.restored.look()
        arrays = {
            kind: {path: np.array(x) for path, x in by_path.items()}
            for kind, by_path in self._arrays().items()
        }
        groups = [group for group in self._engine.plan.groups if group.optimizer is not None]
        settings = {group.glob: group.optimizer.saved() for group in groups}  # type: ignore[union-attr]
        optional = {
            UNFINISHED: self._unfinished(),
            STATIC: dict(self._engine.plan.storage.static),
            DRAWS: {str(number): x for number, x in self._engine.draws.positions.items()},
            MADE: dict(self._engine.made_with),
        }
        return {
            "arrays": arrays,
            "counts": self._counts(),
            "settings": settings,
            "limits": dict(self._engine.limits),
        } | {name: part for name, part in optional.items() if part}

    def loading(self, given: Any) -> Callable[[], None]:
        """A function that makes the step go on from what `state_dict` gave, and that may be called
        again if it is interrupted. A state of another model or of other options is refused here,
        before anything changes.
        """
        self._require_no_model(given)
        _require_names("state", given, PARTS, (UNFINISHED, STATIC, DRAWS, MADE, FIT))
        _require_static(given.get(STATIC, {}), self._engine.plan.storage.static)
        own = self._arrays()
        _require_names("arrays", given["arrays"], tuple(own))
        _require_names("counts", given["counts"], COUNTS)
        for kind, arrays in own.items():
            _require_arrays(kind, given["arrays"][kind], arrays)
        groups = [group for group in self._engine.plan.groups if group.optimizer is not None]
        _require_names("settings", given["settings"], tuple(group.glob for group in groups))
        _require_texts(MADE, given.get(MADE, {}))
        counts = {name: _count(name, given["counts"][name]) for name in COUNTS}
        unfinished = given.get(UNFINISHED, {})
        _require_names(UNFINISHED, unfinished, (), ("accumulate", "epoch"))
        self._require_accumulation(counts["phase"], unfinished.get("accumulate"))
        begun = _begun(counts["calls"], unfinished.get("epoch"))
        progress = Progress(counts["epoch"], bool(counts["shuffled"]), begun)
        drawn = _draws(given.get(DRAWS, {}))
        _require_names("limits", given["limits"], tuple(self._engine.limits))
        limits = {name: _limit(name, value) for name, value in given["limits"].items()}
        settings = {group.glob: given["settings"][group.glob] for group in groups}
        for group in groups:
            _try_settings(group.optimizer, settings[group.glob])
        copy = copying(
            (x, given["arrays"][kind][path])
            for kind, arrays in own.items()
            for path, x in arrays.items()
        )

        def load() -> None:
            for group in groups:
                group.trainer.load_saved(settings[group.glob])
            copy()
            self._engine.set_counts(counts["calls"], counts["updates"], counts["phase"])
            self._engine.progress = progress
            self._engine.draws.go_on(drawn)
            self._engine.set_seed(counts["seed"])
            self._engine.set_limits(limits)
            self._engine.scalars.forget()
            self._engine.measure_states()

        return load

    def _require_no_model(self, given: Any) -> None:
        """Refuse the model itself, or what a file of it holds: dictionaries of its fields, or the
        one array that it is.
        """
        if isinstance(given, Mapping) and any(part in given for part in PARTS):
            return
        nodes = isinstance(given, list | tuple | Mapping) or is_dataclass(given)
        if nodes or tree.is_leaf(given):
            own = {path for paths in self._engine.plan.storage.paths for path in paths}
            if set(tree.paths(given)) == own:
                raise model_given(BY)

    def _require_accumulation(self, phase: int, saved: Any) -> None:
        """Refuse gradients that were accumulated as parts of another mean."""
        own = self._engine.plan.accumulate
        if phase >= own or (phase and saved is not None and whole(saved) != own):
            of = "" if saved is None else f" of {saved!r}"
            raise CheckpointError(
                f"{BY}: the state is that after {phase}{of} calls of an accumulation; this step "
                f"has accumulate={own}. Make the step as it was when it was saved."
            )


def _require_static(given: Any, own: Mapping[str, Any]) -> None:
    """Refuse the state of a model with other numbers, texts and functions: it was trained with
    these. A state from before there was such a part has none.
    """
    if not isinstance(given, Mapping):
        raise CheckpointError(
            f"{BY}: the {STATIC} part to load is {type(given).__name__}; a dictionary by path is "
            "needed. Pass what state_dict returned."
        )
    for path, value in given.items():
        if path not in own or not same(_plain(value), own[path]):
            here = repr(own[path]) if path in own else "nothing"
            raise CheckpointError(
                f"{BY}: the state is of a model with {value!r} at {path!r}; here it is {here}, and "
                "that is part of the program. Make the model as it was when it was saved, or take "
                f"{path!r} out of state[{STATIC!r}] if that is meant."
            )


def _require_texts(name: str, given: Any) -> None:
    """Refuse what is no dictionary of texts."""
    if not isinstance(given, Mapping) or not all(isinstance(x, str) for x in given.values()):
        raise CheckpointError(
            f"{BY}: the {name} part to load is {reprlib.repr(given)}; a dictionary of texts is "
            "needed. Pass what state_dict returned."
        )


def _plain(value: Any) -> Any:
    """A number from a file may be an array of one element."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and value.ndim == 0 else value


def _try_settings(optimizer: Any, settings: Any) -> None:
    """Load settings into a copy, so that the real thing does not fail half-way."""
    try:
        trial = optimizer.copy()
        trial.lr = rehearsed(optimizer.lr) or optimizer.lr
        trial.load_state_dict(settings)
    except (WengertError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise CheckpointError(
            f"{BY}: the settings of {type(optimizer).__name__} cannot be loaded ({error}); "
            "a state of the same optimizers is needed. Make the step as it was when it was saved."
        ) from error


def _count(name: str, value: Any, most: int = MOST) -> int:
    most = {"seed": MOST_SEED, "shuffled": 1, "epoch": MOST_EPOCHS - 1}.get(name, most)
    count = whole(value)
    if count is None or not 0 <= count <= most:
        raise CheckpointError(
            f"{BY}: the state has {name}={value!r}; it is a whole number from 0 to {most}. Pass "
            "what state_dict returned."
        )
    return count


def _draws(given: Any) -> dict[int, int]:
    """How often bound functions were called, by their numbers. A function that is not
    mentioned goes on as it was: a step may load the state of another one, whose functions draw
    nothing.
    """
    names = given if isinstance(given, Mapping) else ()
    numbers = [name for name in names if str(name).isdecimal()]
    _require_names(DRAWS, given, (), tuple(numbers))
    return {int(name): _count(DRAWS, given[name]) for name in numbers}


def _begun(calls: int, given: Any) -> Begun | None:
    """The epoch that was interrupted, if one was."""
    if given is None:
        return None
    _require_names("epoch", given, EPOCH)
    batches = _count("batches", given["batches"], calls)
    rows = _count("rows", given["rows"])
    size = _count("batch_size", given["batch_size"], rows)
    seed = given["shuffle_seed"]
    if seed is not None:
        seed = _count("shuffle_seed", seed, MOST_SEED)
    return Begun(calls - batches, rows, size, seed, _count("data", given["data"]))


def _limit(name: str, value: Any) -> float:
    limit = np.asarray(value)
    if limit.ndim or limit.dtype.kind not in "fiu" or not limit > 0:
        raise CheckpointError(
            f"{BY}: the state has {name}={value!r}; it is a number above 0. Pass what state_dict "
            "returned."
        )
    return float(limit)


# Where a step was given more to train than this one, which has frozen a part.
_FINE_TUNING = (
    " To train on with a part of it frozen, load it there, and make this step with what it has "
    "trained: wg.TrainStep(loss, pretrained.model, groups)."
)


def _require_names(
    what: str, given: Any, wanted: tuple[str, ...], also: tuple[str, ...] = (), of_more: str = ""
) -> None:
    if not isinstance(given, Mapping):
        raise CheckpointError(
            f"{BY}: the {what} to load is {type(given).__name__}; a dictionary with "
            f"{', '.join(wanted or also)} is needed. Pass what state_dict returned."
        )
    missing = [name for name in wanted if name not in given]
    unknown = [str(name) for name in given if name not in (*wanted, *also)]
    if missing or unknown:
        raise CheckpointError(
            f"{BY}: given {what} {_difference(missing, unknown)}; a state of the same model and "
            "options is needed. Load it into a step like the one it was taken from."
            + (of_more if not missing else "")
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
    of_more = _FINE_TUNING if kind.startswith("optimizer ") else ""
    _require_names(f"{kind} arrays", given, tuple(own), of_more=of_more)
    for path, x in own.items():
        value = _as_array(kind, path, given[path])
        if value.shape != x.shape or value.dtype != x.dtype:
            raise CheckpointError(
                f"{BY}: {path!r} of the {kind} to load is {value.dtype}{value.shape}; it is "
                f"{x.dtype}{x.shape} here. Load it into a step with the same model."
            )


def _as_array(kind: str, path: str, given: Any) -> Array:
    require_plain([f"{kind} {path}"], [given], BY)
    try:
        return np.asarray(given)
    except (ValueError, TypeError) as error:
        raise CheckpointError(
            f"{BY}: {path!r} of the {kind} to load is {type(given).__name__}, and no array "
            f"({error}); an array is needed. Pass what state_dict returned."
        ) from error
