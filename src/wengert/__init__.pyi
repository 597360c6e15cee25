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
from wengert import functions as functions
from wengert import linalg as linalg
from wengert import nn as nn
from wengert import ops as ops
from wengert import optim as optim
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
from wengert.core import tree as tree
from wengert.core.dims import Dim as Dim
from wengert.core.table import op as op
from wengert.core.tensor import Tensor as Tensor
from wengert.functions.complex_parts import conj as conj
from wengert.functions.complex_parts import imag as imag
from wengert.functions.complex_parts import real as real
from wengert.functions.dropout import dropout as dropout
from wengert.functions.namespace import __array_namespace_info__ as __array_namespace_info__
from wengert.functions.namespace import can_cast as can_cast
from wengert.functions.namespace import finfo as finfo
from wengert.functions.namespace import from_dlpack as from_dlpack
from wengert.functions.namespace import iinfo as iinfo
from wengert.functions.namespace import isdtype as isdtype
from wengert.functions.namespace import result_type as result_type
from wengert.functions.normalize import batch_norm_with_statistics as batch_norm_with_statistics
from wengert.functions.numpy_signals import bincount as bincount
from wengert.functions.numpy_signals import interp as interp
from wengert.functions.quantiles import median as median
from wengert.functions.quantiles import quantile as quantile
from wengert.functions.scipy_names import multigammaln as multigammaln
from wengert.functions.sets import unique_all as unique_all
from wengert.functions.sets import unique_counts as unique_counts
from wengert.functions.sets import unique_inverse as unique_inverse
from wengert.functions.sets import unique_values as unique_values
from wengert.functions.special_names import betaln as betaln
from wengert.functions.special_names import entr as entr
from wengert.functions.special_names import i0 as i0
from wengert.functions.special_names import i1 as i1
from wengert.functions.special_names import logit as logit
from wengert.functions.special_names import xlog1py as xlog1py
from wengert.interpret.eagerness import eager as eager
from wengert.ops.arrange import diag as diag
from wengert.ops.arrange import diagonal as diagonal
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
from wengert.ops.incomplete import gammaincinv as gammaincinv
from wengert.ops.index import nonzero as nonzero
from wengert.ops.shape import broadcast_arrays as broadcast_arrays
from wengert.ops.shape import expand_dims as expand_dims
from wengert.ops.shape import flip as flip
from wengert.ops.shape import moveaxis as moveaxis
from wengert.ops.shape import roll as roll
from wengert.ops.shape import squeeze as squeeze
from wengert.ops.shape import swapaxes as swapaxes
from wengert.ops.update import at as at
from wengert.train.checkpoints.files import load as load
from wengert.train.checkpoints.files import save as save
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
    "random",
    "result_type",
    "save",
    "trace",
    "train",
    "tree",
    "value_and_grad",
    "vjp",
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
    "tril",
    "triu",
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
    "astype",
    "stop_gradient",
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
    "gammainc",
    "gammaincc",
    "betainc",
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
    "cond",
    "scan",
    "while_loop",
    "sinc",
    "real",
    "imag",
    "conj",
    "dropout",
    "batch_norm_with_statistics",
    "stack",
    "unstack",
    "split",
    "tile",
    "repeat",
    "diagonal",
    "diag",
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
    "gammaincinv",
    "nonzero",
    "broadcast_arrays",
    "moveaxis",
    "swapaxes",
    "expand_dims",
    "squeeze",
    "flip",
    "roll",
    "at",
    "quantile",
    "median",
    "interp",
    "bincount",
    "multigammaln",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "logit",
    "betaln",
    "xlog1py",
    "entr",
    "i0",
    "i1",
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
    """x times its sigmoid, also known as swish."""

def gelu(x: Any, approximate: str = 'none') -> Any:
    r"""x times the probability that a standard normal number is less than x.

    `approximate="tanh"` is the older formula with a hyperbolic tangent, right to about 3e-4.

    >>> wg.gelu(np.array([-10.0, 0.0, 1.0]))
    array([-7.61985302e-23,  0.00000000e+00,  8.41344746e-01])
    """

def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1)."""

def selu(x: Any) -> Any:
    """`elu` with the scale and alpha that keep mean 0 and variance 1 from layer to layer."""

def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else x * negative_slope."""

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
    """x times the hyperbolic tangent of its softplus."""

