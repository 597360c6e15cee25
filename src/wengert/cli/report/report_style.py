"""The style of the pages, and the frame around what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2530; --soft: #5b6775; --back: #ffffff; --card:
  #f5f7f9;
  --line: #d9dfe5; --heat: 31, 111, 180; --c0: #1f6fb4; --c1: #d9660a; --c2: #2a8f4f; --c3:
  #8a4fb0;
  --c4: #b03a48; --c5: #5b6770; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaef; --soft: #9aa7b4; --back: #12171d;
  --card: #1b222a; --line: #313b46; --heat: 90, 170, 235; --c0: #5aaaeb; --c1: #f29a4a; --c2:
  #5cc483;
  --c3: #bd8be0; --c4: #e5707f; --c5: #9aa7b4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 20px 16px 60px; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6em; margin: 0.2em 0; }
h2 { font-size: 1.2em; margin: 2em 0 0.6em; }
.lead, .note { color: var(--soft); }
.note { font-size: 0.88em; margin: 4px 0 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px; }
.tile { background: var(--card); border-radius: 8px; padding: 10px 12px; }
.tile b { display: block; font-size: 1.35em; line-height: 1.25; }
.tile span { color: var(--soft); font-size: 0.85em; }
.grid2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr));
  gap: 16px; align-items: start; }
figure { margin: 0; background: var(--card); border-radius: 8px; padding: 12px; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .strong { fill: var(--ink); }
svg .mono { font-family: ui-monospace, monospace; font-size: 11px; }
.grid { stroke: var(--line); }
.axis { stroke: var(--soft); }
.l { fill: none; stroke-width: 2; stroke-linejoin: round; }
.d { stroke: none; }
.b { fill: var(--c0); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; font-size: 0.88em; color: var(--soft); }
.key { display: inline-block; width: 14px; height: 3px; margin-right: 6px; vertical-align:
  middle; }
.scroll { overflow-x: auto; }
.drawing { max-width: 640px; margin: auto; overflow-x: auto; }
.drawing svg { min-width: 500px; }
table { border-collapse: collapse; width: 100%; font-size: 0.92em; overflow-wrap: break-word; }
.pairs { overflow-wrap: anywhere; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.heat { width: auto; }
.heat td, .heat th { border: 0; padding: 4px 6px; text-align: center; min-width: 30px;
  overflow-wrap: normal; }
.heat th { white-space: nowrap; max-width: 110px; overflow: hidden; text-overflow: ellipsis; }
.heat td { background: rgba(var(--heat), var(--v)); }
.bars td { border: 0; padding: 2px 8px 2px 0; }
.bars td:first-child { width: 32%; }
.bars td:last-child { width: 90px; }
.bar { height: 12px; border-radius: 3px; background: var(--c0); min-width: 1px; }
.bar.less { background: var(--c4); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; background: var(--card); padding: 12px; border-radius: 8px; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--soft); }
"""
_SERIES = "".join(
    f".l.c{i} {{ stroke: var(--c{i}); }} .d.c{i} {{ fill: var(--c{i}); fill-opacity: 0.75; }} "
    f".key.c{i} {{ background: var(--c{i}); }}\n"
    for i in range(6)
)
_FAINT = (
    ".l.faint { stroke: var(--soft); stroke-dasharray: 4 4; stroke-width: 1; } "
    ".key.faint { background: var(--soft); }\n"
)
# Nothing is loaded, and nothing runs: a browser may refuse all of it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html_page(title: str, lead: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page of sections (heading, HTML); what is empty is left out."""
    body = "".join(
        f"<section>{f'<h2>{escape(heading)}</h2>' if heading else ''}{inside}</section>\n"
        for heading, inside in sections
        if inside
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{_SERIES}{_FAINT}</style></head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{body}</body></html>\n'
    )


def tiles(pairs: Sequence[tuple[str, str]]) -> str:
    """Numbers in large letters, each with what it is."""
    inside = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in pairs
    )
    return f'<div class="tiles">{inside}</div>'


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> str:
    """A table of texts; the columns of these numbers stand to the right."""

    def row(cells: Sequence[str], tag: str) -> str:
        opened = {True: f'<{tag} class="n">', False: f"<{tag}>"}
        return "".join(
            f"{opened[i in numbers]}{escape(cell)}</{tag}>" for i, cell in enumerate(cells)
        )

    first = f"<thead><tr>{row(head, 'th')}</tr></thead>" if head else ""
    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    kind = "" if head else ' class="pairs"'  # of names and values, which may be long
    return f'<div class="scroll"><table{kind}>{first}<tbody>{body}</tbody></table></div>'


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """Names, bars as long as their numbers, and what is written behind them."""
    longest = max((abs(value) for _, value, _ in rows), default=0.0) or 1.0
    body = "".join(
        f'<tr><td>{escape(name)}</td><td><div class="bar{" less" if value < 0 else ""}" '
        f'style="width:{100 * abs(value) / longest:.1f}%"></div></td>'
        f'<td class="n">{escape(text)}</td></tr>'
        for name, value, text in rows
    )
    return f'<table class="bars"><tbody>{body}</tbody></table>'


def grid(parts: Iterable[str]) -> str:
    inside = "".join(parts)
    return f'<div class="grid2">{inside}</div>' if inside else ""
