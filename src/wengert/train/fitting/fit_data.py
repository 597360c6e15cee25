"""The data of a fit: arguments of the loss by position or by name, and rows kept for validation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import ShapeError
from wengert.optim.model_forms import ModelForm
from wengert.runtime.outside.live import is_live
from wengert.train.batch import POSITIONAL
from wengert.train.engine import Engine
from wengert.train.runs.data import checksum_of_rows
from wengert.train.runs.frames import look_at_frames, require_columns_of_numbers
from wengert.train.runs.loaders import advice_of_loader, is_data_set, is_loader
from wengert.train.runs.read_frames import ReadFrames
from wengert.train.runs.row_orders import shuffled
from wengert.train.step import TrainStep

BY = "fit"  # how errors begin
TRAINING, VALIDATION = "data", "validation"  # how a fit calls what it is given
OF_VALIDATION = 2**62  # in the place of an epoch: the order that decides what validates


def engine_of(step: Any) -> Engine:
    """The engine of a training step; all else is refused."""
    if any(kind.__name__ == "Ensemble" for kind in type(step).__mro__):
        raise TypeError(
            f"{BY}: given {type(step).__name__} as the step; a fit trains one wg.TrainStep, and "
            "an ensemble has loops of its own. Write for epoch in ensemble.epochs(x, y, "
            "batch_size=32, epochs=10), or ensemble.run(…), and ensemble.evaluate there."
        )
    if not isinstance(step, TrainStep):
        raise TypeError(
            f"{BY}: given {type(step).__name__} as the step; it is a wg.TrainStep, which knows the "
            "loss, the model and the optimizer. Write fit(wg.TrainStep(loss, model, optimizer), …)."
        )
    return step._engine


def batch_arguments(step: TrainStep, called: str, given: Any) -> tuple[Any, ...]:
    """The arguments of the loss behind the model, by position and as arrays."""
    arguments = _by_place(step, called, given)
    if all(type(x) is np.ndarray for x in arguments):
        return arguments
    by, engine = f"{BY}: {called}", step._engine
    names = engine.names(len(arguments))
    look_at_frames(by, names, arguments)
    columns = engine.kinds.columns
    (columns.note if called == TRAINING else columns.compare)(by, names, arguments)
    arrays = tuple(tree.with_numpy(x) for x in arguments)
    if any(x.dtype.kind == "O" for x in tree.leaves(arrays)):
        require_columns_of_numbers(by, names, arguments)
    return arrays


def frames_read(step: TrainStep, given: Any, arrays: tuple[Any, ...]) -> ReadFrames:
    """The frames among the data of a fit, and what these arrays have of them."""
    arguments = _by_place(step, TRAINING, given)
    leaves = tree.leaves(arrays)
    return ReadFrames(step._engine.names(len(arguments)), arguments, leaves)


def _by_place(step: TrainStep, called: str, given: Any) -> tuple[Any, ...]:
    """The same as they are: given as a tuple, as a dict by the names that the loss gives them, or
    as one array.
    """
    if isinstance(given, Mapping):
        known = step._engine.names(len(given))
        if not any(name in known for name in given):
            raise TypeError(
                f"{BY}: {called} is a dict with {', '.join(map(str, given)) or 'nothing'}; its "
                f"names are those of the loss, which begin with {', '.join(known) or 'none'}. Use "
                f"these, or write {called}=(batch,) if the loss takes the dict itself."
            )
        return step._parameters.by_place(f"{BY}: {called}", (), given)
    if isinstance(given, tuple):
        return given
    if hasattr(given, "shape"):
        return (given,)
    share = "a share of the rows such as 0.2, " if called == VALIDATION else ""
    is_known = is_loader(given) or is_data_set(given)
    repair = advice_of_loader(BY, given) if is_known else "Pass one of these"
    raise TypeError(
        f"{BY}: {called} is {type(given).__name__}; it is {share}a tuple of arrays, as in "
        f"{called}=(x, y), or a dict by the names that the loss gives them. {repair}."
    )


def require_alike(step: TrainStep, training: Sequence[Any], held_back: Sequence[Any]) -> None:
    """Refuse validation data with other arguments than those that train, or in another order."""
    names = step._engine.names(len(training))
    if len(held_back) != len(training) and not _has_enough(step._engine, len(held_back)):
        raise TypeError(
            f"{BY}: validation has {len(held_back)} of the {len(training)} arguments of the loss, "
            f"{', '.join(names)}; it has the form of data. Write "
            f"validation=({', '.join(names)}) with the rows that validate."
        )
    before, now = ([np.shape(x)[1:] for x in given] for given in (training, held_back))
    if before != now and sorted(before) == sorted(now):
        given = ", ".join(f"{name}: {shape}" for name, shape in zip(names, now, strict=True))
        wanted = ", ".join(f"{name}: {shape}" for name, shape in zip(names, before, strict=True))
        raise ShapeError(
            f"{BY}: validation has rows of the shapes {given}; those of data are {wanted}. Pass "
            f"its arguments in the same order, validation=({', '.join(names)})."
        )


def _has_enough(engine: Engine, count: int) -> bool:
    """Whether the loss can be called with so many arguments behind the model."""
    parameters = inspect.signature(engine.plan.loss).parameters.values()
    places = [p for p in parameters if p.kind in POSITIONAL and p.name not in _provided(engine)]
    places = places[1 + (engine.plan.carried is not None) :]
    required = sum(p.default is p.empty for p in places)
    starred = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return required <= count and (starred or count <= len(places))


def state_name(engine: Engine) -> str | None:
    """What the loss calls the state that it carries, if it carries one."""
    if engine.plan.carried is None:
        return None
    parameters = inspect.signature(engine.plan.loss).parameters.values()
    places = [
        p.name for p in parameters if p.kind in POSITIONAL and p.name not in _provided(engine)
    ]
    return places[1] if len(places) > 1 else None


def _provided(engine: Engine) -> set[str]:
    return set(engine.plan.parameters.given)


def divided(
    arguments: tuple[Any, ...], share: float, seed: int | None, model: ModelForm
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments without a share of their rows, drawn at random, and with these rows alone."""
    leaves, structure = tree.flatten(tuple(tree.with_numpy(x) for x in arguments))
    whole = [
        np.ndim(leaf) == 0 or is_live(leaf) or is_weights
        for x, is_weights in ((x, model.is_form_of(x)) for x in map(tree.with_numpy, arguments))
        for leaf in tree.leaves(x)
    ]
    counts = {len(x) for x, as_is in zip(leaves, whole, strict=True) if not as_is}
    rows = min(counts, default=0)
    kept = round(rows * share)
    if len(counts) != 1 or not 0 < kept < rows:
        raise ShapeError(
            f"{BY}: validation={share} was given for data of {sorted(counts)} rows; arrays of one "
            "length are needed, of which some rows validate and some train. Pass other data, or "
            "validation=(x, y)."
        )
    order = shuffled(rows, seed or 0, OF_VALIDATION)
    assert order is not None  # there is a seed

    def some(chosen: Any) -> tuple[Any, ...]:
        chosen = np.sort(chosen)
        parts = [
            x if as_is else np.asarray(x)[chosen] for x, as_is in zip(leaves, whole, strict=True)
        ]
        arguments_of_rows: tuple[Any, ...] = tree.unflatten(structure, parts)
        return arguments_of_rows

    return some(order[kept:]), some(order[:kept])


def rows_checksum(arguments: Sequence[Any]) -> int:
    """A number that tells data that validate from others."""
    leaves = [np.asarray(x) for x in tree.leaves(tuple(map(tree.with_numpy, arguments)))]
    return checksum_of_rows([x for x in leaves if x.ndim and not is_live(x)])


def require_share(validation: float) -> float:
    """A share of the rows: above 0, below 1."""
    if not 0 < validation < 1:
        raise ValueError(
            f"{BY}: validation={validation!r} was given; a share of the rows is above 0 and below "
            "1, as in 0.1. Choose one, or pass data, as in validation=(x, y)."
        )
    return float(validation)
