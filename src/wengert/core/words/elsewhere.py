"""What arrays of other libraries have and Tensors have not, and what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dis import EXTENDED_ARG, opmap
from types import FrameType
from typing import Any

import numpy as np

from wengert.core.table import FUNCTIONS, op
from wengert.core.words.nearest import misspelt
from wengert.core.words.source import Line, is_users, is_users_own

_CONVERSIONS = {
    "bool": "bool",
    "double": "np.float64",
    "float": "np.float32",
    "int": "np.int32",
    "long": "np.int64",
    "short": "np.int16",
}
# NumPy's functions that change their first argument.
_CHANGES = {
    "copyto": "Write x = wg.where(mask, values, x)",
    "fill_diagonal": "Write x = wg.where(np.eye(n, dtype=bool), value, x)",
    "place": "Write x = wg.where(mask, value, x)",
    "put": "Write x = x.reshape(-1).at[index].set(values).reshape(x.shape)",
    "put_along_axis": "Write x = wg.at(x)[index].set(values), with an index for each axis",
    "putmask": "Write x = wg.where(mask, values, x)",
}
# Functions without one of the same name here, of whatever library.
_INSTEAD = {
    **dict.fromkeys(
        ("eig", "eigvals", "logm", "schur"),
        "Its result is complex, and there are no complex numbers; for symmetric matrices there is "
        "wg.linalg.eigh",
    ),
    "apply_along_axis": "Write wg.vmap(f)(x), which maps f over axis 0; in_axes= says another one",
    "cond": "Write s = wg.linalg.svdvals(x), and s[..., 0] / s[..., -1]",
    "cho_factor": (
        "Write factor = wg.linalg.cholesky(x), and wg.linalg.cho_solve((factor, True), b)"
    ),
    "cumulative_trapezoid": "Write wg.cumulative_sum((y[1:] + y[:-1]) / 2 * np.diff(x))",
    "digitize": 'Write wg.searchsorted(bins, x, side="right")',
    "huber": "Write wg.where(wg.abs(r) <= delta, r**2 / 2, delta * (wg.abs(r) - delta / 2))",
    "pseudo_huber": "Write delta**2 * (wg.sqrt(1 + (r / delta) ** 2) - 1)",
    **dict.fromkeys(
        ("Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial"),
        "Write np.polyval(c[::-1], x), where c are the coefficients of powers, the lowest first",
    ),
    "quad": "Write a sum over points, such as np.trapezoid(f(x), x)",
    "solve_ivp": "Write wg.odeint(f, y0, times), where f(y, t) has the time last",
    "vectorize": "Write wg.vmap(f)(x)",
    "nanargmax": "Write wg.argmax(wg.where(wg.isnan(x), -np.inf, x))",
    "nanargmin": "Write wg.argmin(wg.where(wg.isnan(x), np.inf, x))",
}
# Distributions of scipy.stats that are in wg.distributions, and how they are written there.
_STATISTICS = {
    "bernoulli": "Bernoulli(logits)",
    "beta": "Beta(a, b)",
    "gamma": "Gamma(a, rate)",
    "multivariate_normal": "MultivariateNormal(mean, factor)",
    "norm": "Normal(mean, std)",
    "uniform": "Uniform(low, high)",
}
_METHODS = {
    **dict.fromkeys(("logpdf", "logpmf"), "log_prob(x)"),
    "cdf": "cdf(x)",
    "entropy": "entropy()",
}
_FOURIER = (
    "There are no complex numbers; wg.fft.rfft and wg.fft.irfft transform along one axis, with "
    "pairs of real arrays"
)
_OF_SEARCHES = (
    "Write the search with wg.while_loop; or call it in a wg.custom_vjp that gives its result a "
    "derivative, as docs/how-to/implicit-derivatives.md does, outside of compiled functions"
)
SCIPY_SPECIAL = "scipy.special."
_TORCH_DISTRIBUTIONS = "torch.distributions"
# Those that torch has by the same name.
_DISTRIBUTIONS = (
    *("Bernoulli", "Beta", "Categorical", "Gamma", "MultivariateNormal", "Normal", "Uniform"),
)
_LEAVE_OUT = "Leave it out"
_BY_FUNCTION = "Write wg.grad(f)(x), where f computes the loss from x"
REPAIRS = {
    "add_": "Write x = x + y",
    "backward": _BY_FUNCTION,
    "block_until_ready": _LEAVE_OUT,
    "bmm": "Write x @ y",
    "cat": "Write wg.concat([x, y])",
    "chunk": "Write wg.split(x, count)",
    "clamp": "Write wg.clip(x, low, high)",
    "clone": _LEAVE_OUT,
    "contiguous": _LEAVE_OUT,
    "cpu": _LEAVE_OUT,
    "cuda": _LEAVE_OUT,
    "detach": "Write wg.stop_gradient(x)",
    "dim": "Write x.ndim",
    "div": "Write x / y",
    "eq": "Write x == y",
    "expand": "Write wg.broadcast_to(x, shape)",
    "expand_as": "Write wg.broadcast_to(x, y.shape)",
    "gather": "Write wg.take_along_axis(x, index, axis)",
    "grad": _BY_FUNCTION,
    "index_select": "Write wg.take(x, index, axis)",
    "masked_fill": "Write wg.where(mask, value, x)",
    "mm": "Write x @ y",
    "mul": "Write x * y",
    "mul_": "Write x = x * y",
    "norm": "Write wg.linalg.norm(x)",
    "numel": "Write x.size",
    "numpy": "Return it from the function, and what is returned is an array",
    "permute": "Write x.transpose(axes)",
    "pow": "Write x ** n",
    "requires_grad": _BY_FUNCTION,
    "requires_grad_": _BY_FUNCTION,
    "sub": "Write x - y",
    "sub_": "Write x = x - y",
    "t": "Write x.T",
    "to": "Write x.astype(dtype)",
    "type": "Write x.astype(dtype)",
    "unsqueeze": "Write wg.expand_dims(x, axis)",
    "view": "Write x.reshape(shape)",
    "view_as": "Write x.reshape(y.shape)",
    **{name: f"Write x.astype({dtype})" for name, dtype in _CONVERSIONS.items()},
}
OF_FRAMES = (
    "A frame is one array here, without the names of its columns: give dict(frame) in its place, "
    "of polars frame.to_dict(), and x['name'] is a column"
)
# What torch's max(axis) and sort have, its values in other libraries, and what changes it.
_OF_RESULTS = {
    "amax": "Write wg.max(x, axis)",
    "amin": "Write wg.min(x, axis)",
    "copy_": "Write x = y",
    "data": "Leave .data out, which keeps the derivative; wg.stop_gradient(x) is what detaches",
    "fill_": "Write x = wg.full_like(x, value)",
    "indices": "Write wg.argmax(x, axis) of what max is given; wg.argmin and wg.argsort likewise",
    "value": "Leave .value out, which keeps the derivative; wg.stop_gradient(x) is what detaches",
    "to_numpy": "Leave .to_numpy() out: it is an array",
    "values": "Leave .values out: max, min and sort give the values alone, and of a frame it is an "
    "array of all columns already",
    **dict.fromkeys(("columns", "iloc", "loc"), OF_FRAMES),
    "zero_": "Write x = wg.zeros_like(x)",
}


def repair_of(name: str, known: Iterable[str]) -> str:
    """What to write instead of an attribute that a Tensor has not; `known` are those it has."""
    repair = REPAIRS.get(name) or _OF_RESULTS.get(name)
    if repair is not None:
        return repair
    if name in op.public(""):
        return f"Write wg.{name}(x)"
    if name.endswith("_"):
        return _instead_of_change(name.removesuffix("_"))
    meant = misspelt(name, [each for each in known if not each.startswith("_")])
    if meant:
        return f"Write x.{meant}"
    return f"Write it with the functions of wg. {OF_FRAMES}"


def _instead_of_change(name: str) -> str:
    """What to write instead of a method that changes its Tensor, torch's `name_`."""
    repair = REPAIRS.get(name, "")
    if repair.startswith("Write "):
        return repair.replace("Write ", "Write x = ", 1)
    known = name in op.public("")
    return f"Write x = wg.{name}(x)" if known else "A Tensor is never changed: write x = …"


