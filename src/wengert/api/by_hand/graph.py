"""wg.Graph: a program built by hand, run, and differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.api.by_hand.building import Container
from wengert.api.by_hand.variants import Variants
from wengert.api.cotangents import cotangent_of
from wengert.core import tree
from wengert.core.bind import opened
from wengert.core.check import check
from wengert.core.graph import Graph as CoreGraph
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.text.html import to_html
from wengert.core.text.read import read
from wengert.core.text.show import show
from wengert.core.words.arguments import worded_methods
from wengert.errors import DTypeError, MissingGradient, TraceError
from wengert.interpret.printing import prints
from wengert.interpret.replay import inside, run_node, sizes_of
from wengert.interpret.tape import Tape
from wengert.interpret.trace import node_type


@worded_methods("__init__")
class Graph(Variants):
    """A program one can build node by node, look at, run and differentiate.

    >>> g = Graph()
    >>> x, w = g.input(np.ones((2, 3)), name="x"), g.parameter(np.ones((3, 1)), name="w")
    >>> loss = g.sum(g.tanh(g.matmul(x, w)))
    >>> g.backward(loss)
    >>> g.gradient(w).shape
    (3, 1)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[int, Any] = {}  # computed from the values of the inputs
        self._gradients: dict[int, Any] = {}

    @classmethod
    def of(cls, graph: CoreGraph) -> Graph:
        """A graph with the same nodes; handles of the original stay valid in it."""
        out = cls()
        out.nodes[:], out.inputs[:], out.returns[:] = graph.nodes, graph.inputs, graph.returns
        if isinstance(graph, Graph):
            out._given = dict(graph._given)
            out._made = dict(graph._made)
            out._kin = [(graph, len(graph)), *graph._kin]
        return out

    def value(self, node: Any) -> Any:
        """The value of a node for the present values of the inputs; a tree for a tree."""
        if isinstance(node, Container):
            return tree.map(self.value, node.tree)
        return np.array(self._compute(self.number(node), self._given, self._values))

    def _compute(self, target: int, given: Mapping[int, Any], values: dict[int, Any]) -> Any:
        """The value of one node; what it needs is computed once and kept in `values`."""
        with inside(sizes_of(self, dict(given))) as sizes:
            pending = [target]
            while pending:
                number = pending[-1]
                node = self.nodes[number]
                missing = [i for i in node.operands if i is not None and i not in values]
                if missing:
                    pending.extend(missing)
                    continue
                pending.pop()
                if number in values:
                    continue
                if number in given:
                    values[number] = given[number]
                elif node.op in (op.input, op.parameter):
                    raise ValueError(
                        f"{self.name(number)}: has a shape but no value; a value is needed to run "
                        "the graph. Give one with g.set(node, value) or as an argument of g.run."
                    )
                else:
                    values[number] = run_node(node, values, sizes)
        return values[target]

    def set(self, node: Any, value: Any) -> None:
        """Give an input or parameter a new value; all that depends on it is fresh from then on."""
        if isinstance(node, Container):
            handles, structure = tree.flatten(node.tree)
            leaves, form = tree.flatten(tree.arrays(value))
            if not form.alike(structure):
                raise TraceError(
                    f"set: given {form} for a tree of {structure}; the structures must be equal. "
                    "Pass a tree of the same form."
                )
            pairs = zip(handles, leaves, strict=True)
            self._given.update([self._fitting(self.number(h), x) for h, x in pairs])
        else:
            self._given.update([self._fitting(self.number(node), value)])
        self._values.clear()

    def _fitting(self, number: int, value: Any) -> tuple[int, Any]:
        """A value for an input, checked against its type."""
        node = self.nodes[number]
        if node.op not in (op.input, op.parameter):
            raise ValueError(
                f"set: given node {number}, the result of {node.op.name}; only inputs and "
                "parameters have a value of their own. Set one of those."
            )
        want = self.type(number)
        array = np.asarray(value)
        if not np.can_cast(array.dtype, want.dtype, "same_kind"):
            raise DTypeError(
                f"{self.name(number)}: given dtype {array.dtype}; the graph was made for "
                f"{want.dtype}. Convert it with astype."
            )
        sizes_of(self, {number: array})
        return number, np.array(array, want.dtype)

    def set_outputs(self, *nodes: Any) -> None:
        """Say what the graph returns: the loss first, then anything else."""
        self.returns[:] = [self.number(node) for node in nodes]

    @property
    def outputs(self) -> list[Tensor]:
        """What the graph returns, as nodes."""
        return [self.handle(number) for number in self.returns]

    def run(self, **inputs: Any) -> list[Any]:
        """The outputs for these inputs, by name; what is not named keeps its value."""
        names = {self.name(number): number for number in self.inputs}
        given = dict(self._given)
        for name, value in inputs.items():
            if name not in names:
                raise ValueError(
                    f"run: given input {name!r}; this graph has {', '.join(names) or 'none'}. "
                    "Use one of these names."
                )
            given.update([self._fitting(names[name], value)])
        if not self.returns:
            raise ValueError(
                "run: the graph has no outputs; they are what it returns. Call g.set_outputs first."
            )
        values: dict[int, Any] = {}
        for number, node in enumerate(self.nodes):
            if prints(node):
                self._compute(number, given, values)
        return [np.array(self._compute(number, given, values)) for number in self.returns]

    def backward(self, loss: Any, seed: Any = None) -> None:
        """Add the gradient of `loss` to the gradient of every parameter.

        `seed` is the cotangent of the loss: one by default, required where the loss is no scalar.
        """
        number = self.number(loss)
        value = self.value(number)
        gloss = cotangent_of("backward", value, seed)
        parameters = [
            n for n in self.inputs if self.nodes[n].op is op.parameter and n in self._given
        ]
        tape = Tape()
        with opened(tape):
            watched = {n: tape.watch(self._given[n]) for n in parameters}
            out = self._compute(number, self._given | watched, {})
        gradients: list[Any] = [None] * len(parameters)
        if isinstance(out, Tensor):
            gradients = tape.sweep({out.handle: gloss}, [watched[n].handle for n in parameters])
        for n, g in zip(parameters, gradients, strict=True):
            g = np.zeros_like(self._given[n]) if g is None else np.array(g)
            self._gradients[n] = self._gradients[n] + g if n in self._gradients else g

    def gradient(self, node: Any) -> Any:
        """The gradient accumulated in a parameter; a tree for a tree of parameters."""
        if isinstance(node, Container):
            kinds = [self.nodes[x.handle].op for x in tree.leaves(node.tree)]
            if op.parameter not in kinds:
                raise MissingGradient(
                    "gradient: given a tree of inputs, which accumulate no gradient; only "
                    "parameters do. Make it with g.parameter(tree)."
                )
            return tree.map(self._leaf_gradient, node.tree)
        number = self.number(node)
        if self.nodes[number].op is not op.parameter:
            raise MissingGradient(
                f"gradient: node {number} ({self.nodes[number].op.name}) accumulates no gradient; "
                "only parameters do. Make it a parameter, or put it into wrt of wg.grad_with_loss."
            )
        if number not in self._gradients:
            raise MissingGradient(
                f"gradient: {self.name(number)!r} has no gradient; one appears after backward. "
                "Call g.backward(loss) first."
            )
        return self._gradients[number].copy()

    def _leaf_gradient(self, handle: Tensor) -> Any:
        if self.nodes[handle.handle].op is op.parameter:
            return self.gradient(handle)
        return np.zeros(handle.shape, handle.dtype)  # integers and bools in a tree are data

    def zero_grad(self) -> None:
        """Set every accumulated gradient to zero."""
        self._gradients = {n: np.zeros_like(g) for n, g in self._gradients.items()}

    def check(self) -> None:
        """Verify that the graph keeps its own rules."""
        check(self, node_type)

    def to_text(self) -> str:
        """The graph as text; `Graph.from_text` reads it back."""
        return show(self)

    @classmethod
    def from_text(cls, text: str) -> Graph:
        """Read back what `to_text` wrote; values of inputs and parameters are not part of it."""
        return cls.of(read(text, node_type))

    def to_html(self, title: str = "Graph") -> str:
        """A page to look at in a browser."""
        return to_html(self, title)

    def __repr__(self) -> str:
        return show(self)
