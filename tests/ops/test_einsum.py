"""Einsum: integers, broadcasting, an open batch, and what it refuses."""

import numpy as np
import pytest
from linalg_calls import SUBSCRIPTS, drawn, require_close

import wengert as wg
from wengert.core.dims import Dim
from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat


@pytest.mark.parametrize(("text", "shapes"), [(text, shapes) for text, *shapes in SUBSCRIPTS])
def test_einsum_of_integers_is_exact_and_keeps_their_dtype(text, shapes):
    rng = np.random.default_rng(1)
    for dtype in (np.int32, np.int64, bool):
        xs = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
        found, expected = op.einsum(text, *xs), np.asarray(np.einsum(text, *xs))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_einsum_broadcasts_axes_of_size_one():
    x, y = drawn(1, 3), drawn(4, 3)
    for text in ("ij,ij->ij", "ij,ij->", "ij,ij->j", "...j,...j->..."):
        require_close(op.einsum(text, x, y), np.einsum(text, x, y))
    (gx,) = wg.vjp(lambda x: op.einsum("ij,ij->", x, y), x)[1](np.ones(()))
    require_close(gx, y.sum(axis=0, keepdims=True))


def test_einsum_of_an_unknown_batch_is_one_graph():
    batch = Dim("batch")
    types = [ArrayType((batch, 3, 4), float64), ArrayType((4, batch), float64)]
    graph, _ = trace_flat(lambda x, y: (op.einsum("bij,jb,bik->bk", x, y, x),), types, "xy")
    for size in (1, 5):
        x, y = drawn(size, 3, 4), drawn(4, size)
        require_close(replay(graph, [x, y])[0], np.einsum("bij,jb,bik->bk", x, y, x))


@pytest.mark.parametrize(
    ("text", "shapes", "words"),
    [
        ("ij,jk->ik", [(2, 3)], "describe 2 operands, but there are 1"),
        ("ij->ik", [(2, 3)], "must occur in an operand"),
        ("ij->ii", [(2, 3)], "once in the result"),
        ("i->i", [(2, 3)], "'i' does not fit shape (2, 3)"),
        ("ijk->i", [(2, 3)], "'ijk' does not fit shape (2, 3)"),
        ("ij,jk", [(2, 3), (4, 2)], "'j' has size 3 in one place and 4 in another"),
        ("...i,...i->i", [(2, 3), (2, 3)], "must keep the axes of the ellipsis"),
        ("i1->i", [(2, 3)], "something other than letters"),
        ("i..j->i", [(2, 3)], "does not fit"),
    ],
)
def test_einsum_refuses(text, shapes, words):
    with pytest.raises(ShapeError, match=r"^einsum: subscripts ") as refusal:
        op.einsum(text, *map(np.zeros, shapes))
    assert words in str(refusal.value)
