"""Forms: what alike kernels have in common. The steps of a loop in Python, the layers of a network
and the parameters of an optimizer become kernels that differ in numbers only: in the words of the
frame where their arrays stand, and in where their views begin. Such kernels have one form. It is
written as code once, and reads the numbers of each of them from a row of a table.

A form is everything that the writers of kernels look at, so what is added there is added here: a
number that a writer needs and that the form does not have is an error when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from wengert.codegen.kernel import COPY, Layout, Program, needs_memory
from wengert.codegen.llvm.text.frame import FAILING, OFFSET, OUTPUT, WORD, OpenNumber
from wengert.codegen.views import Root, StridedView
from wengert.core.graph import Node
from wengert.interpret.printing import prints
from wengert.passes.cse import frozen

FormKey: TypeAlias = tuple[Any, ...]


class KernelForm(NamedTuple):
    """One kernel as something to compare, and the numbers in which it may differ from its like."""

    key: FormKey
    numbers: tuple[OpenNumber, ...]

    @property
    def places(self) -> dict[OpenNumber, int]:
        """Where in a row each number stands."""
        return {number: place for place, number in enumerate(self.numbers)}

    @property
    def row(self) -> tuple[int, ...]:
        return tuple(value for _, value in self.numbers)


class KernelForms:
    """The forms of kernels of one program."""

    def __init__(self, layout: Layout, program: Program) -> None:
        self.program = program
        self._failing = {id(node): number for number, node in enumerate(layout.failing, 1)}
        self._inline: dict[int, FormKey] = {}  # of nodes that are computed wherever they are read

    def of(self, number: int, checking: bool = False) -> KernelForm | None:
        """The form of a kernel, or of its check; None where it has no like: bodies are written one
        by one, and so is what prints, and what workers run in chunks.
        """
        kernel = self.program.kernels[number]
        if kernel.bodies or kernel.by_workers or prints(self.program.node(kernel.members[0])):
            return None
        return self._form(number, checking)

    def of_chunks(self, number: int) -> KernelForm | None:
        """The form of what workers run in chunks; None where it has no like: only loops have one,
        and only if nothing is left to do after the last chunk.
        """
        kernel = self.program.kernels[number]
        loops = kernel.kind in ("map", "rows", "columns")
        alone = not kernel.by_workers or not loops or kernel.partial is not None
        return None if alone else self._form(number, checking=False)

    def _form(self, number: int, checking: bool) -> KernelForm | None:
        key = _KernelKey(self, number)
        form_key = key.made(checking)
        try:
            hash(form_key)
        except TypeError:
            return None  # a parameter that cannot be compared
        return KernelForm(form_key, tuple(key.numbers))

    def failing(self, node: Node) -> int | None:
        """The number by which a failure of this node is known."""
        return self._failing.get(id(node))

    def inline(self, number: int) -> FormKey:
        if number not in self._inline:
            node = self.program.node(number)
            inner = tuple(self.inline(i) for i in node.operands if i is not None)
            self._inline[number] = (node.op, frozen(node.params), *_typed(node), inner)
        return self._inline[number]


class _KernelKey:
    """The key of one kernel, while it is made, and the numbers met on the way."""

    def __init__(self, forms: KernelForms, number: int) -> None:
        self.forms, self.program, self.own_number = forms, forms.program, number
        self.kernel = self.program.kernels[number]
        self.members = {member: place for place, member in enumerate(self.kernel.members)}
        self.numbers: dict[OpenNumber, int] = {}
        self.roots: dict[Root, int] = {}

    def made(self, checking: bool) -> FormKey:
        kernel = self.kernel
        first = (kernel.kind, kernel.domain, kernel.folded, kernel.split, kernel.gated)
        stores = tuple([self.stored(root) for root in kernel.stores])
        members = tuple([self.member(number) for number in kernel.members])
        down = tuple([self.members[number] for number in kernel.down])
        kept = tuple([self.members[number] for number in kernel.kept])
        shared = None if kernel.shared is None else self.members[kernel.shared[0]]
        words = [self.number(WORD, slot) for slot, _ in kernel.scratch]
        if kernel.kind == "gemm":  # its product has a word, though it may not be stored
            words.append(self.number(WORD, self.program.slots[kernel.members[0], 0]))
        if kernel.partial is not None:
            words.append(self.number(WORD, kernel.partial))
        outputs = [self.output(root) for root in kernel.stores] if checking else ()
        places = (stores, members, down, kept, shared)
        return (*first, *places, tuple(words), checking, tuple(outputs))

    def number(self, what: str, value: int) -> int:
        """Which of the kernel's numbers this is."""
        return self.numbers.setdefault((what, value), len(self.numbers))

    def stored(self, root: Root) -> FormKey:
        return self.members[root[0]], root[1], self.number(WORD, self.program.slots[root])

    def output(self, root: Root) -> int:
        """Which output is checked."""
        whole = self.program.pieces[root][0] if root in self.program.pieces else root
        return self.number(OUTPUT, self.program.graph.returns.index(whole[0]))

    def member(self, number: int) -> FormKey:
        """All that is known of one member, except the lines of the user's program."""
        program, node = self.program, self.program.node(number)
        if (number, COPY) in program.owner and (number, COPY) in self.kernel.stores:
            return COPY, self.operand(number)
        reads = needs_memory(node)
        operands = tuple([None if i is None else self.operand(i, reads) for i in node.operands])
        params = frozen(node.params) if node.params else ()
        failing = self.forms.failing(node)
        fails = None if failing is None else self.number(FAILING, failing)
        other = program.rerouted.get(number)
        read = None if other is None else self.view(other)
        return (node.op, params, *_typed(node), operands, fails, read)

    def operand(self, number: int, reads: bool = False) -> FormKey:
        """How an operand is read: where it is used, of the same kernel, or from memory, which some
        ops read only.
        """
        program = self.program
        if number in program.inline and not reads:
            return self.forms.inline(number)
        node, view = program.node(number), program.views[number]
        itself = view.root[0] == number
        return (itself, *_typed(node), *self.view(view))

    def view(self, view: StridedView) -> FormKey:
        """How elements are read."""
        root, offset = view.root, view.offset
        if self.program.owner.get(root) == self.own_number:
            return self.members[root[0]], root[1], offset, view.strides
        which = self.roots.setdefault(root, len(self.roots))
        word = self.number(WORD, self.program.slots[root])
        if isinstance(offset, int) and offset != 0:
            place = self.number(OFFSET, offset)
            return which, word, "at", place, view.strides, self.typed(root)
        return which, word, offset, view.strides, self.typed(root)

    def typed(self, root: Root) -> Any:
        return self.program.root_type(root).dtype


def _typed(node: Node) -> tuple[Any, ...]:
    return type(node.type), node.type, node.order


def alike(forms: Sequence[KernelForm | None]) -> list[list[int]]:
    """The kernels that have one form, in lists of at least two.

    >>> one, other = KernelForm(("a",), (("word", 1),)), KernelForm(("a",), (("word", 2),))
    >>> alike([one, KernelForm(("b",), ()), other, None])
    [[0, 2]]
    """
    by_key: dict[FormKey, list[int]] = {}
    for number, form in enumerate(forms):
        if form is not None:
            by_key.setdefault(form.key, []).append(number)
    return [group for group in by_key.values() if len(group) > 1]
