"""A graph as an HTML page: a drawing and a table beside it; each lights up in the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text import html_view
from wengert.core.text.layout import Edge, layers, place
from wengert.core.text.literal import type_text
from wengert.core.text.page import page
from wengert.core.text.show import param_texts
from wengert.core.types import ArrayType

DRAWN_NODES = 400  # more cannot be read in a drawing
LONG_EDGE = 9  # layers; a line that passes more becomes a reference
LONG_TEXT = 60

BOX_HEIGHT, PILL_HEIGHT, ROW = 40, 22, 76
MARGIN = 14
TITLE_EM, TYPE_EM = 7.4, 6.5  # width of a monospaced letter in a title and in a type, in pixels

KINDS = {
    "input": "input",
    "parameter": "parameter",
    "constant": "constant",
    "elementwise": "elementwise",
    "linear": "reduction, shape",
    "bilinear": "contraction",
    "composite": "composite",
    "control": "control",
}


def to_html(graph: Graph, title: str = "Graph") -> str:
    """One page with the graph and every graph inside it; it can be opened without a network."""
    graphs = list(all_graphs(graph, "g", ""))
    sections = [(heading, graph_view(each, key)) for each, key, heading in graphs]
    return page(title, sections, html_view.STYLE, html_view.SCRIPT)


def all_graphs(graph: Graph, key: str, heading: str) -> Iterator[tuple[Graph, str, str]]:
    """The graph and those in its parameters, each with a key for its links and a heading."""
    yield graph, key, heading
    for number, node in enumerate(graph.nodes):
        for name, body in param_texts(node)[1]:
            inside = f", {heading}" if heading else ""
            title = f"{name} of %{number} {node.op.name}{inside}"
            yield from all_graphs(body, _body_key(key, number, name), title)


def _body_key(key: str, number: int, name: str) -> str:
    return f"{key}-{number}-{name.replace('.', '-')}"


def graph_view(graph: Graph, key: str = "g") -> str:
    """Drawing and table side by side. The key tells the graphs of one page apart."""
    undrawn = " undrawn" if len(graph.nodes) > DRAWN_NODES else ""
    return (
        f'<div class="view" id="{escape(key)}">\n<div class="bar">{_summary(graph)}{_legend(graph)}'
        '<span class="space"></span><span class="zoom"><button data-zoom="out" title="smaller">−'
        '</button><button data-zoom="fit" title="fit the pane">fit</button>'
        '<button data-zoom="in" title="larger">+</button></span>'
        '<input type="search" placeholder="filter nodes" aria-label="filter nodes">'
        f'</div>\n<div class="panes{undrawn}">\n<div class="drawing">{drawing(graph, key)}</div>\n'
        f'<div class="rows">{node_table(graph, key)}</div>\n</div>\n</div>'
    )


def _summary(graph: Graph) -> str:
    parameters = sum(node.op is op.parameter for node in graph.nodes)
    inputs = len(graph.inputs) - sum(graph.nodes[i].op is op.parameter for i in graph.inputs)
    counts = [
        (len(graph.nodes), "node"),
        (inputs, "input"),
        (parameters, "parameter"),
        (len(graph.returns), "output"),
    ]
    texts = [f"{count:,} {word}{'s' * (count != 1)}" for count, word in counts if count]
    return f'<span class="summary">{" · ".join(texts)}</span>'


def _legend(graph: Graph) -> str:
    present = {kind_of(node) for node in graph.nodes}
    keys = "".join(
        f'<span class="key {kind}"><i></i>{label}</span>'
        for kind, label in KINDS.items()
        if kind in present
    )
    return f'<span class="legend">{keys}</span>'


def kind_of(node: Node) -> str:
    """How a node is coloured."""
    if node.op in (op.input, op.parameter):
        return node.op.name
    if not node.operands:
        return "constant"
    if any(isinstance(value, Graph) for value in node.params.values()) or node.op is op.pick:
        return "control"
    return {"primitive": "linear"}.get(node.op.kind, node.op.kind)


def _users(graph: Graph) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in graph.nodes]
    for number, node in enumerate(graph.nodes):
        for operand in dict.fromkeys(node.operands):
            if operand is not None:
                users[operand].append(number)
    return users


# The table


def node_table(graph: Graph, key: str = "g") -> str:
    """A row for every node: number, op, operands, parameters, type and the user's line."""
    users = _users(graph)
    rows = "\n".join(_row(graph, n, node, users[n], key) for n, node in enumerate(graph.nodes))
    heads = ("", "op", "operands", "parameters", "type", "line")
    return (
        f"<table><thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead>\n"
        f'<tbody>\n{rows}\n</tbody></table><p class="none" hidden>No node matches.</p>'
    )


