"""Style and behaviour of a graph on a page. No frameworks: the page must open anywhere, forever."""

from __future__ import annotations

STYLE = """
.view { scroll-margin-top: 12px; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 16px; margin: 0 0 10px; }
.summary { color: var(--soft); white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 3px 13px; font-size: 12.5px; color: var(--soft); }
.key { display: inline-flex; align-items: center; gap: 5px; white-space: nowrap; }
.key i, td.op i { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  background: var(--fill); border: 1.4px solid var(--edge); flex: none; }
.space { flex: 1; }
.zoom { display: inline-flex; }
.zoom button { font: 13px/1 var(--sans); min-width: 30px; height: 28px; color: var(--ink);
  background: var(--pane); border: 1px solid var(--rule); cursor: pointer; margin-left: -1px; }
.zoom button:first-child { border-radius: 6px 0 0 6px; }
.zoom button:last-child { border-radius: 0 6px 6px 0; }
.zoom button:hover { background: var(--stripe); }
.bar input { font: 13px var(--sans); height: 28px; width: 210px; padding: 0 9px;
  border: 1px solid var(--rule); border-radius: 6px; background: var(--pane); color: var(--ink); }
.panes { display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 10fr); gap: 14px; }
.drawing, .rows { border: 1px solid var(--rule); border-radius: 8px; background: var(--pane);
  overflow: auto; max-height: calc(100vh - 126px); }
.drawing { text-align: center; }
.undrawn { grid-template-columns: minmax(0, 1fr); }
.undrawn .rows { max-height: calc(100vh - 216px); }
.note { padding: 26px; color: var(--soft); text-align: left; margin: 0; }
.none { padding: 14px; color: var(--soft); margin: 0; }
@media (max-width: 900px) {
  .panes { grid-template-columns: minmax(0, 1fr); }
  .drawing, .rows { max-height: 70vh; }
}

.input { --fill: #d9ecff; --edge: #4a90d9; }
.parameter { --fill: #e6dcfb; --edge: #8b62d4; }
.constant { --fill: #eceef0; --edge: #97a0aa; }
.elementwise { --fill: #dff3e2; --edge: #4fa35f; }
.linear { --fill: #fdf0cd; --edge: #c99a26; }
.bilinear { --fill: #ffdfd6; --edge: #d9694a; }
.composite { --fill: #d5f1f0; --edge: #33999a; }
.control { --fill: #fbdcec; --edge: #c95a94; }
@media (prefers-color-scheme: dark) {
  .input { --fill: #1d3a57; --edge: #4f93d6; }
  .parameter { --fill: #372a55; --edge: #9673dc; }
  .constant { --fill: #2c3238; --edge: #78828c; }
  .elementwise { --fill: #1e3d27; --edge: #57a868; }
  .linear { --fill: #453712; --edge: #c49c36; }
  .bilinear { --fill: #4d261b; --edge: #db7658; }
  .composite { --fill: #153f40; --edge: #3fa3a4; }
  .control { --fill: #4a2138; --edge: #d06ba0; }
}

svg { display: inline-block; vertical-align: top; text-align: left; font-family: var(--mono); }
svg text { fill: var(--ink); pointer-events: none; }
.node { cursor: pointer; }
.node rect { fill: var(--fill); stroke: var(--edge); stroke-width: 1.2; }
.node.is-output rect { stroke-width: 2.6; }
.title { font-size: 12px; font-weight: 600; }
.number { text-anchor: end; font-size: 10.5px; }
svg .number, svg .type { fill: var(--soft); }
svg .type { font-size: 10.5px; }
.pill { text-anchor: middle; font-size: 10.5px; }
.output rect { fill: var(--ink); }
.output .pill { fill: var(--pane); }
.reference { cursor: pointer; }
.reference rect { fill: var(--pane); stroke: var(--soft); stroke-dasharray: 3 2.5; }
.edges path { fill: none; stroke: #a9b1ba; stroke-width: 1.3; }
marker path { fill: #a9b1ba; fill: context-stroke; stroke: none; }
@media (prefers-color-scheme: dark) {
  .edges path { stroke: #5a646e; }
  marker path { fill: #5a646e; fill: context-stroke; }
}
.dim .node, .dim .reference, .dim .output { opacity: .4; }
.dim .edges path { stroke: var(--rule); }
.dim .chosen, .dim .before, .dim .after, .dim .match { opacity: 1; }
.edges .lit { stroke-width: 2.2; }
.edges .lit.before { stroke: var(--before); }
.edges .lit.after { stroke: var(--after); }
g.chosen rect { stroke: var(--mark); stroke-width: 2.6; }
g.before rect { stroke: var(--before); stroke-width: 2.2; }
g.after rect { stroke: var(--after); stroke-width: 2.2; }

table { border-collapse: separate; border-spacing: 0; width: 100%; font: 11.5px/1.4 var(--mono); }
th { position: sticky; top: 0; background: var(--pane); border-bottom: 1px solid var(--rule);
  text-align: left; font: 600 12px var(--sans); color: var(--soft); padding: 8px 7px; z-index: 1; }
td { padding: 4px 7px; vertical-align: top; }
tbody tr { cursor: pointer; scroll-margin: 60px; }
tbody tr:nth-child(even) { background: var(--stripe); }
td.number, td.line { color: var(--soft); white-space: nowrap; }
td.op { white-space: nowrap; font-weight: 600; }
td.op i { width: 9px; height: 9px; margin-right: 6px; }
td.type { white-space: nowrap; }
td.long { white-space: normal; min-width: 140px; }
.out { font: 600 10px var(--sans); background: var(--ink); color: var(--pane);
  border-radius: 8px; padding: 1px 6px; }
.soft { color: var(--soft); }
tr.chosen, tbody tr.chosen:nth-child(even) { background: var(--mark-soft); }
tr.before, tbody tr.before:nth-child(even) { background: var(--before-soft); }
tr.after, tbody tr.after:nth-child(even) { background: var(--after-soft); }
tr.chosen td:first-child { box-shadow: inset 3px 0 var(--mark); }
tr.before td:first-child { box-shadow: inset 3px 0 var(--before); }
tr.after td:first-child { box-shadow: inset 3px 0 var(--after); }
"""

