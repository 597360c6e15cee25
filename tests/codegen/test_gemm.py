"""Matrix products of floats: one order of sums, whatever the sizes, strides and lanes."""

from dataclasses import replace
from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest

from tests.codegen.gemm_harness import (
    LAYOUTS,
    literal,
    module_text,
    plain,
    product,
    spread,
    transposed,
)
from wengert.codegen.llvm.gemm.product import gemm, scratch_bytes
from wengert.codegen.llvm.machine.native import assembly
from wengert.codegen.llvm.text.vectors import Module
from wengert.codegen.numerics import INNER
from wengert.codegen.targets.cpu.target import host
from wengert.core.dims import Dim

FLOATS = [np.dtype("f4"), np.dtype("f8")]
WIDTHS = [4, 8, 16]


def matrices(m, n, k, dtype, seed=0):
    """Numbers of many magnitudes, so that another order of sums shows in the bits."""
    draw = np.random.default_rng((seed, m, n, k))
    a, b = (draw.standard_normal(s) * np.exp(draw.standard_normal(s)) for s in ((m, k), (k, n)))
    return a.astype(dtype), b.astype(dtype)


def same_bits(x, y):
    whole = f"u{x.itemsize}"
    return np.array_equal(plain(x).view(whole), plain(y).view(whole))


def rounded(x, dtype):
    """A rational number to the nearest float, to even on ties."""
    near = dtype.type(float(x))
    around = [near, np.nextafter(near, dtype.type(-np.inf)), np.nextafter(near, dtype.type(np.inf))]

    def distance(y):
        return abs(Fraction(float(y)) - x), int(y.view(f"u{dtype.itemsize}")) & 1

    return min(around, key=distance)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_slow_function_follows_the_order(dtype):
    a, b = matrices(2, 2, 2 * INNER + 9, dtype)
    expected = np.empty((2, 2), dtype)
    for i, j in pairs(range(2), range(2)):
        blocks = []
        for p in range(0, a.shape[1], INNER):
            total = dtype.type(0)
            for x, y in zip(a[i, p : p + INNER], b[p : p + INNER, j], strict=True):
                exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(total))
                total = rounded(exact, dtype)
            blocks.append(total)
        expected[i, j] = (blocks[0] + blocks[1]) + blocks[2]
    assert same_bits(literal(a, b), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_row_has_the_same_bits_alone_and_in_any_batch(dtype, width):
    for n, k in pairs((1, 2, 10, 17, 33), (0, 1, 5, 255, 256, 257, 600)):
        a, b = matrices(67, n, k, dtype)
        expected = literal(a, b)
        ways = [(p(a), q(b)) for p, q in pairs((plain, transposed), (plain, transposed))]
        for m in range(1, 68):
            for x, y in ways[m % 2 :: 2] if width < 16 else ways:
                assert same_bits(product(x[:m], y, width), expected[:m]), (m, n, k, x.strides)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "sizes",
    [
        *[(1, 1, 5000), (1, 300, 300), (300, 1, 300), (1, 9, 2100), (2, 18, 530), (3, 140, 270)],
        *[(600, 3, 40), (240, 270, 300), (70, 530, 520), (530, 70, 260), (64, 64, 64)],
        *[(129, 128, 17), (7, 600, 9), (1, 5000, 260), (600, 14, 20), (70, 800, 260)],
    ],
    ids=str,
)
def test_strides_change_no_bit(sizes, dtype, width):
    m, n, k = sizes
    a, b = matrices(m, n, k, dtype)
    expected = literal(a, b)
    for left, right in pairs(LAYOUTS, LAYOUTS):
        assert same_bits(product(left(a), right(b), width), expected), (left, right)
    np.testing.assert_allclose(
        expected, a.astype("f8") @ b.astype("f8"), 0, 200 * np.finfo(dtype).eps * np.sqrt(k) * 40
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("sizes", [(240, 270, 300), (70, 530, 520), (129, 128, 17)], ids=str)
def test_smaller_registers_change_no_bit(sizes, dtype):
    """Without AVX-512, tiles are smaller, and A is packed where its rows lie side by side."""
    features = ",".join(each for each in host().features.split(",") if "avx512" not in each)
    smaller = replace(host(), features=features)
    a, b = matrices(*sizes, dtype)
    expected = literal(a, b)
    for left, right in pairs((plain, transposed), (plain, transposed)):
        assert same_bits(product(left(a), right(b), smaller), expected), (left, right)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_dot_of_any_length_has_the_order_of_a_product(dtype, width):
    a, b = matrices(1, 1, 2 * 16 * INNER + 9 * INNER + 77, dtype)
    blocks = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 40]
    for k in (INNER * n + more for n in blocks for more in (0, 1, 77)):
        assert same_bits(product(a[:, :k], b[:k], width), literal(a[:, :k], b[:k])), k


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_matrix_along_k_has_the_order_of_a_product(dtype, width):
    """Of one or two rows: columns and blocks of K side by side, and what is left of both."""
    blocks = (0, 1, 2, 3, 4, 5, 7)
    a, b = matrices(2, 71, 7 * INNER + 7, dtype)
    for n, more in pairs(blocks, (0, 1, 3, 4, 7)):
        k = n * INNER + more
        left, right = a[:, :k], transposed(b[:k])
        expected = literal(left, right)
        for columns in (7, 8, 9, 15, 16, 17, 31, 33, 50, 71)[n % 2 :: 2]:
            for x in (left[:1], spread(left)):
                found = product(x, right[:, :columns], width)
                assert same_bits(found, expected[: len(x), :columns]), (k, columns, len(x))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_columns_that_crowd_in_the_cache_change_no_bit(dtype, width):
    """Wherever the matrix begins."""
    k, columns = 2 * INNER + 21, 19
    apart = 8192 // dtype.itemsize
    a, b = matrices(2, columns, k, dtype)
    expected = literal(a, b)
    for shift in range(0, 19, 3):
        room = np.zeros(columns * apart + shift, dtype)[shift:].reshape(columns, apart)
        room[:, :k] = b.T
        for rows in (1, 2):
            found = product(a[:rows], room.T[:k], width)
            assert same_bits(found, expected[:rows]), (shift, rows)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_broadcast_operands(dtype):
    a, b = matrices(40, 50, 300, dtype)
    one_row, one_column = np.broadcast_to(a[:1], a.shape), np.broadcast_to(a[:, :1], a.shape)
    flat_row, flat_column = np.broadcast_to(b[:1], b.shape), np.broadcast_to(b[:, :1], b.shape)
    for x, y in pairs((one_row, one_column), (flat_row, flat_column)):
        assert same_bits(product(x, y), literal(x, y))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_an_element_depends_on_its_row_and_column_only(dtype):
    a, b = matrices(20, 40, 300, dtype)
    whole = product(a, b)
    a[3], b[:, 5] = np.nan, np.inf
    spoilt = product(a, b)
    kept = np.ones(whole.shape, bool)
    kept[3], kept[:, 5] = False, False
    assert same_bits(spoilt[kept], whole[kept])
    assert np.isnan(spoilt[3]).all()
    assert not np.isfinite(spoilt[:, 5]).any()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1), (20, 3, 7), (700, 1, 9), (700, 2, 300), (300, 800, 520), (4, 0, 3)],
    ids=str,
)
def test_finish_sees_every_block_once_with_final_sums(sizes, dtype):
    a, b = matrices(*sizes, dtype)
    expected = literal(a, b)
    seen = np.zeros(expected.shape, int)

    def finish(c, block):
        r0, r1, c0, c1 = block
        assert same_bits(c[r0:r1, c0:c1], expected[r0:r1, c0:c1])
        seen[r0:r1, c0:c1] += 1
        c[r0:r1, c0:c1] += 1

    found = product(a, b, finish=finish)
    assert (seen == 1).all()
    assert same_bits(found, expected + dtype.type(1))


