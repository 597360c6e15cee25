"""A program that fails, made as small as it can be while it fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from .comparing import Mismatch, check, run
from .program import Block, Input, Program, Step, names_in

Check = Callable[[Program], None]


def reduce(found: Mismatch, examine: Check = check, most: int = 1000) -> Mismatch:
    """The mismatch of a smaller program, by trying one simplification after the other, of which so
    many are made.
    """
    tried = count()
    while True:
        for program in smaller(found.program):
            if next(tried) == most:
                return found
            other = _failure(program, examine)
            if other is not None and alike(other, found):
                found = other
                break
        else:
            return found


def alike(one: Mismatch, other: Mismatch) -> bool:
    """Whether two programs fail for one reason, as far as the message tells."""
    return one.kind == other.kind and (
        "raised" not in one.kind or _without_numbers(one.told) == _without_numbers(other.told)
    )


def cause(found: Mismatch) -> str:
    """What is common to failures that are one fault: how it shows, and the ops that are left."""
    if "raised" in found.kind:
        return f"{found.kind}: {_without_numbers(found.told)}"
    called = set(re.findall(r"(?:wg|np)\.[\w.]+(?=\()", found.program.function_text))
    return f"{found.kind}: {' '.join(sorted(called))}"


def _without_numbers(text: str) -> str:
    return re.sub(r"call \S+( again)?: |%?-?\d[\d.e+-]*|\([^()]*\)", "", text)[:90]


def _failure(program: Program, examine: Check) -> Mismatch | None:
    try:
        examine(program)
    except Mismatch as found:
        return found
    except Exception:  # a simplification that is no program
        return None
    return None


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one thing less, the boldest first."""
    for name in program.donated:
        yield replace(program, donated=tuple(x for x in program.donated if x != name))
    for name in program.returns if len(program.returns) > 1 else ():
        yield pruned(replace(program, returns=(name,)))
    for sizes in program.calls if len(program.calls) > 1 else ():
        yield replace(program, calls=(sizes,))
    if program.calls != ((),):
        yield _specialised(program)
    yield from _with_inputs(program)
    for steps in _shorter(program.steps, tuple(program.names)):
        yield pruned(replace(program, steps=steps))
    for i, x in enumerate(program.inputs):
        plain = replace(x, text=f"np.array({x.text}, order='C')")
        if re.search(r"\]$|\.T$|^np\.broadcast", x.text):
            yield replace(program, inputs=(*program.inputs[:i], plain, *program.inputs[i + 1 :]))


def pruned(program: Program) -> Program:
    """Without the steps and arguments that nothing returned depends on."""
    steps, needed = _live(program.steps, names_in(" ".join(program.returns)))
    inputs = tuple(x for x in program.inputs if x.name in needed)
    donated = tuple(name for name in program.donated if name in needed)
    return replace(program, steps=steps, inputs=inputs, donated=donated)


def _live(steps: tuple[Step, ...], needed: set[str]) -> tuple[tuple[Step, ...], set[str]]:
    kept: list[Step] = []
    for step in reversed(steps):
        if needed & set(step.gives):
            blocks = tuple(_live_block(block) for block in step.blocks)
            step = replace(step, blocks=blocks)
            kept.append(step)
            needed = needed | step.uses()
    return tuple(reversed(kept)), needed


def _live_block(block: Block) -> Block:
    return replace(block, steps=_live(block.steps, names_in(block.result))[0])


def _specialised(program: Program) -> Program:
    """Without Dims: the sizes of the first call as numbers."""
    inputs = []
    for x in program.inputs:
        text = x.text
        for name, size in program.calls[0]:
            text = re.sub(rf"(?<![\w.]){name}(?![\w(])", str(size), text)
        inputs.append(Input(x.name, text))
    return replace(program, inputs=tuple(inputs), calls=((),))


def _with_inputs(program: Program) -> Iterator[Program]:
    """A variable of the program as an argument with the same value, instead of what computes it."""
    if program.calls != ((),):
        return
    for number in reversed(range(len(program.steps))):
        given = program.steps[number].gives
        values = _values(program, given)
        if values is None or set(given) & set(program.returns):
            continue
        inputs = [Input(name, _written(x)) for name, x in zip(given, values, strict=True)]
        steps = (*program.steps[:number], *program.steps[number + 1 :])
        yield pruned(replace(program, steps=steps, inputs=(*program.inputs, *inputs)))


def _values(program: Program, names: tuple[str, ...]) -> list[Any] | None:
    try:
        asked = replace(program, returns=names)
        return run(asked.function(), asked.arguments({})).results
    except Exception:
        return None


def _written(x: Any) -> str:
    if x.size <= 40:
        return f"np.array({x.tolist()!r}, np.{x.dtype.name}).reshape({x.shape})"
    rng, low, high = "np.random.default_rng(0)", x.min(), x.max()
    if x.dtype.kind == "f":
        return f"{rng}.uniform({low!s}, {high!s}, {x.shape}).astype(np.{x.dtype.name})"
    return f"{rng}.integers({int(low)}, {int(high) + 1}, {x.shape}).astype(np.{x.dtype.name})"


def _shorter(steps: tuple[Step, ...], outer: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    """Without one step, at any depth: what it gave is replaced by something known before it."""
    for number in reversed(range(len(steps))):
        step = steps[number]
        before = [*outer, *(name for earlier in steps[:number] for name in earlier.gives)]
        for i, block in enumerate(step.blocks):
            inner = (*before, *block.params)
            for fewer in _shorter_block(block, inner):
                blocks = (*step.blocks[:i], fewer, *step.blocks[i + 1 :])
                yield (*steps[:number], replace(step, blocks=blocks), *steps[number + 1 :])
        for other in reversed(before[-4:]) if len(step.gives) == 1 else ():
            rest = tuple(_renamed(each, step.gives[0], other) for each in steps[number + 1 :])
            yield (*steps[:number], *rest)


def _shorter_block(block: Block, known: tuple[str, ...]) -> Iterator[Block]:
    terms = block.result.split(" + ")
    for i in range(len(terms) if len(terms) > 1 else 0):
        yield _live_block(replace(block, result=" + ".join(terms[:i] + terms[i + 1 :])))
    ending = Step(f"v_ = {block.result}", ("v_",))
    for steps in _shorter((*block.steps, ending), known):
        if steps and steps[-1].gives == ("v_",):
            result = steps[-1].text.removeprefix("v_ = ")
            yield _live_block(replace(block, steps=steps[:-1], result=result))


def _renamed(step: Step, name: str, other: str) -> Step:
    def change(text: str) -> str:
        return re.sub(rf"\b{name}\b", other, text)

    blocks = tuple(
        replace(b, steps=tuple(_renamed(s, name, other) for s in b.steps), result=change(b.result))
        for b in step.blocks
    )
    return replace(step, text=change(step.text), blocks=blocks)
