"""The frame of a program as text, word by word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from wengert.codegen.kernel import (
    Arena,
    ConstantArray,
    Inner,
    Input,
    Layout,
    Lowered,
    Output,
    Printer,
    Program,
    Slot,
    Workspace,
)
from wengert.codegen.kernel_text.names import named_programs, wrapped


def frame_lines(lowered: Lowered) -> Iterator[str]:
    """What each word of the frame holds, those of a kind in a row; then what else is known."""
    layout = lowered.layout
    yield f"frame({', '.join(layout.dims)}) {{"
    words = enumerate(layout.slots, layout.first)
    for _, group in groupby(words, key=lambda each: type(each[1])):
        row = list(group)
        texts = (_slot_text(lowered, word, slot) for word, slot in row)
        yield from wrapped(f"{row[0][0]}: {', '.join(texts)}", "  ")
    for clause in _layout_clauses(lowered):
        yield from wrapped(clause, "  ")
    for each in layout.shown:
        name = json.dumps(each.name, ensure_ascii=False)
        yield f"  shows {name} {each.dtype.name} rank {each.rank} loops {each.loops}"
    yield "}"


def _slot_text(lowered: Lowered, word: int, slot: Slot) -> str:
    layout = lowered.layout
    kept = " kept" if word in layout.kept else ""
    guest = layout.hosted.get(word)
    hosted = "" if guest is None else f" in {guest.host} at {guest.offset}"
    match slot:
        case Input(position):
            text = f"input {position}"
        case Output(position):
            text = f"output {position}"
        case ConstantArray():
            text = f"constant {_constant_name(lowered.program, word)}"
        case Arena():
            text = "arena"
        case Workspace():
            text = "workspace"
        case Inner():
            text = "inner"
        case Printer():
            text = "printer"
    return f"{text}{kept}{hosted}"


def _constant_name(program: Program, word: int) -> str:
    """The node that a constant is the value of."""
    return next(
        _node_name(prefix, root[0])
        for prefix, each in named_programs(program)
        for root, slot in each.slots.items()
        if slot == word
    )


def _node_name(prefix: str, number: int) -> str:
    """A node of the program, or of a body: its name begins with that of its kernels."""
    return f"%{number}" if prefix == "k" else f"{prefix}.%{number}"


def _layout_clauses(lowered: Lowered) -> Iterator[str]:
    layout: Layout = lowered.layout
    if layout.outputs:
        yield f"outputs {', '.join(map(str, layout.outputs))}"
    if layout.commits:
        yield f"commits {', '.join(f'{output} to {slot}' for output, slot in layout.commits)}"
    if layout.failing:
        names = {
            id(node): _node_name(prefix, number)
            for prefix, each in named_programs(lowered.program)
            for number, node in enumerate(each.graph.nodes)
        }
        yield f"failing {', '.join(names[id(node)] for node in layout.failing)}"
