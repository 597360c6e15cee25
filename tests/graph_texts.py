"""Whether two graphs are the same, and whether a graph survives being written and read."""

import numpy as np

from wengert.core.graph import Graph
from wengert.core.text.show import read, show


def same_value(a, b):
    if isinstance(a, np.ndarray | np.generic):
        equal = type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        return equal and a.tobytes() == b.tobytes()
    if type(a) is tuple:
        return type(b) is tuple and len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, Graph):
        return same_graph(a, b)
    if isinstance(a, slice):
        return same_value((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return type(a) is type(b) and repr(a) == repr(b)


def same_graph(a, b):
    return (a.inputs, a.returns, len(a)) == (b.inputs, b.returns, len(b)) and all(
        x.op is y.op
        and x.operands == y.operands
        and x.type == y.type
        and str(x.line) == str(y.line)
        and x.params.keys() == y.params.keys()
        and all(same_value(x.params[k], y.params[k]) for k in x.params)
        for x, y in zip(a.nodes, b.nodes, strict=True)
    )


def require_round_trip(graph):
    text = show(graph)
    again = read(text)
    assert show(again) == text
    assert same_graph(graph, again)
    return text
