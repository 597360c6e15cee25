"""The architecture as a test: who may import whom, how files are named and how long they are."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

# The first part of a module's path below wengert → its rank. A module imports only from strictly
# lower ranks or from its own folder.
RANKS = {
    "loading": 0,
    "errors": 0,
    "core": 1,
    "interpret": 2,
    "ops": 3,
    "functions": 4,
    "distributions": 5,
    "fft": 5,
    "linalg": 5,
    "random": 5,
    "passes": 5,
    "codegen": 6,
    "compiler": 7,
    "runtime": 8,
    "api": 9,
    "nn": 10,
    "optim": 10,
    "train": 11,
    "parallel": 12,
    "cli": 13,
    "sklearn": 12,
    "sweeping": 12,
    "__main__": 14,
    "__init__": 99,
}
IMPORTS_LATE = "core.first_use"
BY_STRING = {"import_module", "__import__", "LazyLoader"}
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "misc"}
MAX_LINES = 500
SOURCE = Path(__file__).resolve().parents[1] / "src" / "wengert"


def modules(root: Path) -> dict[str, Path]:
    """Every module below root by dotted name; a folder's name stands for its __init__."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a source text; each file is read by several rules."""
    return tuple(ast.walk(ast.parse(text)))


def imports(root: Path, path: Path, known: dict[str, Path]) -> Iterator[tuple[ast.stmt, str]]:
    """Each import statement of a file with the absolute dotted name it reaches."""
    package = [root.name, *path.relative_to(root).parent.parts]
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            for alias in node.names:
                # `from wengert.core import graph` reaches the module core.graph, if there is one
                longer = f"{base}.{alias.name}"
                yield node, longer if longer.removeprefix(f"{root.name}.") in known else base


def inside_functions(path: Path) -> set[int]:
    """Lines of the imports that stand inside a function."""
    tree = nodes(path.read_text(encoding="utf-8"))
    functions = (n for n in tree if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    inner = (n for f in functions for n in ast.walk(f))
    return {n.lineno for n in inner if isinstance(n, ast.Import | ast.ImportFrom)}


def for_types_only(path: Path) -> set[int]:
    """Lines of the imports under `if TYPE_CHECKING:`, which never run and so close no cycle."""
    tree = nodes(path.read_text(encoding="utf-8"))
    guards = (n for n in tree if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test))
    inner = (n for guard in guards for n in ast.walk(guard))
    return {n.lineno for n in inner if isinstance(n, ast.Import | ast.ImportFrom)}


def within(root: Path, target: str, known: dict[str, Path]) -> str | None:
    """The module of this package that an absolute name reaches; None for any other package."""
    head, _, name = target.partition(".")
    if head != root.name:
        return None
    name = name or "__init__"
    while name not in known and "." in name:
        name = name.rpartition(".")[0]
    return name


def rank_faults(root: Path) -> list[str]:
    known = modules(root)
    faults = [
        f"{root.name}/{top}: has no rank; add one to RANKS in tests/test_imports.py"
        for top in sorted({name.partition(".")[0] for name in known} - set(RANKS))
    ]
    for name, path in known.items():
        own = name.partition(".")[0]
        for node, target in imports(root, path, known):
            reached = within(root, target, known)
            other = reached.partition(".")[0] if reached else own
            if own == other or own not in RANKS:
                continue
            place = f"{path.relative_to(root).as_posix()}:{node.lineno}"
            if other not in RANKS:
                faults.append(f"{place}: imports {target}, which has no rank")
            elif RANKS[other] >= RANKS[own]:
                faults.append(
                    f"{place}: {own} (rank {RANKS[own]}) imports {target} (rank {RANKS[other]}); "
                    "only lower ranks are allowed"
                )
    return faults


def cycle_faults(root: Path) -> list[str]:
    known = modules(root)
    reached = {
        name: {
            within(root, target, known)
            for node, target in imports(root, path, known)
            if node.lineno not in never_run
        }
        - {None}
        for name, path in known.items()
        for never_run in [for_types_only(path)]
    }
    try:
        TopologicalSorter(reached).prepare()
    except CycleError as error:
        return ["modules import each other: " + " ← ".join(error.args[1])]
    return []