def softsign(x: Any) -> Any:
    """x divided by 1 + abs(x)."""

def hard_tanh(x: Any) -> Any:
    """x, but at least -1 and at most 1."""

def glu(x: Any, axis: int = -1) -> Any:
    """The first half along the axis times the sigmoid of the second."""

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
    is 0 nothing is added. "mean" divides by the number of distributions, not of elements.

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
    """Elements less their mean along the axes, divided by sqrt(variance + eps)."""

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
    """

def pad(x: Any, pad_width: Any, constant_values: float = 0) -> Any:
    """The array in a frame of one number; `pad_width` holds a pair (before, after) per axis."""

def tril(x: Any, k: int = 0) -> Any:
    """The lower triangle of each matrix, up to diagonal k, and zeros above it."""

def triu(x: Any, k: int = 0) -> Any:
    """The upper triangle of each matrix, from diagonal k on, and zeros below it."""

def equal(x: Any, y: Any) -> Any:
    """Whether each x == y."""

def not_equal(x: Any, y: Any) -> Any:
    """Whether each x != y."""

def less(x: Any, y: Any) -> Any:
    """Whether each x < y."""

def less_equal(x: Any, y: Any) -> Any:
    """Whether each x <= y."""

def greater(x: Any, y: Any) -> Any:
    """Whether each x > y."""

def greater_equal(x: Any, y: Any) -> Any:
    """Whether each x >= y."""

def logical_and(x: Any, y: Any) -> Any:
    """Whether both are true; a number is true unless it is 0."""

def logical_or(x: Any, y: Any) -> Any:
    """Whether either is true; a number is true unless it is 0."""

def logical_xor(x: Any, y: Any) -> Any:
    """Whether exactly one is true; a number is true unless it is 0."""

def logical_not(x: Any) -> Any:
    """Whether each element is false; a number is true unless it is 0."""

def bitwise_and(x: Any, y: Any) -> Any:
    """The bits set in both, x & y."""

def bitwise_or(x: Any, y: Any) -> Any:
    """The bits set in either, x | y."""

def bitwise_xor(x: Any, y: Any) -> Any:
    """The bits set in one of them only, x ^ y."""

def bitwise_invert(x: Any) -> Any:
    """Every bit turned, ~x; of a bool, its opposite."""

def bitwise_left_shift(x: Any, y: Any) -> Any:
    """The bits of x moved up by y, x << y; 0 where y is negative or at least the width of x."""

def bitwise_right_shift(x: Any, y: Any) -> Any:
    """The bits of x moved down by y, x >> y; the sign stays, so that it rounds down."""

def isfinite(x: Any) -> Any:
    """Whether each element is neither infinite nor NaN."""

def isinf(x: Any) -> Any:
    """Whether each element is infinite, of either sign."""

def isnan(x: Any) -> Any:
    """Whether each element is not a number."""

def signbit(x: Any) -> Any:
    """Whether the sign bit of each element is set: below zero, or a negative zero."""

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

def astype(x: Any, dtype: Any, *, copy: Any = None, device: Any = None) -> Any:
    """The same numbers in another dtype."""

def stop_gradient(x: Any) -> Any:
    """The same value, cut out of every derivative. The one way to detach."""

def full(shape: Any, fill_value: float, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of one repeated number."""

def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Numbers from start up to stop, a step apart, without stop; one number alone is the stop."""

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
    """e to the power of each element."""

def exp2(x: Any) -> Any:
    """2 to the power of each element."""

def expm1(x: Any) -> Any:
    """exp(x) - 1 of each element, accurate near 0."""

def log(x: Any) -> Any:
    """Natural logarithm of each element."""

def log1p(x: Any) -> Any:
    """log(1 + x) of each element, accurate near 0."""

def log2(x: Any) -> Any:
    """Logarithm of each element to base 2."""

def log10(x: Any) -> Any:
    """Logarithm of each element to base 10."""

def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) of each pair of elements, without overflow on the way."""

def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y) of each pair of elements, without overflow on the way."""

def xlogy(x: Any, y: Any) -> Any:
    """x · log(y) of each pair of elements, and 0 where x is 0, whatever y is but NaN."""

def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) of each element, without overflow on the way."""

