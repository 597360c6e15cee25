"""Storage: a model in a training step, with its live arrays and the trees that show them."""

from __future__ import annotations

import reprlib
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import DType, float32, float64, is_float, require_supported
from wengert.core.trees.same import same
from wengert.core.words.foreign_names.callers import updates_attribute
from wengert.core.words.functions import NAMELESS, name_of_function
from wengert.core.words.noticed.lost_writes import below, require_unwritten
from wengert.core.words.noticed.tied import (
    warn_of_assigned_tie,
    warn_of_shared_memory,
    warn_of_ties,
)
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import LiveWarning, OptimError, ShapeError, UntrainedWarning, WideningWarning
from wengert.interpret.trace import recorded_constants
from wengert.optim.parameters import leaf_name, warn_of_floats
from wengert.runtime.outside.watch import owner_of
from wengert.runtime.refusals import require_plain
from wengert.train.mistakes.copied.given_objects import GivenObject, given_objects
from wengert.train.mistakes.copied.given_trees import GivenArray, given_arrays
from wengert.train.mistakes.redefined_classes import require_known_classes
from wengert.train.recorded.optimizer_groups import (
    Group,
    require_matching,
    require_useful,
)
from wengert.train.segments import Segment, begin_states, layout_of, live_zeros, new_segments

Array: TypeAlias = np.ndarray[Any, Any]


def places_of(leaves: Sequence[Any]) -> list[int]:
    """Which of the distinct arrays each leaf is; one that is tied stands at several places."""
    distinct: dict[int, int] = {}
    return [distinct.setdefault(id(x), len(distinct)) for x in leaves]


