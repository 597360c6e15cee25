"""KnownPrograms: which program serves a call. The one place that is asked.

A call asks three times, each time more slowly and with more success:

1. `recent` are the programs used last. The entry of each compares the arguments in machine code,
   and answers NotImplemented where they are not for it. Nearly every call ends here.
2. `find` looks up the kind of the arguments (trees, dtypes, ranks) and their shapes, both. Where
   sizes are part of programs, a function has many of a kind: this finds the one of these sizes.
3. Then it goes through all programs of the kind. One may leave sizes open, and another may hold for
   what the function reads from outside as it is now.

Where all that finds nothing, the function is recorded. What is recorded may still be a program that
is there already (`alike`): what has changed outside did not matter to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from wengert.api.by_hand.graph import Graph
from wengert.core import tree
from wengert.core.dims import Shape
from wengert.runtime.caching.cache_key import Unkeyed, graph_parts
from wengert.runtime.executable import Executable
from wengert.runtime.signature import Signature, bound_sizes

STALE = 8  # programs of a kind that are kept although something outside makes them useless now
RECENT = 32  # programs that a call tries first: to ask all of them is quicker than a lookup


class KnownPrograms:
    """The programs of one function."""

    def __init__(self) -> None:
        self.recent: tuple[Executable, ...] = ()  # used last, the latest first
        self._by_kind: dict[Hashable, list[Executable]] = {}
        self._by_shapes: dict[Hashable, Executable] = {}  # the one used last, by kind and shapes

    def __iter__(self) -> Iterator[Executable]:
        return iter([each for known in self._by_kind.values() for each in known])

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))

    def find(
        self, kind: Hashable, structure: tree.Structure, shapes: Sequence[Shape]
    ) -> tuple[Executable, dict[str, int]] | None:
        """A program that is right for such arguments now, and the sizes of its Dims."""
        last = self._by_shapes.get((kind, tuple(shapes)))
        for executable in (*([] if last is None else [last]), *self._by_kind.get(kind, ())):
            sizes = bound_sizes(executable.input_types, shapes)
            if (
                sizes is not None
                and executable.suits(sizes)
                and executable.signature.structure == structure
                and executable.is_current()
            ):
                return executable, sizes
        return None

    def note_use(self, kind: Hashable, shapes: Sequence[Shape], executable: Executable) -> None:
        """Let a program be the first that is asked."""
        self._by_shapes[kind, tuple(shapes)] = executable
        others = (x for x in self.recent if x is not executable)
        self.recent = (executable, *others)[:RECENT]

    def add(self, kind: Hashable, executable: Executable) -> bool:
        """Remember a program, and say whether it is new; of those that something outside has made
        useless, a few are kept.
        """
        known = self._by_kind.setdefault(kind, [])
        if executable in known:
            return False
        stale = [each for each in known if not each.watch.holds()]
        if len(stale) >= STALE:
            known.remove(stale[0])
            self._by_shapes = {k: x for k, x in self._by_shapes.items() if x is not stale[0]}
        known.append(executable)
        return True

    def alike(self, graph: Graph, signature: Signature, sizes: dict[str, int]) -> Executable | None:
        """The program that was made of this very graph: it is of no use as it stands, as something
        outside has changed, but that does not matter to it.
        """
        stale = [each for each in self if each.signature == signature and each.sizes == sizes]
        if not stale:
            return None
        try:
            parts = graph_parts(graph)
            same = next((each for each in stale if graph_parts(each.graph) == parts), None)
        except Unkeyed:
            same = None
        if same is None:
            for each in stale:
                each.watch.require_unchanged()
        return same
