"""What was measured, as JSON: one entry for each case and disturbance, with when and where. A run
adds to what is there, so that a machine can be measured in pieces.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.case import ALONE, OURS, Case, Times
from benchmarks.harness import Measured

LEFT = "what is left"  # the time alone, divided by the share of CPU time that a disturbance leaves
BESIDE = (Times(1.0), Times(0.9, LEFT))  # the goals of every case under a disturbance


@dataclass(frozen=True)
class Verdict:
    """A goal, what was measured (a ratio, or seconds), and whether that reaches it."""

    goal: str
    measured: float | None
    reached: bool | None


@dataclass(frozen=True)
class Entry:
    """One case as it was measured: everything that a table or a picture needs."""

    name: str
    group: str
    measures: str
    beside: str
    threads: int
    seconds: dict[str, float]  # by label
    peers: list[str]
    verdicts: list[Verdict]
    missing: dict[str, str] = field(default_factory=dict)
    left: float = 1.0
    undisturbed: float | None = None  # our time in the same run, without the disturbance
    quick: bool = False
    when: str = ""
    load: float | None = None  # the load average when the run began; None: not recorded
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.name if self.beside == ALONE else f"{self.name}, {self.beside}"

    @property
    def best_peer(self) -> str | None:
        measured = [label for label in self.peers if label in self.seconds]
        return min(measured, key=self.seconds.__getitem__, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the best peer we are."""
        best = self.best_peer
        return None if best is None else self.seconds[best] / self.seconds[OURS]

    def ratio_to(self, library: str) -> float | None:
        """To the best contestant of a library, whose labels begin with its name."""
        seconds = [
            self.seconds[label]
            for label in self.peers
            if label in self.seconds and label.partition(" ")[0] == library
        ]
        return min(seconds) / self.seconds[OURS] if seconds else None

    @property
    def reached(self) -> bool:
        return all(verdict.reached is not False for verdict in self.verdicts)


def entry(
    group: str,
    case: Case,
    measured: Measured,
    beside: str = ALONE,
) -> Entry:
    """What was measured."""
    unjudged = Entry(
        case.name,
        group,
        case.measures,
        beside,
        case.threads,
        dict(measured.seconds),
        case.peers,
        [],
        dict(measured.missing),
        measured.left,
        measured.undisturbed,
    )
    return judged(unjudged, group, case)


def judged(unjudged: Entry, group: str, case: Case) -> Entry:
    """An entry with the verdicts of the case's goals as they are now."""
    seconds = dict(unjudged.seconds)
    if unjudged.undisturbed is not None:
        seconds[LEFT] = unjudged.undisturbed / unjudged.left
    verdicts = []
    for goal in case.goals if unjudged.beside == ALONE else BESIDE:
        ratio = goal.measured(seconds, case.peers)
        verdicts.append(Verdict(goal.text, ratio, None if ratio is None else goal.reached(ratio)))
    return replace(unjudged, group=group, measures=case.measures, verdicts=verdicts)


def read(path: Path) -> dict[str, Entry]:
    """By key; nothing where there is no file."""
    if not path.exists():
        return {}
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return {each.key: each for each in map(_entry, cases)}


def _entry(kept: dict[str, Any]) -> Entry:
    return Entry(**{**kept, "verdicts": [Verdict(**each) for each in kept["verdicts"]]})


def merged(
    old: Mapping[str, Entry], new: Iterable[Entry], cases: Mapping[str, tuple[str, Case]]
) -> list[Entry]:
    """Old entries and new ones, which take their place, in the order of the cases and judged by
    their goals. Entries of cases that there are no longer are left out.
    """
    by_key = {**old, **{each.key: each for each in new}}
    places = {name: i for i, name in enumerate(cases)}
    kept = [judged(each, *cases[each.name]) for each in by_key.values() if each.name in cases]
    return sorted(kept, key=lambda each: (places[each.name], each.beside != ALONE, each.beside))


def write(path: Path, entries: Sequence[Entry]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = [_rounded(asdict(each)) for each in entries]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    path.write_text('{"cases": [\n' + lines + "\n]}\n", encoding="utf-8")


def _rounded(x: Any) -> Any:
    """Four digits of every number: more are not repeatable."""
    if isinstance(x, float):
        return float(f"{x:.4g}") if math.isfinite(x) else None
    if isinstance(x, dict):
        return {key: _rounded(value) for key, value in x.items()}
    return [_rounded(each) for each in x] if isinstance(x, list) else x


def stamped(
    each: Entry, when: str, load: float, machine: str, versions: dict[str, str], quick: bool
) -> Entry:
    return replace(each, when=when, load=load, machine=machine, versions=versions, quick=quick)
