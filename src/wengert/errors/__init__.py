"""Every exception Wengert raises on purpose, and every warning.

A message reads ``<op>: <what was given>; <what is needed>. <what to do>.`` and, in traced code,
ends with the user's file and line. Each class shows a program that fails and the repaired one.

A warning is shown once for each line of the user's. ``warnings.simplefilter("ignore", category)``
silences one kind, and with "error" it is raised.
"""

from __future__ import annotations

from wengert.errors.warned import (
    AccumulationWarning,
    AlikeWarning,
    BatchNormWarning,
    CaptureWarning,
    CaughtWarning,
    CheckpointWarning,
    ColumnOrderWarning,
    CopiedWarning,
    DropoutWarning,
    FirstRowWarning,
    FrozenValueWarning,
    GroupWarning,
    LiveWarning,
    LogitsWarning,
    MaskWarning,
    PairedRowsWarning,
    ProgramsWarning,
    RandomnessWarning,
    RankWarning,
    RoundingWarning,
    RowOrderWarning,
    ScannedRowsWarning,
    ScheduleWarning,
    SizeWarning,
    StackedWarning,
    SummedRowsWarning,
    SweepWarning,
    TargetsWarning,
    TiedWarning,
    UnreachedWarning,
    UnsharedWarning,
    UntrainedWarning,
    UnusedWarning,
    WengertWarning,
    WideningWarning,
)

__all__ = [
    "AccumulationWarning",
    "AlikeWarning",
    "AxisError",
    "BatchNormWarning",
    "CaptureWarning",
    "CaughtWarning",
    "ChangedArray",
    "CheckError",
    "CheckpointError",
    "CheckpointWarning",
    "ColumnOrderWarning",
    "CompileError",
    "CopiedWarning",
    "DTypeError",
    "DropoutWarning",
    "FirstRowWarning",
    "FrozenValueWarning",
    "GroupWarning",
    "LiveWarning",
    "LogitsWarning",
    "LoopError",
    "MaskWarning",
    "MissingAttribute",
    "MissingFile",
    "MissingGradient",
    "NonFiniteError",
    "NotDifferentiable",
    "OptimError",
    "PairedRowsWarning",
    "ProgramsWarning",
    "RandomnessWarning",
    "RankError",
    "RankWarning",
    "RoundingWarning",
    "RowOrderWarning",
    "ScannedRowsWarning",
    "ScheduleWarning",
    "ShapeError",
    "SizeWarning",
    "StackedWarning",
    "SummedRowsWarning",
    "SweepError",
    "SweepWarning",
    "TargetsWarning",
    "TiedWarning",
    "TraceError",
    "UnreachedWarning",
    "UnsharedWarning",
    "UntrainedWarning",
    "UnusedWarning",
    "WengertError",
    "WengertWarning",
    "WideningWarning",
]

for _kind in (WengertWarning, *WengertWarning.__subclasses__()):
    _kind.__module__ = __name__  # where people know them, and pickles find them


class WengertError(Exception):
    """Base of all errors below; catch it to catch any of them."""


class ShapeError(WengertError, ValueError):
    """Shapes, axes or sizes do not fit together.

    >>> wg.matmul(np.ones((3, 4)), np.ones((5, 2)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.ShapeError: matmul: left has shape (3, 4) and right has shape (5, 2); ...
    >>> wg.matmul(np.ones((3, 4)), np.ones((5, 4)).T).shape
    (3, 5)
    """


class AxisError(ShapeError, IndexError):
    """An array has no such axis; an IndexError, too, as the array API standard asks.

    >>> wg.sum(np.ones((3, 4)), axis=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.AxisError: sum: axis 2 was given for an array of 2 axes; ...
    >>> wg.sum(np.ones((3, 4)), axis=1)
    array([4., 4., 4.])
    """


class DTypeError(WengertError, TypeError):
    """An operand has a dtype the op does not take.

    >>> wg.exp(np.ones(2, dtype=complex))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.DTypeError: exp: operand 0 has dtype complex128; ...
    >>> wg.exp(np.zeros(2, dtype=complex).real)
    array([1., 1.])
    """


class TraceError(WengertError, TypeError):
    """A traced value was used in a way that cannot be recorded.

    >>> wg.grad(lambda x: float(x) * 2.0)(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.TraceError: float: given a Tensor that is being differentiated; ...
    >>> float(wg.grad(lambda x: x * 2.0)(1.0))
    2.0
    """


class MissingAttribute(WengertError, AttributeError):
    """A Tensor, a module, a layer or a training step was asked for an attribute that it does not
    have, mostly a name that another library has.

    >>> wg.grad(lambda x: x.view(-1)[0])(np.ones((2, 2)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.MissingAttribute: Tensor.view: there is no such attribute; ...reshape(shape)...
    >>> wg.grad(lambda x: x.reshape(-1)[0])(np.ones((2, 2)))
    array([[1., 0.],
           [0., 0.]])
    """


class NotDifferentiable(WengertError, TypeError):
    """An op that has no derivative was differentiated.

    >>> @wg.custom_vjp
    ... def square(x):
    ...     return x * x
    >>> square.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
    >>> wg.jvp(square, (3.0,), (1.0,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.NotDifferentiable: square: given a tangent; a custom_vjp function has a ...
    >>> float(wg.grad(square)(3.0))
    6.0
    """


