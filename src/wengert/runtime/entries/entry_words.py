"""EntryWords: what the entry point knows of one executable, as 64-bit words.

Machine code reads it (`entry_code.py`), Python fills it (`entry.py`). All addresses are here and
none in the code, so one entry point serves every executable of a process. The table begins with the
words of `HEAD`; sections follow, each at the word that the head names. A section is a list of words
or of records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# Words at the beginning.
STATE = (
    "busy",  # 1 while a call uses this table and the frame
    "frame",  # address of the program's frame
    "program",  # address of its machine code
    "releases",  # 1 where other Python threads may run meanwhile: the program has taken long
    "held",  # objects that this call holds a reference to
    "made",  # results that it has made
    "left",  # calls until Python looks at what the program has captured
)
COUNTS = (
    "argument_count",
    "node_count",
    "leaf_count",
    "dim_count",
    "output_count",
    "term_count",
    "build_count",
    "apart_count",  # arrays that are compared, 0 where nothing is donated
    "place_count",  # places outside the arguments that are compared
    "sample_count",  # words of captured arrays that are compared
)
SECTIONS = (
    "places",
    "samples",
    "objects",  # arguments, then what is inside them, level by level
    "nodes",
    "keys",
    "leaves",
    "numbers",  # Python ints of this call
    "seen",  # the leaves of this call as addresses
    "sizes",  # of the axes of inputs: a number, or -1 - d for Dim d
    "least",  # of each Dim: the smallest size that the program is known to be right for
    "capacity",  # of each Dim: the largest size there is memory for
    "long_sizes",  # of each Dim: the size in the call that took long
    "begins",  # first byte of each leaf
    "ends",  # one past its last
    "order",  # leaves that are distinct arrays, by where they lay in the last call
    "outputs",
    "shapes",  # of the outputs
    "terms",
    "factors",
    "results",  # arrays, then the trees around them
    "builds",
    "children",
)
ADDRESSES = (
    "ndarray",
    "str",
    "not_implemented",
    "incref",
    "decref",
    "get_attribute",
    "clear_error",
    "compare_strings",
    "dict_size",
    "dict_next",
    "dict_item",
    "attributes",
    "set_size",
    "set_contains",
    "new_array",
    "set_handler",
    "handler",  # what large results get their memory from, or 0
    "new_tuple",
    "set_tuple_item",
    "new_list",
    "set_list_item",
    "new_dict",
    "set_dict_item",
    "save_thread",
    "restore_thread",
    "as_number",
    "error",
    "context_value",
    "false",
    "new_float",
    "new_int",
    "clock",  # or 0
)
# Of a gate (`gate.py`), 0 in all other tables.
GATE = (
    "table",  # address of the table that calls go on to
    "own_count",  # arguments that are given in advance: they stand in `objects`
    "changing",  # which of these is taken from a list, or -1
    "list",  # address of that list
    "counter",  # address of the number that says which element it is
    "first",  # the number for which it is the first one
    "turn",  # address of a number that has to be below a limit, or 0
    "turns",  # the limit
    "mode",  # address of the context variable that has to be False
    "notes",  # address of the list in which calls are noted, or 0
    "calls",  # address of the number of calls that were made
    "report",  # the output whose first number is the answer, or -1: the tree is
    "part",  # the part of the tree that goes with that number, or -1
)
HEAD = {name: i for i, name in enumerate((*STATE, *COUNTS, *SECTIONS, *ADDRESSES, *GATE))}

# Records. A node of the arguments: its children become the objects from `children` on. NOTHING is
# None, in which there are none.
TUPLE, LIST, DICT, FIELDS, NOTHING = range(5)
NODE = ("kind", "type", "object", "count", "children", "keys", "attributes")
# `attributes` is how many an object of a dataclass has in its __dict__, or -1 where it has none.
# A place outside the arguments, of a kind of `runtime/outside/watch.py`. `expected` is the address
# of what is there, 0 for nothing, or a number.
PLACE = ("kind", "container", "key", "expected")
# A word of a captured array, of which the bits of `mask` are compared.
SAMPLE = ("address", "mask", "expected")
# A leaf. `first` is its own number, or that of the same array before it; `group` the first leaf of
# the same argument. A static leaf has dtype 0, and its value is compared by identity.
LEAF = (
    "object",
    "dtype",
    "scalar",  # type of the NumPy scalars that are accepted, or the address of the static value
    "flags",
    "rank",
    "sizes",
    "slot",
    "first",
    "group",
    "itemsize",
    "donated",
    "whole",  # 1 where it is a Python int
)
# An output: a new array, or (`leaf` not negative) a donated one.
OUTPUT = ("leaf", "type_number", "itemsize", "rank", "shape", "slot")
# One product of a size that depends on Dims: the word it is added to, and what is multiplied.
TERM = ("word", "coefficient", "factors", "count", "starts")
# A tree around results; CONSTANT is a static value, whose address is in `keys`.
CONSTANT = 5
BUILD = ("kind", "count", "children", "keys")

BLOCK = 8  # of `seen` that are compared at once


class EntryWords:
    """The words of one table, while they are put together."""

    def __init__(self) -> None:
        self.sections: dict[str, list[int]] = {name: [] for name in SECTIONS}
        self.head: dict[str, int] = {}

    def add(self, section: str, *words: int) -> int:
        """Put words at the end of a section; the place of the first."""
        content = self.sections[section]
        content.extend(words)
        return len(content) - len(words)

    def record(self, section: str, fields: Sequence[str], **values: int) -> int:
        """Put a record at the end of a section; its number."""
        return self.add(section, *(values[name] for name in fields)) // len(fields)

    def reserve(self, section: str, count: int) -> None:
        self.sections[section].extend([0] * count)

    def words(self, addresses: Mapping[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The whole table."""
        head = {**self.head, **addresses}
        at = len(HEAD)
        for name, section in self.sections.items():
            head[name] = at
            at += len(section)
        words = [head.get(name, 0) for name in HEAD]
        for section in self.sections.values():
            words += section
        return np.array(words, np.int64)
