"""Optimizer: one rule, run in place on arrays, on graph nodes, over trees and in compiled steps."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping
from types import FunctionType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wengert.api.by_hand.graph import Graph
from wengert.core import tree
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.arguments import worded_methods
from wengert.core.words.attributes import no_attribute
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_OPTIMIZERS
from wengert.core.words.noticed.tied import warn_of_ties
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.errors import OptimError, WengertError
from wengert.interpret.eagerness import is_eager
from wengert.optim.arrays_in_turn import ArraysInTurn
from wengert.optim.lifecycle import saving
from wengert.optim.lifecycle.constructors import (
    GivenRate,
    chosen_rate,
    one_rate,
    show_parameters,
)
from wengert.optim.lifecycle.given_optimizers import note_change
from wengert.optim.lifecycle.member_optimizers import made_for_members
from wengert.optim.lifecycle.noted_settings import NotedSettings
from wengert.optim.lifecycle.updates_in_place import (
    ParameterState,
    graph_parameters,
    nonfinite_part,
    owned,
    require_id,
    require_weights,
    usable_gradient,
)
from wengert.optim.parameters import gradients_for, parameters_of, replaced, warn_of_floats
from wengert.optim.schedules.held_rates import deep_copied
from wengert.optim.schedules.schedules_base import Schedule
from wengert.optim.settings import not_negative
from wengert.optim.uncarried_states import UncarriedStates
from wengert.runtime.nonfinite_policies import IGNORE, RAISE, require_policy

Arrays: TypeAlias = dict[str, Any]


class Updates:
    """How many updates a training step has made with its optimizer. A copy of that optimizer, or
    one from a pickle, has made none.
    """

    def __init__(self, count: NDArray[np.int64] | None = None) -> None:
        self.of_step = count is not None  # and not of a copy
        self._count = np.zeros(1, np.int64) if count is None else count  # written by the step

    @property
    def made(self) -> int:
        return self._count.item()

    def __reduce__(self) -> tuple[type[Updates], tuple[()]]:
        return Updates, ()


@worded_methods("step", "step_graph_node", "scalars", "init", "update")
class Optimizer(Explained, NotedSettings):
    """Base of all optimizers. A subclass says what it keeps (`initial`), which numbers an update
    needs (`numbers`), and how weights move (`rule`); all ways of use follow from these.

    >>> class SignDescent(wg.optim.Optimizer):
    ...     "Steps of one length, against the sign of the gradient."
    ...     def rule(self, weights, grad, state, s, path=None):
    ...         return weights - s["lr"] * wg.sign(grad), state
    >>> w = np.array([1.0, -2.0])
    >>> SignDescent(0.5).step("w", w, grad=np.array([3.0, -0.1]))
    >>> w
    array([ 0.5, -1.5])
    """

    _repairs = OF_OPTIMIZERS
    _nature = "an optimizer is a rule; a wg.TrainStep computes gradients and applies it"

    _made = False  # whether its constructor has ended: there are no other settings from then on
    _updates: Updates | None = None  # of the training step that this optimizer belongs to
    _in_turn: ArraysInTurn | None = None  # those that `step` has updated
    _uncarried: UncarriedStates | None = None  # those that `update` was given

    def __init__(
        self, lr: GivenRate | None = None, *, learning_rate: GivenRate | None = None
    ) -> None:
        """To be called last: from here on settings only change if the state stays of one form."""
        self.lr = chosen_rate(lr, learning_rate)
        saving.require_attributes(self)
        self._plain = saving.plain_numbers(self)
        self._states: dict[Hashable, ParameterState] = {}
        self._kept: tuple[str, ...] = tuple(self.initial(np.zeros(())))
        self.require_consistent()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """One optimizer; or, for settings that are arrays with an entry for each member of an
        ensemble, one for each of them.
        """
        several: Any = made_for_members(cls, args, kwargs)
        return super().__new__(cls) if several is None else several

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            worded_methods("__init__")(cls)
            cls.__init__ = one_rate(cls.__init__, cls.rate_name)  # type: ignore[method-assign]
            show_parameters(cls)

    # What a subclass defines.

    def initial(self, weights: Any) -> Arrays:
        """The state of a parameter before its first update: arrays of its shape, by name."""
        return {}

    def numbers(self, count: Any) -> dict[str, Any]:
        """What the rule needs to know of update number `count`, from 1: the learning rate and every
        number among the settings. A subclass adds what follows from them, such as corrections.
        `count` is an int, an array of them (see `table`) or, in recorded code, a Tensor.
        """
        return {"lr": self.rate(count)} | {name: getattr(self, name) for name in self._plain}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        """New weights and new state. Pure, written with functions that can be recorded; `s` holds
        the numbers of this update, and `path` says which parameter it is.
        """
        raise OptimError(
            f"{type(self).__name__}: has no rule; one is needed to update weights. "
            "Define rule(self, weights, grad, state, s, path=None)."
        )

    @property
    def flat(self) -> bool:
        """Whether the rule is elementwise, so that several parameters can be updated as one."""
        return True

    @property
    def averages(self) -> str | None:
        """The name of the state that is an average of the weights, if there is one."""
        return None

    @property
    def followers(self) -> tuple[str, ...]:
        """The names of the states that begin as the weights."""
        return ()

    @property
    def keeps(self) -> tuple[str, ...]:
        """The names of its states."""
        return self._kept

    def require_consistent(self) -> None:
        """Refuse settings that do not go together."""

    def require_paths(self, paths: Iterable[str]) -> None:
        """Refuse settings that do not go with a model of these paths."""

    # The learning rate and other settings.

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what is no setting: nothing would come of it."""
        member = getattr(type(self), name, None)  # methods such as `rate` are no settings
        setting = member is not None and not isinstance(member, FunctionType)
        known = name.startswith("_") or name in self.__dict__ or setting
        if self._made and not known:
            settings = dict.fromkeys((*saving.names_of(self), saving.OTHER_NAME))
            raise no_attribute(type(self).__name__, name, [*settings])
        super().__setattr__(name, value)
        if self._made and not name.startswith("_"):
            note_change(self, name)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update. A schedule is asked for the updates done by `step`
        or, in a TrainStep, by that. Setting it replaces a schedule.
        """
        elsewhere = 0 if self._updates is None else self._updates.made
        count = max((state.count for state in self._states.values()), default=0)
        return float(self.rate(max(count, elsewhere) + 1))

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.lr = value

    def count_by(self, updates: Updates) -> None:
        """Let a training step say how many updates were made."""
        self._updates = updates

    def rate(self, count: Any) -> Any:
        """The learning rate of update number `count`, from 1; a schedule counts from 0."""
        if not callable(self.lr):
            return self.lr
        name = type(self).__name__
        if isinstance(count, np.ndarray):
            if isinstance(self.lr, Schedule):
                return self.lr.table(int(count[0]) - 1, len(count))
            return np.array([self.rate(int(each)) for each in count])
        if not isinstance(count, Tensor):
            return not_negative(name, f"{self.rate_name}({count - 1})", self.lr(count - 1))
        try:
            return self.lr(op.subtract(count, 1))  # recorded, if it can be
        except (WengertError, TypeError, ValueError) as error:
            raise OptimError(
                f"{name}: its schedule was asked for an update whose number is known at call time "
                "only; it computes with Python numbers. Pass "
                "wg.tree.arrays(optimizer.scalars(count)) into the compiled function, and on to "
                "update."
            ) from error

    def scalars(self, count: int) -> dict[str, float]:
        """The numbers of update number `count`, from 1, computed on the host in float64."""
        return {name: float(x) for name, x in self.numbers(count).items()}

    def table(self, begin: int, count: int) -> dict[str, NDArray[np.float64]]:
        """The numbers of `count` updates from number `begin` on; the same bits as `scalars`, and
        quicker for many.
        """
        numbers = self.numbers(np.arange(begin, begin + count))
        return {name: np.full(count, x, np.float64) for name, x in numbers.items()}

    def change(self, name: str, value: Any, fixed: bool) -> None:
        """Give a setting a checked value; refused where compiled code or state would not fit."""
        before = self.__dict__.get(name)
        if "_kept" in self.__dict__ and fixed and value != before:
            raise OptimError(
                f"{type(self).__name__}: {name}={value!r} was set; it is {before!r} for the life "
                "of the optimizer. Make a new one."
            )
        self.__dict__[name] = value
        if "_kept" not in self.__dict__:
            return
        try:
            self.require_consistent()
            kind = type(self).__name__
            given = f"{kind}: {name}={value!r} was set"
            self._require_same_state(given, tuple(self.initial(np.zeros(()))))
        except OptimError:
            self.__dict__[name] = before
            raise

    def _require_same_state(self, given: str, kept: tuple[str, ...]) -> None:
        if kept != self._kept:
            raise OptimError(
                f"{given}; it needs state {', '.join(kept) or 'of no kind'}, and this optimizer "
                f"keeps {', '.join(self._kept) or 'none'}. Make a new one."
            )

    # One parameter at a time, in place.

    def step(
        self, parameter_id: Hashable, weights: Any, grad: Any, *, nonfinite: str = "raise"
    ) -> None:
        """Update an array in place. Its state is kept under any hashable id; an id that is a string
        is the path that `exclude` looks at.

        A gradient that is not finite, or an update that leads there, raises NonFiniteError; with
        nonfinite="skip" nothing happens instead, with "ignore" the update is made. A step that is
        refused changes nothing.
        """
        require_policy(type(self).__name__, nonfinite, error=OptimError)
        require_id(type(self).__name__, parameter_id)
        require_weights(type(self).__name__, repr(parameter_id), weights, "update")
        updated = self._updated(parameter_id, weights, grad, nonfinite)
        if self._kept or callable(self.lr):  # else nothing is shared under an id
            self._in_turn = self._in_turn or ArraysInTurn()
            self._in_turn.note(type(self).__name__, parameter_id, weights)
        if updated is not None:
            np.copyto(weights, updated[0])
            self._states[parameter_id] = updated[1]

    def step_graph_node(self, graph: Graph, node: Any, *, nonfinite: str = "raise") -> None:
        """Update a parameter of a graph by the gradient it has accumulated, or all parameters of a
        tree of them. State is kept under the parameter's name.
        """
        require_policy(type(self).__name__, nonfinite, error=OptimError)
        parameters = graph_parameters(type(self).__name__, graph, node)
        gradients = {number: graph.gradient(number) for number in parameters}
        updates = {
            number: self._updated(graph.name(number), graph.value(number), grad, nonfinite)
            for number, grad in gradients.items()
        }
        if None in updates.values():
            return  # of a tree, all parameters are updated or none
        for number, update in updates.items():
            if update is not None:
                graph.set(number, update[0])
                self._states[graph.name(number)] = update[1]

    def _updated(
        self, parameter_id: Hashable, weights: Any, grad: Any, nonfinite: str
    ) -> tuple[Any, ParameterState] | None:
        """Weights and state after an update; None if it is to be skipped."""
        name = type(self).__name__
        grad = usable_gradient(name, parameter_id, weights, grad)
        state = self._states.get(parameter_id)
        if state is None:
            state = ParameterState(0, owned(self.initial(weights), weights))
        state.require_fitting(name, parameter_id, weights)
        path = parameter_id if isinstance(parameter_id, str) else str(parameter_id)
        with np.errstate(all="ignore"):  # what is not finite is found below
            s = _cast_all(self.scalars(state.count + 1), weights.dtype)
            new, arrays = self.rule(weights, grad, state.arrays, s, path)
        if nonfinite != IGNORE:
            fault = nonfinite_part(name, parameter_id, grad, new, arrays)
            if fault is not None and nonfinite == RAISE:
                raise fault
            if fault is not None:
                return None
        return new, ParameterState(state.count + 1, owned(arrays, weights, grad))

    def clear_state(self) -> None:
        """Forget what `step` has kept, as for a new training run; settings stay."""
        self._require_apart("clear_state", "Make a new step to begin anew.")
        self._states.clear()
        self._in_turn = None

    def _require_apart(self, by: str, repair: str) -> None:
        """Refuse what concerns the kept state, where a training step keeps that and not this."""
        if self._updates is not None and self._updates.of_step:
            raise OptimError(
                f"{type(self).__name__}.{by}: called on the optimizer of a TrainStep; what it "
                "keeps of each parameter is part of the step, which shows it as "
                f"step.optimizer_states. {repair}"
            )

    # Trees.

    def init(self, model: Any) -> dict[str, Any]:
        """The state of all parameters of a tree before the first update: itself a tree."""
        parameters = parameters_of(f"{type(self).__name__}.init", model)
        self.require_paths(tree.paths(model))
        warn_of_ties(f"{type(self).__name__}.init", model)
        for first in list(parameters.values())[:1]:
            warn_of_floats(f"{type(self).__name__}.init", "model", model, first.dtype)
        return {
            "count": np.array(0),
            "parameters": {
                path: owned(self.initial(weights), weights) for path, weights in parameters.items()
            },
        }

    def update(
        self, model: Any, grads: Any, state: Mapping[str, Any], scalars: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """A new tree and a new state from a tree, its gradients and the state. Pure: it can be
        compiled and recorded.

        Float leaves are parameters; all else stays as it is. It does not look for what is not
        finite; `wg.compile` does so where asked. A compiled update holds the settings
        of the moment it was compiled. To change them, or to use a schedule there, make `scalars` an
        argument of the compiled function: `wg.tree.arrays(optimizer.scalars(count))`, from 1.

        >>> optimizer = wg.optim.SGD(0.1, momentum=0.9)
        >>> model = {"w": np.ones(2), "steps": np.array([3])}
        >>> state = optimizer.init(model)
        >>> model, state = optimizer.update(model, {"w": np.ones(2)}, state)
        >>> model
        {'w': array([0.9, 0.9]), 'steps': array([3])}
        """
        by = f"{type(self).__name__}.update"
        saving.require_order(by, model=model, grads=grads, state=state)
        parameters = parameters_of(by, model)
        gradients = gradients_for(by, parameters, grads)
        kept = saving.kept_for(by, parameters, state, self._kept)
        count = state["count"] + 1
        recorded = isinstance(count, Tensor)
        if not recorded and not is_eager():  # else the line is that of a compiled function
            warn_if_dropped(
                f"{by}: given a model, which stays as it is; a new model and a new state were "
                "returned, and nothing reads them. Write model, state = optimizer.update(model, "
                "grads, state).",
                "update",
            )
        if scalars is None:
            scalars = self.numbers(count) if recorded else self.scalars(int(count))
        new: dict[str, Any] = {}
        arrays: dict[str, Arrays] = {}
        for path, weights in parameters.items():
            grad = op.astype(gradients[path], weights.dtype)
            s = _cast_all(scalars, weights.dtype)
            new[path], arrays[path] = self.rule(weights, grad, kept[path], s, path)
        if not recorded and self._kept:
            self._uncarried = self._uncarried or UncarriedStates()
            self._uncarried.note(by, state, parameters.values(), new.values())
        return replaced(model, new), {"count": count, "parameters": arrays}

    # Saving and copying.

    def state_dict(self) -> dict[str, Any]:
        """Kind, settings, and what `step` has kept: copies of arrays, and plain values."""
        self._require_apart(
            "state_dict", "Save step.state_dict(), with the model and all else in it, or step.save."
        )
        return self.saved()

    def saved(self) -> dict[str, Any]:
        """The same, also of the optimizer of a training step, which has kept nothing itself."""
        return saving.state_dict(self, self._states)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave. The state of another kind of optimizer, of
        another rule or with another kind of schedule is refused, and then nothing changes.
        """
        self._require_apart(
            "load_state_dict", "Use step.load_state_dict with what step.state_dict() gave."
        )
        self.load_saved(state)

    def load_saved(self, state: Mapping[str, Any]) -> None:
        """The same, with what `saved` gave."""
        states = saving.saved_states(self, state, self._kept)
        made = self.remade(state["settings"])
        given = f"{type(self).__name__}.load_state_dict: given the state of {made!r}"
        self._require_same_state(given, made._kept)
        rate = saving.saved_rate(self, state)
        self.__dict__.update(made.__dict__)
        self.lr, self._states = rate, states
        if self._updates is not None:
            self.count_by(self._updates)
        saving.load_schedule(rate, state)

    def copy(self) -> Self:
        """An optimizer of its own, with its own copy of the state and of the schedule. A function
        or another callable of the user's is the same one in both.
        """
        return copy.deepcopy(self)

    __deepcopy__ = deep_copied

    def remade(self, settings: Mapping[str, Any]) -> Self:
        """A new optimizer without state, with these settings in place of its own."""
        given = {name: getattr(self, name) for name in saving.names_of(self)}
        return type(self)(**given | dict(settings))

    def __repr__(self) -> str:
        return saving.shown(self)


def has_updated(optimizer: Optimizer) -> bool:
    """Whether `step` has updated arrays with it, or `update` has with a state to carry on."""
    return bool(optimizer._states) or optimizer._uncarried is not None


def _cast_all(scalars: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """The numbers of an update in the dtype of the weights."""
    return {
        name: op.astype(x, dtype) if isinstance(x, Tensor) else np.asarray(x, dtype)
        for name, x in scalars.items()
    }


worded_methods("__init__")(Optimizer)
Optimizer.__init__ = one_rate(Optimizer.__init__, "lr")  # type: ignore[method-assign]
show_parameters(Optimizer)
