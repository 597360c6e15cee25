"""A name means one thing: public classes and types, and modules, each have a name of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wengert"
ALIAS = "TypeAlias"

# Names that several classes or types have, and why.
TYPES = {
    "Graph": "wg.Graph is what users see of a graph of core",
    "Array": "a NumPy array wherever it is a type; each module says which",
}
# Modules that have a name in common, and why.
MODULES = {
    "graph": "wg.Graph, and the graph it shows",
    "trace": "wg.trace, and the level that records",
    "linalg": "wg.linalg, and the ops of that name",
    "random": "wg.random, and the ops of that name",
    "dropout": "the layer, and the function that it calls",
    "__main__": "`python -m` of the package, and of its command",
}


def public_types(path: Path) -> Iterator[str]:
    """The classes and type aliases of a module that others may import."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name):
            alias = node.annotation.id == ALIAS and isinstance(node.target, ast.Name)
            name = node.target.id if alias and isinstance(node.target, ast.Name) else "_"
        else:
            continue
        if not name.startswith("_"):
            yield name


def shared(named: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that stand in several places, and these."""
    found: dict[str, list[str]] = {}
    for name, path in named:
        found.setdefault(name, []).append(str(path))
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def shared_types(root: Path) -> dict[str, list[str]]:
    return shared(
        (name, path.relative_to(root)) for path in root.rglob("*.py") for name in public_types(path)
    )


def shared_modules(root: Path) -> dict[str, list[str]]:
    paths = (path for path in root.rglob("*.py") if path.stem != "__init__")
    return shared((path.stem, path.relative_to(root)) for path in paths)


@pytest.mark.parametrize(("find", "known"), [(shared_types, TYPES), (shared_modules, MODULES)])
def test_names_are_unique(find, known):
    found = find(SOURCE)
    new = {name: places for name, places in found.items() if name not in known}
    assert not new, "rename one of each, or say above why both are called so"
    assert not known.keys() - found.keys(), "no longer shared: take it off the list above"


def test_planted_names_are_found(tmp_path):
    for room in ("one", "two"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "alike.py").write_text("class Thing: ...\nclass _Own: ...\n")
    (tmp_path / "other.py").write_text("Thing: TypeAlias = int\nOwn: int = 3\n")
    places = ["one/alike.py", "other.py", "two/alike.py"]
    assert {name: sorted(each) for name, each in shared_types(tmp_path).items()} == {
        "Thing": places
    }
    assert list(shared_modules(tmp_path)) == ["alike"]
