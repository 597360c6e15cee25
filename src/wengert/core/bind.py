"""Give a call to the current interpreter.

Every transformation opens a numbered level. A call goes to the highest level among its operands;
operands of lower levels are constants there. Without Tensors among the operands the call is
evaluated by NumPy at once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from wengert.core.dims import Dim, has_dims
from wengert.core.dtypes import CHARS
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.values.number import Number, plain_operand
from wengert.core.words.not_arrays import require_array
from wengert.core.words.noticed.caught import warn_if_caught
from wengert.core.words.noticed.float_notices import calls_numpy, raise_notices_at, told_again
from wengert.core.words.noticed.masked import require_plain_array
from wengert.core.words.noticed.watched_arrays import note_reads, watched_arrays
from wengert.core.words.source import Line, user_line
from wengert.errors import TraceError, WengertError

if TYPE_CHECKING:
    from wengert.core.op import Op


class Level:
    """An interpreter of calls: one transformation while it runs."""

    number: int = 0
    symbolic: bool = False  # Tensors of this level carry no values
    batched: bool = False  # a Tensor of this level is one example, and its value all of them
    whole: bool = False  # records every call made while it is open, also on outer Tensors
    closed: bool = False
    arrays_told: dict[int, Value]  # by id: what warnings have named, where it records
    refused: TraceError | None = None  # the last that a Tensor of this level raised

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        raise NotImplementedError

    def sizes_behind(self, tensor: Tensor) -> frozenset[str]:
        """The Dims a Tensor is computed from, if from nothing else; then its value can be known."""
        return frozenset()

    def argument_behind(self, tensor: Tensor) -> str:
        """The argument of the user's function that a Tensor is computed from, if from no other and
        that is one whole number; else "".
        """
        return ""

    def line_of(self, tensor: Tensor) -> Line | None:
        """Where in the user's program a Tensor of this level was made, if that is known."""
        value = tensor._value
        return value.level.line_of(value) if type(value) is Tensor else None

    def made_by(self, tensor: Tensor) -> str:
        """The name of the op that a Tensor of this level was made by, "" if that is not known."""
        value = tensor._value
        return value.level.made_by(value) if type(value) is Tensor else ""

    def constant_of(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """The constant that an array became when it last was an operand; None where none did."""
        return None

    def has_constant(self, x: Value) -> bool:
        """Whether this very object has become a constant."""
        return False

    def note_gradient(self, g: Tensor, of: Tensor) -> None:
        """Remember, for messages, that a Tensor of this level is the cotangent of another."""

    def require_open(self) -> None:
        if self.closed:
            raise TraceError(
                "Tensor: given one that outlived its transformation; a Tensor lives only while "
                "the function that received it runs. Return it from that function instead of "
                "storing it."
            )


class _Stack(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []
        self.recording = 0  # how many of them are symbolic


_stack = _Stack()
wholes: set[int] = set()  # numbers of levels that record every call: mostly none, so asked first
_numbers = count(1)


def enter(level: Level) -> None:
    """Open a level. Numbers are never used twice, so levels of two threads cannot be confused."""
    level.number = next(_numbers)
    _stack.levels.append(level)
    _stack.recording += level.symbolic
    if level.whole:
        wholes.add(level.number)


def leave(level: Level) -> None:
    level.closed = True
    level.refused = None  # it holds the frames that it went through
    _take_off(level)


def _take_off(level: Level) -> None:
    levels = _stack.levels
    if levels and levels[-1] is level:
        levels.pop()
    elif level in levels:  # a generator or a tape that ends out of order
        levels.remove(level)
    else:
        return
    _stack.recording -= level.symbolic
    if level.whole:
        wholes.discard(level.number)


@contextmanager
def recording(level: Level) -> Iterator[None]:
    """Let a graph built by hand record calls whose only symbols are Dims."""
    _stack.levels.append(level)
    _stack.recording += level.symbolic
    if level.whole:
        wholes.add(level.number)
    try:
        yield
    finally:
        _take_off(level)


@contextmanager
def opened(level: Level) -> Iterator[None]:
    enter(level)
    try:
        yield
        if level.refused is not None:
            warn_if_caught(level.refused)
    except SystemError as error:
        raise_first(error)
    finally:
        leave(level)


def raise_first(error: SystemError) -> NoReturn:
    """Raise the error of ours that code in C, such as SciPy's, has ignored; Python only notices
    that one was left behind.
    """
    first: BaseException | None = error
    while isinstance(first, SystemError):
        first = first.__cause__
    if isinstance(first, WengertError):
        raise first from None
    raise error


def bind(op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
    """Run `op` on the highest level among its operands."""
    top: Level | None = None
    sized = False
    for x in operands:
        kind = type(x)
        if kind is Tensor:
            level = x.level
            if top is None or level.number > top.number:
                top = level
        elif kind is Dim:
            sized = True
        elif kind is not np.ndarray and kind not in _TAKEN:
            return bind(op, [_taken(op, y, operands) for y in operands], params)
    if top is not None:
        if top.closed:
            top.require_open()
        if wholes:
            top = _innermost_whole(top)
        return top.process(op, operands, params)
    if sized or (op.sized and _stack.recording and has_dims(tuple(params.values()))):
        return _recording_level(op).process(op, operands, params)
    if watched_arrays and not _stack.recording:
        note_reads(operands)
    return evaluate(op, operands, params)


# What ops compute with as it is, besides Tensors, sizes and arrays. Of anything else an array is
# made: rules ask for the shape of a list, and a Series of pandas or an array of a user's class
# would bring a meaning of its own, as operands that are paired by labels.
_TAKEN = frozenset((float, int, bool, type(None), *np.sctypeDict.values()))


def _taken(op: Op, x: Any, operands: Sequence[Value]) -> Value:
    """An operand as one of the kinds that ops compute with."""
    kind = type(x)
    if kind is Tensor or kind is Dim or kind is np.ndarray or kind in _TAKEN:
        return x
    try:
        require_plain_array(op.name, x)
        operand = plain_operand(x) if kind is Number else op.operand(x)
        if isinstance(operand, bool | int | float):  # of a class of its own: an enumeration, a unit
            return int(operand) if isinstance(operand, int) else float(operand)
        if isinstance(operand, np.ndarray):
            operand = np.asarray(operand)
            if operand.dtype.char not in CHARS:
                op.require_operands([operand if y is x else y for y in operands])
        return operand
    except WengertError as error:
        raise located(error, operands) from None


def _innermost_whole(top: Level) -> Level:
    """The innermost level that records every call, unless the call belongs further inside."""
    for level in reversed(_stack.levels):
        if level.whole:
            return level if level.number > top.number else top
    return top


def recording_level() -> Level | None:
    """The innermost level that records, if one does."""
    if _stack.recording:
        for level in reversed(_stack.levels):
            if level.symbolic:
                return level
    return None


def is_in_batch() -> bool:
    """Whether a level is open on which values are those of many examples."""
    return any(level.batched for level in _stack.levels)


def is_differentiating() -> bool:
    """Whether a level is open on which a derivative is taken."""
    return any(not level.symbolic and not level.batched for level in _stack.levels)


def program_level() -> Level | None:
    """The outermost level that records, if one does: that of the program, around all bodies."""
    return next((level for level in _stack.levels if level.symbolic), None)


def _recording_level(op: Op) -> Level:
    """Where a call goes whose only symbols are Dims: the innermost level that records."""
    level = recording_level()
    if level is not None:
        return level
    raise TraceError(
        f"{op.name}: given a Dim outside of a trace; a Dim has a value only in a traced program. "
        "Use the number itself here."
    )


_WORDING = re.compile(r"[\w.]+: .+; ")
_PLACE = re.compile(r" \([^()]+:\d+\)$")
_E = TypeVar("_E", bound=Exception)


def located(error: _E, operands: Sequence[Value]) -> _E:
    """The error with the user's line where operands are traced; else the traceback has it."""
    return at_line(error, user_line()) if any(map(_is_traced, operands)) else error


def at_line(error: _E, line: Line | None) -> _E:
    """The error with a line of the user's program behind it, unless it is not ours or already has
    one.
    """
    if line is None or not is_worded(error) or _PLACE.search(str(error)):
        return error
    placed = type(error)(f"{error} ({line})")
    for note in getattr(error, "__notes__", ()):
        placed.add_note(note)
    return placed


def is_worded(error: Exception) -> bool:
    """Whether an error is one of ours, and not what Python or NumPy say."""
    builtin = type(error) in (ValueError, IndexError, TypeError, np.linalg.LinAlgError)
    return isinstance(error, WengertError) or (builtin and bool(_WORDING.match(str(error))))


def _is_traced(x: Value) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_is_traced, x))
    while type(x) is Tensor:
        if x.level.symbolic:
            return True
        x = x._value
    return False


raise_notices_at(r"wengert\.(core\.bind|ops\.|functions\.(?!numpy_|scipy_))")


@calls_numpy
def evaluate(op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
    """The meaning of a call: NumPy's. Problems are found by NumPy and explained by the op's type
    rule.
    """
    try:
        out = op.numpy(*operands, **params)
    except WengertError:
        raise
    except RuntimeWarning:
        return told_again(evaluate, op, operands, params)
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
        _explain(op, operands, params)
        raise
    if type(out) is np.ndarray:
        return out if out.dtype.char in CHARS else _widen(op, operands, params)
    if isinstance(out, np.generic):
        return np.asarray(out) if out.dtype.char in CHARS else _widen(op, operands, params)
    return out


def _explain(op: Op, operands: Sequence[Value], params: dict[str, Any]) -> None:
    """Raise the worded error for a call NumPy refused."""
    for x in operands:
        require_array(op.name, x)
    weak = (bool, int, float) if op.kind == "elementwise" else ()
    arrays = [x if x is None or isinstance(x, weak) else np.asarray(x) for x in operands]
    op.require_operands(arrays)
    if op.type is not None:
        op.type(*arrays, **params)


def _widen(op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
    """NumPy chose a dtype we do not have (float16 for small integers): compute in the op's own
    choice.
    """
    _explain(op, operands, params)
    dtypes = op.operand_dtypes(operands)
    wider = (np.asarray(x, d) for x, d in zip(operands, dtypes, strict=True))
    return np.asarray(op.numpy(*wider, **params))
