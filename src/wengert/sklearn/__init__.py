"""Estimators for scikit-learn: networks that are trained by `wg.train.fit`.

>>> from wengert.sklearn import MLPClassifier
>>> x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 8)
>>> y = np.array(["same", "other", "other", "same"] * 8)
>>> network = MLPClassifier((16,), learning_rate_init=0.05, random_state=0, max_iter=100)
>>> float(network.fit(x, y).score(x, y))
1.0
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"wengert.sklearn: scikit-learn cannot be imported ({error}); the estimators stand on its "
        "classes. Run pip install 'wengert[sklearn]'."
    ) from error

from wengert.sklearn.classifier import MLPClassifier
from wengert.sklearn.regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
