"""Explain: its text is golden for small programs, true for larger ones, and complete as a page."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from compiler.calls_of_ops import Values
from core.test_html import Page
from table.calls import calls
from table.ops import has_samples, of_ops

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
from codegen.kernel_texts import difference
from wengert.codegen.explain.explained_page import COLOURS, explain_html
from wengert.codegen.explain.text import explain_text
from wengert.codegen.kernel import KernelKind, Lowered
from wengert.codegen.kernel_text.kernel_show import read
from wengert.codegen.kernel_text.names import root_text

UPDATE = bool(os.environ.get("UPDATE_DOCS"))
GOLDEN = Path(__file__).with_name("explained.txt")


def kernels_of(text):
    """What stands between the passes and the arena."""
    return text.partition("\nkernels\n")[2].partition("\n\narena")[0]


def without_places(text):
    """The text without the user's lines, without the offsets that are the plan's business, and
    without what depends on the machine.
    """
    text = re.sub(r"# \S+:\d+(?:; )?", "# ", text)
    text = re.sub(r" +# $", "", text, flags=re.MULTILINE)
    text = re.sub(r"(gemm .* scratch \d+): \d+", r"\1: …", text)
    text = re.sub(r"[\d,]+ (?=more for contractions)", "… ", text)
    return re.sub(r"in the arena at \d+(?:,\d+)*", "in the arena", text)


# Golden texts


def softsigned(x):
    return wg.sum(wg.softsign(x) * 2)


def layer(x, w, b):
    return wg.softmax(wg.tanh(x @ w + b))


def last(h, w, xs):
    return wg.scan(lambda h, x: (h * w + x, h), h, xs)


GOLDEN_PROGRAMS = {
    "a sum": lambda: explained(softsigned, f32(2, 8)),
    "a layer and a softmax": lambda: explained(
        layer, f32(6, 4), f32(4, 8), f32(8), dims={"x": {0: BATCH}}
    ),
    "a loop": lambda: explained(last, f32(5), f32(5), f32(7, 5)),
    "a branch": PROGRAMS["branched"],
    "what is donated": PROGRAMS["donated"],
}


def golden_text():
    texts = (
        f"==== {name}\n{without_places(explain_text(make()))}"
        for name, make in GOLDEN_PROGRAMS.items()
    )
    return "\n".join(texts)


def test_golden_texts():
    """All that is said of small programs. UPDATE_DOCS=1 writes the file again."""
    found = golden_text()
    if UPDATE:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", ["network", "unfused network", "donated", "special", "of numbers"])
def test_the_kernels_are_the_text_that_reads_back(name):
    """Notes are comments; lines of the user's stay."""
    it = PROGRAMS[name]()
    found = read(textwrap.dedent(kernels_of(explain_text(it))))
    assert difference(Lowered(it.program, it.layout), found) is None


def test_the_users_line_stands_beside_what_is_computed():
    text = kernels_of(explain_text(explained(lambda x: x + 1, f32(3))))
    assert re.search(r"= add\(%0, %2\) \} +# test_explain\.py:\d+; is output 0; about ", text)


def test_an_arena():
    def three(x):
        y = wg.cumulative_sum(x)
        z = wg.cumulative_sum(y)
        return wg.cumulative_sum(y + z)

    text = explain_text(explained(three, f32(32), dims={"x": {0: BATCH}}))
    assert text[text.index("\narena\n") + 1 :] == textwrap.dedent(
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
    assert "; in output 1 at 0, until that is written; about " in text
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
    text = explain_text(it).partition("\narena\n")[2]
    stored = {
        root_text(it.program, root)
        for kernel in it.program.kernels
        for root in kernel.stores
        if "arena" in it.place(it.program.slots[root])
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
    assert sorted(cards) == sorted(kernel.name for kernel in it.kernels)
    texts = [text for _, text in found.all("pre")]
    for kernel in it.kernels:
        assert textwrap.dedent("\n".join(kernel.lines)) in texts
    rectangles = [a for a, _ in found.all("g") if a.get("class", "").startswith("buffer")]
    assert len(rectangles) == len(it.arena.buffers)


def test_every_kind_has_a_colour():
    assert COLOURS.keys() == set(get_args(KernelKind))


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
    assert "constant(…)" in kernels_of(text)
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
