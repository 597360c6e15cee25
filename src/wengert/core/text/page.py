"""One HTML page that needs nothing but itself: no network, no files; light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# A page may show a program to someone else: nothing in it can load or send anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(title: str, sections: Sequence[tuple[str, str]], style: str = "", script: str = "") -> str:
    """A page of sections, each a heading (plain text) and a body (HTML)."""
    body = "\n".join(
        f'<section id="section-{i}">\n{f"<h2>{escape(heading)}</h2>" if heading else ""}\n'
        f"{content}\n</section>"
        for i, (heading, content) in enumerate(sections)
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfb; --pane: #ffffff; --ink: #1d2329; --soft: #66707a; --rule: #dcdfe3;
  --stripe: #f5f6f7; --link: #1f5fbf; --mark: #d9480f; --mark-soft: #fff0e6;
  --before: #1971c2; --before-soft: #e7f1fb; --after: #2b8a3e; --after-soft: #e8f6ea;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --pane: #1b1f24; --ink: #e3e6ea; --soft: #98a2ad; --rule: #333a42;
    --stripe: #20252b; --link: #7ab3ff; --mark: #ff9a5c; --mark-soft: #3d2a1e;
    --before: #6cb2f5; --before-soft: #1c3045; --after: #6fcf80; --after-soft: #1c3524;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 16px 22px 18px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 var(--sans); }
h1 { font-size: 20px; font-weight: 650; margin: 0 0 10px; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 650; margin: 26px 0 8px; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
"""