def placement_faults(root: Path) -> list[str]:
    """Imports inside functions, other than of third parties, and imports by a name in a string."""
    known = modules(root)
    ours = {root.name, *sys.stdlib_module_names}
    inside = [
        f"{path.relative_to(root)}:{node.lineno}: imports {target} inside a function"
        for path in known.values()
        for lines in [inside_functions(path)]
        for node, target in imports(root, path, known)
        if node.lineno in lines and target.partition(".")[0] in ours
    ]
    return inside + [
        f"{path.relative_to(root)}:{node.lineno}: imports by a string; only {IMPORTS_LATE} does"
        for name, path in known.items()
        if name != IMPORTS_LATE
        for node in nodes(path.read_text(encoding="utf-8"))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in BY_STRING
    ]


def name_faults(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: say what is in it instead of '{path.stem}'"
        for path in sorted(root.rglob("*"))
        if path.stem in VAGUE_NAMES
    ]


def length_faults(root: Path) -> list[str]:
    lengths = {
        path.relative_to(root): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules(root).values()
    }
    return [
        f"{path}: {lines} lines; split it ({MAX_LINES} at most)"
        for path, lines in lengths.items()
        if lines > MAX_LINES
    ]


RULES = [rank_faults, cycle_faults, placement_faults, name_faults, length_faults]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_source(rule):
    assert modules(SOURCE), f"no modules below {SOURCE.name}"
    faults = rule(SOURCE)
    assert not faults, "\n" + "\n".join(faults)


def plant(folder: Path, files: dict[str, str]) -> Path:
    root = folder / "wengert"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


GOOD = {
    "__init__.py": "from wengert.core import Graph\nfrom wengert import errors\n",
    "errors.py": "import math\n",
    "core/__init__.py": "from wengert.core.graph import Graph\n",
    "core/graph.py": "import numpy as np\nfrom . import types\nfrom ..errors import ShapeError\n",
    "core/types.py": "def f():\n    import jax\n",
    "nn/layers.py": "import wengert.core.graph\n",
}

FAULTS = {
    rank_faults: {
        "relative": ("core/types.py", "from ..nn import layers\n"),
        "plain": ("core/types.py", "import numpy, wengert.nn\n"),
        "hidden": ("core/types.py", "def f():\n    import wengert.nn\n"),
        "guarded": ("errors.py", "if TYPE_CHECKING:\n    from . import core\n"),
        "equal rank": ("optim/adam.py", "from wengert.nn import layers\n"),
        "public names": ("nn/layers.py", "import wengert as wg\n"),
        "no rank": ("magic/wand.py", ""),
        "imports no rank": ("nn/layers.py", "from wengert.magic import wand\n"),
    },
    cycle_faults: {
        "module": ("core/types.py", "from .graph import Graph\n"),
        "package": ("core/types.py", "from . import Graph\n"),
        "itself": ("core/types.py", "import wengert.core.types\n"),
    },
    placement_faults: {
        "ours": ("nn/layers.py", "def f():\n    import wengert.core\n"),
        "stdlib": ("nn/layers.py", "class A:\n    def f(self):\n        import os.path\n"),
        "by a string": ("nn/layers.py", "import importlib as i\ni.import_module('wengert.core')\n"),
    },
    name_faults: {"file": ("core/utils.py", ""), "folder": ("core/misc/types.py", "")},
    length_faults: {"long": ("core/types.py", "x = 1\n" * (MAX_LINES + 1))},
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_tree_passes(rule, tmp_path):
    assert rule(plant(tmp_path, GOOD)) == []


def test_an_upward_import_is_reported_with_its_line(tmp_path):
    upward = {"core/types.py": "import numpy\nfrom wengert.nn.layers import Linear\n"}
    assert rank_faults(plant(tmp_path, GOOD | upward)) == [
        "core/types.py:2: core (rank 1) imports wengert.nn.layers (rank 10); "
        "only lower ranks are allowed"
    ]


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        pytest.param(rule, file, text, id=f"{rule.__name__}-{name}")
        for rule, faults in FAULTS.items()
        for name, (file, text) in faults.items()
    ],
)
def test_a_planted_fault_is_reported(rule, file, text, tmp_path):
    assert len(rule(plant(tmp_path, GOOD | {file: text}))) == 1


@pytest.mark.parametrize("switch", ["enable", "disable"])
def test_garbage_is_collected_after_the_import_as_before(switch):
    program = f"import gc; gc.{switch}(); import wengert; print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(switch == "enable")
