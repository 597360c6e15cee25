"""MLPRegressor: one number or several per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array

from wengert.core.trees.row_labels import warn_of_row_order
from wengert.core.words.arguments import worded_methods
from wengert.sklearn.columns import FROM_DTYPE
from wengert.sklearn.estimator import NetworkEstimator
from wengert.sklearn.network import EXP, IDENTITY
from wengert.train.metrics import r2

Array = np.ndarray[Any, Any]


@worded_methods("__init__", "fit")
class MLPRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A network that predicts numbers, trained on half the squared error, or with
    `loss="poisson"` on half the deviance of counts.

    Its parameters are those of scikit-learn's MLPRegressor, of which `loss` is given by name, and
    the additional ones that `MLPClassifier` has, except `class_weight`.

    >>> from wengert.sklearn import MLPRegressor
    >>> x = np.linspace(-2, 2, 200)[:, None]
    >>> network = MLPRegressor(
    ...     (32,), "tanh", learning_rate_init=0.02, batch_size=50, random_state=0
    ... )
    >>> bool(network.fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])) > 0.99)
    True
    """

    _flat: bool  # whether targets are one number per row
    _outputs: int

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        loss: str = "squared_error",
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
        super().__init__(
            hidden_layer_sizes,
            activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            power_t=power_t,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
            warm_start=warm_start,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            n_iter_no_change=n_iter_no_change,
            max_fun=max_fun,
            optimizer=optimizer,
            schedule=schedule,
            clip_norm=clip_norm,
            dropout=dropout,
            norm=norm,
            categorical_features=categorical_features,
            embedding_size=embedding_size,
            dtype=dtype,
            threads=threads,
        )
        self.loss = loss

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Train on rows of X and their numbers y; `sample_weight` says how much each row counts."""
        self._fit(X, y, sample_weight, incremental=False)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Train for one epoch on these rows, from where the last call has left off."""
        self._fit(X, y, sample_weight, incremental=True)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The R² of predictions for these rows."""
        warn_of_row_order(type(self).__name__, ("X", "y", "sample_weight"), (X, y, sample_weight))
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Any) -> Array:
        """The number, or numbers, of each row."""
        outcome = self._outcome(X)
        return outcome[:, 0] if self._flat else outcome

    def _targets(self, y: Any, first: bool, incremental: bool) -> Array:
        targets = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        if self.loss == "poisson" and np.any(targets < 0):
            raise ValueError(
                f"{type(self).__name__}: y has numbers below 0, and loss='poisson' was given; it "
                "is for counts. Choose loss='squared_error', or other targets."
            )
        outputs = 1 if targets.ndim == 1 else targets.shape[1]
        if first:
            self._flat, self._outputs = targets.ndim == 1 or outputs == 1, outputs
        elif outputs != self._outputs:
            raise ValueError(
                f"{type(self).__name__}: y has {outputs} columns; the network was made for "
                f"{self._outputs}. Pass as many, or fit a new one."
            )
        return np.asarray(targets, np.float64).reshape(len(targets), -1)

    def _output(self) -> tuple[str, int]:
        return EXP if self.loss == "poisson" else IDENTITY, self._outputs

    def _row_weights(self, y: Any, weight: Array) -> Array:
        del y
        return weight

    def _validation_score(self, target: Array, outputs: Array, weight: Array) -> float:
        return r2(target, self._network.outcome(outputs), weight if weight.any() else None)

    def _stratified(self, y: Array) -> Array | None:
        del y
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
