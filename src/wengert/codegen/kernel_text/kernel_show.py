"""A program of kernels as text that a person reads and `read` reads back.

    program(%0: float64[3, 2] "x", %1: float64[2] "w") in order {
      k0 gemm [3] reads %0, %1 stores %3 {
        %2: float64[3] = matmul(%0, %1) by k-blocks             # model.py:12
        %3: float64[3] = tanh(%2)                               # model.py:12
      }
      k1 map [3] reads %3 stores %4 { %4: float64[3] = negative(%3) }  # model.py:13
      words %0: 10, %1: 11, %4: 12, %3: 13
      return %4
    }
    frame() {
      10: input 0, input 1
      12: output 0
      13: arena
      14: workspace
      outputs 12
    }

A kernel is its name (that of its function in the LLVM text), its kind, its domain, and what is
known of it so far; in braces stand its members, each a node as in the text of a graph. Nodes that
no kernel computes stand before the first kernel that reads them. Arrays are called by the node they
are the result of: ``%3``, ``%3.1`` for one of several, ``copy(%3)`` for a copy of it in memory.

    by lanes                    the order in which a node adds up
    region 2                    what is recomputed together, where its kernel has another region
    inline                      it is computed wherever it is read
    as %1 at 4 strides (1, 2)   its element (i, j) is element 4 + i + 2j of that array
    folds …, whole …            what a fold, or a loop or branch, reads in its place
    of %3 at 0, %4 at 12        an output in pieces: which these are, and where each begins

    along 0, 1                  of a kernel: the axes its folds go over
    down %5                     members of rows that are summed over all other axes
    region 2                    that of its members
    reads %1, stores %3         arrays in memory
    keeps %3                    members remembered along a row
    shares %4                   a contraction adds up in the memory of this member
    stacks 0 to 2               carry 0 and output 2, which collects it, are written once
    owns %5                     what counts as computed by it, though it is no member
    gated                       it writes over arguments, and runs only if nothing has failed
    waits k1, k2                others that run before it, for they read what it writes over
    split 0, apart              how workers divide it; whether it runs beside others
    scratch 18: 512             words of the frame, and bytes, while it runs
    step 12, partial 19         words for the number of a step, and for parts of a fold

    in order                    of a program: its kernels stand in the order in which they run
    inside %3.1 in %3.4         arrays that lie in another one
    overwrites 0, 1             outputs that gated kernels write over arguments
    steps 12                    words with the steps of the loops around
    words %0: 10                the word of the frame that points to an array

The frame is what `Layout` says, word by word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wengert.codegen.kernel import COPY, Kernel, Lowered, Program
from wengert.codegen.kernel_text.frame_read import read
from wengert.codegen.kernel_text.frame_show import frame_lines
from wengert.codegen.kernel_text.names import body_prefixes, root_text, wrapped
from wengert.codegen.views import Root, StridedView, own_view
from wengert.core.dims import Shape, Size
from wengert.core.graph import Graph, Node
from wengert.core.text.literal import Writer
from wengert.core.text.show import WIDTH, GraphPrinter, aligned, declared_inputs
from wengert.core.types import ArrayType

__all__ = ["KernelPrinter", "Notes", "read", "show"]

DOMAINLESS = ("special", "scan", "cond")  # kinds that may have no domain, which is then left out


def show(made: Program | Lowered, lines: bool = True) -> str:
    """A program after any stage; with `lines`, the user's file and line stand beside each node."""
    printer = KernelPrinter(Writer(), lines)
    text = [*printer.all_of(made), *printer.data()]
    return "\n".join(text)


class Notes:
    """Notes for people beside a kernel or an array; this class has none."""

    def kernel(self, program: Program, k: int) -> str:
        return ""

    def array(self, program: Program, root: Root) -> str:
        return ""


