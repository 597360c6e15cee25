"""NumPy functions a Tensor answers, so that a loss written with NumPy alone can be differentiated.

Every row of the table below reads: NumPy's names, and after the bar their parameters in order. A
name is answered by the function of that name in one of the rooms below or, failing that,
by ours; one of `linalg` by ours first; `amax:max` by what stands behind the colon. Of the
parameters,

    x         is passed on: the first by position, the others by name
    b>y       is passed on under our name
    *arrays   is any number of operands
    dtype     converts the first operand beforehand, and the result
    ~axis     is passed on, and may be 0 or -1 for an array of no axes
    !out      is not recorded, and refused unless it says what happens anyway
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert import ops  # noqa: F401 (fills the table that the rows below look into)
from wengert.core.bind import located
from wengert.core.table import FUNCTIONS, UFUNC_METHODS, UFUNCS, op
from wengert.core.tensor import Tensor
from wengert.core.words.arguments import no_parameter
from wengert.functions import complex_parts, quantiles
from wengert.functions.numpy_scipy import (
    numpy_arrays,
    numpy_functions,
    numpy_nan,
    numpy_signals,
    numpy_statistics,
)

_TABLE = """
sum prod                              | a ~axis dtype !out keepdims !initial !where
mean                                  | a axis dtype !out keepdims !where
max min amax:max amin:min             | a ~axis !out keepdims !initial !where
any all                               | a ~axis !out keepdims !where
argmax argmin                         | a ~axis !out keepdims
var std                               | a axis dtype>dtype !out ddof>correction keepdims !where \
                                        !mean correction
count_nonzero                         | a ~axis keepdims
ptp                                   | a ~axis !out keepdims
median nanmedian                      | a axis !out !overwrite_input keepdims
quantile percentile nanquantile nanpercentile | a q axis !out !overwrite_input method keepdims \
                                        !weights !interpolation
average                               | a axis weights !returned keepdims
nansum nanprod                        | a ~axis dtype !out keepdims !initial !where
nanmax nanmin                         | a ~axis !out keepdims !initial !where
nanvar nanstd                         | a ~axis !dtype !out ddof>correction keepdims !where !mean \
                                        correction
