"""What the classifier and the regressor have in common: data in, training, attributes, files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from wengert.core.trees.row_labels import warn_of_row_order
from wengert.core.words.warn import warn_user
from wengert.errors import NonFiniteError
from wengert.optim.optimizer import Optimizer
from wengert.sklearn.columns import (
    FROM_DTYPE,
    ColumnPlan,
    dense,
    inputs_of,
    is_coarse,
    require_no_masks,
)
from wengert.sklearn.estimator_parameters import (
    OF_OPTIMIZER,
    hidden_sizes,
    require_no_negative_weights,
    require_parameters,
    require_same_network,
    require_same_optimizer,
)
from wengert.sklearn.minimising import LBFGS_NAME, minimise, require_whole_batches
from wengert.sklearn.network import BATCH, NetworkPlan
from wengert.sklearn.plateau import Plateau
from wengert.sklearn.step_pool import PooledStep
from wengert.sklearn.training import (
    Order,
    Rows,
    Trained,
    begun_state,
    model_of,
    optimizer_of,
    train,
)
from wengert.train.step import TrainStep

Array = np.ndarray[Any, Any]
# Numbers from which on float32 is computed with: by steps, and by a search over all rows.
SOME, MANY = 2**11, 2**16
ROWS_AT_ONCE = 8192  # of a prediction
AUTO_BATCH = 200  # rows, as scikit-learn has it
ARRAYS = "arrays"  # the part of a step's state that is written as safetensors


def not_finite(name: str, epochs: int) -> ValueError:
    """The refusal of a training that leads to numbers that are not finite."""
    return ValueError(
        f"{name}: training was not finite after {epochs} epochs; the data may have very large "
        "values, or the learning rate is too high. Standardise the columns, or choose a smaller "
        "learning_rate_init."
    )


class NetworkEstimator(BaseEstimator):  # type: ignore[misc]
    """A network with scikit-learn's interface. Its parameters are those of scikit-learn's
    estimators of the same name, and those of this library.
    """

    _state: Mapping[str, Any]  # of the step that trained it
    _network: NetworkPlan
    _columns: ColumnPlan
    _seed: int  # of the order of rows and of dropout
    _optimizer_settings: Mapping[str, Any]  # parameters of the last training
    _rate: float  # and its learning_rate_init
    _steps: int  # that max_iter epochs take, as counted when training began

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        optimizer: Any = None,
        schedule: Any = None,
        clip_norm: float | None = None,
        dropout: float = 0.0,
        norm: str | None = None,
        categorical_features: Any = FROM_DTYPE,
        embedding_size: Any = "auto",
        dtype: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.optimizer = optimizer
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.dropout = dropout
        self.norm = norm
        self.categorical_features = categorical_features
        self.embedding_size = embedding_size
        self.dtype = dtype
        self.threads = threads

    # What the two kinds of estimators add.

    def _targets(self, y: Any, first: bool, incremental: bool) -> Array:
        """Targets as the network takes them. A first call decides what there is to predict."""
        raise NotImplementedError

    def _output(self) -> tuple[str, int]:
        """What is made of the last layer, and how many outputs it has."""
        raise NotImplementedError

    def _row_weights(self, y: Any, weight: Array) -> Array:
        """Weights of rows, with those of their classes."""
        raise NotImplementedError

    def _validation_score(self, target: Array, outputs: Array, weight: Array) -> float:
        """How well what the last layer computes agrees with targets, as the network takes them."""
        raise NotImplementedError

    def _stratified(self, y: Array) -> Array | None:
        """What decides which rows validate: classes that both parts must have."""
        raise NotImplementedError

    # Training.

    def _fit(self, X: Any, y: Any, sample_weight: Any, incremental: bool) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__}: requires y to be passed, but the target y is None; it has "
                "one entry per row of X. Call fit(X, y)."
            )
        require_parameters(self, self.get_params(deep=False))
        hidden = hidden_sizes(self)
        if self.solver == LBFGS_NAME:
            require_whole_batches(type(self).__name__, self.get_params(deep=False), incremental)
        first = not hasattr(self, "_state") or not (self.warm_start or incremental)
        require_no_masks(type(self).__name__, {"y": y, "sample_weight": sample_weight})
        columns, inputs = inputs_of(
            self,
            X,
            None if first else self._columns,
            self.categorical_features,
            trains=True,
            more_follow=bool(self.warm_start or incremental),
        )
        check_consistent_length(X, y)
        warn_of_row_order(type(self).__name__, ("X", "y", "sample_weight"), (X, y, sample_weight))
        if not first:
            require_same_network(self, self._network, hidden)
        if incremental and not first:
            require_same_optimizer(self, self._optimizer_settings)
        targets = self._targets(y, first, incremental)
        weight = _check_sample_weight(sample_weight, targets, dtype=np.float64)
        require_no_negative_weights(self, weight)
        weight = self._row_weights(y, weight)
        random = check_random_state(self.random_state)
        # Drawn in scikit-learn's order: the same weights to begin with, the same validation data.
        self._columns = columns
        if first:
            self._network = self._planned(columns, inputs, targets, hidden)
            model = self._network.initial(random)
        else:
            model = model_of(self._network, self._state)[0]
        rows = self._rows(inputs, targets, weight)
        if (
            self.norm == BATCH and not rows.weight.all()
        ):  # its statistics would count rows of weight 0
            rows = rows.taken(np.flatnonzero(rows.weight))
        training, validation = self._divided(rows, random, incremental)
        if first:
            self._seed = int(random.randint(2**31))
            self.loss_curve_: list[float] = []
            self.n_iter_, self.t_ = 0, 0
        if self.solver == LBFGS_NAME:
            self._minimise(training, model)
        else:
            self._train(training, validation, model, first, incremental)

    def _planned(
        self,
        columns: ColumnPlan,
        inputs: Mapping[str, Any],
        targets: Array,
        hidden: tuple[int, ...],
    ) -> NetworkPlan:
        numbers = inputs.get("numbers")
        counts = [len(known) + 1 for known in columns.categories]
        output, outputs = self._output()
        return NetworkPlan(
            numbers=0 if numbers is None else int(numbers.shape[1]),
            tables=tuple((count, self._embedding_size(count)) for count in counts),
            hidden=hidden,
            outputs=outputs,
            activation=self.activation,
            output=output,
            dropout=float(self.dropout),
            norm=self.norm,
            dtype=self._computed_dtype(inputs, targets),
        )

    def _computed_dtype(self, inputs: Mapping[str, Any], targets: Array) -> str:
        """What is computed with: float32 trains in about half the time and scores as well, unless
        it cannot tell the numbers apart. For very few of them float64 costs nothing. A search over
        all rows compares losses that are very close to each other.
        """
        if self.dtype != "auto":
            return self.dtype
        numbers = inputs.get("numbers")
        given = "float64" if numbers is None else str(numbers.dtype.name)
        fewest = MANY if self.solver == LBFGS_NAME else SOME
        if sum(math.prod(x.shape) for x in inputs.values()) < fewest:
            return given
        coarse = (numbers is not None and is_coarse(numbers)) or is_coarse(targets)
        return given if coarse else "float32"

    def _embedding_size(self, count: int) -> int:
        """How many numbers stand for a category: more where there are more categories."""
        if self.embedding_size != "auto":
            return int(self.embedding_size)
        return min(50, math.ceil(1.6 * math.pow(count, 0.56)))

    def _rows(self, inputs: Mapping[str, Any], targets: Array, weight: Array) -> Rows:
        kind = self._network.dtype
        kept = {name: x for name, x in inputs.items() if name != "numbers"}
        if self._network.numbers:
            kept["numbers"] = dense(inputs["numbers"], kind)
        y = targets if targets.dtype.kind == "i" else targets.astype(kind)
        return Rows(kept, y, weight.astype(kind))

    def _divided(
        self, rows: Rows, random: np.random.RandomState, incremental: bool
    ) -> tuple[Rows, Rows | None]:
        """The rows that train, and those that validate."""
        if not self.early_stopping:
            return rows, None
        if incremental:
            raise ValueError(
                "partial_fit: early_stopping=True was given; it compares epochs over the same "
                "data, and partial_fit is given new ones. Set it to False, or call fit."
            )
        chosen, held_back = train_test_split(
            np.arange(len(rows)),
            random_state=random,
            test_size=self.validation_fraction,
            stratify=self._stratified(rows.y),
        )
        if len(held_back) < 2:
            raise ValueError(
                f"fit: validation_fraction={self.validation_fraction} of {len(rows)} rows is one "
                "row; at least two are needed. Choose a larger one, or more data."
            )
        return rows.taken(chosen), rows.taken(held_back)

    def _batch_rows(self, rows: int) -> int:
        if self.batch_size == "auto":
            return min(AUTO_BATCH, rows)
        if self.batch_size > rows:
            warn_user(
                f"{type(self).__name__}: batch_size={self.batch_size} was given for {rows} rows; "
                "all of them are one batch. Choose a smaller one.",
                UserWarning,
            )
        return min(int(self.batch_size), rows)

    def _train(
        self, training: Rows, validation: Rows | None, model: Any, first: bool, incremental: bool
    ) -> None:
        size = self._batch_rows(len(training))
        epochs = 1 if incremental else self.max_iter
        settings = self.get_params(deep=False)
        if first or not incremental:  # partial fits go on in the schedule of the first
            self._steps = self.max_iter * -(-len(training) // size)
        try:
            optimizer, shared = optimizer_of(settings, self._steps)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        plateau = Plateau(
            rows=len(training),
            batch_size=size,
            tol=self.tol,
            patience=self.n_iter_no_change,
            rate=self.learning_rate if self.solver == "sgd" else "constant",
            rate_init=self.learning_rate_init,
            power=self.power_t,
            seen=self.t_,
        )
        order = Order(
            epochs=epochs,
            batch_size=size,
            alpha=self.alpha,
            seed=self._seed,
            shuffle=self.shuffle,
            verbose=bool(self.verbose),
            plateau=plateau,
            score=self._validation_score,
            clip_norm=self.clip_norm,
            threads=self.threads,
        )

        def begin(pooled: PooledStep) -> None:
            if incremental and not first:
                pooled.step.load_state_dict(self._state)
                self._set_numbers(pooled.step)
            else:
                pooled.begin(model, self._seed, self.clip_norm)

        try:
            trained = train(self._network, optimizer, shared, order, training, validation, begin)
        except NonFiniteError as error:
            raise not_finite(type(self).__name__, len(plateau.losses)) from error
        self._optimizer_settings = {name: settings[name] for name in OF_OPTIMIZER}
        self._rate = self.learning_rate_init
        self._note(trained, plateau, validation is not None, incremental)

    def _set_numbers(self, step: TrainStep) -> None:
        """Let numbers that were changed since the last call act on a step that goes on."""
        has_rate = self.schedule is None and not isinstance(self.optimizer, Optimizer)
        if has_rate and self.learning_rate_init != self._rate:
            step.optimizer.learning_rate = self.learning_rate_init
        if self.clip_norm is not None:
            step.clip_norm = self.clip_norm

    def _minimise(self, rows: Rows, model: Any) -> None:
        """Search over all rows at once, and keep what was found as a step would."""
        try:
            minimum = minimise(self._network, model, rows, self.get_params(deep=False))
        except NonFiniteError as error:
            raise not_finite(type(self).__name__, 0) from error
        plateau = Plateau(len(rows), len(rows), self.tol, self.n_iter_no_change, seen=self.t_)
        plateau.losses, plateau.converged = [minimum.loss], minimum.converged
        state = begun_state(self._network, minimum.model, self._seed, self.threads)
        self._note(Trained(state, None, interrupted=False), plateau, False, False)
        self.n_iter_ = minimum.iterations

    def _note(self, trained: Trained, plateau: Plateau, validated: bool, incremental: bool) -> None:
        """Set the attributes that a fit leaves."""
        self._state = trained.state
        self.history_ = trained.history
        self.loss_curve_ = [*self.loss_curve_, *plateau.losses]
        self.loss_ = self.loss_curve_[-1] if self.loss_curve_ else np.nan
        self.n_iter_ = (self.n_iter_ if incremental else 0) + len(plateau.losses)
        self.t_ = plateau.seen
        self.validation_scores_ = list(plateau.scores) if validated else None
        self.best_validation_score_ = max(plateau.scores, default=None) if validated else None
        self.best_loss_ = None if validated else min(self.loss_curve_, default=None)
        self.n_outputs_ = self._network.outputs
        self.n_layers_ = len(self._network.sizes)
        self.out_activation_ = self._network.output
        if not (incremental or plateau.converged or trained.interrupted):
            warn_user(
                f"{type(self).__name__}: max_iter={self.max_iter} epochs were taken, and training "
                "has not converged; it would become better by more than tol. Choose a larger "
                "max_iter, or a larger tol.",
                ConvergenceWarning,
            )

    # What was trained.

    @property
    def coefs_(self) -> list[Array]:
        """The weights of each layer, (inputs, outputs)."""
        return [layer["weight"] for layer in model_of(self._network, self._state)[0]["layers"]]

    @coefs_.setter
    def coefs_(self, given: Any) -> None:
        self._refuse_setting("coefs_")

    @property
    def intercepts_(self) -> list[Array]:
        """The biases of each layer."""
        return [layer["bias"] for layer in model_of(self._network, self._state)[0]["layers"]]

    @intercepts_.setter
    def intercepts_(self, given: Any) -> None:
        self._refuse_setting("intercepts_")

    def _refuse_setting(self, name: str) -> None:
        raise AttributeError(
            f"{type(self).__name__}.{name}: it was set to another list; the list is made of the "
            "network's arrays whenever it is read. Write into these: "
            f"estimator.{name}[0][...] = …."
        )

    def _last_layer(self, X: Any) -> Array:
        """What the last layer computes for rows, in NumPy; a sparse matrix piece by piece."""
        check_is_fitted(self)
        _, inputs = inputs_of(self, X, self._columns, self.categorical_features)
        given = inputs["numbers"].dtype if "numbers" in inputs else np.float64
        model, state = model_of(self._network, self._state)
        count = next(iter(inputs.values())).shape[0]
        parts = []
        for begin in range(0, count, ROWS_AT_ONCE):
            rows = {name: x[begin : begin + ROWS_AT_ONCE] for name, x in inputs.items()}
            if "numbers" in rows:
                rows["numbers"] = dense(rows["numbers"], self._network.dtype)
            parts.append(np.asarray(self._network.last_layer(model, rows, state)[0]))
        outputs = np.concatenate(parts)
        # Probabilities add up to 1 in the dtype of the data, whatever was computed with.
        wider = np.result_type(outputs, given) if self.dtype == "auto" else outputs.dtype
        return outputs.astype(wider)

    def _outcome(self, X: Any) -> Array:
        outputs = self._last_layer(X)
        return self._network.outcome(outputs)

    # Files: arrays are written as safetensors.

    def __getstate__(self) -> dict[str, Any]:
        saved = dict(super().__getstate__())
        if "_state" in saved:
            state = dict(saved["_state"])
            arrays = {
                f"{kind}/{path}": np.ascontiguousarray(x)
                for kind, of_kind in state.pop(ARRAYS).items()
                for path, x in of_kind.items()
            }
            saved["_state"] = {"safetensors": to_bytes(arrays), "others": state}
        return saved

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_state" in state:
            arrays: dict[str, dict[str, Array]] = {}
            for name, x in from_bytes(state["_state"]["safetensors"]).items():
                kind, _, path = name.partition("/")
                arrays.setdefault(kind, {})[path] = x
            state["_state"] = {**state["_state"]["others"], ARRAYS: arrays}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
