"""Docs that run: the python blocks of README, CONTRIBUTING and docs, the examples in docstrings.

Pages and docstrings show what programs print: kernels, arenas, graphs with their lines. After a
change of these on purpose, write them again and read the difference:

    UPDATE_DOCS=1 python -m pytest tests/test_docs.py -k "write_the_page or docstrings"
"""

import ast
import doctest
import importlib
import os
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
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.MULTILINE | re.DOTALL)  # calls look like links
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
UPDATE = bool(os.environ.get("UPDATE_DOCS"))
# What pages leave open: the line of an example, and bytes that depend on the machine.
OPEN = {r"# <doctest [^>]*>:\d+": "# ...", r"(gemm .* scratch \d+): \d+": r"\1: ..."}


def relative(path):
    return str(path.relative_to(ROOT))


class Runner(doctest.DocTestRunner):
    """Runs examples, and keeps what those print that print something else than the page says."""

    def __init__(self):
        super().__init__(optionflags=FLAGS)
        self.printed = []

    def report_failure(self, out, test, example, got):
        self.printed.append((test.lineno + example.lineno, example, got))
        super().report_failure(out, test, example, got)


def run_examples(text, namespace, path, line):
    """Run the >>> examples of a text that begins on that line (from 0) of the file. What they print
    that the text does not say: (line, example, what it prints), and a report of all that fails.
    """
    examples = doctest.DocTestParser().get_doctest(text, namespace, path.name, str(path), line)
    examples.globs = namespace  # not a copy of it: the next block sees what this one defined
    report, runner = [], Runner()
    runner.run(examples, out=report.append, clear_globs=False)
    return runner.printed, "".join(report)


def run_page(path, namespace):
    """Run the blocks of a page, and give what `run_examples` gives, of all of them."""
    text, printed, report = path.read_text(encoding="utf-8"), [], ""
    for block in FENCE.finditer(text):
        if "no-run" in block[2]:
            continue
        line = text.count("\n", 0, block.start(3))
        code = textwrap.dedent(block[3])
        if code.lstrip().startswith(">>>"):
            found = run_examples(code, namespace, path, line)
            printed, report = printed + found[0], report + found[1]
        else:  # the empty lines make tracebacks and our own messages name the line of the page
            exec(compile("\n" * line + code, str(path), "exec"), namespace)
    return printed, report


def written_again(text, printed):
    """A page that says what its examples print. A line that is right because of its `...` stays."""
    lines = text.split("\n")
    check = doctest.OutputChecker().check_output
    for line, example, got in reversed(printed):
        for pattern, replacement in OPEN.items():
            got = re.sub(pattern, replacement, got)
        begin = line + example.source.count("\n")
        said = lines[begin : begin + example.want.count("\n")]
        says = got.rstrip("\n").split("\n")
        and_so_on = [old for old in said[-1:] if old.strip() == "..."]
        known = said[: len(said) - len(and_so_on)]
        if and_so_on:
            says = says[: len(known)]
        indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        says = [
            next((old for old in known if check(old, new, FLAGS)), indent + new) for new in says
        ]
        lines[begin : begin + len(said)] = says + and_so_on
    return "\n".join(lines)


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


@pytest.mark.skipif(not UPDATE, reason="writes the pages only when asked")
@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_write_the_page(path, page_namespace):
    new = dict(page_namespace)
    for _ in range(3):  # what is written may move lines, which later examples print
        printed, _report = run_page(path, page_namespace)
        path.write_text(written_again(path.read_text(encoding="utf-8"), printed), encoding="utf-8")
        page_namespace.clear()
        page_namespace.update(new)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_page(path, page_namespace):
    _printed, report = run_page(path, page_namespace)
    assert not report, report


def anchors(path):
    """What a link can point at in a page: its headings, as they are written in addresses."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.strip().lower()).replace(" ", "-") for each in headings}


def broken_links(path):
    """The links of a page that lead to no file, or to no heading of one."""
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(((?!\w+:)[^)]+)\)", text)
    parts = [(each, *each.partition("#")[::2]) for each in links]
    found = [(each, path.parent / file if file else path, anchor) for each, file, anchor in parts]
    return [
        each
        for each, page, anchor in found
        if not page.exists() or (anchor and anchor not in anchors(page))
    ]


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links(path):
    assert not broken_links(path)


def test_a_broken_link_is_reported(tmp_path):
    path = tmp_path / "page.md"
    links = "[a](#one-heading) `f[0](1.0)` [`b`](#two) [c](page.md#one-heading) [d](none.md) [e](https://f.g)"
    path.write_text(f"## One `heading`\n\n{links}\n")
    assert broken_links(path) == ["#two", "none.md"]


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_docstrings(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(module_name(path))
    given = {"np": np, "wg": importlib.import_module("wengert")}
    everything = []
    for text, line in docstrings(path):
        printed, report = run_examples(text, given | vars(module), path, line)
        assert not report or (UPDATE and printed), report
        everything += printed
    if everything:
        everything.sort(key=lambda each: each[0])
        path.write_text(written_again(path.read_text(encoding="utf-8"), everything))


@pytest.mark.parametrize(
    "page",
    ["```python\nassert False\n```\n", "- a\n\n  ```python\n  >>> 1 + 1\n  3\n\n  ```\n"],
    ids=["statement", "example"],
)
def test_a_planted_fault_is_reported(page, page_namespace, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "UPDATE", False)
    path = tmp_path / "page.md"
    path.write_text("```python\nx = 1\n```\n\n```python no-run\n1 / 0\n```\n\n" + page)
    with pytest.raises(AssertionError):
        test_page(path, page_namespace)
    assert page_namespace["x"] == 1


def test_a_page_is_written_again_where_it_is_wrong(page_namespace, tmp_path):
    said = """
```python
>>> 1 + 1
2
>>> for i in range(2):
...     print("number", i)
number 0
>>> print("line 1", "line 2", "line 3", sep=chr(10))
line 4
...
>>> print("wrong", 1, chr(10) + "or not", id(1))
wrong 2
or not ...
```
"""
    path = tmp_path / "page.md"
    path.write_text(said)
    printed, report = run_page(path, page_namespace)
    assert report
    right = said.replace("number 0\n", "number 0\nnumber 1\n")
    right = right.replace("line 4", "line 1").replace("wrong 2", "wrong 1 ")
    assert written_again(said, printed) == right