def _row(graph: Graph, number: int, node: Node, users: Sequence[int], key: str) -> str:
    operands = ", ".join(
        "_" if i is None else f'<a href="#{escape(key)}-{i}">%{i}</a>' for i in node.operands
    )
    outputs = [f"output {i}" for i, each in enumerate(graph.returns) if each == number]
    mark = f' <span class="out">{", ".join(outputs)}</span>' if outputs else ""
    line = escape(str(node.line)) if node.line else ""
    shown = type_text(node.type)
    return (
        f'<tr id="{escape(key)}-{number}" {_data(number, node, users)}>'
        f'<td class="number">%{number}</td>'
        f'<td class="op {kind_of(node)}"><i></i>{escape(node.op.name)}{mark}</td>'
        f"<td>{operands}</td><td>{_params(node, number, key)}</td>"
        f'<td class="type{" long" if len(shown) > 24 else ""}">{escape(shown)}</td>'
        f'<td class="line">{line}</td></tr>'
    )


def _data(number: int, node: Node, users: Sequence[int]) -> str:
    operands = " ".join(str(i) for i in dict.fromkeys(node.operands) if i is not None)
    return f'data-n="{number}" data-in="{operands}" data-out="{" ".join(map(str, users))}"'


def _params(node: Node, number: int, key: str) -> str:
    texts, bodies = param_texts(node)
    links = {f"@{name}": _body_key(key, number, name) for name, _ in bodies}
    shown = []
    for name, text in texts.items():
        label = f'<span class="soft">{escape(name)}=</span>' if name else ""
        if text in links:
            shown.append(f'{label}<a href="#{escape(links[text])}">{escape(text)}</a>')
        else:
            full = f' title="{escape(text)}"' if len(text) > LONG_TEXT else ""
            shown.append(f"{label}<span{full}>{escape(_shortened(text))}</span>")
    return ", ".join(shown)


def _shortened(text: str, limit: int = LONG_TEXT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# The drawing


@dataclass(frozen=True, slots=True)
class _Box:
    """What is drawn in one place: a node, an output's mark, or a reference to a node far above."""

    number: int
    what: str  # "node", "output" or "reference"
    title: str
    type: str = ""

    @property
    def width(self) -> float:
        if self.what != "node":
            return max(34.0, len(self.title) * TYPE_EM + 18)
        label = len(self.title) + len(f" %{self.number}")
        return max(84.0, label * TITLE_EM + 22, len(self.type) * TYPE_EM + 20)

    @property
    def height(self) -> float:
        return BOX_HEIGHT if self.what == "node" else PILL_HEIGHT


def drawing(graph: Graph, key: str = "g") -> str:
    """The graph from top to bottom as SVG; 0-d constants stand inside the boxes that read them."""
    if not graph.nodes:
        return '<p class="note">This graph has no nodes.</p>'
    if len(graph.nodes) > DRAWN_NODES:
        return (
            f'<p class="note">This graph has {len(graph.nodes):,} nodes. Beyond {DRAWN_NODES} a '
            "drawing cannot be read, so there is only the table.</p>"
        )
    boxes, edges = _boxes(graph)
    layout = place([box.width for box in boxes], edges)
    users = _users(graph)
    rows = zip(layout.layers, boxes, strict=True)
    tops = [MARGIN + row * ROW + (ROW - box.height) / 2 for row, box in rows]
    lines = "\n".join(_edge_svg(boxes, edges, layout.middles, tops, layout.bends))
    shapes = "\n".join(
        _box_svg(graph, box, x + MARGIN, top, users)
        for box, x, top in zip(boxes, layout.middles, tops, strict=True)
    )
    width, height = layout.width + 2 * MARGIN, (max(layout.layers) + 1) * ROW + 2 * MARGIN
    arrow = f"{key}-arrow"
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="drawing of the graph"><defs><marker id="{escape(arrow)}" '
        'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 1 L7 4 L0 7 z"/></marker></defs>\n'
        f'<g class="edges" marker-end="url(#{escape(arrow)})">\n{lines}\n</g>\n{shapes}\n</svg>'
    )


def _boxes(graph: Graph) -> tuple[list[_Box], list[Edge]]:
    """What is drawn, and the lines between. Lines that would pass many layers become references."""
    users = _users(graph)
    inside = {
        number
        for number, node in enumerate(graph.nodes)
        if _is_scalar_source(node) and users[number] and number not in graph.returns
    }
    boxes: list[_Box] = []
    spot: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        if number not in inside:
            spot[number] = len(boxes)
            title = _title(graph, node, inside)
            boxes.append(_Box(number, "node", title, _shortened(type_text(node.type), 40)))
    edges = [
        (spot[operand], spot[number])
        for number in spot
        for operand in graph.nodes[number].operands
        if operand is not None and operand not in inside
    ]
    depths = layers(len(boxes), edges)
    kept: list[Edge] = []
    references: dict[Edge, int] = {}
    for start, end in edges:
        if depths[end] - depths[start] > LONG_EDGE:
            if (start, end) not in references:
                references[start, end] = len(boxes)
                number = boxes[start].number
                boxes.append(_Box(number, "reference", _reference(graph, number)))
            start = references[start, end]
        kept.append((start, end))
    for index, number in enumerate(graph.returns):
        kept.append((spot[number], len(boxes)))
        boxes.append(_Box(number, "output", f"output {index}"))
    return boxes, kept


