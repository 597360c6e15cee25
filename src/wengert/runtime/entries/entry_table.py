"""Fill the table of an entry point: from trees and types to words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wengert.core import tree
from wengert.core.dims import Dim, Size
from wengert.core.dtypes import is_float
from wengert.core.process.ending import ending
from wengert.core.trees.tree_nodes import is_namedtuple, rest_of
from wengert.core.types import ArrayType
from wengert.runtime.call_memory import Memory
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_words import (
    BLOCK,
    BUILD,
    CONSTANT,
    DICT,
    FIELDS,
    LEAF,
    LIST,
    NODE,
    NOTHING,
    OUTPUT,
    PLACE,
    SAMPLE,
    TERM,
    TUPLE,
    EntryWords,
)
from wengert.runtime.outside.sampled_words import SampledWord
from wengert.runtime.outside.watch import (
    DICT_SIZE,
    ELEMENT,
    FIELD,
    LIST_SIZE,
    MISSING,
    SET_SIZE,
    Place,
)
from wengert.runtime.signature import LEAF_MARK, Signature, Static

NEVER = 1 << 62  # more than any size


class Unsupported(Exception):
    """The entry point cannot read arguments of these kinds; calls take the slow path."""


class Filled:
    """A table while it is filled, and the objects it has the addresses of."""

    def __init__(self, signature: Signature, memory: Memory) -> None:
        self.signature, self.memory = signature, memory
        self.table = EntryWords()
        self.kept: list[Any] = []
        self._count = 0  # how many objects opening the arguments will give
        # Of each leaf: its object, and the first leaf of its argument.
        self._leaves: list[tuple[int, int]] = []
        self._rest: list[tuple[int, Any]] = []  # attributes of dataclasses that are no fields
        self._first: dict[int, int] = {}  # of each distinct array: its first leaf

    def _address(self, thing: Any) -> int:
        """Where an object is; it stays as long as the table."""
        self.kept.append(thing)
        return id(thing)

    # Arguments.

    @ending.whole
    def read_arguments(self, types: Sequence[ArrayType]) -> None:
        if ending.near:
            ending.pass_or_stay()
        arguments = self.signature.structure.spec.children()
        self._count = len(arguments)
        for i, argument in enumerate(arguments):
            self._open(i, argument, len(self._leaves))
        self.table.reserve("objects", self._count)
        self.table.head["argument_count"] = len(arguments)
        rest = iter(self.signature.places)
        for i, value in enumerate(self.signature.structure.static):
            if value is LEAF_MARK:
                place = next(rest)
                self._compare_array(i, place, types[place])
            else:
                self._compare_static(i, value)
        for thing, value in self._rest:
            self._leaves.append((thing, 0))
            self._compare_static(len(self._leaves) - 1, value)
        self._compare_memory()
        dims = len(self.memory.layout.dims)
        self.table.add("least", *[NEVER] * dims)
        self.table.add("capacity", *[-1] * dims)
        self.table.reserve("long_sizes", dims)
        self.table.head |= {"dim_count": dims, "leaf_count": len(self._leaves)}

    def _open(self, thing: int, node: Any, group: int) -> None:
        """Have machine code open a container, and then what is inside it."""
        if node.is_leaf():
            self._leaves.append((thing, group))
            return
        kind, children, first = _kind(node), node.children(), self._count
        keys = list(node.entries()) if kind in (DICT, FIELDS) else []
        count, attributes = len(children), -1
        if kind == FIELDS:
            rest, attributes = rest_of(node)
            keys += rest
            self._rest += zip(range(first + count, first + len(keys)), rest.values(), strict=True)
            count = len(keys)
        self._count += count
        self.table.head["node_count"] = 1 + self.table.record(
            "nodes",
            NODE,
            kind=kind,
            type=self._address(node.type),
            object=thing,
            count=count,
            children=first,
            keys=self.table.add("keys", *map(self._address, keys)),
            attributes=attributes,
        )
        for i, child in enumerate(children, first):
            self._open(i, child, group)

    def _compare_array(self, i: int, place: int, wanted: ArrayType) -> None:
        donated = place in self.signature.donated
        flags = objects.CONTIGUOUS | objects.ALIGNED | (objects.WRITEABLE if donated else 0)
        thing, group = self._leaves[i]
        scalar: Any = None if donated or wanted.shape else wanted.dtype.type
        rank, number = wanted.ndim, thing in self.signature.numbers
        if number:  # arrays are of another kind: their dtypes do not give way
            scalar, rank = (float if is_float(wanted.dtype) else int), NEVER
        self.table.record(
            "leaves",
            LEAF,
            object=thing,
            dtype=objects.dtype_word(wanted.dtype),
            scalar=0 if scalar is None else self._address(scalar),
            flags=flags,
            rank=rank,
            sizes=self.table.add("sizes", *map(self._size, wanted.shape)),
            slot=self.memory.inputs[place],
            first=self._first.setdefault(place, i),
            group=group,
            itemsize=wanted.dtype.itemsize,
            donated=donated,
            whole=number and scalar is int,
        )

    def _size(self, size: Size) -> int:
        """The size of an axis, or the number of a Dim that is bound to it."""
        if not isinstance(size, Dim):
            return size
        if len(size.terms) > 1 or size.terms[0][1] != 1 or len(size.terms[0][0]) != 1:
            raise Unsupported
        return -1 - self.memory.layout.dims.index(size.terms[0][0][0])

    def _compare_static(self, i: int, value: Any) -> None:
        given = value.value if isinstance(value, Static) else value
        thing, group = self._leaves[i]
        fields = dict.fromkeys(LEAF, 0) | {"object": thing, "first": i, "group": group}
        self.table.record("leaves", LEAF, **fields | {"scalar": self._address(given)})

    def _compare_memory(self) -> None:
        """Where arrays are donated, have all distinct ones compared."""
        table, count = self.table, len(self._leaves)
        table.reserve("numbers", count)
        table.reserve("seen", count + BLOCK)
        table.reserve("begins", count)
        table.reserve("ends", count)
        if self.signature.donated:
            table.add("order", *self._first.values())
        table.head["apart_count"] = len(table.sections["order"])

    # Places outside the arguments.

    def watch(self, places: Sequence[Place]) -> None:
        self.kept += add_places(self.table, places)

    def sample(self, samples: Sequence[SampledWord]) -> None:
        """Have machine code compare words of arrays, which are not kept alive by that."""
        for each in samples:
            self.table.record("samples", SAMPLE, **each._asdict())
        self.table.head["sample_count"] = len(samples)

    # Results.

    def make_outputs(self, types: Sequence[ArrayType], written: Mapping[int, int]) -> None:
        for j, made in enumerate(types):
            self.table.record(
                "outputs",
                OUTPUT,
                leaf=self._first[written[j]] if j in written else -1,
                type_number=made.dtype.num,
                itemsize=made.dtype.itemsize,
                rank=made.ndim,
                shape=self._shape(made),
                slot=self.memory.outputs[j],
            )
        self.table.head["output_count"] = len(types)
        self.table.head["term_count"] = len(self.table.sections["terms"]) // len(TERM)
        self.table.reserve("results", len(types))

    def _shape(self, made: ArrayType) -> int:
        """The words that hold the sizes of a result: written here, or computed in every call where
        they depend on Dims.
        """
        numbers = (0 if isinstance(size, Dim) else size for size in made.shape)
        first = self.table.add("shapes", *numbers)
        for word, size in enumerate(made.shape, first):
            terms = size.terms if isinstance(size, Dim) else ()
            for k, (monomial, coefficient) in enumerate(terms):
                factors = [self.memory.layout.dims.index(name) for name in monomial]
                self.table.record(
                    "terms",
                    TERM,
                    word=word,
                    coefficient=coefficient,
                    factors=self.table.add("factors", *factors),
                    count=len(factors),
                    starts=not k,
                )
        return first

    @ending.whole
    def build(self, returned: tree.Structure) -> bool:
        """Have machine code build the tree of the results. Where it cannot (False), it makes a list
        of them, and Python builds the tree.
        """
        if ending.near:
            ending.pass_or_stay()
        known, outputs = _buildable(returned.spec), range(self.table.head["output_count"])
        if known:
            self._build(returned.spec, iter(outputs), iter(returned.static))
        else:
            self._add_build(LIST, outputs)
        return known

    def _build(self, node: Any, outputs: Iterator[int], statics: Iterator[Any]) -> int:
        """Note how a node of that tree is built; the number of the result it becomes."""
        if node.is_leaf():
            value = next(statics)
            return next(outputs) if value is LEAF_MARK else self._constant(value)
        kind = _kind(node)
        if kind == NOTHING:
            return self._constant(None)
        children = [self._build(child, outputs, statics) for child in node.children()]
        return self._add_build(kind, children, node.entries() if kind == DICT else ())

    def _constant(self, value: Any) -> int:
        return self._add_build(CONSTANT, (), (value,))

    def _add_build(self, kind: int, children: Sequence[int], keys: Sequence[Any] = ()) -> int:
        number = self.table.record(
            "builds",
            BUILD,
            kind=kind,
            count=len(children),
            children=self.table.add("children", *children),
            keys=self.table.add("keys", *map(self._address, keys)),
        )
        self.table.reserve("results", 1)
        self.table.head["build_count"] = number + 1
        return self.table.head["output_count"] + number


def add_places(table: EntryWords, places: Sequence[Place]) -> list[Any]:
    """Have machine code compare what is at these places; the objects that the table then has the
    addresses of.
    """
    kept: list[Any] = list(places)
    for place in places:
        kept += (place.container, place.key)
        table.record(
            "places",
            PLACE,
            kind=place.kind,
            container=id(place.container),
            key=place.key if place.kind in (ELEMENT, FIELD) else id(place.key),
            expected=expected_word(place),
        )
    table.head["place_count"] = len(places)
    return kept


def expected_word(place: Place) -> int:
    """What machine code finds at a place where nothing has changed."""
    if place.kind in (LIST_SIZE, DICT_SIZE, SET_SIZE):
        return int(place.value)
    return 0 if place.value is MISSING else id(place.value)


def _kind(node: Any) -> int:
    """How a node of arguments is opened."""
    known = {tuple: TUPLE, list: LIST, dict: DICT, type(None): NOTHING}
    if node.type in known:
        return known[node.type]
    if is_namedtuple(node.type):
        return TUPLE
    if dataclasses.is_dataclass(node.type):
        names = [field.name for field in dataclasses.fields(node.type)]
        if node.entries() == names:
            return FIELDS
    raise Unsupported


def _buildable(node: Any) -> bool:
    if node.is_leaf():
        return True
    known = node.type in (tuple, list, dict, type(None))
    return known and all(map(_buildable, node.children()))
