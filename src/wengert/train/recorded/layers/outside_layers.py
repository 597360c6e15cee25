"""Layers from outside: a loss calls a layer that is no part of the model. Its arrays are constants
of the program, and are never trained.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.words.articles import a_kind, with_article
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.functions.drawn_weights import DrawnWeight, drawn_weight
from wengert.optim.model_forms import ModelForm, named_networks
from wengert.runtime.outside.watch import Watch, owner_of
from wengert.train.recorded.layers.outside_uses import OutsideUse

Array: TypeAlias = np.ndarray[Any, Any]
_LAYERS = "wengert.nn."  # where layers come from whose arrays are known to be drawn


@dataclass(frozen=True)
class _OutsideLayer:
    """A layer that the loss reads from outside, what it is called there, and its arrays."""

    layer: Any
    label: str
    arrays: Sequence[Array]

    def has(self, use: OutsideUse) -> bool:
        return any(use.array is x for x in self.arrays)


def warn_of_outside_layers(
    watch: Watch,
    uses: Sequence[OutsideUse],
    model: Any,
    given: Collection[Any],
    is_trained_by_others: Callable[[Sequence[Array]], bool],
) -> None:
    """Warn where a program uses float arrays of a layer that is not in the model: a dataclass that
    can be called, or what was made while the loss was recorded.

    A layer with other weights than its first ones is to stay as it is, and so is one that is
    given data, and whose results meet those of the model: a target, a teacher. What the model
    was made with, `given`, is told of where no gradient reaches it. The live parameters of one that
    another step trains, as the critic of an actor, are to be an argument.
    """
    forms = [ModelForm(part) for part in named_networks(model)]
    layers = sorted(_layers(watch, given), key=lambda each: -len(each.arrays))  # outermost first
    named: list[OutsideUse] = []
    for each in layers:
        used = [use for use in uses if each.has(use)]
        named += used
        if used and _is_forgotten(each, used, forms):
            _warn_of_layer(each, used[0].line, is_trained_by_others(each.arrays))
            return
    for use in uses:
        if not any(use.array is x for x in given) and not any(use is each for each in named):
            drawn = drawn_weight(use.array)
            if drawn is not None and _is_between(use):
                _warn_of_nameless(drawn, use.line)
                return


def _layers(watch: Watch, given: Collection[Any]) -> Iterator[_OutsideLayer]:
    for place in watch.places:
        layer = place.value
        if not is_dataclass(layer) or isinstance(layer, type) or not callable(layer):
            continue
        arrays = [owner_of(x) for x in _float_arrays(layer)]
        if not any(x is y for x in arrays for y in given):
            yield _OutsideLayer(layer, place.label, arrays)


def _is_forgotten(
    outside: _OutsideLayer, uses: Sequence[OutsideUse], forms: Sequence[ModelForm]
) -> bool:
    if any(form.is_form_of(outside.layer) for form in forms):
        # A target, unless it stands between parameters and the loss, as one of two layers alike, or
        # is compared with data by itself.
        return any(map(_is_between, uses)) and any(map(drawn_weight, outside.arrays))
    return any(map(_is_between, uses)) and not _has_other_weights(outside)


def _is_between(use: OutsideUse) -> bool:
    return use.is_behind or use.is_before or use.is_joined or use.is_alone


def _has_other_weights(outside: _OutsideLayer) -> bool:
    """Whether a network of our layers has none of the weights that they begin with."""
    if not any(map(_is_ours, _dataclasses(outside.layer))):
        return False
    begun = any(x.ndim == 1 and not x.any() for x in outside.arrays)  # a bias
    return not begun and not any(map(drawn_weight, outside.arrays))


def _is_ours(layer: Any) -> bool:
    matrices = [x for x in _float_arrays(layer) if x.ndim > 1]
    return type(layer).__module__.startswith(_LAYERS) and bool(matrices)


def _dataclasses(x: Any) -> Iterator[Any]:
    """A layer, and the layers in it."""
    if is_dataclass(x):
        yield x
        for field in fields(x):
            yield from _dataclasses(getattr(x, field.name, None))
    elif isinstance(x, dict | list | tuple):
        for each in x.values() if isinstance(x, dict) else x:
            yield from _dataclasses(each)


def _float_arrays(x: Any) -> list[Array]:
    return [x for x in tree.leaves(x) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def _warn_of_layer(outside: _OutsideLayer, line: Line | None, is_of_other_step: bool) -> None:
    name, count = outside.label, len(outside.arrays)
    key = name.split(".")[-1]
    not_trained = "and not trained"
    repair = (
        f"Put it into the model, as in {{{key!r}: …, 'rest': …}}; if it is to stay as it is, do "
        f"the same and give its paths no optimizer: {{{key + '.*'!r}: None, '*': …}}"
    )
    if is_of_other_step:
        not_trained = "though another step was made with it, and trains a copy"
        repair = (
            f"Give the loss a parameter for it, loss(model, {key}, …), and pass the live one: "
            "step(other_step.model, …)"
        )
    warn_user(
        f"TrainStep: the loss calls {name}, {a_kind(outside.layer)} from outside of the "
        f"model; its {count} array{'s are' if count > 1 else ' is'} part of the program, "
        f"{not_trained}. {repair}.{_at(line)}",
        UntrainedWarning,
        line,
    )


def _warn_of_nameless(drawn: DrawnWeight, line: Line | None) -> None:
    """Warn of the weights that a layer has begun with, where nothing is known to hold it: it is
    made in the loss, or the default of a parameter.
    """
    key, layer = drawn.layer.lower(), with_article(drawn.layer)
    does, make = f"calls {layer} that is not in the model", "Put"
    if drawn.in_recording:
        does, make = f"makes {layer} itself", "Make it before the step, and put"
    warn_user(
        f"TrainStep: the loss {does}; its weights are part of the program, and not trained. "
        f"{make} it into the model, as in {{{key!r}: …, 'rest': …}}; if it is to stay as it is, do "
        f"the same and give its paths no optimizer: {{{key + '.*'!r}: None, '*': …}}.{_at(line)}",
        UntrainedWarning,
        line,
    )


def _at(line: Line | None) -> str:
    return "" if line is None else f" ({line})"
