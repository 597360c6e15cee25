"""Explain as a page: kernels with what they cost, the arena drawn to scale, the graph after each
pass. The page is one file, and loads no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from textwrap import dedent

from wengert.codegen.cost.durations import duration
from wengert.codegen.explain.arena import ArenaMap, Buffer, arena_summary
from wengert.codegen.explain.kernels import ExplainedKernel, brief_printer
from wengert.codegen.explain.passes import PassResult
from wengert.codegen.explain.text import ExplainedProgram
from wengert.core.text import html_view
from wengert.core.text.html import all_graphs, graph_view
from wengert.core.text.page import page

# Kernels and buffers have the colours that nodes have in drawings of graphs.
COLOURS = {
    "map": "elementwise",
    "rows": "linear",
    "columns": "linear",
    "gemm": "bilinear",
    "scan": "control",
    "cond": "control",
    "while": "control",
    "special": "composite",
}
MEMORY = {"array": "input", "scratch": "constant", "kept to the end": "parameter"}
DRAWING_WIDTH, DRAWING_HEIGHT = 980, 380  # of the arena, in pixels
LEFT, BELOW = 92, 30  # room for what stands beside and below it
LETTER, LINE = 6.6, 13  # of the letters in it


def explain_html(it: ExplainedProgram, ir: bool = False, assembly: bool = False) -> str:
    """Everything on one page; with `ir` and `assembly` the code, too."""
    sections = [
        ("", f'<p class="lead">{escape(it.summary)}</p>'),
        ("Kernels, in the order in which they run", _overview(it) + _cards(it)),
        ("Arena", _arena(it.arena)),
        ("Passes", "\n".join(_pass(each, f"s{i}") for i, each in enumerate(it.passes))),
    ]
    if ir:
        sections.append(("LLVM", _code(it.llvm)))
    if assembly:
        sections.append(("Assembly", _code(it.assembly)))
    return page(it.name, sections, html_view.STYLE + STYLE, html_view.SCRIPT)


def _code(text: str) -> str:
    lines = text.count("\n")
    return f"<details><summary>{lines:,} lines</summary><pre>{escape(text)}</pre></details>"


# Kernels


def _overview(it: ExplainedProgram) -> str:
    """A row for each kernel, with its share of all operations and bytes."""
    words = ("kernel", "kind", "over", "", "flops", "", "bytes moved", "flops/byte", "about")
    heads = "".join(f"<th>{word}</th>" for word in words)
    rows = "\n".join(_overview_row(it, kernel) for kernel in it.kernels)
    return (
        f'<div class="listing"><table class="costs"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def _overview_row(it: ExplainedProgram, kernel: ExplainedKernel) -> str:
    cost, colour = kernel.cost, COLOURS[kernel.kind]
    return (
        f'<tr><td><a href="#{kernel.name}">{kernel.name}</a></td>'
        f'<td class="op {colour}"><i></i>{kernel.kind}</td>'
        f"<td>{escape(kernel.domain)}</td>"
        f'<td class="amount">{_share(cost.flops, it.cost.flops)}</td>'
        f'<td class="amount">{cost.flops:,}</td>'
        f'<td class="amount">{_share(cost.moved, it.cost.moved)}</td>'
        f'<td class="amount">{cost.moved:,}</td>'
        f'<td class="amount">{cost.intensity:.3g}</td>'
        f'<td class="amount">{duration(kernel.nanoseconds * 1e-9)}</td></tr>'
    )


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole if whole else 0.0
    return (
        f'<span class="share" title="{percent:.1f} %"><i style="width: {percent:.1f}%"></i></span>'
    )


def _cards(it: ExplainedProgram) -> str:
    """The text of the program: a card for each kernel, between what stands before and after."""
    cards = {kernel.name: _card(kernel) for kernel in it.kernels}
    texts = []
    for k, lines in brief_printer(it.notes).parts(it.program, "k", ""):
        text = "\n".join(lines)
        texts.append(cards[f"k{k}"] if k is not None else f"<pre>{escape(text)}</pre>")
    return "\n".join(texts)


def _card(kernel: ExplainedKernel) -> str:
    lines = dedent("\n".join(kernel.lines))
    return (
        f'<article class="card {COLOURS[kernel.kind]}" id="{kernel.name}">'
        f"<h3><b>{kernel.name}</b> {kernel.kind}</h3>\n<pre>{escape(lines)}</pre></article>"
    )


# The arena


def _arena(arena: ArenaMap) -> str:
    summary = f'<p class="lead">{escape(arena_summary(arena))}</p>\n'
    buffers = [*arena.buffers, *arena.guests]
    if not buffers:
        return summary
    rows = "\n".join(
        f'<tr><td>{b.host or "arena"}</td><td class="amount">{b.offset:,}</td>'
        f'<td class="amount">{b.size:,}</td><td>{escape(b.kernels)}</td>'
        f"<td>{escape(b.name)}</td><td>{escape(b.what)}</td></tr>"
        for b in buffers
    )
    keys = "".join(
        f'<span class="key {colour}"><i></i>{word}</span>' for word, colour in MEMORY.items()
    )
    heads = "".join(f"<th>{head}</th>" for head in ("in", "at", "bytes", "alive", "array", "type"))
    drawing = (
        f'<p class="legend">{keys}</p><div class="arena">{arena_drawing(arena)}</div>\n'
        if arena.buffers
        else ""
    )
    return (
        f"{summary}{drawing}<details><summary>{len(buffers)} buffers</summary>"
        f'<div class="listing"><table><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def arena_drawing(arena: ArenaMap) -> str:
    """Kernels from left to right, addresses from below, a rectangle for each buffer."""
    width, height = LEFT + DRAWING_WIDTH + 2, DRAWING_HEIGHT + BELOW + 8
    shapes = "\n".join(_rectangle(arena, b) for b in arena.buffers)
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="map of the arena">\n{"".join(_scale(arena))}\n{shapes}\n</svg>'
    )


def _scale(arena: ArenaMap) -> Iterator[str]:
    """Addresses at the left, kernels below."""
    for quarter in range(5):
        y = 8 + DRAWING_HEIGHT * (4 - quarter) / 4
        yield f'<path class="grid" d="M{LEFT} {y:.1f}h{DRAWING_WIDTH}"/>'
        address = f"{arena.size * quarter // 4:,}"
        yield f'<text class="address" x="{LEFT - 8}" y="{y + 4:.1f}">{address}</text>'
    column = DRAWING_WIDTH / arena.kernels
    every = -(-int(5 * LETTER) // max(int(column), 1))  # so that names do not touch
    for position in range(0, arena.kernels, max(every, 1)):
        x = LEFT + (position + 0.5) * column
        y = DRAWING_HEIGHT + 8 + 18
        yield f'<text class="pill" x="{x:.1f}" y="{y}">{arena.order[position]}</text>'


def _rectangle(arena: ArenaMap, b: Buffer) -> str:
    column, byte = DRAWING_WIDTH / arena.kernels, DRAWING_HEIGHT / arena.size
    x, width = LEFT + float(b.begin) * column, float(b.end - b.begin) * column
    height = b.size * byte
    y = 8 + DRAWING_HEIGHT - b.offset * byte - height
    scratch = b.what in ("scratch", "carry")
    kind = "scratch" if scratch else "kept to the end" if b.kept else "array"
    title = f"{b.name} {b.what}\n{b.size:,} bytes at {b.offset:,}\n{b.kernels}"
    label = b.what if scratch else b.name
    fits = len(label) * LETTER + 6 <= width and height >= LINE
    text = (
        f'<text x="{x + 4:.1f}" y="{y + height / 2 + 4:.1f}">{escape(label)}</text>' if fits else ""
    )
    return (
        f'<g class="buffer {MEMORY[kind]}"><title>{escape(title)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{max(height - 0.6, 0.8):.1f}"/>{text}</g>'
    )


# Passes


def _pass(it: PassResult, key: str) -> str:
    if not it.change:
        return f'<p class="pass"><b>{it.name}</b> unchanged</p>'
    if not it.text:
        return f'<p class="pass"><b>{it.name}</b> {escape(it.change)}</p>'
    views = "\n".join(
        (f"<h4>{escape(heading)}</h4>" if heading else "") + graph_view(graph, part)
        for graph, part, heading in all_graphs(it.graph, key, "")
    )
    return (
        f"<details><summary><b>{it.name}</b> {escape(it.change)}</summary>"
        f'<p class="lead">{escape(it.what)}</p>\n{views}</details>'
    )


STYLE = """
.lead { color: var(--soft); margin: 0 0 10px; }
.listing { border: 1px solid var(--rule); border-radius: 8px; background: var(--pane);
  overflow: auto; margin: 0 0 14px; }