def ufunc_name(ufunc: np.ufunc) -> str:
    """The name of a ufunc as one writes it: NumPy's, SciPy's, or one of somebody else."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}"
    if getattr(sys.modules.get("scipy.special"), name, None) is ufunc:
        return f"{SCIPY_SPECIAL}{name}"
    # Some functions of SciPy call a ufunc that nobody writes: zeta calls _zeta, or _riemann_zeta.
    return (name.startswith("_") and scipy_function()) or name


def function_of_wg(name: str) -> str:
    """What to write in the place of a function of another library."""
    own = name.rpartition(".")[2]
    if name.startswith("np.") and own in _CHANGES:
        return f"It changes its argument, and a Tensor is never changed. {_CHANGES[own]}"
    if name.startswith("scipy.sparse"):
        return "Convert the sparse matrix with toarray() first"
    if own in ("rfft", "irfft"):
        return f"Write wg.fft.{own}, where complex numbers are pairs of real arrays"
    if name.startswith(("np.fft.", "scipy.fft.")):
        return _FOURIER
    if own in _INSTEAD:
        return _INSTEAD[own]
    if name.startswith("scipy.optimize."):
        return _OF_SEARCHES
    if name.startswith("scipy.stats.") and name.count(".") == 3:
        return _of_statistics(name)
    if name.startswith("scipy.") and getattr(np, own, None) in FUNCTIONS:
        return f"Write np.{own}: it takes Tensors, too"
    for space in ("linalg",) if name.startswith("np.linalg.") else ("", "linalg"):
        if own in op.public(space):
            return f"Write wg.{space}{'.' if space else ''}{own}"
    return "Write it with the functions of wg"


def _of_statistics(name: str) -> str:
    """What to write in the place of scipy.stats.norm.logpdf."""
    *_, kind, method = name.split(".")
    if kind not in _STATISTICS:
        return "Write its density with the functions of wg; wg.distributions has a few"
    written = f"wg.distributions.{_STATISTICS[kind]}"
    if method in ("pdf", "pmf"):
        return f"Write wg.exp({written}.log_prob(x))"
    return f"Write {written}.{_METHODS.get(method, 'log_prob(x)')}"


def scipy_function() -> str | None:
    """The function of SciPy that the user's program called and that is running now, if one is."""
    frame: FrameType | None = sys._getframe(1)
    outermost: Any = None
    while frame is not None:
        package = _package_of(frame)
        if package not in ("numpy", "scipy", "wengert"):
            break  # the user's, which SciPy may have called itself
        outermost = frame if package == "scipy" else outermost
        frame = frame.f_back
    if outermost is None:
        return None
    module, name = outermost.f_globals["__name__"], outermost.f_code.co_name
    held = outermost.f_locals
    wrapped = held.get("f", held.get("fun")) if name == "wrapper" else None
    if wrapped is not None:  # one that SciPy applies over batches
        module, name = wrapped.__module__, wrapped.__name__
    parts = [part for part in module.split(".") if not part.startswith("_")]
    if parts[1:2] == ["stats"] and "self" in held:
        parts += [_distribution(held["self"])]
    if parts[1:2] == ["integrate"]:
        del parts[2:]  # scipy.integrate.solve_ivp lies in a module of its own
    return ".".join([*parts, name])