def test_a_small_product_is_finished_in_one_call():
    calls = []
    a, b = matrices(32, 64, 64, np.dtype("f4"))
    product(a, spread(b), finish=lambda _, block: calls.append(block))
    assert calls == [(0, 32, 0, 64)]


def test_scratch_memory_is_bounded_for_run_time_sizes():
    rows = Dim("rows")
    for dtype in FLOATS:
        bound = scratch_bytes(rows, rows, rows, dtype)
        assert isinstance(bound, int)
        assert all(scratch_bytes(s, s, s, dtype) <= bound for s in (0, 1, 100, 10_000))
        assert bound < 3 * 2**19


def test_known_strides_need_no_room_for_what_stays_in_place():
    f4 = np.dtype("f4")
    assert scratch_bytes(32, 64, 64, f4, (64, 1)) == 0
    assert scratch_bytes(32, 64, 64, f4, (1, 64)) == scratch_bytes(32, 64, 64, f4) > 64 * 64 * 4


def test_known_sizes_need_fewer_functions_and_have_the_same_bits():
    f4 = np.dtype("f4")
    for m, n in ((20, 30), (600, 5), (64, 300)):
        a, b = matrices(m, n, 270, f4)
        for x, y in pairs((plain(a), transposed(a)), (plain(b), transposed(b))):
            assert same_bits(product(x, y, sizes=(m, n)), literal(x, y)), (m, n)
    assert len(module_text(f4, 16, (20, 30))) < len(module_text(f4, 16)) * 0.8
    whole, thin = (module_text(f4, 16, sizes) for sizes in ((), (1, 30)))
    assert "@gemm_float32_dot(" in whole
    assert "@gemm_float32_dot(" not in thin  # no product of two vectors
    assert module_text(f4, 16, (1, 1)) == module_text(f4, 16)


def test_one_function_per_dtype():
    module = Module()
    names = [gemm(module, dtype) for dtype in (*FLOATS, *FLOATS)]
    defined = [text for text in module.functions if f"void @{names[0]}(" in text.split("\n")[0]]
    assert names[:2] == names[2:]
    assert len(defined) == 1


@pytest.mark.parametrize(("width", "wanted"), [(4, "xmm"), (8, "ymm")])
def test_vectors_are_as_wide_as_asked_for(width, wanted):
    lines = assembly(module_text(np.dtype("f4"), width)).split("\n")
    found = {name for x in lines if "vfmadd" in x for name in ("xmm", "ymm", "zmm") if name in x}
    assert found - {"xmm"} == {wanted} - {"xmm"}
