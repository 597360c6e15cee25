"""L-BFGS: steps towards a minimum that learn the curvature on the way (Liu and Nocedal 1989)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from wengert.api.trace import argument_names
from wengert.core.tree import with_numpy
from wengert.core.trees.row_labels import RowOrderLooks
from wengert.core.words.arguments import worded_methods
from wengert.core.words.attributes import no_attribute
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.core.words.noticed.watched_arrays import watched_arrays
from wengert.core.words.warn import warn_user
from wengert.errors import OptimError, UnreachedWarning
from wengert.optim import settings
from wengert.optim.lifecycle import saving
from wengert.optim.lifecycle.constructors import chosen_rate, one_rate
from wengert.optim.lifecycle.updates_in_place import require_weights
from wengert.optim.parameters import named
from wengert.optim.quasi_newton.handed_back import (
    ends_where_another_ended,
    note_result,
    warn_if_handed_back,
)
from wengert.optim.quasi_newton.lbfgs_problem import Problem, dot
from wengert.optim.quasi_newton.lbfgs_run import Iterate, LbfgsRun, LbfgsState, RunEnding
from wengert.optim.quasi_newton.minimized_functions import MinimizedFunctions
from wengert.optim.quasi_newton.read_after_search import begin_search, end_search
from wengert.optim.quasi_newton.read_starts import searching_from
from wengert.optim.quasi_newton.search_result import Result, note_search_from_step
from wengert.optim.quasi_newton.searched_functions import (
    require_numbers,
    require_single_arguments,
    searched,
)
from wengert.optim.quasi_newton.unscaled_weights import warn_if_unscaled
from wengert.optim.schedules.held_rates import deep_copied

_TOLERANCES = 1e-7, 1e-9  # of gradients and of changes, by default
_NAMES = (
    "lr",
    "max_iter",
    "max_eval",
    "tolerance_grad",
    "tolerance_change",
    "history_size",
    "line_search_fn",
)


def _rate(owner: str, name: str, value: Any) -> Any:
    return value if callable(value) else settings.not_negative(owner, name, value)


_CHECKS: dict[str, settings.Check[Any]] = {
    "lr": _rate,
    "max_iter": settings.count,
    "max_eval": settings.optional(settings.count),
    "tolerance_grad": settings.not_negative,
    "tolerance_change": settings.not_negative,
    "history_size": settings.count,
    "line_search_fn": settings.one_of(None, "strong_wolfe"),
}


@worded_methods("__init__", "minimize", "step")
class LBFGS:
    """Minimises a function by limited-memory BFGS. Parameters and defaults are those of
    torch.optim.LBFGS, and so are the steps.

    `line_search_fn="strong_wolfe"` looks for a good length along each direction, and never ends
    higher than it began; it is what deterministic problems want. With None each step has the
    length `lr`. Tolerances are on the largest element of the gradient, and on changes of weights
    and value. `history_size` moves are remembered, each with two float64 vectors.

    `minimize` starts afresh from a tree and returns a new one. `step` updates arrays in place and
    remembers across calls. Where the function is not finite the search backs away; a start where
    it is not is a NonFiniteError.

    >>> def rosenbrock(w):
    ...     return (1 - w["x"]) ** 2 + 100 * (w["y"] - w["x"] ** 2) ** 2
    >>> search = wg.optim.LBFGS(max_iter=100, line_search_fn="strong_wolfe")
    >>> minimum = search.minimize(rosenbrock, {"x": np.array(-1.2), "y": np.array(1.0)})
    >>> minimum.converged, round(float(minimum.tree["x"]), 3), round(float(minimum.tree["y"]), 3)
    (True, 1.0, 1.0)
    """

    lr: float | Callable[[int], float]
    max_iter: int
    max_eval: int | None
    tolerance_grad: float
    tolerance_change: float
    history_size: int
    line_search_fn: str | None

    def __init__(
        self,
        lr: float | Callable[[int], float] = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        learning_rate: float | Callable[[int], float] | None = None,
    ) -> None:
        self.lr = chosen_rate(lr, learning_rate)
        self.max_iter = max_iter
        self.max_eval = max_eval  # None: five fourths of max_iter
        self.tolerance_grad = tolerance_grad
        self.tolerance_change = tolerance_change
        self.history_size = history_size
        self.line_search_fn = line_search_fn
        self._state = LbfgsState()
        self._minimized = MinimizedFunctions()
        self._row_order = RowOrderLooks()

    def __setattr__(self, name: str, value: Any) -> None:
        check = _CHECKS.get(name)
        if check is None and not name.startswith("_") and not hasattr(type(self), name):
            raise no_attribute("LBFGS", name, [*_CHECKS, "learning_rate"])
        object.__setattr__(self, name, check("LBFGS", name, value) if check else value)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step; a schedule is asked for the number of steps made."""
        if not callable(self.lr):
            return self.lr
        count = self._state.steps
        return settings.not_negative("LBFGS", f"lr({count})", self.lr(count))

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.lr = settings.not_negative("LBFGS", "learning_rate", value)

    def minimize(
        self, function: Callable[..., Any], tree: Any, *args: Any, compiled: bool = True
    ) -> Result:
        """Search for a minimum of `function(tree, *args)`, a scalar, over the float arrays of a
        tree, from where they are. The tree is not changed; the result has the best that was seen.

        The function is compiled, and its program is remembered for the next search with it, of
        another LBFGS, too; compiled=False runs it in NumPy, where it may branch on values.
        """
        by = "LBFGS.minimize"
        require_single_arguments(function, tree, args)
        names = argument_names(function, 1 + len(args))[1:]
        if compiled:
            self._row_order.look(by, names, args)
            args = tuple(with_numpy(x) for x in args)  # as a TrainStep takes series of pandas
        require_numbers(function, args, (tree, args) if compiled else tree)
        program = self._minimized.find(function) if compiled else None
        called = program or searched(function)
        data = dict(zip(names, args, strict=True))
        problem = Problem(by, lambda weights: called(weights, *args), tree, data)
        if watched_arrays:
            begin_search(problem, args)
        with searching_from(problem.parameters) as start:
            run = LbfgsRun(self, self.learning_rate, problem, LbfgsState())
        if not start.is_read:
            _warn_of_zeros(by, run.start)
        if program is not None:
            self._minimized.look(program, function, tree)
        ending = run.to_the_end()
        message = ending.message
        if ending.last.value > ending.best.value:
            message += f"; the value rose to {ending.last.value:.6g}, so the lowest is returned"
        warn_if_dropped(
            f"{by}: given a tree, which stays as it is; a result with a new tree was returned, and "
            "nothing reads it. Write tree = search.minimize(…).tree.",
            "minimize",
        )
        result = _result(problem, ending, ending.best, problem.at(ending.best.x), message)
        end_search(function, problem, ending)
        told = self._ended_by_default(ending) and (
            warn_if_handed_back(problem, ending) or warn_if_unscaled(problem, ending)
        )
        if ending.best is not ending.start and not told:
            note_result(ending.best.x)
        if ending.best is not ending.start:
            note_search_from_step(result, list(problem.parameters.values()))
        return result

    def _ended_by_default(self, ending: RunEnding) -> bool:
        """Whether it was a tolerance that ended a search, and one that nobody has chosen."""
        if not ending.converged or ends_where_another_ended(ending):
            return False
        if "tolerance_grad" in ending.message:
            return self.tolerance_grad == _TOLERANCES[0]
        return self.tolerance_change == _TOLERANCES[1]

    def step(self, value_and_grad: Callable[[Any], Any], weights: Any) -> Result:
        """Up to `max_iter` iterations on a tree of arrays, which are updated in place.

        `value_and_grad(weights)` gives the value and a tree of gradients. Called again with the
        same weights, the search goes on with what it remembers. If it raises, nothing is changed.
        """
        problem = Problem("LBFGS.step", value_and_grad, weights)
        for path, x in problem.parameters.items():
            require_weights("LBFGS.step", named(path), x, "minimize")
        state = self._state.copy()
        if state.size() not in (None, problem.size):
            raise OptimError(
                f"LBFGS.step: given {problem.size} weights and state for {state.size()}; one "
                "search is for one set of weights. Use another LBFGS, or clear_state()."
            )
        ending = LbfgsRun(self, self.learning_rate, problem, state).to_the_end()
        state.steps += 1
        problem.assign(ending.last.x)
        self._state = state
        message = ending.message
        if ending.last.value > ending.start.value:
            message += (
                f"; the value rose from {ending.start.value:.6g} to {ending.last.value:.6g}, as it "
                "may without a line search"
            )
        return _result(problem, ending, ending.last, weights, message)

    def clear_state(self) -> None:
        """Forget what `step` has learnt; settings stay."""
        self._state = LbfgsState()

    def state_dict(self) -> dict[str, Any]:
        """Settings, and what `step` has learnt: plain numbers and copies of arrays."""
        own_settings = {name: getattr(self, name) for name in _NAMES}
        if callable(self.lr):
            del own_settings["lr"]
        kept = {"kind": "LBFGS", "settings": own_settings, "state": self._state.as_dict()}
        return kept | (saving.saved_schedule(self.lr) if callable(self.lr) else {})

    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave; nothing is changed if it does not fit."""
        by = "LBFGS.load_state_dict"
        parts = ("settings", "state")
        if (
            not isinstance(state, Mapping)
            or "kind" not in state
            or any(not isinstance(state.get(part), Mapping) for part in parts)
        ):
            raise OptimError(
                f"{by}: given {type(state).__name__} without kind, settings and state; what "
                "state_dict() of an LBFGS gave is needed. Pass that."
            )
        saving.require_kind(by, state, "LBFGS")
        given: dict[str, Any] = {"lr": self.lr, **state["settings"]}
        if set(given) != set(_NAMES):
            raise OptimError(
                f"{by}: given the settings {', '.join(map(str, state['settings']))}; those of an "
                f"LBFGS are {', '.join(_NAMES)}. Load it into the kind of optimizer it was taken "
                "from."
            )
        saving.require_rate(by, self.lr, state["settings"].get("lr"), state.get("schedule_kind"))
        twin = LBFGS(**given)
        loaded = LbfgsState.from_dict(by, state["state"])
        saving.load_schedule(self.lr, state)
        self.__dict__.update(twin.__dict__, _state=loaded)

    def copy(self) -> Self:
        """One of its own, with its own copy of the state and of the schedule. A function or another
        callable of the user's is the same one in both.
        """
        return copy.deepcopy(self)

    __deepcopy__ = deep_copied

    def __repr__(self) -> str:
        defaults = LBFGS()
        changed = {name: getattr(self, name) for name in _NAMES}
        shown = [
            f"{name}={value!r}"
            for name, value in changed.items()
            if name == "lr" or value != getattr(defaults, name)
        ]
        return f"LBFGS({', '.join(shown)})"


def _result(problem: Problem, ending: RunEnding, place: Iterate, tree: Any, message: str) -> Result:
    largest = float(np.abs(place.gradient).max())
    # Divided by the largest element first, so that no square is beyond the floats.
    scaled = place.gradient / largest if 0 < largest < math.inf else place.gradient
    norm = largest * math.sqrt(dot(scaled, scaled)) if largest > 0 else 0.0
    converged = ending.converged and place is ending.last
    return Result(
        tree, place.value, norm, ending.iterations, problem.evaluations, converged, message
    )


def _warn_of_zeros(by: str, start: Iterate) -> None:
    """Warn where the first gradient is 0, unless the value is 0, too: that may be the lowest."""
    if start.value != 0.0 and not start.gradient.any():
        warn_user(
            f"{by}: the gradient by all weights is exactly 0 at the given ones, where the value is "
            f"{start.value:.6g}; they are returned as they are. Look in the function for what does "
            "not depend on its first argument, for rounding and comparisons, whose derivative is "
            "0, and for weights that are all 0.",
            UnreachedWarning,
        )


LBFGS.__init__ = one_rate(LBFGS.__init__, "lr")  # type: ignore[method-assign]