class KernelPrinter(GraphPrinter):
    """Writes programs line by line. With a brief writer it leaves out the bytes of arrays and the
    graphs that the bodies of loops and branches were made of.
    """

    def __init__(self, writer: Writer, lines: bool, notes: Notes | None = None) -> None:
        super().__init__(writer, lines)
        self.notes = notes or Notes()

    def all_of(self, made: Program | Lowered) -> Iterator[str]:
        """A program and, where it is known, its frame."""
        if isinstance(made, Program):
            yield from self.program(made, "k", "")
        else:
            yield from self.program(made.program, "k", "")
            yield from frame_lines(made)

    def statement(self, number: int, node: Node, bodies: list[tuple[str, Graph]]) -> str:
        order = f" by {node.order}" if node.order else ""
        return super().statement(number, node, bodies) + order

    # A program.

    def program(self, program: Program, prefix: str, indent: str) -> Iterator[str]:
        for _, lines in self.parts(program, prefix, indent):
            yield from lines

    def parts(
        self, program: Program, prefix: str, indent: str
    ) -> Iterator[tuple[int | None, list[str]]]:
        """The lines of each kernel, after those of the nodes that it is the first to read; None is
        what stands before and after all kernels.
        """
        inner = indent + "  "
        declared = {i for i in declared_inputs(program.graph) if not _facts(program, i, 0)}
        closing = f"{' in order' * bool(program.order)} {{"
        yield None, [*self.header(program.graph, declared, "program", closing, indent)]
        left = set(range(len(program.graph.nodes))) - declared - _members(program)
        for k in program.order or range(len(program.kernels)):
            numbers = _read_by(program, program.kernels[k], left)
            before = [line for i in numbers for line in self.alone(program, i, inner)]
            yield k, [*before, *self.kernel(program, k, f"{prefix}{k}", inner)]
        rest = [line for i in sorted(left) for line in self.alone(program, i, inner)]
        for clause in _program_clauses(program):
            rest += wrapped(clause, inner)
        returned = ", ".join(f"%{number}" for number in program.graph.returns)
        yield None, [*rest, *wrapped(f"return {returned}".rstrip(), inner), f"{indent}}}"]

    def alone(self, program: Program, number: int, indent: str) -> Iterator[str]:
        """A node that no kernel computes."""
        return self.member(program, number, 0, indent)

    def member(self, program: Program, number: int, region: int, indent: str) -> Iterator[str]:
        """A node in a kernel of this region."""
        text, comment, bodies = self.call(program, number, region)
        text = f"{indent}{text}"
        yield aligned(f"{text} {{" if bodies else text, comment)
        yield from self.bodies(bodies, indent)

    def call(
        self, program: Program, number: int, region: int
    ) -> tuple[str, str, list[tuple[str, Graph]]]:
        """A node, what stands beside it, and the graphs that stand below it."""
        node = program.node(number)
        bodies: list[tuple[str, Graph]] = []
        text = self.statement(number, node, bodies) + _facts(program, number, region)
        comment = self.beside(node, self.stored_note(program, number))
        return text, comment, [] if self.writer.brief else bodies

    def stored_note(self, program: Program, number: int) -> str:
        node = program.node(number)
        if node.outputs == 1 and isinstance(node.type, ArrayType):
            return self.notes.array(program, (number, 0))
        notes = {(number, i): self.notes.array(program, (number, i)) for i in range(node.outputs)}
        return ", ".join(
            f"{root_text(program, root)} {note}" for root, note in notes.items() if note
        )

    def beside(self, node: Node | None, *notes: str) -> str:
        """The user's line, then what is noted."""
        line = "" if node is None else self.comment(node).removeprefix("# ")
        text = "; ".join(filter(None, (line, *notes)))
        return f"# {text}" if text else ""

    # A kernel.

    def kernel(self, program: Program, k: int, name: str, indent: str) -> Iterator[str]:
        """In one line, if it is one call and there is room; else with a line for each member."""
        kernel, note = program.kernels[k], self.notes.kernel(program, k)
        head = f"{name} {_kernel_head(program, k)} {{"
        line = self.one_line(program, k, head, note)
        if line and len(line[0]) + len(indent) <= WIDTH:
            yield aligned(indent + line[0], line[1])
            return
        *before, last = wrapped(head, indent)
        yield from before
        yield aligned(last, f"# {note}" if note else "")
        for number in kernel.members:
            if _is_copy(program, k, number):
                yield aligned(f"{indent}  copy(%{number})", self.copy_note(program, number))
            else:
                yield from self.member(program, number, kernel.region, indent + "  ")
        for prefix, body in zip(body_prefixes(name), kernel.bodies, strict=False):
            yield from self.program(body, prefix, indent + "  ")
        yield f"{indent}}}"

    def one_line(self, program: Program, k: int, head: str, note: str) -> tuple[str, str] | None:
        """All of a kernel, and what stands beside it, if it has one member and no body."""
        kernel = program.kernels[k]
        if len(kernel.members) != 1 or kernel.bodies:
            return None
        (number,) = kernel.members
        bodies: list[tuple[str, Graph]] = []
        if _is_copy(program, k, number):
            text, comment = f"copy(%{number})", self.copy_note(program, number)
        else:
            text, comment, bodies = self.call(program, number, kernel.region)
        comment = self.beside(None, comment.removeprefix("# "), note)
        return None if bodies else (f"{head} {text} }}", comment)

    def copy_note(self, program: Program, number: int) -> str:
        return self.beside(None, self.notes.array(program, (number, COPY)))


