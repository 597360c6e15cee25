"""Who asks a Tensor for something right now: a function of another library that the user's program
called, or an instruction of that program itself.
"""

from __future__ import annotations

import inspect
import sys
from dis import EXTENDED_ARG, opmap
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from wengert.core.words.source import Line, is_users, is_users_own

TORCH_DISTRIBUTIONS = "torch.distributions"


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
    space = TORCH_DISTRIBUTIONS if module.startswith(TORCH_DISTRIBUTIONS) else module
    name, owner = outermost.f_code.co_name, outermost.f_locals.get("self")
    if owner is not None:
        kind = type(owner).__name__
        name = kind if name == "__init__" else f"{kind}.{name}"
    return f"{space}.{name}", Line(frame.f_code.co_filename, frame.f_lineno)


# Modules of JAX in which its users find functions; those that they lie in are others.
_SPACES_OF_JAX = (
    *("jax.numpy.linalg", "jax.numpy.fft", "jax.numpy", "jax.lax", "jax.nn", "jax.random"),
    "jax.scipy.special",
)
# Functions in JAX that refuse what has no numbers for them, and those that do not, after all.
_REFUSE = ("_arraylike", "_device_put_impl", "array", "canonicalize_value", "check_arg", "typeof")
_LOOK_ONLY = ("ndim", "shape", "size")
_FILTERS = "jax._src.traceback_util"  # which stands around functions of JAX


def jax_call() -> tuple[str, Line] | None:
    """The function of JAX that the user's program called and that refuses a Tensor now, and the
    line of that call, if one does. Others look at shapes and dtypes only, as `jax.eval_shape`, or
    leave it to us, as the operators of a JAX array.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _package_of(frame) == "wengert":
        frame = frame.f_back
    if frame is None or _package_of(frame) != "jax" or frame.f_code.co_name not in _REFUSE:
        return None
    outermost = frame
    while frame is not None and _package_of(frame) == "jax":
        outermost = outermost if frame.f_globals["__name__"] == _FILTERS else frame
        frame = frame.f_back
    module, name = outermost.f_globals["__name__"], outermost.f_code.co_name
    if frame is None or name in _LOOK_ONLY:
        return None
    line = Line(frame.f_code.co_filename, frame.f_lineno)
    if name in ("__call__", "cache_miss"):  # of a function that is compiled or has its own rules
        function = outermost.f_locals.get("fun", outermost.f_locals.get("self"))
        module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "jit")
        if module.partition(".")[0] != "jax":
            return "jax.jit", line
    if type(outermost.f_locals.get("self")).__name__ == "_IndexUpdateRef":
        return f"jax.Array.at[…].{name}", line
    public = module.replace("._src.", ".").replace("jax.ops.special", "jax.scipy.special")
    space = next((each for each in _SPACES_OF_JAX if public.startswith(each)), "jax")
    if public.startswith("jax.scipy.stats."):
        space = public  # a module for each distribution
    return f"{space.replace('jax.numpy', 'jnp')}.{name.removesuffix('_f').removeprefix('_')}", line


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
    line = Line(frame.f_code.co_filename, frame.f_lineno)
    return _written_name(outermost), line


def _written_name(frame: FrameType) -> str:
    """What the user has written to call the function that runs in a frame: of a method the class of
    its object, and of a decorator the function that is decorated.
    """
    module, name = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
    held = frame.f_locals
    if name in ("wrapped", "wrapper"):
        inner = (held.get(each) for each in frame.f_code.co_freevars)
        function = next((each for each in inner if isinstance(each, FunctionType)), None)
        if function is not None:
            module, name = function.__module__, function.__name__
    first = frame.f_code.co_varnames[0] if frame.f_code.co_argcount else ""
    kind = type(held.get(first))
    method = inspect.getattr_static(kind, name, None)
    if first == "self" or getattr(method, "__code__", None) is frame.f_code:
        module, name = kind.__module__, f"{kind.__name__}.{name}".removesuffix(".__init__")
    parts = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join([*parts, name])


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


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
