"""Wengert turns a Python loss function into one native training step.

>>> import numpy as np, wengert as wg
>>> def loss(w, x, y):
...     return np.mean((np.tanh(x @ w) - y) ** 2)
>>> wg.grad(loss)(np.zeros(2), np.eye(2), np.ones(2))
array([-1., -1.])
"""

from wengert import collecting, errors, functions, nn, ops, optim, train  # collecting first
from wengert.api.check_grads import check_grads
from wengert.api.compile import compile
from wengert.api.custom import checkpoint, custom_vjp
from wengert.api.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from wengert.api.eager import eager
from wengert.api.grad_with_loss import GradWithLossOptions, grad_with_loss
from wengert.api.gradient_tape import GradientTape
from wengert.api.graph import Graph
from wengert.api.namespace import (
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
from wengert.api.trace import trace
from wengert.api.variants import GradOp
from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.missing import explain_missing_names
from wengert.core.standard import API_VERSIONS
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.train.files import load, save
from wengert.train.step import TrainStep

from wengert import linalg, random  # isort: skip  (they list what the imports above defined)

__version__ = "0.1.0"

op.seal_ops()
_functions = op.public("")  # every op and function of the array API and of learning, by name
globals().update(_functions)
globals().update(DTYPES)
globals().update(CONSTANTS)
__array_api_version__ = API_VERSIONS[-1]

__all__ = [  # noqa: PLE0604 (strings, from the table)
    "Dim",
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
    "eager",
    "errors",
    "finfo",
    "from_dlpack",
    "functions",
    "grad",
    "grad_with_loss",
    "hessian",
    "hvp",
    "iinfo",
    "isdtype",
    "jacobian",
    "jvp",
    "linalg",
    "load",
    "nn",
    "op",
    "ops",
    "optim",
    "random",
    "result_type",
    "save",
    "trace",
    "train",
    "tree",
    "value_and_grad",
    "vjp",
    *_functions,
    *DTYPES,
    *CONSTANTS,
]

explain_missing_names(globals())
del explain_missing_names
collecting.resume()
