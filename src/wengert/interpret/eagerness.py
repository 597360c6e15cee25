"""Eager mode: whether compiled functions run op by op, in NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from wengert.core.words.arguments import worded

# Of this thread or task, and of what it calls. The environment is read once, at import.
eager_mode: ContextVar[bool] = ContextVar(
    "wengert_eager", default=os.environ.get("WENGERT_EAGER", "") not in ("", "0")
)

# Whether compiled functions run op by op here. Every call asks this, so no function of ours is put
# around it.
is_eager: Callable[[], bool] = eager_mode.get


@worded
def eager() -> AbstractContextManager[None]:
    """While this is open, compiled functions run op by op in NumPy: `print` and a debugger see the
    values. It holds for the thread or task that opens it. `WENGERT_EAGER=1` in the environment is
    the same for a whole process.

    >>> @wg.compile
    ... def f(x):
    ...     y = x * 2.0
    ...     print(y)
    ...     return y + 1.0
    >>> with wg.eager():
    ...     z = f(np.arange(3.0))
    [0. 2. 4.]
    """
    return _mode()


@contextmanager
def _mode() -> Iterator[None]:
    token = eager_mode.set(True)
    try:
        yield
    finally:
        eager_mode.reset(token)
