"""Traced programs as text that reads back and as a page to look at."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from programs import NUMPY_FUNCTIONS, OPEN_FUNCTIONS

import wengert as wg
from wengert.errors import WengertError

rng = np.random.default_rng(14)
X, W = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (3, 3))
BATCH = {"x": {0: wg.Dim("batch")}}


def here() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


# Text.

CONSTANTS = [
    np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308]),
    np.array([1 / 3, 1e-45, 3.4e38], np.float32),
    np.array([[1, -(2**63)], [2**63 - 1, 0]]),
    np.array([True, False]),
    np.zeros((0, 3)),
    np.array(2.5),
    np.arange(5000.0).reshape(50, 100),
    rng.standard_normal((3, 4)).T,
]


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda x: f"{x.dtype}{x.shape}")
def test_constants_keep_every_bit_in_text(constant: Any):
    graph = wg.trace(lambda x: (x, constant), np.ones(1))
    again = wg.Graph.from_text(graph.to_text())
    again.check()
    found, expected = again.run(x=np.ones(1))[1], graph.run(x=np.ones(1))[1]
    assert (found.dtype, found.shape) == (constant.dtype, constant.shape)
    assert found.tobytes() == expected.tobytes() == np.ascontiguousarray(constant).tobytes()


@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_text_reads_back(name: str):
    graph = wg.trace(NUMPY_FUNCTIONS[name], X, W)
    text = graph.to_text()
    again = wg.Graph.from_text(text)
    again.check()
    assert again.to_text() == text
    np.testing.assert_array_equal(again.run(x=X, w=W)[0], graph.run(x=X, w=W)[0])


@pytest.mark.parametrize("name", OPEN_FUNCTIONS)
def test_text_with_open_sizes_reads_back(name: str):
    graph = wg.trace(OPEN_FUNCTIONS[name], np.ones((4, 6)), dims=BATCH)
    text = graph.to_text()
    assert "batch" in text
    again = wg.Graph.from_text(text)
    assert again.to_text() == text
    x = rng.standard_normal((5, 6))
    np.testing.assert_array_equal(again.run(x=x)[0], graph.run(x=x)[0])


@pytest.mark.parametrize("name", ["a b", 'say "x"', "π", "back\\slash", "%0", "line\nbreak", "#"])
def test_names_of_any_kind_read_back(name: str):
    g = wg.Graph()
    g.set_outputs(g.neg(g.input(np.ones(2), name=name)))
    again = wg.Graph.from_text(g.to_text())
    np.testing.assert_array_equal(again.run(**{name: np.ones(2)})[0], [-1.0, -1.0])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "graph(%0: float64[2]) { return %1 }",
        "graph(%0: float64[2]) { %1: float64[2] = no_such_op(%0) return %1 }",
        "graph(%0: float64[2]) { %1: float64[3] = sin(%0) return %1 }",
        "graph(%0: float64[2]) { %1: float64[2] = sin(%0)",
    ],
)
def test_text_that_is_no_graph_is_an_error(text: str):
    with pytest.raises((WengertError, ValueError)):
        wg.Graph.from_text(text).check()


# The page.


def test_the_page_shows_names_and_ops_and_needs_nothing_else():
    graph = wg.trace(lambda weights, x: wg.sum(wg.tanh(x @ weights)), W, X)
    page = graph.to_html(title="My graph")
    assert page.lstrip().lower().startswith("<!doctype html>")
    for word in ("My graph", "weights", "matmul", "tanh", "sum"):
        assert word in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page), "nothing is loaded"


def test_the_page_of_scans_shows_their_bodies():
    def function(x: Any) -> Any:
        return wg.scan(lambda c, x: (wg.cos(c) * x, c), 0.0, x)

    page = wg.trace(function, np.ones(3)).to_html()
    assert "scan" in page
    assert "cos" in page


def test_names_are_text_in_the_page():
    g = wg.Graph()
    g.set_outputs(g.neg(g.input(np.ones(1), name="<script>alert(1)</script>")))
    page = g.to_html(title="<b>bold</b>")
    assert "<script>alert" not in page
    assert "<b>bold</b>" not in page
