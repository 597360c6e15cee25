"""Training of an estimator: its settings as a step, a fit, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert import optim
from wengert.core import tree
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.core.words.warn import warn_user
from wengert.optim.optimizer import Optimizer
from wengert.sklearn.network import BATCH, NetworkPlan
from wengert.sklearn.plateau import SCORE, Plateau
from wengert.sklearn.step_pool import AVERAGE, PooledPlan, PooledStep, lent_step
from wengert.train.fitting.fit import fit
from wengert.train.fitting.stopping import EarlyStopping
from wengert.train.ranked.unshared import warn_of_unshared
from wengert.train.runs.history import History

Array = np.ndarray[Any, Any]
NAMED = {
    name.lower(): getattr(optim, name)
    for name in ("SGD", "Adam", "AdamW", "RMSProp", "Adagrad", "RAdam", "Lion", "Lamb", "Lars")
}
UNSHARED = (
    "Train with wg.TrainStep(…, ranks=wg.parallel.mpi()), or start one process; where each fits "
    "something of its own, warnings.simplefilter('ignore', wg.errors.UnsharedWarning)."
)
# Parameters of scikit-learn's solvers, as they are where nobody has set them.
OF_SOLVER = ("solver", "beta_1", "beta_2", "epsilon", "momentum", "nesterovs_momentum")
DEFAULTS: Mapping[str, Any] = {
    "learning_rate_init": 0.001,
    "solver": "adam",
    "beta_1": 0.9,
    "beta_2": 0.999,
    "epsilon": 1e-8,
    "momentum": 0.9,
    "nesterovs_momentum": True,
}
COSINE = "cosine"  # the schedule that has a name
NEVER = 2**31  # epochs: the Plateau stops, and early stopping restores


@dataclass(frozen=True)
class Rows:
    """Data as a step takes them: inputs, targets, and a weight per row."""

    inputs: Mapping[str, Array]
    y: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.y)

    def arguments(self, alpha: Array) -> dict[str, Any]:
        return {"inputs": dict(self.inputs), "y": self.y, "weight": self.weight, "alpha": alpha}

    def taken(self, rows: Array) -> Rows:
        inputs = {name: x[rows] for name, x in self.inputs.items()}
        return Rows(inputs, self.y[rows], self.weight[rows])


@dataclass(frozen=True)
class Order:
    """What an estimator asks of a training, apart from its data."""

    epochs: int
    batch_size: int
    alpha: float
    seed: int
    shuffle: bool
    verbose: bool
    plateau: Plateau
    score: Callable[..., float]  # of validation data
    clip_norm: float | None
    threads: int | None


@dataclass(frozen=True)
class Trained:
    """A step when it was trained: everything to predict with, and to go on from."""

    state: Mapping[str, Any]  # of the step
    history: History | None  # None where the fit was interrupted
    interrupted: bool


def train(
    network: NetworkPlan,
    optimizer: Optimizer,
    shared: bool,
    order: Order,
    training: Rows,
    validation: Rows | None,
    begin: Callable[[PooledStep], None],
) -> Trained:
    """Train a network; `begin` gives the step its first state."""
    warn_of_unshared("fit", "called", UNSHARED)
    # Both are needed: only the first shows the numbers of a schedule, only the second the settings
    # that have their defaults.
    text = repr((optimizer, optimizer.state_dict())) if shared else ""
    plan = PooledPlan(network, text, order.clip_norm is not None, order.threads)
    with lent_step(plan, optimizer) as pooled:
        begin(pooled)
        return _fitted(network, pooled, order, training, validation)


def _fitted(
    network: NetworkPlan, pooled: PooledStep, order: Order, training: Rows, validation: Rows | None
) -> Trained:
    alpha = np.asarray(order.alpha, network.dtype)
    single = len(training) % order.batch_size == 1 and len(training) > 1
    options: dict[str, Any] = {}
    if validation is not None:
        options = {
            "validation": validation.arguments(alpha),
            "validation_loss": False,
            "metrics": {SCORE: order.score},
            "predict": pooled.predict,
            "target": "y",
            "weight": "weight",
            "early_stopping": EarlyStopping(NEVER, monitor=SCORE, mode="max"),
        }
    history, interrupted = None, False
    try:
        history = fit(
            pooled.step,
            training.arguments(alpha),
            order.epochs,
            order.batch_size,
            shuffle_seed=order.seed if order.shuffle else None,
            drop_last=network.norm == BATCH and single,  # a row alone has no variance
            callbacks=order.plateau,
            progress=order.verbose,
            **options,
        )
    except KeyboardInterrupt:
        warn_user("Training interrupted by user.", UserWarning)  # in scikit-learn's words
        interrupted = True
    return Trained(pooled.step.state_dict(), history, interrupted)


def begun_state(network: NetworkPlan, model: Any, seed: int, threads: int | None) -> Any:
    """The state of a step that has these weights and has trained nothing yet."""
    plan = PooledPlan(network, "", False, threads)
    with lent_step(plan, optim.Adam()) as pooled:
        pooled.begin(model, seed, None)
        return pooled.step.state_dict()


def model_of(network: NetworkPlan, state: Mapping[str, Any]) -> tuple[Any, Any]:
    """The weights of a step's state in the form of the model, averaged where its optimizer averages
    them, and its running statistics.
    """
    like = network.initial(np.random.RandomState(0))
    arrays = state["arrays"]
    weights = {**arrays["model"], **arrays.get(AVERAGE, {})}
    _, structure = tree.flatten(like)
    model = tree.unflatten(structure, [weights[path] for path in tree.paths(like)])
    statistics = network.initial_state()
    if statistics is not None:
        _, structure = tree.flatten(statistics)
        paths = tree.paths(statistics)
        statistics = tree.unflatten(structure, [arrays["state"][path] for path in paths])
    return model, statistics


def optimizer_of(settings: Mapping[str, Any], steps: int) -> tuple[Optimizer, bool]:
    """The optimizer that an estimator's parameters mean, for this many steps in all; and whether
    others may share its step: they may if these parameters say everything about it.
    """
    given, schedule = settings["optimizer"], settings["schedule"]
    if isinstance(given, Optimizer):
        if schedule is not None:
            raise ValueError(
                f"schedule={schedule!r} was given beside the optimizer {type(given).__name__}; an "
                "optimizer has its rate itself. Write optimizer=wg.optim.Adam(schedule), or an "
                "optimizer by name."
            )
        _require_unset(settings, ("learning_rate_init", *OF_SOLVER), "an instance of wg.optim")
        return given.copy(), False
    rate: Any = settings["learning_rate_init"]
    if isinstance(schedule, str) and schedule != COSINE:
        raise ValueError(
            f"schedule={schedule!r} was given; it is {COSINE!r}, a schedule of wg.optim, or None. "
            f"Write {COSINE!r}, or an object such as wg.optim.LinearWarmup(0.01, 100)."
        )
    if schedule is not None and settings["learning_rate"] != "constant":
        raise ValueError(
            f"learning_rate={settings['learning_rate']!r} was given beside schedule={schedule!r}; "
            "both would change the rate. Leave one of them out."
        )
    if schedule not in (None, COSINE) and rate != DEFAULTS["learning_rate_init"]:
        raise ValueError(
            f"learning_rate_init={rate!r} was given beside schedule={schedule!r}, which has its "
            "rate itself. Leave it out."
        )
    if schedule == COSINE:
        rate = optim.Cosine(rate, max(1, steps))
    elif schedule is not None:
        rate = schedule
    if given is None:
        return _of_solver(settings, rate), isinstance(rate, float | int) or schedule == COSINE
    if not isinstance(given, str) or given.lower() not in NAMED:
        meant = nearest(str(given).lower(), list(NAMED), ALIKE)
        raise ValueError(
            f"optimizer={given!r} was given; it is one of {', '.join(NAMED)}, an optimizer of "
            f"wg.optim, or None for the solver. {f'Write {meant!r}' if meant else 'Choose one'}."
        )
    _require_unset(settings, OF_SOLVER, "a name")
    optimizer: Optimizer = NAMED[given.lower()](rate)
    return optimizer, isinstance(rate, float | int) or schedule == COSINE


def _require_unset(settings: Mapping[str, Any], names: Sequence[str], given: str) -> None:
    """Refuse parameters that have no effect beside an optimizer."""
    for name in names:
        if settings[name] != DEFAULTS[name]:
            raise ValueError(
                f"{name}={settings[name]!r} was given beside optimizer={settings['optimizer']!r}; "
                f"it does nothing where the optimizer is {given}. Leave it out and set it there, "
                "as in optimizer=wg.optim.Adam(lr, betas=(0.9, 0.999)), or leave optimizer out."
            )


def _of_solver(settings: Mapping[str, Any], rate: Any) -> Optimizer:
    if settings["solver"] == "sgd":
        momentum = settings["momentum"]
        nesterov = settings["nesterovs_momentum"] and momentum > 0
        return optim.SGD(rate, momentum=momentum, nesterov=nesterov)
    betas = (settings["beta_1"], settings["beta_2"])
    return optim.Adam(rate, betas=betas, eps=settings["epsilon"])
