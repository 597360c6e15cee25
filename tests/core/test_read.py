"""Graphs from text: what is said about a bad one."""

import contextlib

import pytest
import sample_graphs
from graph_texts import same_graph
from hypothesis import given
from hypothesis import strategies as st

from wengert.core.text.show import read, show
from wengert.errors import CheckError

GOOD = """\
graph(%0: float32[batch, 4] "x", %1: float32[4, 64] "w") {
  %2: float32[batch, 64] = matmul(%0, %1)   # model.py:12
  %3: float32[] = sum(%2, axes=(0, 1), keepdims=False)
  %4: float32[2] = constant([1.0, 2.0])
  return %3
}"""

BAD = {  # what is replaced in the good text, by what, and what is said
    "empty": (GOOD, "", "line 1 has the end of the text; a graph begins with 'graph('"),
    "no graph": ("graph(", "grph(", "line 1 has 'grph'; a graph begins with 'graph('"),
    "cut": ("}", "", "line 6 has the end of the text; expected '}' or ','"),
    "after": (
        "}",
        "}\nmore",
        "line 7 has 'more'; the text must end after the graph, or go on with",
    ),
    "op": ("matmul", "matmull", "line 2 has 'matmull'; there is no such op, did you mean matmul?"),
    "strange op": ("matmul", "qqq", "line 2 has 'qqq'; there is no such op."),
    "dtype": (
        "float32[batch, 64]",
        "float31[batch, 64]",
        "line 2 has 'float31'; expected a type: one of",
    ),
    "size": ("[batch, 64] =", "[batch, 6.4] =", "line 2 has '6'; expected a size such as 4 or"),
    "no sizes": ("float32[] = sum", "float32 = sum", "line 3 has '='; expected '[' and the sizes"),
    "no type": ("%3: float32[] =", "%3 =", "line 3 has '='; expected ':' and a type"),
    "number": ("keepdims=False", "keepdims=1.2.3", "line 3 has '1'; expected a value"),
    "word": ("keepdims=False", "keepdims=slice", "line 3 has ')'; expected '('"),
    "no value": ("keepdims=False", "keepdims=", "line 3 has ')'; expected a value"),
    "element": ("2.0]", "two]", "line 4 has 'two'; expected a number, or numbers in brackets"),
    "too many elements": (
        "2.0]",
        "2.0, 3.0]",
        "line 4 has '['; these elements make no float32 array of",
    ),
    "ragged": (
        "[1.0, 2.0]",
        "[[1.0], 2.0]",
        "line 4 has '['; these elements make no float32 array",
    ),
    "out of range": (
        "%4: float32[2] = constant([1.0, 2.0])",
        "%4: int8[1] = constant([300])",
        "line 4 has '['; these elements make no int8 array of shape (1,)",
    ),
    "no data": (
        "[1.0, 2.0]",
        "$0",
        "line 4 has '$0'; the text ends without a data section that has it",
    ),
    "bad data": (
        "return %3\n}",
        'return %3\n}\ndata {\n  $0 = "a"\n}',
        "line 8 has '\"'; expected base64",
    ),
    "python": (
        "keepdims=False",
        "keepdims=<python f>",
        "line 3 has '<python'; a Python object cannot",
    ),
    "twice": ("keepdims=False", "axes=(0,)", "line 3 has 'axes'; this parameter is given twice"),
    "order": (
        "axes=(0, 1), keepdims=False",
        "axes=(0, 1), %1",
        "line 3 has '%1'; operands must stand",
    ),
    "bare": (
        "%2, axes",
        "2, axes",
        "line 3 has '2'; expected an operand such as %3 or a parameter",
    ),
    "number taken": ("%3: ", "%2: ", "line 3 has '%2'; this number is taken in line 2"),
    "input taken": ("%3: ", "%1: ", "line 3 has '%1'; this number is taken in line 1"),
    "gap": ("%4: ", "%7: ", "line 4 has '%7'; there is no %4, nodes are numbered without gaps"),
    "quotes": ('"w"', "w", "line 1 has 'w'; expected a text in double quotes"),
    "escape": ('"w"', '"\\q"', "line 1 has '\"'; its escapes must be those of JSON"),
    "body": (
        "keepdims=False",
        "keepdims=@body",
        "line 3 has '@body'; expected this graph in a block",
    ),
    "other body": (
        "keepdims=False)",
        "keepdims=False) { body = graph() { return } }",
        "line 3 has 'body'; no parameter above is @body",
    ),
    "deep value": (
        "keepdims=False",
        "keepdims=" + "(" * 100_000,
        "line 3 has '('; brackets and graphs lie in each other at most 64 deep",
    ),
    "deep elements": (
        "[1.0, 2.0]",
        "[" * 100_000,
        "line 4 has '['; brackets and graphs lie in each other at most 64 deep",
    ),
    "deep graphs": (
        "keepdims=False)",
        "keepdims=False) " + "{ body = graph() { %0: float32[] = region(body=@body) " * 2000,
        "line 3 has ')'; brackets and graphs lie in each other at most 64 deep",
    ),
    "long node number": (
        "sum(%2",
        "sum(%" + "2" * 5000,
        f"line 3 has '%{'2' * 39}…'; expected an operand",
    ),
    "long output": ("return %3", "return %" + "3" * 5000, "line 5 has '%333"),
    "long number": (
        "keepdims=False",
        "keepdims=" + "1" * 5000,
        "line 3 has '111",
    ),
    "long element": ("2.0]", "2" * 5000 + "]", "line 4 has '222"),
    "long size": ("[batch, 64] =", f"[batch, {'6' * 5000}] =", "line 2 has '666"),
    "large size": (
        "[batch, 64] =",
        f"[batch, {2**63}] =",
        f"line 2 has '{2**63}'; the numbers of a size are below 2**63",
    ),
    "large product": (
        "[batch, 64] =",
        f"[batch, {'*'.join(['9999999999'] * 90)}*batch] =",
        "line 2 has '9999999999'; the numbers of a size are below 2**63",
    ),
    "long Dim": (
        "keepdims=False",
        f'keepdims=dim("{"float32*" * 500}float32")',
        "line 3 has '\"'; 'float32*floa...oat32*float32' is no size",
    ),
    "superscript in a Dim": (
        "keepdims=False",
        'keepdims=dim("²")',
        "line 3 has '\"'; '²' is no size",
    ),
    "no dtype": (
        "keepdims=False",
        'keepdims=dtype("(1,")',
        "line 3 has 'dtype'; '(1,' is no dtype",
    ),
    "half a character": (
        '"w"',
        '"\\ud800"',
        "line 1 has '\"'; its escapes must be those of JSON",
    ),
    # true to the grammar, but not to the ops
    "wrong type": (
        "float32[batch, 64] =",
        "float32[batch, 65] =",
        "line 2: matmul: node 2 (model.py:12) has type float32[batch, 65]; its rule gives",
    ),
    "shapes": (
        "float32[4, 64]",
        "float32[5, 64]",
        "line 2: matmul: node 2 (model.py:12) is refused by",
    ),
    "scope": (
        "sum(%2",
        "sum(%4",
        "line 3: sum: node 3 has operand 0 = node 4; only the nodes before it",
    ),
    "unknown node": ("return %3", "return %9", "line 1: graph: has node 9 among its outputs"),
    "parameter": (
        "keepdims=False",
        "keepdim=False",
        "line 3: sum: node 3 is refused by its own type rule",
    ),
    "same names": ('"w"', '"x"', "line 1: input: node 1 is named 'x' as node 0 is"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_explained(name):
    old, new, message = BAD[name]
    read(GOOD)
    assert old in GOOD
    with pytest.raises(CheckError) as caught:
        read(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"read: {message}"), caught.value


def test_a_fault_inside_a_body_names_its_line():
    text = show(sample_graphs.loops(), lines=False)
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "= tanh(" in each)
    bad = text.replace("float32[4] = tanh", "float32[5] = tanh")
    with pytest.raises(CheckError, match=rf"^read: line {line}: tanh: node \d+ in body of node"):
        read(bad)


def test_spaces_lines_and_comments_are_free():
    text = "# a graph\n" + GOOD.replace(", ", " ,\n").replace("# model.py:12", "# by hand")
    graph = read(text + "\n\n")
    assert graph.nodes[2].line is None
    assert same_graph(graph, read(GOOD.replace("# model.py:12", "")))


def test_a_line_with_too_many_digits_is_a_comment():
    graph = read(GOOD.replace("model.py:12", f"model.py:{'1' * 5000}"))
    assert graph.nodes[2].line is None
    assert same_graph(graph, read(GOOD.replace("# model.py:12", "")))


def test_what_is_nested_less_deep_is_read():
    text = "graph() { %0: float32[] = constant(1.0) return %0 }"
    for _ in range(20):
        inner = text.replace("graph()", "body = graph()", 1)
        text = f"graph() {{ %0: (float32[],) = region(body=@body) {{ {inner} }} "
        text += "%1: float32[] = pick(%0, index=0) return %1 }"
    assert same_graph(read(text), read(show(read(text))))


@given(st.integers(0, len(GOOD)), st.integers(1, 12), st.text('%@$(){}[]=,:# \n"_0a.-', max_size=3))
def test_a_damaged_text_never_breaks_the_reader(start, length, put):
    damaged = GOOD[:start] + put + GOOD[start + length :]
    with contextlib.suppress(CheckError):  # and nothing else
        read(damaged)