def distinct_of(leaves: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The distinct arrays among leaves, in the order of their places."""
    return list(dict(zip(places, leaves, strict=True)).values())


class Storage:
    """A model's parameters, data and optimizer state, and the trees that show them."""

    def __init__(self, model: Any, groups: Sequence[Group]) -> None:
        leaves, self.structure = tree.flatten(model)
        paths = tree.paths(model)
        self.places = places_of(leaves)  # which of the distinct leaves each leaf is
        values = distinct_of(leaves, self.places)
        if len(values) < len(leaves):
            warn_of_ties("TrainStep", model)
        self.paths: list[tuple[str, ...]] = [
            tuple(path for path, k in zip(paths, self.places, strict=True) if k == place)
            for place in range(len(values))
        ]
        _require_own_paths(self.paths)
        values = [_checked(path[0], x, "model") for path, x in zip(self.paths, values, strict=True)]
        if values:  # first, as other faults may follow from a mistyped glob
            warn_of_shared_memory("TrainStep", [path[0] for path in self.paths], values)
            require_matching(groups, self.paths)
        self.layout = layout_of(values, self.paths, groups)
        require_useful(groups, self.paths, {group for group, _ in self.layout})
        self._begin(values, groups)
        self.given_objects = self._objects_of(model, leaves)

    def member(self, model: Any, groups: Sequence[Group]) -> Storage | None:
        """The storage of another model that is laid out as this one; None where it is of another
        form, or has to be looked at more closely. The rules of the groups are known to be the same.
        """
        leaves, structure = tree.flatten(model)
        if (
            not structure.alike(self.structure)
            or places_of(leaves) != self.places
            or not all(map(same, structure.static, self.structure.static))
        ):
            return None
        values = distinct_of(leaves, self.places)
        for x, mine in zip(values, self.leaves, strict=True):
            if type(x) is not np.ndarray or x.shape != mine.shape or x.dtype != mine.dtype:
                return None
        if len(values) < len(leaves):
            warn_of_ties("TrainStep", model)
        warn_of_shared_memory("TrainStep", [path[0] for path in self.paths], values)
        made = Storage.__new__(Storage)
        made.structure, made.places, made.paths = structure, self.places, self.paths
        made.layout = self.layout
        made._begin(values, groups)
        made.given_objects = made._objects_of(model, leaves)
        return made

    def _objects_of(self, model: Any, leaves: Sequence[Any]) -> list[GivenObject]:
        return given_objects("model", model, leaves, [self.leaves[place] for place in self.places])

    def _begin(self, values: Sequence[Array], groups: Sequence[Group]) -> None:
        """The live arrays, with these values."""
        # What was given, by path: the loss may read it in the place of the model it is called with.
        self.given = {
            path[0]: weakref.ref(owner_of(x)) for path, x in zip(self.paths, values, strict=True)
        }
        self.segments = new_segments(self.layout, groups)
        self.data = {  # integers and bools by place: saved and never updated
            place: _copied(x) for place, x in enumerate(values) if not is_float(x.dtype)
        }
        self.leaves: list[Any] = [self.data.get(place) for place in range(len(values))]
        for segment in self.segments:
            for parameter in segment.parameters:
                view = parameter.view(segment.weights)
                view[...] = values[parameter.place]
                self.leaves[parameter.place] = view
        paths = [path[0] for path in self.paths]
        self.given_arrays = given_arrays("model", paths, values, self.leaves)
        begin_states(self.trained, groups)

    @cached_property
    def static(self) -> dict[str, Any]:
        """Numbers and texts of the model, which are part of its programs, and the names of its
        functions, by path.
        """
        model = self.tree(self.leaves)
        named = {path: name_of_function(f) for path, f in tree.functions(model)}
        functions = {path: name for path, name in named.items() if name != NAMELESS}
        return functions | dict(tree.plain_values(model))

    @property
    def trained(self) -> list[Segment]:
        return [segment for segment in self.segments if segment.gradients is not None]

    @property
    def leaves_by_path(self) -> dict[str, Any]:
        return {path[0]: leaf for path, leaf in zip(self.paths, self.leaves, strict=True)}

    def given_parameters(self) -> list[GivenArray]:
        """The arrays that were given for what is trained."""
        trained = {id(self.leaves[p.place]) for s in self.trained for p in s.parameters}
        return [each for each in self.given_arrays if id(each.live) in trained]

    @property
    def averages(self) -> bool:
        """Whether an optimizer keeps an average of weights."""
        return any(segment.average is not None for segment in self.trained)

    @property
    def frozen(self) -> list[Segment]:
        return [segment for segment in self.segments if segment.gradients is None]

    @property
    def fine_groups(self) -> set[int]:
        """The numbers of the groups that have parameters of float64."""
        return {group for group, dtype in self.layout if dtype == float64}

    @property
    def dtype(self) -> DType:
        """The dtype of the model: that of its parameters, the widest where they differ."""
        return np.result_type(*{segment.dtype for segment in self.segments})

    def warn_of_wide_leaves(self) -> None:
        """Warn where a few leaves are float64 in a model of float32: they make all of it so."""
        by_dtype: dict[DType, list[str]] = {}
        for segment in self.segments:
            by_dtype.setdefault(segment.dtype, []).extend(p.path for p in segment.parameters)
        if not 0 < len(by_dtype.get(float64, ())) <= len(by_dtype.get(float32, ())):
            return
        warn_user(
            f"TrainStep: {leaf_name(by_dtype[float64][0], 'model')} is float64, and others such as "
            f"{by_dtype[float32][0]!r} are float32; batches are cast to float64, and so is all "
            "that the loss computes of them. Make it an array of np.float32, or say cast=False if "
            "that is meant.",
            WideningWarning,
        )

    def warn_of_floats(self) -> None:
        """Warn of Python floats that stand where parameters could."""
        warn_of_floats("TrainStep", "model", self.tree(self.leaves), self.dtype)

    def warn_of_integers(self, place: int, line: Line | None) -> None:
        """Warn that a leaf of integers, which a loss uses as floats, is not trained."""
        dtype, name = self.data[place].dtype, leaf_name(self.paths[place][0], "model")
        warn_user(
            f"TrainStep: {name} is an array of {dtype}, and the "
            "loss computes with it as with floats; integers are data, and are not trained. Make it "
            f"an array of np.{self.dtype} to train it; if it is data, convert it in the loss, with "
            "astype.",
            UntrainedWarning,
            line,
        )

    def warn_of_originals(self, unreached: Sequence[str]) -> None:
        """Warn where no gradient reaches a parameter because the program that is being recorded
        reads the array that was given for it.
        """
        constants = {id(owner_of(x)): line for x, line in recorded_constants()}
        given = [(path, self.given[path]()) for path in unreached]
        read = [
            (path, constants[id(x)]) for path, x in given if x is not None and id(x) in constants
        ]
        if read:
            path, line = read[0]
            where = "" if line is None else f" ({line})"
            more = f" and {len(read) - 1} more" if len(read) > 1 else ""
            warn_user(
                f"TrainStep: no gradient reaches {path!r}{more}, for the loss reads the array that "
                "the step was made with; the step trains a copy, which is in the model that "
                f"the loss is called with. Take it from that one.{where}",
                UntrainedWarning,
            )

    def tree(self, leaves: Sequence[Any]) -> Any:
        """A tree of the model's form with these values for its distinct leaves."""
        return tree.unflatten(self.structure, [leaves[place] for place in self.places])

    def require_unwritten(
        self, by: str, name: str, leaves: Sequence[Any], model: Any, returned: Any
    ) -> None:
        """Refuse that a function wrote to a model, made of these leaves, what it did not return."""
        own = [leaves[place] for place in self.places]
        require_unwritten(by, below(name), self.structure, own, model, returned)

    def views(self, choose: Callable[[Segment], Array | None]) -> Any:
        """A tree of the model's form with views of one array per segment; None elsewhere, and 0 in
        the place of static numbers.
        """
        views: list[Any] = [None] * len(self.leaves)
        for segment in self.segments:
            flat = choose(segment)
            if flat is not None:
                for parameter in segment.parameters:
                    views[parameter.place] = parameter.view(flat)
        form = tree.derivative_form(self.structure)
        return tree.unflatten(form, [views[place] for place in self.places])

    def followed(self, name: str) -> Any:
        """A whole model whose weights are a state that follows them, such as an average. What no
        optimizer keeps it of is the model's own, and can only be read there.
        """
        leaves = [_read_only(x) for x in self.leaves]
        for segment in self.trained:
            if name in segment.states:
                for parameter in segment.parameters:
                    leaves[parameter.place] = parameter.view(segment.states[name])
        return self.tree(leaves)

    def assignment(self, model: Any) -> Callable[[], None]:
        """A function that copies the leaves of a tree of the model's form into the live arrays."""
        leaves, structure = tree.flatten(model)
        if not structure.alike(self.structure) or len(leaves) != len(self.places):
            require_known_classes("model", structure, self.structure)
            own = {path for names in self.paths for path in names}
            repair = (  # as a file gives it that is read without its types
                "Write step.model = wg.load(path, like=step.model) if it is from a file"
                if set(tree.paths(model)) == own
                else "Build it with wg.tree.map over step.model"
            )
            raise ShapeError(
                f"TrainStep: the model was assigned {structure}; a tree of the form "
                f"{self.structure} is needed. {repair}."
            )
        _require_same_values("model", structure, self.structure)
        given: dict[int, Array] = {}
        for x, place in zip(leaves, self.places, strict=True):
            _require_no_mask(self.paths[place][0], x, "model")
            value = np.asarray(x)
            self._require_like(place, value)
            if place in given and not np.array_equal(given[place], value, equal_nan=True):
                raise ShapeError(
                    f"TrainStep: the tied paths {', '.join(self.paths[place])} were assigned "
                    "different values; they are one parameter. Assign one array to all of them."
                )
            given[place] = value
        _warn_of_live("model", [(self.leaves[place], x) for place, x in given.items()])
        trained = {each.place for segment in self.trained for each in segment.parameters}
        numbered = zip(leaves, self.places, strict=True)
        places = [(self.paths[i][0], x) for x, i in numbered if i in trained]
        warn_of_assigned_tie(dict(places))
        return copying([(self.leaves[place], x) for place, x in given.items()])

    def begin_followers(self) -> None:
        """Let averages and their like begin at the weights."""
        for segment in self.trained:
            for name in segment.followers:
                segment.states[name][...] = segment.weights

    def _require_like(self, place: int, value: Array) -> None:
        live = self.leaves[place]
        assert live is not None
        if value.shape != live.shape or not np.can_cast(value.dtype, live.dtype, "same_kind"):
            raise ShapeError(
                f"TrainStep: {leaf_name(self.paths[place][0], 'model')} was assigned "
                f"{value.dtype}{value.shape}; it is {live.dtype}{live.shape}. Reshape or convert "
                "it."
            )


def copying(pairs: Iterable[tuple[Any, Array]]) -> Callable[[], None]:
    """A function that copies arrays, as they are now, into others. It may be called again."""
    copies = [(target, np.array(x)) for target, x in pairs]  # they may be views of the targets

    def copy() -> None:
        for target, x in copies:
            target[...] = x

    return copy


def _require_own_paths(paths: Iterable[tuple[str, ...]]) -> None:
    """Refuse two arrays at the same path, given the paths of each array."""
    seen: set[str] = set()
    for names in map(set, paths):  # one array may have a path twice
        twice = sorted(names & seen)
        if twice:
            raise OptimError(
                f"TrainStep: the path {twice[0]!r} was given twice; a parameter is known by its "
                "path. Rename a key that has a dot in it, or one that is a number."
            )
        seen |= names


def _checked(path: str, x: Any, tree_name: str) -> Array:
    _require_no_mask(path, x, tree_name)
    native = x.dtype.newbyteorder("=")
    require_supported("TrainStep", leaf_name(path, tree_name), native)
    return np.asarray(x)


def _require_no_mask(path: str, x: Any, tree_name: str) -> None:
    require_plain([".".join(filter(None, (tree_name, path)))], [x], "TrainStep")


def _copied(x: Array) -> Array:
    """A live copy of an array that is no parameter."""
    made = live_zeros(x.size, x.dtype.newbyteorder("=")).reshape(x.shape)
    made[...] = x
    return made


def _read_only(x: Array) -> Array:
    """A view that shows an array and does not let it be written to."""
    view = x.view()
    view.flags.writeable = False
    return view


def carried_arrays(state: Any, cast: DType | None) -> tuple[list[Array], tree.Structure]:
    """Live copies of the arrays of a carried state, and its form. Python numbers become arrays;
    floats among them get the dtype that batches are cast to. Warns of float arrays that are wider.
    """
    leaves, structure = tree.flatten(tree.arrays(state))
    paths = tree.paths(tree.arrays(state))
    if cast is not None:
        leaves = [
            x.astype(cast) if is_number and is_float(x.dtype) else x
            for is_number, x in zip(tree.weak(state), leaves, strict=True)
        ]
    if len({id(x) for x in leaves}) < len(leaves):
        raise ShapeError(
            "TrainStep: one array stands at two places of the state; each place is updated on its "
            "own. Copy one of them."
        )
    _require_own_paths((path,) for path in paths)
    arrays = [_copied(_checked(path, x, "state")) for path, x in zip(paths, leaves, strict=True)]
    for path, x in zip(paths, arrays, strict=True):
        if cast is not None and is_float(x.dtype) and x.dtype.itemsize > cast.itemsize:
            warn_user(
                f"TrainStep: {leaf_name(path, 'state')} is {x.dtype}, and the model {cast}; what "
                f"the loss computes of both is {x.dtype}. Make it an array of np.{cast}, or say "
                "cast=False if that is meant.",
                WideningWarning,
            )
    return arrays, structure


def given_state(state: Any, live: Sequence[Array]) -> tuple[list[GivenArray], list[GivenObject]]:
    """The arrays and objects of a state, with the live copies."""
    given = tree.arrays(state)
    arrays = given_arrays("state", tree.paths(given), tree.leaves(given), live)
    return arrays, given_objects("state", state, tree.leaves(given), live)


def _require_same_values(what: str, given: tree.Structure, known: tree.Structure) -> None:
    """Refuse a tree that holds something else beside its arrays: programs were made with it."""
    for new, old in zip(given.static, known.static, strict=False):
        if not same(new, old):
            raise ShapeError(
                f"TrainStep: the {what} was assigned a tree with {reprlib.repr(new)} where it has "
                f"{reprlib.repr(old)}; only arrays can be assigned, what else it holds is part of "
                "the program. Make it an array, an argument of the loss, or a new TrainStep."
            )


def state_assignment(
    arrays: Sequence[Array], carried: tree.Structure | None, state: Any
) -> Callable[[], None]:
    """A function that copies a tree of the form of the carried state into its live arrays."""
    leaves, structure = tree.flatten(tree.arrays(state))
    if carried is None or not structure.alike(carried) or len(leaves) != len(arrays):
        if carried is not None:
            require_known_classes("state", structure, carried)
        raise ShapeError(
            f"TrainStep: the state was assigned {structure}; "
            f"{'this step carries none' if carried is None else f'its form is {carried}'}. Build "
            "it with wg.tree.map over step.state."
        )
    _require_same_values("state", structure, carried)
    paths, values = tree.paths(tree.arrays(state)), [np.asarray(x) for x in leaves]
    for path, given, live, x in zip(paths, leaves, arrays, values, strict=True):
        _require_no_mask(path, given, "state")
        if x.shape != live.shape or not np.can_cast(x.dtype, live.dtype, "same_kind"):
            raise ShapeError(
                f"TrainStep: {leaf_name(path, 'state')} was assigned {x.dtype}{x.shape}; it is "
                f"{live.dtype}{live.shape}. Reshape or convert it."
            )
    _warn_of_live("state", list(zip(arrays, values, strict=True)))
    return copying(zip(arrays, values, strict=True))


def _warn_of_live(tree_name: str, pairs: Sequence[tuple[Any, Array]]) -> None:
    """Warn where all of the live arrays are assigned to themselves, and were not changed in place
    by that very statement, `step.model *= 0.5`.
    """
    same_memory = all(_is_same_memory(live, x) for live, x in pairs)
    if pairs and same_memory and not updates_attribute():
        warn_user(
            f"TrainStep.{tree_name}: given the live arrays of this very step; assigning them to "
            "themselves changes nothing, and what they were before is gone. Take a snapshot with "
            f"wg.tree.copy(step.{tree_name}), and assign that.",
            LiveWarning,
        )


def _is_same_memory(a: Array, b: Array) -> bool:
    return (a.ctypes.data, a.strides, a.dtype) == (b.ctypes.data, b.strides, b.dtype)
