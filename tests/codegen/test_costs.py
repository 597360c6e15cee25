"""Operations and bytes of kernels, beside numbers counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from codegen.explained_programs import (
    MATRIX,
    NETWORK,
    NETWORK_DIMS,
    NORMALISED,
    PROGRAMS,
    RECURRENT,
    explained,
    f32,
    network,
    normalised,
    recurrent,
)
from wengert.codegen.cost.counts import Cost, kernel_cost, loads, program_cost
from wengert.codegen.kernel import all_programs


def costs(function, *args, **options):
    """Of each kernel, in the order of their numbers."""
    it = explained(function, *args, **options)
    return [kernel_cost(it.program, k, it.sizes) for k in range(len(it.program.kernels))]


def test_a_map():
    (cost,) = costs(lambda x, y: wg.tanh(x * y) + x, f32(10, 6), f32(10, 6))
    # x and y are read once each, though x has two readers
    assert cost == Cost(flops=3 * 60, functions=60, read=2 * 240, written=240)
    assert (cost.moved, cost.intensity) == (720, 0.25)


def test_rows_and_sums_down_them():
    """Of a norm: rows, cotangents and the scale are read, three gradients written."""
    (cost,) = costs(normalised, *NORMALISED)
    rows, one = 300 * 40 * 4, 40 * 4
    assert (cost.read, cost.written) == (2 * rows + one, rows + 2 * one)


def test_what_is_broadcast_is_read_once():
    (cost,) = costs(lambda x, b: x * b + 1, f32(10, 6), f32(6))
    assert cost == Cost(flops=120, read=240 + 24, written=240)


def test_only_what_a_slice_shows_is_read():
    (cost,) = costs(lambda x: x[::2, 1:3] * 2, f32(10, 6))
    assert cost == Cost(flops=10, read=40, written=40)
    (cost,) = costs(lambda x: x[:6] + x[4:], f32(10, 6))  # parts that overlap: all of it, once
    assert cost == Cost(flops=36, read=240, written=144)


def test_what_only_moves_has_no_operations():
    (cost,) = costs(lambda x: x.T, f32(10, 6))
    assert cost == Cost(read=240, written=240)
    assert cost.intensity == 0
    (cost,) = costs(lambda x: x.astype(np.float64), f32(10))
    assert cost == Cost(read=40, written=80)


def test_a_gather_reads_no_more_than_it_returns():
    found = costs(lambda x, i: wg.take(x, i, axis=0), f32(1000, 4), np.array([3, 1, 3]))
    assert found[-1].read <= 3 * 4 * 4 + 3 * 8
    assert found[-1].written == 48


def test_a_fold_counts_what_it_takes_in():
    (cost,) = costs(lambda x: wg.sum(x, axis=1), f32(10, 6))
    assert cost == Cost(flops=60, read=240, written=40)
    (cost,) = costs(lambda x: wg.sum(x, axis=0), f32(10, 6))
    assert cost == Cost(flops=60, read=240, written=24)


def test_a_softmax_is_one_kernel():
    (cost,) = costs(wg.softmax, f32(10, 6))
    # max, subtract, exp, sum, divide
    assert cost == Cost(flops=5 * 60, functions=60, read=240, written=240)


def test_a_product_of_matrices_with_what_follows():
    (cost,) = costs(lambda x, w, b: wg.tanh(x @ w + b), f32(32, 4), f32(4, 64), f32(64))
    assert cost == Cost(
        flops=2 * 32 * 64 * 4 + 2 * 32 * 64,
        functions=32 * 64,
        read=4 * (32 * 4 + 4 * 64 + 64),
        written=4 * 32 * 64,
    )


@pytest.mark.parametrize(
    ("x", "y", "flops"),
    [((5, 7), (7,), 70), ((7,), (7,), 14), ((3, 5, 7), (7, 2), 3 * 5 * 2 * 14)],
)
def test_products_of_other_ranks(x, y, flops):
    assert sum(cost.flops for cost in costs(lambda x, y: x @ y, f32(*x), f32(*y))) == flops


def test_sizes_stand_for_dims():
    found = costs(lambda x: x + 1, f32(12, 3), dims={"x": {0: wg.Dim("n")}})
    assert found == [Cost(flops=36, read=144, written=144)]


def test_a_loop_costs_its_body_in_each_step():
    (cost,) = costs(
        lambda h, xs: wg.scan(lambda h, x: (h * x + 1, ()), h, xs)[0], f32(5), f32(9, 5)
    )
    assert cost == Cost(flops=9 * 10, read=4 * (5 + 45), written=20)


def test_a_branch_costs_what_the_more_expensive_side_does():
    def branch(flag, x):
        return wg.cond(flag, lambda x: wg.exp(x) * x + x, lambda x: x + 1, x)

    (cost,) = costs(branch, np.array(True), f32(5))
    assert cost == Cost(flops=15, functions=5, read=1 + 20, written=20)


def test_matrices_and_order():
    def of(function, *args):
        return sum(cost.flops for cost in costs(function, *args))

    assert of(wg.linalg.cholesky, MATRIX) == 6**3 // 3
    assert of(wg.linalg.inv, MATRIX) == 2 * 6**3
    assert of(wg.linalg.solve, MATRIX, f32(6, 4)) == 2 * 6**3 // 3 + 2 * 36 * 4
    assert of(lambda x: wg.argsort(x, axis=0), f32(8, 3)) == 24 * 3
    assert of(lambda x: wg.cumulative_sum(x), f32(8)) == 8


def test_fusion_saves_bytes_and_no_operations():
    for function, args, dims in ((network, NETWORK, NETWORK_DIMS), (recurrent, RECURRENT, None)):
        fused, apart = (explained(function, *args, dims=dims, fused=f) for f in (True, False))
        one, other = (program_cost(it.program, it.sizes) for it in (fused, apart))
        assert (one.flops, one.functions) == (other.flops, other.functions)
        assert one.moved < other.moved


@pytest.mark.parametrize("name", PROGRAMS)
def test_loads_are_the_views_that_members_read(name):
    for program in all_programs(PROGRAMS[name]().program):
        for kernel in program.kernels:
            for member in kernel.members:
                found = list(loads(program, member))
                assert [view for view, _ in found] == program.operand_views(member)
                assert all(len(view.strides) == len(shape) for view, shape in found)