SCRIPT = """
"use strict";
for (const view of document.querySelectorAll(".view")) {
  const rows = [...view.querySelectorAll("tbody tr")];
  const row = new Map(rows.map(each => [each.dataset.n, each]));
  const shapes = [...view.querySelectorAll("svg g[data-n]")];
  const edges = [...view.querySelectorAll(".edges path")];
  const pane = view.querySelector(".drawing"), svg = view.querySelector("svg");
  const search = view.querySelector("input");
  let pinned = null;

  const numbers = text => new Set(text ? text.split(" ") : []);
  function light(n) {
    const chosen = row.get(n);
    const before = numbers(chosen && chosen.dataset.in);
    const after = numbers(chosen && chosen.dataset.out);
    for (const each of [...rows, ...shapes]) {
      const m = each.dataset.n;
      each.classList.toggle("chosen", m === n);
      each.classList.toggle("before", m !== n && before.has(m));
      each.classList.toggle("after", m !== n && after.has(m));
    }
    for (const edge of edges) {
      const into = edge.dataset.to === n, from = edge.dataset.from === n;
      edge.classList.toggle("lit", into || from);
      edge.classList.toggle("before", into);
      edge.classList.toggle("after", from && !into);
    }
    if (svg) svg.classList.toggle("dim", n !== null || search.value.trim() !== "");
  }
  function into(box, child) {  // scrolls one pane only, and only if it must
    const outer = box.getBoundingClientRect(), inner = child.getBoundingClientRect();
    if (inner.top < outer.top + 40 || inner.bottom > outer.bottom - 10)
      box.scrollTop += inner.top - outer.top - outer.height / 2;
    if (inner.left < outer.left || inner.right > outer.right)
      box.scrollLeft += inner.left - outer.left - outer.width / 2;
  }
  function pin(n, from) {
    pinned = n;
    light(n);
    if (n === null) return;
    if (from !== "table" && row.get(n)) into(view.querySelector(".rows"), row.get(n));
    const shape = shapes.find(each => each.dataset.n === n && each.classList.contains("node"));
    if (from !== "drawing" && shape) into(pane, shape);
  }
  for (const each of [...rows, ...shapes]) {
    const where = each.tagName === "TR" ? "table" : "drawing";
    each.addEventListener("mouseenter", () => { if (pinned === null) light(each.dataset.n); });
    each.addEventListener("mouseleave", () => { if (pinned === null) light(null); });
    each.addEventListener("click", event => {
      if (event.target.closest("a")) return;
      const reference = each.classList.contains("reference");
      event.stopPropagation();
      pin(pinned === each.dataset.n ? null : each.dataset.n, reference ? "" : where);
    });
  }
  view.addEventListener("click", event => {
    const link = event.target.closest("td a");
    const target = link && document.getElementById(link.getAttribute("href").slice(1));
    if (target && target.tagName === "TR") { event.preventDefault(); pin(target.dataset.n, ""); }
    else if (!link && event.target.closest(".panes")) pin(null, "");
  });
  document.addEventListener("keydown", event => { if (event.key === "Escape") pin(null, ""); });

  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    const hits = new Set();
    for (const each of rows) {
      const hit = each.textContent.toLowerCase().includes(wanted);
      each.hidden = !hit;
      if (hit) hits.add(each.dataset.n);
    }
    for (const each of shapes)
      each.classList.toggle("match", wanted !== "" && hits.has(each.dataset.n));
    view.querySelector(".none").hidden = hits.size > 0;
    light(pinned);
  });

  if (!svg) { view.querySelector(".zoom").hidden = true; continue; }
  const width = svg.width.baseVal.value, height = svg.height.baseVal.value;
  let scale = 1;
  function zoom(to) {
    scale = Math.min(3, Math.max(.15, to));
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  }
  const fitting = () => (pane.clientWidth - 2) / width;
  for (const button of view.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => {
      const how = button.dataset.zoom;
      zoom(how === "fit" ? Math.min(fitting(), (pane.clientHeight - 2) / height, 1.5)
        : how === "in" ? scale * 1.25 : scale / 1.25);
    });
  zoom(Math.max(.7, Math.min(1, fitting())));
  const first = shapes.find(each => each.dataset.n === "0") || shapes[0];
  into(pane, first);
}
"""