def sin(x: Any) -> Any:
    """Sine of each element, in radians."""

def cos(x: Any) -> Any:
    """Cosine of each element, in radians."""

def tan(x: Any) -> Any:
    """Tangent of each element, in radians."""

def asin(x: Any) -> Any:
    """Inverse sine of each element, in [-π/2, π/2]."""

def acos(x: Any) -> Any:
    """Inverse cosine of each element, in [0, π]."""

def atan(x: Any) -> Any:
    """Inverse tangent of each element, in [-π/2, π/2]."""

def atan2(y: Any, x: Any) -> Any:
    """Angle of each point (x, y), in [-π, π]."""

def sinh(x: Any) -> Any:
    """Hyperbolic sine of each element."""

def cosh(x: Any) -> Any:
    """Hyperbolic cosine of each element."""

def tanh(x: Any) -> Any:
    """Hyperbolic tangent of each element."""

def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine of each element."""

def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine of each element; NaN below 1."""

def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent of each element, which lie in [-1, 1]."""

def add(x: Any, y: Any) -> Any:
    """Sum of each pair of elements, x + y."""

def subtract(x: Any, y: Any) -> Any:
    """Difference of each pair of elements, x - y."""

def multiply(x: Any, y: Any) -> Any:
    """Product of each pair of elements, x * y."""

def divide(x: Any, y: Any) -> Any:
    """Quotient of each pair of elements, x / y; that of integers is a float."""

def floor_divide(x: Any, y: Any) -> Any:
    """Quotient of each pair of elements rounded down, x // y; 0 for integers where y is 0."""

def remainder(x: Any, y: Any) -> Any:
    """What x // y leaves, x % y, with the sign of y; 0 for integers where y is 0."""

def negative(x: Any) -> Any:
    """Each element with its sign turned, -x."""

def positive(x: Any) -> Any:
    """Each element as it is, +x."""

def reciprocal(x: Any) -> Any:
    """1 / x of each element."""

def square(x: Any) -> Any:
    """x * x of each element."""

def sqrt(x: Any) -> Any:
    """Square root of each element."""

def rsqrt(x: Any) -> Any:
    """1 / sqrt(x) of each element."""

def cbrt(x: Any) -> Any:
    """Real cube root of each element."""

def power(x: Any, y: Any) -> Any:
    """x to the power y, of each pair of elements; 1 where y is 0."""

def hypot(x: Any, y: Any) -> Any:
    """Square root of x² + y², of each pair of elements, without overflow on the way."""

def gammainc(a: Any, x: Any) -> Any:
    r"""The share of ∫ tᵃ⁻¹ exp(-t) dt that lies between 0 and x, for a >= 0 and x >= 0.

    >>> wg.gammainc(np.array([0.5, 1.0, 1e6]), np.array([1.0, 1.0, 1e6]))
    array([0.84270079, 0.63212056, 0.50013298])
    """

def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), accurate where that is near 0."""

def betainc(a: Any, b: Any, x: Any) -> Any:
    r"""The share of ∫ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt from 0 to 1 that lies below x, for a >= 0 and b >= 0.

    NaN for x outside of [0, 1], and where a and b are so large (above about 1e9) that its continued
    fraction does not settle.

    >>> wg.betainc(np.array([0.5, 2.0]), 3.0, 0.25)
    array([0.79296875, 0.26171875])
    """

def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    r"""Elements at integer positions along an axis; negative positions count from the end.

    Without an axis, the array is read row by row as 1-d.
    """

def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    """Along an axis, the elements at the positions that the same row of `indices` lists."""

def scatter_add(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    r"""The array with `updates` added at integer positions along an axis.

    Updates of one position add up; negative positions count from the end.
    """

def one_hot(indices: Any, num_classes: int, dtype: Any = ...) -> Any:
    """A row of zeros for each index, with a one at that position; none for an index outside."""

def abs(x: Any) -> Any:
    """Each element without its sign."""

def sign(x: Any) -> Any:
    """-1, 0 or 1, as each element is negative, zero or positive."""

def copysign(x: Any, y: Any) -> Any:
    """The size of each x with the sign of y, a negative zero's included."""

def nextafter(x: Any, y: Any) -> Any:
    """The float next to each x in the direction of y; y where they are equal."""

def floor(x: Any) -> Any:
    """The largest whole number that is not above each element."""

