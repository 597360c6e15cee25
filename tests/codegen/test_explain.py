"""Explain: its text is golden for small programs, true for larger ones, and complete as a page."""

from __future__ import annotations

import re
import textwrap
from typing import get_args

import numpy as np
import pytest
from compile.calls_of_ops import Values
from table.calls import calls
from table.ops import has_samples, of_ops
from test_html import Page

import wengert as wg
from codegen.explained_programs import (
    BATCH,
    NETWORK,
    NETWORK_DIMS,
    PROGRAMS,
    explained,
    f32,
    network,
)
from wengert.codegen.explain.html import COLOURS, explain_html
from wengert.codegen.explain.text import explain_text
from wengert.codegen.kernel import Kind


def kernels_of(text):
    """What stands between the passes and the arena."""
    return text.partition("kernels, in the order in which they run\n\n")[2].partition("\n\narena")[
        0
    ]


def without_places(text):
    """The text without the user's lines, and without the offsets that are the plan's business."""
    text = re.sub(r" +# \S+:\d+", "", text)
    return re.sub(r"in the arena at \d+(?:,\d+)*", "in the arena", text)


def require_kernels(it, expected):
    assert without_places(kernels_of(explain_text(it))) == textwrap.indent(
        textwrap.dedent(expected).strip(), "  "
    )


# Golden texts


def test_all_of_a_small_program():
    text = explain_text(explained(lambda x: wg.sum(wg.softsign(x) * 2), f32(2, 8)))
    assert re.sub(r" +# \S+:\d+", "", text) == textwrap.dedent(
        """\
        model: 1 kernel, fused; 80 flops, 68 bytes moved: 1.18 flops/byte

        traced: 5 nodes
          The program as it was recorded.
          graph(%0: float32[2, 8] "x") {
            %1: float32[2, 8] = softsign(%0)
            %2: float32[] = constant(2.0)
            %3: float32[2, 8] = multiply(%1, %2)
            %4: float32[] = sum(%3, axes=(0, 1), keepdims=False)
            return %4
          }

        expand: 5 → 10 nodes; +2 broadcast_to, +1 abs, +1 add, +1 constant, +1 divide, -1 softsign
          The graph in terms of ops that are no composites, its bodies too.
          graph(%0: float32[2, 8] "x") {
            %1: float32[2, 8] = abs(%0)
            %2: float32[] = constant(1.0)
            %3: float32[2, 8] = broadcast_to(%2, shape=(2, 8))
            %4: float32[2, 8] = add(%3, %1)
            %5: float32[2, 8] = divide(%0, %4)
            %6: float32[] = constant(2.0)
            %7: float32[2, 8] = broadcast_to(%6, shape=(2, 8))
            %8: float32[2, 8] = multiply(%5, %7)
            %9: float32[] = sum(%8, axes=(0, 1), keepdims=False)
            return %9
          }

        turn: unchanged

        fold: unchanged

        simplify: unchanged

        cse: unchanged

        sink: unchanged

        dce: unchanged

        order: sums by lanes (1)
          The graph with an order on every node that adds up, its bodies too.

        prepare: the same nodes, with other operands or in another order
          The nodes in the order of demand, without regions: kernels call them by these numbers.
          graph(%0: float32[2, 8] "x") {
            %1: float32[] = constant(1.0)
            %2: float32[2, 8] = broadcast_to(%1, shape=(2, 8))
            %3: float32[2, 8] = abs(%0)
            %4: float32[2, 8] = add(%2, %3)
            %5: float32[2, 8] = divide(%0, %4)
            %6: float32[] = constant(2.0)
            %7: float32[2, 8] = broadcast_to(%6, shape=(2, 8))
            %8: float32[2, 8] = multiply(%5, %7)
            %9: float32[] = sum(%8, axes=(0, 1), keepdims=False)
            return %9
          }

        kernels, in the order in which they run

          k0  rows  along a row of i < 2, j < 8
              %9 = sum over i, j of (x[i, j] / (1.0 + abs(x[i, j])) * 2.0)
              stores  %9 float32[] is output 0
              reads   x
              costs   80 flops, 68 bytes moved: 1.18 flops/byte

        arena
          nothing lies in it
        """
    )


def test_the_users_line_stands_beside_what_is_computed():
    text = kernels_of(explain_text(explained(lambda x: x + 1, f32(3))))
    assert re.search(r"%3\[i\] = x\[i\] \+ 1\.0 {30,}# test_explain\.py:\d+\n", text)


