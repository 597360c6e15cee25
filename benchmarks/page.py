"""The latest figures in the docs: `python -m benchmarks page` writes docs/benchmarks.json and its
pictures from what was measured, and what stands in docs/benchmarks.md and README.md between two
marks.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from benchmarks.case import ALONE
from benchmarks.catalog import all_cases
from benchmarks.picture import picture
from benchmarks.record import Entry, merged, read, write
from benchmarks.setting import IDLE
from benchmarks.table import markdown_table, summary

ROOT = Path(__file__).resolve().parents[1]
MEASURED, DRAWN = ROOT / "build" / "benchmarks.json", ROOT / "build" / "benchmarks.svg"
ROOFLINE = ROOT / "build" / "roofline.svg"
DOCS, README = ROOT / "docs", ROOT / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
TITLES = {
    "steps": "Training steps",
    "ensembles": "Ensembles",
    "reinforcement": "Learners of reinforcement learning",
    "mlp": "Gradients of networks",
    "gemm": "Products of matrices",
    "elementwise": "Elementwise functions",
    "reductions": "Reductions",
    "rows": "Functions of rows, with gradients",
    "scans": "Loops, with gradients",
    "images": "Convolutional networks",
    "sequences": "Layers for sequences",
    "optimizers": "Optimizers",
    "tape": "The eager tape",
    "compiling": "Starting",
    "calls": "What a call takes",
    "matrices": "Matrices taken apart",
}
FRONT = (  # the cases that README shows
    "step tiny, Adam",
    "run tiny, Adam",
    "step small, Adam",
    "step mnist, Adam",
    "step large, Adam",
    "step mnist, Lars",
    "gemm 64",
    "gemm 1024",
    "elementwise tanh",
    "sum of 4096 × 1024, all",
    "softmax 4096 × 1024",
    "scan diagonal",
    "optimizer Adam",
    "tape tiny",
    "bound call, from NumPy to NumPy",
    "cold three-layer step",
    "eigh 256 × 256",
)
KERNELS = """\
## Kernels under the roofs

Each kernel of the training steps, as `profile` measures it on one thread: operations per byte to
the right, operations per second upwards; the larger a dot, the more of the step's time it takes.
The lines are what this machine's memory and arithmetic can do.

![Kernels of training steps under the roofs](roofline.svg)"""


def notes(entries: Sequence[Entry]) -> list[str]:
    """When and where, and what was measured roughly."""
    sentences = []
    for machine in dict.fromkeys(each.machine for each in entries):
        here = [each for each in entries if each.machine == machine]
        days = sorted({each.when[:10] for each in here})
        versions = ", ".join(
            f"{name} {version}" for name, version in sorted(here[-1].versions.items())
        )
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        sentences.append(f"Measured on {machine}, {when}; {versions}.")
    quick = sum(each.quick for each in entries)
    if quick:
        sentences.append(f"Roughly: {quick} of {len(entries)} figures are of a quick run.")
    busy = [each.load for each in entries if each.load is not None and each.load > IDLE]
    if busy:
        sentences.append(
            f"Other programs used the machine while {len(busy)} of {len(entries)} figures were "
            f"measured (load average up to {max(busy):.0f}); those say little."
        )
    unknown = sum(each.load is None for each in entries)
    if unknown:
        sentences.append(
            f"Whether others used the machine was not recorded for {unknown} of {len(entries)} "
            f"figures; measure them again before you rely on them."
        )
    return sentences


def figures(entries: Sequence[Entry], with_roofline: bool) -> str:
    """The part of docs/benchmarks.md between the marks."""
    parts = [*notes(entries), summary(entries)]
    parts.append("![The best peer's time divided by Wengert's](benchmarks.svg)")
    for group, in_group in groupby(entries, key=lambda each: each.group):
        parts += [f"## {TITLES.get(group, group)}", markdown_table(list(in_group))]
    parts += ["## What each case does", meanings(entries)]
    return "\n\n".join([*parts, *([KERNELS] if with_roofline else [])])


def meanings(entries: Sequence[Entry]) -> str:
    alone = [each for each in entries if each.beside == ALONE]
    lines = [f"- {each.name}: {each.measures}{_missing(each)}" for each in alone]
    return "\n".join(lines)


def _missing(entry: Entry) -> str:
    told = [f"{label} was not measured: {why}" for label, why in entry.missing.items()]
    return f" ({'; '.join(told)})" if told else ""


def front(entries: Sequence[Entry]) -> str:
    """README's part: some cases, and how many of all were won."""
    by_key = {each.key: each for each in entries}
    shown = [by_key[name] for name in FRONT if name in by_key]
    table = markdown_table([replace(each, verdicts=[]) for each in shown])
    lines = [line.rsplit("|", 2)[0].rstrip() + " |" for line in table.splitlines()]
    told = "\n".join(notes(entries)) + f"\n{summary(entries)} All of them: "
    return f"{told}[benchmarks](docs/benchmarks.md).\n\n" + "\n".join(lines)


def with_part(text: str, part: str) -> str:
    """A page with its part between the marks replaced."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"the page needs the marks {BEGIN} and {END}"
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def main() -> None:
    """From the latest run, or from the JSON in docs where there was none here."""
    kept = DOCS / "benchmarks.json"
    entries = merged(read(MEASURED if MEASURED.exists() else kept), [], all_cases())
    write(kept, entries)
    entries = list(read(kept).values())  # rounded, as anyone reads them who writes the page again
    (DOCS / "benchmarks.svg").write_text(picture(entries), encoding="utf-8")
    if ROOFLINE.exists():
        shutil.copyfile(ROOFLINE, DOCS / "roofline.svg")
    parts = {
        DOCS / "benchmarks.md": figures(entries, (DOCS / "roofline.svg").exists()),
        README: front(entries),
    }
    for path, part in parts.items():
        path.write_text(with_part(path.read_text(encoding="utf-8"), part), encoding="utf-8")
    print(f"{len(entries)} entries: docs/benchmarks.md, its JSON and pictures, and README.md.")
