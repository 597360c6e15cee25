"""Every stage keeps its promises, for programs of all kinds; a broken promise is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiler import bit_programs
from fuzz.search import visit

import wengert as wg
from codegen.explained_programs import NETWORK, network
from wengert.api.trace import trace_with_sizes
from wengert.codegen.checking import check, check_places
from wengert.codegen.flatten import without_kernels
from wengert.codegen.kernel import Lowered, Program, is_fold
from wengert.codegen.memory.plan import plan
from wengert.codegen.options import Options
from wengert.codegen.stages import STAGES, lower
from wengert.errors import CheckError
from wengert.passes.pipeline import run


def check_stages(graph: Any, options: Options) -> None:
    found: Any = run(graph)
    for stage in STAGES:
        found = stage(found, options)
        check(found)
    placed = plan(found.program, found.layout, options.sizes)
    check_places(found, placed, dict(options.sizes))


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_every_stage_shows_a_program_before_and_after(stage):
    """In its docstring, which runs with the docs."""
    assert "... }'''" in stage.__doc__
    assert f">>> print(show({stage.__name__}(" in stage.__doc__


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("grain", [0, 1])
@pytest.mark.parametrize("name", list(bit_programs.cases(np.float32)))
def test_promises(name, fused, grain):
    function, args = bit_programs.cases(np.float32)[name]
    graph, sizes = trace_with_sizes(function, *args)
    check_stages(graph, Options(sizes, fused, grain=grain))


@pytest.mark.parametrize("chunk", range(4))
def test_promises_of_random_programs(chunk):
    def one(program: Any) -> None:
        arguments = program.arguments(program.sizes[0])
        graph, sizes = trace_with_sizes(program.function(), *arguments, dims=program.dims)
        for options in (Options(sizes), Options(sizes, fused=False), Options(sizes, grain=1)):
            check_stages(graph, options)

    for number in range(chunk * 10, chunk * 10 + 10):
        visit(number, one)


def test_promises_of_a_training_step():
    def step(p, m, x):
        g = wg.grad(lambda p: wg.sum(np.tanh(x @ p) ** 2))(p)
        m = 0.9 * m + wg.op.boundary(g, False)
        return p - 0.1 * m, m

    p, m, x = np.ones((4, 3)), np.zeros((4, 3)), np.ones((5, 4))
    graph, sizes = trace_with_sizes(step, p, m, x)
    options = Options(sizes, grain=1, finite=True, written={0: 0, 1: 1})
    check_stages(graph, options)
    assert any(kernel.gated for kernel in lower(run(graph), options).program.kernels)


# Planted faults, one of each kind.


@pytest.fixture(scope="module")
def lowered() -> Lowered:
    graph, sizes = trace_with_sizes(network, *NETWORK)
    return lower(run(graph), Options(sizes, grain=1))


def changed(lowered: Lowered, k: int, **fields: Any) -> Lowered:
    kernels = list(lowered.program.kernels)
    kernels[k] = replace(kernels[k], **fields)
    return replace(lowered, program=replace(lowered.program, kernels=tuple(kernels)))


def reader(program: Program) -> int:
    """A kernel that reads what another has written."""
    return next(
        k for k, each in enumerate(program.kernels) if any(r in program.owner for r in each.reads)
    )


def test_the_network_is_right(lowered):
    check(lowered)


def test_a_region_that_is_left():
    graph, _ = trace_with_sizes(wg.checkpoint(np.tanh), np.ones(3))
    with pytest.raises(CheckError, match="nodes: %1 is a region"):
        check(without_kernels(graph, [0] * len(graph.nodes)))


def test_a_node_without_a_region(lowered):
    program = replace(lowered.program, regions=lowered.program.regions[1:])
    with pytest.raises(CheckError, match="nodes"):
        check(replace(lowered, program=program))


def test_a_node_that_is_returned_twice():
    graph, _ = trace_with_sizes(lambda x: [np.tanh(x)] * 2, np.ones(3))
    with pytest.raises(CheckError, match="nodes: a node is returned twice"):
        check(without_kernels(graph, [0] * len(graph.nodes)))


def test_kernels_that_are_lost(lowered):
    fault = replace(lowered.program, kernels=(), order=())
    with pytest.raises(CheckError, match="reads"):
        check(replace(lowered, program=fault))


def test_a_member_of_two_kernels(lowered):
    first, second, *_ = lowered.program.kernels
    fault = changed(lowered, 1, members=(*second.members, first.members[0]))
    with pytest.raises(CheckError, match="members"):
        check(fault)


def test_a_kernel_before_what_it_reads(lowered):
    k = reader(lowered.program)
    order = (k, *(n for n in lowered.program.order if n != k))
    with pytest.raises(CheckError, match="reads"):
        check(replace(lowered, program=replace(lowered.program, order=order)))


def test_a_kernel_that_does_not_run(lowered):
    with pytest.raises(CheckError, match="reads"):
        check(replace(lowered, program=replace(lowered.program, order=lowered.program.order[1:])))


def test_a_commit_before_the_end(lowered):
    with pytest.raises(CheckError, match="commit"):
        check(changed(lowered, lowered.program.order[0], gated=True))


def test_a_divided_loop_that_is_not_there(lowered):
    maps = [k for k, each in enumerate(lowered.program.kernels) if each.kind == "map"]
    with pytest.raises(CheckError, match="splits"):
        check(changed(lowered, maps[0], split=7))


@pytest.fixture(scope="module")
def summed_down() -> Lowered:
    """One kernel along rows, with two sums down them."""

    def function(x, y):
        z = x - wg.mean(x, axis=1, keepdims=True)
        return z, wg.sum(z * y, axis=0), wg.sum(y, axis=0)

    x = np.ones((300, 40), np.float32)
    graph, sizes = trace_with_sizes(function, x, x)
    found = lower(run(graph), Options(sizes, grain=1))
    (kernel,) = found.program.kernels
    assert len(kernel.down) == 2
    check(found)
    return found


def test_a_sum_down_the_rows_that_goes_along_them(summed_down):
    (kernel,) = summed_down.program.kernels
    folds = [i for i in kernel.members if is_fold(summed_down.program.node(i))]
    (along,) = set(folds) - {*kernel.down}
    with pytest.raises(CheckError, match=r"down: .* does not go over axes"):
        check(changed(summed_down, 0, down=(along,)))


def test_a_sum_down_the_rows_that_is_no_member(summed_down):
    (kernel,) = summed_down.program.kernels
    members = tuple(i for i in kernel.members if i != kernel.down[0])
    with pytest.raises(CheckError, match="down"):
        check(changed(summed_down, 0, members=members))


def test_a_sum_that_is_read_before_all_rows_are_done(summed_down):
    program = summed_down.program
    (kernel,) = program.kernels
    stored = next(i for i in kernel.members if not is_fold(program.node(i)))
    early = {**program.views, program.node(stored).operands[0]: program.views[kernel.down[0]]}
    fault = replace(summed_down, program=replace(program, views=early))
    with pytest.raises(CheckError, match=r"down: .* before all rows are done"):
        check(fault)


def test_sums_of_blocks_without_a_word(summed_down):
    with pytest.raises(CheckError, match=r"down: .* no word"):
        check(changed(summed_down, 0, partial=None))


def test_sums_down_the_rows_of_a_kernel_that_writes_over_arguments(summed_down):
    with pytest.raises(CheckError, match="down"):
        check(changed(summed_down, 0, gated=True))


def test_sums_down_the_rows_that_workers_divide_along_them(summed_down):
    with pytest.raises(CheckError, match="splits: a sum down the rows is divided"):
        check(changed(summed_down, 0, split=1))


def test_two_arrays_in_one_word(lowered):
    program, layout = lowered.program, lowered.layout
    arena = sorted({*program.slots.values()} & _arena(layout))
    slots = {root: arena[0] if slot == arena[1] else slot for root, slot in program.slots.items()}
    with pytest.raises(CheckError, match="slots"):
        check(replace(lowered, program=replace(program, slots=slots)))


def _arena(layout: Any) -> set[int]:
    words = range(layout.first, layout.first + len(layout.slots))
    return {slot for slot in words if type(layout.slots[slot - layout.first]).__name__ == "Arena"}


def test_two_arrays_in_the_same_bytes():
    def function(x):
        y, z = x @ x, x.T @ x
        return (y @ z) @ (z @ y)

    x = np.ones((9, 9))
    graph, sizes = trace_with_sizes(function, x, dims={"x": {0: wg.Dim("n"), 1: wg.Dim("n")}})
    found = lower(run(graph), Options(sizes))
    placed = plan(found.program, found.layout, sizes)
    check_places(found, placed, dict(sizes))
    fault = replace(placed, offsets=dict.fromkeys(placed.offsets, 0))
    with pytest.raises(CheckError, match="places"):
        check_places(found, fault, dict(sizes))