def test_a_layer_and_a_softmax():
    def layer(x, w, b):
        return wg.softmax(wg.tanh(x @ w + b))

    it = explained(layer, f32(6, 4), f32(4, 8), f32(8), dims={"x": {0: BATCH}})
    require_kernels(
        it,
        """
        k0  gemm  for i < batch, j < 8
            %3 = sum over k < 4 of x[i, k] * w[k, j]
            %6[i, j] = tanh(%3 + b[j])
            stores  %6 float32[batch, 8] in the arena
            reads   x, w, b
            costs   480 flops (48 are functions), 448 bytes moved: 1.07 flops/byte

        k1  rows  for i < batch, along a row of j < 8
            %7 = max over j of %6[i, j]
            %10 = exp(%6[i, j] - %7)
            %11 = sum over j of %10
            %13[i, j] = %10 / %11
            stores  %13 float32[batch, 8] is output 0
            reads   %6
            costs   240 flops (48 are functions), 384 bytes moved: 0.625 flops/byte
        """,
    )


def test_a_loop():
    def last(h, w, xs):
        return wg.scan(lambda h, x: (h * w + x, h), h, xs)

    require_kernels(
        explained(last, f32(5), f32(5), f32(7, 5)),
        """
        k0  scan  for t < 7, in order
            captured0 = w
            x0 = h at first, then %4
            x1 = xs[t]
            k0_a0  map  for i < 5
                %4[i] = x0[i] * captured0[i] + x1[i]
                %5[i] = x0[i]
                stores  %4 float32[5] for the loop or branch around it
                stores  %5 float32[5] for the loop or branch around it
                reads   x0, captured0, x1
                costs   10 flops, 100 bytes moved: 0.1 flops/byte
            %3.0 = %4 of the last step
            %3.1[t] = %5
            stores  %3.0 float32[5] is output 0
            stores  %3.1 float32[7, 5] is output 1
            reads   w, h, xs
            costs   70 flops, 340 bytes moved: 0.206 flops/byte
        """,
    )


def test_a_branch():
    require_kernels(
        PROGRAMS["branched"](),
        """
        k0  rows  along a row of i < 5
            %2 = sum over i of x[i]
            %4 = greater(%2, 0.0)
            stores  %4 bool[] in the arena
            reads   x
            costs   6 flops, 21 bytes moved: 0.286 flops/byte

        k1  cond  if %4
          then
            x0 = x
            x1 = y
            k1_a0  map  for i < 5
                %3[i] = exp(x0[i]) * x1[i]
                stores  %3 float32[5] for the loop or branch around it
                reads   x0, x1
                costs   10 flops (5 are functions), 60 bytes moved: 0.167 flops/byte
            %5.0 = %3
          else
            x0 = x
            x1 = y
            k1_b0  map  for i < 5
                %2[i] = x0[i] - x1[i]
                stores  %2 float32[5] for the loop or branch around it
                reads   x0, x1
                costs   5 flops, 60 bytes moved: 0.0833 flops/byte
            %5.0 = %2
            stores  %5.0 float32[5] is output 0
            reads   %4, x, y
            costs   10 flops (5 are functions), 61 bytes moved: 0.164 flops/byte
        """,
    )


def test_what_is_donated():
    require_kernels(
        PROGRAMS["donated"](),
        """
        k0  rows  along a row of i < 8
            %4 = sum over i of (g[i] * g[i])
            stores  %4 float32[] is output 1
            reads   g
            costs   16 flops, 36 bytes moved: 0.444 flops/byte

        k1  map  for i < 8
            %7[i] = p[i] - 0.1 * g[i]
            runs    in the end, where nothing has failed
            stores  %7 float32[8] over the donated p
            reads   g, p
            costs   16 flops, 96 bytes moved: 0.167 flops/byte
        """,
    )


def test_an_arena():
    def three(x):
        y = wg.cumulative_sum(x)
        z = wg.cumulative_sum(y)
        return wg.cumulative_sum(y + z)

    text = explain_text(explained(three, f32(32), dims={"x": {0: BATCH}}))
    assert text[text.index("arena\n") :] == textwrap.dedent(
        """\
        arena
          256 bytes; 256 are alive at once (1.00 ×); 384 if nothing were used twice

            a  at   0  128 bytes  k0 to k2  %1 float32[batch]
            b  at   0  128 bytes  k2 to k3  %3 float32[batch]
            c  at 128  128 bytes  k1 to k2  %2 float32[batch]

            192 ··················cccccccccccccccccccccccccccccccccccc··················
            128 ··················cccccccccccccccccccccccccccccccccccc··················
             64 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
              0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
                first kernel                                                        last
        """
    )


