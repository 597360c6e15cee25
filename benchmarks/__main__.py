"""`python -m benchmarks [NAME …]`: measure groups of cases, or cases by the beginning of their
names, all by default; or one of the commands `page`, `roofline`, `memory`, `bits`, `fixed_order`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from benchmarks import page, record
from benchmarks.case import Case
from benchmarks.catalog import GROUPS, all_cases, chosen
from benchmarks.disturbance import BUSY, PRODUCTS
from benchmarks.harness import FULL, QUICK, Contest, Effort, Systems
from benchmarks.picture import picture
from benchmarks.record import Entry
from benchmarks.setting import IDLE, load, machine, variables, versions
from benchmarks.table import cells, summary, text_table

DISTURBANCES = {"products": (PRODUCTS,), "busy": (BUSY,), "all": (PRODUCTS, BUSY), "none": ()}
COMMANDS = {
    "page": "write docs/benchmarks.md and README's part of it from what was measured",
    "roofline": "draw the kernels of the training steps under the roofs: build/roofline.svg",
    "memory": "what calls allocate, and arenas beside JAX's temporaries",
    "bits": "the same bits for any number of threads, with and without a cache",
    "fixed_order": "what the fixed order of sums costs beside a free one",
}


def measure(
    case: Case, group: str, systems: Systems, effort: Effort, disturbances: Sequence[str] = ()
) -> Iterator[Entry]:
    """One entry for the case alone, and one for each disturbance."""
    with Contest(case, systems) as contest:
        contest.require_agreement()
        alone = contest.measure(effort)
        yield record.entry(group, case, alone)
        for beside in disturbances:
            disturbed = contest.measure_beside(effort, beside, alone.seconds)
            yield record.entry(group, case, disturbed, beside)


def run(cases: Sequence[Case], asked: argparse.Namespace) -> list[Entry]:
    """Measure, tell each result as it comes, and keep all in the JSON file after each case."""
    effort = QUICK if asked.quick else FULL
    stamp = partial(
        record.stamped,
        when=datetime.now(UTC).isoformat(timespec="minutes"),
        load=load(),
        machine=machine(),
        versions=versions(),
        quick=asked.quick,
    )
    entries: list[Entry] = []
    with Systems(asked.together) as systems:
        for number, case in enumerate(cases, 1):
            group, _ = all_cases()[case.name]
            wanted = case.disturbed or (asked.everywhere and not case.reports)
            disturbances = DISTURBANCES[asked.beside] if wanted else ()
            for each in measure(case, group, systems, effort, disturbances):
                entries.append(stamp(each))
                print(f"{number}/{len(cases)}  " + "  ".join(cells(each)), flush=True)
            if not asked.together:
                keep(entries)
    return entries


def keep(new: Sequence[Entry]) -> list[Entry]:
    """Add to what was measured before."""
    entries = record.merged(record.read(page.MEASURED), new, all_cases())
    record.write(page.MEASURED, entries)
    page.DRAWN.write_text(picture(entries), encoding="utf-8")
    return entries


def draw_roofline() -> None:
    os.environ.update(variables(1))
    from benchmarks.roofline import profiles, roofline

    by_title = profiles()
    for title, profile in by_title.items():
        print(f"{title}\n{profile}\n")
    page.ROOFLINE.parent.mkdir(exist_ok=True)
    page.ROOFLINE.write_text(roofline(by_title), encoding="utf-8")
    print("build/roofline.svg")


def arguments() -> argparse.ArgumentParser:
    told = "\n".join(f"  {name:10} {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="benchmarks",
        description="Measure Wengert beside NumPy, JAX and PyTorch.",
        epilog=f"groups: {', '.join(GROUPS)}\n\ncommands instead of names:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", nargs="*", help="a group, or how the names of cases begin; all by default")
    add("--quick", action="store_true", help="roughly, in a fraction of the time")
    add("--beside", choices=DISTURBANCES, default="all", help="disturbances (default: all)")
    add("--everywhere", action="store_true", help="disturb all cases, not only those so marked")
    add("--together", action="store_true", help="all libraries in one process; keeps nothing")
    add("--list", action="store_true", help="print the cases, and measure nothing")
    return parser


def main(words: Sequence[str] | None = None) -> None:
    asked = arguments().parse_args(words)
    if asked.name and asked.name[0] in COMMANDS:
        if len(asked.name) > 1:
            sys.exit(f"benchmarks: {asked.name[0]} stands alone; {asked.name[1:]} was given, too.")
        command(asked.name[0])
        return
    try:
        cases = chosen(asked.name)
    except ValueError as error:
        sys.exit(f"benchmarks: {error}")
    if asked.list:
        for case in cases:
            print(f"{case.name:44} {case.measures}")
        return
    if asked.together:
        os.environ.update(variables(2))
    print(f"{machine()}; " + ", ".join(f"{k} {v}" for k, v in versions().items()), flush=True)
    if load() > IDLE:
        print(f"Others use this machine (load average {load():.1f}): figures will be rough.")
    try:
        entries = run(cases, asked)
    except KeyboardInterrupt:
        sys.exit("benchmarks: stopped; build/benchmarks.json has what was measured until now.")
    print(f"\n{text_table(entries)}\n\n{summary(entries)}")
    if not asked.together:
        print("build/benchmarks.json and build/benchmarks.svg have all that was measured here.")


def command(name: str) -> None:
    if name == "page":
        page.main()
    elif name == "roofline":
        draw_roofline()
    else:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
