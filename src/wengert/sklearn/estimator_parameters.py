"""The parameters of the estimators, checked when a fit begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.sklearn.network import ACTIVATIONS, BATCH, LAYER, NetworkPlan
from wengert.sklearn.plateau import ADAPTIVE, CONSTANT, INVSCALING
from wengert.sklearn.training import NAMED
from wengert.train.option_checks import whole

Check = tuple[Callable[[Any], bool], str]


def _number(accepts: Callable[[Any], bool], words: str) -> Check:
    def check(x: Any) -> bool:
        return not isinstance(x, bool) and isinstance(x, Real) and accepts(x)

    return check, words


def _whole(least: int) -> Check:
    return lambda x: (whole(x) or 0) >= least, f"a whole number, at least {least}"


def _choice(*names: Any) -> Check:
    shown = ", ".join(repr(name) for name in names)
    return lambda x: any(x is name or x == name for name in names), f"one of {shown}"


def _or(also: Any, check: Check) -> Check:
    accepts, words = check
    return lambda x: x is also or (isinstance(x, str) and x == also) or accepts(x), (
        f"{words}, or {also!r}"
    )


_SHARE = _number(lambda x: 0 <= x < 1, "a number from 0 up to, not including, 1")
_FLAG = _choice(True, False)
_NOT_NEGATIVE = _number(lambda x: 0 <= x < math.inf, "a number, at least 0")
_POSITIVE = _number(lambda x: 0 < x < math.inf, "a number above 0")
CHECKS: Mapping[str, Check] = {
    "activation": _choice(*ACTIVATIONS),
    "solver": _choice("adam", "sgd", "lbfgs"),
    "alpha": _NOT_NEGATIVE,
    "batch_size": _or("auto", _whole(1)),
    "learning_rate": _choice(CONSTANT, INVSCALING, ADAPTIVE),
    "learning_rate_init": _POSITIVE,
    "power_t": _NOT_NEGATIVE,
    "max_iter": _whole(1),
    "shuffle": _FLAG,
    "tol": _NOT_NEGATIVE,
    "warm_start": _FLAG,
    "momentum": _SHARE,
    "nesterovs_momentum": _FLAG,
    "early_stopping": _FLAG,
    "validation_fraction": _number(lambda x: 0 < x < 1, "a number above 0 and below 1"),
    "beta_1": _SHARE,
    "beta_2": _SHARE,
    "epsilon": _POSITIVE,
    "n_iter_no_change": _number(lambda x: x >= 1, "a number of epochs, at least 1, or np.inf"),
    "max_fun": _whole(1),
    "clip_norm": _or(None, _POSITIVE),
    "dropout": _SHARE,
    "norm": _choice(None, BATCH, LAYER),
    "embedding_size": _or("auto", _whole(1)),
    "dtype": _choice("auto", "float32", "float64"),
    "threads": _or(None, _whole(1)),
    "loss": _choice("squared_error", "poisson"),
}


def require_parameters(estimator: Any, names: Iterable[str]) -> None:
    """Refuse a parameter that the estimator cannot use, in words. The sizes come first where they
    are a word: then arguments stand in scikit-learn's order, and those behind it are wrong, too.
    """
    if isinstance(estimator.hidden_layer_sizes, str):
        hidden_sizes(estimator)
    for name in names:
        if name not in CHECKS:
            continue
        (accepts, words), value = CHECKS[name], getattr(estimator, name)
        if not accepts(value):
            raise ValueError(
                f"{_shown(estimator)}: {name}={value!r} was given; it is {words}. "
                f"{_repair(name, value, words)}."
            )


def _shown(estimator: Any) -> str:
    return type(estimator).__name__


def _repair(name: str, value: Any, words: str) -> str:
    names = [part for part in words.replace("one of ", "").split(", ") if part.startswith("'")]
    lower = value.lower() if isinstance(value, str) else ""
    if name == "solver" and lower in NAMED and repr(lower) not in names:
        return f"Write optimizer={lower!r}"
    if name == "loss" and isinstance(value, tuple | list | int):
        return f"Write hidden_layer_sizes={value!r}"
    meant = nearest(repr(lower), names, ALIKE) if lower else None
    return f"Write {meant}" if meant else "Choose another"


def hidden_sizes(estimator: Any) -> tuple[int, ...]:
    """The sizes of the hidden layers: one number or several, each at least 1."""
    given = estimator.hidden_layer_sizes
    sizes = list(given) if isinstance(given, Iterable) else [given]
    if not all((whole(size) or 0) > 0 for size in sizes):
        raise ValueError(
            f"{_shown(estimator)}: hidden_layer_sizes={given!r} was given; it is a whole number "
            f"above 0, or several, as in (64, 32). {_repair_of_sizes(estimator, given)}."
        )
    return tuple(int(size) for size in sizes)


def _repair_of_sizes(estimator: Any, given: Any) -> str:
    """What to write for sizes that are none: the loss of scikit-learn's MLPRegressor comes first,
    and here it has no place; an activation may have changed places with them.
    """
    behind = estimator.activation
    sizes = "(64, 32)" if isinstance(behind, str) else repr(behind)
    if isinstance(given, str) and hasattr(estimator, "loss") and CHECKS["loss"][0](given):
        return f"Write {_shown(estimator)}({sizes}, loss={given!r})"
    if isinstance(given, str) and given in ACTIVATIONS:
        return f"Write {_shown(estimator)}({sizes}, activation={given!r})"
    return "Choose others"


# Parameters that the state of an optimizer depends on; its learning rate may change.
OF_OPTIMIZER = (
    *("solver", "optimizer", "schedule", "beta_1", "beta_2", "epsilon"),
    *("momentum", "nesterovs_momentum"),
)


def require_same_network(estimator: Any, network: NetworkPlan, hidden: tuple[int, ...]) -> None:
    """Refuse parameters of another network than the one that training goes on with."""
    pairs = {
        "hidden_layer_sizes": (hidden, network.hidden),
        "activation": (estimator.activation, network.activation),
        "dropout": (estimator.dropout, network.dropout),
        "norm": (estimator.norm, network.norm),
    }
    for name, (now, then) in pairs.items():
        if now != then:
            raise _other(estimator, name, now, then, "network")


def require_same_optimizer(estimator: Any, settings: Mapping[str, Any]) -> None:
    """Refuse parameters of another optimizer than the one that training goes on with."""
    for name, then in settings.items():
        now = getattr(estimator, name)
        if repr(now) != repr(then):
            raise _other(estimator, name, now, then, "optimizer")


def _other(estimator: Any, name: str, now: Any, then: Any, what: str) -> ValueError:
    return ValueError(
        f"{_shown(estimator)}: {name}={now!r} was set, and training goes on with the {what} that "
        f"was made with {name}={then!r}. Set it back, or fit a new one: "
        "sklearn.base.clone(estimator) is not trained yet."
    )


def require_no_negative_weights(estimator: Any, weight: np.ndarray[Any, Any]) -> None:
    """Refuse weights of rows by which training would make predictions worse."""
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(
            f"{_shown(estimator)}: sample_weight is {weight[row]} in row {row}; a weight says how "
            "much a row counts, and is at least 0. Choose others."
        )


def require_class_weight(estimator: Any, given: Any, classes: Any) -> None:
    """Refuse weights of classes that are no numbers from 0 on; and weights of other classes where
    some of these have none, as scikit-learn does.
    """
    for weights in given if isinstance(given, list) else [given]:
        for label, weight in weights.items() if isinstance(weights, Mapping) else ():
            if not _NOT_NEGATIVE[0](weight):
                raise ValueError(
                    f"{_shown(estimator)}: class_weight is {weight!r} for class {label!r}; a "
                    "weight says how much a class counts, and is a number, at least 0. Choose "
                    "another."
                )
    if not isinstance(given, Mapping):
        return
    known = np.asarray(classes).tolist()
    others = [label for label in given if label not in known]
    without = [label for label in known if label not in given]
    if others and without:
        raise ValueError(
            f"{_shown(estimator)}: class_weight has {others}, which y does not have, and no weight "
            f"of {without}; the classes are {known}. Correct the keys."
        )