def _distribution(x: Any) -> str:
    """What a distribution of scipy.stats is called there, also one with its parameters."""
    x = getattr(x, "dist", getattr(x, "_dist", x))
    return str(getattr(x, "name", None) or type(x).__name__.removesuffix("_gen"))


def numpy_function() -> str | None:
    """The function of NumPy that the user's program called and that makes an array now, if it is
    not `np.array` itself.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost: FrameType | None = None
    while frame is not None:
        package = _package_of(frame)
        if package not in ("numpy", "wengert"):
            break
        outermost = frame if package == "numpy" else outermost
        frame = frame.f_back
    if outermost is None:
        return None
    name = outermost.f_code.co_name
    if name == "__getitem__":
        joins = {"RClass": "np.r_", "CClass": "np.c_"}
        return joins.get(type(outermost.f_locals.get("self")).__name__)
    kind = type(outermost.f_locals.get("self"))
    if kind is np.vectorize:
        return "np.vectorize"
    if kind.__module__.startswith("numpy.polynomial."):
        return f"np.polynomial.{kind.__name__}"
    for space, module in (("np", np), ("np.linalg", np.linalg)):
        if callable(getattr(module, name, None)):
            return f"{space}.{name}"
    return None


def assigns() -> bool:
    """Whether the user's program assigns to elements of an array now: `rows[i] = x`."""
    return opmap["STORE_SUBSCR"] in _latest_codes()[:1]


