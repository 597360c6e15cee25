"""Read back the text that `kernel_show` wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast, get_args

from wengert.codegen.kernel import COPY, Kernel, KernelKind, Program
from wengert.codegen.kernel_text.names import body_prefixes
from wengert.codegen.views import Root, StridedView, own_view
from wengert.core.check import Fault, verify
from wengert.core.graph import Graph
from wengert.core.text.read import PLACE, GraphBlock, GraphReader
from wengert.core.text.tokens import WORD
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.errors import CheckError

T = TypeVar("T")
COUNT = re.compile(r"-?\d{1,9}(?![\w.])")
ORDER = re.compile(r"[a-z][a-z-]*")
ARRAY = re.compile(r"%(\d{1,9})(?:\.(\d{1,9}))?(?!\w)")
COPIED = re.compile(r"copy\(%(\d{1,9})\)")
BODIES = {"scan": 1, "cond": 2, "while": 2}  # how many programs a kernel of this kind holds


class _Reference(NamedTuple):
    """An array that is named in the text, and where."""

    root: Root
    at: int


@dataclass(slots=True)
class _NodeFacts:
    """What follows the call of a node in the text of a program."""

    region: int | None = None
    inline: bool = False
    view: StridedView | None = None
    folds: StridedView | None = None
    whole: StridedView | None = None
    pieces: tuple[tuple[Root, Any], ...] = ()


@dataclass(slots=True)
class _Draft:
    """A program while it is read."""

    prefix: str
    block: GraphBlock
    facts: dict[int, _NodeFacts] = field(default_factory=dict)
    regions: dict[int, int] = field(default_factory=dict)  # of the kernel that a node stands in
    kernels: dict[int, Kernel] = field(default_factory=dict)  # in the order of the text
    owner: dict[Root, int] = field(default_factory=dict)
    waits: dict[int, tuple[int, ...]] = field(default_factory=dict)
    references: list[_Reference] = field(default_factory=list)
    clauses: dict[str, Any] = field(default_factory=dict)


class KernelReader(GraphReader):
    """Reads programs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.draft: _Draft | None = None  # the program that nodes belong to; None inside a graph

    # Small things.

    def count(self, what: str = "a whole number") -> int:
        return int(self.need_match(COUNT, what)[0])

    def array(self) -> Root:
        """A reference to an array; whether it exists is checked when all nodes are known."""
        at = self.here()
        copied = self.match(COPIED)
        if copied:
            root = (int(copied[1]), COPY)
        else:
            match = self.need_match(ARRAY, "an array such as %3, %3.1 or copy(%3)")
            root = (int(match[1]), int(match[2] or 0))
        assert self.draft is not None
        self.draft.references.append(_Reference(root, at))
        return root

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One item or more, with commas between them."""
        items = [item()]
        while self.behind(lambda: self.take(",")):
            items.append(item())
        return tuple(items)

    def behind(self, take: Callable[[], bool]) -> bool:
        """Whether something follows. If not, the place does not move: a comment with the line of a
        node stands right after it.
        """
        before = self.at
        if take():
            return True
        self.at = before
        return False

    def says(self, word: str) -> bool:
        """Whether this word follows."""
        return self.behind(lambda: self.keyword(word))

    def pair(self, left: Callable[[], Any], between: str, right: Callable[[], Any]) -> Any:
        first = left()
        self.need(between)
        return first, right()

    def view(self) -> StridedView:
        root = self.array()
        offset = self.size() if self.says("at") else 0
        if not self.keyword("strides"):
            self.fail("expected 'strides' and how far apart elements lie, such as (4, 1)")
        self.need("(")
        return StridedView(root, offset, tuple(self.items(self.size, ")")))

    # A program.

    def program(self, prefix: str) -> Program:
        self.enter()
        outside = self.draft
        draft = self.draft = _Draft(prefix, GraphBlock(Graph(), {None: self.here()}))
        if not self.keyword("program"):
            self.fail("a program begins with 'program('")
        self.need("(")
        graph = draft.block.graph
        graph.inputs[:] = self.items(lambda: self.head(draft.block), ")")
        ordered = self.keyword("in")
        if ordered and not self.keyword("order"):
            self.fail("expected 'in order {'")
        self.need("{")
        while not self.keyword("return"):
            self.part(draft)
        graph.returns[:] = self.items(self.output, "}")
        self.number_all(draft.block)
        self.places[id(graph)] = draft.block.places
        self.require_graph(draft)
        program = self.finished(draft, ordered)
        self.draft = outside
        self.depth -= 1
        return program

    def part(self, draft: _Draft) -> None:
        """A node, a kernel, or a clause of the program."""
        at = self.here()
        if self.text.startswith("%", at):
            self.node(draft.block)
            return
        if self.match_kernel(draft):
            return
        word = self.need_match(WORD, "a node, a kernel such as 'k0 map', or 'return'")[0]
        if word in draft.clauses:
            self.fail("this is given twice", at)
        if word == "inside":
            draft.clauses[word] = self.listed(lambda: self.pair(self.array, "in", self.array))
        elif word == "words":
            draft.clauses[word] = self.listed(lambda: self.pair(self.array, ":", self.count))
        elif word in ("overwrites", "steps"):
            draft.clauses[word] = self.listed(self.count)
        else:
            self.fail("expected a node, a kernel such as 'k0 map', or 'return'", at)

    def require_graph(self, draft: _Draft) -> None:
        """Raise unless the graph keeps its own rules, and all that is named is there."""
        try:
            verify(draft.block.graph)
        except Fault as fault:
            line = self.line(self.places[id(fault.graph)][fault.number])
            raise CheckError(f"read: line {line}: {fault}") from fault.__cause__
        nodes = draft.block.graph.nodes
        for (number, output), at in draft.references:
            if number >= len(nodes):
                self.fail(f"there is no %{number}", at)
            if not (0 <= output < nodes[number].outputs or self.is_copied(draft, number, output)):
                self.fail("there is no such array", at)

    def is_copied(self, draft: _Draft, number: int, output: int) -> bool:
        single = isinstance(draft.block.graph.nodes[number].type, ArrayType)
        return output == COPY and single

    def finished(self, draft: _Draft, ordered: bool) -> Program:
        """The program of a draft; what it does not say has its default."""
        count, start = len(draft.kernels), draft.block.places[None]
        for k in range(count):
            if k not in draft.kernels:
                self.fail(
                    f"there is no {draft.prefix}{k}, kernels are numbered without gaps", start
                )
        graph, clauses = draft.block.graph, draft.clauses
        facts = {
            number: draft.facts.get(number) or _NodeFacts() for number in range(len(graph.nodes))
        }
        program = Program(
            graph,
            regions=tuple(
                draft.regions.get(n, 0) if it.region is None else it.region
                for n, it in facts.items()
            ),
            kernels=tuple(draft.kernels[k] for k in range(count)),
            views=self.views(draft, facts),
            inline=frozenset(n for n, it in facts.items() if it.inline),
            owner=draft.owner,
            rerouted={n: it.folds for n, it in facts.items() if it.folds is not None},
            rerouted_whole={n: it.whole for n, it in facts.items() if it.whole is not None},
            joined={
                (n, 0): tuple(root for root, _ in it.pieces) for n, it in facts.items() if it.pieces
            },
            pieces={r: ((n, 0), place) for n, it in facts.items() for r, place in it.pieces},
            inside=dict(clauses.get("inside", ())),
            waits={k: frozenset(others) for k, others in draft.waits.items()},
            overwrites=frozenset(clauses.get("overwrites", ())),
            slots=dict(clauses.get("words", ())),
            steps=clauses.get("steps", ()),
            order=tuple(draft.kernels) if ordered else (),
        )
        self.require_program(draft, program)
        return program

    def views(self, draft: _Draft, facts: Mapping[int, _NodeFacts]) -> dict[int, StridedView]:
        """Of every node in memory; one that says nothing has an array of its own."""
        graph = draft.block.graph
        views: dict[int, StridedView] = {}
        for number, it in facts.items():
            view = it.view
            if view is None and not it.inline:
                view = own_view(number, graph.nodes[number])
            if view is not None:
                views[number] = view
            ranks = [(it.view, graph.nodes[number]), (it.whole, graph.nodes[number])]
            source = graph.nodes[number].operands[:1] if it.folds is not None else ()
            ranks += [(it.folds, graph.nodes[i]) for i in source if i is not None]
            for each, node in ranks:
                rank = node.type.ndim if isinstance(node.type, ArrayType) else None
                if each is not None and len(each.strides) != rank:
                    self.fail(
                        f"%{number} has {rank} axes, and as many strides",
                        draft.block.places[number],
                    )
        return views

    def require_program(self, draft: _Draft, program: Program) -> None:
        """Raise unless what the kernels are said to wait for, own and return is there."""
        start = draft.block.places[None]
        count = len(program.kernels)
        for k, others in program.waits.items():
            for other in others:
                if not 0 <= other < count:
                    self.fail(f"{draft.prefix}{k} waits for k{other}, which is not there", start)
        for number in program.graph.returns:
            if number not in program.views:
                self.fail(f"output %{number} is inline; what is returned is in memory", start)

    # A node.

    def graph(self) -> Graph:
        before, self.draft = self.draft, None
        graph = super().graph()
        self.draft = before
        return graph

    def after_call(self, number: int) -> str | None:
        order = self.need_match(ORDER, "an order")[0] if self.says("by") else None
        if self.draft is not None:
            self.draft.facts[number] = self.facts()
        return order

    def facts(self) -> _NodeFacts:
        facts = _NodeFacts()
        if self.says("region"):
            facts.region = self.count()
        facts.inline = self.says("inline")
        if self.says("as"):
            facts.view = self.view()
        if self.says("folds"):
            facts.folds = self.view()
        if self.says("whole"):
            facts.whole = self.view()
        if self.says("of"):
            facts.pieces = self.listed(lambda: self.pair(self.array, "at", self.size))
        return facts

    def place(self) -> Line | None:
        """The user's line; the notes after it are for people."""
        match = PLACE.fullmatch(self.comment().partition("; ")[0])
        return Line(match[1], int(match[2])) if match else None

    # A kernel.

    def match_kernel(self, draft: _Draft) -> bool:
        at = self.here()
        match = re.compile(rf"{draft.prefix}(\d{{1,9}})(?!\w)").match(self.text, at)
        if match is None:
            return False
        self.at = match.end()
        k = int(match[1])
        if k in draft.kernels:
            self.fail("this kernel is given twice", at)
        draft.kernels[k] = Kernel("map", (), ())  # its place in the order
        draft.kernels[k] = self.kernel(draft, k, at)
        return True

    def kernel(self, draft: _Draft, k: int, at: int) -> Kernel:
        kind_at = self.here()
        kind = self.need_match(WORD, "a kind of kernel")[0]
        if kind not in get_args(KernelKind):
            self.fail(f"a kernel is one of {', '.join(get_args(KernelKind))}", kind_at)
        domain = tuple(self.items(self.size, "]")) if self.take("[") else ()
        given = self.kernel_clauses(draft, k)
        owned = given.pop("owns", ())
        region = given.get("region", 0)
        members, copies = self.members(draft, region)
        bodies = []
        for prefix in body_prefixes(f"{draft.prefix}{k}")[: BODIES.get(kind, 0)]:
            bodies.append(self.program(prefix))
        self.need("}", f", as a {kind} has {BODIES.get(kind, 'no')} programs inside")
        if not members:
            self.fail("a kernel has members", at)
        self.late_place(draft, members)
        for number in members:
            outputs = draft.block.nodes[number].outputs if number not in copies else 0
            roots = [(number, i) for i in range(outputs)] or [(number, COPY)]
            owned = (*owned, *roots)
        for root in owned:
            if draft.owner.setdefault(root, k) != k:
                self.fail(f"{draft.prefix}{draft.owner[root]} has computed %{root[0]} already", at)
        return Kernel(cast("KernelKind", kind), domain, members, bodies=tuple(bodies), **given)

    def kernel_clauses(self, draft: _Draft, k: int) -> dict[str, Any]:
        """The fields that stand between the domain and the members."""
        forms = self.kernel_forms()
        given: dict[str, Any] = {}
        while not self.take("{"):
            at = self.here()
            word = self.need_match(WORD, "a clause such as 'reads %0', or '{'")[0]
            if word == "waits" and k not in draft.waits:
                draft.waits[k] = self.listed(self.awaited)
                continue
            if word not in forms:
                self.fail("expected a clause such as 'reads %0', or '{'", at)
            name, form = forms[word]
            if name in given:
                self.fail("this clause is given twice", at)
            given[name] = form()
        return given

    def kernel_forms(self) -> dict[str, tuple[str, Callable[[], Any]]]:
        """For each clause, the field that it gives and how it is read."""

        def arrays() -> Any:
            return self.listed(self.array)

        def stacks() -> Any:
            return dict(self.listed(lambda: self.pair(self.count, "to", self.count)))

        def scratch() -> Any:
            return self.listed(lambda: self.pair(self.count, ":", self.size))

        return {
            "along": ("folded", lambda: self.listed(self.count)),
            "down": ("down", lambda: tuple(number for number, _ in arrays())),
            "region": ("region", self.count),
            "reads": ("reads", arrays),
            "stores": ("stores", arrays),
            "keeps": ("kept", lambda: tuple(number for number, _ in arrays())),
            "shares": ("shared", self.array),
            "stacks": ("stacks", stacks),
            "owns": ("owns", arrays),
            "gated": ("gated", lambda: True),
            "split": ("split", self.count),
            "apart": ("apart", lambda: True),
            "scratch": ("scratch", scratch),
            "step": ("step", self.count),
            "partial": ("partial", self.count),
        }

    def awaited(self) -> int:
        self.need("k")
        return self.count("a kernel such as k1")

    def members(self, draft: _Draft, region: int) -> tuple[tuple[int, ...], set[int]]:
        """The nodes in the braces, and which of them are copied and not computed here."""
        members: list[int] = []
        copies: set[int] = set()
        while True:
            copied = self.text.startswith("copy(", self.here())
            if copied:
                number, _ = self.array()
                copies.add(number)
            elif self.text.startswith("%", self.at):
                number = self.node(draft.block)
                draft.regions[number] = region
            else:
                return tuple(members), copies
            members.append(number)

    def late_place(self, draft: _Draft, members: tuple[int, ...]) -> None:
        """The user's line of a lone member stands after the kernel, if all is one line."""
        node = draft.block.nodes.get(members[0])
        if len(members) == 1 and node is not None and node.line is None:
            line = self.place()
            if line is not None:
                draft.block.nodes[members[0]] = replace(node, line=line)
