"""Batch arguments: what a step accepts."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import at_line
from wengert.core.dtypes import SUPPORTED, DType, is_float
from wengert.core.process.ending import ending
from wengert.core.tensor import Tensor
from wengert.core.trees.row_labels import RowOrderLooks
from wengert.core.words.arguments import binding_refused, given_twice, no_parameter, not_given
from wengert.core.words.source import user_line
from wengert.errors import DTypeError, OptimError, TraceError
from wengert.runtime.outside.live import is_live
from wengert.runtime.refusals import require_plain
from wengert.runtime.signature import LEAF_MARK, is_number
from wengert.train.mistakes.first_batch import look_at_first_batch
from wengert.train.mistakes.methods_of_objects import (
    computes_without_model,
    is_method_like,
    refusal_of_method,
)
from wengert.train.mistakes.missing_arguments import not_all_given
from wengert.train.runs.column_names import KnownColumns
from wengert.train.runs.frames import repair_of_dtype, require_columns_of_numbers

_FEW = 8  # numbers in a tuple that are something else than one for each row
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
ROWS = "batch"  # the name of the size of axis 0, which the arrays of a batch share
GENERATOR, AVERAGED = "rng", "averaged"  # parameters that a step itself gives to functions


_NAMES_OF_MODELS = frozenset(
    ("m", "model", "net", "network", "p", "params", "parameters", "policy", "w", "weights")
)


_NAMES_OF_STATES = frozenset(("carry", "h", "hidden", "memory", "state", "states"))


class FunctionParameters:
    """The parameters of a loss or of a bound function: which of them are batch arguments, and which
    the step itself provides (`rng`, `averaged`).

    A loss is always given those that it has. A bound function keeps its defaults: a prediction that
    can do without a generator gets none.
    """

    def __init__(
        self, function: Callable[..., Any], has_state: bool, averages: bool, keeps_defaults: bool
    ) -> None:
        is_known = True
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters, is_known = [], False
        self._what = "function" if keeps_defaults else "loss"
        self._places = places = [p.name for p in parameters if p.kind in POSITIONAL]
        special = {GENERATOR, AVERAGED}
        self._by_name = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - special
        self._fixed = {name for name in self._by_name if _is_fixed(function, name)}
        self._others = [_starred(p) for p in parameters if p.kind in _STARRED]
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        optional = {AVERAGED: keeps_defaults or not averages, GENERATOR: keeps_defaults}
        # What the step provides, in order: its position, or None where it is passed by name.
        self.given: dict[str, int | None] = {
            p.name: places.index(p.name) if p.name in places else None
            for p in parameters
            if p.name in optional
            and not (optional[p.name] and p.name in self._defaults)
            and not _is_fixed(function, p.name)
        }
        if AVERAGED in self.given and not averages:
            raise OptimError(
                "TrainStep: the function has a parameter averaged, and no optimizer keeps an "
                "average of the weights; wg.optim.EMA does. Write wg.optim.EMA(optimizer), or "
                "rename the parameter."
            )
        own = [name for name in places if name not in self.given]
        self.model_name = own[0] if own else ""
        self._names = own[1 + has_state :]
        takes_all = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self._own, self._has_state, self._averages = own, has_state, averages
        self._most = sys.maxsize if takes_all or not is_known else len(own)
        self.note = _note_of_state(own) if has_state else ""  # for errors of the loss

    @property
    def wants_rng(self) -> bool:
        return GENERATOR in self.given

    @property
    def wants_averaged(self) -> bool:
        return AVERAGED in self.given

    def call(
        self, function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]
    ) -> Any:
        """Call the function; what the step provides is put where the function has it."""
        model = args[0]
        if len(args) > self._most and is_method_like(function, model):
            raise refusal_of_method(function, model)
        if len(args) > self._most and self.given:
            count, own = len(args) - self._most + len(self._names), ", ".join(self._names)
            told = f"{count} arguments were given for the parameters {own or '(none)'}"
            raise _given_by_step("TrainStep", told, next(iter(self.given)))
        if len(args) > self._most:
            raise self._too_many(len(args))
        batch, args, named = args, list(args), {}
        for name, place in self.given.items():
            if place is None or place > len(args):
                named[name] = given[name]
            else:
                args.insert(place, given[name])
        try:
            returned = function(*args, **named)
        except Exception as error:
            if computes_without_model(function, batch, given, failed=True):
                raise refusal_of_method(function, model) from error
            if is_method_like(function, model):
                error.add_note(str(refusal_of_method(function, model)))
            elif isinstance(error, TypeError) and binding_refused(error):
                raise self._too_few(batch) or error from None
            raise
        if computes_without_model(function, batch, given, failed=False):
            raise refusal_of_method(function, model)
        return returned

    def _too_many(self, given: int) -> TypeError:
        """The refusal of more arguments than the function has: often it has none for the model."""
        first = ["model", "state"][: 1 + self._has_state]
        count = given - len(first)
        counted = "1 argument" if count == 1 else f"{count} arguments"
        if self.model_name in _NAMES_OF_MODELS:
            repair = "Leave some out, or give it a parameter for each"
        else:
            repair = f"The model comes first: write lambda {', '.join([*first, *self._own])}: …"
        return TypeError(
            f"TrainStep: the {self._what} was given the {' and the '.join(first)}, and {counted}; "
            f"it takes {', '.join(self._own) or 'nothing'}. {repair}."
        )

    def _too_few(self, args: Sequence[Any]) -> TypeError | None:
        """The refusal of fewer arguments than the function needs, if they are what is missing."""
        names = [*self._own, *sorted(self._by_name)]
        needed = [name for name in names if name not in self._defaults]
        first = 1 + self._has_state
        return not_all_given(self._what, names, needed, args, first, self._averages)

    def by_place(
        self, by: str, batch: Sequence[Any], named: Mapping[str, Any], options: Sequence[str] = ()
    ) -> tuple[Any, ...]:
        """Batch arguments by position, where some were given by name. `options` are names that
        messages suggest beside those of the arguments.
        """
        if not named:
            return tuple(batch)
        arguments = list(batch)
        for key in named:
            if key in self._fixed:
                raise TypeError(
                    f"{by}: {key} was given; a functools.partial has set it in the {self._what}, "
                    "and arguments of a call are those that are not set. Leave it out here, or out "
                    "of the partial."
                )
            if key in self._by_name:
                raise TypeError(
                    f"{by}: {key} can only be given by name to the {self._what}; arguments of a "
                    "call are those that also have a position. Remove the * from the signature of "
                    f"the {self._what}."
                )
            if key in self.given:
                raise _given_by_step(by, f"{key} was given", key)
            if key not in self._names and self._others:
                raise TypeError(
                    f"{by}: {key} was given by name to a function with {self._others[-1]}; a batch "
                    f"argument is one of the function's own parameters. Give it a parameter {key}."
                )
            if key not in self._names:
                raise no_parameter(by, key, [*self._names, *options])
            if key in self._names[: len(batch)]:
                raise given_twice(by, key)
        last = max(map(self._names.index, named))
        for name in self._names[len(batch) : last + 1]:
            if name not in named and name not in self._defaults:
                raise not_given(by, name)
            arguments.append(named[name] if name in named else self._defaults[name])
        return tuple(arguments)

    def require_no_option(self, by: str, options: Mapping[str, Any]) -> None:
        """Refuse an array as an option, where the function has a parameter of that name: it is out
        of reach by name.
        """
        for name, value in options.items():
            if name in self._names and (isinstance(value, list) or np.ndim(value) > 0):
                raise TypeError(
                    f"{by}: given {type(value).__name__} as {name}, which is an option of it; the "
                    "parameter of the loss with that name can only be given by position. Pass the "
                    f"arrays in the order {', '.join(self._names)}, or rename the parameter."
                )

    def require_state_given(self, by: str, count: int) -> None:
        """Refuse one argument too few for a function of a step that carries a state, which only its
        own loss is given by itself.
        """
        needed = [name for name in self._names if name not in self._defaults]
        if len(needed) == count + 1:
            raise TypeError(
                f"{by}: given {count} array{'s' * (count != 1)} for the parameters "
                f"{', '.join(needed)}; the step's own loss gets its state by itself, other "
                f"functions do not. Pass step.state for {needed[0]}, before the arrays, if that "
                "is missing."
            )

    def named(self, by: str, given: Sequence[int | str]) -> tuple[str, ...]:
        """Arguments that were named by name, or by position in the function, as names."""
        places: dict[int | str, str] = dict(enumerate(self._places))
        names = [places.get(each, str(each)) for each in given]
        for name, each in zip(names, given, strict=True):
            if name not in self._names:
                raise TypeError(
                    f"{by}: static argument {each!r} was named; the arguments that calls give are "
                    f"{', '.join(self._names) or '(none)'}. Use one of these names."
                )
        return tuple(names)

    def names(self, count: int) -> list[str]:
        """What the batch arguments are called, in the function and in messages."""
        known = self._names[:count]
        return [*known, *(f"batch{i}" for i in range(len(known), count))]


def _given_by_step(by: str, given: str, name: str) -> TypeError:
    """The refusal of what a step itself provides."""
    seed = ", and set the seed= of the TrainStep for other random numbers"
    return TypeError(
        f"{by}: {given}; the step itself gives {name} to a function with a parameter of that name. "
        f"Leave it out{seed if name == GENERATOR else ''}."
    )


def _starred(p: inspect.Parameter) -> str:
    return f"{'*' if p.kind is p.VAR_POSITIONAL else '**'}{p.name}"


def _note_of_state(names: Sequence[str]) -> str:
    """What may be the cause of an error in a loss that is given a state as its second argument."""
    places = [i for i, name in enumerate(names) if name in _NAMES_OF_STATES]
    if not places or places[0] < 2:
        return ""
    name = names[places[0]]
    return (
        f"TrainStep: the state is the second argument of a loss, here {names[1]!r}, and the "
        f"parameter {name!r} is argument {places[0] + 1}. If that one is meant, write "
        f"loss({names[0]}, {name}, …)."
    )


def _is_fixed(function: Callable[..., Any], name: str) -> bool:
    """Whether a `functools.partial` has already given the function a parameter, by keyword."""
    return isinstance(function, functools.partial) and (
        name in function.keywords or _is_fixed(function.func, name)
    )


def prepared(name: str, x: Any, dtype: DType | None) -> Any:
    """A batch argument as a tree of arrays, or a Python number. Floats that programs cannot compute
    with (float16, long double) become those of the model.
    """
    if is_number(x):
        return x
    given, x = x, tree.with_numpy(x)
    leaves, structure = tree.flatten(x)
    if has_numbers(leaves, structure):
        require_no_list("TrainStep: batch argument", name, x)
    if not leaves:
        return x
    return tree.map(lambda leaf: _supported(name, leaf, dtype, given), x)


def has_numbers(leaves: Sequence[Any], structure: tree.Structure) -> bool:
    """Whether a tree may hold Python's or NumPy's numbers."""
    return len(leaves) < len(structure.static) or any(isinstance(x, np.generic) for x in leaves)


def require_no_list(what: str, name: str, x: Any) -> None:
    """Refuse a list or tuple of numbers, lists of them inside, and a frame that is still to be
    read. Python numbers would be part of the program, and NumPy's an argument each, which no run
    cuts or shuffles; a tuple of few of these, a mean and a deviation, is let pass.
    """
    if type(x).__name__ == "LazyFrame":  # of polars
        raise TypeError(
            f"{what} {name!r} is a LazyFrame, which holds no rows yet; a step computes with those "
            f"of a frame. Pass {name}.collect()."
        )
    if isinstance(x, list | tuple) and not tree.leaves(x) and tree.leaves(tree.arrays(x)):
        raise TraceError(
            f"{what} {name!r} is a {type(x).__name__} of Python numbers; these would be part of "
            "the program. Convert it with np.array."
        )
    is_long = isinstance(x, list) or (isinstance(x, tuple) and len(x) > _FEW)
    if is_long and x and all(isinstance(each, np.generic) for each in x):
        raise TraceError(
            f"{what} {name!r} is a {type(x).__name__} of NumPy's numbers; each would be an "
            "argument of its own, and not one of the rows. Convert it with np.array."
        )
    lists = tree.lists_of_numbers(x)
    if lists and not any(map(is_live, tree.leaves(x))):  # models of other steps have settings
        raise TraceError(
            f"{what} {f'{name}.{lists[0]}'!r} is a list of numbers, not of rows; they would be the "
            "same in all batches. Convert it with np.array, or with tuple if that is meant."
        )


def _supported(name: str, x: Any, dtype: DType | None, given: Any) -> Any:
    if isinstance(x, Tensor):
        error = TraceError(
            f"TrainStep: argument {name!r} is a Tensor; a step and the functions that it binds run "
            "on arrays, and nothing is recorded of them. Call the function itself that was bound, "
            "with step.model."
        )
        raise at_line(error, user_line())
    require_plain([name], [x], "TrainStep")
    value = np.asarray(x)
    native = value.dtype.newbyteorder("=")
    if native in SUPPORTED:
        return value
    if is_float(native) and dtype is not None:
        return value.astype(dtype)
    require_columns_of_numbers("TrainStep", [name], [given])
    raise DTypeError(
        f"TrainStep: batch argument {name!r} has dtype {value.dtype}; it must hold bools, "
        f"integers or floats. {repair_of_dtype(name, value)}."
    )


class Kinds:
    """The dtypes of batches: a call must not change them by accident."""

    def __init__(self, names: Callable[[int], Sequence[str]], cast: DType | None) -> None:
        self._names, self._cast = names, cast
        self._known: dict[Any, list[DType]] = {}  # by the form of the batch
        self.columns = KnownColumns()  # of frames
        self.row_order = RowOrderLooks()  # of these

    def prepared(self, batch: Sequence[Any]) -> tuple[Any, ...]:
        """The batch as trees of arrays. Their dtypes must be those of the first batch of the same
        form.
        """
        names = self._names(len(batch))
        self.columns.note("TrainStep", names, batch)
        self.row_order.look("TrainStep", names, batch)
        made = tuple(prepared(name, x, self._cast) for name, x in zip(names, batch, strict=True))
        leaves, structure = tree.flatten(made)
        expected = self._expected(structure)
        if not expected:
            look_at_first_batch("TrainStep", names, made, self._cast)
        for i, (x, known) in enumerate(zip(leaves, expected, strict=False)):
            both_cast = self._cast is not None and is_float(x.dtype) and is_float(known)
            if x.dtype.newbyteorder("=") != known and not both_cast:
                path = leaf_names(names, made)[i]
                raise DTypeError(
                    f"TrainStep: batch argument {path!r} has dtype {x.dtype}; it had {known} in "
                    "the first call, and a step keeps the dtypes of its batches. Convert it with "
                    "astype."
                )
        return made

    @ending.whole
    def _expected(self, structure: tree.Structure) -> list[DType]:
        if ending.near:
            ending.pass_or_stay()
        return self._known.get(batch_form(structure), [])

    @ending.whole
    def remember(self, batch: Sequence[Any]) -> None:
        """Note the dtypes of a batch that a call has succeeded with."""
        if ending.near:
            ending.pass_or_stay()
        leaves, structure = tree.flatten(tuple(batch))
        if batch_form(structure) not in self._known:
            self._known[batch_form(structure)] = [x.dtype.newbyteorder("=") for x in leaves]


def batch_form(structure: tree.Structure) -> Any:
    """The structure of a batch, and which of its leaves are arrays."""
    return structure.spec, tuple(x is LEAF_MARK for x in structure.static)


def leaf_names(names: Sequence[str], batch: Sequence[Any]) -> list[str]:
    """What a trace calls the leaves of the batch arguments."""
    return [
        f"{name}.{path}" if path else name
        for name, arg in zip(names, batch, strict=True)
        for path in tree.paths(arg)
    ]
