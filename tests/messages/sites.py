"""Where the source words an error: its raise statements and its calls of `_refuse…` functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Site:
    """A statement that raises, from its first line to its last."""

    path: Path
    first: int
    last: int
    text: str

    def covers(self, path: Path, line: int) -> bool:
        return self.path == path and self.first <= line <= self.last


def sites(root: Path) -> list[Site]:
    """Every site below a folder, in order."""
    return [site for path in sorted(root.rglob("*.py")) for site in _sites_of(path)]


def _sites_of(path: Path) -> Iterator[Site]:
    source = path.read_text(encoding="utf-8")
    for node in _inside_functions(ast.parse(source)):
        if (isinstance(node, ast.Raise) and node.exc is not None) or _is_refusal(node):
            text = ast.get_source_segment(source, node) or ""
            yield Site(path, node.lineno, node.end_lineno or node.lineno, " ".join(text.split()))


def _inside_functions(module: ast.Module) -> Iterator[Any]:
    """Every node but those that run when the module is imported."""
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from ast.walk(statement)


def _is_refusal(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    return name.startswith("_refuse")