nancumsum nancumprod                  | a axis dtype !out
nanmean                               | a ~axis dtype !out keepdims !where
cov                                   | m y rowvar bias ddof !fweights !aweights dtype>dtype
corrcoef                              | x y rowvar !bias !ddof dtype>dtype
trapezoid                             | y x dx axis
interp:np_interp                      | x xp fp left right !period
unwrap                                | p discont axis period
fft.fftshift fft.ifftshift            | x axes
lib.stride_tricks.sliding_window_view | x window_shape axis !subok !writeable
bincount:np_bincount                  | x weights minlength
histogram                             | a bins range density weights
rot90                                 | m k axes
vander                                | x N increasing
partition argpartition                | a kth axis !kind !order
diff                                  | a n axis prepend append
shape ndim iscomplexobj isrealobj     | a
size                                  | a axis
copy                                  | a !order !subok
astype                                | x dtype>dtype !copy !device
reshape                               | a shape !order !copy
ravel                                 | a !order
transpose permute_dims:transpose      | a axes
matrix_transpose linalg.matrix_transpose | x
swapaxes                              | a axis1 axis2
moveaxis                              | a source destination
rollaxis                              | a axis start
expand_dims squeeze                   | a axis
broadcast_to                          | array shape !subok
broadcast_arrays                      | *args !subok
atleast_1d atleast_2d atleast_3d      | *arys
concatenate:concat concat             | arrays axis !out !dtype !casting
stack                                 | arrays axis !out !dtype !casting
unstack                               | x axis
vstack hstack                         | tup !dtype !casting
dstack column_stack                   | tup
block                                 | arrays
append                                | arr values axis
split array_split                     | ary indices_or_sections axis
hsplit vsplit dsplit                  | ary indices_or_sections
flip                                  | m axis
fliplr flipud                         | m
roll                                  | a shift axis
pad                                   | array pad_width mode constant_values !end_values
tile                                  | A reps>repetitions
repeat                                | a repeats axis
tril triu                             | m k
diag                                  | v k
diagonal                              | a offset axis1 axis2
trace                                 | a offset axis1 axis2 dtype !out
linalg.diagonal                       | x offset
linalg.trace                          | x offset dtype>dtype
meshgrid                              | *xi !copy !sparse indexing
zeros_like ones_like empty_like       | a dtype>dtype !order !subok !shape !device
full_like                             | a fill_value dtype>dtype !order !subok !shape !device
logspace                              | start stop num endpoint base dtype>dtype !axis
linspace                              | start stop num endpoint !retstep dtype>dtype !axis !device
where                                 | condition x y
select                                | condlist choicelist default
clip                                  | a a_min a_max !out min max
nan_to_num                            | x !copy nan posinf neginf
take                                  | a indices axis !out !mode
take_along_axis                       | arr indices axis
searchsorted                          | a v>x2 side sorter
nonzero                               | a
sort argsort                          | a axis !kind !order !stable
round around:round                    | a decimals !out
fix:trunc                             | x !out
isposinf isneginf                     | x !out
isclose allclose                      | a b>y rtol atol equal_nan
array_equal                           | a1 a2>y !equal_nan
real imag                             | val
iscomplex isreal                      | x
real_if_close                         | a !tol
angle                                 | z deg
result_type                           | *arrays_and_dtypes
dot                                   | a b>y !out
inner vdot kron                       | a b>y
outer                                 | a b>y !out
linalg.outer                          | x1 x2>y
tensordot                             | a b>y axes
linalg.tensordot                      | x1 x2>y axes
linalg.matmul                         | x1 x2>y
linalg.vecdot                         | x1 x2>y axis
linalg.multi_dot                      | arrays !out
einsum                                | *operands !out optimize !dtype !order !casting
cross                                 | a b>y axisa axisb axisc axis
linalg.cross                          | x1 x2>y axis
polyval                               | p x
convolve correlate                    | a v>y mode
linalg.norm                           | x ord axis keepdims
linalg.vector_norm                    | x axis keepdims ord
linalg.matrix_norm                    | x keepdims ord
linalg.cholesky                       | a upper
linalg.solve                          | a b
linalg.inv linalg.det linalg.slogdet  | a
linalg.matrix_power                   | a n
"""

# What an argument that is not recorded may say, because it happens anyway or changes no value.
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "order": ("C", "K", "A"),
    "kind": ("quicksort", "mergesort", "heapsort", "stable"),
    "mode": ("raise",),
    "casting": ("same_kind",),
    "device": ("cpu",),
    "where": (True,),
    "copy": (True, False),
    "nan_to_num.copy": (True,),  # a caller that passes False may not use the result
    "subok": (True, False),
    "stable": (True, False),
    "overwrite_input": (False,),
    "returned": (False,),
    "retstep": (False,),
    "equal_nan": (False,),
    "sparse": (False,),
    "axis": (0,),
    "tol": (100,),
}

_REPAIRS = {
    "out": "Give the result a name instead",
    "initial": "Combine it with the result instead",
    "dtype": "Convert the result with astype",
    "order": "Of order='F', write x.T.reshape(shape[::-1]).T",
    "end_values": "Join the parts with wg.concat",
    "copy": "A Tensor is never changed in place: write x = np.nan_to_num(x)",
}
_CHOSEN_MEAN = "wg.sum(wg.where(mask, x, 0), axis) / wg.sum(mask, axis)"
# What to write for the argument where, by function: what is left out must not count.
_CHOSEN = {
    **dict.fromkeys(("max", "amax"), "Write np.max(wg.where(mask, x, -np.inf), axis)"),
    **dict.fromkeys(("min", "amin"), "Write np.min(wg.where(mask, x, np.inf), axis)"),
    "all": "Write np.all(x | ~mask, axis)",
    "any": "Write np.any(x & mask, axis)",
    "mean": f"Write {_CHOSEN_MEAN}",
    "nanmean": "Write np.nanmean(wg.where(mask, x, np.nan), axis)",
    "prod": "Write np.prod(wg.where(mask, x, 1), axis)",
    **dict.fromkeys(
        ("std", "var"),
        f"Write mean = {_CHOSEN_MEAN}, and the mean of (x - mean) ** 2 in the same way",
    ),
    "sum": "Write np.sum(wg.where(mask, x, 0), axis)",
}


_ROOMS = (numpy_functions, numpy_statistics, quantiles, numpy_nan, numpy_signals, numpy_arrays)
_DEFINED = {name: each for room in _ROOMS for name, each in vars(room).items()}


def _find(name: str) -> tuple[Any, Callable[..., Any]] | None:
    """NumPy's function and what answers it; None if this NumPy does not have it."""
    path, _, ours = name.partition(":")
    theirs: Any = np
    for part in path.split("."):
        theirs = getattr(theirs, part, None)
    own = ours or path.rpartition(".")[2]
    defined = {} if "linalg." in path and hasattr(op, own) else _DEFINED
    return None if theirs is None else (theirs, defined.get(own) or getattr(op, own))


