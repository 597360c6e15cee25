"""Read back a program with its frame."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.codegen.checking import BrokenPromise, verify_promises
from wengert.codegen.kernel import (
    Arena,
    ConstantArray,
    Guest,
    Inner,
    Input,
    Layout,
    Lowered,
    Output,
    Printer,
    Program,
    Shown,
    Slot,
    Workspace,
)
from wengert.codegen.kernel_text.kernel_read import COUNT, KernelReader
from wengert.codegen.kernel_text.names import named_programs
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.text.literal import DTYPES
from wengert.core.text.read import NUMBERED
from wengert.core.text.tokens import WORD
from wengert.errors import CheckError

INSIDE = re.compile(r"(k\d{1,9}_[abc](?:\d{1,9}_[abc])*)\.")
PLAIN: dict[str, Slot] = {
    "arena": Arena(),
    "workspace": Workspace(),
    "inner": Inner(),
    "printer": Printer(),
}


def read(text: str) -> Program | Lowered:
    """The program of a text, with its frame if the text has one; CheckError names the line where
    the text is malformed, or the promise that the program breaks.

    >>> program = read('''
    ... program(%0: float32[3] "x") {
    ...   k0 map [3] reads %0 stores %1 { %1: float32[3] = tanh(%0) }   # model.py:12
    ...   return %1
    ... }''')
    >>> program.kernels[0].kind, program.kernels[0].stores, str(program.node(1).line)
    ('map', ((1, 0),), 'model.py:12')
    """
    reader = _LoweredReader(text)
    made = reader.all_of_it()
    try:
        verify_promises(made)
    except BrokenPromise as broken:
        raise CheckError(f"read: {broken}; a program keeps what stages promise.") from None
    return made


@dataclass(slots=True)
class _FrameDraft:
    """A frame while it is read."""

    dims: tuple[str, ...]
    slots: list[Slot] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    hosted: dict[int, Guest] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)
    clauses: dict[str, Any] = field(default_factory=dict)

    @property
    def next(self) -> int:
        """The number of the next word."""
        return Layout(self.dims).first + len(self.slots)

    def finished(self) -> Layout:
        first = Layout(self.dims).first
        printers = [first + i for i, slot in enumerate(self.slots) if isinstance(slot, Printer)]
        return Layout(
            self.dims,
            slots=tuple(self.slots),
            failing=self.clauses.get("failing", ()),
            outputs=self.clauses.get("outputs", ()),
            kept=frozenset(self.kept),
            hosted=self.hosted,
            commits=self.clauses.get("commits", ()),
            shown=tuple(self.shown),
            printer=printers[0] if printers else None,
        )


class _LoweredReader(KernelReader):
    """Reads all of a text: a program, its frame if there is one, and the bytes of arrays."""

    def all_of_it(self) -> Program | Lowered:
        end = self.read_data()
        program = self.program("k")
        made: Program | Lowered = program
        if self.keyword("frame"):
            made = Lowered(program, self.frame(program))
        if self.here() != end:
            self.fail("the text must end after the program and its frame, or go on with 'data {'")
        return made

    def frame(self, program: Program) -> Layout:
        self.need("(")
        dims = tuple(self.items(lambda: self.need_match(WORD, "the name of a size")[0], ")"))
        self.need("{")
        known = dict(named_programs(program))
        draft = _FrameDraft(dims)
        while not self.take("}"):
            self.frame_part(draft, known)
        layout = draft.finished()
        self.require_words(program, layout)
        return layout

    def frame_part(self, layout: _FrameDraft, known: Mapping[str, Program]) -> None:
        at = self.here()
        if COUNT.match(self.text, at):
            word = self.count()
            if word != layout.next:
                self.fail(f"the next word is {layout.next}", at)
            self.need(":")
            self.listed(lambda: self.slot(layout, known))
            return
        name = self.need_match(WORD, "a word such as '10: input 0', or '}'")[0]
        if name == "shows":
            layout.shown.append(self.shown())
            return
        if name in layout.clauses:
            self.fail("this is given twice", at)
        if name == "outputs":
            layout.clauses[name] = self.listed(self.count)
        elif name == "commits":
            layout.clauses[name] = self.listed(lambda: self.pair(self.count, "to", self.count))
        elif name == "failing":
            layout.clauses[name] = self.listed(lambda: self.known_node(known))
        else:
            self.fail("expected a word such as '10: input 0', or '}'", at)

    def slot(self, layout: _FrameDraft, known: Mapping[str, Program]) -> None:
        """One word; its number is known from those before."""
        at = self.here()
        kind = self.need_match(WORD, "what the word holds")[0]
        slot: Slot
        if kind in PLAIN:
            slot = PLAIN[kind]
        elif kind == "input":
            slot = Input(self.count())
        elif kind == "output":
            slot = Output(self.count())
        elif kind == "constant":
            node = self.known_node(known)
            if node.op is not op.constant:
                self.fail("this node is no constant", at)
            slot = ConstantArray(np.ascontiguousarray(node.params["value"]))
        else:
            self.fail("a word holds input, output, constant, arena, workspace, inner, printer", at)
        word = layout.next
        layout.slots.append(slot)
        if self.keyword("kept"):
            layout.kept.add(word)
        if self.keyword("in"):
            host = self.count()
            if not self.keyword("at"):
                self.fail("expected 'at' and how many bytes into that output")
            layout.hosted[word] = Guest(host, self.count())

    def known_node(self, known: Mapping[str, Program]) -> Node:
        at = self.here()
        inside = self.match(INSIDE)
        program = known.get(inside[1] if inside else "k")
        number = int(self.need_match(NUMBERED, "a node such as %3 or k0_a.%3")[1])
        if program is None or number >= len(program.graph.nodes):
            self.fail("there is no such node", at)
        return program.node(number)

    def shown(self) -> Shown:
        name = self.string()
        at = self.here()
        dtype = DTYPES.get(self.need_match(WORD, "a dtype")[0])
        if dtype is None:
            self.fail(f"expected a dtype: one of {', '.join(DTYPES)}", at)
        self.need("rank")
        rank = self.count()
        self.need("loops")
        return Shown(name, dtype, rank, self.count())

    def require_words(self, program: Program, layout: Layout) -> None:
        """Raise where something names a word that the frame does not have."""
        words = range(layout.first, layout.first + len(layout.slots))
        named: list[int] = [*layout.outputs, *(slot for _, slot in layout.commits)]
        named += [guest.host for guest in layout.hosted.values()]
        for _, each in named_programs(program):
            named += [*each.slots.values(), *each.steps]
            for kernel in each.kernels:
                named += [slot for slot, _ in kernel.scratch]
                named += [word for word in (kernel.step, kernel.partial) if word is not None]
        for word in named:
            if word not in words:
                self.fail(f"the frame has no word {word}, which the program names")
