"""The stubs for type checkers and editors are those of the table. After an op was added or its
parameters changed, write them again:

    UPDATE_STUBS=1 python -m pytest tests/test_stubs.py

`tests/typed_program.py` is a program that `make check` holds against them.
"""

from __future__ import annotations

import ast
import inspect
import os

import pytest
from stubs import MODULES, SOURCE, stub

UPDATE = bool(os.environ.get("UPDATE_STUBS"))


@pytest.mark.skipif(not UPDATE, reason="writes the stubs only when asked")
@pytest.mark.parametrize("name", MODULES)
def test_write_the_stubs(name):
    (SOURCE / f"{name}.pyi").write_text(stub(name), encoding="utf-8")


@pytest.mark.skipif(UPDATE, reason="the stubs are being written")
@pytest.mark.parametrize("name", MODULES)
def test_the_stubs_are_current(name):
    written = (SOURCE / f"{name}.pyi").read_text(encoding="utf-8")
    assert written == stub(name), "write the stubs again"


@pytest.mark.parametrize("name", MODULES)
def test_a_stub_has_every_public_name_with_its_parameters(name):
    module = MODULES[name]
    body = ast.parse((SOURCE / f"{name}.pyi").read_text(encoding="utf-8")).body
    imported = {
        alias.asname for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    named = {
        node.target.id
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert set(module.__all__) <= imported | named | defined.keys()
    for public, node in defined.items():
        shown = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
        known = inspect.signature(getattr(module, public)).parameters.values()
        assert shown == [p.name for p in known if p.kind is not p.VAR_POSITIONAL]
        assert ast.get_docstring(node)