def ceil(x: Any) -> Any:
    """The smallest whole number that is not below each element."""

def trunc(x: Any) -> Any:
    """Each element without what follows the decimal point."""

def round(x: Any) -> Any:
    """The whole number nearest to each element; of two, the even one."""

def maximum(x: Any, y: Any) -> Any:
    """The larger of each pair of elements; NaN if either is."""

def minimum(x: Any, y: Any) -> Any:
    """The smaller of each pair of elements; NaN if either is."""

def relu(x: Any) -> Any:
    """Each element where it is positive, else 0."""

def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Each element, but not below min and not above max; None is no bound."""

def where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of x where the condition holds, else of y."""

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
    """The elements, row by row, in another shape; one size may be -1."""

def broadcast_to(x: Any, shape: Any) -> Any:
    """The array repeated along new axes and along axes of size 1."""

def permute_dims(x: Any, axes: tuple[int, ...]) -> Any:
    """The array with its axes in another order."""

def matrix_transpose(x: Any) -> Any:
    """The array with its last two axes swapped."""

def argsort(
    x: Any,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Any:
    """The positions that put the elements along an axis in order; equal ones keep their order."""

def sort(
    x: Any,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Any:
    r"""The elements along an axis in order, NaN last (first where descending).

    The gradient goes back to where each element came from, equal ones in their order.
    """

def searchsorted(x1: Any, x2: Any, side: str = 'left', *, sorter: Any = None) -> Any:
    r"""Where each element of x2 would be inserted into the sorted x1.

    ``side="left"`` is before elements equal to it, ``"right"`` after them. A `sorter` gives the
    positions of x1 in ascending order, where it is not sorted itself.
    """

def erf(x: Any) -> Any:
    """The error function of each element."""

def erfc(x: Any) -> Any:
    """1 - erf(x) of each element, accurate for large x."""

def erfcx(x: Any) -> Any:
    """exp(x²) · erfc(x) of each element: erfc without its underflow for large x."""

def erfinv(y: Any) -> Any:
    """The x with erf(x) = y for each y from -1 to 1; NaN beyond."""

def erfcinv(q: Any) -> Any:
    """The x with erfc(x) = q for each q from 0 to 2, accurate for small q; NaN beyond."""

def ndtr(x: Any) -> Any:
    """The probability that a standard normal number is below each element."""

def log_ndtr(x: Any) -> Any:
    """The logarithm of `ndtr`, accurate in both tails."""

def ndtri(p: Any) -> Any:
    """The x with ndtr(x) = p for each p from 0 to 1: quantiles of the normal distribution."""

def i0e(x: Any) -> Any:
    """exp(-abs(x)) times the modified Bessel function of order 0 of each element."""

def i1e(x: Any) -> Any:
    """exp(-abs(x)) times the modified Bessel function of order 1 of each element."""

def j0(x: Any) -> Any:
    """The Bessel function of order 0 of each element."""

def j1(x: Any) -> Any:
    """The Bessel function of order 1 of each element."""

def y0(x: Any) -> Any:
    """The Bessel function of the second kind, of order 0, of each element; NaN below 0."""

def y1(x: Any) -> Any:
    """The Bessel function of the second kind, of order 1, of each element; NaN below 0."""

def jn(n: Any, x: Any) -> Any:
    r"""The Bessel function of integer order n of each x; NaN for orders beyond 10,000.

    >>> wg.jn(np.array([0, 1, 2]), 1.0)
    array([0.76519769, 0.44005059, 0.11490348])
    """

def yn(n: Any, x: Any) -> Any:
    r"""The Bessel function of the second kind, of integer order n, of each x.

    NaN below 0, and for orders beyond 10,000.
    """

def lgamma(x: Any) -> Any:
    """log |Γ(x)| of each element."""

def digamma(x: Any) -> Any:
    """The derivative of log Γ at each element."""

def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma at each x, for integers n >= 0; NaN for negative n."""

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

def sinc(x: Any) -> Any:
    r"""sin(πx) / (πx) of each element, and 1 at 0.

    >>> wg.sinc(np.array([0.0, 0.5, 1.0, 1e15 + 0.5]))
    array([1.00000000e+00, 6.36619772e-01, 0.00000000e+00, 3.18309886e-16])
    """
