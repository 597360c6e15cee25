"""Folds: which nodes reduce axes."""

from __future__ import annotations

from wengert.core.graph import Node
from wengert.core.lowering import Fold


def is_fold(node: Node) -> bool:
    return isinstance(node.op.lower, Fold)
