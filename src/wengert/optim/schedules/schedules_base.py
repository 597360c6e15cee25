"""What a schedule is: the learning rate of every update, known before training begins."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_SCHEDULES
from wengert.errors import OptimError
from wengert.optim import settings


class Schedule(Explained, ABC):
    """A learning rate for each update, by its index: 0 is the first update.

    Called with an index it gives one rate; `table` gives many. Both come from `values`, so they
    agree in every bit, and both are computed on the host in float64. To write a schedule of your
    own, subclass and define `values`, or use `Lambda`.

    >>> class Halving(wg.optim.Schedule):
    ...     def values(self, indices):
    ...         return [0.5 ** (index // 100) for index in indices]
    >>> Halving()(250), Halving().table(199, 2)
    (0.25, array([0.5 , 0.25]))
    """

    _repairs = OF_SCHEDULES
    _nature = "a schedule is a function of the index of an update"

    @abstractmethod
    def values(self, indices: range) -> Sequence[float]:
        """The rates of these updates; what a subclass defines."""

    def __call__(self, index: int) -> float:
        """The rate of one update; 0 is the first."""
        try:
            (value,) = self.values(range(index, index + 1))
        except (TypeError, ValueError, OverflowError) as error:
            raise self._explained(error, index) from error
        if index < 0 or not 0.0 <= value < math.inf:
            raise self._refused(index, value)
        return value

    def table(self, begin: int, count: int) -> NDArray[np.float64]:
        """The rates of `count` updates from index `begin` on."""
        begin = settings.index(f"{type(self).__name__}.table", "begin", begin)
        count = settings.index(f"{type(self).__name__}.table", "count", count)
        try:
            rates = np.array(self.values(range(begin, begin + count)), dtype=np.float64)
        except OverflowError as error:
            raise self._explained(error, f"{begin} to {begin + count - 1}") from error
        except (TypeError, ValueError) as error:
            raise self._explained(error, begin) from error
        good = (rates >= 0) & (rates < math.inf)
        if not good.all():
            at = int(np.argmin(good))
            raise self._refused(begin + at, float(rates[at]))
        return rates

    def ends_at(self) -> int | None:
        """The index of the first update of those that all have the last rate; None for schedules
        that have no last one.
        """
        return None

    def __mul__(self, factor: Any) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"{name}: a schedule was multiplied or divided; it gives another rate for each update, "
            "and is no number. For a constant rate from now on, write optimizer.learning_rate *= "
            f"0.1, which ends the schedule; to go on with smaller ones, set another {name}: "
            "optimizer.lr = schedule."
        )

    __rmul__ = __truediv__ = __mul__

    def state_dict(self) -> dict[str, Any]:
        """What a schedule must be given to go on where it was; empty for one without state."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        settings.require_state(type(self).__name__, state, ())

    def copy(self) -> Schedule:
        """A schedule that goes on alone; one without state is its own copy."""
        return self

    def _explained(self, error: Exception, index: Any) -> OptimError:
        name = type(self).__name__
        if isinstance(error, OverflowError):
            return OptimError(
                f"{name}: the rate of update {index} is beyond the largest float; it must be "
                "finite. Choose a gamma, or factor, of at most 1."
            )
        if isinstance(index, int | np.integer):  # then the fault lies in the schedule's own code
            return OptimError(
                f"{name}: computing the rate of update {index} raised {type(error).__name__} "
                f"({error}); it must give a number. Correct the function."
            )
        return OptimError(
            f"{name}: index {index!r} was given; it must be a whole number, 0 for the first "
            "update. Pass an int."
        )

    def _refused(self, index: int, value: float) -> OptimError:
        name = type(self).__name__
        if index < 0:
            return OptimError(
                f"{name}: index {index} was given; the first update has index 0. "
                "Count updates from 0."
            )
        return OptimError(
            f"{name}: the rate of update {index} is {value}; it must be finite and not negative. "
            "Correct the schedule."
        )
