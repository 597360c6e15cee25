"""Refusals: what is said where a program could not be made, is given what it does not know, or its
machine code found an error that NumPy does not see.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.masked import is_masked_array
from wengert.core.table import op
from wengert.errors import CompileError, DTypeError


def refuse_unseen(node: Node) -> NoReturn:
    """Report what a node refused, and NumPy on the same arguments did not."""
    name, place = node.op.name, f" ({node.line})" if node.line else ""
    if node.op in (op.solve, op.inv, op.triangular_solve, op.cholesky):
        raise np.linalg.LinAlgError(
            f"{name}: given a matrix that is singular, or not positive definite, in compiled "
            "arithmetic; NumPy's finds it barely is not. Add a small multiple of the identity."
            f"{place}"
        )
    negative = node.op is op.power
    what = "a negative exponent of integers" if negative else "an index out of range"
    raise (DTypeError if negative else IndexError)(
        f"{name}: found {what}, and none when NumPy ran the same arguments; arguments must not "
        f"change during a call. Do not write to them from another thread.{place}"
    )


def require_no_masks(names: Sequence[str], arrays: Sequence[Any], by: str = "compile") -> None:
    """Refuse masked elements: a program knows nothing of masks, and would use what they hide."""
    for name, x in zip(names, arrays, strict=True):
        if is_masked_array(x) and x.mask.any():
            raise TypeError(
                f"{by}: argument {name!r} has masked elements; compiled programs have no masks. "
                "Pass x.filled(value), or the mask as an array of its own."
            )


def explain_emit(error: Exception, graph: Graph) -> None:
    """Name the op whose `emit` raised this error, if one did."""
    running = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    for node in graph.nodes:
        if getattr(node.op.emit, "__code__", None) in running:
            place = f" ({node.line})" if node.line else ""
            raise CompileError(
                f"{node.op.name}: its `emit` raised {type(error).__name__}; it is written in the "
                "instructions of `wengert.core.emit.Emit`, and nothing else. Correct it where the "
                f"error above says.{place}"
            ) from error
    for body in graph.subgraphs():
        explain_emit(error, body)
