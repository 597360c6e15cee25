"""compile: a Python function as machine code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from wengert.api.compiling.compile_options import Named, listed, require_options
from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.api.trace import Dims
from wengert.core.words.arguments import worded
from wengert.errors import TraceError


@worded
def compile(
    f: Callable[..., Any] | None = None,
    *,
    static: Named | Iterable[Named] = (),
    dims: Dims | None = None,
    donate: Named | Iterable[Named] = (),
    threads: int | None = None,
    nonfinite: str = "ignore",
) -> Any:
    """The function as machine code: recorded, simplified, fused and compiled at its first call with
    arguments of a kind. Also a decorator.

    `static` names arguments, by position or name, that are part of the program. `dims` leaves sizes
    open, as in `trace`. `donate` names arguments whose arrays results may be written to; they are
    written only when everything has succeeded. `threads` says how many threads may work on a call;
    the bits do not depend on it. `nonfinite="raise"` refuses results that are not
    finite, `"skip"` leaves donated arrays as they are then.

    >>> @wg.compile
    ... def f(x):
    ...     return np.sum(np.exp(x) * 2.0)
    >>> float(f(np.zeros(3)))
    6.0
    """
    require_options(dims, threads, nonfinite)
    static, donate = listed("static", static), listed("donate", donate)
    if f is None:
        return functools.partial(
            compile, static=static, dims=dims, donate=donate, threads=threads, nonfinite=nonfinite
        )
    if not callable(f):
        raise TraceError(
            f"compile: given {type(f).__name__}; it compiles a function. Pass the function itself, "
            "not its result."
        )
    return Compiled(f, static, OpenSizes(dims), donate, nonfinite, threads)
