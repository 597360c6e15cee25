"""Docs that run: the python blocks of README, CONTRIBUTING and docs, the examples in docstrings."""

import ast
import doctest
import importlib
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "src" / "wengert").rglob("*.py"))
FENCE = re.compile(r"^( *)```python\b([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def relative(path):
    return str(path.relative_to(ROOT))


def run_examples(text, namespace, path, line):
    """Run the >>> examples of a text that begins on that line (from 0) of the file."""
    examples = doctest.DocTestParser().get_doctest(text, namespace, path.name, str(path), line)
    examples.globs = namespace  # not a copy of it: the next block sees what this one defined
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def run_page(path, namespace):
    text = path.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if "no-run" in block[2]:
            continue
        line = text.count("\n", 0, block.start(3))
        code = textwrap.dedent(block[3])
        if code.lstrip().startswith(">>>"):
            run_examples(code, namespace, path, line)
        else:  # the empty lines make tracebacks and our own messages name the line of the page
            exec(compile("\n" * line + code, str(path), "exec"), namespace)


def docstrings(path):
    """(text, line from 0) of every docstring; from the source, as decorators replace functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield text, node.body[0].lineno - 1


def module_name(path):
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture
def page_namespace(monkeypatch, tmp_path):
    """The namespace of a real module, as dataclasses need, in a folder where pages may write."""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.chdir(tmp_path)
    return vars(module)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_page(path, page_namespace):
    run_page(path, page_namespace)


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_docstrings(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(module_name(path))
    given = {"np": np, "wg": importlib.import_module("wengert")}
    for text, line in docstrings(path):
        run_examples(text, given | vars(module), path, line)


@pytest.mark.parametrize(
    "page",
    ["```python\nassert False\n```\n", "- a\n\n  ```python\n  >>> 1 + 1\n  3\n\n  ```\n"],
    ids=["statement", "example"],
)
def test_a_planted_fault_is_reported(page, page_namespace, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("```python\nx = 1\n```\n\n```python no-run\n1 / 0\n```\n\n" + page)
    with pytest.raises(AssertionError):
        run_page(path, page_namespace)
    assert page_namespace["x"] == 1
