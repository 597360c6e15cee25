"""docs/internals.md tells the way of a training step: the functions in its tables are entered, its
files are all that are, and its folders come in the order of their import ranks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from test_imports import RANKS, SOURCE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "internals.md"
ROW = re.compile(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)
BESIDE = re.compile(r"^Beside: (.*?)\.\n\n", re.MULTILINE | re.DOTALL)
RANK = re.compile(r"^\| (\d+) \| (`.*?`) \|", re.MULTILINE)
FILE = re.compile(r"`([\w/]+\.py)`")

# Prints the functions of the package that a step enters, by file. All is loaded before: what runs
# while modules are imported is no part of the way.
RECORDING = """
import json, sys, threading
import wengert as wg
wg.TrainStep, wg.optim
folder, entered = sys.argv[2], {}

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(folder):
        entered.setdefault(code.co_filename[len(folder):], set()).add(code.co_qualname)

example = compile(sys.argv[1], "example", "exec")
threading.setprofile(note)
sys.setprofile(note)
exec(example, {})
sys.setprofile(None)
print(json.dumps({file: sorted(names) for file, names in entered.items()}))
"""


def sections() -> dict[str, str]:
    """The text of each section that is about a folder, or a file that lies beside the folders."""
    _, *parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.split()[0]: part.partition("\n")[2] for part in parts if ROW.search(part)}


def example() -> str:
    """The first block of the page, and a second step, which takes the short way."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:1]
    return f"{block}\nstep(x, y)\n"


@pytest.fixture(scope="module")
def entered() -> dict[str, set[str]]:
    """The functions that the example enters, by file."""
    done = subprocess.run(
        [sys.executable, "-c", RECORDING, example(), f"{SOURCE}{os.sep}"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"WENGERT_CACHE": "0", "WENGERT_NUM_THREADS": "1"},
    )
    return {Path(file).as_posix(): set(names) for file, names in json.loads(done.stdout).items()}


def path(section: str, file: str) -> str:
    return file if section.endswith(".py") else f"{section}/{file}"


@pytest.mark.skipif(not os.environ.get("UPDATE_DOCS"), reason="writes the page only when asked")
def test_write_the_lists_of_files(entered):
    """The lists of files beside the tables, written again."""
    page = PAGE.read_text(encoding="utf-8")
    for section, text in sections().items():
        rows = {path(section, file) for file, _ in ROW.findall(text)}
        beside = sorted(f for f in entered if f.startswith(f"{section}/") and f not in rows)
        listed = ", ".join(f"`{file.removeprefix(f'{section}/')}`" for file in beside)
        lines = textwrap.fill(f"Beside: {listed}.", 124, break_on_hyphens=False)
        if beside and BESIDE.search(text):
            page = page.replace(text, BESIDE.sub(lambda _, new=lines: f"{new}\n\n", text, count=1))
    PAGE.write_text(page, encoding="utf-8")


def test_the_functions_of_the_tables_are_entered(entered):
    rows = [
        (path(section, file), function)
        for section, text in sections().items()
        for file, function in ROW.findall(text)
    ]
    assert len(rows) > 50
    wrong = [f"{file}: {name}" for file, name in rows if name not in entered.get(file, ())]
    assert not wrong, f"on the page, and not entered: {wrong}"


@pytest.mark.parametrize("section", sections())
def test_the_files_of_a_section_are_those_that_are_entered(section, entered):
    text = sections()[section]
    (beside,) = BESIDE.findall(text) or [""]
    in_rows = {file for file, _ in ROW.findall(text)}
    assert in_rows.isdisjoint(FILE.findall(beside))
    named = {path(section, file) for file in in_rows.union(FILE.findall(beside))}
    found = {file for file in entered if file == section or file.startswith(f"{section}/")}
    assert named == found


def test_the_folders_come_in_the_order_of_their_ranks_and_each_once(entered):
    order = [section.removesuffix(".py") for section in sections()]
    assert [RANKS[each] for each in order] == sorted(RANKS[each] for each in order)
    visited = {file.partition("/")[0].removesuffix(".py") for file in entered}
    assert sorted(order) == sorted(visited)


def test_the_table_has_every_folder_with_its_rank():
    rows = RANK.findall(PAGE.read_text(encoding="utf-8"))
    listed = {
        name.strip("`/ ").removesuffix(".py"): int(rank)
        for rank, names in rows
        for name in names.split(",")
    }
    assert listed == {name: rank for name, rank in RANKS.items() if name != "__init__"}