def test_an_array_in_an_output():
    """The first sum lies where the result will be, as sizes are known."""

    def twice(x):
        y = wg.cumulative_sum(x)
        return wg.sum(y), wg.cumulative_sum(x * 2)

    it = explained(twice, f32(32))
    text = explain_text(it)
    assert "%1 float32[32] in output 1 at 0, until that is written" in text
    assert "     at 0  128 bytes  k0 to k1  %1 float32[32] in output 1" in text
    assert "output 1" in [cell for _, cell in Page(explain_html(it)).all("td")]


# The arena


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_alive_at_once_lies_apart(name):
    found = PROGRAMS[name]().arena
    assert found.lowest <= found.size <= found.apart
    buffers = [*found.buffers, *found.guests]
    for i, x in enumerate(buffers):
        assert x.host or 0 <= x.offset < x.offset + x.size <= found.size
        assert 0 <= x.begin < x.end <= found.kernels
        for y in buffers[:i]:
            if x.host != y.host:
                continue
            together = min(x.end, y.end) - max(x.begin, y.begin)
            apart = x.offset >= y.offset + y.size or y.offset >= x.offset + x.size
            in_place = x.offset == y.offset and x.size == y.size and together <= 1
            assert together <= 0 or apart or in_place, (x, y)


def test_the_arena_of_a_network_has_every_array():
    it = PROGRAMS["network"]()
    text = explain_text(it).partition("arena\n")[2]
    stored = {
        each.name
        for kernel in it.kernels
        for each in kernel.stores
        if "arena" in it.place(each.slot)
    }
    assert stored
    assert all(re.search(rf"  {re.escape(name)} ", text) for name in stored)


# All of it


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_page_is_well_formed_and_complete(name):
    it = PROGRAMS[name]()
    text = explain_html(it)
    found = Page(text)
    ids = [attributes["id"] for _, attributes, _ in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes, _ in found.all("a"):
        assert attributes["href"].removeprefix("#") in ids
    assert not re.search(r"(?:src|href)=\"(?!#)|https?:|@import|url\((?!#)", text)
    cards = [attributes["id"] for attributes, _ in found.all("article")]
    inside = [each.name for kernel in it.kernels for each in all_kernels(kernel)]
    assert sorted(cards) == sorted(inside)
    texts = [text for _, text in found.all("td")]
    for kernel in it.kernels:
        for each in all_kernels(kernel):
            assert all(line.text in texts for line in each.lines)
    rectangles = [a for a, _ in found.all("g") if a.get("class", "").startswith("buffer")]
    assert len(rectangles) == len(it.arena.buffers)


def all_kernels(kernel):
    yield kernel
    for body in kernel.bodies:
        for each in body.kernels:
            yield from all_kernels(each)


def test_every_kind_has_a_colour():
    assert COLOURS.keys() == set(get_args(Kind))


def test_code_is_shown_on_request():
    it = explained(network, *NETWORK, dims=NETWORK_DIMS, code=True)
    assert "define" not in explain_text(it)
    with_ir = explain_text(it, ir=True)
    for kernel in it.kernels:
        assert re.search(rf"define .*@{kernel.name}\(", with_ir)
    assembly = explain_text(it, assembly=True).partition("\nassembly\n")[2]
    assert all(f"{kernel.name}:" in assembly for kernel in it.kernels)
    page = explain_html(it, ir=True, assembly=True)
    headings = [text for _, text in Page(page).all("h2")]
    assert headings[-2:] == ["LLVM", "Assembly"]


def test_large_constants_are_named_only():
    values = np.linspace(0, 1, 1000)
    text = explain_text(explained(lambda x: x + values, np.zeros(1000)))
    assert "constant($0)" in text
    assert len(text) < 3000


@of_ops(has_samples)
def test_every_op_can_be_explained(op):
    for dtype in (np.float64, np.float32):
        if given := calls(op, dtype):
            function = Values(given)
            with np.errstate(all="ignore"):
                it = explained(function, *function.arguments())
            text = explain_text(it)
            assert all(kernel.name in text for kernel in it.kernels)
