"""Optimizers as plain values: their settings by name, as text, and as a dictionary to save."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable, Mapping
from typing import Any, Protocol

import numpy as np

from wengert.core.dtypes import FLOATS
from wengert.errors import OptimError
from wengert.optim.eager import ParameterState
from wengert.optim.parameters import named
from wengert.optim.settings import not_negative


class Saved(Protocol):
    """The part of an optimizer that saving looks at."""

    rate_name: str
    lr: Any

    def remade(self, settings: Mapping[str, Any]) -> Any: ...


def names_of(optimizer: Any) -> list[str]:
    """The settings of an optimizer: what its class is called with."""
    return list(inspect.signature(type(optimizer)).parameters)


def require_attributes(optimizer: Any) -> None:
    """Refuse an optimizer that does not keep what it was made with: it could not be copied."""
    for name in names_of(optimizer):
        if not hasattr(optimizer, name):
            kind = type(optimizer).__name__
            raise OptimError(
                f"{kind}: takes {name!r} and has no attribute of that name; settings are saved, "
                f"copied and shown from there. Write self.{name} = {name} before "
                "super().__init__(lr)."
            )


def _is_number(x: Any) -> bool:
    """Whether a setting is a number; True and False are choices."""
    return isinstance(x, int | float) and not isinstance(x, bool)


def plain_numbers(optimizer: Saved) -> tuple[str, ...]:
    """The names of the settings that are one number each, apart from the learning rate."""
    names = (name for name in names_of(optimizer) if name != optimizer.rate_name)
    return tuple(name for name in names if _is_number(getattr(optimizer, name)))


def _is_numeric(x: Any) -> bool:
    return _is_number(x) or (isinstance(x, tuple) and bool(x) and all(map(_is_number, x)))


def numbers_of(optimizer: Saved) -> dict[str, Any]:
    """Every number among the settings by name, apart from the learning rate; those of a wrapped
    optimizer below its name.
    """
    found: dict[str, Any] = {}
    for name in names_of(optimizer):
        value = getattr(optimizer, name)
        if hasattr(value, "remade"):
            found[name] = numbers_of(value)
        elif name != optimizer.rate_name and _is_numeric(value):
            found[name] = value
    return found


def shown(optimizer: Any) -> str:
    """The call that makes such an optimizer, without what has its default."""
    parts = []
    parameters = inspect.signature(type(optimizer)).parameters
    for position, (name, parameter) in enumerate(parameters.items()):
        value = getattr(optimizer, name)
        if hasattr(value, "remade"):
            parts.append(repr(value))
        elif position == 0 or value != parameter.default:
            parts.append(f"{name}={value!r}")
    return f"{type(optimizer).__name__}({', '.join(parts)})"


def state_dict(optimizer: Saved, states: Mapping[Hashable, ParameterState]) -> dict[str, Any]:
    """Settings, learning rate or state of the schedule, and count and arrays per parameter."""
    found: dict[str, Any] = {"settings": numbers_of(optimizer)}
    if not callable(optimizer.lr):
        found["learning_rate"] = optimizer.lr
    elif hasattr(optimizer.lr, "state_dict"):
        found["schedule"] = optimizer.lr.state_dict()
    found["parameters"] = {
        key: {"count": state.count, **{name: np.array(x) for name, x in state.arrays.items()}}
        for key, state in states.items()
    }
    return found


def saved_states(
    optimizer: Saved, saved: Any, kept: tuple[str, ...]
) -> dict[Hashable, ParameterState]:
    """The parameter states of a saved dictionary, if it is of an optimizer like this one."""
    by = f"{type(optimizer).__name__}.load_state_dict"
    _require_names(by, "a state", saved, ("settings", "parameters"), exactly=False)
    _require_settings(by, saved["settings"], numbers_of(optimizer))
    _require_names(by, "parameters", saved["parameters"], (), exactly=False)
    found = {}
    for key, state in saved["parameters"].items():
        _require_names(by, f"state of {key!r}", state, ("count", *kept))
        count, arrays = state["count"], [np.array(state[name]) for name in kept]
        kinds = {(array.shape, array.dtype) for array in arrays}
        if not all(array.dtype in FLOATS for array in arrays) or len(kinds) > 1:
            raise OptimError(
                f"{by}: given state of {key!r} of {', '.join(str(x.dtype) for x in arrays)}; it is "
                "of one shape and one float dtype. Pass what state_dict returned."
            )
        if np.ndim(count) or np.asarray(count).dtype.kind not in "iu" or count < 0:
            raise OptimError(
                f"{by}: given count {count!r} of {key!r}; it is a whole number, 0 or more. "
                "Pass what state_dict returned."
            )
        found[key] = ParameterState(int(count), dict(zip(kept, arrays, strict=True)))
    return found


def saved_rate(optimizer: Saved, saved: Mapping[str, Any]) -> Any:
    """The learning rate of a saved dictionary: its number, or the schedule there is, if it can go
    on from what was saved.
    """
    by = f"{type(optimizer).__name__}.load_state_dict"
    if "learning_rate" in saved:
        return not_negative(by, "learning_rate", saved["learning_rate"])
    if not callable(optimizer.lr):
        raise OptimError(
            f"{by}: the state was saved with a schedule; this optimizer has the rate "
            f"{optimizer.lr!r}. Make it with the schedule."
        )
    load_schedule(copy.deepcopy(optimizer.lr), saved)
    return optimizer.lr


def load_schedule(schedule: Any, saved: Mapping[str, Any]) -> None:
    """Let a schedule go on from what was saved of it."""
    if "schedule" in saved and hasattr(schedule, "load_state_dict"):
        schedule.load_state_dict(saved["schedule"])


def kept_for(
    by: str, parameters: Mapping[str, Any], state: Any, kept: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """The state arrays of every parameter of a tree, checked for names and shapes."""
    _require_names(by, "a state", state, ("count", "parameters"))
    _require_names(by, "state of parameters", state["parameters"], tuple(parameters))
    for path, arrays in state["parameters"].items():
        _require_names(by, f"state of {named(path)}", arrays, kept)
        for name, array in arrays.items():
            if tuple(array.shape) != tuple(parameters[path].shape):
                raise OptimError(
                    f"{by}: {name} of {named(path)} has shape {tuple(array.shape)} and its weights "
                    f"have shape {tuple(parameters[path].shape)}; the two must be equal. Make the "
                    "state with init."
                )
    return {path: dict(state["parameters"][path]) for path in parameters}


def _require_settings(by: str, found: Any, own: Mapping[str, Any]) -> None:
    _require_names(by, "settings", found, tuple(own))
    for name, value in own.items():
        if isinstance(value, Mapping):
            _require_settings(by, found[name], value)


def _require_names(
    by: str, what: str, found: Any, wanted: tuple[str, ...], *, exactly: bool = True
) -> None:
    """Refuse what is no dictionary, or not one with these names."""
    is_mapping = isinstance(found, Mapping)
    names = set(found) if is_mapping else set()
    if is_mapping and (names == set(wanted) if exactly else names >= set(wanted)):
        return
    inside = ", ".join(map(str, found)) or "no names" if is_mapping else ""
    given = f"with {inside}" if is_mapping else f"that is {type(found).__name__}"
    raise OptimError(
        f"{by}: given {what} {given}; here there must be "
        f"{', '.join(map(str, wanted)) or 'no names'}. Use the state of an optimizer and of "
        "parameters like these."
    )
