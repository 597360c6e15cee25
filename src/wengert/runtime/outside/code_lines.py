"""Lines of the functions of a walk that do something: that change a place or decide by it, or that
draw numbers.
"""

from __future__ import annotations

import random
from dis import Positions, get_instructions

from wengert.core.words.source import Line
from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.watch import CELL, Place

_COMPARING = {"COMPARE_OP", "CONTAINS_OP", "IS_OP"}
# What makes a generator, with a seed or without one, and what has no position to be compared.
_MAKERS = {"default_rng", "Generator", "RandomState", "SeedSequence", "Random", "SystemRandom"}
_UNSEEDED = {"secrets", "token_bytes", "token_hex", "randbelow", "randbits", "getrandbits"}
# Of torch, by the names that its functions and the methods of its distributions have.
_TORCH = {"rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "poisson"}
_TORCH |= {"rand_like", "randn_like", "randint_like", "sample", "rsample", "dropout"}
_UNSEEDED |= {"urandom", "getrandom", "uuid1", "uuid4"}


def line_of_randomness(captures: Captures) -> Line | None:
    """A line of the functions that reads `random`, or else a generator."""
    known = {id(each) for each in captures.generators}
    labels = [place.label for place in captures.places if id(place.value) in known]
    names = {part for label in labels for part in label.split(".")[-1:]}
    for wanted in (names, {"random"}, _MAKERS, _UNSEEDED, _TORCH):
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


def line_of_decision(captures: Captures, place: Place) -> Line | None:
    """A line of the functions where a comparison or a branch reads a place."""
    name = place.label if place.kind == CELL else place.key
    for code in captures.codes:
        instructions = list(get_instructions(code))
        reads = [
            each for each in instructions if each.opname.startswith("LOAD_") and each.argval == name
        ]
        for each in instructions:
            if each.opname in _COMPARING or "JUMP_IF" in each.opname:
                read = next((x for x in reads if _lies_in(x.positions, each.positions)), None)
                if read and read.positions and read.positions.lineno:
                    return Line(code.co_filename, read.positions.lineno)
    return None


def _lies_in(part: Positions | None, whole: Positions | None) -> bool:
    """Whether an expression is part of another one."""
    if part is None or whole is None or None in part or None in whole:
        return False
    begin, end = (whole.lineno, whole.col_offset), (whole.end_lineno, whole.end_col_offset)
    return begin <= (part.lineno, part.col_offset) < end


def draws_anew(captures: Captures) -> bool:
    """Whether each recording may draw other numbers, although no generator that is known has moved:
    where some code names what makes one, or reads one that has no position.
    """
    if any(isinstance(each, random.SystemRandom) for each in captures.generators):
        return True
    return any(
        not (_MAKERS | _UNSEEDED).isdisjoint((*reads.globals, *reads.attributes))
        for reads in map(reads_of, captures.codes)
    )
