"""MLPClassifier: classes, two or several, or several labels per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
    type_of_target,
    unique_labels,
)
from sklearn.utils.validation import check_array

from wengert.core.trees.row_labels import warn_of_row_order
from wengert.core.words.arguments import worded_methods
from wengert.core.words.warn import warn_user
from wengert.sklearn.columns import FROM_DTYPE
from wengert.sklearn.estimator import NetworkEstimator
from wengert.sklearn.estimator_parameters import require_class_weight
from wengert.sklearn.given_tables import require_labels
from wengert.sklearn.network import LOGISTIC, SOFTMAX

Array = np.ndarray[Any, Any]


@worded_methods("__init__", "fit")
class MLPClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A network that tells classes apart, trained on the log loss.

    Its parameters are those of scikit-learn's MLPClassifier, with these beside them: `optimizer`, a
    name or an object of `wg.optim` in the place of the solver; `schedule`, "cosine" or a schedule
    of `wg.optim`; `clip_norm`; `dropout` behind each hidden layer; `norm`, "batch" or "layer";
    `categorical_features`, columns that become embeddings: those of such dtypes in a DataFrame, or
    a list of names or positions; `embedding_size`; `class_weight`; `dtype`: "auto" computes
    in float32, and in the dtype of the data where these are fewer than 2,048 numbers or float32
    cannot tell them apart; and `threads`.

    >>> from sklearn.datasets import load_iris
    >>> from wengert.sklearn import MLPClassifier
    >>> x, y = load_iris(return_X_y=True)
    >>> network = MLPClassifier((16,), learning_rate_init=0.02, random_state=0).fit(x, y)
    >>> bool(network.score(x, y) > 0.95), network.predict_proba(x[:1]).shape
    (True, (1, 3))
    """

    classes_: Any
    _multilabel: bool

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
        class_weight: Any = None,
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
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPClassifier:
        """Train on rows of X and their classes y; `sample_weight` says how much each row counts."""
        self._fit(X, y, sample_weight, incremental=False)
        return self

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
    ) -> MLPClassifier:
        """Train for one epoch on these rows, from where the last call has left off. The first call
        names all `classes`. Weights of classes are those of a dict: "balanced" needs all rows.
        """
        require_labels(type(self).__name__, y)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"{type(self).__name__}: class_weight={self.class_weight!r} in partial_fit; the "
                "rows of one call do not tell how frequent classes are in all of them. Pass a dict "
                "of weights by class: sklearn.utils.class_weight.compute_class_weight('balanced', "
                "classes=classes, y=all_y) gives them, in the order of classes."
            )
        if _check_partial_fit_first_call(self, classes):
            self._multilabel = type_of_target(y).startswith("multilabel")
        self._fit(X, y, sample_weight, incremental=True)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of predictions for these rows."""
        warn_of_row_order(type(self).__name__, ("X", "y", "sample_weight"), (X, y, sample_weight))
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Any) -> Array:
        """The class of each row; of several labels, which of them it has."""
        outputs = self._last_layer(X)
        if self._multilabel:
            return (outputs > 0).astype(np.int64)
        chosen = outputs[:, 0] > 0 if self._network.output == LOGISTIC else outputs.argmax(axis=1)
        return np.asarray(self.classes_[chosen.astype(np.int64)])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of `classes_`."""
        probabilities = self._outcome(X)
        if self._network.output == LOGISTIC and not self._multilabel:
            return np.hstack([1 - probabilities, probabilities])
        return probabilities

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def _targets(self, y: Any, first: bool, incremental: bool) -> Array:
        require_labels(type(self).__name__, y)
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y", accept_sparse="csr")
        y = y.toarray() if hasattr(y, "toarray") else y
        check_classification_targets(y)
        multilabel = type_of_target(y).startswith("multilabel")
        y = y if multilabel else column_or_1d(y, warn=True)
        if first and not (incremental and hasattr(self, "classes_")):
            self._multilabel, self.classes_ = multilabel, unique_labels(y)
            if multilabel:
                self._note_one_hot(y)
        if multilabel:
            return np.asarray(y, np.float64)
        given = np.unique(y)
        unknown = np.setdiff1d(given, self.classes_)
        if len(unknown) or (
            self.warm_start and not incremental and len(given) < len(self.classes_)
        ):
            raise ValueError(
                f"{type(self).__name__}: y has the classes {given.tolist()}; the network was made "
                f"for {np.asarray(self.classes_).tolist()}. Pass all of them to the first call, or "
                "fit a new one."
            )
        codes: Array = np.searchsorted(self.classes_, y)
        return codes if len(self.classes_) != 2 else codes[:, None].astype(np.float64)

    def _note_one_hot(self, y: Array) -> None:
        """Warn of labels that look like classes in one-hot form."""
        if y.shape[0] > 1 and y.shape[1] > 1 and np.all(np.sum(y != 0, axis=1) == 1):
            warn_user(
                f"{type(self).__name__}: y has one 1 in each of its {len(y)} rows, as classes in "
                "one-hot form have; each column is learned as a label of its own, of which a row "
                "may have several or none. For classes, pass y.argmax(axis=1).",
                UserWarning,
            )

    def _output(self) -> tuple[str, int]:
        if self._multilabel:
            return LOGISTIC, len(self.classes_)
        return (LOGISTIC, 1) if len(self.classes_) == 2 else (SOFTMAX, len(self.classes_))

    def _row_weights(self, y: Any, weight: Array) -> Array:
        if self.class_weight is None:
            return weight
        require_class_weight(self, self.class_weight, self.classes_)
        if isinstance(self.class_weight, Mapping) and not self._multilabel:
            # A part of the classes may be in y, and weights of the others are no mistake.
            given = self.class_weight
            y = np.asarray(y).reshape(-1)
            by_class = np.array([given.get(c, 1.0) for c in self.classes_.tolist()], np.float64)
            return np.asarray(weight * by_class[np.searchsorted(self.classes_, y)])
        return np.asarray(weight * compute_sample_weight(self.class_weight, y))

    def _validation_score(self, target: Array, outputs: Array, weight: Array) -> float:
        if self._network.output == LOGISTIC:
            right = np.all((outputs > 0) == (target > 0.5), axis=1)
        else:
            right = outputs.argmax(axis=1) == target
        total = np.add.reduce(weight)
        return float(np.add.reduce(right * weight) / total) if total else 0.0

    def _stratified(self, y: Array) -> Array | None:
        return None if self._multilabel else y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
