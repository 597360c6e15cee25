"""What constructors of optimizers have in common: a learning rate under one of two names, and no
model in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from types import GeneratorType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wengert.core import tree
from wengert.errors import OptimError
from wengert.optim.lifecycle import saving

Rate: TypeAlias = float | Callable[[int], float]
GivenRate: TypeAlias = Rate | Sequence[Rate] | NDArray[Any]  # several for members of an ensemble
_LAYERS = "wengert.nn"


def chosen_rate(rate: GivenRate | None, learning_rate: GivenRate | None) -> Any:
    """The learning rate, which a constructor takes under two names."""
    return rate if learning_rate is None else learning_rate


def one_rate(init: Callable[..., None], rate_name: str) -> Callable[..., None]:
    """The constructor, which now refuses a learning rate under both names and a model in its place,
    if the rate comes first; and which notes that the optimizer is made.
    """
    first = [*inspect.signature(init).parameters][1:2] == [rate_name] != [saving.OTHER_NAME]

    @wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        if first and args:
            rates = {rate_name, saving.OTHER_NAME} & kwargs.keys()
            _require_no_parameters(type(self).__name__, args[0], rates)
        given = first and kwargs.get(saving.OTHER_NAME) is not None
        if given and (args or rate_name in kwargs):
            raise OptimError(
                f"{type(self).__name__}: {rate_name} and {saving.OTHER_NAME} were given; they are "
                "two names of one number. Pass one of them."
            )
        init(self, *args, **kwargs)
        if type(self).__init__ is make:  # else the constructor of a subclass goes on
            self._made = True

    return make


def _require_no_parameters(by: str, x: Any, rates: Collection[str]) -> None:
    """Refuse a model, or its arrays, where the learning rate stands: as other libraries have it."""
    several = isinstance(x, list | tuple | dict)
    # A schedule of the user's may be a dataclass with arrays; a rate beside it says that it is not.
    called = callable(x) and not rates and not _is_network(x)
    model = (several or (is_dataclass(x) and not called)) and bool(tree.leaves(x))
    if model or isinstance(x, GeneratorType):
        raise OptimError(
            f"{by}: given {type(x).__name__} as the learning rate; an optimizer is made without "
            "parameters, and wg.TrainStep(loss, model, optimizer) gives it those of the model. "
            f"Write wg.optim.{by}(1e-3)."
        )


def _is_network(x: Any) -> bool:
    """Whether an object is a layer, or has layers or matrices in it; the table of a schedule has a
    rate for each update.
    """
    if isinstance(x, np.ndarray):
        return x.ndim > 1
    parts: Iterable[Any] = x if isinstance(x, list | tuple) else ()
    if isinstance(x, dict):
        parts = x.values()
    elif is_dataclass(x):
        parts = [getattr(x, field.name, None) for field in fields(x)]
    return type(x).__module__.startswith(_LAYERS) or any(map(_is_network, parts))


def show_parameters(kind: Any) -> None:
    """Let a class have the signature of its constructor; else it would be that of `__new__`."""
    signature = inspect.signature(kind.__init__)
    kind.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])
