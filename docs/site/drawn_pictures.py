"""Pictures of docs/architecture.md that the compiler drew itself, from its example and from a
training step: graphs as `to_html` draws them, and the arena as `explain` does.

    python docs/site/drawn_pictures.py    # writes docs/pictures again; a test compares them
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import wengert as wg
from wengert.codegen.explain import explained_page
from wengert.core.text import html_view, page
from wengert.core.text.html import drawing
from wengert.passes.pipeline import run

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
TOOLTIP = re.compile(r"<title>.*?</title>", re.DOTALL)  # has line numbers, and no image shows it
ARENA = re.compile(r'<div class="arena">(<svg.*?</svg>)</div>', re.DOTALL)
OWN_STYLE = """
svg text { font-size: 10.5px; }
svg > text { fill: var(--soft); }
svg > rect.pane { fill: var(--pane); stroke: var(--rule); }
"""


def pictures() -> dict[str, str]:
    """The pictures, by the names of their files."""
    w, x = np.array([0.5, -1.0]), np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    graph = wg.trace(_loss, w, x)
    with_gradient = wg.grad_with_loss(graph, wrt=[0])
    return {
        "loss.svg": _file(drawing(graph)),
        "gradient.svg": _file(drawing(with_gradient)),
        "passes.svg": _file(drawing(run(with_gradient))),
        "arena.svg": _file(_arena()),
    }


def _loss(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    y = np.tanh(x @ w)
    return np.sum(y * y)


def _arena() -> str:
    """The arena of a training step of a network of four layers."""
    network = wg.nn.Mlp((64, 128, 128, 64, 10), activation="relu", seed=0)
    step = wg.TrainStep(
        lambda model, x, y: wg.cross_entropy(model(x), y), network, wg.optim.Adam(1e-3)
    )
    told = step.explain(np.ones((32, 64), np.float32), np.zeros(32, np.int64), html=True)
    match = ARENA.search(told)
    assert match is not None
    return match[1]


def _file(svg: str) -> str:
    """A drawing of a page as a file of its own: with the page's colours, light and dark."""
    head, rest = svg.split(">", 1)
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    style = page.STYLE + html_view.STYLE + explained_page.STYLE + OWN_STYLE
    pane = '<rect class="pane" x="0.5" y="0.5" width="99.8%" height="99.8%" rx="8"/>'
    return f"{head}>\n<style>{style}</style>\n{pane}{TOOLTIP.sub('', rest)}\n"


def main() -> None:
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