.listing td { white-space: nowrap; }
.listing tbody tr { cursor: auto; }
td.amount, .costs th:nth-child(n + 4) { text-align: right; }
.share { display: inline-block; width: 90px; height: 9px; border-radius: 2px;
  background: var(--stripe); box-shadow: inset 0 0 0 1px var(--rule); }
.share i { display: block; height: 100%; border-radius: 2px; background: var(--before); }
.card { border: 1px solid var(--rule); border-left: 5px solid var(--edge); border-radius: 6px;
  background: var(--pane); margin: 0 0 10px; padding: 9px 12px 8px; overflow-x: auto; }
.card h3 { font: 600 13px var(--sans); margin: 0 0 6px; }
.card h3 b { font-family: var(--mono); }
h4 { font: 600 12.5px var(--sans); margin: 8px 0 4px; }
.card pre { margin: 0; }
.arena { overflow-x: auto; border: 1px solid var(--rule); border-radius: 8px; padding: 8px 10px;
  background: var(--pane); margin: 0 0 10px; }
.arena text { font-size: 10.5px; }
.address { text-anchor: end; }
.arena svg > text { fill: var(--soft); }
.grid { stroke: var(--rule); stroke-dasharray: 2 3; }
.buffer rect { fill: var(--fill); stroke: var(--edge); }
.buffer:hover rect { stroke: var(--mark); stroke-width: 2; }
details { margin: 0 0 8px; }
summary { cursor: pointer; font-size: 13px; padding: 3px 0; }
.pass { margin: 0 0 8px 15px; font-size: 13px; color: var(--soft); }
pre { font: 11.5px/1.45 var(--mono); overflow-x: auto; }
"""
