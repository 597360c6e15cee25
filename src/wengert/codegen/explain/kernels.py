"""Kernels in words: what each loops over, computes, reads, stores and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wengert.codegen.cost.counts import Cost, kernel_cost
from wengert.codegen.explain.values import Assignment, Values, call_text, root_name, whole_name
from wengert.codegen.kernel import Kernel, Program
from wengert.core.dims import Size
from wengert.core.types import ArrayType


@dataclass(frozen=True)
class Stored:
    """An array a kernel writes: what it is called, and which word of the frame points to it."""

    name: str
    type: ArrayType
    slot: int


@dataclass(frozen=True)
class KernelText:
    """One kernel, ready to be printed."""

    name: str  # that of its function in the LLVM text
    kind: str
    head: str  # what it loops over
    lines: list[Assignment]
    stores: list[Stored]
    reads: list[str]
    scratch: tuple[tuple[int, Size], ...]  # (slot, bytes)
    cost: Cost
    runs: str  # how, where it is not once in its turn by one worker
    bodies: list[BodyText] = field(default_factory=list)  # of a loop or branch


@dataclass(frozen=True)
class BodyText:
    """The program inside a loop or branch: what goes in, its kernels in order, what comes out."""

    head: str
    entering: list[str]
    kernels: list[KernelText]
    leaving: list[str]


def kernel_texts(program: Program, sizes: Mapping[str, int], prefix: str = "k") -> list[KernelText]:
    """All kernels of a program, in the order in which they run."""
    return [_kernel_text(program, k, sizes, f"{prefix}{k}") for k in program.order]


def _kernel_text(program: Program, number: int, sizes: Mapping[str, int], name: str) -> KernelText:
    kernel = program.kernels[number]
    bodies = [
        kernel_texts(body, sizes, f"{name}_{letter}")
        for letter, body in zip("abc", kernel.bodies, strict=False)
    ]
    lines: list[Assignment] = []
    inside: list[BodyText] = []
    if kernel.kind == "scan":
        head, inside = _scan(program, kernel, bodies[0])
    elif kernel.kind == "cond":
        head, inside = _cond(program, kernel, bodies)
    elif kernel.kind == "special":
        head, lines = "once", [_special(program, kernel)]
    else:
        values = Values(program, number)
        head, lines = values.head(), values.lines()
    return KernelText(
        name,
        kernel.kind,
        head,
        lines,
        [
            Stored(root_name(program, root), program.root_type(root), program.slots[root])
            for root in kernel.stores
        ],
        [root_name(program, root) for root in kernel.reads],
        kernel.scratch,
        kernel_cost(program, number, sizes),
        _runs(kernel),
        inside,
    )


def _runs(kernel: Kernel) -> str:
    how = ["in the end, where nothing has failed"] if kernel.gated else []
    if kernel.split is not None:
        how.append("divided between workers")
    elif kernel.apart:
        how.append("beside its neighbours, by another worker")
    return "; ".join(how)


def _outputs(program: Program, number: int) -> list[str]:
    found = program.node(number).type
    count = 1 if isinstance(found, ArrayType) else len(found)
    return [root_name(program, (number, i)) for i in range(count)]


def _operands(program: Program, number: int) -> list[str]:
    node = program.node(number)
    return ["_" if i is None else whole_name(program, node, i) for i in node.operands]


def _special(program: Program, kernel: Kernel) -> Assignment:
    (number,) = kernel.members
    node = program.node(number)
    text = f"{', '.join(_outputs(program, number))} = "
    text += call_text(node, _operands(program, number))
    return Assignment(text, str(node.line) if node.line else "")


def _returned(body: Program) -> list[str]:
    return [root_name(body, body.views[i].root) for i in body.graph.returns]


def _scan(
    program: Program, kernel: Kernel, kernels: list[KernelText]
) -> tuple[str, list[BodyText]]:
    """The loop, and how values go from step to step."""
    (number,) = kernel.members
    (body,) = kernel.bodies
    params = program.node(number).params
    operands, outputs = _operands(program, number), _outputs(program, number)
    names = [body.graph.name(i) for i in body.graph.inputs]
    returned, consts, carry = _returned(body), params["consts"], params["carry"]
    entering = []
    for i, (name, operand) in enumerate(zip(names, operands, strict=True)):
        if i < consts:
            entering.append(f"{name} = {operand}")
        elif i < consts + carry:
            entering.append(f"{name} = {operand} at first, then {returned[i - consts]}")
        else:
            entering.append(f"{name} = {operand}[t]")
    leaving = [f"{outputs[i]} = {returned[i]} of the last step" for i in range(carry)]
    leaving += [f"{outputs[i]}[t] = {returned[i]}" for i in range(carry, len(returned))]
    saved = zip(outputs[len(returned) :], names[consts:], strict=False)
    leaving += [f"{output}[t] = {name}" for output, name in saved]
    way = "downwards" if params["reverse"] else "in order"
    return f"for t < {params['length']}, {way}", [BodyText("", entering, kernels, leaving)]


def _cond(
    program: Program, kernel: Kernel, kernels: list[list[KernelText]]
) -> tuple[str, list[BodyText]]:
    """The branch, with each side."""
    (number,) = kernel.members
    condition, *operands = _operands(program, number)
    outputs = _outputs(program, number)
    inside = []
    for head, body, texts in zip(("then", "else"), kernel.bodies, kernels, strict=True):
        names = [body.graph.name(i) for i in body.graph.inputs]
        entering = [f"{name} = {x}" for name, x in zip(names, operands, strict=True)]
        leaving = [f"{y} = {x}" for y, x in zip(outputs, _returned(body), strict=True)]
        inside.append(BodyText(head, entering, texts, leaving))
    return f"if {condition}", inside