class MissingGradient(WengertError, ValueError):
    """A gradient was asked for where none flows.

    >>> g = wg.Graph()
    >>> w, unused = g.parameter(np.ones(2), name="w"), g.parameter(np.ones(3), name="unused")
    >>> g.set_outputs(g.sum(w))
    >>> wg.grad_with_loss(g, [w, unused])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.MissingGradient: grad_with_loss: no gradient reaches 'unused' (node 1); ...
    >>> wg.grad_with_loss(g, [w, unused], wg.GradWithLossOptions.TRAINING).run()[2]
    array([0., 0., 0.])
    """


class ChangedArray(WengertError, ValueError):
    """A large array was written into between its use and the gradient that needs it.

    >>> x = np.ones((600, 600))
    >>> value, pullback = wg.vjp(lambda w: wg.sum(w * x), 2.0)
    >>> x *= 2.0
    >>> pullback(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.ChangedArray: multiply: an array of shape (600, 600) was written into after ...
    """


class NonFiniteError(WengertError, ArithmeticError):
    """A value that must be finite is NaN or infinite.

    >>> with wg.GradientTape() as tape:
    ...     x = tape.watch(np.zeros(2))
    ...     loss = wg.sum(wg.sqrt(x))
    >>> tape.gradient(loss, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.NonFiniteError: sqrt: its backward step gave inf for slot 0 at index (0,); ...
    >>> with wg.GradientTape() as tape:
    ...     x = tape.watch(np.zeros(2))
    ...     loss = wg.sum(wg.where(x > 0, wg.sqrt(x), 0.0))
    >>> tape.gradient(loss, x)
    array([0., 0.])

    Where a compiled program raised it, fields say where that began: `op`, the op that made `value`
    (nan, inf or -inf) of finite numbers, at `index` of what it returned; `phase` (forward, backward
    or update); `file` and `line` of the user's program; `of`, the op whose backward step it was
    part of, and `inside`, the function it belongs to, such as softmax; `steps` of the loops around;
    `ranges`, a (name, least, largest) for each of its operands; `parameter`, the path of the
    parameter whose gradient or new value is not finite, or of the argument that was not; and
    `result_index`, the first element of the result that is not finite. In a TrainStep, `row` is the
    row of the batch that the element belongs to, if it belongs to one; in its runs, a note says
    which epoch, batch and row of the data it was.
    """

    def __init__(
        self,
        message: str = "",
        *,
        op: str | None = None,
        phase: str | None = None,
        value: str | None = None,
        index: tuple[int, ...] | None = None,
        steps: tuple[int, ...] = (),
        ranges: tuple[tuple[str, float, float], ...] = (),
        file: str | None = None,
        line: int | None = None,
        of: str | None = None,
        inside: str | None = None,
        parameter: str | None = None,
        result_index: tuple[int, ...] | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(message)
        self.op, self.phase, self.value, self.index = op, phase, value, index
        self.steps, self.ranges = steps, ranges
        self.file, self.line, self.of, self.inside = file, line, of, inside
        self.parameter, self.result_index, self.row = parameter, result_index, row


class LoopError(WengertError, RuntimeError):
    """A loop did not end within the steps it may take.

    >>> wg.while_loop(lambda x: x > 1.0, lambda x: x / 2, 1e6, max_steps=10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.LoopError: while_loop: took max_steps=10 steps, and its condition still ...
    >>> float(wg.while_loop(lambda x: x > 1.0, lambda x: x / 2, 1e6, max_steps=30))
    0.95367431640625
    """


class OptimError(WengertError, ValueError):
    """An optimizer was given a setting, a parameter or a gradient it cannot work with.

    >>> wg.optim.SGD(0.1, momentum=1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.OptimError: SGD: momentum=1.0 was given; ...
    >>> wg.optim.SGD(0.1, momentum=0.9)
    SGD(lr=0.1, momentum=0.9)
    """


class CheckpointError(WengertError):
    """A file cannot be written or read, or does not hold what was asked for.

    >>> wg.save("model.safetensors", {"w": np.zeros((2, 3))})
    >>> wg.load("model.safetensors", like={"w": np.zeros((2, 4))})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.CheckpointError: load: 'model.safetensors' does not fit `like`: ...
    >>> wg.load("model.safetensors")["w"].shape
    (2, 3)
    """


class MissingFile(CheckpointError, FileNotFoundError):
    """A file to be loaded does not exist: a CheckpointError, and Python's FileNotFoundError."""


class RankError(WengertError, RuntimeError):
    """Processes that share a training step cannot go on together: one of them has ended or failed,
    or they do not agree on the program, its settings or its data. The message names the rank.

    All of them are over then. Start them again, and go on from the last checkpoint.
    """


class SweepError(WengertError, RuntimeError):
    """No setting of a sweep came to an end.

    >>> wg.sweep(lambda lr: {"loss": 1 / lr}, {"lr": [0.0]}, progress=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.SweepError: sweep: train failed for all 1 settings (lr=0: ZeroDivisionError...
    >>> wg.sweep(lambda lr: {"loss": 1 / lr}, {"lr": [0.5]}, progress=False)[0].metrics
    {'loss': 2.0}
    """


class CheckError(WengertError):
    """Internal: a graph breaks its own rules. Please report the program that caused it."""


class CompileError(WengertError):
    """A program cannot become machine code: an op of a user's that has none.

    >>> @wg.op.primitive(
    ...     numpy=np.flip, type=lambda x: x, opaque="no derivative is given", space="hidden"
    ... )
    ... def mirrored(x, /):
    ...     "Elements from the last to the first."
    >>> wg.compile(lambda x: mirrored(x))(np.arange(3.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wengert.errors.CompileError: mirrored: has no code of its own; ...
    >>> wg.compile(lambda x: wg.flip(x))(np.arange(3.0))
    array([2., 1., 0.])
    """
