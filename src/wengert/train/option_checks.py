"""The options of a training step, checked when it is made."""

from __future__ import annotations

import math
import operator
from types import FunctionType, MethodType
from typing import Any

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.tensor import Tensor
from wengert.core.words.numbers_in_trees import arrays_instead
from wengert.errors import OptimError, TraceError
from wengert.optim.optimizer import Optimizer
from wengert.optim.parameters import leaf_name
from wengert.runtime.workers import LIMIT

RUN_OPTIONS = ("batch_size", "epochs", "shuffle_seed", "drop_last", "aux")
AUX_KEPT = ("all", "last")
MOST_EPOCHS = 2**63  # files hold counts below it


def require_function(by: str, f: Any, called: str) -> None:
    """Refuse what cannot be called with a model and a batch."""
    if not callable(f):
        raise TypeError(
            f"{by}: given {type(f).__name__} as {called}; it is a function of the model and a "
            "batch. Pass the function itself."
        )


def require_no_network(by: str, f: Any, structure: tree.Structure, repair: str) -> None:
    """Refuse a network of the form of the step's model in the place of a function of it; `repair`
    says what to do.
    """
    called = isinstance(f, MethodType) and f.__name__ == "__call__"
    network = f.__self__ if called else f
    if not isinstance(f, FunctionType) and _has_arrays(network):
        try:
            same = tree.flatten(network)[1].spec == structure.spec
        except TraceError:
            return
        if same:
            raise TypeError(
                f"{by}: given {type(network).__name__}, a network like the step's model; it is "
                f"called with the live model, and needs a function of that. {repair}."
            )


def require_arrays(model: Any) -> None:
    """Refuse a model of Tensors: the step is made inside a loss. And one of Python numbers, or an
    estimator, which have no arrays.
    """
    try:
        leaves = tree.leaves(model)
    except TraceError:  # said where it is copied
        return
    if not leaves:
        _refuse_without_arrays(model)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    if tensors:
        error = TraceError(
            "TrainStep: given a model of Tensors, inside a function that is differentiated or "
            "recorded; a TrainStep has arrays, and nothing is differentiated through its updates. "
            "Inside a loss write grads = wg.grad(f)(model), and wg.tree.map(lambda w, g: w - lr * "
            "g, model, grads) or optimizer.update(model, grads, state)."
        )
        raise located(error, tensors)


def _refuse_without_arrays(model: Any) -> None:
    """Refuse a model without arrays, where it can be seen what was meant."""
    if hasattr(model, "get_params") and hasattr(model, "fit"):
        weights = (
            "for a step with its weights write [*zip(estimator.coefs_, estimator.intercepts_)] as "
            "the model"
            if hasattr(model, "coefs_")
            else "for a step make a network of wg.nn"
        )
        raise OptimError(
            f"TrainStep: given {type(model).__name__} as the model, an estimator of scikit-learn; "
            "a step trains a tree of float arrays, such as a network. Train it by its own fit or "
            f"partial_fit; {weights}."
        )
    instead = arrays_instead(model)
    numbers = [(path, x) for path, x in tree.plain_values(model) if type(x) in (float, int)]
    if instead is not None and numbers:
        path, number = next((each for each in numbers if type(each[1]) is float), numbers[0])
        raise OptimError(
            f"TrainStep: {leaf_name(path, 'model')} is the Python number {number!r}, and there is "
            "no array; arrays are parameters, and numbers are part of the program. "
            f"{instead}."
        )


def require_order(loss: Any, model: Any) -> None:
    """Refuse a model and a loss that have changed places; a model can be called, too."""
    if callable(model) and not _has_arrays(model) and _has_arrays(loss):
        raise TypeError(
            f"TrainStep: given {type(loss).__name__}, with arrays, as the loss and "
            f"{getattr(model, '__name__', type(model).__name__)} as the model; the loss comes "
            "first. Write wg.TrainStep(loss, model, optimizer)."
        )
    if isinstance(model, Optimizer):
        raise TypeError(
            f"TrainStep: given the optimizer {type(model).__name__} as the model; the model is "
            "the second argument, and the optimizer the third. Write wg.TrainStep(loss, model, "
            "optimizer)."
        )


def _has_arrays(x: Any) -> bool:
    """Whether something is a tree with arrays; one with arrays in wrong places counts, too."""
    try:
        return bool(tree.leaves(x))
    except TraceError:
        return True


def whole(value: Any) -> int | None:
    """A whole number of Python or NumPy as an int; None for all else, also for True and False."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def require_accumulate(accumulate: Any) -> int:
    """How many calls share an update."""
    number = whole(accumulate)
    if number is None or number < 1:
        raise ValueError(
            f"TrainStep: accumulate={accumulate!r} was given; it is a whole number of calls, at "
            "least 1. Choose one."
        )
    return number


def require_epochs(by: str, epochs: Any) -> int:
    """How many epochs a run has."""
    number = whole(epochs)
    if number is None or number < 0:
        raise ValueError(
            f"{by}: epochs={epochs!r} was given; it is a whole number, at least 0. Choose one."
        )
    return number


def require_epoch(epoch: Any) -> int:
    """How many epochs a step has had."""
    number = whole(epoch)
    if number is None or not 0 <= number < MOST_EPOCHS:
        raise ValueError(
            f"TrainStep.epoch: {epoch!r} was assigned; it is a whole number from 0 to 2**63 - 1. "
            "Choose one."
        )
    return number


def require_only_last(by: str, aux: Any) -> bool:
    """Whether a run keeps the aux of its last step only."""
    if aux not in AUX_KEPT:
        raise ValueError(
            f"{by}: aux={aux!r} was given; it is one of {', '.join(AUX_KEPT)}. Choose one."
        )
    return bool(aux == "last")


def require_threads(threads: Any) -> int | None:
    """On how many threads a step runs; None for as many as there are CPUs."""
    if threads is None:
        return None
    number = whole(threads)
    if number is None or not 1 <= number <= LIMIT:
        raise ValueError(
            f"TrainStep: threads={threads!r} was given; it is a whole number from 1 to {LIMIT}, or "
            "None for as many as there are CPUs. Choose one."
        )
    return number


def require_limit(name: str, value: Any) -> float | None:
    """A limit for clipping: None, or a number above 0."""
    if value is None:
        return None
    number = None if isinstance(value, bool | str | bytes) else _number(value)
    if number is None or not number > 0 or math.isnan(number):
        raise ValueError(
            f"TrainStep: {name}={value!r} was given; it is a number above 0, or None. Choose one."
        )
    return number


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
