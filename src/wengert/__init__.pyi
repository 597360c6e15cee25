# Written from the table of ops by tests/test_stubs.py, which says how to write it again.
"""Wengert turns a Python loss function into one native training step."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from numpy import bool as bool
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int8 as int8
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uint8 as uint8
from wengert import distributions as distributions
from wengert import errors as errors
from wengert import fft as fft
from wengert import functions as functions
from wengert import linalg as linalg
from wengert import nn as nn
from wengert import ops as ops
from wengert import optim as optim
from wengert import parallel as parallel
from wengert import random as random
from wengert import train as train
from wengert.api.by_hand.grad_with_loss import GradWithLossOptions as GradWithLossOptions
from wengert.api.by_hand.grad_with_loss import grad_with_loss as grad_with_loss
from wengert.api.by_hand.gradient_tape import GradientTape as GradientTape
from wengert.api.by_hand.graph import Graph as Graph
from wengert.api.by_hand.variants import GradOp as GradOp
from wengert.api.check_grads import check_grads as check_grads
from wengert.api.compiling.compile import compile as compile
from wengert.api.custom import checkpoint as checkpoint
from wengert.api.custom import custom_vjp as custom_vjp
from wengert.api.derivatives import grad as grad
from wengert.api.derivatives import hvp as hvp
from wengert.api.derivatives import jvp as jvp
from wengert.api.derivatives import value_and_grad as value_and_grad
from wengert.api.derivatives import vjp as vjp
from wengert.api.jacobians import hessian as hessian
from wengert.api.jacobians import jacfwd as jacfwd
from wengert.api.jacobians import jacobian as jacobian
from wengert.api.jacobians import jacrev as jacrev
from wengert.api.trace import trace as trace
from wengert.api.vmap import vmap as vmap
from wengert.core import tree as tree
from wengert.core.dims import Dim as Dim
from wengert.core.table import op as op
from wengert.core.tensor import Tensor as Tensor
from wengert.functions.complex_parts import conj as conj
from wengert.functions.complex_parts import imag as imag
from wengert.functions.complex_parts import real as real
from wengert.functions.dropout import dropout as dropout
from wengert.functions.initial_values import odeint as odeint
from wengert.functions.namespace import __array_namespace_info__ as __array_namespace_info__
from wengert.functions.namespace import can_cast as can_cast
from wengert.functions.namespace import finfo as finfo
from wengert.functions.namespace import from_dlpack as from_dlpack
from wengert.functions.namespace import iinfo as iinfo
from wengert.functions.namespace import isdtype as isdtype
from wengert.functions.namespace import result_type as result_type
from wengert.functions.normalize import batch_norm_with_statistics as batch_norm_with_statistics
from wengert.functions.numpy_scipy.numpy_arrays import rot90 as rot90
from wengert.functions.numpy_scipy.numpy_signals import bincount as bincount
from wengert.functions.numpy_scipy.numpy_signals import interp as interp
from wengert.functions.numpy_scipy.scipy_names import multigammaln as multigammaln
from wengert.functions.numpy_scipy.special_names import betaln as betaln
from wengert.functions.numpy_scipy.special_names import entr as entr
from wengert.functions.numpy_scipy.special_names import i0 as i0
from wengert.functions.numpy_scipy.special_names import i1 as i1
from wengert.functions.numpy_scipy.special_names import logit as logit
from wengert.functions.numpy_scipy.special_names import xlog1py as xlog1py
from wengert.functions.quantiles import median as median
from wengert.functions.quantiles import quantile as quantile
from wengert.functions.sequences.associative_scan import associative_scan as associative_scan
from wengert.functions.sequences.attention import attention as attention
from wengert.functions.sequences.selective_scan import selective_scan as selective_scan
from wengert.functions.sets import unique_all as unique_all
from wengert.functions.sets import unique_counts as unique_counts
from wengert.functions.sets import unique_inverse as unique_inverse
from wengert.functions.sets import unique_values as unique_values
from wengert.interpret.eagerness import eager as eager
from wengert.ops.arrange import meshgrid as meshgrid
from wengert.ops.arrange import repeat as repeat
from wengert.ops.arrange import split as split
from wengert.ops.arrange import stack as stack
from wengert.ops.arrange import tile as tile
from wengert.ops.arrange import unstack as unstack
from wengert.ops.contract import dot as dot
from wengert.ops.contract import inner as inner
from wengert.ops.contract import kron as kron
from wengert.ops.contract import outer as outer
from wengert.ops.contract import tensordot as tensordot
from wengert.ops.create import array as array
from wengert.ops.create import asarray as asarray
from wengert.ops.create import empty as empty
from wengert.ops.create import empty_like as empty_like
from wengert.ops.create import eye as eye
from wengert.ops.create import full_like as full_like
from wengert.ops.create import linspace as linspace
from wengert.ops.create import ones as ones
from wengert.ops.create import ones_like as ones_like
from wengert.ops.create import zeros as zeros
from wengert.ops.create import zeros_like as zeros_like
from wengert.ops.cumulate import cumulative_prod as cumulative_prod
from wengert.ops.cumulate import cumulative_sum as cumulative_sum
from wengert.ops.cumulate import diff as diff
from wengert.ops.einsum import einsum as einsum
from wengert.ops.elementwise import pow as pow
from wengert.ops.index import nonzero as nonzero
from wengert.ops.indexing.update import at as at
from wengert.ops.matrices.diagonals import diag as diag
from wengert.ops.matrices.diagonals import diagonal as diagonal
from wengert.ops.sequences.recurrences import linear_recurrence as linear_recurrence
from wengert.ops.shape import broadcast_arrays as broadcast_arrays
from wengert.ops.shape import expand_dims as expand_dims
from wengert.ops.shape import flip as flip
from wengert.ops.shape import moveaxis as moveaxis
from wengert.ops.shape import roll as roll
from wengert.ops.shape import squeeze as squeeze
from wengert.ops.shape import swapaxes as swapaxes
from wengert.ops.special_functions.incomplete import gammaincinv as gammaincinv
from wengert.ops.special_functions.real_orders import iv as iv
from wengert.ops.special_functions.real_orders import ive as ive
from wengert.ops.windows.conv import conv as conv
from wengert.ops.windows.conv import conv_transpose as conv_transpose
from wengert.ops.windows.pooling import adaptive_mean_pool as adaptive_mean_pool
from wengert.ops.windows.pooling import max_pool as max_pool
from wengert.ops.windows.pooling import mean_pool as mean_pool
from wengert.ops.windows.pooling import sliding_windows as sliding_windows
from wengert.sweeping.sweep import sweep as sweep
from wengert.train.checkpoints.files import load as load
from wengert.train.checkpoints.files import save as save
from wengert.train.ensemble.ensemble import Ensemble as Ensemble
from wengert.train.step import TrainStep as TrainStep

__version__: str
__array_api_version__: str
e: float
inf: float
nan: float
newaxis: None
pi: float

__all__ = [
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
    "mean",
    "var",
    "std",
    "logsumexp",
    "silu",
    "gelu",
    "elu",
    "selu",
    "leaky_relu",
    "softplus",
    "log_sigmoid",
    "mish",
    "softsign",
    "hard_tanh",
    "glu",
    "cross_entropy",
    "kl_div",
    "mse",
    "mae",
    "huber",
    "bce_with_logits",
    "softmax",
    "log_softmax",
    "standardize",
    "layer_norm",
    "batch_norm",
    "rms_norm",
    "concat",
    "pad",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "isfinite",
    "isinf",
    "isnan",
    "signbit",
    "matmul",
    "vecdot",
    "full",
    "arange",
    "cumsum",
    "cumprod",
    "debug",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "xlogy",
    "sigmoid",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "negative",
    "positive",
    "reciprocal",
    "square",
    "sqrt",
    "rsqrt",
    "cbrt",
    "power",
    "hypot",
    "take",
    "take_along_axis",
    "scatter_add",
    "one_hot",
    "abs",
    "sign",
    "copysign",
    "nextafter",
    "floor",
    "ceil",
    "trunc",
    "round",
    "maximum",
    "minimum",
    "relu",
    "clip",
    "where",
    "astype",
    "stop_gradient",
    "sum",
    "prod",
    "max",
    "min",
    "any",
    "all",
    "count_nonzero",
    "argmax",
    "argmin",
    "reshape",
    "broadcast_to",
    "permute_dims",
    "matrix_transpose",
    "argsort",
    "sort",
    "searchsorted",
    "cond",
    "scan",
    "while_loop",
    "tril",
    "triu",
    "gammainc",
    "gammaincc",
    "betainc",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "erfcinv",
    "ndtr",
    "log_ndtr",
    "ndtri",
    "i0e",
    "i1e",
    "j0",
    "j1",
    "y0",
    "y1",
    "jn",
    "yn",
    "lgamma",
    "digamma",
    "polygamma",
    "sinc",
    "real",
    "imag",
    "conj",
    "dropout",
    "odeint",
    "batch_norm_with_statistics",
    "stack",
    "unstack",
    "split",
    "tile",
    "repeat",
    "meshgrid",
    "dot",
    "inner",
    "outer",
    "kron",
    "tensordot",
    "zeros",
    "ones",
    "empty",
    "full_like",
    "zeros_like",
    "ones_like",
    "empty_like",
    "linspace",
    "eye",
    "array",
    "asarray",
    "cumulative_sum",
    "cumulative_prod",
    "diff",
    "einsum",
    "pow",
    "nonzero",
    "broadcast_arrays",
    "moveaxis",
    "swapaxes",
    "expand_dims",
    "squeeze",
    "flip",
    "roll",
    "at",
    "diagonal",
    "diag",
    "linear_recurrence",
    "gammaincinv",
    "ive",
    "iv",
    "conv",
    "conv_transpose",
    "max_pool",
    "mean_pool",
    "adaptive_mean_pool",
    "sliding_windows",
    "quantile",
    "median",
    "rot90",
    "interp",
    "bincount",
    "multigammaln",
    "logit",
    "betaln",
    "xlog1py",
    "entr",
    "i0",
    "i1",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "associative_scan",
    "attention",
    "selective_scan",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
]

def mean(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    r"""Arithmetic mean of the elements along the axes; all of them by default. NaN where none are.

    >>> wg.mean(np.array([[1, 2], [3, 6]]), axis=0)
    array([2., 4.])
    """

def var(x: Any, axis: Any = None, correction: float = 0, keepdims: builtins.bool = False) -> Any:
    r"""Mean squared deviation from the mean along the axes.

    The sum of squares is divided by the number of elements less `correction`: 0 for the variance of
    all there is, 1 for an unbiased estimate from a sample.

    >>> wg.var(np.array([1.0, 2.0, 3.0])), wg.var(np.array([1.0, 2.0, 3.0]), correction=1)
    (array(0.66666667), array(1.))
    """

def std(x: Any, axis: Any = None, correction: float = 0, keepdims: builtins.bool = False) -> Any:
    r"""Standard deviation along the axes, the root of `var`. Where it is 0, so is its gradient.

    Where the variance over- or underflows, the deviation does not.

    >>> wg.std(np.array([1.0, 3.0])), wg.std(np.array([1e200, 3e200]))
    (array(1.), array(1.e+200))
    """

def logsumexp(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    r"""Logarithm of the sum of exponentials along the axes, without overflow; -inf where none are.

    >>> wg.logsumexp(np.array([1000.0, 1000.0, -np.inf]))
    array(1000.69314718)
    """

def silu(x: Any) -> Any:
    r"""x times its sigmoid, also known as swish.

    >>> wg.silu(np.array([-1.0, 0.0, 2.0]))
    array([-0.26894142,  0.        ,  1.76159416])
    """

def gelu(x: Any, approximate: str = 'none') -> Any:
    r"""x times the probability that a standard normal number is less than x.

    `approximate="tanh"` is the older formula with a hyperbolic tangent, right to about 3e-4.

    >>> wg.gelu(np.array([-10.0, 0.0, 1.0]))
    array([-7.61985302e-23,  0.00000000e+00,  8.41344746e-01])
    """

def elu(x: Any, alpha: float = 1.0) -> Any:
    r"""x where it is positive, else alpha * (exp(x) - 1).

    >>> wg.elu(np.array([-1.0, 0.0, 2.0]))
    array([-0.63212056,  0.        ,  2.        ])
    """

def selu(x: Any) -> Any:
    r"""`elu` with the scale and alpha that keep mean 0 and variance 1 from layer to layer.

    >>> wg.selu(np.array([-1.0, 0.0, 2.0]))
    array([-1.11133074,  0.        ,  2.10140197])
    """

def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    r"""x where it is positive, else x * negative_slope.

    >>> wg.leaky_relu(np.array([-2.0, 3.0])), wg.leaky_relu(np.array([-2.0]), 0.1)
    (array([-0.02,  3.  ]), array([-0.2]))
    """

def softplus(x: Any) -> Any:
    r"""Logarithm of 1 + exp(x), without overflow.

    >>> wg.softplus(np.array([-1000.0, 0.0, 1000.0]))
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """

def log_sigmoid(x: Any) -> Any:
    r"""Logarithm of the sigmoid, without underflow.

    >>> wg.log_sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([-1.00000000e+03, -6.93147181e-01, -0.00000000e+00])
    """

def mish(x: Any) -> Any:
    r"""x times the hyperbolic tangent of its softplus.

    >>> wg.mish(np.array([-1.0, 0.0, 2.0]))
    array([-0.30340146,  0.        ,  1.94395896])
    """

def softsign(x: Any) -> Any:
    r"""x divided by 1 + abs(x).

    >>> wg.softsign(np.array([-1.0, 0.0, 3.0]))
    array([-0.5 ,  0.  ,  0.75])
    """

def hard_tanh(x: Any) -> Any:
    r"""x, but at least -1 and at most 1.

    >>> wg.hard_tanh(np.array([-3.0, 0.5, 2.0]))
    array([-1. ,  0.5,  1. ])
    """

def glu(x: Any, axis: int = -1) -> Any:
    r"""The first half along the axis times the sigmoid of the second.

    >>> wg.glu(np.array([1.0, 2.0, 0.0, 100.0]))
    array([0.5, 2. ])
    """

def cross_entropy(
    logits: Any,
    targets: Any,
    axis: int = -1,
    reduction: Any = 'mean',
    label_smoothing: float = 0.0,
) -> Any:
    r"""Minus the logarithm of the probability that the softmax of the logits gives to the targets.

    Classes lie along `axis`. Integer targets are class indices, without that axis; float targets
    are a probability per class, with it. `label_smoothing` moves that part of every target to all
    classes alike. "mean" divides by the number of losses, one per position beside the classes.

    >>> wg.cross_entropy(np.array([[0.0, 0.0], [0.0, -1000.0]]), np.array([0, 1]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """

def kl_div(log_q: Any, p: Any, axis: int = -1, reduction: Any = 'mean') -> Any:
    r"""Kullback-Leibler divergence of q from p, the sum of p * (log p - log q) along the axis.

    The first operand holds logarithms, as log_softmax gives them, the second probabilities; where p
    is 0 nothing is added. "mean" divides by the number of distributions, not of elements. "none"
    gives a number for each distribution, summed along the axis already, where torch's has one for
    each element.

    >>> wg.kl_div(np.log(np.array([0.5, 0.5])), np.array([1.0, 0.0]))
    array(0.69314718)
    """

def mse(predictions: Any, targets: Any, reduction: Any = 'mean') -> Any:
    r"""Squared differences.

    >>> wg.mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array(2.)
    """

def mae(predictions: Any, targets: Any, reduction: Any = 'mean') -> Any:
    r"""Absolute differences.

    >>> wg.mae(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array(1.)
    """

def huber(predictions: Any, targets: Any, delta: float = 1.0, reduction: Any = 'mean') -> Any:
    r"""Half the squared difference up to delta, and beyond it a line of slope delta.

    >>> wg.huber(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
    array([0.125, 2.5  ])
    """

def bce_with_logits(logits: Any, targets: Any, reduction: Any = 'mean') -> Any:
    r"""Binary cross-entropy between the sigmoid of the logits and targets in [0, 1].

    Exact for logits of any size: neither the sigmoid nor its logarithm is ever formed.

    >>> wg.bce_with_logits(np.array([0.0, -1000.0]), np.array([1, 1]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """

def softmax(x: Any, axis: int = -1) -> Any:
    r"""Exponentials along the axis, divided by their sum. NaN where all of them are -inf.

    >>> wg.softmax(np.array([0.0, 0.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """

def log_softmax(x: Any, axis: int = -1) -> Any:
    r"""Logarithm of `softmax`, exact where that underflows.

    >>> wg.log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """

def standardize(x: Any, axis: Any = -1, eps: float = 1e-05) -> Any:
    r"""Elements less their mean along the axes, divided by sqrt(variance + eps).

    >>> wg.standardize(np.array([1.0, 2.0, 3.0]), eps=0.0)
    array([-1.22474487,  0.        ,  1.22474487])
    """

def layer_norm(
    x: Any,
    scale: Any = None,
    shift: Any = None,
    axis: Any = -1,
    eps: float = 1e-05,
) -> Any:
    r"""Elements brought to mean 0 and variance 1 along the axes, then times scale plus shift.

    What is divided by is sqrt(variance + eps). `scale` and `shift` have the sizes of the axes.

    >>> wg.layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), eps=0.0625, shift=np.array([0.0, 10.0]))
    array([[-0.9701425, 10.9701425],
           [ 0.       , 10.       ]])
    """

def batch_norm(
    x: Any,
    scale: Any = None,
    shift: Any = None,
    axis: Any = 0,
    eps: float = 1e-05,
) -> Any:
    r"""Each feature brought to mean 0 and variance 1 over the batch, then times scale plus shift.

    The statistics are those of this batch, over the first axis or the ones given, and every other
    axis is one of features; `scale` and `shift` have the sizes of those.
    `batch_norm_with_statistics` returns mean and variance too, to keep running averages of them.

    >>> wg.batch_norm(np.array([[1.0, 5.0], [3.0, 9.0]]), eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """

def rms_norm(x: Any, scale: Any = None, axis: Any = -1, eps: float = 1e-06) -> Any:
    r"""Elements divided by their root mean square along the axes, then times scale.

    What is divided by is sqrt(mean of squares + eps). `scale` has the sizes of the axes.

    >>> wg.rms_norm(np.array([1.0, 7.0]), eps=0.0)
    array([0.2, 1.4])
    """

def concat(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    r"""The arrays of a sequence, one after the other along an axis they have.

    With ``axis=None`` the arrays are read row by row and joined to one 1-d array.

    >>> wg.concat([np.array([[1, 2]]), np.array([[3, 4]])], axis=0)
    array([[1, 2],
           [3, 4]])
    """

def pad(x: Any, pad_width: Any, constant_values: float = 0) -> Any:
    r"""The array in a frame of one number; `pad_width` holds a pair (before, after) per axis.

    >>> wg.pad(np.array([1, 2]), ((1, 2),))
    array([0, 1, 2, 0, 0])
    """

def equal(x: Any, y: Any) -> Any:
    r"""Whether each x == y.

    >>> wg.equal(np.array([1, 2, 3]), np.array([1, 0, 3]))
    array([ True, False,  True])
    """

def not_equal(x: Any, y: Any) -> Any:
    r"""Whether each x != y.

    >>> wg.not_equal(np.array([1, 2, 3]), np.array([1, 0, 3]))
    array([False,  True, False])
    """

def less(x: Any, y: Any) -> Any:
    r"""Whether each x < y.

    >>> wg.less(np.array([1, 2, 3]), 2)
    array([ True, False, False])
    """

def less_equal(x: Any, y: Any) -> Any:
    r"""Whether each x <= y.

    >>> wg.less_equal(np.array([1, 2, 3]), 2)
    array([ True,  True, False])
    """

def greater(x: Any, y: Any) -> Any:
    r"""Whether each x > y.

    >>> wg.greater(np.array([1, 2, 3]), 2)
    array([False, False,  True])
    """

def greater_equal(x: Any, y: Any) -> Any:
    r"""Whether each x >= y.

    >>> wg.greater_equal(np.array([1, 2, 3]), 2)
    array([False,  True,  True])
    """

def logical_and(x: Any, y: Any) -> Any:
    r"""Whether both are true; a number is true unless it is 0.

    >>> wg.logical_and(np.array([True, True]), np.array([True, False]))
    array([ True, False])
    """

def logical_or(x: Any, y: Any) -> Any:
    r"""Whether either is true; a number is true unless it is 0.

    >>> wg.logical_or(np.array([True, False]), np.array([False, False]))
    array([ True, False])
    """

def logical_xor(x: Any, y: Any) -> Any:
    r"""Whether exactly one is true; a number is true unless it is 0.

    >>> wg.logical_xor(np.array([True, True]), np.array([True, False]))
    array([False,  True])
    """

def logical_not(x: Any) -> Any:
    r"""Whether each element is false; a number is true unless it is 0.

    >>> wg.logical_not(np.array([True, False]))
    array([False,  True])
    """

def bitwise_and(x: Any, y: Any) -> Any:
    r"""The bits set in both, x & y.

    >>> wg.bitwise_and(np.array([0b1100, 0b1010]), 0b0110)
    array([4, 2])
    """

def bitwise_or(x: Any, y: Any) -> Any:
    r"""The bits set in either, x | y.

    >>> wg.bitwise_or(np.array([0b1100, 0b1010]), 0b0110)
    array([14, 14])
    """

def bitwise_xor(x: Any, y: Any) -> Any:
    r"""The bits set in one of them only, x ^ y.

    >>> wg.bitwise_xor(np.array([0b1100, 0b1010]), 0b0110)
    array([10, 12])
    """

def bitwise_invert(x: Any) -> Any:
    r"""Every bit turned, ~x; of a bool, its opposite.

    >>> wg.bitwise_invert(np.array([0, 5])), wg.bitwise_invert(np.array([True, False]))
    (array([-1, -6]), array([False,  True]))
    """

def bitwise_left_shift(x: Any, y: Any) -> Any:
    r"""The bits of x moved up by y, x << y; 0 where y is negative or at least the width of x.

    >>> wg.bitwise_left_shift(np.array([1, 3]), 2)
    array([ 4, 12])
    """

def bitwise_right_shift(x: Any, y: Any) -> Any:
    r"""The bits of x moved down by y, x >> y; the sign stays, so that it rounds down.

    >>> wg.bitwise_right_shift(np.array([8, -8]), 2)
    array([ 2, -2])
    """

def isfinite(x: Any) -> Any:
    r"""Whether each element is neither infinite nor NaN.

    >>> wg.isfinite(np.array([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """

def isinf(x: Any) -> Any:
    r"""Whether each element is infinite, of either sign.

    >>> wg.isinf(np.array([1.0, -np.inf, np.nan]))
    array([False,  True, False])
    """

def isnan(x: Any) -> Any:
    r"""Whether each element is not a number.

    >>> wg.isnan(np.array([1.0, np.inf, np.nan]))
    array([False, False,  True])
    """

def signbit(x: Any) -> Any:
    r"""Whether the sign bit of each element is set: below zero, or a negative zero.

    >>> wg.signbit(np.array([-3.0, -0.0, 0.0]))
    array([ True,  True, False])
    """

def matmul(x: Any, y: Any) -> Any:
    r"""Matrix product over the last two axes, broadcast over the others; 1-d operands are vectors.

    >>> wg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """

def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    r"""Sum of products along one axis, broadcast over the others.

    >>> wg.vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """

def full(shape: Any, fill_value: float, dtype: Any = None, *, device: Any = None) -> Any:
    r"""An array of one repeated number, which may be computed.

    >>> wg.full((2, 2), 0.5)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> float(wg.grad(lambda x: wg.sum(wg.full((2, 2), x)))(0.5))
    4.0
    """

def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    r"""Numbers from start up to stop, a step apart, without stop; one number alone is the stop.

    >>> wg.arange(4), wg.arange(1.0, 2.0, 0.25)
    (array([0, 1, 2, 3]), array([1.  , 1.25, 1.5 , 1.75]))
    """

def cumsum(x: Any, axis: int | None = None) -> Any:
    r"""Running sums along the axis: element i is the sum of the elements up to and with i.

    >>> wg.cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """

def cumprod(x: Any, axis: int | None = None) -> Any:
    r"""Running products along the axis. Its derivatives are right at zeros too.

    >>> wg.cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """

def debug(x: Any, name: str = 'debug') -> Any:
    r"""Print a value when the program comes to this place, compiled or not, and return the same.

    A tree is printed leaf by leaf. Loops say in which step they are; a branch prints if it is
    taken. A derivative prints what its function does, once, and nothing on the way back. Lines go
    to `sys.stdout`, in the order of the program, with `np.set_printoptions` as it is then.

    >>> y = wg.compile(lambda x: wg.debug(x * 2, "twice") + 1)(np.arange(3.0))
    twice: float64[3] = [0. 2. 4.]
    """

def exp(x: Any) -> Any:
    r"""e to the power of each element.

    >>> wg.exp(np.array([-1.0, 0.0, 1.0]))
    array([0.36787944, 1.        , 2.71828183])
    """

def exp2(x: Any) -> Any:
    r"""2 to the power of each element.

    >>> wg.exp2(np.array([-1.0, 0.0, 10.0]))
    array([5.000e-01, 1.000e+00, 1.024e+03])
    """

def expm1(x: Any) -> Any:
    r"""exp(x) - 1 of each element, accurate near 0.

    >>> wg.expm1(np.array([1e-20, 1.0]))
    array([1.00000000e-20, 1.71828183e+00])
    """

def log(x: Any) -> Any:
    r"""Natural logarithm of each element.

    >>> wg.log(np.array([1.0, np.e]))
    array([0., 1.])
    """

def log1p(x: Any) -> Any:
    r"""log(1 + x) of each element, accurate near 0.

    >>> wg.log1p(np.array([1e-20, 1.0]))
    array([1.00000000e-20, 6.93147181e-01])
    """

def log2(x: Any) -> Any:
    r"""Logarithm of each element to base 2.

    >>> wg.log2(np.array([0.5, 1024.0]))
    array([-1., 10.])
    """

def log10(x: Any) -> Any:
    r"""Logarithm of each element to base 10.

    >>> wg.log10(np.array([0.01, 1000.0]))
    array([-2.,  3.])
    """

def logaddexp(x: Any, y: Any) -> Any:
    r"""log(exp(x) + exp(y)) of each pair of elements, without overflow on the way.

    >>> wg.logaddexp(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    array([6.93147181e-01, 1.00069315e+03])
    """

def logaddexp2(x: Any, y: Any) -> Any:
    r"""log2(2**x + 2**y) of each pair of elements, without overflow on the way.

    >>> wg.logaddexp2(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    array([1.000e+00, 1.001e+03])
    """

def xlogy(x: Any, y: Any) -> Any:
    r"""x · log(y) of each pair of elements, and 0 where x is 0, whatever y is but NaN.

    >>> wg.xlogy(np.array([0.0, 2.0]), np.array([0.0, np.e]))
    array([0., 2.])
    """

def sigmoid(x: Any) -> Any:
    r"""1 / (1 + exp(-x)) of each element, without overflow on the way.

    >>> wg.sigmoid(np.array([-1.0, 0.0, 1000.0]))
    array([0.26894142, 0.5       , 1.        ])
    """

def sin(x: Any) -> Any:
    r"""Sine of each element, in radians.

    >>> wg.sin(np.array([0.0, np.pi / 2, 1e6]))
    array([ 0.       ,  1.       , -0.3499935])
    """

def cos(x: Any) -> Any:
    r"""Cosine of each element, in radians.

    >>> wg.cos(np.array([0.0, np.pi / 3, np.pi]))
    array([ 1. ,  0.5, -1. ])
    """

def tan(x: Any) -> Any:
    r"""Tangent of each element, in radians.

    >>> wg.tan(np.array([0.0, np.pi / 4]))
    array([0., 1.])
    """

def asin(x: Any) -> Any:
    r"""Inverse sine of each element, in [-π/2, π/2].

    >>> wg.asin(np.array([0.0, 0.5, 1.0]))
    array([0.        , 0.52359878, 1.57079633])
    """

def acos(x: Any) -> Any:
    r"""Inverse cosine of each element, in [0, π].

    >>> wg.acos(np.array([-1.0, 0.0, 1.0]))
    array([3.14159265, 1.57079633, 0.        ])
    """

def atan(x: Any) -> Any:
    r"""Inverse tangent of each element, in [-π/2, π/2].

    >>> wg.atan(np.array([0.0, 1.0, np.inf]))
    array([0.        , 0.78539816, 1.57079633])
    """

def atan2(y: Any, x: Any) -> Any:
    r"""Angle of each point (x, y), in [-π, π].

    >>> wg.atan2(np.array([1.0, -1.0]), np.array([-1.0, -1.0]))
    array([ 2.35619449, -2.35619449])
    """

def sinh(x: Any) -> Any:
    r"""Hyperbolic sine of each element.

    >>> wg.sinh(np.array([0.0, 1.0]))
    array([0.        , 1.17520119])
    """

def cosh(x: Any) -> Any:
    r"""Hyperbolic cosine of each element.

    >>> wg.cosh(np.array([0.0, 1.0]))
    array([1.        , 1.54308063])
    """

def tanh(x: Any) -> Any:
    r"""Hyperbolic tangent of each element.

    >>> wg.tanh(np.array([-1.0, 0.0, 1000.0]))
    array([-0.76159416,  0.        ,  1.        ])
    """

def asinh(x: Any) -> Any:
    r"""Inverse hyperbolic sine of each element.

    >>> wg.asinh(np.array([-1.0, 0.0, 1e10]))
    array([-0.88137359,  0.        , 23.71899811])
    """

def acosh(x: Any) -> Any:
    r"""Inverse hyperbolic cosine of each element; NaN below 1.

    >>> wg.acosh(np.array([1.0, 2.0]))
    array([0.       , 1.3169579])
    """

def atanh(x: Any) -> Any:
    r"""Inverse hyperbolic tangent of each element, which lie in [-1, 1].

    >>> wg.atanh(np.array([-0.5, 0.0, 0.5]))
    array([-0.54930614,  0.        ,  0.54930614])
    """

def add(x: Any, y: Any) -> Any:
    r"""Sum of each pair of elements, x + y.

    >>> wg.add(np.array([1.0, 2.0]), 10)
    array([11., 12.])
    """

def subtract(x: Any, y: Any) -> Any:
    r"""Difference of each pair of elements, x - y.

    >>> wg.subtract(np.array([1.0, 2.0]), 10)
    array([-9., -8.])
    """

def multiply(x: Any, y: Any) -> Any:
    r"""Product of each pair of elements, x * y.

    >>> wg.multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 8.])
    """

def divide(x: Any, y: Any) -> Any:
    r"""Quotient of each pair of elements, x / y; that of integers is a float.

    >>> wg.divide(np.array([1, 3]), 2)
    array([0.5, 1.5])
    """

def floor_divide(x: Any, y: Any) -> Any:
    r"""Quotient of each pair of elements rounded down, x // y; 0 for integers where y is 0.

    >>> wg.floor_divide(np.array([7, -7]), 2)
    array([ 3, -4])
    """

def remainder(x: Any, y: Any) -> Any:
    r"""What x // y leaves, x % y, with the sign of y; 0 for integers where y is 0.

    >>> wg.remainder(np.array([7.0, -7.0]), 3)
    array([1., 2.])
    """

def negative(x: Any) -> Any:
    r"""Each element with its sign turned, -x.

    >>> wg.negative(np.array([1.0, -2.0]))
    array([-1.,  2.])
    """

def positive(x: Any) -> Any:
    r"""Each element as it is, +x.

    >>> wg.positive(np.array([1.0, -2.0]))
    array([ 1., -2.])
    """

def reciprocal(x: Any) -> Any:
    r"""1 / x of each element.

    >>> wg.reciprocal(np.array([2.0, -4.0]))
    array([ 0.5 , -0.25])
    """

def square(x: Any) -> Any:
    r"""x * x of each element.

    >>> wg.square(np.array([-3.0, 0.5]))
    array([9.  , 0.25])
    """

def sqrt(x: Any) -> Any:
    r"""Square root of each element.

    >>> wg.sqrt(np.array([4.0, 2.0]))
    array([2.        , 1.41421356])
    """

def rsqrt(x: Any) -> Any:
    r"""1 / sqrt(x) of each element.

    >>> wg.rsqrt(np.array([4.0, 0.25]))
    array([0.5, 2. ])
    """

def cbrt(x: Any) -> Any:
    r"""Real cube root of each element.

    >>> wg.cbrt(np.array([-8.0, 27.0]))
    array([-2.,  3.])
    """

def power(x: Any, y: Any) -> Any:
    r"""x to the power y, of each pair of elements; 1 where y is 0.

    >>> wg.power(np.array([2.0, 9.0]), np.array([10.0, 0.5]))
    array([1024.,    3.])
    """

def hypot(x: Any, y: Any) -> Any:
    r"""Square root of x² + y², of each pair of elements, without overflow on the way.

    >>> wg.hypot(np.array([3.0, 1e200]), np.array([4.0, 1e200]))
    array([5.00000000e+000, 1.41421356e+200])
    """

def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    r"""Elements at integer positions along an axis; negative positions count from the end.

    Without an axis, the array is read row by row as 1-d.

    >>> wg.take(np.array([[1, 2], [3, 4]]), np.array([1, 1]), axis=0)
    array([[3, 4],
           [3, 4]])
    """

def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    r"""Along an axis, the elements at the positions that the same row of `indices` lists.

    >>> wg.take_along_axis(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), axis=1)
    array([[2],
           [3]])
    """

def scatter_add(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    r"""The array with `updates` added at integer positions along an axis.

    Updates of one position add up; negative positions count from the end.

    >>> wg.scatter_add(np.zeros(3), np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([1., 0., 5.])
    """

def one_hot(indices: Any, num_classes: int, dtype: Any = ...) -> Any:
    r"""A row of zeros for each index, with a one at that position; none for an index outside.

    >>> wg.one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """

def abs(x: Any) -> Any:
    r"""Each element without its sign.

    >>> wg.abs(np.array([-1.5, 2.0]))
    array([1.5, 2. ])
    """

def sign(x: Any) -> Any:
    r"""-1, 0 or 1, as each element is negative, zero or positive.

    >>> wg.sign(np.array([-3.0, 0.0, 2.0]))
    array([-1.,  0.,  1.])
    """

def copysign(x: Any, y: Any) -> Any:
    r"""The size of each x with the sign of y, a negative zero's included.

    >>> wg.copysign(np.array([1.0, 2.0]), np.array([-0.0, 3.0]))
    array([-1.,  2.])
    """

def nextafter(x: Any, y: Any) -> Any:
    r"""The float next to each x in the direction of y; y where they are equal.

    >>> wg.nextafter(np.float32(1), np.float32(2)) > 1
    np.True_
    """

def floor(x: Any) -> Any:
    r"""The largest whole number that is not above each element.

    >>> wg.floor(np.array([-1.5, 0.2, 3.0]))
    array([-2.,  0.,  3.])
    """

def ceil(x: Any) -> Any:
    r"""The smallest whole number that is not below each element.

    >>> wg.ceil(np.array([-1.5, 0.2, 3.0]))
    array([-1.,  1.,  3.])
    """

def trunc(x: Any) -> Any:
    r"""Each element without what follows the decimal point.

    >>> wg.trunc(np.array([-1.5, 0.2, 3.9]))
    array([-1.,  0.,  3.])
    """

def round(x: Any) -> Any:
    r"""The whole number nearest to each element; of two, the even one.

    >>> wg.round(np.array([0.5, 1.5, -2.7]))
    array([ 0.,  2., -3.])
    """

def maximum(x: Any, y: Any) -> Any:
    r"""The larger of each pair of elements; NaN if either is.

    >>> wg.maximum(np.array([1.0, 5.0]), 3.0)
    array([3., 5.])
    """

def minimum(x: Any, y: Any) -> Any:
    r"""The smaller of each pair of elements; NaN if either is.

    >>> wg.minimum(np.array([1.0, 5.0]), 3.0)
    array([1., 3.])
    """

def relu(x: Any) -> Any:
    r"""Each element where it is positive, else 0.

    >>> wg.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """

def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    r"""Each element, but not below min and not above max; None is no bound.

    >>> wg.clip(np.array([-2.0, 0.5, 7.0]), -1, 1), wg.clip(np.array([-2.0, 7.0]), min=0)
    (array([-1. ,  0.5,  1. ]), array([0., 7.]))
    """

def where(condition: Any, x: Any, y: Any) -> Any:
    r"""Elements of x where the condition holds, else of y.

    >>> wg.where(np.array([True, False]), np.array([1.0, 2.0]), -1.0)
    array([ 1., -1.])
    """

def astype(x: Any, dtype: Any, *, copy: Any = None, device: Any = None) -> Any:
    r"""The same numbers in another dtype.

    >>> wg.astype(np.array([1.9, -1.9]), np.int64)
    array([ 1, -1])
    """

def stop_gradient(x: Any) -> Any:
    r"""The same value, cut out of every derivative. The one way to detach.

    A tree is given back with all of its arrays detached.

    >>> wg.grad(lambda x: x * wg.stop_gradient(x))(3.0)
    array(3.)
    """

def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: Any = None,
) -> Any:
    r"""Sum of the elements along the axes; all of them by default.

    >>> wg.sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """

def prod(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: Any = None,
) -> Any:
    r"""Product of the elements along the axes. Its derivatives are right at zeros too.

    >>> wg.prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([ 2., 12.])
    """

def max(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Largest element along the axes; NaN where there is one.

    >>> wg.max(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([3., 5.])
    """

def min(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Smallest element along the axes; NaN where there is one.

    >>> wg.min(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([1., 4.])
    """

def any(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Whether any element along the axes is not zero; False where there is none.

    >>> wg.any(np.array([[0, 1], [0, 0]]), axis=1)
    array([ True, False])
    """

def all(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Whether every element along the axes is not zero; True where there is none.

    >>> wg.all(np.array([[1, 1], [0, 1]]), axis=1)
    array([ True, False])
    """

def count_nonzero(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: builtins.bool = False,
) -> Any:
    r"""How many elements along the axes are not zero.

    >>> wg.count_nonzero(np.array([[1.0, 0.0], [0.0, 0.0]]), axis=1)
    array([1, 0])
    """

def argmax(x: Any, axis: int | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Where the largest element along the axis stands, the first of equals and of NaNs.

    Without an axis the position is counted over all elements, row by row.

    >>> wg.argmax(np.array([[1.0, 5.0], [4.0, 3.0]]), axis=1)
    array([1, 0])
    """

def argmin(x: Any, axis: int | None = None, keepdims: builtins.bool = False) -> Any:
    r"""Where the smallest element along the axis stands, the first of equals and of NaNs.

    Without an axis the position is counted over all elements, row by row.

    >>> wg.argmin(np.array([[1.0, 5.0], [4.0, 3.0]]), axis=1)
    array([0, 1])
    """

def reshape(x: Any, shape: Any, *, copy: Any = None) -> Any:
    r"""The elements, row by row, in another shape; one size may be -1.

    >>> wg.reshape(np.array([1, 2, 3, 4]), (2, -1))
    array([[1, 2],
           [3, 4]])
    """

def broadcast_to(x: Any, shape: Any) -> Any:
    r"""The array repeated along new axes and along axes of size 1.

    >>> wg.broadcast_to(np.array([1, 2]), (3, 2))
    array([[1, 2],
           [1, 2],
           [1, 2]])
    """

def permute_dims(x: Any, axes: tuple[int, ...]) -> Any:
    r"""The array with its axes in another order.

    >>> wg.permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """

def matrix_transpose(x: Any) -> Any:
    r"""The array with its last two axes swapped.

    >>> wg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """

def argsort(
    x: Any,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Any:
    r"""The positions that put the elements along an axis in order; equal ones keep their order.

    >>> wg.argsort(np.array([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    """

def sort(
    x: Any,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Any:
    r"""The elements along an axis in order, NaN last (first where descending).

    The gradient goes back to where each element came from, equal ones in their order.

    >>> wg.sort(np.array([3.0, 1.0, 2.0])), wg.sort(np.array([1, 3, 2]), descending=True)
    (array([1., 2., 3.]), array([3, 2, 1]))
    """

def searchsorted(x1: Any, x2: Any, side: str = 'left', *, sorter: Any = None) -> Any:
    r"""Where each element of x2 would be inserted into the sorted x1.

    ``side="left"`` is before elements equal to it, ``"right"`` after them. A `sorter` gives the
    positions of x1 in ascending order, where it is not sorted itself.

    >>> wg.searchsorted(np.array([1.0, 2.0, 4.0]), np.array([2.0, 3.0]))
    array([1, 2])
    """

def cond(condition: Any, then: Callable[..., Any], orelse: Callable[..., Any], *args: Any) -> Any:
    r"""One of two functions of the same arguments, chosen by a condition at run time.

    >>> cond(np.bool_(True), lambda x: x + 1, lambda x: x - 1, 2.0)
    3.0
    """

def scan(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: builtins.bool = False,
) -> Any:
    r"""A loop over time with a recorded body: `scan(f, init, xs)` where `f(carry, x) -> (carry, y)`.

    >>> last, partial_sums = scan(lambda total, x: (total + x, total + x), 0.0, np.arange(4.0))
    >>> partial_sums
    array([0., 1., 3., 6.])
    """

def while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int | None = None,
) -> Any:
    r"""A loop as long as a condition holds, `while_loop(cond, body, init)`.

    `cond(carry)` is a bool, and `body(carry)` the next carry.
    `max_steps` bounds the steps: it is an error where the condition still holds after so many. The
    way back (`wg.grad`) needs it, and keeps that many carries; forward mode does not. Condition and
    body are recorded once, and values of outside that they read are differentiated, too.

    >>> while_loop(lambda x: x < 100, lambda x: 2 * x, np.array(3))
    array(192)
    """

def tril(x: Any, k: int = 0) -> Any:
    r"""The lower triangle of each matrix, up to diagonal k, and zeros above it.

    >>> wg.tril(np.ones((2, 3), int))
    array([[1, 0, 0],
           [1, 1, 0]])
    """

def triu(x: Any, k: int = 0) -> Any:
    r"""The upper triangle of each matrix, from diagonal k on, and zeros below it.

    >>> wg.triu(np.ones((2, 3), int), k=1)
    array([[0, 1, 1],
           [0, 0, 1]])
    """

def gammainc(a: Any, x: Any) -> Any:
    r"""The share of ∫ tᵃ⁻¹ exp(-t) dt that lies between 0 and x, for a >= 0 and x >= 0.

    >>> wg.gammainc(np.array([0.5, 1.0, 1e6]), np.array([1.0, 1.0, 1e6]))
    array([0.84270079, 0.63212056, 0.50013298])
    """

def gammaincc(a: Any, x: Any) -> Any:
    r"""1 - gammainc(a, x), accurate where that is near 0.

    >>> wg.gammaincc(np.array([1.0, 1.0]), np.array([1.0, 50.0]))
    array([3.67879441e-01, 1.92874985e-22])
    """

def betainc(a: Any, b: Any, x: Any) -> Any:
    r"""The share of ∫ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt from 0 to 1 that lies below x, for a >= 0 and b >= 0.

    NaN for x outside of [0, 1], and where a and b are so large (above about 1e9) that its continued
    fraction does not settle.

    >>> wg.betainc(np.array([0.5, 2.0]), 3.0, 0.25)
    array([0.79296875, 0.26171875])
    """

def erf(x: Any) -> Any:
    r"""The error function of each element.

    >>> wg.erf(np.array([-1.0, 0.0, 1.0]))
    array([-0.84270079,  0.        ,  0.84270079])
    """

def erfc(x: Any) -> Any:
    r"""1 - erf(x) of each element, accurate for large x.

    >>> wg.erfc(np.array([0.0, 1.0, 10.0]))
    array([1.00000000e+00, 1.57299207e-01, 2.08848758e-45])
    """

def erfcx(x: Any) -> Any:
    r"""exp(x²) · erfc(x) of each element: erfc without its underflow for large x.

    >>> wg.erfcx(np.array([0.0, 1.0, 100.0]))
    array([1.        , 0.42758358, 0.00564161])
    """

def erfinv(y: Any) -> Any:
    r"""The x with erf(x) = y for each y from -1 to 1; NaN beyond.

    >>> wg.erfinv(np.array([-0.5, 0.0, 0.5]))
    array([-0.47693628,  0.        ,  0.47693628])
    """

def erfcinv(q: Any) -> Any:
    r"""The x with erfc(x) = q for each q from 0 to 2, accurate for small q; NaN beyond.

    >>> wg.erfcinv(np.array([1.0, 0.5, 1e-30]))
    array([0.        , 0.47693628, 8.14861622])
    """

def ndtr(x: Any) -> Any:
    r"""The probability that a standard normal number is below each element.

    >>> wg.ndtr(np.array([-1.96, 0.0, 1.96]))
    array([0.0249979, 0.5      , 0.9750021])
    """

def log_ndtr(x: Any) -> Any:
    r"""The logarithm of `ndtr`, accurate in both tails.

    >>> wg.log_ndtr(np.array([0.0, -40.0]))
    array([-6.93147181e-01, -8.04608442e+02])
    """

def ndtri(p: Any) -> Any:
    r"""The x with ndtr(x) = p for each p from 0 to 1: quantiles of the normal distribution.

    >>> wg.ndtri(np.array([0.025, 0.5]))
    array([-1.95996398,  0.        ])
    """

def i0e(x: Any) -> Any:
    r"""exp(-abs(x)) times the modified Bessel function of order 0 of each element.

    >>> wg.i0e(np.array([0.0, 1.0, 1000.0]))
    array([1.        , 0.46575961, 0.01261724])
    """

def i1e(x: Any) -> Any:
    r"""exp(-abs(x)) times the modified Bessel function of order 1 of each element.

    >>> wg.i1e(np.array([0.0, 1.0, 1000.0]))
    array([0.        , 0.20791042, 0.01261093])
    """

def j0(x: Any) -> Any:
    r"""The Bessel function of order 0 of each element.

    >>> wg.j0(np.array([0.0, 1.0, 10.0]))
    array([ 1.        ,  0.76519769, -0.24593576])
    """

def j1(x: Any) -> Any:
    r"""The Bessel function of order 1 of each element.

    >>> wg.j1(np.array([0.0, 1.0, 10.0]))
    array([0.        , 0.44005059, 0.04347275])
    """

def y0(x: Any) -> Any:
    r"""The Bessel function of the second kind, of order 0, of each element; NaN below 0.

    >>> wg.y0(np.array([1.0, 10.0]))
    array([0.08825696, 0.05567117])
    """

def y1(x: Any) -> Any:
    r"""The Bessel function of the second kind, of order 1, of each element; NaN below 0.

    >>> wg.y1(np.array([1.0, 10.0]))
    array([-0.78121282,  0.24901542])
    """

def jn(n: Any, x: Any) -> Any:
    r"""The Bessel function of integer order n of each x; NaN for orders beyond 10,000.

    >>> wg.jn(np.array([0, 1, 2]), 1.0)
    array([0.76519769, 0.44005059, 0.11490348])
    """

def yn(n: Any, x: Any) -> Any:
    r"""The Bessel function of the second kind, of integer order n, of each x.

    NaN below 0, and for orders beyond 10,000.

    >>> wg.yn(2, np.array([1.0, 10.0]))
    array([-1.65068261, -0.00586808])
    """

def lgamma(x: Any) -> Any:
    r"""log |Γ(x)| of each element.

    >>> wg.lgamma(np.array([1.0, 0.5, 100.0]))
    array([  0.        ,   0.57236494, 359.13420537])
    """

def digamma(x: Any) -> Any:
    r"""The derivative of log Γ at each element.

    >>> wg.digamma(np.array([1.0, 10.0]))
    array([-0.57721566,  2.25175259])
    """

def polygamma(n: Any, x: Any) -> Any:
    r"""The n-th derivative of digamma at each x, for integers n >= 0; NaN for negative n.

    >>> wg.polygamma(1, np.array([1.0, 10.0]))
    array([1.64493407, 0.10516634])
    """

def sinc(x: Any) -> Any:
    r"""sin(πx) / (πx) of each element, and 1 at 0.

    >>> wg.sinc(np.array([0.0, 0.5, 1.0, 1e15 + 0.5]))
    array([1.00000000e+00, 6.36619772e-01, 0.00000000e+00, 3.18309886e-16])
    """
