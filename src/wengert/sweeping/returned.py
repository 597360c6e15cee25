"""What train returned, as a tree that is sent between processes and written to files.

Whichever way it took, it comes back as `wg.load` would give it: dataclasses as dictionaries of
their fields, arrays that belong to nobody else. A TrainStep travels as its `state_dict`, a History
stays one; a frame becomes a dict of its columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.trees.foreign import NUMBERS, columns_of, is_table
from wengert.core.words.noticed.hidden import is_foreign
from wengert.errors import CheckpointError
from wengert.sweeping.grid import BY
from wengert.sweeping.value_identity import identity_of_value
from wengert.train.checkpoints.files_structure import Encoder, MissingFunction, decode
from wengert.train.ensemble.ensemble import Ensemble
from wengert.train.runs.history import History
from wengert.train.step import TrainStep

RESULT, HISTORY, STEP = "result", "history", "step"  # names of what is returned without one
_SCALARS = (bool, int, float, str, type(None))


@dataclasses.dataclass(frozen=True)
class Returned:
    """What train returned: numbers and words, which are columns of the table, and all else."""

    metrics: dict[str, Any]
    kept: dict[str, Any]

    def as_tree(self) -> dict[str, Any]:
        kept = {name: _fields(each) for name, each in self.kept.items()}
        histories = [name for name, each in self.kept.items() if isinstance(each, History)]
        return {"metrics": self.metrics, "kept": kept, "histories": histories}

    @staticmethod
    def of_tree(kept_tree: Mapping[str, Any]) -> Returned:
        kept = dict(kept_tree["kept"])
        for name in kept_tree["histories"]:
            kept[name] = History(**kept[name])
        return Returned(dict(kept_tree["metrics"]), kept)


def returned(value: Any, settings: Mapping[str, Any]) -> Returned:
    """What train returned for some settings, sorted and copied."""
    metrics: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for name, each in _named(value).items():
        each = _columns(each) if is_table(each) else each
        scalar, number = _scalar(each)
        if not scalar:
            kept[name] = _copied(name, each)
        elif name not in settings:
            metrics[name] = number
        elif identity_of_value(number) != identity_of_value(settings[name]):
            raise ValueError(
                f"{BY}: train returned {name!r}: {number!r}, and {name!r} is a setting, "
                f"{settings[name]!r}; a column has one of them. Return it under another name."
            )
    if isinstance(value, History):
        metrics |= _last_of(value)
    return Returned(metrics, kept)


def _named(value: Any) -> dict[str, Any]:
    if isinstance(value, History):
        return {HISTORY: value}
    if isinstance(value, TrainStep):
        return {STEP: value}
    if is_table(value):
        value = _columns(value)
    elif is_foreign(value) and hasattr(value, "to_dict"):  # a row of results, by name
        value = value.to_dict()
    if value is not None and _scalar(value)[0] and not isinstance(value, str):
        return {RESULT: value}
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{BY}: train returned {type(value).__name__}; it returns a dict of results by name, a "
            'number, or a History. Write return {"loss": history.loss[-1]}.'
        )
    for name in value:
        if not isinstance(name, str):
            raise TypeError(
                f"{BY}: train returned a dict with the key {name!r}; keys are the names of results."
                " Write a string."
            )
    return dict(value)


def _columns(table: Any) -> dict[str, Any]:
    """The columns of a frame by name, as arrays; those of texts as lists."""
    arrays = [np.asarray(column) for column in columns_of(table)]
    return {
        str(name): x if x.dtype.kind in NUMBERS else x.tolist()
        for name, x in zip(table.columns, arrays, strict=True)
    }


def _scalar(value: Any) -> tuple[bool, Any]:
    """Whether a value is one number, word, bool or None; and which, as Python's own."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    return isinstance(value, _SCALARS), value


def _last_of(history: History) -> dict[str, Any]:
    """A history in some numbers: all that was measured after its best epoch, or its last loss."""
    if not history.epochs:
        return {"loss": float(history.loss[-1])} if len(history) else {}
    epochs = list(history.epochs["epoch"])
    best = epochs.index(history.best_epoch) if history.best_epoch in epochs else -1
    last = {name: np.asarray(values)[best].item() for name, values in history.epochs.items()}
    return {name: value for name, value in last.items() if name != "seconds"}


def _fields(value: Any) -> Any:
    if not isinstance(value, History):
        return value
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _copied(name: str, value: Any) -> Any:
    """A value as it would come back from a file."""
    if isinstance(value, TrainStep | Ensemble):
        value = value.state_dict()
    value = tree.with_numpy(value)
    encoder = Encoder()
    try:
        encoded = encoder.encode(_fields(value), name)
        arrays = {path: array.copy() for path, array in encoder.arrays.items()}
        decoded = decode(encoded, arrays.__getitem__)
    except MissingFunction as missing:
        raise CheckpointError(
            f"{BY}: train returned a function at {name}.{missing}; functions are not kept. Return "
            "the TrainStep, of which the state is kept, or the arrays alone."
        ) from None
    except CheckpointError as error:
        raise CheckpointError(f"{BY}: train returned what cannot be kept; {error}") from None
    return History(**decoded) if isinstance(value, History) else decoded