# From Python 3.14 on an operator like others, of which no other asks a Tensor for an index.
_TAKE_ITEM = opmap.get("BINARY_SUBSCR", opmap["BINARY_OP"])


def takes_item() -> bool:
    """Whether the user's program takes one item of a sequence now: `rows[i]`, and no slice."""
    code, before = _latest_codes()
    return code == _TAKE_ITEM and before != opmap["BUILD_SLICE"]


def updates_attribute() -> bool:
    """Whether the user's program assigns to an attribute what was computed of it in place, now:
    `step.model *= 0.5`, which Python turns into an assignment, and not `step.model = x`.
    """
    return _latest_codes() == [opmap["STORE_ATTR"], opmap["SWAP"]]


def _latest_codes() -> list[int]:
    """What the user's program does now, and the instruction before that, as numbers of Python."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("wengert."):
        frame = frame.f_back
    if frame is None:
        return [-1, -1]
    codes, before = frame.f_code.co_code, frame.f_lasti - 2
    while before > 0 and codes[before] == EXTENDED_ARG:  # of a program with many names
        before -= 2
    return [codes[frame.f_lasti], codes[before]]


def torch_call() -> tuple[str, Line] | None:
    """The function or class of torch that the user's program called and that is running now, and
    the line of that call, if one is.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost: FrameType | None = None
    while frame is not None:
        package = _package_of(frame)
        if package not in ("torch", "wengert") or (package == "wengert" and outermost is not None):
            break
        outermost = frame if package == "torch" else outermost
        frame = frame.f_back
    if outermost is None or frame is None:
        return None
    module = outermost.f_globals["__name__"]
    space = _TORCH_DISTRIBUTIONS if module.startswith(_TORCH_DISTRIBUTIONS) else module
    name, owner = outermost.f_code.co_name, outermost.f_locals.get("self")
    if owner is not None:
        kind = type(owner).__name__
        name = kind if name == "__init__" else f"{kind}.{name}"
    return f"{space}.{name}", Line(frame.f_code.co_filename, frame.f_lineno)


def installed_function() -> tuple[str, Line] | None:
    """The function of an installed package, other than NumPy and SciPy, that the user's program
    called and that is running now, and the line of that call, if one is.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost: FrameType | None = None
    while frame is not None:
        if is_users_own(frame.f_code):
            break
        if is_users(frame.f_code) and "-packages" in frame.f_code.co_filename:
            outermost = frame
        elif outermost is not None and _package_of(frame) == "wengert":
            return None  # it is the package that has written what is recorded
        frame = frame.f_back
    if outermost is None or frame is None:
        return None
    module, name = outermost.f_globals.get("__name__", ""), outermost.f_code.co_name
    wrapped = outermost.f_locals.get("func") if name == "wrapper" else None
    if wrapped is not None:  # by a decorator
        module, name = wrapped.__module__, wrapped.__name__
    parts = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join([*parts, name]), Line(frame.f_code.co_filename, frame.f_lineno)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def instead_of_torch(name: str) -> str:
    """What to write in the place of a function or class of torch, or of a method of that."""
    kind = name.removeprefix(f"{_TORCH_DISTRIBUTIONS}.").partition(".")[0]
    if name.startswith(_TORCH_DISTRIBUTIONS) and kind in _DISTRIBUTIONS:
        return f"Write wg.distributions.{kind}"
    return "Write it with the functions of wg"


def joining(name: str) -> str:
    """What to write instead of a function of NumPy's that was given a list of Tensors."""
    if name in ("np.r_", "np.c_"):
        other = "wg.concat([x, y])" if name == "np.r_" else "wg.stack([x, y], axis=1)"
        return f"Write {name}[wg.array([a, b]), c], or {other} for sizes that are not known"
    if name in ("np.require", "np.ascontiguousarray", "np.asfortranarray", "np.asarray_chkfinite"):
        return "Leave it out: a Tensor has no order in memory"
    instead, own = function_of_wg(name), name.rpartition(".")[2]
    if own in _INSTEAD:
        return instead
    if own in instead:
        return f"{instead}, which takes lists of Tensors, too"
    return f"Write {name}(wg.array([a, b]))"


def masked_is_running() -> bool:
    """Whether NumPy's masked arrays ask, for the user's program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("numpy.ma."):
            return True
        if name.partition(".")[0] not in ("numpy", "wengert"):
            return False
        frame = frame.f_back
    return False
