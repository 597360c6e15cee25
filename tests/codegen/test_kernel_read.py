"""Programs of kernels from text: what is said about a bad one."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.explained_programs import PROGRAMS
from wengert.codegen.kernel import Lowered
from wengert.codegen.kernel_text.kernel_show import read, show
from wengert.errors import CheckError

GOOD = """\
program(%0: float32[4, 3] "x", %1: float32[3] "w") in order {
  %2: float32[3, 4] = permute_dims(%0, axes=(1, 0)) as %0 strides (1, 3)
  k0 rows [4, 3] along 1 reads %0 stores %3 { %3: float32[4] = max(%0, axes=(1,), keepdims=False) }
  k1 map [3, 4] reads %0, %3 stores %6 {   # beside its neighbours
    %4: float32[3, 4] = tanh(%2)   # model.py:12
    %6: float32[3, 4] = add(%4, %5)   # model.py:13; in the arena
  }
  %5: float32[3, 4] = broadcast_to(%3, shape=(3, 4)) as %3 strides (0, 1)
  words %0: 10, %1: 11, %6: 12, %3: 13
  return %6
}
frame() {
  10: input 0, input 1
  12: output 0
  13: arena
  outputs 12
}"""

BAD = {  # what is replaced in the good text, by what, and what is said
    "empty": (GOOD, "", "line 1 has the end of the text; a program begins with 'program('"),
    "a graph": ("program(", "graph(", "line 1 has 'graph'; a program begins with 'program('"),
    "cut": (GOOD[GOOD.index("  13:") :], "", "line 15 has the end of the text; expected a word"),
    "after": ("outputs 12\n}", "outputs 12\n}\nmore", "line 18 has 'more'; the text must end"),
    "order": ("in order", "in turn", "line 1 has 'turn'; expected 'in order {'"),
    "kind": ("k1 map", "k1 mapp", "line 4 has 'mapp'; a kernel is one of map, rows"),
    "clause": ("reads %0, %3", "read %0, %3", "line 4 has 'read'; expected a clause such as"),
    "clause twice": ("stores %6", "stores %6 stores %6", "line 4 has 'stores'; this clause is"),
    "kernel twice": ("k1 map", "k0 map", "line 4 has 'k0'; this kernel is given twice"),
    "gap": ("k1 map", "k2 map", "line 1 has 'program'; there is no k1, kernels are numbered"),
    "other program's": ("k1 map", "k1_a0 map", "line 4 has 'k1_a0'; expected a node, a kernel"),
    "no member": (
        "{ %3: float32[4] = max(%0, axes=(1,), keepdims=False) }",
        "{ }",
        "line 3 has 'k0'; a kernel has members",
    ),
    "body": ("k0 rows", "k0 scan", "line 3 has '}'; a program begins with 'program('"),
    "no body": (
        "keepdims=False) }",
        "keepdims=False) program() { return } }",
        "line 3 has 'program'; expected '}', as a rows has no programs inside",
    ),
    "array": ("stores %6", "stores x", "line 4 has 'x'; expected an array such as %3"),
    "unknown array": ("stores %6", "stores %60", "line 4 has '%60'; there is no %60"),
    "output": ("stores %6", "stores %6.1", "line 4 has '%6'; there is no such array"),
    "strides": ("strides (1, 3)", "stride (1, 3)", "line 2 has 'stride'; expected 'strides'"),
    "rank": ("strides (1, 3)", "strides (1,)", "line 2 has '%2'; %2 has 2 axes, and as many"),
    "returned": (
        "return %6",
        "return %2",
        "reads: output %2 is written by nobody; a program keeps what stages promise",
    ),
    "wait": ("stores %6", "stores %6 waits k7", "line 1 has 'program'; k1 waits for k7, which"),
    "wait for": ("stores %6", "stores %6 waits 7", "line 4 has '7'; expected 'k'"),
    "words": ("%3: 13\n", "%3: 23\n", "line 17 has the end of the text; the frame has no word 23"),
    "word": ("  13: arena", "  14: arena", "line 15 has '14'; the next word is 13"),
    "slot": ("13: arena", "13: area", "line 15 has 'area'; a word holds input, output"),
    "constant": ("13: arena", "13: constant %3", "line 15 has 'constant'; this node is no"),
    "node": ("13: arena", "13: constant k9_a.%3", "line 15 has 'k9_a'; there is no such node"),
    "guest": ("13: arena", "13: inner in 12", "line 16 has 'outputs'; expected 'at'"),
    "type": (
        "%4: float32[3, 4]",
        "%4: float32[3, 5]",
        "line 5: tanh: node 4 (model.py:12) has type float32[3, 5]; its rule gives",
    ),
    "member twice": (
        "stores %3 {",
        "stores %3 owns %4 {",
        "line 4 has 'k1'; k0 has computed %4 already",
    ),
    "read before": (
        "k1 map [3, 4] reads %0, %3",
        "k1 map [3, 4] reads %0, %6",
        "reads: k1 reads (6, 0), which nobody has written",
    ),
    "split": ("stores %6", "stores %6 split 7", "splits: loop 7"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_explained(name):
    old, new, message = BAD[name]
    read(GOOD)
    assert old in GOOD
    with pytest.raises(CheckError) as caught:
        read(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"read: {message}"), caught.value


def test_programs_inside_each_other_without_end_are_refused():
    text, prefix = GOOD.partition("  k0 rows")[0], "k"
    for _ in range(100):
        text += f"{prefix}0 scan {{ %7: float32[] = constant(1.0) program() {{ "
        prefix += "0_a"
    with pytest.raises(CheckError, match=r"lie in each other at most 64 deep"):
        read(text)


def test_notes_and_lines():
    found = read(GOOD)
    assert [str(node.line) for node in found.program.graph.nodes][4::2] == [
        "model.py:12",
        "model.py:13",
    ]


@given(
    st.integers(0, len(GOOD)), st.integers(1, 12), st.text('%@$(){}[]=,:# \nk"_0a.-', max_size=3)
)
def test_a_damaged_text_never_breaks_the_reader(start, length, put):
    damaged = GOOD[:start] + put + GOOD[start + length :]
    with contextlib.suppress(CheckError):  # and nothing else
        read(damaged)


def text_of(name):
    it = PROGRAMS[name]()
    return show(Lowered(it.program, it.layout))


LARGER = "\n".join(map(text_of, ("recurrent", "branched", "donated"))).split("\nprogram")


@given(st.data())
def test_a_damaged_larger_text_never_breaks_the_reader(data):
    text = data.draw(st.sampled_from(["program" + each.removeprefix("program") for each in LARGER]))
    read(text)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(1, 12))
    put = data.draw(st.text('%(){}[]=,:# \nk"_0123a.-', max_size=3))
    with contextlib.suppress(CheckError):  # and nothing else
        read(text[:start] + put + text[start + length :])
