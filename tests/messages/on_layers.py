"""Bad input to layers, to an Mlp, and to the memory it computes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

nn = wg.nn
row = np.ones(3, np.float32)


def mlp(*dims: int, **options: Any) -> nn.Mlp:
    return nn.Mlp(dims or (3, 4, 2), **options)


def forward(x: Any, model: nn.Mlp | None = None, scratch: Any = None) -> Any:
    """Run an Mlp of 3 inputs with a scratch of its own, or with something else."""
    model = mlp() if model is None else model
    return model.forward(x, mlp().scratch() if scratch is None else scratch)


def backward(scratch: Any = None, grads: Any = None) -> Any:
    """Run it there and back, the latter with memory that does not fit."""
    model = mlp()
    own = model.scratch()
    model.forward(row, own)
    return model.backward(
        row, own if scratch is None else scratch, model.gradients() if grads is None else grads
    )


def gradients(fill: float = 1.0) -> nn.Gradients:
    found = mlp().gradients()
    found.params.fill(fill)
    return found


def while_another_thread_runs() -> Any:
    model = mlp()
    scratch = model.scratch()
    assert scratch.bound._entry.claim()  # as a call in another thread does
    return model.forward(row, scratch)


def with_layers_of_two_dtypes() -> Any:
    model = mlp()
    scratch = model.scratch()
    model.layers[1].bias = np.zeros(2)
    return model.forward(row, scratch)


def normalized(x: Any, state: Any = None) -> Any:
    norm = nn.BatchNorm(3)
    return norm(x, norm.initial_state() if state is None else state, training=True)


def beyond_all_floats() -> float:
    found = mlp(3, 2, dtype=np.float64).gradients()
    found.params.fill(np.finfo(np.float64).max)
    return found.global_l2_norm_params()


LAYERS: dict[str, Callable[[], Any]] = {
    "BatchNorm: a size of 0": lambda: nn.BatchNorm(0),
    "BatchNorm: no batch": lambda: normalized(row),
    "BatchNorm: one value per feature": lambda: normalized(np.ones((1, 3))),
    "BatchNorm: one value per feature, traced": lambda: wg.compile(normalized)(np.ones((1, 3))),
    "BatchNorm: other features": lambda: normalized(np.ones((2, 4))),
    "BatchNorm: other features, traced": lambda: wg.compile(normalized)(np.ones((2, 4))),
    "BatchNorm: another state": lambda: normalized(np.ones((2, 3)), (0.0, 1.0)),
    "BatchNorm: a momentum above 1": lambda: nn.BatchNorm(3, momentum=1.5),
    "BatchNorm: a state of another size": lambda: normalized(
        np.ones((2, 3)), nn.BatchNorm(2).initial_state()
    ),
    "BatchNorm: a state without arrays": lambda: normalized(
        np.ones((2, 3)), {"mean": None, "var": None}
    ),
    "Dropout: a rate of 1": lambda: nn.Dropout(1.0),
    "Embedding: a row that does not exist": lambda: nn.Embedding(5, 2)(np.array([5])),
    "GRU: a sequence without a time": lambda: nn.GRU(3, 4)(row),
    "GRU: another width": lambda: nn.GRU(3, 4)(np.ones((5, 2))),
    "GRU: another width, traced": lambda: wg.compile(nn.GRU(3, 4).__call__)(np.ones((5, 2))),
    "GRU: a state of another batch": lambda: nn.GRU(3, 4)(np.ones((5, 2, 3)), np.ones((5, 4))),
    "Sequential: a class": lambda: nn.Sequential(nn.Linear(3, 2), nn.Dropout),
    "Sequential: a BatchNorm": lambda: nn.Sequential(nn.BatchNorm(3)),
    "nn.linear: a module that is called": lambda: nn.linear(3, 2),  # type: ignore[operator]
    "nn.Module: a name from elsewhere": lambda: nn.Module,  # type: ignore[attr-defined]
    "nn.Linaer: a name that is mistyped": lambda: nn.Linaer,  # type: ignore[attr-defined]
    "nn: a name that nothing is like": lambda: nn.Zzz,  # type: ignore[attr-defined]
    "Linear: a method from elsewhere": lambda: nn.Linear(3, 2).parameters(),  # type: ignore[attr-defined]
    "Linear: a field that is mistyped": lambda: nn.Linear(3, 2).wieght,  # type: ignore[attr-defined]
    "LayerNorm: a negative eps": lambda: nn.LayerNorm(3, eps=-1.0),
    "Linear: a size that is no whole number": lambda: nn.Linear(3, 2.5),  # type: ignore[arg-type]
    "Linear: integers": lambda: nn.Linear(3, 2, dtype=int),
    "Linear: an unknown initialiser": lambda: nn.Linear(3, 2, init="ones"),
    "Linear: an initialiser of another shape": lambda: nn.Linear(
        3, 2, init=lambda shape, seed, dtype: np.zeros(5)
    ),
    "Linear: another width": lambda: nn.Linear(3, 2)(np.ones(4, np.float32)),
    "Sequential: a list of layers": lambda: nn.Sequential(
        [nn.Linear(3, 2), "relu"]  # type: ignore[arg-type]
    ),
    "Sequential: no layer": lambda: nn.Sequential(nn.Linear(3, 2), 3),  # type: ignore[arg-type]
    "Sequential: a layer is assigned": lambda: nn.Sequential(nn.Linear(3, 2)).__setitem__(
        0, nn.Linear(3, 2)
    ),
    "Sequential: an unknown activation": lambda: nn.Sequential("swish2"),
    "Sequential: a layer of two results": lambda: nn.Sequential(nn.GRU(3, 2))(np.ones((5, 3))),
    "he_normal: a bias": lambda: nn.init.he_normal((3,), 0, np.float32),
    "normal: a seed that is no number": lambda: nn.init.normal((3,), "a"),  # type: ignore[arg-type]
    "zeros: a size that is no whole number": lambda: nn.init.zeros((2.5,)),  # type: ignore[arg-type]
}

MLP: dict[str, Callable[[], Any]] = {
    "nn.seed: less than nothing": lambda: nn.seed(-1),
    "Mlp: one size": lambda: nn.Mlp((3,)),
    "Mlp: a layer of no width": lambda: mlp(3, 0, 2),
    "Mlp: a negative seed": lambda: mlp(seed=-1),
    "Mlp: an unknown activation": lambda: mlp(activation="sine"),
    "Mlp.weights: a layer that does not exist": lambda: mlp().weights(2),
    "Mlp.scratch: a batch of 0": lambda: mlp().scratch(0),
    "Mlp.forward: no scratch": lambda: forward(row, scratch=3),
    "Mlp.forward: another width": lambda: forward(np.ones(4, np.float32)),
    "Mlp.forward: a batch into a scratch of one row": lambda: forward(np.ones((5, 3))),
    "Mlp.forward: complex numbers": lambda: forward(row * 1j),
    "Mlp.forward: a scratch of another Mlp": lambda: forward(row, mlp(3, 5, 2)),
    "Mlp.forward: layers of two dtypes": with_layers_of_two_dtypes,
    "Mlp.forward: a Tensor": lambda: wg.grad(lambda x: wg.sum(forward(x)))(row),
    "Mlp.forward: a Tensor, traced": lambda: wg.compile(lambda x: forward(x))(row),
    "Mlp.forward: a scratch that another thread uses": while_another_thread_runs,
    "Mlp.backward: no gradients": lambda: backward(grads=3),
    "Mlp.backward: no scratch": lambda: backward(scratch=3),
    "Mlp.backward: a scratch of another batch": lambda: backward(scratch=mlp().scratch(5)),
}

GRADIENTS: dict[str, Callable[[], Any]] = {
    "Gradients: a scale that is no number": lambda: gradients().scale_params("half"),  # type: ignore[arg-type]
    "Gradients: a scale beyond float32": lambda: gradients().scale_params(1e39),
    "Gradients: a negative bound": lambda: gradients().clip_global_norm_params(-1.0),
    "Gradients: an unknown policy": lambda: gradients().clip_global_norm_params(1.0, "skip"),
    "Gradients: a norm of NaN": lambda: gradients(np.nan).global_l2_norm_params(),
    "Gradients: a norm beyond all floats": beyond_all_floats,
    "Gradients: a copy of an array": lambda: gradients().copy_from(row),  # type: ignore[arg-type]
    "Gradients: a copy of those of another Mlp": lambda: gradients().copy_from(
        mlp(3, 5, 2).gradients()
    ),
}

CASES = LAYERS | MLP | GRADIENTS