def _members(program: Program) -> set[int]:
    """Nodes that stand in the kernels that compute them."""
    return {
        number
        for k, kernel in enumerate(program.kernels)
        for number in kernel.members
        if not _is_copy(program, k, number)
    }


def _is_copy(program: Program, k: int, number: int) -> bool:
    """Whether a kernel does not compute a member, but copies it to memory of its own."""
    owner = program.owner
    return owner.get((number, COPY)) == k and owner.get((number, 0)) != k


def _read_by(program: Program, kernel: Kernel, left: set[int]) -> list[int]:
    """Those of the nodes left that a kernel reads, itself or through others; they are taken out."""
    numbers: list[int] = []
    stack = [*kernel.members, *(i for m in kernel.members for i in program.node(m).operands)]
    while stack:
        number = stack.pop()
        if number in left:
            left.remove(number)
            numbers.append(number)
            stack += program.node(number).operands
    return sorted(numbers)


def _facts(program: Program, number: int, region: int) -> str:
    """What is known of a node besides its call."""
    texts = []
    if program.regions[number] != region:
        texts.append(f"region {program.regions[number]}")
    inline = number in program.inline
    if inline:
        texts.append("inline")
    view = program.views.get(number)
    if view is not None and (inline or view != own_view(number, program.node(number))):
        texts.append(f"as {_view_text(program, view)}")
    if number in program.rerouted:
        texts.append(f"folds {_view_text(program, program.rerouted[number])}")
    if number in program.rerouted_whole:
        texts.append(f"whole {_view_text(program, program.rerouted_whole[number])}")
    if (number, 0) in program.joined:
        pieces = program.joined[number, 0]
        places = (f"{root_text(program, root)} at {program.pieces[root][1]}" for root in pieces)
        texts.append(f"of {', '.join(places)}")
    return "".join(f" {text}" for text in texts)


def _view_text(program: Program, view: StridedView) -> str:
    place = f" at {view.offset}" if view.offset != 0 else ""
    return f"{root_text(program, view.root)}{place} strides {_sizes(view.strides, '()')}"


def _sizes(sizes: Iterable[Size], brackets: str) -> str:
    return f"{brackets[0]}{', '.join(map(repr, sizes))}{brackets[1]}"


def _kernel_head(program: Program, k: int) -> str:
    """Kind, domain and clauses; what is not known or not so is left out."""
    kernel = program.kernels[k]
    shape: Shape | None = None if kernel.kind in DOMAINLESS and not kernel.domain else kernel.domain
    parts = [kernel.kind, *([] if shape is None else [_sizes(shape, "[]")])]

    def clause(word: str, items: Iterable[object]) -> None:
        text = ", ".join(map(str, items))
        if text:
            parts.append(f"{word} {text}")

    def roots(arrays: Iterable[Root]) -> list[str]:
        return [root_text(program, root) for root in arrays]

    def flag(word: str, given: bool) -> None:
        if given:
            parts.append(word)

    clause("along", kernel.folded)
    clause("down", (f"%{number}" for number in kernel.down))
    clause("region", [kernel.region] if kernel.region else [])
    clause("reads", roots(kernel.reads))
    clause("stores", roots(kernel.stores))
    clause("keeps", (f"%{number}" for number in kernel.kept))
    clause("shares", roots([] if kernel.shared is None else [kernel.shared]))
    clause("stacks", (f"{i} to {j}" for i, j in kernel.stacks.items()))
    clause("owns", roots(_owned_besides(program, k)))
    flag("gated", kernel.gated)
    clause("waits", (f"k{other}" for other in sorted(program.waits.get(k, ()))))
    clause("split", [] if kernel.split is None else [kernel.split])
    flag("apart", kernel.apart)
    clause("scratch", (f"{slot}: {size}" for slot, size in kernel.scratch))
    clause("step", [] if kernel.step is None else [kernel.step])
    clause("partial", [] if kernel.partial is None else [kernel.partial])
    return " ".join(parts)


def _owned_besides(program: Program, k: int) -> list[Root]:
    """What a kernel owns beside the results of its members."""
    members = set(program.kernels[k].members)
    return [root for root, owner in program.owner.items() if owner == k and root[0] not in members]


def _program_clauses(program: Program) -> Iterator[str]:
    inside = (
        f"{root_text(program, root)} in {root_text(program, other)}"
        for root, other in program.inside.items()
    )
    words = (f"{root_text(program, root)}: {slot}" for root, slot in program.slots.items())
    clauses = {
        "inside": inside,
        "overwrites": map(str, sorted(program.overwrites)),
        "steps": map(str, program.steps),
        "words": words,
    }
    for word, items in clauses.items():
        text = ", ".join(items)
        if text:
            yield f"{word} {text}"
