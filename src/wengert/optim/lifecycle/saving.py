"""Optimizers as plain values: their settings by name, as text, and as a dictionary to save."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from wengert.core.dtypes import FLOATS
from wengert.core.words.noticed.updated_pairs import UNPACKED, is_state, is_updated_pair
from wengert.errors import OptimError
from wengert.optim.lifecycle.updates_in_place import ParameterState
from wengert.optim.parameters import named
from wengert.optim.schedules.held_rates import rehearsed
from wengert.optim.schedules.schedules_joined import Chain
from wengert.optim.settings import Setting, not_negative

PARTS = ("kind", "settings", "fixed", "parameters")  # of a saved dictionary, beside the rate


class Saved(Protocol):
    """The part of an optimizer that saving looks at."""

    rate_name: str
    lr: Any

    def remade(self, settings: Mapping[str, Any]) -> Any: ...


OTHER_NAME = "learning_rate"  # of the learning rate: every constructor takes both


def names_of(optimizer: Any) -> list[str]:
    """The settings of an optimizer: what its class is called with."""
    kind: Any = type(optimizer)
    names, rate = _parameters(kind), optimizer.rate_name
    return [name for name in names if name != OTHER_NAME or rate == OTHER_NAME or rate not in names]


@lru_cache(64)
def _parameters(kind: Any) -> list[str]:
    return list(inspect.signature(kind).parameters)


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
    """The names of the settings that are single numbers, apart from the learning rate."""
    names = (name for name in names_of(optimizer) if name != optimizer.rate_name)
    return tuple(name for name in names if _is_number(getattr(optimizer, name)))


def _is_numeric(x: Any) -> bool:
    return _is_number(x) or (isinstance(x, tuple) and bool(x) and all(map(_is_number, x)))


def _is_fixed(optimizer: Saved, name: str) -> bool:
    """Whether a setting is part of the rule, and not one of its numbers."""
    setting = getattr(type(optimizer), name, None)
    fixed = isinstance(setting, Setting) and setting.fixed
    return fixed or not _is_numeric(getattr(optimizer, name))


def numbers_of(optimizer: Saved) -> dict[str, Any]:
    """Every number among the settings that can change, by name, apart from the learning rate; those
    of a wrapped optimizer below its name.
    """
    numbers: dict[str, Any] = {}
    for name in names_of(optimizer):
        value = getattr(optimizer, name)
        if hasattr(value, "remade"):
            numbers[name] = numbers_of(value)
        elif name != optimizer.rate_name and not _is_fixed(optimizer, name):
            numbers[name] = value
    return numbers


def fixed_of(optimizer: Saved) -> dict[str, Any]:
    """Every setting that is part of the rule, by name. What cannot be compared with a saved value,
    such as a function, is represented by its kind alone.
    """
    fixed: dict[str, Any] = {}
    for name in names_of(optimizer):
        value = getattr(optimizer, name)
        if hasattr(value, "remade"):
            fixed[name] = fixed_of(value)
        elif name != optimizer.rate_name and _is_fixed(optimizer, name):
            fixed[name] = _comparable(value)
    return fixed


def _comparable(x: Any) -> Any:
    """A choice as a plain value, so that it compares equal wherever it came from."""
    if isinstance(x, np.ndarray | np.generic):
        x = x.tolist()
    if isinstance(x, list | tuple):
        return tuple(map(_comparable, x))
    if x is None or isinstance(x, bool | int | float | str):
        return x
    return "<function>" if callable(x) else f"<{type(x).__name__}>"


def kind_of(optimizer: Any) -> str:
    """The class of an optimizer and, in brackets, of the one it wraps."""
    parts = (getattr(optimizer, name) for name in names_of(optimizer))
    wrapped = [kind_of(part) for part in parts if hasattr(part, "remade")]
    return _nested(optimizer, wrapped)


def schedule_kind(rate: Any) -> str | None:
    """The class of a schedule and, in brackets, of its members; None for a number."""
    if not callable(rate):
        return None
    members = rate.schedules if isinstance(rate, Chain) else ()
    return _nested(rate, [str(schedule_kind(member)) for member in members])


def _nested(owner: Any, parts: list[str]) -> str:
    name = type(owner).__name__
    return f"{name}({', '.join(parts)})" if parts else name


def shown(*optimizers: Any) -> str:
    """The call that makes such an optimizer, without what has its default; of several of one kind,
    settings that differ are shown as a range.
    """
    parts = []
    parameters = inspect.signature(type(optimizers[0])).parameters
    for position, name in enumerate(names_of(optimizers[0])):
        values = [getattr(each, name) for each in optimizers]
        if hasattr(values[0], "remade"):
            parts.append(shown(*values) if len(values) > 1 else repr(values[0]))
        elif position == 0 or any(value != parameters[name].default for value in values):
            parts.append(f"{name}={_shown_values(values)}")
    return f"{type(optimizers[0]).__name__}({', '.join(parts)})"


def _shown_values(values: Sequence[Any]) -> str:
    first = values[0]
    if all(value is first or value == first for value in values):
        return repr(first)
    if all(_is_number(value) for value in values):
        return f"{min(values):.4g} … {max(values):.4g}"
    return f"{first!r} and others"


def state_dict(optimizer: Saved, states: Mapping[Hashable, ParameterState]) -> dict[str, Any]:
    """Kind, settings, learning rate or kind and state of the schedule, and count and arrays per
    parameter.
    """
    saved: dict[str, Any] = {
        "kind": kind_of(optimizer),
        "settings": numbers_of(optimizer),
        "fixed": fixed_of(optimizer),
    }
    saved |= (
        saved_schedule(optimizer.lr) if callable(optimizer.lr) else {"learning_rate": optimizer.lr}
    )
    saved["parameters"] = {
        key: {"count": state.count, **{name: np.array(x) for name, x in state.arrays.items()}}
        for key, state in states.items()
    }
    return saved


def saved_schedule(schedule: Any) -> dict[str, Any]:
    """What is saved of a schedule: its kind and, where it has one, its state."""
    saved: dict[str, Any] = {"schedule_kind": schedule_kind(schedule)}
    if hasattr(schedule, "state_dict"):
        saved["schedule"] = schedule.state_dict()
    return saved


def saved_states(
    optimizer: Saved, saved: Any, kept: tuple[str, ...]
) -> dict[Hashable, ParameterState]:
    """The parameter states of a saved dictionary, if it is of an optimizer like this one."""
    by = f"{type(optimizer).__name__}.load_state_dict"
    _require_names(by, "a state", saved, PARTS, exactly=False)
    require_kind(by, saved, kind_of(optimizer))
    _require_settings(by, saved["settings"], numbers_of(optimizer))
    _require_fixed(by, saved["fixed"], fixed_of(optimizer))
    _require_names(by, "parameters", saved["parameters"], (), exactly=False)
    states = {}
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
        states[key] = ParameterState(int(count), dict(zip(kept, arrays, strict=True)))
    return states


def saved_rate(optimizer: Saved, saved: Mapping[str, Any]) -> Any:
    """The learning rate of a saved dictionary: its number, or the schedule there is, if it can go
    on from what was saved.
    """
    by = f"{type(optimizer).__name__}.load_state_dict"
    require_rate(by, optimizer.lr, saved.get("learning_rate"), saved.get("schedule_kind"))
    if not callable(optimizer.lr):
        return not_negative(by, "learning_rate", saved["learning_rate"])
    load_schedule(rehearsed(optimizer.lr), saved)
    return optimizer.lr


def require_kind(by: str, saved: Mapping[str, Any], own: str) -> None:
    """Refuse the state of another kind of optimizer, even if its arrays have the same names."""
    kind = _comparable(saved["kind"])
    if kind != own:
        raise OptimError(
            f"{by}: given the state of {kind}; this optimizer is {own}. Load it into "
            "the kind of optimizer it was taken from."
        )


def require_rate(by: str, own: Any, rate: Any, kind: Any) -> None:
    """Refuse a saved number where there is a schedule, and a schedule where there is a number or
    another kind of schedule.
    """
    mine, kind = schedule_kind(own), _comparable(kind)
    if mine != kind or (mine is None) != (rate is not None):
        before = f"the schedule {kind}" if rate is None else f"the learning rate {rate!r}"
        here = f"the learning rate {own!r}" if mine is None else f"the schedule {mine}"
        raise OptimError(
            f"{by}: the state was saved with {before}; this optimizer has {here}. Make it with "
            "the rate or the schedule that it had then."
        )


def load_schedule(schedule: Any, saved: Mapping[str, Any]) -> None:
    """Let a schedule go on from what was saved of it."""
    if "schedule" in saved and hasattr(schedule, "load_state_dict"):
        schedule.load_state_dict(saved["schedule"])


def require_order(by: str, **given: Any) -> None:
    """Refuse the state of an optimizer in another place than the last, as other libraries have
    it, and the pair that an update has returned in the place of one of the two.
    """
    for name, x in given.items():
        if is_updated_pair(x):
            raise OptimError(
                f"{by}: given a tuple (model, state) as {name}; an update returns both, the new "
                f"model and the new state. {UNPACKED}."
            )
    places = [name for name, x in given.items() if is_state(x)]
    if places and places != ["state"]:
        raise OptimError(
            f"{by}: given the state of an optimizer as {places[0]}; it comes behind the model and "
            f"the gradients. {UNPACKED}."
        )


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


def _require_settings(by: str, given: Any, own: Mapping[str, Any]) -> None:
    _require_names(by, "settings", given, tuple(own))
    for name, value in own.items():
        if isinstance(value, Mapping):
            _require_settings(by, given[name], value)


def _require_fixed(by: str, saved: Any, own: Mapping[str, Any]) -> None:
    _require_names(by, "fixed settings", saved, tuple(own))
    for name, value in own.items():
        if isinstance(value, Mapping):
            _require_fixed(by, saved[name], value)
        elif _comparable(saved[name]) != value:
            raise OptimError(
                f"{by}: the state was saved with {name}={saved[name]!r}; this optimizer has "
                f"{value!r}, and the two follow other rules. Make it as it was when it was saved."
            )


def _require_names(
    by: str, what: str, saved: Any, wanted: tuple[str, ...], *, exactly: bool = True
) -> None:
    """Refuse what is no dictionary, or not one with these names."""
    is_mapping = isinstance(saved, Mapping)
    names = set(saved) if is_mapping else set()
    if is_mapping and (names == set(wanted) if exactly else names >= set(wanted)):
        return
    inside = ", ".join(map(str, saved)) or "no names" if is_mapping else ""
    given = f"with {inside}" if is_mapping else f"that is {type(saved).__name__}"
    raise OptimError(
        f"{by}: given {what} {given}; here there must be "
        f"{', '.join(map(str, wanted)) or 'no names'}. Use the state of an optimizer and of "
        "parameters like these."
    )
