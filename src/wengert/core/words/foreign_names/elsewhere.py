"""What arrays of other libraries have and Tensors have not, and what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from wengert.core.table import FUNCTIONS, SCIPY_UFUNCS, op
from wengert.core.words.foreign_names.callers import TORCH_DISTRIBUTIONS, scipy_function
from wengert.core.words.foreign_names.nearest import misspelt
from wengert.core.words.foreign_names.repairs import REPAIRS as REPAIRS_OF_MODULES

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
_UNIQUE = (
    "How many numbers differ is known only when the program runs: call it outside, "
    "index = np.unique(x, return_inverse=True)[1], and pass what it gives, or use wg.sort(x)"
)
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
    "unique": _UNIQUE,
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
# Those that torch has by the same name.
_DISTRIBUTIONS = (
    *("Bernoulli", "Beta", "Categorical", "Gamma", "MultivariateNormal", "Normal", "Uniform"),
)
_OF_WG = REPAIRS_OF_MODULES[""]
# Functions of torch that give something else than ours of the same name, or take it otherwise.
_OF_TORCH = {
    "dropout": "Write wg.dropout(x, rate, rng), with the parameter rng of the loss",
    "layer_norm": "Write wg.layer_norm(x, weight, bias)",
    "max": "Write wg.max(x, axis), and wg.argmax(x, axis) for the indices",
    "median": "Write wg.median(x), the mean of the two in the middle, of which torch takes one",
    "min": "Write wg.min(x, axis), and wg.argmin(x, axis) for the indices",
    "pad": "Write wg.pad(x, [(before, after), …]), with a pair for each axis, the first one first",
    "sort": "Write wg.sort(x, axis), and wg.argsort(x, axis) for the indices",
    "split": "Write wg.split(x, count), where torch takes the size of a part",
    "std": "Write wg.std(x, axis, correction=1), which divides by n - 1 as torch does",
    "var": "Write wg.var(x, axis, correction=1), which divides by n - 1 as torch does",
}
_UNKNOWN = "Write it with the functions of wg"
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
    "unique": _UNIQUE,
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
    **{name: _OF_WG[name] for name in ("rand_like", "randn_like")},
    "zero_": "Write x = wg.zeros_like(x)",
}

# Ops of which PyTorch's namesakes give values and indices, with what gives the indices here.
INDICES = {"max": "argmax", "min": "argmin", "sort": "argsort"}


def repair_of_unpacking(made_by: str) -> str:
    """What to write where an array that an op has made is unpacked into other names than it has
    elements.
    """
    if made_by in INDICES:
        return (
            f"Where PyTorch's {made_by} gives values and indices, wg.{made_by} gives the values "
            f"alone: write value = wg.{made_by}(x, axis) and index = wg.{INDICES[made_by]}(x, axis)"
        )
    return (
        "Of a layer that returns one array and no state, as Mamba and attention, write y = layer(x)"
    )


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
    return f"{_UNKNOWN}. {OF_FRAMES}"


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
    if name.startswith(("np.fft.", "jnp.fft.", "scipy.fft.")):
        return _FOURIER
    if own in _INSTEAD:
        return _INSTEAD[own]
    if name.startswith("scipy.optimize."):
        return _OF_SEARCHES
    if name.startswith("scipy.stats.") and name.count(".") == 3:
        return _of_statistics(name)
    if name.startswith(("scipy.", "jnp.")) and getattr(np, own, None) in FUNCTIONS:
        return f"Write np.{own}: it takes Tensors, too"
    of_matrices = name.startswith(("np.linalg.", "jnp.linalg."))
    for space in ("linalg",) if of_matrices else ("", "linalg"):
        if own in op.public(space):
            return f"Write wg.{space}{'.' if space else ''}{own}"
    return _UNKNOWN


def _of_statistics(name: str) -> str:
    """What to write in the place of scipy.stats.norm.logpdf."""
    *_, kind, method = name.split(".")
    if kind not in _STATISTICS:
        return "Write its density with the functions of wg; wg.distributions has a few"
    written = f"wg.distributions.{_STATISTICS[kind]}"
    if method in ("pdf", "pmf"):
        return f"Write wg.exp({written}.log_prob(x))"
    return f"Write {written}.{_METHODS.get(method, 'log_prob(x)')}"


def instead_of_torch(name: str) -> str:
    """What to write in the place of a function or class of torch, or of a method of that."""
    kind = name.removeprefix(f"{TORCH_DISTRIBUTIONS}.").partition(".")[0]
    if name.startswith(TORCH_DISTRIBUTIONS) and kind in _DISTRIBUTIONS:
        return f"Write wg.distributions.{kind}"
    space, _, own = name.rpartition(".")
    if space.rpartition(".")[2][:1].isupper():  # a method of a class
        return _UNKNOWN
    for table in (_OF_TORCH, _OF_WG, REPAIRS):
        if own in table:
            return table[own]
    module, _, inside = own.partition("_")  # torch calls its linalg.inv linalg_inv
    if module == "fft":
        return function_of_wg(f"scipy.fft.{inside}")
    if module == "linalg" and inside in op.public("linalg"):
        return f"Write wg.linalg.{inside}"
    return f"Write wg.{own}" if own in op.public("") else _UNKNOWN


def torch_function(called: str | None, inside: str) -> str:
    """Which function of torch messages name: the one that the user's program called, if that is
    known, or the one inside of it that was given a Tensor. That for which something else can be
    written, where it is one of both.
    """
    if called is None or instead_of_torch(called) in (instead_of_torch(inside), _UNKNOWN):
        return inside
    return called


def instead_of_jax(name: str) -> str:
    """What to write in the place of a function of JAX."""
    space, _, own = name.rpartition(".")
    if name == "jax.jit":
        return "Leave jax.jit out, and write its function with the functions of wg"
    if space == "jax.Array.at[…]":
        return f"Write wg.at(np.asarray(x))[index].{own}(values)"
    if space == "jax" and own in sys.modules["wengert"].__all__:
        return f"Write wg.{own}"
    if space in ("jax.lax", "jax.nn") and own in op.public(""):
        return f"Write wg.{own}"
    if space == "jax.scipy.special" and own in SCIPY_UFUNCS and own not in op.public(""):
        return f"Write {SCIPY_SPECIAL}{own}: it takes Tensors, too"
    return function_of_wg(name.removeprefix("jax."))


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