def _is_scalar_source(node: Node) -> bool:
    source = not node.operands and node.op not in (op.input, op.parameter)
    return source and isinstance(node.type, ArrayType) and node.type.shape == ()


def _reference(graph: Graph, number: int) -> str:
    name = graph.nodes[number].params.get("name")
    return _shortened(f"%{number} {name}" if isinstance(name, str) else f"%{number}", 24)


def _title(graph: Graph, node: Node, inside: set[int]) -> str:
    """``multiply``, or ``multiply(·, 0.5)`` where a 0-d constant stands in the box."""
    name = node.params.get("name")
    if node.op in (op.input, op.parameter) and isinstance(name, str) and name:
        return _shortened(name, 28)
    if not any(operand in inside for operand in node.operands):
        return node.op.name
    operands = [
        _scalar(graph.nodes[i]) if i is not None and i in inside else "_" if i is None else "·"
        for i in node.operands
    ]
    return f"{node.op.name}({', '.join(operands)})"


def _scalar(node: Node) -> str:
    texts, _ = param_texts(node)
    return _shortened(texts.get("") or texts.get("dim") or node.op.name, 14)


def _edge_svg(
    boxes: Sequence[_Box],
    edges: Sequence[Edge],
    middles: Sequence[float],
    tops: Sequence[float],
    bends: Sequence[Sequence[tuple[float, int]]],
) -> Iterator[str]:
    """Each line leaves below its box and enters the next where its operand stands in the call."""
    entering: dict[int, int] = {}
    for _, end in edges:
        entering[end] = entering.get(end, 0) + 1
    entered: dict[int, int] = {}
    for (start, end), route in zip(edges, bends, strict=True):
        entered[end] = entered.get(end, 0) + 1
        share = entered[end] / (entering[end] + 1) - 0.5
        last = (middles[end] + share * min(boxes[end].width, 110), tops[end])
        points = [(middles[start], tops[start] + boxes[start].height)]
        for x, layer in route:
            top = MARGIN + layer * ROW + (ROW - BOX_HEIGHT) / 2
            points += [(x, top), (x, top + BOX_HEIGHT)]
        points.append(last)
        yield (
            f'<path d="{_curve(points)}" data-from="{boxes[start].number}" '
            f'data-to="{"output" if boxes[end].what == "output" else boxes[end].number}"/>'
        )


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Smooth where a line moves from layer to layer, straight where it passes one."""
    (x, y) = points[0]
    path = [f"M{x + MARGIN:.1f} {y:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 == x1:
            path.append(f"V{y1:.1f}")
            continue
        middle = (y0 + y1) / 2
        a, b = x0 + MARGIN, x1 + MARGIN
        path.append(f"C{a:.1f} {middle:.1f} {b:.1f} {middle:.1f} {b:.1f} {y1:.1f}")
    return "".join(path)


def _box_svg(graph: Graph, box: _Box, x: float, top: float, users: list[list[int]]) -> str:
    node, number = graph.nodes[box.number], box.number
    left, width, height = x - box.width / 2, box.width, box.height
    corner = 6 if box.what == "node" else height / 2
    shape = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height}" rx="{corner}"/>'
    )
    if box.what != "node":
        middle = top + height / 2 + 4
        text = f'<text x="{x:.1f}" y="{middle:.1f}" class="pill">{escape(box.title)}</text>'
        return f'<g class="{box.what}" data-n="{number}">{shape}{text}</g>'
    output = " is-output" if number in graph.returns else ""
    right = left + width - 10
    return (
        f'<g class="node {kind_of(node)}{output}" data-n="{number}">'
        f"<title>{escape(_tooltip(number, node))}</title>{shape}"
        f'<text x="{left + 10:.1f}" y="{top + 17:.1f}" class="title">{escape(box.title)}</text>'
        f'<text x="{right:.1f}" y="{top + 17:.1f}" class="number">%{number}</text>'
        f'<text x="{left + 10:.1f}" y="{top + 32:.1f}" class="type">{escape(box.type)}</text></g>'
    )


def _tooltip(number: int, node: Node) -> str:
    texts, _ = param_texts(node)
    params = [f"{k}={_shortened(v)}" if k else _shortened(v) for k, v in texts.items()]
    operands = ["_" if i is None else f"%{i}" for i in node.operands]
    call = f"%{number} = {node.op.name}({', '.join(operands + params)})"
    return f"{call}\n{type_text(node.type)}" + (f"\n{node.line}" if node.line else "")
