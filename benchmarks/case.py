"""What a benchmark is: a case, with contestants that do its work, and the goals we set ourselves.

Everything here is a value, and importing a module of cases imports no library: a contestant is made
in the process of its system, when the case is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

Run = Callable[[], Any]

OURS = "wengert"  # the label of the contestant that the others are compared with
SYSTEMS = ("wengert", "numpy", "jax", "torch")
BEST = "the best peer"
ALONE = "alone"  # not disturbed

Seconds = Mapping[str, float]  # by label


@dataclass(frozen=True)
class Contestant:
    """One way to do the work of a case."""

    system: str  # whose process it runs in
    make: Callable[[], Run]  # imports the library, makes the data, compiles
    peer: bool = True  # False: ours
    agrees: bool = True  # computes the same numbers
    threads: int | None = None  # None: as many as the case has


def one_thread(contestant: Contestant) -> Contestant:
    """The same with one thread, which is a library's best setting where there is little to do, or
    where others take the cores.
    """
    return replace(contestant, threads=1)


def ours(make: Callable[[], Run]) -> Contestant:
    return Contestant("wengert", make, peer=False)


def yardstick(make: Callable[[], Run]) -> Contestant:
    """Other work of ours to measure this by, such as a copy of as many bytes."""
    return Contestant("wengert", make, peer=False, agrees=False)


def numpy(make: Callable[[], Run]) -> Contestant:
    return Contestant("numpy", make)


def jax(make: Callable[[], Run]) -> Contestant:
    return Contestant("jax", make)


def torch(make: Callable[[], Run]) -> Contestant:
    return Contestant("torch", make)


@dataclass(frozen=True)
class Times:
    """We are at least so many times as fast as somebody: the best peer, all contestants of one
    library ("JAX"), or one contestant.

    >>> goal = Times(2, "JAX")
    >>> seconds = {"wengert": 1.0, "JAX jit": 3.0, "NumPy": 2.0}
    >>> goal.text, goal.measured(seconds, ["JAX jit", "NumPy"])
    ('≥ 2 × JAX', 3.0)
    """

    limit: float
    whose: str = BEST

    @property
    def text(self) -> str:
        return f"≥ {self.limit:g} × {self.whose}"

    def measured(self, seconds: Seconds, peers: Iterable[str]) -> float | None:
        """The ratio; None where the others were not measured."""
        labels = peers if self.whose == BEST else _named(self.whose, seconds)
        theirs = [seconds[label] for label in labels if label in seconds]
        return min(theirs) / seconds[OURS] if theirs else None

    def reached(self, measured: float) -> bool:
        return measured >= self.limit


@dataclass(frozen=True)
class Within:
    """We take at most so many seconds.

    >>> Within(0.2).text, Within(0.2).reached(0.15)
    ('≤ 200 ms', True)
    """

    limit: float

    @property
    def text(self) -> str:
        return f"≤ {duration(self.limit)}"

    def measured(self, seconds: Seconds, peers: Iterable[str]) -> float | None:
        return seconds[OURS]

    def reached(self, measured: float) -> bool:
        return measured <= self.limit


Goal = Times | Within


def _named(whose: str, seconds: Seconds) -> list[str]:
    """The contestant of this label, or all whose label begins with this library."""
    if whose in seconds:
        return [whose]
    return [label for label in seconds if label.partition(" ")[0] == whose]


@dataclass(frozen=True)
class Case:
    """Work that several contestants do, the same numbers expected of all."""

    name: str  # unique among all cases
    measures: str  # what one call does, for people
    contestants: Mapping[str, Contestant]  # by label; one of them is OURS
    goals: tuple[Goal, ...] = ()
    threads: int = 2
    tolerance: float | None = 1e-3  # of the largest number; None: contestants do different work
    reports: bool = False  # a call returns the seconds that count, instead of being timed
    disturbed: bool = False  # also measured beside other work
    weight: float = 1.0  # how many times the usual time it is measured for

    def __post_init__(self) -> None:
        assert OURS in self.contestants, f"{self.name}: no contestant {OURS!r}"
        assert all(each.system in SYSTEMS for each in self.contestants.values()), self.name
        object.__setattr__(self, "contestants", MappingProxyType(dict(self.contestants)))

    @property
    def peers(self) -> list[str]:
        return [label for label, each in self.contestants.items() if each.peer]


def duration(seconds: float) -> str:
    """With three digits and the unit that suits.

    >>> duration(0.00001234), duration(0.25), duration(2.0)
    ('12.3 µs', '250 ms', '2 s')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale * 0.9995:
            return f"{float(f'{seconds / scale:.3g}'):g} {unit}"
    return f"{float(f'{seconds * 1e9:.3g}'):g} ns"
