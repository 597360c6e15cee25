"""The op table: every op by name, as an attribute.

Rules reach other ops through it (``op.sum``) instead of importing a sibling file, so a definition
stays complete in itself and imports point downwards only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class Table:
    """Ops by name; iterating gives them in the order of definition."""

    def __init__(self) -> None:
        self._ops: dict[str, Any] = {}
        self._functions: dict[str, tuple[Any, str]] = {}
        self._own: frozenset[str] = frozenset()
        self._sealed: dict[Any, tuple[Any, ...]] = {}

    def enter_op(self, name: str, definition: Any) -> None:
        """Enter an op. Ours cannot be replaced; a user's can, so that a notebook cell may run
        twice.
        """
        if name in self._own or (name in self.__dict__ and name not in self._ops):
            raise ValueError(
                f"{name}: is an op of Wengert already; an op needs a name of its own. Rename it."
            )
        if not self._own and name in self._ops:
            raise ValueError(f"{name}: defined twice; one op has one place. Remove one definition.")
        self._ops[name] = definition
        setattr(self, name, definition)

    def enter_function(self, name: str, function: Any, space: str) -> None:
        """Enter a function that is written with ops and never a node itself."""
        if name in self.__dict__:
            raise ValueError(
                f"{name}: defined twice; one name has one place. Remove one definition."
            )
        self._functions[name] = (function, space)
        setattr(self, name, function)

    def public(self, space: str) -> dict[str, Any]:
        """The names of a public namespace: "" for wg itself, "linalg" for wg.linalg …"""
        ops = {name: each for name, each in self._ops.items() if each.space == space}
        return ops | {name: f for name, (f, where) in self._functions.items() if where == space}

    def seal_ops(self) -> None:
        """From now on, what is added belongs to users."""
        self._own = frozenset(self._ops)
        self._sealed = {each: each.deciding() for each in self._ops.values()}

    def is_as_sealed(self, op: Any) -> bool:
        """Whether an op is one of ours, and nobody has changed what it computes or becomes."""
        known = self._sealed.get(op)
        return known is not None and all(a is b for a, b in zip(known, op.deciding(), strict=True))

    def __contains__(self, name: str) -> bool:
        return name in self._ops

    def __getitem__(self, name: str) -> Any:
        return self._ops[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._ops.values()))

    def __len__(self) -> int:
        return len(self._ops)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"op: {name} was asked for; the table has no op of that name. Look through wg.op."
        )


op = Table()

# What of NumPy reaches an op: np.tanh -> op.tanh, (np.add, "reduce") -> op.sum adapted, and
# np.concatenate -> op.concat adapted. Definitions fill them in.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
UFUNC_METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
# The ufuncs of scipy.special by name: SciPy is not imported for them.
SCIPY_UFUNCS: dict[str, Callable[..., Any]] = {}