def _is_harmless(function: str, argument: str, value: Any) -> bool:
    if value is None or value is np._NoValue:
        return True
    allowed = _HARMLESS.get(f"{function}.{argument}", _HARMLESS.get(argument, ()))
    return isinstance(value, str | int) and value in allowed


def _adapted(name: str, ours: Callable[..., Any], parameters: list[str]) -> Callable[..., Any]:
    """Our function, called as NumPy's."""
    variadic = parameters[0].startswith("*")
    names = [each.lstrip("*!~").partition(">")[0] for each in parameters]
    passed = {
        n: each.lstrip("~").rpartition(">")[2]
        for n, each in zip(names, parameters, strict=True)
        if each[0] != "!"
    }
    cast = passed.pop("dtype", None) if "dtype" in parameters else None
    lenient = "~axis" in parameters

    def answer(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return ours(args[0])
        operands = args if variadic else args[:1]
        named = kwargs if variadic else dict(zip(names, args, strict=False)) | kwargs
        if not variadic:
            operands = (named.pop(names[0]),)
        given, dtype = {}, None
        for each, value in named.items():
            if each in passed:
                if value is not np._NoValue:
                    given[passed[each]] = value
            elif each == cast:
                dtype = value
            elif each not in names and not variadic:
                raise located(no_parameter(f"np.{name}", each, names), args)
            elif not _is_harmless(name, each, value):
                _refuse(name, each, (*args, *kwargs.values()))
        if lenient and given.get("axis") in (0, -1) and not operands[0].shape:
            given["axis"] = None
        if dtype is None:
            return ours(*operands, **given)
        return op.astype(ours(op.astype(operands[0], dtype), *operands[1:], **given), dtype)

    return answer


class _Shown:
    """What inspect looks at behind an adapted function: its signature, made when it is asked for.
    It has the parameters that are not refused, with the defaults of ours.
    """

    def __init__(self, ours: Callable[..., Any], parameters: Sequence[str]) -> None:
        self._ours, self._parameters = ours, parameters

    @property
    def __signature__(self) -> inspect.Signature:
        known = inspect.signature(self._ours).parameters
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        shown = []
        for i, each in enumerate(self._parameters):
            name, _, ours = each.lstrip("!~").partition(">")
            if each.startswith("!"):  # it has a place: what is behind it is shown by name
                kind = inspect.Parameter.KEYWORD_ONLY
                continue
            parameter = known.get(ours or name)
            default = parameter.default if parameter else None if i else inspect.Parameter.empty
            shown.append(inspect.Parameter(name, kind, default=default))
        return inspect.Signature(shown)


def _as_method(name: str, function: Any) -> Callable[..., Any]:
    """What answers a function of NumPy, named as a method of Tensors."""
    function.__name__, function.__qualname__ = name, f"{Tensor.__name__}.{name}"
    function.__doc__ = f"The same as np.{name} of the Tensor."
    return function  # type: ignore[no-any-return]


def _refuse(name: str, argument: str, values: Iterable[Any]) -> None:
    otherwise = "Leave it out, or write it with the functions of wg"
    if argument == "where":
        repair = _CHOSEN.get(name, "Choose with wg.where(mask, new, old) what counts")
    else:
        repair = _REPAIRS.get(argument, otherwise)
    tensor = _some_tensor(values)
    if tensor is not None:
        tensor._refuse(f"np.{name}", f"its {argument} argument is not recorded", repair)


def _some_tensor(values: Iterable[Any]) -> Tensor | None:
    for value in values:
        candidate = _some_tensor(value) if isinstance(value, list | tuple) else value
        if isinstance(candidate, Tensor):
            return candidate
    return None


def _outer(ours: Callable[..., Any]) -> Callable[..., Any]:
    def outer(x: Any, y: Any) -> Any:
        x, y = op.asarray(x), op.asarray(y)
        return ours(op.reshape(x, (*x.shape, *(1,) * len(y.shape))), y)

    return outer


_NEW_VALUES = {
    "fill": "Write x = wg.full_like(x, value)",
    "itemset": "Write x = x.at[index].set(value)",
    "partition": "Write x = np.partition(x, k)",
    "put": "Write x = x.reshape(-1).at[index].set(values).reshape(x.shape)",
    "resize": "Write x = np.resize(x, shape)",
    "sort": "Write x = np.sort(x)",
}


def _refuse_change(name: str) -> Callable[..., Any]:
    def refuse(self: Tensor, *_args: Any, **_kwargs: Any) -> None:
        self._refuse(
            name,
            "a Tensor is never changed in place",
            _NEW_VALUES[name],
        )

    return refuse


for _line in _TABLE.strip().splitlines():
    _names, _, _parameters = _line.partition("|")
    for _name in _names.split():
        if (_found := _find(_name)) is not None:
            _theirs, _ours = _found
            _shown = ("linalg." if "linalg." in _name else "") + _theirs.__name__
            FUNCTIONS[_theirs] = _made = _adapted(_shown, _ours, _parameters.split())
            _made.__wrapped__ = _Shown(_ours, _parameters.split())  # type: ignore[attr-defined]

FUNCTIONS[np.gradient] = numpy_signals.gradient  # any number of spacings
FUNCTIONS[np.piecewise] = numpy_arrays.piecewise
UFUNCS[np.heaviside] = numpy_functions.heaviside
UFUNCS[np.fabs] = numpy_functions.fabs
UFUNCS[np.rint] = numpy_functions.rint
UFUNCS[np.reciprocal] = numpy_functions.reciprocal
UFUNCS[np.conjugate] = complex_parts.conj
UFUNCS[np.radians] = UFUNCS[np.deg2rad] = numpy_functions.radians
UFUNCS[np.degrees] = UFUNCS[np.rad2deg] = numpy_functions.degrees
for _ufunc, _ours in list(UFUNCS.items()):
    if _ufunc.nin == 2 and _ufunc.signature is None:
        UFUNC_METHODS[_ufunc, "outer"] = _outer(_ours)

# The methods of an array are its functions of the same name.
for _name in (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal", "max"),
    *("mean", "min", "nonzero", "prod", "repeat", "round", "searchsorted", "squeeze", "std", "sum"),
    *("swapaxes", "take", "trace", "var"),
):
    setattr(Tensor, _name, _as_method(_name, FUNCTIONS[getattr(np, _name)]))
setattr(Tensor, "__round__", FUNCTIONS[np.round])  # noqa: B010 (as above)
for _name in ("fill", "partition", "put", "resize", "sort"):
    setattr(Tensor, _name, _refuse_change(_name))
