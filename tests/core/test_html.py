"""The page of a graph: well formed, complete, escaped, alone, and drawn so that it can be read."""

import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sample_graphs
from hypothesis import given
from hypothesis import strategies as st
from sample_graphs import f32, graph_of

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text.html import DRAWN_NODES, drawing, graph_view, node_table, to_html
from wengert.core.text.layout import layers, place, spaced
from wengert.core.text.page import page

VOID = {"meta", "input"}
GRAPHS = [
    sample_graphs.hand_made,
    sample_graphs.mlp,
    sample_graphs.mlp_gradient,
    sample_graphs.loops,
    lambda: sample_graphs.chain(20),
]


class Page(HTMLParser):
    """The elements of a page: (tag, attributes, text directly inside)."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        element = [tag, dict(attributes), ""]
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data

    def all(self, tag, **wanted):
        return [
            (attributes, text)
            for name, attributes, text in self.elements
            if name == tag and all(attributes.get(k.strip("_")) == v for k, v in wanted.items())
        ]


@pytest.mark.parametrize("make", GRAPHS)
def test_a_page_is_well_formed_and_alone(make):
    text = to_html(make(), "A model")
    found = Page(text)
    assert found.all("title")[0][1] == found.all("h1")[0][1] == "A model"
    ids = [attributes["id"] for _, attributes, _ in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes, _ in found.all("a"):
        assert attributes["href"].removeprefix("#") in ids
    assert not re.search(r"(?:src|href)=\"(?!#)|https?:|@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_the_table_has_all_there_is_to_know():
    graph = sample_graphs.hand_made()
    found = Page(node_table(graph))
    rows = found.all("tr")[1:]
    assert [row["data-n"] for row, _ in rows] == ["0", "1", "2", "3", "4"]
    assert (rows[2][0]["data-in"], rows[2][0]["data-out"]) == ("0 1", "3")
    assert [text for _, text in found.all("td", class_="type")] == [
        "float32[batch, 4]",
        "float32[4, 64]",
        "float32[batch, 64]",
        "float32[batch, 64]",
        "float32[]",
    ]
    assert [text for _, text in found.all("td", class_="line")][2:] == [
        "model.py:12",
        "model.py:12",
        "model.py:13",
    ]
    assert [text for _, text in found.all("a")] == ["%0", "%1", "%2", "%3"]
    assert [text for _, text in found.all("span", class_="out")] == ["output 0"]
    assert '<span class="soft">axes=</span><span>(0, 1)</span>' in node_table(graph)


def test_every_node_is_drawn_and_its_operands_are_joined():
    graph = sample_graphs.hand_made()
    found = Page(drawing(graph))
    assert [each["data-n"] for each, _ in found.all("g") if "data-n" in each] == list("012344")
    joined = [(each["data-from"], each["data-to"]) for each, _ in found.all("path")[1:]]
    assert joined == [("0", "2"), ("1", "2"), ("2", "3"), ("3", "4"), ("4", "output")]
    assert [text for _, text in found.all("text", class_="title")] == [
        "x", "w", "matmul", "tanh", "sum",
    ]  # fmt: skip


def test_numbers_stand_inside_what_reads_them():
    found = Page(drawing(sample_graphs.mlp()))
    titles = [text for _, text in found.all("text", class_="title")]
    assert "multiply(·, 0.5)" in titles
    assert "divide(·, batch)" in titles
    assert "constant" not in titles


def test_colours_follow_the_kind():
    text = drawing(sample_graphs.mlp_gradient())
    for kind in ("input", "parameter", "elementwise", "linear", "bilinear"):
        assert f'class="node {kind}' in text
    assert 'class="node control' in drawing(sample_graphs.loops())


def test_bodies_have_sections_of_their_own():
    found = Page(to_html(sample_graphs.loops()))
    headings = [text for _, text in found.all("h2")]
    assert [re.sub(r"%\d+", "%", text) for text in headings] == [
        "body of % scan",
        "then of % cond",
        "orelse of % cond",
    ]
    assert {text for _, text in found.all("a")} >= {"@body", "@then", "@orelse"}
    assert len(found.all("svg")) == 4


def test_what_a_user_wrote_is_escaped():
    name = '"><script>alert(1)</script>&'
    found = f32(3)
    graph = Graph([Node(op.input, (), {"name": name, "type": found}, found)], [0], [0])
    text = to_html(graph, name)
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert Page(text).all("h1")[0][1] == name
    assert "<script>alert" not in page(name, [(name, "")])
    assert "<script>alert" not in graph_view(graph, name)


def test_too_long_a_graph_is_not_drawn_and_says_so():
    graph = sample_graphs.chain(DRAWN_NODES // 5 + 1)
    assert f"This graph has {len(graph):,} nodes. Beyond 400 a drawing cannot be read" in drawing(
        graph
    )
    found = Page(to_html(graph))
    assert not found.all("svg")
    assert len(found.all("tr")) == len(graph) + 1


def test_a_graph_without_nodes_says_so():
    assert "no nodes" in Page(to_html(Graph())).all("p")[0][1]


def test_large_constants_are_not_written_out():
    value = np.zeros((300, 300))
    text = to_html(graph_of(op.constant, {"value": value}))
    assert len(text) < 25_000
    assert "<span>…</span>" in text


def test_far_lines_become_references():
    def run(x):
        y = x
        for _ in range(12):
            y = op.tanh(y)
        return [y * x]

    graph = sample_graphs.trace_flat(run, [f32(3)], ["x"])[0]
    found = Page(drawing(graph))
    assert [each["data-n"] for each, _ in found.all("g", class_="reference")] == ["0"]
    assert [text for _, text in found.all("text", class_="pill")] == ["%0 x", "output 0"]


# The drawing as geometry


def boxes(text):
    return [
        tuple(float(each[key]) for key in ("x", "y", "width", "height"))
        for each, _ in Page(text).all("rect")
    ]


@pytest.mark.parametrize("make", GRAPHS)
def test_boxes_lie_apart_and_inside_the_drawing(make):
    text = drawing(make())
    svg = Page(text).all("svg")[0][0]
    found = boxes(text)
    for x, y, width, height in found:
        assert x >= 0
        assert y >= 0
        assert x + width <= float(svg["width"])
        assert y + height <= float(svg["height"])
    for (x, y, w, h), (x2, y2, w2, h2) in itertools.combinations(found, 2):
        assert x + w + 8 <= x2 or x2 + w2 + 8 <= x or y + h + 8 <= y2 or y2 + h2 + 8 <= y


@pytest.mark.parametrize("make", GRAPHS)
def test_lines_run_downwards_and_pass_no_box(make):
    text = drawing(make())
    found = boxes(text)
    for each, _ in Page(text).all("path")[1:]:
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", each["d"])]
        assert numbers
        x, y = numbers[:2]
        for letter, rest in re.findall(r"([VC])([^VC]*)", each["d"]):
            values = [float(n) for n in rest.split()]
            end_x, end_y = (x, values[0]) if letter == "V" else values[-2:]
            assert end_y > y
            if letter == "V":  # a straight piece, perhaps past the boxes of a layer
                for bx, by, width, height in found:
                    assert not (bx < x < bx + width and by < end_y - 0.2 and y + 0.2 < by + height)
            x, y = end_x, end_y


@pytest.mark.parametrize("make", GRAPHS)
def test_text_fits_its_box(make):
    """A letter of a monospaced font is at most 0.61 times as wide as its size."""
    text = drawing(make())
    for group in re.findall(r'<g class="node.*?</g>', text):
        width = float(re.search(r'width="([\d.]+)"', group)[1])
        words = Page(group).all("text")
        title, number, found = (len(each[1]) for each in words)
        assert title * 12 * 0.61 + number * 10.5 * 0.61 + 24 <= width + 4
        assert found * 10.5 * 0.61 + 20 <= width + 1


def graphs():
    """Boxes and edges of any graph: each edge leads to a later box."""
    pairs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)
    return pairs.map(lambda each: [(min(e), max(e)) for e in each if e[0] != e[1]])


@given(graphs())
def test_layers_lead_downwards(edges):
    found = layers(12, edges)
    assert min(found) == 0
    assert all(found[start] < found[end] for start, end in edges)


@given(graphs(), st.lists(st.floats(20, 200), min_size=12, max_size=12))
def test_placed_boxes_never_touch(widths_edges, widths):
    layout = place(widths, widths_edges)
    for a, b in itertools.combinations(range(12), 2):
        if layout.layers[a] == layout.layers[b]:
            distance = abs(layout.middles[a] - layout.middles[b])
            assert distance >= (widths[a] + widths[b]) / 2 + 10
    assert all(m - w / 2 >= -1e-6 for m, w in zip(layout.middles, widths, strict=True))
    for (start, end), bends in zip(widths_edges, layout.bends, strict=True):
        between = range(layout.layers[start] + 1, layout.layers[end])
        assert [layer for _, layer in bends] == list(between)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8))
def test_spaced_keeps_its_distances_and_its_mean(wanted):
    found = spaced(wanted, [5.0] * (len(wanted) - 1), [1.0] * len(wanted))
    assert all(b - a >= 5 - 1e-9 for a, b in itertools.pairwise(found))
    assert sum(found) == pytest.approx(sum(wanted), abs=1e-6)
