"""docs/names.md: its names exist, both columns of its tables of NumPy, JAX and SciPy give the same,
and the names of NumPy that it calls recorded are those that are.

    UPDATE_DOCS=1 python -m pytest tests/test_names_page.py    # writes these names again
"""

import os
import re
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.special

import wengert as wg
from wengert.core.table import FUNCTIONS, UFUNCS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "names.md"
BEGIN, END = "<!-- recorded: begin -->", "<!-- recorded: end -->"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| ?(.*?) ?\|$", re.MULTILINE)
NAME = re.compile(r"\bwg(?:\.\w+)+")
OTHER = "other numbers"


def text():
    return PAGE.read_text(encoding="utf-8")


def section(title):
    return re.split(r"^## ", text(), flags=re.MULTILINE)[
        {"NumPy": 1, "JAX": 2, "PyTorch": 3, "SciPy": 4}[title]
    ]


def rows(title):
    return [match.groups() for match in ROW.finditer(section(title))]


@pytest.fixture(scope="module")
def given():
    """The names that the page's first block defines, and the other libraries."""
    block = re.search(r"```python\n(.*?)```", text(), re.DOTALL)
    namespace = {}
    exec(block[1], namespace)
    return namespace


def leaves(x):
    """A result as a list of arrays, whatever it is made of."""
    if isinstance(x, dict):
        x = [x[name] for name in sorted(x)]
    if isinstance(x, list | tuple):
        return [leaf for each in x for leaf in leaves(each)]
    return [] if x is None else [np.asarray(x)]


def differences(theirs, ours, only_shapes, near):
    theirs, ours = leaves(theirs), leaves(ours)
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert a.shape == b.shape
        if not only_shapes:
            np.testing.assert_allclose(b, a, rtol=near, atol=1e-12)


@pytest.mark.parametrize("title", ["NumPy", "JAX", "SciPy"])
def test_both_columns_give_the_same(title, given):
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    there = given | {"jax": jax, "jnp": jax.numpy, "optax": optax, "scipy": scipy}
    found = rows(title)
    assert len(found) > 10
    for theirs, ours, note in found:
        try:
            near = 1e-6 if "odeint" in ours else 1e-9
            differences(eval(theirs, there), eval(ours, there), OTHER in note, near)
        except Exception as error:
            raise AssertionError(f"{theirs} and {ours}: {error}") from error


def test_our_column_of_pytorch_runs(given):
    found = rows("PyTorch")
    assert len(found) > 20
    for _, ours, _ in found:
        assert leaves(eval(ours, dict(given)))


def test_every_name_of_ours_exists():
    names = set(NAME.findall(re.sub(r"```.*?```", "", text(), flags=re.DOTALL)))
    assert len(names) > 80
    missing = []
    for name in names:
        value = wg
        for part in name.split(".")[1:]:
            try:
                value = getattr(value, part)
            except AttributeError:
                missing.append(name)
                break
    assert not missing


def recorded():
    """The part of the page between its marks."""
    lines = []
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg")):
        names = [
            name
            for name, value in sorted(vars(module).items())
            if not name.startswith("_")
            and callable(value)
            and not isinstance(value, type | types.ModuleType)
            and (value in FUNCTIONS or value in UFUNCS)
        ]
        listed = ", ".join(f"`{name}`" for name in names)
        lines.append(f"**`{prefix}`** ({len(names)}): {listed}.")
    wrapped = ["\n".join(textwrap.wrap(line, 125, break_on_hyphens=False)) for line in lines]
    return "\n\n".join(wrapped)


def test_the_recorded_names_are_those_that_are():
    before, _, rest = text().partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{recorded()}\n{END}{after}"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert text() == wanted, "UPDATE_DOCS=1 writes the names again"
