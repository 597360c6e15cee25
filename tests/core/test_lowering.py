"""How ops become code is said in their definitions: no other place decides by the name of an op."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.core.lowering import Along, Fold, Formula, Pick, Places, View
from wengert.core.types import ArrayType

SOURCE = Path(__file__).resolve().parents[2] / "src" / "wengert"
# Ops that are parts of every program's form, and not a kind of computation.
STRUCTURAL = {
    *("input", "parameter", "constant", "pick"),  # what graphs are made of
    *("scan", "while_loop", "cond", "region", "boundary"),  # bodies, and where the commit begins
    "debug",  # what calls back
    "over_micro_batches",  # where a program is cut into stages
}
# A pass that rewrites one op into others names it.
REWRITTEN = {"full", "broadcast_to", "vecdot", "sum", "any", "matmul"} | {
    "matrix_transpose",
    "permute_dims",
}
FOLDERS = {"codegen": STRUCTURAL, "runtime": STRUCTURAL, "train": STRUCTURAL}
FOLDERS["passes"] = STRUCTURAL | REWRITTEN
# Warnings name the ops by which rows are read by accident.
FOLDERS["train"] = STRUCTURAL | {"gather", "slice_axes", "concat", "recurrent_loop"}
# And those by which rows meet others, are weighed by their place, or are chosen by a mask.
FOLDERS["train"] |= {"subtract", "reshape", "matmul", "matrix_transpose", "astype", "multiply"}
# And those that pick a class or an action of each row.
FOLDERS["train"] |= {"take", "one_hot", "softmax", "log_softmax"}
FOLDERS["train"] |= {"random_bits"}  # under the keys of which numbers are drawn
FOLDERS["train"] |= {"stop_gradient"}  # of which `step.check` takes no differences


def names_asked_for(text: str) -> Iterator[tuple[int, str]]:
    """The ops by whose identity a module decides: `is op.x`, `in (op.x, …)`, keys of a table."""
    for node in ast.walk(ast.parse(text)):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            asked = node.comparators
        elif isinstance(node, ast.Dict):
            asked = [key for key in node.keys if key is not None]
        for each in asked:
            for inner in ast.walk(each):
                if (
                    isinstance(inner, ast.Attribute)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id == "op"
                    and inner.attr in wg.op
                ):
                    yield inner.lineno, inner.attr


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_place_lists_ops(folder):
    found = [
        f"{path.relative_to(SOURCE)}:{line} {name}"
        for path in sorted((SOURCE / folder).rglob("*.py"))
        for line, name in names_asked_for(path.read_text(encoding="utf-8"))
        if name not in FOLDERS[folder]
    ]
    assert found == [], "say it as a field of the op instead"


def test_the_search_finds_what_it_should():
    text = (
        "x = node.op is op.tanh\ny = {op.sum: 1}\nz = node.op in (op.scan, op.gather)\nop.sqrt(x)"
    )
    assert sorted(names_asked_for(text)) == [(1, "tanh"), (2, "sum"), (3, "gather"), (3, "scan")]


# A user's op can say any of these.


def double_type(x):
    return ArrayType((2 * x.shape[0],), x.dtype)


def doubled_element(p: Places):
    place, _ = p.divide(p.own[0], 2)
    return p.read(0, [place])


@pytest.fixture
def user_ops():
    """Ops of three kinds, as a program of a user's may define them."""
    mark = "planted_"  # ops that other tests leave alone

    def every_other(x, /):
        """Every second element."""

    def twice(x, /):
        """Each element two times."""

    def longest(x, /, axes, keepdims):
        """The largest absolute value along axes."""

    fold = Fold(lambda _: 0, lambda e, x, y: e.max(x, e.abs(y)))
    for function in (every_other, twice, longest):
        function.__name__ = mark + function.__name__
    return (
        wg.op.primitive(
            numpy=lambda x: x[::2],
            type=lambda x: ArrayType((-(-x.shape[0] // 2),), x.dtype),
            flat=True,
            lower=View(lambda given, out: (Along(0, 0, 2),)),
        )(every_other),
        wg.op.primitive(
            numpy=lambda x: np.repeat(x, 2),
            type=double_type,
            flat=True,
            lower=Pick(doubled_element),
        )(twice),
        wg.op.primitive(
            numpy=lambda x, axes, keepdims: np.max(np.abs(x), axis=axes, keepdims=keepdims),
            type=lambda x, axes, keepdims: ArrayType(
                tuple(n for i, n in enumerate(x.shape) if i not in axes), x.dtype
            ),
            flat=True,
            lower=fold,
        )(longest),
    )


def test_ops_of_users_are_lowered_like_ours(user_ops):
    every_other, twice, longest = user_ops

    def function(x):
        y = twice(np.tanh(x))
        return every_other(y * 2), y, longest(x.reshape(5, 7), axes=(1,), keepdims=False)

    x = np.linspace(-3, 2, 35)
    compiled = wg.compile(function)
    for _ in range(2):
        for ours, eager in zip(compiled(x), function(x), strict=True):
            np.testing.assert_allclose(ours, eager, rtol=1e-14)


def test_formulas_and_views_say_what_they_read():
    assert isinstance(wg.op.arange.lower, Formula)
    assert wg.op.permute_dims.lower.along((2, 3, 4), (4, 2, 3), axes=(2, 0, 1)) == (
        Along(1),
        Along(2),
        Along(0),
    )
    assert wg.op.reshape.lower.along((3, 1, 4), (1, 3, 4), shape=(1, 3, 4)) == (
        Along(1),
        Along(None),
        Along(2),
    )
    assert wg.op.reshape.lower.along((3, 4), (4, 3), shape=(4, 3)) is None
