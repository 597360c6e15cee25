"""LayerNorm, RMSNorm and BatchNorm: mean 0 and variance 1, along features or over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.dims import has_dims, product
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.functions.batch_statistics import (
    note_batch_statistics,
    note_begun_with,
    note_kept_statistics,
)
from wengert.functions.parameter import canonical_number
from wengert.functions.whole_batch import batch_moments, is_batch_shared
from wengert.interpret.mistakes.channel_axes import note_axis_of_features
from wengert.nn.first_states import look_at_first_state
from wengert.nn.layer_arguments import as_sequence, require_float, require_size
from wengert.nn.showing import shown_layer


def _eps(by: str, eps: Any) -> float:
    return canonical_number(by, "eps", eps, lambda number: number >= 0, "a number >= 0")


def _sizes(by: str, size: Any) -> tuple[int, ...]:
    sizes = as_sequence(size) or (size,)
    return tuple(require_size(by, "size", each) for each in sizes)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class LayerNorm(Explained):
    """The last axes of x brought to mean 0 and variance 1, then times `scale` plus `shift`.

    `size` is that of the last axis, or the sizes of several. The variance is that of all elements,
    and what is divided by is sqrt(variance + eps), as in `wg.layer_norm`.

    >>> norm = wg.nn.LayerNorm(2, eps=0.0, dtype=np.float64)
    >>> norm(np.array([[1.0, 3.0]]))
    array([[-1.,  1.]])
    """

    scale: Any  # of the size, ones at first
    shift: Any  # zeros at first
    eps: float

    torch_names: ClassVar[dict[str, str]] = {"scale": "weight", "shift": "bias"}

    def __init__(
        self, size: int | Sequence[int], *, eps: float = 1e-5, dtype: Any = np.float32
    ) -> None:
        sizes, float_dtype = _sizes("LayerNorm", size), require_float("LayerNorm", dtype)
        if product(sizes) == 1:
            raise ValueError(
                f"LayerNorm: size={size!r} was given, one number; it is its own mean, so that the "
                "result does not depend on x. Give the size of the features, or leave the layer "
                "out."
            )
        self.scale, self.shift = np.ones(sizes, float_dtype), np.zeros(sizes, float_dtype)
        self.eps = _eps("LayerNorm", eps)

    def __call__(self, x: Value) -> Value:
        axes = tuple(range(-len(self.scale.shape), 0))
        return op.layer_norm(x, self.scale, self.shift, axes, self.eps)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class RMSNorm(Explained):
    """The last axes of x divided by their root mean square, then times `scale`.

    `size` is that of the last axis, or the sizes of several. What is divided by is sqrt(mean of
    squares + eps), as in `wg.rms_norm`.

    >>> wg.nn.RMSNorm(2, eps=0.0, dtype=np.float64)(np.array([[1.0, 7.0]]))
    array([[0.2, 1.4]])
    """

    scale: Any  # of the size, ones at first
    eps: float

    torch_names: ClassVar[dict[str, str]] = {"scale": "weight"}

    def __init__(
        self, size: int | Sequence[int], *, eps: float = 1e-6, dtype: Any = np.float32
    ) -> None:
        self.scale = np.ones(_sizes("RMSNorm", size), require_float("RMSNorm", dtype))
        self.eps = _eps("RMSNorm", eps)

    def __call__(self, x: Value) -> Value:
        axes = tuple(range(-len(self.scale.shape), 0))
        return op.rms_norm(x, self.scale, axes, self.eps)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class BatchNorm(Explained):
    """Features brought to mean 0 and variance 1 over the batch, then times `scale` plus `shift`.

    The last axis of x is that of the features, or the one that `axis` says: 1 for images, (batch,
    channels, *space). All others are the batch. It is called as
    `y, state = norm(x, state, training=…)`. While training, mean and variance are those of the
    batch, and the new state is (1 - momentum) · old + momentum · new, without a gradient. Otherwise
    they are those of the state, which stays as it is. `initial_state()` is what to begin with, and
    what `TrainStep(state=…)` can carry. All variances are those of all elements (correction 0).
    A batch of one value per feature is refused while training. In a step that ranks share,
    statistics are those of the whole batch, over all ranks.

    >>> norm = wg.nn.BatchNorm(1, momentum=0.5, eps=0.0, dtype=np.float64)
    >>> y, state = norm(np.array([[1.0], [3.0]]), norm.initial_state(), training=True)
    >>> y.ravel(), state
    (array([-1.,  1.]), {'mean': array([1.]), 'var': array([1.])})
    """

    scale: Any  # (features,), ones at first
    shift: Any  # (features,), zeros at first
    momentum: float
    eps: float
    axis: int = -1

    torch_names: ClassVar[dict[str, str]] = {"scale": "weight", "shift": "bias"}

    def __init__(
        self,
        size: int,
        *,
        momentum: float = 0.1,
        eps: float = 1e-5,
        axis: int = -1,
        dtype: Any = np.float32,
    ) -> None:
        features = require_size("BatchNorm", "size", size)
        float_dtype = require_float("BatchNorm", dtype)
        self.scale, self.shift = np.ones(features, float_dtype), np.zeros(features, float_dtype)
        self.momentum = canonical_number(
            "BatchNorm", "momentum", momentum, lambda m: 0 <= m <= 1, "in [0, 1]"
        )
        self.eps = _eps("BatchNorm", eps)
        given: Any = axis
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            raise TypeError(
                f"BatchNorm: axis={axis!r} was given; it must be a whole number, the axis of the "
                "features. Write axis=1 for images."
            )
        self.axis = int(axis)

    def initial_state(self) -> dict[str, Any]:
        """Running statistics before the first batch: mean 0 and variance 1."""
        like = self.scale
        mean = note_begun_with(np.zeros(like.shape, like.dtype))
        return {"mean": mean, "var": np.ones(like.shape, like.dtype)}

    def __call__(
        self, x: Value, state: dict[str, Any], *, training: bool
    ) -> tuple[Value, dict[str, Any]]:
        x = op.asarray(x)
        self._require(x, state)
        if self.axis == -1:
            note_axis_of_features("BatchNorm", x)
        if not training:
            note_kept_statistics(state["mean"], state["var"], self.scale)
            look_at_first_state(state["mean"], state["var"], self.scale, self.shift)
            mean, var, scale, shift = (
                self._placed(each, x)
                for each in (state["mean"], state["var"], self.scale, self.shift)
            )
            return (x - mean) / op.sqrt(var + self.eps) * scale + shift, state
        y, new = self._over_whole_batch(x, state) if is_batch_shared() else self._over(x, state)
        note_batch_statistics(new["mean"], state["mean"], state["var"], self.scale)
        return y, new

    def _over(self, x: Value, state: dict[str, Any]) -> tuple[Value, dict[str, Any]]:
        """Normalized over x itself, and the new state."""
        self._require_several(x)
        feature = self.axis % len(x.shape)
        axes = tuple(i for i in range(len(x.shape)) if i != feature)
        sizes = tuple(x.shape[i] for i in axes)
        scale = op.for_several(self.scale, sizes) if has_dims(x.shape) else self.scale
        y = op.batch_norm(x, scale, self.shift, axes, self.eps)
        statistics = {"mean": op.mean(x, axes), "var": op.var(x, axes)}
        return y, {name: self._mixed(state[name], statistics[name]) for name in statistics}

    def _over_whole_batch(self, x: Value, state: dict[str, Any]) -> tuple[Value, dict[str, Any]]:
        """The same where x is a micro-batch: the statistics are those of all of them."""
        feature = self.axis % len(x.shape)
        axes = tuple(i for i in range(len(x.shape)) if i != feature)
        mean, var, apart = batch_moments(x, axes)
        scale, shift = self._placed(self.scale, x), self._placed(self.shift, x)
        y = apart / op.sqrt(var + self.eps) * scale + shift
        statistics = {"mean": mean, "var": var}
        return y, {
            name: self._mixed(state[name], op.reshape(each, self.scale.shape))
            for name, each in statistics.items()
        }

    def _placed(self, each: Value, x: Value) -> Value:
        """A number for each feature, with axes of size 1 behind that of the features."""
        behind = len(x.shape) - 1 - self.axis % len(x.shape)
        return each if not behind else op.reshape(each, (*each.shape, *(1,) * behind))

    def _mixed(self, old: Value, new: Value) -> Value:
        return (1 - self.momentum) * old + self.momentum * op.stop_gradient(new)

    def _require(self, x: Any, state: Any) -> None:
        if not isinstance(state, dict) or state.keys() != {"mean", "var"}:
            raise TypeError(
                f"BatchNorm: state is {type(state).__name__}; it must be a dict of mean and var. "
                "Begin with norm.initial_state(), and pass on what each call returns."
            )
        shape, features = tuple(x.shape), self.scale.shape[0]
        for name, each in state.items():
            is_array = tree.is_leaf(each)
            if not is_array or tuple(each.shape) != (features,):
                given = f"of shape {tuple(each.shape)}" if is_array else type(each).__name__
                error = ShapeError(
                    f"BatchNorm: {name} of the state is {given}; it must be an array of shape "
                    f"{(features,)}. Begin with norm.initial_state()."
                )
                raise located(error, [x])
        inside = len(shape) >= 2 and -len(shape) <= self.axis < len(shape)
        if not inside or shape[self.axis] != features:
            which = "its last axis" if self.axis == -1 else f"axis {self.axis}"
            images = len(shape) > 2 and self.axis == -1 and shape[1] == features
            error = ShapeError(
                f"BatchNorm: x has shape {shape}; {which} must be the {features} features, and "
                "there must be others, the batch. "
                + ("Write BatchNorm(…, axis=1)." if images else "Reshape it.")
            )
            raise located(error, [x])

    def _require_several(self, x: Any) -> None:
        """Refuse one value per feature: it is its own mean, whatever it is."""
        feature = self.axis % len(x.shape)
        if product(tuple(n for i, n in enumerate(x.shape) if i != feature)) == 1:
            error = ShapeError(
                f"BatchNorm: x has shape {tuple(x.shape)} with training=True, one value for each "
                "feature; the mean of a batch needs several. Leave such a batch out, with "
                "drop_last=True or another batch_size, or pass training=False."
            )
            raise located(error, [x])

    def __repr__(self) -> str:
        return shown_layer(self)
