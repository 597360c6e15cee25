"""Wengert turns a Python loss function into one native training step.

>>> import numpy as np, wengert as wg
>>> def loss(w, x, y):
...     return np.mean((np.tanh(x @ w) - y) ** 2)
>>> wg.grad(loss)(np.zeros(2), np.eye(2), np.ones(2))
array([-1., -1.])
"""

from wengert import loading, errors, functions, ops  # isort: skip  (loading first)
from wengert import fft, linalg, random  # isort: skip  (they list what the imports above defined)
from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.first_use import import_on_first_use
from wengert.core.signatures.standard import API_VERSIONS
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.functions.namespace import (
    CONSTANTS,
    DTYPES,
    __array_namespace_info__,
    can_cast,
    finfo,
    from_dlpack,
    iinfo,
    isdtype,
    result_type,
)
from wengert.interpret.eagerness import eager

__version__ = "0.1.0"

op.seal_ops()
_functions = op.public("")  # every op and function of the array API and of learning, by name
globals().update(_functions)
globals().update(DTYPES)
globals().update(CONSTANTS)
__array_api_version__ = API_VERSIONS[-1]

__all__ = [  # noqa: PLE0604 (strings, from the table)
    "Dim",
    "Ensemble",
    "GradOp",
    "GradWithLossOptions",
    "GradientTape",
    "Graph",
    "Tensor",
    "TrainStep",
    "__array_namespace_info__",
    "can_cast",
    "check_grads",
    "checkpoint",
    "compile",
    "custom_vjp",
    "distributions",
    "eager",
    "errors",
    "fft",
    "finfo",
    "from_dlpack",
    "functions",
    "grad",
    "grad_with_loss",
    "hessian",
    "hvp",
    "iinfo",
    "isdtype",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linalg",
    "load",
    "nn",
    "op",
    "ops",
    "optim",
    "parallel",
    "random",
    "result_type",
    "save",
    "sweep",
    "trace",
    "train",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    *_functions,
    *DTYPES,
    *CONSTANTS,
]

explain_missing_names(globals())
import_on_first_use(
    globals(),
    {
        "api.check_grads": ["check_grads"],
        "api.compiling.compile": ["compile"],
        "api.custom": ["checkpoint", "custom_vjp"],
        "api.derivatives": ["grad", "hvp", "jvp", "value_and_grad", "vjp"],
        "api.by_hand.grad_with_loss": ["GradWithLossOptions", "grad_with_loss"],
        "api.by_hand.gradient_tape": ["GradientTape"],
        "api.by_hand.graph": ["Graph"],
        "api.jacobians": ["hessian", "jacfwd", "jacobian", "jacrev"],
        "api.trace": ["trace"],
        "api.by_hand.variants": ["GradOp"],
        "api.vmap": ["vmap"],
        "sweeping.sweep": ["sweep"],
        "train.checkpoints.files": ["load", "save"],
        "train.ensemble.ensemble": ["Ensemble"],
        "train.step": ["TrainStep"],
    },
    modules=[
        "api",
        "codegen",
        "compiler",
        "distributions",
        "nn",
        "optim",
        "parallel",
        "passes",
        "runtime",
        "sklearn",
        "sweeping",
        "train",
    ],
)
del explain_missing_names, import_on_first_use
loading.require_installed("llvmlite", "safetensors")
loading.resume()
