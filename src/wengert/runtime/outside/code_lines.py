"""Lines of the functions of a walk that do something: that change a place, or draw numbers."""

from __future__ import annotations

from dis import get_instructions

from wengert.core.words.source import Line
from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.watch import CELL, Place

_MAKERS = {"default_rng", "Generator", "RandomState", "SeedSequence"}  # in numpy.random


def line_of_randomness(captures: Captures) -> Line | None:
    """A line of the functions that reads `random`, or else a generator."""
    known = {id(each) for each in captures.generators}
    names = {place.label for place in captures.places if id(place.value) in known}
    for wanted in ({"random"}, names, _MAKERS):
        for code in captures.codes:
            for each in get_instructions(code):
                if each.argval in wanted and each.positions and each.positions.lineno:
                    return Line(code.co_filename, each.positions.lineno)
    return None


def line_of_change(captures: Captures, place: Place) -> Line | None:
    """A line of the functions that writes to a place."""
    name = place.label if place.kind == CELL else place.key
    for code in captures.codes:
        named: int | None = None  # the line that the key of an item was last read in
        for each in get_instructions(code):
            line = each.positions.lineno if each.positions else None
            if each.opname == "LOAD_CONST" and each.argval == name:
                named = line
            stores = each.opname.startswith("STORE_") and each.argval == name
            if line and (stores or (each.opname == "STORE_SUBSCR" and named == line)):
                return Line(code.co_filename, line)
    return None


def makes_generators(captures: Captures) -> bool:
    """Whether some code names what makes a generator of NumPy, with a seed or without one."""
    return any(
        not _MAKERS.isdisjoint((*reads.globals, *reads.attributes))
        for reads in map(reads_of, captures.codes)
    )
